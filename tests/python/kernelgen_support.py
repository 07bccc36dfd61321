"""Running dynd-kernelgen on configurations as texts."""
import os
import pathlib
import subprocess
import textwrap

from dynd import _kernelgen

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTIONS = pathlib.Path(__file__).with_name("kernelgen_functions.c")


def run(*words):
    """(exit code, what it printed, its errors)"""
    made = subprocess.run([_kernelgen._generator(), *map(str, words)], capture_output=True, text=True,
                          env=dict(os.environ, DYND_INCLUDE=str(ROOT)))
    return made.returncode, made.stdout, made.stderr


def write(folder, text, name="test.cfg"):
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def build(folder, text, name="plugin"):
    """The plug-in, compiled without a warning."""
    config = write(folder, text, f"{name}.cfg")
    flags = ["-Werror", *os.environ.get("KERNELGEN_TEST_FLAGS", "").split()]
    code, _, errors = run("build", config, "-o", folder / f"{name}.so", *(f"--flag={flag}" for flag in flags))
    assert code == 0 and errors == "", errors
    return folder / f"{name}.so"


def problems(folder, text):
    """What `check` says is wrong, with the folder's name taken out."""
    config = write(folder, text)
    code, _, errors = run("check", config)
    assert code == 1, "nothing was wrong"
    assert "Traceback" not in errors and errors.strip()
    return errors.replace(str(folder) + "/", "")

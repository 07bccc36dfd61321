"""docs/kernelgen.md, followed step by step: its files are written, its commands run, its sessions and output compared."""
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

from dynd import _kernelgen

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_works_as_it_is_written(tmp_path):
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "cache"))
    result = subprocess.run([sys.executable, __file__, str(tmp_path)], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr


def follow(folder):
    os.chdir(folder)
    os.environ["PATH"] = f"{Path(_kernelgen._generator()).parent}:{os.environ['PATH']}"
    runner = doctest.DocTestRunner()
    names, printed = {}, ""
    for language, text in BLOCK.findall((ROOT / "docs/kernelgen.md").read_text()):
        if language in ("c", "ini"):
            Path(re.match(r"(?:/\*|#) (\S+)", text)[1]).write_text(text)
        elif language == "sh":
            done = subprocess.run(["sh", "-e", "-c", text], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            printed = done.stdout
        elif language == "python":
            test = doctest.DocTestParser().get_doctest(text, names, "docs/kernelgen.md", None, None)
            runner.run(test, clear_globs=False)
            names = test.globs
        elif printed:
            assert printed == text, f"the program printed\n{printed}"
            printed = ""
    return runner.failures


if __name__ == "__main__":
    sys.exit(follow(sys.argv[1]))

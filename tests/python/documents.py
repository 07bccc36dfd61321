"""The examples of documents: docstrings, sections of the README, and guides that are followed step by step."""

import doctest
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_examples(text, names, least=1):
    """Runs a text of Python sessions, of which there are at least so many lines."""
    test = doctest.DocTestParser().get_doctest(text, names, "examples", None, 0)
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.attempted >= least and result.failed == 0


def readme_section(title):
    """The first block of Python of a section."""
    text = (ROOT / "README.md").read_text()
    return text.split(f"### {title}\n")[1].split("```")[1].removeprefix("python")


def follow(guide, folder):
    """Follows a guide in a folder: its files are written, its commands run, its sessions and output compared. How many
    sessions failed."""
    os.chdir(folder)
    runner = doctest.DocTestRunner()
    names, printed, begun = {}, "", set()
    for language, text in BLOCK.findall((ROOT / guide).read_text()):
        if language in ("c", "cpp", "ini"):
            name = re.match(r"(?:/\*|//|#) (\S+)", text)[1]
            with open(name, "a" if name in begun else "w") as file:
                file.write(text)
            begun.add(name)
        elif language == "sh":
            done = subprocess.run(["sh", "-e", "-c", text], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            printed = done.stdout
        elif language == "python":
            test = doctest.DocTestParser().get_doctest(text, names, guide, None, None)
            runner.run(test, clear_globs=False)
            names = test.globs
        elif printed:
            assert printed == text, f"the program printed\n{printed}"
            printed = ""
    return runner.failures

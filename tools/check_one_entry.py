"""Adding an elementwise operation is one entry in one file. This adds one (tests/one_entry/hypotenuse.def) to a copy of the
sources, builds that, and finds the operation in C++, in Python with its documentation, in the generated tests and in
fusion, for strided and ragged arrays.

The copy is compiled without optimisation, and only what changed since the last time: build/one_entry is kept."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "one_entry"
COPY = BUILD / "source"
PYTHON = ROOT / ".venv" / "bin" / "python"
TABLE = pathlib.Path("dynd/ops/numbers.def")
ENTRY = (ROOT / "tests/one_entry/hypotenuse.def").read_text()


def copy_sources():
    """What git tracks or would track; a file that has not changed is left alone, so that it is not compiled again."""
    listed = ["git", "ls-files", "-co", "--exclude-standard", "CMakeLists.txt", "dynd", "kernelgen", "python", "tests",
              "tools"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    files = [pathlib.Path(name) for name in files if (ROOT / name).is_file()]
    for file in files:
        content = (ROOT / file).read_bytes() + (ENTRY.encode() if file == TABLE else b"")
        target = COPY / file
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for old in COPY.rglob("*"):
        if old.is_file() and old.relative_to(COPY) not in files and old.suffix != ".so" and "__pycache__" not in old.parts:
            old.unlink()


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)
    if done.returncode != 0:
        print(f"{' '.join(str(part) for part in command)}\n{done.stdout}{done.stderr}")
        sys.exit(1)
    return done.stdout


def compiles(entry):
    """Whether a family with this entry only does."""
    entries = BUILD / "entry.def"
    entries.parent.mkdir(parents=True, exist_ok=True)
    entries.write_text(entry)
    unit = f'#define DYND_FAMILY "{entries}"\n#include "dynd/ops/isa_family.inc"\n'
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", "-DDYND_LEVEL=baseline", "-I", ROOT, "-x", "c++", "-"]
    return subprocess.run([str(part) for part in command], input=unit, text=True, capture_output=True).returncode == 0


assert ENTRY.count("DYND_OPERATION(") == 1, "one entry"
assert compiles(ENTRY)

# What an entry must say, or it does not compile: how it fails, where, and in which words; one expression for each output.
HALVED = 'DYND_OPERATION(halved, "(T, T) -> T", integers, each, {failure}, ({results}), "Half.")\n'
assert compiles(HALVED.format(failure='fails(b == 0, integers, "no half")', results="a / 2"))
for failure in ["fails", "fails(b == 0)", "fails(b == 0, integers)", 'fails(b == 0, integers, "")', "fallible", ""]:
    assert not compiles(HALVED.format(failure=failure, results="a / 2")), failure
assert not compiles(HALVED.format(failure="total", results="a / 2, a % 2"))
for signature in ["(T, T) -> (T, T)", "(T, T)", "(U, T) -> T", "(T, T, T, T) -> T", "(T, T) -> ?T", "(T, T) -> T T"]:
    assert not compiles(HALVED.format(failure="total", results="a / 2").replace("(T, T) -> T", signature)), signature

copy_sources()
if not (BUILD / "build.ninja").exists():
    flags = "-O0 -g0"
    run("cmake", "-G", "Ninja", "-S", COPY, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_CXX_FLAGS_DEBUG={flags}",
        "-DDYND_LOOP_OPTIMIZATION=-O0", "-DDYND_TESTS=OFF", f"-DPython_EXECUTABLE={PYTHON}")
run("cmake", "--build", BUILD, "-j", os.environ.get("JOBS", os.cpu_count()))

# C++
program = BUILD / "hypotenuse"
run(os.environ.get("CXX", "g++"), "-std=c++20", "-O0", "-I", COPY, COPY / "tests/one_entry/hypotenuse.cpp", "-o", program, "-L",
    BUILD, "-ldynd", f"-Wl,-rpath,{BUILD}")
run(program)

# Python: its own tests, and those that come from the entries.
for library in [BUILD / "libdynd.so", *(BUILD / "python").glob("_dynd*.so")]:
    shutil.copy(library, COPY / "python" / "dynd")
environment = {**os.environ, "PYTHONPATH": str(COPY / "python")}
pytest = [PYTHON, "-m", "pytest", "-p", "no:cacheprovider"]
run(*pytest, "tests/one_entry", cwd=COPY, env=environment)
generated = run(*pytest, "tests/python/test_api_generated.py", "-k", "hypotenuse", cwd=COPY, env=environment)
print(f"one entry brings an operation; of the generated tests it has: {generated.strip().splitlines()[-1]}")

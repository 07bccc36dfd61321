"""Runs Python tests on the library and the module of build/asan: memory errors and undefined behaviour end the run;
leaks of our own fail it at the end. Usage: .venv/bin/python tools/check_python_asan.py [pytest's arguments]

Python and its packages are not instrumented and never give back all of their memory. So a leak counts if our code is on
the stack of its allocation before Python's is. Python's allocator is malloc here, or the sanitizer would not see what
Python objects refer to. Random tests try fewer examples (few_examples.py)."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "asan"
REPORTS = BUILD / "python-reports"
OURS = re.compile(rf"{re.escape(str(ROOT))}/(dynd|python/src)/")
# TBB's workers are still there at the end, and so is what they keep in thread-local memory; so are the functions that
# the module made when it was imported.
SUPPRESSED = ["libtbb.so", "__cxa_thread_atexit_impl", "nanobind__dynd_exec"]


def staged_package():
    """A package of the Python sources with the sanitized library: links, so that an edited file needs no new copy."""
    package = BUILD / "package" / "dynd"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    libraries = [BUILD / "libdynd.so", *(BUILD / "python").glob("_dynd*.so")]
    for file in [*(ROOT / "python" / "dynd").glob("*.py"), *libraries]:
        (package / file.name).symlink_to(file)
    (package / "include").symlink_to(ROOT)  # where nd.from_c finds the headers of the ABI, as in an installed package
    return package.parent


def runtime(name):
    """The path of one of gcc's libraries."""
    return subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()


def environment():
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    (REPORTS / "suppressions").write_text("".join(f"leak:{name}\n" for name in SUPPRESSED))
    return {
        **os.environ,
        "PYTHONPATH": f"{staged_package()}:{ROOT}/tools",
        "PYTHONMALLOC": "malloc",
        # libstdc++ too: the sanitizer wraps throw, and looks for it when the program starts
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libstdc++.so')}",
        "ASAN_OPTIONS": f"detect_leaks=1:allocator_may_return_null=1:log_path={REPORTS}/report",
        "UBSAN_OPTIONS": "print_stacktrace=1",  # to stderr, which pytest leaves alone (--capture=sys)
        # the reports are read below: a compiler that a test starts leaks too, and must not fail for that
        "LSAN_OPTIONS": f"exitcode=0:print_suppressions=0:suppressions={REPORTS}/suppressions",
    }


def is_ours(record):
    """Whether one of our frames comes before the first of the interpreter, which has no line numbers."""
    frames = record.splitlines()[1:]
    ours = next((i for i, frame in enumerate(frames) if OURS.search(frame)), len(frames))
    return ours < len(frames) and not any("/python3" in frame for frame in frames[:ours])


def problems():
    """Every report of an error, and the leaks in which our code allocated; those of one place once."""
    found = {}
    for file in sorted(REPORTS.glob("report.*")):
        text = file.read_text(errors="replace")
        if "detected memory leaks" not in text:
            found[file] = text
            continue
        for record in re.split(r"\n(?=(?:Direct|Indirect) leak of)", text)[1:]:
            record = record.split("\n\n")[0]
            if is_ours(record):
                found.setdefault(re.sub(r"0x[0-9a-f]+", "", record.split("\n", 1)[1]), record)
    return list(found.values())


# A sanitizer needs more addresses than the first leaves it; the others measure how soon Ctrl-C is seen. Of the files, one
# measures that too, and one tests the oracle.
WITHOUT = ["elements_hostile.py::test_arrays_without_values_where_addresses_are_limited",
           "one_engine.py::test_ctrl_c_stops_it", "one_engine.py::test_other_python_threads_run_meanwhile"]
FILES = ["tests/python", *(f"--ignore=tests/python/test_{name}.py" for name in ["interrupt", "oracle"])]
tests = sys.argv[1:] or FILES
options = ["-q", "-p", "no:cacheprovider", "-p", "few_examples", "--capture=sys"]
options += [f"--deselect=tests/python/test_{name}" for name in WITHOUT]
command = [sys.executable, "-m", "pytest", *options, *tests]
status = subprocess.run(command, cwd=ROOT, env=environment()).returncode
wrong = problems()
for text in wrong:
    print(text, end="\n\n")
print(f"{len(wrong)} errors and leaks of our own")
sys.exit(status or bool(wrong))

"""Adding an elementwise operation is one entry in one file. This adds one (tests/one_entry/hypotenuse.def) to a copy of that
file, builds the library and the module with it, and finds the operation in C++, in Python with its documentation, in the
generated tests and in fusion, for strided and ragged arrays.

Of a finished build it takes what the entry does not reach: objects that were compiled from neither the file nor the names
made of it, by ninja's record of what each included. All others are compiled as that build has compiled them, but without
optimisation, and with the copy before the file; and only what changed since the last time: build/one_entry is kept.
Usage: tools/check_one_entry.py build/release"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FINISHED = (ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build/release")).resolve()
BUILD = ROOT / "build" / "one_entry"
COPY = BUILD / "entries"  # dynd/ops/*.def with the entry, and the names made of them: found before those of ROOT
PACKAGE = BUILD / "package" / "dynd"
PYTHON = ROOT / ".venv" / "bin" / "python"
TABLE = pathlib.Path("dynd/ops/numbers.def")
NAMES = pathlib.Path("dynd/ops/operation_names.inc")
ENTRY = (ROOT / "tests/one_entry/hypotenuse.def").read_text()
CXX = os.environ.get("CXX", "g++")
JOBS = int(os.environ.get("JOBS", os.cpu_count()))


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)
    if done.returncode != 0:
        print(f"{' '.join(str(part) for part in command)}\n{done.stdout}{done.stderr}")
        sys.exit(1)
    return done.stdout


def write(path, text):
    """A file that has not changed is left alone, so that nothing is compiled again for it."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def compiles(entry):
    """Whether a family with this entry only does."""
    entries = BUILD / f"entry_{abs(hash(entry))}.def"
    entries.write_text(entry)
    unit = f'#define DYND_FAMILY "{entries}"\n#include "dynd/ops/isa_family.inc"\n'
    command = [CXX, "-std=c++20", "-fsyntax-only", "-DDYND_LEVEL=baseline", "-I", str(ROOT), "-x", "c++", "-"]
    done = subprocess.run(command, input=unit, text=True, capture_output=True)
    entries.unlink()
    return done.returncode == 0


def check_what_compiles():
    """What an entry must say, or it does not compile: how it fails, where, and in which words; one expression for each
    output."""
    halved = 'DYND_OPERATION(halved, "(T, T) -> T", integers, each, {failure}, ({results}), "Half.")\n'
    right = [ENTRY, halved.format(failure='fails(b == 0, integers, "no half")', results="a / 2")]
    wrong = [halved.format(failure="total", results="a / 2, a % 2")]
    for failure in ["fails", "fails(b == 0)", "fails(b == 0, integers)", 'fails(b == 0, integers, "")', "fallible", ""]:
        wrong.append(halved.format(failure=failure, results="a / 2"))
    for signature in ["(T, T) -> (T, T)", "(T, T)", "(U, T) -> T", "(T, T, T, T) -> T", "(T, T) -> ?T", "(T, T) -> T T"]:
        wrong.append(halved.format(failure="total", results="a / 2").replace("(T, T) -> T", signature))
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for entry, compiled in zip(right + wrong, pool.map(compiles, right + wrong)):
            assert compiled == (entry in right), entry


def copy_entries():
    for file in (ROOT / TABLE).parent.glob("*.def"):
        write(COPY / TABLE.parent / file.name, file.read_text() + (ENTRY if file.name == TABLE.name else ""))
    run("cmake", f"-DENTRIES={COPY / 'dynd/ops/operations.def'}", f"-DNAMES={COPY / NAMES}", "-P",
        ROOT / "tools/operation_names.cmake")


def reached(objects):
    """Those of the objects that include the entries or the names."""
    found, object = set(), None
    for line in run("ninja", "-C", FINISHED, "-t", "deps").splitlines():
        if line[:1] not in ("", " "):
            object = line.split(": #deps")[0]
        elif line.endswith((str(TABLE), str(NAMES))):
            found.add(object)
    return [object for object in objects if object in found]


def compilation(words):
    """The build line of an object, and that of the headers compiled before it, from a command of the finished build."""
    made = words[words.index("-o") + 1]
    source = words[words.index("-c") + 1]
    flags = [word for word in words[1 : words.index("-o")] if not word.startswith("-O") and word != "-Winvalid-pch"]
    flags = [f"-I{COPY}", *flags, "-O0", "-g0"]
    lines, needs = "", ""
    if "-include" in flags:
        at = flags.index("-include")
        header = BUILD / pathlib.Path(flags[at + 1]).relative_to(FINISHED)
        write(header, pathlib.Path(flags[at + 1]).read_text())
        flags[at : at + 2] = []
        headers = [words[0], *(flag for flag in flags if not flag.startswith("-DDYND_HAS_"))]
        lines = rule(f"{header}.gch", header, [*headers, "-x", "c++-header", "-c", header])
        flags, needs = [*flags, "-include", str(header)], f" | {header}.gch"
    return lines, rule(BUILD / made, f"{source}{needs}", [words[0], *flags, "-c", source])


def rule(made, source, words):
    command = shlex.join(str(word) for word in [*words, "-o", made, "-MD", "-MF", f"{made}.d"])
    return f"build {made}: run {source}\n  command = {command.replace('$', '$$')}\n  depfile = {made}.d\n  deps = gcc\n"


def link(target, objects, needs=""):
    """The build line of a library, from the command of the finished build: with the new ones of these objects."""
    command = run("ninja", "-C", FINISHED, "-t", "commands", "-s", target).strip()
    new = {target: PACKAGE / pathlib.Path(target).name, "libdynd.so": PACKAGE / "libdynd.so"}
    new |= {object: BUILD / object for object in objects}
    command = " ".join(str(new.get(word, word)) for word in command.split(" "))
    command = f"cd {FINISHED} && {command}".replace("$", "$$")
    return f"build {new[target]}: run {' '.join(str(BUILD / object) for object in objects)} {needs}\n  command = {command}\n"


def build():
    commands = {}
    for entry in json.loads((FINISHED / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        commands[words[words.index("-o") + 1]] = words
    module = next((FINISHED / "python").glob("_dynd*.so")).relative_to(FINISHED)
    new = reached(commands)
    library = [object for object in new if object.startswith(("CMakeFiles/dynd.dir/", "CMakeFiles/dynd_isa_"))]
    bindings = [object for object in new if object.startswith("CMakeFiles/_dynd.dir/")]
    assert library and bindings, "the finished build does not know what it was made of"
    headers, objects = zip(*(compilation(commands[object]) for object in library + bindings))
    lines = ["rule run\n  command = $command\n", *sorted(set(headers)), *objects]
    lines += [link("libdynd.so", library), link(str(module), bindings, PACKAGE / "libdynd.so")]
    PACKAGE.mkdir(parents=True, exist_ok=True)
    write(BUILD / "build.ninja", "".join(lines))
    run("ninja", "-C", BUILD, "-j", JOBS)
    for file in (ROOT / "python" / "dynd").glob("*.py"):
        shutil.copy(file, PACKAGE)


BUILD.mkdir(parents=True, exist_ok=True)
assert ENTRY.count("DYND_OPERATION(") == 1, "one entry"
check_what_compiles()
copy_entries()
build()

# C++
program = BUILD / "hypotenuse"
run(CXX, "-std=c++20", "-O0", "-I", COPY, "-I", ROOT, ROOT / "tests/one_entry/hypotenuse.cpp", "-o", program, "-L", PACKAGE,
    "-ldynd", f"-Wl,-rpath,{PACKAGE}")
run(program)

# Python: its own tests, and those that come from the entries.
environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
pytest = [PYTHON, "-m", "pytest", "-p", "no:cacheprovider"]
run(*pytest, "tests/one_entry", cwd=ROOT, env=environment)
generated = run(*pytest, "tests/python/test_api_generated.py", "-k", "hypotenuse", cwd=ROOT, env=environment)
print(f"one entry brings an operation; of the generated tests it has: {generated.strip().splitlines()[-1]}")

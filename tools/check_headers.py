"""Compiles every header of dynd/ by itself, as C++20, those of dynd/abi as C11 too: no header needs another before it.
Remembers by content what passed (build/headers.json), so that a second run is quick."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

REPEATED = {"operation_names.h"}  # meant to be included many times, after a macro is defined
CXX = [os.environ.get("CXX", "g++"), "-std=c++20", "-x", "c++"]
C = [os.environ.get("CC", "gcc"), "-std=c11", "-pedantic", "-x", "c"]
FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", ".", "-"]

os.chdir(pathlib.Path(__file__).resolve().parent.parent)
headers = [p for p in sorted(pathlib.Path("dynd").rglob("*.h")) if p.name not in REPEATED]
# A header's result depends on all headers: one hash for the lot.
everything = [p for p in sorted(pathlib.Path("dynd").rglob("*")) if p.suffix in {".h", ".def", ".inc"}]
state = hashlib.sha256(repr((CXX, C, FLAGS, [(str(p), p.read_bytes()) for p in everything])).encode()).hexdigest()
memory = pathlib.Path("build/headers.json")
if memory.exists() and json.loads(memory.read_text()) == state:
    print(f"{len(headers)} headers compile alone (unchanged)")
    sys.exit(0)


def compile_alone(job):
    header, compiler = job
    # Included twice: the guard is tested too.
    source = f'#include "{header}"\n' * 2
    return header, subprocess.run(compiler + FLAGS, input=source, text=True, capture_output=True)


jobs = [(h, CXX) for h in headers] + [(h, C) for h in headers if h.parts[1] == "abi"]
failed = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for header, done in pool.map(compile_alone, jobs):
        if done.returncode != 0:
            failed += 1
            print(f"{header} does not compile alone ({done.args[0]}):\n{done.stderr}")
if not failed:
    memory.parent.mkdir(exist_ok=True)
    memory.write_text(json.dumps(state))
    print(f"{len(headers)} headers compile alone")
sys.exit(failed > 0)

"""The founding documents' code, compiled as a user would and run: what it prints is what the documents say."""

import os
import subprocess
from pathlib import Path

import pytest

import dynd

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(dynd.__file__).parent / "libdynd.so"
CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def output(command, program):
    subprocess.run([*command, "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("checked", [[], ["-g", "-fsanitize=address,undefined"]])
def test_the_documents_in_c_from_the_headers_alone(tmp_path, checked):
    printed = output([CC, "-std=c11", *WARNINGS, *checked, f"-I{ROOT}", str(ROOT / "examples/seeds.c")], tmp_path / "c")
    assert printed.splitlines() == [
        "called kernel: 12 -> 36",
        "called kernel: [0]: 12 -> 36 [1]: -5 -> -15 [2]: 3 -> 9",
        "called kernel: 12 -> 156",
        "called kernel: [0]: 12 -> 156 [1]: -5 -> -65 [2]: 3 -> 39",
        "a[...] = [1, 2, 3]: [1, 2, 3]",
        "a[...] = 4: [4, 4, 4]",
        "a[...] = [[1, 2, 3], [4]]: [[1, 2, 3], [4, 4, 4]]",
        "a[...] = [[1, 2, 3], [4, 5]]: error -4: row of 2 to 3",
    ]


def test_the_documents_in_cpp(tmp_path):
    folder = LIBRARY.resolve().parent
    command = [CXX, "-std=c++20", *WARNINGS, f"-I{ROOT}", str(ROOT / "examples/seeds_factories.cpp")]
    printed = output([*command, f"-L{folder}", "-ldynd", f"-Wl,-rpath,{folder}"], tmp_path / "cpp")
    assert printed.splitlines() == [
        "int32 single: 12 0 0, status 0",
        "int32 strided: 12 -5 3, status 0",
        "unaligned: 12 -5 3, status 0",
        "jit: 12 0 0, status 0",
        "jit: 1 handle, then 0",
        "pointer: 3 -5 12, status 0",
        "this JIT makes single kernels only; 0 handles",
        'triple: nd.array(36, type="int32") nd.array([36, -15, 9], type="strided * int32") '
        'nd.array([[36], [-15, 9]], type="strided * var * int32")',
        'multiply: nd.array(156, type="int32") nd.array([156, -65, 39], type="strided * int32") '
        'nd.array([[156], [-65, 39]], type="strided * var * int32")',
    ]

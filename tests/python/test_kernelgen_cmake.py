"""dynd_add_kernels: a plug-in as a target of CMake."""
import os
import subprocess
from pathlib import Path

from dynd import _kernelgen, nd

ROOT = Path(__file__).resolve().parents[2]

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
# What find_package(dynd) brings, from a checkout.
add_library(dynd::dynd INTERFACE IMPORTED)
target_include_directories(dynd::dynd INTERFACE {root})
add_executable(dynd::dynd-kernelgen IMPORTED)
set_target_properties(dynd::dynd-kernelgen PROPERTIES IMPORTED_LOCATION {generator})
include({root}/kernelgen/dynd_add_kernels.cmake)
dynd_add_kernels(user_kernels CONFIG user.cfg SOURCES user.c)
"""


def test_a_plug_in_from_cmake(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT, generator=_kernelgen._generator()))
    (tmp_path / "user.c").write_text("double cmake_twice(double x) { return 2 * x; }\n")
    (tmp_path / "user.cfg").write_text("[MODULE user]\n[KERNEL cmake_twice]\nprototypes = double cmake_twice(double x)\ninput = x\n")
    for command in (["cmake", "-S", tmp_path, "-B", tmp_path / "build"], ["cmake", "--build", tmp_path / "build"]):
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
        assert done.returncode == 0, done.stdout + done.stderr
    assert nd.load(tmp_path / "build" / "user_kernels.so") == ["cmake_twice"]
    assert nd.cmake_twice([[1.0], [2.0, 3.0]]).tolist() == [[2], [4, 6]]


def test_the_arguments_are_checked(tmp_path):
    project = PROJECT.format(root=ROOT, generator=_kernelgen._generator()).replace("CONFIG user.cfg", "CONFIGURATION user.cfg")
    (tmp_path / "CMakeLists.txt").write_text(project)
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], capture_output=True, text=True)
    assert done.returncode != 0 and "dynd_add_kernels: expected <target> CONFIG <file>" in done.stderr.replace("\n  ", " ")

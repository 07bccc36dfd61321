"""dynd_add_kernels: a plug-in as a target of CMake, in a checkout and from an installed DyND."""
import os
import shutil
import subprocess
from pathlib import Path

from dynd import _kernelgen, nd

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "kernelgen"

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


INSTALLED = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(dynd REQUIRED)
dynd_add_kernels(installed_kernels CONFIG user.cfg SOURCES user.c LIBRARIES z INCLUDE_DIRECTORIES ${CMAKE_CURRENT_SOURCE_DIR})
add_executable(user main.cpp)
target_link_libraries(user PRIVATE dynd::dynd)
set_target_properties(user PROPERTIES CXX_STANDARD 20)
"""
USER_CONFIG = """
[MODULE user]
includes = user.h zlib.h
threadsafe = yes

[KERNEL installed_twice]
prototypes = double installed_twice(double x)
input = x

[KERNEL installed_crc32]
prototypes = unsigned long crc32(unsigned long crc, const unsigned char *buf, unsigned int len)
input = buf(len), crc = 0
hide = len
"""
MAIN = """
#include <cstdio>

#include "dynd/call/functions.h"
#include "dynd/call/registry.h"

int main(int, char **words) {
  namespace nd = dynd::nd;
  nd::load(words[1]);
  nd::array made = nd::find_callable("installed_twice")(nd::array{1.5, 2.5});
  std::printf("%g %g\\n", made.data<double>()[0], made.data<double>()[1]);
}
"""


def run(*command):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DYND_")}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_installed_dynd_in_a_project_of_its_own(tmp_path):
    """cmake --install, find_package, dynd_add_kernels, and C++ and the command line against what was installed."""
    build, prefix, user = Path(_kernelgen._generator()).resolve().parent, tmp_path / "prefix", tmp_path / "user"
    run("cmake", "--install", build, "--prefix", prefix)
    user.mkdir()
    (user / "CMakeLists.txt").write_text(INSTALLED)
    (user / "user.cfg").write_text(USER_CONFIG)
    (user / "user.h").write_text("double installed_twice(double x);\n")
    (user / "user.c").write_text('#include "user.h"\ndouble installed_twice(double x) { return 2 * x; }\n')
    (user / "main.cpp").write_text(MAIN)
    run("cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", user / "build")
    assert run(user / "build" / "user", user / "build" / "installed_kernels.so") == "3 5\n"
    assert sorted(nd.load(user / "build" / "installed_kernels.so")) == ["installed_crc32", "installed_twice"]
    assert nd.installed_crc32(nd.array([b"hello", b""])).tolist() == [907060870, 0]
    generator = prefix / "bin" / "dynd-kernelgen"
    run(generator, "build", EXAMPLES / "zlib.cfg", "-o", tmp_path / "zlib.so")   # it finds the installed headers
    assert (tmp_path / "zlib.so").exists()
    shutil.rmtree(prefix)


def test_a_project_without_c(tmp_path):
    project = PROJECT.format(root=ROOT, generator=_kernelgen._generator()).replace("LANGUAGES C", "LANGUAGES CXX")
    (tmp_path / "CMakeLists.txt").write_text(project)
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], capture_output=True, text=True)
    assert done.returncode != 0 and "the project must have the language C" in done.stderr

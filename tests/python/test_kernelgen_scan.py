"""Headers as they are: what scan makes of declarations, and what it leaves to a person."""
import os
import subprocess
import time

import numpy as np
import pytest

import kernelgen_support
from dynd import _kernelgen, nd


def scan(*words):
    code, said, errors = kernelgen_support.run("scan", *words)
    assert code == 0, errors
    return said, errors


@pytest.fixture
def header(tmp_path):
    path = tmp_path / "sample.h"
    path.write_text("""
        #include <stddef.h>
        #include <stdio.h>
        #define API extern
        #define SIZE 3
        typedef int my_int;
        typedef struct { double x, y; } point;
        enum color { RED, GREEN };
        /** The sum of a row. */
        API double sum_of(const double *x, my_int n);
        double scaled(const double *x, size_t n, ptrdiff_t stride, double by);
        double norm(point p);
        void move_by(const point *from, double by, point *to);
        int is_red(enum color c);
        double first3(const double a[SIZE]);
        void fill(double *x, int n);
        double *where(int n);
        int say(const char *format, ...);
        int show(FILE *to, double x);
        double apply(double (*f)(double), double x);
        void nothing(double x);
        double matrix(const double *a, int m, int n);
        """)
    return path


def test_guesses(header):
    said, errors = scan(header)
    assert "my_int: int32" in said and "point: {x: float64, y: float64}" in said and "enum color: uint32" in said
    sections = {s.split("]")[0]: s for s in said.split("[KERNEL ")[1:]}
    assert "input = x(n)" in sections["sum_of"] and "hide = n" in sections["sum_of"]
    assert "description = The sum of a row." in sections["sum_of"]
    assert "input = x(n), by" in sections["scaled"] and "hide = n, stride = 1" in sections["scaled"]
    assert "output = to" in sections["move_by"] and "skip" not in sections["move_by"]
    assert "input = a" in sections["first3"]
    for name, question in [("fill", "one value, or an array"), ("where", "it returns double *"), ("matrix", "is a one value, or an array")]:
        assert "# decide:" in sections[name] and question in sections[name] and "skip = yes" in sections[name]
    for name, reason in [("say", "a variable number of arguments"), ("show", "FILE *"), ("apply", "pointer to a function"),
                         ("nothing", "returns nothing")]:
        assert name not in sections and f"skipped: {name}: " in errors and reason in errors and f"# skipped: {name}" in said


def test_comments_are_the_documentation(tmp_path):
    header = tmp_path / "commented.h"
    header.write_text("""
        /**
         * \\brief  Adds   one, 100% sure.
         * @param x  what it is added to
         * @return the sum
         */
        double add_one(double x);
        /* A plain comment */ double plain(double x);
        extern int counter;
        #define TWICE(x) (2 * (x))
        """)
    said, errors = scan(header)
    assert "description = Adds one, 100%% sure.\n    x: what it is added to\n    return the sum\n" in said
    assert "description = A plain comment\n" in said
    assert "skipped: counter: a variable" in errors and "skipped: TWICE: a macro: call it in a function of `header_code`" in errors
    assert "exceptions: GSL_EDOM" in scan("gsl/gsl_sf.h", "--match=gsl_sf_lngamma_e")[0]          # of the system's headers too


def test_progress_is_for_terminals(header, tmp_path):
    terminal = tmp_path / "terminal.so"  # a machine need not have a pseudo-terminal to give
    subprocess.run(["gcc", "-shared", "-fPIC", "-xc", "-", "-o", terminal], input=b"int isatty(int f) { return f == 2; }", check=True)
    call = [_kernelgen._generator(), "scan", str(header), "-o", os.devnull]
    done = subprocess.run(call, stderr=subprocess.PIPE, env=os.environ | {"LD_PRELOAD": str(terminal)}, check=True)
    assert b"scan: reading " in done.stderr
    assert "reading" not in scan(header)[1]


def test_what_is_scanned_can_be_built(header, tmp_path):
    config = tmp_path / "sample.cfg"
    scan(header, "-o", config)
    code, said, errors = kernelgen_support.run("check", config)
    assert code == 0, errors
    assert "sum_of (x: N * float64) -> float64  [sum_of]" in said and "norm (p: {x: float64, y: float64}) -> float64" in said
    assert "matrix" not in said


def test_scanning_again_adds_what_is_new(header, tmp_path):                       # D13
    config = tmp_path / "sample.cfg"
    scan(header, "--match=sum_of", "-o", config)
    config.write_text(config.read_text().replace("hide = n", "hide = n   ; mine"))
    first = config.read_text()
    scan(header, "--match=sum_of", "-o", config)
    assert config.read_text() == first
    header.write_text(header.read_text() + "typedef short other; double sum_of_all(const other *x, int n);")
    scan(header, "--match=sum_of.*", "-o", config)
    text = config.read_text()
    assert text.count("[KERNEL sum_of]") == 1 and "[KERNEL sum_of_all]" in text and "other: int16" in text and "; mine" in text
    assert "[KERNEL sum_of]" not in scan(header, "--match=um_of")[0]                   # the whole name
    assert "sum_of_all" not in scan(header, "--match=sum_of.*", "--exclude=.*_all")[0]


def test_a_header_that_does_not_compile(tmp_path):
    broken = tmp_path / "broken.h"
    broken.write_text("double f(undefined_type x);\n")
    code, _, errors = kernelgen_support.run("scan", broken)
    assert code == 1 and "does not compile" in errors and "broken.h:1:10" in errors
    code, _, errors = kernelgen_support.run("scan", "no/such/header.h")
    assert code == 1 and "file not found" in errors
    assert "expected headers" in kernelgen_support.run("scan")[2]


@pytest.mark.alone  # a time
def test_gsl_in_seconds():
    start = time.monotonic()
    said, _ = scan("gsl/gsl_sf.h")
    assert time.monotonic() - start < 5
    assert said.count("[KERNEL gsl_sf_") > 400


def test_wrap_header(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    blas = nd.wrap_header("cblas.h", functions=["cblas_dasum"], library="openblas", prefix="quick_")
    assert blas.cblas_dasum([[1.0, -2.0], [3.0]]).tolist() == [3, 3]
    m = nd.wrap_header("math.h", ["hypot"], "m", prefix="quick_")
    assert np.allclose(m.hypot([3.0, 5.0], [4.0, 12.0]).tolist(), [5, 13])
    with pytest.raises(ValueError, match="cblas_dgemm: is A one value, or an array"):
        nd.wrap_header("cblas.h", ["cblas_dgemm"], "openblas")
    with pytest.raises(ValueError, match="no_such: the header does not declare it"):
        nd.wrap_header("math.h", ["no_such"], "m")


def test_libclang_is_not_needed_before(monkeypatch):
    monkeypatch.setitem(os.environ, "DYND_LIBCLANG", "/nowhere/libclang.so")
    code, _, errors = kernelgen_support.run("scan", "math.h")
    assert code == 1 and "libclang is not there" in errors
    assert kernelgen_support.run("--help")[0] == 0


def test_the_headers_of_the_compiler_are_those_of_CC(header, tmp_path, monkeypatch):
    asked, compiler = tmp_path / "asked", tmp_path / "my compiler"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> "{asked}"\nexec cc "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    assert "sum_of" in scan(header)[0] and asked.read_text() == "-print-file-name=include\n"

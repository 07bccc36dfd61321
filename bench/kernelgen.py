"""What wrappers of dynd-kernelgen cost over calling the functions by hand, in C: the bars of the generator.

    .venv/bin/python bench/kernelgen.py

Both run in turns on one thread, the best of each. The loops by hand are compiled from the text below with -O2, and write
into memory that was used before. build/release/bench/kernelgen_cost has calls of three elements, from C++.
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import cpu_level  # before NumPy
import numpy as np  # noqa: E402

from dynd import _kernelgen, nd  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent

FUNCTION = "double curve(double x) { return 1.5 * x * x + 0.25 * x - 1; }\n"
HAND = """
#include <stdint.h>
double curve(double x);
double cblas_ddot(int, const double *, int, const double *, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
void hand_curve(long n, const double *x, double *r) {
  for (long i = 0; i < n; i++)
    r[i] = curve(x[i]);
}
void hand_rows(long n, const int64_t *offset, const double *x, const double *y, double *r) {
  for (long i = 0; i < n; i++)
    r[i] = cblas_ddot((int)(offset[i + 1] - offset[i]), x + offset[i], 1, y + offset[i], 1);
}
void hand_product(int n, const double *a, const double *b, double *c) {
  cblas_dgemm(101, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
}
"""
CONFIG = """
[MODULE bars]
sources = curve.c
header_code = double curve(double);
threadsafe = yes
pure = yes
[KERNEL bars_curve]
prototypes = double curve(double x)
input = x
"""


def best_of(functions, rounds):
    """The best time of each, in turns."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, f in enumerate(functions):
            for _ in range(2):
                start = time.perf_counter()
                f()
                best[i] = min(best[i], time.perf_counter() - start)
    return best


def line(name, hand, ours, rounds, bar):
    by_hand, by_us = best_of([hand, ours], rounds)
    ratio = by_us / by_hand
    print(f"{name:42} {by_hand * 1e3:9.3f} ms by hand {by_us * 1e3:9.3f} ms {ratio:6.3f} (bar {bar}){'' if ratio <= bar else '  MISSED'}")
    return ratio <= bar


def address(a):
    return a.ctypes.data_as(ctypes.c_void_p)


def measure(folder):
    (folder / "curve.c").write_text(FUNCTION)
    (folder / "hand.c").write_text(HAND)
    (folder / "bars.cfg").write_text(CONFIG)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", folder / "hand.so", folder / "hand.c", folder / "curve.c", "-lopenblas"],
                   check=True)
    hand = ctypes.CDLL(str(folder / "hand.so"))
    nd.wrap(folder / "bars.cfg")
    blas = nd.wrap(ROOT / "examples/kernelgen/cblas.cfg")
    rng = np.random.default_rng(0)
    fine = True

    x, r = rng.normal(size=1 << 24), np.zeros(1 << 24)
    ours = nd.array(x)
    with nd.eager():
        fine &= line("a scalar function, 16M elements", lambda: hand.hand_curve(ctypes.c_long(x.size), address(x), address(r)),
                     lambda: nd.bars_curve(ours), 9, 1.03)
    offsets = np.concatenate([[0], np.cumsum(rng.poisson(10, 1_000_000))])
    x, y, r = rng.normal(size=offsets[-1]), rng.normal(size=offsets[-1]), np.zeros(1_000_000)
    shared = nd.array(offsets)
    a, b = nd.from_offsets(shared, nd.array(x)), nd.from_offsets(shared, nd.array(y))
    rows = lambda: hand.hand_rows(ctypes.c_long(r.size), address(offsets), address(x), address(y), address(r))  # noqa: E731
    fine &= line("cblas_ddot, 1M rows of mean 10", rows, lambda: blas.cblas_ddot(a, b), 9, 1.3)
    assert (np.asarray(blas.cblas_ddot(a, b)) == r).all()
    a, b, c = rng.normal(size=(256, 256)), rng.normal(size=(256, 256)), np.zeros((256, 256))
    p, q = nd.array(a), nd.array(b)
    fine &= line("cblas_dgemm, 256 x 256", lambda: hand.hand_product(256, address(a), address(b), address(c)),
                 lambda: blas.cblas_dgemm(p, q), 60, 1.05)
    assert (np.asarray(blas.cblas_dgemm(p, q)) == c).all()
    return fine


def measure_program(folder):
    """Seconds of a scan, and of building 200 functions."""
    generator = _kernelgen._generator()
    environment = dict(os.environ, DYND_INCLUDE=str(_kernelgen._headers()))
    config = folder / "sf.cfg"
    start = time.perf_counter()
    subprocess.run([generator, "scan", "gsl/gsl_sf.h", "--match=gsl_sf_.*", "--library=gsl openblas", "-o", config], check=True,
                   stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    print(f"{'scan of gsl/gsl_sf.h':42} {seconds:9.2f} s (bar 5)")
    fine = seconds <= 5
    text = config.read_text().split("\n[KERNEL ")
    ready = [t for t in text[1:] if "skip = yes" not in t][:200]
    config.write_text("\n[KERNEL ".join([text[0], *ready]))
    start = time.perf_counter()
    subprocess.run([generator, "build", config, "-o", folder / "sf.so"], check=True, env=environment)
    seconds = time.perf_counter() - start
    print(f"{f'build of {len(ready)} functions':42} {seconds:9.2f} s (bar 60)")
    return fine and seconds <= 60


if __name__ == "__main__":
    nd.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        results = [measure(pathlib.Path(temporary)), measure_program(pathlib.Path(temporary))]
    sys.exit(not all(results))

"""The loops a person would write with Numba; one thread, fresh results."""

import numba
import numpy as np


@numba.vectorize(["f8(f8, f8)"])
def add(a, b):
    return a + b


@numba.vectorize(["f8(f8, f8, f8, f8, f8)"])
def fused(a, b, c, d, e):
    return a * b + c - d / e


@numba.njit(fastmath=True)
def dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@numba.njit
def row_multiply(a, row, offsets):
    out = np.empty_like(a)
    for r in range(row.size):
        for i in range(offsets[r], offsets[r + 1]):
            out[i] = a[i] * row[r]
    return out


@numba.njit(fastmath=True)
def row_sum(a, offsets):
    out = np.empty(offsets.size - 1)
    for r in range(out.size):
        total = 0.0
        for i in range(offsets[r], offsets[r + 1]):
            total += a[i]
        out[r] = total
    return out


@numba.njit
def row_max(a, offsets):
    out = np.empty(offsets.size - 1)
    for r in range(out.size):
        best = -np.inf
        for i in range(offsets[r], offsets[r + 1]):
            best = max(best, a[i])
        out[r] = best
    return out


@numba.njit(fastmath=True)
def row_fused_sum(a, b, row, offsets):
    out = np.empty(row.size)
    for r in range(row.size):
        total = 0.0
        for i in range(offsets[r], offsets[r + 1]):
            total += a[i] * b[i] + row[r]
        out[r] = total
    return out


LOOPS = {
    "add": add,
    "fused": fused,
    "dot": dot,
    "row_multiply": row_multiply,
    "row_sum": row_sum,
    "row_max": row_max,
    "row_fused_sum": row_fused_sum,
}

"""Builds the hand-written loops of floors*.cpp and runs them on the memory of NumPy arrays."""

import ctypes
import hashlib
import os
import pathlib
import subprocess

import cpu_level  # before NumPy
import numpy as np

HERE = pathlib.Path(__file__).parent
# -w: the AVX-512 headers of g++ 12 alone make hundreds of false warnings.
FLAGS = f"-std=c++20 -O3 -march={cpu_level.ARCH} -ffp-contract=off -fno-math-errno -shared -fPIC -pthread -w -Wno-psabi".split()


class Work(ctypes.Structure):
    """`floors::work` of floors.h."""

    _fields_ = [
        ("out", ctypes.c_void_p),
        ("inputs", ctypes.c_void_p * 5),
        ("offsets", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
        ("columns", ctypes.c_int64),
        ("more", ctypes.c_void_p * 3),
    ]


def build(directory, cpu):
    """Compiles the loops for this CPU unless that was done before; returns the path of the library."""
    sources = sorted(HERE.glob("floors*.cpp"))
    compiler = os.environ.get("CXX", "g++")
    text = b"".join(path.read_bytes() for path in [*sources, *sorted(HERE.glob("floors*.h"))])
    key = hashlib.sha256(text + f"{compiler} {FLAGS} {cpu}".encode()).hexdigest()[:12]
    library = pathlib.Path(directory) / f"floors-{key}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        partial = library.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler, *FLAGS, *map(str, sources), "-o", str(partial)], check=True)
        partial.rename(library)
    return library


class Floors:
    """The loops by family: `families["add"]` lists (variant, index)."""

    def __init__(self, library):
        self._library = ctypes.CDLL(str(library))
        self._library.floor_name.restype = ctypes.c_char_p
        self._library.floor_name.argtypes = [ctypes.c_int64]
        self._library.floor_time.restype = ctypes.c_double
        self._library.floor_time.argtypes = [ctypes.c_int64, ctypes.POINTER(Work), ctypes.c_int64]
        self.families = {}
        index = 0
        while name := self._library.floor_name(index):
            family, variant = name.decode().split("/", 1)
            self.families.setdefault(family, []).append((variant, index))
            index += 1

    def time(self, index, work, repeats):
        """Seconds that `repeats` runs of a loop took."""
        return self._library.floor_time(index, ctypes.byref(work), repeats)


def make_work(out, inputs, offsets=None, rows=0, columns=0, more=()):
    """The operands of a loop; they live as long as it does."""
    addresses = [array.ctypes.data for array in inputs]
    work = Work(
        out=out.ctypes.data,
        inputs=(ctypes.c_void_p * 5)(*addresses),
        offsets=None if offsets is None else offsets.ctypes.data,
        rows=rows,
        columns=columns,
        more=(ctypes.c_void_p * 3)(*(array.ctypes.data for array in more)),
    )
    work.arrays = (out, inputs, offsets, more)
    return work


def aligned(values):
    """A copy that starts on a page: the loops stream whole cache lines."""
    values = np.ascontiguousarray(values)
    memory = np.empty(values.nbytes + 4096, np.uint8)
    start = -memory.ctypes.data % 4096
    result = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    result[...] = values
    return result

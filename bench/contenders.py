"""The libraries that are measured: each binds the operands of a row to its own arrays.

A library is a function `bind(operands)` that returns the names its expressions may use. A package that is
not installed is left out.
"""

import importlib

import numpy as np

from rows import Ragged

ROWS_COMPARED = 1000  # from the start, and as many from the end


def _optional(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:  # it is there, but broken
            raise
        return None


dynd = _optional("dynd")
nd = dynd and dynd.nd
awkward = _optional("awkward")
numexpr = _optional("numexpr")
numba = _optional("numba")


def _flat(operands):
    """Ragged arrays for NumPy and Numba: the flat content, beside it offsets, lengths and the row of each element."""
    names = {name: x.content if isinstance(x, Ragged) else x for name, x in operands.items()}
    for x in operands.values():
        if isinstance(x, Ragged):
            lengths = np.diff(x.offsets)
            names.update(offsets=x.offsets, lengths=lengths, parents=np.repeat(np.arange(lengths.size), lengths))
    return names


def bind_ours(operands):
    """Copies in immutable memory of ours, so that operations may be lazy and fused."""

    def convert(x):
        return nd.array(nd.from_offsets(x.offsets, x.content)) if isinstance(x, Ragged) else nd.array(x)

    return {name: convert(x) for name, x in operands.items()} | {"sqrt": nd.sqrt}


def bind_numpy(operands):
    functions = {f.__name__: f for f in (np.sqrt, np.repeat, np.maximum, np.bincount)}
    return _flat(operands) | functions


def bind_awkward(operands):
    def convert(x):
        if not isinstance(x, Ragged):
            return awkward.Array(x)
        offsets = awkward.index.Index64(x.offsets)
        return awkward.Array(awkward.contents.ListOffsetArray(offsets, awkward.contents.NumpyArray(x.content)))

    return {name: convert(x) for name, x in operands.items()} | {"ak": awkward}


def bind_numexpr(operands):
    numexpr.set_num_threads(1)
    return {"evaluate": lambda text: numexpr.evaluate(text, local_dict=operands, global_dict={})}


def bind_numba(operands):
    from numba_loops import LOOPS

    return _flat(operands) | LOOPS


LIBRARIES = {
    name: bind
    for name, package, bind in [
        ("ours", nd, bind_ours),
        ("numpy", np, bind_numpy),
        ("awkward", awkward, bind_awkward),
        ("numexpr", numexpr, bind_numexpr),
        ("numba", numba, bind_numba),
    ]
    if package
}


def versions():
    packages = {"dynd": dynd, "numpy": np, "awkward": awkward, "numexpr": numexpr, "numba": numba}
    return {name: getattr(package, "__version__", "?") if package else "-" for name, package in packages.items()}


def same(result, expected, operands, tolerance):
    """Whether a result is the expected flat array. Of other libraries' ragged results a sample of rows is compared."""
    offsets = next((x.offsets for x in operands.values() if isinstance(x, Ragged)), None)
    if offsets is None or isinstance(result, np.ndarray):
        got = np.asarray(result).reshape(-1)
    else:
        count = min(ROWS_COMPARED, offsets.size - 1)
        got = np.hstack([*result[:count].tolist(), *result[-count:].tolist()])
        head, tail = (offsets[count], offsets[-count - 1]) if expected.size == offsets[-1] else (count, -count)
        expected = np.concatenate([expected[:head], expected[tail:]])
    return got.size == expected.size and np.allclose(got, expected, rtol=tolerance, atol=tolerance)

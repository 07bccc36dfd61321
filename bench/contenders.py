"""The libraries that are measured: each binds the operands of a row to its own arrays.

A library is a function `bind(operands)` that returns the names its expressions may use. A package that is
not installed is left out.
"""

import importlib

import numpy as np

from rows import Ragged

FUNCTIONS = ("sqrt", "exp", "log", "sin", "cos", "tanh")
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

    functions = {name: getattr(nd, name) for name in (*FUNCTIONS, "softmax") if hasattr(nd, name)}  # of an older build
    return {name: convert(x) for name, x in operands.items()} | functions


def _padded(content, lengths, value):
    """The rows as long as the longest, and what of them is theirs."""
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
    padded = np.full(inside.shape, value)
    padded[inside] = content
    return padded, inside


def running_sums(content, lengths):
    """NumPy has no sums within rows that add in order."""
    padded, inside = _padded(content, lengths, 0.0)
    return np.cumsum(padded, axis=1)[inside]


def row_argmax(content, lengths):
    return _padded(content, lengths, -np.inf)[0].argmax(axis=1)


def row_softmax(content, offsets, lengths):
    powers = np.exp(content - np.repeat(np.maximum.reduceat(content, offsets[:-1]), lengths))
    return powers / np.repeat(np.add.reduceat(powers, offsets[:-1]), lengths)


def bind_numpy(operands):
    names = (*FUNCTIONS, "repeat", "maximum", "bincount", "logical_or")
    own = {"running_sums": running_sums, "row_argmax": row_argmax, "row_softmax": row_softmax}
    return _flat(operands) | {name: getattr(np, name) for name in names} | own


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

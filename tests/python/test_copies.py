"""Copies of elements of any type: the values are the source's, and neither array sees what is written to the other."""
import contextlib
import random

import pytest

from dynd import nd

TEXTS = ["", "a", "héé", "x" * 40]


def random_type(rng, depth=0):
    """Datashape text, and a function that makes a value."""
    kind = rng.choice(["int", "text", "option", "var", "fixed", "struct"] if depth < 3 else ["int", "text"])
    if kind == "int":
        return "int64", lambda: rng.randrange(100)
    if kind == "text":
        return "string", lambda: rng.choice(TEXTS)
    if kind == "struct":
        fields = {name: random_type(rng, depth + 1) for name in "xyz"[: rng.randrange(1, 4)]}
        text = ", ".join(f"{name}: {type}" for name, (type, _) in fields.items())
        return "{" + text + "}", lambda: {name: make() for name, (_, make) in fields.items()}
    inner, make = random_type(rng, depth + 1)
    if kind == "option":
        known = inner.startswith("?")
        return inner if known else "?" + inner, make if known else lambda: None if rng.random() < 0.3 else make()
    size = rng.randrange(1, 3)
    if kind == "fixed":
        return f"{size} * {inner}", lambda: [make() for _ in range(size)]
    return f"var * {inner}", lambda: [make() for _ in range(rng.randrange(4))]


@pytest.mark.parametrize("seed", range(300))
def test_copies_have_the_values(seed):
    rng = random.Random(seed)
    dtype, make = random_type(rng)
    size = rng.randrange(6)
    a = nd.array([make() for _ in range(size)], type=f"{size} * {dtype}")
    for view in (a, a[1:], a[::-1], a[::2]):
        values = view.tolist()
        writable = nd.array(view, access="rw")
        frozen = nd.array(writable)
        assert writable.tolist() == frozen.tolist() == values
        assert nd.array(writable[1:], access="rw").tolist() == values[1:]
        for i in range(len(values)):
            with contextlib.suppress(ValueError):  # rows of another length
                writable[i] = values[0]
        assert frozen.tolist() == values == view.tolist()
        assert nd.array(writable).tolist() == writable.tolist()


@pytest.mark.parametrize("inner, values", [("int32", [4, 5, 6]), ("string", ["x", "y", "z"])])
def test_a_missing_row_of_a_copy_has_no_length_yet(inner, values):
    """As in a new array: it gets one from what is assigned. A row that is there keeps its length."""
    source = nd.array([None, values[:2], [], None], type=f"strided * ?var * {inner}")
    for copy in (nd.array(source, access="rw"), nd.array(nd.array(source, access="rw"), access="rw")):
        copy[0] = values
        assert copy.tolist() == [values, values[:2], [], None]
        with pytest.raises(ValueError, match="lengths 3 and 0"):
            copy[2] = values
    records = nd.array([{"r": None}, {"r": values[:1]}], type=f"strided * {{r: ?var * {inner}}}")
    copy = nd.array(records, access="rw")
    copy["r"][0] = values
    assert copy.tolist() == [{"r": values}, {"r": values[:1]}]


def test_a_copy_of_few_of_many_rows_keeps_only_those():
    a = nd.array([{"s": "x" * 1000, "r": [1] * 100} for _ in range(1000)])
    few = nd.array(a[::100], access="rw")
    assert few.tolist() == a.tolist()[::100]

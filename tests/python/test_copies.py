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


def test_a_copy_of_few_of_many_rows_keeps_only_those():
    a = nd.array([{"s": "x" * 1000, "r": [1] * 100} for _ in range(1000)])
    few = nd.array(a[::100], access="rw")
    assert few.tolist() == a.tolist()[::100]

"""Texts and rows that are replaced: their memory is used again, and no view sees what came after it."""

import random

import numpy as np
import pytest
from dynd import nd

pytestmark = pytest.mark.memory


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def grown_by(call, times=60_000):
    """Bytes that the process has more after many calls than after a few."""
    for i in range(200):
        call(i)
    before = resident()
    for i in range(times):
        call(i)
    return resident() - before


LENGTHS = {
    "one": lambda i: 1000,
    "two": lambda i: 1 + 999 * (i % 2),
    "empty and long": lambda i: 1000 * (i % 2),
    "many": lambda i: i * 7919 % 2000,
}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("type", ["string", "bytes", "?string", "{s: string, x: int32}", "pointer[string]"])
def test_replaced_texts_take_no_more_memory(length, type):
    def text(n):
        value = b"x" * n if type == "bytes" else "x" * n
        return {"s": value, "x": 1} if type[0] == "{" else value

    a = nd.array([text(1), text(3)], type=type, access="rw")

    def call(i):
        a[i % 2] = text(LENGTHS[length](i))

    assert grown_by(call) < 4 << 20
    assert a.tolist() == [text(LENGTHS[length](59_998)), text(LENGTHS[length](59_999))]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("row", ["int32", "string", "{q: var * int32}", "var * string"])
def test_replaced_rows_of_records_take_no_more_memory(length, row):
    one = {"int32": 5, "string": "text", "{q: var * int32}": {"q": [1, 2]}, "var * string": ["a", "bc"]}[row]
    a = nd.empty(f"2 * {{x: int32, r: var * {row}}}")

    def call(i):
        a[i % 2] = {"x": i, "r": [one] * (LENGTHS[length](i) // 10)}

    assert grown_by(call, 6_000) < 4 << 20
    assert a[1].tolist() == {"x": 5_999, "r": [one] * (LENGTHS[length](5_999) // 10)}


@pytest.mark.parametrize("type, value", [("string", "x" * 1000), ("2 * string", ["x" * 500, "y" * 500])])
def test_pointers_that_become_null_take_no_more_memory(type, value):
    """What they pointed to is used again by the next."""
    a = nd.array([value, value], type=f"pointer[{type}]", access="rw")
    null = nd.array(None, type=f"pointer[{type}]")

    def call(i):
        a[i % 2] = null
        a[i % 2] = value

    assert grown_by(call, 30_000) < 4 << 20
    assert a.tolist() == [value, value]
    a[0] = null
    assert a.tolist() == [None, value]


def test_a_pointer_to_rows_takes_rows_of_any_length_again():
    a = nd.array([[1, 2, 3]], type="pointer[var * int32]", access="rw")
    a[0] = nd.array(None, type="pointer[var * int32]")
    a[0] = [4, 5]
    assert a.tolist() == [[4, 5]]


def test_failed_assignments_take_no_more_memory():
    """Rows that had no memory get it, and give it back; what the texts in them took is used by the next."""
    a = nd.empty("2 * var * string")
    good, bad = b"x" * 1000, b"\xff" * 1000
    source = nd.array([[good] * 5, [good] * 3 + [bad]], type="2 * var * bytes")

    def call(i):
        with pytest.raises(ValueError, match="not UTF-8 text"):
            nd.assign(a, source)

    assert grown_by(call, 3_000) < 2 << 20
    assert a.tolist() == [[], []]
    nd.assign(a, nd.array([["a"], ["bc", "d"]]))
    assert a.tolist() == [["a"], ["bc", "d"]]


def random_record(rng):
    def text():
        return rng.choice("abcdef") * rng.choice([0, 1, 2, 5, 9, 40, 300])

    some = lambda make: [make() for _ in range(rng.choice([0, 0, 1, 2, 3, 4, 8, 20]))]  # noqa: E731
    deep = lambda: {"t": text(), "n": some(lambda: rng.randrange(100))}  # noqa: E731
    return {"s": text(), "r": some(lambda: rng.randrange(1000)), "d": some(deep), "o": rng.choice([None, text()])}


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_random_replacements(seed, views):
    rng = random.Random(seed)
    type = "{s: string, r: var * int32, d: var * {t: string, n: var * int32}, o: ?string}"
    values = [random_record(rng) for _ in range(6)]
    a = nd.array(values, type=type, access="rw")
    kept = []
    for step in range(600):
        i = rng.randrange(6)
        if views and rng.random() < 0.2:
            view = rng.choice([lambda: a["r"][i], lambda: a["r"][i:, ::2], lambda: a["d"]["n"][:, ::-1]])()
            kept.append((i, values[i]["r"], a["r"][i], view, view.tolist()))
        if rng.random() < 0.1:  # all of them
            j = rng.randrange(6)
            a[...] = a[j]
            values = [values[j]] * 6
        elif rng.random() < 0.3:  # one field
            values[i] = values[i] | {"s": random_record(rng)["s"]}
            a["s"][i] = values[i]["s"]
        else:
            new = random_record(rng)
            values[i] = new
            a[i] = new
        assert a.tolist() == values
    for _, row, view, other, shown in kept:
        other.tolist()  # shows something: what was assigned to a row of the same length is seen
        assert len(view.tolist()) == len(row)
    assert nd.array(a).tolist() == values


def test_a_view_of_a_row_keeps_what_it_shows():
    """A row of another length is stored elsewhere, and its old place is not used again while a view may show it."""
    a = nd.empty("4 * {r: var * int32}")
    for i in range(4):
        a[i] = {"r": [i] * 5}
    views = [a["r"][i] for i in range(4)] + [a["r"][:, 1:]]
    for step in range(1, 300):
        a[step % 4] = {"r": [100 + step] * (6 + step % 20)}
    assert [view.tolist() for view in views] == [[i] * 5 for i in range(4)] + [[[i] * 4 for i in range(4)]]


VIEWS = {
    "one row": lambda a: a["r"][1],
    "one row of a slice": lambda a: a["r"][1:][0],
    "every second of a row": lambda a: a["r"][1][::2],
    "cut rows": lambda a: a["r"][:, 1:],
    "backwards": lambda a: a["r"][:, ::-1],
    "one of cut rows": lambda a: a["r"][1:2, 2:][0],
}


@pytest.mark.parametrize("view", VIEWS)
def test_each_kind_of_view_alone_keeps_what_it_shows(view):
    """No other view of the array is there, which would keep the places of all its rows. (Whole rows of an array, as
    a["r"][1:2], are found where the array finds them: they show what is assigned.)"""
    a = nd.empty("4 * {r: var * int32}")
    for size in (5, 9):  # the second place of each row is one that can be used again
        for i in range(4):
            a[i] = {"r": [i] * size}
    kept = VIEWS[view](a)
    shown = kept.tolist()
    for step in range(300):
        a[step % 4] = {"r": [100 + step] * (10 + step % 20)}
    assert kept.tolist() == shown


@pytest.mark.parametrize("view", [(slice(None), slice(0, 3)), (slice(None), slice(None, None, -1))])
def test_views_of_rows_that_may_be_missing_stay(view):
    a = nd.array([{"h": [1, 2, 3]}, {"h": [4, 5]}, {"h": [6]}], type="strided * {h: ?var * int32}", access="rw")
    a[1] = {"h": None}
    a[0] = {"h": [10, 11, 12, 13, 14]}
    kept = a["h"][view]
    shown = kept.tolist()
    for size in range(1, 30):
        a[0] = {"h": [100 + size] * size}
        a[2] = {"h": [-size] * (size + 3)}
    assert kept.tolist() == shown


@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("first", [True, False])
def test_rows_that_are_compared_with_ever_new_ones_keep_none_of_them(first, kind):
    """What two arrays know of their rows, that they are the same, is kept by the younger one."""
    offsets, content = np.arange(5001).astype(kind), nd.array(np.zeros(5000, "int8"))
    old = nd.from_offsets(offsets, content)

    def call(i):
        new = nd.from_offsets(offsets, content)
        assert nd.all((old + new if first else new + old) == new)

    assert grown_by(call, 2000) < 4 << 20


@pytest.mark.parametrize("threads", [1, 2])
def test_many_texts_at_once(threads):
    before = nd.num_threads()
    nd.set_num_threads(threads)
    try:
        size = 300_000
        values = {n: nd.array(["ab" * (k % n) for k in range(size)]) for n in (3, 9, 20)}
        a = nd.empty(f"{size} * string")
        a[...] = values[3]
        start = None
        for step, n in enumerate([9, 20, 3, 20, 9, 3, 9, 20] * 4):
            a[...] = values[n]
            assert np.asarray(a == values[n]).all()
            if step == 8:
                start = resident()
        assert resident() - start < 8 << 20
    finally:
        nd.set_num_threads(before)

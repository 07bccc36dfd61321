"""Texts and bytes of a fixed length: fixed_string[N] and fixed_bytes[N]."""
import copy
import itertools

import numpy as np
import pytest

from dynd import nd, ndt

TEXTS = ["", "a", "abc", "äx", "a\0b", "漢字", "abcdefgh"]


def texts(values, size=8, access=None):
    return nd.array(values, type=f"fixed_string[{size}]", access=access)


# ---- types ------------------------------------------------------------------------------------------------------------

def test_types_are_printed_and_compared():
    t = ndt.type("3 * {name: fixed_string[16], id: fixed_bytes[4]}")
    assert str(t) == "3 * {name: fixed_string[16], id: fixed_bytes[4]}" and ndt.type(str(t)) == t
    assert ndt.type("fixed_string[16]") != ndt.type("fixed_string[17]")
    assert ndt.type("fixed_string[16]") != ndt.type("fixed_bytes[16]")
    found = ndt.type("5 * fixed_string[4]").match("N * Text T")
    assert found["T"] == ndt.type("fixed_string[4]") and found["N"] == 5
    assert ndt.type("fixed_string[3]").match("fixed_string[4]").why == \
        "fixed_string[3] does not match fixed_string[4]: fixed_string[3] is not fixed_string[4]"


@pytest.mark.parametrize("text, error, message", [
    ("fixed_string[0]", ValueError, "a fixed_string has 1 to 2147483647 bytes, not 0 at line 1, column 14"),
    ("fixed_bytes[2147483648]", ValueError, "a fixed_bytes has 1 to 2147483647 bytes, not 2147483648"),
    ("fixed_bytes[99999999999999999999]", OverflowError, "length 99999999999999999999 does not fit in int64"),
    ("fixed_string[-3]", TypeError, "negative length -3"),
    ("fixed_string", TypeError, 'expected "\\[" after "fixed_string"'),
    ("fixed_string(3, 'utf16')", TypeError, "the encoding of a fixed_string is 'utf8'"),
    ("FixedString", TypeError, 'there is no family "FixedString"'),
    ("(x: fixed_string[3] = \"a\") -> int8", TypeError, "has no default"),
])
def test_types_that_are_none(text, error, message):
    with pytest.raises(error, match=message):
        ndt.type(text)


# ---- values -----------------------------------------------------------------------------------------------------------

def test_values_from_python_and_back():
    a = texts(TEXTS)
    assert a.tolist() == TEXTS and str(a.type) == "strided * fixed_string[8]"
    assert repr(texts(["a", "ä"], 2)) == 'nd.array(["a", "ä"], type="strided * fixed_string[2]")'
    assert str(texts("abc")) == "abc" and texts("abc").tolist() == "abc"
    b = nd.array([b"ab", b"\0\0"], type="fixed_bytes[2]")
    assert b.tolist() == [b"ab", b"\0\0"] and repr(b) == 'nd.array([b"ab", b"\\x00\\x00"], type="strided * fixed_bytes[2]")'
    assert nd.array(bytearray(b"ab"), type="fixed_bytes[2]").tolist() == b"ab"
    assert texts(["a\0\0", "\0"]).tolist() == ["a", ""]  # zeros behind a text are not part of it
    assert nd.empty("2 * fixed_string[3]").tolist() == ["", ""] and nd.empty("2 * fixed_bytes[2]").tolist() == [b"\0\0"] * 2


def test_ragged_rows_options_structs_and_pointers():
    values = [[{"n": "ab", "k": b"12", "x": [1]}, {"n": None, "k": b"34", "x": []}], [], [{"n": "", "k": b"\0\0", "x": [2, 3]}]]
    a = nd.array(values, type="strided * var * {n: ?fixed_string[4], k: fixed_bytes[2], x: var * int8}")
    assert a.tolist() == values and a["n"].tolist() == [["ab", None], [], [""]]
    assert a[::-1, ::-1]["k"].tolist() == [[b"\0\0"], [], [b"34", b"12"]]
    p = nd.array(["a", None, "bc"], type="3 * pointer[fixed_string[2]]")
    assert p.tolist() == ["a", None, "bc"]
    m = nd.array([[["a", "b"], ["c", "d"]]], type="1 * 2 * 2 * fixed_string[1]")
    assert m.T.tolist() == [[["a"], ["c"]], [["b"], ["d"]]] and nd.array(m.T).tolist() == m.T.tolist()
    inside = nd.array([{"m": [["a", "b"], ["c", "d"]]}], type="{m: 2 * 2 * fixed_string[1]}")
    assert inside["m"].tolist() == m.tolist() and nd.array(inside[::-1]).tolist() == inside.tolist()


@pytest.mark.parametrize("values, dtype, error, message", [
    (["abc", "abcd"], "fixed_string[3]", OverflowError, r"array: a text of 4 bytes for fixed_string\[3\].*1"),
    (["ää"], "fixed_string[3]", OverflowError, "a text of 4 bytes"),
    ([b"abc", b"abcd"], "fixed_bytes[3]", OverflowError, r"a value of 4 bytes for fixed_bytes\[3\]"),
    ([b"abc", b"ab"], "fixed_bytes[3]", ValueError, r"a value of 2 bytes for fixed_bytes\[3\]"),
    ([b"abc"], "fixed_string[3]", TypeError, r"cannot make fixed_string\[3\] from bytes"),
    (["abc"], "fixed_bytes[3]", TypeError, r"cannot make fixed_bytes\[3\] from str"),
    ([1], "fixed_string[3]", TypeError, r"cannot make fixed_string\[3\] from int"),
    (["\ud800"], "fixed_string[3]", ValueError, None),
])
def test_values_that_do_not_fit(values, dtype, error, message):
    with pytest.raises(error, match=message):
        nd.array(values, type=dtype)


# ---- NumPy --------------------------------------------------------------------------------------------------------------

def test_views_of_numpy():
    plain = np.array([[b"ab", b"", b"abcde"], [b"c", b"d", b"e"]])
    for view in (plain, plain[:, ::-2], plain.T, plain[:0], plain[1, 1:2].reshape(())):
        a = nd.asarray(view)
        assert str(a.type.dtype) == "fixed_string[5]" and a.tolist() == np.char.decode(view).tolist()
        back = np.asarray(a)
        assert back.dtype == view.dtype and back.shape == view.shape and (back == view).all()
        assert view.size == 0 or np.shares_memory(back, plain)
    a = nd.asarray(plain)
    a[0, 0] = "xyz"
    assert plain[0, 0] == b"xyz"
    plain[1, 2] = b"new"
    assert a[1, 2].tolist() == "new"
    plain.flags.writeable = False
    with pytest.raises(TypeError):
        nd.asarray(plain)[0, 0] = "a"


def test_views_of_bytes_and_records():
    plain = np.array([b"ab\0", b"\0\0\0"], "V3")
    a = nd.asarray(plain)
    assert str(a.type) == "strided * fixed_bytes[3]" and a.tolist() == [b"ab\0", b"\0\0\0"]
    assert np.shares_memory(np.asarray(a), plain) and np.asarray(a).dtype == "V3"
    assert str(nd.array(plain).type) == "strided * fixed_bytes[3]"
    table = np.array([("n", 1.5, b"ab"), ("mm", 2.5, b"cd")], dtype=[("name", "S4"), ("v", "f4"), ("id", "V2")])
    a = nd.asarray(table)
    assert str(a.type) == "strided * {name: fixed_string[4], v: float32, id: fixed_bytes[2]}"
    assert a.tolist() == [{"name": "n", "v": 1.5, "id": b"ab"}, {"name": "mm", "v": 2.5, "id": b"cd"}]
    table["name"][1] = b"other"
    assert a["name"].tolist() == ["n", "othe"] and np.shares_memory(np.asarray(a["name"]), table)
    copied = np.asarray(a)
    assert copied.dtype == [("name", "S4"), ("v", "f4"), ("id", "V2")] and (copied == table).all()
    assert nd.array(table).tolist()[0] == {"name": b"n", "v": 1.5, "id": b"ab"}  # a copy has bytes
    mixed = nd.array([("ä", "b")], type="(fixed_string[3], string)")
    assert np.asarray(mixed).tolist() == [("ä", "b")]


def test_copies_of_numpy():
    plain = np.array([b"12", b"345"])
    assert nd.array(plain, type="string").tolist() == ["12", "345"]
    assert nd.array(plain, type="fixed_string[4]").tolist() == ["12", "345"]
    assert nd.array(plain, type="int64").tolist() == [12, 345]
    assert nd.array(np.array(["ä", "bc"]), type="fixed_string[2]").tolist() == ["ä", "bc"]
    masked = np.ma.array([b"a", b"b"], mask=[True, False])
    assert nd.array(masked).tolist() == [None, b"b"]


def test_memory_that_is_no_text():
    a = nd.asarray(np.array([b"ok", b"\xff"]))
    assert nd.array(a, type="bytes").tolist() == [b"ok", b"\xff"] and (a == a).tolist() == [True, True]
    assert nd.sort(a)[0].tolist() == "ok" and "ok" in repr(a)
    with pytest.raises(ValueError, match="not UTF-8"):
        a.tolist()
    with pytest.raises(ValueError, match=r"not UTF-8 text at index \(1,\)"):
        nd.array(a, type="string")


# ---- assignment -----------------------------------------------------------------------------------------------------------

TYPES = ["string", "bytes", "fixed_string[3]", "fixed_string[5]", "fixed_bytes[3]", "fixed_bytes[5]"]
VALUES = [b"", b"a", b"abc", b"abcde", b"abcdef", b"\xc3\xa4\xc3\xa4", b"a\0\0"]


def stored(value, dtype):
    """The value of an element; None where the type does not take it."""
    size = int(dtype.split("[")[1][:-1]) if "[" in dtype else None
    if dtype.startswith("fixed_string"):
        value = value.rstrip(b"\0")
        return value if len(value) <= size else None
    return value if size in (None, len(value)) else None


def as_python(value, dtype):
    return value.decode() if "string" in dtype else value


@pytest.mark.parametrize("source, target", list(itertools.product(TYPES, TYPES)))
def test_assignment_between_all_of_them(source, target):
    for value in VALUES:
        own = stored(value, source)
        if own is None:
            continue
        wanted = stored(own, target)
        for layout in ("plain", "ragged", "strided"):
            a = nd.array([as_python(own, source)] * 3, type=source)
            b = nd.empty(f"3 * {target}")
            if layout == "ragged":
                a, b = nd.array([a.tolist(), []], type=f"strided * var * {source}"), nd.array([a.tolist(), []], type=f"strided * var * {source}")
                if wanted is None:
                    with pytest.raises((OverflowError, ValueError), match=r"at index \(0, 0\)"):
                        nd.array(a, type=target)
                else:
                    assert nd.array(a, type=target).tolist() == [[as_python(wanted, target)] * 3, []]
                continue
            if layout == "strided":
                a, b = a[::-1], nd.empty(f"6 * {target}")[::2]
            if wanted is None:
                with pytest.raises((OverflowError, ValueError), match=r"at index \(0,\)"):
                    b[...] = a
            else:
                b[...] = a
                assert b.tolist() == [as_python(wanted, target)] * 3


def test_what_is_refused_names_the_element():
    a = nd.empty("3 * fixed_string[3]")
    with pytest.raises(OverflowError, match=r'overflow while assigning string "abcd" of 4 bytes to fixed_string\[3\] at index \(2,\)'):
        a[...] = ["a", "b", "abcd"]
    with pytest.raises(OverflowError, match=r"overflow while assigning 4 bytes to fixed_bytes\[3\] at index \(1,\)"):
        nd.array(nd.array([b"abc", b"abcd"]), type="fixed_bytes[3]")
    with pytest.raises(ValueError, match=r"cannot assign 2 bytes to fixed_bytes\[3\], which has no fewer at index \(1,\)"):
        nd.array(nd.array([b"abc", b"ab"]), type="fixed_bytes[3]")
    with pytest.raises(OverflowError, match=r'string "1000" of 4 bytes to fixed_string\[3\] at index \(1,\)'):
        nd.array(nd.array([1, 1000]), type="fixed_string[3]")
    with pytest.raises(TypeError, match=r"cannot assign int32 to fixed_bytes\[3\]"):
        nd.array(nd.array([1]), type="fixed_bytes[3]")


def test_without_checks_it_is_cut():
    a, b = nd.empty("2 * fixed_string[4]"), nd.empty("2 * fixed_bytes[3]")
    nd.assign(a, ["äää", "abcdef"], errmode="nocheck")
    nd.assign(b, [b"abcdef", b"a"], errmode="nocheck")
    assert a.tolist() == ["ää", "abcd"] and b.tolist() == [b"abc", b"a\0\0"]
    c = nd.empty("1 * fixed_string[3]")
    nd.assign(c, ["ää"], errmode="nocheck")
    assert c.tolist() == ["ä"]  # no half of a character
    d = nd.empty("1 * {n: fixed_string[3], x: int8}")
    nd.assign(d, [("abcdef", 1)], errmode="nocheck")
    assert d.tolist() == [{"n": "abc", "x": 1}]


def test_structs_are_assigned_whole_or_not_at_all():
    a = nd.array([("a", 1), ("b", 2)], type="{n: fixed_string[2], x: int32}", access="rw")
    with pytest.raises(OverflowError, match=r'at index \(1, "n"\)'):
        a[...] = nd.array([("x", 7), ("long", 8)], type="{n: string, x: int32}")
    assert a["x"].tolist()[1] == 2 and a["n"].tolist()[1] == "b"
    a[0] = {"n": "é", "x": "12"}
    assert a[0].tolist() == {"n": "é", "x": 12}


def test_numbers_missing_values_and_broadcasting():
    a = nd.empty("2 * fixed_string[8]")
    a[...] = 1.5
    assert a.tolist() == ["1.5", "1.5"] and nd.array(a, type="float32").tolist() == [1.5, 1.5]
    assert nd.array(nd.array(["1", None], type="?fixed_string[2]"), type="?int8").tolist() == [1, None]
    assert nd.array(texts(["1", "NA", ""]), type="?int8").tolist() == [1, None, None]
    b = nd.array(["x", None], type="?fixed_string[2]", access="rw")
    b[0], b[1] = None, "yy"
    assert b.tolist() == [None, "yy"]
    with pytest.raises(OverflowError, match="NA value"):
        a[...] = b
    c = nd.array(["ab", "cd"], type="fixed_string[2]", access="rw")
    c[...] = c[::-1]
    assert c.tolist() == ["cd", "ab"]
    c[[True, False]] = "zz"
    c[[1]] = ["y"]
    assert c.tolist() == ["zz", "y"]


# ---- comparison, order, groups -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("left, right", list(itertools.product(["string", "fixed_string[8]", "fixed_string[9]"], repeat=2)))
def test_comparison(left, right):
    pairs = list(itertools.product(TEXTS, TEXTS))
    a = nd.array([x for x, _ in pairs], type=left)
    b = nd.array([y for _, y in pairs], type=right)
    encoded = [(x.encode(), y.encode()) for x, y in pairs]
    assert (a == b).tolist() == [x == y for x, y in encoded] and (a != b).tolist() == [x != y for x, y in encoded]
    assert (a < b).tolist() == [x < y for x, y in encoded] and (a >= b).tolist() == [x >= y for x, y in encoded]
    assert (a[::-1] == "abc").tolist() == [x == "abc" for x, _ in pairs][::-1]


def test_comparison_of_bytes_structs_and_missing_values():
    a = nd.array([b"ab", b"a\0"], type="fixed_bytes[2]")
    assert (a == nd.array([b"ab", b"a"])).tolist() == [True, False] and (a > b"a").tolist() == [True, True]
    s = nd.array([("a", 1), ("b", 2)], type="{n: fixed_string[2], x: int8}")
    t = nd.array([("a", 1), ("c", 2)], type="{n: string, x: int8}")
    assert (s == t).tolist() == [True, False] and (s < t).tolist() == [False, True]
    assert (nd.array(["a", None], type="?fixed_string[2]") == "a").tolist() == [True, None]
    with pytest.raises(TypeError, match=r"cannot compare fixed_string\[8\] with bytes"):
        texts(["a"]) == b"a"


@pytest.mark.parametrize("dtype", ["fixed_string[8]", "?fixed_string[8]"])
def test_order_and_groups(dtype):
    values = ["pear", "apple", "", "pear", "fig", "applepie", "apple"]
    a = nd.array(values, type=dtype)
    assert nd.sort(a).tolist() == sorted(values) and str(nd.sort(a).type.dtype) == dtype
    assert nd.argsort(a, descending=True).tolist()[0] == 0
    assert nd.unique(a).tolist() == sorted(set(values))
    assert nd.isin(a, ["pear", "fig"]).tolist() == [v in ("pear", "fig") for v in values]
    rows = nd.array([values[:3], [], values[3:]], type=f"strided * var * {dtype}")
    assert nd.sort(rows).tolist() == [sorted(values[:3]), [], sorted(values[3:])]
    groups = nd.groupby(nd.array(list(range(7))), a)
    assert groups.keys.tolist() == sorted(set(values)) and str(groups.keys.type.dtype) == dtype
    assert groups.sum().tolist() == [sum(i for i, v in enumerate(values) if v == k) for k in sorted(set(values))]
    assert nd.concat([a, a]).tolist() == values * 2
    assert nd.searchsorted(nd.sort(texts(values)), texts(["fig"])).tolist() == [sorted(values).index("fig")]


def test_joins():
    left = nd.array([("a", 1), ("b", 2)], type="{k: fixed_string[2], x: int8}")
    right = nd.array([("b", 3), ("c", 4)], type="{k: fixed_string[2], y: int8}")
    assert nd.join(left, right, on="k").tolist() == [{"k": "b", "x": 2, "y": 3}]


def test_many_on_threads():
    values = [f"k{i * 7919 % 1000}" for i in range(60000)]
    a = texts(values)
    b = nd.empty("60000 * fixed_string[6]")
    b[...] = a
    assert b.tolist() == values and (a == b).all().tolist() and nd.unique(a).shape == (1000,)
    assert nd.array(a, type="string").tolist() == values and copy.copy(a).tolist() == values
    values[54321] = "toolong8"
    with pytest.raises(OverflowError, match=r"at index \(54321,\)"):
        b[...] = nd.array(values)
    assert nd.take(a, [3, 1]).tolist() == [values[3], values[1]]


def test_functions_of_numbers_refuse_them():
    for call in (lambda a: a + a, lambda a: a.sum(), lambda a: nd.sqrt(a)):
        with pytest.raises(TypeError, match="fixed_string"):
            call(texts(["a"]))


# ---- everything else ------------------------------------------------------------------------------------------------------

def functions():
    """Functions and methods, called in several ways with one array."""
    without = {"load", "wrap", "wrap_header", "explain", "trace", "from_c"}
    for name, f in list(vars(nd).items()):  # not what other tests have registered
        if callable(f) and not isinstance(f, type) and not name.startswith(("_", "set_")) and name not in without:
            for other in ([], [1], ["fig"], [[1, 0]]):
                yield f"{name} {other}", lambda a, f=f, other=other: f(a, *other)
            yield f"{name} twice", lambda a, f=f: f(a, a)
            yield f"{name} of a list", lambda a, f=f: f([a, a])
            yield f"{name} of three", lambda a, f=f: f(a == a, a, a)
    for name in dir(nd.array):
        if not name.startswith("__") and name not in ("type", "dtype"):
            yield f"array.{name}", lambda a, name=name: (lambda m: m() if callable(m) else m)(getattr(a, name))


def outcome(call, a):
    def plain(result):
        if isinstance(result, tuple):
            return tuple(map(plain, result))
        return result.tolist() if isinstance(result, nd.array) else type(result)
    try:
        return plain(call(a))
    except Exception as e:
        return type(e)


def test_what_works_with_texts_works_with_these():
    arrays = [([["pear", "apple"], ["fig", "kiwi"], ["plum", "fig"]], "{}"), ([["pear", "apple"], [], ["fig"]], "{}"),
              (["b", None, "a"], "?{}"), ([("a", 1), ("b", 2)], "{{n: {}, x: int32}}")]
    count = 0
    for name, call in functions():
        for values, dtype in arrays:
            texts, fixed = (outcome(call, nd.array(values, type=dtype.format(t))) for t in ("string", "fixed_string[6]"))
            assert isinstance(texts, type) or texts == fixed, (name, dtype)
            count += not isinstance(texts, type)
    assert count > 300


def test_functions_of_python_get_texts():
    f = nd.callable(lambda text, key: text.upper() + key.hex(), "(fixed_string[4], fixed_bytes[1]) -> fixed_string[6]")
    assert f(["ab", "c"], [b"\1", b"\2"]).tolist() == ["AB01", "C02"]
    rows = nd.callable(lambda texts: "".join(texts.tolist()), "(N * fixed_string[4]) -> fixed_string[8]")
    assert rows([["a", "bc"], [], ["d"]]).tolist() == ["abc", "", "d"]
    with pytest.raises(OverflowError):
        rows([["abc", "def", "ghi"]])

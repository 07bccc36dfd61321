"""Elements that are not numbers, from Python and back: records, tuples, texts, bytes, missing values, pointers, bytes in
the other order. The oracle is the Python value itself: what goes in must come out, indexed as lists and dicts are."""

import ast
import gc
import random
from pathlib import Path

import numpy as np
import pytest
from documents import readme_section, run_examples
from dynd import nd, ndt
from hypothesis import given, settings

import oracle
from strategies import SOME, random_values, seeds

# ---- the type of Python values


@pytest.mark.parametrize(
    "values, text",
    [
        ("abc", "string"),
        (b"abc", "bytes"),
        (["a", "é", ""], "strided * string"),
        ([b"a", b""], "strided * bytes"),
        ([["a"], ["b", "c"]], "strided * var * string"),
        ([1, None], "strided * ?int32"),
        ([None, 1.5], "strided * ?float64"),
        (["a", None], "strided * ?string"),
        ([[1, None], [], [2]], "strided * var * ?int32"),
        ([[1, 2], None], "strided * ?var * int32"),
        ([[[1], [2]], None], "strided * ?var * var * int32"),
        ({"x": 1}, "{x: int32}"),
        ([{"x": 1, "y": "a"}, {"y": "b", "x": 2}], "strided * {x: int32, y: string}"),
        ([{"x": 1}, {"x": 2.5}], "strided * {x: float64}"),
        ([{"x": 1, "y": 2}, {"x": 3}], "strided * {x: int32, y: ?int32}"),
        ([{"x": 1}, {"x": 2, "y": None, "z": "t"}, {"y": 1}], "strided * {x: ?int32, y: ?int32, z: ?string}"),
        ([{"x": [1, 2]}, {"x": [3, 4]}], "strided * {x: var * int32}"),
        ([{"x": [[1], []]}], "strided * {x: var * var * int32}"),
        ([{"x": {"y": {"z": True}}}], "strided * {x: {y: {z: bool}}}"),
        ([{"x": 1}, None], "strided * ?{x: int32}"),
        ([[{"x": 1}], []], "strided * var * {x: int32}"),
        ([{"a\nb": 1, "\t\\": 2}], 'strided * {"a\\nb": int32, "\\t\\\\": int32}'),
        ([{"a b": 1, 'q"': 2}], 'strided * {"a b": int32, "q\\"": int32}'),
        ([(1, 2), (3, 4)], "strided * strided * int32"),
        ([np.float32(1.5), None], "strided * ?float32"),
        ([nd.array("a"), "b"], "strided * string"),
        ({"x": nd.array([1.5], type="strided * float32")}, "{x: var * float32}"),
    ],
)
def test_deduced_types(values, text):
    assert str(nd.type_of(nd.array(values))) == text


def test_a_missing_key_is_a_missing_value():
    assert nd.array([{"x": 1}, {"y": 2}]).tolist() == [{"x": 1, "y": None}, {"x": None, "y": 2}]
    assert nd.array([{"x": 1}, {}], type="{x: ?int32}").tolist() == [{"x": 1}, {"x": None}]


@pytest.mark.parametrize(
    "values, kind, text",
    [
        (None, TypeError, "None alone has no type; give one"),
        ([[None], [None]], TypeError, "None alone has no type"),
        ([{"x": None}], TypeError, "None alone has no type, in the field x"),
        ({}, TypeError, "dicts without keys have no type"),
        ([{"x": 1}, {2: 3}], TypeError, "the keys of a dict are the names of fields, so they are text, not int at"),
        (["a", 1], TypeError, "a number beside text at index (1,)"),
        ([1, "a"], TypeError, "text beside a number at index (1,)"),
        ([b"a", "a"], TypeError, "text beside bytes at index (1,)"),
        ([{"x": 1}, {"x": "a"}], TypeError, 'text beside a number at index (1, "x")'),
        ([{"x": [1, {}]}], TypeError, 'a dict beside a number at index (0, "x", 1)'),
        ([[1], 2], ValueError, "values at different depths: a number beside a list at index (1,)"),
        ([{"x": 1}, [2]], ValueError, "values at different depths: a list beside a dict at index (1,)"),
        ([1, object()], TypeError, "cannot make an element from object at index (1,)"),
        ([[1], [2**70]], OverflowError, f"the integer {2**70} does not fit in 64 bits at index (1, 0)"),
        (["a", "\ud800"], ValueError, "text with a lone surrogate is not Unicode at index (1,)"),
        ([{"\udfff": 1}], ValueError, "text with a lone surrogate is not Unicode"),
    ],
)
def test_values_without_a_type(values, kind, text):
    with pytest.raises(kind) as caught:
        nd.array(values)
    assert text in str(caught.value)


# ---- values of a given type

POINT = "{x: int32, y: float64}"


@pytest.mark.parametrize(
    "values, text, back",
    [
        ([(1, 2), (3, 4.5)], POINT, [{"x": 1, "y": 2.0}, {"x": 3, "y": 4.5}]),
        ([[1, 2], [3, 4.5]], f"strided * {POINT}", [{"x": 1, "y": 2.0}, {"x": 3, "y": 4.5}]),
        ([{"y": 2, "x": 1}], POINT, [{"x": 1, "y": 2.0}]),
        ({"x": 1, "y": 2}, POINT, {"x": 1, "y": 2.0}),
        ([(1, "a"), [2, "b"]], "2 * (int8, string)", [(1, "a"), (2, "b")]),
        ([[(1, "a")], []], "(int8, string)", [[(1, "a")], []]),
        ([1, None], "?int8", [1, None]),
        (None, "?int8", None),
        ([None, None], "?string", [None, None]),
        ([1, None], "pointer[int8]", [1, None]),
        ([1, None], "pointer[?int8]", [1, None]),
        ([[1, 2], None], "?var * int8", [[1, 2], None]),
        ([[1, 2], None], "?2 * int8", [[1, 2], None]),
        ([1, -2], "byteswap[int32]", [1, -2]),
        (1.5, "byteswap[float64]", 1.5),
        (bytearray(b"ab"), "bytes", b"ab"),
        ([b"a", bytearray(b"bc")], "bytes", [b"a", b"bc"]),
        ([0, 1.0, True], "bool", [False, True, True]),
        ([1.0, 2], "int8", [1, 2]),
        ({"p": [(1, 2.0)], "n": "t"}, f"{{p: var * {POINT}, n: string}}", {"p": [{"x": 1, "y": 2.0}], "n": "t"}),
    ],
)
def test_given_types(values, text, back):
    for access in (None, "rw"):
        array = nd.array(values, type=text, access=access)
        assert array.tolist() == back
        assert nd.type_of(array).dtype == ndt.type(text).dtype


@pytest.mark.parametrize(
    "values, text, kind, message",
    [
        ([[0, 1]], f"1 * {POINT[:-1]}, z: int32}}", ValueError, "2 values for the 3 fields of"),
        ([(1, 2), (1, 2, 3)], POINT, ValueError, "3 values for the 2 fields of {x: int32, y: float64} at index (1,)"),
        ([{"x": 1, "y": 1}, {"x": 1}], POINT, ValueError, "no key 'y' for the field of"),
        ([{"x": 1, "y": 1, "z": 2}], POINT, ValueError, "the key 'z' is not a field of {x: int32, y: float64} at index (0"),
        ([{"x": 1, "y": 1, 5: 2}], POINT, ValueError, "the key 5 is not a field of"),
        ([5], POINT, TypeError, "cannot make {x: int32, y: float64} from int at index (0,)"),
        ([{"x": 1}], "(int32)", TypeError, "cannot make (int32) from dict"),
        (["5"], "int32", TypeError, "cannot make int32 from str at index (0,); text becomes numbers by assignment"),
        ([1, b"5"], "float64", TypeError, "cannot make float64 from bytes at index (1,)"),
        (["t"], "bool", TypeError, "cannot make bool from str at index (0,)"),
        ([1, None], "int32", TypeError, "cannot make int32 from NoneType at index (1,)"),
        ([1], "string", TypeError, "cannot make string from int at index (0,)"),
        ([b"a"], "string", TypeError, "cannot make string from bytes"),
        (["a"], "bytes", TypeError, "cannot make bytes from str"),
        ([[1], None], "strided * var * int32", TypeError, "a value of type NoneType where strided * var * int32 has a"),
        ([1e300], "float32", OverflowError, "overflow while assigning float64 value 1e+300 to float32 at index (0,)"),
        ([0, 2], "bool", OverflowError, "overflow while assigning int32 value 2 to bool at index (1,)"),
        ([0.5], "bool", OverflowError, "overflow while assigning float64 value 0.5 to bool at index (0,)"),
        ([[1], [2, 300]], "int8", OverflowError, "overflow while assigning int32 value 300 to int8 at index (1, 1)"),
        ([float("nan")], "int32", OverflowError, "to int32 at index (0,)"),
        ([1.5], "int32", ValueError, "fractional part lost while assigning float64 value 1.5 to int32 at index (0,)"),
        ([{"x": [1, 300]}], "{x: var * int8}", OverflowError, 'value 300 to int8 at index (0, "x", 1)'),
        ([(1, (2, "a"))], "(int8, (int8, int8))", TypeError, "cannot make int8 from str at index (0, 1, 1)"),
        ([{"x": [1, 2]}, {"x": [1]}], "{x: strided * int8}", ValueError, "a list of length 1 does not fit size 2 of"),
        (["\ud800"], "string", ValueError, "text with a lone surrogate is not Unicode at index (0,)"),
    ],
)
def test_values_that_are_not_of_the_type(values, text, kind, message):
    with pytest.raises(kind) as caught:
        nd.array(values, type=text)
    assert message in str(caught.value)


# ---- random types and values

LETTERS = "aé漢😀 \"\\'\n\t\x00{}[]:,"


def random_text(rng):
    return "".join(rng.choice(LETTERS) for _ in range(rng.choice([0, 1, 2, 5])))


def random_type(rng, depth, optional=True):
    """Datashape text of an element type, and a function that draws a value of it."""
    kinds = ["scalar"] * 3 + ["string", "bytes", "byteswap"]
    if depth > 0:
        kinds += ["struct"] * 3 + ["tuple", "pointer", "var", "fixed"] + ["option"] * 2 * optional
    kind = rng.choice(kinds)
    if kind in ("scalar", "byteswap"):
        scalar = rng.choice(oracle.SCALARS if kind == "scalar" else ["int16", "uint32", "float64"])
        return scalar if kind == "scalar" else f"byteswap[{scalar}]", lambda: random_values(rng, scalar, 1, True)[0]
    if kind == "string":
        return "string", lambda: random_text(rng)
    if kind == "bytes":
        return "bytes", lambda: bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 4])))
    if kind in ("struct", "tuple"):
        fields = [random_type(rng, depth - 1) for _ in range(rng.choice([1, 2, 3]))]
        draws = [draw for _, draw in fields]
        if kind == "tuple":
            return f"({', '.join(text for text, _ in fields)})", lambda: tuple(draw() for draw in draws)
        names = rng.sample(["x", "y", "a b", "é", 'q"', "z9"], len(fields))
        quoted = [name if name.isascii() and name.isidentifier() else '"' + name.replace('"', '\\"') + '"' for name in names]
        text = ", ".join(f"{name}: {field}" for name, (field, _) in zip(quoted, fields))
        return f"{{{text}}}", lambda: {name: draw() for name, draw in zip(names, draws)}
    inner, draw = random_type(rng, depth - 1, kind != "option")
    if kind == "option":
        return f"?{inner}", lambda: None if rng.random() < 0.3 else draw()
    if kind == "pointer":
        return f"pointer[{inner}]", lambda: None if rng.random() < 0.2 else draw()
    if kind == "var":
        return f"var * {inner}", lambda: [draw() for _ in range(rng.choice([0, 1, 2, 3]))]
    size = rng.choice([0, 1, 2])
    return f"{size} * {inner}", lambda: [draw() for _ in range(size)]


def random_array(rng):
    """A whole type with one or two dimensions outside, and nested values of it."""
    element, draw = random_type(rng, 3)
    outside = rng.choice(["strided", "strided", "strided * strided", "strided * var", "2"])
    size = 2 if outside == "2" else rng.choice([0, 1, 2, 5])
    if "*" not in outside:
        return f"{outside} * {element}", [draw() for _ in range(size)]
    same = rng.choice([0, 1, 3])
    rows = [same if outside.endswith("strided") else rng.choice([0, 1, 2, 4]) for _ in range(size)]
    return f"{outside} * {element}", [[draw() for _ in range(row)] for row in rows]


@given(seeds)
@settings(max_examples=SOME)
def test_what_goes_in_comes_out(seed):
    rng = random.Random(seed)
    text, values = random_array(rng)
    for access in (None, "rw"):
        array = nd.array(values, type=text, access=access)
        assert nd.type_of(array) == ndt.type(text)
        assert array.tolist() == values
        assert len(array) == len(values)
        assert [item.tolist() for item in array] == values
        if "pointer" not in text:  # a pointer to nothing has no value to assign
            assert nd.array(array).tolist() == values
    assert nd.array(values, type=nd.type_of(array)).tolist() == values


@given(seeds)
@settings(max_examples=SOME)
def test_what_is_printed_reads_back(seed):
    text, values = random_array(random.Random(seed))
    array = nd.array(values, type=text)
    printed = str(array)
    if "..." not in printed and "inf" not in printed and "nan" not in printed:
        # A float32 is printed with the digits that it needs, so it is compared as one.
        assert nd.array(ast.literal_eval(printed), type=text).tolist() == values
    type = str(nd.type_of(array))
    quoted = repr(type) if '"' in type else f'"{type}"'
    assert repr(array) == f"nd.array({printed}, type={quoted})"


@given(seeds)
@settings(max_examples=SOME)
def test_indexing_is_that_of_lists(seed):
    rng = random.Random(seed)
    text, values = random_array(rng)
    array = nd.array(values, type=text, access=rng.choice([None, "rw"]))
    for _ in range(4):
        part = slice(*(rng.choice([None, -3, -1, 0, 1, 2, 7]) for _ in range(2)), rng.choice([None, 1, 2, -1, -2]))
        assert array[part].tolist() == values[part]
        if values[part]:
            i = rng.randrange(-len(values[part]), len(values[part]))
            assert array[part][i].tolist() == values[part][i]


def field_of(values, depth, name):
    """[v[name] for v in values], below so many lists."""
    return values[name] if depth == 0 else [field_of(value, depth - 1, name) for value in values]


@given(seeds)
@settings(max_examples=SOME)
def test_fields_are_those_of_dicts(seed):
    rng = random.Random(seed)
    fields = {name: random_type(rng, 2) for name in rng.sample(["x", "y", "a b", "é"], rng.choice([1, 2, 3]))}
    element = "{" + ", ".join(f'"{name}": {text}' for name, (text, _) in fields.items()) + "}"
    rows = rng.choice(["strided", "var"])
    lengths = [2 if rows == "strided" else rng.choice([0, 1, 3]) for _ in range(rng.choice([1, 3]))]
    values = [[{name: draw() for name, (_, draw) in fields.items()} for _ in range(n)] for n in lengths]
    array = nd.array(values, type=f"strided * {rows} * {element}")
    for name, (text, _) in fields.items():
        assert array[name].tolist() == field_of(values, 2, name)
        assert nd.type_of(array[name]) == ndt.type(f"strided * {rows} * {text}")
        for i, row in enumerate(values):
            assert array[i][name].tolist() == array[name][i].tolist() == field_of(row, 1, name)
            for j, record in enumerate(row):
                assert array[i, j][name].tolist() == record[name]


# ---- fields


def test_a_field_is_a_view():
    array = nd.array([{"x": 1, "h": [1.5, 2.5]}, {"x": 2, "h": []}])
    assert repr(array["x"]) == 'nd.array([1, 2], type="strided * int32")'
    assert (array["x"] * 10).tolist() == [10, 20]
    assert array["h"].sum(axis=1).tolist() == [4.0, 0.0]
    assert array[0]["h"].tolist() == [1.5, 2.5] and len(array[0]["h"]) == 2 and array[0]["h"][1] == 2.5
    assert array[1]["x"] == 2 and int(array["x"][1]) == 2
    field = array["h"]
    del array
    gc.collect()
    assert field.tolist() == [[1.5, 2.5], []]


def test_fields_behind_options_and_pointers():
    array = nd.array([{"x": 1}, None], type="?{x: int32}")
    assert array["x"].tolist() == [1, None] and nd.type_of(array["x"]) == "strided * ?int32"
    array = nd.array([{"x": 1}, None], type="pointer[{x: int32}]")
    assert array["x"].tolist() == [1, None]


def test_fields_that_are_not_there():
    array = nd.array([{"x": 1, "a b": 2}])
    with pytest.raises(KeyError, match='no field z; there are x, "a b"'):
        array["z"]
    with pytest.raises(TypeError, match="not structs"):
        nd.array([1, 2])["x"]
    with pytest.raises(TypeError, match="not structs"):
        nd.array([(1, 2)], type="(int8, int8)")["x"]
    assert not hasattr(array, "z") and not hasattr(array, "\udc80")  # no text, and so no name of a field
    with pytest.raises(AttributeError, match="no attribute 'z'"):
        array.z


def test_a_field_is_assigned():
    array = nd.array([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}], access="rw")
    array["x"] = [10, 20]
    array["y"] = "a longer text"
    assert array.tolist() == [{"x": 10, "y": "a longer text"}, {"x": 20, "y": "a longer text"}]
    array[0]["x"] = 5
    array["y"][1] = "z"
    assert array.tolist() == [{"x": 5, "y": "a longer text"}, {"x": 20, "y": "z"}]
    array[1] = {"x": 7, "y": "dict"}
    array[0] = (8, "tuple")
    assert array.tolist() == [{"x": 8, "y": "tuple"}, {"x": 7, "y": "dict"}]


def test_missing_values_are_assigned():
    array = nd.array([1, 2, None], access="rw")
    array[0] = None
    array[2] = 5
    assert array.tolist() == [None, 2, 5]
    array[...] = [None, None, None]
    assert array.tolist() == [None] * 3
    nd.assign(array, [1, None, 3])
    assert array.tolist() == [1, None, 3]


# ---- one value


def test_one_value():
    assert str(nd.array("é")) == "é" and f"{nd.array('é'):>3}" == "  é" and repr(nd.array("é")) == 'nd.array("é", type="string")'
    assert bool(nd.array("a")) is True and bool(nd.array(b"")) is False and bool(nd.array(3, type="?int8")) is True
    assert int(nd.array(3, type="?int8")) == 3 and float(nd.array(1.5, type="byteswap[float64]")) == 1.5
    with pytest.raises(ValueError, match="neither true nor false"):
        bool(nd.array(None, type="?int8"))
    with pytest.raises(TypeError):
        int(nd.array(None, type="?int8"))
    with pytest.raises(TypeError):
        [1, 2][nd.array("a")]
    with pytest.raises(TypeError):
        len(nd.array("abc"))
    with pytest.raises(TypeError):
        list(nd.array("abc"))


def test_an_element_keeps_what_it_needs_alive():
    element = nd.array(["x" * 1000, "y"])[0]
    gc.collect()
    [nd.array(["z" * 1000]) for _ in range(5)]
    assert element.tolist() == "x" * 1000


# ---- arrays without values


@pytest.mark.parametrize(
    "text, values",
    [
        ("2 * int32", None),
        ("3 * var * int32", [[], [], []]),
        ("var * int32", []),
        ("string", ""),
        ("2 * bytes", [b"", b""]),
        ("2 * ?float64", [None, None]),
        ("2 * pointer[int8]", [None, None]),
        ("{x: int8, y: 2 * string, z: var * var * int8}", {"x": 0, "y": ["", ""], "z": []}),
        ("2 * (?string, byteswap[int32])", [(None, 0), (None, 0)]),
        ("0 * {x: int8}", []),
    ],
)
def test_empty(text, values):
    array = nd.empty(text)
    assert nd.type_of(array) == ndt.type(text) and array.access == "readwrite"
    if values is not None:  # the values of plain numbers are not set
        assert array.tolist() == values


def test_empty_wants_sizes():
    with pytest.raises(TypeError, match="the size of every dimension"):
        nd.empty("3 * strided * string")
    with pytest.raises(ValueError, match="size of a strided dimension is not known"):
        nd.empty("3 * {x: strided * int8}")


@given(seeds)
@settings(max_examples=SOME)
def test_what_is_empty_takes_values(seed):
    rng = random.Random(seed)
    element, draw = random_type(rng, 2)
    while "pointer" in element:  # a pointer to nothing has no value to assign
        element, draw = random_type(rng, 2)
    values = [draw() for _ in range(3)]
    array = nd.empty(f"3 * {element}")
    array[...] = nd.array(values, type=f"strided * {element}")
    assert array.tolist() == values


def test_a_row_without_memory_takes_what_is_assigned_to_it():
    rows = nd.empty("3 * var * int32")
    rows[0] = [1, 2, 3]
    rows[-1] = 7
    assert rows.tolist() == [[1, 2, 3], [], [7]]
    rows[0] = [9]  # now it has a length
    with pytest.raises(ValueError, match=r"cannot broadcast .*\(2,\) to .*\(3,\)"):
        rows[0] = [1, 2]
    with pytest.raises(ValueError, match="cannot broadcast"):
        rows[1] = [[1, 2]]
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        rows[3] = [1]
    rows[1] = []
    assert rows.tolist() == [[9, 9, 9], [], [7]]
    with pytest.raises(ValueError, match=r"\(2,\) to .*\(0,\)"):
        rows[1] = [1, 2]
    deep = nd.empty("2 * 2 * var * {x: int32, y: ?string}")
    deep[1, 0] = [{"x": 1}, {"x": 2, "y": "b"}]
    deep[1][1] = nd.array([(3, "c")], type="{x: int32, y: ?string}")
    assert deep.tolist() == [[[], []], [[{"x": 1, "y": None}, {"x": 2, "y": "b"}], [{"x": 3, "y": "c"}]]]
    nested = nd.empty("2 * var * var * int32")
    nested[1] = [[1, 2], [3]]
    nested[1, 1] = [4]
    assert nested.tolist() == [[], [[1, 2], [4]]]


def test_none_where_nothing_can_be_missing():
    points = nd.array([{"x": 1, "y": 2.5}], access="rw")
    with pytest.raises(TypeError, match=r"assign: None to int32, which cannot be missing; \?int32 can"):
        points["x"] = None
    assert (points["x"] + None).tolist() == [None]
    with pytest.raises(TypeError, match="add: None alone has no type"):
        nd.add(None, None)
    assert points[0, "x"].tolist() == 1  # a field's name is an index anywhere


# ---- what the documentation says


def test_the_examples_of_the_documentation():
    for text in (readme_section("Records, strings, missing values"), nd.array.__doc__, nd.empty.__doc__):
        run_examples(text, {"nd": nd, "np": np})


def test_what_is_utf8_is_what_python_says():
    """Every first and second byte, and all code points at the ends of their lengths."""
    for first in range(0x80, 0x100):
        for second in (0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF):
            for rest in (b"", b"\x80", b"\x80\x80", b"\xbf\xbf", b"\x80a", b"\x80\x80\x80"):
                text = bytes([first, second]) + rest
                try:
                    wanted = text.decode()
                except UnicodeDecodeError:
                    with pytest.raises(ValueError, match="not UTF-8"):
                        nd.array([text]).astype("string")
                else:
                    assert nd.array([text]).astype("string").tolist() == [wanted]

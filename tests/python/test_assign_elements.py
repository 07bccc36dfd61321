"""Assignment of elements: where dimensions stand behind options and pointers, what is refused and where, memory."""



import numpy as np
import pytest
from dynd import nd


def refused(error, dst, src):
    """The message; the destination must be as it was."""
    before = dst.tolist()
    with pytest.raises(error) as caught:
        dst[...] = src
    assert dst.tolist() == before
    return str(caught.value)


def test_a_value_that_goes_nowhere_is_not_refused():
    a = nd.empty("0 * {a: int8}")
    a[...] = nd.array({"a": 300})
    assert a.tolist() == []
    rows = nd.array([[], []], type="strided * var * int8", access="rw")
    rows[...] = nd.array(300)
    assert rows.tolist() == [[], []]
    some = nd.array([{"a": []}, {"a": [1]}], type="{a: var * int8}", access="rw")
    assert "value 300 to int8" in refused(OverflowError, some, nd.array({"a": 300}))


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("make", ["empty", "array", "copy"])
def test_a_row_in_a_record_gets_the_length_that_is_assigned(make, length):
    values = [{"x": 1, "r": [], "q": ["a"]}, {"x": 2, "r": [1, 2, 3], "q": ["b", "c"]}]
    type = "{x: int32, r: var * int32, q: var * string}"
    a = nd.array(values, type=type, access="rw")
    if make == "empty":
        a = nd.empty(f"2 * {type}")
        a[...] = values
    a = nd.array(a, access="rw") if make == "copy" else a
    old = a["r"][1]
    new = {"x": 6, "r": list(range(10, 10 + length)), "q": ["new"] * length}
    for i in (0, 1):
        a[i] = new
        assert a[i].tolist() == new
    assert old.tolist() == new["r"] if length == 3 else old.tolist() == [1, 2, 3]  # a row of its length is written
    a[1] = values[0]
    assert a.tolist() == [new, values[0]]
    a[...] = values
    assert a.tolist() == values
    a[...] = nd.array([new])  # outside of records it broadcasts as ever
    assert a.tolist() == [new, new]


def test_rows_in_records_inside_of_rows_and_options():
    type = "var * {r: var * {s: var * int32}, o: ?{t: var * int32}}"
    values = [[{"r": [{"s": [1]}, {"s": []}], "o": None}], [{"r": [], "o": {"t": [5]}}, {"r": [], "o": {"t": []}}]]
    a = nd.array(values, type="strided * " + type, access="rw")
    assert a.tolist() == values
    one = {"r": [{"s": [7, 8]}, {"s": [9]}, {"s": []}], "o": {"t": [1, 2]}}
    a[0, 0], a[1, 1] = one, one
    assert a.tolist() == [[one], [values[1][0], one]]
    a[1, 1] = {"r": [{"s": [7]}] * 3, "o": None}
    assert a[1, 1].tolist() == {"r": [{"s": [7]}] * 3, "o": None}


@pytest.mark.parametrize(
    "to, given", [("3 * int32", "1 * int32"), ("3 * int32", "var * int32"), ("0 * int32", "int32")]
)
def test_a_dimension_of_one_size_in_a_record_must_fit(to, given):
    a = nd.array([{"r": [0] * int(to[0])}], type=f"{{r: {to}}}", access="rw")
    source = nd.array([{"r": 9 if given == "int32" else [9]}], type=f"{{r: {given}}}")
    assert "cannot broadcast" in refused(ValueError, a, source)
    with pytest.raises(ValueError):
        source.astype(f"{{r: {to}}}")


def test_a_row_in_a_record_that_cannot_get_memory_must_fit():
    """Over NumPy's memory there is no other place for it."""
    memory = np.zeros(2, dtype=[("x", "i4"), ("r", "i4", (3,))])
    a = nd.asarray(memory)
    for row in ([9], [], [1, 2]):
        assert "cannot broadcast" in refused(ValueError, a, nd.array([{"x": 1, "r": row}]))
    a[...] = nd.array([{"x": 1, "r": [1, 2, 3]}])
    assert memory["r"].tolist() == [[1, 2, 3]] * 2


@pytest.mark.parametrize(
    "inside, good, bad",
    [("var * int8", [1], [300]), ("pointer[?int8]", 1, 300), ("(int8, ?string)", (1, "x"), (300, "y"))],
)
def test_a_struct_is_assigned_whole_or_not_at_all(inside, good, bad):
    type = f"{{s: string, k: {inside}}}"
    source = nd.array([("new", good), ("newer", bad)], type=type.replace("int8", "int32"))
    a = nd.empty("2 * " + type)
    a[...] = source[:1]
    refused(OverflowError, a, source)
    refused(OverflowError, nd.empty("2 * " + type), source)


ROWS = [[1, 2], [3]]


@pytest.mark.parametrize("to", ["var", "?var", "pointer[var", "?pointer[var", "pointer[?var", "pointer[pointer[var"])
@pytest.mark.parametrize("given", ["var", "?var", "pointer[var", "?pointer[var", "pointer[?var", "pointer[pointer[var"])
def test_rows_behind_options_and_pointers_meet_plain_rows(given, to):
    def whole(rows, element):
        return f"2 * {rows} * {element}" + "]" * rows.count("[")

    source = nd.array(ROWS, type=whole(given, "int32"))
    assert source.astype(whole(to, "float64")).tolist() == ROWS
    a = nd.empty("3 * " + whole(to, "int64"))
    a[...] = source
    assert a.tolist() == [ROWS] * 3
    a[...] = nd.array([[7], [8]], type=whole(given, "int32"))  # every row has its length now
    assert a.tolist() == [[[7, 7], [8]]] * 3
    with pytest.raises(ValueError, match="cannot broadcast"):
        a[...] = nd.array([[7], [8, 9]], type=whole(given, "int32"))
    records = nd.array([[(1,), (2,)], [(3,)]], type=whole(given, "{x: int32}"))
    assert records.astype(whole(to, "{x: int8}")).tolist() == [[{"x": 1}, {"x": 2}], [{"x": 3}]]
    b = nd.empty(whole(to, "{x: int8}"))
    b[...] = records
    assert b.tolist() == records.tolist()


def test_lists_to_rows_that_may_be_missing():
    a = nd.empty("2 * ?var * int32")
    a[...] = [[1, 2], None]
    assert a.tolist() == [[1, 2], None]
    a = nd.empty("2 * ?var * int32")
    a[...] = ROWS
    assert a.tolist() == ROWS
    a[...] = [None, None]
    assert a.tolist() == [None, None]
    b = nd.array([[], None], access="rw")
    b[...] = [[], None]
    assert b.tolist() == [[], None]
    c = nd.empty("2 * ?2 * int32")
    c[...] = [5, 6]  # right-justified: the vector goes to every row
    assert c.tolist() == [[5, 6], [5, 6]]
    assert refused(ValueError, c, [[[1, 2]]]).endswith(" to 2 * ?2 * int32 (2, 2)")


def test_missing_rows_do_not_go_to_plain_ones():
    a = nd.array([[1, 2], None], type="2 * ?var * int32")
    with pytest.raises(OverflowError, match=r"cannot assign an NA value to a non-option type at index \(1,\)"):
        a.astype("2 * var * int32")
    p = nd.array([[1, 2], None], type="2 * pointer[var * int32]")
    with pytest.raises(ValueError, match=r"a pointer points to nothing at index \(1,\)"):
        p.astype("2 * var * int32")
    with pytest.raises(ValueError, match="cannot broadcast row 0: lengths 2 and 3"):
        a.astype("2 * 3 * int32")


@pytest.mark.parametrize(
    "to, given, values, where",
    [
        ("{k: 2 * 2 * int8}", "{k: 2 * 2 * int32}", {"k": [[1, 2], [3, 400]]}, '("k", 1, 1)'),
        ("2 * {j: int8, k: var * int8}", "2 * {k: var * int32, j: int32}", [([1], 2), ([3, 400], 4)], '(1, "k", 1)'),
        ("2 * {k: var * int8, j: int8}", "2 * {k: var * int32, j: int32}", [([1, 2], 3), ([4, 5], 400)], '(1, "j")'),
        ("(int8, var * (int8, int8))", "(int32, var * (int32, int32))", (1, [(1, 2), (3, 400)]), "(1, 1, 1)"),
        ("{a: {b: 2 * {c: int8}}}", "{a: {b: 2 * {c: int32}}}", {"a": {"b": [{"c": 1}, {"c": 400}]}}, '("a", "b", 1, "c")'),
        ("{c: int8}", "{c: int32}", {"c": 400}, '("c",)'),
        ("2 * ?var * int8", "2 * var * int32", [[1, 2], [3, 400]], "(1, 1)"),
        ("2 * pointer[2 * ?pointer[var * int8]]", "2 * 2 * var * int32", [[[1], []], [[2], [3, 400]]], "(1, 1, 1)"),
        ("2 * var * int8", "2 * pointer[var * int32]", [[1, 2], [3, 400]], "(1, 1)"),
        ("2 * {k: ?var * int8}", "2 * {k: pointer[var * int32]}", [([1],), ([3, 400],)], '(1, "k", 1)'),
    ],
)
def test_a_refused_value_is_named_by_its_whole_index(to, given, values, where):
    source = nd.array(values, type=given)
    message = f"overflow while assigning int32 value 400 to int8 at index {where}"
    if "{" in to or "(" in to:  # elsewhere what comes before it is written
        assert refused(OverflowError, nd.empty(to), source) == message
    with pytest.raises(OverflowError) as caught:
        source.astype(to)
    assert str(caught.value) == message


def test_trace_shows_both_sides_where_dimensions_stand_behind_something():
    def calls(to, source):
        return [(c.level, c.name, c.sources) for c in nd.trace(nd.assign, nd.empty(to), source).calls]

    assert calls("2 * ?var * int32", nd.array(ROWS)) == [
        (0, "strided to strided", ["[[1, 2], [3]]"]),
        (1, "var * int32 to ?var * int32", ["[1, 2]"]),
        (1, "var * int32 to ?var * int32", ["[3]"]),
    ]
    assert calls("2 * int32", nd.array([1, 2], type="pointer[2 * int32]")) == [
        (0, "pointer[2 * int32] to 2 * int32", ["[1, 2]"]),  # the dimension is behind the pointer: part of the element
    ]


def test_a_part_of_a_row_without_memory_cannot_get_any():
    message = "a part of a row that has no memory yet cannot get any, in row 0; assign to the whole row first"
    for key in [(slice(None), slice(1, None)), (slice(None), slice(None, None, -1)), (0, slice(1, None))]:
        a = nd.empty("2 * var * int32")
        with pytest.raises(ValueError, match=message):
            a[key] = 5
        with pytest.raises(ValueError, match=message):
            a[key] = [1, 2]
        assert a.tolist() == [[], []]
    records = nd.empty("2 * {k: var * int32}")
    with pytest.raises(ValueError, match=message):
        records["k"][:, 1:] = 5
    a = nd.empty("2 * var * string")
    a[0] = ["x"]
    with pytest.raises(ValueError, match="in row 1"):
        a[:, ::-1] = "y"
    assert a.tolist() == [["x"], []]
    deep = nd.empty("2 * var * var * int32")
    with pytest.raises(ValueError, match="in row 0"):
        deep[:, :, 1:] = 5


def test_a_row_that_is_empty_has_memory():
    a = nd.empty("2 * var * int32")
    a[0] = []
    a[1] = [1, 2]
    a[:, 1:] = 5
    assert a.tolist() == [[], [1, 5]]
    a[:, ::-1] = [7]
    a[0, 1:] = 8
    assert a.tolist() == [[], [7, 7]]
    b = nd.array([[], [1]], access="rw")
    b[:, ::-1] = 9
    assert b.tolist() == [[], [9]]


def test_a_row_without_memory_by_a_whole_slice():
    a = nd.empty("2 * var * int32")
    a[0, ...] = [1, 2]
    a[1:, :] = [3]
    assert a.tolist() == [[1, 2], [3]]


@pytest.mark.parametrize("type", ["pointer[int8]", "pointer[pointer[int8]]", "?pointer[pointer[int8]]"])
def test_pointers_to_nothing_get_something(type):
    for a in [nd.array(None, type=type, access="rw"), nd.empty(type)]:
        a[...] = nd.array(5)
        assert a.tolist() == 5
        a[...] = 6
        assert a.tolist() == 6
    b = nd.array([{"x": 1, "p": None}], type="{x: int32, p: %s}" % type, access="rw")
    b[...] = [{"x": 5, "p": 7}]
    assert b.tolist() == [{"x": 5, "p": 7}]


def test_explain_counts_what_rows_get():
    a = nd.empty("2 * var * int32")
    text = str(nd.explain(nd.assign, a, nd.array(ROWS)))
    assert text.splitlines()[0].endswith(", 3 elements")
    assert a.tolist() == ROWS


def test_an_element_type_with_dimensions_of_its_own_needs_the_whole_type():
    for element in ("?var * int32", "pointer[var * int32]", "?2 * int32"):
        for call in (lambda: nd.array([1, 2]).astype(element), lambda: nd.array(nd.array([1, 2]), type=element)):
            with pytest.raises(TypeError, match="have other dimensions than those of strided \\* int32; give the whole type"):
                call()
    rows = nd.array([[1, 2], None], type="?var * int32")
    assert rows.astype("?var * float64").tolist() == [[1.0, 2.0], None]
    assert nd.array([1, 2]).astype("2 * ?int64").tolist() == [1, 2]


def test_rows_whose_small_values_are_in_the_array_itself():
    a = nd.empty("3 * var * int32")
    a[...] = nd.from_offsets(np.array([0, 2, 2, 3]), nd.array([1, 2, 3]))
    assert a.tolist() == [[1, 2], [], [3]]
    a[...] = a + a
    assert a.tolist() == [[2, 4], [], [6]]


def test_nothing_goes_to_a_part_of_a_row_without_memory():
    a = nd.empty("2 * var * int32")
    a[0] = [1, 2, 3]
    a[:, 1:] += 1
    a[:, :2] = nd.array([[5, 6], []])
    a[:, 1:] = a[:, 1:] + 0
    assert a.tolist() == [[5, 6, 4], []]
    with pytest.raises(ValueError, match="has no memory yet"):
        a[:, 1:] = 5
    a[1] = [7]
    assert a.tolist() == [[5, 6, 4], [7]]


def test_a_pointer_that_was_set_to_nothing_can_be_set_again():
    a = nd.array([{"x": 1}] * 2, type="2 * {x: pointer[int32]}", access="rw")
    a[0] = {"x": None}
    a[0] = {"x": 3}
    assert a.tolist() == [{"x": 3}, {"x": 1}]


def test_texts_beside_numbers_in_rows_behind_options_and_pointers():
    for type in ("2 * var * int8", "2 * ?var * int8", "2 * pointer[var * int8]", "2 * ?2 * int8", "2 * pointer[?2 * ?int8]"):
        a = nd.empty(type)
        a[...] = ["1", 2]
        assert a.tolist() == [[1, 2], [1, 2]]
    b = nd.empty("2 * int8")
    b[...] = [nd.array("7"), 3]
    assert b.tolist() == [7, 3]


def test_values_on_the_way_are_not_traced():
    a = nd.empty("2 * (string, int8)")
    text = str(nd.explain(a.__setitem__, ..., [("a", 1), ("b", "2")]))
    assert text.count("one kernel") == 1 and a.tolist() == [("a", 1), ("b", 2)]


def test_names_of_fields_in_messages_are_those_of_types():
    for name, shown in (("x", '"x"'), ("x\ny", '"x\\ny"'), ('x"y', '"x\\"y"')):
        with pytest.raises(OverflowError) as caught:
            nd.array({name: 300}).astype(str(nd.array({name: 1}).type).replace("int32", "int8"))
        assert str(caught.value).endswith(f" at index ({shown},)")
    assert repr(nd.array({"a b": 1})) == """nd.array({"a b": 1}, type='{"a b": int32}')"""


@pytest.mark.parametrize(
    "type, refused, fits",
    [
        ("2 * var * int8", [[1, 300], [2]], [[1, 2, 3], [4]]),
        ("2 * var * var * int8", [[[1], [2, 300]], [[4]]], [[[1]], []]),
        ("2 * var * {x: int8, s: string}", [[(1, "a"), (300, "b")], [(2, "c")]], [[(1, "a")], []]),
    ],
)
def test_rows_that_got_their_length_from_a_refused_assignment_have_none(type, refused, fits):
    rows = nd.empty(type)
    with pytest.raises(OverflowError):
        rows[...] = refused
    assert rows.tolist() == [[], []]
    rows[...] = fits
    assert rows.tolist() == nd.array(fits, type=type).tolist()


@pytest.mark.parametrize("bad", [0, 5, 127, 128, 130, 300, 511, 512, 999])
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[:, ::2], lambda x: x[:, ::-1], lambda x: x[:, ::-2]])
@pytest.mark.parametrize("type", ["2 * ?var * int8", "2 * pointer[1000 * int8]", "2 * ?1000 * int8"])
def test_a_refused_value_far_inside_of_an_element_is_named_too(type, view, bad):
    wide = view(np.zeros((2, 2000), "i4"))[:, :1000]
    wide[1, bad] = 300
    with pytest.raises(OverflowError, match=rf"int32 value 300 to int8 at index \(1, {bad}\)$"):
        nd.assign(nd.empty(type), nd.asarray(wide))


def wholes(nested):
    return [x for inner in nested for x in wholes(inner)] if isinstance(nested, list) else [tuple(nested.values())]


@pytest.mark.parametrize("layout", ["strided", "rows", "short rows", "long rows", "transposed"])
@pytest.mark.parametrize("names, failing", [(names, name) for names in ("xy", "xyz", "wxyz") for name in names])
def test_structs_of_numbers_are_old_or_new_as_a_whole(layout, names, failing):
    """Each number is a step of one program: where one is refused, the element's others are not stored either."""
    shape = {"strided": (700,), "rows": (300,), "short rows": (240, 3), "long rows": (3, 240), "transposed": (90, 70)}[layout]
    source = np.zeros(shape, dtype=[(name, "f8" if name == "z" else "i4") for name in names])
    for name in names:
        source[name] = 1
    source[failing].flat[source.size // 2] = 300
    source = source.T if layout == "transposed" else source
    values = nd.asarray(source)
    type = "{" + ", ".join(f"{name}: int8" for name in names) + "}"
    old, new = (0,) * len(names), (1,) * len(names)
    if layout == "rows":
        offsets = np.append(np.arange(0, 300, 7), 300)
        values = nd.from_offsets(offsets, values)
        target = nd.array([[old] * int(n) for n in np.diff(offsets)], type=f"strided * var * {type}", access="rw")
    else:
        target = nd.empty(" * ".join(map(str, source.shape)) + f" * {type}")
        target[...] = nd.array(old, type=type)
    with pytest.raises(OverflowError, match=f'value 300.* to int8 at index .*"{failing}"'):
        nd.assign(target, values)
    elements = wholes(target.tolist())
    assert set(elements) <= {old, new}
    refused = wholes(values.tolist())
    assert all(element == old for element, value in zip(elements, refused) if 300 in value)


@pytest.mark.parametrize("place", [0, 511, 512, 513, 700, 1023, 1024, 1400])
@pytest.mark.parametrize("holes", [False, True])
def test_a_failure_inside_of_a_long_row_of_options_is_named(place, holes):
    texts = ["NA" if holes and i % 3 == 2 and i != place else "1" for i in range(1500)]
    texts[place] = "x"
    source = nd.array([{"h": ["7"]}, {"h": texts}], type="{h: var * string}")
    with pytest.raises(ValueError) as e:
        nd.assign(nd.empty("2 * {h: var * ?int32}"), source)
    assert str(e.value).endswith(f'at index (1, "h", {place})')

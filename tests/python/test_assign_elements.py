"""Assignment of elements: where dimensions stand behind options and pointers, what is refused and where, memory."""

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
    empty = nd.array([{"a": [], "b": [[1], []]}], type="{a: var * int8, b: 2 * var * int8}", access="rw")
    empty[...] = nd.array({"a": 300, "b": [[2], [300]]})
    assert empty.tolist() == [{"a": [], "b": [[2], []]}]
    some = nd.array([{"a": []}, {"a": [1]}], type="{a: var * int8}", access="rw")
    assert "value 300 to int8" in refused(OverflowError, some, nd.array({"a": 300}))


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

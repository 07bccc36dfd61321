"""What one entry more in numbers.def brings, in Python: run by tools/check_one_entry.py."""

import pydoc

import numpy as np
from dynd import nd


def test_it_is_a_function_with_its_documentation():
    page = pydoc.render_doc(nd.hypotenuse, renderer=pydoc.plaintext)
    assert "The length of the hypotenuse, element by element." in page
    assert "hypotenuse" in [operation.name for operation in nd.operations()]


def test_strided_ragged_and_broadcast():
    assert nd.hypotenuse([3.0, 5.0], [4.0, 12.0]).tolist() == [5.0, 13.0]
    assert nd.hypotenuse([[3, 5], [], [8]], [[4], [1], [15]]).tolist() == [[5.0, 41**0.5], [], [17.0]]
    a, b = np.arange(12.0).reshape(3, 4), np.arange(3.0).reshape(3, 1)
    np.testing.assert_array_equal(np.asarray(nd.hypotenuse(nd.array(a.T), b.T)), np.sqrt(a.T * a.T + b.T * b.T))


def test_it_is_fused():
    a = nd.array(np.full(20000, 3.0))
    text = nd.explain(lambda: (nd.hypotenuse(a, a * 0 + 4) - 1).sum())
    assert text.count("one kernel") == 1 and "hypotenuse(" in text and "subtract(" in text, text
    assert (nd.hypotenuse(a, a * 0 + 4) - 1).sum().tolist() == 80000.0


def test_errors_name_it():
    try:
        nd.hypotenuse([1, 2, 3], [1, 2])
    except ValueError as error:
        assert str(error).startswith("hypotenuse: cannot broadcast")
    else:
        raise AssertionError("no error")

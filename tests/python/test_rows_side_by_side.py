"""Sums of everything whose rows are side by side in memory: bit for bit those of the same elements in C order."""

import itertools

import numpy as np
import pytest

from dynd import nd

# rows and columns: few of both, blocks whole, half and at any place, strips of one length and another
SHAPES = [(2, 3000), (3, 256), (4, 1100), (5, 1025), (8, 1088), (4, 1280), (16, 2048), (9, 1056), (7, 1040), (13, 300), (100, 1280), (513, 259), (600, 1312),
          (780, 1090), (1200, 1031)]  # fmt: skip
# many rows of whole lanes, with their trees side by side: a strip, more than one, few and many levels
SHAPES += [(520, 1000), (1100, 272), (2051, 128), (4100, 192), (1030, 2080), (13000, 144), (1025, 4016)]


def numbers(rng, shape, kind):
    """Of many sizes: in another order their sum has other bits."""
    return (rng.standard_normal(shape) * np.exp(5 * rng.standard_normal(shape))).astype(kind)


def bits(x):
    return np.asarray(x).tobytes()


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_array_in_f_order(shape, kind, threads):
    x = numbers(np.random.default_rng(1), shape, kind)
    inside_out = nd.array(np.ascontiguousarray(x.T)).T
    assert bits(inside_out.sum()) == bits(nd.array(x).sum())
    assert bits(inside_out.mean()) == bits(nd.array(x).mean())
    backwards = nd.array(np.ascontiguousarray(x[:, ::-1]))
    assert bits(inside_out[:, ::-1].sum()) == bits(backwards.sum())
    part = nd.array(np.ascontiguousarray(x[1:, 1:]))
    assert bits(inside_out[1:, 1:].sum()) == bits(part.sum())


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_three_axes_in_any_order(order, kind, threads):
    rng = np.random.default_rng(2)
    for shape in [(6, 37, 50), (50, 6, 37), (70, 60, 90), (3, 40, 300)]:
        x = numbers(rng, shape, kind)
        a, c = nd.permute_dims(nd.array(x), order), nd.array(np.ascontiguousarray(np.transpose(x, order)))
        for axes in [(0, 1, 2), (0, 1), (1, 2), (0, 2)]:
            assert bits(a.sum(axis=axes)) == bits(c.sum(axis=axes))


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("inner", [31, 62, 63, 64, 65, 126, 127, 129])
def test_columns_of_two_axes(inner, kind, threads):
    """Blocks of 64 columns end one before the end of the inner axis, at it and behind it."""
    rng = np.random.default_rng(inner)
    for shape in [(9, inner + 3, 40), (70, inner + 3, 5)]:
        x = numbers(rng, shape, kind)
        for part in (x[:, :inner], x[:, 3:], x[:, inner - 1 :: -1]):
            a, c = nd.asarray(part.transpose(2, 0, 1)), nd.array(np.ascontiguousarray(part.transpose(2, 0, 1)))
            assert bits(a.sum()) == bits(c.sum())


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("planes, rows", [(4, 131), (4, 132), (4, 133), (2, 262), (2, 263), (2, 264)])
def test_a_piece_that_begins_with_the_last_rows_of_a_plane(planes, rows, kind):
    """These are too few to be summed side by side; those of the next plane are not."""
    before = nd.num_threads()
    rng = np.random.default_rng(rows)
    try:
        nd.set_num_threads(2)
        for columns in (1000, 1001, 1003):
            x = numbers(rng, (planes, columns, rows), kind)
            c = nd.array(np.ascontiguousarray(x.transpose(0, 2, 1)))
            assert bits(nd.asarray(x.transpose(0, 2, 1)).sum()) == bits(c.sum())
    finally:
        nd.set_num_threads(before)


@pytest.mark.parametrize("columns", [264, 520])
def test_the_second_plane_begins_where_a_node_of_the_trees_does(columns, threads):
    x = numbers(np.random.default_rng(columns), (2, columns, 1024), "float64")
    c = nd.array(np.ascontiguousarray(x.transpose(0, 2, 1)))
    assert bits(nd.permute_dims(nd.array(x), (0, 2, 1)).sum()) == bits(c.sum())


def test_zeros_keep_their_sign_and_nan_and_infinity_stay():
    for value, rows in itertools.product((-0.0, 0.0, np.nan, np.inf), (5, 600)):
        x = np.full((200, rows), -0.0)
        x[77, 3] = value
        assert bits(nd.array(x).T.sum()) == bits(nd.array(np.ascontiguousarray(x.T)).sum())


@pytest.mark.parametrize("shape", [(8, 700_000), (37, 150_003), (3, 1_500_001), (2100, 2100), (2500, 2000)])
def test_few_rows_are_not_cut(shape, threads):
    """A part of some rows would be read line by line: these are one piece, or pieces of many rows, with the same bits."""
    x = np.random.default_rng(5).standard_normal(shape[::-1])
    flat = nd.array(np.ascontiguousarray(x.T).reshape(-1))
    assert np.asarray(nd.array(x).T.sum()).tobytes() == np.asarray(flat.sum()).tobytes()

"""Arrays with missing values made in every way, and how the library and the oracle are compared on them."""

import itertools
import operator

import numpy as np
import pytest

import missing_oracle as missing
import oracle
from dynd import nd
from missing_oracle import Failed, bare, index_text, is_option, puncture
from oracle import VAR, Array, strided
from strategies import make_operands, random_values
from support import SIGNLESS, assert_is, close, contains, identical, is_exact, make, sliced_inside

# ---- ways to make an array


def make_missing(rng, value):
    """An nd.array with these values, missing ones too, by some way."""
    if not is_option(value.scalar):
        return make(rng, value)
    access, way = rng.choice([None, "rw"]), rng.random()
    plain = lambda values: nd.array(values, type=value.type_text, access=access)  # noqa: E731
    sizes = [size for _, size in value.dims]
    if 0 in sizes[:-1] and not value.ragged:  # a list cannot say the sizes below
        return nd.array(np.ma.zeros(sizes, bare(value.scalar)))
    if way < 0.2 and 0 not in sizes:
        return overwritten(rng, value)
    if any(kind != "strided" for kind, _ in value.dims[:1]) or not value.ndim or not value.values or way < 0.4:
        return plain(value.values)
    if any(kind == "fixed" for kind, _ in value.dims):
        return plain(value.values[::-1])[::-1]
    if value.ragged and way < 0.6:
        return sliced_inside(rng, value, plain)
    if not value.ragged and way < 0.6:
        flat = oracle.leaves(value.values, value.ndim)
        mask = np.array([x is None for x in flat], bool).reshape(sizes)
        data = np.array([1 if x is None else x for x in flat], dtype=bare(value.scalar)).reshape(sizes)
        return nd.array(np.ma.array(np.asfortranarray(data), mask=mask))
    if value.ndim == 2 and not value.ragged and way < 0.7:
        return plain([list(column) for column in zip(*value.values)]).T if sizes[1] else plain(value.values)
    if value.dims[1:2] == (VAR,) and VAR not in value.dims[2:] and way < 0.75:
        rows = [element for row in value.values for element in row]
        offsets = [0, *itertools.accumulate(map(len, value.values))]
        step = rng.choice([-1, 1, 2])
        spread = [x for x in rows[:: 1 if step > 0 else -1] for _ in range(abs(step))]
        kind = oracle.type_text((strided(len(spread)), *value.dims[2:]), value.scalar)
        return nd.from_offsets(offsets, nd.array(spread, type=kind, access=access)[::step])
    if way < 0.85:
        return plain(value.values[::-1])[::-1]
    return plain([copy for row in value.values for copy in (row, value.values[0])])[::2]


def overwritten(rng, value):
    """Every element gets a value first, zeros and extremes among them; some are then made missing again."""
    scalar = bare(value.scalar)
    garbage = lambda x: random_values(rng, scalar, 1)[0] if x is None else x  # noqa: E731
    array = nd.array(missing.map_leaves(garbage, value.values, value.ndim), type=value.type_text, access="rw")
    for index, x in zip(missing.paths(value.values, value.ndim), oracle.leaves(value.values, value.ndim)):
        if x is None:
            array[index or ...] = None
    return array


def some_missing(rng, operands, share=0.3):
    """At least one operand, mostly more, may have missing values."""
    at = rng.randrange(len(operands))
    return [puncture(rng, x, share) if i == at or rng.random() < 0.5 else x for i, x in enumerate(operands)]


SIGNS = missing.COMPARISONS | {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    "abs": abs,
    "divmod": divmod,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_invert": operator.invert,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
}


def agree(name, operands, rng, by_sign=None):
    """The library and the oracle give the same values and type, or fail alike."""
    given_ = [make_missing(rng, x) if isinstance(x, Array) else x for x in operands]
    by_sign = name in SIGNS and rng.random() < 0.5 if by_sign is None else by_sign
    call = SIGNS[name] if by_sign else getattr(nd, name)
    try:
        expected = missing.elementwise(name, *operands)
    except Failed as failure:
        with pytest.raises(ValueError) as caught:
            call(*given_)
        assert contains(str(caught.value), f"^{name}: ")
        assert str(caught.value).endswith(f" at index {index_text(failure.index)}" if failure.index else "")
        return
    except oracle.BroadcastError:
        with pytest.raises(ValueError, match=f"^{name}: cannot broadcast"):
            call(*given_)
        return
    except TypeError:
        with pytest.raises(TypeError):
            call(*given_)
        return
    found = call(*given_)
    for one, right in zip(found, expected) if name == "divmod" else [(found, expected)]:
        exact = is_exact(name, any("complex" in x.scalar for x in operands if isinstance(x, Array)))
        if exact:
            assert_is(one, right, zeros=name not in SIGNLESS)
        else:
            assert str(nd.type_of(one)) == right.type_text
            close_where_there(one.tolist(), right.values, right, exact is None)


def close_where_there(found, expected, right, any_value):
    left, right_ = (oracle.leaves(values, right.ndim) for values in (found, expected))
    assert [x is None for x in left] == [x is None for x in right_]
    for x, y in zip(left, right_):
        assert y is None or any_value or close(x, y, bare(right.scalar)), (x, y)


def draw_operands(rng, count, scalars, spoiled=False, ragged=None):
    ragged = rng.random() < 0.5 if ragged is None else ragged
    return make_operands(rng, count, ragged, scalars, spoiled)

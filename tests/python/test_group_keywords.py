"""What the reductions of groups take besides values: what those of arrays take, no more."""
import itertools

import pytest
from dynd import nd

VALUES = [1.5, 2.5, 4.0, 8.0]
KEYS = [1, 2, 1, 2]


@pytest.mark.parametrize("name", ["sum", "mean", "count", "min", "any"])
def test_a_keyword_of_another_reduction_is_refused(name):
    with pytest.raises(TypeError, match="correction"):
        getattr(nd.groupby(VALUES, by=KEYS), name)(correction=2)
    with pytest.raises(TypeError, match="unknown"):
        getattr(nd.groupby(VALUES, by=KEYS), name)(unknown=2)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("correction", [None, 0, 1, 0.5, True, 3])
def test_corrections(name, correction):
    groups = nd.groupby(VALUES, by=KEYS)
    expected = getattr(nd, name)(nd.asarray(groups), axis=1, correction=correction)
    assert getattr(groups, name)(correction=correction).tolist() == pytest.approx(expected.tolist(), rel=1e-15)
    assert getattr(groups, name)().tolist() == pytest.approx(getattr(nd, name)(nd.asarray(groups), axis=1).tolist())


def test_a_correction_that_is_no_number():
    with pytest.raises(TypeError, match="var: correction must be a number, not str"):
        nd.groupby(VALUES, by=KEYS).var(correction="a")


def test_variance_and_deviation_together():
    """They share one pass over the squares."""
    groups = nd.groupby(nd.array([{"v": v, "w": -v} for v in VALUES]), by=KEYS)
    found = groups.agg({"var": ("v", "var"), "std": ("v", "std"), "other": ("w", "var"), "mean": ("v", "mean")})
    alone = nd.groupby(VALUES, by=KEYS)
    assert found["var"].tolist() == found["other"].tolist() == alone.var().tolist()
    assert found["std"].tolist() == alone.std().tolist() and found["mean"].tolist() == alone.mean().tolist()


@pytest.mark.parametrize("order", list(itertools.permutations(["median", "sum", "last", "count"])), ids=" ".join)
def test_the_fields_of_several_reductions_are_in_the_order_that_was_asked_for(order):
    """Some of them are made in one pass, the others one by one."""
    groups = nd.groupby(VALUES, by=KEYS)
    found = groups.agg({name.upper(): name for name in order})
    assert [list(record) for record in found.tolist()] == [[name.upper() for name in order]] * 2
    for name in order:
        assert found[name.upper()].tolist() == getattr(groups, name)().tolist()
    assert groups.agg({"x": (VALUES, order[0]), "a": order[1]}).tolist() == [
        {"x": x, "a": a} for x, a in zip(getattr(groups, order[0])().tolist(), getattr(groups, order[1])().tolist())]

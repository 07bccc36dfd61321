"""What is stored where a value is missing, or between the elements, does not matter: results are the same whatever
it is."""

import numpy as np
import pytest

from dynd import nd

NAN = float("nan")
LISTS = {
    "few": [3.0, None, 1.0, 5.0, None, 3.0, 8.0, None],
    "none there": [None, None, None],
    "many": [None if i % 7 == 3 else float(i * 7919 % 1013) for i in range(70_000)],
}


def hidden_number(values, kind):
    """5 is stored where a value is missing, a number that others have."""
    return nd.array([None if v is None else v - 5 for v in values], type=f"strided * ?{kind}") + nd.array(5, type=kind)


def hidden_nan(values, kind):
    ones = nd.array([None if v is None else 1.0 for v in values], type="strided * ?float64")
    return nd.array(values, type="strided * ?float64") * (ones / ones)


def every_other(values, kind):
    both = [x for v in values for x in (v, None if v == 3 else 5)]
    return nd.array(both, type=f"strided * ?{kind}")[::2]


def backwards(values, kind):
    return nd.array(values[::-1], type=f"strided * ?{kind}")[::-1]


def paired(a, f):
    """A function of structs, one field of which is the array."""
    return f(nd.zip({"k": a, "i": nd.arange(len(a))}))


FIVES = nd.array([{"k": v, "j": j} for j, v in enumerate([5.0, None, 3.0, 0.0])], type="strided * {k: ?float64, j: int32}")
FUNCTIONS = {
    **{name: getattr(nd, name) for name in "sum prod min max any all count count_nonzero mean var std ptp norm".split()},
    **{name: getattr(nd, name) for name in "nansum nanprod nanmin nanmax nanmean nanvar nanstd logsumexp softmax".split()},
    **{name: getattr(nd, name) for name in "sort argsort rank unique unique_counts unique_inverse is_sorted median run_lengths".split()},
    **{name: getattr(nd, name) for name in "cumulative_sum cumulative_prod cumulative_min cumulative_max drop_missing is_missing diff".split()},
    "argmax": lambda a: nd.argmax(a, empty="missing"), "argmin": lambda a: nd.argmin(a, empty="missing"),
    "sort down": lambda a: nd.sort(a, descending=True), "top_k": lambda a: nd.top_k(a, 2),
    "sort structs": lambda a: paired(a, lambda s: nd.sort(s, by=["k", "-i"])),
    "unique structs": lambda a: paired(a, lambda s: nd.unique(s[["k"]])),
    "rows": lambda a: nd.from_offsets(np.array([0, 1, len(a)]), a).sum(axis=1), "where": lambda a: nd.where(a > 3, a, -a),
    "rows of options": lambda a: nd.sort(nd.from_offsets(np.array([0, 1, len(a)]), a)),
    "quantile": lambda a: nd.quantile(a, [0.1, 0.5, 0.9]), "isin": lambda a: nd.isin(a, [5.0, 3.0]),
    "histogram": lambda a: nd.histogram(a, bins=4, range=(0.0, 10.0))[0], "searchsorted": lambda a: nd.searchsorted(nd.sort(a), a),
    "weights of a histogram": lambda a: nd.histogram(nd.arange(len(a)) % 4, bins=4, weights=a)[0],
    "weights of a mean": lambda a: nd.mean(nd.arange(len(a)), weights=a), "mask of a sum": lambda a: nd.sum(nd.arange(len(a)), where=a > 3),
    "index": lambda a: nd.arange(2000)[a.astype("?int64")], "clip": lambda a: nd.clip(a, 2, 4),
    "fill": lambda a: nd.fill_missing(a, -1.0), "equal": lambda a: a == a[::-1], "mask": lambda a: a[nd.fill_missing(a > 3, False)],
    "concat": lambda a: nd.concat([a, nd.array([1.0, None])]), "text": lambda a: a.astype("?string"), "float32": lambda a: a.astype("?float32"),
    "groups": lambda a: paired(a, lambda s: nd.groupby(s.i, by=s.k).sum()), "keys": lambda a: paired(a, lambda s: nd.groupby(s.i, by=s.k).keys),
    "keys of two columns": lambda a: paired(a, lambda s: nd.groupby(s.i, by=[s.k, s.i % 2]).count()),
    **{f"groups: {what}": lambda a, what=what: getattr(nd.groupby(a, by=nd.arange(len(a)) % 3), what)() for what in "sum min max mean var any all".split()},
    **{f"join: {how}": lambda a, how=how: paired(a, lambda s: nd.join(s, FIVES, "k", how)) for how in "inner left outer semi anti".split()},
    "join to": lambda a: paired(a, lambda s: nd.join(FIVES, s, "k", "outer")), "array": lambda a: nd.array(a, access="rw"),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("values", LISTS)
def test_results_do_not_depend_on_it(name, values):
    floats = LISTS[values]
    ways = [("float64", hides) for hides in (hidden_number, hidden_nan, every_other, backwards)]
    for kind, hides in ways + [("int32", hides) for hides in (hidden_number, every_other, backwards)]:
        values = floats if kind == "float64" else [None if v is None else int(v) for v in floats]
        plain = nd.array(values, type=f"strided * ?{kind}")

        def result(a):
            try:
                found = FUNCTIONS[name](a)
            except (TypeError, ValueError) as e:
                return str(e)
            return repr([part.tolist() for part in found] if isinstance(found, tuple) else found.tolist())

        assert result(hides(values, kind)) == result(plain)

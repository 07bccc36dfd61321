"""What users do with ragged arrays: tasks T01 to T21, beside hand-written loops and Awkward Array.

    PYTHONPATH=python python bench/tasks.py [--quick] [--only PATTERN]

A million rows of Poisson(4) elements; then a thousand rows, where the cost of the calls is what counts. Results are
compared before anything is timed. Bars are those of issue 13: a median of 1.3 times the loop and none above 2; for a
thousand rows a median of 10 us.
"""

import statistics
import sys

import cpu_level  # before NumPy
import numpy as np

import elements
import floors
from elements import Work, print_line
from floors import aligned
from run import expression_contender, take_turns, time_text

nd, ak = elements.nd, elements.ak
elements.PEERS[:] = ["loop", "Awkward"]

MASS = "(lambda a, b: {sqrt}(2 * a['pt'] * b['pt'] * ({cosh}(a['eta'] - b['eta']) - {cos}(a['phi'] - b['phi']))))"
ANGLE = """(lambda a, b: {sqrt}((a['eta'] - b['eta'])**2 + ((a['phi'] - b['phi'] + np.pi) % (2 * np.pi) - np.pi)**2))"""
LIBRARY = {
    "ours": {"sqrt": "nd.sqrt", "cosh": "nd.cosh", "cos": "nd.cos"},
    "Awkward": {"sqrt": "np.sqrt", "cosh": "np.cosh", "cos": "np.cos"},
}


class Data:
    """The arrays of all tasks for a number of rows: flat ones, ours and Awkward's."""

    def __init__(self, rng, rows):
        self.rows = rows
        self.offsets, self.few = (self.offsets_of(rng, rows, mean) for mean in (4, 1.5))
        count, few = self.offsets[-1], self.few[-1]
        self.flat = {
            "PT": rng.exponential(30, count), "ETA": rng.normal(0, 1.5, count), "PHI": rng.uniform(-np.pi, np.pi, count),
            "ETA2": rng.normal(0, 1.5, few), "PHI2": rng.uniform(-np.pi, np.pi, few), "SA": rng.random(rows),
        }
        self.flat = {name: aligned(values) for name, values in self.flat.items()}
        self.outer = self.offsets_of(rng, max(rows // 4, 1), 3)
        self.inner = self.offsets_of(rng, self.outer[-1], 5)
        self.deep = aligned(rng.random(self.inner[-1]))
        self.groups = max(rows // 100, 1)
        self.key = aligned(rng.integers(0, self.groups, rows))
        self.key[: self.groups] = np.arange(self.groups)  # every group is there
        self.value = aligned(rng.random(rows))
        self.valid = [aligned(np.concatenate([rng.random(count) >= 0.2, np.zeros(64, bool)])) for _ in range(2)]
        self.byte_offsets = self.offsets_of(rng, rows, 55)
        self.bytes = aligned(rng.choice(np.array([32, 97, 98, 99, 100, 101], np.uint8), self.byte_offsets[-1]))
        self.names = {"ours": self.ours(), "Awkward": self.awkward()}

    @staticmethod
    def offsets_of(rng, rows, mean):
        return aligned(np.concatenate([[0], np.cumsum(rng.poisson(mean, rows))]).astype(np.int64))

    def ours(self):
        offsets, few, outer, inner = (nd.array(o) for o in (self.offsets, self.few, self.outer, self.inner))
        ragged = {n: nd.from_offsets(few if n.endswith("2") else offsets, nd.array(v))
                  for n, v in self.flat.items() if n != "SA"}
        for name, values, valid in zip(("OPT", "OPT2"), ("PT", "ETA"), self.valid):
            content = nd.mask(nd.array(self.flat[values]), nd.array(valid[: self.offsets[-1]]))
            ragged[name] = nd.from_offsets(offsets, content)
        ragged["A3"] = nd.from_offsets(outer, nd.from_offsets(inner, nd.array(self.deep)))
        ragged["B"] = nd.from_offsets(nd.array(self.byte_offsets), nd.array(self.bytes))
        return ragged | {"SA": nd.array(self.flat["SA"])[:, None], "key": nd.array(self.key), "value": nd.array(self.value),
                         "nd": nd, "np": np}

    def awkward(self):
        def ragged(offsets, content):
            return ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)

        def plain(values):
            return ak.contents.NumpyArray(values)

        made = {n: ragged(self.few if n.endswith("2") else self.offsets, plain(v)) for n, v in self.flat.items() if n != "SA"}
        for name, values, valid in zip(("OPT", "OPT2"), ("PT", "ETA"), self.valid):
            mask = ak.index.Index8(valid[: self.offsets[-1]].astype(np.int8))
            made[name] = ragged(self.offsets, ak.contents.ByteMaskedArray(mask, plain(self.flat[values]), True))
        made["A3"] = ragged(self.outer, ragged(self.inner, plain(self.deep)))
        made["B"] = ragged(self.byte_offsets, plain(self.bytes))
        made = {name: ak.Array(layout) for name, layout in made.items()}
        return made | {"SA": ak.Array(self.flat["SA"]), "key": ak.Array(self.key), "value": ak.Array(self.value),
                       "ak": ak, "np": np}


def content_of(result):
    """Our result as one flat array, NaN where something is missing."""
    while result.ndim > 1:
        result = nd.flatten(result, axis=1) if result.shape[1] is None else nd.reshape(result, (-1,))
    if str(result.dtype).startswith("?"):
        result = nd.fill_missing(result, float("nan"))
    return [np.asarray(result)]


def awkward_content(result):
    if isinstance(result, np.ndarray):
        return [result.reshape(-1)]
    filled = ak.fill_none(result, np.nan, axis=None)
    return [np.asarray(ak.to_numpy(ak.flatten(filled, axis=None) if result.ndim > 1 else filled))]


def tasks():
    """id, ours, Awkward's, the family of loops, and how these get their operands and what they leave."""
    combined = {who: MASS.format(**functions) for who, functions in LIBRARY.items()}
    angle = {who: ANGLE.format(**functions) for who, functions in LIBRARY.items()}
    polynomial = "1.0+2.0*ETA-3.0*ETA**2+0.5*ETA**3"
    bins = "np.bincount(r[k] * 10 + b[k], minlength=len(PT) * 10)"
    return [
        ("T01 PT + ETA", "(PT + ETA).eval()", "PT + ETA", "add", content("PT", "ETA")),
        ("T02 PT * SA", "(PT * SA).eval()", "PT * SA", "row multiply", content("PT", "SA")),
        ("T03 polynomial", f"({polynomial}).eval()", polynomial, "polynomial", content("ETA")),
        ("T04 sum", "PT.sum(axis=-1)", "ak.sum(PT, axis=-1)", "row sum", each_row("PT")),
        ("T05 mean", "PT.mean(axis=-1)", "ak.mean(PT, axis=-1)", "row mean", each_row("PT")),
        ("T06 std", "PT.std(axis=-1)", "ak.std(PT, axis=-1)", "row std", each_row("PT")),
        ("T07 select, max", "PT[(PT > 25.0) & (nd.abs(ETA) < 2.4)].max(axis=-1, empty='missing')",
         "ak.max(PT[(PT > 25.0) & (abs(ETA) < 2.4)], axis=-1)", "select max", each_row("PT", "ETA")),
        ("T08 filter", "ETA[ETA > 0.5]", "ETA[ETA > 0.5]", "row filter", filtered),
        ("T09 leading", "nd.first(nd.take_along_axis(ETA, nd.argmax(PT, axis=-1, keepdims=True, empty='missing')))",
         "ak.firsts(ETA[ak.argmax(PT, axis=-1, keepdims=True)])", "leading", each_row("PT", "ETA")),
        ("T10 dimuon mass",
         combined["ours"] + "(*nd.unzip(nd.combinations(nd.zip({'pt': PT, 'eta': ETA, 'phi': PHI}), 2))).eval()",
         combined["Awkward"] + "(*ak.unzip(ak.combinations(ak.zip({'pt': PT, 'eta': ETA, 'phi': PHI}), 2)))",
         "pair mass", pairs),
        ("T11 nearest",
         angle["ours"] + "(*nd.unzip(nd.cartesian([nd.zip({'eta': ETA, 'phi': PHI}), nd.zip({'eta': ETA2, 'phi': PHI2})], "
         "nested=True))).min(axis=-1, empty='missing')",
         "ak.min(" + angle["Awkward"] + "(*ak.unzip(ak.cartesian([ak.zip({'eta': ETA, 'phi': PHI}), "
         "ak.zip({'eta': ETA2, 'phi': PHI2})], nested=True))), axis=-1)", "nearest angle", nearest),
        ("T12 standardize", "((PT - PT.mean(axis=-1, keepdims=True)) / PT.std(axis=-1, keepdims=True)).eval()",
         "(PT - ak.mean(PT, axis=-1)) / ak.std(PT, axis=-1)", "row standardize", standardized),
        ("T13 softmax", "nd.softmax(ETA, axis=-1).eval()", "ak.softmax(ETA, axis=-1)", "row softmax", content("ETA")),
        ("T14 cumulative sum", "nd.cumulative_sum(PT, axis=-1)", None, "row running sum", content("PT")),
        ("T15 sort", "nd.sort(PT, axis=-1)", "ak.sort(PT, axis=-1)", "row sort", content("PT")),
        ("T16 dense", "nd.to_dense(PT, 8, value=0.0)", "ak.to_numpy(ak.fill_none(ak.pad_none(PT, 8, clip=True), 0.0))",
         "row dense", dense),
        ("T17 three levels", "A3.sum(axis=-1).max(axis=-1, empty='missing')", "ak.max(ak.sum(A3, axis=-1), axis=-1)",
         "max of sums", levels),
        ("T18 group mean", "nd.groupby(value, key).mean(axis=1)",
         "ak.mean((lambda s: ak.unflatten(value[s], ak.run_lengths(key[s])))(ak.argsort(key)), axis=-1)",
         "group mean", grouped),
        ("T19 histograms", "nd.histogram(PT, 10, (0.0, 100.0), axis=-1)[0]",
         "(lambda b, r: (lambda k: " + bins + ")((b >= 0) & (b < 10)))(np.floor(ak.to_numpy(ak.flatten(PT)) / 10.0)"
         ".astype(np.int64), np.repeat(np.arange(len(PT)), ak.to_numpy(ak.num(PT))))", "row histogram", histograms),
        ("T20 missing", "(OPT * OPT2).eval()", "OPT * OPT2", "missing multiply", missing),
        ("T21 words", "(B == 32).sum(axis=-1) + 1", "ak.sum(B == 32, axis=-1) + 1", "count words", words),
    ]


# ---- the operands of the loops: each gives the work, and what reads its result --------------------------------------


def content(*names):
    def make(d):
        out = aligned(np.zeros(d.offsets[-1]))
        return floors.make_work(out, [d.flat[n] for n in names], d.offsets, d.rows, int(d.offsets[-1])), lambda: [out]

    return make


def each_row(*names):
    def make(d):
        out = aligned(np.zeros(d.rows))
        nothing = np.diff(d.offsets) == 0

        def read():
            return [np.where(np.isneginf(out) | nothing & (out != 0), np.nan, out)]

        return floors.make_work(out, [d.flat[n] for n in names], d.offsets, d.rows), read

    return make


def standardized(d):
    work, read = content("PT")(d)
    alone = np.repeat(np.diff(d.offsets) == 1, np.diff(d.offsets))
    return work, lambda: [np.where(alone, np.nan, read()[0])]  # one element has no deviation


def filtered(d):
    out, kept = aligned(np.zeros(d.offsets[-1])), aligned(np.zeros(d.rows + 1, np.int64))
    return floors.make_work(out, [d.flat["ETA"]], d.offsets, d.rows, 0, [kept]), lambda: [out[: kept[-1]]]


def pairs(d):
    lengths = np.diff(d.offsets)
    out = aligned(np.zeros(int((lengths * (lengths - 1) // 2).sum())))
    return floors.make_work(out, [d.flat[n] for n in ("PT", "ETA", "PHI")], d.offsets, d.rows), lambda: [out]


def nearest(d):
    out = aligned(np.zeros(d.offsets[-1]))
    work = floors.make_work(out, [d.flat[n] for n in ("ETA", "PHI", "ETA2", "PHI2")], d.offsets, d.rows, 0, [d.few])
    return work, lambda: [np.where(np.isinf(out), np.nan, out)]


def dense(d):
    out = aligned(np.zeros(d.rows * 8))
    return floors.make_work(out, [d.flat["PT"]], d.offsets, d.rows, 8), lambda: [out]


def levels(d):
    rows = len(d.outer) - 1
    out = aligned(np.zeros(rows))
    return floors.make_work(out, [d.deep], d.inner, rows, 0, [d.outer]), lambda: [np.where(np.isinf(out), np.nan, out)]


def grouped(d):
    out, count = aligned(np.zeros(d.groups)), aligned(np.zeros(d.groups, np.int64))
    return floors.make_work(out, [d.value], None, d.groups, d.rows, [d.key, count]), lambda: [out]


def histograms(d):
    out = aligned(np.zeros(d.rows * 10, np.int64))
    return floors.make_work(out, [d.flat["PT"]], d.offsets, d.rows), lambda: [out]


def missing(d):
    count = int(d.offsets[-1])
    memory = aligned(np.zeros(9 * count, np.uint8))
    out, there = memory[: 8 * count].view(np.float64), memory[8 * count :]
    work = floors.make_work(memory, [d.flat["PT"], d.flat["ETA"]], None, 0, count, d.valid)
    return work, lambda: [np.where(there.astype(bool), out, np.nan)]


def words(d):
    out = aligned(np.zeros(d.rows, np.int64))
    return floors.make_work(out, [], d.byte_offsets, d.rows, 0, [d.bytes]), lambda: [out]


# ---- the runs ------------------------------------------------------------------------------------------------------


def run_large(bench, rng):
    data, ratios = Data(rng, 1_000_000), []
    for name, ours, theirs, family, operands in tasks():
        if not bench.wants(name):
            continue
        nd.set_num_threads(1)
        work = Work(name, bench, content_of(eval(ours, data.names["ours"])), 1e-9)
        work.add("ours", ours, data.names["ours"], content_of)
        if theirs and ak:
            work.add("Awkward", theirs, data.names["Awkward"], awkward_content)
        loop, read = operands(data)
        work.add_loop("loop", family, loop, read)
        work.report(("loop", 2))
        ratios.append(work.contenders["ours"].best / work.contenders["loop"].best)
    if ratios:
        median = statistics.median(ratios)
        print(f"\nmedian {median:.2f} (bar 1.3), largest {max(ratios):.2f} (bar 2)\n")


def run_small(bench, rng):
    data, times = Data(rng, 1000), []
    nd.set_num_threads(1)
    print_line(["a thousand rows", "", "", "", "ours", "Awkward"])
    for name, ours, theirs, *_ in tasks():
        if not bench.wants(name):
            continue
        contenders = [expression_contender("ours", ours, data.names["ours"], 1)]
        if theirs and ak:
            contenders.append(expression_contender("Awkward", theirs, data.names["Awkward"], 1))
        take_turns(contenders, bench.seconds / 2, 3)
        times.append(contenders[0].best)
        print_line([name, "", "", "", *(time_text(c.best) for c in contenders)])
    if times:
        print(f"\nmedian {time_text(statistics.median(times))} (bar 10 us)")


if __name__ == "__main__":
    sys.exit(elements.main(__doc__, run_large, run_small))

"""Selections over a million ragged rows, beside hand-written loops (floors_selection.cpp) and Awkward Array.

    PYTHONPATH=python python bench/selection.py [--quick] [--only PATTERN]

Results are compared before anything is timed. Bars are those of issue 13. The gain from two threads (see elements.py) is
beside that of the loop on two halves of the rows.
"""

import sys
from functools import partial

import cpu_level  # before NumPy
import numpy as np

import elements
import floors
from elements import Work
from floors import aligned

nd, ak = elements.nd, elements.ak
ROWS = 1_000_000


def offsets_of(rng, mean):
    return aligned(np.concatenate([[0], np.cumsum(rng.poisson(mean, ROWS))]).astype(np.int64))


def bind(offsets, contents):
    """The same rows for us, sharing their offsets, and for Awkward Array."""
    ours_offsets, theirs_offsets = nd.array(offsets), ak.index.Index64(offsets)
    ours = {name: nd.from_offsets(ours_offsets, nd.array(content)) for name, content in contents.items()}
    theirs = {
        name: ak.Array(ak.contents.ListOffsetArray(theirs_offsets, ak.contents.NumpyArray(content)))
        for name, content in contents.items()
    }
    return ours | {"nd": nd}, theirs | {"ak": ak, "np": np}


def parts_of(rows):
    return [np.asarray(nd.flatten(rows)), np.asarray(nd.num(rows))]


def awkward_parts(rows):
    return [ak.to_numpy(ak.flatten(rows)), ak.to_numpy(ak.num(rows))]


def filters(bench, rng, mean):
    name = f"a[a > 0.5], rows of mean {mean}"
    if not bench.wants(name):
        return
    offsets = offsets_of(rng, mean)
    content = aligned(rng.random(offsets[-1]))
    ours, theirs = bind(offsets, {"a": content})
    work = Work(name, bench, parts_of(ours["a"][ours["a"] > 0.5]))
    work.add("ours", "a[a > 0.5]", ours, parts_of)
    work.add("Awkward", "a[a > 0.5]", theirs, awkward_parts)
    out, kept = aligned(np.zeros(content.size)), aligned(np.zeros(ROWS + 1, np.int64))
    loop = floors.make_work(out, [content], offsets, ROWS, 0, [kept])
    work.add_loop("loop", "row filter", loop, lambda: [out[: kept[-1]], np.diff(kept)])
    half = ROWS // 2
    work.add_two("a[a > 0.5]", ours, parts_of, floors.make_work(out, [content], offsets, half, 0, [kept]),
                 floors.make_work(out[offsets[half] :], [content], offsets[half:], half, 0, [kept[half:].copy()]))  # fmt: skip
    work.report(("loop", 1.5), ("gain", 0.85))


def dense(bench, rng):
    if not bench.wants("to_dense(a, 8)"):
        return
    offsets = offsets_of(rng, 4)
    content = aligned(rng.random(offsets[-1]))
    ours, theirs = bind(offsets, {"a": content})
    work = Work("to_dense(a, 8)", bench, [np.asarray(nd.to_dense(ours["a"], 8, value=0.0))])
    work.add("ours", "nd.to_dense(a, 8, value=0.0)", ours, lambda r: [r])
    work.add("Awkward", "ak.to_numpy(ak.fill_none(ak.pad_none(a, 8, clip=True), 0.0))", theirs, lambda r: [r])
    out = aligned(np.zeros(ROWS * 8))
    work.add_loop("loop", "row dense", floors.make_work(out, [content], offsets, ROWS, 8), lambda: [out])
    work.report(("loop", 2))


MASS = """(lambda a, b: sqrt(2 * a["pt"] * b["pt"] * (cosh(a["eta"] - b["eta"]) - cos(a["phi"] - b["phi"]))){eval})(
    *{library}.unzip({library}.combinations({library}.zip({{"pt": pt, "eta": eta, "phi": phi}}), 2)))"""
NEAREST = """(lambda a, b: {library}.min(sqrt((a["eta"] - b["eta"])**2 + (a["phi"] - b["phi"])**2), axis=-1, {initial}))(
    *{library}.unzip({library}.cartesian([{library}.zip({{"eta": eta, "phi": phi}}),
                                          {library}.zip({{"eta": eta2, "phi": phi2}})], nested=True)))"""


def pairs(bench, rng):
    offsets, few = offsets_of(rng, 4), offsets_of(rng, 1.5)
    columns = {name: aligned(rng.normal(size=offsets[-1])) for name in ("pt", "eta", "phi")}
    columns["pt"] = aligned(np.abs(columns["pt"]))
    others = {name: aligned(rng.normal(size=few[-1])) for name in ("eta2", "phi2")}
    ours, theirs = (a | b for a, b in zip(bind(offsets, columns), bind(few, others)))
    for names, module in ((ours, nd), (theirs, np)):
        names.update({name: getattr(module, name) for name in ("sqrt", "cosh", "cos")})
    if bench.wants("mass of pairs"):
        ours_text, theirs_text = MASS.format(library="nd", eval=".eval()"), MASS.format(library="ak", eval="")
        work = Work("mass of pairs", bench, parts_of(eval(ours_text, ours)), 1e-6)
        work.add("ours", ours_text, ours, parts_of)
        work.add("Awkward", theirs_text, theirs, awkward_parts)
        lengths = np.diff(offsets)
        out = aligned(np.zeros(int((lengths * (lengths - 1) // 2).sum())))
        loop = floors.make_work(out, list(columns.values()), offsets, ROWS)
        work.add_loop("loop", "pair mass", loop, lambda: [out, lengths * (lengths - 1) // 2])
        half, first = ROWS // 2, (lengths[: ROWS // 2] * (lengths[: ROWS // 2] - 1) // 2).sum()
        work.add_two(ours_text, ours, parts_of, floors.make_work(out, list(columns.values()), offsets, half),
                     floors.make_work(out[first:], list(columns.values()), offsets[half:], half))  # fmt: skip
        work.report(("loop", 1.5), ("gain", 0.85))
    if bench.wants("nearest match"):
        text = NEAREST.format(library="nd", initial="initial=float('inf')")
        work = Work("nearest match", bench, parts_of(eval(text, ours)), 1e-13)
        work.add("ours", text, ours, parts_of)
        work.add("Awkward", NEAREST.format(library="ak", initial="initial=np.inf, mask_identity=False"), theirs, awkward_parts)
        out = aligned(np.zeros(int(offsets[-1])))
        inputs = [columns["eta"], columns["phi"], others["eta2"], others["phi2"]]
        loop = floors.make_work(out, inputs, offsets, ROWS, 0, [few])
        work.add_loop("loop", "nearest", loop, lambda: [out, np.diff(offsets)])
        half = ROWS // 2
        work.add_two(text, ours, parts_of, floors.make_work(out, inputs, offsets, half, 0, [few]),
                     floors.make_work(out, inputs, offsets[half:], half, 0, [few[half:]]))  # fmt: skip
        work.report(("loop", 2), ("gain", 0.85))


if __name__ == "__main__":
    sys.exit(elements.main(__doc__, partial(filters, mean=4), partial(filters, mean=10), dense, pairs))

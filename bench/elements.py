"""What elements that are not plain numbers cost: structs of three numbers, short texts, values that may be missing;
and reductions of what is lazy. Beside hand-written loops (floors_elements.cpp, floors_reductions.cpp), NumPy and
Awkward Array.

    PYTHONPATH=python python bench/elements.py [--quick] [--only PATTERN]

A piece of work has contenders, which run in turns as in run.py, and bars, a line for each:

    / fields    our time on one thread over that of our own operations field by field
    / loop      over the hand-written loop; `/ loop 2` both on two threads
    / plain     over our own operation on values that cannot be missing
    gain        what two threads give us over what they give the hand-written loop; at least the bar

Bars of structs and texts are those of issue 9, of missing values over the loop those of issue 11; others are proposals.

The other columns are times over the same base (in lines of gain: our gain, the loop's gain). Results are compared
before anything is timed. A ~ marks a base whose median is far above its best: measure again.
"""

import argparse
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import cpu_level  # before NumPy
import numpy as np

import contenders
import floors
from floors import aligned
from rows import ragged
from run import NOISY, ROOT, Contender, cpu_model, expression_contender, take_turns, time_text

nd, ak = contenders.nd, contenders.awkward
COUNT, MISSING_COUNT = 10_000_000, 4_000_000
FIELDS = {"x": "int32", "y": "float64", "z": "int64"}
OTHER_FIELDS = {"x": "int64", "y": "float32", "z": "float64"}
TWO = " in two threads"
PEERS = ["loop", "vectors", "NumPy", "Awkward"]
WIDTHS = [52, 16, 8, 6, 9, 9, 9, 9, 9, 9]


class Work:
    """A piece of work: contenders under their names, each compared with the expected arrays when it is added."""

    def __init__(self, name, bench, expected, tolerance=0):
        self.name, self.bench, self.tolerance = name, bench, tolerance
        self.expected = [np.asarray(e) for e in expected]
        self.contenders, self.wrong = {}, []

    def check(self, name, got):
        close = partial(np.allclose, rtol=self.tolerance, atol=self.tolerance, equal_nan=True)
        if not all(close(np.asarray(g).reshape(-1), e.reshape(-1)) for g, e in zip(got, self.expected, strict=True)):
            self.wrong.append(name)

    def add(self, name, expression, names, result, threads=1):
        """`result` turns the value of the expression into the arrays that are compared."""
        nd.set_num_threads(threads)
        self.check(name, result(eval(expression, names)))
        self.contenders[name] = expression_contender(name, expression, names, threads)

    def add_loop(self, name, family, work, result):
        """The fastest loop of a family, chosen in rounds of its own; `result` reads what it wrote."""
        loops = self.bench.loops
        variants = []
        for variant, index in loops.families[family]:
            for array in [work.arrays[0], *self.bench.targets]:
                array.view(np.uint8)[...] = 0xFF
            loops.time(index, work, 1)
            self.check(f"loop {variant}", result())
            variants.append(Contender(name, partial(loops.time, index, work), variant=variant))
        if len(variants) > 1:
            take_turns(variants, self.bench.seconds / 3, 3)
        best = min(variants, key=lambda v: min(v.samples, default=0))
        best.samples, best.repeats = [], 1
        self.contenders[name] = best
        self.loop_index = dict(loops.families[family])[best.variant]

    def add_two(self, expression, names, result, *halves):
        """Ours on two threads; and the last loop that was added, on two halves of its work at once."""
        self.add("ours 2", expression, names, result, 2)
        run = partial(in_two_threads, self.bench.loops, self.loop_index, halves)
        self.contenders["loop 2"] = Contender("loop 2", run)

    def report(self, *bars):
        """Takes the times and prints a line for each bar (base, bar)."""
        take_turns(list(self.contenders.values()), self.bench.seconds, self.bench.rounds)
        for base, bar in bars:
            self.bench.line(self, base, bar)


class Bench:
    def __init__(self, loops, quick, only):
        self.loops, self.only = loops, only
        self.seconds, self.rounds = (0.75, 3) if quick else (4, 6)
        self.targets = []  # what loops write beside `out`
        self.failed, self.wrong = [], []

    def wants(self, name):
        return re.search(self.only, name)

    def line(self, work, base, bar):
        best = {name: contender.best for name, contender in work.contenders.items()}
        if base == "gain":
            ours, loop = best["ours"] / best["ours 2"], best["loop"] / best["loop 2"]
            ratio, bar_text, shown, base_time = ours / loop, f"gain >= {bar}", best["ours 2"], best["loop 2"]
            passed, peers, noisy = ratio >= bar, [f"{ours:.2f}", f"{loop:.2f}"], work.contenders["loop 2"]
        else:
            two = " 2" if base.endswith(" 2") else ""
            shown, base_time = best["ours" + two], best[base]
            ratio, bar_text, noisy = shown / base_time, f"/ {base} <= {bar}", work.contenders[base]
            passed = ratio <= bar
            peers = [f"{best[p + two] / base_time:.2f}" if p + two in best else "-" for p in PEERS]
        verdict = "WRONG " + ", ".join(work.wrong) if work.wrong else "ok" if passed else "OVER"
        self.failed += [] if passed else [f"{work.name} {bar_text}"]
        self.wrong += work.wrong
        mark = " ~" if noisy.median > NOISY * noisy.best else ""
        print_line([work.name, bar_text, f"{ratio:.2f}{mark}", verdict, time_text(shown), time_text(base_time), *peers])


TWO_THREADS = ThreadPoolExecutor(2)  # they stay: loops keep memory for each


def in_two_threads(loops, index, halves, repeats):
    """Seconds; a loop runs without Python's lock."""
    start = time.perf_counter()
    list(TWO_THREADS.map(lambda work: loops.time(index, work, repeats), halves))
    return time.perf_counter() - start


def print_line(texts):
    print("  ".join(text.ljust(width) for text, width in zip(texts, WIDTHS)).rstrip(), flush=True)


# ---- structs -------------------------------------------------------------------------------------------------------


def struct_type(fields):
    return "{" + ", ".join(f"{name}: {type}" for name, type in fields.items()) + "}"


def struct_columns(rng):
    """Few different values, so that a comparison is decided by any of the fields."""
    return [aligned(rng.integers(0, 4, COUNT).astype(type)) for type in FIELDS.values()]


def records(columns):
    result = np.empty(COUNT, [(name, column.dtype) for name, column in zip(FIELDS, columns)])
    for name, column in zip(FIELDS, columns):
        result[name] = column
    return result


def our_structs(columns):
    """An immutable copy of ours: a column for each field."""
    return nd.array(nd.asarray(records(columns)))


def assign_structs(bench, rng):
    columns = struct_columns(rng)
    rows = records(columns)
    sources = {"columns": our_structs(columns), "records": nd.asarray(rows)}
    for source, target, types in [("columns", "columns", FIELDS), ("columns", "columns", OTHER_FIELDS),
                                  ("records", "columns", FIELDS), ("records", "columns", OTHER_FIELDS),
                                  ("columns", "records", FIELDS)]:  # fmt: skip
        family = f"assign {source}" + ("" if types is FIELDS else " to other types")
        family += " to records" if target == "records" else ""
        if not bench.wants(f"structs: {family}"):
            continue
        assign_one(bench, family, columns, sources[source], rows if source == "records" else None, target, types)


def assign_one(bench, family, columns, source, source_rows, target, types):
    expected = [column.astype(type) for column, type in zip(columns, types.values())]
    numpy_target = np.zeros(COUNT, list(types.items()))
    to = nd.asarray(numpy_target) if target == "records" else nd.empty(f"{COUNT} * {struct_type(types)}")
    names = {"assign": nd.assign, "to": to, "source": source, "copyto": np.copyto, "numpy_to": numpy_target,
             "numpy_source": records(columns) if source_rows is None else source_rows}  # fmt: skip

    def ours(_):
        got = [np.array(to[name]) for name in types]
        nd.assign(to, nd.array((0, 0, 0), type=struct_type(types)))
        return got

    work = Work(f"structs: {family}", bench, expected)
    whole = "assign(to, source, 'nocheck')"
    fields = "; ".join(f"assign(to['{name}'], source['{name}'], 'nocheck')" for name in types)
    for threads, suffix in [(1, ""), (2, " 2")]:
        work.add("ours" + suffix, whole, names, ours, threads)
    exec(fields, names)
    work.check("fields", ours(None))
    work.contenders["fields"] = expression_contender("fields", fields, names)
    work.add("NumPy", "copyto(numpy_to, numpy_source, casting='unsafe')", names,
             lambda _: [numpy_target[n] for n in types])  # fmt: skip

    targets = [numpy_target] if target == "records" else [aligned(e) for e in expected]
    loop_work = floors.make_work(np.zeros(1), columns if source_rows is None else [source_rows], columns=COUNT,
                                 more=targets)  # fmt: skip
    bench.targets = targets
    written = (lambda: [numpy_target[n] for n in types]) if target == "records" else lambda: targets
    for suffix, two in [("", ""), (" 2", TWO)]:
        work.add_loop("loop" + suffix, family + two, loop_work, written)
    bench.targets = []
    work.report(("fields", 1.5), ("gain", 0.85))


EQUAL = "(a['x'] == b['x']) & (a['y'] == b['y']) & (a['z'] == b['z'])"
LESS = ("(a['x'] < b['x']) | ((a['x'] == b['x']) & ((a['y'] < b['y']) | "
        "((a['y'] == b['y']) & (a['z'] < b['z']))))")  # fmt: skip


def compare_structs(bench, rng):
    left, right = struct_columns(rng), struct_columns(rng)
    rows, b = records(left), our_structs(right)
    names = {"columns": our_structs(left), "records": nd.asarray(rows)}
    peers = {"a": rows, "b": records(right)}
    for source in names:
        for operation, sign, fields in [("equal", "==", EQUAL), ("less", "<", LESS)]:
            if not bench.wants(f"structs: {operation} {source}"):
                continue
            expected = eval(fields, peers)
            bound = {"a": names[source], "b": b}
            work = Work(f"structs: {operation} {source}", bench, [expected])
            for threads, suffix in [(1, ""), (2, " 2")]:
                work.add("ours" + suffix, f"(a {sign} b).eval()", bound, lambda r: [r], threads)
            work.add("fields", f"({fields}).eval()", bound, lambda r: [r])
            if operation == "equal":
                work.add("NumPy", "a == b", peers, lambda r: [r])
            out = np.zeros(COUNT, np.uint8)
            inputs = left if source == "columns" else [rows]
            loop_work = floors.make_work(out, inputs, columns=COUNT, more=right)
            for suffix, two in [("", ""), (" 2", TWO)]:
                work.add_loop("loop" + suffix, f"{operation} {source}{two}", loop_work, lambda: [out])
            work.report(("fields", 1.5), ("gain", 0.85))


# ---- texts ---------------------------------------------------------------------------------------------------------


def texts(rng):
    """3 to 12 letters each, a or b, so that different texts often begin alike: NumPy's S12."""
    letters = rng.integers(0, 2, (COUNT, 12), dtype=np.uint8) + ord("a")
    letters[np.arange(12) >= rng.integers(3, 13, COUNT)[:, None]] = 0
    return letters.reshape(-1).view("S12")


def offsets_and_bytes(values):
    letters = values.view(np.uint8)
    lengths = (letters.reshape(-1, 12) != 0).sum(axis=1)
    content = np.concatenate([letters[letters != 0], np.zeros(64, np.uint8)])  # vectors read past the last
    return aligned(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)), aligned(content)


def awkward_texts(offsets, content):
    values = ak.contents.NumpyArray(content, parameters={"__array__": "char"})
    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(offsets), values, parameters={"__array__": "string"}))


def compare_texts(bench, rng):
    """Half are equal: every other one, which a CPU learns to predict, or at random, where it mostly waits for branches.
    The library's own cost shows in the first, so both are measured."""
    for pattern in ("every other", "at random"):
        wanted = [pair for pair in [("equal", "=="), ("less", "<")] if bench.wants(f"texts: {pair[0]}, {pattern}")]
        if wanted:
            left, right = texts(rng), texts(rng)
            same = np.arange(COUNT) % 2 == 0 if pattern == "every other" else rng.random(COUNT) < 0.5
            right[same] = left[same]
            compare_these_texts(bench, pattern, wanted, left, right)


def compare_these_texts(bench, pattern, wanted, left, right):
    (a_offsets, a_bytes), (b_offsets, b_bytes) = offsets_and_bytes(left), offsets_and_bytes(right)
    ours = {name: nd.array(values).astype("string").eval() for name, values in [("a", left), ("b", right)]}
    out = np.zeros(COUNT, np.uint8)
    loop_work = floors.make_work(out, [a_bytes, b_bytes, b_offsets], a_offsets, columns=COUNT)
    for operation, sign in wanted:
        work = Work(f"texts: {operation}, {pattern}", bench, [eval(f"a {sign} b", {"a": left, "b": right})])
        work.add("NumPy", f"a {sign} b", {"a": left, "b": right}, lambda r: [r])
        if ak and operation == "equal":
            names = {"a": awkward_texts(a_offsets, a_bytes), "b": awkward_texts(b_offsets, b_bytes)}
            work.add("Awkward", "a == b", names, lambda r: [r])
        for threads, suffix, two in [(1, "", ""), (2, " 2", TWO)]:
            work.add("ours" + suffix, f"(a {sign} b).eval()", ours, lambda r: [r], threads)
            work.add_loop("loop" + suffix, f"{operation} texts{two}", loop_work, lambda: [out])
            work.add_loop("vectors" + suffix, f"{operation} texts by vectors{two}", loop_work, lambda: [out])
        work.report(("loop", 1.5), ("loop 2", 1.5))


# ---- values that may be missing ------------------------------------------------------------------------------------


def missing_values(name, bench, expression, values, valid, offsets=None, family="", awkward="", waits=False):
    """One expression over values and their validity, by name; what it computes of values that are there is NumPy's."""
    masked = {n: np.ma.masked_array(v, mask=~valid[n]) for n, v in values.items()}
    plain = {n: nd.array(v) for n, v in values.items()}
    ours = {n: nd.array(m) for n, m in masked.items()}
    if offsets is not None:
        shared = nd.array(offsets)
        plain, ours = ({n: nd.from_offsets(shared, v) for n, v in arrays.items()} for arrays in (plain, ours))
    text = f"({expression}).eval()" if waits else expression

    expected, expected_valid = expected_of(expression, masked, offsets)
    tolerance = 1e-12 if "sum" in expression else 0
    work = Work(f"missing: {name}", bench, [expected.astype(np.float64), expected_valid], tolerance)
    fill = expected[~expected_valid][0] if not expected_valid.all() else 0.0

    def split(result):
        if not str(result.type).endswith("?float64"):
            return [result, np.ones(expected.size, bool)]
        return [nd.fill_missing(result, float(fill)), ~np.asarray(nd.is_missing(result))]

    def numpy_parts(result):
        return [np.ma.filled(result, fill), ~np.ma.getmaskarray(result)]

    work.add("ours", text, ours, split)
    whole = {n: np.ma.masked_array(v, mask=np.zeros(v.size, bool)) for n, v in values.items()}
    plain_work = Work("plain", bench, expected_of(expression, whole, offsets)[:1], tolerance)
    plain_work.add("plain", text, plain, lambda r: [r])
    work.contenders |= plain_work.contenders
    work.wrong += plain_work.wrong
    if offsets is None:
        work.add("NumPy", expression, masked, numpy_parts)
    if ak:
        names = {n: awkward_missing(v, valid[n], offsets) for n, v in values.items()} | {"ak": ak}
        work.add("Awkward", awkward or expression, names, lambda r: numpy_parts(ak.to_numpy(r) if np.ndim(r) else r))

    rows = 0 if offsets is None else len(offsets) - 1
    memory = aligned(np.zeros(9 * expected.size, np.uint8))
    padded = [aligned(np.concatenate([v, np.zeros(64, bool)])) for v in valid.values()]
    count = next(iter(values.values())).size
    loop_work = floors.make_work(memory, list(values.values()), offsets, rows, count, padded)
    out, out_valid = memory[: 8 * expected.size].view(np.float64), memory[8 * expected.size :]

    def written():
        is_option = "sum" not in expression and expected.ndim > 0
        present = out_valid.astype(bool) if is_option else np.ones(expected.size, bool)
        return [np.where(present, out, fill), present]

    work.add_loop("loop", family, loop_work, written)
    work.report(("loop", 1.6 if "sum" in expression else 1.4), ("plain", 1.5))


def expected_of(expression, masked, offsets):
    """What NumPy says, with one value where something is missing, and where something is there."""
    if offsets is None:
        result = eval(expression, dict(masked))
        return np.ma.filled(result, 0.0), ~np.ma.getmaskarray(result)
    starts, lengths = offsets[:-1], np.diff(offsets)
    assert lengths.min() > 0  # reduceat knows no empty rows
    if "sum" in expression:
        return np.add.reduceat(np.ma.filled(masked["a"] * masked["b"], 0.0), starts), np.ones(lengths.size, bool)
    valid = np.add.reduceat((~masked["a"].mask).astype(np.int64), starts) > 0
    return np.where(valid, np.maximum.reduceat(np.ma.filled(masked["a"], -np.inf), starts), 0.0), valid


def awkward_missing(values, valid, offsets):
    content = ak.contents.ByteMaskedArray(ak.index.Index8(valid.astype(np.int8)), ak.contents.NumpyArray(values), True)
    if offsets is not None:
        content = ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)
    return ak.Array(content)


def missing(bench, rng):
    def validity(values):
        return {name: aligned(rng.random(v.size) >= 0.2) for name, v in values.items()}

    for name, expression, operands, family, awkward in [
        ("a * b", "a * b", "ab", "missing multiply", ""),
        ("a*b + c", "a*b + c", "abc", "missing fused", ""),
        ("a.max()", "a.max()", "a", "missing max", "ak.max(a)"),
    ]:
        if bench.wants(f"missing: {name}"):
            values = {n: aligned(rng.random(MISSING_COUNT) + 0.5) for n in operands}
            waits = expression != "a.max()"
            missing_values(name, bench, expression, values, validity(values), None, family, awkward, waits)
    for name, expression, operands, family, awkward in [
        ("ragged (a*b).sum(axis=1)", "(a*b).sum(axis=1)", "a b", "missing row products", "ak.sum(a*b, axis=1)"),
        ("ragged a.max(axis=1)", "a.max(axis=1)", "a", "missing row max", "ak.max(a, axis=1)"),
    ]:
        if bench.wants(f"missing: {name}"):
            rows = ragged(operands, 10, shortest=1)()
            values = {n: r.content for n, r in rows.items()}
            missing_values(name, bench, expression, values, validity(values), rows["a"].offsets, family, awkward)


# ---- reductions of what is lazy ------------------------------------------------------------------------------------


def reductions(bench, rng):
    for expression, shape, family in [
        ("(a*b).sum(axis=0)", (1000, 1000), "column products"),
        ("(a*b).sum(axis=0)", (4096, 256), "column products"),
        ("(a + b).max(axis=1)", (200, 300, 50), "middle max"),
        ("(a*b.T).sum()", (4096, 4096), "transposed products"),
    ]:
        name = f"reduction: {expression}, {' x '.join(map(str, shape))}"
        if not bench.wants(name):
            continue
        operands = {n: aligned(rng.random(shape)) for n in "ab"}
        expected = np.asarray(eval(expression, dict(operands)))
        work = Work(name, bench, [expected], 1e-11 if "sum" in expression else 0)
        work.add("ours", expression, {n: nd.array(v) for n, v in operands.items()}, lambda r: [r])
        work.add("NumPy", expression, dict(operands), lambda r: [r])
        out = aligned(np.zeros(expected.size))
        middle = np.array([shape[1]], np.int64)  # of three dimensions
        loop_work = floors.make_work(out, list(operands.values()), middle, shape[0], shape[-1])
        work.add_loop("loop", family, loop_work, lambda: [out])
        work.report(("loop", 1.5))


def main(document, *parts):
    """Prints the table of the parts, each a function of the bench and random numbers; the exit status."""
    parser = argparse.ArgumentParser(description=document.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", default="", help="work whose name contains this (a regular expression)")
    options = parser.parse_args()
    cpu = cpu_model()
    bench = Bench(floors.Floors(floors.build(ROOT / "build/bench", cpu)), options.quick, options.only)
    print(f"{cpu}, {nd.num_threads()} threads\n")
    print_line(["work", "bar", "ratio", "", "ours", "base", *PEERS])
    for part in parts:
        part(bench, np.random.default_rng(20140401))
    print(f"\n{len(bench.failed)} miss their bar" + "".join(f"\n    {name}" for name in bench.failed))
    return bool(bench.wrong)


if __name__ == "__main__":
    sys.exit(main(__doc__, assign_structs, compare_structs, compare_texts, missing, reductions))

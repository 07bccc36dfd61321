"""Times of this library beside hand-written loops, NumPy, Awkward Array, numexpr and Numba: `make bench`.

    .venv/bin/python bench/run.py [--cliffs | --walk] [--quick] [--only PATTERN] [--json FILE] [--build DIRECTORY]

Each line of the table is one piece of work (rows.py). `ours` is measured from Python, with a fresh result each
time, and divided by the base that the bar is for: usually the *floor*, the fastest of several hand-written loops
(floors*.cpp) that write into memory prepared before. Peers are divided by the same base; a dash is a library that
is not installed or has no way to say it. On ragged data NumPy and Numba work on the flat content and the offsets.

All contenders run in this process, in turns: in each round every one is run a few times in a row (so that it finds
the caches as it leaves them), and its time is the best of all rounds. The fastest loop of each family is chosen
in rounds of its own, so that the floor gets no more chances than we do. Results are compared before anything is
timed. One thread, but for the last line. A ~ marks a base whose median is far above its best: something else was
running, measure again. (In the line of the threads, the hand-written loop shows what two cores gave at that time.)
"""

import argparse
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time
import timeit
from functools import partial

import cpu_level  # before NumPy
import numpy as np

import contenders
import floors
from rows import ROWS, Ragged

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = {"numpy": "NumPy", "awkward": "Awkward", "numexpr": "numexpr", "numba": "Numba"}
IN_A_ROW = 3  # runs of one contender before the next has its turn
SHORTEST_SAMPLE = 5e-4  # seconds; faster work is repeated inside a sample
NOISY = 1.3  # median / best


class Contender:
    """Something that can be timed: `time(repeats)` returns seconds. `variant` says which loop of a family it is."""

    def __init__(self, name, time, threads=1, variant=""):
        self.name, self.time, self.threads, self.variant = name, time, threads, variant
        self.repeats = 1
        self.samples = []

    def calibrate(self):
        """Warms up, and finds how often a sample has to repeat the work."""
        self.set_threads()
        self.time(1)
        while (seconds := self.time(self.repeats)) < SHORTEST_SAMPLE:
            self.repeats = max(2 * self.repeats, int(self.repeats * SHORTEST_SAMPLE / max(seconds, 1e-9)))

    def sample(self):
        self.set_threads()
        self.samples += [self.time(self.repeats) / self.repeats for _ in range(IN_A_ROW)]

    def set_threads(self):
        if contenders.nd:
            contenders.nd.set_num_threads(self.threads)

    @property
    def best(self):
        return min(self.samples)

    @property
    def median(self):
        return statistics.median(self.samples)


def expression_contender(name, expression, names, threads=1):
    return Contender(name, timeit.Timer(expression, globals=names).timeit, threads)


def take_turns(group, seconds, least_rounds, occasional=()):
    """Rounds over the group until the time is up; the occasional ones join every fourth round."""
    for contender in [*group, *occasional]:
        contender.calibrate()
    end = time.perf_counter() + seconds
    round_number = 0
    while round_number < least_rounds or time.perf_counter() < end:
        for contender in [*group, *(occasional if round_number % 4 == 0 else ())]:
            contender.sample()
        round_number += 1


class Bench:
    def __init__(self, loops, seconds):
        self.loops, self.seconds = loops, seconds

    def run(self, row):
        """Measures one row: {name of contender: Contender}, and the names of those whose result was wrong."""
        operands = row.operands()
        names = {library: bind(operands) for library, bind in self.libraries(row)}
        expressions = {library: row.peers.get(library, row.expression) for library in names}
        if row.lazy and "ours" in names:
            expressions["ours"] = f"({row.expression}).eval()"
        expected = np.asarray(eval(expressions["numpy"], names["numpy"])).reshape(-1)

        measured, wrong = [], []
        for library, expression in expressions.items():
            if not contenders.same(eval(expression, names[library]), expected, operands, row.error or (1e-12 if row.sums else 0)):
                wrong.append(library)
            threads = 2 if (library, row.base) == ("ours", "one thread") else 1
            measured.append(expression_contender(library, expression, names[library], threads))
        measured += self.bases(row, names.get("ours"))

        for family, name in self.families(row):
            want, tolerance = expected, 1e-12 if row.sums else 0
            if family.endswith("in order") and "ours" in names:  # the same bits
                want, tolerance = np.asarray(eval(expressions["ours"], names["ours"])).reshape(-1), 0
            loop, is_right = self.fastest_loop(family, name, operands, want, tolerance)
            measured.append(loop)
            wrong += [] if is_right else [loop.variant]

        deciding = [c for c in measured if c.name not in PEERS or c.name == row.base]
        take_turns(deciding, self.seconds, 4, [c for c in measured if c not in deciding])
        return {c.name: c for c in measured}, wrong

    @staticmethod
    def libraries(row):
        wanted = {"ours", "numpy", *row.peers}
        return [(name, bind) for name, bind in contenders.LIBRARIES.items() if name in wanted]

    @staticmethod
    def bases(row, names):
        """The contenders that are there only because our time is divided by theirs."""
        if names is None:
            return []
        if row.base == "one thread":
            return [expression_contender("ours, one thread", f"({row.expression}).eval()", names)]
        if row.base.startswith("ours "):
            return [expression_contender("base", f"({row.base.removeprefix('ours ')}).eval()", names)]
        return []

    @staticmethod
    def families(row):
        """The families of loops to run, each with the name its fastest loop goes by."""
        if row.base == "one thread":
            return [(row.loop, "loop, one thread"), (f"{row.loop} in two threads", "loop")]
        other = [(row.base.removeprefix("loop "), "base")] if row.base.startswith("loop ") else []
        return other + ([(row.loop, "loop")] if row.loop else [])

    def fastest_loop(self, family, name, operands, expected, tolerance):
        """The fastest loop of a family as a contender, and whether all of the family compute the right thing."""
        out = floors.aligned(np.zeros(expected.size))
        arrays = [x.content if isinstance(x, Ragged) else x for x in operands.values()]
        offsets = next((x.offsets for x in operands.values() if isinstance(x, Ragged)), None)
        rows = len(arrays[0]) if offsets is None else len(offsets) - 1
        # elementwise loops see one flat row of everything; an outer sum and reductions of planes need their own columns
        columns = max(out.size, arrays[0].size)
        if family.startswith(("outer", "plane", "column")):
            columns = arrays[-1].shape[1]
        work = floors.make_work(out, arrays, offsets, rows, columns)

        variants, is_right = [], True
        for variant, index in self.loops.families[family]:
            out[...] = np.nan
            self.loops.time(index, work, 1)
            is_right &= family == "fill" or np.allclose(out, expected, rtol=tolerance, atol=tolerance)
            variants.append(Contender(name, partial(self.loops.time, index, work), variant=variant))
        if len(variants) > 1:
            take_turns(variants, self.seconds / 3, 3)
        best = min(variants, key=lambda v: min(v.samples, default=0))
        best.samples, best.repeats = [], 1
        return best, is_right


class CallCost:
    """Our `a + b` of three values in C++, by its own program (call_cost.cpp)."""

    name, bar = "a+b, 3, C++", 45e-9

    def __init__(self, program, runs):
        self.program, self.runs = program, runs

    def line(self):
        if not self.program.exists():
            return {"work": self.name, "bar": self.bar, "base": "time"}
        results = [json.loads(subprocess.check_output([self.program])) for _ in range(self.runs)]
        seconds = min(result["seconds"] for result in results)
        allocations = max(result["allocations"] for result in results)
        return {
            "work": f"{self.name} (allocations: {allocations:g})", "bar": self.bar, "base": "time", "ours": seconds,
            "passed": seconds <= self.bar and allocations <= 1,
        }


class PluginCost:
    """What the kernel of a plug-in costs over calling its strided function by hand (plugin_cost.cpp)."""

    name, bar, ratio_bar = "plug-in over by hand, 3", 100e-9, 1.03

    def __init__(self, build, runs):
        self.command, self.runs = [build / "bench/plugin_cost", build / "examples/plugin_triple.so"], runs

    def line(self):
        if not all(part.exists() for part in self.command):
            return {"work": self.name, "bar": self.bar, "base": "time"}
        results = [json.loads(subprocess.check_output(self.command)) for _ in range(self.runs)]
        seconds = min(result["over_ns"] for result in results) * 1e-9
        ratio = statistics.median(result["large_ratio"] for result in results)
        return {
            "work": f"{self.name} (16M: {ratio:.3f} times)", "bar": self.bar, "base": "time", "ours": seconds,
            "passed": seconds <= self.bar and ratio <= self.ratio_bar,
        }


def table_line(row, measured, wrong):
    """What is printed of a row, and stored as JSON: times in seconds, ratios to the base."""
    best = {name: contender.best for name, contender in measured.items()}
    base = measured.get(row.base) or measured.get("base")  # None: it is ours and we are not there, or there is none
    line = {"work": row.name, "bar": row.bar, "base": row.base, "ours": best.get("ours"), "wrong": wrong,
            "base_time": base.best if base else None, "best": best,
            "median": {name: contender.median for name, contender in measured.items()},
            "variant": measured["loop"].variant if "loop" in measured else "",
            "noisy": any(c.median > NOISY * c.best for c in ([base] if base else measured.values()))}
    if row.base == "one thread":
        line["ratios"] = {name: best[f"{name}, one thread"] / best[name] for name in ("ours", "loop") if name in best}
    elif base:
        line["ratios"] = {name: seconds / base.best for name, seconds in best.items()}
    if "ours" in best:
        ours = best["ours"] if row.base == "time" else line["ratios"]["ours"]
        line["passed"] = ours >= row.bar if row.base == "one thread" else ours <= row.bar
    return line


def time_text(seconds):
    if seconds is None:
        return "-"
    unit, factor = next((u, f) for u, f in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)) if seconds * f < 1000 or u == "ms")
    return f"{seconds * factor:.3g} {unit}"


def cells(line):
    """The cells of one line of the table."""
    ratios, best = line.get("ratios", {}), line.get("best", {})

    def peer(name):
        return f"{ratios[name]:.2f}" if name in ratios else time_text(best.get(name))

    bar = time_text(line["bar"]) if line["base"] == "time" else f"{line['bar']:.2f}"
    passed = line.get("passed")
    verdict = {None: "", True: "pass", False: "FAIL"}[passed]
    if line.get("wrong"):
        verdict = "WRONG " + ", ".join(line["wrong"])
    return [
        line["work"], (">= " if line["base"] == "one thread" else "<= ") + bar,
        (f"{ratios['ours']:.2f}" if "ours" in ratios else "-") + (" ~" if line.get("noisy") else ""), verdict,
        time_text(line.get("ours")), time_text(line.get("base_time")), line["base"],
        peer("loop") + (f" ({line['variant']})" if line.get("variant") else ""), *(peer(name) for name in PEERS),
    ]


HEADER = ["work", "bar", "ratio", "", "ours", "base", "base is", "hand-written loop", *PEERS.values()]
WIDTHS = [50, 10, 7, 5, 8, 8, 10, 36, 8, 8, 8, 8]


def print_line(texts):
    print("  ".join(text.ljust(width) for text, width in zip(texts, WIDTHS)).rstrip(), flush=True)


def cpu_model():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    family, model, name, stepping = re.findall(r"^(?:cpu family|model|model name|stepping)\s*: (.*)", text, re.M)[:4]
    return f"{name}, family {family} model {model} stepping {stepping}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the time for each row")
    parser.add_argument("--cliffs", action="store_true", help="the lines of cliffs.py instead")
    parser.add_argument("--walk", action="store_true", help="the walk of walk.py instead")
    parser.add_argument("--only", default="", help="rows whose name contains this (a regular expression)")
    parser.add_argument("--json", type=pathlib.Path, help="also write everything that was measured")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where call_cost was built")
    options = parser.parse_args()
    if options.walk:
        import walk

        return walk.run(options.quick, options.only)
    if options.cliffs:
        import cliffs

        return cliffs.run(options.quick, options.only)

    cpu = cpu_model()
    loops = floors.Floors(floors.build(ROOT / "build/bench", cpu))
    versions = {"python": platform.python_version(), **contenders.versions()}
    print(f"{cpu}\n" + ", ".join(f"{name} {version}" for name, version in versions.items()) + "\n")
    print_line(HEADER)

    bench = Bench(loops, 0.75 if options.quick else 3)
    lines = []
    if re.search(options.only, CallCost.name):
        lines.append(CallCost(options.build / "bench/call_cost", 2 if options.quick else 8).line())
        print_line(cells(lines[-1]))
    if re.search(options.only, PluginCost.name):
        lines.append(PluginCost(options.build, 2 if options.quick else 5).line())
        print_line(cells(lines[-1]))
    for row in ROWS:
        if re.search(options.only, row.name):
            lines.append(table_line(row, *bench.run(row)))
            print_line(cells(lines[-1]))

    failed = [line["work"] for line in lines if line.get("passed") is False]
    print(f"\n{len(failed)} of {len(lines)} miss their bar" + (": " + "; ".join(failed) if failed else ""))
    if options.json:
        options.json.write_text(json.dumps({"cpu": cpu, "versions": versions, "rows": lines}, indent=1))
    return any(line.get("wrong") for line in lines)


if __name__ == "__main__":
    sys.exit(main())

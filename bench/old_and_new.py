"""Whether a change made anything slower: the rows of run.py, copies.py and convert.py for two builds, in turns.

    python bench/old_and_new.py OLD_TREE [NEW_TREE] [--only PATTERN] [--rounds N] [--levels native,avx2] [--json FILE]

A tree is a checkout with a finished build (`<tree>/python` can be imported); NEW_TREE is this one unless given. What is
measured, and how, is in this tree's bench/ for both. Each build has a process of its own, which lives as long as an
instruction set is measured; in each round the old one takes its samples of a row, then the new one, and the best of all
rounds counts. Rows that seem slower are measured once more before anything is said. Printed: new / old, worst first.
"""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SLOWER = 1.05  # measured once more; marked if it stays


def cases():
    """(name, make) of everything that is measured; make() gives the contender of run.py. For a worker: imports dynd."""
    import contenders
    import convert
    import copies
    from rows import ROWS
    from run import expression_contender

    nd = contenders.nd

    def row_case(row, threads):
        expression = f"({row.expression}).eval()" if row.lazy else row.expression
        return expression_contender(row.name, expression, contenders.bind_ours(row.operands()), threads)

    def assign_case(arrays, mode, axes=None):
        values, result = arrays
        names = {"assign": nd.assign, "to": nd.asarray(result), "source": nd.asarray(values.transpose(axes))}
        return expression_contender("assign", f"assign(to, source, '{mode}')", names)

    for row in ROWS:
        yield row.name, lambda row=row: row_case(row, 1)
        if row.base == "one thread":
            yield f"{row.name}, both", lambda row=row: row_case(row, 2)
    for label, (count, *_) in copies.SIZES.items():
        for pair in copies.PAIRS:
            source, to = pair.split()
            arrays = (copies.contiguous_arrays, source, to, count)
            yield f"copies: {source} to {to}, {label}", lambda a=arrays: assign_case(a[0](*a[1:]), "nocheck")
    for dtype, shape, axes, _ in copies.PERMUTED:
        arrays = (copies.permuted_arrays, dtype, shape, axes)
        yield f"copies: {dtype} {shape} by {axes}", lambda a=arrays: assign_case(a[0](*a[1:]), "fractional", a[3])
    for label, (count, *_) in convert.SIZES.items():
        for pair in convert.PAIRS:
            for mode in convert.MODES:
                source, to = pair.split()
                arrays = (copies.contiguous_arrays, source, to, count)
                yield (f"convert: {source} to {to}, {mode}, {label}",
                       lambda a=arrays, mode=mode: assign_case(a[0](*a[1:]), mode))  # fmt: skip


def work():
    """A worker: reads requests from its parent, one a line, and answers each with a line of JSON."""
    import dynd

    made = dict(cases())
    mapped = re.findall(r"\S+/libdynd\.so\S*", pathlib.Path("/proc/self/maps").read_text())
    print(json.dumps({"files": sorted({dynd.__file__, *mapped}), "cases": list(made)}), flush=True)
    contender = None
    for line in sys.stdin:
        request, _, name = line.rstrip("\n").partition(" ")
        if request == "make":
            contender = None  # the memory of the one before goes first
            try:
                contender = made[name]()
                contender.calibrate()
            except Exception:  # this build does not have it
                print(json.dumps(None), flush=True)
                continue
        contender.samples.clear()
        contender.sample()
        print(json.dumps(min(contender.samples)), flush=True)


class Worker:
    """The process that measures one build."""

    def __init__(self, tree, level):
        environment = {**os.environ, "PYTHONPATH": str(tree / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        if level != "native":
            environment["DYND_CPU_LEVEL"] = level
        self.process = subprocess.Popen([sys.executable, __file__, "--worker"], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        hello = self.answer()
        self.cases = hello["cases"]
        for file in hello["files"]:
            if not pathlib.Path(file).resolve().is_relative_to(tree):
                raise SystemExit(f"{file} was loaded instead of the build in {tree}")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a worker ended; what it said is above")
        return json.loads(line)

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(workers, name, rounds):
    """The best times of a case, for each worker; None where a build does not have it."""
    best = [worker.ask(f"make {name}") for worker in workers]
    if None in best:
        return None
    for _ in range(rounds):
        best = [min(time, worker.ask("sample")) for time, worker in zip(best, workers)]
    return best


def compare(trees, level, options):
    """{case: [old, new]} in seconds for one instruction set."""
    workers = [Worker(tree, level) for tree in trees]
    names = [name for name in workers[0].cases if re.search(options.only, name)]
    times = {}
    for i, name in enumerate(names):
        if sys.stderr.isatty():
            print(f"\r{level}: {i + 1} of {len(names)}", end="", file=sys.stderr, flush=True)
        times[name] = measure(workers, name, options.rounds)
        if not times[name]:
            print(f"{level}: one of the builds does not have: {name}", file=sys.stderr)
            del times[name]
        elif times[name][1] > SLOWER * times[name][0]:
            again = measure(workers, name, 2 * options.rounds)
            times[name] = [min(pair) for pair in zip(times[name], again)]
    print(file=sys.stderr)
    for worker in workers:
        worker.close()
    return times


def run_program(tree, program, *arguments):
    """The figures that one of the C++ programs prints, {name: figure}."""
    command = [tree / "build/release/bench" / program, *(tree / "build/release" / a for a in arguments)]
    # a build that was moved or copied must not find the library of the tree it came from
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tree / "build/release")}
    text = subprocess.check_output(command, text=True, env=environment)
    try:
        return json.loads(text)
    except ValueError:
        return dict(re.findall(r"([\w:, -]+?) ([\d.]+) ns", text))


def compare_programs(trees, options):
    """The same for the programs that both trees have built."""
    times = {}
    for program, *arguments in [("call_cost",), ("assign_cost",), ("plugin_cost", "examples/plugin_triple.so")]:
        files = [tree / "build/release" / f for tree in trees for f in [f"bench/{program}", *arguments]]
        if not re.search(options.only, program) or not all(file.exists() for file in files):
            print(f"{program}: not built in both trees, or not asked for", file=sys.stderr)
            continue
        try:
            for _ in range(options.rounds):
                for i, tree in enumerate(trees):
                    for name, figure in run_program(tree, program, *arguments).items():
                        best = times.setdefault(f"{program}: {name.strip()}", [math.inf, math.inf])
                        best[i] = min(best[i], float(figure))
        except subprocess.CalledProcessError as error:
            print(f"{program}: {error}", file=sys.stderr)
    return times


def report(title, times, unit=1e6, unit_name="us"):
    ratios = {name: new / old for name, (old, new) in times.items() if 0 < old < math.inf and 0 < new < math.inf}
    if not ratios:
        return
    middle = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slower = sum(ratio > SLOWER for ratio in ratios.values())
    print(f"\n{title}: {len(ratios)} rows, new / old {middle:.3f} in the geometric mean, {slower} above {SLOWER}")
    for name, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        old, new = times[name]
        mark = "SLOWER" if ratio > SLOWER else ""
        print(f"{ratio:8.3f}  {mark:7}{new * unit:12.3f} {unit_name} {old * unit:12.3f} {unit_name}  {name}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=pathlib.Path, help="a tree with the build to compare with")
    parser.add_argument("new", type=pathlib.Path, nargs="?", default=HERE.parent)
    parser.add_argument("--only", default="", help="cases whose name contains this (a regular expression)")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--levels", default="native,avx2", help="values of DYND_CPU_LEVEL; native: what the CPU has")
    parser.add_argument("--json", type=pathlib.Path, help="also write the times, in seconds")
    options = parser.parse_args()
    trees = [options.old.resolve(), options.new.resolve()]
    everything = {}
    for level in options.levels.split(","):
        everything[level] = compare(trees, level, options)
        report(level, everything[level])
    everything["programs"] = compare_programs(trees, options)
    report("C++ programs, as they print it", everything["programs"], 1, "")
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--worker"] else main()

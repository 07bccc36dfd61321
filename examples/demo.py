"""What this library is for, in under a minute: `make demo`.

Everything after a >>> is executed as it is shown, and what stands below it is what came out.
"""

import ast
import math
import os
import platform
import re
import sys
import textwrap
import time

import numpy as np

from dynd import nd

try:
    import awkward as ak
except ImportError:
    ak = None

WIDTH = 96
TRIPS = 1_000_000
LEGS_A_TRIP = 8  # on average
LOOPED_TRIPS = TRIPS // 20  # the Python loop gets these, and its time is multiplied
COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ

FORMULA = """
def metres_over(east, north, seconds, limit):
    length = nd.sqrt(nd.square(east) + nd.square(north))
    return nd.maximum(length - limit[:, None] * seconds, 0.0)
"""


# ---- how it is shown


def paint(text, code):
    return f"\033[{code}m{text}\033[0m" if COLOURED else text


def section(title):
    print(paint(title, "1;36"))
    print(paint("-" * WIDTH, "36"))


def say(text):
    print(textwrap.fill(" ".join(text.split()), WIDTH) + "\n")


def fill(line, inside):
    """A long line goes on below, further in; never inside `[:, None]` or a step like `r7=add(r5, r6) float64`."""
    tied = re.sub(r"\[:, None\]|\(r[^)]*\) \w+;?", lambda match: match[0].replace(" ", "\xa0"), line)
    return textwrap.fill(tied, WIDTH, subsequent_indent=inside).replace("\xa0", " ")


def show_value(value):
    for line in repr(value).splitlines():
        start = len(line) - len(line.lstrip())
        print(line if len(line) <= WIDTH else fill(line, " " * (start + 4)))


def session(source, names):
    """Runs statements one after another, shown as in an interactive session."""
    source = source.strip()
    lines = source.splitlines()
    for node in ast.parse(source).body:
        text = lines[node.lineno - 1 : node.end_lineno]
        for number, line in enumerate(text):
            print(paint("... " if number else ">>> ", "32") + paint(line, "1"))
        code = "\n".join(text)
        try:
            if isinstance(node, ast.Expr):
                value = eval(code, names)
                if value is not None:
                    show_value(value)
            else:
                exec(code, names)
        except (ValueError, IndexError, TypeError) as error:
            print(paint(fill(f"{type(error).__name__}: {error}", "    "), "31"))
    print()


# ---- small: what it does


def show_ragged(names):
    section("1. Arrays whose rows have different lengths")
    say("""Three car trips. A trip is a list of legs between two GPS points: metres to the east, metres to the north,
        and seconds. Each trip has its own number of legs, and one speed limit in metres per second.""")
    session(
        """
east = nd.array([[30, 120], [12, 50, 0], [8]])
north = nd.array([[40, 50], [5, 0, 25], [6]])
seconds = nd.array([[5, 5], [1, 5, 5], [2]])
limit = nd.array([10.0, 10.0, 20.0])
east
length = nd.sqrt(nd.square(east) + nd.square(north))
length
length.max(axis=1)
""",
        names,
    )
    say("""By how many metres is each leg longer than the limit allows? `limit[:, None]` is one value for each trip: it
        stretches over a row of any length. Integers and floats mix, strided and ragged dimensions too.""")
    session(
        """
over = nd.maximum(length - limit[:, None] * seconds, 0.0)
over
over.sum(axis=1)
""",
        names,
    )


def show_errors(names):
    section("2. When it does not fit, the error says where and why")
    say("Without [:, None] the three limits line up with the legs inside a trip, as in NumPy. That cannot work:")
    session(
        """
length - limit
length + nd.array([[1], [2, 3], [4]])
length[1, 7]
nd.array([[1, 2], [], [3]]).max(axis=1)
""",
        names,
    )


def show_trace(names):
    section("3. How it works: a kernel is a small tree, one level for each dimension")
    say("""Every computation ends as a kernel that assigns to an array: the outer level walks the rows, the next one the
        elements of a row, a leaf does the work. `nd.trace` runs it one element at a time and lists every call. Here
        ragged rows are assigned to a matrix, and the row [4] stretches:""")
    session(
        """
a = nd.array([[5, 6, 7], [8, 9, 10]], access="rw")
b = nd.array([[1, 2, 3], [4]])
nd.trace(nd.assign, a, b)
a
""",
        names,
    )


# ---- large: what it costs


class Trips:
    """Random trips as flat NumPy arrays, and as each library wants them."""

    def __init__(self, count, legs):
        rng = np.random.default_rng(2014)
        self.count = count
        self.lengths = rng.poisson(legs, count)
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        self.legs = int(self.offsets[-1])
        self.east = rng.normal(0, 60, self.legs)
        self.north = rng.normal(0, 60, self.legs)
        self.seconds = rng.integers(1, 11, self.legs, dtype=np.int32)
        self.limit = rng.choice([8.0, 14.0, 22.0, 36.0], count)

    def columns(self):
        return self.east, self.north, self.seconds

    def ours(self):
        """Copies in memory that nobody else can write, so that operations may wait; one array of offsets for all."""
        offsets = nd.array(self.offsets)
        return [nd.from_offsets(offsets, nd.array(x)) for x in self.columns()] + [nd.array(self.limit)]

    def awkward(self):
        offsets = ak.index.Index64(self.offsets)
        rows = [ak.Array(ak.contents.ListOffsetArray(offsets, ak.contents.NumpyArray(x))) for x in self.columns()]
        return rows + [ak.Array(self.limit)]

    def lists(self, count):
        bounds = list(zip(self.offsets[:count].tolist(), self.offsets[1 : count + 1].tolist()))
        return [[x[i:j].tolist() for i, j in bounds] for x in self.columns()] + [self.limit[:count].tolist()]


def awkward_way(east, north, seconds, limit):
    length = np.sqrt(np.square(east) + np.square(north))
    return ak.sum(np.maximum(length - limit[:, None] * seconds, 0.0), axis=1)


def flat_numpy_way(trips, trip_of_leg):
    """What people do without ragged arrays: flat columns, and for each leg the number of its trip."""
    length = np.sqrt(np.square(trips.east) + np.square(trips.north))
    over = np.maximum(length - np.repeat(trips.limit, trips.lengths) * trips.seconds, 0.0)
    return np.bincount(trip_of_leg, over, trips.count)


def loop_way(east, north, seconds, limit):
    totals = []
    for xs, ys, ts, most in zip(east, north, seconds, limit):
        total = 0.0
        for x, y, t in zip(xs, ys, ts):
            total += max(math.sqrt(x * x + y * y) - most * t, 0.0)
        totals.append(total)
    return totals


def best_time(function, seconds=1.5, least=3):
    """Seconds of the fastest run, and the result; runs at least a few times, and until the time is up."""
    best, runs, end = math.inf, 0, time.perf_counter() + seconds
    while runs < least or time.perf_counter() < end:
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
        runs += 1
    return best, result


def show_kernel(trips, names):
    section(f"4. The same formula on {trips.count:,} trips: nothing happens until somebody looks")
    say("""Operations on large immutable arrays wait. The sum wants values, so all of it runs now, in one pass over
        memory. `nd.explain` shows what was built: a kernel, its size in bytes, where each level stands in it, and the
        chain of operations that a block of elements goes through while it is in the L1 cache.""")
    names["trips"] = trips
    session(
        FORMULA
        + """
east, north, seconds, limit = trips.ours()
waiting = [metres_over(east, north, seconds, limit)]
nd.explain(lambda: waiting.pop().sum(axis=1))
""",
        names,
    )
    say("""r0, r1, ... are blocks: first those of the arrays that are read ("from"), then one for each step. The seconds
        are converted and the limits repeated over their rows (stride 0) block by block: no array in between is made.
        """)


def measure(trips, names):
    """[(name, seconds, remark)], and the largest relative difference between the results."""
    ours, metres_over = trips.ours(), names["metres_over"]
    times, results = [], []
    for threads in sorted({1, min(2, os.cpu_count() or 1)}):
        nd.set_num_threads(threads)
        seconds, result = best_time(lambda: metres_over(*ours).sum(axis=1))
        times.append((f"DyND, {threads} thread{'s' * (threads > 1)}", seconds, ""))
        results.append(np.asarray(result))
    assert all(result.tobytes() == results[0].tobytes() for result in results), "the bits depend on the threads"
    trip_of_leg = np.repeat(np.arange(trips.count), trips.lengths)
    seconds, result = best_time(lambda: flat_numpy_way(trips, trip_of_leg))
    times.append(("NumPy, flat tricks", seconds, ""))
    results.append(result)
    if ak:
        rows = trips.awkward()
        seconds, result = best_time(lambda: awkward_way(*rows))
        times.append(("Awkward Array", seconds, ""))
        results.append(np.asarray(result))
    lists = trips.lists(LOOPED_TRIPS)
    seconds, result = best_time(lambda: loop_way(*lists), 0, 2)
    scale = trips.count // LOOPED_TRIPS
    times.append(("Python loop", seconds * scale, f"on {LOOPED_TRIPS:,} trips, times {scale}"))
    results.append(np.array(result))
    return times, largest_difference(results)


def largest_difference(results):
    worst = 0.0
    for other in results[1:]:
        mine = results[0][: len(other)]  # the loop computed only the first trips
        worst = max(worst, np.max(np.abs(mine - other) / np.maximum(np.abs(mine), 1.0)))
    return worst


def show_times(trips, names):
    section("5. Its time beside others")
    say(f"""metres_over(east, north, seconds, limit).sum(axis=1) over {trips.legs:,} legs, each library with its arrays
        ready. Best of a few runs, with whatever else this machine is doing; `make bench` measures with more care.
        Python {platform.python_version()}, NumPy {np.__version__}{f", Awkward Array {ak.__version__}" if ak else ""}.""")
    times, difference = measure(trips, names)
    longest = 24
    scale = longest / max(seconds for name, seconds, _ in times if name != "Python loop")
    for name, seconds, remark in times:
        hashes = round(seconds * scale)
        bar = "#" * max(hashes, 1) if hashes <= longest else "#" * longest + "..."
        line = f"  {name:18} {seconds * 1e3:8.1f} ms {seconds / times[0][1]:7.1f} x   {bar}"
        print(paint(line, "1;32" if name.startswith("DyND") else "0") + (f"  {remark}" if remark else ""))
    if not ak:
        print("  Awkward Array is not installed here: .venv/bin/pip install awkward")
    print()
    if difference > 1e-12:
        sys.exit(f"the results differ by {difference:.1e}")
    say(f"""All results agree: the largest relative difference is {difference:.0e}, because each library adds up a row in
        its own order. Ours is fixed: the bits are the same for any number of threads.""")


def main():
    names = {"nd": nd}
    print(paint("DyND", "1;36") + ": array expressions over strided and ragged arrays, in one pass over memory\n")
    show_ragged(names)
    show_errors(names)
    show_trace(names)
    trips = Trips(TRIPS, LEGS_A_TRIP)
    show_kernel(trips, names)
    show_times(trips, names)
    say("Next: README.md (one screen of use), ARCHITECTURE.md (how it is made), help(nd.add), nd.operations().")


if __name__ == "__main__":
    main()

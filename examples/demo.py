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
    say("""`nd.explain` shows the kernel that is really built for it: a block of memory, one level behind the other. The
        outer level finds each row, and the leaf gets a whole row in one call:""")
    session("nd.explain(nd.assign, a, b)", names)


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
        """Copies in memory that no other owner writes, so that operations may be lazy; one array of offsets for all."""
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


class Contender:
    """A way to compute it: the time of its fastest run, multiplied where it computes only a part, and its result."""

    def __init__(self, name, function, runs_a_round=1, scale=1, remark=""):
        self.name, self.function, self.remark = name, function, remark
        self.runs_a_round, self.scale = runs_a_round, scale
        self.seconds, self.result = math.inf, None

    def run(self):
        for _ in range(self.runs_a_round):
            start = time.perf_counter()
            self.result = self.function()
            self.seconds = min(self.seconds, (time.perf_counter() - start) * self.scale)


def take_turns(contenders, seconds, least):
    """Rounds in which each has its turn, so that what else the machine does hits all of them alike."""
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < least or time.perf_counter() < end:
        for contender in contenders:
            contender.run()
        rounds += 1


def show_kernel(trips, names):
    section(f"4. The same formula on {trips.count:,} trips: nothing happens until values are needed")
    say("""Operations on large immutable arrays are lazy. The sum needs values, so all of it runs now, in one pass over
        memory. The kernel that was built for it ends in a chain of operations, and each batch of elements goes through
        all of them while it is in the L1 cache:""")
    names["trips"] = trips
    session(
        FORMULA
        + """
east, north, seconds, limit = trips.ours()
lazy = [metres_over(east, north, seconds, limit)]
nd.explain(lambda: lazy.pop().sum(axis=1))
""",
        names,
    )
    say("""r0, r1, ... are blocks: first those of the arrays that are read ("from"), then one for each step. The seconds
        are converted and the limits repeated over their rows (stride 0) block by block: no array in between is made.
        """)


def contenders_for(trips, metres_over):
    ours = trips.ours()

    def our_way(threads):
        nd.set_num_threads(threads)
        return metres_over(*ours).sum(axis=1)

    for threads in sorted({1, min(2, os.cpu_count() or 1)}):
        name = f"DyND, {threads} thread{'s' * (threads > 1)}"
        yield Contender(name, lambda threads=threads: our_way(threads), runs_a_round=4)
    trip_of_leg = np.repeat(np.arange(trips.count), trips.lengths)
    yield Contender("NumPy, flat tricks", lambda: flat_numpy_way(trips, trip_of_leg))
    if ak:
        rows = trips.awkward()
        yield Contender("Awkward Array", lambda: awkward_way(*rows))
    lists, scale = trips.lists(LOOPED_TRIPS), trips.count // LOOPED_TRIPS
    remark = f"on {LOOPED_TRIPS:,} trips, times {scale}"
    yield Contender("Python loop", lambda: loop_way(*lists), scale=scale, remark=remark)


def largest_difference(contenders):
    """Between the first result and the others, relative; the loop has only the first trips."""
    first, *others = [np.asarray(contender.result) for contender in contenders]
    return max(np.max(np.abs(first[: len(x)] - x) / np.maximum(np.abs(x), 1.0)) for x in others)


def show_times(trips, names):
    section("5. Its time beside others")
    awkward = f", Awkward Array {ak.__version__}" if ak else ""
    say(f"""metres_over(east, north, seconds, limit).sum(axis=1) over {trips.legs:,} legs, each library with its arrays
        ready. Best of a few runs, with whatever else this machine is doing; `make bench` measures with more care.
        Python {platform.python_version()}, NumPy {np.__version__}{awkward}.""")
    contenders = list(contenders_for(trips, names["metres_over"]))
    take_turns(contenders, seconds=6, least=3)
    longest = 24
    scale = longest / max(contender.seconds for contender in contenders if contender.name != "Python loop")
    for contender in contenders:
        hashes = round(contender.seconds * scale)
        bar = "#" * max(hashes, 1) if hashes <= longest else "#" * longest + "..."
        ratio = contender.seconds / contenders[0].seconds
        line = f"  {contender.name:18} {contender.seconds * 1e3:8.1f} ms {ratio:7.1f} x   {bar}"
        print((paint(line, "1;32") if contender.name.startswith("DyND") else line) + f"  {contender.remark}".rstrip())
    if not ak:
        print("  Awkward Array is not installed here: .venv/bin/pip install awkward")
    print()
    difference = largest_difference(contenders)
    if difference > 1e-12:
        sys.exit(f"the results differ by {difference:.1e}")
    if len({np.asarray(x.result).tobytes() for x in contenders if x.name.startswith("DyND")}) > 1:
        sys.exit("the bits depend on the number of threads")
    say(f"""All results agree: the largest relative difference is {difference:.0e}, because each library adds up a row
        in its own order. Ours is fixed: the bits are the same for any number of threads.""")


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

"""Every evaluation that runs for long stops at Ctrl-C, and lets other Python threads run meanwhile, whatever its elements.

Tasks come from a table, so that an engine beside the engine would be seen: missing values, structs, text, selections,
order and groups.
"""

import functools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

import plugin_support
from dynd import nd
from test_interrupt import another_thread, interrupted_after

pytestmark = pytest.mark.alone  # signals, and how soon they are seen
ROW = 1 << 18
MANY = 2000  #: how often a row is seen
RECORD = np.dtype([("x", "i4"), ("y", "f8"), ("z", "u1")])


@pytest.fixture(autouse=True)
def listens():
    """A shell starts its background jobs with Ctrl-C ignored, and then Python leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    nd.set_num_threads(1)


# ---- tasks that run for a second or more on one thread. Each: a function of nothing that makes the call


def seen_often(row, times=MANY):
    return nd.asarray(np.lib.stride_tricks.as_strided(row, (times, len(row)), (0, row.strides[0])))


@functools.lru_cache(None)
def long_texts():
    """Texts that differ only at their ends, one of them for each row and each column of a large plane."""
    words = ["x" * 1000 + str(i) for i in range(12_000)]
    return nd.array(words), nd.array([[word] for word in words])


def struct_assignment():
    source = seen_often(np.zeros(ROW, RECORD))
    target = seen_often(np.ones(ROW, [("z", "i8"), ("y", "f4"), ("x", "i8")]))
    return lambda: nd.assign(target, source)


def struct_comparison():
    rows = seen_often(np.zeros(ROW, RECORD))
    return lambda: rows <= rows


def byteswapped_comparison():
    rows, swapped = seen_often(np.zeros(ROW, RECORD)), seen_often(np.zeros(ROW, RECORD.newbyteorder()))
    return lambda: rows == swapped


def text_comparison():
    row, column = long_texts()
    return lambda: row < column


def text_assignment():
    row, _ = long_texts()
    target = nd.empty("200 * 12000 * string")
    return lambda: nd.assign(target, row)


def text_to_numbers():
    texts = nd.array(["1234567.25"] * 1_000_000)
    stretched = nd.empty("30 * 1000000 * float64")
    return lambda: nd.assign(stretched, texts)


def missing_assignment():
    source = nd.array(np.ones(ROW)).astype("?float64")
    target = seen_often(np.zeros(ROW), 10 * MANY)
    return lambda: nd.assign(target, source)


def rows_without_memory():
    source = nd.from_offsets(np.arange(4_000_001), np.zeros(4_000_000, "int32"))
    return lambda: [nd.assign(nd.empty("4000000 * var * int32"), source) for _ in range(8)]


def rows_that_stretch():
    ones = nd.from_offsets(np.arange(4_000_001), np.zeros(4_000_000, "int32"))
    pairs = nd.from_offsets(np.arange(0, 8_000_001, 2), np.zeros(8_000_000, "int32"))
    return lambda: [ones + pairs for _ in range(8)]


def rows_that_are_measured():
    """One call that does nothing else for most of a second: a row that is repeated, and no memory for the others."""
    pair, numbers = nd.from_offsets([0, 2], [1.0, 2.0]), np.broadcast_to(0.0, (150_000_000, 1))
    return lambda: nd.where(np.array([True, False]), pair, numbers)


@functools.lru_cache(None)
def large_option():
    return nd.array(np.full(1 << 25, 2.0)).astype("?float64").eval()


def missing_chain():
    a = large_option()
    for _ in range(28):
        a = nd.sqrt(a)
    return a.eval


def missing_reduction():
    a = large_option()
    for _ in range(28):
        a = nd.sqrt(a)
    return lambda: a.sum()


def division_of_missing_values():
    column = nd.array(np.full((14_000, 1), 7)).astype("?int64")
    row = nd.array(np.full(14_000, 2)).astype("?int64")
    return lambda: column // row


@functools.lru_cache(None)
def large_index():
    return nd.array(np.random.default_rng(8).integers(0, 1 << 20, 1 << 25))


def selection_of_numbers():
    values, index = nd.array(np.arange(float(1 << 20))), large_index()
    return lambda: [values[index] for _ in range(8)]


def selection_of_texts():
    texts, index = nd.array([str(i) for i in range(1 << 20)]), large_index()
    return lambda: [texts[index[: 1 << 23]] for _ in range(8)]


def sort_of_one_row():
    values = large_index()
    return lambda: [nd.sort(values) for _ in range(8)]


def positions_of_one_row():
    values = large_index()
    return lambda: [nd.argsort(values) for _ in range(8)]


def medians_of_rows():
    rows = nd.unflatten(large_index(), 1 << 10)
    return lambda: [nd.median(rows, axis=1) for _ in range(8)]


def groups_of_sparse_keys():
    rng = np.random.default_rng(8)
    keys, values = nd.array(rng.integers(0, 1 << 60, 1 << 24)), nd.array(rng.random(1 << 24))
    return lambda: [nd.groupby(values, by=keys).sum() for _ in range(4)]


def groups_of_texts():
    texts, values = nd.array([str(i) for i in range(1 << 19)]), nd.array(np.ones(1 << 23))
    keys = texts[large_index()[: 1 << 23] % (1 << 19)].eval()
    return lambda: [nd.groupby(values, by=keys).sum() for _ in range(4)]


def join_of_large_lists():
    left = nd.zip({"k": large_index(), "x": large_index()})
    right = nd.zip({"k": nd.arange(1 << 20), "y": nd.arange(1 << 20)})
    return lambda: [nd.join(left, right, "k") for _ in range(4)]


@functools.lru_cache(None)
def long_row():
    return nd.array(np.ones(1 << 26))


def fold_of_one_row():
    minus, row = nd.from_c("double fdim(double, double)", "libm.so.6"), long_row()
    return lambda: nd.reduce(minus, row)


SLOW_SUM = """
static void begin(void *state) { *(double *)state = 0; }
static int add(void *state, const char *const *values, const intptr_t *stride, size_t count, dynd_frame *frame) {
  for (volatile size_t i = 0; i < 20 * count; i++) {}
  *(double *)state += (double)count;
  return dynd_ok;
}
static int join(void *state, const void *later, dynd_frame *frame) { *(double *)state += *(const double *)later; return dynd_ok; }
static int end(void *state, char *to, dynd_frame *frame) { *(double *)to = *(double *)state; return dynd_ok; }
static dynd_reduction reduction = {sizeof(dynd_reduction), DYND_ABI_VERSION, sizeof(double), begin, add, join, end};
int dynd_plugin_init(const dynd_host *host) {
  kernel = kernel_named("slow_sum"); kernel.signature = "(N * float64) -> float64";
  kernel.prototype = reduction_funcproto_id; kernel.data_ptr = &reduction; kernel.instantiate = NULL;
  return host->register_kernel(host, &kernel);
}
"""


@functools.lru_cache(None)
def slow_sum():
    with tempfile.TemporaryDirectory() as folder:
        nd.load(plugin_support.build(pathlib.Path(folder), "slow_sum", SLOW_SUM))
    return nd.slow_sum


def reduction_of_one_row():
    row, reduction = long_row(), slow_sum()
    return lambda: reduction(row)


@functools.lru_cache(None)
def large_row_of_texts():
    return nd.array([str(i) for i in range(1 << 20)])[large_index()[: 1 << 23] % (1 << 20)].eval()


def first_of_one_row():
    row = large_row_of_texts()
    return lambda: [nd.top_k(row, k) for k in (1 << 22, 100_000, 1000)]


def fill_of_memory():
    return lambda: [nd.full(1 << 27, 1.5, access="rw") for _ in range(8)]


TASKS = [
    fold_of_one_row,
    reduction_of_one_row,
    first_of_one_row,
    fill_of_memory,
    sort_of_one_row,
    positions_of_one_row,
    medians_of_rows,
    groups_of_sparse_keys,
    groups_of_texts,
    join_of_large_lists,
    selection_of_numbers,
    selection_of_texts,
    struct_assignment,
    struct_comparison,
    byteswapped_comparison,
    text_comparison,
    text_assignment,
    text_to_numbers,
    missing_assignment,
    rows_without_memory,
    rows_that_stretch,
    rows_that_are_measured,
    missing_chain,
    missing_reduction,
    division_of_missing_values,
]


def longest_wait(call):
    """How long another thread, which wants to run every 2 ms, waits at most while the call runs."""
    with another_thread(every=0.002) as ticks:
        call()
    return max(np.diff(ticks))


def test_a_join_of_few_rows_with_many_lets_others_run():
    """The work of its parts is that of both sides: as few as the left side has, it was one piece."""
    keys = np.random.default_rng(3).permutation(1 << 23) << 36
    right = nd.zip({"k": nd.array(keys), "y": nd.arange(1 << 23)})
    left = nd.zip({"k": nd.array(keys[:10]), "x": nd.arange(10)})
    assert min(longest_wait(lambda: nd.join(left, right, "k")) for _ in range(3)) < 0.08
    assert nd.join(left, right, "k").y.tolist() == list(range(10))


def test_rows_without_elements_let_others_run():
    """They are work, too: forty million sums of nothing."""
    empty = nd.from_offsets(np.zeros(40_000_001, int), nd.array(np.ones(1)))
    assert min(longest_wait(lambda: nd.sum(empty, axis=1)) for _ in range(3)) < 0.08


# ---- Ctrl-C ------------------------------------------------------------------------------------------------------------


def interrupted(call, after=0.04):
    """How long the call went on after Ctrl-C. An error of its own must not leave the signal to the next test."""
    early = []

    def run():
        try:
            call()
        except Exception as error:
            early.append(error)
            time.sleep(10)

    late, raised = interrupted_after(after, run)
    assert not early, early
    assert type(raised) is KeyboardInterrupt
    return late


@pytest.mark.parametrize("task", TASKS)
def test_ctrl_c_stops_it(threads, task):
    """Within about 0.2 s, in one of three attempts: the machine may be busy with something else."""
    lates = []
    for _ in range(3):
        lates.append(interrupted(task()))
        if lates[-1] < 0.25:
            break
    assert min(lates) < 0.25, lates
    assert (nd.array([1, None]) + 1).tolist() == [2, None], "everything works afterwards"


@pytest.mark.parametrize("task", TASKS)
def test_other_python_threads_run_meanwhile(task):
    """Another thread counts while the evaluation runs; it is stopped as soon as that has been seen."""
    call, ticks, done = task(), [], threading.Event()
    started = threading.Event()

    def tick():
        started.set()
        while not done.wait(0.002):
            ticks.append(time.perf_counter())
            if len(inside()) >= 10:
                os.kill(os.getpid(), signal.SIGINT)
                return

    def inside():
        return [at for at in ticks if at > start[0] + 0.01]

    start, finished = [time.perf_counter() + 1000], None
    thread = threading.Thread(target=tick)
    thread.start()
    started.wait()
    try:
        start[0] = time.perf_counter()
        call()
        finished = time.perf_counter()
        done.set()
        thread.join()
    except KeyboardInterrupt:
        pass
    done.set()
    thread.join()
    seen = [at for at in inside() if finished is None or at < finished]
    assert len(seen) >= 10, "Python's lock was held"


def test_elements_are_old_or_new_after_an_interruption(threads):
    target = np.zeros(ROW, [("z", "i8"), ("y", "f4"), ("x", "i8")])
    source = np.zeros(ROW, RECORD)
    source[...] = (1, 1.0, 1)
    wide = nd.asarray(np.lib.stride_tricks.as_strided(target, (MANY, ROW), (0, target.strides[0])))
    interrupted(lambda: nd.assign(wide, seen_often(source)))
    assert set(np.unique(target).tolist()) <= {(0, 0.0, 0), (1, 1.0, 1)}


@pytest.mark.parametrize("repeats", [False, True])
def test_selected_structs_are_old_or_new_after_an_interruption(threads, repeats):
    """All parts of an element are written before anyone asks whether to stop."""
    count = 1 << 25
    target = nd.array(np.zeros(count, RECORD), access="rw")
    key = large_index() if repeats else nd.array(np.ones(count, bool))

    def write():
        for value in range(1, 200):
            target[key] = (value, float(value), value)

    for after in (0.1, 0.25, 0.4):
        interrupted(write, after)
        x, y, z = (np.asarray(target[name]) for name in "xyz")
        assert (x == y).all() and (x == z).all()


def test_a_lazy_value_with_missing_ones_is_computed_later(threads):
    size = 1 << 24
    a = nd.where(nd.array(np.arange(size) % 2 == 0), 2.0, None)
    value = 2.0
    for _ in range(28):
        a, value = nd.sqrt(a), value**0.5
    interrupted(a.eval)
    assert a[:2].tolist() == [value, None] and a[size - 2 :].tolist() == [value, None]


def test_a_program_ends_as_python_programs_do():
    program = (
        "import numpy as np\n"
        "from dynd import nd\n"
        "record = np.zeros(1 << 18, 'i4,f8')\n"
        "rows = nd.asarray(np.broadcast_to(record, (20000, 1 << 18)))\n"
        "target = nd.asarray(np.lib.stride_tricks.as_strided(record.copy(), (20000, 1 << 18), (0, 12)))\n"
        "print('go', flush=True)\n"
        "nd.assign(target, rows)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "go\n"
    time.sleep(0.1)
    sent = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors and process.returncode != 0
    assert time.perf_counter() - sent < 2

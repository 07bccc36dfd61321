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


# ---- steps that are no kernels, or kernels over one long row: a handler that is due every 10 ms


def longest_silence(call):
    """The longest time of this thread between two runs of a signal handler that is due every 10 ms."""
    ran = []
    before = signal.signal(signal.SIGALRM, lambda *_: ran.append(time.thread_time()))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        ran.append(time.thread_time())
        call()
        ran.append(time.thread_time())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return max(np.diff(ran))


@functools.lru_cache(None)
def short_rows(count=10_000_000):
    return nd.from_offsets(np.arange(count + 1) * 5, nd.array(np.ones(5 * count, "float32"))).eval()


def assigned(key, target, value):
    target[key] = value


def a_trace():
    a = nd.array(np.ones(10_000_000))
    return lambda: nd.trace(nd.add, a, a)


def an_aligned_sum():
    return lambda: nd.sum(short_rows(4_000_000), axis=0, align="left")


def aligned_positions():
    return lambda: nd.argmax(short_rows(4_000_000), axis=0, align="left")


def running_values_with_the_first():
    return lambda: nd.cumulative_sum(short_rows(), axis=1, include_initial=True)


def places_that_may_repeat():
    target, index = nd.array(np.zeros(1 << 25), access="rw"), large_index()
    return lambda: assigned(index, target, 1.0)


def places_in_rows_in_another_order():
    offsets = np.arange(0, 6_000_001, 2)
    rows = nd.from_offsets(offsets, nd.array(np.zeros(6_000_000), access="rw"))[::-1]
    mask = nd.from_offsets(offsets, nd.array(np.ones(6_000_000, bool)))
    return lambda: assigned(mask, rows, 1.0)


def slices_of_rows_that_are_copied():
    return lambda: short_rows()[:, ::-1]


def slices_of_rows_that_are_views():
    rows = nd.from_offsets(np.arange(20_000_001), nd.array(np.ones(20_000_000), access="rw"))
    return lambda: rows[:, ::-1]


def offsets_of_another_owner():
    offsets, content = np.arange(50_000_001), nd.array(np.ones(50_000_000, bool))
    return lambda: nd.from_offsets(offsets, content)


def one_row_of_texts():
    texts, target = nd.repeat(nd.array(["0123456" * 20]), 3_000_000), nd.empty("1 * var * string")
    return lambda: nd.assign(target, texts)


def one_row_of_numbers_as_texts():
    numbers, target = nd.array(np.arange(4_000_000) * 1.1), nd.empty("1 * var * string")
    return lambda: nd.assign(target, numbers)


def one_row_of_texts_as_numbers():
    texts, target = nd.repeat(nd.array(["12345.0625"]), 5_000_000), nd.empty("1 * var * float64")
    return lambda: nd.assign(target, texts)


def a_product_by_blas():
    a = nd.array(np.ones((2500, 2500)))
    return lambda: nd.matmul(a, a)


def many_like(value, *shape):
    return nd.asarray(np.broadcast_to(np.array(value), shape))


def a_column_times_a_row_of_integers():
    row, column = many_like(2, 400_000_000), many_like(3, 400_000_000)
    return lambda: nd.matmul(row, column)


def a_row_times_a_matrix_of_integers():
    row, matrix = nd.array(np.arange(100_000)), many_like(3, 100_000, 4000)
    return lambda: nd.matmul(row, matrix)


def vectors_that_are_copied_for_blas():
    vector = many_like(np.float32(1.5), 60_000_000)
    return lambda: nd.matmul(vector, vector)


def products_of_integers():
    a = nd.array(np.ones((2, 800, 800), "int64"))
    return lambda: nd.matmul(a, a)


def histogram_of_two_rows():
    rows = many_like(0.5, 2, 40_000_000)
    return lambda: nd.histogram(rows, 10, range=(0.0, 1.0), axis=1)


def is_one_row_sorted():
    row = nd.array(np.zeros(40_000_000, "int8")).astype("?int8").eval()
    return lambda: nd.is_sorted(row)


def places_in_one_row():
    row = many_like(0, 150_000_000)
    return lambda: nd.local_index(row)


def few_elements_that_are_repeated():
    return lambda: nd.repeat(nd.array([1, 2, 3]), nd.array([1 << 26, 1, 1 << 25]))


def ranks_of_equal_elements():
    row = nd.array(np.zeros(20_000_000, "int8"))
    return lambda: nd.rank(row)


def one_element_many_times():
    return lambda: nd.repeat(nd.zeros(1, "int8"), 700_000_000)


def few_elements_as_tiles():
    return lambda: nd.tile(nd.array([1, 2, 3], type="int8"), 300_000_000)


def median_of_equal_elements():
    row = nd.array(np.ones(100_000_000, "float32"))
    return lambda: nd.median(row)


def order_of_equal_texts():
    texts = nd.repeat(nd.array(["abc"]), 8_000_000)
    return lambda: nd.sort(texts)


def structs_among_structs():
    row = nd.array(np.zeros(24_000_000, "i4,i4"))
    return lambda: nd.isin(row, row)


def many_small_arrays():
    arrays = [nd.array(["a"])] * 250_000
    return lambda: nd.concat(arrays)


def rows_without_elements():
    """Places of two rows that follow each other are one row, but equal ones are rows without elements between them."""
    x = nd.zeros((2, 1000), access="rw")
    places, column = nd.array(np.random.default_rng(0).integers(0, 1000, 20_000_000)), nd.ones((2, 1))
    return lambda: x.__setitem__((slice(None), places), column)


def one_number_to_many_places():
    x = nd.zeros((2, 4_000_000), access="rw")
    places = nd.array(np.random.default_rng(0).integers(0, 4_000_000, 60_000_000))
    return lambda: x.__setitem__((slice(None), places), 1.0)


SILENT = [
    rows_without_elements, one_number_to_many_places,
    one_element_many_times, few_elements_as_tiles, median_of_equal_elements, order_of_equal_texts,
    structs_among_structs, many_small_arrays, histogram_of_two_rows, is_one_row_sorted, places_in_one_row,
    few_elements_that_are_repeated, ranks_of_equal_elements, a_product_by_blas, a_column_times_a_row_of_integers,
    a_row_times_a_matrix_of_integers, vectors_that_are_copied_for_blas, products_of_integers, a_trace, an_aligned_sum,
    aligned_positions, running_values_with_the_first, places_that_may_repeat, places_in_rows_in_another_order,
    slices_of_rows_that_are_copied, slices_of_rows_that_are_views, offsets_of_another_owner, one_row_of_texts,
    one_row_of_numbers_as_texts, one_row_of_texts_as_numbers,
]  # fmt: skip


def check_that_handlers_run(task):
    """In one of three attempts: new memory takes its time, too."""
    silences = []
    for _ in range(3):
        silences.append(longest_silence(task()))
        if silences[-1] < 0.1:
            break
    assert min(silences) < 0.1, silences


@pytest.mark.parametrize("task", SILENT)
def test_a_handler_runs_in_every_step(task):
    check_that_handlers_run(task)


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

"""Ctrl-C stops an evaluation that runs for long: KeyboardInterrupt, nothing half-made, everything usable afterwards."""

import contextlib
import gc
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from dynd import nd

pytestmark = pytest.mark.alone  # signals, and how soon they are seen
SIZE = 1 << 22


@pytest.fixture(autouse=True)
def listens():
    """A shell starts its background jobs with Ctrl-C ignored, and then Python leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_after(seconds, call, number=signal.SIGINT):
    """Sends a signal to this process while call() runs; how long it went on after that, and what it raised.

    A call that is over before the signal came, on a fast machine, is made again with less time until then."""
    for shorter in (1, 4, 16):
        late, raised, ended = interrupted_once(seconds / shorter, call, number)
        if raised is None or not ended:
            return late, raised
    raise AssertionError("the call ended before the signal came: make it longer")


def interrupted_once(seconds, call, number):
    sent = []

    def send():
        time.sleep(seconds)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    raised, ended = None, False
    try:
        call()
        ended = True
        thread.join()
    except BaseException as error:  # KeyboardInterrupt is none of Exception
        raised = error
    end = time.perf_counter()
    thread.join()
    return end - sent[0], raised, ended


@contextlib.contextmanager
def another_thread(every):
    """Times at which another Python thread ran; it wants to every so many seconds."""
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(every):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield ticks
    finally:
        done.set()
        thread.join()


def late_by(seconds, call):
    """How long a call goes on after a signal that no thread of ours has to send; it must be interrupted."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    gc.disable()  # a callback of its own, as Hypothesis has one, would swallow the exception
    try:
        start = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.perf_counter() - start - seconds
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def work():
    """An array over which anything runs for many seconds: 32 MB that are seen 5000 times."""
    return nd.asarray(np.broadcast_to(np.ones(SIZE), (5000, SIZE)))


def test_other_threads_run_meanwhile(threads):
    source, ticks, done = work()[:100], [], threading.Event()

    def tick():
        while not done.wait(0.005):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    nd.sum(source, 1)
    end = time.perf_counter()
    done.set()
    thread.join()
    inside = [at for at in ticks if start + 0.01 < at < end]
    assert len(inside) > (end - start) / 0.1, "Python's lock was held"


def test_a_reduction_stops(threads):
    source = work()
    late, raised = interrupted_after(0.2, lambda: nd.sum(source, 1))
    assert type(raised) is KeyboardInterrupt
    assert late < 0.5
    assert nd.sum(source[:2], 1).tolist() == [float(SIZE)] * 2


def test_a_product_of_integers_stops(threads):
    """One product is one piece of the engine; its rows are the pieces here."""
    a = nd.asarray(np.ones((2500, 2500), "int64"))
    assert late_by(0.1, lambda: nd.matmul(a, a)) < 0.5
    assert nd.matmul(a[:2], a).tolist() == [[2500] * 2500] * 2


def test_the_search_for_the_element_that_failed_stops():
    """Memory holds it near the beginning, so that it is found at once; in C order it is the last row's first."""
    nd.set_num_threads(1)
    size = 12_000
    source = np.ones((size, size), "int16").T
    source[size - 1, 0] = 1000
    target = nd.asarray(np.zeros((size, size), "int8").T)
    for seconds in (0.05, 0.1, 0.2):
        late, raised = interrupted_after(seconds, lambda: nd.assign(target, nd.asarray(source)))
        assert type(raised) is KeyboardInterrupt, raised
        if late < 0.25:
            break
    assert late < 0.25


def test_an_assignment_stops_with_every_element_old_or_new(threads):
    source = work()
    destination = nd.asarray(np.broadcast_to(np.zeros(1), (1, 1)).copy())
    target = np.zeros((1, SIZE))
    wide = nd.asarray(np.lib.stride_tricks.as_strided(target, (5000, SIZE), (0, 8)))
    late, raised = interrupted_after(0.2, lambda: nd.assign(wide, source))
    assert type(raised) is KeyboardInterrupt and late < 0.5
    assert set(np.unique(target)) <= {0.0, 1.0}
    nd.assign(destination, 5)
    assert destination.tolist() == [[5.0]]


@pytest.mark.parametrize("call", ["equal", "assign"])
def test_few_elements_with_much_inside_stop(threads, call):
    """Work is what is inside of elements too: here 3 billion numbers, in records of which there are not many."""
    record = np.zeros(1, dtype=[("x", "f8", (20_000,)), ("s", "i4")])
    many = lambda one: nd.asarray(np.lib.stride_tricks.as_strided(one, (150_000,), (0,)))  # noqa: E731
    source, target = many(record), many(record.copy())
    calls = {
        "equal": lambda: source == source,
        "assign": lambda: nd.assign(target, source),
    }
    with another_thread(every=0.005) as ticks:
        late, raised = interrupted_after(0.2, calls[call])
    assert type(raised) is KeyboardInterrupt and late < 0.5
    assert len(ticks) > 10, "Python's lock was held"


def test_a_lazy_array_is_computed_later(threads):
    size, steps = 1 << 25, 28  # one evaluation of some tenths of a second
    a, value = nd.array(np.full(size, 2.0)), 2.0
    for _ in range(steps):
        a, value = nd.sqrt(a), math.sqrt(value)
    late, raised = interrupted_after(0.04, a.eval)
    assert type(raised) is KeyboardInterrupt and late < 0.5
    assert a[0].tolist() == value and a[size - 1].tolist() == value


@pytest.mark.parametrize("elements", ["numbers", "short rows", "structs"])
def test_tolist_stops(elements):
    numbers = nd.asarray(np.broadcast_to(np.arange(1 << 20), (64, 1 << 20)))
    rows = nd.asarray(np.broadcast_to(np.zeros(3), (1 << 23, 3)))
    pair = np.zeros(1, dtype=[("x", "i4"), ("y", "f8")])
    structs = nd.asarray(np.lib.stride_tricks.as_strided(pair, (1 << 23,), (0,)))
    source = {"numbers": numbers, "short rows": rows, "structs": structs}[elements]
    assert late_by(0.1, source.tolist) < 0.5  # what was made is released too
    assert numbers[0, :3].tolist() == [0, 1, 2]


@pytest.mark.parametrize("elements", ["numbers", "rows"])
def test_a_list_of_elements_stops(elements):
    """`list` itself never looks at signals."""
    a = nd.asarray(np.broadcast_to(np.ones(1), (1 << 24,) if elements == "numbers" else (1 << 23, 1)))
    assert late_by(0.1, lambda: list(a)) < 0.5  # what was made is released too


@pytest.mark.parametrize(
    "values",
    [[1.5] * 30_000_000, [[1, 2, 3]] * 5_000_000, [{"x": 1, "y": "a"}] * 3_000_000, ["text"] * 10_000_000],
    ids=["numbers", "lists", "dicts", "texts"],
)
def test_reading_python_values_stops(values):
    assert late_by(0.05, lambda: nd.array(values)) < 0.3


@pytest.mark.parametrize("source", ["rows", "one row", "one value"])
def test_rows_without_memory_stop(source):
    size = 8_000_000
    a = nd.empty(f"{size} * var * int32")
    rows = nd.from_offsets(np.arange(size + 1), np.ones(size, "i4"))
    given = {"rows": rows, "one row": nd.array([1, 2, 3]), "one value": nd.array([5])}[source]
    assert late_by(0.05, lambda: nd.assign(a, given)) < 0.3
    assert a[0].tolist() == a[size - 1].tolist() == []
    a[0] = [1, 2]
    assert a[0].tolist() == [1, 2]


def test_comparing_rows_stops():
    size = 8_000_000
    short = nd.from_offsets(np.arange(size + 1), np.ones(size, "i1"))
    long = nd.from_offsets(np.arange(0, 2 * size + 1, 2), np.ones(2 * size, "i1"))
    assert late_by(0.03, lambda: short + long) < 0.2


@pytest.mark.parametrize("signature", ["(float64) -> float64", "(N * float64) -> N * float64"])
@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit])
def test_a_python_function_that_is_interrupted_is_not_called_again(signature, exception):
    """To find the element would take as long as the call did until then, and the rest of it."""
    calls = []

    def function(x):
        calls.append(x)
        if len(calls) == 5:
            raise exception("enough")
        return x
    f = nd.callable(function, signature, name="f")
    outer = nd.callable(lambda row: f(row).tolist()[0], "(N * float64) -> float64")
    for call in (lambda: f(np.ones((10, 1))), lambda: f(nd.array([[1.0]] * 4 + [[]] * 3 + [[1.0]] * 3)),
                 lambda: [f([1.0]) for _ in range(10)], lambda: outer(np.ones((10, 1)))):
        calls.clear()
        with pytest.raises(exception, match="enough") as caught:
            call()
        assert len(calls) == 5 and caught.value.__notes__[0] == f"f: {exception.__name__} in the Python function"


def test_another_handlers_exception_comes_through():
    class Enough(Exception):
        pass

    def enough(number, frame):
        raise Enough("of it")

    source = work()
    before = signal.signal(signal.SIGUSR1, enough)
    try:
        late, raised = interrupted_after(0.2, lambda: nd.sum(source, 1), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert type(raised) is Enough and raised.args == ("of it",) and late < 0.5


def test_a_handler_that_returns_lets_it_go_on():
    seen = []
    row = np.ones(SIZE)
    source = nd.asarray(np.broadcast_to(row, (60, SIZE)))
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        result = []
        _, raised = interrupted_after(0.1, lambda: result.append(nd.sum(source, 1)), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert raised is None and seen == [signal.SIGUSR1]
    assert result[0].tolist() == [float(SIZE)] * 60


def test_a_handler_cannot_wait_for_what_it_interrupts():
    size = 1 << 25
    a = nd.array(np.full(size, 2.0))
    for _ in range(28):
        a = nd.sqrt(a)
    seen = []

    def look(number, frame):
        seen.append(nd.array([1, 2]).sum().tolist())  # other values are there as always
        try:
            a[0].tolist()
        except RuntimeError as error:
            seen.append(str(error))

    before = signal.signal(signal.SIGUSR1, look)
    try:
        _, raised = interrupted_after(0.04, a.eval, signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert raised is None
    assert seen == [3, "these values are being computed; a signal handler cannot wait for them"]
    assert a[0].tolist() == a[size - 1].tolist()


def test_a_program_ends_as_python_programs_do():
    program = textwrap.dedent(
        """
        import numpy as np
        from dynd import nd
        source = nd.asarray(np.broadcast_to(np.ones(1 << 22), (2000, 1 << 22)))
        print("go", flush=True)
        nd.sum(source, 1)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "go\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors and process.returncode != 0


def test_ctrl_c_while_a_failure_is_undone(tmp_path, monkeypatch):
    """The signal comes after the function has failed: what it wrote is as it was again nevertheless."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config = tmp_path / "undone.cfg"
    config.write_text("""[MODULE undone]
header_code = #include <signal.h>
    #include <unistd.h>
    static int write_and_fail(int n, double *x) { for (int i = 0; i < n; i++) x[i] = -1; if (n != 999) return 0; usleep(100000); raise(SIGINT); return 1; }
[KERNEL write_and_fail]
prototypes = int write_and_fail(int n, double *x)
inplace = x(n)
hide = n
return = status
""")
    f = nd.wrap(str(config)).write_and_fail
    offsets = np.cumsum([0] + [1000] * 4000 + [999])
    values = np.arange(float(offsets[-1]))
    try:
        try:
            f(nd.from_offsets(offsets, nd.asarray(values)))
        except ValueError:
            pass
        for _ in range(1000):  # here Python looks at the signal
            pass
    except KeyboardInterrupt:
        pass
    assert np.array_equal(values, np.arange(float(offsets[-1])))

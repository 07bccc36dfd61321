"""Long rows, rows along an axis that is kept, columns, panels, waiting: Ctrl-C is seen in the middle of every walk."""

import functools
import signal
import threading
import time

import numpy as np
import pytest

from dynd import nd
from test_interrupt import interrupted_after
from test_steps_stop import check_that_handlers_run
from test_tasks_stop import longest_wait

pytestmark = pytest.mark.alone  # signals, and how soon they are seen
SIZE = 1 << 24


@pytest.fixture(autouse=True)
def one_thread_that_listens():
    """A shell starts its background jobs with Ctrl-C ignored, and then Python leaves it so."""
    threads, handler = nd.num_threads(), signal.signal(signal.SIGINT, signal.default_int_handler)
    nd.set_num_threads(1)
    yield
    nd.set_num_threads(threads)
    signal.signal(signal.SIGINT, handler)


@functools.lru_cache(None)
def values():
    return nd.array(np.random.default_rng(0).random(SIZE))


def slowly(a):
    for _ in range(8):
        a = a**1.01
    return a


def shaped(*shape):
    return nd.reshape(values(), shape)


def columns():
    a = shaped(1 << 18, 64)
    return lambda: nd.sum(slowly(a), axis=0)


def everything_in_another_order():
    a = shaped(1 << 18, 64)
    return lambda: nd.sum(slowly(a.T))


def rows_that_are_kept():
    a = shaped(2, SIZE // 2)
    return lambda: nd.sum(slowly(a), axis=1)


def rows_with_gaps():
    a = nd.array(np.ones((2, SIZE // 2 + 8)))[:, : SIZE // 2]
    return lambda: slowly(a).eval()


def one_ragged_row():
    row = nd.from_offsets(np.array([0, SIZE]), values())
    return lambda: nd.sum(slowly(row), axis=1)


def passes_over_a_row():
    a = shaped(2, SIZE // 2)
    return lambda: nd.softmax(slowly(a), axis=1).eval()


def running_values():
    a = shaped(2, SIZE // 2)
    return lambda: nd.cumulative_sum(slowly(a), axis=1)


def panels():
    a = shaped(4096, 4096)
    return lambda: (a + slowly(a.T)).eval()


def a_transposed_copy():
    a = shaped(4096, 4096)
    return lambda: [nd.array(a.T) for _ in range(8)]


def a_list_in_one_element():
    rows = nd.empty("1 * {r: var * ?int32}")
    rows[0] = {"r": nd.array(np.ones(SIZE, "i4"))}
    return lambda: rows == rows


def mask_for_every_row():
    a, mask = nd.from_offsets(np.arange(101) * 200_000, nd.array(np.ones(20_000_000))), nd.array(np.ones(200_000, bool))
    return lambda: a[:, mask]


def rows_in_blocks():
    offsets = np.concatenate([[0], 40_000 + np.arange(10_000_000)])
    rows = nd.from_offsets(offsets, nd.array(np.ones(offsets[-1])))
    return lambda: nd.var(rows, axis=1)


WALKS = [columns, everything_in_another_order, rows_that_are_kept, rows_with_gaps, one_ragged_row, passes_over_a_row,
         running_values, panels, a_transposed_copy, a_list_in_one_element, mask_for_every_row, rows_in_blocks]  # fmt: skip


@pytest.mark.parametrize("walk", WALKS)
def test_a_handler_runs_in_every_walk(walk):
    check_that_handlers_run(walk)


def test_waiting_for_another_thread_stops():
    """It computes the same values; those it goes on with are right."""
    lazy = slowly(slowly(values()))
    other = threading.Thread(target=lazy.eval)
    other.start()
    time.sleep(0.05)
    late, raised = interrupted_after(0.1, lazy.eval)
    other.join()
    assert type(raised) is KeyboardInterrupt and late < 0.25
    assert np.allclose(lazy[:3], slowly(slowly(values()[:3])))


def test_many_threads_evaluate_and_one_stops():
    """More threads than may work at once: the one that is asked to stop must work itself, or it does not ask."""
    nd.set_num_threads(2)
    done = threading.Event()

    def work():
        a = values()[: SIZE // 8]
        while not done.is_set():
            slowly(a).eval()

    others = [threading.Thread(target=work) for _ in range(4)]
    for thread in others:
        thread.start()
    try:
        lates = []
        for _ in range(3):
            lates.append(interrupted_after(0.1, slowly(slowly(values())).eval)[0])
    finally:
        done.set()
        for thread in others:
            thread.join()
    assert min(lates) < 0.25, lates


def test_rows_below_one_row_are_checked_without_the_lock():
    rows = nd.from_offsets(np.arange(3_000_001), nd.array(np.zeros(3_000_000, "i4")))

    def assign():
        nd.empty("1 * 3000000 * var * int32")[...] = rows[None]

    assert min(longest_wait(assign) for _ in range(3)) < 0.1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["sum", "max", "argmin", "mean"])
def test_the_only_row_of_an_axis_is_like_everything(name, threads):
    nd.set_num_threads(threads)
    row = shaped(1, SIZE)
    assert getattr(nd, name)(row, axis=1).tolist() == [getattr(nd, name)(values()).tolist()]

"""Long work that is no kernel runs without Python's lock: other threads go on meanwhile."""
import sys
import threading
import time

import numpy as np
import pytest

from dynd import nd

pytestmark = pytest.mark.alone  # threads that run meanwhile
SIZE = 1_000_000


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(1)
    numbers, keys = nd.array(rng.standard_normal(SIZE)), nd.array(rng.integers(0, 1000, SIZE))
    rows = nd.from_offsets(np.arange(0, SIZE + 1, 4), numbers)
    return {"x": numbers, "keys": keys, "rows": rows, "mask": numbers > 0,
            "index": nd.array(rng.integers(0, SIZE, SIZE))}


CALLS = {
    "sort": lambda x, **_: nd.sort(x),
    "argsort": lambda x, **_: nd.argsort(x),
    "sort of rows": lambda rows, **_: nd.sort(rows, axis=1),
    "unique": lambda keys, **_: nd.unique(keys),
    "median": lambda x, **_: nd.median(x),
    "quantiles of rows": lambda rows, **_: nd.quantile(rows, [0.1, 0.5], axis=1),
    "histogram": lambda x, **_: nd.histogram(x),
    "mask": lambda x, mask, **_: x[mask],
    "index": lambda x, index, **_: x[index],
    "concat": lambda x, **_: nd.concat([x, x]),
    "combinations": lambda rows, **_: nd.combinations(rows, 2, axis=1),
    "groups": lambda x, keys, **_: nd.groupby(x, by=keys).sum(),
    "join": lambda keys, **_: nd.join(nd.zip({"k": keys}), nd.zip({"k": keys[:100], "v": keys[:100]}), on="k"),
    "arange": lambda **_: nd.arange(4 * SIZE),
    "linspace": lambda **_: nd.linspace(0, 1, 4 * SIZE),
    "sum": lambda x, **_: nd.sum(nd.sqrt(nd.abs(x))),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_thread_runs_meanwhile(arrays, name):
    """No thread has to give up the lock for the other's sake here: it runs only while the call is without it."""
    turns, done = [0], threading.Event()

    def take_turns():
        while not done.is_set():
            turns[0] += 1
            time.sleep(0)

    before = sys.getswitchinterval()
    thread = threading.Thread(target=take_turns)
    sys.setswitchinterval(1000)
    thread.start()
    try:
        for _ in range(50):  # the system decides when a thread that may run does
            seen = turns[0]
            CALLS[name](**arrays)
            if turns[0] != seen:
                break
        else:
            pytest.fail("the lock was held")
    finally:
        done.set()
        sys.setswitchinterval(before)
        thread.join()

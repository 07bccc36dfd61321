"""What the end of a program and a fork find: threads that compute. Each program runs in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

from plugin_support import ROOT, build

pytestmark = pytest.mark.alone  # forks and ends of programs at a moment of an evaluation

BEGIN = """
import math, os, signal, sys, threading, time
import numpy as np
from dynd import nd

def in_child(call):
    "Forks; the child calls, for a minute at most (others may use the CPUs). What it was ended by, or its exit code."
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        os._exit(0 if call() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def in_thread(call):
    "Calls again and again, until the program ends."
    def forever():
        while True:
            call()
    threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.05)
"""


def run(program):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    code = BEGIN + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", code], env=environment, timeout=300, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("threads", [1, 2])
def test_a_program_ends_while_a_daemon_thread_computes(threads):
    """While the interpreter ends, a thread that wants its lock never gets it."""
    for _ in range(3):
        done = run(
            f"""
            nd.set_num_threads({threads})
            a = nd.array(np.ones(1_000_000))
            swapped = np.zeros(3, dtype=">f8")
            in_thread(a.sum)
            in_thread(lambda: (a * 2 + 1).eval())
            in_thread(lambda: (nd.asarray(np.ones(300)), nd.asarray(swapped)))
            """
        )
        assert done.stderr == ""


@pytest.mark.parametrize("call", ["same(small)", "same(large)", "first(large.reshape(-1, 2))", "refused(small)", "refused(large)"])
def test_a_program_ends_while_a_daemon_thread_is_in_a_python_function(call):
    """Python ends the thread where the function wants the lock again: below it are the frames of kernels."""
    done = run(
        f"""
        same = nd.callable(lambda x: x, "(float64) -> float64")
        first = nd.callable(lambda row: row.tolist()[0], "(N * float64) -> float64")
        inverse = nd.callable(lambda x: 1 // x, "(int64) -> int64", numba=True)
        def refused(x):
            try:
                inverse(x.astype("int64"))
            except ZeroDivisionError:
                pass
        small, large = np.arange(3.0), np.arange(300_000.0)
        for _ in range(3):
            in_thread(lambda: {call})
        """
    )
    assert done.stderr == ""


def test_a_child_computes_after_the_threads_have_run():
    run(
        """
        nd.set_num_threads(2)
        a = nd.array(np.arange(1_000_000.0))
        expected = (a * 2.0).sum().tolist()
        sys.exit(in_child(lambda: (a * 2.0).sum().tolist() == expected))
        """
    )


def test_a_child_computes_while_the_parents_threads_do():
    """They have all places of their arena, in which the child would wait for them."""
    run(
        """
        nd.set_num_threads(2)
        a = nd.array(np.arange(4_000_000.0))
        expected = a.sum().tolist()
        for _ in range(3):
            in_thread(a.sum)
        sys.exit(any(in_child(lambda: a.sum().tolist() == expected) for _ in range(10)))
        """
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_a_child_computes_what_a_thread_of_the_parent_was_computing(threads):
    """It has no such thread: it would wait for ever."""
    run(
        f"""
        nd.set_num_threads({threads})
        b = nd.array(np.full(1 << 25, 2.0))
        expected = 2.0
        for _ in range(28):  # as much as one evaluation takes
            b, expected = nd.sqrt(b), math.sqrt(expected)
        threading.Thread(target=b.eval).start()
        threading.Thread(target=lambda: b[0].tolist()).start()  # waits for the other
        time.sleep(0.05)
        code = in_child(lambda: b[5].tolist() == expected)
        assert b[7].tolist() == expected
        sys.exit(code)
        """
    )


def test_a_fork_inside_of_an_evaluation_leaves_it_claimed():
    """A handler that forks while its own thread computes: the child cannot have those values, and says so."""
    run(
        """
        nd.set_num_threads(1)
        a = nd.array(np.full(1 << 25, 2.0))
        for _ in range(28):  # as much as one evaluation takes
            a = nd.sqrt(a)
        codes = []
        def refused():
            try:
                a[0].tolist()
            except RuntimeError as error:
                return "being computed" in str(error)
        signal.signal(signal.SIGUSR1, lambda number, frame: codes.append(in_child(refused)))
        timer = threading.Timer(0.04, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        timer.start()
        a.eval()
        sys.exit(codes != [0])
        """
    )


def test_a_child_loads_and_finds_plugins_while_the_parents_threads_do(tmp_path):
    """Loading gives up Python's lock, so that another thread may fork in the middle of it."""
    run(
        f"""
        path = {str(build(tmp_path, "libtriple", (ROOT / "examples/plugin_triple.c").read_text(), ""))!r}
        nd.load(path)
        for _ in range(3):
            in_thread(lambda: nd.load(path))
        child = lambda: nd.load(path) == ["triple"] and nd.triple([1, 2]).tolist() == [3, 6]
        sys.exit(any(in_child(child) for _ in range(50)))
        """
    )

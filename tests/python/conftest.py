"""Every run is the same run: hypothesis derives its examples from the test, keeps no database and has no deadline."""

import gc
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dynd import nd

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, print_blob=False, suppress_health_check=list(HealthCheck)
)
settings.load_profile("ci")

#: Files that take longest. Where several processes share the files (make test), these are begun first, so that none
#: of them is left to one process at the end.
LONGEST = "kernelgen_sanitizers struct_text_engine one_engine sort_loops combinations order lazy ufuncs reductions pairs".split()
LONGEST += "scans row_functions selection structure kernelgen_libraries docs_kernels numba oracle aggregates".split()


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):  # one of pytest-xdist's processes
        rank = {f"test_{name}": at for at, name in enumerate(LONGEST)}
        items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


def pytest_collection_finish():
    """What collection has made, a million objects, lives to the end: the garbage collector need not walk it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=[1, 2])
def threads(request):
    before = nd.num_threads()
    nd.set_num_threads(request.param)
    yield request.param
    nd.set_num_threads(before)

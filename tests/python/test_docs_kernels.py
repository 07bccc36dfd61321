"""docs/kernels.md and the pages beside it, followed step by step."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dynd
from documents import ROOT, follow

LIBRARY = Path(dynd.__file__).parent / "libdynd.so"


@pytest.mark.parametrize("guide", ["kernels", "kernels_cpp", "functions_from_elsewhere"])
def test_the_guide_works_as_it_is_written(guide, tmp_path):
    # In a process of its own: it loads plug-ins for good, under names that other tests use.
    result = subprocess.run([sys.executable, __file__, guide, str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


if __name__ == "__main__":
    os.environ.update(DYND=str(ROOT), DYND_LIB=str(LIBRARY.resolve().parent))
    sys.exit(follow(f"docs/{sys.argv[1]}.md", sys.argv[2]))

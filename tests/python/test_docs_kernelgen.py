"""docs/kernelgen.md, followed step by step."""

import os
import subprocess
import sys
from pathlib import Path

from documents import follow
from dynd import _kernelgen


def test_the_guide_works_as_it_is_written(tmp_path):
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "cache"))
    result = subprocess.run([sys.executable, __file__, str(tmp_path)], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr


if __name__ == "__main__":
    os.environ["PATH"] = f"{Path(_kernelgen._generator()).parent}:{os.environ['PATH']}"
    sys.exit(follow("docs/kernelgen.md", sys.argv[1]))

"""The generated code under ASan and UBSan: tests that call it once more, in a process of their own."""
import os
import subprocess
import sys
from pathlib import Path

TESTS = [str(Path(__file__).with_name(f"test_kernelgen{name}.py")) for name in ("", "_layouts", "_hostile", "_sizes", "_texts")]


def test_generated_code_under_asan_and_ubsan():
    # ASan has to be there first, and wants to find the functions of exceptions when it starts.
    libraries = [subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
                 for name in ("libasan.so", "libstdc++.so.6")]
    environment = dict(os.environ, LD_PRELOAD=" ".join(libraries), ASAN_OPTIONS="detect_leaks=0", PYTHONMALLOC="malloc",
                       KERNELGEN_TEST_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -g1 -O0")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-s", "-p", "no:cacheprovider", *TESTS], capture_output=True,
                          text=True, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]

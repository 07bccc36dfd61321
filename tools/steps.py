"""Runs named commands one after another, all of them even if one fails, and ends with a summary.
Usage: tools/steps.py "name: command" ..."""
import subprocess
import sys
import time

results = []
for step in sys.argv[1:]:
    name, command = step.split(": ", 1)
    print(f"--- {name}: {command}", flush=True)
    start = time.monotonic()
    status = subprocess.run(command, shell=True).returncode
    results.append((name, status, time.monotonic() - start))

print("--- summary")
for name, status, seconds in results:
    print(f"{'ok    ' if status == 0 else 'FAILED'} {name:12} {seconds:6.1f} s")
sys.exit(any(status != 0 for _, status, _ in results))

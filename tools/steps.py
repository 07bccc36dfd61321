"""Runs named commands, all of them even if one fails, and ends with a summary. Those before a "then" run side by side, so
many at a time, and what each prints is kept together; a command with none beside it prints as it goes.
Usage: tools/steps.py JOBS "name: command" ["name: command" ...] [then "name: command" ...] ..."""
import concurrent.futures
import subprocess
import sys
import threading
import time

printing = threading.Lock()


def run(step, together):
    """Name, exit code and seconds of a step."""
    name, command = step.split(": ", 1)
    title = f"--- {name}: {command}"
    if not together:
        print(title, flush=True)
    start = time.monotonic()
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL} if together else {}
    done = subprocess.run(command, shell=True, **kept)
    seconds = time.monotonic() - start
    if together:
        with printing:
            sys.stdout.buffer.write(title.encode() + b"\n" + done.stdout)
            sys.stdout.buffer.flush()
    return name, done.returncode, seconds


groups = [[]]
for word in sys.argv[2:]:
    if word == "then":
        groups.append([])
    else:
        groups[-1].append(word)

results, jobs = [], int(sys.argv[1])
for group in groups:
    together = jobs > 1 and len(group) > 1
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results += pool.map(run, group, [together] * len(group))

print("--- summary")
for name, status, seconds in results:
    print(f"{'ok    ' if status == 0 else 'FAILED'} {name:12} {seconds:6.1f} s")
sys.exit(any(status != 0 for _, status, _ in results))

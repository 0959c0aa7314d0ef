"""Runs the phases of a make target one after the other and says how long each took.

The rule: each argument is `name: command`. The first phase that fails ends the run with its own exit status, and
the last lines list the phases and their seconds. Needs nothing but Python, since the first phase makes .venv.
"""

import subprocess
import sys
import time


def main(phases: list[str]) -> int:
    """Run the phases and return the exit status of the first that failed, or 0."""
    seconds = {}
    status = 0
    for phase in phases:
        name, command = phase.split(": ", 1)
        print(f"== {name}", flush=True)
        start = time.monotonic()
        try:
            status = subprocess.run(command, shell=True).returncode
        except KeyboardInterrupt:
            status = 130
        seconds[name] = time.monotonic() - start
        if status:
            break
    print("== " + " · ".join(f"{name} {took:.0f} s" for name, took in seconds.items()))
    if status:
        print(f"== {name} failed: its messages stand above.")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

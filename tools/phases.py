"""Runs the phases of a make target one after the other and says how long each took.

The rule: each argument is `name: command`. The first phase that fails ends the run with its own exit status, and
the last lines list the phases and their seconds. Needs nothing but Python, since the first phase makes .venv.
ONLY in the environment names the phases to run, as in `make test ONLY="style tests"`; the first one always runs.
"""

import os
import subprocess
import sys
import time


def main(arguments: list[str]) -> int:
    """Run the phases and return the exit status of the first that failed, or 0."""
    phases = dict(argument.split(": ", 1) for argument in arguments)
    first, *others = phases
    if only := os.environ.get("ONLY", "").split():
        if unknown := set(only) - set(others):
            print(f"There is no phase {', '.join(sorted(unknown))} to run alone: there are {', '.join(others)}.")
            return 2
        phases = {name: command for name, command in phases.items() if name in [first, *only]}
    seconds = {}
    status = 0
    for name, command in phases.items():
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

"""How many labs, or processes of tests, this machine runs side by side.

The rule: one a core, as far as the memory lasts. A container's limits count as the machine's, and PROCESSES in the
environment goes before all of it: `make test PROCESSES=1`.
"""

import os
from pathlib import Path

GIGABYTES = 2  # what a lab, or a process of the tests, takes at most
LIMITS = Path("/sys/fs/cgroup")


def processes() -> int:
    """Return how many processes to start. Ends with a sentence when PROCESSES is no whole number above 0."""
    if given := os.environ.get("PROCESSES"):
        if not given.isdecimal() or int(given) < 1:
            raise SystemExit(f"PROCESSES={given} is no number of processes: give 1, 2, 3 or more.")
        return int(given)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # Windows does not say
        memory = cores * GIGABYTES * 2**30
    quota, period = limit("cpu.max", "max 1")  # microseconds of processor time in each period
    if quota != "max":
        cores = min(cores, int(quota) // int(period))
    (allowed,) = limit("memory.max", "max")  # bytes
    if allowed != "max":
        memory = min(memory, int(allowed))
    return max(1, min(cores, round(memory / 2**30 / GIGABYTES)))


def limit(name: str, default: str) -> list[str]:
    """Return the words of a container's limit, or of the default where there is none."""
    path = LIMITS / name
    return (path.read_text() if path.is_file() else default).split()


if __name__ == "__main__":
    print(processes())

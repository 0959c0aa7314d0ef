"""Measures the course itself: seconds and memory of labs, `make book` and `make test`, and epochs in two processes.

The rule: everything runs in a clone of the last commit, two labs at a time as in `make labs`, and is compared with a
budget; figures go to experiments/costs.json. Memory is that of the largest process.

    python -m experiments.costs                  # labs, book, test, processes: half an hour on two idle cores
    python -m experiments.costs book             # a minute
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments import record

COSTS = record.HERE / "costs.json"

# On two cores: seconds and megabytes of a lab, and seconds of what all labs, or a command, may take.
# All labs: the first ten 600 s of processor time together and a later one 90 s, which is half as long on two cores.
LAB = {"seconds": 90, "megabytes": 2000}
WHOLE = {"all labs": 10 * 60, "make book": 30, "make book after an edit": 10, "make test": 9 * 60}


def budget(name: str) -> dict[str, int]:
    """What a lab, as `04_values`, or a command may take."""
    return {"seconds": WHOLE[name]} if name in WHOLE else LAB


def measured(command: list[str], folder: Path) -> dict:
    """Run a command to its end: seconds, megabytes of its largest process, and its exit status."""
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)  # unlike wait, says what this child and its children used
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        print(output[-3000:])
    kilobyte = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes
    found = {"seconds": round(time.monotonic() - start, 1), "megabytes": round(usage.ru_maxrss * kilobyte / 1e6)}
    print(" ".join(map(str, command[1:])), found, flush=True)
    return found | {"status": process.returncode}


def clone(folder: str) -> Path:
    """The last commit, in a folder of its own."""
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", record.ROOT, Path(folder, "course")], check=True)
    return Path(folder, "course")


def make(target: str, folder: Path) -> dict:
    """Measure a make target in a clone, with the Python that runs this: making an environment is no part of it."""
    return measured(["make", target, f"PYTHON={sys.executable}", f"OURS={sys.executable}", "ENVIRONMENT=true"], folder)


def labs() -> dict:
    """Execute every lab from nothing, two at a time."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = clone(temporary)
        for notebook in (folder / "labs").glob("*.ipynb"):
            notebook.unlink()
        names = sorted(lab.stem for lab in (folder / "labs").glob("[0-9][0-9]_*.md"))
        start = time.monotonic()
        with ThreadPoolExecutor(max_workers=2) as pool:
            commands = [[sys.executable, "tools/make_labs.py", name[:2]] for name in names]
            each = dict(zip(names, pool.map(lambda command: measured(command, folder), commands), strict=True))
    return each | {"all labs": {"seconds": round(time.monotonic() - start, 1), "status": 0}}


def book() -> dict:
    """Build the book with nothing stale, then once more after an edit of a lab's prose."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = clone(temporary)
        make("book", folder)  # brings everything up to date; not counted
        nothing_stale = make("book", folder)
        with next((folder / "labs").glob("05_*.md")).open("a") as text:
            text.write("\nA sentence more.\n")
        return {"make book": nothing_stale, "make book after an edit": make("book", folder)}


def test() -> dict:
    """Check everything."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = clone(temporary)
        make("book", folder)  # what is stale would fail the tests
        return {"make test": make("test", folder)}


def processes(rounds: int = 3) -> dict:
    """Seconds of an epoch in one process and in two: four epochs less one, so that starting does not count."""
    launchers = {"one": [], "two": ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]}
    each = {}
    for model, batch_size in (("attention-pooling", 64), ("self-attention", 64), ("self-attention", 1024)):
        found = {"one": [], "two": []}
        for _ in range(rounds):
            for name, launcher in launchers.items():
                given = ["-m", "shared.scale", "--model", model, "--batch-size", str(batch_size), "--epochs"]
                first, more = (
                    measured([sys.executable, *launcher, *given, epochs], record.ROOT)["seconds"]
                    for epochs in ("1", "4")
                )
                found[name].append((more - first) / 3)
        each[f"{model}, {batch_size}"] = {name: round(statistics.median(some), 2) for name, some in found.items()}
    return each


def over_budget(costs: dict) -> list[str]:
    """A sentence for each thing that failed or took more than its budget."""
    said = []
    for part in ("labs", "book", "test"):
        for name, found in costs.get(part, {"each": {}})["each"].items():
            if found["status"]:
                said.append(f"{name}: failed with status {found['status']}.")
            for unit, most in budget(name).items():
                if found[unit] > most:
                    said.append(f"{name}: {found[unit]:.0f} {unit}, and its budget is {most}.")
    return said


PARTS = {"labs": labs, "book": book, "test": test, "processes": processes}

if __name__ == "__main__":
    sentences = over_budget(record.measure(COSTS, "make bench", PARTS, sys.argv[1:]))
    print("\n".join(sentences) if sentences else "Every budget is kept.")
    sys.exit(bool(sentences))

"""Runs the grid of lab 11 and writes the table that the lab reads, shared/does_it_help.json.

The rule: each finished run is one line of _build/results.jsonl with a digest, so the tool may be stopped at any moment,
even by a power cut, and goes on where it was. A damaged line is run again, and so is one made by other code or other
versions. The table is written in one step when no run is missing. Which runs there are changes no figure, so more seeds
or another row leave the finished lines as they are.

    python -m experiments.results                                             # everything: `make results`
    python -m experiments.results --only "marked, mean pooling" --into some   # a part, into a folder of its own
"""

import argparse
import json
import multiprocessing
import os
import platform
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from experiments import grid, record
from experiments.grid import AS_TAUGHT, Run
from experiments.table import TABLE, digest, fingerprint, made_by, versions

LINES = record.ROOT / "_build/results.jsonl"

# Task, model, variant; seeds on the course's split, and on each of two others.
ROWS = [
    ("marked", "attention pooling", AS_TAUGHT, 20, 5),
    ("marked", "mark's row", AS_TAUGHT, 20, 5),
    ("marked", "mark's row, constant query", AS_TAUGHT, 20, 5),
    ("marked", "2 constant queries", AS_TAUGHT, 20, 5),
    ("marked", "mark's row", "no positions", 20, 5),
    ("marked", "4 constant queries", AS_TAUGHT, 20, 5),
    ("marked", "mean pooling", AS_TAUGHT, 20, 5),
    ("marked", "TF-IDF", AS_TAUGHT, 5, 5),
    ("front", "mean pooling", AS_TAUGHT, 10, 0),
    ("front", "attention pooling", AS_TAUGHT, 10, 0),
    ("front", "TF-IDF", AS_TAUGHT, 5, 0),
    ("front", "self-attention", AS_TAUGHT, 5, 0),
    ("marked", "CNN", AS_TAUGHT, 5, 0),
    ("marked", "self-attention", AS_TAUGHT, 5, 0),
]
# Not run yet, for a run takes minutes: ("marked", "encoder", AS_TAUGHT, 5, 0) and ("marked", "GRU", AS_TAUGHT, 5, 0).


def all_runs(most_seeds: int | None = None) -> list[Run]:
    """Every run, those of the first seed first, so that a stopped grid has looked at everything once."""
    runs = [
        Run(task, name, variant, split, seed)
        for task, name, variant, *numbers in ROWS
        for split, number in enumerate([numbers[0], numbers[1], numbers[1]])
        for seed in range(number)[:most_seeds]
    ]
    return sorted(runs, key=lambda run: run.seed)


def finished(lines: Path, mark: str) -> dict[Run, dict]:
    """The results in the file that were made so; damaged lines are named, and one that broke off is cut away."""
    results = {}
    content = lines.read_bytes() if lines.exists() else b""
    whole, end, rest = content.rpartition(b"\n")
    if rest:
        os.truncate(lines, len(whole + end))
    for number, line in enumerate(whole.split(b"\n") if end else [], 1):
        try:
            text, _, sealed = line.decode().rpartition(" ")
            intact = sealed == digest(text)
        except UnicodeDecodeError:
            intact = False
        if not intact:
            print(f"{lines.name}, line {number} is damaged: its run is made again.")
            continue
        result = json.loads(text)
        if result.pop("made_by") == mark:
            results[Run(*(result[name] for name in ("task", "model", "variant", "split", "seed")))] = result
    return results


def append(lines: Path, result: dict) -> None:
    """Add one line, with its digest, and wait until the disk has it."""
    lines.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result)
    with lines.open("ab") as file:
        file.write(f"{text} {digest(text)}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def write_table(table: Path, results: dict[Run, dict]) -> None:
    """Write the table in one step, in the order of the runs' names; what is kept of an earlier table stays in it."""
    content = {
        "command": "make results",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, one thread a run",
        "versions": {"python": platform.python_version()} | versions(),
        "data": grid.prepared("quick", grid.data.REVIEW_TOKENS).reviews.citation,
        "made_by": fingerprint(),
        "results": [{name: results[run][name] for name in results[run] if name != "right"} for run in sorted(results)],
        "reviews": judged_right(results),
        "earlier": record.read(TABLE)["earlier"],
    }
    record.write(table, content)


def judged_right(results: dict[Run, dict]) -> list[dict]:
    """For each model as taught, on the course's split: how many of all answers were right, review by review."""
    counts = {}
    for run, result in sorted(results.items()):
        for kind, digits in result.get("right", {}).items():
            counts.setdefault((run.task, run.model, kind), []).append(np.array(list(digits), dtype=int))
    rows = []
    for (task, name, kind), each in counts.items():
        answers = {"plain": 1, "distracted": len(grid.TEST_DRAWS[task]) * (2 if task == "marked" else 1)}[kind] * len(
            each
        )
        right = " ".join(map(str, np.sum(each, axis=0)))
        rows.append({"task": task, "model": name, "kind": kind, "answers": answers, "right": right})
    return rows


def named(run: Run) -> str:
    return f"{run.task}, {run.model}, {run.variant}, split {run.split}, seed {run.seed}"


def unwritten(path: Path, error: OSError) -> str:
    return f"{path} cannot be written ({error.strerror}). What is finished is kept: make room, and run this again."


def leave_with(parent: int) -> None:
    """Let a worker end itself at Ctrl-C without a word, and when its parent was killed: nobody else would tell it."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(1))

    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.results", description="Run the experiments of lab 11.")
    parser.add_argument("--seeds", type=int, help="so many seeds at most; needs --into")
    parser.add_argument("--only", help="runs whose task, model or variant contains this text; needs --into")
    parser.add_argument("--into", type=Path, help="a folder for lines and table, in place of the course's own")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, each on a core of its own")
    chosen = parser.parse_args()
    if (chosen.only or chosen.seeds) and not chosen.into:
        parser.error("--only and --seeds make a part of the table, which must not replace the whole: add --into FOLDER")
    lines, table = (chosen.into / "lines.jsonl", chosen.into / "table.json") if chosen.into else (LINES, TABLE)
    runs = [run for run in all_runs(chosen.seeds) if (chosen.only or "") in named(run)]
    if not runs:
        parser.error("no such run; their tasks, models and variants stand at the top of this file")

    mark = made_by()
    results = finished(lines, mark)
    missing = [run for run in runs if run not in results]
    print(f"{len(runs)} runs, {len(runs) - len(missing)} of them done before.", flush=True)
    os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE="1")  # a core for each run
    spawn = multiprocessing.get_context("spawn")  # new processes, which read those settings
    with ProcessPoolExecutor(chosen.jobs, spawn, initializer=leave_with, initargs=(os.getpid(),)) as pool:
        waiting = {pool.submit(grid.perform, run): run for run in missing}
        for number, future in enumerate(as_completed(waiting), 1):
            run, result = waiting[future], future.result()
            try:
                append(lines, result | {"made_by": mark})
            except OSError as error:
                pool.shutdown(wait=False, cancel_futures=True)
                sys.exit(unwritten(lines, error))
            results[run] = result
            print(f"{number:4} of {len(missing)}  {named(run)}: ", end="")
            print(f"plain {result['plain']:.3f}, distracted {result['distracted']:.3f}", flush=True)
    try:
        write_table(table, {run: results[run] for run in runs})
    except OSError as error:
        sys.exit(unwritten(table, error))
    print(f"The table is {table}.")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nStopped. What is finished is kept; run it again to go on.")

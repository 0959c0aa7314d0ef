"""Runs the grid of lab 11 and writes the table that the lab reads, shared/does_it_help.json.

The rule: each finished run is one line of _build/results.jsonl with a digest, so the tool may be stopped at any moment,
even by a power cut, and goes on where it was. A damaged line is run again, and so is one made by other code or other
versions. The table is written in one step when no run is missing. Which runs there are changes no figure, so more seeds
or another row leave the finished lines as they are; and the runs of a stored table that the code and the versions here
would make again are not run again.

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
from experiments.table import TABLE, digest, fingerprint, made_by, versions, why_stale

LINES = record.ROOT / "_build/results.jsonl"

# Task, model, variant; seeds on the course's split, and on each of two others. A run of the last two takes minutes.
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
    ("marked", "GRU", AS_TAUGHT, 3, 0),
    ("marked", "encoder", AS_TAUGHT, 1, 0),
]


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
            results[run_of(result)] = result
    return results


def run_of(result: dict) -> Run:
    return Run(*(result[name] for name in ("task", "model", "variant", "split", "seed")))


def stored(table: Path, runs: list[Run]) -> tuple[dict[Run, dict], list[dict]]:
    """The results of a table and its counts by review; nothing when it is stale or has runs that nobody asked for."""
    if not table.exists() or why_stale(table):
        return {}, []
    content = record.read(table)
    results = {run_of(result): result for result in content["results"]}
    return (results, content["reviews"]) if results.keys() <= set(runs) else ({}, [])


def append(lines: Path, result: dict) -> None:
    """Add one line, with its digest, and wait until the disk has it."""
    lines.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result)
    with lines.open("ab") as file:
        file.write(f"{text} {digest(text)}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def write_table(table: Path, results: dict[Run, dict], reviews: list[dict]) -> None:
    """Write the table in one step, in the order of the runs' names; what is kept of an earlier table stays in it."""
    content = {
        "command": "make results",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, one thread a run",
        "versions": {"python": platform.python_version()} | versions(),
        "data": grid.prepared("quick", grid.data.REVIEW_TOKENS).reviews.citation,
        "made_by": fingerprint(),
        "results": [{name: results[run][name] for name in results[run] if name != "right"} for run in sorted(results)],
        "reviews": reviews,
        "earlier": record.read(TABLE)["earlier"],
    }
    record.write(table, content)


def judged_right(results: dict[Run, dict], before: list[dict]) -> list[dict]:
    """For each model as taught, on the course's split: how many of all answers were right, review by review.

    What stands in `before`, the same from other runs, is added to it.
    """
    found = {
        (row["task"], row["model"], row["kind"]): (row["answers"], np.array(row["right"].split(), dtype=int))
        for row in before
    }
    for run, result in sorted(results.items()):
        draws = len(grid.TEST_DRAWS[run.task]) * (2 if run.task == "marked" else 1)
        for kind, digits in result.get("right", {}).items():
            answers, right = found.get((run.task, run.model, kind), (0, 0))
            answers += 1 if kind == "plain" else draws
            found[run.task, run.model, kind] = answers, right + np.array(list(digits), dtype=int)
    rows = sorted(found.items(), key=lambda item: item[0][:2])
    return [
        {"task": task, "model": name, "kind": kind, "answers": answers, "right": " ".join(map(str, right))}
        for (task, name, kind), (answers, right) in rows
    ]


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
    kept, reviews = stored(table, runs)
    results = {run: result for run, result in finished(lines, mark).items() if run not in kept}
    missing = [run for run in runs if run not in kept | results]
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
        new = {run: results[run] for run in runs if run not in kept}
        write_table(table, kept | new, judged_right(new, reviews))
    except OSError as error:
        sys.exit(unwritten(table, error))
    print(f"The table is {table}.")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nStopped. What is finished is kept; run it again to go on.")

"""Runs the grid of lab 11 and writes the table that the lab reads, shared/does_it_help.json.

The rule: each finished run is put down at once, in _build/results.json, so the tool may be stopped at any moment and
goes on where it was; what other code or other versions have made there is not used. The table is written in one step
when no run is missing. Which runs there are changes no figure, so more seeds or another row leave the finished runs as
they are. Of a stored table made by other code or other versions the first seed of each row is run again on each split;
where its figures come out the same to the digit, the row's other runs stay. All runs of a row are thus of one kind of
machine.

    python -m experiments.results                                       # everything: `make results`
    python -m experiments.results --part "marked, mean pooling" some    # a part, into the folder `some`
"""

import argparse
import multiprocessing
import os
import platform
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from experiments import grid, record
from experiments.grid import AS_TAUGHT, Run
from experiments.stale import TABLE, fingerprint, made_by, versions, why_stale

FINISHED = record.ROOT / "_build/results.json"

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
    ("marked", "GRU", AS_TAUGHT, 5, 0),
    ("marked", "encoder", AS_TAUGHT, 5, 0),
]


def all_runs() -> list[Run]:
    """Every run, those of the first seed first, so that a stopped grid has looked at everything once."""
    runs = [
        Run(task, name, variant, split, seed)
        for task, name, variant, *numbers in ROWS
        for split, number in enumerate([numbers[0], numbers[1], numbers[1]])
        for seed in range(number)
    ]
    return sorted(runs, key=lambda run: run.seed)


def run_of(result: dict) -> Run:
    return Run(*(result[name] for name in ("task", "model", "variant", "split", "seed")))


def finished(path: Path) -> dict[Run, dict]:
    """The results in a file that the code and the versions here have put down."""
    content = record.read(path)
    results = content["results"] if content.get("made_by") == made_by() else []
    return {run_of(result): result for result in results}


def stored(table: Path, runs: list[Run], again: dict[Run, dict]) -> tuple[dict[Run, dict], list[dict]]:
    """The results of a table and its counts by review, where they may stay; nothing where they may not.

    They stay when the code and the versions here made them. Else a row stays when its first seed, and whatever else of
    it is in `again`, made here, has the stored figures to the digit. Nothing stays of a table with runs that nobody
    asked for.
    """
    content = record.read(table)
    results = {run_of(result): result for result in content.get("results", [])}
    if not results or not results.keys() <= set(runs):
        return {}, []
    if why_stale(table):
        looked_at = {run for run in results if run.seed == 0 or run in again}
        if not looked_at <= again.keys():
            return {}, []
        differ = {row_of(run) for run in looked_at if figures(again[run]) != figures(results[run])}
        results = {run: result for run, result in results.items() if row_of(run) not in differ}
        content["reviews"] = [r for r in content["reviews"] if (r["task"], r["model"], AS_TAUGHT) not in differ]
    return results, content["reviews"]


def row_of(run: Run) -> tuple[str, str, str]:
    return run.task, run.model, run.variant


def figures(result: dict) -> dict:
    """What a run found, without what differs from day to day and what the table leaves out."""
    return {name: value for name, value in result.items() if name not in ("cpu_seconds", "right")}


def write_table(table: Path, code: str, results: dict[Run, dict], reviews: list[dict]) -> None:
    """Write the table in one step, in the order of the runs' names; what is kept of an earlier table stays in it."""
    content = {
        "command": "make results",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, one thread a run",
        "versions": {"python": platform.python_version()} | versions(),
        "data": grid.prepared().citation,
        "made_by": code,
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


def leave_with_parent() -> None:
    """Let a worker end itself when its parent was killed: nobody else would tell it."""

    def watch():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.results", description="Run the experiments of lab 11.")
    parser.add_argument("--part", nargs=2, metavar=("TEXT", "FOLDER"), help="runs named so, in a folder of their own")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, each on a core of its own")
    chosen = parser.parse_args()
    text, folder = chosen.part or ("", None)
    path, table = (Path(folder, "results.json"), Path(folder, "table.json")) if chosen.part else (FINISHED, TABLE)
    runs = [run for run in all_runs() if text in str(run)]
    if not runs:
        parser.error("no such run; their tasks, models and variants stand at the top of this file")

    mark, code = made_by(), fingerprint()  # of what runs from here on, whatever is edited meanwhile
    results = finished(path)
    done = results.keys() | stored(table, runs, results)[0].keys()
    print(f"{len(runs)} runs, {len(done)} of them done before.", flush=True)
    os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE="1")  # a core for each run
    spawn = multiprocessing.get_context("spawn")  # new processes, which read those settings
    with ProcessPoolExecutor(chosen.jobs, spawn, initializer=leave_with_parent) as pool:

        def make(missing: list[Run]) -> None:
            usual = signal.signal(signal.SIGINT, signal.SIG_IGN)  # workers keep that from their first line on
            waiting = {pool.submit(grid.perform, run): run for run in missing}
            signal.signal(signal.SIGINT, usual)
            for number, future in enumerate(as_completed(waiting), 1):
                run, results[waiting[future]] = waiting[future], future.result()
                record.write(path, {"made_by": mark, "results": list(results.values())})
                print(f"{number:4} of {len(missing)}  {run}: ", end="")
                print("plain {plain:.3f}, distracted {distracted:.3f}".format(**results[run]), flush=True)

        try:
            for part in ([run for run in runs if run.seed == 0], runs):
                kept, reviews = stored(table, runs, results)
                make([run for run in part if run not in kept | results])
        except BaseException:
            for worker in multiprocessing.active_children():  # after Ctrl-C, or on a full disk, nobody waits for them
                worker.kill()
            raise
    new = {run: results[run] for run in runs if run not in kept}
    write_table(table, code, kept | new, judged_right(new, reviews))
    print(f"The table is {table}.")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nStopped. What is finished is kept; run it again to go on.")

"""Trains what the table of *Does it help?* compares, and writes it: shared/does_it_help.json.

Each finished run is stored at once in _build/results.json, so the script may be stopped and continues where it was.
When code or package versions have changed since the table was made, the first seed of each row is run again, on each
split: a row whose results are the same to the digit keeps its other runs, and all runs of the others are repeated.

    python -m experiments.table            # `make results`: 25 minutes on two cores where every row changes
    python -m experiments.table --stale    # only whether the table is stale: end of `make book` and `make test`
"""

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import joblib
import numpy as np

from experiments import record, table_runs
from experiments.table_runs import STANDARD, Run

FINISHED = record.ROOT / "_build/results.json"
TABLE = record.ROOT / "shared/does_it_help.json"  # in the package, because Colab has no other folder of the course
PACKAGES = ("torch", "numpy", "scikit-learn")

# Task, model, variant; seeds on the course's split, and on each of two others. A run of the last two takes minutes.
QUERIES = (
    "attention pooling",
    "marker query",
    "marker query, constant query",
    "2 constant queries",
    "4 constant queries",
)
ROWS = [
    *(("marked", name, STANDARD, 20, 5) for name in (*QUERIES, "mean pooling")),
    ("marked", "marker query", "no positions", 20, 5),
    ("marked", "TF-IDF", STANDARD, 5, 5),
    *(("front", name, STANDARD, 10, 0) for name in ("mean pooling", "attention pooling")),
    *(
        ("front", name, STANDARD, 5, 0)
        for name in ("TF-IDF", "keys and one query", "self-attention without values", "self-attention")
    ),
    *(("marked", name, STANDARD, 5, 0) for name in ("CNN", "self-attention", "GRU", "encoder")),
]


def all_runs() -> list[Run]:
    """Every run, in the order of seeds, so that a table stopped half-way has seen each row."""
    runs = [
        Run(task, name, variant, split, seed)
        for task, name, variant, *numbers in ROWS
        for split, number in enumerate([numbers[0], numbers[1], numbers[1]])
        for seed in range(number)
    ]
    return sorted(runs, key=lambda run: run.seed)


def code() -> str:
    """A digest of the code that the table's values depend on."""
    return record.digest([*sorted(record.ROOT.glob("shared/*.py")), record.HERE / "table_runs.py"])


def versions() -> dict[str, str]:
    """The packages that the table's values depend on, without the build's suffix, as in `+cpu`."""
    return {package: version(package).partition("+")[0] for package in PACKAGES}


def provenance(code: str, versions: dict[str, str]) -> str:
    """What runs are made by: code and versions."""
    return ", ".join([code, *(f"{package} {versions[package]}" for package in PACKAGES)])


def why_stale(table: Path) -> str:
    """A sentence when other code or other versions made the stored table; an empty text when they are the same."""
    stored = record.read(table)
    there, here = provenance(stored["made_by"], stored["versions"]), provenance(code(), versions())
    sentence = (
        f"{table.name}, the table of *Does it help?*, was made by other code or versions ({there}; here {here}): its "
        "values may have changed. `make results` repeats the first seed of each row, and all of a row that differs.\n"
    )
    return sentence if there != here else ""


def run_of(result: dict) -> Run:
    return Run(*(result[name] for name in ("task", "model", "variant", "split", "seed")))


def row_of(run: Run) -> tuple[str, str, str]:
    return run.task, run.model, run.variant


def finished_runs(path: Path) -> dict[Run, dict]:
    """The stored results of a stopped table, where the same code and versions have made them."""
    stored = record.read(path)
    results = stored["results"] if stored.get("made_by") == provenance(code(), versions()) else []
    return {run_of(result): result for result in results}


def train(runs: list[Run], results: dict[Run, dict], path: Path, jobs: int) -> None:
    """Do those of the runs that have no result yet, some at a time, and store each result as soon as it is there."""
    missing, made_by = [run for run in runs if run not in results], provenance(code(), versions())
    os.environ["TQDM_DISABLE"] = "1"
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        calls = (joblib.delayed(table_runs.train_and_measure)(run) for run in missing)
        for number, result in enumerate(joblib.Parallel(jobs, return_as="generator_unordered")(calls), 1):
            results[run_of(result)] = result
            record.write(path, {"made_by": made_by, "results": list(results.values())})
            print(f"{number:4} of {len(missing)}  {run_of(result)}: distracted {result['distracted']:.3f}", flush=True)


def unchanged_rows(stored: dict[Run, dict], runs: list[Run], results: dict[Run, dict]) -> set[tuple[str, str, str]]:
    """The rows that are stored whole and whose repeated runs, those in `results`, agree with the stored ones."""

    def values(result: dict) -> dict:
        return {name: value for name, value in result.items() if name not in ("cpu_seconds", "right")}

    repeated = {run for run in runs if run in results and run in stored}
    changed = {run for run in repeated if values(results[run]) != values(stored[run])}
    changed |= {run for run in runs if run not in stored}
    return {row_of(run) for run in runs} - {row_of(run) for run in changed}


def right_by_review(results: dict[Run, dict]) -> list[dict]:
    """For each model and kind of example, on the course's split: how many answers were right, review by review."""
    counts = {}
    for run, result in sorted(results.items()):
        draws = len(table_runs.TEST_DRAWS[run.task]) * (2 if run.task == "marked" else 1)
        for kind, digits in result.get("right", {}).items():
            answers, right = counts.get((run.task, run.model, kind), (0, 0))
            answers += 1 if kind == "plain" else draws
            counts[run.task, run.model, kind] = answers, right + np.array(list(digits), dtype=int)
    return [
        {"task": task, "model": name, "kind": kind, "answers": answers, "right": " ".join(map(str, right))}
        for (task, name, kind), (answers, right) in counts.items()
    ]


def make_table(runs: list[Run], path: Path, table: Path, jobs: int) -> None:
    """Train what is missing or may have changed, and write the table in one step."""
    before, results, made_by = record.read(table), finished_runs(path), code()
    stored = {run_of(result): result for result in before.get("results", [])}
    if before and why_stale(table):
        train([run for run in runs if run.seed == 0], results, path, jobs)
    rows = unchanged_rows(stored, runs, results)
    train([run for run in runs if row_of(run) not in rows], results, path, jobs)
    chosen = {run: stored[run] if row_of(run) in rows else results[run] for run in sorted(runs)}
    reviews = [row for row in before.get("reviews", []) if (row["task"], row["model"], STANDARD) in rows]
    reviews += right_by_review({run: result for run, result in chosen.items() if row_of(run) not in rows})
    content = {
        "command": "make results",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, one thread a run",
        "versions": {"python": platform.python_version()} | versions(),
        "data": table_runs.prepared().citation,
        "made_by": made_by,
        "results": [{name: value for name, value in result.items() if name != "right"} for result in chosen.values()],
        "reviews": sorted(reviews, key=lambda row: (row["task"], row["model"])),
        "earlier": before.get("earlier", {}),
    }
    record.write(table, content)
    print(f"{len(rows)} rows are as they were; the table is {table}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m experiments.table", description="Make the table of Does it help?")
    parser.add_argument("--jobs", type=int, default=-1, help="runs at a time, one thread each; -1: one for each core")
    parser.add_argument("--stale", action="store_true", help="only print a sentence when the stored table is stale")
    chosen = parser.parse_args()
    try:
        print(end=why_stale(TABLE)) if chosen.stale else make_table(all_runs(), FINISHED, TABLE, chosen.jobs)
    except KeyboardInterrupt:
        sys.exit("\nStopped. The finished runs are stored; run it again to continue.")

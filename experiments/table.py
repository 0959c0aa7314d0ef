"""Trains what *Does it help?* and other labs compare, and writes it: shared/does_it_help.json.

Each finished run is stored at once in _build/results, so the script may be stopped and continues where it was.

    python -m experiments.table            # `make results`: an hour on two cores
    python -m experiments.table --stale    # only whether the table is stale: end of `make book` and `make test`
"""

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import joblib
import numpy as np

from experiments import table_runs
from experiments.table_runs import Run
from shared import record
from tools import digests

FINISHED = record.ROOT / "_build/results"
TABLE = record.ROOT / "shared/does_it_help.json"  # in the package, because Colab has no other folder of the course
PACKAGES = ("torch", "numpy")

ROWS = [  # task, model, number of seeds
    ("front", "mean pooling", 10),
    ("front", "attention pooling", 10),
    ("front", "keys and one query", 5),
    ("front", "self-attention without values", 5),
    ("front", "self-attention", 10),
    ("marked", "attention pooling", 5),
    ("marked", "2 constant queries", 5),
    ("marked", "marker query", 5),
    ("marked", "block at the marker", 5),
    ("marked", "encoder", 5),
]


def all_runs() -> list[Run]:
    """Every run."""
    return sorted(Run(task, name, seed) for task, name, number in ROWS for seed in range(number))


def made_by() -> str:
    """A digest of the code that the table's values depend on, and the versions of packages."""
    files = [*sorted(record.ROOT.glob("shared/*.py")), Path(table_runs.__file__)]
    code = digests.digest("\n".join(digests.code(path.read_text("utf-8")) for path in files))
    # Without the build's suffix, as in `+cpu`.
    return ", ".join([code, *(f"{package} {version(package).partition('+')[0]}" for package in PACKAGES)])


def why_stale(table: Path) -> str:
    """A sentence when other code or other versions made the stored table; an empty text when they are the same."""
    there, here = record.read(table)["made_by"], made_by()
    sentence = (
        f"{table.name}, the table of *Does it help?*, was made by other code or versions ({there}; here {here}): its "
        "values may have changed. `make results` trains all of it again.\n"
    )
    return sentence if there != here else ""


def right_by_review(results: list[dict]) -> list[dict]:
    """For each model and kind of example: how many answers there were to each test review, and how many were right."""
    rows: dict[tuple[str, str, str], list[np.ndarray]] = {}
    for result in results:
        for kind, digits in result["right"].items():
            rows.setdefault((result["task"], result["model"], kind), []).append(np.array(list(digits), dtype=int))
    answers = {("front", "plain"): 1, ("front", "distracted"): 3, ("marked", "plain"): 1, ("marked", "distracted"): 6}
    return [
        {
            "task": task, "model": name, "kind": kind, "answers": len(counts) * answers[task, kind],
            "right": " ".join(map(str, sum(counts))),
        }
        for (task, name, kind), counts in rows.items()
    ]  # fmt: skip


def without_digits(result: dict) -> dict:
    """A result, or an epoch of it, without the digits for each review, which `right_by_review` adds up."""
    return {name: value for name, value in result.items() if name != "right"}


def make_table(runs: list[Run], finished: Path, table: Path, jobs: int = -1) -> None:
    """Do the runs, some at a time (-1: one for each core), and write the table in one step.

    Each run is stored as soon as it ends, and what the same code has finished before is not repeated.
    """
    os.environ["TQDM_DISABLE"] = "1"
    store = finished / made_by().replace(", ", "-").replace(" ", "-")
    run = joblib.Memory(store, verbose=0).cache(table_runs.train_and_measure)
    results = []
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        for result in joblib.Parallel(jobs, return_as="generator")(joblib.delayed(run)(each) for each in runs):
            print(f"{runs[len(results)]}: distracted {result['distracted']:.3f}", flush=True)
            results.append(result)
    content = {
        "command": "make results",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, one thread a run",
        "data": table_runs.prepared().citation,
        "made_by": made_by(),
        "results": [without_digits(one) | {"epochs": [*map(without_digits, one["epochs"])]} for one in results],
        "reviews": right_by_review(results),
        "earlier": record.read(table).get("earlier", {}),
    }
    record.write(table, content)


if __name__ == "__main__":
    if "--stale" in sys.argv:
        print(end=why_stale(TABLE))
    else:
        make_table(all_runs(), FINISHED, TABLE)

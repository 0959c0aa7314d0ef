"""Stored runs of the models on reviews, put together for *Does it help?*.

`front` is the task of *Recap: attention*, an unrelated review before the one that counts; `marked` is that of *A
question from the text*. The runs come from does_it_help.json, and from marked_reviews.json where models were trained
longer or with more seeds.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("does_it_help.json")
LONGER = Path(__file__).with_name("marked_reviews.json")


@cache
def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


@dataclass(frozen=True)
class Runs:
    """All runs of one model on one kind of example, in the order of their seeds.

    accuracy: (seeds,). draws: (seeds, 3), on each draw of distractors; all equal for reviews alone. by_review:
    (reviews,), the fraction of right answers to each test review, over all runs.
    """

    accuracy: np.ndarray
    draws: np.ndarray
    by_review: np.ndarray


def runs(task: str, name: str, kind: str = "distracted") -> Runs:
    """The runs of a model as taught, on the course's split.

    Args:
        kind: `distracted` for pairs, `plain` for reviews alone.

    Raises:
        ValueError: no such run.
    """
    found: list[dict] = []
    right, answers = np.zeros(1, dtype=int), 0  # (1,), then (reviews,)
    longer = list(read(LONGER)[task].values())
    if task == "front":
        wanted = {"task": task, "model": name, "variant": "as taught", "split": 0}
        found += [run for run in read(TABLE)["results"] if wanted.items() <= run.items()]
        for row in read(TABLE)["reviews"]:
            if (row["task"], row["model"], row["kind"]) == (task, name, kind):
                right, answers = np.array(row["right"].split(), dtype=int), row["answers"]
    for run in (run for run in longer if run["model"] == name):
        found.append(run)
        right = right + np.array(list(run["right"][kind]), dtype=int)
        answers += 1 if kind == "plain" else (6 if task == "marked" else 3)
    if not found:
        raise ValueError(f"No stored run of {name!r} in {task!r}.")
    found.sort(key=lambda run: run["seed"])
    accuracy = np.array([run[kind] for run in found])
    draws = np.array([run["draws"] for run in found]) if kind == "distracted" else np.tile(accuracy[:, None], 3)
    return Runs(accuracy, draws, right / answers)


def marked_runs(name: str) -> list[dict]:
    """The runs of a model on marked pairs, in the order of their seeds: `plain`, `distracted`, `opposite`, `equal`.

    Raises:
        ValueError: no such run.
    """
    found = [run for run in read(LONGER)["marked"].values() if run["model"] == name]
    if name == "block, pooled by one query":  # five runs of four epochs, which is where the rule stops a longer one
        wanted = {"task": "marked", "model": "encoder", "variant": "as taught", "split": 0}
        found = [run for run in read(TABLE)["results"] if wanted.items() <= run.items()]
    if not found:
        raise ValueError(f"No stored run of {name!r} on marked pairs.")
    return sorted(found, key=lambda run: run["seed"])


def earlier_ablations() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Earlier runs of the first task with one change each, and the same model without it: (seeds,) and (seeds,)."""
    rows: dict[tuple[str, str], list[float]] = {}
    for run in read(TABLE)["earlier"]["results"]:
        rows.setdefault((run["model"], run["variant"]), []).append(run["distracted"])
    found = {}
    for (name, variant), values in rows.items():
        if variant != "as taught" and not variant.startswith("all reviews") and (name, "as taught") in rows:
            found[f"{name}: {variant}"] = np.array(values), np.array(rows[name, "as taught"])
    return found

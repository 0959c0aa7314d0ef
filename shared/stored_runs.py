"""Stored runs of the models on reviews (*Does it help?*), and what a difference shows.

`front` is the task of *Recap: attention*, an unrelated review before the one that counts; `marked`
is that of *A question from the text*. `experiments/table.py` made the runs.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("does_it_help.json")


def verdict(difference: float, half: float, margin: float) -> str:
    """What the interval from difference - half to difference + half shows.

    "higher" or "lower": all of it is above zero, or below; the sign is asked first. "practically
    equal": zero is in it, and all of it is within the margin on both sides of zero. Else
    "undecided".
    """
    if difference - half > 0:
        return "higher"
    if difference + half < 0:
        return "lower"
    return "practically equal" if abs(difference) + half < margin else "undecided"


@cache
def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


@dataclass(frozen=True)
class Runs:
    """All runs of one model on one kind of example, in the order of their seeds.

    accuracy: (seeds,). draws: (seeds, 3), on each draw of distractors; all equal for reviews alone.
        by_review: (reviews,), the fraction of right answers to each test review, over all runs.
    """

    accuracy: np.ndarray
    draws: np.ndarray
    by_review: np.ndarray


def runs(task: str, name: str, kind: str = "distracted") -> Runs:
    """The runs of a model.

    Args:
        kind: `distracted` for pairs, `plain` for reviews alone.
    """
    found = _runs(task, name)
    accuracy = np.array([run[kind] for run in found])
    alone = kind == "plain"
    draws = np.array([3 * [run["plain"]] if alone else run["draws"] for run in found])
    rows = {(row["task"], row["model"], row["kind"]): row for row in read(TABLE)["reviews"]}
    row = rows[task, name, kind]
    return Runs(accuracy, draws, np.array(row["right"].split(), dtype=int) / row["answers"])


def marked_runs(name: str) -> list[dict]:
    """The runs of a model on marked pairs, in the order of their seeds.

    Each run has its accuracies, `plain`, `distracted`, `opposite` and `equal`, twice: after every
    epoch, in `epochs`, and of the epoch with the highest validation accuracy, `best_epoch`.
    """
    return _runs("marked", "encoder" if name == "block, pooled by one query" else name)


def _runs(task: str, name: str) -> list[dict]:
    """The stored runs of a model, in the order of their seeds."""
    found = [run for run in read(TABLE)["results"] if (run["task"], run["model"]) == (task, name)]
    if not found:
        raise ValueError(f"No stored run of {name!r} in {task!r}.")
    return sorted(found, key=lambda run: run["seed"])

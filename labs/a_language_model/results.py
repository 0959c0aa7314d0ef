"""What the stored runs found, put together for the lab's pictures."""

import json
from importlib import resources

import numpy as np

from labs.a_language_model.stages import CONTROLS, STAGES
from shared.comparisons import verdict
from shared.statistics import mean_and_interval

STORED = json.loads(resources.files("labs.a_language_model").joinpath("runs.json").read_text("utf-8"))
WHOLE = list(STAGES)[-1]
WRITER = json.loads(resources.files("shared").joinpath("review_writer.json").read_text("utf-8"))["test"]


def runs_of(name: str) -> list[dict]:
    """The runs of one model, a seed each."""
    return [run for key, run in STORED.items() if key.startswith(f"{name}, seed ")]


def losses(name: str) -> np.ndarray:
    """The loss on test texts of each seed, (seeds,)."""
    return np.array([run["loss"][0] for run in runs_of(name)])


def complete() -> bool:
    """Whether all runs are there; until then nothing is claimed of them."""
    return all(len(runs_of(name)) == 3 for name in (*STAGES, *CONTROLS))


def mean_curve(name: str) -> np.ndarray:
    """The loss on validation texts over training, the mean of the seeds, (points, 2)."""
    return np.mean([run["curve"] for run in runs_of(name)], axis=0)


def on_the_notepad(number: str) -> dict[str, list[float]]:
    """A number of each stage on the waiter's notepad, "loss" or "drinks": one for each seed."""
    found: dict[str, list[float]] = {}
    for key, run in STORED.items():
        if key.startswith("notepad: ") and "seed" in run:
            found.setdefault(run["notepad"], []).append(run[number])
    return found


def gains() -> dict[str, list]:
    """What each stage gains over the one before, in nats on test texts."""
    return {after: _gain(before, after) for before, after in zip(STAGES, list(STAGES)[1:], strict=False)}


def changes() -> dict[str, list]:
    """What the last stage gains by one change, of those with two seeds or more."""
    return {name: _gain(WHOLE, name) for name in CONTROLS if len(runs_of(name)) > 1}


def _gain(before: str, after: str) -> list:
    """The mean over seeds, half of its 95% interval, and what that shows."""
    pairs = list(zip(losses(before), losses(after), strict=False))  # of seeds that both have
    mean, half = mean_and_interval([first - second for first, second in pairs])
    words = {"higher": "pays", "lower": "costs"}
    return [round(mean, 3), round(half, 3), words.get(verdict(mean, half, 0), "undecided")]

"""What the stored runs found, put together for the lab's pictures."""

import json
from importlib import resources
from itertools import pairwise

import numpy as np

from labs.a_language_model.stages import BEST, CONTROLS, FURTHER, STAGES
from shared.intervals import mean_and_interval
from shared.stored_runs import verdict

STORED = json.loads(resources.files("labs.a_language_model").joinpath("runs.json").read_text("utf-8"))
WRITER = json.loads(resources.files("shared").joinpath("review_writer.json").read_text("utf-8"))["test"]


def runs_of(name: str) -> list[dict]:
    """The runs of one model, a seed each."""
    return [run for key, run in STORED.items() if key.startswith(f"{name}, seed ")]


PARTS = list(STAGES)[:6]  # the stages with one part more each
LONGER = list(STAGES)[6:]  # those without a new part
BY_HEART = {  # passes through the training text; the last makes 20
    "10 passes": "+ larger",
    "20 passes": "twice as long",
    "20 passes, dropout": "with dropout, twice as long",
}
LARGER = {  # the larger model's runs, and what each is
    "+ larger": "larger, 10 passes",
    "twice as long": "larger, 20 passes",
    "with dropout": "larger, 10 passes, dropout",
    BEST: "larger, 20 passes, dropout",
    "the same, second seed": "the same, second seed",
}
COMPARED = [*LONGER, *FURTHER]  # with counting
CHANGED = PARTS[-1]  # what the controls change


def losses(name: str) -> np.ndarray:
    """The loss on test texts of each seed, (seeds,)."""
    return np.array([run["loss"][0] for run in runs_of(name)])


def mean_curve(name: str) -> np.ndarray:
    """The loss on validation texts after so many million tokens, the mean of the seeds, (points, 2)."""
    return np.mean([run["curve"] for run in runs_of(name)], axis=0) * [1e-6, 1]


def on_the_notepad(number: str) -> dict[str, list[float]]:
    """A number of each stage on the waiter's notepad, "loss" or "drinks": one for each seed."""
    found: dict[str, list[float]] = {}
    for key, run in STORED.items():
        if key.startswith("notepad: ") and "seed" in run:
            found.setdefault(run["notepad"], []).append(run[number])
    return found


def gains() -> dict[str, list]:
    """What each part gains over the stage before, in nats on test texts; the last once more with a longer training."""
    again = {"… trained longer": _gain("16 tokens in sight", "+ longer training")}
    return {after: _gain(before, after) for before, after in pairwise(PARTS)} | again


def with_gains() -> dict[str, np.ndarray]:
    """The losses of each stage with one part more, by its name and what the part gains."""
    found = gains()
    notes = {stage: f": gain {found[stage][0]:.3f}".replace("-", "−") for stage in found}
    return {stage + notes.get(stage, ""): losses(stage) for stage in PARTS}


def leads() -> dict[str, list[float]]:
    """How far each model is ahead of counting, in nats, and half of the 95% interval over test texts."""
    found = {name: runs_of(name)[0]["counting minus model"] for name in COMPARED}
    return found | {"the same, second seed": runs_of(BEST)[1]["counting minus model"]}


def larger_and_counting() -> dict[str, list[float]]:
    """How far each run of the larger model and the course's own model are ahead of counting, as in `leads`."""
    found = {name: lead for name, lead in leads().items() if name in LARGER}
    return {LARGER[name]: lead for name, lead in found.items()} | {
        "the course's own model": WRITER["best counting minus model"]
    }


def changes() -> dict[str, float]:
    """What a stage gains by one change, in nats on test texts, with the one seed of the controls."""
    return {name: _gain(CHANGED, name)[0] for name in CONTROLS}


def _gain(before: str, after: str) -> list:
    """The mean over seeds, half of its 95% interval, and what that shows; one seed has no interval."""
    by_seed = [{run["seed"]: run["loss"][0] for run in runs_of(name)} for name in (before, after)]
    found = [by_seed[0][seed] - by_seed[1][seed] for seed in by_seed[0] if seed in by_seed[1]]
    if len(found) == 1:
        return [round(found[0], 3), "one seed", "a hint"]
    mean, half = mean_and_interval(found)
    words = {"higher": "pays", "lower": "costs"}
    return [round(mean, 3), round(half, 3), words.get(verdict(mean, half, 0), "undecided")]

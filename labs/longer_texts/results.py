"""The stored runs of *Longer texts*, by model and test."""

import json
from collections.abc import Sequence
from importlib import resources

import numpy as np
import pandas as pd

from labs.longer_texts.language_models import ENCODINGS
from labs.longer_texts.reviews_as_tokens import STEP
from shared.intervals import mean_and_interval

STORED = json.loads(resources.files("labs.longer_texts").joinpath("runs.json").read_text("utf-8"))
RUNS = [run for run in STORED.values() if "encoding" in run]
FURTHER = [run for run in STORED.values() if "further" in run]


def losses(encoding: str, test: str) -> np.ndarray:
    """The loss of an encoding in a test, (seeds,)."""
    return np.array([run["loss"][test] for run in RUNS if run["encoding"] == encoding])


def further_losses(factor: int) -> np.ndarray:
    """The loss on long texts of rotary models trained further with positions divided by `factor`, (seeds,)."""
    return np.array([run["loss"] for run in FURTHER if run["factor"] == factor])


def by_position(encoding: str) -> np.ndarray:
    """The loss of an encoding in each stretch of `STEP` positions, (seeds, stretches)."""
    return np.array([run["by position"] for run in RUNS if run["encoding"] == encoding])


def curve(numbers: np.ndarray) -> list[tuple[float, float]]:
    """A number for each stretch as points at the middle of each."""
    return [(STEP * (place + 0.5), number) for place, number in enumerate(np.asarray(numbers).tolist())]


def mean_curves() -> dict[str, list[tuple[float, float]]]:
    """The loss by position of each encoding, the mean of its seeds."""
    return {encoding: curve(by_position(encoding).mean(axis=0)) for encoding in ENCODINGS}


def by_gap() -> list[tuple[int, float]]:
    """The loss of rotary in the second half of a short text against how much later it begins, the mean of the seeds."""
    runs = [run["gaps"] for run in RUNS if run["encoding"] == "rotary"]
    return [(int(gap), float(np.mean([run[gap] for run in runs]))) for gap in runs[0]]


def crests(points: Sequence[tuple[float, float]], reach: float = 90) -> list[tuple[float, float]]:
    """The points (x, y) that are the highest of all as near as `reach` on either side."""
    (begin, *_, end), around = [x for x, _ in points], lambda x: [b for a, b in points if abs(a - x) <= reach]
    return [(x, y) for x, y in points if begin + reach <= x <= end - reach and y == max(around(x))]


def table(tests: dict[str, str]) -> pd.DataFrame:
    """A row for each test, by its name in the lab: the loss of each encoding, mean and 95% interval over seeds.

    What caps distances changes nothing for an encoding that knows none, so these cells are empty.
    """
    rows = {}
    for name, test in tests.items():
        known = ("rotary", "ALiBi") if test == "far is 63" else ENCODINGS
        texts = {
            encoding: "{:.2f} ± {:.2f}".format(*mean_and_interval(losses(encoding, test).tolist()))
            for encoding in known
        }
        rows[name] = {encoding: texts.get(encoding, "") for encoding in ENCODINGS}
    return pd.DataFrame(rows).T

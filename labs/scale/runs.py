"""Whether layers learn with scores of one size or another, with more seeds than the lab has time for.

A crowded café of 64 guests, where the size of the scores decides, and the café of eight, where it does not; both with
other learning rates, too. Fifteen minutes of one core. Writes runs.json, which the lab reads.

    python -m labs.scale.runs
"""

from functools import partial

import numpy as np
import torch

from labs.scale import crowd
from shared import record

RESULTS = record.ROOT / "labs/scale/runs.json"
SEEDS = range(3)
CROWD = {"guests": 64, "d_k": 256, "batch_size": 16, "unit": True}
OTHER_RATES = (0.001, 0.01, 0.03)  # Adam's, beside .003
GRADIENT_DESCENT = {"momentum": True, "rate": 0.3}
IN_THE_CROWD = {  # what differs
    "divided": {"scores": "divided"},
    "not divided": {"scores": "not divided"},
    "not divided, 1,500 steps": {"scores": "not divided", "steps": 1500},
    "four times the queries and keys": {"scores": "divided", "factor": 4.0},
    "four times, normalized": {"scores": "normalized", "factor": 4.0},
    "divided, PyTorch's initialization": {"scores": "divided", "unit": False, "steps": 300},
    "not divided, PyTorch's initialization": {"scores": "not divided", "unit": False, "steps": 300},
    "divided, gradient descent": {"scores": "divided"} | GRADIENT_DESCENT,
    "not divided, gradient descent": {"scores": "not divided"} | GRADIENT_DESCENT,
}
IN_THE_CAFE = {
    "PyTorch's initialization, d_k 16": {"d_k": 16},
    "PyTorch's initialization, d_k 1,024": {"d_k": 1024},
    "unit variance, d_k 256": {"d_k": 256, "unit": True},
    "unit variance, d_k 1,024": {"d_k": 1024, "unit": True},
}
IN_THE_CAFE |= {f"PyTorch's initialization, d_k 16, rate {rate}": {"d_k": 16, "rate": rate} for rate in OTHER_RATES}
IN_THE_CROWD |= {f"not divided, rate {rate}": {"scores": "not divided", "rate": rate} for rate in OTHER_RATES}
SETTINGS = {f"64 guests: {name}": CROWD | differs for name, differs in IN_THE_CROWD.items()} | {
    f"8 guests: {scores}, {name}": {"guests": 8, "batch_size": 32, "steps": 200, "scores": scores} | differs
    for name, differs in IN_THE_CAFE.items()
    for scores in ("divided", "not divided")
}


def accuracies(name: str) -> np.ndarray:
    """The stored accuracies of a setting before training and after every 50 steps, (seeds, measurements)."""
    stored = record.read(RESULTS)
    return np.array([stored[f"{name}, seed {seed}"] for seed in SEEDS])


def curves(name: str) -> np.ndarray:
    """The stored accuracies as points (steps, accuracy), (seeds, measurements, 2)."""
    return np.array([crowd.over_steps(of_seed) for of_seed in accuracies(name)])


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, given in SETTINGS.items():
        for seed in SEEDS:
            record.load_or_run(RESULTS, f"{name}, seed {seed}", partial(crowd.train, seed=seed, **given))

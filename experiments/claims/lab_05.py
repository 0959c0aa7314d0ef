"""What lab 5 says about constant queries, and the runs behind it that are too long for the lab.

python -m experiments.claims.lab_05 toy         # one part; all of them take some five minutes of one core
"""

import sys
from pathlib import Path

import numpy as np
import torch

from experiments import grid, record
from shared import data, model, training

FILE = Path(__file__).with_suffix(".json")
PAD, UNK, SEPARATOR, MARK = range(4)


def lengths() -> dict:
    """What the length of the first review tells about the order of two opposite labels: the bound of one query."""
    prepared = grid.prepared()
    found = {}
    for name in ("train", "test"):
        reviews = getattr(prepared, name)
        # An opposite pair's first review is any review; the second one's length tells a single query nothing.
        bins = np.minimum(reviews.lengths // 10, 12)
        counts = np.array([[np.sum((bins == b) & (reviews.labels == label)) for label in (0, 1)] for b in range(2, 13)])
        found[name] = {"likelier_label_by_length": round(float(counts.max(axis=1).sum() / counts.sum()), 4)}
        found[name]["bound_on_opposite"] = round(0.5 + 0.5 * found[name]["likelier_label_by_length"], 4)
    return found


def toy_reviews(count: int, seed: int) -> data.Split:
    """Reviews of 8 to 20 words, three of which say whether they praise; lengths tell nothing about labels."""
    random = np.random.default_rng(seed)
    labels, sizes = random.integers(0, 2, count), random.integers(8, 21, count)
    rows = []
    for label, size in zip(labels, sizes, strict=True):
        row = random.integers(24, 64, size)  # words that say nothing
        row[random.choice(size, 3, replace=False)] = random.integers(4 + 10 * label, 14 + 10 * label, 3)
        rows.append(row)
    return data.Split(np.concatenate(rows).astype(np.int32), np.cumsum([0, *sizes]), labels, range(64))


def toy(seeds: int = 5, epochs: int = 15) -> dict:
    """One, two and four constant queries and the mark's row, trained on toy reviews."""
    parts = [toy_reviews(count, seed) for seed, count in enumerate((4000, 500, 1000))]
    _, pairs = grid.example_makers("marked", SEPARATOR, MARK)
    tests = pairs(parts[2], 100)
    tests = tests + grid.swap_marks(tests)
    opposite = tests.labels != tests.reviews.labels[tests.distractor]
    makers = {f"{n} constant": lambda n=n: grid.ConstantQueries(64, n) for n in (1, 2, 4)}
    makers["mark's row"] = lambda: model.MarkedSelfAttentionClassifier(64, MARK)
    found = {}
    for name, make in makers.items():
        runs = []
        for seed in range(seeds):
            torch.manual_seed(seed)
            net = make()
            training.fit(
                net,
                lambda epoch, seed=seed: pairs(parts[0], 1000 * (seed + 1) + epoch),
                pairs(parts[1], 1),
                training.Recipe(epochs, 0.01, 64),
                seed,
            )
            result = training.evaluate(net, tests)
            right = (result.logits > 0) == result.labels
            runs.append({"all": right.mean(), "opposite": right[opposite].mean(), "equal": right[~opposite].mean()})
        found[name] = {kind: [round(float(run[kind]), 4) for run in runs] for kind in runs[0]}
        print(name, found[name], flush=True)
    return found


def longer(seeds: int = 1, epochs: int = 15) -> dict:
    """Two and four constant queries on the reviews, with nearly four times the epochs of the table."""
    grid.EPOCHS = epochs
    found = {}
    for name in ("2 constant queries", "4 constant queries"):
        runs = [grid.perform(grid.Run("marked", name, grid.AS_TAUGHT, 0, seed)) for seed in range(seeds)]
        found[name] = {kind: [run[kind] for run in runs] for kind in ("distracted", "opposite", "equal", "best_epoch")}
        print(name, found[name], flush=True)
    return found


PARTS = {"lengths": lengths, "toy": toy, "longer": longer}

if __name__ == "__main__":
    record.measure(FILE, "python -m experiments.claims.lab_05", PARTS, sys.argv[1:])

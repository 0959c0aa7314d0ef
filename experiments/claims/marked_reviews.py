"""Marked reviews, for two labs: each model is trained until its validation loss stops falling.

*A question from the text* and *Does it help?* read the results. A run ends when the validation loss has not fallen for
three epochs, or after ten; its model is that of the epoch with the highest validation accuracy, as in the table of
*Does it help?*. Data, recipe and tests are those of that table. The part "front" adds the seeds 5 to 9 of
self-attention on the first task, with the table's own rule.

    python -m experiments.claims.marked_reviews --jobs 2    # about an hour of one core; may be stopped and continues
"""

import argparse
import copy
import time
from dataclasses import replace

import joblib
import numpy as np
import torch
from torch import nn

from experiments import record, table_runs
from shared import comparisons, data, marked_pairs, training

RESULTS = comparisons.LONGER
PATIENCE, MOST_EPOCHS = 3, 10


MODELS = table_runs.MODELS | {"block at the marker": marked_pairs.BlockAtMarker}
SEEDS = {
    "attention pooling": 5,
    "marker query": 5,
    "block at the marker": 5,
    "2 constant queries": 5,
    "GRU": 3,
    "encoder": 1,  # its loss is lowest after the first epoch, so a run ends after four; the table has five such runs
}


class Stopped(Exception):
    """The validation loss has stopped falling."""


def train(net: nn.Module, make_examples, source: data.PreparedReviews, seed: int) -> list[dict]:
    """Train until the validation loss stops falling; the net has the best weights, and each epoch has a record."""
    epochs, best = [], {}

    def after_epoch(epoch):
        names = "train_loss", "validation_loss", "validation_accuracy"
        epochs.append({name: round(epoch[name], 4) for name in names})
        accuracies, losses = ([each[f"validation_{name}"] for each in epochs] for name in ("accuracy", "loss"))
        if accuracies[-1] == max(accuracies):
            best.update(copy.deepcopy(net.state_dict()))
        if len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
            raise Stopped

    try:
        recipe = replace(table_runs.RECIPE, epochs=MOST_EPOCHS)
        training.fit(
            net, lambda epoch: make_examples(source.train, 1000 * (seed + 1) + epoch),
            make_examples(source.validation, 1), recipe, seed, after_epoch=after_epoch,
        )  # fmt: skip
    except Stopped:
        pass
    net.load_state_dict(best)
    return epochs


def run_once(name: str, seed: int) -> dict:
    """Train and test one model, on the tests of the table."""
    torch.set_num_threads(1)
    source, run = table_runs.prepared(), table_runs.Run("marked", name, table_runs.STANDARD, 0, seed)
    separator, marker = source.vocabulary.id(data.SEPARATOR), source.vocabulary.id(data.MARKER)
    plain, distracted = table_runs.example_makers("marked", separator, marker)
    pairs = marked_pairs.test_pairs(source)
    tests = {"plain": plain(source.test, 0), "distracted": pairs + marked_pairs.swap_markers(pairs)}
    start = time.process_time()
    torch.manual_seed(seed)
    net = MODELS[name](len(source.vocabulary), marker)
    epochs = train(net, lambda reviews, draw: plain(reviews, draw) + distracted(reviews, draw), source, seed)
    predictions = {kind: (training.evaluate(net, some).logits > 0).astype(int) for kind, some in tests.items()}
    found = table_runs.accuracies(run, tests, predictions)
    return {"model": name, "seed": seed, **found, "epochs": epochs, "cpu_seconds": round(time.process_time() - start)}


def ten_seeds(name: str, seed: int) -> dict:
    """A run of the first task, as in the table."""
    return table_runs.train_and_measure(table_runs.Run("front", name, table_runs.STANDARD, 0, seed))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m experiments.claims.marked_reviews", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    jobs = parser.parse_args().jobs
    stored = record.read(RESULTS) or {
        "made_by": "python -m experiments.claims.marked_reviews",
        "about": record.about(),
        "rule": f"until the validation loss has not fallen for {PATIENCE} epochs, at most {MOST_EPOCHS}",
        "data": table_runs.prepared().citation,
        "marked": {},
        "front": {},
    }
    tasks = [("marked", run_once, name, seed) for name, seeds in SEEDS.items() for seed in range(seeds)]
    tasks[20:20] = [("front", ten_seeds, "self-attention", seed) for seed in range(5, 10)]
    missing = [task for task in tasks if f"{task[2]}, seed {task[3]}" not in stored[task[0]]]

    def one(part, function, name, seed):
        return part, f"{name}, seed {seed}", function(name, seed)

    with joblib.parallel_config("loky", inner_max_num_threads=1):
        calls = (joblib.delayed(one)(*task) for task in missing)
        for part, key, result in joblib.Parallel(jobs, return_as="generator_unordered")(calls):
            stored[part][key] = result
            record.write(RESULTS, stored)
            print(part, key, result["distracted"], result["opposite"], flush=True)

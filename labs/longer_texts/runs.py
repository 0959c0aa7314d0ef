"""Language models with five positional encodings, trained on windows of 64 tokens, five seeds each.

Measured on windows of 512: the loss at each position; and, for the tokens in the second half of these windows, with
what is new in a longer text taken away. The rotary ones are trained a little further, with and without position
interpolation. 25 minutes of one core. Trained models are in _build/longer_texts, and each result is stored when it is
there, so a stopped script continues. Writes runs.json, which the lab reads.

    python -m labs.longer_texts.runs
"""

import time

import torch
from torch import Tensor

from labs.longer_texts import language_models as models
from labs.longer_texts.reviews_as_tokens import LENGTH, load_streams
from shared import record

RESULTS, TRAINED_MODELS = record.ROOT / "labs/longer_texts/runs.json", record.ROOT / "_build/longer_texts"
SEEDS, GAPS = (0, 1, 2, 3, 4), range(0, 449, 32)
FURTHER, RATE, BATCH = 100, 0.001, 2  # further training: steps, highest learning rate, windows of a step
LONGER = LENGTH // models.TRAINED  # how many times as long a text is as in training


def trained(encoding: str, seed: int, stream: Tensor) -> models.PositionedModel:
    """The model of this encoding and seed, from its file if it is there."""
    net, path = models.make_model(encoding, stream, seed), TRAINED_MODELS / f"{encoding}, seed {seed}.pt"
    if not path.exists():
        models.train(net, stream, seed + 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(net.state_dict(), path)
    net.load_state_dict(torch.load(path))
    return net


def rounded(numbers: Tensor) -> list[float]:
    return [round(number, 4) for number in numbers.tolist()]


def run(encoding: str, seed: int, stream: Tensor, held_out: Tensor) -> dict:
    """Train one model and measure it."""
    start, net = time.process_time(), trained(encoding, seed, stream)
    changes: dict[str, dict] = {
        "long": {},
        "64 in sight": {"window": models.TRAINED},
        "far is 63": {"farthest": models.TRAINED - 1},
        "divided": {"positions": models.divided_by(LONGER)},
    }
    losses = {name: models.loss_far_away(models.changed(net, **change), held_out) for name, change in changes.items()}
    losses["as trained"] = models.loss_as_trained(net, held_out)
    late = models.changed(net, positions=models.begins_at(LENGTH - models.TRAINED))
    losses["as trained, begins at 448"] = models.loss_as_trained(late, held_out)
    result = {
        "encoding": encoding, "seed": seed,
        "by position": rounded(models.loss_by_position(net, held_out)),
        "loss": {name: round(loss, 4) for name, loss in losses.items()},
    }  # fmt: skip
    if encoding == "rotary":
        later = {gap: models.changed(net, positions=models.second_half_later(gap)) for gap in GAPS}
        result["gaps"] = {gap: round(models.loss_as_trained(other, held_out), 4) for gap, other in later.items()}
    return result | {"cpu_seconds": round(time.process_time() - start)}


def run_further(encoding: str, seed: int, factor: int, stream: Tensor, held_out: Tensor) -> dict:
    """Train one model a little further on long windows, with its positions divided by `factor`, and measure it."""
    start, net = time.process_time(), trained(encoding, seed, stream)
    net.positions = models.divided_by(factor)
    models.train(net, stream, seed + 100, FURTHER, RATE, LENGTH, BATCH)
    return {
        "further": encoding, "seed": seed, "factor": factor,
        "by position": rounded(models.loss_by_position(net, held_out)),
        "loss": round(models.loss_far_away(net, held_out), 4),
        "cpu_seconds": round(time.process_time() - start),
    }  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    streams = load_streams()
    for seed in SEEDS:
        for encoding in models.ENCODINGS:
            record.load_or_run(RESULTS, f"{encoding}, seed {seed}", run, encoding, seed, *streams)
    for seed in SEEDS[:3]:
        for factor in (1, LONGER):
            key = f"rotary, seed {seed}, further trained with positions divided by {factor}"
            record.load_or_run(RESULTS, key, run_further, "rotary", seed, factor, *streams)

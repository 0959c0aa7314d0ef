"""A small language model on the reviews, one part more in each stage, beside the best way of counting tokens.

Six stages, three seeds each, all trained on the same tokens for the same number of steps; then the last of them with
one thing changed. Counting is Kneser-Ney smoothing of orders 2 to 5 whose
discounts are tuned on validation texts. Test texts are scored once, at the end of a run. Two hours of one core; a
stopped script goes on where it was. Writes runs.json, which the lab reads, and model.safetensors.

    python -m labs.a_language_model.runs
"""

import time

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import pad

from labs.a_language_model.reviews_as_tokens import TOKENS, Reviews, load_reviews, tokenizer_with
from labs.a_language_model.stages import BATCH, CONTROLS, STAGES, Stage, Training, make_model, token_losses
from labs.a_language_model.writing import write
from shared import record
from shared.language_model import kneser_ney
from shared.review_writer import START, round_to_int8
from shared.statistics import mean_and_interval

FOLDER = record.ROOT / "labs/a_language_model"
RESULTS, WEIGHTS = FOLDER / "runs.json", FOLDER / "model.safetensors"
CHECKPOINT = record.ROOT / "_build/a_language_model.pt"
STEPS, SEEDS, CURVE_TEXTS = 3000, range(3), 50
CURVE = [STEPS * part // 12 for part in (0, 1, 2, 4, 6, 8, 10, 12)]
ORDERS, SCALES = (2, 3, 4, 5), (0.8, 0.9, 1.0, 1.1, 1.2)
BEGINNINGS = ("This movie is", "The acting was", "I")


# --- counting ------------------------------------------------------------------------------------------------------


def counted_losses(training: Tensor, texts: Tensor, order: int, scale: float) -> np.ndarray:
    """The loss of each held-out text by counting `order` tokens in a row, (texts,)."""
    grams = pad(texts, (order - 2, 0), value=START).unfold(1, order, 1)  # (texts, LENGTH, order)
    probs = kneser_ney(training.numpy(), grams.flatten(0, 1).numpy(), TOKENS, scale=scale)  # (texts * LENGTH,)
    return -np.log(probs).reshape(len(texts), -1).mean(axis=1)


def best_counting(reviews: Reviews) -> dict:
    """Order and scale of the discounts with the lowest loss on validation texts, and the losses on test texts."""
    validation = {
        f"{order}": {f"{scale}": float(counted_losses(reviews.training, reviews.validation, order, scale).mean())
                     for scale in SCALES}
        for order in ORDERS
    }  # fmt: skip
    scales = {order: min(row, key=lambda scale: row[scale]) for order, row in validation.items()}
    order = min(validation, key=lambda order: validation[order][scales[order]])
    test = {n: counted_losses(reviews.training, reviews.test, int(n), float(scales[n])) for n in validation}
    return {
        "validation": {n: {s: round(loss, 4) for s, loss in row.items()} for n, row in validation.items()},
        "order": int(order), "scale": float(scales[order]),
        "test": {n: rounded(losses) for n, losses in test.items()},
    }  # fmt: skip


# --- training ------------------------------------------------------------------------------------------------------


def rounded(losses: np.ndarray) -> list[float]:
    """The mean and half of its 95% interval."""
    return [round(float(number), 4) for number in mean_and_interval(torch.as_tensor(losses))]


def at_temperature(logits: Tensor) -> Tensor:
    return (logits / 0.8).softmax(dim=0)


def run(name: str, stage: Stage, seed: int, reviews: Reviews, counted: np.ndarray) -> dict:
    """Train one model, or go on training it; its curve, its loss on test texts, and how far it is ahead of counting."""
    torch.manual_seed(seed)
    model = make_model(stage, reviews.training)
    training, curve, seconds = Training(model, reviews.training, stage.context, STEPS, seed + 1), [], 0.0
    if CHECKPOINT.exists():
        stored = torch.load(CHECKPOINT)
        if stored["run"] == [name, seed]:
            training.load_state_dict(stored["training"])
            curve, seconds = stored["curve"], stored["seconds"]
    start = time.process_time() - seconds
    while True:
        if training.done in CURVE:
            losses = token_losses(model, reviews.validation[:CURVE_TEXTS], stage.context)
            curve.append([training.done * BATCH, round(losses.mean().item(), 4)])
        if training.done == STEPS:
            break
        training.step()
        if training.done % 50 == 0:
            seconds = time.process_time() - start
            state = {"run": [name, seed], "training": training.state_dict(), "curve": curve, "seconds": seconds}
            torch.save(state, CHECKPOINT.with_suffix(".part"))
            CHECKPOINT.with_suffix(".part").replace(CHECKPOINT)
    losses = token_losses(model, reviews.test, stage.context).mean(dim=1)  # (texts,)
    if (name, seed) == (list(STAGES)[-1], 0):
        save_file(round_to_int8(model.state_dict()), WEIGHTS)
    tokenizer = tokenizer_with(TOKENS)
    return {
        "stage": name, "seed": seed, "loss": rounded(losses), "counting minus model": rounded(counted - losses.numpy()),
        "curve": curve, "texts": [write(model, tokenizer, beginning, at_temperature, stage.context) for beginning in BEGINNINGS],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "cpu_minutes": round((time.process_time() - start) / 60, 1),
    }  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    CHECKPOINT.parent.mkdir(exist_ok=True)
    reviews = load_reviews()
    counting = record.load_or_run(RESULTS, "Kneser-Ney", best_counting, reviews)
    counted = counted_losses(reviews.training, reviews.test, counting["order"], counting["scale"])
    for models in (STAGES, CONTROLS):
        for seed in SEEDS:
            for name, stage in models.items():
                record.load_or_run(RESULTS, f"{name}, seed {seed}", run, name, stage, seed, reviews, counted)

"""Small language models, one part more in each stage, beside the best way of counting.

On the waiter's notepad, four stages with five seeds each. On the reviews, nine stages, trained on the same tokens, and
two of them with one or two things changed. Counting is Kneser-Ney smoothing of orders 2 to 5 whose discounts are
tuned on validation texts. Test texts are scored once, at the end of a run. Six hours of one core; a
stopped script goes on where it was. Writes runs.json, which the lab reads.

    python -m labs.a_language_model.runs
"""

import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from labs.a_language_model import notepad
from labs.a_language_model.counting import kneser_ney
from labs.a_language_model.reviews_as_tokens import TOKENS, Reviews, load_reviews, tokenizer_with
from labs.a_language_model.stages import (
    BATCH,
    BEST,
    CONTROLS,
    FURTHER,
    SHORT_CONTEXT,
    STAGES,
    STEPS,
    Stage,
    Training,
    Zero,
    make_model,
    token_losses,
)
from labs.a_language_model.writing import write
from shared import record
from shared.intervals import mean_and_interval
from shared.language_model import LanguageModel
from shared.review_writer import START

RESULTS = record.ROOT / "labs/a_language_model/runs.json"
CHECKPOINTS = record.ROOT / "_build/a_language_model"  # of each run, so that it can go on
SEEDS, CURVE_TEXTS, CURVE_PARTS = (0, 1, 2), 50, (0, 1, 2, 4, 6, 8, 10, 12)  # twelfths of a training
ORDERS, SCALES = (2, 3, 4, 5), (0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6)
BEGINNINGS = ("This movie is", "The acting was", "I")


# --- counting ------------------------------------------------------------------------------------------------------


def counted_losses(training: Tensor, texts: Tensor, order: int, scale: float, known: int) -> np.ndarray:
    """The loss of each held-out text by counting `order` tokens in a row, (texts,)."""
    grams = pad(texts, (order - 2, 0), value=START).unfold(1, order, 1)  # (texts, tokens - 1, order)
    probs = kneser_ney(training.numpy(), grams.flatten(0, 1).numpy(), known, scale=scale)  # (texts * (tokens - 1),)
    return -np.log(probs).reshape(len(texts), -1).mean(axis=1)


def best_counting(training: Tensor, validation: Tensor, test: Tensor, known: int) -> dict:
    """Order and scale of the discounts with the lowest loss on validation texts, and the losses on test texts."""
    tuned = {
        order: {scale: counted_losses(training, validation, order, scale, known).mean() for scale in SCALES}
        for order in ORDERS
    }
    scales = {order: min(row, key=lambda scale: row[scale]) for order, row in tuned.items()}
    order = min(tuned, key=lambda order: tuned[order][scales[order]])
    return {
        "validation": {n: {str(s): round(float(loss), 4) for s, loss in row.items()} for n, row in tuned.items()},
        "order": order, "scale": scales[order],
        "test": {n: rounded(counted_losses(training, test, n, scales[n], known)) for n in tuned},
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
    training, curve, seconds = Training(model, reviews.training, stage, seed + 1), [], 0.0
    checkpoint = CHECKPOINTS / f"{name}, seed {seed}.pt"
    if checkpoint.exists():
        stored = torch.load(checkpoint)
        training.load_state_dict(stored["training"])
        curve, seconds = stored["curve"], stored["seconds"]
    start = time.process_time() - seconds
    while True:
        if training.done in [stage.steps * part // 12 for part in CURVE_PARTS]:
            losses = token_losses(model, reviews.validation[:CURVE_TEXTS], stage.context)
            curve.append([training.done * BATCH, round(losses.mean().item(), 4)])
        if training.done == stage.steps:
            break
        training.step()
        if training.done % 50 == 0:
            seconds = time.process_time() - start
            torch.save({"training": training.state_dict(), "curve": curve, "seconds": seconds}, f"{checkpoint}.part")
            Path(f"{checkpoint}.part").replace(checkpoint)
    losses = token_losses(model, reviews.test, stage.context).mean(dim=1)  # (texts,)
    tokenizer = tokenizer_with(TOKENS)
    texts = [write(model, tokenizer, beginning, at_temperature, stage.context) for beginning in BEGINNINGS]
    return {
        "stage": name, "seed": seed, "loss": rounded(losses), "counting minus model": rounded(counted - losses.numpy()),
        "curve": curve, "texts": texts,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "cpu_minutes": round((time.process_time() - start) / 60, 1),
    }  # fmt: skip


# --- the waiter's notepad ------------------------------------------------------------------------------------------

PARTS = {name: stage for name, stage in STAGES.items() if stage.context == 16 and not stage.change}
EVENINGS, NOTEPAD_SEEDS = 2000, range(5)  # to test with


def held_out_evenings() -> Tensor:
    return notepad.draw_evenings(EVENINGS, torch.Generator().manual_seed(99))


def counted_on_the_notepad() -> dict:
    """Counting on as many evenings as a model is trained on."""
    generator = torch.Generator().manual_seed(1)
    training, validation = (notepad.draw_evenings(n, generator) for n in (notepad.STEPS * notepad.BATCH, EVENINGS))
    return best_counting(training.flatten(), validation, held_out_evenings(), len(notepad.WORDS))


def run_on_the_notepad(name: str, seed: int) -> dict:
    """Train one model on evenings; its loss on others, and how often it knows a drink that was ordered before."""
    torch.manual_seed(seed)
    start, model = time.process_time(), LanguageModel(len(notepad.WORDS), num_blocks=PARTS[name].blocks)
    if not PARTS[name].feed_forward:
        model.blocks[0].feed_forward = Zero()
    notepad.fit(model, seed + 1)
    evenings = held_out_evenings()
    with torch.no_grad():
        loss = notepad.mean_loss(model, evenings).item()
    return {
        "notepad": name, "seed": seed, "loss": round(loss, 4),
        "drinks": round(notepad.drinks_right(model, evenings), 4),
        "cpu_seconds": round(time.process_time() - start),
    }  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    record.load_or_run(RESULTS, "notepad: Kneser-Ney", counted_on_the_notepad)
    for seed in NOTEPAD_SEEDS:
        for name in PARTS:
            record.load_or_run(RESULTS, f"notepad: {name}, seed {seed}", run_on_the_notepad, name, seed)
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    reviews = load_reviews()
    counting = record.load_or_run(RESULTS, "Kneser-Ney", best_counting, *reviews, TOKENS)
    counted = counted_losses(reviews.training, reviews.test, counting["order"], counting["scale"], TOKENS)
    for seed in SEEDS:
        for name, stage in (STAGES | FURTHER | SHORT_CONTEXT | CONTROLS).items():
            # the other long runs and the controls have one seed
            if seed == 0 or (stage.steps == STEPS and name in STAGES) or (name == BEST and seed == 1):
                record.load_or_run(RESULTS, f"{name}, seed {seed}", run, name, stage, seed, reviews, counted)

"""Trains one of the course's classifiers from the command line: one process, or as many as torchrun starts.

python -m shared.scale --model self-attention
torchrun --nproc-per-node=2 -m shared.scale --model self-attention --checkpoint run.pt
"""

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from shared import data, model, training
from shared.scale import processes
from shared.scale.fit import InBfloat16, fit

MODELS = {
    "mean-pooling": model.MeanPooling,
    "attention-pooling": model.AttentionPooling,
    "self-attention": model.SelfAttentionClassifier,
    "encoder": model.EncoderClassifier,
}


def whole_number(least: int) -> Callable[[str], int]:
    """Read an argument that counts something, from `least` on."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"it accepts whole numbers from {least} on, and {text!r} is none.")
        return int(text)

    return read


def probability(text: str) -> float:
    """Read an argument from 0 up to 1, 1 left out."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"it accepts numbers from 0 up to 1, 1 left out, and {text!r} is none.")
    return number


def arguments(given: list[str], recipe: training.Recipe) -> argparse.Namespace:
    """What the command line asks for; bad arguments end the program with a sentence."""
    parser = argparse.ArgumentParser(
        prog="python -m shared.scale",
        description=f"{__doc__.partition(chr(10))[0]} LAB_DATA and LAB_SCALE choose the reviews, as in the labs.",
        allow_abbrev=False,
    )
    for name, how, default, meaning in (
        ("--epochs", whole_number(1), recipe.epochs, "how often to see all examples"),
        ("--batch-size", whole_number(1), recipe.batch_size, "examples in a batch, shared out among all processes"),
        ("--seed", whole_number(0), 0, "of weights, dropout and order"),
    ):
        parser.add_argument(name, type=how, default=default, metavar="N", help=f"{meaning}; {default} if left out")
    parser.add_argument("--model", choices=MODELS, default="self-attention", help="self-attention if left out")
    parser.add_argument("--dropout", type=probability, metavar="P", help="instead of the dropout that the labs have")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="write it each epoch, and go on from it")
    parser.add_argument("--bfloat16", action="store_true", help="compute matrix products in bfloat16")
    return parser.parse_args(given)


def train(given: list[str]) -> None:
    """Train, and print the history and the accuracy on both kinds of test examples."""
    settings = data.start_lab()
    chosen = arguments(given, training.recipe_for(settings))
    recipe = replace(training.recipe_for(settings), epochs=chosen.epochs, batch_size=chosen.batch_size)
    with processes.together():
        rank, count = processes.place()
        source = data.prepare(settings)
        torch.manual_seed(chosen.seed)
        net = MODELS[chosen.model](len(source.vocabulary))
        for layer in net.modules():
            if isinstance(layer, nn.Dropout) and chosen.dropout is not None:
                layer.p = chosen.dropout
        device = training.best_device()
        if chosen.bfloat16:
            net = InBfloat16(net)
        if rank == 0:
            print(f"{settings}; {chosen.model} on {count} x {device.type}; {recipe}", flush=True)
        history = fit(
            net,
            lambda epoch: data.examples_with_distractors(source.train, 1000 * (chosen.seed + 1) + epoch),
            data.examples_with_distractors(source.validation, 1),
            recipe,
            chosen.seed,
            device,
            chosen.checkpoint,
        )
        tests = {"plain": data.plain_examples(source.test), "distracted": data.distracted_examples(source.test, 2)}
        if rank == 0:
            report(history, {name: training.evaluate(net, examples).accuracy for name, examples in tests.items()})


def report(history: training.History, accuracy: dict[str, float]) -> None:
    """Print a line for each epoch, and the accuracy on test examples."""
    names = {"train_loss": "training", "validation_loss": "validation", "validation_accuracy": "accuracy"}
    print("epoch" + "".join(f"{name:>12}" for name in names.values()))
    for record in history:
        best = "  best" if record["epoch"] == history.best_epoch else ""
        print(f"{record['epoch']:5}" + "".join(f"{record[name]:12.4f}" for name in names) + best)
    print("test: " + ", ".join(f"{kind} {figure:.4f}" for kind, figure in accuracy.items()))


def ending(work: Callable[[], object]) -> int | str:
    """Do the work, and return the exit status: 0, or a sentence that says what went wrong."""
    try:
        work()
    except (ValueError, OSError, FloatingPointError) as error:
        return str(error)
    except RuntimeError as error:
        if not processes.another_was_lost(error):
            raise
        return (
            f"Another process of this run was lost, and the run ends: {error}\n"
            "torchrun's report names it, below `Root Cause`. With a --checkpoint the same command goes on after the "
            "last whole epoch."
        )
    return 0


if __name__ == "__main__":
    sys.exit(ending(lambda: train(sys.argv[1:])))

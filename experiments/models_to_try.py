"""Trains the four models of the page "Try the model" as labs 4 and 5 do, from their first seed, and writes their file.

One thing is added. Readers type short sentences, and no review that the labs train on is shorter than 20 words; so the
models learn from a short piece of each review, too. The page says how often they judge such pieces right.

The rule: a page loads no more than it must, so embeddings are rounded to one byte each, in whole steps of the largest
number by 127; the shares of right answers on the page are those of the rounded models. A minute of one core.

    .venv/bin/python -m experiments.models_to_try
"""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save
from torch import nn

from experiments import grid
from shared import data, model, training

FILE = Path(__file__).resolve().parents[1] / "book/_static/try_the_model.safetensors"
EMBEDDING = "features.embedding.weight"
MOST_LOST = 0.01  # of the share of right answers, by rounding
MARKED = "the mark's row"
MODELS = {
    "mean pooling": lambda size, mark: model.MeanPooling(size),
    "attention pooling": lambda size, mark: model.AttentionPooling(size),
    "self-attention": lambda size, mark: model.SelfAttentionClassifier(size),
    MARKED: lambda size, mark: model.MarkedSelfAttentionClassifier(size, mark),
}
LENGTHS = ((1, 4), (5, 9), (10, 19))  # words of short pieces, from and to


# --- examples: whole reviews as in the labs, and short pieces ----------------------------------------------------


def with_pieces(reviews: data.Split, seed: int, least: int = 1, most: int = 19) -> data.Split:
    """The reviews, and behind them a piece of each in the same order: `least` to `most` words, with its label."""
    random = np.random.default_rng(seed)
    sizes = random.integers(least, most + 1, len(reviews))
    begins = random.integers(0, reviews.lengths - sizes + 1)
    pieces = [reviews[row][begin : begin + size] for row, (begin, size) in enumerate(zip(begins, sizes, strict=True))]
    return replace(
        reviews,
        ids=np.concatenate([reviews.ids, *pieces]),
        offsets=np.concatenate([reviews.offsets, reviews.offsets[-1] + np.cumsum(sizes)]),
        labels=np.tile(reviews.labels, 2),
    )


def makers(name: str, vocabulary: data.Vocabulary) -> tuple[Callable, Callable]:
    """Two functions of (reviews, seed): each review alone, and with another one, for this model."""
    task = "marked" if name == MARKED else "front"
    return grid.example_makers(task, vocabulary.id(data.SEPARATOR), vocabulary.id(data.MARK))


def examples(name: str, reviews: data.Split, seed: int, vocabulary: data.Vocabulary, pieces: bool = True):
    """Examples of one epoch: reviews alone and with another one, pieces alone and, if marked, beside a review."""
    alone, pairs = makers(name, vocabulary)
    whole = pairs(reviews, seed)
    if not pieces:
        return alone(reviews, seed) + whole
    both = with_pieces(reviews, seed)
    found = alone(both, seed) + replace(whole, reviews=both)
    if name == MARKED:  # the page shows it nothing but pairs
        found += replace(whole, reviews=both, labelled=whole.labelled + len(reviews))
    return found


def trained(name: str, reviews: data.Reviews, seed: int = 0, pieces: bool = True) -> nn.Module:
    """One of the models, by the recipe of labs 4 and 5; without short pieces it is the model of the lab."""
    torch.manual_seed(seed)
    net = MODELS[name](len(reviews.vocabulary), reviews.vocabulary.id(data.MARK))
    training.fit(
        net,
        lambda epoch: examples(name, reviews.train, 1000 * (seed + 1) + epoch, reviews.vocabulary, pieces),
        examples(name, reviews.validation, 1, reviews.vocabulary, pieces),
        replace(training.recipe_for(data.Settings()), epochs=grid.EPOCHS),
        seed,
    )
    return net


def measured(net: nn.Module, name: str, reviews: data.Reviews) -> dict:
    """Accuracy on test reviews alone and with another review, and on short pieces of them, by their words.

    Pieces stand alone, and those for the mark's row beside a whole review, as on the page.
    """
    alone, pairs = makers(name, reviews.vocabulary)
    first, *more = (pairs(reviews.test, seed) for seed in ((100, 101, 102) if name == MARKED else (2,)))
    tests = [alone(reviews.test, 0), sum(more, first)]
    for length in LENGTHS:
        whole = first if name == MARKED else tests[0]
        pieces = with_pieces(reviews.test, 9, *length)
        tests.append(replace(whole, reviews=pieces, labelled=whole.labelled + len(reviews.test)))
    right = [round(training.evaluate(net, each).accuracy, 4) for each in tests]
    return {"right": right[:2], "pieces": right[2:]}


# --- one byte a number -------------------------------------------------------------------------------------------


def rounded(net: nn.Module) -> dict[str, torch.Tensor]:
    """The tensors of a model by name, its embedding in whole steps of one byte each."""
    tensors = {name: tensor.cpu() for name, tensor in net.state_dict().items()}
    step = tensors[EMBEDDING].abs().max() / 127
    whole = (tensors[EMBEDDING] / step).round().to(torch.int8)  # (vocabulary, dim)
    return tensors | {EMBEDDING: whole, f"{EMBEDDING}.step": step}


def unpacked(net: nn.Module, tensors: dict[str, torch.Tensor]) -> nn.Module:
    """A copy of the model that computes with the rounded embedding."""
    tensors = dict(tensors)
    step = tensors.pop(f"{EMBEDDING}.step")
    copied = copy.deepcopy(net)
    copied.load_state_dict(tensors | {EMBEDDING: tensors[EMBEDDING] * step})
    return copied


def main() -> None:
    """Train, round, measure and write."""
    reviews = data.prepare(data.Settings())
    tensors, about = {}, {"words": " ".join(reviews.vocabulary.words), "right": {}, "pieces": {}, "lengths": LENGTHS}
    for name in MODELS:
        net = trained(name, reviews)
        packed = rounded(net)
        tensors |= {f"{name}.{part}": tensor for part, tensor in packed.items()}
        before, after = measured(net, name, reviews), measured(unpacked(net, packed), name, reviews)
        print(f"{name:18} right {before}, rounded {after}", flush=True)
        if max(abs(one - other) for one, other in zip(before["right"], after["right"], strict=True)) > MOST_LOST:
            raise SystemExit(f"Rounding moves {name} by more than {MOST_LOST}: the file was left as it was.")
        for kind, shares in after.items():
            about[kind][name] = shares
    half = FILE.with_suffix(".part")
    half.write_bytes(save(tensors, metadata={"about": json.dumps(about)}))
    half.replace(FILE)
    print(f"{FILE.name} is written, {FILE.stat().st_size / 1e6:.1f} MB.")


if __name__ == "__main__":
    main()

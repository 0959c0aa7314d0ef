"""Trains the four models of the page "Try the model" as labs 4 and 5 do, from their first seed, and writes their file.

One thing is added. Readers type short sentences, and no review that the labs train on is shorter than 20 words; so the
models learn from a short piece of each review, too. The page says how often they judge such pieces right.

The rule: a page loads no more than it must, so embeddings are rounded to one byte each, in whole steps of the largest
number by 127; the shares of right answers on the page are those of the rounded models. A minute of one core.

    .venv/bin/python -m tools.models_to_try
"""

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save
from torch import nn

from shared import data, model, training
from tools import endings

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


def pieces_of(reviews: data.EncodedReviews, seed: int, least: int = 1, most: int = 19) -> data.EncodedReviews:
    """A random piece of each review, of `least` to `most` words, with the label of the whole."""
    random = np.random.default_rng(seed)
    sizes = random.integers(least, most + 1, len(reviews))
    begins = random.integers(0, reviews.lengths - sizes + 1)
    pieces = [reviews[row][begin : begin + size] for row, (begin, size) in enumerate(zip(begins, sizes, strict=True))]
    return replace(reviews, ids=np.concatenate(pieces), offsets=data.offsets_of(sizes))


def examples(name: str, reviews: data.EncodedReviews, seed: int, marks: tuple[int, int], pieces: bool = True):
    """A model's examples of one epoch: each review alone and with another one; and a short piece of each."""
    mark, separator = marks if name == MARKED else (data.PAD, data.PAD)
    with_another = data.distracted_examples(reviews, seed, name == MARKED, mark, separator)
    if pieces:  # as more reviews, behind the whole ones
        short = pieces_of(reviews, seed)
        reviews = replace(
            reviews,
            ids=np.concatenate([reviews.ids, short.ids]),
            offsets=np.concatenate([reviews.offsets, reviews.offsets[-1] + short.offsets[1:]]),
            labels=np.concatenate([reviews.labels, short.labels]),
        )
    return data.plain_examples(reviews, mark) + replace(with_another, reviews=reviews)


def trained(name: str, reviews: data.Prepared, seed: int = 0, pieces: bool = True) -> nn.Module:
    """One of the models, by the recipe of labs 4 and 5; without short pieces it is the model of the lab."""
    recipe = training.recipe_for(data.Settings())
    recipe = replace(recipe, epochs=max(4, recipe.epochs))
    marks = reviews.vocabulary.id(data.MARK), reviews.vocabulary.id(data.SEPARATOR)
    torch.manual_seed(seed)
    net = MODELS[name](len(reviews.vocabulary), marks[0])
    validation = examples(name, reviews.validation, 1, marks, pieces)
    training.fit(
        net,
        lambda epoch: examples(name, reviews.train, 1000 * (seed + 1) + epoch, marks, pieces),
        validation,
        recipe,
        seed,
    )
    return net


def measured(net: nn.Module, name: str, reviews: data.Prepared) -> dict:
    """Accuracy on test reviews alone and with another review, and on short pieces of them, by their words."""
    mark, separator = (
        reviews.vocabulary.id(word) if name == MARKED else data.PAD for word in (data.MARK, data.SEPARATOR)
    )
    seeds = (100, 101, 102) if name == MARKED else (2,)
    first, *more = (data.distracted_examples(reviews.test, seed, name == MARKED, mark, separator) for seed in seeds)
    whole = [data.plain_examples(reviews.test, mark), sum(more, first)]
    short = [data.plain_examples(pieces_of(reviews.test, 9, *length), mark) for length in LENGTHS]
    return {
        kind: [round(training.evaluate(net, each).accuracy, 4) for each in tests]
        for kind, tests in (("right", whole), ("pieces", short))
    }


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
    endings.replace(FILE, save(tensors, metadata={"about": json.dumps(about)}))
    print(f"{FILE.name} is written, {FILE.stat().st_size / 1e6:.1f} MB.")


if __name__ == "__main__":
    main()

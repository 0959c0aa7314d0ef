"""Trains the four models of the page "Try the model" as labs 4 and 5 do, from their first seed, and writes their file.

The rule: a page loads no more than it must, so embeddings are rounded to one byte each, in whole steps of the largest
number by 127; the shares of right answers on the page are those of the rounded models. A minute of one core.

    .venv/bin/python -m tools.models_to_try
"""

import copy
import json
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save
from torch import nn

from shared import data, model, training
from tools import endings

FILE = Path(__file__).resolve().parents[1] / "book/_static/try_the_model.safetensors"
EMBEDDING = "features.embedding.weight"
MOST_LOST = 0.01  # of the share of right answers, by rounding


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
    settings = data.Settings()
    reviews = data.prepare(settings)
    recipe = training.recipe_for(settings)
    recipe = replace(recipe, epochs=max(4, recipe.epochs))
    vocabulary, size = reviews.vocabulary, len(reviews.vocabulary)
    mark, separator = vocabulary.id("<MARK>"), vocabulary.id("<SEP>")

    in_front = (
        lambda part, seed: data.examples_with_distractors(part, seed),
        [data.plain_examples(reviews.test), data.distracted_examples(reviews.test, seed=2)],
    )
    draws = [data.distracted_examples(reviews.test, seed, True, mark, separator) for seed in (100, 101, 102)]
    marked = (
        lambda part, seed: data.marked_examples(part, vocabulary, seed),
        [data.plain_examples(reviews.test, mark), draws[0] + draws[1] + draws[2]],
    )
    models = {
        "mean pooling": (in_front, lambda: model.MeanPooling(size)),
        "attention pooling": (in_front, lambda: model.AttentionPooling(size)),
        "self-attention": (in_front, lambda: model.SelfAttentionClassifier(size)),
        "the mark's row": (marked, lambda: model.MarkedSelfAttentionClassifier(size, mark)),
    }
    tensors, right = {}, {}
    for name, ((examples, tests), make) in models.items():
        torch.manual_seed(0)
        net = make()
        validation = examples(reviews.validation, 1)
        training.fit(net, lambda epoch, examples=examples: examples(reviews.train, 1000 + epoch), validation, recipe, 0)
        packed = rounded(net)
        tensors |= {f"{name}.{part}": tensor for part, tensor in packed.items()}
        whole, right[name] = (
            [round(training.evaluate(one, test).accuracy, 4) for test in tests] for one in (net, unpacked(net, packed))
        )
        print(f"{name:18} right alone and with another review: {whole}, rounded {right[name]}")
        if max(abs(one - other) for one, other in zip(whole, right[name], strict=True)) > MOST_LOST:
            raise SystemExit(f"Rounding moves {name} by more than {MOST_LOST}: the file was left as it was.")
    about = {"words": " ".join(vocabulary.words), "right": right}
    endings.replace(FILE, save(tensors, metadata={"about": json.dumps(about)}))
    print(f"{FILE.name} is written, {FILE.stat().st_size / 1e6:.1f} MB.")


if __name__ == "__main__":
    main()

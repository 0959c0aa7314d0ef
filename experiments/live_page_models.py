"""Trains the four models of the page *Try the model*, and writes them to one file. A minute of one core.

They are trained as in the labs *Values* and *A question from the text*, from the first seed, with one addition: readers
type short sentences, but no review that the labs train on is shorter than 20 words, so the models also learn from a
short excerpt of each review. Embeddings are rounded to one byte each; the accuracies on the page are those of the
rounded models.

    python -m experiments.live_page_models
"""

import copy
import json
from dataclasses import replace

import numpy as np
import torch
from safetensors.torch import save
from torch import nn

from experiments import table_runs
from shared import data, record, review_pairs, training

FILE = record.ROOT / "book/_static/try_the_model.safetensors"
EMBEDDING = "embedding.table.weight"
MARKED = "marker query"
MODELS = ("mean pooling", "attention pooling", "self-attention", MARKED)
LENGTHS = ((1, 4), (5, 9), (10, 19))  # of short excerpts in words, from and to


# --- examples: whole reviews as in the labs, and short excerpts --------------------------------------------------


def with_excerpts(reviews: data.EncodedReviews, seed: int, least: int = 1, most: int = 19) -> data.EncodedReviews:
    """The reviews, then an excerpt of each in the same order: `least` to `most` words, with the review's label."""
    random = np.random.default_rng(seed)
    sizes = random.integers(least, most + 1, len(reviews))
    begins = random.integers(0, reviews.lengths - sizes + 1)
    excerpts = [reviews[row][begin : begin + size] for row, (begin, size) in enumerate(zip(begins, sizes, strict=True))]
    offsets = np.concatenate([reviews.offsets, reviews.offsets[-1] + np.cumsum(sizes)])
    ids, labels = np.concatenate([reviews.ids, *excerpts]), np.tile(reviews.labels, 2)
    return replace(reviews, ids=ids, offsets=offsets, labels=labels)


def alone_and_pairs(name: str, reviews: data.EncodedReviews, source: data.PreparedReviews, seed: int):
    """Each review alone, and each with another one, as this model reads them."""
    if name == MARKED:
        alone = data.plain_examples(reviews, source.vocabulary.id(data.MARKER))
        return alone, data.marked_pairs(reviews, source.vocabulary, seed)
    return data.plain_examples(reviews), data.distracted_examples(reviews, seed)


def examples(name: str, reviews: data.EncodedReviews, source: data.PreparedReviews, seed: int, excerpts: bool):
    """Examples of one epoch: reviews alone and in pairs, and excerpts; a marked excerpt is paired with a review."""
    alone, pairs = alone_and_pairs(name, reviews, source, seed)
    if not excerpts:
        return alone + pairs
    both = with_excerpts(reviews, seed)
    found = alone_and_pairs(name, both, source, seed)[0] + replace(pairs, reviews=both)
    if name == MARKED:  # the page shows it nothing but pairs
        found += replace(pairs, reviews=both, target_rows=pairs.target_rows + len(reviews))
    return found


def train(name: str, source: data.PreparedReviews, seed: int = 0, excerpts: bool = True) -> nn.Module:
    """One of the models; without excerpts it is the model of the lab."""
    torch.manual_seed(seed)
    net = table_runs.MODELS[name](len(source.vocabulary), source.vocabulary.id(data.MARKER))

    def of_epoch(epoch: int) -> data.Examples:
        return examples(name, source.train, source, 1000 * (seed + 1) + epoch, excerpts)

    validation = examples(name, source.validation, source, 1, excerpts)
    training.fit(net, of_epoch, validation, table_runs.RECIPE, seed)
    return net


def measured(net: nn.Module, name: str, source: data.PreparedReviews) -> dict:
    """Accuracy on test reviews alone and with another review, and on short excerpts of them, by length.

    Excerpts are alone, and for the marker query paired with a whole review, as on the page.
    """
    alone, first = alone_and_pairs(name, source.test, source, 100 if name == MARKED else 2)
    tests = [alone, review_pairs.test_pairs(source) if name == MARKED else first]
    for length in LENGTHS:
        whole = first if name == MARKED else alone
        excerpts = with_excerpts(source.test, 9, *length)
        tests.append(replace(whole, reviews=excerpts, target_rows=whole.target_rows + len(source.test)))
    right = [round(training.evaluate(net, test).accuracy, 4) for test in tests]
    return {"right": right[:2], "pieces": right[2:]}


# --- one byte a number -------------------------------------------------------------------------------------------


def rounded(net: nn.Module) -> dict[str, torch.Tensor]:
    """The tensors of a model by name, its embedding in whole steps of one byte each."""
    tensors = {name: tensor.cpu() for name, tensor in net.state_dict().items()}
    step = tensors[EMBEDDING].abs().max() / 127
    whole = (tensors[EMBEDDING] / step).round().to(torch.int8)  # (vocabulary, d_model)
    return tensors | {EMBEDDING: whole, f"{EMBEDDING}.step": step}


def unpacked(net: nn.Module, tensors: dict[str, torch.Tensor]) -> nn.Module:
    """A copy of the model that computes with the rounded embedding."""
    tensors = dict(tensors)
    step = tensors.pop(f"{EMBEDDING}.step")
    copied = copy.deepcopy(net)
    copied.load_state_dict(tensors | {EMBEDDING: tensors[EMBEDDING] * step})
    return copied


if __name__ == "__main__":
    source = data.load_prepared(data.Settings())
    tensors, about = {}, {"words": " ".join(source.vocabulary.words), "right": {}, "pieces": {}, "lengths": LENGTHS}
    for name in MODELS:
        net = train(name, source)
        packed = rounded(net)
        tensors |= {f"{name}.{part}": tensor for part, tensor in packed.items()}
        for kind, accuracies in measured(unpacked(net, packed), name, source).items():
            print(f"{name:18} {kind:8} {accuracies}", flush=True)
            about[kind][name] = accuracies
    FILE.write_bytes(save(tensors, metadata={"about": json.dumps(about)}))
    print(f"{FILE.name} is written, {FILE.stat().st_size / 1e6:.1f} MB.")

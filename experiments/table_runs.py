"""How one run of *Does it help?* is trained and measured; `experiments/table.py` lists the runs.

In the task `front` a distractor precedes the review that counts; in `marked` the marker does, and each pair counts
twice, once with either review marked. All models of a task are trained for the same number of epochs. Each is tested
after every epoch, on the reviews alone and on three draws of distractors; what a run reports first is the epoch with
the highest validation accuracy.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache

import numpy as np
import torch
from torch import nn

from experiments.train_classifier import EncoderClassifier
from labs.a_question_from_the_text import marker_query
from labs.the_block import block_at_marker
from shared import data, model, review_pairs, training

RECIPE = replace(training.recipe_for(data.Settings()), epochs=4)
EPOCHS = {"front": 4, "marked": 12}  # the same for all models of a task, because a loss can rise before it falls
FRONT_DRAWS = (2, 3, 4)  # seeds of the distractors in tests; those of marked pairs are in `shared.review_pairs`


@dataclass(frozen=True, order=True)
class Run:
    """One model, trained once; the task is `front` or `marked`."""

    task: str
    model: str
    seed: int

    def __str__(self) -> str:
        return f"{self.task}, {self.model}, seed {self.seed}"


# --- models that no other file has -------------------------------------------------------------------------------


class ConstantQueries(nn.Module):
    """Attention pooling with several learned queries, the same for all texts; a linear map reads what they bring."""

    def __init__(self, vocabulary_size: int, num_queries: int, d_model: int = 16):
        super().__init__()
        self.embedding = model.TokenEmbedding(vocabulary_size, d_model)
        self.score = nn.Linear(d_model, num_queries)
        self.output = nn.Linear(num_queries * d_model, 1)

    def forward(self, ids, mask):
        x = self.embedding(ids)  # (batch, tokens, d_model)
        scores = self.score(x).transpose(1, 2)  # (batch, num_queries, tokens)
        weights = model.masked_softmax(scores, mask.unsqueeze(1))  # (batch, num_queries, tokens)
        pooled = (weights @ x).flatten(1)  # (batch, num_queries * d_model)
        return self.output(pooled).squeeze(1), weights.mean(dim=1)


class KeysAndOneQuery(model.AttentionPooling):
    """Attention pooling whose learned query is compared with keys of width 8 (*Keys*)."""

    def __init__(self, vocabulary_size: int, d_model: int = 16):
        super().__init__(vocabulary_size, d_model)
        self.score = nn.Sequential(nn.Linear(d_model, 8, bias=False), nn.Linear(8, 1))  # W_key, then the query


class Recurrent(nn.Module):
    """A bidirectional GRU (Cho et al. 2014), the mean of its states, and a linear classifier."""

    def __init__(self, vocabulary_size: int, d_model: int = 16):
        super().__init__()
        self.embedding = model.TokenEmbedding(vocabulary_size, d_model)
        self.gru = nn.GRU(d_model, d_model, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * d_model, 1)

    def forward(self, ids, mask):
        x = self.embedding(ids)  # (batch, tokens, d_model)
        packed = nn.utils.rnn.pack_padded_sequence(x, mask.sum(dim=1).cpu(), True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], True)  # (batch, tokens, 2 * d_model)
        weights = model.mean_weights(mask, x.dtype)  # (batch, tokens)
        return self.output(model.weighted_sum(weights, states)).squeeze(1), weights


MODELS: dict[str, Callable[..., nn.Module]] = {
    "mean pooling": lambda size, mark: model.MeanPooling(size),
    "attention pooling": lambda size, mark: model.AttentionPooling(size),
    "keys and one query": lambda size, mark: KeysAndOneQuery(size),
    "2 constant queries": lambda size, mark: ConstantQueries(size, 2),
    "GRU": lambda size, mark: Recurrent(size),
    "self-attention": lambda size, mark: model.SelfAttentionClassifier(size),
    "self-attention without values": lambda size, mark: model.SelfAttentionClassifier(size, d_v=None),
    "encoder": lambda size, mark: EncoderClassifier(size),
    "marker query": marker_query.MarkerQueryClassifier,
    "block at the marker": block_at_marker.BlockAtMarker,
}


# --- one run -----------------------------------------------------------------------------------------------------


@cache
def prepared() -> data.PreparedReviews:
    """The reviews, ready for training."""
    return data.load_prepared(data.Settings())


def training_examples(task: str, reviews: data.EncodedReviews, vocabulary: data.Vocabulary, seed: int) -> data.Examples:
    """Each review alone and with a distractor."""
    if task == "marked":
        return data.marked_examples(reviews, vocabulary, seed)
    return data.examples_with_distractors(reviews, seed)


def test_examples(task: str, source: data.PreparedReviews) -> dict[str, data.Examples]:
    """The test reviews alone, and all pairs that they are tested in."""
    if task == "marked":
        pairs = review_pairs.test_pairs(source)
        alone = data.plain_examples(source.test, source.vocabulary.id(data.MARKER))
        return {"plain": alone, "distracted": pairs + review_pairs.swap_markers(pairs)}
    one, two, three = (data.distracted_examples(source.test, seed) for seed in FRONT_DRAWS)
    return {"plain": data.plain_examples(source.test), "distracted": one + two + three}


def train_and_measure(run: Run) -> dict:
    """Train once, and measure after each epoch; the result is one entry of the table."""
    torch.set_num_threads(1)
    source, measured = prepared(), []
    vocabulary, start = source.vocabulary, time.process_time()
    tests = test_examples(run.task, source)

    def examples(epoch: int) -> data.Examples:
        return training_examples(run.task, source.train, vocabulary, 1000 * (run.seed + 1) + epoch)

    def measure(epoch: dict) -> None:
        right = {kind: (training.evaluate(net, some).logits > 0) == some.labels for kind, some in tests.items()}
        measured.append(accuracies(tests, right))

    torch.manual_seed(run.seed)
    net = MODELS[run.model](len(vocabulary), vocabulary.id(data.MARKER))
    validation, recipe = training_examples(run.task, source.validation, vocabulary, 1), EPOCHS[run.task]
    history = training.fit(net, examples, validation, replace(RECIPE, epochs=recipe), run.seed, after_epoch=measure)
    epochs = [
        {name: round(value, 4) for name, value in epoch.items()} | found
        for epoch, found in zip(history.epochs, measured, strict=True)
    ]
    seconds = round(time.process_time() - start, 1)
    best = {"best_epoch": history.best_epoch} | measured[history.best_epoch - 1]
    return asdict(run) | best | {"epochs": epochs, "cpu_seconds": seconds}


def accuracies(tests: dict[str, data.Examples], right: dict[str, np.ndarray]) -> dict:
    """Accuracy on each kind of example, and how often each test review was classified right, a digit each."""
    plain, distracted, pairs = right["plain"], right["distracted"], tests["distracted"]
    opposite = pairs.labels != pairs.reviews.labels[pairs.distractor_rows]
    result = {
        "plain": plain.mean(),
        "distracted": distracted.mean(),
        "opposite": distracted[opposite].mean(),  # of pairs of reviews with opposite labels
        "equal": distracted[~opposite].mean(),
        "wrong_alone_too": 1 - plain[pairs.target_rows[~distracted]].mean(),  # of what is wrong with a distractor
    }
    result = {name: round(float(value), 4) for name, value in result.items()}
    draws = distracted.reshape(-1, 3, len(pairs.reviews))  # (markings, draws, reviews)
    counts = {"plain": plain.astype(int), "distracted": draws.sum(axis=(0, 1))}
    result["draws"] = draws.mean(axis=(0, 2)).round(4).tolist()
    result["right"] = {kind: "".join(map(str, digits)) for kind, digits in counts.items()}
    return result

"""How one run of the table of *Does it help?* is trained and measured; `experiments/table.py` lists the runs.

Every model gets the same number of epochs and keeps the one that validates best. It is tested on the reviews alone and
on three draws of distractors; in the marked task each pair counts twice, once with either review marked.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache, partial

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import nn

from shared import data, model, training

RECIPE = replace(training.recipe_for(data.Settings()), epochs=4)
TEST_DRAWS = {"front": (2, 3, 4), "marked": (100, 101, 102)}  # seeds; the labs test on the first of them too


@dataclass(frozen=True, order=True)
class Run:
    """One model, trained once: the task is `front` or `marked`, and split 0 is that of the course."""

    task: str
    model: str
    variant: str
    split: int
    seed: int

    def __str__(self) -> str:
        return f"{self.task}, {self.model}, {self.variant}, split {self.split}, seed {self.seed}"


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
        weights = mask.to(x) / mask.sum(dim=1, keepdim=True)  # (batch, tokens)
        return self.output(model.weighted_sum(weights, states)).squeeze(1), weights


class Convolution(nn.Module):
    """Windows of five tokens, 32 filters, the largest answer of each (Kim 2014), and a linear classifier."""

    def __init__(self, vocabulary_size: int, d_model: int = 16):
        super().__init__()
        self.embedding = model.TokenEmbedding(vocabulary_size, d_model)
        self.filters = nn.Conv1d(d_model, 32, 5, padding=2)
        self.output = nn.Linear(32, 1)

    def forward(self, ids, mask):
        x = self.embedding(ids) * mask.unsqueeze(2)  # (batch, tokens, d_model)
        found = self.filters(x.transpose(1, 2)).relu() * mask.unsqueeze(1)  # (batch, 32, tokens)
        weights = mask.to(x) / mask.sum(dim=1, keepdim=True)  # (batch, tokens)
        return self.output(found.amax(dim=2)).squeeze(1), weights


MODELS: dict[str, Callable[..., nn.Module]] = {
    "mean pooling": lambda size, mark: model.MeanPooling(size),
    "attention pooling": lambda size, mark: model.AttentionPooling(size),
    "keys and one query": lambda size, mark: KeysAndOneQuery(size),
    "2 constant queries": lambda size, mark: ConstantQueries(size, 2),
    "4 constant queries": lambda size, mark: ConstantQueries(size, 4),
    "CNN": lambda size, mark: Convolution(size),
    "GRU": lambda size, mark: Recurrent(size),
    "self-attention": lambda size, mark: model.SelfAttentionClassifier(size),
    "self-attention without values": lambda size, mark: model.SelfAttentionClassifier(size, d_v=None),
    "encoder": lambda size, mark: model.EncoderClassifier(size),
    "marker query": model.MarkerQueryClassifier,
    "marker query, constant query": partial(model.MarkerQueryClassifier, constant_query=True),
}
STANDARD = "as taught"
MODEL_OPTIONS = {STANDARD: {}, "no positions": {"positions": False}}


# --- one run -----------------------------------------------------------------------------------------------------


@cache
def prepared(split: int = 0) -> data.PreparedReviews:
    """The reviews of a split, ready for training."""
    reviews = data.load_reviews()
    return data.prepare(other_split(reviews, split) if split else reviews)


def other_split(reviews: data.Reviews, seed: int) -> data.Reviews:
    """Other training, validation and test reviews: blocks of 50 rows stay whole, a tenth of each label is tested on."""
    parts = (reviews.train, reviews.validation, reviews.test)
    columns = [[value for part in parts for value in getattr(part, name)] for name in ("texts", "labels", "rows")]
    rank = np.random.default_rng(seed).random((2, 250)).argsort(axis=1)  # rows are sorted by label: 250 blocks of each
    part_of_row = np.where(rank < 25, 2, np.where(rank < 50, 1, 0)).ravel()[np.array(columns[2]) // 50]  # (reviews,)

    def select(part: int) -> data.TokenizedReviews:
        chosen = np.flatnonzero(part_of_row == part)
        return data.tokenized(*([values[row] for row in chosen] for values in columns))

    return data.Reviews(select(0), select(1), select(2), reviews.citation)


def example_makers(task: str, separator: int, mark: int) -> tuple[Callable, Callable]:
    """Two functions of (reviews, seed): the plain and the distracted examples of a task."""
    marked = (True, mark, separator) if task == "marked" else (False, data.NO_MARKER, data.NO_MARKER)
    return (
        lambda reviews, seed: data.plain_examples(reviews, marked[1]),
        lambda reviews, seed: data.distracted_examples(reviews, seed, *marked),
    )


def swap_marks(pairs: data.Examples) -> data.Examples:
    """The same texts in the same order, with the other review marked."""
    labelled, distractor, first = pairs.distractor, pairs.labelled, ~pairs.distractor_first
    return replace(pairs, labelled=labelled, distractor=distractor, distractor_first=first)


def train(net: nn.Module, make_examples: Callable, source: data.PreparedReviews, recipe: training.Recipe, seed: int):
    """Train with new distractors in each epoch; `make_examples` takes (reviews, seed). Returns the history."""

    def training_examples(epoch: int) -> data.Examples:
        return make_examples(source.train, 1000 * (seed + 1) + epoch)

    return training.fit(net, training_examples, make_examples(source.validation, 1), recipe, seed)


def train_and_measure(run: Run) -> dict:
    """Train and measure once; the result is one entry of the table."""
    torch.set_num_threads(1)
    source = prepared(run.split)
    plain, distracted = example_makers(run.task, *map(source.vocabulary.id, (data.SEPARATOR, data.MARKER)))

    def make_examples(reviews, seed):
        return plain(reviews, seed) + distracted(reviews, seed)

    first, *others = (distracted(source.test, seed) for seed in TEST_DRAWS[run.task])
    pairs = sum(others, first)
    tests = {
        "plain": plain(source.test, 0),
        "distracted": pairs + swap_marks(pairs) if run.task == "marked" else pairs,
    }
    start = time.process_time()
    if run.model == "TF-IDF":
        predictions, properties = bag_of_words(make_examples(source.train, 1000 * (run.seed + 1)), tests)
    else:
        predictions, properties = network(run, source, make_examples, tests)
    seconds = round(time.process_time() - start, 1)
    return asdict(run) | accuracies(run, tests, predictions) | properties | {"cpu_seconds": seconds}


def accuracies(run: Run, tests: dict[str, data.Examples], predictions: dict[str, np.ndarray]) -> dict:
    """Accuracy on each kind of example, from the predicted labels."""
    plain, distracted = (predictions[kind] == tests[kind].labels for kind in ("plain", "distracted"))
    pairs = tests["distracted"]
    opposite = pairs.labels != pairs.reviews.labels[pairs.distractor]
    draws, reviews = len(TEST_DRAWS[run.task]), len(pairs.reviews)
    result = {
        "plain": plain.mean(),
        "distracted": distracted.mean(),
        "opposite": distracted[opposite].mean(),  # of pairs of reviews with opposite labels
        "equal": distracted[~opposite].mean(),
        "wrong_alone_too": 1 - plain[pairs.labelled[~distracted]].mean(),  # of what is wrong with a distractor
    }
    result = {name: round(float(value), 4) for name, value in result.items()}
    result["draws"] = distracted.reshape(-1, draws, reviews).mean(axis=(0, 2)).round(4).tolist()
    if run.variant == STANDARD and run.split == 0:  # how often the answer to each test review was right, a digit each
        counts = {"plain": plain.astype(int), "distracted": distracted.reshape(-1, reviews).sum(axis=0)}
        result["right"] = {kind: "".join(map(str, digits)) for kind, digits in counts.items()}
    return result


def bag_of_words(training_examples: data.Examples, tests: dict[str, data.Examples]) -> tuple[dict, dict]:
    """The baseline, TF-IDF and logistic regression: its predictions and its properties."""
    vectorizer = TfidfVectorizer(analyzer=list, min_df=2)
    x = vectorizer.fit_transform(training_examples)
    classifier = LogisticRegression(max_iter=1000).fit(x, training_examples.labels)
    predictions = {kind: classifier.predict(vectorizer.transform(examples)) for kind, examples in tests.items()}
    return predictions, {"share_on_labelled": None, "parameters": classifier.coef_.size + 1, "outside_embedding": None}


def network(run: Run, source: data.PreparedReviews, make_examples: Callable, tests: dict) -> tuple[dict, dict]:
    """One of the networks: its predictions and its properties."""
    torch.manual_seed(run.seed)
    net = MODELS[run.model](len(source.vocabulary), source.vocabulary.id(data.MARKER), **MODEL_OPTIONS[run.variant])
    parameters = sum(parameter.numel() for parameter in net.parameters())
    history = train(net, make_examples, source, RECIPE, run.seed)
    measured = {kind: training.evaluate(net, examples) for kind, examples in tests.items()}
    predictions = {kind: (result.logits > 0).astype(int) for kind, result in measured.items()}
    return predictions, {
        "share_on_labelled": round(measured["distracted"].attention_on_labelled, 4),
        "best_epoch": history.best_epoch,
        "parameters": parameters,
        "outside_embedding": parameters - net.embedding.table.weight.numel(),
    }

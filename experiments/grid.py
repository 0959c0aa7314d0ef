"""What lab 9's table is made of: every model, variant and seed, and how one of them is trained and measured.

`experiments/results.py` runs them all.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import nn

from shared import data, model, training

SEEDS = {"front": 5, "marked": 5}  # runs of each model and variant of a task


@dataclass(frozen=True, order=True)
class Run:
    """One model, trained once: the task is `front` (lab 1) or `marked` (lab 4)."""

    task: str
    model: str
    variant: str
    seed: int


class Unmasked(nn.Module):
    """A model as a textbook pipeline would use it: every sequence padded to 256 tokens, and no mask."""

    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner

    def forward(self, ids, mask):
        width = ids.shape[1]
        ids = nn.functional.pad(ids, (0, 256 - width))  # (batch, 256)
        logits, weights = self.inner(ids, torch.ones_like(ids, dtype=torch.bool))
        return logits, weights[:, :width]


MODELS: dict[str, Callable[..., nn.Module]] = {
    "mean pooling": lambda size, mark, **options: model.MeanPooling(size, **options),
    "attention pooling": lambda size, mark, **options: model.AttentionPooling(size, **options),
    "key pooling": lambda size, mark, **options: model.KeyPooling(size, **options),
    "self-attention, no values": lambda size, mark, **options: model.SelfAttentionClassifier(
        size, value_dim=None, **options
    ),
    "self-attention": lambda size, mark, **options: model.SelfAttentionClassifier(size, **options),
    "encoder": lambda size, mark, **options: model.EncoderClassifier(size, **options),
    "mark's row": lambda size, mark, **options: model.MarkedSelfAttentionClassifier(size, mark, **options),
    "mark's row, constant query": lambda size, mark, **options: model.MarkedSelfAttentionClassifier(
        size, mark, constant_query=True, **options
    ),
}

AS_TAUGHT = "as taught"
MODEL_OPTIONS = {
    "no scale": {"scale": False},
    "no positions": {"positions": False},
    "embeddings of std 1": {"std": 1.0},
    "32 features": {"dim": 32},
    "32 features, 16 keys, 32 values": {"dim": 32, "key_dim": 16, "value_dim": 32},
}
SHARES = {"half of the reviews": 2, "a quarter of the reviews": 4}
ALL_LENGTHS = {"all reviews, fair window": data.REVIEW_TOKENS, "all reviews, cut window": None}

GRID = {
    ("front", "TF-IDF"): [AS_TAUGHT, *SHARES, *ALL_LENGTHS],
    ("front", "mean pooling"): [AS_TAUGHT, "no mask", "no positions", "32 features", *SHARES, *ALL_LENGTHS],
    ("front", "attention pooling"): [
        AS_TAUGHT,
        "no mask",
        "no positions",
        "separator",
        "embeddings of std 1",
        "32 features",
        *SHARES,
        *ALL_LENGTHS,
    ],
    ("front", "key pooling"): [AS_TAUGHT],
    ("front", "self-attention, no values"): [AS_TAUGHT],
    ("front", "self-attention"): [
        AS_TAUGHT,
        "no mask",
        "no scale",
        "no positions",
        "separator",
        "32 features, 16 keys, 32 values",
        *SHARES,
    ],
    ("front", "encoder"): [AS_TAUGHT],
    ("marked", "TF-IDF"): [AS_TAUGHT],
    ("marked", "mean pooling"): [AS_TAUGHT],
    ("marked", "attention pooling"): [AS_TAUGHT, "32 features"],
    ("marked", "self-attention"): [AS_TAUGHT],
    ("marked", "mark's row"): [AS_TAUGHT, "no scale", "no positions", "32 features, 16 keys, 32 values"],
    ("marked", "mark's row, constant query"): [AS_TAUGHT],
}


def all_runs(most_seeds: int | None = None) -> list[Run]:
    """Every run, those of the first seed first, so that a stopped grid has looked at everything once."""
    return [
        Run(task, name, variant, seed)
        for seed in range(max(SEEDS.values()))[:most_seeds]
        for (task, name), variants in GRID.items()
        for variant in variants
        if seed < SEEDS[task]
    ]


# --- one run -----------------------------------------------------------------------------------------------------


@cache
def prepared(scale: str, cut: int | None) -> data.Prepared:
    return data.prepare(data.Settings("movies", scale), cut)


def part_of(split: data.EncodedReviews, divisor: int, seed: int) -> data.EncodedReviews:
    """A random part of the reviews."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(split))[: len(split) // divisor])
    ids = np.concatenate([split[row] for row in rows])
    return replace(split, ids=ids, offsets=np.cumsum([0, *split.lengths[rows]]), labels=split.labels[rows])


def example_makers(run: Run, source: data.Prepared) -> tuple[Callable, Callable]:
    """Two functions of (reviews, seed): the plain and the distracted examples of the run's task."""
    separator, mark = source.vocabulary.id(data.SEPARATOR), source.vocabulary.id(data.MARK)
    window = 256 if run.variant == "all reviews, cut window" else None
    if run.task == "marked":
        return (
            lambda reviews, seed: data.plain_examples(reviews, mark),
            lambda reviews, seed: data.distracted_examples(reviews, seed, True, mark, separator),
        )
    before = separator if run.variant == "separator" else data.PAD
    return (
        lambda reviews, seed: data.plain_examples(reviews, window=window),
        lambda reviews, seed: data.distracted_examples(reviews, seed, before_labelled=before, window=window),
    )


def perform(run: Run) -> dict:
    """Train and measure once; the result as a line of the table."""
    torch.set_num_threads(1)
    scale, cut = ("full", ALL_LENGTHS[run.variant]) if run.variant in ALL_LENGTHS else ("quick", data.REVIEW_TOKENS)
    source = prepared(scale, cut)
    train = part_of(source.train, SHARES.get(run.variant, 1), run.seed)
    plain, distracted = example_makers(run, source)

    def both(reviews, seed):
        return plain(reviews, seed) + distracted(reviews, seed)

    tests = {"plain": plain(source.test, 2), "distracted": distracted(source.test, 2)}
    start = time.process_time()
    if run.model == "TF-IDF":
        figures = bag_of_words(both(train, 1000 * (run.seed + 1)), tests)
    else:
        figures = network(run, source, lambda epoch: both(train, 1000 * (run.seed + 1) + epoch), both, tests)
    return asdict(run) | figures | {"cpu_seconds": round(time.process_time() - start, 1)}


def bag_of_words(training_examples: data.Examples, tests: dict[str, data.Examples]) -> dict:
    """The yardstick: TF-IDF and logistic regression."""
    vectorizer = TfidfVectorizer(analyzer=list, min_df=2)
    lists = {name: [examples[i] for i in range(len(examples))] for name, examples in tests.items()}
    features = vectorizer.fit_transform([training_examples[i] for i in range(len(training_examples))])
    classifier = LogisticRegression(max_iter=1000).fit(features, training_examples.labels)
    accuracy = {
        name: round(classifier.score(vectorizer.transform(lists[name]), tests[name].labels), 4) for name in tests
    }
    return accuracy | {"share_on_labelled": None, "parameters": classifier.coef_.size + 1, "outside_embedding": None}


def network(run: Run, source: data.Prepared, training_examples: Callable, both: Callable, tests: dict) -> dict:
    """One of our models, trained with the recipe of lab 1 and kept at its best epoch."""
    recipe = training.recipe_for(data.Settings())
    if run.model == "mean pooling":
        recipe = replace(recipe, epochs=recipe.epochs + 1)
    torch.manual_seed(run.seed)
    mark = source.vocabulary.id(data.MARK)
    net = MODELS[run.model](len(source.vocabulary), mark, **MODEL_OPTIONS.get(run.variant, {}))
    parameters = sum(p.numel() for p in net.parameters())
    embedding = net.features.embedding.weight.numel()
    if run.variant == "no mask":
        net = Unmasked(net)
    training.fit(net, training_examples, both(source.validation, 1), recipe, run.seed)
    measured = {name: training.evaluate(net, examples) for name, examples in tests.items()}
    return {
        "plain": round(measured["plain"].accuracy, 4),
        "distracted": round(measured["distracted"].accuracy, 4),
        "share_on_labelled": round(measured["distracted"].share_on_labelled, 4),
        "parameters": parameters,
        "outside_embedding": parameters - embedding,
    }

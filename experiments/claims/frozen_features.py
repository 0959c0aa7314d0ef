"""Features of the pretrained model, frozen, against words learned from scratch on the same reviews, in both tasks.

Writes shared/frozen_features.json, which the lab *Does it help?* reads; Colab has no other folder of the course. Single
runs are in _build/frozen_features.json, so a stopped script continues. Half an hour of one core.

    python -m experiments.claims.frozen_features
"""

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from experiments import record, table_runs
from shared import data, model, pretrained_model, training
from shared.statistics import mean_and_interval

TABLE, RUNS = record.ROOT / "shared/frozen_features.json", record.ROOT / "_build/frozen_features.json"
SEEDS = range(5)
ROWS = [  # task, classifier, training reviews, what the reviews are read by
    *(("front", "attention", 860, words) for words in ("own words", "64 components", "all 384")),
    *(("marked", "marker query", 1720, words) for words in ("own words", "64 components")),
    *(("marked", "attention", 1720, words) for words in ("own words", "64 components")),
    *(("front", "attention", 1720, words) for words in ("own words", "64 components")),
]


class FrozenFeatures(nn.Module):
    """A linear map of frozen x, a row of `table` for each id, and learned vectors for `<SEP>` and `<MARK>`."""

    def __init__(self, table: torch.Tensor, d_model: int = 16, dropout: float = 0.3):
        super().__init__()
        self.register_buffer("table", table, persistent=False)
        self.narrow, self.marks = nn.Linear(table.shape[1], d_model), nn.Embedding(2, d_model)
        nn.init.normal_(self.marks.weight, std=0.1)
        self.register_buffer("positions", model.sinusoidal_positions(1024, d_model), persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        mark = ids - len(self.table)  # (batch, tokens), 0 and 1 for <SEP> and <MARK>
        x = self.narrow(self.table[ids.clamp(max=len(self.table) - 1)].float())  # (batch, tokens, d_model)
        x = torch.where(mark[:, :, None] < 0, x, self.marks(mark.clamp(min=0)))
        return self.dropout(x + self.positions[: ids.shape[1]])


def short_reviews() -> data.Reviews:
    """1,720 reviews of at most 100 words to train on, 210 to validate on, and all such test reviews."""
    reviews, random, parts = data.load_reviews(), np.random.default_rng(0), []
    for split, size in ((reviews.train, 1720), (reviews.validation, 210), (reviews.test, None)):
        rows = random.permutation(np.flatnonzero(split.lengths <= 100))[:size]
        parts.append(data.tokenized([split.texts[row] for row in rows], split.labels[rows]))
    return data.Reviews(*parts, reviews.citation)


def own_words(reviews: data.Reviews, number: int) -> data.PreparedReviews:
    """The reviews in ids of a vocabulary that is built from the first `number` training reviews."""
    train = data.tokenized(reviews.train.texts[:number], reviews.train.labels[:number])
    vocabulary = data.build_vocabulary(train, special=(data.SEPARATOR, data.MARKER))
    parts = (train, reviews.validation, reviews.test)
    encoded = (data.encode(part, vocabulary) for part in parts)
    return data.PreparedReviews(*encoded, vocabulary, reviews.citation)


def frozen(reviews: data.Reviews, number: int, offsets: np.ndarray) -> data.PreparedReviews:
    """The reviews in ids of single tokens: each token has its own row of x; row 0 is padding."""
    parts, first, size = [], 0, offsets[-1] + 3  # two more ids, for <SEP> and <MARK>
    for split, length in ((reviews.train, number), (reviews.validation, None), (reviews.test, None)):
        labels = split.labels[:length]
        bounds = offsets[first : first + len(labels) + 1]
        ids = np.arange(bounds[0], bounds[-1], dtype=np.int32) + 1
        parts.append(data.EncodedReviews(ids, bounds - bounds[0], labels, int(size)))
        first += len(split)
    return data.PreparedReviews(*parts, data.Vocabulary([]), reviews.citation)


def run(task: str, name: str, source: data.PreparedReviews, table: torch.Tensor | None, seed: int) -> dict:
    """Train one classifier on frozen x (`table`) or on own words (None), and measure it."""
    words, separator, mark = 2, source.train.vocabulary_size - 2, source.train.vocabulary_size - 1
    if table is None:
        words, separator, mark = len(source.vocabulary), *map(source.vocabulary.id, (data.SEPARATOR, data.MARKER))
    plain, distracted = table_runs.example_makers(task, separator, mark)
    torch.manual_seed(seed)
    net = table_runs.MODELS["attention pooling" if name == "attention" else name](words, mark)
    if table is not None:
        net.embedding = FrozenFeatures(table)
    recipe = training.Recipe(epochs=6, learning_rate=0.005, batch_size=32)
    table_runs.train(net, lambda some, draw: plain(some, draw) + distracted(some, draw), source, recipe, seed)
    draws = []
    for draw in range(50, 53):
        examples = distracted(source.test, draw)
        result = training.evaluate(net, examples)
        right = (result.logits > 0) == result.labels
        opposite = examples.reviews.labels[examples.distractor] != examples.labels
        swapped = training.evaluate(net, replace(examples, distractor_first=~examples.distractor_first))
        attention = result.attention_on_labelled, swapped.attention_on_labelled
        draws.append((right.mean(), right[opposite].mean(), *attention))
    names = ("distracted", "opposite labels", "share on labelled", "share on labelled, halves swapped")
    values = {"plain": training.evaluate(net, plain(source.test, 0)).accuracy}
    values |= dict(zip(names, np.mean(draws, axis=0), strict=True))
    return {name: rounded(value) for name, value in values.items()}


def rounded(value: float) -> float:
    return float(f"{float(value):.5g}")


def summary(runs: dict[str, dict]) -> dict[str, dict]:
    """Means and intervals over seeds for each row, and its gain over own words, seed by seed."""
    rows = {}
    for task, name, number, words in ROWS:
        row, own = (
            [runs[f"{task}, {name}, {number}, {each}, seed {seed}"] for seed in SEEDS] for each in (words, "own words")
        )
        values = {what: mean_and_interval([result[what] for result in row]) for what in row[0]}
        for what in ("plain", "distracted") if words != "own words" else ():
            gains = [result[what] - baseline[what] for result, baseline in zip(row, own, strict=True)]
            values[f"{what}, more than own words"] = mean_and_interval(gains)
        rows[f"{task}, {name}, {number}, {words}"] = {what: [*map(rounded, pair)] for what, pair in values.items()}
    return rows


if __name__ == "__main__":
    reviews = short_reviews()
    texts = [text for part in (reviews.train, reviews.validation, reviews.test) for text in part.texts]
    x, offsets = pretrained_model.load().frozen_features(texts)
    x = torch.from_numpy(x)  # (1 + tokens, 384)
    of_training = x[1 : 1 + offsets[len(reviews.train)]].float()
    centred = of_training - of_training.mean(dim=0)
    directions = torch.linalg.eigh(centred.T @ centred).eigenvectors  # (384, 384), the longest last
    tables = {"own words": None, "64 components": x.float() @ directions[:, -64:], "all 384": x}
    for task, name, number, words in ROWS:
        table = tables[words]
        source = own_words(reviews, number) if table is None else frozen(reviews, number, offsets)
        for seed in SEEDS:
            key = f"{task}, {name}, {number}, {words}, seed {seed}"
            record.load_or_run(RUNS, key, run, task, name, source, table, seed)
    made_by = "python -m experiments.claims.frozen_features"
    record.write(TABLE, {"made_by": made_by, "about": record.about(), "frozen": summary(record.read(RUNS))})

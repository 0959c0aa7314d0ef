"""Features of the pretrained model, frozen, against embeddings learned from scratch on the same 860 reviews.

Writes runs.json, which the lab reads.
Single runs are in _build/frozen_features.json, so a stopped script continues. A quarter of an hour of one core.

    python -m labs.a_pretrained_model.runs
"""

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from shared import data, model, pretrained_model, record, training
from shared.intervals import mean_and_interval

TABLE, RUNS = record.ROOT / "labs/a_pretrained_model/runs.json", record.ROOT / "_build/frozen_features.json"
SEEDS, DRAWS = range(5), (50, 51, 52)
RECIPE = training.Recipe(epochs=6, learning_rate=0.005, batch_size=32)


class FrozenFeatures(nn.Module):
    """A linear map of frozen x, a row of `table` for each id."""

    def __init__(self, table: torch.Tensor, d_model: int = 16):
        super().__init__()
        self.register_buffer("table", table, persistent=False)
        self.narrow = nn.Linear(table.shape[1], d_model)
        self.register_buffer("positions", model.sinusoidal_positions(1024, d_model), persistent=False)
        self.dropout = nn.Dropout(0.3)

    def forward(self, ids):
        return self.dropout(self.narrow(self.table[ids].float()) + self.positions[: ids.shape[1]])


def short_reviews() -> list[data.TokenizedReviews]:
    """Reviews of at most 100 words: 860 to train on, 210 to validate on, and all such test reviews."""
    reviews, random, parts = data.load_reviews(), np.random.default_rng(0), []
    for split, size in ((reviews.train, 860), (reviews.validation, 210), (reviews.test, None)):
        parts.append(split.select(random.permutation(np.flatnonzero(split.lengths <= 100))[:size]))
    return parts


def frozen(parts: list[data.TokenizedReviews]) -> tuple[list[data.EncodedReviews], torch.Tensor]:
    """The reviews in ids of single tokens, each of which has its own row in the second result; row 0 is padding."""
    pretrained = pretrained_model.load()
    rows, encoded, size = [torch.zeros(1, pretrained.config["hidden_size"])], [], 1
    for part in parts:
        hidden = [pretrained.read(text)[0][1:-1] for text in part.texts]  # (tokens, 384) each, without [CLS] and [SEP]
        offsets = np.cumsum([0] + [len(x) for x in hidden])
        ids = np.arange(size, size + offsets[-1], dtype=np.int32)
        encoded.append(data.EncodedReviews(ids, offsets, part.labels, 0))
        rows, size = rows + hidden, size + offsets[-1]
    return [replace(part, vocabulary_size=size) for part in encoded], torch.cat(rows).half()


def run(parts: list[data.EncodedReviews], num_words: int, table: torch.Tensor | None, seed: int) -> dict:
    """Train attention pooling on frozen x (`table`) or on its own embeddings (None), and measure it."""
    train, validation, test = parts
    torch.manual_seed(seed)
    net = model.AttentionPooling(num_words)
    if table is not None:
        net.embedding = FrozenFeatures(table)
    training.fit(
        net, lambda epoch: data.examples_with_distractors(train, 1000 * (seed + 1) + epoch),
        data.examples_with_distractors(validation, 1), RECIPE, seed,
    )  # fmt: skip
    distracted = [training.evaluate(net, data.distracted_examples(test, draw)).accuracy for draw in DRAWS]
    return {"plain": training.evaluate(net, data.plain_examples(test)).accuracy, "distracted": np.mean(distracted)}


if __name__ == "__main__":
    reviews, means = short_reviews(), {}
    vocabulary = data.build_vocabulary(reviews[0], special=(data.SEPARATOR, data.MARKER))
    own, (features, table) = [data.encode(part, vocabulary) for part in reviews], frozen(reviews)
    for words, arguments in {"own words": (own, len(vocabulary), None), "all 384": (features, 2, table)}.items():
        name = f"front, attention, 860, {words}"
        runs = [record.load_or_run(RUNS, f"{name}, seed {seed}", run, *arguments, seed) for seed in SEEDS]
        means[name] = {kind: mean_and_interval([result[kind] for result in runs]) for kind in ("plain", "distracted")}
    made_by = "python -m labs.a_pretrained_model.runs"
    record.write(TABLE, {"made_by": made_by, "about": record.about(), "frozen": means})

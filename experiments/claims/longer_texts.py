"""Six positional encodings, trained on 64 words of each review and tested on up to 256. 15 minutes of one core.

Writes shared/longer_texts.json, which the lab *Longer texts* reads; Colab has no other folder of the course.

    python -m experiments.claims.longer_texts
"""

import math
import time
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from experiments import record, table_runs
from shared import data, training
from shared.model import masked_softmax, weighted_sum

TABLE = record.ROOT / "shared/longer_texts.json"
DRAWS = (100, 101, 102)  # seeds of the test distractors

WAYS = ("none", "sines", "learned", "rotary", "one slope", "two slopes")
POSITIONED = WAYS[1:]  # "none" is at chance exactly, whatever was trained
# For each variant its encodings, its number of seeds, and what differs from the lab.
VARIANTS = {
    "as in the lab": (WAYS, 5, {}),
    "rate .002": (POSITIONED, 3, {"rate": 0.002}),
    "rate .01": (POSITIONED, 3, {"rate": 0.01}),
    "32 keys": (POSITIONED, 3, {"d_k": 32}),
    "3 epochs": (POSITIONED, 3, {"epochs": 3}),
    "base 100": (["rotary"], 3, {"base": 100}),
    "base 1000": (["rotary"], 3, {"base": 1000}),
    "no bias in queries and keys": (["rotary"], 3, {"biases": False}),
    "slope fixed at 1/4": (["one slope"], 3, {"slope": 1 / 4}),
    "slope fixed at 1/16": (["one slope"], 3, {"slope": 1 / 16}),
    "slope fixed at 1/64": (["one slope"], 3, {"slope": 1 / 64}),
    "reviews of lab 10": (["sines", "rotary"], 5, {"epochs": table_runs.RECIPE.epochs}),
}
RUNS = [(way, variant, seed) for variant, (ways, seeds, _) in VARIANTS.items() for seed in range(seeds) for way in ways]


# --- position ids ------------------------------------------------------------------------------------------------


def in_order(ids: Tensor, special: Tensor | None = None) -> Tensor:
    """0, 1, 2 ... in each text, (batch, tokens)."""
    return torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)


def second_later(gap: int):
    """The second review begins `gap` positions later, and no word is added."""
    return lambda ids, special: in_order(ids) + gap * (special.cumsum(dim=1) - 1)


# --- the model ---------------------------------------------------------------------------------------------------


def rotate(vectors: Tensor, positions: Tensor, base: float = 10_000) -> Tensor:
    """Turn each pair of neighbours in vectors (..., width) by position times frequency (Su et al. 2021)."""
    width = vectors.shape[-1]
    frequencies = base ** (-torch.arange(0, width, 2).to(vectors) / width)  # (width / 2,)
    angles = positions[..., None] * frequencies  # (..., width / 2)
    x, y = vectors[..., 0::2], vectors[..., 1::2]  # (..., width / 2)
    turned = torch.stack([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1)
    return turned.flatten(-2)  # (..., width)


class Reader(nn.Module):
    """Attention with the query at `<MARK>`, and one of six positional encodings, `way`.

    Slopes as in ALiBi (Press et al. 2022), but learned, and one for each side.
    """

    def __init__(self, words, way, mark=3, separator=2, d_model=16, d_k=16, base=10_000, biases=True, slope=None):
        super().__init__()
        self.way, self.mark, self.separator, self.base, self.positions = way, mark, separator, base, in_order
        self.embedding = nn.Embedding(words, d_model)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.dropout = nn.Dropout(0.3)
        self.W_query, self.W_key = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, 1)
        self.table = nn.Parameter(0.1 * torch.randn(1024, d_model)) if way == "learned" else None
        slopes = torch.full((2 if way == "two slopes" else 1,), slope or 1 / 16)
        self.slopes = nn.Parameter(slopes, requires_grad=slope is None) if "slope" in way else None
        if not biases:
            for projection in (self.W_query, self.W_key):
                nn.init.zeros_(projection.bias).requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        marks = ids == self.mark  # (batch, tokens), True at one token of each text
        positions = self.positions(ids, marks | (ids == self.separator))  # (batch, tokens)
        x = self.embedding(ids)  # (batch, tokens, d_model)
        if self.way == "sines":
            arrows = torch.tensor([1.0, 0.0]).to(x).repeat(x.shape[2] // 2)  # (d_model,)
            x = x + rotate(arrows, positions, base=1000)
        if self.way == "learned":
            x = x + self.table[positions.long()]
        x = self.dropout(x)

        position = (marks * positions).sum(dim=1, keepdim=True)  # (batch, 1), that of the mark
        query = self.W_query(weighted_sum(marks.to(x), x))  # (batch, d_k)
        keys = self.W_key(x)  # (batch, tokens, d_k)
        if self.way == "rotary":
            query, keys = rotate(query, position.squeeze(1), self.base), rotate(keys, positions, self.base)
        scores = (keys @ query.unsqueeze(2)).squeeze(2) / math.sqrt(keys.shape[2])  # (batch, tokens)
        if self.slopes is not None:
            distance = positions - position  # (batch, tokens), negative before the mark
            scores = scores + self.slopes[0] * distance.clamp(max=0) - self.slopes[-1] * distance.clamp(min=0)
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        return self.output(weighted_sum(weights, self.W_value(x))).squeeze(1), weights


# --- reviews, training, measuring --------------------------------------------------------------------------------


def long_reviews() -> tuple[data.PreparedReviews, dict[str, data.EncodedReviews]]:
    """Reviews of 64 words to train on, and test reviews of 64, 128 and 256 words."""
    whole = data.load_prepared(data.Settings("movies", "full"), max_tokens=256)  # quick movies are all short

    def first_words(reviews: data.EncodedReviews, number: int, at_least: int = 64) -> data.EncodedReviews:
        return reviews.select(np.flatnonzero(reviews.lengths >= at_least), max_tokens=number)

    train = first_words(whole.train, 64)
    seen = np.bincount(train.ids, minlength=len(whole.vocabulary)) > 0  # other words were never trained: all <UNK>
    tests = {str(length): first_words(whole.test, length, at_least=256) for length in (64, 128, 256)}
    tests = {name: replace(test, ids=np.where(seen[test.ids], test.ids, data.UNK)) for name, test in tests.items()}
    return replace(whole, train=train, validation=first_words(whole.validation, 64)), tests


def right_on_opposite(net: Reader, reviews: data.EncodedReviews) -> list[float]:
    """Accuracy on pairs of opposite labels, with the mark before the first review and before the second: [2]."""
    draws = [data.distracted_examples(reviews, seed, False, net.mark, net.separator) for seed in DRAWS]
    second = sum(draws[1:], draws[0])
    first = table_runs.swap_marks(second)
    opposite = first.labels != second.labels
    right = [(training.evaluate(net, pairs).logits > 0) == (pairs.labels == 1) for pairs in (first, second)]
    return [round(float(answers[opposite].mean()), 4) for answers in right]


def run(source: data.PreparedReviews, tests: dict[str, data.EncodedReviews], way: str, variant: str, seed: int) -> dict:
    """Train and measure once."""
    other, start, vocabulary = dict(VARIANTS[variant][2]), time.process_time(), source.vocabulary
    recipe = training.Recipe(other.pop("epochs", 1), other.pop("rate", 0.005), 64)
    torch.manual_seed(seed)
    net = Reader(len(vocabulary), way, vocabulary.id(data.MARKER), vocabulary.id(data.SEPARATOR), **other)
    table_runs.train(net, lambda some, draw: data.marked_examples(some, vocabulary, draw), source, recipe, seed)
    result = {"way": way, "variant": variant, "seed": seed, "alone": {}, "first": {}, "second": {}}

    def measure(name, reviews, reader=net, positions=in_order):
        reader.positions = positions
        result["first"][name], result["second"][name] = right_on_opposite(reader, reviews)

    for length, reviews in tests.items():
        measure(length, reviews)
        alone = training.evaluate(net, data.plain_examples(reviews, net.mark)).accuracy
        result["alone"][length] = round(alone, 4)
    if variant == "as in the lab":
        measure("64, shifted", tests["64"], positions=lambda ids, special: in_order(ids) + 384)
        for gap in (64, 192, 320, 448):  # 192: the positions that the same words have in reviews of 256
            measure(f"64, second {gap} later", tests["64"], positions=second_later(gap))
        # Position interpolation: 514 tokens reach no farther than 130 did.
        measure("256, squeezed", tests["256"], positions=lambda ids, special: in_order(ids) / 4)
        sharper = deepcopy(net)  # scores times log n, over the log of the longest text in training
        with torch.no_grad():
            for parameter in [*sharper.W_query.parameters(), *([] if net.slopes is None else [sharper.slopes])]:
                parameter *= math.log(514) / math.log(130)
        measure("256, scores by log n", tests["256"], sharper)
    if net.slopes is not None:
        result["slopes"] = [round(slope, 4) for slope in net.slopes.tolist()]
    return result | {"cpu_seconds": round(time.process_time() - start, 1)}


if __name__ == "__main__":
    made_by = "python -m experiments.claims.longer_texts"
    table = record.read(TABLE) or {"made_by": made_by, "about": record.about(), "runs": []}
    done = {(one["way"], one["variant"], one["seed"]) for one in table["runs"]}
    long, short = long_reviews(), (table_runs.prepared(), {"whole": table_runs.prepared().test})
    for way, variant, seed in [one for one in RUNS if one not in done]:
        reviews = short if variant == "reviews of lab 10" else long
        table["runs"].append(run(*reviews, way, variant, seed))
        record.write(TABLE, table)
        print(table["runs"][-1], flush=True)

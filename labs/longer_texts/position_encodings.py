"""What *Longer texts* trains: attention with the query at `<MARK>` and one of six positional encodings.

Also the reviews that it is trained and tested on, and the test: pairs of opposite labels, each asked for both reviews.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from shared import data, training
from shared.model import masked_softmax, weighted_sum
from shared.review_pairs import swap_markers

ENCODINGS = ("none", "sines", "learned", "rotary", "one slope", "two slopes")
SEPARATOR_ID, MARKER_ID = 2, 3  # as `data.prepare` numbers them


# --- positions ---------------------------------------------------------------------------------------------------


def in_order(ids: Tensor) -> Tensor:
    """0, 1, 2 ... in each text, (batch, tokens)."""
    return torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)


def second_later(gap: int | Tensor) -> Callable[[Tensor], Tensor]:
    """Positions with which the second review begins `gap` later than it does, and no word is added."""

    def positions(ids: Tensor) -> Tensor:
        begins = (ids == MARKER_ID) | (ids == SEPARATOR_ID)  # (batch, tokens), True at one or two tokens of each text
        return in_order(ids) + gap * (begins.cumsum(dim=1) - 1)

    return positions


# --- the classifier ----------------------------------------------------------------------------------------------


def rotate_pairs(vectors: Tensor, positions: Tensor, base: float = 10_000) -> Tensor:
    """Rotate each pair of neighbours in vectors (..., width) by position times frequency.

    Source: Su et al. 2021.
    """
    width = vectors.shape[-1]
    frequencies = base ** (-torch.arange(0, width, 2).to(vectors) / width)  # (width / 2,)
    angles = positions[..., None] * frequencies  # (..., width / 2)
    x, y = vectors[..., 0::2], vectors[..., 1::2]  # (..., width / 2)
    rotated = torch.stack([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1)
    return rotated.flatten(-2)  # (..., width)


class PositionedClassifier(nn.Module):
    """The marker query of *A question from the text* with one of the `ENCODINGS`: ids (batch, tokens) to logits.

    `positions` may be replaced: a function of ids that gives the position of each token. The slopes are those of ALiBi
    (Press et al. 2022), but learned, and there may be one for each side.

    Args:
        rotation: the function that rotates queries and keys by their positions.
        slope: a fixed slope in place of learned ones.
    """

    def __init__(
        self, vocabulary_size: int, encoding: str, rotation: Callable = rotate_pairs, d_model: int = 16, d_k: int = 16,
        slope: float | None = None,
    ):  # fmt: skip
        super().__init__()
        if encoding not in ENCODINGS:
            raise ValueError(f"The encoding is {encoding!r}; it accepts {', '.join(ENCODINGS)}.")
        self.encoding, self.rotation = encoding, rotation
        self.positions: Callable[[Tensor], Tensor] = in_order
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.dropout = nn.Dropout(0.3)
        self.W_query, self.W_key = nn.Linear(d_model, d_k), nn.Linear(d_model, d_k)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, 1)
        self.table = nn.Parameter(0.1 * torch.randn(1024, d_model)) if encoding == "learned" else None
        slopes = torch.full((2 if encoding == "two slopes" else 1,), 1 / 16 if slope is None else slope)
        self.slopes = nn.Parameter(slopes, requires_grad=slope is None) if "slope" in encoding else None

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        positions = self.positions(ids)  # (batch, tokens)
        x = self.embedding(ids)  # (batch, tokens, d_model)
        if self.encoding == "sines":
            arrows = torch.tensor([1.0, 0.0]).to(x).repeat(x.shape[2] // 2)  # (d_model,)
            x = x + self.rotation(arrows, positions, 1000)
        if self.table is not None:
            x = x + self.table[positions.long()]
        x = self.dropout(x)

        markers = ids == MARKER_ID  # (batch, tokens), True at one token of each text
        position = (markers * positions).sum(dim=1, keepdim=True)  # (batch, 1), that of the marker
        query, keys = self.W_query(weighted_sum(markers.to(x), x)), self.W_key(x)  # (batch, d_k), (batch, tokens, d_k)
        if self.encoding == "rotary":
            query, keys = self.rotation(query, position.squeeze(1)), self.rotation(keys, positions)
        scores = (keys @ query.unsqueeze(2)).squeeze(2) / math.sqrt(keys.shape[2])  # (batch, tokens)
        if self.slopes is not None:
            distance = positions - position  # (batch, tokens), negative before the marker
            scores = scores + self.slopes[0] * distance.clamp(max=0) - self.slopes[-1] * distance.clamp(min=0)
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        return self.output(weighted_sum(weights, self.W_value(x))).squeeze(1), weights


# --- reviews -----------------------------------------------------------------------------------------------------


def first_words(reviews: data.EncodedReviews, number: int, at_least: int = 64) -> data.EncodedReviews:
    """The reviews of `at_least` words or more, each truncated to its first `number` words.

    Raises:
        ValueError: no such review, or only of one label.
    """
    rows = np.flatnonzero(reviews.lengths >= at_least)
    if len(set(reviews.labels[rows])) < 2:
        raise ValueError(f"This lab needs reviews of {at_least} words or more, of both labels.")
    return reviews.select(rows, max_tokens=number)


def of_varied_length(reviews: data.EncodedReviews, seed: int) -> data.EncodedReviews:
    """Reviews of 64 words, each truncated to 32 to 64 of them."""
    lengths = np.random.default_rng(seed).integers(32, 65, len(reviews))
    left = (np.arange(64) < lengths[:, None]).ravel()  # (words,), of all reviews
    return replace(reviews, ids=reviews.ids[left], offsets=np.concatenate([[0], np.cumsum(lengths)]))


def reviews_by_length(settings: data.Settings) -> tuple[data.PreparedReviews, dict[str, data.EncodedReviews]]:
    """Reviews with training and validation texts of 64 words, and test texts of 64, 128 and 256, by their length."""
    scale = "full" if settings.source == "movies" else settings.scale  # the quick movies are all short
    whole = data.load_prepared(replace(settings, scale=scale), max_tokens=256)
    train = first_words(whole.train, 64)
    trained = np.bincount(train.ids, minlength=len(whole.vocabulary)) > 0  # all other words become <UNK>
    tests = {str(length): first_words(whole.test, length, at_least=256) for length in (64, 128, 256)}
    tests = {name: replace(test, ids=np.where(trained[test.ids], test.ids, data.UNK)) for name, test in tests.items()}
    return replace(whole, train=train, validation=first_words(whole.validation, 64)), tests


# --- training and test -------------------------------------------------------------------------------------------


def train(
    net: nn.Module, source: data.PreparedReviews, seed: int, recipe: training.Recipe, varied: bool = True
) -> training.History:
    """Train on marked reviews, alone and in pairs, of 32 to 64 words; of exactly 64 if not `varied`."""
    texts = (source.train, source.validation)
    train, validation = map(of_varied_length, texts, (0, 1)) if varied else texts

    def examples(epoch: int) -> data.Examples:
        return data.marked_examples(train, source.vocabulary, 1000 * (seed + 1) + epoch)

    return training.fit(net, examples, data.marked_examples(validation, source.vocabulary, 1), recipe, seed)


def right_on_opposite(net: nn.Module, reviews: data.EncodedReviews, seeds: tuple[int, ...] = (100,)) -> np.ndarray:
    """Accuracy on pairs of opposite labels, with the marker before the first and before the second review, (2,)."""
    second, *more = (data.distracted_examples(reviews, seed, False, MARKER_ID, SEPARATOR_ID) for seed in seeds)
    for drawn in more:
        second = second + drawn
    first = swap_markers(second)
    opposite = first.labels != second.labels
    right = [(training.evaluate(net, pairs).logits > 0) == (pairs.labels == 1) for pairs in (first, second)]
    return np.array([answers[opposite].mean() for answers in right])

"""From tokens to batches: vocabulary, examples with another review in front, batches of similar length.

`shared.reviews` loads and tokenises; what the labs need of it can be had here too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from shared.reviews import Reviews, Settings, Split, load_reviews, tokenize
from shared.reviews import read_movies as read_movies
from shared.reviews import start_lab as start_lab
from shared.reviews import tokenized as tokenized

PAD, UNK = 0, 1
SEPARATOR, MARK = "<SEP>", "<MARK>"
REVIEW_TOKENS = 128  # each review's fair half of a window of 256 tokens


# --- vocabulary and ids ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Vocabulary:
    """The words a model knows; a word's id is its place. `<PAD>` is 0, `<UNK>`, any unknown word, is 1."""

    words: list[str]

    def __post_init__(self):
        object.__setattr__(self, "_ids", {word: place for place, word in enumerate(self.words)})

    def __len__(self):
        return len(self.words)

    def __contains__(self, word: str):
        return word in self._ids

    def id(self, word: str) -> int:
        """The id of a word, `UNK` for an unknown one."""
        return self._ids.get(word, UNK)

    def encode(self, text: str) -> list[int]:
        """The ids of a text's tokens."""
        return [self.id(word) for word in tokenize(text)]

    def decode(self, ids: Sequence[int]) -> list[str]:
        """The words that the ids stand for."""
        return [self.words[place] for place in ids]


def build_vocabulary(split: Split, min_count: int = 2, special: Sequence[str] = ()) -> Vocabulary:
    """Collect the words seen at least `min_count` times, the most frequent first, equals in alphabetical order.

    Give it the training split alone. `special` tokens follow `<PAD>` and `<UNK>`.
    """
    counts = np.bincount(split.ids, minlength=len(split.words)).tolist()  # (words,)
    kept = sorted((-count, word) for word, count in zip(split.words, counts, strict=True) if count >= min_count)
    return Vocabulary(["<PAD>", "<UNK>", *special, *(word for _, word in kept)])


def encode(split: Split, vocabulary: Vocabulary, cut: int | None = REVIEW_TOKENS, drop_unknown: bool = False) -> Split:
    """The same reviews in ids of the vocabulary, each cut to its first `cut` tokens (None: whole).

    Args:
        drop_unknown: leave out reviews without a known word.

    Raises:
        ValueError: a text holds no known word, and `drop_unknown` is not set; or none of the texts holds one.
    """
    id_of = np.array([vocabulary.id(word) for word in split.words], dtype=np.int32)  # (words,)
    encoded = replace(split, ids=id_of[split.ids], words=vocabulary.words, texts=None, rows=None)
    known = np.array([(encoded[row] != UNK).any() for row in range(len(split))])  # (reviews,)
    unknown = np.flatnonzero(~known)
    if len(unknown) and not drop_unknown:
        words = " ".join(split.words[place] for place in split[unknown[0]])
        raise ValueError(
            f"{len(unknown)} of {len(split)} texts hold no word of the vocabulary; the first is row {unknown[0]}: "
            f"{(split.texts[unknown[0]] if split.texts else words)[:60]!r}. "
            "Mend or remove them, or pass drop_unknown=True to leave them out."
        )
    if len(unknown) == len(split):
        raise ValueError(f"None of the {len(split)} texts holds a word of the vocabulary; is it the right one?")
    return encoded.take(np.flatnonzero(known), cut)


def prepare(settings: Settings, cut: int | None = REVIEW_TOKENS) -> Reviews:
    """Load reviews, build the vocabulary from the training split, and encode all splits (lab 0, step by step).

    The vocabulary holds the special tokens `<SEP>` and `<MARK>` too, which lab 5 puts in front of reviews.
    """
    return prepare_reviews(load_reviews(settings.source, settings.scale), cut)


def prepare_reviews(reviews: Reviews, cut: int | None = REVIEW_TOKENS) -> Reviews:
    """`prepare` for reviews that are loaded already."""
    vocabulary = build_vocabulary(reviews.train, special=(SEPARATOR, MARK))
    parts = (reviews.train, reviews.validation, reviews.test)
    return Reviews(*(encode(part, vocabulary, cut, True) for part in parts), reviews.citation, vocabulary)


# --- examples: a review, alone or with a distractor --------------------------------------------------------------


@dataclass(frozen=True)
class Examples:
    """Which reviews stand in each example: the labelled one and, unless -1, its distractor.

    `before_labelled` and `before_distractor` are ids of special tokens put in front of a part; PAD puts none.
    """

    reviews: Split
    labelled: np.ndarray  # (examples,) rows of `reviews`
    distractor: np.ndarray  # (examples,) rows of `reviews`, -1 for none
    distractor_first: np.ndarray  # (examples,) bool
    before_labelled: np.ndarray  # (examples,) ids
    before_distractor: np.ndarray  # (examples,) ids

    def __len__(self):
        return len(self.labelled)

    def __getitem__(self, row: int) -> np.ndarray:
        """The ids of one example, (tokens,)."""
        return self.joined(row)[0]

    def joined(self, row: int) -> tuple[np.ndarray, slice]:
        """The ids of one example, (tokens,), and where among them the labelled review stands, with its mark."""
        labelled = self._part(self.before_labelled[row], self.labelled[row])
        if self.distractor[row] < 0:
            return labelled, slice(0, len(labelled))
        distractor = self._part(self.before_distractor[row], self.distractor[row])
        both, begin = (
            ([distractor, labelled], len(distractor)) if self.distractor_first[row] else ([labelled, distractor], 0)
        )
        return np.concatenate(both), slice(begin, begin + len(labelled))

    def _part(self, before: int, row: int) -> np.ndarray:
        ids = self.reviews[row]
        return ids if before == PAD else np.concatenate([[before], ids])

    def __add__(self, other: "Examples") -> "Examples":
        """The examples of both, which must be made of the same reviews."""
        if other.reviews is not self.reviews:
            raise ValueError("Examples can be joined only when they are made of the same reviews.")
        names = ("labelled", "distractor", "distractor_first", "before_labelled", "before_distractor")
        return replace(self, **{name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names})

    @property
    def labels(self) -> np.ndarray:
        """The labels, (examples,)."""
        return self.reviews.labels[self.labelled]

    @property
    def part_lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of the labelled part and of the distractor, special tokens included, (examples,) each."""
        lengths = self.reviews.lengths
        labelled = lengths[self.labelled] + (self.before_labelled != PAD)
        distractor = lengths[self.distractor] + (self.before_distractor != PAD)
        return labelled, np.where(self.distractor < 0, 0, distractor)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each example, (examples,)."""
        return sum(self.part_lengths)


def plain_examples(reviews: Split, before_labelled: int = PAD) -> Examples:
    """Each review alone."""
    own = np.arange(len(reviews))
    nothing = np.full(len(own), PAD)
    return Examples(reviews, own, own * 0 - 1, own < 0, nothing + before_labelled, nothing)


def distracted_examples(
    reviews: Split,
    seed: int,
    random_order: bool = False,
    before_labelled: int = PAD,
    before_distractor: int = PAD,
) -> Examples:
    """Each review with another, random one of the same split in front of it (or behind it, in random order).

    Raises:
        ValueError: fewer than two reviews, so that there is no other one.
    """
    size = len(reviews)
    if size < 2:
        raise ValueError(f"A distractor is another review of the split, and this one holds {size}; give two or more.")
    random = np.random.default_rng(seed)
    own = np.arange(size)
    distractor = random.integers(0, size - 1, size)
    distractor += distractor >= own  # skips the review itself, all others stay equally likely
    first = random.random(size) < 0.5 if random_order else np.ones(size, dtype=bool)
    return Examples(reviews, own, distractor, first, np.full(size, before_labelled), np.full(size, before_distractor))


def examples_with_distractors(reviews: Split, seed: int) -> Examples:
    """The task of lab 1: each review alone, then each with a distractor in front of it."""
    return plain_examples(reviews) + distracted_examples(reviews, seed)


def marked_examples(reviews: Split, vocabulary: Vocabulary, seed: int) -> Examples:
    """The task of lab 5: `<MARK>` stands before the review that counts, `<SEP>` before the distractor, in any order.

    Raises:
        ValueError: the vocabulary has no `<MARK>` and `<SEP>`.
    """
    if MARK not in vocabulary or SEPARATOR not in vocabulary:
        raise ValueError("The vocabulary has no <MARK> and <SEP>; build it with special=('<SEP>', '<MARK>').")
    mark, separator = vocabulary.id(MARK), vocabulary.id(SEPARATOR)
    return plain_examples(reviews, mark) + distracted_examples(reviews, seed, True, mark, separator)


def cut_recipe_losses(examples: Examples, window: int = 256) -> dict[str, float]:
    """What happens to labelled reviews when joined texts are cut after `window` tokens: fractions that sum to 1.

    Give it examples of whole reviews (`encode(..., cut=None)`) with the distractor in front.
    """
    labelled, distractor = examples.part_lengths
    left = np.clip(window - distractor, 0, labelled)  # (examples,) tokens of the labelled review that stay
    return {
        "lost": float(np.mean(left == 0)),
        "cut": float(np.mean((left > 0) & (left < labelled))),
        "intact": float(np.mean(left == labelled)),
    }


# --- batches -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Examples side by side, padded to the longest."""

    ids: torch.Tensor  # (batch, tokens) int64
    mask: torch.Tensor  # (batch, tokens) bool, True for a real token
    labels: torch.Tensor  # (batch,) float32
    labelled: torch.Tensor  # (batch, tokens) bool, True in the review that the label is about
    index: np.ndarray  # (batch,) places of these examples among all

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device."""
        names = ("ids", "mask", "labels", "labelled")
        tensors = {name: getattr(self, name) for name in names}
        if torch.device(device).type == "cuda":  # only from pinned memory does a copy not wait for the GPU's work
            tensors = {name: tensor.pin_memory() if tensor.is_cpu else tensor for name, tensor in tensors.items()}
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


def make_batch(examples: Examples, index: np.ndarray) -> Batch:
    """Put the examples `index` into one batch, (batch, tokens)."""
    joined = [examples.joined(row) for row in index]
    tokens = max((len(ids) for ids, _ in joined), default=1)
    ids = np.full((len(joined), tokens), PAD)  # (batch, tokens)
    labelled = np.zeros(ids.shape, dtype=bool)  # (batch, tokens)
    for place, (own, where) in enumerate(joined):
        ids[place, : len(own)] = own
        labelled[place, where] = True
    labels = torch.from_numpy(examples.labels[index]).float()
    return Batch(torch.from_numpy(ids), torch.from_numpy(ids != PAD), labels, torch.from_numpy(labelled), index)


def batches(
    examples: Examples, batch_size: int = 64, seed: int | None = None, device: torch.device | str = "cpu"
) -> Iterator[Batch]:
    """Yield all examples once, in batches of similar length.

    With a seed the order is random; without one, examples come sorted by length, always in the same order.

    Raises:
        ValueError: a batch size below 1, or ids outside the vocabulary.
    """
    for index in batch_rows(examples, batch_size, seed):
        yield make_batch(examples, index).to(device)


def batch_rows(examples: Examples, batch_size: int = 64, seed: int | None = None) -> list[np.ndarray]:
    """Which examples make up each batch of `batches`, (batch,) each."""
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it accepts 1 or more.")
    low, high, size = examples.reviews.ids.min(), examples.reviews.ids.max(), len(examples.reviews.words)
    if low <= PAD or high >= size:
        raise ValueError(
            f"The ids run from {low} to {high}; tokens have ids from {PAD + 1} to {size - 1} in this vocabulary. "
            "Encode the texts with the vocabulary of the model."
        )
    lengths = examples.lengths
    if seed is None:
        return np.array_split(np.argsort(lengths, kind="stable"), range(batch_size, len(lengths), batch_size))
    # Sort by length within random pools of 50 batches, then shuffle the batches.
    random = np.random.default_rng(seed)
    order = random.permutation(len(lengths))
    rows = []
    for begin in range(0, len(order), 50 * batch_size):
        pool = order[begin : begin + 50 * batch_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        rows += np.array_split(pool, range(batch_size, len(pool), batch_size))
    return [rows[place] for place in random.permutation(len(rows))]

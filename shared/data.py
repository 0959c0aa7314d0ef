"""From tokens to batches: vocabulary, examples with a distractor, batches of similar length.

`shared.reviews` loads and tokenizes; labs also import `start_lab` and `load_reviews` from here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch

from shared.reviews import (
    EncodedReviews,
    Reviews,
    Settings,
    TokenizedReviews,
    load_reviews,
    tokenize,
)
from shared.reviews import start_lab as start_lab

PAD, UNK = 0, 1
SEPARATOR, MARKER = "<SEP>", "<MARK>"
NO_DISTRACTOR, NO_MARKER = -1, PAD  # no row and no token has these numbers
REVIEW_TOKENS = 128  # half of a window of 256 tokens for each of two reviews


# --- vocabulary and ids ---------------------------------------------------------------------------


class Vocabulary:
    """The words a model knows; an id is an index. `<PAD>` is 0; `<UNK>`, an unknown word, is 1."""

    def __init__(self, words: list[str]):
        self.words = words
        self.ids = {word: index for index, word in enumerate(words)}

    def __len__(self):
        return len(self.words)

    def __contains__(self, word: str):
        return word in self.ids

    def id(self, word: str) -> int:
        """The id of a word, `UNK` for an unknown one."""
        return self.ids.get(word, UNK)

    def encode(self, text: str) -> list[int]:
        """The ids of a text's tokens."""
        return [self.id(word) for word in tokenize(text)]

    def decode(self, ids: Sequence[int]) -> list[str]:
        """The words with these ids."""
        return [self.words[index] for index in ids]


def build_vocabulary(
    reviews: TokenizedReviews, min_count: int = 2, special: Sequence[str] = ()
) -> Vocabulary:
    """The words seen at least `min_count` times: the most frequent first, ties by the alphabet.

    Give it the training split only. `special` tokens follow `<PAD>` and `<UNK>`.
    """
    counts = np.bincount(reviews.ids, minlength=len(reviews.words)).tolist()  # (words,)
    counted = zip(reviews.words, counts, strict=True)
    frequent = sorted((-count, word) for word, count in counted if count >= min_count)
    return Vocabulary(["<PAD>", "<UNK>", *special, *(word for _, word in frequent)])


def encode(
    reviews: TokenizedReviews, vocabulary: Vocabulary, max_tokens: int | None = REVIEW_TOKENS
) -> EncodedReviews:
    """The reviews in ids of the vocabulary, truncated to `max_tokens` tokens (None: whole).

    Reviews without a known word are left out.

    Raises:
        ValueError: no review holds a known word, or `max_tokens` is below 1.
    """
    id_of = np.array([vocabulary.id(word) for word in reviews.words], dtype=np.int32)  # (words,)
    encoded = EncodedReviews(id_of[reviews.ids], reviews.offsets, reviews.labels, len(vocabulary))
    known = [(encoded[row] != UNK).any() for row in range(len(reviews))]
    if not any(known):
        raise ValueError(
            f"None of the {len(reviews)} texts holds a word of the vocabulary; is it the right one?"
        )
    return encoded.select(np.flatnonzero(known), max_tokens)


@dataclass(frozen=True)
class PreparedReviews:
    """Three splits in the ids of a vocabulary, and whom to cite for the texts."""

    train: EncodedReviews
    validation: EncodedReviews
    test: EncodedReviews
    vocabulary: Vocabulary
    citation: str


def load_prepared(settings: Settings, max_tokens: int | None = REVIEW_TOKENS) -> PreparedReviews:
    """Load reviews and `prepare` them."""
    return prepare(load_reviews(settings.source, settings.scale), max_tokens)


def prepare(reviews: Reviews, max_tokens: int | None = REVIEW_TOKENS) -> PreparedReviews:
    """Build the vocabulary from the training split and encode all splits (*The reviews*).

    The vocabulary also holds the special tokens `<SEP>` and `<MARK>`, which `marked_examples` puts
    before reviews.
    """
    vocabulary = build_vocabulary(reviews.train, special=(SEPARATOR, MARKER))
    splits = (reviews.train, reviews.validation, reviews.test)
    train, validation, test = [encode(split, vocabulary, max_tokens) for split in splits]
    return PreparedReviews(train, validation, test, vocabulary, reviews.citation)


# --- examples: a review, alone or with a distractor -----------------------------------------------


@dataclass(frozen=True)
class Examples:
    """The reviews of each example: a target, perhaps a distractor, perhaps markers before them."""

    reviews: EncodedReviews
    target_rows: np.ndarray  # (examples,) rows of `reviews`
    distractor_rows: np.ndarray  # (examples,) rows of `reviews`, or NO_DISTRACTOR
    distractor_first: np.ndarray  # (examples,) bool
    # (examples,) id of a special token before the target review, or NO_MARKER
    marker_of_target: np.ndarray
    marker_of_distractor: np.ndarray  # (examples,) likewise

    def __post_init__(self):
        if not isinstance(self.reviews, EncodedReviews):
            raise TypeError(
                "Examples are made from EncodedReviews, but these are "
                f"{type(self.reviews).__name__}, which number words in another way. Encode them "
                "first: `encode(reviews, vocabulary)`."
            )

    def __len__(self):
        return len(self.target_rows)

    def __getitem__(self, row: int) -> np.ndarray:
        """The ids of one example, (tokens,)."""
        return self.concatenated(row)[0]

    def concatenated(self, row: int) -> tuple[np.ndarray, slice]:
        """The ids of one example, (tokens,), and where the target review is, marker and all."""
        target = self._part(self.marker_of_target[row], self.target_rows[row])
        distractor = self._part(self.marker_of_distractor[row], self.distractor_rows[row])
        if self.distractor_first[row]:
            ids = np.concatenate([distractor, target])
            return ids, slice(len(distractor), len(ids))
        return np.concatenate([target, distractor]), slice(0, len(target))

    def _part(self, marker: int, row: int) -> np.ndarray:
        ids = self.reviews.ids[:0] if row == NO_DISTRACTOR else self.reviews[row]
        return ids if marker == NO_MARKER else np.concatenate([[marker], ids])

    def __add__(self, other: "Examples") -> "Examples":
        """The examples of both, which must be made of the same reviews."""
        if other.reviews is not self.reviews:
            raise ValueError("Examples can be added only if they are made from the same reviews.")
        names = [field.name for field in fields(self) if field.name != "reviews"]
        joined = (np.concatenate([getattr(self, name), getattr(other, name)]) for name in names)
        return Examples(self.reviews, *joined)

    @property
    def labels(self) -> np.ndarray:
        """The labels, (examples,)."""
        return self.reviews.labels[self.target_rows]

    @property
    def part_lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of the target part and of the distractor, markers included, (examples,) each."""
        lengths = self.reviews.lengths
        target = lengths[self.target_rows] + (self.marker_of_target != NO_MARKER)
        # without a distractor this is the length in row -1, which the last line replaces by 0
        distractor = lengths[self.distractor_rows] + (self.marker_of_distractor != NO_MARKER)
        return target, np.where(self.distractor_rows == NO_DISTRACTOR, 0, distractor)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each example, (examples,)."""
        target, distractor = self.part_lengths
        return target + distractor

    def batch_rows(self, batch_size: int, seed: int | None = None) -> list[np.ndarray]:
        """The rows of each batch, (batch,) each; lengths within a batch are similar.

        Without a seed, from the shortest examples to the longest. With one, in random order: the
        examples are dealt into random pools of 50 batches, sorted by length in each pool and split
        into batches, and all batches are shuffled.

        Raises:
            ValueError: a batch size below 1, or ids outside the vocabulary.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; give 1 or more.")
        self._check_ids()
        lengths = self.lengths
        if seed is None:
            return in_batches(np.argsort(lengths, kind="stable"), batch_size)
        random = np.random.default_rng(seed)
        order, pool_size = random.permutation(len(self)), 50 * batch_size
        batched = []
        for begin in range(0, len(order), pool_size):
            pool = order[begin : begin + pool_size]
            batched += in_batches(pool[np.argsort(lengths[pool], kind="stable")], batch_size)
        return [batched[index] for index in random.permutation(len(batched))]

    def _check_ids(self) -> None:
        low, high = self.reviews.ids.min(), self.reviews.ids.max()
        if low <= PAD or high >= self.reviews.vocabulary_size:
            raise ValueError(
                f"The ids run from {low} to {high}; tokens have ids from {PAD + 1} to "
                f"{self.reviews.vocabulary_size - 1} in this vocabulary. Encode the texts with the "
                "vocabulary of the model."
            )

    def batch(self, rows: np.ndarray) -> "Batch":
        """The examples in these rows as one batch, (batch, tokens)."""
        parts = [self.concatenated(row) for row in rows]
        # a process may have no example of the last batch
        num_tokens = max((len(ids) for ids, _ in parts), default=1)
        ids = np.full((len(parts), num_tokens), PAD)  # (batch, tokens)
        in_target = np.zeros(ids.shape, dtype=bool)  # (batch, tokens)
        for index, (tokens, where) in enumerate(parts):
            ids[index, : len(tokens)] = tokens
            in_target[index, where] = True
        labels = self.labels[rows].astype(np.float32)
        return Batch(
            ids=torch.from_numpy(ids), mask=torch.from_numpy(ids != PAD),
            labels=torch.from_numpy(labels), in_target=torch.from_numpy(in_target), rows=rows,
        )  # fmt: skip


def in_batches(rows: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """The rows in this order, `batch_size` at a time."""
    return np.array_split(rows, range(batch_size, len(rows), batch_size))


def plain_examples(reviews: EncodedReviews, marker_of_target: int = NO_MARKER) -> Examples:
    """Each review alone."""
    size = len(reviews)
    return Examples(
        reviews, target_rows=np.arange(size), distractor_rows=np.full(size, NO_DISTRACTOR),
        distractor_first=np.zeros(size, dtype=bool),
        marker_of_target=np.full(size, marker_of_target),
        marker_of_distractor=np.full(size, NO_MARKER),
    )  # fmt: skip


def distracted_examples(
    reviews: EncodedReviews, seed: int, random_order: bool = False,
    marker_of_target: int = NO_MARKER, marker_of_distractor: int = NO_MARKER,
) -> Examples:  # fmt: skip
    """Each review after a distractor, another review of the split; or both in random order.

    Raises:
        ValueError: fewer than two reviews, so that there is no other one.
    """
    size = len(reviews)
    if size < 2:
        raise ValueError(f"A distractor is another review, but there are {size}; give two or more.")
    random = np.random.default_rng(seed)
    distractor = random.integers(0, size - 1, size)
    # skips the review itself; all others stay equally likely
    distractor += distractor >= np.arange(size)
    first = random.random(size) < 0.5 if random_order else np.ones(size, dtype=bool)
    return replace(
        plain_examples(reviews, marker_of_target), distractor_rows=distractor,
        distractor_first=first, marker_of_distractor=np.full(size, marker_of_distractor),
    )  # fmt: skip


def examples_with_distractors(reviews: EncodedReviews, seed: int) -> Examples:
    """The task of *Recap: attention*: each review alone, then each with a distractor before it."""
    return plain_examples(reviews) + distracted_examples(reviews, seed)


def marked_pairs(reviews: EncodedReviews, vocabulary: Vocabulary, seed: int) -> Examples:
    """Each review with a distractor, in random order: `<MARK>` is before the one that counts.

    `<SEP>` is before the other.

    Raises:
        ValueError: the vocabulary has no `<MARK>` and `<SEP>`.
    """
    if MARKER not in vocabulary or SEPARATOR not in vocabulary:
        raise ValueError("Build the vocabulary with special=('<SEP>', '<MARK>').")
    return distracted_examples(
        reviews, seed, random_order=True,
        marker_of_target=vocabulary.id(MARKER), marker_of_distractor=vocabulary.id(SEPARATOR),
    )  # fmt: skip


def marked_examples(reviews: EncodedReviews, vocabulary: Vocabulary, seed: int) -> Examples:
    """The task of *A question from the text*: each review alone, marked, then the marked pairs.

    Raises:
        ValueError: the vocabulary has no `<MARK>` and `<SEP>`.
    """
    pairs = marked_pairs(reviews, vocabulary, seed)
    return plain_examples(reviews, vocabulary.id(MARKER)) + pairs


# --- batches --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Examples of one batch, padded to the longest."""

    ids: torch.Tensor  # (batch, tokens) int64
    mask: torch.Tensor  # (batch, tokens) bool, True for a real token
    labels: torch.Tensor  # (batch,) float32
    in_target: torch.Tensor  # (batch, tokens) bool, True in the review that the label is about
    rows: np.ndarray  # (batch,) rows of these examples among all

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device."""
        names = "ids", "mask", "labels", "in_target"
        return replace(self, **{name: getattr(self, name).to(device) for name in names})


def batches(
    examples: Examples, batch_size: int = 64, seed: int | None = None,
    device: torch.device | str = "cpu",
) -> Iterator[Batch]:  # fmt: skip
    """All examples once, in batches of similar length: random with a seed, else short to long.

    Raises:
        ValueError: a batch size below 1, or ids outside the vocabulary.
    """
    for rows in examples.batch_rows(batch_size, seed):
        yield examples.batch(rows).to(device)

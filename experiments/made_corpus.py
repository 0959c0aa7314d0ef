"""A made corpus of the size and the lengths of Yelp Review Polarity, in an Arrow file, never in memory whole.

Yelp's training split holds 560,000 reviews in 413.6 MB, 738 bytes each. Here lengths are log-normal with a median of
97 words and a mean of 134, at most 1,050; words follow Zipf's law; one word in twenty speaks for the label.
"""

import string
from pathlib import Path

import numpy as np
import pyarrow

VOCABULARY = 150_000
MEDIAN, SPREAD, LONGEST = 97, 0.8, 1_050  # words; the spread is that of the logarithm
OPINIONS = 200  # words of either label


def _words() -> np.ndarray:
    """Made words, the most frequent first and shorter than the rare ones."""
    letters = string.ascii_lowercase

    def word(rank: int) -> str:
        return "" if rank < 0 else word(rank // 26 - 1) + letters[rank % 26]

    return np.array([word(rank) + letters[rank % 7] + letters[rank % 11] for rank in range(VOCABULARY)], dtype=object)


def on_disk(folder: Path, reviews: int, seed: int = 0) -> Path:
    """The Arrow file of so many made reviews, columns `text` and `label`; it is written when it is not there."""
    path = folder / f"{reviews}.arrow"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    words = _words()
    frequency = 1 / (np.arange(VOCABULARY) + 10)
    cumulative = np.cumsum(frequency / frequency.sum())
    schema = pyarrow.schema([("text", pyarrow.string()), ("label", pyarrow.int64())])
    partial = path.with_suffix(".partial")
    with pyarrow.OSFile(str(partial), "wb") as file, pyarrow.ipc.new_stream(file, schema) as stream:
        for begin in range(0, reviews, 1000):
            size = min(1000, reviews - begin)
            labels = random.integers(0, 2, size)
            lengths = np.clip(random.lognormal(np.log(MEDIAN), SPREAD, size), 3, LONGEST).astype(int)
            ranks = np.searchsorted(cumulative, random.random(lengths.sum())).clip(0, VOCABULARY - 1)
            opinion = random.random(len(ranks)) < 0.05
            ranks[opinion] = (
                1000 + OPINIONS * np.repeat(labels, lengths)[opinion] + random.integers(0, OPINIONS, opinion.sum())
            )
            chosen = words[ranks].tolist()
            ends = lengths.cumsum().tolist()
            texts = [" ".join(chosen[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]
            stream.write_batch(pyarrow.record_batch([texts, labels], schema=schema))
    return partial.rename(path)

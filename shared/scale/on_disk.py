"""Reviews of any number: texts that stay on disk, and tokens that are made once and kept in a file."""

import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock

from shared.reviews import TEXTS_AT_ONCE, Reviews, Split, check_labels, tokenize_all

__all__ = ["kept", "reviews_on_disk"]

RULE = 1  # count up when the same text gives other tokens: those kept on disk are then made anew


def reviews_on_disk(train, validation, test, citation: str) -> Reviews:
    """Reviews from three Arrow data sets of the package `datasets`, with the columns `text` and `label`.

    Texts stay where they are and are read when asked for. Tokens are made once, and kept in a file beside the hub's.

    Raises:
        OSError: the tokens could not be kept; the message says why and what to do.
    """
    return Reviews(*(_split(dataset) for dataset in (train, validation, test)), citation)


class _Texts(Sequence):
    """The texts of an Arrow data set, read from disk when asked for."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, place: int | slice) -> str | list[str]:
        found = self.dataset[place]["text"]
        return [_spaced(text) for text in found] if isinstance(found, list) else _spaced(found)

    def __iter__(self):
        for begin in range(0, len(self), TEXTS_AT_ONCE):
            yield from self[begin : begin + TEXTS_AT_ONCE]


def _spaced(text: str | None) -> str | None:
    """Yelp's files hold line breaks as the two characters \\n, which would glue an "n" to the next word."""
    return text and text.replace("\\n", " ")  # None, where a table has a blank: a sentence comes with the tokens


def _split(dataset) -> Split:
    from datasets import config

    texts, labels = _Texts(dataset), list(dataset["label"])
    check_labels(texts, labels)

    def make() -> dict[str, np.ndarray]:
        ids, offsets, words = tokenize_all(texts)
        return {"ids": ids, "offsets": offsets, "words": np.array(" ".join(words))}

    path = Path(config.HF_DATASETS_CACHE) / "towards-self-attention" / f"{dataset._fingerprint}-{RULE}.tokens"
    found = kept(path, make)
    words, rows = str(found["words"]).split(), np.arange(len(texts))
    return Split(found["ids"], found["offsets"], np.array(labels), words, texts, rows)


def kept(path: Path, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays in the file at `path`; where there is no whole file, `make` fills it.

    The file gets its name when it is complete, and a damaged one fails its checksums and is made anew. Several
    processes may ask at once: one makes the file, the others wait and read it.

    Raises:
        OSError: the file could not be written, with the reason and what to do; nothing half-written is left.
    """
    arrays = _read(path)
    if arrays is not None:
        return arrays
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            arrays = _read(path)  # another process may have made it while this one waited
            if arrays is None:
                arrays = make()
                try:
                    with partial.open("wb") as file:
                        np.savez(file, **arrays)
                        file.flush()
                        os.fsync(file.fileno())
                    os.replace(partial, path)
                finally:  # after a reader's Ctrl-C too
                    partial.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(
            error.errno,
            f"The tokens could not be kept in {path.parent}: {error.strerror or error}. Nothing half-written was left. "
            "Make room there, or set HF_HOME to a folder that you may write to, and run again.",
        ) from error
    return arrays


def _read(path: Path) -> dict[str, np.ndarray] | None:
    """The arrays, or None when the file is missing or damaged."""
    try:
        with np.load(path) as file:
            return {name: file[name] for name in ("ids", "offsets", "words")}  # reading checks the sums
    except (OSError, EOFError, KeyError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
        return None

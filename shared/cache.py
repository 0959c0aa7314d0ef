"""Arrays kept on disk and memory-mapped: made once, then read by every process that asks for them.

A file gets its name only when it is complete, and its digest is checked whenever it is opened. What is damaged, cut
off or of another version is made anew, so a process sees the right arrays or an error, never wrong ones.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
from filelock import FileLock

__all__ = ["cached"]

FORMAT = 1  # count up when the layout of the file changes
DIGEST = 64  # characters of a SHA-256, of all that follows them
HEADER = 4096  # bytes in front of the arrays: the digest, then JSON that says what lies where
ALIGNMENT = 64  # bytes; arrays begin at multiples of it


def cached(path: Path, key: str, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays in the file at `path`, read-only and memory-mapped; where there is no good file, `make` fills it.

    Several processes may ask at once: one makes the file, the others wait and read it.

    Args:
        key: what the arrays depend on beside the name of the file; a file with another key is made anew.

    Raises:
        OSError: the file could not be written, with the reason and what to do; nothing half-written is left.
    """
    arrays = _read(path, key)
    if arrays is not None:
        return arrays
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            arrays = _read(path, key)  # another process may have made it while this one waited
            if arrays is None:
                _write(path, key, make())
                arrays = _read(path, key)
    except OSError as error:
        raise OSError(
            error.errno,
            f"The tokens could not be kept in {path.parent}: {error.strerror or error}. Nothing half-written was left. "
            "Make room there, or set HF_HOME to a folder that you may write to, and run again.",
        ) from error
    return arrays


def _read(path: Path, key: str) -> dict[str, np.ndarray] | None:
    """The arrays, or None when the file is missing, damaged, or made for another key or format."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with file:
        digest = file.read(DIGEST).decode("latin-1")
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            return None
        file.seek(DIGEST)
        header = json.loads(file.read(HEADER - DIGEST))
        if (header["format"], header["key"]) != (FORMAT, key):
            return None
        # Mapped through the file that was checked: another process may give the name to a new one meanwhile.
        return {name: _mapped(file, *place) for name, place in header["arrays"].items()}


def _mapped(file: BinaryIO, dtype: str, shape: list[int], offset: int) -> np.ndarray:
    if 0 in shape:
        return np.empty(shape, dtype)  # nothing cannot be mapped
    return np.asarray(np.memmap(file, dtype, "r", offset, tuple(shape)))


def _write(path: Path, key: str, arrays: dict[str, np.ndarray]) -> None:
    """Write under another name, and give the file its own only when all is on the disk."""
    places, end = {}, HEADER
    for name, array in arrays.items():
        places[name] = (array.dtype.str, array.shape, end)
        end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    header = json.dumps({"format": FORMAT, "key": key, "arrays": places}).ljust(HEADER - DIGEST)
    if len(header) > HEADER - DIGEST:
        raise ValueError(f"Names, shapes and key take {len(header)} characters; there is room for {HEADER - DIGEST}.")
    partial = path.with_name(f"{path.name}.partial")  # one writer at a time: the caller holds the lock
    try:
        with partial.open("w+b") as file:
            file.seek(DIGEST)
            file.write(header.encode())
            for name, array in arrays.items():
                file.seek(places[name][2])
                file.write(np.ascontiguousarray(array).data)
            file.truncate(end)
            file.seek(DIGEST)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            file.write(digest.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:  # a reader's Ctrl-C too
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise

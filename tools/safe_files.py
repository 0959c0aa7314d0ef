"""How a tool ends: with whole files or none, and with a sentence where the machine refuses, or after Ctrl-C."""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file in one step: nobody ever finds half of it. Raises OSError that names the file."""
    half = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(half, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            half.unlink()
        if isinstance(error, OSError):  # a full disk names no file
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def run(main: Callable[..., int], *arguments, stopped: str = "Nothing was left half written.") -> None:
    """Run a tool and leave Python with its exit status. `stopped` says what became of the work after Ctrl-C."""
    try:
        sys.exit(main(*arguments))
    except KeyboardInterrupt:
        sys.exit(f"\nStopped. {stopped}")
    except OSError as error:
        sys.exit(f"{error.filename or 'A file'}: {error.strerror or error}. Fix that and run this again. {stopped}")

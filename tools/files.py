"""How a tool ends: with whole files or none, and with a sentence where a text is malformed, or after Ctrl-C."""

import sys
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, content: str) -> None:
    """Write a file in one step: nobody ever finds half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.part")
    half.write_text(content, "utf-8")
    half.replace(path)


def run(main: Callable[..., int], *arguments) -> None:
    """Run a tool and leave Python with its exit status."""
    try:
        sys.exit(main(*arguments))
    except ValueError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("\nStopped. Nothing was left half written.")

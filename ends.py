"""How a program of the course ends early: with a sentence, after Ctrl-C and where a file cannot be written or read.

The packages that have programs import this first, so that it holds while `python -m tools.labs` and its like import the
rest, which takes seconds. Notebooks, tests and readers' own programs end as Python ends them.
"""

import errno
import os
import re
import shutil
import sys
from pathlib import Path

PROGRAM = re.compile(r"(tools|experiments|labs\.\w+)\.\w+")
STOPPED = "\nStopped. Nothing was left half written, and what was finished is kept."


def sentence(error: BaseException, malformed: bool = False) -> str:
    """What a reader is told about an exception; an empty text where it is a mistake in the course's own code.

    With `malformed`, a ValueError has a sentence about a text that somebody wrote.
    """
    if was_stopped(error):
        return STOPPED
    if isinstance(error, OSError) and error.strerror:
        # A file is written under a hidden name first (shared/record.py): readers know the one that it gets.
        name = re.sub(r"/\.([^/]+)\.part$", r"/\1", str(error.filename or "A file"))
        return f"{name} could not be written or read: {error.strerror}."
    return str(error) if malformed and isinstance(error, ValueError) else ""


def was_stopped(error: BaseException | None) -> bool:
    """Whether Ctrl-C is the reason: what is compiled may raise its own exception for it."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or was_stopped(error.__cause__))


def need_room(folder: Path, megabytes: int) -> None:
    """Raise OSError where the disk of a folder is full: kernels, Sphinx and git, which write there, say it badly."""
    if shutil.disk_usage(folder).free < megabytes * 2**20:
        raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} (it takes up to {megabytes} MB)", str(folder))


def program() -> str:
    """The module of the course that Python runs, as in `python -m tools.labs`; an empty text where it is another."""
    arguments = sys.orig_argv
    name = arguments[arguments.index("-m") + 1] if "-m" in arguments[:-1] else ""
    return name if PROGRAM.fullmatch(name) else ""


def uncaught(kind, error, trace) -> None:
    """Python calls this in place of printing a traceback."""
    if text := sentence(error, malformed=program().startswith("tools.")):
        print(text, file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def unraisable(found) -> None:
    """Python calls this where it could only go on, as in a destructor: after Ctrl-C it should not."""
    if isinstance(found.exc_value, KeyboardInterrupt):
        print(STOPPED, file=sys.stderr, flush=True)
        os._exit(130)
    sys.__unraisablehook__(found)


if program():
    sys.excepthook, sys.unraisablehook = uncaught, unraisable

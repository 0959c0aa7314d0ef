"""Runs the reader's code: in silence, for some seconds at most, on copies of its arguments."""

import contextlib
import os
import signal
import sys
import sysconfig
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from checks.compare import Wrong

# A reader's error is shown with the reader's own line, not with one of a library or of the course.
PACKAGES = sysconfig.get_path("stdlib"), str(Path(torch.__file__).parents[1])
COURSE = (str(Path(__file__).parents[1] / name) for name in ("checks", "labs", "shared"))
LIBRARIES = (*PACKAGES, "<frozen", *COURSE)


class OtherArguments(Wrong):
    """{error}. The exercise calls your code with the arguments {given}. In a method `self` comes
    before them, and `__init__` has two underscores on each side.
    """


class ChangesItsInput(Wrong):
    """Your code changes its argument `{name}`. Work on a copy (`copy.deepcopy` for a model), or do
    without `+=`, `a[...] = ...` and methods whose names end in `_`.
    """


class NotDone(Exception):
    """The answer is still the starting cell, which raises NotImplementedError without a word."""


class OutOfTime(BaseException):
    """The time is up. Not an Exception, so that the reader's `except Exception` lets it through."""


@contextlib.contextmanager
def guarded(seconds: float) -> Iterator[None]:
    """Run what is within in silence and for so many seconds at most, and restore PyTorch's random
    state.
    """
    dtype = torch.get_default_dtype()
    try:
        with (
            torch.random.fork_rng(devices=[]),
            torch.device("cpu"),  # whatever the default device is
            torch.enable_grad(),
            warnings.catch_warnings(action="ignore"),
            open(os.devnull, "w") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
            time_limit(seconds),
        ):
            yield
    finally:
        torch.set_default_dtype(dtype)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime after so many seconds, where there is an alarm: Windows has none, and a
    thread cannot set one.
    """

    def stop(*_: Any) -> None:
        raise OutOfTime

    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    # again and again, because a bare `except:` catches it
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(function: Callable, *arguments: Any, **named: Any) -> Any:
    """What a function gives, or the exception that it raises."""
    try:
        return function(*arguments, **named)
    except (Exception, SystemExit) as error:
        return error


def call(function: Callable, arguments: dict[str, Any], seed: int = 0) -> Any:
    """What the reader's function gives for copies of the arguments, or the exception that it
    raises.
    """
    torch.default_generator.manual_seed(seed)
    given = deepcopy(arguments)
    before = {name: content(value) for name, value in given.items()}
    result = outcome(function, *given.values())
    if isinstance(result, NotImplementedError) and not result.args:
        raise NotDone
    if isinstance(result, TypeError) and not line(result):
        raise OtherArguments(error=result, given=", ".join(arguments))
    for name, value in given.items():
        if content(value) != before[name]:
            raise ChangesItsInput(name=name)
    return result


def content(value: Any) -> str:
    """What an argument holds, to see whether it changes."""
    if isinstance(value, nn.Module):
        value = [*value.state_dict().values(), *map(attributes, value.modules())]
    if isinstance(value, (list, tuple)):
        return str([content(v) for v in value])
    return str(value.tolist() if isinstance(value, (Tensor, np.ndarray)) else value)


def attributes(module: nn.Module) -> list[tuple[str, int]]:
    """What a module holds beside numbers, as hooks and replaced methods; of a dict, its size."""
    # A method of its own that is put back by name changes nothing.
    held = [
        (n, own)
        for n, own in vars(module).items()
        if n != "training" and getattr(own, "__self__", None) is not module
    ]
    return [(name, len(own) if isinstance(own, dict) else id(own)) for name, own in held]


def called(function: Callable, arguments: dict[str, Any]) -> set[str]:
    """The names of functions of libraries and of the course that run in a call, however it reaches
    them.
    """
    names = set()

    def note(frame: Any, event: str, built_in: Any) -> None:
        if event == "c_call":
            names.add(getattr(built_in, "__name__", ""))
        elif event == "call" and frame.f_code.co_filename.startswith(LIBRARIES):
            names.add(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call(function, arguments)
    finally:
        sys.setprofile(before)
    return names


def line(error: BaseException) -> str:
    """Where in the reader's code an exception comes from: its deepest line there, if any."""
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith(LIBRARIES):
            where = (
                f" in the line `{frame.line}`"
                if frame.line
                else f" in line {frame.lineno} of the cell"
            )
    return where


def error_sentence(error: BaseException) -> str:
    """An exception as a sentence."""
    message = str(error).strip().split("\n")[0]
    return (
        f"Your code raises {type(error).__name__}{line(error)}: {message:.300}".rstrip(": .") + "."
    )

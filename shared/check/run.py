"""Runs the reader's code safely: it ends, prints nothing and leaves nothing behind. Also counts its multiplications."""

import contextlib
import linecache
import math
import os
import random
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from .answer_code import codes
from .mistakes import NotDone, Wrong
from .words import _

SECONDS = 2.0  # for all the reader's code in one check; a whole notebook has a limit of its own, in tools/grade.py


class OutOfTime(BaseException):
    """Raised into the reader's code; no Exception, so that `except Exception` does not swallow it."""


@dataclass(frozen=True)
class Raised:
    """The answer raised an exception instead of giving a value."""

    kind: str
    text: str
    line: str = ""
    number: int = 0  # of the line, where it cannot be read

    def __str__(self) -> str:
        said = _("Your code raises {kind}: {text}")
        if self.line:
            said = _("Your code raises {kind} in the line `{line}`: {text}")
        elif self.number:
            said = _("Your code raises {kind} in line {number} of the cell: {text}")
        return said.format(**vars(self)).rstrip(": .")

    def __getattr__(self, name: str) -> Any:
        """Whoever looks into what was never made says why it was not."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise Wrong("raises [with other sizes]", raised=self)

    @property
    def mistake(self) -> str:
        """The name of the mistake: what the words of the error tell about its cause."""
        return next((name for name, words in COMMON_ERRORS.items() if re.search(words, self.text)), "raises")


@contextlib.contextmanager
def state_kept() -> Iterator[None]:
    """Put back the random states, the default dtype and the gradient switch."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state(), torch.get_default_dtype()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    try:
        with torch.enable_grad():
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        torch.set_default_dtype(states[3])
        torch.cuda.set_rng_state_all(devices)


def has_time_limit() -> bool:
    """Whether code that never ends can be stopped: it takes SIGALRM (not on Windows) and the main thread."""
    return hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()


def _importing(frame: Any) -> bool:
    """Whether the code that runs in this frame is on its way through an import."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the code within, again and again until it gives up: one alarm can be swallowed."""
    if not has_time_limit():
        yield
        return

    def leave_at_next_line(frame, event, _):
        if event == "line":
            raise OutOfTime
        return leave_at_next_line

    def stop(_, frame):
        if _importing(frame):  # a module cut off halfway would stay broken; PyTorch imports parts of itself late
            signal.setitimer(signal.ITIMER_REAL, SECONDS, 0.05)
            return
        # Code that catches everything, in a loop, also catches this one; then the next line it runs raises it again.
        sys.settrace(lambda *_: None)
        while frame is not None and frame.f_code.co_filename != __file__:
            frame.f_trace = leave_at_next_line
            frame = frame.f_back
        raise OutOfTime

    tracing, before = sys.gettrace(), signal.signal(signal.SIGALRM, stop)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01), 0.05)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:  # again, for an alarm may have come in the line above
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.settrace(tracing)


def guarded(function: Callable, *inputs: Any, seconds: float | None = None, of: Any = None) -> Any:
    """Run the reader's code: what it gives, or `Raised`. Only KeyboardInterrupt, from the reader's keyboard, passes.

    Args:
        seconds: how long it may take.
        of: the reader's function or class, when `function` only calls it; the sentence quotes a line of it.

    Raises:
        NotDone: it raised NotImplementedError without a word, as the starting cells do.
        Wrong: it took too long, or changed its inputs.
    """
    kept = deepcopy(inputs)
    try:
        with (
            open(os.devnull, "w") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
            warnings.catch_warnings(),
            state_kept(),
            _time_limit(SECONDS if seconds is None else seconds),
        ):
            warnings.simplefilter("ignore")
            given = function(*inputs)
    except OutOfTime:
        raise Wrong("never ends", seconds=SECONDS) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, NotImplementedError) and not error.args:
            raise NotDone from None
        return raised(error, of or function)
    for one, other in zip(inputs, kept, strict=True):
        if not _same(one, other):
            part = one[0] if isinstance(one, list) and one else one
            raise Wrong("changes its input [a model]" if isinstance(part, nn.Module) else "changes its input")
    return given


# What Python, PyTorch and NumPy say: the words by which a common error gets a name of its own.
COMMON_ERRORS = {
    "sizes that do not fit": "must match|cannot be multiplied|be broadcast|must broadcast|inconsistent|Expected size|"
    "to match target|size mismatch|of equal size|to be equal size|does not match|same length|has shape|have shape",
    "an axis that is not there": "Dimension out of range|tuple index out of range|out of bounds|too many indices|"
    "only one element",
    "a name that is not there": "name '.+' is not defined|local variable",
    "a thing of another kind": "has no attribute|object is not (callable|iterable|subscriptable)|unsupported operand|"
    "not supported between|can only concatenate|does not support|non-iterable|invalid combination of arguments|"
    "unhashable|has no len|unsized object|bad operand|must be (a |an )?(int|str|real|Tensor|tuple|torch.bool)|"
    "interpreted as an integer|converted to|indices must be|not implemented for|only implemented on|"
    "is not supported|same (dtype|datatype)|expected Tensor|requires a floating point|must have at least",
}


def raised(error: BaseException, answer: Any = None) -> Raised:
    """The exception as a sentence, with the deepest line of the reader's code."""
    files = {code.co_filename for code in codes(answer)}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    line = linecache.getline(frames[-1].filename, frames[-1].lineno).strip() if frames else ""
    number = frames[-1].lineno if frames else 0
    text = str(error).strip().split("\n")[0][:200]
    if isinstance(error, SystemExit):
        text = _("a function of a notebook should return, not exit")
    return Raised(type(error).__name__, text, line, number)


def _same(one: Any, other: Any) -> bool:
    """Whether two inputs are equal to the last bit."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num())
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, nn.Module):
        return _same(list(one.state_dict().values()), list(other.state_dict().values()))
    if isinstance(one, torch.Generator):
        return True  # to draw from it is to change it
    return type(one) is type(other) and (one == other) is not False


# --- how much it does ---------------------------------------------------------------------------------------------


class Watch(TorchFunctionMode):
    """Counts the multiplications of the products that PyTorch is asked for, however the reader spells them."""

    # A TorchDispatchMode would see what einsum does, and imports 800 modules first.

    def __init__(self):
        super().__init__()
        self.products = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        match function.__name__.strip("_"):
            case "einsum":
                self.products += _products_of_einsum(args[0], args[1:] if isinstance(args[1], Tensor) else args[1])
            case "mm" | "bmm" | "matmul" | "rmatmul" | "mv" | "dot" | "inner" | "linear":
                self.products += result.numel() * args[0].shape[-1]
            case "addmm" | "baddbmm" | "addbmm" | "addmv":
                self.products += result.numel() * args[1].shape[-1]
            case "tensordot":  # both have what is summed, and the result has all but that
                self.products += round((args[0].numel() * args[1].numel() * result.numel()) ** 0.5)
            case "mul" | "rmul" | "multiply" | "imul":
                self.products += result.numel()
            case "scaled_dot_product_attention":
                queries, keys, values = args[:3]
                self.products += queries[..., 0].numel() * keys.shape[-2] * (keys.shape[-1] + values.shape[-1])
        return result


def _products_of_einsum(equation: str, operands: tuple[Tensor, ...]) -> int:
    """The multiplications of an einsum, taken from left to right as PyTorch does."""
    terms, _, output = equation.replace(" ", "").partition("->")
    terms = terms.split(",")
    sizes = {i: n for term, one in zip(terms, operands, strict=True) for i, n in zip(term, one.shape, strict=True)}
    products, left = 0, set(terms[0])
    for place, term in enumerate(terms[1:], 2):
        products += math.prod(sizes[i] for i in left | set(term))
        left = (left | set(term)) & set("".join([output, *terms[place:]]))
    return products


def multiplications(answer: Callable, inputs: list, run: Callable) -> int:
    """How many multiplications an answer, right on small inputs, needs for these."""
    watch = Watch()

    def watched(*inputs):
        with watch:
            return answer(*inputs)

    if isinstance(run(watched, *inputs), Raised):
        raise Wrong("raises [on a longer text]")
    return watch.products

"""What every self-check stands on: it runs the reader's code safely, compares it with a reference, names the mistake.

A check is one `Exercise`, made in a module of this package and named in `__init__.py`:

    double = Exercise(
        name="double",                                  # check.double(answer) is what the lab calls
        cases=lambda: [Case({"x": draw(3, 2)}), Case({"x": draw(5)})],
        reference=lambda x: x + x,                      # not the way the solution does it
        mistakes=[Mistake("squared", "You squared x.", "Lab 1, “Tokens”", lambda x: x * x)],
        tried="two tensors of different shape",         # "Correct. Tried on two tensors of different shape."
    )

The answer gets the inputs of a case in their order. The reference and the mistakes get the same by name. A mistake is
recognised when it gives what the answer gives, or raises alike, in every case: so choose cases in which the mistakes
part. For functions `test_check_harness.py` makes sure that they do; the wrong answers to a layer stand in a test of its
own. What the reference fills with NaN is not compared.

For a layer, `parts` lists the linear maps that the reader's class must have. Each case then says in `sizes` what the
class is made with, and the reference and the mistakes get each part as a function, besides the inputs. The layer's own
weights are used, be they `nn.Linear` (turned) or `nn.Parameter`; choose sizes that differ, so that these can be told
apart.

When an exercise has many right answers, `view` makes of each answer what is common to all of them; see there.
"""

import contextlib
import html
import inspect
import itertools
import linecache
import os
import random
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["Case", "Exercise", "Mistake", "Verdict", "Wrong", "draw", "guarded", "moved_to_the_front", "real_tokens"]

MADE_IN_FORWARD = (
    "Two calls with the same input give different outputs. A layer makes its parameters once, in `__init__`; made in "
    "`forward`, they are new in every call and never learn."
)
SECONDS = 2.0  # for all the reader's code in one check


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check found; a notebook shows its sentence, and it counts as True when the answer is correct.

    `state` is "correct", "wrong" or "not done yet"; `mistake` is a short name that never changes, or None.
    """

    name: str
    state: str
    mistake: str | None
    sentence: str

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:  # a paragraph wraps on a narrow screen, a repr does not
        return "<p>" + re.sub("`(.+?)`", r"<code>\1</code>", html.escape(self.sentence)) + "</p>"

    def __bool__(self) -> bool:
        return self.state == "correct"


class Wrong(Exception):
    """The answer is wrong, and this is the name of the mistake and the sentence about it."""

    def __init__(self, mistake: str, sentence: str):
        super().__init__(sentence)
        self.mistake, self.sentence = mistake, sentence


class NotDone(Exception):
    """The answer is still the starting cell."""


class OutOfTime(BaseException):
    """Raised into the reader's code; no Exception, so that `except Exception` does not swallow it."""


@dataclass(frozen=True)
class Case:
    """One trial: inputs by name, in the order of the arguments; for a layer also the sizes it is made with."""

    inputs: dict[str, Any]
    sizes: tuple = ()

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {tuple(value.shape)}" if hasattr(value, "shape") else f"{name} = {value!r:.80}"
            for name, value in self.inputs.items()
        )


@dataclass(frozen=True)
class Mistake:
    """A mistake that a check knows: `gives` computes what an answer with this mistake would give."""

    name: str
    sentence: str
    section: str  # where the lab explains it
    gives: Callable


@dataclass(frozen=True)
class Raised:
    """The answer raised an exception instead of giving a value."""

    kind: str
    text: str
    line: str = ""

    def __str__(self) -> str:
        return f"Your code raises {self.kind}{self.line}: {self.text}".rstrip(": ")


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in double precision, always the same for the same shape and seed."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def real_tokens(lengths: Sequence[int]) -> Tensor:
    """The mask of texts with so many real tokens each, (batch, tokens) bool."""
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]  # (batch, tokens)


def moved_to_the_front(mask: Tensor) -> Tensor:
    """What is left of a mask for somebody who only counts its real tokens, (batch, tokens) bool."""
    return torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)  # (batch, tokens)


# --- running the reader's code -----------------------------------------------------------------------------------


@contextlib.contextmanager
def _random_state_kept():
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        torch.cuda.set_rng_state_all(devices)


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


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
def _time_limit(seconds: float):
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


def guarded(function: Callable, *inputs, seconds: float = SECONDS, of: Any = None) -> Any:
    """Run the reader's code: what it gives, or `Raised`.

    Nothing of it stays behind: what it prints is swallowed, the random state, the default dtype and the gradient
    switch are put back. Only KeyboardInterrupt passes, for it comes from the reader's keyboard.

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
            _random_state_kept(),
            _default_dtype(torch.get_default_dtype()),
            torch.enable_grad(),
            _time_limit(seconds),
        ):
            warnings.simplefilter("ignore")
            given = function(*inputs)
    except OutOfTime:
        sentence = f"Your code did not end within {SECONDS:.0f} seconds, and was stopped. Does a loop never end?"
        raise Wrong("never ends", sentence) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, NotImplementedError) and not error.args:
            raise NotDone from None
        return _raised(error, of or function)
    if not _same(inputs, kept):
        sentence = "Your code changes the tensors it is given. Work on new ones: no `+=`, no method that ends in `_`."
        raise Wrong("changes its input", sentence)
    return given


def _raised(error: BaseException, code: Any) -> Raised:
    """The exception as a sentence, with the deepest line of the reader's code."""
    functions = [inspect.unwrap(code)] if not inspect.isclass(code) else vars(code).values()
    files = {function.__code__.co_filename for function in functions if hasattr(function, "__code__")}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    line = ""
    if frames:
        text = linecache.getline(frames[-1].filename, frames[-1].lineno).strip()
        line = f" in the line `{text}`" if text else f" in line {frames[-1].lineno} of the cell"
    text = str(error).strip().split("\n")[0][:200]
    if isinstance(error, SystemExit):
        text = "a function of a notebook should return, not exit"
    return Raised(type(error).__name__, text, line)


# --- comparing ---------------------------------------------------------------------------------------------------


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
    return type(one) is type(other) and (one == other) is not False


def _close(given: Tensor, wanted: Tensor) -> Tensor:
    """Where two tensors of one shape agree, as far as their precision lets them."""
    tolerance = 1e-6 if given.dtype == wanted.dtype == torch.float64 else 1e-4
    given, wanted = given.detach().cpu().double(), wanted.detach().double()
    return torch.isclose(given, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


def _agrees(given: Any, other: Any, wanted: Any = None) -> bool:
    """Whether an answer is what something else gives, except where `wanted` has NaN: nobody looks there."""
    if isinstance(given, Raised) or isinstance(other, Raised):
        return type(given) is type(other) and (given.kind, given.text) == (other.kind, other.text)
    if isinstance(other, (tuple, list)):
        parts = wanted if isinstance(wanted, (tuple, list)) else [None] * len(other)
        listed = isinstance(given, (tuple, list)) and len(given) == len(other) == len(parts)
        return listed and all(map(_agrees, given, other, parts))
    given, other, wanted = _as_tensor(given), _as_tensor(other), _as_tensor(wanted)
    if given is None or other is None or given.shape != other.shape:
        return False
    agrees = _close(given, other)
    return bool((agrees | wanted.isnan() if wanted is not None and wanted.shape == agrees.shape else agrees).all())


def _as_tensor(value: Any) -> Tensor | None:
    if isinstance(value, Tensor):
        return None if value.is_complex() else value
    try:
        return torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        return None


def _compare(given: Any, wanted: Any, where: str) -> None:
    """Raise Wrong when an answer is not what is wanted: its type, its shape, then its numbers."""
    if given is None:
        raise Wrong("returns nothing", "Your code returns None. Is a `return` missing at its end?")
    if isinstance(wanted, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(wanted):
            kind = f"{len(given)} things" if isinstance(given, (tuple, list)) else _kind(given)
            sentence = f"Your code returns {kind}; the exercise asks for {len(wanted)} results in a tuple."
            raise Wrong("wrong type", sentence)
        for place, (one, other) in enumerate(zip(given, wanted, strict=True), 1):
            if one is None:
                raise Wrong("returns nothing", f"Result {place} of {len(wanted)} is None. It was asked for, too.")
            _compare(one, other, f"{where}, result {place} of {len(wanted)}")
    elif isinstance(wanted, Tensor):
        _compare_tensors(given, wanted, where)
    elif isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        number = isinstance(given, (int, float, np.number)) and not isinstance(given, bool)
        if not number and not (isinstance(given, (Tensor, np.ndarray)) and given.shape == ()):
            raise Wrong("wrong type", f"Your code returns {_kind(given)}; the exercise asks for one number.")
        if not abs(float(given) - wanted) <= 1e-4 * (1 + abs(wanted)):
            raise Wrong("other numbers", f"The number is off: {float(given):.4g} instead of {wanted:.4g} {where}.")
    elif type(given) is not type(wanted):
        raise Wrong("wrong type", f"Your code returns {_kind(given)}; the exercise asks for {_kind(wanted)}.")
    elif given != wanted:
        raise Wrong("other numbers", f"The answer is another one {where}: {given!r:.80} instead of {wanted!r:.80}.")


def _compare_tensors(given: Any, wanted: Tensor, where: str) -> None:
    if not isinstance(given, Tensor):
        raise Wrong("wrong type", f"Your code returns {_kind(given)}; the exercise asks for a torch tensor.")
    if given.shape != wanted.shape:
        sentence = f"The shape is {tuple(given.shape)} instead of {tuple(wanted.shape)} {where}. Follow the axes."
        raise Wrong("wrong shape", sentence)
    kinds = [(t.dtype.is_floating_point, t.dtype == torch.bool) for t in (given, wanted)]
    if kinds[0] != kinds[1]:
        raise Wrong("wrong dtype", f"The result is a tensor of {given.dtype} instead of {wanted.dtype} {where}.")
    differs = ~(_close(given, wanted) | wanted.isnan())
    if not differs.any():
        return
    if (given.isnan() & ~wanted.isnan()).any():
        sentence = f"There is NaN in the result {where}. A division by zero, or a row of minus infinities in a softmax?"
        raise Wrong("not a number", sentence)
    first = tuple(differs.nonzero()[0].tolist())
    gap = (given.detach() - wanted)[differs].abs().max().item() if given.dtype != torch.bool else 1
    raise Wrong(
        "other numbers",
        f"The numbers differ from the reference {where}: {int(differs.sum())} of {differs.numel()}, by up to "
        f"{gap:.4g}, first at {list(first)}: {given[first].item():.4g} instead of {wanted[first].item():.4g}. "
        "It is none of the mistakes that this check knows by name.",
    )


def _kind(value: Any) -> str:
    """What a thing is, in words: "a list", "a numpy array"."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, np.ndarray):
        return "a numpy array"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a value of type {type(value).__name__}"


# --- a check -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exercise:
    """A check: call it with the reader's answer and get a `Verdict`.

    Args:
        name: of the exercise, and of the check in this package.
        cases: makes the trials, double precision.
        reference: what is right, from the inputs (and parts) by name.
        mistakes: what is wrong in a known way.
        tried: what the cases are, for the sentence "Correct. Tried on ...".
        parts: for a layer, the names of its linear maps.
        widths: for a layer, from its sizes how many numbers go into each linear map and come out, by name.
        view: makes of an answer (a value, then the inputs by name) what is compared, where many answers are right.
            It may raise Wrong. The reference and the mistakes give what the view gives.
        also: a last look at an answer whose numbers are right. It gets the answer and `run`, which calls the reader's
            code with inputs as `guarded` does; it may raise Wrong.
    """

    name: str
    cases: Callable[[], list[Case]]
    reference: Callable
    mistakes: Sequence[Mistake]
    tried: str
    parts: tuple[str, ...] = ()
    widths: Callable[..., dict[str, tuple[int, int]]] | None = None
    view: Callable | None = None
    also: Callable | None = None

    def __call__(self, answer: Any) -> Verdict:
        """Try the answer in every case. Prints nothing, and never raises whatever the answer does."""
        tried = self.tried
        try:
            self._check_kind(answer)
            # Double precision shows mistakes sharply. But a line such as `mask.float() @ features` is right in the lab
            # and cannot mix with doubles, so an answer that stumbles over a dtype gets a second try.
            try:
                with _default_dtype(torch.float64):
                    self._try(answer, torch.float64)
            except _DtypeTrouble:
                tried = tried.replace("in double precision", "in single precision")
                with _default_dtype(torch.float32):
                    self._try(answer, torch.float32)
        except NotDone:
            sentence = "Not done yet: write your answer in the cell above, run it, then this one."
            return Verdict(self.name, "not done yet", None, sentence)
        except Wrong as wrong:
            return Verdict(self.name, "wrong", wrong.mistake, wrong.sentence)
        except Exception as error:  # an answer so odd that comparing it fails; or the check has a bug
            sentence = f"The check cannot make anything of what your code gives ({type(error).__name__}: {error})."
            return Verdict(self.name, "wrong", "unreadable", sentence)
        limit = "" if has_time_limit() else " (Code that never ends could not have been stopped on this system.)"
        return Verdict(self.name, "correct", None, f"Correct. Tried on {tried}.{limit}")

    def _check_kind(self, answer: Any) -> None:
        if self.parts and not inspect.isclass(answer):
            hint = "Hand over the class itself, without parentheses behind its name."
            raise Wrong("not a class", f"The check was given {_kind(answer)}, and needs a class. {hint}")
        if not self.parts and (inspect.isclass(answer) or not callable(answer)):
            hint = "Hand over the function itself, without calling it."
            raise Wrong("not a function", f"The check was given {_kind(answer)}, and needs a function. {hint}")
        if self.parts and not issubclass(answer, nn.Module):
            name = answer.__name__
            raise Wrong("not a layer", f"{name} is no nn.Module. Begin it with `class {name}(nn.Module):`.")

    def _try(self, answer: Any, dtype: torch.dtype) -> None:
        """Run all cases and raise Wrong if the answer is wrong."""
        seeds = itertools.count()
        left = SECONDS

        def run(function, *inputs):
            nonlocal left

            def seeded(*inputs):
                torch.manual_seed(next(seeds))  # the same weights each time the check is asked, others in each call
                return function(*inputs)

            begin = time.monotonic()
            given = guarded(seeded, *(_cast(value, dtype) for value in inputs), seconds=left, of=answer)
            left = max(left - (time.monotonic() - begin), SECONDS / 4)  # a late import may have taken it all
            if isinstance(given, Raised) and dtype == torch.float64 and _about_dtypes(given):
                raise _DtypeTrouble
            return given

        trials = []  # what was given, what the reference and the mistakes are called with, and the case
        layers = []  # of each case, and what it gives in a second call
        for case in self.cases():
            inputs = {name: _cast(value, dtype) for name, value in case.inputs.items()}
            if self.parts:
                given, again, parts, layer = self._layer(answer, case.sizes, inputs, run)
                layers.append((layer, self._seen(again, inputs)))
            else:
                given, parts = run(answer, *inputs.values()), {}
            trials.append((self._seen(given, inputs), inputs | parts, case))
            if isinstance(given, Raised):
                break
        wanted = [given if isinstance(given, Raised) else self.reference(**inputs) for given, inputs, _ in trials]
        for (given, _, _), want, (layer, again) in zip(trials, wanted, layers, strict=False):
            if not isinstance(given, Raised) and not _repeats(again, given, want):
                parts = {name: getattr(layer, name) for name in self.parts}
                if _unreached(given, want, parts, run):
                    raise Wrong("parameters created inside forward", MADE_IN_FORWARD)
                raise Wrong(
                    "drawn anew in each call",
                    "Two calls with the same input give different outputs, though the layer uses its parameters. "
                    "Something in `forward` is drawn at random. Is it dropout? This exercise has none.",
                )
        self._judge(trials, wanted)
        for (_, _, case), (layer, _) in zip(trials, layers, strict=False):
            self._check_maps(layer, case)
        if layers:
            _check_gradient(trials[0][0], wanted[0], {name: getattr(layers[0][0], name) for name in self.parts}, run)
        if self.also:
            self.also(answer, run)

    def _seen(self, given: Any, inputs: dict) -> Any:
        """What is compared of an answer."""
        return self.view(given, **inputs) if self.view and not isinstance(given, (Raised, NoneType)) else given

    def _layer(self, answer: type, sizes: tuple, inputs: dict, run: Callable) -> tuple[Any, Any, dict, Any]:
        """What the reader's layer gives, what it gives in a second call, its linear maps as functions, and itself."""
        layer = run(lambda: _disturbed(answer(*sizes).eval()))
        if isinstance(layer, Raised):
            if "Module.__init__() call" in layer.text:
                sentence = "Begin `__init__` with super().__init__(): nn.Module needs it before it can hold layers."
                raise Wrong("super().__init__() is missing", sentence)
            return layer, layer, {}, None
        made = [getattr(layer, name, None) for name in self.parts]
        given, again = run(layer, *inputs.values()), run(layer, *inputs.values())
        kept = all(part is not None and part is getattr(layer, n) for n, part in zip(self.parts, made, strict=True))
        if not kept and not isinstance(given, Raised) and not _repeats(again, given):
            raise Wrong("parameters created inside forward", MADE_IN_FORWARD)
        widths = self.widths(*sizes) if self.widths else {}
        return given, again, {name: _linear_map(layer, name, widths.get(name)) for name in self.parts}, layer

    def _check_maps(self, layer: Any, case: Case) -> None:
        """Raise Wrong when the linear maps of a layer, whose numbers are right, are of wrong widths or shared."""
        maps = {name: getattr(layer, name) for name in self.parts}
        for name, (width_in, width_out) in (self.widths(*case.sizes) if self.widths else {}).items():
            part = maps[name]
            shape = (part.in_features, part.out_features) if isinstance(part, nn.Linear) else None
            if isinstance(part, Tensor) and part.dim() == 2:
                shape = tuple(part.shape) if part.shape[0] == width_in else tuple(part.shape[::-1])
            if shape not in (None, (width_in, width_out)):
                sentence = f"{name} makes {shape[1]} numbers of {shape[0]}; it should make {width_out} of {width_in}"
                raise Wrong("wrong width", f"{sentence}, in a layer made with the sizes {case.sizes}.")
        for one, other in itertools.combinations(maps, 2):
            if maps[one] is maps[other]:
                sentence = f"{one} and {other} are one and the same map, so they could never learn different things."
                raise Wrong("one map for two", f"{sentence} Make one for each.")

    def _judge(self, trials: list, wanted: list) -> None:
        try:
            for number, ((given, _, case), want) in enumerate(zip(trials, wanted, strict=True), 1):
                if isinstance(given, Raised):
                    raise Wrong("raises", f"{str(given).rstrip('.')}. It happened with {case}.")
                _compare(given, want, f"in trial {number} ({case})")
        except Wrong as general:
            # First those that agree in every number, then those that do where the reference looks.
            for places in ([None] * len(trials), wanted):
                for mistake in self.mistakes:
                    gives = [_outcome(mistake.gives, inputs) for _, inputs, _ in trials]
                    if all(_agrees(given, *pair) for (given, _, _), *pair in zip(trials, gives, places, strict=True)):
                        raise Wrong(mistake.name, f"{mistake.sentence} Read again: {mistake.section}.") from None
            raise general from None


def _repeats(again: Any, given: Any, wanted: Any = None) -> bool:
    """Whether a second call gave the same numbers, except where `wanted` has NaN."""
    if isinstance(given, (tuple, list)) and isinstance(again, (tuple, list)) and len(given) == len(again):
        parts = wanted if isinstance(wanted, (tuple, list)) and len(wanted) == len(given) else [None] * len(given)
        return all(map(_repeats, again, given, parts))
    if not isinstance(given, Tensor) or not isinstance(again, Tensor):
        return True  # no numbers; what it is instead is said when it is compared
    return _agrees(again, given, wanted)


class _DtypeTrouble(Exception):
    """The answer cannot mix single and double precision."""


def _about_dtypes(raised: Raised) -> bool:
    return any(word in raised.text.lower() for word in ("dtype", "scalar type", "same data type"))


def _cast(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value


def _outcome(function: Callable, inputs: dict) -> Any:
    """What a mistake gives, or how it raises."""
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(**inputs)
    except Exception as error:
        return _raised(error, None)


def _disturbed(layer: nn.Module) -> nn.Module:
    """The same layer, every parameter moved a little: zeros, ones and equal norms would hide mistakes."""
    with torch.no_grad():
        for parameter in layer.parameters():
            if parameter.requires_grad:  # one that does not is a constant, such as a scale
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return layer


def _linear_map(layer: nn.Module, name: str, widths: tuple[int, int] | None) -> Callable[[Tensor], Tensor]:
    """The layer's own linear map as a function, whichever way it was written."""
    part = getattr(layer, name, None)
    if isinstance(part, Tensor):
        if not any(part is parameter for parameter in layer.parameters()):
            raise Wrong(
                "weights not registered",
                f"{name} is a plain tensor: no optimizer would find it among the layer's parameters. "
                "Make it an nn.Linear, or wrap it in nn.Parameter(...).",
            )
        if widths and tuple(part.shape) == widths[::-1] != widths:  # kept as nn.Linear keeps it
            return lambda x: x @ part.detach().T
        return lambda x: x @ part.detach()
    if isinstance(part, nn.Linear):
        registered = {id(parameter) for parameter in layer.parameters()}
        if id(part.weight) not in registered:
            sentence = f"{name} is not among the layer's parameters. Set it in `__init__` as `self.{name} = ...`."
            raise Wrong("weights not registered", sentence)
        return lambda x: part(x).detach()
    if isinstance(part, nn.Module):
        return part  # a part that is a layer of its own: the reference and the mistakes call it as the reader does
    have = ", ".join(sorted({n.split(".")[0] for n, _ in layer.named_parameters()})) or "no parameters at all"
    if widths is None:
        sentence = f"The layer needs a part called {name}, made in `__init__`; it has {have}."
        raise Wrong("a part is missing", sentence)
    raise Wrong(
        "a linear map is missing",
        f"The layer needs an nn.Linear (or a matrix, nn.Parameter) called {name}, made in `__init__`; it has {have}.",
    )


def _check_gradient(given: Any, wanted: Any, parts: dict[str, Any], run: Callable) -> None:
    """Raise Wrong when what a layer gives, right as it is, could not teach each of its parts."""
    first = given[0] if isinstance(given, (tuple, list)) else given
    if not first.requires_grad:
        raise Wrong(
            "cut off from the gradient",
            "The numbers are right, but they do not hang on the layer's parameters, so nothing would learn. Leave out "
            "`detach()`, `.data` and `no_grad()`, and build no new tensor from numbers.",
        )
    found = _unreached(given, wanted, parts, run)
    if isinstance(found, Raised) and "inplace" in found.text:
        raise Wrong(
            "changed in place",
            "The numbers are right, but a tensor that the gradient needs is changed in place, by a line such as "
            "`weights *= mask`. Make a new one: `weights = weights * mask`.",
        )
    if isinstance(found, Raised):
        raise Wrong("no gradient", f"The numbers are right, but their gradient cannot be computed. {found}")
    if found:
        raise Wrong(
            "cut off from the gradient",
            f"The numbers are right, but no gradient reaches {found[0]}, so it would never learn. Leave out "
            "`detach()`, `.data`, `.item()`, `float()` and `no_grad()` on the way from it.",
        )


def _unreached(given: Any, wanted: Any, parts: dict[str, Any], run: Callable) -> list[str] | Raised:
    """The parts that no gradient of a layer's first result reaches; or why it cannot be computed."""
    first, right = (value[0] if isinstance(value, (tuple, list)) else value for value in (given, wanted))
    weights = {name: [part] if isinstance(part, Tensor) else list(part.parameters()) for name, part in parts.items()}
    learning = [weight for own in weights.values() for weight in own if weight.requires_grad]
    real = ~right.isnan() if right.shape == first.shape else ...
    found = run(lambda: torch.autograd.grad(first[real].sum(), learning, allow_unused=True))
    if isinstance(found, Raised):
        return found
    reached = {id(weight) for weight, gradient in zip(learning, found, strict=True) if gradient is not None}
    return [name for name, own in weights.items() if not any(id(weight) in reached for weight in own)]

"""The engine of the self-checks: the reader's function or class in, a verdict with one sentence out.

A check compares what the reader's code gives in each case with what a reference gives. Where they differ, it looks for
a known mistake that gives the same wrong numbers, and says its sentence, the docstring. Any other wrong answer hears
how many numbers differ, in which case, where the first one is, and what to read again.

For a layer, the reference and the known mistakes compute with the parts of the reader's own layer, which get random
parameters. So it does not matter how the layer was initialised, nor in which style it is written.
"""

import contextlib
import html
import inspect
import linecache
import os
import random
import re
import signal
import sysconfig
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

SECONDS = 10.0  # for all of one check
# A reader's error is shown with the reader's own line: not with one of a library, of the course, or of this package.
OTHERS_CODE = tuple(
    str(folder)
    for folder in (Path(torch.__file__).parents[1], sysconfig.get_path("stdlib"), *Path(__file__).parents[:1],
                   Path(__file__).parents[1] / "shared", "<frozen", "<string>", "<__array_function__")
)  # fmt: skip


class Wrong(Exception):
    """The answer is wrong: the sentence for the reader, and a short name of the mistake."""

    def __init__(self, sentence: str, mistake: str):
        super().__init__(sentence)
        self.sentence, self.mistake = sentence, mistake


class NotDone(Exception):
    """The answer is still the starting cell, which raises NotImplementedError without a word."""


class OutOfTime(BaseException):
    """The time is up. Not an Exception, so that the reader's `except Exception` lets it through."""


class NoMixedPrecision(Exception):
    """The answer makes single-precision numbers, which do not mix with the double precision of the cases."""


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check says; true when the answer is correct. A notebook shows the sentence.

    `state` is "correct", "wrong" or "not done yet"; `mistake` is the name of the mistake, empty unless wrong.
    """

    state: str
    sentence: str
    mistake: str = ""

    def __bool__(self) -> bool:
        return self.state == "correct"

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:  # a paragraph wraps on a narrow screen, a repr does not
        sentence = html.escape(self.sentence).replace("\n", "<br>")
        return "<p>" + re.sub("`(.+?)`", r"<code>\1</code>", sentence) + "</p>"


@dataclass(frozen=True)
class Case:
    """One trial: the arguments by name, in their order; for a layer also the sizes it is made with, in their order.

    Floating-point tensors are in double precision. `parameter_scale` multiplies a layer's parameters, so that its
    scores are large. Cases with equal sizes share one layer, which must not remember anything from call to call.
    """

    inputs: dict[str, Any]
    sizes: dict[str, Any] = field(default_factory=dict)
    parameter_scale: float = 1.0

    def __str__(self) -> str:
        return ", ".join(_described(name, value) for name, value in (self.sizes | self.inputs).items())


@dataclass
class Trial:
    """A case as the reader's answer took it. `result` is what is compared; an exception where the answer raised one."""

    case: Case
    number: int
    inputs: dict[str, Any]
    function: Callable  # the answer, or the layer made with the case's sizes
    raw: Any = None
    result: Any = None
    parts: dict[str, Any] = field(default_factory=dict)
    expected: Any = None


@dataclass(frozen=True, eq=False)
class Check:
    """A check: call it with the reader's answer and get a `Verdict`.

    Args:
        reference: what is right, computed in a plain way. It gets the inputs of a case by name, and for a layer its
            parts. Where it gives NaN, any number is right, but NaN is not.
        cases: the trials.
        mistakes: functions like the reference, each with a known mistake; the docstring is what the reader is told.
        section: what to read again: the name of a lab and a heading in it, `Keys, “The task”`.
        solution: the course's own answer, with which the lab goes on; for a layer its class. The reference by default.
        parts: for a layer, the attributes (or sizes) with which reference and mistakes compute.
        needs_gradient: for a function, the inputs that a gradient of the first result must reach.
        forbidden: names that the answer may not use.
        canonical: makes of an answer's result, and the inputs by name, what is compared, where many answers are right.
            It may raise Wrong. The reference gives that form at once, mistakes give what an answer gives.
        last_look: gets an answer whose numbers are right, and may raise Wrong.
    """

    reference: Callable
    cases: Sequence[Case]
    mistakes: Sequence[Callable]
    section: str
    solution: Callable | None = None
    parts: tuple[str, ...] = ()
    needs_gradient: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    canonical: Callable | None = None
    last_look: Callable | None = None

    def __call__(self, answer: Any) -> Verdict:
        """Try the answer in every case. Prints nothing, and never raises whatever the answer does."""
        try:
            with guarded():
                try:
                    # Double precision shows mistakes sharply. But `mask.float() @ x` is right in a lab.
                    self._judge(answer, torch.float64)
                except NoMixedPrecision:
                    self._judge(answer, torch.float32)
        except NotDone:
            return Verdict("not done yet", "Not done yet: write your answer in the cell above, run it, then this one.")
        except Wrong as wrong:
            return Verdict("wrong", f"{wrong.sentence} Read again: {self.section}.", wrong.mistake)
        except OutOfTime:
            sentence = f"Your code was stopped after {SECONDS:.0f} seconds. Is there a loop that never ends?"
            return Verdict("wrong", sentence, "too slow")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Verdict("wrong", _error_sentence(error), "raises")
        return Verdict("correct", f"Correct in all {len(self.cases)} cases.")

    def use(self, answer: Any) -> Any:
        """Show the verdict, and return what the lab goes on with: the answer when it is right, else the course's."""
        from IPython.display import display  # a program that only grades does without

        verdict, own = self(answer), self.solution or self.reference
        name = f"`{getattr(answer, '__name__', own.__name__)}`"
        goes_on = f"The lab goes on with your {name}."
        if not verdict:
            goes_on = f"Until it is right, the lab goes on with the course's {name}."
        display(replace(verdict, sentence=f"{verdict.sentence}\n{goes_on}"))
        return answer if verdict else own

    def _judge(self, answer: Any, dtype: torch.dtype) -> None:
        """Run all cases, and raise unless the answer is right."""
        self._check_kind(answer)
        layers, trials = {}, []
        for number, case in enumerate(self.cases, 1):
            inputs, function = {name: _cast(value, dtype) for name, value in case.inputs.items()}, answer
            if inspect.isclass(answer):
                key = repr((case.sizes, case.parameter_scale))
                if key not in layers:
                    layers[key] = self._make(answer, case, dtype)
                function = layers[key]
            trial = Trial(case, number, inputs, function)
            trial.raw = _call(function, inputs, number, dtype)
            trial.result = self._canonical(trial.raw, inputs)
            trials.append(trial)
        wrong = self._first_wrong(trials, dtype)
        if wrong and any(isinstance(getattr(trial.function, name, None), Tensor) for name in self.parts):
            # A square matrix does not say which way round it is stored, unless a case that is not square does.
            wrong = self._first_wrong(trials, dtype, transposed=True) and self._first_wrong(trials, dtype)
        if wrong:
            raise self._named(trials) or wrong
        codes = [f.__code__ for f in (vars(answer).values() if layers else [answer]) if isinstance(f, FunctionType)]
        if used := [name for code in codes for name in _names(code) if name in self.forbidden]:
            raise Wrong(
                f"The numbers are right, but `{used[0]}` does the work. Write it without that.", "forbidden name"
            )
        self._check_gradient(trials[0], dtype)
        if self.last_look:
            self.last_look(answer)

    def _check_kind(self, answer: Any) -> None:
        """Raise Wrong unless the answer can be called as the exercise calls it."""
        if not inspect.isclass(self.solution):
            if inspect.isclass(answer) or not callable(answer):
                raise Wrong(
                    f"The check needs the function itself, without parentheses; it got {_kind(answer)}.", "kind"
                )
            return _check_arguments(answer, "Your function", self.cases, "inputs")
        if not inspect.isclass(answer):
            raise Wrong(f"The check needs the class itself, without parentheses; it got {_kind(answer)}.", "kind")
        if not issubclass(answer, nn.Module):
            raise Wrong(f"Begin your class with `class {answer.__name__}(nn.Module):`.", "not a module")
        for right, spelled in (("__init__", "init int"), ("forward", "forward forwards foward")):
            for name in vars(answer):
                if name.strip("_") in spelled.split() and right not in vars(answer):
                    raise Wrong(f"The method `{name}` has to be called `{right}`, or nothing calls it.", "misspelled")
        _check_arguments(answer.__init__, "`__init__`", self.cases, "sizes")
        _check_arguments(answer.forward, "`forward`", self.cases, "inputs")

    def _make(self, answer: type, case: Case, dtype: torch.dtype) -> nn.Module:
        """The reader's layer with random parameters, in training mode except where the course's has dropout, too."""
        layer = _call(answer, case.sizes, 0, dtype)
        if isinstance(layer, BaseException):
            if "Module.__init__() call" in str(layer):
                raise Wrong(
                    "Begin `__init__` with `super().__init__()`: nn.Module needs it to hold layers.", "no super"
                )
            raise Wrong(f"{_error_sentence(layer)} It happened in `__init__` with {case}.", "raises")
        course = self.solution(*case.sizes.values())
        check_parts(layer, course, [name for name in self.parts if name not in case.sizes], self.cases, answer)
        with torch.no_grad():  # zeros, ones and equal norms would hide mistakes
            for parameter in filter(lambda p: p.requires_grad and p.is_floating_point(), layer.parameters()):
                parameter.add_(torch.randn_like(parameter), alpha=0.3).mul_(case.parameter_scale)
        layer.train()
        for name, module in course.named_modules():
            if isinstance(module, nn.Dropout) and module.p > 0:
                own = name.split(".")[0]
                (getattr(layer, own) if own in self.parts else layer).eval()
        return layer

    def _canonical(self, raw: Any, inputs: dict[str, Any]) -> Any:
        """What is compared of a result; the Wrong that `canonical` raises counts as a result."""
        if self.canonical is None or raw is None or isinstance(raw, BaseException):
            return raw
        try:
            return self.canonical(raw, **deepcopy(inputs))
        except Wrong as wrong:
            return wrong

    def _first_wrong(self, trials: list[Trial], dtype: torch.dtype, transposed: bool = False) -> Wrong | None:
        """The first thing that is wrong with the results, if anything."""
        first = None
        for trial in trials:
            for name in self.parts:
                part = trial.case.sizes[name] if name in trial.case.sizes else getattr(trial.function, name)
                trial.parts[name] = _projection(part, transposed) if isinstance(part, Tensor) else part
            trial.expected = self._outcome(self.reference, trial, plain=True)
            if isinstance(trial.expected, Exception) and not isinstance(trial.result, BaseException):
                sentence = f"The parts of your layer do not fit together as in the exercise: {trial.expected}"
                raise Wrong(sentence if self.parts else f"The check failed: {trial.expected!r}.", "other parts")
            if self.parts and not isinstance(trial.raw, BaseException):
                again = self._canonical(_call(trial.function, trial.inputs, -trial.number, dtype), trial.inputs)
                if not agrees(again, trial.result, trial.expected) and agrees(
                    trial.result, trial.result, trial.expected
                ):
                    raise Wrong(
                        "Two calls with the same input give different outputs. Is there dropout, where this exercise has "
                        "none, or something that `forward` makes anew or keeps? Parts are made in `__init__`.",
                        "differs between calls",
                    )
            try:
                compare(trial.result, trial.expected, f"case {trial.number} ({trial.case})")
            except Wrong as wrong:
                first = first or wrong
        return first

    def _outcome(self, function: Callable, trial: Trial, plain: bool = False) -> Any:
        """What the reference (`plain`) or a mistake gives for a trial; the exception where it raises one."""
        torch.default_generator.manual_seed(trial.number)  # a mistake draws what the answer drew
        try:
            with torch.no_grad():
                result = function(**deepcopy(trial.inputs), **trial.parts)
            return result if plain else self._canonical(result, trial.inputs)
        except Exception as error:
            return error

    def _named(self, trials: list[Trial]) -> Wrong | None:
        """The first known mistake that does in every case what the answer did."""
        if all(isinstance(t.raw, BaseException) for t in trials):
            return None  # the reader's line and the error say more
        outcome = cache(lambda mistake, place: self._outcome(mistake, trials[place]))
        for open_too in (True, False):  # first also where the reference leaves the numbers open
            for mistake in self.mistakes:
                alike = (
                    _alike(trial, outcome(mistake, place), None if open_too else trial.expected)
                    for place, trial in enumerate(trials)
                )
                explains = (
                    not agrees(outcome(mistake, place), trial.expected, None if open_too else trial.expected)
                    for place, trial in enumerate(trials)
                )
                if all(alike) and any(explains):
                    return Wrong(" ".join(mistake.__doc__.split()), mistake.__name__)
        return None

    def _check_gradient(self, trial: Trial, dtype: torch.dtype) -> None:
        """Raise Wrong when an answer, right as its numbers are, could not teach what it is meant to teach."""
        learns, raw = {name: list(trial.parts[name].parameters()) if isinstance(trial.parts[name], nn.Module)
                       else [getattr(trial.function, name)]
                       for name in self.parts if name not in trial.case.sizes}, trial.raw  # fmt: skip
        if self.needs_gradient:
            leaves = {name: trial.inputs[name].clone().requires_grad_() for name in self.needs_gradient}
            learns, raw = (
                {name: [leaf] for name, leaf in leaves.items()},
                trial.function(*(trial.inputs | leaves).values()),
            )
        learns = {name: [p for p in own if p.requires_grad] for name, own in learns.items()}
        learns = {name: own for name, own in learns.items() if own}
        if not learns:
            return
        first, right = (value[0] if isinstance(value, (tuple, list)) else value for value in (raw, trial.expected))
        found = [None] * sum(map(len, learns.values()))
        if isinstance(first, Tensor) and first.requires_grad:
            counts = ~right.isnan() if isinstance(right, Tensor) and right.shape == first.shape else ...
            try:
                found = torch.autograd.grad(first[counts].sum(), sum(learns.values(), []), allow_unused=True)
            except RuntimeError as error:
                raise Wrong(
                    "The numbers are right, but their gradient cannot be computed. Is a tensor changed in place, by a line "
                    f"such as `weights *= mask`? Write `weights = weights * mask`. ({str(error).splitlines()[0]:.200})",
                    "changed in place",
                ) from None
        reached = {id(p) for p, gradient in zip(sum(learns.values(), []), found, strict=True) if gradient is not None}
        if cut := [name for name, own in learns.items() if not any(id(p) in reached for p in own)]:
            raise Wrong(
                f"The numbers are right, but no gradient reaches {' or '.join(f'`{name}`' for name in cut)}, so nothing "
                "would be learned there. Leave out `detach()`, `.data`, `.item()`, `float()` and `no_grad()`.",
                "gradient cut off",
            )


# --- the reader's code ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Run what is within in silence and for SECONDS at most, and put back what it may change for the notebook."""

    def stop(*_: Any) -> None:
        raise OutOfTime

    # Windows has no alarm, and only the main thread may set one.
    limited = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    dtype, threads, gradient = torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled()
    before = signal.signal(signal.SIGALRM, stop) if limited else None
    try:
        try:
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), warnings.catch_warnings():
                with contextlib.redirect_stderr(nowhere):
                    warnings.simplefilter("ignore")
                    if limited:  # again and again, because code that catches everything also catches this
                        signal.setitimer(signal.ITIMER_REAL, SECONDS, 0.05)
                    yield
        finally:
            if limited:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:  # twice, because an alarm may ring in the line above
        if limited:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        for put_back, state in zip((random.setstate, np.random.set_state, torch.set_rng_state), states, strict=True):
            put_back(state)
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(gradient)


def _call(function: Callable, arguments: dict[str, Any], seed: int, dtype: torch.dtype) -> Any:
    """What the reader's function gives for copies of the arguments, or the exception that it raises."""
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(True)
    torch.default_generator.manual_seed(seed % 1000)
    given = deepcopy(arguments)
    try:
        result = function(*given.values())
    except (OutOfTime, KeyboardInterrupt):
        raise
    except BaseException as error:
        if isinstance(error, NotImplementedError) and not error.args:
            raise NotDone from None
        if dtype == torch.float64 and re.search("(?i)dtype|scalar type", str(error)):
            raise NoMixedPrecision from None
        return error
    for name, value in given.items():
        if not _same(value, arguments[name]):
            raise Wrong(
                f"Your code changes its argument `{name}`. Work on a copy (`copy.deepcopy` for a model), without `+=` "
                "and without methods that end in `_`.",
                "changes its input",
            )
    return result


def _cast(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value


def _same(value: Any, other: Any) -> bool:
    """Whether an argument is still what it was."""
    if isinstance(value, nn.Module):
        value, other = value.state_dict(), other.state_dict()
    if isinstance(value, dict):
        value, other = [*value, *value.values()], [*other, *other.values()]
    if isinstance(value, (list, tuple)):
        return len(value) == len(other) and all(map(_same, value, other))
    if isinstance(value, (Tensor, np.ndarray)):
        return value.shape == other.shape and np.array_equal(value, other, equal_nan=value.dtype not in (object, "O"))
    return not isinstance(value, (int, float, str, set)) or value == other or value != value


def _error_sentence(error: BaseException) -> str:
    """An exception, with the deepest line of the reader's code."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(OTHERS_CODE)]
    line = linecache.getline(frames[-1].filename, frames[-1].lineno).strip() if frames else ""
    where = f" in the line `{line}`" if line else f" in line {frames[-1].lineno} of the cell" if frames else ""
    text = str(error).strip().split("\n")[0]
    return f"Your code raises {type(error).__name__}{where}: {text:.300}".rstrip(": .") + "."


def _check_arguments(function: Callable, name: str, cases: Sequence[Case], which: str) -> None:
    """Raise Wrong unless a function, or a method, takes the arguments of all cases."""
    method = [None] if name.startswith("`") else []
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of PyTorch, written in C++
        return
    for case in cases:
        arguments = getattr(case, which)
        try:
            signature.bind(*method, *arguments.values())
        except TypeError as error:
            own = list(signature.parameters)
            if method and own[:1] != ["self"]:
                raise Wrong(f"{name} lacks `self` as its first argument.", "no self") from None
            sentence = f"{name} takes ({', '.join(own[len(method) :])}), and the exercise calls it with"
            raise Wrong(f"{sentence} ({', '.join(arguments)}): {error}.", "other arguments") from None


def _names(code: CodeType) -> set[str]:
    """The names of functions and attributes that a piece of code uses, functions inside it too."""
    return set(code.co_names).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


# --- the parts of the reader's layer -------------------------------------------------------------------------------


def check_parts(layer: nn.Module, course: nn.Module, names: Sequence[str], cases: Sequence[Case], answer: type) -> None:
    """Raise Wrong unless a layer has the parts of the course's, registered, each of its own, of the same widths."""
    for name, value in vars(layer).items():
        held = value.values() if isinstance(value, dict) else value
        if name[0] != "_" and isinstance(value, (list, tuple, dict)) and any(isinstance(v, nn.Module) for v in held):
            sentence = f"`{name}` is a plain {type(value).__name__}, in which PyTorch finds no parameters. "
            raise Wrong(f"{sentence}Wrap it in `nn.ModuleList` (or ModuleDict, Sequential).", "plain list")
    registered = {id(parameter) for parameter in layer.parameters()}
    for name in names:
        part = getattr(layer, name, None)
        if not isinstance(part, (nn.Module, Tensor)):
            have = ", ".join(n for n, _ in [*layer.named_children(), *layer.named_parameters(recurse=False)]) or "none"
            raise Wrong(f"The layer needs a part `self.{name}`, made in `__init__`. Its parts: {have}.", "part missing")
        if any(id(p) not in registered for p in ([part] if isinstance(part, Tensor) else part.parameters())):
            sentence = f"`{name}` is not among the layer's parameters, so no optimizer would find it. "
            raise Wrong(
                f"{sentence}Set it in `__init__`: `self.{name} = nn.Linear(...)`, or nn.Parameter.", "not registered"
            )
        for other in names[: names.index(name)]:
            if getattr(layer, other) is part:
                raise Wrong(f"`{other}` and `{name}` are one and the same part: make one for each.", "one part for two")
        own, wanted = _shapes(part), _shapes(getattr(course, name))
        for key in own.keys() & wanted.keys():
            if own[key] != wanted[key] and (isinstance(part, nn.Module) or sorted(own[key]) != sorted(wanted[key])):
                all_own = {str(_shapes(getattr(answer(*case.sizes.values()), name))[key]) for case in cases}
                typed = "The width seems to be typed in as a number: use the arguments of `__init__`. "
                raise Wrong(
                    f"`{name}` has a {key} of shape {own[key]} instead of {wanted[key]}, in a layer made with "
                    f"{', '.join(f'{n} = {v}' for n, v in cases[0].sizes.items())}. " + typed * (len(all_own) == 1),
                    "width typed in" if len(all_own) == 1 else "wrong width",
                )


def _shapes(part: nn.Module | Tensor) -> dict[str, tuple[int, ...]]:
    if isinstance(part, Tensor):
        return {"weight": tuple(part.shape if part.dim() > 1 else (1, *part.shape))}
    return {name: tuple(value.shape) for name, value in part.state_dict().items() if name != "bias"}


def _projection(matrix: Tensor, transposed: bool) -> Callable:
    """A matrix of the reader as a function. Either way round, as its shape or `transposed` says."""
    matrix = matrix.detach() if matrix.dim() > 1 else matrix.detach()[:, None]
    square = matrix.shape[0] == matrix.shape[1]
    return lambda x: x @ (matrix.T if (transposed if square else x.shape[-1] != matrix.shape[0]) else matrix)


# --- comparing -----------------------------------------------------------------------------------------------------


def leaves(value: Any, like: Any, path: str = "") -> dict[str, Any]:
    """The tensors and other values that a result holds, by where they are in it, as far as it is built `like` another.

    NumPy counts as a tensor, and a tensor of one axis as a tuple of numbers.
    """
    if isinstance(like, (tuple, list)):
        if isinstance(value, (Tensor, np.ndarray)) and value.ndim == 1:
            value = list(value)
        if isinstance(value, (tuple, list)) and len(value) == len(like):
            pairs = enumerate(zip(value, like, strict=True))
            return {k: leaf for n, pair in pairs for k, leaf in leaves(*pair, f"{path}[{n}]").items()}
    elif isinstance(like, dict) and isinstance(value, dict) and set(value) == set(like):
        return {k: leaf for key in like for k, leaf in leaves(value[key], like[key], f"{path}[{key!r}]").items()}
    elif isinstance(value, (int, float, np.ndarray, np.generic)) and np.asarray(value).dtype.kind in "fiub":
        value = torch.as_tensor(value, dtype=torch.float64 if type(value) is float else None)
    elif type(value) is nn.Parameter or type(value) is Tensor:
        value = value.detach().cpu()
    return {path: value}


def _close(value: Any, other: Any, scalar: bool) -> Tensor | bool:
    """Where two values agree, as far as their precision lets them."""
    if not isinstance(value, Tensor) or not isinstance(other, Tensor):
        return value is other or (
            type(value) is type(other) and not isinstance(value, BaseException) and value == other
        )
    if value.shape != other.shape or value.is_complex() or other.is_complex():
        return False
    tolerance = 1e-6 if value.dtype == other.dtype == torch.float64 else 1e-4
    absolute = tolerance * (1e-2 if scalar else 1)
    return torch.isclose(value.double(), other.double(), rtol=tolerance, atol=absolute, equal_nan=True)


def agrees(result: Any, other: Any, expected: Any = None) -> bool:
    """Whether two results are the same, but for the places where `expected`, if given, has NaN."""
    like = other if expected is None else expected
    first, second, right = leaves(result, like), leaves(other, like), leaves(like, like)
    if first.keys() != second.keys():
        return False
    for path in first:
        close = _close(first[path], second[path], not isinstance(like, Tensor))
        counts = right.get(path)
        if (
            isinstance(close, Tensor)
            and isinstance(counts, Tensor)
            and expected is not None
            and counts.shape == close.shape
        ):
            close |= counts.isnan()
        if not (close.all() if isinstance(close, Tensor) else close):
            return False
    return True


def _alike(trial: Trial, outcome: Any, expected: Any) -> bool:
    """Whether a mistake does what the answer did: gives the same, or raises the same kind of exception."""
    if isinstance(trial.result, BaseException) or isinstance(outcome, BaseException):
        return type(trial.result) is type(outcome) and getattr(outcome, "mistake", 0) == getattr(
            trial.result, "mistake", 0
        )
    return agrees(trial.result, outcome, expected)


def compare(result: Any, expected: Any, where: str) -> None:
    """Raise Wrong, with the general sentence, unless a result is what is expected."""
    if isinstance(result, Wrong):
        raise result
    if isinstance(result, BaseException):
        raise Wrong(f"{_error_sentence(result)} It happened in {where}.", "raises")
    found, wanted = leaves(result, expected), leaves(expected, expected)
    for path, right in wanted.items():
        value, which = found.get(path), f"result{path} in {where}" if path else where
        if result is None or (value is None and path in found and right is not None):
            raise Wrong("Your code returns None. Is a `return` missing at its end?" if result is None else
                        f"result{path} is None.", "returns nothing")  # fmt: skip
        if found.keys() != wanted.keys():
            have = f"{len(result)} results" if isinstance(result, (tuple, list)) else _kind(result)
            form = f"a dict with the keys {list(expected)}" if isinstance(expected, dict) else f"{len(wanted)} results"
            raise Wrong(f"Your code returns {have}; the exercise asks for {form}.", "wrong type")
        if not isinstance(right, Tensor) or type(value) is not Tensor:
            if not _close(value, right, True):
                told = f"{value!r:.80} instead of {right!r:.80}" if not isinstance(right, Tensor) else _kind(value)
                raise Wrong(
                    f"Your code gives {told}: {which}.", "wrong type" if isinstance(right, Tensor) else "other results"
                )
            continue
        if value.shape != right.shape:
            sentence = f"The shape is {tuple(value.shape)} instead of {tuple(right.shape)}: {which}."
            raise Wrong(f"{sentence} Write the shape behind each line of your code.", "wrong shape")
        if [t.dtype == torch.bool or t.is_floating_point() + 2 for t in (value, right)] and False:
            pass
        if value.is_floating_point() and value.isnan().any():
            raise Wrong(
                f"There is NaN in the {which}. A division by 0, or a row of minus infinities in a softmax?", "NaN"
            )
        differs = ~(_close(value, right, not isinstance(expected, Tensor)) | right.isnan())
        if differs.any():
            first = tuple(differs.nonzero()[0].tolist())
            place = (
                f"{int(differs.sum())} of {differs.numel()} numbers differ, first at {list(first)}: " if first else ""
            )
            got, want = (f"{t[first].item():.6g}" for t in (value, right))
            raise Wrong(f"{place}your code gives {got} instead of {want}. This is {which}.", "other numbers")


def _kind(value: Any) -> str:
    """What a thing is: "a tensor of shape (2, 3)", "a list"."""
    if isinstance(value, (Tensor, np.ndarray)):
        return f"{'a tensor' if isinstance(value, Tensor) else 'an array'} of shape {tuple(value.shape)}"
    return f"the class `{value.__name__}`" if isinstance(value, type) else f"a value of type {type(value).__name__}"


def _described(name: str, value: Any) -> str:
    """An argument as a sentence shows it: its shape, its value when that is short, else what it is."""
    if isinstance(value, (Tensor, np.ndarray)) and value.ndim:
        return f"{name} {tuple(value.shape)}"
    plain = isinstance(value, (int, float, str, list, tuple, dict, range, type(None))) and " at 0x" not in repr(value)
    if plain and len(repr(value)) <= 60:
        return f"{name} = {value!r}"
    return f"{name} with {len(value)} entries" if hasattr(value, "__len__") else name

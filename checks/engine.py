"""The engine of the self-checks: the reader's function or class in, a verdict with one sentence out.

A check compares what the reader's code gives in each case with what a reference gives. Where they differ, it looks for
a known mistake that gives the same wrong results, and says its sentence, the docstring. Any other wrong answer hears
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
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

SECONDS = 10.0  # for all of one check
HERE = Path(__file__).parent
# A reader's error is shown with the reader's own line, not with one of a library or of the course.
LIBRARIES = (
    sysconfig.get_path("stdlib"),
    str(Path(torch.__file__).parents[1]),
    str(HERE),
    str(HERE.with_name("shared")),
)


# --- what can be wrong in any exercise; the docstring is the sentence -----------------------------------------------


class Wrong(Exception):
    """The answer is wrong: a sentence for the reader, and a short name of the mistake."""

    def __init__(self, sentence: str = "", mistake: str = "", **words: object):
        self.sentence = sentence or " ".join((type(self).__doc__ or "").split()).format(**words)
        self.mistake = mistake or type(self).__name__
        super().__init__(self.sentence)


class NotAFunction(Wrong):
    """The check needs the function itself, its name without parentheses; it got {kind}."""


class NotAClass(Wrong):
    """The check needs the class itself, its name without parentheses; it got {kind}."""


class NotAModule(Wrong):
    """Begin your class with `class {name}(nn.Module):`, so that PyTorch finds its parameters."""


class Misspelled(Wrong):
    """The method `{name}` has to be called `{right}`, or nothing calls it."""


class OtherArguments(Wrong):
    """{name} takes ({own}), and the exercise calls it with ({given}): {error}. In a method, `self` comes first."""


class SuperMissing(Wrong):
    """Begin `__init__` with `super().__init__()`: nn.Module needs it before it can hold a layer."""


class PlainList(Wrong):
    """`{name}` is a plain {kind}, in which PyTorch finds no parameters. Put its layers into an `nn.ModuleList`."""


class PartMissing(Wrong):
    """The layer needs a part called `{name}`, made in `__init__`. The parts it has: {parts}."""


class NotRegistered(Wrong):
    """`{name}` is not among the layer's parameters, so no optimizer would find it. Set it in `__init__` as
    `self.{name} = ...`, an `nn.Linear` or an `nn.Parameter`."""


class OnePartForTwo(Wrong):
    """`{one}` and `{other}` are one and the same part, so they could not learn different things. Make one for each."""


class WrongWidth(Wrong):
    """`{name}.{key}` has shape {own} instead of {right}, in a layer made with {sizes}."""


class WidthTypedIn(WrongWidth):
    """`{name}.{key}` has shape {own} instead of {right}: one width is the same whatever the layer is made with. Is it
    typed in as a number? Use the arguments of `__init__`."""


class PartsOfAnotherKind(Wrong):
    """The check computes with the parts of your layer, and they do not fit together as in the exercise: {error}."""


class DiffersBetweenCalls(Wrong):
    """Two calls with the same input give different outputs. Is there dropout, where this exercise has none, or a part
    that `forward` makes anew or changes? Parts are made in `__init__`, once."""


class ChangesItsInput(Wrong):
    """Your code changes its argument `{name}`. Work on a copy (`copy.deepcopy` for a model), without `+=` and without
    methods that end in `_`."""


class Raises(Wrong):
    """{error} It happened in {where}."""


class ReturnsNothing(Wrong):
    """Your code returns None. Is a `return` missing at its end?"""


class WrongType(Wrong):
    """Your code gives {own}; the exercise asks for {right} ({where})."""


class WrongShape(Wrong):
    """The shape is {own} instead of {right}: {where}. Write the shape behind each line of your code."""


class NotANumber(Wrong):
    """There is NaN in {where}. Is it a division by 0, a row of minus infinities in a softmax, or a large `exp`?"""


class OtherNumbers(Wrong):
    """{your_code} gives {own} instead of {right}: {where}."""


class ForbiddenName(Wrong):
    """The results are right, but `{name}` does the work. Write it without that."""


class ChangedInPlace(Wrong):
    """The results are right, but their gradient cannot be computed. Is a tensor changed in place, by a line such as
    `weights *= mask`? Write `weights = weights * mask`. ({error})"""


class GradientCutOff(Wrong):
    """The results are right, but no gradient reaches {names}, so nothing would be learned there. Leave out `detach()`,
    `.data`, `.item()`, `float()` and `no_grad()`, and build no new tensor from numbers."""


class NotDone(Exception):
    """The answer is still the starting cell, which raises NotImplementedError without a word."""


class OutOfTime(BaseException):
    """The time is up. Not an Exception, so that the reader's `except Exception` lets it through."""


class NoMixedPrecision(Exception):
    """The answer makes numbers in single precision, which do not mix with the cases in double precision."""


# --- a check -------------------------------------------------------------------------------------------------------


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
        last_look: gets an answer whose results are right, and may raise Wrong.
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
                    self._judge(answer, torch.float64)  # shows mistakes sharply
                except NoMixedPrecision:
                    self._judge(answer, torch.float32)  # a line such as `mask.float() @ x` is right in a lab
        except NotDone:
            return Verdict("not done yet", "Not done yet: write your answer in the cell above, run it, then this one.")
        except Wrong as wrong:
            return Verdict("wrong", f"{wrong.sentence} Read again: {self.section}.", wrong.mistake)
        except OutOfTime:
            sentence = f"Your code was stopped after {SECONDS:g} seconds. Does a loop never end?"
            return Verdict("wrong", sentence, "OutOfTime")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Verdict("wrong", _error_sentence(error), "Raises")
        return Verdict("correct", f"Correct in all {len(self.cases)} cases.")

    def use(self, answer: Any) -> Any:
        """Show the verdict, and return what the lab goes on with: the answer when it is right, else the course's."""
        from IPython.display import display  # a program that only grades does without

        verdict, course = self(answer), self.solution or self.reference
        goes_on = "The lab goes on with yours." if verdict else "Until it is right, the lab goes on with the course's."
        display(replace(verdict, sentence=f"{verdict.sentence}\n{goes_on}"))
        return answer if verdict else course

    def _judge(self, answer: Any, dtype: torch.dtype) -> None:
        """Raise unless the answer is right."""
        self._check_kind(answer)
        make, trials = cache(lambda number: self._layer(answer, self.cases[number], dtype)), []
        for number, case in enumerate(self.cases):
            inputs = {name: _cast(value, dtype) for name, value in case.inputs.items()}
            alike = [(c.sizes, c.parameter_scale) == (case.sizes, case.parameter_scale) for c in self.cases]
            function = make(alike.index(True)) if inspect.isclass(answer) else answer
            raw = _call(function, inputs, number, dtype)
            where = f"case {number + 1} ({case})"
            trial = SimpleNamespace(case=case, where=where, seed=number, inputs=inputs, function=function, raw=raw)
            trial.result, trial.parts = self._compared(raw, inputs), self._parts(function, case)
            trials.append(trial)
        wrong = [wrong for trial in trials if (wrong := self._wrong(trial, dtype))]
        if wrong:
            raise self._named(trials) or wrong[0]
        for function in vars(answer).values() if inspect.isclass(answer) else [answer]:
            if used := _names(getattr(function, "__code__", None)) & set(self.forbidden):
                raise ForbiddenName(name=used.pop())
        self._check_gradient(trials[0])
        if self.last_look:
            self.last_look(answer)

    def _check_kind(self, answer: Any) -> None:
        """Raise Wrong unless the answer can be called as the exercise calls it."""
        if not inspect.isclass(self.solution):
            if inspect.isclass(answer) or not callable(answer):
                raise NotAFunction(kind=_kind(answer))
            return _check_arguments("Your function", answer, [case.inputs for case in self.cases])
        if not inspect.isclass(answer):
            raise NotAClass(kind=_kind(answer))
        if not issubclass(answer, nn.Module):
            raise NotAModule(name=answer.__name__)
        for name in vars(answer):
            right = {"init": "__init__", "int": "__init__", "forward": "forward"}.get(name.strip("_"))
            if right and right not in vars(answer):
                raise Misspelled(name=name, right=right)
        _check_arguments("`__init__`", answer.__init__, [case.sizes for case in self.cases], method=True)
        _check_arguments("`forward`", answer.forward, [case.inputs for case in self.cases], method=True)

    def _layer(self, answer: type, case: Case, dtype: torch.dtype) -> nn.Module:
        """The reader's layer with random parameters, in training mode except where the course's has dropout, too."""
        layer = _call(answer, case.sizes, 0, dtype)
        if isinstance(layer, BaseException):
            raise SuperMissing if "Module.__init__() call" in str(layer) else layer
        course = (self.solution or self.reference)(*case.sizes.values())
        self._check_parts(answer, layer, course, case.sizes)
        with torch.no_grad():  # zeros, ones and equal norms would hide mistakes
            for parameter in filter(lambda p: p.requires_grad and p.is_floating_point(), layer.parameters()):
                parameter.add_(torch.randn_like(parameter), alpha=0.3).mul_(case.parameter_scale)
        layer.train()
        for name, module in course.named_modules():
            if isinstance(module, nn.Dropout) and module.p > 0:
                part = name.split(".")[0]
                (getattr(layer, part) if part in self.parts else layer).eval()
        return layer

    def _check_parts(self, answer: type, layer: nn.Module, course: nn.Module, sizes: dict[str, Any]) -> None:
        """Raise Wrong unless the layer has the parts of the course's: registered, one for each, of the same widths."""
        for name, value in vars(layer).items():
            if name[0] != "_" and isinstance(value, (list, tuple)) and any(isinstance(v, nn.Module) for v in value):
                raise PlainList(name=name, kind=type(value).__name__)
        registered = {id(parameter) for parameter in layer.parameters()}
        seen: dict[int, str] = {}
        for name in (name for name in self.parts if name not in sizes):
            part = getattr(layer, name, None)
            if not isinstance(part, (nn.Module, Tensor)):
                have = [*dict(layer.named_children()), *dict(layer.named_parameters(recurse=False))]
                raise PartMissing(name=name, parts=", ".join(have) or "none")
            if not registered.issuperset(map(id, _parameters(part))):
                raise NotRegistered(name=name)
            if id(part) in seen:
                raise OnePartForTwo(one=seen[id(part)], other=name)
            seen[id(part)] = name
            own, right = _shapes(part), _shapes(getattr(course, name))
            exact = isinstance(part, nn.Module) and isinstance(getattr(course, name), nn.Module)
            for key in own.keys() & right.keys():
                if own[key] != right[key] and (exact or sorted(own[key]) != sorted(right[key])):
                    models = (
                        [make(*case.sizes.values()) for case in self.cases]
                        for make in (answer, self.solution or self.reference)
                    )
                    shapes = ([_shapes(getattr(model, name)).get(key, ()) for model in made] for made in models)
                    widths = zip(
                        *([len(set(axis)) for axis in zip(*made, strict=False)] for made in shapes), strict=False
                    )
                    kind = WidthTypedIn if any(count == 1 < varies for count, varies in widths) else WrongWidth
                    told = ", ".join(f"{size} = {value}" for size, value in sizes.items())
                    raise kind(name=name, key=key, own=own[key], right=right[key], sizes=told)

    def _parts(self, function: Any, case: Case) -> dict[str, Any]:
        """What reference and mistakes get of a layer: parts that can be called, and sizes."""
        parts = {name: case.sizes.get(name, getattr(function, name, None)) for name in self.parts}
        return {name: _projection(part) if isinstance(part, Tensor) else part for name, part in parts.items()}

    def _compared(self, raw: Any, inputs: dict[str, Any]) -> Any:
        """What is compared of a result; the Wrong that `canonical` raises counts as one."""
        if self.canonical is None or raw is None or isinstance(raw, BaseException):
            return raw
        try:
            return self.canonical(raw, **deepcopy(inputs))
        except Wrong as wrong:
            return wrong

    def _wrong(self, trial: SimpleNamespace, dtype: torch.dtype) -> Wrong | None:
        """What is wrong with one result, if anything."""
        trial.expected = _computed(self.reference, trial)
        if isinstance(trial.expected, BaseException) and not isinstance(trial.raw, BaseException):
            raise PartsOfAnotherKind(error=trial.expected) if self.parts else trial.expected
        if self.parts and not isinstance(trial.raw, BaseException):
            again = self._compared(_call(trial.function, trial.inputs, trial.seed + 99, dtype), trial.inputs)
            if not any(agrees(again, trial.result, counts) for counts in (None, trial.expected)):
                raise DiffersBetweenCalls
        try:
            compare(trial.result, trial.expected, trial.where)
        except Wrong as wrong:
            return wrong
        return None

    def _named(self, trials: list[SimpleNamespace]) -> Wrong | None:
        """The first known mistake that gives in every case what the answer gives, if that is more than an error."""
        gives = cache(lambda mistake, n: self._compared(_computed(mistake, trials[n]), trials[n].inputs))
        # First compare everywhere, then only where the reference has a number.
        for counts in ([None] * len(trials), [trial.expected for trial in trials]):
            for mistake in self.mistakes if any(not isinstance(trial.raw, BaseException) for trial in trials) else ():
                if all(agrees(t.result, gives(mistake, n), counts[n]) for n, t in enumerate(trials)) and not all(
                    agrees(gives(mistake, n), t.expected, counts[n]) for n, t in enumerate(trials)
                ):
                    return Wrong(" ".join((mistake.__doc__ or "").split()), mistake.__name__)
        return None

    def _check_gradient(self, trial: SimpleNamespace) -> None:
        """Raise Wrong when an answer, right as its results are, could not teach what it is meant to teach."""
        parts = {name: getattr(trial.function, name) for name in self.parts if name not in trial.case.sizes}
        if self.needs_gradient:
            parts = {name: trial.inputs[name].clone().requires_grad_() for name in self.needs_gradient}
            trial.raw = trial.function(*(trial.inputs | parts).values())
        learning = {name: [p for p in _parameters(part) if p.requires_grad] for name, part in parts.items()}
        first, right = (v[0] if isinstance(v, (tuple, list)) else v for v in (trial.raw, trial.expected))
        flat, reached = [p for own in learning.values() for p in own], set()
        if flat and isinstance(first, Tensor) and first.requires_grad:
            counts = ~right.isnan() if isinstance(right, Tensor) and right.shape == first.shape else ...
            try:
                gradients = torch.autograd.grad(first[counts].sum(), flat, allow_unused=True)
            except RuntimeError as error:
                raise ChangedInPlace(error=f"{str(error).splitlines()[0]:.150}") from None
            reached = {id(p) for p, gradient in zip(flat, gradients, strict=True) if gradient is not None}
        if cut := [f"`{name}`" for name, own in learning.items() if own and reached.isdisjoint(map(id, own))]:
            raise GradientCutOff(names=" or ".join(cut))


# --- the reader's code ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Run what is within in silence and for SECONDS at most, and put back what it may change for the notebook."""

    def stop(*_: Any) -> None:
        raise OutOfTime

    # Windows has no alarm, and only the main thread may set one.
    limited = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, stop) if limited else None
    states: dict[Callable, Any] = {random.setstate: random.getstate(), np.random.set_state: np.random.get_state()}
    states |= {torch.set_rng_state: torch.get_rng_state(), torch.set_default_dtype: torch.get_default_dtype()}
    states |= {torch.set_num_threads: torch.get_num_threads(), torch.set_grad_enabled: torch.is_grad_enabled()}
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
            signal.signal(signal.SIGALRM, before)
        for put_back, state in states.items():
            put_back(state)


def _call(function: Callable, arguments: dict[str, Any], seed: int, dtype: torch.dtype) -> Any:
    """What the reader's function gives for copies of the arguments, or the exception that it raises."""
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(True)
    torch.default_generator.manual_seed(seed)
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
            raise ChangesItsInput(name=name)
    return result


def _computed(function: Callable, trial: SimpleNamespace) -> Any:
    """What the reference or a mistake gives for a trial, or the exception that it raises."""
    torch.default_generator.manual_seed(trial.seed)  # it draws what the answer drew
    try:
        with torch.no_grad():
            return function(**deepcopy(trial.inputs), **trial.parts)
    except Exception as error:
        return error


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
        return value.shape == other.shape and str(value.tolist()) == str(other.tolist())  # NaN is like NaN
    return not isinstance(value, (int, float, str, set)) or value == other


def _error_sentence(error: BaseException) -> str:
    """An exception, with the deepest line of the reader's code."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((*LIBRARIES, "<frozen"))
    ]
    line = linecache.getline(frames[-1].filename, frames[-1].lineno or 0).strip() if frames else ""
    where = f" in the line `{line}`" if line else f" in line {frames[-1].lineno} of the cell" if frames else ""
    return (
        f"Your code raises {type(error).__name__}{where}: {str(error).strip():.300}".split("\n")[0].rstrip(": .") + "."
    )


def _check_arguments(name: str, function: Callable, calls: Sequence[dict], method: bool = False) -> None:
    """Raise Wrong unless a function takes the arguments of all calls."""
    for arguments in calls:
        try:
            inspect.signature(function).bind(*[None] * method, *arguments.values())
        except TypeError as error:
            own, given = (", ".join(names) for names in (inspect.signature(function).parameters, arguments))
            given = f"self, {given}" if method else given
            raise OtherArguments(name=name, own=own, given=given, error=error) from None
        except ValueError:  # a function of PyTorch written in C++ has no signature
            return


def _names(code: CodeType | None) -> set[str]:
    """The names of functions and attributes that code uses, in functions inside it too."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)] if code else []
    return set(code.co_names if code else ()).union(*map(_names, inner))


# --- the parts of a layer, and results -----------------------------------------------------------------------------


def _parameters(part: nn.Module | Tensor) -> list[Tensor]:
    return [part] if isinstance(part, Tensor) else list(part.parameters())


def _shapes(part: nn.Module | Tensor) -> dict[str, tuple[int, ...]]:
    if isinstance(part, Tensor):
        return {"weight": tuple(part.shape if part.dim() > 1 else (1, *part.shape))}
    return {name: tuple(value.shape) for name, value in part.state_dict().items() if name != "bias"}


def _projection(matrix: Tensor) -> Callable:
    """A matrix of the reader's as a function, whichever way round it is stored; a square one acts from the right."""
    matrix = matrix.detach() if matrix.dim() > 1 else matrix.detach()[:, None]
    return lambda x: x @ (matrix if x.shape[-1] == matrix.shape[0] else matrix.T)


def leaves(value: Any, like: Any, path: str = "") -> dict[str, Any]:
    """The tensors and other values in a result, by where they are, as far as it is built `like` another.

    NumPy and numbers count as tensors, and a tensor of one axis as a tuple of numbers.
    """
    if isinstance(like, (tuple, list)) and isinstance(value, (Tensor, np.ndarray)) and value.ndim == 1:
        value = list(value)
    if isinstance(like, (tuple, list)) and isinstance(value, (tuple, list)) and len(value) == len(like):
        value, like = (dict(enumerate(row)) for row in (value, like))
    if isinstance(like, dict) and isinstance(value, dict) and set(value) == set(like):
        return {k: leaf for key in like for k, leaf in leaves(value[key], like[key], f"{path}[{key!r}]").items()}
    if isinstance(value, (int, float, np.ndarray, np.generic)) and np.asarray(value).dtype.kind in "fiub":
        return {path: torch.as_tensor(value, dtype=torch.float64 if type(value) is float else None)}
    plain = type(value) in (Tensor, nn.Parameter) and value.layout == torch.strided and not value.is_meta
    return {path: value.detach().cpu() if plain and not value.is_complex() else value}


def _close(value: Any, other: Any, expected: Any = None) -> Tensor:
    """Where two leaves agree, as far as their precision lets them, or where `expected` has NaN."""
    if type(value) is not Tensor or type(other) is not Tensor:
        raised = isinstance(value, BaseException) and type(value) is type(other)
        alike = getattr(value, "mistake", "") == getattr(other, "mistake", "") if raised else value is other
        return torch.tensor(alike or type(value) is type(other) and type(value) in (str, set, bool) and value == other)
    if value.shape != other.shape:
        return torch.tensor(False)
    precision = 1e-6 if value.dtype == other.dtype == torch.float64 else 1e-4
    absolute = precision if value.dim() else precision / 100
    close = torch.isclose(value.double(), other.double(), rtol=precision, atol=absolute, equal_nan=True)
    return close | expected.isnan() if isinstance(expected, Tensor) and expected.shape == close.shape else close


def agrees(result: Any, other: Any, expected: Any = None) -> bool:
    """Whether two results are the same, except where `expected`, if given, has NaN."""
    like = other if expected is None else expected
    first, second, counts = leaves(result, like), leaves(other, like), {} if expected is None else leaves(like, like)
    alike = first.keys() == second.keys()
    return alike and all(_close(first[path], second[path], counts.get(path)).all() for path in first)


def compare(result: Any, expected: Any, where: str) -> None:
    """Raise Wrong, with the general sentence, unless a result is what is expected."""
    if isinstance(result, Wrong) or result is None:
        raise result or ReturnsNothing
    if isinstance(result, BaseException):
        raise Raises(error=_error_sentence(result), where=where)
    found, wanted = leaves(result, expected), leaves(expected, expected)
    for path, right in wanted.items():
        value: Any = found.get(path)
        place = f"`result{path}` in {where}" if path else where
        if found.keys() != wanted.keys() or type(value) is not type(right):
            form = f"a dict with the keys {list(expected)}" if isinstance(expected, dict) else f"{len(wanted)} results"
            own, form = (_kind(result), form) if found.keys() != wanted.keys() else (_kind(value), _kind(right))
            raise WrongType(own=own, right=form, where=place)
        if isinstance(value, Tensor) and value.shape != right.shape:
            raise WrongShape(own=tuple(value.shape), right=tuple(right.shape), where=place)
        if isinstance(value, Tensor) and value.dim() and _sort(value) != _sort(right):
            raise WrongType(own=_kind(value), right=_kind(right), where=place)
        if isinstance(value, Tensor) and value.isnan().any():
            raise NotANumber(where=place)
        close = _close(value, right, right)
        if not close.all():
            index = tuple((~close).nonzero()[0].tolist())
            count = f"{int((~close).sum())} of {close.numel()} numbers differ, first at {list(index)}: your code"
            your_code = count if index else "Your code"
            own, right = (f"{t[index].item():.8g}" if isinstance(t, Tensor) else f"{t!r:.80}" for t in (value, right))
            raise OtherNumbers(your_code=your_code, own=own, right=right, where=place)


def _sort(tensor: Tensor) -> str:
    return "truth values" if tensor.dtype == torch.bool else "numbers" if tensor.is_floating_point() else "integers"


def _kind(value: Any) -> str:
    """What a thing is: "integers in a tensor of shape (2, 3)", "a value of type list"."""
    if isinstance(value, Tensor):
        return f"{_sort(value)} in a tensor of shape {tuple(value.shape)}"
    return f"the class `{value.__name__}`" if isinstance(value, type) else f"a value of type {type(value).__name__}"


def _described(name: str, value: Any) -> str:
    """An argument as a sentence shows it: its shape, its value when that is short, else how long it is."""
    if isinstance(value, (Tensor, np.ndarray)):
        return f"{name} {tuple(value.shape)}"
    plain = isinstance(value, (int, float, str, list, tuple, dict, range, type(None))) and " at 0x" not in repr(value)
    if plain and len(repr(value)) <= 60:
        return f"{name} = {value!r}"
    return f"{name} with {len(value)} entries" if hasattr(value, "__len__") else name

"""The engine of the self-checks: it tries the reader's function or class, and answers with one
sentence.

A check compares what the reader's code gives in each case with what a reference gives. Where they
differ, it looks for a known mistake that gives the same wrong results, and shows its sentence, the
docstring. For any other wrong answer it says what kind of mistake it is, if the results say
(kinds.py), or how many numbers differ, in which case, where the first one is; and what to read
again.

For a layer, the reference and the known mistakes compute with the parts of the reader's own layer,
which get random parameters. So it does not matter how the layer was initialised, nor in which style
it is written.

Cases run in double precision, which shows mistakes sharply, and again in the labs' own single
precision: an answer is right if it is right in either, and it has to run in single precision.
"""

import contextlib
import html
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from checks.compare import Wrong, agrees, compare, hollow, kind, sort
from checks.kinds import RAISES, meaning_of, recognized, variations
from checks.running import NotDone, OutOfTime, call, called, error_sentence, guarded, outcome

SECONDS = 10.0  # for all of one check
# Which step of the page "A way to debug attention" finds what the check cannot name.
STEPS = {"WrongWidth": 1, "WrongShape": 1, "DiffersBetweenCalls": 2, "GradientCutOff": 8}
# inputs of exercises for which the page is made
ATTENTION = {"queries", "keys", "scores", "weights", "mask"}
COURSE = {"shared", "checks", "labs"}  # the packages with the course's own code
NOT_DONE = "Not done yet: write your answer in the cell above, run it, then this one."
NOT_YOURS = (
    "This is the course's {kind}, not yours: write your own in the cell above, run it, then this "
    "cell."
)
OUT_OF_TIME = (
    "The check was stopped after {seconds:g} seconds. Does a loop in your code never end? If not, "
    "the computer was busy with something else: run this cell again."
)


# --- what can be wrong in any exercise; the docstring is the sentence -----------------------------


class NotTheThingItself(Wrong):
    """Pass the {wanted} itself, its name without parentheses; the check got {kind}."""


class NotAModule(Wrong):
    """Begin your class with `class {name}(nn.Module):`, so that PyTorch finds its parameters."""


class SuperMissing(Wrong):
    """Begin `__init__` with `super().__init__()`: nn.Module needs it before it can hold a layer."""


class PlainList(Wrong):
    """`{name}` is a plain {kind}, in which PyTorch finds no parameters. Put its layers into an
    `nn.ModuleList`.
    """


class PartMissing(Wrong):
    """The layer has no part called `{name}` that an optimizer would find. Create it in `__init__`,
    as a module or as `self.{name} = nn.Parameter(...)`. Its parts: {parts}.
    """


class WrongWidth(Wrong):
    """`{part}` has shape {own} instead of {right}, in a layer created with {sizes}. Did you type a
    width as a number? Use the arguments of `__init__`.
    """


class EmptyParameter(Wrong):
    """`{name}` starts with NaN or huge numbers: `torch.empty` doesn't fill its memory. Initialize
    it, for example with `torch.randn`.
    """


class PartsOfAnotherKind(Wrong):
    """The check computes with the parts of your layer, but they don't fit together as in the
    exercise: {error}.
    """


class DiffersBetweenCalls(Wrong):
    """Two calls with the same input give different outputs. Is there dropout, which this exercise
    doesn't have, or does `forward` create or change a part? Create each part once, in `__init__`.
    """


class ReturnsNothing(Wrong):
    """Your code returns None. Is a `return` missing at its end?"""


class ForbiddenName(Wrong):
    """The results are right, but `{name}` computes them. Write the computation yourself, without
    it.
    """


class GradientCutOff(Wrong):
    """The results are right, but no gradient reaches {names}, so nothing would be learned there.
    Leave out `detach()`, `.data`, `.item()`, `float()` and `no_grad()`, and don't build a new
    tensor from numbers.
    """


# --- a check --------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check says; true when the answer is correct. A notebook shows the sentence.

    `state` is "correct", "wrong" or "not done yet"; `mistake` is the name of the mistake, empty
    unless wrong.
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
    """One trial: the arguments by name, in their order; for a layer also the sizes it is made with,
    in their order.

    Floating-point tensors are in double precision. `parameter_scale` multiplies a layer's
    parameters, so that its scores are large. Cases with equal sizes share one layer, which must not
    remember anything from call to call.
    """

    inputs: dict[str, Any]
    sizes: dict[str, Any] = field(default_factory=dict)
    parameter_scale: float = 1.0

    def __str__(self) -> str:
        return ", ".join(
            _described(name, value) for name, value in (self.sizes | self.inputs).items()
        )


@dataclass
class Trial:
    """What the reader's function or layer gives for the inputs of a case, and what the reference
    gives.
    """

    function: Callable
    inputs: dict[str, Any]
    parts: dict[str, Any]
    where: str
    result: Any = None
    expected: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, eq=False)
class Check:
    """A check: call it with the reader's answer and get a `Verdict`.

    Args:
        reference: what is right, computed in a plain way. It gets the inputs of a case by name, and
            for a layer its parts. Where it gives NaN, any number is right, but NaN is not.
        cases: the trials.
        mistakes: functions like the reference, each with a known mistake; the docstring is the
            sentence for the reader.
        section: what to read again: the name of a lab and a heading in it, `Keys, “The task”`.
        solution: the course's own answer, with which the lab goes on; for a layer its class. The
            reference by default.
        parts: for a layer, the attributes (or sizes) with which reference and mistakes compute.
        needs_gradient: for a function, the inputs that a gradient of the first result must reach.
        forbidden: names of functions, of PyTorch or of the course, that may not run in the answer.
        canonical: makes of an answer's result, and the inputs by name, what is compared, where many
            answers are right. It may raise Wrong. The reference gives that form at once, mistakes
            give what an answer gives.
        first_look: gets an answer before it is tried, and may raise Wrong.
        last_look: gets an answer whose results are right, and may raise Wrong: it does what the lab
            does next.
        imports: modules that the check needs; they are imported before its seconds begin.
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
    first_look: Callable | None = None
    last_look: Callable | None = None
    imports: tuple[str, ...] = ()

    def __call__(self, answer: Any) -> Verdict:
        """Try the answer in all cases; print nothing and never raise, whatever it does."""
        for name in self.imports:
            import_module(name)
        verdict = Verdict("wrong", OUT_OF_TIME.format(seconds=SECONDS), "OutOfTime")
        with contextlib.suppress(OutOfTime), guarded(SECONDS):
            for verdict in self._verdicts(answer):  # noqa: B007, the last one counts
                pass
        return verdict

    def use(self, answer: Any) -> Any:
        """Show the verdict, and return what the lab goes on with: the answer when it is right, else
        the course's.
        """
        from IPython.display import display  # a program that only grades does without

        verdict, course = self(answer), self.solution or self.reference
        goes_on = (
            "The lab goes on with yours."
            if verdict
            else "Until it is right, the lab goes on with the course's."
        )
        display(replace(verdict, sentence=f"{verdict.sentence}\n{goes_on}"))
        return answer if verdict else course

    def _verdicts(self, answer: Any) -> Iterator[Verdict]:
        """Verdicts, each better than the one before it, so that the last one counts even when the
        time is up.
        """
        if is_the_course_s(answer) or answer is self.solution or answer is self.reference:
            yield Verdict(
                "not done yet",
                NOT_YOURS.format(kind="class" if inspect.isclass(answer) else "function"),
            )
            return
        trials: dict[torch.dtype, list[Trial]] = {torch.float64: [], torch.float32: []}
        in_double = self._verdict(answer, torch.float64, trials[torch.float64])
        yield in_double
        if in_double.state == "not done yet":
            return
        in_single = self._verdict(answer, torch.float32, trials[torch.float32])
        if in_double:
            if in_single.mistake in RAISES:
                yield in_single
            return
        if in_single:
            yield in_single
            return
        dtype = torch.float64
        if in_double.mistake == "Raises" and re.search("(?i)dtype|scalar type", in_double.sentence):
            dtype = torch.float32  # a line such as `mask.float() @ x` is right
            yield in_single
        torch.set_default_dtype(dtype)
        if named := self._named(trials[dtype]):
            yield Verdict("wrong", f"{named.sentence} Read again: {self.section}.", named.mistake)

    def _verdict(self, answer: Any, dtype: torch.dtype, trials: list[Trial]) -> Verdict:
        """The verdict with all cases in one precision, without names of known mistakes; fills the
        list of trials.
        """
        torch.set_default_dtype(dtype)
        try:
            self._judge(answer, dtype, trials)
        except NotDone:
            return Verdict("not done yet", NOT_DONE)
        except Wrong as wrong:
            step = self._step(wrong, [trial for trial in trials if trial.error])
            find = (
                f" Find it with step {step} of the page “A way to debug attention”." if step else ""
            )
            return Verdict(
                "wrong", f"{wrong.sentence} Read again: {self.section}.{find}", wrong.mistake
            )
        except (Exception, SystemExit) as error:
            return Verdict("wrong", error_sentence(error), "Raises")
        return Verdict("correct", f"Correct in all {len(self.cases)} cases.")

    def _step(self, wrong: Wrong, failed: list[Trial]) -> int | None:
        """Which step of the page finds such a bug, if any does."""
        inputs = set().union(*(case.inputs for case in self.cases))
        if not self.parts and not ATTENTION & inputs:
            return None
        if wrong.mistake not in ("OtherNumbers", "NotANumber"):
            return STEPS.get(wrong.mistake)
        if (
            any(_one_whole_text(trial.inputs) for trial in failed)
            or not {"x", "ids", "mask"} & inputs
        ):
            return 6 if wrong.mistake == "OtherNumbers" else 5
        if wrong.mistake == "NotANumber":
            # NaN in rows of padding alone is not on the page, but what comes with it may be.
            return None if all(agrees(t.result, t.expected, t.result) for t in failed) else 2
        return 4 if all(trial.inputs.get("attention_mask") is not None for trial in failed) else 2

    def _judge(self, answer: Any, dtype: torch.dtype, trials: list[Trial]) -> None:
        """Raise unless the answer is right."""
        self._check_kind(answer)
        if self.first_look:
            self.first_look(answer)
        layers: dict[str, Any] = {}
        for number, case in enumerate(self.cases, start=1):
            key = str((case.sizes, case.parameter_scale))
            if key not in layers:
                layers[key] = self._layer(answer, case) if inspect.isclass(answer) else answer
            function = layers[key]
            inputs = {name: _cast(value, dtype) for name, value in case.inputs.items()}
            trial = Trial(function, inputs, self._parts(function, case), f"case {number} ({case})")
            trial.result = self._compared(call(function, inputs), inputs)
            trial.expected = _computed(self.reference, trial)
            if isinstance(trial.expected, BaseException) and not isinstance(
                trial.result, BaseException
            ):
                raise PartsOfAnotherKind(error=trial.expected)
            trials.append(trial)
        for trial in trials:  # all of them, because what fails tells the mistakes apart
            try:
                self._check_result(trial)
            except (Exception, SystemExit) as error:
                trial.error = error
        for trial in trials:
            if trial.error:
                raise trial.error
        if self.forbidden:
            names = called(trials[0].function, trials[0].inputs)
            for name in sorted(names.intersection(self.forbidden)):
                raise ForbiddenName(name=name)
        self._check_gradient(trials[0])
        if self.last_look:
            self.last_look(answer)

    def _check_kind(self, answer: Any) -> None:
        """Raise Wrong unless the answer can be called as the exercise calls it."""
        wanted = "class" if inspect.isclass(self.solution) else "function"
        if inspect.isclass(answer) != (wanted == "class") or not callable(answer):
            raise NotTheThingItself(wanted=wanted, kind=kind(answer))
        if wanted == "class" and not issubclass(answer, nn.Module):
            raise NotAModule(name=answer.__name__)

    def _layer(self, answer: type, case: Case) -> nn.Module:
        """The reader's layer with random parameters, in training mode except where the course's has
        dropout, too.
        """
        layer = call(answer, case.sizes)
        if isinstance(layer, BaseException):
            raise SuperMissing if "Module.__init__() call" in str(layer) else layer
        assert self.solution is not None  # a check of a layer has the course's class
        course = self.solution(*case.sizes.values())
        self._check_parts(layer, course, case.sizes)
        for name, parameter in layer.named_parameters():
            if not (parameter.abs() < 1e9).all():
                raise EmptyParameter(name=name)
        with torch.no_grad():  # zeros, ones and equal norms would hide mistakes
            for parameter in layer.parameters():
                if parameter.requires_grad:
                    parameter.add_(torch.randn_like(parameter), alpha=0.3).mul_(
                        case.parameter_scale
                    )
        for name, module in course.named_modules():
            if isinstance(module, nn.Dropout) and module.p > 0:
                part = name.split(".")[0]
                (getattr(layer, part) if part in self.parts else layer).eval()
        return layer

    def _check_parts(self, layer: nn.Module, course: nn.Module, sizes: dict[str, Any]) -> None:
        """Raise Wrong unless the layer has the course's parts: registered, one for each name, as
        wide as there.
        """
        for name, value in vars(layer).items():
            if (
                name[0] != "_"
                and isinstance(value, (list, tuple))
                and any(isinstance(v, nn.Module) for v in value)
            ):
                raise PlainList(name=name, kind=type(value).__name__)
        have = dict(layer.named_children()) | dict(layer.named_parameters(recurse=False))
        for name in (name for name in self.parts if name not in sizes):
            if name not in have:
                raise PartMissing(name=name, parts=", ".join(have) or "none")
            own, right = _shapes(have[name]), _shapes(getattr(course, name))
            for key in own:
                # a matrix may be stored either way round
                if key in right and sorted(own[key]) != sorted(right[key]):
                    made_with = ", ".join(f"{size} = {value}" for size, value in sizes.items())
                    part = name if isinstance(have[name], Tensor) else f"{name}.{key}"
                    raise WrongWidth(part=part, own=own[key], right=right[key], sizes=made_with)

    def _parts(self, function: Any, case: Case) -> dict[str, Any]:
        """What reference and mistakes get of a layer: parts that can be called, and sizes."""
        return {
            name: _callable(case.sizes.get(name, getattr(function, name, None)))
            for name in self.parts
        }

    def _compared(self, result: Any, inputs: dict[str, Any]) -> Any:
        """What is compared of a result."""
        if self.canonical is None or result is None or isinstance(result, BaseException):
            return result
        return outcome(self.canonical, result, **deepcopy(inputs))

    def _check_result(self, trial: Trial) -> None:
        """Raise Wrong unless the result is right."""
        if trial.result is None:
            raise ReturnsNothing
        if isinstance(trial.result, Wrong):
            raise trial.result
        if isinstance(trial.result, BaseException):
            meant = meaning_of(trial.result)
            raise meant(error=error_sentence(trial.result), where=trial.where)
        if self.parts:
            again = call(trial.function, trial.inputs, seed=1)
            if not agrees(again, trial.result, trial.expected):
                raise DiffersBetweenCalls
        compare(trial.result, trial.expected, trial.where)

    def _named(self, trials: list[Trial]) -> Wrong | None:
        """The first mistake, or pair of them, or else kind, that gives what the answer gives in all
        cases.
        """
        if all(hollow(trial.result) for trial in trials) or not any(
            trial.error for trial in trials
        ):
            return None
        # where it is wrong, most mistakes differ
        trials = sorted(trials, key=lambda trial: trial.error is None)
        given = trials[0].inputs | trials[0].parts
        others = [] if self.canonical else variations(self.reference, given)
        for mistakes in (self.mistakes, _in_pairs(self.mistakes), others):
            likely = [m for m in mistakes if self._gives(m, trials[0], everywhere=False)]
            # first those that agree everywhere, then those that agree where any number is not right
            for everywhere in (True, False):
                for mistake in likely:
                    if all(self._gives(mistake, trial, everywhere) for trial in trials):
                        return Wrong(" ".join((mistake.__doc__ or "").split()), mistake.__name__)
        found = outcome(recognized, trials)  # whatever a reader's code returns
        return found if isinstance(found, Wrong) else None

    def _gives(self, mistake: Callable, trial: Trial, everywhere: bool) -> bool:
        """Whether a mistake gives what the answer gives: everywhere, or where a number is right."""
        given = self._compared(_computed(mistake, trial), trial.inputs)
        return agrees(trial.result, given, None if everywhere else trial.expected)

    def _check_gradient(self, trial: Trial) -> None:
        """Raise Wrong when an answer, right as its results are, could not teach what it is meant to
        teach.
        """
        learning = {name: _parameters(getattr(trial.function, name, None)) for name in self.parts}
        if self.needs_gradient:
            inputs = deepcopy(trial.inputs)
            learning = {name: [inputs[name].requires_grad_()] for name in self.needs_gradient}
            trial.result = trial.function(*inputs.values())
        first = trial.result[0] if isinstance(trial.result, (tuple, list)) else trial.result
        if isinstance(first, Tensor) and first.requires_grad:
            first.sum().backward()
        cut = [
            f"`{name}`"
            for name, own in learning.items()
            if own and all(p.grad is None for p in own)
        ]
        if cut:
            raise GradientCutOff(names=" or ".join(cut))


# --- whose code it is -----------------------------------------------------------------------------


def is_the_course_s(thing: Any) -> bool:
    """Whether a function, or what a layer computes, is the course's own, be it by a class that only
    inherits it.
    """
    code = getattr(thing, "forward", thing) if inspect.isclass(thing) else thing
    return (getattr(code, "__module__", None) or "").partition(".")[0] in COURSE


def whose(thing: Any, own: str = "your") -> str:
    """For a lab's tables: `own`, or "the course's" where the lab goes on with the course's function
    or class.
    """
    return "the course's" if is_the_course_s(thing) else own


# --- inputs and calls -----------------------------------------------------------------------------


def _computed(function: Callable, trial: Trial) -> Any:
    """What the reference or a known mistake gives, or the exception that it raises."""
    torch.default_generator.manual_seed(0)  # it draws what the answer drew
    with torch.no_grad():
        return outcome(function, **deepcopy(trial.inputs), **trial.parts)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, nn.Module):
        return deepcopy(value).to(dtype)
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value


def _one_whole_text(inputs: dict[str, Any]) -> bool:
    """Whether the batch is a single text without padding, such as the page's loops compute."""
    tensors = [value for value in inputs.values() if isinstance(value, Tensor)]
    return len(tensors[0]) == 1 and all(
        value.all() for value in tensors if value.dtype == torch.bool
    )


def _in_pairs(mistakes: Sequence[Callable]) -> Iterator[Callable]:
    """Two mistakes at once, as far as they exchange different steps of the same function."""
    for one, other in combinations([m for m in mistakes if isinstance(m, partial)], 2):
        if one.func is other.func and not one.keywords.keys() & other.keywords.keys():
            both: Any = partial(one.func, **one.keywords, **other.keywords)
            both.__name__ = f"{one.__name__} and {other.__name__}"  # type: ignore[attr-defined]
            sentences = f"Two mistakes at once. {one.__doc__} {other.__doc__}"
            both.__doc__ = sentences.replace("One bug is left. ", "")
            yield both


def _described(name: str, value: Any) -> str:
    """An argument as a sentence shows it: with its shape, or its value when that is short."""
    if isinstance(value, Tensor) and sort(value) == "integers" and value.numel() <= 8:
        value = value.tolist()
    if isinstance(value, (Tensor, np.ndarray)):
        return f"{name} {tuple(value.shape)}"
    short = len(repr(value)) <= 60 and " at 0x" not in repr(value) and not callable(value)
    return f"{name} = {value!r}" if short else name


# --- the parts of a layer -------------------------------------------------------------------------


def _parameters(part: Any) -> list[Tensor]:
    """What an optimizer changes in a part."""
    parameters = part.parameters() if isinstance(part, nn.Module) else [part]
    return [p for p in parameters if isinstance(p, Tensor) and p.requires_grad]


def _shapes(part: nn.Module | Tensor) -> dict[str, tuple[int, ...]]:
    if isinstance(part, Tensor):
        return {"weight": tuple(part.shape if part.dim() > 1 else (1, *part.shape))}
    return {name: tuple(value.shape) for name, value in part.state_dict().items() if name != "bias"}


def _callable(part: Any) -> Any:
    """A matrix of the reader's as a function, whichever way round it is stored; a square one acts
    from the right.
    """
    if not isinstance(part, Tensor):
        return part
    matrix = part.detach() if part.dim() > 1 else part.detach()[:, None]
    return lambda x: x @ (matrix if x.shape[-1] == matrix.shape[0] else matrix.T)

"""What an exercise is: a solution, cases, the truth, and mistakes that are edits of the solution.

To add one, write its solution into a file of this package, exactly as it stands in the lab, and below it what the check
needs to know: `book/instructors.md` does it from the lab's text to the last test. Where `shared/model.py` has the class
that a lab lets its readers build, that one is the solution. `test_checks.py` then holds the solution equal to the
lab's, wants it accepted, and puts every edited solution to the check, which must refuse it by the name of its mistake.

The truth must not be computed as the solution does it: use loops, or PyTorch's own function. It gets the inputs of a
case by name; what it fills with NaN may be any number. How a mistake is written stands at the head of `mistakes.py`.
Take its name from `sentences.txt`, or give a new one its sentence in `say`. An answer has a mistake when it gives what
the edited solution gives, in all cases; so choose cases in which mistakes differ: sizes that differ, padding in front,
one token, large scores.

For a layer, the solution is its class, and `parts` names its linear maps. Each case says in `sizes` what the class is
made with; `widths` makes of these the widths of each map. The truth gets the reader's own maps as functions, besides
the inputs, and the edited solutions work with them too.
"""

import html
import inspect
import itertools
import re
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import NoneType
from typing import Any

import torch
from torch import Tensor

from . import answer_code, compare, layer, run
from .mistakes import SENTENCES, Mistake, NotDone, Wrong, read_again
from .run import Raised
from .words import _


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
        sentence = html.escape(self.sentence).replace("\n", "<br>")
        return "<p>" + re.sub("`(.+?)`", r"<code>\1</code>", sentence) + "</p>"

    def __bool__(self) -> bool:
        return self.state == "correct"


@dataclass(frozen=True)
class Case:
    """One trial: inputs by name, in the order of the arguments; for a layer also the sizes it is made with.

    `stretched`: how many times larger a layer's parameters are made than they came, so that scores are large.
    """

    inputs: dict[str, Any]
    sizes: tuple = ()
    stretched: float = 1.0

    def __str__(self) -> str:
        told = ", ".join(
            f"{name} {tuple(value.shape)}" if hasattr(value, "shape") else f"{name} = {value!r:.80}"
            for name, value in self.inputs.items()
        )
        return re.sub(" at 0x[0-9a-f]+", "", told)  # where a function lies in memory is of no use to a reader


# What is said of a wrong answer before anybody looks at how its numbers or its code differ.
TOLD_FIRST = ("returns nothing", "wrong type", "raises", "a name that is not there", "a thing of another kind")

OTHERS = 0  # grading sets another number, and gets cases with numbers that no notebook has seen


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in double precision, always the same for the same shape and seed."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + OTHERS), dtype=torch.float64)


def drawn(seed: int = 0, scale: float = 1.0, **shapes: tuple[int, ...]) -> dict[str, Tensor]:
    """Inputs by name, each of these shapes, times `scale`."""
    return {name: scale * draw(*shape, seed=seed + place) for place, (name, shape) in enumerate(shapes.items())}


@dataclass
class Trial:
    """One case as the reader's answer took it: what it gave, and for a layer its parts and what it gave next."""

    case: Case
    inputs: dict[str, Any]
    given: Any
    layer: Any = None
    again: Any = None
    parts: dict[str, Any] = field(default_factory=dict)
    wanted: Any = None

    def own_parts(self) -> dict[str, Any]:
        """The parts of the reader's layer as they stand in it."""
        return {name: getattr(self.layer, name) for name in self.parts}


@dataclass(frozen=True, eq=False)
class Exercise:
    """A check: call it with the reader's answer and get a `Verdict`.

    Args:
        solution: the function or class, letter for letter as in the lab.
        cases: the trials, in double precision.
        truth: what is right, from the inputs (and parts) by name.
        mistakes: what is wrong in a known way.
        tried: what the cases are, for the sentence "Correct. Tried on ...".
        see: the section of a lab that explains what a mistake got wrong, unless the mistake names another.
        name: of the exercise, and of the check in this package; a function's own name unless given.
        parts: for a layer, the names of its linear maps.
        widths: for a layer, from its sizes how many numbers go into each linear map and come out, by name.
        learns: for a function, the names of the inputs that a gradient must reach.
        without: names that the answer may not use, because it is to be written without them.
        view: makes of an answer (a value, then the inputs by name) what is compared, where many answers are right.
            It may raise Wrong. The truth gives what the view gives.
        also: a last look at an answer whose numbers are right. It gets the answer and `run`, which calls the reader's
            code with inputs as `run.guarded` does; it may raise Wrong.
        say: sentences for mistakes that `sentences.txt` does not have, by name.
    """

    solution: Callable
    cases: Sequence[Case]
    truth: Callable
    mistakes: Sequence[Mistake]
    tried: str
    see: str
    name: str = ""
    parts: tuple[str, ...] = ()
    widths: Callable[..., layer.Widths] = lambda *sizes: {}
    learns: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    view: Callable | None = None
    also: Callable | None = None
    say: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.solution.__name__)

    @cached_property
    def source(self) -> str:
        """The solution's text."""
        return textwrap.dedent(inspect.getsource(self.solution))

    def compiled(self, source: str) -> Callable:
        """The function or class that a text defines among the names that the solution's file knows."""
        names = dict(vars(sys.modules[self.solution.__module__]))
        exec(compile(source, f"<{self.name}>", "exec"), names)
        return names[self.solution.__name__]

    @cached_property
    def edited(self) -> list[tuple[Mistake, Callable]]:
        """Each mistake with the solution that has it, compiled once."""
        return [(mistake, self.compiled(mistake.edited(self.source))) for mistake in self.mistakes]

    def sentence(self, mistake: Mistake) -> str:
        """What the reader hears about a mistake."""
        return read_again(_((SENTENCES | self.say)[mistake.key]), mistake.see or self.see)

    def __call__(self, answer: Any) -> Verdict:
        """Try the answer in every case. Prints nothing, and never raises whatever the answer does."""
        tried = _(self.tried)
        try:
            layer.check_kind(answer, inspect.isclass(self.solution))
            # Double precision shows mistakes sharply. But a line such as `mask.float() @ features` is right in the lab
            # and cannot mix with doubles, so an answer that stumbles over a dtype gets a second try.
            try:
                self._try(answer, torch.float64)
            except _DtypeTrouble:
                tried = tried.replace(_("in double precision"), _("in single precision"))
                self._try(answer, torch.float32)
        except NotDone:
            sentence = _("Not done yet: write your answer in the cell above, run it, then this one.")
            return Verdict(self.name, "not done yet", None, sentence)
        except _Named as named:
            return Verdict(self.name, "wrong", named.args[0].name, self.sentence(named.args[0]))
        except Wrong as wrong:
            return Verdict(self.name, "wrong", wrong.mistake, wrong.sentence)
        except Exception as error:  # a result so odd that comparing it fails; or the check has a bug
            wrong = Wrong("wrong type [odd]", error=error or type(error))
            return Verdict(self.name, "wrong", wrong.mistake, wrong.sentence)
        sentence = _("Correct. Tried on {tried}.").format(tried=tried)
        if not run.has_time_limit():
            sentence += " " + _("(Code that never ends could not have been stopped on this system.)")
        return Verdict(self.name, "correct", None, sentence)

    def use(self, answer: Any) -> Any:
        """Show the verdict, and return what the lab goes on with: the answer when it is right, else the course's."""
        from IPython.display import display  # grading does without

        verdict = self(answer)
        goes_on = _("The lab goes on with your {names}.")
        if not verdict:
            goes_on = _("Until it is right, the lab goes on with the course's {names}.")
        goes_on = goes_on.format(names=f"`{self.solution.__name__}`")
        display(replace(verdict, sentence=f"{verdict.sentence}\n{goes_on}"))
        return answer if verdict else self.solution

    def _try(self, answer: Any, dtype: torch.dtype) -> None:
        """Run all cases and raise if the answer is wrong."""
        with run.state_kept():
            torch.set_default_dtype(dtype)
            go = runner(answer, dtype)
            trials = [self._trial(answer, case, go, dtype) for case in self.cases]
            wrong = self._judge(trials, go)
            if wrong and any(isinstance(part, Tensor) for trial in trials for part in trial.own_parts().values()):
                # A square matrix does not say which way round it is kept, unless another case, not square, does.
                wrong = self._judge(trials, go, turned=True) and self._judge(trials, go)
            if not wrong:
                self._last_look(answer, trials[0], go)
            elif known := self._named(trials):
                raise _Named(known)
            elif wrong.mistake in TOLD_FIRST:
                raise wrong
            else:
                raise self._overlooked(answer) or _related(trials) or wrong

    def _trial(self, answer: Any, case: Case, go: Callable, dtype: torch.dtype) -> Trial:
        inputs = {name: _cast(value, dtype) for name, value in case.inputs.items()}
        if not self.parts:
            return Trial(case, inputs, self._seen(go(answer, *inputs.values()), inputs))
        made = go(lambda: layer.disturbed(answer(*case.sizes).eval(), case.stretched))
        if isinstance(made, Raised):
            if "Module.__init__() call" in made.text:
                raise Wrong("super().__init__() is missing")
            raise Wrong("raises [in __init__]", raised=made, sizes=case.sizes)
        before = [getattr(made, name, None) for name in self.parts]
        given, again = go(made, *inputs.values()), go(made, *inputs.values())
        after = [getattr(made, name, None) for name in self.parts]
        kept = all(one is not None and one is other for one, other in zip(before, after, strict=True))
        if not kept and not isinstance(given, Raised) and not _repeats(again, given):
            raise Wrong("parameters created inside forward")
        layer.check_maps(made, self.parts, self.widths(*case.sizes), case.sizes)
        return Trial(case, inputs, self._seen(given, inputs), made, self._seen(again, inputs))

    def _judge(self, trials: list[Trial], go: Callable, turned: bool = False) -> Wrong | None:
        """What is wrong with the answer, if anything; the truth is computed with the reader's own linear maps."""
        for trial in trials:
            widths = self.widths(*trial.case.sizes) if self.parts else {}
            trial.parts = {name: layer.part_of(trial.layer, name, widths.get(name), turned) for name in self.parts}
            try:
                with torch.no_grad():
                    trial.wanted = self.truth(**trial.inputs, **trial.parts)
            except Exception as error:
                if isinstance(trial.given, Raised) and not isinstance(error, Wrong):
                    return _first_wrong([trial])  # parts that do not fit together
                if self.parts and not isinstance(error, Wrong):
                    raise Wrong("a part of another kind", error=run.raised(error).text) from None
                raise
            if self.parts and not isinstance(trial.given, Raised):
                if not _repeats(trial.again, trial.given, trial.wanted):
                    unreached = layer.unreached(trial.given, trial.wanted, trial.own_parts(), go)
                    raise Wrong("parameters created inside forward" if unreached else "drawn anew in each call")
        return _first_wrong(trials)

    def _last_look(self, answer: Any, trial: Trial, go: Callable) -> None:
        """Raise Wrong when an answer whose numbers are right could not learn, or takes a way that is ruled out."""
        used = [name for name in self.without if name in answer_code.names(answer)]
        if used:
            raise Wrong("the work left to another function", see=self.see, name=used[0])
        if self.parts:
            layer.check_gradient(trial.given, trial.wanted, trial.own_parts(), go)
        if self.learns:
            leaves = {name: trial.inputs[name].clone().requires_grad_() for name in self.learns}
            given = go(answer, *(trial.inputs | leaves).values())
            layer.check_gradient(given, trial.wanted, leaves, go)
        if self.also:
            self.also(answer, go)

    def _seen(self, given: Any, inputs: dict) -> Any:
        """What is compared of an answer."""
        return self.view(given, **inputs) if self.view and not isinstance(given, (Raised, NoneType)) else given

    # --- the name of a mistake ---

    def _named(self, trials: list[Trial]) -> Mistake | None:
        """The first mistake whose edited solution does what the answer did: in numbers, or else in what it raises."""
        gives = cache(lambda number, place: self._outcome(self.edited[number][1], trials, place))
        raised = [trial.given.kind for trial in trials if isinstance(trial.given, Raised)]
        numbers = [trial for trial in trials if not isinstance(trial.given, Raised)]
        # The kind of an error tells only beside numbers. PyTorch raises RuntimeError for all sorts of reasons: beside
        # that, some of the numbers have to be wrong.
        vague = not numbers or "RuntimeError" in raised and all(_alike(t, t.wanted, "where it counts") for t in numbers)
        for how in ("everywhere", "where it counts", "in words", *([] if vague else ["in kind"])):
            for number, (mistake, _edited) in enumerate(self.edited):
                # One trial after the other, and only until the first that differs: most mistakes are out at once.
                if all(_alike(trial, gives(number, place), how) for place, trial in enumerate(trials)):
                    # One whose numbers are right where they count does not explain what is wrong elsewhere.
                    if how == "everywhere" or any(
                        not compare.agrees(gives(number, place), trial.wanted, trial.wanted)
                        for place, trial in enumerate(trials)
                    ):
                        return mistake
        return None

    def _outcome(self, solution: Callable, trials: list[Trial], place: int) -> Any:
        """What an edited solution gives, or how it raises."""
        trial = trials[place]
        inputs = deepcopy(list(trial.inputs.values()))
        torch.default_generator.manual_seed(place)  # a function draws what the answer drew
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if trial.parts:
                    solution = layer.with_parts(solution(*trial.case.sizes).eval(), trial.parts)
                return self._seen(solution(*inputs), trial.inputs)
        except Exception as error:
            return run.raised(error)

    def _overlooked(self, answer: Any) -> Wrong | None:
        """What the code of a wrong answer shows: an argument that it does not use, or something from elsewhere."""
        if found := answer_code.outside_data(answer):
            return Wrong("a global in place of the argument", name=found[0])
        arguments = zip(answer_code.unused(answer), answer_code.unused(self.solution), strict=False)
        if found := [name for name, own in arguments if name and not own]:
            return Wrong("an argument is not used", see=self.see, name=found[0])
        return None


class _Named(Exception):
    """The answer has a mistake that the exercise knows."""


class _DtypeTrouble(Exception):
    """The answer cannot mix single and double precision."""


def runner(answer: Any, dtype: torch.dtype) -> Callable:
    """A function that runs the reader's code with inputs, in what is left of the time for one check."""
    seeds, left = itertools.count(), run.SECONDS

    def go(function: Callable, *inputs: Any) -> Any:
        nonlocal left

        def seeded(*inputs):
            # The same weights each time the check is asked, others in each call. (torch.manual_seed would keep a
            # traceback of each call for a GPU to come.)
            torch.default_generator.manual_seed(next(seeds))
            return function(*inputs)

        begin = time.monotonic()
        given = run.guarded(seeded, *(_cast(value, dtype) for value in inputs), seconds=left, of=answer)
        left = max(left - (time.monotonic() - begin), run.SECONDS / 4)  # a late import may have taken it all
        if isinstance(given, Raised) and dtype == torch.float64 and re.search("(?i)dtype|scalar type", given.text):
            raise _DtypeTrouble
        return given

    return go


def _cast(value: Any, dtype: torch.dtype) -> Any:
    """An input of its own for each run, floats in the precision of the trial."""
    if isinstance(value, Tensor) and not value.requires_grad:
        return value.to(dtype, copy=True) if value.is_floating_point() else value.clone()
    return value if isinstance(value, Tensor) else deepcopy(value)


def _first_wrong(trials: list[Trial]) -> Wrong | None:
    """What is wrong with the answer; a failure that shows in the shape is told before one in numbers."""
    found = []
    for number, trial in enumerate(trials, 1):
        try:
            if isinstance(trial.given, Raised):
                raise Wrong(trial.given.mistake, raised=trial.given, case=trial.case)
            where = _("in trial {number} ({case})").format(number=number, case=trial.case)
            compare.compare(trial.given, trial.wanted, where)
        except Wrong as wrong:
            found.append(wrong)
    return min(found, key=lambda wrong: wrong.mistake in ("other numbers", "not a number"), default=None)


def _related(trials: list[Trial]) -> Wrong | None:
    if any(isinstance(trial.given, (Raised, NoneType)) for trial in trials):
        return None
    return compare.relation([(trial.given, trial.wanted) for trial in trials])


def _alike(trial: Trial, gives: Any, how: str) -> bool:
    """Whether the answer does what an edited solution gives: in its numbers, or raising alike."""
    if isinstance(trial.given, Raised) and isinstance(gives, Raised):
        same_words = how == "in words" and trial.given.text == gives.text
        return trial.given.kind == gives.kind and (same_words or how == "in kind")
    return compare.agrees(trial.given, gives, None if how == "everywhere" else trial.wanted)


def _repeats(again: Any, given: Any, wanted: Any = None) -> bool:
    """Whether a second call gave the same numbers, except where `wanted` has NaN. What holds none is told elsewhere."""
    return compare.agrees(again, given, wanted) or not compare.agrees(given, given, wanted)

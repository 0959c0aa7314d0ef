"""Claims about every exercise's check: right answers are right in any style, and a known mistake gets its own name.

That the solution in a lab's text is right, and its starting cell is not, stands in tests/labs/test_exercises.py.
"""

import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import archived_answers
import lab_code
import pytest

import checks
from checks import engine

ROOT = Path(__file__).resolve().parents[2]
COURSE = {name: thing for name, thing in vars(checks).items() if isinstance(thing, engine.Check)}
MISTAKES = [pytest.param(n, m, id=f"{n}-{i}-{m.__name__}") for n in COURSE for i, m in enumerate(COURSE[n].mistakes)]
RIGHT = [(name, v["source"]) for name in COURSE for v in archived_answers.variants(name) if v["right"]]
WRONG = [(name, v["source"]) for name in COURSE for v in archived_answers.variants(name) if not v["right"]]
# The limit goes by the clock on the wall, and the machine that runs the tests may be busy.
engine.SECONDS = 60.0


def answer_with(check: checks.Check, mistake):
    """An answer that makes a mistake: the function itself, or a layer whose `forward` computes with its own parts."""
    if not inspect.isclass(check.solution):
        names = max((case.inputs for case in check.cases), key=len)  # some cases leave out a default
        return lambda *inputs: mistake(**dict(zip(names, inputs, strict=False)))
    names = list(inspect.signature(check.solution.forward).parameters)[1:]

    class Answer(check.solution):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.sizes = dict(zip(check.cases[0].sizes, sizes, strict=True))

        def forward(self, *inputs):
            parts = check._parts(self, SimpleNamespace(sizes=self.sizes))
            return mistake(**dict(zip(names, inputs, strict=False)), **parts)

    Answer.forward.__signature__ = inspect.signature(check.solution.forward)
    return Answer


def as_a_reader_s(course):
    """The course's own answer, as if a reader had written it: a check calls no answer right that is the course's."""
    if not inspect.isclass(course):
        return lambda *inputs: course(*inputs)

    class Answer(course):
        def forward(self, *inputs, **named):
            return super().forward(*inputs, **named)

    return Answer


@pytest.mark.parametrize("name", [e.name for lab in lab_code.course() for e in lab.exercises if e.kind == "build"])
def test_what_a_lab_goes_on_with_until_the_answer_is_right_is_right(name):
    check = COURSE[name]
    verdict = check(as_a_reader_s(check.solution or check.reference))
    assert verdict, verdict


@pytest.mark.parametrize(("name", "mistake"), MISTAKES)
def test_a_known_mistake_is_refused_by_its_own_name(name, mistake):
    verdict = COURSE[name](answer_with(COURSE[name], mistake))
    assert verdict.mistake == mistake.__name__, verdict
    assert " ".join(mistake.__doc__.split()) in verdict.sentence


@pytest.mark.parametrize(("name", "source"), RIGHT)
def test_a_right_answer_is_right_in_any_style(name, source):
    verdict = COURSE[name](archived_answers.answer(name, source))
    assert verdict, verdict


@pytest.mark.parametrize(("name", "source"), WRONG[:: -(-len(WRONG) // 250)] if WRONG else [])
def test_an_archived_wrong_answer_is_refused(name, source):
    """Every n-th of them, at most 250; tests/slow has all."""
    verdict = COURSE[name](archived_answers.answer(name, source))
    assert verdict.state == "wrong", source


def test_what_a_check_says_to_read_again_is_a_heading_of_that_lab():
    headings = set()
    for lab in map(lab_code.find, [path.stem for path in ROOT.glob("labs/*/*.md")]):
        title, *found = re.findall(r"^#{1,3} (.*)$", lab.text.replace("$", ""), re.MULTILINE)
        headings |= {f"{name}, “{heading}”" for heading in found for name in (title, title.split(":")[0])}
    assert {name: check.section for name, check in COURSE.items() if check.section not in headings} == {}

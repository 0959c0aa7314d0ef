"""Every exercise: its solution is right, right answers are accepted in any style, wrong ones are refused by name.

A wrong answer is the solution edited: as the check knows it, as WRONG lists it, or by a program (a mutant).
"""

import ast
import re
import sys
import textwrap
import time
from functools import cache
from pathlib import Path

import answers_01_to_04
import answers_05_to_07
import answers_08_to_10
import numpy as np
import pytest
import torch
from mutants import mutants
from torch import Tensor

from shared import check
from shared.check import mistakes
from shared.check.compare import agrees
from shared.check.exercise import Case, Exercise
from shared.check.layer import part_of, with_parts
from shared.model import TransformerBlock, masked_softmax

ROOT = Path(__file__).resolve().parents[2]
COURSE = {name: thing for name, thing in vars(check).items() if isinstance(thing, Exercise)}
ANSWERS = [answers_01_to_04, answers_05_to_07, answers_08_to_10]
RIGHT = {name: codes.split("\n---\n") for a in ANSWERS for name, codes in a.RIGHT.items() if name in COURSE}
WRONG = [wrong for answers in ANSWERS for wrong in answers.WRONG]
EQUAL = {name: equal for answers in ANSWERS for name, equal in answers.EQUAL.items()}
UNNAMED = {"raises", "other numbers", "wrong shape", "wrong type", "wrong dtype", "not a number", "returns nothing"}


def ask(name: str, answer) -> check.Verdict:
    begin = time.perf_counter()
    verdict = COURSE[name](answer)
    # A second is the promise, a tenth the rule; but the machine that runs the tests may be busy with others.
    assert time.perf_counter() - begin < 10, "the check took too long"
    return verdict


def defined(name: str, code: str):
    """The function or class that a cell defines last, among the names that the solution's file knows."""
    exercise = COURSE[name]
    more = {"masked_softmax": masked_softmax, "TransformerBlock": TransformerBlock, "nn": torch.nn, "np": np}
    names = more | vars(sys.modules[exercise.solution.__module__])
    exec(compile(textwrap.dedent(code), "<cell>", "exec"), names)
    return names[ast.parse(textwrap.dedent(code)).body[-1].name]


@pytest.fixture(scope="module")
def solutions() -> dict[str, str]:
    """The folded solution of each exercise in the labs."""
    found = {}
    for lab in sorted((ROOT / "labs").glob("*.md")):
        text = lab.read_text()
        for start in re.finditer(r"^exercise: (\w+)\n", text, re.MULTILINE):
            found[start[1]] = re.compile(r"^```python\n(.*?)^```$", re.M | re.S).search(text, start.end())[1]
    return found


# --- the labs and the checks are of one mind ---------------------------------------------------------------------


@pytest.mark.parametrize("name", COURSE)
def test_the_solution_of_a_check_is_the_one_folded_in_the_lab(name, solutions):
    last = ast.parse(solutions[name]).body[-1]
    folded = "\n".join(solutions[name].split("\n")[last.lineno - 1 :])
    assert COURSE[name].source.rstrip() == folded.rstrip()


def test_every_check_has_the_name_it_is_called_by(solutions):
    assert {name: exercise.name for name, exercise in COURSE.items()} == {name: name for name in COURSE}
    assert set(COURSE) <= set(solutions)


def test_what_a_check_points_to_is_a_heading_of_the_labs():
    headings = {
        f"Lab {int(lab.name[:2])}, “{heading}”"
        for lab in (ROOT / "labs").glob("*.md")
        for heading in re.findall(r"^###? (.*)$", lab.read_text().replace("$", ""), re.MULTILINE)
    }
    for name, exercise in COURSE.items():
        for mistake in exercise.mistakes:
            assert (mistake.see or exercise.see) in headings, (name, mistake.name, mistake.see)


# --- one vocabulary ----------------------------------------------------------------------------------------------


def test_every_name_of_a_mistake_is_in_the_one_list_and_every_name_of_the_list_is_used():
    files = "".join(module.read_text() for module in (ROOT / "shared/check").glob("lab_*.py"))
    used = set(re.findall(r'refused\("(.*?)"', files)) | {m.name for e in COURSE.values() for m in e.mistakes}
    own_words = {m.name for exercise in COURSE.values() for m in exercise.mistakes if m.say}
    assert used - own_words <= set(mistakes.SENTENCES) <= used


def test_a_name_the_checks_find_by_themselves_is_in_the_list_too():
    files = [module.read_text() for module in (ROOT / "shared/check").glob("*.py") if module.name != "mistakes.py"]
    raised = set(re.findall(r'Wrong\(\s*"(.*?)"', "".join(files)))
    assert raised <= set(mistakes.GENERAL) | set(mistakes.SENTENCES)
    assert [name for name in mistakes.GENERAL if f'"{name}"' not in "".join(files)] == []


def test_every_edit_fits_its_solution():
    unfit = [(name, m.pairs) for name, e in COURSE.items() for m in e.mistakes if not m.edited(e.source)]
    assert unfit == []


@pytest.mark.parametrize("name", RIGHT)
def test_an_exercise_knows_eight_mistakes_by_name(name):
    assert len({mistake.name for mistake, _ in COURSE[name].edited}) >= 8


# --- right and wrong answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COURSE)
def test_the_solution_is_correct(name):
    assert ask(name, COURSE[name].solution), repr(ask(name, COURSE[name].solution))


@pytest.mark.parametrize(
    "name, code",
    [(name, code.strip() + "\n") for name in RIGHT for code in RIGHT[name]],
    ids=lambda text: re.sub(r"(?:.*\n)?(?:def|class) (\w+).*", r"\1", text, flags=re.DOTALL),
)
def test_a_right_answer_is_correct_in_any_style(name, code):
    verdict = ask(name, defined(name, code))
    assert verdict, repr(verdict)


@pytest.mark.parametrize("name", RIGHT)
def test_there_are_three_right_answers_in_odd_styles(name):
    assert len(RIGHT[name]) >= 3


@pytest.mark.parametrize("name", COURSE)
def test_every_edited_solution_is_refused_by_the_name_of_its_mistake(name):
    exercise = COURSE[name]
    for mistake, solution in exercise.edited:
        verdict = ask(name, solution)
        assert verdict.mistake == mistake.name, (mistake.pairs, repr(verdict))
        assert repr(verdict) == f"{mistake.sentence} Read again: {mistake.see or exercise.see}."


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong[0]}-{wrong[1]}")
def test_a_wrong_answer_hears_its_own_mistake(wrong):
    name, mistake, *texts = wrong
    code = mistakes.edit(mistake, *texts).edited(COURSE[name].source)
    verdict = ask(name, defined(name, code))
    assert (verdict.state, verdict.mistake) == ("wrong", mistake), repr(verdict)


# --- mutants -----------------------------------------------------------------------------------------------------


def changed(case: Case, seed: int) -> Case:
    """The same case with other numbers, and its tokens in another order."""
    inputs = {}
    random = torch.Generator().manual_seed(seed)
    for name, value in case.inputs.items():
        if isinstance(value, Tensor) and value.is_floating_point():
            value = torch.randn(value.shape, generator=random, dtype=value.dtype)
        elif isinstance(value, Tensor) and value.dtype == torch.bool:
            value = value[:, torch.randperm(value.shape[1], generator=random)]
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            value = 0.03 * torch.randn(value.shape, generator=random, dtype=torch.float64).numpy()
        inputs[name] = value
    return Case(inputs, case.sizes)


@cache
def told_of_mutants(name: str) -> tuple[int, int, list[str]]:
    """How many mutants of a solution are refused by name, how many at all, and which are accepted."""
    exercise, found = COURSE[name], mutants(COURSE[name].source)
    verdicts = [ask(name, exercise.compiled(code)) for code in found]
    accepted = [code for code, verdict in zip(found, verdicts, strict=True) if verdict]
    named = sum(not verdict and verdict.mistake not in UNNAMED for verdict in verdicts)
    return named, len(found) - len(accepted), accepted


@pytest.mark.parametrize("name", RIGHT)
def test_twenty_mutants_are_refused_unless_they_are_right_all_the_same(name):
    named, refused, accepted = told_of_mutants(name)
    print(f"{name}: {named} of {refused} refused by name")
    unknown = [code for code in accepted if not any(line in code for line in EQUAL.get(name, {}))]
    assert not unknown, "\n\n".join(unknown)


def test_most_mutants_are_refused_by_name():
    named, refused = (sum(told_of_mutants(name)[place] for name in RIGHT) for place in (0, 1))
    print(f"all: {named} of {refused} refused by name")
    assert named >= 0.7 * refused


@pytest.mark.parametrize("name, code", [(name, code) for name in EQUAL for code in EQUAL[name]])
def test_a_mutant_said_to_be_right_agrees_on_a_thousand_random_inputs(name, code):
    exercise = COURSE[name]
    (mutant,) = [exercise.compiled(mutant) for mutant in mutants(exercise.source) if code in mutant]
    for case in exercise.cases:
        answer, solution = mutant, exercise.solution
        if exercise.parts:  # the solution with the mutant's linear maps
            answer, widths = mutant(*case.sizes).double(), exercise.widths(*case.sizes)
            parts = {part: part_of(answer, part, widths.get(part), turned=False) for part in exercise.parts}
            solution = with_parts(solution(*case.sizes), parts)
        for number in range(-(-1000 // len(exercise.cases))):
            inputs = changed(case, number).inputs
            with torch.no_grad():
                gave = [exercise._seen(a(*inputs.values()), inputs) for a in (answer, solution)]
                assert agrees(*gave)

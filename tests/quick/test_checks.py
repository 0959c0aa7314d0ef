"""Every exercise: its solution is right, right answers are accepted in any style, wrong ones are refused by name.

A wrong answer is the solution edited: as the check knows it, as WRONG lists it, or by a program (a mutant).
"""

import ast
import inspect
import re
import sys
import time
from copy import deepcopy
from functools import cache
from pathlib import Path

import exercises
import numpy as np
import pytest
import torch
from mutants import mutants
from right_answers import EQUAL, RIGHT, TRUTH
from scipy import stats
from test_promises import CHECKS
from torch import Tensor
from wrong_answers import WRONG

import checks as check
from shared.check import run
from shared.check.compare import agrees
from shared.check.exercise import Case, Exercise
from shared.check.layer import part_of, with_parts
from shared.check.mistakes import SENTENCES, edits
from shared.model import masked_softmax

ROOT = Path(__file__).resolve().parents[2]
COURSE = {name: thing for name, thing in vars(check).items() if isinstance(thing, Exercise)}
FILES = "".join(module.read_text() for module in (ROOT / "shared/check").glob("*.py"))
UNNAMED = {"raises", "other numbers", "wrong shape", "wrong type", "wrong dtype", "not a number", "returns nothing"}


@cache
def warm(name: str) -> None:
    """In a fresh process PyTorch imports parts of itself late; a notebook has them from the lab."""
    COURSE[name](COURSE[name].solution)


def ask(name: str, answer) -> object:
    warm(name)
    begin = time.process_time()
    verdict = COURSE[name](answer)
    assert time.process_time() - begin < 1, "the check took too long"
    return verdict


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """The machine that runs the tests may be busy with others, and the limit goes by the clock on the wall."""
    monkeypatch.setattr(run, "SECONDS", 60.0)


def answers(tables: dict[str, str]) -> list:
    """A parameter for each edit of the tables: the exercise, what the edit is called, and the edited solution."""
    found = [(name, edit) for name in tables if name in COURSE for edit in edits(tables[name])]
    return [pytest.param(name, edit.name, edit, id=f"{name}-{edit.name}") for name, edit in found]


def defined(name: str, code: str):
    """The function or class that a cell defines, among the names that the solution's file knows."""
    more = {"masked_softmax": masked_softmax, "torch": torch, "nn": torch.nn, "np": np, "stats": stats}
    names = more | vars(sys.modules[COURSE[name].solution.__module__])
    exec(compile(code, "<cell>", "exec"), names)
    return names[ast.parse(code).body[-1].name]


# --- the labs and the checks are of one mind ---------------------------------------------------------------------


def test_the_solution_of_a_check_stands_in_the_lab_letter_for_letter():
    """In the cell of an exercise to build, below the check of any other; and the check takes it."""
    in_the_labs = {exercise.name: exercise for found in exercises.read_all(ROOT).values() for exercise in found}
    for name, check_ in COURSE.items():
        exercise, taken = in_the_labs[name], check_.solution.__name__
        (node,) = (node for node in ast.parse(exercise.solution).body if getattr(node, "name", "") == taken)
        in_the_lab = exercise.solution.split("\n")[node.lineno - 1 : node.end_lineno]
        assert check_.source.rstrip().split("\n") == in_the_lab
        assert check_.name == name
        assert exercise.kind != "build" or exercise.check == f"{taken} = checks.{name}.use({taken})"


def test_what_a_check_points_to_is_a_heading_of_the_labs():
    headings = {
        f"Lab {int(lab.name[:2])}, “{heading}”"
        for lab in (ROOT / "labs").glob("[0-9]*.md")
        for heading in re.findall(r"^#{1,3} (.*)$", lab.read_text().replace("$", ""), re.MULTILINE)
    }
    for name, exercise in COURSE.items():
        for mistake in exercise.mistakes:
            assert (mistake.see or exercise.see) in headings, (name, mistake.name, mistake.see)


# --- one vocabulary ----------------------------------------------------------------------------------------------


def no_longer_test_every_sentence():
    said = {mistake.key for exercise in COURSE.values() for mistake in exercise.mistakes}
    assert [key for key in SENTENCES if key not in said and f'"{key}"' not in FILES] == []


def test_no_name_has_two_sentences():
    lines = (ROOT / "shared/check/sentences.txt").read_text().splitlines()
    names = [line.split(": ")[0] for line in lines if line and not line.startswith("#")]
    assert sorted(names) == sorted(SENTENCES)


def test_a_mistake_found_by_looking_at_the_answer_has_a_sentence():
    assert set(re.findall(r'Wrong\(\s*"(.*?)"', FILES)) <= set(SENTENCES)


@pytest.mark.parametrize("name", [name for name in CHECKS if name in COURSE])
def test_an_exercise_knows_eight_mistakes_three_right_answers_and_twenty_mutants(name):
    assert len({mistake.name for mistake, _ in COURSE[name].edited}) >= 8
    assert len(mutants(COURSE[name].source)) == 20
    assert len(edits(RIGHT[name])) + (name in TRUTH) >= 3


# --- right and wrong answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COURSE)
def test_the_solution_is_correct(name):
    assert ask(name, COURSE[name].solution), repr(ask(name, COURSE[name].solution))


@pytest.mark.parametrize("name, style, edit", answers(RIGHT))
def test_a_right_answer_is_correct_in_any_style(name, style, edit):
    verdict = ask(name, defined(name, edit.edited(COURSE[name].source)))
    assert verdict, repr(verdict)


@pytest.mark.parametrize("name", [name for name in TRUTH if name in COURSE])
def test_the_truth_s_own_way_is_a_right_answer(name):
    assert ask(name, COURSE[name].truth), repr(ask(name, COURSE[name].truth))


@pytest.mark.parametrize("name", COURSE)
def test_every_edited_solution_is_refused_by_the_name_of_its_mistake(name):
    exercise = COURSE[name]
    for mistake, solution in exercise.edited:
        verdict = ask(name, solution)
        assert verdict.mistake == mistake.name, (mistake.pairs, repr(verdict))
        assert repr(verdict) == exercise.sentence(mistake)


@pytest.mark.parametrize("name, mistake, edit", answers(WRONG))
def test_a_wrong_answer_hears_its_own_mistake(name, mistake, edit):
    verdict = ask(name, defined(name, edit.edited(COURSE[name].source)))
    assert (verdict.state, verdict.mistake) == ("wrong", mistake), repr(verdict)


GENERAL = {
    "returns nothing": lambda solution, *inputs: None,
    "raises": lambda solution, *inputs: 1 / 0,
    "changes its input": lambda solution, *inputs: [part.zero_() for part in inputs if isinstance(part, Tensor)],
    "wrong type": lambda solution, *inputs: (solution(*inputs), 0),
}


@pytest.mark.parametrize("name", COURSE)
def test_what_any_answer_can_get_wrong_is_told_in_each_exercise(name):
    """Where the exercise says itself what it wants, or wants a dict, a wrong type may have another name."""
    exercise = COURSE[name]
    for mistake, wrong in GENERAL.items():
        if inspect.isclass(exercise.solution):

            class Answer(exercise.solution):
                def forward(self, *inputs, wrong=wrong):
                    return wrong(super().forward, *inputs)
        else:

            def Answer(*inputs, wrong=wrong):
                return wrong(exercise.solution, *inputs)

        if mistake == "changes its input" and not any(isinstance(i, Tensor) for i in exercise.cases[0].inputs.values()):
            continue
        verdict = ask(name, Answer)
        assert verdict.state == "wrong" and "cannot be compared" not in repr(verdict)
        assert verdict.mistake == mistake or mistake == "wrong type" and exercise.view or "dict" in verdict.mistake
    given = exercise.solution if not inspect.isclass(exercise.solution) else lambda: None
    other = torch.nn.Linear if not inspect.isclass(exercise.solution) else given
    assert ask(name, other).mistake == ("not a class" if inspect.isclass(exercise.solution) else "not a function")


# --- mutants -----------------------------------------------------------------------------------------------------


def changed(case: Case, seed: int) -> Case:
    """The same case with other numbers, words, seeds and sizes, and its tokens in another order."""
    inputs = {}
    random = torch.Generator().manual_seed(seed)
    for name, value in case.inputs.items():
        if isinstance(value, Tensor) and value.is_floating_point():
            value = torch.randn(value.shape, generator=random, dtype=value.dtype)
        elif isinstance(value, Tensor) and value.dtype == torch.bool and name != "attention_mask":
            value = value[:, torch.randperm(value.shape[1], generator=random)]
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            value = 0.03 * torch.randn(value.shape, generator=random, dtype=torch.float64).numpy()
        elif name == "seeds":
            value = torch.randperm(1000, generator=random)[: len(value)].tolist()
        elif name == "num_words":
            value = int(torch.randint(3, 30, (), generator=random))
        elif name == "band":
            value = float(torch.rand((), generator=random)) / 20
        elif name in ("train", "texts") and isinstance(value, list):
            words = sorted({word for text in value for word in text})
            value = [[words[n] for n in torch.randint(len(words), (len(text),), generator=random)] for text in value]
        elif isinstance(value, torch.nn.Module):
            value = deepcopy(value)
            for parameter in value.parameters():
                parameter.data = torch.randn(parameter.shape, generator=random, dtype=parameter.dtype)
        inputs[name] = value
    return Case(inputs, case.sizes)


@cache
def told_of_mutants(name: str) -> tuple[int, int, int, list[str]]:
    """How many mutants of a solution are refused by name, how many raise, how many are refused at all; the accepted."""
    exercise, found = COURSE[name], mutants(COURSE[name].source)
    verdicts = [ask(name, exercise.compiled(code)) for code in found]
    accepted = [code for code, verdict in zip(found, verdicts, strict=True) if verdict]
    named = sum(not verdict and verdict.mistake not in UNNAMED for verdict in verdicts)
    raised = sum(verdict.mistake == "raises" for verdict in verdicts)
    return named, raised, len(found) - len(accepted), accepted


@pytest.mark.parametrize("name", [name for name in CHECKS if name in COURSE])
def test_twenty_mutants_are_refused_unless_they_are_right_all_the_same(name):
    named, raised, refused, accepted = told_of_mutants(name)
    print(f"{name}: {named} of {refused} refused by name, {raised} raise")
    unknown = [code for code in accepted if not any(line in code for line in EQUAL.get(name, {}))]
    assert not unknown, "\n\n".join(unknown)


def test_four_mutants_of_five_are_refused_by_name():
    named, raised, refused = (sum(told_of_mutants(name)[place] for name in COURSE) for place in range(3))
    print(f"all: {named} of {refused} refused by name, {raised} raise")
    assert named >= 0.8 * refused


@pytest.mark.parametrize("name, code", [(name, code) for name in EQUAL if name in COURSE for code in EQUAL[name]])
def test_a_mutant_said_to_be_right_agrees_on_a_thousand_random_inputs(name, code):
    exercise = COURSE[name]
    (mutant,) = [exercise.compiled(mutant) for mutant in mutants(exercise.source) if code in mutant]
    for case in exercise.cases:
        answer, solution = mutant, exercise.solution
        if exercise.parts:  # the solution with the mutant's linear maps
            answer, widths = mutant(*case.sizes).double().eval(), exercise.widths(*case.sizes)
            parts = {part: part_of(answer, part, widths.get(part)) for part in exercise.parts}
            solution = with_parts(solution(*case.sizes), parts)
        for number in range(-(-1000 // len(exercise.cases))):
            inputs = changed(case, number).inputs
            with torch.no_grad():
                gave = [exercise._seen(a(*inputs.values()), inputs) for a in (answer, solution)]
                assert agrees(*gave)

"""Claims about the measure of a lab: its minutes are those of the rule, and those of the spine keep their limits."""

import itertools
import math
import re
from pathlib import Path

import lab_code
import pytest

from tools import contents, minutes, quizzes
from tools.lab import PREDICT

ROOT = Path(__file__).resolve().parents[2]
LABS = lab_code.of_the_course()
SPINE = [lab for lab in LABS if lab.name in contents.parts_with_labs(ROOT).get("The spine", [])]
WORDS = {  # where not 1,300
    "a_language_model": 1790,  # its text has two sittings
    "longer_texts": 1370,  # five encodings
    "a_pretrained_model": 1550,  # besides, where a model comes from and how to load it
}
# The minutes of each sitting, where not 50 and 50.
LIMITS = {"your_journey": [35], "when_in_doubt": [35], "a_language_model": [45, 45]}


@pytest.mark.parametrize("lab", LABS, ids=str)
def test_a_lab_states_the_minutes_that_the_rule_counts(lab):
    found = re.search(r"\*\*Time:\*\* about .*?\.", lab.text)
    given, counted = (
        [int(number) for number in re.findall(r"\d+", text)]
        for text in (found[0] if found else "", minutes.stated(lab))
    )
    near = len(given) == len(counted) and all(abs(a - b) <= 5 for a, b in zip(given, counted, strict=True))
    assert near, f"{lab.name}: {minutes.stated(lab)}"


@pytest.mark.parametrize("lab", LABS, ids=str)
def test_a_lab_keeps_its_limits(lab):
    sittings, further = minutes.count(lab)
    lines = [number for part in sittings for number in part.lines]
    assert sum(part.words for part in sittings) <= WORDS.get(lab.name, 1300), "words of the main text"
    assert further.words <= 500, "words of Going further"
    assert len(lines) <= 16, "visible cells"
    assert max(lines, default=0) <= 15, "lines of a cell"


@pytest.mark.parametrize("lab", SPINE, ids=str)
def test_a_sitting_of_the_spine_is_not_too_long(lab):
    limits, sittings = LIMITS.get(lab.name, [50]), minutes.count(lab)[0]
    if lab.name == "many_heads":  # 75 minutes in two sittings
        assert len(sittings) > 1 and sum(part.minutes for part in sittings[:2]) <= 75
        return
    for limit, part in zip(limits, sittings, strict=False):
        assert part.minutes <= limit, f"{lab.name}: {part.minutes:.0f} minutes, and {limit} are allowed"


@pytest.mark.parametrize("lab", SPINE, ids=str)
def test_a_prediction_with_choices_says_which_is_right(lab):
    for cell, below in itertools.pairwise(lab.notebook().cells):
        if PREDICT.match(cell.source):
            choices = len(quizzes.parts(cell.source, "bullet_list")[1])
            right = below.metadata.get("right")
            assert right in range(1, choices + 1) if choices else right is None, cell.source


def test_the_right_choice_is_the_longest_no_more_often_than_by_chance():
    asked = [quiz for lab in lab_code.course() for quiz in lab.quizzes if quiz.choices]
    longest = sum(len(quiz.choices[quiz.right][0]) == max(len(choice) for choice, _ in quiz.choices) for quiz in asked)
    chances = [1 / len(quiz.choices) for quiz in asked]
    spread = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    assert longest <= sum(chances) + 2 * spread, f"{longest} of {len(asked)}, and {sum(chances):.0f} are expected"

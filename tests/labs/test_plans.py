"""Claims about plans for a term: no lab comes before one that it needs, in those that are computed and on the page."""

import re
from pathlib import Path

import notebooks
import plans
import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDS = {lab.stem: plans.needs(lab) for lab in notebooks.labs(ROOT)}
NUMBERS = {"Four": 4, "Eight": 8, "Fourteen": 14}


def on_the_page() -> dict[int, list[list[str]]]:
    """The plans of book/instructors.md."""
    text = (ROOT / "book/instructors.md").read_text("utf-8")
    tables = re.findall(r"\*\*(\w+) weeks\*\*.*\n\s*((?:\|.*\n)+)", text)
    found = {NUMBERS[name]: re.findall(r"(?m)^\| (\d+) \| (.+) \|$", table) for name, table in tables}
    assert all([int(week) for week, _ in rows] == [*range(1, number + 1)] for number, rows in found.items())
    return {n: [re.findall(r"\.\./labs/(\w+)\.ipynb", labs) for _, labs in rows] for n, rows in found.items()}


def too_early(plan: list[list[str]]) -> list[str]:
    """The labs that come before one that they need; of alternatives one is enough."""
    seen, found = set(), []
    for lab in (lab for week in plan for lab in week):
        found += [lab for alternatives in NEEDS[lab] if not alternatives & seen]
        seen.add(lab)
    return found


@pytest.mark.parametrize("number", plans.GOALS)
def test_no_lab_comes_before_one_that_it_needs(number):
    computed, written = plans.plans(ROOT)[number], on_the_page()[number]
    for plan in (computed, written):
        assert len(plan) == number and all(plan) and too_early(plan) == []
    labs = {lab for week in written for lab in week}
    course = {lab.stem for lab in notebooks.taught(ROOT)}  # in a fork, other labs than on the page
    on_page = {lab for plan in on_the_page().values() for week in plan for lab in week}
    assert labs & course == {lab for week in computed for lab in week} & on_page

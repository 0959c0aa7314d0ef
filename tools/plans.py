"""Plans a term of some weeks: which labs, and in which week, so that no lab comes before one that it needs.

A lab says what it needs by links to labs in the first sentence of its line `**You need**`. Labs joined by "or" are
alternatives. A plan starts from the labs where a term of that length should arrive, adds what these need (of
alternatives the one that adds least time), keeps the course's order, and makes the fullest week as short as possible.
"""

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import minutes
import notebooks

GOALS = {  # for each number of weeks the labs where it arrives; None: all labs
    4: ["00_ten_minutes", "09_the_block"],
    8: ["00_ten_minutes", "05_a_question_from_the_text", "11_a_language_model"],
    14: None,
}
NEEDS = re.compile(r"(?m)^\*\*You need\*\*(.+?)(?:\.\s|\.?$)")
LINK = re.compile(r"(\bor )?\[[^\]]+\]\((\w+)\.ipynb[^)]*\)")


def needs(lab: Path) -> list[set[str]]:
    """Return what a lab needs: sets of alternatives, by the names of the files."""
    sentence, found = NEEDS.search(lab.read_text("utf-8")), []
    for alternative, stem in LINK.findall(sentence[1] if sentence else ""):
        if alternative and found:
            found[-1].add(stem)
        else:
            found.append({stem})
    return found


def with_needs(
    goals: Iterable[str], needed: dict[str, list[set[str]]], cost: dict[str, float], chosen: frozenset = frozenset()
) -> frozenset[str]:
    """Return labs that are chosen already, others, and all that these need.

    Of alternatives none is added where one is chosen, else the one that adds least time.
    """
    for goal in goals:
        if goal in chosen or goal not in needed:
            continue
        chosen |= {goal}
        for alternatives in needed[goal]:
            if not alternatives & chosen:
                possible = [with_needs([stem], needed, cost, chosen) for stem in sorted(alternatives)]
                chosen = min(possible, key=lambda labs: sum(cost[lab] for lab in labs))
    return chosen


def weeks(labs: list[str], number: int, cost: dict[str, float]) -> list[list[str]]:
    """Return labs in their order, divided into weeks of which the fullest is as short as possible."""

    def effort(plan: list[list[str]]) -> tuple[float, float]:
        times = [sum(cost[lab] for lab in week) for week in plan]
        return max(times), sum(time**2 for time in times)  # of equal ones the most even

    ends = itertools.combinations(range(1, len(labs)), min(number, len(labs)) - 1)
    plans = ([labs[start:end] for start, end in itertools.pairwise([0, *some, len(labs)])] for some in ends)
    return min(plans, key=effort)


def plans(root: Path) -> dict[int, list[list[str]]]:
    """Return the plan for each number of weeks: the labs of every week, by the names of their files."""
    labs = [lab for lab in notebooks.taught(root) if notebooks.number_of(lab) != "A"]
    needed = {lab.stem: needs(lab) for lab in labs}
    cost = {lab.stem: sum(minutes.count(lab)["main"].values()) for lab in labs}
    found = {}
    for number, goals in GOALS.items():
        if chosen := with_needs(goals or needed, needed, cost):
            found[number] = weeks([stem for stem in needed if stem in chosen], number, cost)
    return found


def page(root: Path) -> str:
    """Return the plans as a section of the teaching plan, with links to the labs and minutes."""
    parts = ["## Plans for a term", "No lab comes before one that it needs. Minutes are those of the main part."]
    for number, plan in plans(root).items():
        rows = ["| Week | Labs | Minutes |", "| ---: | --- | ---: |"]
        for week, stems in enumerate(plan, start=1):
            labs = [root / f"labs/{stem}.md" for stem in stems]
            links = ", ".join(f"[{notebooks.title_of(lab)}](../labs/{lab.stem}.ipynb)" for lab in labs)
            total = sum(sum(minutes.count(lab)["main"].values()) for lab in labs)
            rows.append(f"| {week} | {links} | {total:.0f} |")
        parts += [f"**{number} weeks**", "\n".join(rows)]
    return "\n\n".join(parts)

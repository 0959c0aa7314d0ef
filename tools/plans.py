"""Plans a term of some weeks: which labs, and in which week, so that no lab comes before one that it needs.

A lab says what it needs in the first sentence of its line `**You need**`: by a link to a lab, or by a lab's name in
italics. Labs joined by "or" are alternatives. A plan starts from the labs where a term of that length should arrive,
adds what these need (of alternatives the one that adds least time), keeps the course's order, and makes the fullest
week as short as possible.
"""

import functools
import re
from collections.abc import Iterable
from pathlib import Path

import exercises
import minutes
import notebooks

ALWAYS = "00_ten_minutes"
GOALS = {  # for each number of weeks the labs where it arrives; None: all labs
    4: ["09_the_block"],
    8: ["05_a_question_from_the_text", "11_a_language_model"],
    14: None,
}
NEEDS = re.compile(r"(?m)^\*\*You need\*\*(.+)$")
NAMED = re.compile(r"\[[^\]]+\]\((\w+)\.ipynb[^)]*\)|\*([^*\n]+)\*")


def title_of(lab: Path) -> str:
    """Return the title of a lab."""
    return notebooks.generate(lab).cells[0].source.split("\n")[0].lstrip("# ")


def needs(lab: Path, titles: dict[str, str]) -> list[set[str]]:
    """Return what a lab needs: sets of alternatives, by the names of the files; `titles` has all labs.

    Raises ValueError where the lab names one that does not exist.
    """
    line = NEEDS.search(lab.read_text("utf-8"))
    if not line:
        return []
    sentence, found, end = re.split(r"\.\s", line[1] + " ")[0], [], 0
    for name in NAMED.finditer(sentence):
        stem = name[1] or next((stem for stem, title in titles.items() if title.startswith(name[2])), "")
        if not stem:
            continue  # a word in italics
        if stem not in titles:
            raise ValueError(f"labs/{lab.name}: it needs {stem}.ipynb, which does not exist.")
        if found and sentence[end : name.start()].strip() == "or":
            found[-1].add(stem)
        else:
            found.append({stem})
        end = name.end()
    return found


def with_needs(
    goals: Iterable[str],
    needed: dict[str, list[set[str]]],
    cost: dict[str, float],
    chosen: frozenset[str] = frozenset(),
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

    @functools.cache
    def best(start: int, left: int) -> tuple[float, float, tuple[int, ...]]:
        """From a lab on: the time of the fullest week, the sum of all squared times, and where the weeks end."""
        if left == 1:
            time = sum(cost[lab] for lab in labs[start:])
            return time, time**2, (len(labs),)
        found = []
        for end in range(start + 1, len(labs) - left + 2):
            time = sum(cost[lab] for lab in labs[start:end])
            fullest, squares, ends = best(end, left - 1)
            found.append((max(time, fullest), squares + time**2, (end, *ends)))
        return min(found)

    number = min(number, len(labs))
    starts = (0, *best(0, number)[2])
    return [labs[start:end] for start, end in zip(starts, starts[1:], strict=False)]


def plans(root: Path) -> dict[int, list[list[str]]]:
    """Return the plan for each number of weeks: the labs of every week, by the names of their files."""
    labs = [lab for lab in notebooks.taught(root) if notebooks.number_of(lab) != "A"]
    titles = {lab.stem: title_of(lab) for lab in notebooks.labs(root)}
    needed = {lab.stem: needs(lab, titles) for lab in labs}
    cost = {lab.stem: sum(minutes.count(lab, exercises.read(lab))["main"].values()) for lab in labs}
    found = {}
    for number, goals in GOALS.items():
        chosen = with_needs([ALWAYS, *(goals or needed)], needed, cost)
        if chosen:
            found[number] = weeks([lab.stem for lab in labs if lab.stem in chosen], number, cost)
    return found


def page(root: Path) -> str:
    """Return the plans as a section of the teaching plan, with links to the labs and minutes."""
    parts = ["## Plans for a term", "No lab comes before one that it needs. Minutes are those of the main part."]
    titles = {lab.stem: title_of(lab) for lab in notebooks.labs(root)}
    for number, plan in plans(root).items():
        rows = ["| Week | Labs | Minutes |", "| ---: | --- | ---: |"]
        for week, labs in enumerate(plan, start=1):
            total = sum(
                sum(minutes.count(lab, exercises.read(lab))["main"].values())
                for lab in (root / f"labs/{stem}.md" for stem in labs)
            )
            rows.append(f"| {week} | {', '.join(f'[{titles[s]}](../labs/{s}.ipynb)' for s in labs)} | {total:.0f} |")
        parts += [f"**{number} weeks**", "\n".join(rows)]
    return "\n\n".join(parts)

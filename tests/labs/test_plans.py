"""The plans for a class, in the pages for instructors and readers: labs that exist, each once, and time for them."""

import re
from pathlib import Path

import lab_code

from tools import contents, minutes

ROOT = Path(__file__).resolve().parents[2]
LABS = {lab.name: lab for lab in lab_code.course()}
SPINE = contents.parts_with_labs(ROOT).get("The spine", [])
HOURS = {"One weekend": 4, "Three weeks": 3, "Six weeks": 4}  # for one line, or half a day, in class and at home


def plans() -> dict[str, list[list[str]]]:
    """The plans by their name, such as "Three weeks": for each of its lines, or half days, the names of the labs."""
    found = {}
    for page in ("how_to_use", "instructors"):
        text = (ROOT / f"book/{page}.md").read_text("utf-8")
        for name, table in re.findall(r"(?m)^\*\*(\w+ weeks|One weekend)\*\*.*\n\n((?:\|.*\n)+)", text):
            parts = [part for row in table.split("\n")[2:] for part in row.split("|")[2:]]
            labs = [re.findall(r"\]\(\.\./labs/(\w+)/\1\.ipynb\)", part) for part in parts]
            found[name] = [names for names in labs if names]
    return found


def test_a_plan_has_the_whole_spine_in_its_order_and_no_lab_twice():
    assert plans().keys() == HOURS.keys()
    for name, lines in plans().items():
        labs = [lab for line in lines for lab in line]
        assert len(set(labs)) == len(labs) and all((ROOT / f"labs/{lab}/{lab}.md").is_file() for lab in labs), name
        there = [lab for lab in labs if lab in SPINE]
        assert there == SPINE, f"{name}: {there}"


def test_a_line_of_a_plan_fits_into_its_hours():
    """On the weekend a lab goes up to its first place to stop, the two long ones to their second."""
    for name, lines in plans().items():
        for line in lines:
            parts = [minutes.count(LABS[lab])[0] for lab in line if lab in LABS]
            if name == "One weekend":
                long = ("many_heads", "a_language_model")
                parts = [part[: 2 if lab in long else 1] for lab, part in zip(line, parts, strict=False)]
            total = sum(part.minutes for sittings in parts for part in sittings)
            assert total <= 60 * HOURS[name], f"{name}, {line}: {total:.0f} minutes"

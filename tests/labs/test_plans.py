"""Claims about the plans for a term on the page for instructors: no lab comes before one that it needs.

A lab says what it needs in the first sentence of its line `**You need**`: by a link to a lab, or by a lab's name in
italics. Labs joined by "or" are alternatives.
"""

import re
from pathlib import Path

import notebooks
import pytest

ROOT = Path(__file__).resolve().parents[2]
TITLES = {lab.stem: notebooks.generate(lab).cells[0].source.lstrip("# ") for lab in notebooks.labs(ROOT)}
NAMED = re.compile(r"\[[^\]]+\]\((?P<stem>\w+)\.ipynb[^)]*\)|\*(?P<title>[^*\n]+)\*")
PAGE = (ROOT / "book/instructors.md").read_text("utf-8")
PLANS = dict(re.findall(r"\*\*(\w+) weeks\*\*.*\n\s*((?:\|.*\n)+)", PAGE))


def needs(stem: str) -> list[set[str]]:
    """What a lab needs: sets of alternatives, by the names of the files."""
    line = re.search(r"(?m)^\*\*You need\*\*(.+)$", (ROOT / f"labs/{stem}.md").read_text("utf-8"))
    found, end, sentence = [], 0, re.split(r"\.\s", line[1] + " ")[0]
    for name in NAMED.finditer(sentence):
        meant = [
            stem for stem, title in TITLES.items() if stem == name["stem"] or title.startswith(name["title"] or "-")
        ]
        assert meant or not name["stem"], f"{stem} needs {name['stem']}, which does not exist"
        if meant and found and sentence[end : name.start()].strip() == "or":
            found[-1].update(meant)
        elif meant:  # and no word in italics
            found.append(set(meant))
        end = name.end() if meant else end
    return found


@pytest.mark.parametrize(("name", "number"), [("Four", 4), ("Eight", 8), ("Fourteen", 14)])
def test_no_lab_comes_before_one_that_it_needs(name, number):
    rows = re.findall(r"(?m)^\| (\d+) \| (.+) \|$", PLANS[name])
    assert [int(week) for week, _ in rows] == [*range(1, number + 1)]
    seen = set()
    for stem in re.findall(r"\.\./labs/(\w+)\.ipynb", PLANS[name]):
        assert all(alternatives & seen for alternatives in needs(stem)), f"{stem} comes too early"
        seen.add(stem)

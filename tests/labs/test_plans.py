"""The plans for a term in book/instructors.md: each week has labs, each of them exists, and none comes twice."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "book/instructors.md"


def plans() -> dict[str, list[list[str]]]:
    """The plans by their name, such as "Four weeks": for each week the links to its labs."""
    tables = re.findall(r"(?m)^\*\*(\w+ weeks)\*\*.*\n\n((?:\|.*\n)+)", PAGE.read_text("utf-8"))
    rows = {name: re.findall(r"(?m)^\| \d+ \|(.*)\|$", table) for name, table in tables}
    return {name: [re.findall(r"\]\((\S+)\.ipynb\)", row) for row in weeks] for name, weeks in rows.items()}


def test_each_week_of_a_plan_names_labs_that_exist_and_none_comes_twice():
    assert plans(), "the page has no plan"
    for name, weeks in plans().items():
        labs = [lab for week in weeks for lab in week]
        missing = [lab for lab in labs if not PAGE.parent.joinpath(f"{lab}.md").is_file()]
        assert all(weeks) and missing == [] and len(set(labs)) == len(labs), name

"""Reads the exercises and the folded questions out of a lab's text, and refuses one that is not
whole.

The rule: a heading `### Exercise 1 (debug): title`, numbered within its lab, with the statement
below it, a starting cell with the metadata `exercise: name`, a cell with the one call
`checks.name(...)`, a folded "Hint", and a folded "Solution" with one Python fence that replaces the
starting cell. There is nothing else between them. A name occurs once in the course.

Where the heading says (build), the cell is the lesson's own and complete: it is the solution. Below
it is `Name = checks.name.use(Name)`, so that the lab goes on with what the reader wrote. The
starting cell is the same without the bodies of its functions, or of those that the cell's metadata
list as `blank: [forward]`. A "Solution" may be left out; it holds words alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools import ordering

EXERCISE = re.compile(
    r"### Exercise (?P<number>\d+)(?: \((?P<kind>build|debug|experiment)\))?: (?P<title>.+)"
)
# The cell that checks an exercise: `Name = checks.name.use(Name)` of one to build, or
# `checks.name(answer)`.
USE = re.compile(r"(?P<answer>\w+) = checks\.(?P<name>\w+)\.use\((?P=answer)\)")
CALL = re.compile(r"checks\.(?P<name>\w+)\((?P<answer>\w+)\)")
FOLDED = re.compile(
    r"^<details>\s*<summary>(?P<summary>.*?)</summary>\n\n(?P<text>.*?)\n\n</details>[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
FENCE = re.compile(r"^```python\n(?P<code>.*?)\n```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lab. `start_id` and `check_id` are the ids of its two cells.

    `check` is the check's whole cell, and `answer` the name that it takes.
    """

    name: str
    number: str
    kind: str
    title: str
    points: float
    minutes: float
    statement: str
    start: str
    answer: str
    check: str
    hint: str
    solution: str
    why: str
    start_id: str
    check_id: str


@dataclass(frozen=True)
class Question:
    """A question with a folded answer: the heading above it, what is asked, the words on the fold,
    and the answer.
    """

    section: str
    text: str
    summary: str
    answer: str


def read(page) -> list[Exercise]:
    """Return the exercises of a lab in their order.

    Raises ValueError with a sentence that names file and line for the first thing that is not as
    the rule says.
    """
    cells = page.cells
    places = [place for place, cell in enumerate(cells) if "exercise" in cell.metadata]
    for place, cell in enumerate(cells):
        where = page.line_of(cell.source)
        if is_check(cell) and place - 1 not in places:
            raise ValueError(
                f"{where}: the check has no starting cell right above it. Give that cell "
                "the metadata `exercise: name`."
            )
        solutions = [fold for fold in FOLDED.finditer(cell.source) if fold["summary"] == "Solution"]
        if len(solutions) > (place - 2 in places):
            raise ValueError(
                f"{where}: a folded solution belongs to no exercise. Move it right below "
                "the check, after the hint."
            )
    found = [_exercise(page, *cells[place - 1 : place + 3]) for place in places]
    for number, exercise in enumerate(found, start=1):
        if exercise.number != str(number):
            where = page.line_of(f"### Exercise {exercise.number}")
            raise ValueError(
                f"{where}: exercises count within their lab, so this one is "
                f"`### Exercise {number}`."
            )
    return found


def folds(text: str, section: str) -> Iterator[tuple[str, re.Match | None, str]]:
    """Yield the text above each fold of a cell, the fold, and its heading; at last the remaining
    text.

    `section` is the heading that the cell before left open.
    """
    start = 0
    for fold in [*FOLDED.finditer(text), None]:
        above = text[start : fold and fold.start()]
        section = ([section] + [heading[0].lstrip("# ") for heading in headings(above)])[-1]
        yield above, fold, section
        start = fold and fold.end()


def questions(page) -> list[Question]:
    """Return everything with a folded answer that is no exercise, in the lab's order."""
    found, section, inside, before = [], "", False, ""
    for cell in page.cells:
        if cell.cell_type == "code":
            inside = "exercise" in cell.metadata or (inside and is_check(cell))
            continue
        for above, fold, heading in folds(cell.source, section):
            section = heading
            if fold and not (inside and fold["summary"] in ("Hint", "Solution")):
                # The question may be above a code cell that shows its subject.
                asked = above[end_of_headings(above) :].strip() or before.strip().split("\n\n")[-1]
                found.append(Question(section, asked, fold["summary"], fold["text"]))
        before = above
    return found


def is_check(cell) -> bool:
    """Say whether a cell is the check of an exercise."""
    return cell.cell_type == "code" and bool(
        CALL.fullmatch(cell.source) or USE.fullmatch(cell.source)
    )


def blanked(source: str, only: list[str] | None = None) -> str:
    """Return the code of a cell with the bodies of its functions, or of those named, left to the
    student.

    Signatures and docstrings stay, and so does the call with which an `__init__` begins. Raises
    ValueError, the end of a sentence, where there is nothing to leave out.
    """
    lines = source.split("\n")
    for function in reversed(ordering.blanked_functions(source, only)):
        first = ordering.first_statement(function)
        begin = function.body[first].lineno - 1
        while not lines[begin - 1].partition("#")[0].strip():
            begin -= 1  # what a comment above the body says is part of the solution
        indent = " " * function.body[first].col_offset
        lines[begin : function.end_lineno] = [f"{indent}raise NotImplementedError  # your turn"]
    return "\n".join(lines)


def without_fences(text: str) -> str:
    """Return a Markdown text of the same length with its code fences blanked."""
    return re.sub(r"(?ms)^(`{3,}).*?^\1", lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)


def headings(text: str) -> list[re.Match]:
    """Return the headings of a Markdown text; a comment in a code fence is none."""
    return list(re.finditer(r"(?m)^#{1,6} .*$", without_fences(text)))


def end_of_headings(text: str) -> int:
    """Return the place behind the last heading, 0 where there is none."""
    return max((heading.end() for heading in headings(text)), default=0)


def _exercise(page, above, start, check, below) -> Exercise:
    """Return the exercise of a starting cell and the cells around it. Raises ValueError for the
    first of its errors.
    """
    name, where = start.metadata["exercise"], page.line_of(start.source)
    heading = EXERCISE.fullmatch(headings(above.source)[-1][0]) if headings(above.source) else None
    if not heading:
        raise ValueError(
            f"{where}: exercise `{name}` has no heading above it like `### Exercise 1: title`, or "
            "`1 (KIND)`, of the kind build, debug or experiment."
        )
    build = heading["kind"] == "build"
    call = (USE if build else CALL).fullmatch(check.source)
    if not call or call["name"] != name:
        form = "Name = checks.{}.use(Name)" if build else "checks.{}(answer)"
        raise ValueError(
            f"{where}: exercise `{name}` needs its check right below, a cell with "
            f"`{form.format(name)}` alone."
        )
    if not start.metadata.get("minutes"):
        raise ValueError(
            f"{where}: exercise `{name}` needs the minutes it takes, `minutes: 15` below "
            "`exercise:`."
        )
    first, second, *_ = [*FOLDED.finditer(below.source), None, None]
    if second and second["summary"] != "Solution":
        second = None  # a fold of the text that follows
    text = below.source[: second.end() if second else first.end() if first else None]
    fences = FENCE.findall(second["text"]) if second else []
    if (
        not first
        or first["summary"] != "Hint"
        or FOLDED.sub("", text).strip()
        or len(fences) != (not build)
    ):
        raise ValueError(
            f"{where}: exercise `{name}` has text between its check, its hint and its solution, or "
            "no folded hint, or no folded solution with one fence ```python; of an exercise to "
            "build, that fold has words alone."
        )
    try:
        handed_out = blanked(start.source, start.metadata.get("blank")) if build else start.source
    except ValueError as error:
        raise ValueError(f"{where}: exercise `{name}` {error}") from None
    return Exercise(
        **heading.groupdict(default=""),
        **call.groupdict(),
        points=start.metadata.get("points", 1),
        minutes=start.metadata["minutes"],
        statement=above.source[end_of_headings(above.source) :].strip(),
        start=handed_out,
        check=check.source,
        hint=first["text"].strip(),
        solution=start.source if build else fences[0],
        why=FENCE.sub("", second["text"]).strip() if second else "",
        start_id=start.id,
        check_id=check.id,
    )

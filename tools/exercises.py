"""Reads the exercises and the folded questions out of a lab's text, and refuses one that is not whole.

The rule: a heading `### Exercise 2.1: title` with the statement below it, a starting cell with the metadata
`exercise: name`, a cell with the one call `check.name(...)`, a folded "Hint", and a folded "Solution" with one
Python fence that replaces the starting cell. Nothing else stands between. A name occurs once in the course.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import notebooks

EXERCISE = re.compile(r"^### Exercise (?P<number>\d+\.\d+): (?P<title>.+)$", re.MULTILINE)
FOLDED = re.compile(
    r"^<details>\s*<summary>(?P<summary>.*?)</summary>\n\n(?P<text>.*?)\n\n</details>[ \t]*$", re.MULTILINE | re.DOTALL
)
FENCE = re.compile(r"^```python\n(?P<code>.*?)\n```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lab. `start_id` and `check_id` are the ids of its two cells."""

    name: str
    number: str
    title: str
    statement: str
    start: str
    check: str
    hint: str
    solution: str
    why: str
    start_id: str
    check_id: str


@dataclass(frozen=True)
class Question:
    """A question with a folded answer: the heading above it, what is asked, the words on the fold, and the answer."""

    section: str
    text: str
    summary: str
    answer: str


def read(lab: Path) -> list[Exercise]:
    """Return the exercises of a lab in their order.

    Raises ValueError with a sentence that names file and line for the first thing that is not as the rule says.
    """
    cells = [cell for cell in notebooks.generate(lab).cells if not notebooks.is_generated(cell)]
    checks = checks_of(lab.parent.parent)
    found, answered = [], set()
    for place, cell in enumerate(cells):
        if "exercise" in cell.metadata:
            found.append(_exercise(lab, cells, place, checks))
            answered |= {place + 1, place + 2}  # its check, and the cell that hint and solution stand in
    for place, cell in enumerate(cells):
        if cell.cell_type == "code" and called_check(cell.source) and place not in answered:
            raise ValueError(
                f"{notebooks.line_of(lab, cell)}: the check has no starting cell right above it. "
                f"Give that cell the metadata `exercise: {called_check(cell.source)}`."
            )
        if cell.cell_type == "markdown":
            count = len(EXERCISE.findall(cell.source))
            used = place + 1 < len(cells) and "exercise" in cells[place + 1].metadata
            if count > used:
                raise ValueError(
                    f"{_line(lab, EXERCISE.search(cell.source)[0])}: the exercise has no starting cell. Right below "
                    "its statement stands a code cell with the metadata `exercise: name`."
                )
            solutions = [fold["summary"] for fold in FOLDED.finditer(cell.source)].count("Solution")
            if solutions > (place in answered):
                raise ValueError(
                    f"{notebooks.line_of(lab, cell)}: a folded solution belongs to no exercise. It stands right below "
                    "the check, after the hint."
                )
    names = [exercise.name for exercise in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"labs/{lab.name}: two exercises are called `{name}`. Each needs a name of its own.")
    return found


def read_all(root: Path) -> dict[Path, list[Exercise]]:
    """Return the exercises of every lab. Raises ValueError for a malformed one, or a name that two labs use."""
    course, owner = {}, {}
    for lab in notebooks.labs(root):
        course[lab] = read(lab)
        for exercise in course[lab]:
            if exercise.name in owner:
                raise ValueError(
                    f"labs/{lab.name}: the exercise `{exercise.name}` is also one of {owner[exercise.name]}. "
                    "An exercise's name occurs once in the course."
                )
            owner[exercise.name] = f"labs/{lab.name}"
    return course


def questions(lab: Path) -> list[Question]:
    """Return everything with a folded answer that is no exercise, in the lab's order."""
    found, section, inside, before = [], "", False, ""
    for cell in notebooks.generate(lab).cells:
        if cell.cell_type == "code":
            inside = "exercise" in cell.metadata or (inside and bool(called_check(cell.source)))
            continue
        start = 0
        for fold in FOLDED.finditer(cell.source):
            above = cell.source[start : fold.start()]
            text = above
            for heading in headings(above):
                section, text = heading[0].lstrip("# "), above[heading.end() :]
            if not (inside and fold["summary"] in ("Hint", "Solution")):
                # What is asked may stand above a code cell that shows it.
                asked = text.strip() or before.strip().split("\n\n")[-1]
                found.append(Question(section, asked, fold["summary"], fold["text"]))
            start = fold.end()
        for heading in headings(cell.source[start:]):
            section = heading[0].lstrip("# ")
        before = cell.source[start:]
    return found


def checks_of(root: Path) -> set[str]:
    """Return the names that `shared.check` offers, read without running it."""
    path = next((p for p in (root / "shared/check/__init__.py", root / "shared/check.py") if p.is_file()), None)
    names = set()
    for node in ast.parse(path.read_text("utf-8")).body if path else []:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        else:
            names |= bound(node)
    return names


def bound(node: ast.AST) -> set[str]:
    """Return the names that a statement gives a meaning: a definition's own, or those left of an equals sign."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
        return {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return set()


def called_check(source: str) -> str:
    """Return the name of the check that is all a cell calls, or the empty text."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return ""
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        return ""
    match body[0].value.func:
        case ast.Attribute(value=ast.Name(id="check"), attr=name):
            return name
    return ""


def headings(text: str) -> list[re.Match]:
    """Return the headings of a Markdown text; a comment in a code fence is none."""
    blanked = re.sub(r"(?ms)^(`{3,}).*?^\1", lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)
    return list(re.finditer(r"(?m)^#{1,6} .*$", blanked))


def _line(lab: Path, text: str) -> str:
    """Say where a text stands in the lab: `labs/05_x.md, line 12`."""
    before = lab.read_text("utf-8").partition(text)[0]
    return f"labs/{lab.name}, line {before.count(chr(10)) + 1}"


def _exercise(lab: Path, cells: list, place: int, checks: set[str]) -> Exercise:
    """Return the exercise whose starting cell is `cells[place]`."""
    cell = cells[place]
    name, where = cell.metadata["exercise"], notebooks.line_of(lab, cell)

    def refuse(what: str, at: str = "") -> ValueError:
        return ValueError(f"{at or where}: exercise `{name}` {what}")

    if not isinstance(name, str) or not name.isidentifier():
        raise refuse("needs a name that Python could use, such as `redundant_key`.")
    above = cells[place - 1].source if place and cells[place - 1].cell_type == "markdown" else ""
    heads = headings(above)
    heading = EXERCISE.match(heads[-1][0]) if heads else None
    if not heading:
        raise refuse("has no heading like `### Exercise 2.1: title` above its starting cell and its statement.")
    statement = above[heads[-1].end() :].strip()
    if not statement:
        raise refuse("says nothing between heading and starting cell: write what is asked, with the expected shapes.")

    check = cells[place + 1] if place + 1 < len(cells) else None
    if check is None or check.cell_type != "code" or called_check(check.source) != name:
        raise refuse(f"needs its check right below the starting cell: a cell with `check.{name}(...)` alone.")
    if name not in checks:
        raise refuse(f"is checked by `check.{name}`, which shared/check does not have.", notebooks.line_of(lab, check))

    text = cells[place + 2].source if place + 2 < len(cells) and cells[place + 2].cell_type == "markdown" else ""
    folds = list(FOLDED.finditer(text))[:2]
    at = notebooks.line_of(lab, check)
    for number, wanted in enumerate(("Hint", "Solution")):
        if len(folds) <= number or folds[number]["summary"] != wanted:
            order = "right below the check" if wanted == "Hint" else "right below the hint"
            raise refuse(f"has no folded {wanted.lower()} {order}: `<details><summary>{wanted}</summary>`.", at)
    if text[: folds[0].start()].strip() or text[folds[0].end() : folds[1].start()].strip():
        raise refuse("has text between check, hint and solution: move it into the statement.", at)
    fences = FENCE.findall(folds[1]["text"])
    if len(fences) != 1:
        raise refuse(f"needs one fence ```python in its solution; there are {len(fences)}.", at)
    for code, what in ((cell.source, "starting cell"), (fences[0], "solution")):
        try:
            ast.parse(code)
        except SyntaxError as error:
            raise refuse(f"has a {what} that is no Python: {error.msg} in its line {error.lineno}.", at) from None
    names = [set().union(*map(bound, ast.parse(code).body)) for code in (cell.source, fences[0])]
    asked = {n.id for n in ast.walk(ast.parse(check.source)) if isinstance(n, ast.Name)} - {"check"}
    for have, what in zip(names, ("starting cell", "solution"), strict=True):
        if not asked <= have:
            raise refuse(f"checks {', '.join(sorted(asked - have))}, which its {what} does not define.", at)
    return Exercise(
        name=name,
        number=heading["number"],
        title=heading["title"].strip(),
        statement=statement,
        start=cell.source,
        check=check.source,
        hint=folds[0]["text"].strip(),
        solution=fences[0],
        why=FENCE.sub("", folds[1]["text"]).strip(),
        start_id=cell.id,
        check_id=check.id,
    )

"""Reads the exercises and the folded questions out of a lab's text, and refuses one that is not whole.

The rule: a heading `### Exercise 2.1 (debug): title` with the statement below it, a starting cell with the metadata
`exercise: name`, a cell with the one call `checks.name(...)`, a folded "Hint", and a folded "Solution" with one
Python fence that replaces the starting cell. Nothing else stands between. A name occurs once in the course.

Where the heading says (build), the cell is the lesson's own and complete: it is the solution. Below it stands
`Name = checks.name.use(Name)`, so that the lab goes on with what the reader wrote. The starting cell is the same
without the bodies of its functions, or of those that the cell's metadata list as `blank: [forward]`. A "Solution" may
be left out; it holds words alone.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import notebooks

KINDS = ("build", "debug", "experiment")
EXERCISE = re.compile(r"^### Exercise (?P<number>(?:\d+|A)\.\d+)(?: \((?P<kind>.*?)\))?: (?P<title>.+)$", re.MULTILINE)
FOLDED = re.compile(
    r"^<details>\s*<summary>(?P<summary>.*?)</summary>\n\n(?P<text>.*?)\n\n</details>[ \t]*$", re.MULTILINE | re.DOTALL
)
FENCE = re.compile(r"^```python\n(?P<code>.*?)\n```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lab. `start_id` and `check_id` are the ids of its two cells.

    `check` is the check's whole cell, and `verdict` the call in it that says how good an answer is.
    """

    name: str
    number: str
    kind: str
    title: str
    statement: str
    start: str
    check: str
    verdict: str
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
                f"{notebooks.line_of(lab, cell.source)}: the check has no starting cell right above it. "
                f"Give that cell the metadata `exercise: {called_check(cell.source)}`."
            )
        if cell.cell_type == "markdown":
            count = len(EXERCISE.findall(cell.source))
            used = place + 1 < len(cells) and "exercise" in cells[place + 1].metadata
            if count > used:
                raise ValueError(
                    f"{notebooks.line_of(lab, EXERCISE.search(cell.source)[0])}: the exercise has no starting cell. "
                    "Right below its statement stands a code cell with the metadata `exercise: name`."
                )
            solutions = [fold["summary"] for fold in FOLDED.finditer(cell.source)].count("Solution")
            if solutions > (place in answered):
                raise ValueError(
                    f"{notebooks.line_of(lab, cell.source)}: a folded solution belongs to no exercise. "
                    "It stands right below the check, after the hint."
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


def taught(root: Path) -> dict[Path, list[Exercise]]:
    """Return the exercises of the labs that _toc.yml names. Raises ValueError as `read_all` does, for every lab."""
    every = read_all(root)
    return {lab: every[lab] for lab in notebooks.taught(root)}


def folds(text: str, section: str) -> Iterator[tuple[str, re.Match | None, str]]:
    """Yield what stands above each fold of a cell, the fold, and the heading that it stands below; last, what is left.

    `section` is the heading that the cell before left open.
    """
    start = 0
    for fold in [*FOLDED.finditer(text), None]:
        above = text[start : fold and fold.start()]
        section = ([section] + [heading[0].lstrip("# ") for heading in headings(above)])[-1]
        yield above, fold, section
        start = fold and fold.end()


def questions(lab: Path) -> list[Question]:
    """Return everything with a folded answer that is no exercise, in the lab's order."""
    found, section, inside, before = [], "", False, ""
    for cell in notebooks.generate(lab).cells:
        if cell.cell_type == "code":
            inside = "exercise" in cell.metadata or (inside and bool(called_check(cell.source)))
            continue
        for above, fold, heading in folds(cell.source, section):
            section = heading
            if fold and not (inside and fold["summary"] in ("Hint", "Solution")):
                # What is asked may stand above a code cell that shows it.
                asked = above[end_of_headings(above) :].strip() or before.strip().split("\n\n")[-1]
                found.append(Question(section, asked, fold["summary"], fold["text"]))
        before = above
    return found


def checks_of(root: Path) -> set[str]:
    """Return the names that the package `checks` offers, read without running it."""
    names, path = set(), root / "checks/__init__.py"
    for node in ast.parse(path.read_text("utf-8")).body if path.is_file() else []:
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
    """Return the name of the check that is all a cell calls, by `checks.name(...)` or `Name = checks.name.use(Name)`.

    The empty text is returned for any other cell.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return ""
    match body:
        case [ast.Expr(ast.Call(ast.Attribute(ast.Name("checks"), name)))]:
            return name
        case [ast.Assign(value=ast.Call(ast.Attribute(ast.Attribute(ast.Name("checks"), name), "use")))]:
            return name
    return ""


def blanked(source: str, only: list[str] | None = None) -> str:
    """Return the code of a cell with the bodies of its functions, or of those named, left to the student.

    Signatures and docstrings stay, and so does the call with which an `__init__` begins.
    Raises ValueError, the end of a sentence, where there is nothing to leave out.
    """
    lines, inside = source.split("\n"), []
    for node in ast.parse(source).body:
        inside += node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [node for node in inside if isinstance(node, ast.FunctionDef)]
    if unknown := set(only or []) - {function.name for function in functions}:
        raise ValueError(f"is to blank {', '.join(sorted(unknown))}, which its cell does not define.")
    chosen = [function for function in functions if not only or function.name in only]
    if not chosen:
        raise ValueError("has no function in its cell whose body a student could write.")
    for function in reversed(chosen):
        kept = int(ast.get_docstring(function) is not None)
        kept += ast.unparse(function.body[kept:][:1]) == "super().__init__()"
        if kept == len(function.body):
            continue  # there is nothing else in it
        begin = function.body[kept].lineno - 1
        if lines[begin][: function.body[kept].col_offset].strip():
            raise ValueError(f"has the body of `{function.name}` on the line of its `def`: give it lines of its own.")
        while not lines[begin - 1].partition("#")[0].strip():
            begin -= 1  # what a comment above the body says is part of the solution
        indent = " " * function.body[kept].col_offset
        lines[begin : function.end_lineno] = [f"{indent}raise NotImplementedError  # your turn"]
    return "\n".join(lines)


def headings(text: str) -> list[re.Match]:
    """Return the headings of a Markdown text; a comment in a code fence is none."""
    blanked = re.sub(r"(?ms)^(`{3,}).*?^\1", lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)
    return list(re.finditer(r"(?m)^#{1,6} .*$", blanked))


def end_of_headings(text: str) -> int:
    """Return the place behind the last heading, 0 where there is none."""
    return max((heading.end() for heading in headings(text)), default=0)


def _exercise(lab: Path, cells: list, place: int, checks: set[str]) -> Exercise:
    """Return the exercise whose starting cell is `cells[place]`."""
    cell = cells[place]
    name, where = cell.metadata["exercise"], notebooks.line_of(lab, cell.source)

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

    kind = heading["kind"] or ""
    if heading["kind"] is not None and kind not in KINDS:
        raise refuse(f"is of no kind called ({kind}): its heading may say {', '.join(f'({kind})' for kind in KINDS)}.")

    check = cells[place + 1] if place + 1 < len(cells) else None
    at = notebooks.line_of(lab, check.source) if check else where
    form = f"`Name = checks.{name}.use(Name)`" if kind == "build" else f"`checks.{name}(...)`"
    if check is None or check.cell_type != "code" or called_check(check.source) != name:
        raise refuse(f"needs its check right below the starting cell: a cell with {form} alone.")
    if name not in checks:
        raise refuse(f"is checked by `checks.{name}`, which checks/__init__.py does not have.", at)
    (call,) = ast.parse(check.source).body
    if isinstance(call, ast.Assign) != (kind == "build"):
        raise refuse(f"has a check that does not fit its kind: it needs {form}, or another kind in its heading.")
    asked = [node.id for node in ast.walk(call.value) if isinstance(node, ast.Name) and node.id != "checks"]
    if kind == "build":
        if len(asked) != 1 or ast.unparse(call.targets[0]) != asked[0]:
            raise refuse(f"has to give back under the same name what its check takes: {form}.")

    text = cells[place + 2].source if place + 2 < len(cells) and cells[place + 2].cell_type == "markdown" else ""
    folds, wanted = list(FOLDED.finditer(text))[:2], ["Hint", "Solution"]
    if kind == "build" and [fold["summary"] for fold in folds[1:]] != ["Solution"]:
        folds, wanted = folds[:1], ["Hint"]  # the solution is the cell; the fold may say why
    for number, (summary, above) in enumerate(zip(wanted, ("check", "hint"), strict=False)):
        if len(folds) <= number or folds[number]["summary"] != summary:
            raise refuse(
                f"has no folded {summary.lower()} right below the {above}: `<details><summary>{summary}</summary>`.", at
            )
    ends = [0, *(fold.end() for fold in folds)]
    if any(text[end : fold.start()].strip() for end, fold in zip(ends, folds, strict=False)):
        raise refuse("has text between check, hint and solution: move it into the statement.", at)
    told = folds[1]["text"] if len(folds) > 1 else ""
    fences = FENCE.findall(told)
    if kind == "build" and fences:
        raise refuse("has code in its folded solution; the solution is the exercise's own cell.", at)
    if kind != "build" and len(fences) != 1:
        raise refuse(f"needs one fence ```python in its solution; there are {len(fences)}.", at)
    codes = {"solution": cell.source} if kind == "build" else {"starting cell": cell.source, "solution": fences[0]}
    for what, code in codes.items():
        try:
            names = set().union(*map(bound, ast.parse(code).body))
        except SyntaxError as error:
            raise refuse(f"has a {what} that is no Python: {error.msg} in its line {error.lineno}.", at) from None
        if not set(asked) <= names:
            raise refuse(f"checks {', '.join(sorted(set(asked) - names))}, which its {what} does not define.", at)
    start = cell.source
    if kind == "build":
        try:
            start = blanked(cell.source, cell.metadata.get("blank"))
        except ValueError as error:
            raise refuse(str(error)) from None
    return Exercise(
        name=name,
        number=heading["number"],
        kind=kind,
        title=heading["title"].strip(),
        statement=statement,
        start=start,
        check=check.source,
        verdict=f"checks.{name}({asked[0]})" if kind == "build" else check.source,
        hint=folds[0]["text"].strip(),
        solution=codes["solution"],
        why=FENCE.sub("", told).strip(),
        start_id=cell.id,
        check_id=check.id,
    )

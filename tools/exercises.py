"""Reads the exercises and the folded questions out of a lab's text, and refuses one that is not whole.

The rule: a heading `### Exercise 2.1 (debug): title` with the statement below it, a starting cell with the metadata
`exercise: name`, a cell with the one call `checks.name(...)`, a folded "Hint", and a folded "Solution" with one
Python fence that replaces the starting cell. There is nothing else between them. A name occurs once in the course.

Where the heading says (build), the cell is the lesson's own and complete: it is the solution. Below it is
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
import ordering

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
    places = [place for place, cell in enumerate(cells) if "exercise" in cell.metadata]
    found = [_exercise(lab, cells, place, checks) for place in places]
    for place, cell in enumerate(cells):
        where = notebooks.line_of(lab, cell.source)
        if cell.cell_type == "code":
            if (name := called_check(cell.source)) and place - 1 not in places:
                raise ValueError(
                    f"{where}: the check has no starting cell right above it. "
                    f"Give that cell the metadata `exercise: {name}`."
                )
            continue
        summaries = [fold["summary"] for fold in FOLDED.finditer(cell.source)]
        if len(EXERCISE.findall(cell.source)) > (place + 1 in places):
            raise ValueError(
                f"{notebooks.line_of(lab, EXERCISE.search(cell.source)[0])}: the exercise has no starting cell. "
                "Add, right below its statement, a code cell with the metadata `exercise: name`."
            )
        if summaries.count("Solution") > (place - 2 in places):
            raise ValueError(
                f"{where}: a folded solution belongs to no exercise. Move it right below the check, after the hint."
            )
    names = [exercise.name for exercise in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"labs/{lab.name}: two exercises are called `{twice[0]}`. Each needs a name of its own.")
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
    """Yield the text above each fold of a cell, the fold, and its heading; at last the remaining text.

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
                # The question may be above a code cell that shows its subject.
                asked = above[end_of_headings(above) :].strip() or before.strip().split("\n\n")[-1]
                found.append(Question(section, asked, fold["summary"], fold["text"]))
        before = above
    return found


def checks_of(root: Path) -> set[str]:
    """Return the names that the package `checks` offers, read without running it."""
    path = root / "checks/__init__.py"
    return bound(path.read_text("utf-8")) if path.is_file() else set()


def bound(source: str) -> set[str]:
    """Return the names that the statements of a text bind: by import, by definition, or left of an equals sign."""
    names = set()
    for node in ast.parse(source).body:
        match node:
            case ast.Import() | ast.ImportFrom():
                names |= {alias.asname or alias.name for alias in node.names}
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Assign() | ast.AnnAssign():
                inside = [name for name in ast.walk(node) if isinstance(name, ast.Name)]
                names |= {name.id for name in inside if isinstance(name.ctx, ast.Store)}
    return names


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
    lines = source.split("\n")
    for function in reversed(ordering.blanked_functions(source, only)):
        first = ordering.first_statement(function)
        if first == len(function.body):
            continue  # there is nothing else in it
        begin = function.body[first].lineno - 1
        if lines[begin][: function.body[first].col_offset].strip():
            raise ValueError(f"has the body of `{function.name}` on the line of its `def`: give it lines of its own.")
        while not lines[begin - 1].partition("#")[0].strip():
            begin -= 1  # what a comment above the body says is part of the solution
        indent = " " * function.body[first].col_offset
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
    """Return the exercise whose starting cell is `cells[place]`. Raises ValueError for the first of its errors."""
    cell, name = cells[place], cells[place].metadata["exercise"]
    kinds = {place - 1: "markdown", place + 1: "code", place + 2: "markdown"}
    above, check, below = (
        cells[i].source if 0 <= i < len(cells) and cells[i].cell_type == kind else "" for i, kind in kinds.items()
    )
    heads = headings(above)
    heading = EXERCISE.match(heads[-1][0]) if heads else None
    statement = above[heads[-1].end() :].strip() if heads else ""
    kind = (heading["kind"] or "") if heading else ""
    build = kind == "build"
    form = f"`Name = checks.{name}.use(Name)`" if build else f"`checks.{name}(...)`"
    call = ast.parse(check).body[0] if called_check(check) else None
    names = [node.id for node in ast.walk(call.value) if isinstance(node, ast.Name)] if call else []
    asked = [other for other in names if other != "checks"]
    returned = ast.unparse(call.targets[0]) if isinstance(call, ast.Assign) else ""

    folds = list(FOLDED.finditer(below))[:2]
    summaries = [fold["summary"] for fold in folds]
    if build and summaries[1:] != ["Solution"]:
        folds = folds[:1]  # the solution is the cell; the fold may say why
        summaries = summaries[:1]
    ends = [0, *(fold.end() for fold in folds)]
    between = "".join(below[end : fold.start()] for end, fold in zip(ends, folds, strict=False))
    explained = folds[1]["text"] if len(folds) > 1 else ""
    fences = FENCE.findall(explained)
    where = notebooks.line_of(lab, cell.source)
    at = notebooks.line_of(lab, check) if check else where
    known = not build or (len(asked) == 1 and returned == asked[0])
    errors = [  # whether it is so, where, and what is said; the first counts
        (not isinstance(name, str) or not name.isidentifier(), where,
         "needs a name that Python could use, such as `redundant_key`."),
        (not heading, where,
         "has no heading like `### Exercise 2.1: title` above its starting cell and its statement."),
        (not statement, where,
         "says nothing between heading and starting cell: write what is asked, with the expected shapes."),
        (kind not in ("", *KINDS), where,
         f"is of no kind called ({kind}): its heading may say {', '.join(f'({kind})' for kind in KINDS)}."),
        (call is None or called_check(check) != name, where,
         f"needs its check right below the starting cell: a cell with {form} alone."),
        (name not in checks, at, f"is checked by `checks.{name}`, which checks/__init__.py does not have."),
        (bool(returned) != build, where,
         f"has a check that does not fit its kind: it needs {form}, or another kind in its heading."),
        (not known, where, f"has to give back under the same name what its check takes: {form}."),
        (summaries[:1] != ["Hint"], at,
         "has no folded hint right below the check: `<details><summary>Hint</summary>`."),
        (not build and summaries[1:] != ["Solution"], at,
         "has no folded solution right below the hint: `<details><summary>Solution</summary>`."),
        (between.strip(), at, "has text between check, hint and solution: move it into the statement."),
        (build and fences, at, "has code in its folded solution; the solution is the exercise's own cell."),
        (not build and len(fences) != 1, at,
         f"needs one fence ```python in its solution; there are {len(fences)}."),
    ]  # fmt: skip
    for wrong, place_of_error, sentence in errors:
        if wrong:
            raise ValueError(f"{place_of_error}: exercise `{name}` {sentence}")
    codes = {"solution": cell.source} if build else {"starting cell": cell.source, "solution": fences[0]}
    try:
        for what, code in codes.items():
            if missing := sorted(set(asked) - bound(code)):
                raise ValueError(f"checks {', '.join(missing)}, which its {what} does not define.")
        start = blanked(cell.source, cell.metadata.get("blank")) if build else cell.source
    except SyntaxError as error:
        line = f"{error.msg} in its line {error.lineno}"
        raise ValueError(f"{at}: exercise `{name}` has a {what} that is no Python: {line}.") from None
    except ValueError as error:
        raise ValueError(f"{where}: exercise `{name}` {error}") from None
    return Exercise(
        name=name,
        number=heading["number"],
        kind=kind,
        title=heading["title"].strip(),
        statement=statement,
        start=start,
        check=check,
        verdict=f"checks.{name}({asked[0]})" if build else check,
        hint=folds[0]["text"].strip(),
        solution=codes["solution"],
        why=FENCE.sub("", explained).strip(),
        start_id=cell.id,
        check_id=cells[place + 1].id,
    )

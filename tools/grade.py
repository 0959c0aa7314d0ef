"""Looks through a folder of submitted notebooks and writes a table: one row a student, points for each exercise.

The rule: what stands in the folder is a student's, a notebook or a folder of notebooks, and its name is the student's,
unless a roster says another. Notebooks are read before the first one runs. Then `grade_notebook.py` judges one after
another; what goes wrong there costs this student's row and no other. Each row is kept as soon as it is known, so a run
that was stopped goes on, behind the notebook it was stopped at. No sandbox: see book/instructors.md.
"""

import argparse
import ast
import csv
import hashlib
import io
import json
import re
import sys
import zipfile
from dataclasses import asdict
from pathlib import Path

import endings
import exercises
import grade_notebook
import notebooks

ROOT = Path(__file__).resolve().parents[1]
WORKER = Path(__file__).with_name("grade_worker.py")
NOTEBOOK_BYTES, NOTEBOOKS = 50_000_000, 50

# The names in the table that no check gives, for the answer key.
SAID = {
    "not done yet": "The starting cell as it was handed out.",
    "missing": "No cell of the notebook answers the exercise.",
    "stopped": "The notebook was ended before it came to this exercise; the remark says why.",
    "wrong for other inputs": "Right for the inputs of the check in the notebook, wrong for others: an answer made for "
    "those inputs, or a forged check.",
    "the course's own": "The answer is what the course's package holds, imported or taken from a check.",
    "letter for letter the course's": "Counts as right, and stands so on the site: ask for the “why”.",
}


# What the labs ask


def plan(root: Path) -> dict[str, dict]:
    """Return for each lab what the worker needs to know of it. Raises ValueError for a malformed exercise."""
    return {lab.stem: of_lab(lab, found) for lab, found in exercises.taught(root).items() if found}


def of_lab(lab: Path, found: list) -> dict:
    """Return the plan of one lab: what its cells define, their sources, and its exercises."""
    code = notebooks.code_cells(notebooks.generate(lab))
    starts = {exercise.start_id for exercise in found}
    prelude = []
    for cell in code:
        tree = notebooks.parse_cell(cell.source)
        if cell.id not in starts and not notebooks.is_generated(cell) and isinstance(tree, ast.AST):
            definitions = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
            prelude += [ast.unparse(node) for node in tree.body if isinstance(node, definitions)]
    return {
        "prelude": prelude,
        "known": [cell.source.strip() for cell in code if cell.id not in starts],
        "exercises": [
            {
                "name": exercise.name,
                "points": points_of(lab, exercise, code),
                "start": exercise.start.strip(),
                "solution": hashlib.sha256(exercise.solution.strip().encode()).hexdigest(),
                "start_id": exercise.start_id,
                "answer": re.search(r"\((\w+)", exercise.check)[1],
                "binds": sorted(set().union(*map(exercises.bound, ast.parse(exercise.start).body))),
            }
            for exercise in found
        ],
    }


def points_of(lab: Path, exercise: exercises.Exercise, code: list) -> int | float:
    """Return the points of an exercise: what its cell's metadata say, `points: 2`, or one. Raises ValueError."""
    cell = next(cell for cell in code if cell.id == exercise.start_id)
    points = cell.metadata.get("points", 1)
    if isinstance(points, bool) or not isinstance(points, int | float) or points < 0:
        where = notebooks.line_of(lab, cell.source)
        raise ValueError(
            f"{where}: exercise `{exercise.name}` is to give {points!r} points. Write a number, as in `points: 2`."
        )
    return points


def pack(root: Path, labs: dict[str, dict]) -> bytes:
    """Return all that judging needs of the course, as a zip: `shared`, the plan, and the worker."""
    files = {"plan.json": json.dumps(labs).encode(), WORKER.name: WORKER.read_bytes()}
    for path in sorted((root / "shared").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files[str(path.relative_to(root))] = path.read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        for name, content in files.items():
            zipped.writestr(zipfile.ZipInfo(name), content)  # without a date: the same course makes the same zip
    return packed.getvalue()


# What was handed in


def submissions(folder: Path) -> dict[str, list[Path]]:
    """Return the files of each student, notebooks or not, by the name they stand under."""
    found = {}
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        inside, folders = [entry], [entry]
        if entry.is_dir() and not entry.is_symlink():
            inside = []
            for _ in range(5):  # some nest more folders than Python can follow
                entries = [path for place in folders for path in sorted(place.iterdir())[:1000] if path.name[0] != "."]
                folders = [path for path in entries if path.is_dir() and not path.is_symlink()]
                inside += [path for path in entries if path.suffix == ".ipynb" and path not in folders]
        found.setdefault(entry.name if entry.is_dir() else entry.stem, []).extend(inside[:NOTEBOOKS])
    return found


def read(path: Path) -> bytes | str:
    """Return a notebook, or a sentence that says why it is none."""
    if path.is_symlink() or not path.is_file() or path.suffix != ".ipynb":
        return f"{path.name} is no notebook"
    if path.stat().st_size > NOTEBOOK_BYTES:
        return f"{path.name} is larger than {NOTEBOOK_BYTES // 10**6} MB"
    return path.read_bytes()


def roster(path: Path) -> dict[str, str]:
    """Return names by what the submissions are called. Raises ValueError for a file that is no such list."""
    text = path.read_text("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text), delimiter=";" if text.count(";") > text.count(",") else ","))
    if any(len(row) < 2 for row in rows if row) or not rows:
        raise ValueError(f"{path}: each line has to say how a submission is called, and the student's name.")
    return {row[0].strip(): row[1].strip() for row in rows if row}


def belongs_to(submission: str, names: dict[str, str]) -> str:
    """Return the key of the roster that a submission's name is, or holds as a word; the empty text for none.

    A platform puts more around it: `lovelace_4711_lab04`.
    """
    words = re.split(r"[\W_]+", submission.casefold())
    fits = [key for key in names if key.casefold() == submission.casefold() or key.casefold() in words]
    return fits[0] if len(fits) == 1 else ""


# The table


def row(outcomes: list[grade_notebook.Judged], columns: dict[str, tuple[str, int]]) -> dict[str, str]:
    """Return a student's row without the name. `columns` says of which lab each exercise is, and its points."""
    cells, total, remarks = {}, 0, [outcome.remark for outcome in outcomes if outcome.remark]
    for name, (lab, points) in columns.items():
        own = [outcome.found[name] for outcome in outcomes if outcome.lab == lab]
        best = next((finding for finding in own if finding["state"] == "correct"), own[-1] if own else None)
        gained = points if best and best["state"] == "correct" else 0
        cells[name], total = str(gained), total + gained
        if own and not gained:
            remarks.append(f"{name}: {best['mistake'] or best['state']}")
            if best["mistake"] == "raises":
                remarks[-1] += f" ({best['sentence']})"
        elif own and best["mistake"]:
            remarks.append(f"{name}: {best['mistake']}")  # right, and worth a look
    remarks += [] if outcomes else ["no notebook in this folder"]
    labs = [outcome.lab for outcome in outcomes if outcome.lab]
    remarks += [f"{labs.count(lab)} notebooks of {lab}, the better answer counts" for lab in sorted(set(labs))
                if labs.count(lab) > 1]  # fmt: skip
    return {**cells, "total": str(total), "remark": ". ".join(remarks)}


def safe(text: str) -> str:
    """Return a text as a cell of a table: one line, not long, and nothing a spreadsheet would calculate or split."""
    text = text.encode(errors="replace").decode()
    text = "".join(letter if letter.isprintable() else " " for letter in text).replace(";", ",")
    text = re.sub(r"\s+", " ", text).strip()[:500]
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠", '"')) else text


def table(rows: list[dict[str, str]], columns: dict[str, tuple[str, int]], delimiter: str) -> bytes:
    """Return the table as spreadsheets read it: marked as UTF-8, every cell in quotes."""
    heads = {name: f"{name} ({points})" for name, (_, points) in columns.items()}
    heads = {"student": "student"} | heads | {"total": "total", "remark": "remark"}
    lines = io.StringIO(newline="")
    writer = csv.DictWriter(lines, heads, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(heads)
    writer.writerows({name: safe(cells.get(name, "0")) for name in heads} for cells in rows)
    return ("\ufeff" + lines.getvalue()).encode()


def grade(root: Path, folder: Path, number: str, names: dict[str, str], seconds: float, gigabytes: float) -> tuple:
    """Judge what lies in a folder and return the table's columns and rows; what is known is kept in a file beside it.

    Raises ValueError for a folder without submissions, or a lab without exercises.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder: name the one that holds the submitted notebooks.")
    labs = plan(root)
    lab = next((name for name in labs if number and name.startswith(f"{number.zfill(2)}_")), "")
    if number and not lab:
        raise ValueError(f"No exercises in lab {number}; the labs with some: {', '.join(n[:2] for n in labs)}.")
    students = {student: list(map(read, paths)) for student, paths in submissions(folder).items()}
    if not students:
        raise ValueError(f"{folder} is empty: put the submitted notebooks there, one for each student.")
    course = pack(root, labs)
    limits = [lab, seconds, gigabytes, hashlib.sha256(course).hexdigest()]
    file = folder.resolve().with_name(f"{folder.resolve().name}.judged.json")
    try:
        kept = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    except ValueError:
        raise ValueError(f"{file} is damaged: delete it, and all of them are judged anew.") from None

    def judged(student: str, notebook: bytes | str) -> grade_notebook.Judged:
        if isinstance(notebook, str):
            return grade_notebook.Judged(remark=notebook)
        key = hashlib.sha256(json.dumps([student, *limits]).encode() + notebook).hexdigest()
        before = kept.get(key, 0)
        if isinstance(before, dict):
            return grade_notebook.Judged(**before)
        if before >= 2:  # once may have been chance
            return grade_notebook.Judged(remark="it ended the whole run, twice: look at it by hand, with care")
        endings.replace(file, json.dumps(kept | {key: before + 1}))
        try:
            outcome = grade_notebook.judge(notebook, course, lab, seconds, gigabytes)
        except KeyboardInterrupt:
            endings.replace(file, json.dumps(kept))
            raise
        kept[key] = asdict(outcome)
        endings.replace(file, json.dumps(kept))
        return outcome

    outcomes = {}
    for count, (student, own) in enumerate(students.items(), start=1):
        outcomes[student] = [judged(student, notebook) for notebook in own]
        states = [finding["state"] for outcome in outcomes[student] for finding in outcome.found.values()]
        print(f"{count:>3} of {len(students)}: {safe(student):<30} {states.count('correct')} correct", flush=True)
    met = {outcome.lab for own in outcomes.values() for outcome in own} | {lab}
    columns = {e["name"]: (name, e["points"]) for name in labs if name in met for e in labs[name]["exercises"]}
    rows = [{"student": student, **row(own, columns)} for student, own in outcomes.items()]
    return columns, (named(rows, names) if names else rows)


def named(rows: list[dict[str, str]], names: dict[str, str]) -> list[dict[str, str]]:
    """Return the rows with the names that the roster knows, in its order, and one for each who handed in nothing."""
    by_key = {}
    for cells in rows:
        by_key.setdefault(belongs_to(cells["student"], names), []).append(cells)
    found = []
    for key, name in names.items():
        own = by_key.get(key, [{"total": "0", "remark": "nothing handed in"}])
        found += [cells | {"student": name} for cells in own]
    return found + [cells | {"remark": f"not in the roster. {cells['remark']}"} for cells in by_key.get("", [])]


def main(arguments: list[str]) -> int:
    """Grade the folder that the arguments name and return the exit status."""
    parser = argparse.ArgumentParser(prog="grade", description="Looks through a folder of submitted notebooks.")
    parser.add_argument("folder", type=Path, help="one notebook, or one folder of notebooks, for each student")
    parser.add_argument("--lab", default="", help="this lab alone, as 05; else each notebook tells its own")
    parser.add_argument("--roster", type=Path, help="a table: how a submission is called, and the student's name")
    parser.add_argument("--delimiter", default=",", help="between cells of the table; some spreadsheets want ;")
    parser.add_argument("--seconds", type=float, default=60, help="for a notebook (60)")
    parser.add_argument("--gigabytes", type=float, default=2, help="of memory, beyond what PyTorch takes (2)")
    given = parser.parse_args(arguments)
    if not grade_notebook.alone():
        print("Submissions are not shut in here: “What this cannot keep out” in book/instructors.md.", file=sys.stderr)
    try:
        names = roster(given.roster) if given.roster else {}
        columns, rows = grade(ROOT, given.folder, given.lab, names, given.seconds, given.gigabytes)
    except ValueError as error:
        print(error)
        return 1
    path = given.folder.resolve().with_name(f"{given.folder.resolve().name}.csv")
    endings.replace(path, table(rows, columns, given.delimiter))
    print(f"The table is {path}.")
    return 0


if __name__ == "__main__":
    endings.run(main, sys.argv[1:], stopped="What was judged is kept: the same command goes on from there.")

"""Marks a folder of submissions of one lab with otter-grader: a line for each notebook, in one
table.

The rule: otter marks a copy. In it the kernel is the course's own, each exercise is tested right
below its check, with the answer that is there at that moment, each cell begins in the folder in
which the notebook began, and a cell that takes longer than its limit is stopped, so that the other
answers still count. Whatever took points away, or kept a notebook from being marked, has a sentence
in the table. Submissions are not changed.

    make marks LAB=values FROM=handed_in        # writes _build/marks/values.csv
"""

import argparse
import csv
import importlib.util
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ends
import nbformat

from shared import record
from tools import instructor
from tools.exercises import Exercise
from tools.lab import chosen, course, kernel_environment

ROOT = Path(__file__).resolve().parents[1]
SECONDS_A_CELL = 180
SECONDS_A_NOTEBOOK = 1800  # for a cell that not even the alarm stops, in compiled code
# Runs first in each copy. What it stops it writes down, because otter passes on no output of the
# notebook's cells.
FIRST_CELL = """\
import os as _os, pathlib as _pathlib, signal as _signal


class StoppedByMarks(BaseException):
    pass  # no Exception, so that `except Exception` in a loop lets it through


_begin = {{"folder": _os.getcwd(), "cell": ""}}


def _stop(*_):
    with _pathlib.Path({record!r}).open("a") as file:
        file.write(_begin["cell"].strip().split("\\n")[0][:60] + "\\n")
    raise StoppedByMarks


def _before_each_cell(info):
    _begin["cell"] = info.raw_cell
    _os.chdir(_begin["folder"])
    _signal.signal(_signal.SIGALRM, _stop)
    _signal.setitimer(_signal.ITIMER_REAL, {seconds}, 1)


get_ipython().events.register("pre_run_cell", _before_each_cell)
get_ipython().events.register(
    "post_run_cell", lambda result: _signal.setitimer(_signal.ITIMER_REAL, 0)
)
"""


def copy_for_otter(
    submission: nbformat.NotebookNode, exercises: list[Exercise], stopped: Path
) -> dict[str, str]:
    """Change a notebook, in place, to the copy that otter marks; return what is odd about it, by
    exercise.
    """
    odd = {}
    for exercise in exercises:
        own = [
            place for place, cell in enumerate(submission.cells) if is_check_of(cell, exercise.name)
        ]
        if not own:
            odd[exercise.name] = (
                "Its check cell is gone, so the notebook's last definition counts. "
            )
            continue
        check = submission.cells[own[0]]
        check.metadata["otter"] = {"tests": [exercise.name]}  # otter tests below it
        places = [
            place for place, cell in enumerate(submission.cells) if defines(cell, exercise.answer)
        ]
        if not places:
            odd[exercise.name] = f"No cell defines `{exercise.answer}`. "
        elif later := [place for place in places if place > own[0]]:
            odd[exercise.name] = (
                f"Cell {later[0] + 1} defines `{exercise.answer}` below the check, too late. "
            )
        elif len(places) > 1:
            cells = " and ".join(str(place + 1) for place in places)
            odd[exercise.name] = (
                f"Cells {cells} define `{exercise.answer}`, and the last one counts. "
            )
    submission.cells.insert(
        0, nbformat.v4.new_code_cell(FIRST_CELL.format(record=str(stopped), seconds=SECONDS_A_CELL))
    )
    submission.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    return odd


def is_check_of(cell: nbformat.NotebookNode, name: str) -> bool:
    """Say whether a cell calls the check of an exercise."""
    return cell.cell_type == "code" and bool(
        re.search(rf"\bchecks\.{name}(?:\.use)?\(", cell.source)
    )


def defines(cell: nbformat.NotebookNode, answer: str) -> bool:
    """Say whether a cell defines the function or class `answer`."""
    return cell.cell_type == "code" and bool(
        re.search(rf"(?m)^(?:def|class) {answer}\b", cell.source)
    )


def mark(path: Path, exercises: list[Exercise], autograder: Path) -> dict[str, str]:
    """Mark one submission: its row of the table."""
    row = {"submission": path.name, "points": ""} | {exercise.name: "" for exercise in exercises}
    with tempfile.TemporaryDirectory() as folder:
        stopped, copy, results = (
            Path(folder, name) for name in ("stopped", "submission.ipynb", "results.json")
        )
        stopped.touch()
        try:
            notebook = nbformat.read(path, as_version=4)
            odd = copy_for_otter(notebook, exercises, stopped)
        except (
            Exception
        ) as error:  # whatever students send: a PDF, half a file, a notebook of another decade
            return row | {
                "remarks": "Not marked: it cannot be read as a notebook "
                f"({str(error).strip()[:100]})."
            }
        record.write(copy, nbformat.writes(notebook))
        command = [
            sys.executable,
            "-m",
            "otter",
            "run",
            "--no-logo",
            "-a",
            autograder,
            "-o",
            folder,
            copy,
        ]
        options = {"cwd": folder, "env": kernel_environment(ROOT), "timeout": SECONDS_A_NOTEBOOK}
        try:
            run = subprocess.run(command, capture_output=True, text=True, **options)
        except subprocess.TimeoutExpired:
            return row | {
                "remarks": "Not marked: it was still running after "
                f"{SECONDS_A_NOTEBOOK // 60} minutes."
            }
        lines = dict.fromkeys(stopped.read_text("utf-8").splitlines())
        remarks = [
            f"A cell was stopped after {SECONDS_A_CELL} seconds: `{line}`." for line in lines
        ]
        tests = json.loads(results.read_text("utf-8"))["tests"] if results.exists() else []
    scores = {test["name"]: test for test in tests if "score" in test}
    if not scores:
        last = (run.stderr.strip().splitlines() or ["otter said nothing"])[-1][:150]
        why = (
            "its kernel died: out of memory, or `os._exit`?" if "DeadKernel" in run.stderr else last
        )
        return row | {"remarks": " ".join([*remarks, f"Not marked: {why}"])}
    for exercise in exercises:
        test = scores.get(exercise.name, {"score": 0, "output": ""})
        row[exercise.name] = f"{test['score']:g}"
        if test["score"] < exercise.points:
            remarks.append(
                f"{exercise.name}: {odd.get(exercise.name, '')}{sentence_of(test['output'])}"
            )
    total = sum(float(row[exercise.name]) for exercise in exercises)
    return row | {"points": f"{total:g}", "remarks": " ".join(remarks)}


def sentence_of(output: str) -> str:
    """Return the check's own sentence out of what otter prints of a failed test."""
    found = re.findall(r"AssertionError: (.+)", output)
    return found[-1].strip() if found else "It was not tested."


def main(root: Path, name: str, folder: Path) -> int:
    """Mark all notebooks of a folder, write the table, and return the exit status."""
    if not importlib.util.find_spec("otter"):
        raise ValueError(
            f'otter-grader is not installed. Run .venv/bin/pip install "{instructor.OTTER}" -c '
            "constraints.txt"
        )
    (lab,) = chosen(course(root), [name])
    submissions = sorted(
        path for path in folder.glob("*") if path.is_file() and path.name[0] != "."
    )
    if not submissions:
        raise ValueError(
            f"{folder} has no files. Put the submissions there, named for who sent them."
        )
    place = root / "_build/marks"
    place.mkdir(parents=True, exist_ok=True)
    for disk in (place, Path(tempfile.gettempdir())):
        ends.need_room(disk, 50)
    instructor.autograders(root, place / "otter", [lab])
    text = io.StringIO()
    columns = ["submission", "points", *(exercise.name for exercise in lab.exercises), "remarks"]
    table = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    table.writeheader()
    for path in submissions:
        row = mark(path, lab.exercises, place / f"otter/{lab.name}.zip")
        table.writerow(row)
        print(
            f"{row['submission']:<32} {row['points'] or '-':>4}  {row.get('remarks', '')[:100]}",
            flush=True,
        )
        record.write(
            place / f"{lab.name}.csv", text.getvalue()
        )  # what is marked so far survives a stop
    print(f"{len(submissions)} submissions are in {(place / f'{lab.name}.csv').relative_to(root)}.")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Mark a folder of submissions of one lab.")
    parser.add_argument("lab", help="the lab's name, as in `values`")
    parser.add_argument("folder", type=Path, help="the folder that has the submissions")
    given = parser.parse_args()
    sys.exit(main(ROOT, given.lab, given.folder))

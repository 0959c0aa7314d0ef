"""otter-grader itself, unmodified, with one lab: points for what is right alone.

Skipped where otter is not installed: instructors alone need it.
"""

import csv
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import lab_code
import nbformat
import pytest

from tools import instructor, marks, student

ROOT = Path(__file__).resolve().parents[2]
LAB = lab_code.find("your_journey")  # trains nothing
EXERCISES = {exercise.name: exercise for exercise in LAB.exercises}

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("otter"), reason="otter-grader is not installed")


@pytest.fixture(scope="module")
def autograder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("otter")
    instructor.autograders(ROOT, folder, [LAB])
    return folder / f"{LAB.name}.zip"


def right(exercise):
    return exercise.solution


def wrong(exercise):
    return f"def {exercise.answer}(*inputs):\n    return 0"


def unfinished(exercise):
    return exercise.start


@pytest.mark.parametrize(("answer", "share"), [(right, 1), (wrong, 0), (unfinished, 0)])
def test_otter_gives_points_for_right_answers_alone(autograder, tmp_path, answer, share):
    notebook = student.edition(LAB)
    for cell in notebook.cells:
        if cell.metadata.get("exercise") in EXERCISES:
            cell.source = answer(EXERCISES[cell.metadata["exercise"]])
    nbformat.write(notebook, tmp_path / "handed_in.ipynb")
    command = ["-m", "otter", "run", "--no-logo", "-a", autograder, "-o", tmp_path, tmp_path / "handed_in.ipynb"]
    run = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    tests = json.loads((tmp_path / "results.json").read_text())["tests"]
    points = {test["name"]: test["score"] for test in tests if "score" in test}
    assert points == {name: share for name in EXERCISES}, tests


def solved():
    """The student edition with every exercise solved."""
    notebook = student.edition(LAB)
    for cell in notebook.cells:
        if cell.metadata.get("exercise") in EXERCISES:
            cell.source = EXERCISES[cell.metadata["exercise"]].solution
    return notebook


def code(source):
    return nbformat.v4.new_code_cell(source)


def odd_submissions():
    """Eight notebooks as students send them, by name, each with the points that it earns and a part of its remark."""
    first, second, *_ = EXERCISES.values()
    all_points, tested = len(EXERCISES), f"{len(EXERCISES) - 1:g}"
    submissions = {}

    kernel = solved()
    kernel.metadata["kernelspec"] = {"name": "conda-env-ml-py", "display_name": "ML"}
    submissions["kernel"] = kernel, f"{all_points}", ""

    loop = solved()
    loop.cells[place_of(loop, first)].source = "while True:\n    pass"
    submissions["loop"] = loop, tested, "was stopped after 40 seconds: `while True:`"

    stubborn = solved()
    stubborn.cells.insert(
        place_of(stubborn, first), code("while True:\n    try:\n        pass\n    except Exception:\n        pass")
    )
    submissions["stubborn loop"] = stubborn, f"{all_points}", "was stopped after 40 seconds: `while True:`"

    folder = solved()
    folder.cells[place_of(folder, second)].metadata.pop("exercise")  # a missing tag, too
    folder.cells.insert(3, code("import os\nos.chdir('/')"))
    submissions["folder"] = folder, f"{all_points}", ""

    above = solved()
    above.cells[place_of(above, second)].source = second.start
    above.cells.insert(place_of(above, second), code(second.solution))
    submissions["above"] = above, tested, "and the last one counts. "

    reused = solved()
    reused.cells.insert(2, code("1/0"))
    reused.cells.append(code("\n".join(f"{exercise.answer} = 3" for exercise in EXERCISES.values())))
    submissions["reused"] = reused, f"{all_points}", ""

    dead = solved()
    dead.cells.insert(4, code("import os\nos._exit(3)"))
    submissions["dead"] = dead, "", "Not marked: its kernel died"

    submissions["half"] = '{"cells": [', "", "Not marked: it cannot be read as a notebook"
    return submissions


def place_of(notebook, exercise):
    return next(p for p, cell in enumerate(notebook.cells) if cell.metadata.get("exercise") == exercise.name)


def test_eight_odd_submissions_make_one_table_of_eight_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(marks, "SECONDS_A_CELL", 40)
    submissions, handed_in = odd_submissions(), tmp_path / "handed_in"
    handed_in.mkdir()
    for name, (notebook, *_) in submissions.items():
        text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
        (handed_in / f"{name}.ipynb").write_text(text)
    assert marks.main(ROOT, LAB.name, handed_in) == 0
    with (ROOT / f"_build/marks/{LAB.name}.csv").open() as file:
        rows = {Path(row["submission"]).stem: row for row in csv.DictReader(file)}
    assert sorted(rows) == sorted(submissions)
    for name, (_, points, remark) in submissions.items():
        assert rows[name]["points"] == points, rows[name]
        assert remark in rows[name]["remarks"] and (remark or not rows[name]["remarks"]), rows[name]
    assert (handed_in / "half.ipynb").read_text() == '{"cells": [', "submissions are not changed"

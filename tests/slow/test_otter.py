"""otter-grader itself, unmodified, with one lab: points for what is right alone.

Skipped where otter is not installed: instructors alone need it.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import lab_code
import nbformat
import pytest

from tools import instructor, student

ROOT = Path(__file__).resolve().parents[2]
LAB = lab_code.find("your_journey")  # trains nothing
EXERCISES = {exercise.name: exercise for exercise in LAB.exercises}

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("otter"), reason="otter-grader is not installed")


@pytest.fixture(scope="module")
def autograder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("otter")
    instructor.autograders(ROOT, folder, [LAB])
    return folder / f"{LAB.stem}.zip"


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

"""Claims about the copy of a submission that otter marks; tests/slow/test_otter.py runs otter itself."""

import lab_code
import nbformat
import pytest

from tools import marks, student

LAB = lab_code.find("your_journey")
FIRST, SECOND, *_ = LAB.exercises


@pytest.fixture
def submission():
    return student.edition(LAB)


def code(source):
    return nbformat.v4.new_code_cell(source)


def check_of(submission, exercise):
    return next(p for p, cell in enumerate(submission.cells) if marks.is_check_of(cell, exercise.name))


def test_each_exercise_is_tested_right_below_its_check_and_the_kernel_is_the_course_s(submission, tmp_path):
    submission.metadata["kernelspec"] = {"name": "conda-env-ml-py"}
    assert marks.copy_for_otter(submission, LAB.exercises, tmp_path / "stopped") == {}
    tested = [cell.metadata["otter"]["tests"] for cell in submission.cells if "otter" in cell.metadata]
    assert tested == [[exercise.name] for exercise in LAB.exercises]
    assert submission.metadata["kernelspec"]["name"] == "python3"
    assert "pre_run_cell" in submission.cells[0].source and str(tmp_path) in submission.cells[0].source


@pytest.mark.parametrize(
    ("move", "sentence"),
    [
        (lambda s: s.cells.append(code(SECOND.solution)), "below the check, too late"),
        (lambda s: s.cells.insert(check_of(s, SECOND) - 1, code(SECOND.solution)), "and the last one counts"),
        (lambda s: s.cells.pop(check_of(s, SECOND)), "Its check cell is gone"),
        (lambda s: s.cells.pop(check_of(s, SECOND) - 1), f"No cell defines `{SECOND.answer}`"),
    ],
)
def test_what_is_odd_about_an_answer_has_a_sentence(submission, tmp_path, move, sentence):
    move(submission)
    odd = marks.copy_for_otter(submission, LAB.exercises, tmp_path / "stopped")
    assert list(odd) == [SECOND.name] and sentence in odd[SECOND.name]

"""Claims about the copy of a submission that otter marks; tests/slow/test_otter.py runs otter itself."""

import errno
import sys
import types
from pathlib import Path

import lab_code
import nbformat
import pytest

import ends
from tools import instructor, marks, student

ROOT = Path(ends.__file__).parent

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


def test_on_a_full_disk_the_old_autograder_stays_and_the_new_one_is_named(tmp_path, monkeypatch):
    def generate(output_path, **options):
        Path(output_path).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    generates = types.SimpleNamespace(main=generate)
    monkeypatch.setitem(sys.modules, "otter", types.SimpleNamespace(generate=generates))
    monkeypatch.setitem(sys.modules, "otter.generate", generates)
    zipped = tmp_path / f"{LAB.name}.zip"
    zipped.write_bytes(b"old")
    with pytest.raises(OSError) as error:
        instructor.autograders(ROOT, tmp_path, [LAB])
    assert f"{LAB.name}.zip could not be written" in ends.sentence(error.value)
    assert zipped.read_bytes() == b"old" and list(tmp_path.glob("*.zip")) == [zipped]


@pytest.mark.parametrize("full", ["_build/marks", "temporary"])
def test_without_room_nothing_is_marked(tmp_path, monkeypatch, full):
    (tmp_path / "handed_in").mkdir()
    (tmp_path / "handed_in/ada.ipynb").write_text("{}")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(marks.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    monkeypatch.setattr(marks.importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(marks, "course", lambda root: [LAB])

    def no_room(folder, megabytes):
        if folder == tmp_path / full:
            raise OSError(errno.ENOSPC, "No space left on device", str(folder))

    monkeypatch.setattr(ends, "need_room", no_room)
    monkeypatch.setattr(instructor, "autograders", lambda *_: pytest.fail("it began"))
    with pytest.raises(OSError) as error:
        marks.main(tmp_path, LAB.name, tmp_path / "handed_in")
    assert f"{full} could not be written" in ends.sentence(error.value)

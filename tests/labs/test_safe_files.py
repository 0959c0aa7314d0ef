"""Claims about unlucky machines and broken files: a sentence that names the file, and nothing half written."""

import errno
import os
import signal
from pathlib import Path

import check_labs
import identity
import make_labs
import notebooks
import pytest
import safe_files
import small_course
import student

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def lab(tmp_path):
    return small_course.make(tmp_path)


def test_on_a_full_disk_the_old_file_stays_whole_and_is_named(tmp_path, monkeypatch):
    def write_half(path, content):
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "folder/table.csv"
    safe_files.write_whole(file, "before")
    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(SystemExit, match="table.csv: No space left on device"):
        safe_files.run(safe_files.write_whole, file, "after")
    assert [(path.name, path.read_text()) for path in file.parent.iterdir()] == [("table.csv", "before")]


def test_after_ctrl_c_a_tool_says_what_became_of_the_work():
    with pytest.raises(SystemExit, match="Stopped. All is as it was."):
        safe_files.run(lambda: signal.raise_signal(signal.SIGINT), stopped="All is as it was.")


@pytest.mark.parametrize("content", [b"", b"[]", b"<<<<<<< HEAD\n{}", b"\xff"])
def test_a_broken_notebook_is_called_one_and_executed_again(lab, content):
    lab.with_suffix(".ipynb").write_bytes(content)
    (problem,) = check_labs.problems(lab)
    assert "its notebook is broken: run `make labs LAB=11`" in problem


def test_a_text_that_cannot_be_read_is_named(lab, capsys):
    lab.write_bytes(b"# Fa\xe7ade\n")
    assert student.main(lab.parents[1]) == 1 and not make_labs.attempt(lab, again=False)
    assert capsys.readouterr().out.count("labs/11_small.md") == 2


def test_settings_that_cannot_be_read_are_told_what_they_need(lab):
    (lab.parents[1] / "_config.yml").write_text("repository: x")
    with pytest.raises(ValueError, match="_config.yml has to hold `repository:`"):
        identity.read(lab.parents[1])


def test_a_notebook_whose_text_is_gone_is_found():
    texts = {lab.stem for lab in notebooks.labs(ROOT)}
    assert {path.stem for path in (ROOT / "labs").glob("*.ipynb")} == texts, "a notebook without a text is not checked"

"""Claims about how tools end on an unlucky machine or with broken files: a sentence, and nothing half written."""

import errno
import os
import runpy
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import check_labs
import endings
import identity
import make_labs
import notebooks
import pytest
import small_course
import student

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def lab(tmp_path):
    return small_course.make(tmp_path)


def test_on_a_full_disk_the_student_edition_stays_whole_and_the_file_is_named(lab, monkeypatch):
    def write_half(path, content):
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    root = lab.parents[1]
    assert student.main(root) == 0
    before = {path: path.read_bytes() for path in (root / "student").iterdir()}
    small_course.change(lab, "A lab as short", "A lab as brief")
    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(SystemExit, match="11_small.ipynb: No space left on device. Mend that and run this again"):
        endings.run(student.main, root)
    assert {path: path.read_bytes() for path in (root / "student").iterdir()} == before


@pytest.mark.parametrize(("tool", "folder"), [("check_outputs", "_build"), ("student", "student")])
def test_where_nothing_can_be_written_a_tool_names_the_place(lab, tool, folder):
    place = lab.parents[1] / folder
    place.touch()  # a file where a folder should be: root may write anywhere else
    (lab.parents[1] / "tools").mkdir()
    script = shutil.copy(ROOT / f"tools/{tool}.py", lab.parents[1] / "tools")
    with pytest.raises(SystemExit, match=f"{place}.*Mend that and run this again"):
        runpy.run_path(script, run_name="__main__")


def test_after_ctrl_c_a_tool_says_what_became_of_the_work():
    with pytest.raises(SystemExit, match="Stopped. All is as it was."):
        endings.run(lambda: signal.raise_signal(signal.SIGINT), stopped="All is as it was.")


def test_a_locale_that_is_not_utf_8_makes_no_difference(lab):
    small_course.change(lab, "Home.", "Zurück nach Hause → 家")
    code = "import sys, pathlib, student; sys.exit(student.main(pathlib.Path.cwd()))"
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(ROOT / "tools")}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=lab.parents[1], env=os.environ | locale, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert "→ 家".encode() in (lab.parents[1] / "student/11_small.ipynb").read_bytes()


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"null", b'{"nbformat": 99}', b'{"cells": null, "nbformat": 4}', b"<<<<<<< HEAD\n{}", b"\xff"],
)
def test_a_broken_notebook_is_called_one_and_made_anew(lab, content):
    lab.with_suffix(".ipynb").write_bytes(content)
    (problem,) = check_labs.problems(lab)
    assert "its notebook is broken: run `make labs LAB=11`" in problem


@pytest.mark.parametrize(
    "content",
    [b"", b"# Fa\xe7ade\n", b"---\njupytext: [\n---\n\n# Title\n", b"# T\n\n```{code-cell}\n:tags: [a\n\n1\n```\n"],
)
def test_a_text_that_cannot_be_read_is_named(lab, content, capsys):
    lab.write_bytes(content)
    assert student.main(lab.parents[1]) == 1 and not make_labs.attempt(lab, again=False)
    assert capsys.readouterr().out.count("labs/11_small.md") == 2


@pytest.mark.parametrize("content", ["", "repository: x", "repository: {url: https://a.b/c/d}", "title: [", "- 1"])
def test_settings_that_cannot_be_read_are_told_what_they_need(lab, content):
    (lab.parents[1] / "_config.yml").write_text(content)
    with pytest.raises(ValueError, match="_config.yml has to hold `repository:`"):
        identity.read(lab.parents[1])


def test_a_notebook_whose_text_is_gone_is_found():
    texts = {lab.stem for lab in notebooks.labs(ROOT)}
    assert {path.stem for path in (ROOT / "labs").glob("*.ipynb")} == texts, "a notebook without a text is not checked"

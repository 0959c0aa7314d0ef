"""Claims about the grading script: each submission gets its own row, whatever it does, and nobody else notices.

The submissions are student editions of a small lab with other answers. One folder is graded once, with short limits;
the tests look at its table.
"""

import csv
import json
import os
import subprocess
import sys
import time

import grade
import nbformat
import psutil
import pytest
import small_course
import student

DOUBLE = "def double(x):\n    return x + x"
MAP = """class Map(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.project = nn.Linear(d_in, d_out)

    def forward(self, x):
        return self.project(x)"""
SOLVED = {"double": DOUBLE, "linear_map": MAP}
FORGED = """
from shared import check
from shared.check import exercise
import torch
exercise.Verdict.__bool__ = lambda self: True
right = exercise.Verdict("double", "correct", None, "Correct.")
exercise.Exercise.__call__ = lambda *_: right
check.double = lambda answer: right
check = type("Check", (), {"double": staticmethod(lambda answer: right)})
torch.isclose = lambda one, other, **_: torch.ones_like(one, dtype=torch.bool)
"""
HARMLESS = [
    "print('correct ' * 10**7)",
    "x = bytearray(8 * 10**9)",
    "import sys\nsys.exit()",
    "name = input('Your name? ')\nprint(trained)",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()",
    "import os\nos.fork()",
    "%matplotlib inline\n!pip install torch",
    "while True:\n    pass",
]
ASLEEP = "import time\nwhile True:\n    try:\n        {}\n    except BaseException:\n        pass"


def answered(edition, *first, last="", **answers):
    """The notebook with answers in place of starting cells, and code in new cells before all others and at the end."""
    notebook = nbformat.reads(nbformat.writes(edition), as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("exercise") in answers:
            cell.source = answers[cell.metadata["exercise"]]
    notebook.cells[:0] = [nbformat.v4.new_code_cell(code) for code in first]
    notebook.cells.append(nbformat.v4.new_code_cell(last))
    return nbformat.writes(notebook)


def as_colab_saves_it(text):
    """Cells without ids and without metadata of ours: they were opened and saved by a program that drops both."""
    notebook = json.loads(text) | {"nbformat_minor": 0}
    for cell in notebook["cells"]:
        cell.pop("id", None)
        cell["metadata"] = {}
    return json.dumps(notebook)


# What each student hands in, and what the row has to say: the two exercises, and a part of the remark.
SUBMISSIONS = {
    "as handed out": (lambda e: answered(e), "not done yet", "not done yet", ""),
    "harmless": (lambda e: answered(e, *HARMLESS, **SOLVED), "correct", "correct", ""),
    "=HYPERLINK(1)": (lambda e: as_colab_saves_it(answered(e, **SOLVED)), "correct", "correct", ""),
    "squares": (
        lambda e: answered(e, double="def double(x):\n    return x * x", linear_map="class Map(:"),
        "wrong", "wrong", "double: squared; linear_map: SyntaxError",
    ),
    "raises": (
        lambda e: answered(e, double="def double(x):\n    return {}[x]", linear_map=f"%%time\n{MAP}"),
        "wrong", "correct", "double: Your code raises KeyError",
    ),
    "never ends": (
        lambda e: answered(e, "def two():\n    return 2", double="double = lambda x: two() * x",
                           linear_map=MAP.replace("return", "while True:\n            pass\n        return")),
        "correct", "wrong", "never ends",
    ),
    "the lab's class": (
        lambda e: answered(e, double=DOUBLE.replace("x + x", "Course.factor * x"), last="import os\nos._exit(3)"),
        "correct", "not done yet", "status 3",
    ),
    "says correct": (
        lambda e: answered(e, double="def double(x):\n    print('correct')\n    return 'correct'"),
        "wrong", "not done yet", "wrong type",
    ),
    "forges": (
        lambda e: answered(e, FORGED, double=f"def double(x):\n    return x\n{FORGED}"),
        "wrong", "not done yet", "double: ",
    ),
    "hangs": (
        lambda e: answered(e, ASLEEP.format("time.sleep(60)"), **SOLVED),
        "stopped", "stopped", "did not end within 30 seconds",
    ),
    "segfaults": (
        lambda e: answered(e, double=DOUBLE, linear_map="import ctypes\nctypes.string_at(0)"),
        "correct", "stopped", "crashed (SIGSEGV)",
    ),
    "forks": (
        lambda e: answered(e, ASLEEP.format("import os; os.fork() or (os.setsid(), time.sleep(60))"), **SOLVED),
        "stopped", "stopped", "more than 20 processes",
    ),
    "text": (lambda e: "hello", "missing", "missing", "no notebook that can be read"),
    "deep": (lambda e: "[" * 100_000, "missing", "missing", "no notebook that can be read"),
    "other course": (
        lambda e: nbformat.writes(nbformat.v4.new_notebook()), "missing", "missing", "holds no exercise",
    ),
    "essay": (None, "missing", "missing", "is no notebook"),
    "link": (None, "missing", "missing", "is no notebook"),
    "empty": (None, "missing", "missing", "no notebook"),
}  # fmt: skip


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return small_course.make(tmp_path_factory.mktemp("course")).parents[1]


@pytest.fixture(scope="module")
def table(course):
    """The rows of the table by student, graded once."""
    edition = student.edition(course / "labs/11_small.md")
    folder = course / "handed in"
    folder.mkdir()
    for name, (notebook, *_) in SUBMISSIONS.items():
        if notebook:
            (folder / name).mkdir()
            (folder / name / "small.ipynb").write_text(notebook(edition))
    (folder / "empty").mkdir()
    (folder / "essay.pdf").write_text("%PDF")
    (folder / "link.ipynb").symlink_to(folder / "forges/small.ipynb")
    (folder / ".DS_Store").write_text("")
    path = grade.grade(course, folder, "", grade.Limits(seconds=30, cell_seconds=2, gigabytes=2), at_once=2)
    with open(path, newline="", encoding="utf-8") as file:
        return {line["student"].removeprefix("'"): line for line in csv.DictReader(file)}


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_a_submission_gets_its_row_whatever_it_does(table, name):
    _, double, linear_map, remark = SUBMISSIONS[name]
    row = table[name]
    assert (row["double"], row["linear_map"]) == (double, linear_map), row["remark"]
    assert row["total"] == str([double, linear_map].count("correct"))
    assert remark in row["remark"] and (remark or not row["remark"])


def test_the_table_has_one_row_a_student_and_one_column_an_exercise_and_nothing_goes_on(table):
    assert set(table) == set(SUBMISSIONS)
    assert list(table["squares"]) == ["student", "double", "linear_map", "total", "remark"]
    assert table["=HYPERLINK(1)"]["student"] == "'=HYPERLINK(1)", "a spreadsheet would calculate that name"

    def left(process):
        try:
            return grade.MARK in process.environ()
        except psutil.Error:
            return False

    assert not [process for process in psutil.process_iter() if left(process)]


def test_nothing_that_a_spreadsheet_would_calculate_or_break_stands_in_a_cell():
    assert grade.safe(" \t=1+1\n") == "'=1+1" and grade.safe("@SUM(A1)")[0] == "'" and grade.safe("-1")[0] == "'"
    assert grade.safe("Ada Łukasz O'Neil") == "Ada Łukasz O'Neil" and grade.safe("caf\udce9") == "caf?"
    assert "\x1b" not in grade.safe("\x1b[2Jgone") and "\n" not in grade.safe("two\nlines")


def test_of_two_notebooks_of_one_lab_none_counts():
    outcome = {"lab": "11_small", "findings": {"double": ("correct", "")}, "remark": ""}
    row = grade.row([outcome, outcome], {"double": "11_small"})
    assert row["total"] == "0" and "more than one notebook of 11_small" in row["remark"]


@pytest.mark.parametrize(
    ("take", "told"),
    [
        ("[subprocess.Popen([sys.executable, '-c', 'input()'], stdin=-1) for _ in range(21)]", "20 processes"),
        ("x = bytearray(b'1') * 12 * 10**8", "0.1 GB of memory"),
        ("[open(f'{number}', 'w') for number in range(600)]; [open(f'x{n}', 'w') for n in range(1500)]", "its folder"),
    ],
)
def test_what_takes_too_much_is_seen_and_ended_with_all_it_started(tmp_path, take, told):
    code = f"import subprocess, sys\n{take}\nprint('taken', flush=True)\ninput()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {grade.MARK: "ours"}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    process.stdout.readline()
    assert told in grade.excess("ours", tmp_path, gigabytes=0.1)
    grade.end(process, "ours")
    time.sleep(0.05)
    assert not grade.family("ours")


@pytest.mark.parametrize(
    ("made", "number", "sentence"),
    [(False, "", "is no folder"), (True, "", "is empty"), (True, "77", "No exercises in lab 77")],
)
def test_a_folder_or_lab_that_is_not_there_gets_a_sentence_and_no_table(course, tmp_path, made, number, sentence):
    folder = tmp_path / "lab11"
    if made:
        folder.mkdir()
    with pytest.raises(ValueError, match=sentence):
        grade.grade(course, folder, number, grade.Limits(), 1)
    assert not folder.with_suffix(".csv").exists()

"""Claims about the grading script: each submission gets its own row, whatever it does, and nobody else notices.

The submissions are student editions of a small lab with other answers. One folder is graded once, with short limits;
the tests look at its table.
"""

import csv
import json
import signal
import subprocess
import sys
import time

import grade
import nbformat
import psutil
import pytest
import small_course
import student

SOLUTIONS = {
    "double": "def double(x):\n    return x + x",
    "linear_map": """class Map(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.project = nn.Linear(d_in, d_out)

    def forward(self, x):
        return self.project(x)""",
}
RAISES = "def double(x):\n    return {}[x]"
BOTH = {"double": "correct", "linear_map": "correct", "total": "2", "remark": ""}


def answered(edition, first="", last="", **answers):
    """The notebook with answers in place of starting cells, and code in new cells before all others and at the end."""
    notebook = nbformat.reads(nbformat.writes(edition), as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("exercise") in answers:
            cell.source = answers[cell.metadata["exercise"]]
    notebook.cells.insert(0, nbformat.v4.new_code_cell(first))
    notebook.cells.append(nbformat.v4.new_code_cell(last))
    return notebook


def as_colab_saves_it(notebook):
    """Cells without ids and without metadata of ours: they were opened and saved by a program that drops both."""
    notebook = json.loads(nbformat.writes(notebook))
    notebook["nbformat_minor"] = 0
    for cell in notebook["cells"]:
        cell.pop("id", None)
        cell["metadata"] = {}
    return json.dumps(notebook)


# What each student hands in, and what the row has to say: the two exercises, the total, and a part of the remark.
def hostile(edition):
    for_ever = "import time\nwhile True:\n    try:\n        {}\n    except BaseException:\n        pass"
    asleep = for_ever.format("time.sleep(60)")
    first = {
        "hangs": (asleep, "did not end within 30 seconds"),
        "segfaults": ("import ctypes\nctypes.string_at(0)", "crashed (SIGSEGV)"),
        "leaves": ("import os\nos._exit(0)", "left Python before its end (status 0)"),
        "forks": (
            "import os\n" + for_ever.format("os.fork() or (os.setsid(), time.sleep(60))"),
            "more than 20 processes",
        ),
        "fills": (for_ever.format("open(f'{time.monotonic_ns()}.txt', 'w').write('x')"), "filled its folder"),
        "gulps": (
            "import subprocess, sys\ntake = 'x = bytearray(b\"1\") * 10**9; input()'\n"
            "for _ in range(4):\n"
            "    subprocess.Popen([sys.executable, '-c', take], stdin=subprocess.PIPE)\n" + asleep,
            "more than 2 GB of memory",
        ),
    }
    stopped = {"double": "stopped", "linear_map": "stopped", "total": "0"}
    found = {name: (answered(edition, code, **SOLUTIONS), stopped, remark) for name, (code, remark) in first.items()}
    missing = {"double": "missing", "linear_map": "missing", "total": "0"}
    found["text"] = ("hello", missing, "no notebook that can be read")
    found["deep"] = ("[" * 100_000, missing, "no notebook that can be read")
    found["other course"] = (nbformat.v4.new_notebook(), missing, "holds no exercise")
    harmless = {
        "floods the screen": "print('correct ' * 10**7)",
        "asks for too much memory": "x = bytearray(8 * 10**9)",
        "exits": "import sys\nsys.exit()",
        "asks, and wants the lab's variables": "name = input('Your name? ')\nprint(trained)",
        "leaves a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()",
        "forks once": "import os\nos.fork()",
        "magics": "%matplotlib inline\n!pip install torch",
        "dawdles": "while True:\n    pass",
    }
    found |= {name: (answered(edition, code, **SOLUTIONS), BOTH, "") for name, code in harmless.items()}
    found["was saved elsewhere"] = (as_colab_saves_it(answered(edition, **SOLUTIONS)), BOTH, "")
    return found


def other_answers(edition):
    squared = SOLUTIONS | {"double": "def double(x):\n    return x * x"}
    boasts = "def double(x):\n    print('correct')\n    return 'correct'"
    half = {"double": "correct", "linear_map": "not done yet", "total": "1"}
    wrong = {"double": "wrong", "linear_map": "correct", "total": "1"}
    none = {"double": "wrong", "linear_map": "not done yet", "total": "0"}
    forged = """
    from shared import check
    from shared.check import exercise
    import torch
    exercise.Verdict.__bool__ = lambda self: True
    right = exercise.Verdict("double", "correct", None, "Correct.")
    exercise.Exercise.__call__ = lambda *_: right
    check.double = lambda answer: right
    check = type("Check", (), {"double": staticmethod(lambda answer: right)})
    torch.isclose = lambda one, other, **_: torch.ones_like(one, dtype=torch.bool)
    """.replace("\n    ", "\n")
    helper = answered(edition, "def two():\n    return 2", double="double = lambda x: two() * x")
    helped = {"double": SOLUTIONS["double"].replace("x + x", "Course.factor * x")}
    late = answered(edition, **SOLUTIONS, last="import os\nos._exit(3)")
    return {
        "as handed out": (edition, {"double": "not done yet", "linear_map": "not done yet", "total": "0"}, ""),
        "solved": (answered(edition, **SOLUTIONS), BOTH, ""),
        "half": (answered(edition, double=SOLUTIONS["double"]), half, ""),
        "squares": (answered(edition, **squared), wrong, "double: squared"),
        "no Python": (answered(edition, **SOLUTIONS | {"double": "def double(x:"}), wrong, "double: SyntaxError"),
        "raises": (answered(edition, **SOLUTIONS | {"double": RAISES}), wrong, "double: Your code raises KeyError"),
        "a function of her own": (helper, half, ""),
        "a class of the lab": (answered(edition, **helped), half, ""),
        "times it": (answered(edition, double="%%time\n" + SOLUTIONS["double"]), half, ""),
        "says correct": (answered(edition, double=boasts), none, "wrong type"),
        "forges": (answered(edition, forged, double="def double(x):\n    return x"), none, "double: "),
        "forges in the answer": (answered(edition, double="def double(x):\n    return x\n" + forged), none, "double: "),
        "crashes at the end": (late, BOTH, "status 3"),
        "never ends": (answered(edition, double="def double(x):\n    while True:\n        pass"), none, "never ends"),
    }  # fmt: skip


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return small_course.make(tmp_path_factory.mktemp("course")).parents[1]


@pytest.fixture(scope="module")
def expected(course):
    edition = student.edition(course / "labs/11_small.md")
    return hostile(edition) | other_answers(edition)


@pytest.fixture(scope="module")
def table(course, expected):
    """The rows of the table by student, graded once."""
    folder = course / "handed in"
    folder.mkdir()
    for name, (notebook, _, _) in expected.items():
        text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
        (folder / f"{name}.ipynb").write_text(text)
    solved = nbformat.writes(expected["solved"][0])
    (folder / "=HYPERLINK(1)").mkdir()
    (folder / "=HYPERLINK(1)/small.ipynb").write_text(solved)
    (folder / "twice").mkdir()
    (folder / "twice/a.ipynb").write_text(solved)
    (folder / "twice/b.ipynb").write_text(solved)
    (folder / "empty").mkdir()
    (folder / "essay.pdf").write_text("%PDF")
    (folder / "link.ipynb").symlink_to(folder / "solved.ipynb")
    (folder / ".DS_Store").write_text("")
    path = grade.grade(course, folder, "", grade.Limits(seconds=30, cell_seconds=2, gigabytes=2), at_once=2)
    with open(path, newline="", encoding="utf-8") as file:
        return {line["student"]: line for line in csv.DictReader(file)}


NAMES = [*hostile(nbformat.v4.new_notebook()), *other_answers(nbformat.v4.new_notebook())]


@pytest.mark.parametrize("name", NAMES)
def test_a_submission_gets_its_row_whatever_it_does(table, expected, name):
    _, wanted, remark = expected[name]
    row = dict(table[name])
    said = row.pop("remark")
    del row["student"]
    assert row == {column: value for column, value in wanted.items() if column != "remark"}, said
    assert remark in said and (remark or not said)


def test_the_table_has_one_row_a_student_and_one_column_an_exercise(table, expected):
    assert set(table) == {*expected, "'=HYPERLINK(1)", "twice", "empty", "essay", "link"}
    assert list(table["solved"]) == ["student", "double", "linear_map", "total", "remark"]


def test_a_name_that_a_spreadsheet_would_calculate_is_a_text_in_the_table(table):
    assert {column: table["'=HYPERLINK(1)"][column] for column in BOTH} == BOTH
    assert grade.safe(" \t=1+1\n") == "'=1+1" and grade.safe("@SUM(A1)")[0] == "'" and grade.safe("-1")[0] == "'"
    assert grade.safe("Ada Łukasz O'Neil") == "Ada Łukasz O'Neil"
    assert "\x1b" not in grade.safe("\x1b[2Jgone") and "\n" not in grade.safe("two\nlines")
    assert grade.safe("caf\udce9") == "caf?"


@pytest.mark.parametrize(
    ("student", "remark"),
    [("twice", "more than one"), ("empty", "no notebook"), ("essay", "is no notebook"), ("link", "is no notebook")],
)
def test_what_cannot_be_graded_says_why(table, student, remark):
    assert table[student]["total"] == "0" and remark in table[student]["remark"]


def test_nothing_of_a_submission_goes_on_after_its_row_is_written(table):
    def left(process):
        try:
            return grade.MARK in process.environ()
        except psutil.Error:
            return False

    assert not [process for process in psutil.process_iter() if left(process)]


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


def test_an_interrupted_grading_leaves_the_old_table_and_no_process(course, tmp_path):
    folder = tmp_path / "lab11"
    folder.mkdir()
    edition = student.edition(course / "labs/11_small.md")
    (folder / "hangs.ipynb").write_text(nbformat.writes(answered(edition, "import time\ntime.sleep(600)")))
    (tmp_path / "lab11.csv").write_text("as it was")
    code = "import pathlib, sys, endings, grade\ngrade.ROOT = pathlib.Path(sys.argv[1])\n"
    code += "endings.run(grade.main, sys.argv[2:], stopped='No table was written.')"
    running = subprocess.Popen(
        [sys.executable, "-c", code, course, folder],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(small_course.ROOT / "tools")},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    for _ in range(300):
        time.sleep(0.1)
        below = psutil.Process(running.pid).children()
        if below:
            break
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=30)
    assert below and "No table was written" in said
    assert not any(process.is_running() for process in below)
    assert (tmp_path / "lab11.csv").read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []

"""What students hand in, honest and hostile: notebooks of a small lab, and for each what has to come of it.

The rule: a submission is named by what it does. It says which of the three exercises get their points, and what a
remark has to hold. `hand_in` writes them; `look` is the quick look at them, in a process of its own.
"""

import csv
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import psutil
import small_course
import student

TOOLS = small_course.ROOT / "tools"
DOUBLE = "def double(x):\n    return x + x"
TWICE = """class Twice(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.project = nn.Linear(dim, dim)

    def forward(self, x):
        return self.project(x) * 2"""
MAP = """class Map(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.project = nn.Linear(d_in, d_out)

    def forward(self, x):
        y = self.project(x)
        return y"""
TWICE_IN_THE_LAB = small_course.BUILD.split("exercise: twice\n---\n")[1].split("\n```")[0]
SOLVED = {"twice": TWICE, "double": DOUBLE, "linear_map": MAP}
ALL = tuple(SOLVED)
WRONG = "def double(x):\n    return x"
ASLEEP = "import time\nwhile True:\n    try:\n        {}\n    except BaseException:\n        pass"


@dataclass
class Submission:
    """One notebook: what stands in the cells of exercises, in new cells before and behind them, and what it gets."""

    right: tuple[str, ...] = ()
    remark: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)
    text: str | None = None  # in place of a notebook
    changed: object = None  # what becomes of the notebook's cells before it is saved


def solved(*first, last=(), right=ALL, remark="", **answers):
    """All exercises right but for what is said, with more cells in front and behind."""
    return Submission(right, remark, SOLVED | answers, list(first), list(last))


def nearly(*first, last=(), remark="", double=WRONG):
    """One answer wrong, so that all cells are run; the others are right and keep their points."""
    return Submission(("twice", "linear_map"), remark, SOLVED | {"double": double}, list(first), list(last))


def wrong(*first, last=(), remark="double: ", double=WRONG):
    """A wrong answer to one exercise, with whatever is to make it look right."""
    return Submission((), remark, {"double": double}, list(first), list(last))


def finds(*lines, remark=""):
    """A wrong answer that writes into the folder of findings, and leaves before anything is written over it."""
    begin = ["import json, os, pathlib, pickle, torch", "RIGHT = json.dumps({'state': 'correct'})"]
    begin += ["found = pathlib.Path('../found')", "double, given = found / 'double.json', found / 'double.pt'"]
    return wrong(last=["\n".join([*begin, *lines, "os._exit(0)"])], remark=remark)


def without_marks(cells):
    """As a program leaves them that knows neither ids nor our metadata."""
    for cell in cells:
        cell.pop("id", None)
        cell["metadata"] = {}
    return cells


def below_the_stubs(cells):
    """Stubs as they were, each answer in a new cell right below."""
    found = []
    for cell in cells:
        found.append(cell)
        if name := cell["metadata"].get("exercise"):
            found.append(nbformat.v4.new_code_cell(SOLVED[name]))
    return found


def in_a_new_cell(source):
    """The stubs as they were, but one answer in a new cell below its stub, in these words."""

    def changed(cells):
        place = next(i for i, cell in enumerate(cells) if cell["metadata"].get("exercise") == "double")
        return [*cells[: place + 1], nbformat.v4.new_code_cell(source), *cells[place + 1 :]]

    return changed


FORGE = """
from shared import check
from shared.check import exercise
right = exercise.Verdict("double", "correct", None, "Correct.")
exercise.Exercise.__call__ = lambda *_: right
check.double = lambda answer: right
"""
# In front of what kills all that it reaches: the first process of a namespace reaches nobody else's.
SHUT_IN = "import os\nassert os.getpid() == 1, 'not shut in: this would end all that its user runs'\n"
LATER = "import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n        {}\n        os._exit(0)"

HONEST = {
    "as handed out": Submission(remark="twice: not done yet. double: not done yet"),
    "all right": solved(),
    "a lambda": solved(double="double = lambda x: 2 * x"),
    "answers in new cells below the stubs": Submission(ALL, changed=below_the_stubs),
    "answers alone, without any mark": Submission(ALL, answers=SOLVED, changed=without_marks),
    "a helper in a cell further down": solved(
        double="""
            def double(x):
                return plus(x, x)
        """,
        last=["""
            def plus(a, b):
                return a + b
        """],
    ),
    "a layer over two cells": solved(
        linear_map=MAP.partition("\n    def forward")[0],
        last=["def forward(self, x):\n    return self.project(x)\nMap.forward = forward"],
    ),
    "a layer finished by a class of its name": solved(
        linear_map=MAP.partition("\n    def forward")[0],
        last=["class Map(Map):\n    def forward(self, x):\n        return self.project(x)"],
    ),
    "slow experiments of its own": solved("import time\ntime.sleep(100)", "time.sleep(100)", last=["time.sleep(100)"]),
    "a slow experiment in the cell of an answer": solved(double=f"{DOUBLE}\nimport time\ntime.sleep(100)"),
    "an experiment that fails": solved("1 / 0", "print(trained)", "model = undefined"),
    "magics, a question, a shell": solved(
        """
            %matplotlib inline
            !pip install torch
        """,
        """
            %%time
            x = 1
        """,
        "name = input('?')",
    ),
    "prints ten megabytes": solved("print('correct ' * 10**7)"),
    "a magic above an answer": solved(double=f"%%time\n{DOUBLE}"),
    "leaves a thread": solved("import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()"),
    "calls a variable check": solved("check = 3\nshared = 4"),
    "without a bias": solved(linear_map=MAP.replace("d_out)\n\n", "d_out, bias=False)\n\n")),
    "right, then broken further down": solved(last=["def double(x):\n    return 0"]),
    "squared": solved(
        double="""
            def double(x):
                return x * x
        """,
        right=("twice", "linear_map"),
        remark="double: squared",
    ),
    "an error": solved(double="def double(x):\n    return {}[x]", right=("twice", "linear_map"), remark="KeyError"),
    "no Python": solved(
        linear_map="class Map(:",
        right=("twice", "double"),
        remark="linear_map: raises (The cell raises S",
    ),
    "never ends": solved(
        double="""
            def double(x):
                while True:
                    pass
        """,
        right=("twice", "linear_map"),
        remark="double: never ends",
    ),
    "not doubled": solved(twice=TWICE.replace(" * 2", ""), right=("double", "linear_map"), remark="twice: not doubled"),
    "a constant above an answer": solved(double="FACTOR = 2\ndef double(x):\n    return FACTOR * x"),
    "annotated, in a new cell": Submission(
        ("double",), changed=in_a_new_cell("from typing import Any\ndouble: Any = lambda x: 2 * x")
    ),
    "behind an if, in a new cell": Submission(
        ("double",), changed=in_a_new_cell("if True:\n    def double(x):\n        return 2 * x")
    ),
    "waits in the cell of an answer": solved(double=f"{DOUBLE}\nimport asyncio\nawait asyncio.sleep(0)"),
    "the lab itself": Submission(
        ("twice",), "twice: letter for letter the course's", {"twice": TWICE_IN_THE_LAB}
    ),
    "=HYPERLINK(1)": solved(),
    "Łukasz; O'Neil 😀": solved(),
}  # fmt: skip

HOSTILE = {
    "says correct": wrong(double="def double(x):\n    print('correct')\n    return 'correct'"),
    "forges the verdict": wrong(FORGE, double=f"{WRONG}\nclass Forge:\n" + textwrap.indent(FORGE, "    ")),
    "forges it while it is judged": wrong(
        double="""
            def double(x):
                import shared.check.exercise as e
                e.compare.compare = lambda *_: None
                return x
        """,
    ),
    "forges the comparison": wrong(
        """
            import torch
            torch.isclose = lambda a, *_, **__: torch.ones_like(a, dtype=torch.bool)
        """,
    ),
    "knows the cases by heart": wrong(
        "from shared import check",
        double="known = [case.inputs['x'] for case in check.double.cases]\ndef double(x):\n"
        "    return 2 * x if any(x.shape == k.shape and torch.allclose(x, k) for k in known) else x",
        remark="double: wrong for other inputs",
    ),
    "hands in the course's own": wrong(double="from shared.check.small import double"),
    "takes the solution from the check": wrong("from shared import check", double="double = check.double.solution"),
    "the course's class by use": Submission((), "twice: ", {"twice": "Twice = check.twice.use(None)"}),
    "calls itself correct by its class": wrong(
        double="class Right:\n    __module__ = 'x'\n    def __call__(self, x):\n        return self\n"
        "    def __eq__(self, other):\n        return True\ndouble = Right()"
    ),
    "writes its own finding": finds("double.write_text(RIGHT)", remark="double: wrong for other inputs"),
    "writes what it gave, too": finds(
        "double.write_text(RIGHT)", "torch.save([{'gives': torch.zeros(3, 2)}, {'gives': torch.zeros(5)}], given)",
        remark="double: wrong for other inputs",
    ),
    "a pickle that runs code": finds(
        "class Run:", "    def __reduce__(self):", "        return os.system, ('kill $PPID',)",
        "double.write_text(RIGHT)", "given.write_bytes(pickle.dumps([Run(), Run()]))",
    ),
    "a number for a finding": finds("[(found / f'{n}.json').write_text('5') for n in ('lab', 'end', 'double')]"),
    "a finding that is deep": finds("double.write_text('[' * 10**5)"),
    "a pipe for a finding": finds("double.unlink()", "os.mkfifo(double)"),
    "a device for a finding": finds("double.unlink()", "double.symlink_to('/dev/zero')"),
    "a huge finding": finds("os.truncate(double, 90_000_000)"),
    "a folder for a finding": finds("double.unlink()", "double.mkdir()"),
    "findings without a name": finds("found.rename('../gone')"),
    "findings somewhere else": finds("found.rename('../gone')", "os.symlink('/', '../found')"),
    "gives what unpacks to gigabytes": finds(
        "import io, zipfile", "double.write_text(RIGHT)",
        "torch.save([{'gives': torch.zeros(10**8)}] * 2, whole := io.BytesIO())",
        "with zipfile.ZipFile(whole) as large, zipfile.ZipFile(given, 'w', zipfile.ZIP_DEFLATED) as small:",
        "    [small.writestr(name, large.read(name)) for name in large.namelist()]",
        remark="double: wrong for other inputs",
    ),
    "gives a tensor as large as it likes": finds(
        "double.write_text(RIGHT)", "torch.save([{'gives': torch.zeros(1).expand(10**12)}] * 2, given)",
        remark="double: wrong for other inputs",
    ),
    "gives no numbers": finds(
        "double.write_text(RIGHT)", "torch.save([{'gives': torch.full((3, 2), torch.nan)}] * 2, given)",
        remark="double: wrong for other inputs",
    ),
    "a finding full of formulas": finds(
        r"double.write_text(json.dumps({'state': 'wrong', 'mistake': '=1+1;=2\n\x1b[2J'}))", remark="double: =1+1,=2"
    ),
    "says another lab": finds("(found / 'lab.json').write_text(json.dumps('../../etc'))"),
    "deletes what was found": wrong(last=["import shutil\nshutil.rmtree('../found')"], remark=""),
    "deletes its folder": nearly(last=["import os, shutil\nshutil.rmtree(os.getcwd())"]),
    "rewrites its course": wrong(
        """
            import pathlib
            for path in pathlib.Path('..').rglob('*.py'):
                path.write_text('')
        """,
    ),
    "kills its parent": nearly("import os\nos.kill(os.getppid(), 9)"),
    "kills whoever it can": nearly(f"{SHUT_IN}os.kill(-1, 9)"),
    "kills all it sees": nearly(
        f"{SHUT_IN}import psutil\nfor process in psutil.process_iter():\n    if process.pid != os.getpid():\n"
        "        try:\n            process.kill()\n        except Exception:\n            pass"
    ),
    "leaves Python": wrong("import os\nos._exit(0)", remark="left Python"),
    "leaves Python with a number": wrong("import os\nos._exit(3)", remark="status 3"),
    "exits": nearly("import sys\nsys.exit()", "raise KeyboardInterrupt", "raise BaseException"),
    "segfaults": wrong("import ctypes\nctypes.string_at(0)", remark="crashed (SIGSEGV)"),
    "aborts": wrong("import os\nos.abort()", remark=""),
    "stops itself": wrong(
        """
            import os, signal
            os.kill(os.getpid(), signal.SIGSTOP)
            import time
            while True:
                try:
                    time.sleep(60)
                except BaseException:
                    pass
        """,
        remark="did not end within",
    ),
    "hangs": wrong(ASLEEP.format("time.sleep(60)"), remark="did not end within"),
    "turns the alarm off": wrong(
        """
            import signal
            signal.setitimer(signal.ITIMER_REAL, 0)
            while True:
                pass
        """,
        remark="did not end within",
    ),
    "forks": wrong(
        """
            import time
            while True:
                try:
                    import os; os.fork() or (os.setsid(), time.sleep(60))
                except BaseException:
                    pass
        """,
        remark="more than 20 processes",
    ),
    "stops its parent": wrong("import os\nos.kill(os.getppid(), 19)", remark="did not end within"),
    "forks and goes on": nearly("import os\nos.fork()"),
    "leaves a process behind": nearly(LATER.format("time.sleep(300)")),
    "takes memory": nearly("x = bytearray(20 * 10**9)"),
    "takes memory in processes": wrong(
        """
            import os, time
            for _ in range(4):
                if not os.fork():
                    x = bytearray(b'1') * 15 * 10**8
                    break
            while True:
                try:
                    time.sleep(60)
                except BaseException:  # filling so much may take a busy machine longer than a cell has
                    pass
        """,
        remark="GB of memory",
    ),
    "fills the disk": wrong(
        """
            import time
            for n in range(9):
                open(str(n), 'wb').write(bytes(9 * 10**7))
            time.sleep(60)
        """,
        remark="filled its folder",
    ),
    "nests folders": nearly("import os\nfor _ in range(1500):\n    os.mkdir('x')\n    os.chdir('x')"),
    "makes a thousand folders": wrong(
        """
            import os, time
            for n in range(3000):
                os.mkdir(str(n))
            time.sleep(60)
        """,
        remark="filled its folder",
    ),
    "recurses": nearly("def f():\n    return f()\nf()", "x = 10 ** 10 ** 9"),
    "an error that cannot be said": nearly(
        double="""
            class E(Exception):
                def __str__(self):
                    raise self
            def double(x):
                raise E
        """,
        remark="double: ",
    ),
    "closes every file": wrong(
        """
            import os
            for n in range(100):
                try:
                    os.close(n)
                except OSError:
                    pass
        """,
        remark="",
    ),
    "is not there to be asked": wrong(
        double="""
            class Double:
                @property
                def __module__(self):
                    raise SystemExit
            double = Double()
        """,
        remark="",
    ),
}  # fmt: skip

FILES = {
    "hello": Submission(text="hello", remark="no notebook that can be read"),
    "deep": Submission(text="[" * 100_000, remark="no notebook that can be read"),
    "null": Submission(text="null", remark="no notebook that can be read"),
    "cells of numbers": Submission(text='{"cells": [1, 2]}', remark="no notebook that can be read"),
    "a source of numbers": Submission(text='{"cells": [{"cell_type": "code", "source": 5}]}', remark="no notebook"),
    "nothing": Submission(text="", remark="no notebook that can be read"),
    "another course": Submission(text=nbformat.writes(nbformat.v4.new_notebook()), remark="holds no exercise"),
    "a byte-order mark in front": Submission(text='\ufeff{"cells": []}', remark="holds no exercise"),
    "bytes": Submission(text="\x00\x01", remark="no notebook that can be read"),
}
EVERY = HONEST | HOSTILE | FILES
# Those for every day: one of each kind, and what is quick.
DAILY = (
    "answers in new cells below the stubs", "slow experiments of its own", "squared", "the lab itself",
    "=HYPERLINK(1)", "forges the verdict", "knows the cases by heart", "the course's class by use",
    "writes what it gave, too", "kills all it sees", "leaves a process behind", "deep",
)  # fmt: skip


def text_of(submission, edition):
    """The notebook's file."""
    if submission.text is not None:
        return submission.text
    notebook = nbformat.reads(nbformat.writes(edition), as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("exercise") in submission.answers:
            cell.source = textwrap.dedent(submission.answers[cell.metadata["exercise"]]).strip()
    notebook.cells[:0] = [nbformat.v4.new_code_cell(textwrap.dedent(code).strip()) for code in submission.first]
    notebook.cells += [nbformat.v4.new_code_cell(textwrap.dedent(code).strip()) for code in submission.last]
    plain = json.loads(nbformat.writes(notebook))
    if submission.changed:
        plain["cells"] = submission.changed(plain["cells"])
    return json.dumps(plain)


def make_course(root: Path) -> Path:
    """Write the small course and return its root."""
    return small_course.make_to_build(root).parents[1]


def hand_in(course: Path, folder: Path, names) -> None:
    """Write submissions into a folder, each under its name."""
    (lab,) = (course / "labs").glob("*.md")
    edition = student.edition(lab)
    folder.mkdir()
    for name in names:
        (folder / f"{name}.ipynb").write_text(text_of(EVERY[name], edition), "utf-8")


def look(course: Path, folder: Path, *arguments: str, alone: bool = True, timeout: float = 3000):
    """Look through a folder as `make grade` does, for the course below `course`; `alone`: with Linux's namespaces."""
    code = "import sys, pathlib, endings, grade, grade_notebook\ngrade.ROOT = pathlib.Path.cwd()\n"
    code += "" if alone else "grade_notebook.alone = lambda: []\n"
    code += "endings.run(grade.main, sys.argv[1:], stopped='All is kept.')"
    environment = os.environ | {"PYTHONPATH": str(TOOLS), "OMP_NUM_THREADS": "1", "TMPDIR": str(folder.parent)}
    return subprocess.run(
        [sys.executable, "-c", code, str(folder), *arguments], cwd=course, env=environment, text=True, timeout=timeout,
        capture_output=True, start_new_session=True,
    )  # fmt: skip


def rows(folder: Path) -> dict[str, dict[str, str]]:
    """The rows of a folder's table by student."""
    with open(folder.with_name(f"{folder.name}.csv"), newline="", encoding="utf-8-sig") as file:
        return {line["student"].removeprefix("'"): line for line in csv.DictReader(file)}


def hold(name: str, row: dict[str, str]) -> None:
    """Raise AssertionError unless a submission got its points, no more, and its remark."""
    submission = EVERY[name]
    assert tuple(e for e in ALL if row[f"{e} (1)"] != "0") == submission.right, row
    assert submission.remark in row["remark"], row
    assert row["total"] == str(len(submission.right))


def left_behind(place: Path) -> list[psutil.Process]:
    """Processes that live, and that a submission below this folder started: each runs in a folder made for judging."""
    found = []
    for process in psutil.process_iter():
        try:
            if f"{place}/judged-" in " ".join([*process.cmdline(), process.environ().get("TMPDIR", "")]):
                found.append(process)
        except psutil.Error:
            continue
    return found

"""Claims about the quick look and otter's tests: each submission gets its own row, whatever it does, and only for what
is right.

What students hand in stands in tests/submissions.py. Here a few of each kind run; tests/slow/test_every_submission.py
runs all of them, and otter itself.
"""

import json
import os
import subprocess
import sys

import grade
import grade_notebook
import pytest
import small_course
import submissions
from submissions import DAILY, EVERY

ROSTER = "lovelace,Ada Lovelace\nbob,Bob\n"
PATIENT = "--seconds", "300"  # none of these waits for its limit, and the machine may be busy with others


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return submissions.make_course(tmp_path_factory.mktemp("course") / "course")


@pytest.fixture(scope="module")
def table(course):
    """The rows by student, in the order of the table, judged once."""
    folder = course.parent / "handed in"
    submissions.hand_in(course, folder, DAILY)
    looked = submissions.look(course, folder, *PATIENT)
    assert looked.returncode == 0, looked.stdout + looked.stderr
    assert looked.stdout.startswith(f"  1 of {len(DAILY)}: "), "no progress is told"
    return submissions.rows(folder)


@pytest.mark.parametrize("name", DAILY)
def test_a_submission_gets_its_row_whatever_it_does(table, name):
    submissions.hold(name, table[name])


def test_nothing_of_a_submission_goes_on(course, table):
    assert not submissions.left_behind(course.parent)
    assert not list(course.parent.glob("judged-*")), "a folder of a submission was left"


def test_the_list_is_long_enough_and_no_name_stands_twice():
    assert len(EVERY) >= 60 and set(DAILY) <= set(EVERY)
    assert len(EVERY) == sum(map(len, (submissions.HONEST, submissions.HOSTILE, submissions.FILES)))


def test_the_table_is_marked_as_utf_8_and_every_cell_stands_in_quotes(course, table):
    text = (course.parent / "handed in.csv").read_bytes().decode("utf-8")
    assert text.startswith('\ufeff"student","twice (1)","double (1)","linear_map (1)","total","remark"\r\n')
    assert '\n"\'=HYPERLINK(1)",' in text, "a spreadsheet would calculate that name"
    assert ";" not in text, "a spreadsheet that splits at ; would begin a cell there"


def test_nothing_that_a_spreadsheet_would_calculate_or_break_stands_in_a_cell():
    assert grade.safe(" \t=1+1\n") == "'=1+1" and grade.safe("@SUM(A1)")[0] == "'" and grade.safe("-1")[0] == "'"
    assert grade.safe("Ada Łukasz O'Neil") == "Ada Łukasz O'Neil" and grade.safe("caf\udce9") == "caf?"
    assert "\x1b" not in grade.safe("\x1b[2Jgone") and "\n" not in grade.safe("two\nlines")
    assert grade.safe("fine;=1+1") == "fine,=1+1" and grade.safe('"=1+1"')[0] == "'"


def test_whatever_has_no_notebook_gets_a_row_and_what_was_judged_or_ended_a_run_is_not_run_again(course, tmp_path):
    folder = tmp_path / "in"
    submissions.hand_in(course, folder, ["a lambda", "bytes"])
    for nested in ("empty", "/".join(["nested"] * 60)):
        (folder / nested).mkdir(parents=True)
    (folder / "empty/._notebook.ipynb").write_bytes(b"what a Mac packs beside each file")
    (folder / "essay.pdf").write_text("%PDF")
    (folder / "link.ipynb").symlink_to(folder / "a lambda.ipynb")
    (folder / ".DS_Store").write_text("")
    subprocess.run(["mkfifo", folder / "pipe.ipynb"], check=True)
    assert submissions.look(course, folder, *PATIENT).returncode == 0
    rows = submissions.rows(folder)
    assert rows["a lambda"]["total"] == "3"
    remarks = {name: row["remark"] for name, row in rows.items() if name != "a lambda"}
    assert all("no notebook" in remark for remark in remarks.values()), remarks
    assert remarks["empty"] == "no notebook in this folder"
    assert set(remarks) == {"bytes", "empty", "essay", "link", "nested", "pipe"}

    kept = folder.with_name("in.judged.json")
    kept.write_text(kept.read_text().replace('"correct"', '"wrong"'))
    (folder / "late.ipynb").write_bytes((folder / "a lambda.ipynb").read_bytes())
    assert submissions.look(course, folder, *PATIENT).returncode == 0
    totals = {name: row["total"] for name, row in submissions.rows(folder).items()}
    assert (totals["a lambda"], totals["late"]) == ("0", "3"), "only what is new is judged"

    kept.write_text(json.dumps(dict.fromkeys(json.loads(kept.read_text()), 2)))  # each ended the whole run, twice
    _, rows = grade.grade(course, folder, "", {}, float(PATIENT[1]), 2)
    remarks = {row["student"]: row["remark"] for row in rows}
    assert all("it ended the whole run, twice" in remarks[name] for name in ("a lambda", "late")), "run a third time"


def test_a_roster_names_students_and_those_who_handed_in_nothing(tmp_path):
    (tmp_path / "roster.csv").write_text("\ufeff" + ROSTER.replace(",", ";"), "utf-8")
    names = grade.roster(tmp_path / "roster.csv")
    rows = [{"student": student, "total": "1", "remark": ""} for student in ("lovelace_4711_lab04", "eve")]
    found = [(row["student"], row["total"], row["remark"]) for row in grade.named(rows, names)]
    assert found == [
        ("Ada Lovelace", "1", ""), ("Bob", "0", "nothing handed in"), ("eve", "1", "not in the roster. "),
    ]  # fmt: skip
    (tmp_path / "roster.csv").write_text("Ada\n")
    with pytest.raises(ValueError, match="how a submission is called"):
        grade.roster(tmp_path / "roster.csv")


def test_of_two_notebooks_of_one_lab_the_better_answer_counts():
    def judged(state):
        return grade_notebook.Judged("11_small", {"double": {"state": state, "mistake": "", "sentence": ""}})

    row = grade.row([judged("correct"), judged("wrong")], {"double": ("11_small", 2)})
    assert (row["double"], row["total"]) == ("2", "2") and "2 notebooks of 11_small" in row["remark"]


def test_points_stand_with_the_exercise_and_are_one_by_default(tmp_path):
    lab = small_course.make_to_build(tmp_path)
    small_course.change(lab, "exercise: double\n", "exercise: double\npoints: 2.5\n")
    points = {e["name"]: e["points"] for e in grade.plan(tmp_path)["11_small"]["exercises"]}
    assert points == {"twice": 1, "double": 2.5, "linear_map": 1}
    small_course.change(lab, "points: 2.5", "points: many")
    with pytest.raises(ValueError, match=r"labs/11_small.md, line \d+: exercise `double` is to give 'many' points"):
        grade.plan(tmp_path)


@pytest.mark.parametrize(
    ("made", "number", "sentence"),
    [(False, "", "is no folder"), (True, "", "is empty"), (True, "77", "No exercises in lab 77")],
)
def test_a_folder_or_lab_that_is_not_there_gets_a_sentence_and_no_table(course, tmp_path, made, number, sentence):
    folder = tmp_path / "lab11"
    if made:
        folder.mkdir()
    with pytest.raises(ValueError, match=sentence):
        grade.grade(course, folder, number, {}, 60, 2)
    assert not folder.with_suffix(".csv").exists()


def test_otter_s_tests_give_the_check_s_sentence_and_hold_back_what_is_wrong_for_other_inputs(course, tmp_path):
    """What otter would do in its kernel, with the files of an autograder; otter itself runs in tests/slow."""
    names = ["squared", "knows the cases by heart", "deep"]
    submissions.hand_in(course, tmp_path / "in", names)
    (tmp_path / "course.zip").write_bytes(grade.pack(course, grade.plan(course)))
    code = """
import json, pathlib, sys, types
sys.modules["otter"] = types.ModuleType("otter")
sys.modules["otter.plugins"] = types.SimpleNamespace(AbstractOtterPlugin=object)
import otter_answers
said = {}
for name in sys.argv[1:]:
    pathlib.Path("handed in.ipynb").write_bytes(pathlib.Path(f"in/{name}.ipynb").read_bytes())
    otter_answers.findings.cache_clear()
    for exercise, others in (("double", False), ("double", True), ("twice", True)):
        try:
            otter_answers.check("11_small", exercise, others)
            said[f"{name}: {exercise} {others}"] = ""
        except AssertionError as error:
            said[f"{name}: {exercise} {others}"] = str(error)
print(json.dumps(said))
"""
    answer = subprocess.run(
        [sys.executable, "-c", code, *names], cwd=tmp_path, env={"PYTHONPATH": str(submissions.TOOLS)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    said = json.loads(answer.stdout.splitlines()[-1])
    assert said["squared: double False"] == "You squared x. Read again: Lab 11, “A long training”."
    assert said["squared: twice True"] == ""
    assert said["knows the cases by heart: double False"] == ""
    assert "wrong for other inputs" in said["knows the cases by heart: double True"]
    assert "no notebook that can be read" in said["deep: double False"]


def test_for_inputs_drawn_anew_a_right_answer_in_any_style_keeps_its_marks_and_a_mistake_does_not(tmp_path):
    """The right answers of tests/quick, as the worker and the judge see them; the solutions, as the checks do."""
    code = """
import pathlib, sys, zipfile
import numpy, torch
from scipy import stats
import grade, grade_notebook, grade_worker, small_course
from right_answers import RIGHT
course = grade.pack(small_course.ROOT, grade.plan(small_course.ROOT))
found = grade_notebook.exercises(course)
from shared.check.mistakes import edits
print([name for name, each in found.items() if not each(each.solution)])
print([name for name, each in found.items() if each.mistakes and each(each.edited[0][1])])
tried, refused, file = 0, [], pathlib.Path(sys.argv[1])
for name, styles in RIGHT.items():
    for style in edits(styles):
        names = {"torch": torch, "nn": torch.nn, "np": numpy, "stats": stats}
        names |= vars(sys.modules[found[name].solution.__module__])
        exec(style.edited(found[name].source), names)
        answer = names[found[name].solution.__name__]
        torch.save(grade_worker.outputs(found[name], answer, grade_notebook.draw(course, name)), file)
        tried += 1
        refused += [] if grade_notebook.right(course, name, file) else [(name, style.name)]
with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as large:
    large.writestr(large.namelist()[0].partition("/")[0] + "/data/99", bytes(grade_notebook.FOUND_BYTES))
print(grade_notebook.right(course, name, file))
print(tried, refused)
"""
    paths = os.pathsep.join(str(small_course.ROOT / folder) for folder in ("tools", "tests", "tests/quick"))
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, tmp_path / "given"], cwd=small_course.ROOT / "book",
        env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    wrong_solutions, right_mistakes, *_, packed, last = answer.stdout.splitlines()
    assert wrong_solutions == right_mistakes == "[]"
    tried, refused = last.split(" ", 1)
    assert int(tried) > 100 and refused == "[]"
    assert packed == "False", "a small file that unpacks to as many bytes as it likes was opened"


def test_every_name_in_the_table_is_explained(course):
    import instructor

    key = instructor.answer_key(small_course.ROOT, {})
    names = set(grade.SAID) | {"raises", "never ends", "returns nothing", "wrong shape"}
    assert all(f"**{name}**\n: " in key for name in names)

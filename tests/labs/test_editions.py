"""Claims about the editions: students get no solution and a notebook that runs; instructors get all of it."""

import contextlib
import re
import sys
import types
from pathlib import Path

import exercises
import identity
import instructor
import lab_code
import make_labs
import nbformat
import notebooks
import planted
import pytest
import small_course
import student

ROOT = Path(__file__).resolve().parents[2]
LABS = notebooks.labs(ROOT)
change = small_course.change


@pytest.fixture
def lab(tmp_path):
    return small_course.make(tmp_path)


def text_of(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


# --- the student edition -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem)
def test_a_student_edition_holds_no_solution_no_answer_and_no_output_and_keeps_all_else(lab):
    notebook = student.edition(lab)
    text, found = text_of(notebook), exercises.read(lab)
    for exercise in found:
        assert exercise.solution not in text, f"{exercise.name} can be read"
        assert not exercise.why or exercise.why not in text, f"{exercise.name}: why can be read"
        assert exercise.hint in text and exercise.start in text and exercise.check in text
    last = [question for question in exercises.questions(lab) if question.section == "Questions"]
    assert not [question.text for question in last if question.answer in text]
    assert "<summary>Solution</summary>" not in text
    assert not any(cell.outputs or cell.execution_count for cell in notebooks.code_cells(notebook))

    ids, before = [cell.id for cell in notebook.cells], notebooks.generate(lab)
    assert len(set(ids)) == len(ids), "nbformat would give a cell another id, without a word"
    nbformat.validate(notebook)
    assert [id for id in ids if "-part-" not in id] == [cell.id for cell in before.cells]
    starts = {exercise.start_id: exercise.start for exercise in found}
    for now, was in zip(notebooks.code_cells(notebook), notebooks.code_cells(before), strict=True):
        assert now == was | {"source": starts.get(was.id, was.source)}

    names = identity.read(ROOT)
    assert f"]({names['colab']}/student/{lab.stem}.ipynb)" in text
    assert f"{names['colab']}/labs" not in text and f"{names['site']}/labs" not in text and "../labs" not in text


@pytest.mark.parametrize("lab", notebooks.taught(ROOT), ids=lambda lab: lab.stem)
def test_the_student_edition_in_the_repository_is_made_from_the_lab_s_text(lab):
    file = student.file_of(lab)
    fresh = file.is_file() and file.read_text("utf-8") == student.text_of(lab)
    assert fresh, f"student/{file.name} is not what labs/{lab.name} makes: run `make student`."
    assert file.stat().st_size < 200_000, "a notebook without outputs is small"


def test_the_student_edition_in_the_repository_follows_toc_yml():
    there = {path.stem for path in (ROOT / "student").glob("*.ipynb")}
    assert there == {lab.stem for lab in notebooks.taught(ROOT)}, "run `make student`"


@pytest.mark.parametrize(
    ("setting", "leads_to"),
    [
        ("class/2026/", f"{identity.read(ROOT)['colab']}/class/2026"),
        ("https://github.com/you/a-class/blob/main", "https://colab.research.google.com/github/you/a-class/blob/main"),
    ],
)
def test_the_button_leads_where_the_settings_say(lab, setting, leads_to):
    change(lab.parents[1] / "_config.yml", "student_edition: student", f"student_edition: {setting}")
    assert f"]({leads_to}/11_small.ipynb)" in text_of(student.edition(lab))


def test_a_place_that_colab_cannot_open_is_refused(lab, capsys):
    change(lab.parents[1] / "_config.yml", "student_edition: student", "student_edition: https://example.org/class")
    assert student.main(lab.parents[1]) == 1
    assert "https://github.com/you/your-class/blob/main" in capsys.readouterr().out
    assert not (lab.parents[1] / "student").exists()


@pytest.mark.parametrize("make", [small_course.make, small_course.make_to_build])
def test_where_a_solution_stood_there_is_a_place_to_write_which_otter_prints_with_its_question(tmp_path, make):
    lab = make(tmp_path)
    text = text_of(student.edition(lab))
    assert "secret" not in text and "the kept answer" in text, "the story's own folds stay, solutions go"
    assert re.search(r"\]\(https://[^)]*/book/notation\.html\)", text)
    first, *printed = text.split(student.BEGIN)
    printed = [part.split(student.END) for part in printed]
    folded = [exercise for exercise in exercises.read(lab) if exercise.kind != "build" or exercise.why]
    assert folded and len(printed) == len(folded) + 1 and student.END not in first
    for exercise, (part, _) in zip(folded, printed, strict=False):
        assert part.strip().startswith("### Exercise"), "the heading is printed"
        assert all(text in part for text in (exercise.statement, exercise.start, exercise.check, student.WHY))
    assert printed[-1][0].strip() == f"**1.** Is it?\n{student.ANSWER}"


def test_every_lab_on_the_list_of_pages_is_written_and_a_malformed_exercise_stops_that(lab, capsys):
    root, written = lab.parents[1], lab.parents[1] / "student"
    lab.with_name("12_plain.md").write_text(small_course.LAB[: small_course.LAB.index("## Exercises")])
    written.mkdir()
    (written / "10_gone.ipynb").write_text("a lab of before")
    assert student.main(root) == 0
    assert sorted(path.name for path in written.iterdir()) == ["11_small.ipynb", "12_plain.ipynb"]
    before = (written / "11_small.ipynb").read_bytes()
    change(lab, "<summary>Hint</summary>", "<summary>Nudge</summary>")
    assert student.main(root) == 1
    assert "labs/11_small.md, line" in capsys.readouterr().out
    assert (written / "11_small.ipynb").read_bytes() == before
    change(lab, "<summary>Nudge</summary>", "<summary>Hint</summary>")
    (root / "_toc.yml").write_text("chapters:\n  - file: labs/12_plain.ipynb\n  # - file: labs/11_small\n")
    assert [path.stem for path in notebooks.taught(root)] == ["12_plain"] == [p.stem for p in exercises.taught(root)]
    assert student.main(root) == 0
    assert [path.name for path in written.iterdir()] == ["12_plain.ipynb"]


def test_a_lab_brings_its_student_edition_with_it_and_keeps_one_that_somebody_worked_in(lab, monkeypatch, capsys):
    monkeypatch.setattr(make_labs, "bring_up_to_date", lambda *_: "executed")
    monkeypatch.setattr(make_labs.check_labs, "problems", lambda _: [])
    written, kept = (lab.parents[1] / folder / "11_small.ipynb" for folder in ("student", "yours/student"))
    assert make_labs.attempt(lab, False) and written.read_text() == student.text_of(lab)
    change(lab, "A lab as short", "A lab just as short")
    assert make_labs.attempt(lab, False) and "just as short" in written.read_text() and not kept.exists()
    change(written, "your turn", "my answer")
    assert make_labs.attempt(lab, False) and "my answer" not in written.read_text() and "my answer" in kept.read_text()
    assert "is kept as yours/student/11_small.ipynb" in capsys.readouterr().out


def test_an_edition_runs_to_its_end_with_what_its_reader_wrote_where_that_is_right_and_else_with_the_course_s():
    """Of lab 6, which trains nothing: one layer is written by the reader, all else is as it was handed out."""
    lab = ROOT / "labs/06_your_journey.md"
    notebook = planted.edition(lab, ["batched_attention"])
    make_labs.execute(ROOT / "student" / lab.name, notebook)
    said, calls = planted.said(notebook), planted.calls(notebook)
    for exercise in exercises.read(lab):
        verdict, written = said[exercise.check_id], exercise.name == "batched_attention"
        assert ("The lab goes on with yours." in verdict) == written
        assert verdict.startswith("Not done yet") == (exercise.kind != "debug" and not written), exercise.name
        goes_on = "Until it is right, the lab goes on with the course's" in verdict
        assert goes_on == (exercise.kind == "build" and not written)
    assert calls["batched_attention"] > 0, "no cell below calls what the reader wrote"


# --- the instructors' kit ----------------------------------------------------------------------------------------


def test_the_answer_key_holds_every_solution_and_every_answer_and_the_plan_every_lab():
    course = {lab: exercises.read(lab) for lab in LABS}
    key, plan = instructor.answer_key(course), instructor.teaching_plan(ROOT, course)
    for lab, found in course.items():
        assert f"## {instructor.title_of(lab)}\n" in key and f"## {instructor.title_of(lab)}\n" in plan
        assert all(exercise.solution in key and f"`{exercise.name}`" in plan for exercise in found)
        assert all(question.answer in key for question in exercises.questions(lab))
    silent = [lab.name for lab in lab_code.of_the_course() if not instructor.OUTCOMES.search(lab.read_text("utf-8"))]
    assert silent == [], "these labs do not say what readers can do after them"


@pytest.mark.parametrize("name", ["batched_attention", "fix_the_batch"])
def test_an_otter_test_passes_with_the_solution_and_fails_with_what_was_handed_out_or_is_the_course_s(
    monkeypatch, name
):
    (exercise,) = [each for each in exercises.read(lab_code.find(6)) if each.name == name]
    asked = types.SimpleNamespace(test_case=lambda **_: lambda function: function)
    monkeypatch.setitem(sys.modules, "otter", types.ModuleType("otter"))
    monkeypatch.setitem(sys.modules, "otter.test_files", asked)
    names = {}
    exec(instructor.otter_tests(lab_code.find(6), [exercise])[name], names)
    assert (names["name"], names["points"]) == (name, 1)
    answer = exercise.verdict.partition("(")[2].rstrip(")")
    for code, right in ((exercise.solution, True), (exercise.start, False)):
        lab = lab_code.imports(lab_code.find(6)) | {"__name__": "__main__"}
        exec(code, lab)
        with contextlib.nullcontext() if right else pytest.raises(AssertionError):
            names["check_answer"](lab[answer])
    import checks

    for other in [None, getattr(checks, name).use(None)][: 1 + (exercise.kind == "build")]:
        with pytest.raises(AssertionError):
            names["check_answer"](other)


def test_points_stand_with_the_exercise_and_are_one_by_default(tmp_path):
    lab = small_course.make(tmp_path)
    change(lab, "exercise: double\n", "exercise: double\npoints: 2.5\n")
    points = instructor.points_of(lab)
    assert [points[exercise.start_id] for exercise in exercises.read(lab)] == [2.5, 1]
    change(lab, "points: 2.5", "points: many")
    with pytest.raises(ValueError, match=r"labs/11_small.md, line \d+: an exercise gives 'many' points"):
        instructor.points_of(lab)


def test_the_plan_counts_what_there_is_to_do(lab):
    before = instructor.minutes(lab, exercises.read(lab))
    assert before["main"]["solve"] == 10 and before["further"] == {"read": 0, "solve": 0}
    said = " ".join(["word"] * 180)
    change(
        lab, "## Exercises\n", f"{said}\n\n**Predict.** {said}\n\n```{{code-cell}} ipython3\n2\n```\n\n## Exercises\n"
    )
    more = instructor.minutes(lab, exercises.read(lab))
    assert more["main"]["read"] - before["main"]["read"] == pytest.approx(3, abs=0.01)
    change(lab, "## Exercises\n", "## Going further\n")
    assert instructor.minutes(lab, exercises.read(lab))["further"]["solve"] == 10


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem)
def test_a_lab_takes_the_half_hour_that_it_tells(lab):
    """A lab of the course says what one learns and how long it takes; a lab of one's own may leave both out."""
    text, counted = lab.read_text("utf-8"), instructor.minutes(lab, exercises.read(lab))["main"]
    told = re.findall(r"^\*\*Time:?\*\*:? about (\d+) minutes", text, re.M)
    assert len(told) == len(instructor.OUTCOMES.findall(text)), f"labs/{lab.name} should tell its **Time** once."
    for minutes in map(int, told):
        assert abs(minutes - sum(counted.values())) <= 5, f"labs/{lab.name} tells {minutes}, and counts {counted}."
        assert minutes <= 30, f"labs/{lab.name} takes {minutes} minutes; some of it belongs into *Going further*."

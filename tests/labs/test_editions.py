"""Claims about the editions: students get no solution and a notebook that runs; instructors get all of it."""

import ast
import re
from pathlib import Path

import lab_code
import pytest
import small_course

import checks
from tools import identity, instructor, labs, student
from tools.lab import code_of, digest_of, parsed, text_of

ROOT = Path(__file__).resolve().parents[2]
LABS = lab_code.course()
change = small_course.change


@pytest.fixture
def lab(tmp_path):
    return small_course.make(tmp_path)


def words_of(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


# --- the student edition -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", LABS, ids=str)
def test_a_student_edition_holds_no_solution_no_answer_and_no_output_and_keeps_all_else(lab):
    notebook = student.edition(lab)
    text, found = words_of(notebook), lab.exercises
    for exercise in found:
        assert exercise.solution not in text, f"{exercise.name} can be read"
        assert not exercise.why or exercise.why not in text, f"{exercise.name}: why can be read"
        hint = re.sub(r"(?<=/)(\w+)/\1\.ipynb", r"\1/\1_student.ipynb", exercise.hint)  # its links lead to blanks, too
        assert hint in text and exercise.start in text and exercise.check in text
    last = [question for question in lab.questions if question.section == "Questions"]
    assert not [question.text for question in last if question.answer in text]
    assert not any(cell.outputs or cell.execution_count for cell in code_of(notebook.cells))

    ids, before = [cell.id for cell in notebook.cells], lab.notebook()
    assert len(set(ids)) == len(ids), "nbformat would give a cell another id, without a word"
    assert [id for id in ids if "-part-" not in id] == [cell.id for cell in before.cells]
    starts = {exercise.start_id: exercise.start for exercise in found}
    for now, was in zip(code_of(notebook.cells), code_of(before.cells), strict=True):
        assert now == was | {"source": starts.get(was.id, was.source)}

    names = identity.read(ROOT)
    assert f"]({names['colab']}/labs/{lab.name}/{lab.name}_student.ipynb)" in text
    assert f"{names['site']}/labs" not in text and "../../" not in text.replace('"../.."', "").replace(
        "../../shared", ""
    )
    assert not re.search(r"/(\w+)/\1\.ipynb", text), "a link to a notebook with results"


@pytest.mark.parametrize("lab", LABS, ids=str)
def test_the_student_edition_in_the_repository_is_made_from_the_lab_s_text(lab):
    """Of a notebook that somebody ran or filled in, what was committed."""
    stored, new = lab.stored(lab.student_file), parsed(student.text_of(lab))
    assert stored and digest_of(stored) == digest_of(new), f"{lab.student_file.name}: run `make student`."
    assert stored.metadata["lab"] == new.metadata["lab"]


def test_what_came_out_of_a_prediction_is_folded_up_to_the_next_heading(lab):
    asked = "\n\n**Predict.** Which?\n\n- this\n- that\n\n```{code-cell} ipython3\nprint(1)\n```\n\n"
    with lab.open("a", encoding="utf-8") as text:
        text.write(f"{asked}This, since so it is.\n\nAnd more.\n\n## Another section\n\nNot folded.\n")
    text = words_of(student.edition(small_course.read(lab)))
    fold = "<details><summary>What came out, and why</summary>\n\nThis, since so it is.\n\nAnd more.\n\n</details>"
    assert f"{fold}\n\n## Another section\n\nNot folded." in text


def test_where_a_solution_stood_there_is_a_place_to_write_which_otter_prints_with_its_question(lab):
    text = words_of(student.edition(small_course.read(lab)))
    assert "secret" not in text and "the kept answer" in text, "the story's own folds stay, solutions go"
    first, *printed = text.split(student.BEGIN)
    printed = [part.split(student.END)[0] for part in printed]
    assert len(printed) == 3 and student.END not in first
    for exercise, part in zip(small_course.read(lab).exercises, printed, strict=False):
        assert part.strip().startswith("### Exercise"), "the heading is printed"
        assert all(text in part for text in (exercise.statement, exercise.start, exercise.check, student.WHY))
    assert printed[-1].strip() == f"**1.** Is it?\n{student.ANSWER}"


def test_every_lab_of_toc_yml_is_written_and_a_malformed_exercise_changes_no_file(lab):
    root = lab.parents[2]
    for name in ("plain", "left_out"):
        (root / f"labs/{name}").mkdir()
        (root / f"labs/{name}/{name}.md").write_text("# Another lab\n\nNo exercise.\n")
    small_course.contents(root, "small", "plain")
    assert student.main(root) == 0
    written = [path.name for path in sorted(root.glob("labs/*/*.ipynb"))]
    assert written == ["plain_student.ipynb", "small_student.ipynb"]
    before = (root / "labs/small/small_student.ipynb").read_bytes()
    change(lab, "<summary>Hint</summary>", "<summary>Nudge</summary>")
    with pytest.raises(ValueError, match=r"labs/small/small.md, line \d"):
        student.main(root)
    assert (root / "labs/small/small_student.ipynb").read_bytes() == before


def test_a_lab_brings_its_student_edition_with_it_and_leaves_one_alone_that_somebody_filled_in(
    lab, monkeypatch, capsys
):
    monkeypatch.setattr(labs, "bring_up_to_date", lambda *_: ("executed", ""))
    monkeypatch.setattr(labs.check_labs, "problems", lambda _: [])
    small = small_course.read(lab)
    assert labs.attempt(small, False) == {small.notebook_file: "", small.student_file: ""}
    assert text_of(small.student_file) == student.text_of(small)
    change(small.student_file, "your turn", "my answer")
    change(lab, "# Small", "# Smaller") if "# Small\n" in lab.read_text() else change(lab, "\n\n", "\n\nMore.\n\n")
    for _ in range(2):
        assert student.main(lab.parents[2]) == 0
        assert "my answer" in text_of(small.student_file)
    output = capsys.readouterr().out
    new = "_build/new/labs/small/small_student.ipynb"
    assert f"Left alone, because you changed them: labs/small/small_student.ipynb (the new one is {new})." in output
    assert text_of(lab.parents[2] / new) == student.text_of(small_course.read(lab))
    change(small.student_file, "my answer", "your turn")
    assert student.main(lab.parents[2]) == 0
    assert text_of(small.student_file) == student.text_of(small_course.read(lab))
    assert not (lab.parents[2] / new).exists(), "the notebook is the course's again, and its new edition in two places"


def test_an_edition_runs_to_its_end_with_what_its_reader_wrote_where_that_is_right_and_else_with_the_course_s():
    """Of a lab that trains nothing: one answer is written by the reader, all else is as it was handed out."""
    lab = lab_code.find("your_journey")
    notebook, found = student.edition(lab), lab.exercises
    cells = {cell.id: cell for cell in notebook.cells}
    for exercise in found:
        if exercise.name == "matrix_to_linear":
            cells[exercise.start_id].source = exercise.solution
    labs.execute(lab, notebook)
    for exercise in found:
        verdict = str(cells[exercise.check_id].outputs)
        assert ("The lab goes on with yours." in verdict) == (exercise.name == "matrix_to_linear")
        done = exercise.name == "matrix_to_linear" or exercise.kind == "debug"
        assert ("Not done yet" in verdict) == (not done), exercise.name


def names_in(source: str, kind: type[ast.expr_context]) -> set[str]:
    """The names that a cell reads or writes."""
    tree = lab_code.parse_cell(source)
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, kind)}


CLASSES = [(lab, e) for lab in LABS for e in lab.exercises if e.kind == "build" and "class " in e.solution]


@pytest.mark.parametrize(("lab", "exercise"), CLASSES, ids=[exercise.name for _, exercise in CLASSES])
def test_a_lab_goes_on_with_the_class_that_its_reader_built(lab, exercise):
    cells = code_of(lab.notebook().cells)
    (place,) = [place for place, cell in enumerate(cells) if cell.id == exercise.check_id]
    (name,) = names_in(exercise.check, ast.Store)
    below = [cell.source for cell in cells[place + 1 :]]
    assert any(name in names_in(source, ast.Load) for source in below), "no cell below reads it"
    for source in below:
        tree = lab_code.parse_cell(source)
        again = [getattr(node, "name", None) for node in tree.body]
        again += [each.asname or each.name for node in tree.body if "Import" in str(type(node)) for each in node.names]
        assert name not in names_in(source, ast.Store) | set(again), "a cell below puts something in its place"


# --- the instructors' kit ----------------------------------------------------------------------------------------


def test_the_answer_key_holds_every_solution_and_every_answer_and_the_plan_every_lab():
    key, plan = instructor.answer_key(LABS), instructor.teaching_plan(ROOT, LABS)
    for lab in LABS:
        found = lab.exercises
        assert f"## {instructor.title_of(lab)}\n" in key and f"## {instructor.title_of(lab)}\n" in plan
        assert all(exercise.solution in key and f"`{exercise.name}`" in plan for exercise in found)
        assert all(question.answer in key for question in lab.questions)
        known = [mistake.__name__ for exercise in found for mistake in getattr(checks, exercise.name).mistakes]
        assert all(f"- `{name}`: " in key for name in known)


def test_points_stand_with_the_exercise_and_are_one_by_default(lab):
    change(lab, "exercise: double\n", "exercise: double\npoints: 2.5\n")
    assert [exercise.points for exercise in small_course.read(lab).exercises] == [1, 2.5]

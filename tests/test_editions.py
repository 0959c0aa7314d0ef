"""Claims about the editions: students get no solution and a notebook that runs; instructors get all of it."""

import ast
import re
import shutil
from pathlib import Path

import exercises
import identity
import make_labs
import nbformat
import notebooks
import pytest
import small_course
import student

from shared import check

ROOT = Path(__file__).resolve().parents[1]
LABS = notebooks.labs(ROOT)
COURSE = [(lab, exercise) for lab in LABS for exercise in exercises.read(lab)]


@pytest.fixture
def lab(tmp_path):
    return small_course.make(tmp_path)


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def text_of(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


# --- the student edition -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def editions():
    return {lab: student.edition(lab) for lab in LABS}


@pytest.mark.parametrize(("lab", "exercise"), COURSE, ids=[exercise.name for _, exercise in COURSE])
def test_the_student_edition_fails_the_check_as_handed_out_and_passes_with_the_solution(editions, lab, exercise):
    cells = {cell.id: cell for cell in notebooks.code_cells(editions[lab])}
    imports = [
        node
        for cell in cells.values()
        if not notebooks.is_generated(cell)
        for node in getattr(notebooks.parse_cell(cell.source), "body", [])
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    states = []
    for answer in (cells[exercise.start_id].source, exercise.solution):
        namespace = {}
        exec(compile(ast.Module(imports, []), lab.stem, "exec"), namespace)
        exec(answer, namespace)
        states.append(eval(cells[exercise.check_id].source, namespace | {"check": check}).state)
    assert states == ["not done yet", "correct"]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem)
def test_a_student_edition_holds_no_solution_no_answer_and_no_output(editions, lab):
    notebook = editions[lab]
    text = text_of(notebook)
    for exercise in exercises.read(lab):
        assert exercise.solution not in text and exercise.why not in text, f"{exercise.name} can be read"
        assert exercise.hint in text and exercise.start in text and exercise.check in text
    last = [question for question in exercises.questions(lab) if question.section == "Questions"]
    assert last and not [question.text for question in last if question.answer in text]
    assert "<summary>Solution</summary>" not in text
    assert not any(cell.outputs or cell.execution_count for cell in notebooks.code_cells(notebook))


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem)
def test_every_cell_of_a_lab_keeps_its_id_and_code_stays_as_it_is(editions, lab):
    nbformat.validate(editions[lab])
    ids = [cell.id for cell in editions[lab].cells]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id) for id in ids)
    before = notebooks.generate(lab)
    assert [id for id in ids if "-part-" not in id] == [cell.id for cell in before.cells]
    assert notebooks.code_cells(editions[lab]) == notebooks.code_cells(before)


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem)
def test_a_student_edition_leads_to_itself_and_never_to_the_lab_with_solutions(editions, lab):
    names, text = identity.read(ROOT), text_of(editions[lab])
    assert f"]({names['colab']}/student/{lab.stem}.ipynb)" in text
    assert f"{names['colab']}/labs" not in text and f"{names['site']}/labs" not in text and "../labs" not in text


@pytest.mark.parametrize(
    ("setting", "leads_to"),
    [
        ("student", "https://colab.research.google.com/github/OWNER/towards-self-attention/blob/main/student"),
        ("class/2026/", "https://colab.research.google.com/github/OWNER/towards-self-attention/blob/main/class/2026"),
        ("https://github.com/you/your-class/blob/main", "https://colab.research.google.com/github/you/your-class/blob/main"),
    ],
)  # fmt: skip
def test_the_button_leads_where_the_settings_say(lab, setting, leads_to):
    change(lab.parents[1] / "_config.yml", "student_edition: student", f"student_edition: {setting}")
    owner = re.search(r"https://github.com/([^/]+)/", (ROOT / "_config.yml").read_text())[1]
    assert f"]({leads_to.replace('OWNER', owner)}/11_small.ipynb)" in text_of(student.edition(lab))


def test_a_place_that_colab_cannot_open_is_refused(lab, capsys):
    change(lab.parents[1] / "_config.yml", "student_edition: student", "student_edition: https://example.org/class")
    assert student.main(lab.parents[1]) == 1
    assert "https://github.com/you/your-class/blob/main" in capsys.readouterr().out
    assert not (lab.parents[1] / "_build/student").exists()


def test_where_a_solution_stood_there_is_a_place_to_write(lab):
    cells = [cell.source for cell in student.edition(lab).cells]
    assert cells.count(student.WHY) == 2 and cells.count(student.ANSWER) == 1
    assert cells.index(student.WHY) == cells.index("check.double(double)") + 2
    assert cells[cells.index(student.ANSWER) - 1].endswith("**1.** Is it?")
    text = "\n".join(cells)
    assert "secret" not in text and "the kept answer" in text, "the story's own folds stay, solutions go"
    assert re.search(r"\]\(https://[^)]*/book/notation\.html\)", text)


def test_a_malformed_exercise_stops_the_student_edition_and_writes_nothing(lab, capsys):
    assert student.main(lab.parents[1]) == 0
    before = (lab.parents[1] / "_build/student/11_small.ipynb").read_bytes()
    change(lab, "<summary>Hint</summary>", "<summary>Nudge</summary>")
    assert student.main(lab.parents[1]) == 1
    assert "labs/11_small.md, line" in capsys.readouterr().out
    assert (lab.parents[1] / "_build/student/11_small.ipynb").read_bytes() == before


def test_the_student_edition_has_every_lab_also_one_without_exercises(lab):
    plain = small_course.LAB[: small_course.LAB.index("## Exercises")]
    lab.with_name("12_plain.md").write_text(plain.replace("# Small", "# Plain"))
    assert student.main(lab.parents[1]) == 0
    assert sorted(path.name for path in (lab.parents[1] / "_build/student").iterdir()) == [
        "11_small.ipynb",
        "12_plain.ipynb",
    ]


@pytest.mark.parametrize(
    ("name", "folder"),
    [("05_your_journey", "student"), ("05_your_journey", "_build/student"), ("07_many_heads", "student")],
)
def test_a_student_edition_runs_to_its_end_as_handed_out(tmp_path, name, folder):
    """Where it is published, beside shared/, and where make writes it; stubs untouched."""
    lab = ROOT / f"labs/{name}.md"
    shutil.copytree(ROOT / "shared", tmp_path / "shared", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / folder).mkdir(parents=True)
    notebook = student.edition(lab)
    make_labs.execute(tmp_path / folder / lab.name, notebook)
    said = {cell.id: [output.get("data") for output in cell.outputs] for cell in notebooks.code_cells(notebook)}
    found = exercises.read(lab)
    assert found
    for exercise in found:
        (value,) = said[exercise.check_id]
        assert value["text/plain"].startswith("Not done yet"), exercise.name

"""Claims about the editions: students get no solution and a notebook that runs; instructors get all of it."""

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

import exercises
import identity
import instructor
import make_labs
import nbformat
import notebooks
import pytest
import small_course
import student
from site_in_browser import axe

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.stem)
def test_a_student_edition_holds_no_solution_no_answer_and_no_output(editions, lab):
    notebook = editions[lab]
    text = text_of(notebook)
    for exercise in exercises.read(lab):
        assert exercise.solution not in text and exercise.why not in text, f"{exercise.name} can be read"
        assert exercise.hint in text and exercise.start in text and exercise.check in text
    last = [question for question in exercises.questions(lab) if question.section == "Questions"]
    assert not [question.text for question in last if question.answer in text]
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


# --- the instructors' kit ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """The kit of the small course, where one cell takes a second and a half."""
    lab = small_course.make(tmp_path_factory.mktemp("course"))
    change(lab, "print(trained)", "import time\n\ntime.sleep(1.5)")
    assert instructor.main(lab.parents[1]) == 0
    return lab


def built(lab, name):
    return (lab.parents[1] / "_build/instructor" / name).read_text()


def test_the_answer_key_holds_every_exercise_with_its_solution_and_every_answer():
    key = instructor.answer_key({lab: exercises.read(lab) for lab in LABS}, "https://example.org")
    words = " ".join(re.sub(r"<[^>]*>", "", key).split())
    assert all(f"Exercise {exercise.number}:" in words for _, exercise in COURSE)
    assert key.count("<h4>Solution</h4>") == len(COURSE)
    assert key.count('class="answer"') == len(COURSE) + sum(len(exercises.questions(lab)) for lab in LABS)
    assert "$" not in re.sub(r"<(pre|code)\b.*?</\1>", "", key, flags=re.DOTALL), "a formula was left as source"
    assert not re.findall(r'href="(?!https?://|#)[^"]*"', key), "a link leads nowhere from here"
    assert not re.search(r"<(script|link|img)\b|url\(", key), "one file has to be enough"


def test_the_answer_key_can_be_read_as_one_page(kit):
    key = built(kit, "answer_key.html")
    assert "# the secret" in key and "What is one plus one?" in key and "Two, the kept answer." in key
    assert "Yes, says the secret." in key
    link = instructor.to_html("See [lab 6](06_x.ipynb#why) and [Notation](../book/notation.md).", "https://a.org")
    assert 'href="https://a.org/labs/06_x.html#why"' in link and 'href="https://a.org/book/notation.html"' in link


def test_the_plan_s_times_are_measured_and_kept_until_the_lab_changes(kit, capsys):
    first = instructor.measure(kit)
    assert first["slowest"] >= 1.5 and first["seconds"] >= first["slowest"]
    training = next(cell for cell in notebooks.generate(kit).cells if "time.sleep" in cell.source)
    assert instructor.section_of(kit, training.id) == "A long training"
    assert f"All cells run for {instructor.spell(first['seconds'])}" in built(kit, "teaching_plan.html")
    assert instructor.measure(kit) == first and "Measuring" not in capsys.readouterr().out
    change(kit, "time.sleep(1.5)", "time.sleep(0.1)")
    second = instructor.measure(kit)
    assert "Measuring 11_small" in capsys.readouterr().out and second["made_from"] != first["made_from"]


def test_the_plan_counts_what_there_is_to_do(kit):
    count = instructor.counts(kit, exercises.read(kit))
    assert (count["cells"], count["exercises"], count["questions"]) == (2, 2, 2)
    assert instructor.minutes(count | {"words": 300}, seconds=60) == {"read": 3, "solve": 20, "talk": 4, "all": 30}
    assert [instructor.spell(s) for s in (0.2, 59.4, 60, 170.2)] == ["1 s", "59 s", "1 min 0 s", "2 min 50 s"]


def test_a_lab_that_fails_stops_the_kit_with_the_cell_s_name(lab, capsys):
    change(lab, "print(trained)", "print(1 / 0)")
    assert instructor.main(lab.parents[1]) == 1
    assert "labs/11_small.md, line" in capsys.readouterr().out
    assert not (lab.parents[1] / "_build/instructor/teaching_plan.html").exists()


@pytest.mark.parametrize("name", ["answer_key.html", "teaching_plan.html"])
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1200, "light")])
def test_the_kit_reads_well_in_light_and_dark_and_on_a_telephone(kit, browser, name, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto((kit.parents[1] / "_build/instructor" / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert axe(page) == []
    page.close()


def test_the_kit_s_script_grades_the_course_s_own_student_edition(kit, tmp_path):
    lab = ROOT / "labs/05_your_journey.md"
    found, folder = exercises.read(lab), tmp_path / "lab05"
    folder.mkdir()
    handed_out, solved = student.edition(lab), student.edition(lab)
    for cell in solved.cells:
        cell.source = next((e.solution for e in found if e.start_id == cell.id), cell.source)
    nbformat.write(handed_out, folder / "handed out.ipynb")
    nbformat.write(solved, folder / "solved.ipynb")
    script = kit.parents[1] / "_build/instructor/grade.py"
    answer = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    with open(tmp_path / "lab05.csv", newline="", encoding="utf-8") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    names = [exercise.name for exercise in found]
    assert [rows["handed out"][name] for name in names] == ["not done yet"] * len(names)
    assert [rows["solved"][name] for name in names] == ["correct"] * len(names)
    assert (rows["solved"]["total"], rows["solved"]["remark"]) == (str(len(names)), "")

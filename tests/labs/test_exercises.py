"""Claims about the exercises as text: whole ones are read, malformed ones refused, and those of the course are true.

For each exercise of the course: the starting cell is "not done yet", the solution correct, and both stand on nothing
but the lab's import statements and what its readers built before.
"""

from pathlib import Path

import lab_code
import pytest
import small_course

import checks
from checks import engine

engine.SECONDS = 60.0  # other tests run beside this one; the limit itself has a test in test_engine.py
ROOT = Path(__file__).resolve().parents[2]
change = small_course.change
COURSE = [(lab, exercise) for lab in lab_code.course() for exercise in lab.exercises]


@pytest.fixture
def lab(tmp_path):
    return small_course.make(tmp_path)


# --- the exercises of the course ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("lab", "exercise"), COURSE, ids=[f"{lab}-{exercise.name}" for lab, exercise in COURSE])
def test_a_starting_cell_is_not_done_yet_or_has_its_bug_and_its_solution_is_correct(lab, exercise):
    handed_out = "not done yet" if "NotImplementedError" in exercise.start else "wrong"  # a bug to be found
    assert handed_out == "not done yet" or exercise.kind != "build"
    for code, state in ((exercise.start, handed_out), (exercise.solution, "correct")):
        namespace = lab_code.imports(lab)
        for built in lab.exercises:
            if built.start_id == exercise.start_id:
                break
            if built.kind == "build":
                exec(built.solution, namespace)
        exec(code, namespace)
        verdict = getattr(checks, exercise.name)(namespace[exercise.answer])
        assert verdict.state == state, f"labs/{lab.name}, {exercise.name}: {verdict}"


def test_no_name_of_an_exercise_occurs_twice():
    names = [exercise.name for _, exercise in COURSE]
    assert sorted(set(names)) == sorted(names)


# --- how they are read -------------------------------------------------------------------------------------------


def test_an_exercise_to_build_is_the_lesson_s_own_cell_and_starts_without_the_bodies_of_its_functions(lab):
    change(lab, "exercise: twice\n", "exercise: twice\nblank: [forward]\n")
    lab = small_course.read(lab)
    twice, _ = lab.exercises
    ids = {cell.id: cell.source for cell in lab.cells}
    assert ids[twice.start_id] == twice.solution and ids[twice.check_id] == twice.check
    body = "        return 2 * self.project(x)"
    assert body in twice.solution
    assert twice.start == twice.solution.replace(body, "        raise NotImplementedError  # your turn")


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("### Exercise 2: a sum\n", "### A sum\n", "heading"),
        ("exercise: twice", "exercise: double", "check"),
        ("---\nexercise: double\nminutes: 15\n---\n", "", "starting cell"),
        ("```{code-cell} ipython3\nchecks.double(double)\n```\n", "", "check"),
        ("checks.double(double)", "checks.twice(double)", "check"),
        ("<details><summary>Hint</summary>\n\nWhat is one plus one?\n\n</details>\n\n", "", "no folded hint"),
        ("<details><summary>Hint</summary>\n\nWhat", "Text.\n\n<details><summary>Hint</summary>\n\nWhat", "text"),
        ("- Two is more", "<details><summary>Solution</summary>\n\n1\n\n</details>\n\n- Two", "belongs"),
        ("Exercise 1 (build)", "Exercise 1 (sing)", "kind"),
        ("Twice = checks.twice.use(Twice)", "Mine = checks.twice.use(Twice)", "check"),
    ],
)  # fmt: skip
def test_a_malformed_exercise_is_refused_by_file_and_line(lab, old, new, word):
    change(lab, old, new)
    with pytest.raises(ValueError, match=rf"labs/small/small.md, line \d+: .*{word}"):
        assert not small_course.read(lab).exercises

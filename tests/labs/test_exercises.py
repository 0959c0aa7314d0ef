"""Claims about the exercises as text: whole ones are read, malformed ones refused, and those of the course are true.

For each exercise of the course: the starting cell is "not done yet", the solution correct, and both stand on nothing
but the lab's import statements and what its readers built before.
"""

from pathlib import Path

import exercises
import lab_code
import notebooks
import pytest
import small_course

import checks
from checks import engine

engine.SECONDS = 60.0  # other tests run beside this one; the limit itself has a test in test_engine.py
ROOT = Path(__file__).resolve().parents[2]
change = small_course.change
COURSE = [(lab, exercise) for lab in notebooks.labs(ROOT) for exercise in exercises.read(lab)]


@pytest.fixture
def lab(tmp_path):
    return small_course.make(tmp_path)


# --- the exercises of the course ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("lab", "exercise"), COURSE, ids=[exercise.name for _, exercise in COURSE])
def test_a_starting_cell_is_not_done_yet_or_has_its_fault_and_its_solution_is_correct(lab, exercise):
    handed_out = "not done yet" if "NotImplementedError" in exercise.start else "wrong"  # a fault to be found
    assert handed_out == "not done yet" or exercise.kind != "build"
    for code, state in ((exercise.start, handed_out), (exercise.solution, "correct")):
        namespace = lab_code.imports(lab) | {"checks": checks}
        for built in exercises.read(lab):
            if built.start_id == exercise.start_id:
                break
            if built.kind == "build":
                exec(built.solution, namespace)
        exec(code, namespace)
        verdict = eval(exercise.verdict, namespace)
        assert verdict.state == state, f"labs/{lab.name}, {exercise.name}: {verdict}"


def test_the_exercises_of_a_lab_are_numbered_in_order_and_no_name_occurs_twice():
    for lab, found in exercises.read_all(ROOT).items():
        number = notebooks.number_of(lab)
        assert [e.number for e in found] == [f"{number}.{place}" for place in range(1, len(found) + 1)]


# --- how they are read -------------------------------------------------------------------------------------------


def test_an_exercise_is_read_with_all_its_parts(lab):
    twice, double = exercises.read(lab)
    assert (double.name, double.number, double.title, double.kind) == ("double", "11.2", "a sum", "")
    assert double.statement.startswith("Write `double(x)`") and double.statement.endswith("the same shape.")
    assert double.start == "def double(x):\n    raise NotImplementedError  # your turn"
    assert double.check == double.verdict == "checks.double(double)"
    assert (double.hint, double.why) == ("What is one plus one?", "A sum with itself doubles.")
    assert double.solution == "def double(x):\n    return x + x  # the secret"
    ids = {cell.id: cell.source for cell in notebooks.generate(lab).cells}
    assert (ids[double.start_id], ids[double.check_id]) == (double.start, double.check)


def test_an_exercise_to_build_is_the_lesson_s_own_cell_and_starts_without_the_bodies_of_its_functions(lab):
    twice, _ = exercises.read(lab)
    ids = {cell.id: cell.source for cell in notebooks.generate(lab).cells}
    assert ids[twice.start_id] == twice.solution and "2 * self.project(x)" in twice.solution
    assert (twice.kind, twice.check, twice.verdict) == (
        "build", "Twice = checks.twice.use(Twice)", "checks.twice(Twice)"
    )  # fmt: skip
    assert (
        twice.start
        == '''class Twice(nn.Module):
    """A linear map, doubled: (batch, d_model) to (batch, d_model)."""

    def __init__(self, d_model):
        super().__init__()
        raise NotImplementedError  # your turn

    def forward(self, x):  # (batch, d_model)
        raise NotImplementedError  # your turn'''
    )
    change(lab, "exercise: twice\n", "exercise: twice\nblank: [forward]\n")
    start = exercises.read(lab)[0].start
    assert "self.project = nn.Linear(d_model, d_model)" in start and start.count("your turn") == 1


def test_questions_are_read_with_what_they_ask_and_hints_are_none(lab):
    story, last = exercises.questions(lab)
    assert (story.section, story.text) == ("A long training", "Which number did it learn?")
    assert (story.summary, story.answer) == ("Think, then open", "Two, the kept answer.")
    assert (last.section, last.text, last.answer) == ("Questions", "**1.** Is it?", "Yes, says the secret.")


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("### Exercise 11.2: a sum\n", "### A sum\n", "heading"),
        ("Write `double(x)`, which takes a tensor of any shape and returns twice the tensor, of the same shape.", "",
         "nothing"),
        ("exercise: double", "exercise: 11.1", "name"),
        ("exercise: twice", "exercise: double", "check"),
        ("---\nexercise: double\n---\n", "", "starting cell"),
        ("```{code-cell} ipython3\nchecks.double(double)\n```\n", "", "check"),
        ("checks.double(double)", "print(checks.double(double))", "check"),
        ("checks.double(double)", "checks.twice(double)", "check"),
        ("<details><summary>Hint</summary>\n\nWhat is one plus one?\n\n</details>\n\n", "", "hint"),
        ("<details><summary>Hint</summary>\n\nWhat", "Text.\n\n<details><summary>Hint</summary>\n\nWhat", "text"),
        ("```python\ndef double", "```\ndef double", "fence"),
        ("return x + x  # the secret", "return x +", "no Python"),
        ("def double(x):\n    return", "def twice(x):\n    return", "define"),
        ("- Two is more", "<details><summary>Solution</summary>\n\n1\n\n</details>\n\n- Two", "belongs"),
        ("11.1 (build)", "11.1 (sing)", "kind"),
        ("11.1 (build)", "11.1 (debug)", "kind"),
        ("Twice = checks.twice.use(Twice)", "Mine = checks.twice.use(Twice)", "name"),
        ("A map doubled", "```python\n2\n```\n\nA map doubled", "code"),
        ("exercise: twice\n", "exercise: twice\nblank: [backward]\n", "blank"),
        ("  # (batch, d_model)\n        return 2 * self.project(x)", " return 2 * x", "line"),
    ],
)  # fmt: skip
def test_a_malformed_exercise_is_refused_by_file_and_line(lab, old, new, word):
    change(lab, old, new)
    with pytest.raises(ValueError, match=rf"labs/11_small.md, line \d+: .*{word}"):
        exercises.read(lab)


def test_an_exercise_whose_check_does_not_exist_is_refused(lab):
    change(lab.parents[1] / "checks/__init__.py", "import double,", "import double as treble,")
    with pytest.raises(ValueError, match=r"line \d+: .*`checks.double`"):
        exercises.read(lab)


def test_one_name_in_two_labs_is_refused(lab):
    lab.with_name("12_other.md").write_text(lab.read_text())
    with pytest.raises(ValueError, match="labs/12_other.md: .*labs/11_small.md"):
        exercises.read_all(lab.parents[1])

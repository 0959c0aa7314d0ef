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


@pytest.fixture
def to_build(tmp_path):
    return small_course.make_to_build(tmp_path)


def test_an_exercise_to_build_is_the_lesson_s_own_cell_and_starts_without_the_bodies_of_its_functions(to_build):
    twice, double, linear_map = exercises.read(to_build)
    assert (twice.kind, double.kind, linear_map.kind) == ("build", "debug", "experiment")
    ids = {cell.id: cell.source for cell in notebooks.generate(to_build).cells}
    assert ids[twice.start_id] == twice.solution and "2 * self.project(x)" in twice.solution
    assert ids[twice.check_id] == twice.check == "Twice = checks.twice.use(Twice)"
    assert (twice.verdict, double.verdict) == ("checks.twice(Twice)", "checks.double(double)")
    assert (twice.hint, twice.why) == ("Two times one.", "A map doubled is a map; that is the why of it.")
    assert (
        twice.start
        == '''class Twice(nn.Module):
    """A linear map, doubled: (batch, dim) to (batch, dim)."""

    def __init__(self, dim):
        super().__init__()
        raise NotImplementedError  # your turn

    def forward(self, x):  # (batch, dim)
        raise NotImplementedError  # your turn'''
    )


def test_the_words_on_why_may_be_left_out_and_the_story_goes_on_right_below_the_hint(to_build):
    text = to_build.read_text()
    why = text[text.index("<details><summary>Solution</summary>\n\nA map") : text.index("The layer at work")]
    change(to_build, why, "")
    change(to_build, "The layer at work:", "<details><summary>Think</summary>\n\nWell?\n\n</details>\n\nAt work:")
    assert exercises.read(to_build)[0].why == ""
    assert [question.summary for question in exercises.questions(to_build)] == ["Think, then open", "Think", "Answer"]


def test_a_cell_may_say_which_of_its_functions_are_left_to_the_student(to_build):
    change(to_build, "exercise: twice\n", "exercise: twice\nblank: [forward]\n")
    start = exercises.read(to_build)[0].start
    assert "self.project = nn.Linear(dim, dim)" in start and start.count("your turn") == 1


@pytest.mark.parametrize(
    ("code", "left"),
    [
        (
            "@cache\ndef f(a,\n      b=1):  # (n,)\n    # how\n    c = a\n\n    return c\n\n\nn = 2",
            "@cache\ndef f(a,\n      b=1):  # (n,)\n    raise NotImplementedError  # your turn\n\n\nn = 2",
        ),
        (
            'def f(a):\n    """Say.\n\n    More.\n    """\n\n    # why\n    def g():\n        return a\n    return g',
            'def f(a):\n    """Say.\n\n    More.\n    """\n    raise NotImplementedError  # your turn',
        ),
        ("class A:\n    b = 1\n    def c(self):\n        'C.'", "class A:\n    b = 1\n    def c(self):\n        'C.'"),
    ],
)
def test_signatures_docstrings_and_the_comments_on_their_lines_stay_and_all_else_is_left_out(code, left):
    assert exercises.blanked(code) == left


def test_an_exercise_is_read_with_all_its_parts(lab):
    double, linear_map = exercises.read(lab)
    assert (double.name, double.number, double.title) == ("double", "11.1", "twice")
    assert double.statement.startswith("Write `double(x)`") and double.statement.endswith("the same shape.")
    assert double.start == "def double(x):\n    raise NotImplementedError  # your turn"
    assert double.check == "checks.double(double)"
    assert double.hint == "What is one plus one?"
    assert double.solution == "def double(x):\n    return x + x  # the secret"
    assert double.why == "A sum with itself doubles."
    ids = {cell.id: cell.source for cell in notebooks.generate(lab).cells}
    assert (ids[double.start_id], ids[double.check_id]) == (double.start, double.check)
    assert linear_map.number == "11.2" and "project" in linear_map.solution


def test_questions_are_read_with_what_they_ask_and_hints_are_none(lab):
    story, last = exercises.questions(lab)
    assert (story.section, story.text) == ("A long training", "Which number did it learn?")
    assert (story.summary, story.answer) == ("Think, then open", "Two, the kept answer.")
    assert (last.section, last.text, last.answer) == ("Questions", "**1.** Is it?", "Yes, says the secret.")


def test_an_exercise_in_the_middle_of_the_story_is_read_too_and_a_comment_in_code_is_no_heading(lab):
    change(lab, "## Exercises\n\n", "")
    change(lab, "## What you can now say", "## On we go\n\n```{code-cell} ipython3\nprint(1)\n```\n\n## What")
    change(lab, "of the same shape.", "of the same shape:\n\n```python\n# twice\ndouble(x)\n```")
    double, linear_map = exercises.read(lab)
    assert double.statement.endswith("```") and linear_map.name == "linear_map"


MALFORMED = [
    ("### Exercise 11.1: twice\n", "### Twice\n", r"line \d+: exercise `double` has no heading"),
    ("Write `double(x)`, which takes a tensor of any shape and returns twice the tensor, of the same shape.", "",
     "says nothing between heading and starting cell"),
    ("exercise: double", "exercise: 11.1", "needs a name that Python could use"),
    ("---\nexercise: double\n---\n", "", r"line \d+: the exercise has no starting cell"),
    ("Which number did it learn?", "```{code-cell} ipython3\nchecks.double(abs)\n```\n\nWell?",
     r"line \d+: the check has no starting cell right above it"),
    ("```{code-cell} ipython3\nchecks.double(double)\n```\n", "", r"exercise `double` needs its check right below"),
    ("checks.double(double)", "print(checks.double(double))", "needs its check right below"),
    ("checks.double(double)", "checks.linear_map(double)", "exercise `double` needs its check"),
    ("<details><summary>Hint</summary>\n\nWhat is one plus one?\n\n</details>\n\n", "",
     r"labs/11_small.md, line \d+: exercise `double` has no folded hint"),
    ("<summary>Hint</summary>\n\n", "<summary>Hint</summary>\n", "has no folded hint"),
    ("<summary>Solution</summary>", "<summary>Answer</summary>", "exercise `double` has no folded solution"),
    ("<details><summary>Hint", "A last word.\n\n<details><summary>Hint", "has text between check, hint and solution"),
    ("```python\ndef double", "```\ndef double", "needs one fence ```python in its solution; there are 0"),
    ("return x + x  # the secret", "return x +", "has a solution that is no Python"),
    ("def double(x):\n    return", "def twice(x):\n    return", "checks double, which its solution does not define"),
    ("exercise: linear_map", "exercise: double", "exercise `double`"),
    ("## What you can now say\n", "### Exercise 11.3: lost\n\nDo it.\n", "the exercise has no starting cell"),
    ("- Two is more", "<details><summary>Solution</summary>\n\n```python\n1\n```\n\n</details>\n\n- Two",
     "a folded solution belongs to no exercise"),
]  # fmt: skip


MALFORMED_TO_BUILD = [
    ("11.1 (build)", "11.1 (mend)", r"is of no kind called \(mend\): its heading may say \(build\), \(debug\)"),
    ("11.1 (build)", "11.1 (debug)", "has a check that does not fit its kind"),
    ("11.1 (build)", "11.1", "has a check that does not fit its kind"),
    ("Twice = checks.twice.use(Twice)", "checks.twice(Twice)", "has a check that does not fit its kind"),
    ("Twice = checks.twice.use(Twice)", "checks.twice.use(Twice)", "needs its check right below the starting cell"),
    ("Twice = checks.twice.use(Twice)", "Mine = checks.twice.use(Twice)", "has to give back under the same name"),
    ("checks.twice.use(Twice)", "checks.twice.use(Twice, nn)", "has to give back under the same name"),
    ("Twice = checks.twice.use(Twice)", "Twin = checks.twice.use(Twin)", "checks Twin, which its solution does not"),
    ("A map doubled", "```python\n2\n```\n\nA map doubled", "has code in its folded solution"),
    ("<summary>Hint</summary>\n\nTwo", "<summary>Help</summary>\n\nTwo", "has no folded hint"),
    ("exercise: twice\n", "exercise: twice\nblank: [backward]\n", "is to blank backward, which its cell does not"),
    ("  # (batch, dim)\n        return 2 * self.project(x)", " return 2 * x", "has the body of `forward` on the line"),
    ("return 2 * self.project(x)", "return 2 *", "has a solution that is no Python"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "old", "new", "sentence"),
    [(small_course.make, *row) for row in MALFORMED]
    + [(small_course.make_to_build, *row) for row in MALFORMED_TO_BUILD],
)
def test_a_malformed_exercise_is_refused_by_file_and_line(tmp_path, make, old, new, sentence):
    lab = make(tmp_path)
    change(lab, old, new)
    with pytest.raises(ValueError, match=r"labs/11_small.md, line \d+: ") as refused:
        exercises.read(lab)
    refused.match(sentence)


def test_a_check_that_does_not_exist_is_named(lab):
    change(lab.parents[1] / "checks/__init__.py", "import double,", "import double as treble,")
    with pytest.raises(ValueError, match=r"line \d+: exercise `double` is checked by `checks.double`, which"):
        exercises.read(lab)


def test_one_name_in_two_labs_is_refused(lab):
    lab.with_name("12_other.md").write_text(small_course.LAB)
    with pytest.raises(ValueError, match="labs/12_other.md: the exercise `double` is also one of labs/11_small.md"):
        exercises.read_all(lab.parents[1])


def test_one_name_twice_in_a_lab_is_refused(lab):
    double = small_course.LAB[small_course.LAB.index("### Exercise 11.1") : small_course.LAB.index("### Exercise 11.2")]
    change(lab, "### Exercise 11.2", double + "### Exercise 11.2")
    with pytest.raises(ValueError, match="two exercises are called `double`"):
        exercises.read(lab)


def test_an_edit_of_a_lab_s_check_or_of_a_layer_executes_the_lab_and_one_of_another_lab_s_check_does_not(lab):
    root, before = lab.parents[1], notebooks.made_from(lab)
    change(root / "checks/recap_attention.py", "loops", "rows")
    assert notebooks.made_from(lab) == before
    for file, word in (("checks/small.py", "squared"), ("checks/engine.py", "Correct"), ("shared/model.py", "softmax")):
        before = notebooks.made_from(lab)
        change(root / file, word, "changed")
        assert notebooks.made_from(lab) != before

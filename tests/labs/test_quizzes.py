"""Claims about predictions and questions: they are whole, what is not is refused, and the table holds all of it."""

import csv
import itertools
import re
from pathlib import Path

import lab_code
import pytest

from tools import quizzes
from tools.lab import PREDICT, Lab

ROOT = Path(__file__).resolve().parents[2]
LABS = lab_code.course()
# A prediction in another spelling, or not in a paragraph of its own.
SLIP = re.compile(r"\*\*Predict\b|\bPredict[:.,] ")
QUIZ = """\
## Questions

**1.** Which matrix asks?

- `W_key`
- `W_query`, as $x W$

<details>
<summary>Answer</summary>

1. It answers.
2. Right. A query is $x W_q$.

See [keys](../keys/keys.ipynb).

</details>

**2.** How many rows?

<details><summary>Answer</summary>

**6** or **six**. A row for each word.

</details>
"""


@pytest.fixture
def write(tmp_path):
    """Writes a lab of some text, in a course of its own."""
    (tmp_path / "labs/x").mkdir(parents=True)

    def write(text: str) -> Lab:
        (tmp_path / "labs/x/x.md").write_text(f"# A lab\n\n{text}", "utf-8")
        return Lab(tmp_path, "x")

    return write


# --- the course ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", LABS, ids=str)
def test_a_prediction_is_spelt_as_the_site_finds_it_and_right_below_comes_the_code_that_answers_it(lab):
    for cell, below in itertools.pairwise(lab.notebook().cells):
        where = f"{lab.line_of(cell.source)}: {cell.source[:80]}"
        if PREDICT.match(cell.source):
            assert below.cell_type == "code", f"{where}: text between the question and the code"
            assert len(quizzes.parts(cell.source, "bullet_list")[1]) != 1, f"{where}: one choice is none"
        elif cell.cell_type == "markdown":
            slip = SLIP.search(re.sub(r"(?s)<details>.*?</details>", "", cell.source))
            assert not slip, f"{where}: a prediction is a paragraph of its own that begins `**Predict.**`"


@pytest.mark.parametrize("lab", lab_code.of_the_course(), ids=str)
def test_a_lab_ends_with_questions_that_can_be_answered_on_the_page(lab):
    found = lab.quizzes
    assert sum(bool(quiz.choices or quiz.accepted) for quiz in found) >= 3, f"labs/{lab.name}: give choices to choose"
    places = {quiz.right for quiz in found if quiz.choices}
    assert len(places) > 1, f"labs/{lab.name}: the right choice always has the same place"


# --- what is whole, and what is not --------------------------------------------------------------------------------


def test_a_prediction_has_a_cell_of_its_own_with_its_choices_and_nothing_else(write):
    question = "**Predict.** How many\nscores?\n\n- four\n- sixteen"
    lab = write(f"Four words.\n\n{question}\n\nA text.\n")
    sources = [cell.source for cell in lab.cells]
    assert sources == ["# A lab", "Four words.", question, "A text."]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1. It answers.\n2. Right.", "1. Right."),  # a choice without a reason
        ("2. Right. A", "2. A"),
        ("**2.** How", "**3.** How"),
    ],
)
def test_a_question_that_is_not_whole_is_refused_with_file_and_line(write, old, new):
    assert old in QUIZ
    with pytest.raises(ValueError, match=r"labs/x/x\.md, line \d+: "):
        quizzes.read(write(QUIZ.replace(old, new, 1)))


# --- the table -----------------------------------------------------------------------------------------------------


def test_the_table_has_every_question_with_its_choices_answer_and_reasons(write):
    table = quizzes.table([write(QUIZ)], "https://site")
    chosen, typed = csv.DictReader(table.removeprefix("\ufeff").splitlines(keepends=True))
    assert (chosen["number"], chosen["question"]) == ("A lab, question 1", "Which matrix asks?")
    assert chosen["choices"].splitlines() == ["`W_key`", "`W_query`, as \\(x W\\)"]
    assert chosen["answer"] == "`W_query`, as \\(x W\\)"
    assert "→ Right. A query is \\(x W_q\\)." in chosen["reason"] and "/labs/keys/keys.html)" in chosen["reason"]
    assert (typed["choices"], typed["answer"]) == ("", "6 or six")


def test_for_canvas_the_right_choice_has_a_star_and_each_choice_its_reason(write):
    _, chosen, typed = quizzes.for_text2qti([write(QUIZ)], "https://site", "A course").split("\n\n")
    marks = [line[:4] for line in chosen.splitlines()]
    assert marks[0] == "1.  " and marks[-4:] == ["a)  ", "... ", "*b) ", "... "]
    assert typed.splitlines()[-2:] == ["*   6", "*   six"]

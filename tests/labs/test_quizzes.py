"""Claims about predictions and questions: they are whole, what is not is refused, and the table holds all of it."""

import csv
from pathlib import Path

import export_quizzes
import lab_code
import notebooks
import pytest
import quizzes

ROOT = Path(__file__).resolve().parents[2]
LABS = [pytest.param(lab, id=lab.stem) for lab in notebooks.labs(ROOT)]
PREDICTED = (
    "Four words.\n\n**Predict.** How many\nscores?\n\n- four\n- sixteen\n\n```{code-cell} ipython3\nprint(16)\n```\n"
)
QUIZ = """\
## Questions

**1.** Which matrix asks?

- `W_key`
- `W_query`, as $x W$

<details>
<summary>Answer</summary>

1. It answers.
2. Right. A query is $x W_q$.

See [keys](02_keys.ipynb).

</details>

**2.** How many rows?

<details><summary>Answer</summary>

**6** or **six**. A row for each word.

</details>

**3.** What would change your mind?

<details><summary>Answer</summary>

There is no single right answer.

</details>
"""


@pytest.fixture
def write(tmp_path):
    """Writes a lab of some text, in a course of its own."""
    (tmp_path / "labs").mkdir()
    (tmp_path / "_config.yml").write_text((ROOT / "_config.yml").read_text("utf-8"), "utf-8")

    def write(text: str) -> Path:
        lab = tmp_path / "labs/03_x.md"
        lab.write_text(f"# A lab\n\n{text}", "utf-8")
        return lab

    return write


# --- the course ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", LABS)
def test_behind_a_prediction_comes_the_code_that_answers_it_and_no_text_before(lab):
    cells = notebooks.generate(lab).cells
    for prediction in quizzes.predictions(lab):
        assert prediction.rest == "", f"{prediction.where}: this text stands between the question and the code"
        assert len(prediction.choices) != 1, f"{prediction.where}: one choice is none"
    assert not notebooks.PREDICT.match(cells[-1].source), f"labs/{lab.name} ends with a question"


@pytest.mark.parametrize("lab", lab_code.of_the_course(), ids=lambda lab: lab.stem)
def test_a_lab_ends_with_questions_that_can_be_answered_on_the_page(lab):
    found = quizzes.quizzes(lab)
    assert sum(bool(quiz.choices or quiz.accepted) for quiz in found) >= 3, f"labs/{lab.name}: give choices to choose"
    places = {quiz.right for quiz in found if quiz.choices}
    assert len(places) > 1, f"labs/{lab.name}: the right choice always has the same place"


# --- what is whole, and what is not --------------------------------------------------------------------------------


def test_a_prediction_has_a_cell_of_its_own_with_its_choices_and_nothing_else(write):
    lab = write(PREDICTED)
    sources = [cell.source for cell in notebooks.generate(lab).cells if not notebooks.is_generated(cell)]
    question = "**Predict.** How many\nscores?\n\n- four\n- sixteen"
    assert sources == ["# A lab", "Four words.", question, "print(16)"]
    (prediction,) = quizzes.predictions(lab)
    assert prediction == quizzes.Prediction(
        "**Predict.** How many\nscores?", ["four", "sixteen"], "", "labs/03_x.md, line 5"
    )


def test_a_prediction_in_another_spelling_is_refused_with_its_line(write):
    for slip in ("**Predict:** how many?", "Look. Predict: how many?", "A sentence. **Predict.** How many?"):
        with pytest.raises(ValueError, match=r"labs/03_x\.md, line 5"):
            quizzes.predictions(write(f"Text.\n\n{slip}\n"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1. It answers.\n2. Right.", "1. Right."),  # a choice without a reason
        ("2. Right. A", "2. A"),
        ("**3.** What", "**4.** What"),
    ],
)
def test_a_question_that_is_not_whole_is_refused_with_file_and_line(write, old, new):
    assert old in QUIZ
    with pytest.raises(ValueError, match=r"labs/03_x\.md, line \d+: "):
        quizzes.quizzes(write(QUIZ.replace(old, new, 1)))


# --- the table -----------------------------------------------------------------------------------------------------


def test_the_table_has_every_question_with_its_choices_answer_and_reasons(write):
    assert export_quizzes.main(write(QUIZ).parents[1]) == 0
    with open(write(QUIZ).parents[1] / "_build/questions.csv", newline="", encoding="utf-8-sig") as file:
        chosen, typed, open_one = csv.DictReader(file)
    assert (chosen["number"], chosen["question"]) == ("A lab, question 1", "Which matrix asks?")
    assert chosen["choices"].splitlines() == ["`W_key`", "`W_query`, as \\(x W\\)"]
    assert chosen["answer"] == "`W_query`, as \\(x W\\)"
    assert "→ Right. A query is \\(x W_q\\)." in chosen["reason"] and "/labs/02_keys.html)" in chosen["reason"]
    assert (typed["choices"], typed["answer"]) == ("", "6 or six")
    assert (open_one["answer"], open_one["reason"]) == ("", "There is no single right answer.")

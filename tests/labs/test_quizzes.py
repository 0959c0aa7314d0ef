"""Claims about predictions and questions: they are whole, what is not is refused, and the table holds all of it."""

import csv
import re
from pathlib import Path

import export_quizzes
import lab_code
import notebooks
import pytest
import quizzes

ROOT = Path(__file__).resolve().parents[2]
LABS = [pytest.param(lab, id=lab.stem) for lab in notebooks.labs(ROOT)]
PREDICTED = """\
Four words, two numbers each.

**Predict.** How many scores are there,
and of what kind?

- four
- sixteen,
  one for each pair

```{code-cell} ipython3
print(16)
```
"""
QUIZ = """\
## Questions

**1.** Which matrix asks?

- `W_key`
- `W_query`,
  as $x W$
- all three

<details>
<summary>Answer</summary>

1. It answers.
2. Right. A query is $x W_q$.
3. Two of them
   answer.

More of it.

</details>

**2.** How many rows? Type a number.

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


# --- predictions ---------------------------------------------------------------------------------------------------


def test_a_prediction_has_a_cell_of_its_own_with_its_choices_and_nothing_else(write):
    lab = write(PREDICTED)
    sources = [cell.source for cell in notebooks.generate(lab).cells if not notebooks.is_generated(cell)]
    question = PREDICTED[PREDICTED.index("**P") : PREDICTED.index("\n\n```")]
    assert sources == ["# A lab", "Four words, two numbers each.", question, "print(16)"]
    (prediction,) = quizzes.predictions(lab)
    assert prediction.text == "**Predict.** How many scores are there,\nand of what kind?"
    assert prediction.choices == ["four", "sixteen,\none for each pair"]
    assert (prediction.rest, prediction.where) == ("", "labs/03_x.md, line 5")
    (prediction,) = quizzes.predictions(write(PREDICTED.replace("pair\n\n", "pair\n\nSixteen.\n\n")))
    assert prediction.rest == "Sixteen.", "what stands between a prediction and its code is told"


def test_numbered_things_to_guess_belong_to_the_question_and_are_no_choices(write):
    (prediction,) = quizzes.predictions(write("**Predict.** Guess both:\n\n1. one\n2. two\n\nText.\n\n- a list\n"))
    assert (prediction.choices, prediction.rest) == ([], "Text.\n\n- a list")
    assert prediction.text.endswith("2. two")


def test_ids_of_other_cells_stay_when_a_question_gets_choices(write):
    ids = [
        [cell.id for cell in notebooks.generate(write(text)).cells]
        for text in (PREDICTED, PREDICTED.replace("- four\n", ""))
    ]
    assert [a == b for a, b in zip(*ids, strict=True)] == [True, True, True, False, True]


@pytest.mark.parametrize(
    "slip", ["**Predict:** how many?", "**Predict**, and write it down: how many?", "Look. Predict: how many?",
             "First a sentence. **Predict.** How many?"]
)  # fmt: skip
def test_a_prediction_in_another_spelling_is_refused_with_its_line(write, slip):
    with pytest.raises(ValueError, match=r"labs/03_x\.md, line 5: a prediction is a paragraph of its own that begins"):
        quizzes.predictions(write(f"Text.\n\n{slip}\n"))


# --- quizzes -------------------------------------------------------------------------------------------------------


def test_a_question_is_chosen_typed_or_open(write):
    chosen, typed, open_one = quizzes.quizzes(write(QUIZ))
    assert chosen == quizzes.Quiz(
        1,
        "Which matrix asks?",
        [
            ("`W_key`", "It answers."),
            ("`W_query`,\nas $x W$", "Right. A query is $x W_q$."),
            ("all three", "Two of them\nanswer."),
        ],
        [],
        "More of it.",
    )
    assert chosen.right == 1
    assert (typed.choices, typed.accepted, typed.answer) == ([], ["6", "six"], "**6** or **six**. A row for each word.")
    assert (open_one.choices, open_one.accepted, open_one.answer) == ([], [], "There is no single right answer.")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("3. Two of them\n   answer.\n", "", "3 choices, 2 reasons, 1 of them right"),
        ("1. It answers.", "1. Right. It answers.", "3 choices, 3 reasons, 2 of them right"),
        ("2. Right. A", "2. A", "3 choices, 3 reasons, 0 of them right"),
        ("1. It answers.", "Think.\n\n1. It answers.", "needs a fold that begins with a numbered list|begins with a"),
        ("- all three\n", "- all three\n\nWhich?\n", "text stands between the choices and the fold"),
        ("**3.** What", "**4.** What", r"has to begin with its number, `\*\*3\.\*\* `"),
        ("**1.** Which", "Which", r"has to begin with its number, `\*\*1\.\*\* `"),
    ],
)
def test_a_question_that_is_not_whole_is_refused_with_file_and_line(write, old, new, said):
    assert old in QUIZ
    with pytest.raises(ValueError, match=rf"labs/03_x\.md, line \d+: .*({said})"):
        quizzes.quizzes(write(QUIZ.replace(old, new, 1)))


# --- the table -----------------------------------------------------------------------------------------------------


def test_the_table_has_every_question_with_its_choices_answer_and_reasons(write):
    lab = write(QUIZ.replace("More of it.", "See [lab 2](02_keys.ipynb)."))
    assert export_quizzes.main(lab.parents[1]) == 0
    with open(lab.parents[1] / "_build/questions.csv", newline="", encoding="utf-8-sig") as file:
        chosen, typed, open_one = csv.DictReader(file)
    assert (chosen["number"], chosen["question"]) == ("A lab, question 1", "Which matrix asks?")
    assert chosen["choices"].splitlines() == ["`W_key`", "`W_query`, as \\(x W\\)", "all three"]
    assert chosen["answer"] == "`W_query`, as \\(x W\\)"
    assert "→ Right. A query is \\(x W_q\\)." in chosen["reason"] and "/labs/02_keys.html)" in chosen["reason"]
    assert (typed["choices"], typed["answer"]) == ("", "6 or six")
    assert (open_one["answer"], open_one["reason"]) == ("", "There is no single right answer.")


def test_the_table_of_the_course_has_every_question_of_every_lab():
    rows = [export_quizzes.row("", quiz, "") for lab in notebooks.labs(ROOT) for quiz in quizzes.quizzes(lab)]
    assert len(rows) >= 3 * len(LABS)
    assert not [cell for row in rows for cell in row if re.search(r"textcolor|\$|\.ipynb|\.\./", cell)]

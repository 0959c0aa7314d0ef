"""Claims about predictions and questions: they are whole, what is not is refused, and exports hold all of it."""

import io
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

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
    assert [a == b for a, b in zip(*ids, strict=True)] == [True, True, True, False, True, True]


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


# --- exports -------------------------------------------------------------------------------------------------------

HOSTILE = QUIZ.replace("all three", "`<b>&amp;</b>` and $a < b$, a & b").replace(
    "More of it.", "See [lab 2](02_keys.ipynb)."
)


@pytest.fixture
def found(write):
    return quizzes.quizzes(write(HOSTILE))


def test_moodle_gets_every_question_with_its_kind_choices_reasons_and_formulas(found):
    file = re.sub(rb"&lt;/?span.*?&gt;", b"", export_quizzes.to_moodle("3. A lab", 3, found, "https://site"))
    category, *questions = ElementTree.fromstring(file)
    assert category.findtext("category/text") == "$course$/top/Towards Self-Attention/3. A lab"
    assert [one.get("type") for one in questions] == ["multichoice", "shortanswer", "essay"]
    chosen, typed, open_one = questions
    assert chosen.findtext("name/text") == "Lab 3, question 1"
    assert chosen.findtext("questiontext/text") == "<p>Which matrix asks?</p>"
    answers = chosen.findall("answer")
    assert [[answer.get("fraction"), *(text.text for text in answer.iter("text"))] for answer in answers] == [
        ["0", "<p><code>W_key</code></p>", "<p>It answers.</p>"],
        ["100", "<p><code>W_query</code>,\nas \\(x W\\)</p>", "<p>Right. A query is \\(x W_q\\).</p>"],
        ["0", "<p><code>&lt;b&gt;&amp;amp;&lt;/b&gt;</code> and \\(a &lt; b\\), a &amp; b</p>",
         "<p>Two of them\nanswer.</p>"],
    ]  # fmt: skip
    assert chosen.findtext("generalfeedback/text") == '<p>See <a href="https://site/labs/02_keys.html">lab 2</a>.</p>'
    assert [answer.findtext("text") for answer in typed.iter("answer")] == ["6", "six"]
    assert open_one.findtext("graderinfo/text") == "<p>There is no single right answer.</p>"


def canvas(found) -> tuple[list, dict]:
    """Return the items of the zip, and its files by their names; the namespaces that Canvas knows are left out."""
    known = rb' xmlns="http://(www.imsglobal.org/xsd/ims(_qtiasiv1p2|ccv1p1/imscp_v1p1)|canvas[.a-z]+/xsd/cccv1p0)"'
    with zipfile.ZipFile(io.BytesIO(export_quizzes.to_canvas("3. A lab", 3, found, "https://site"))) as zipped:
        texts = {name: re.sub(known, b"", zipped.read(name)) for name in zipped.namelist()}
    files = {name: ElementTree.fromstring(text) for name, text in texts.items()}
    return [item for root in files.values() for item in root.iter("item")], files


def test_canvas_gets_every_question_and_each_choice_leads_to_its_own_reason_and_one_to_the_points(found):
    items, files = canvas(found)
    listed = [file.get("href") for file in files.pop("imsmanifest.xml").iter("file")]
    assert sorted(listed) == sorted(files) and {root.tag for root in files.values()} == {"questestinterop", "quiz"}
    kinds = [item.findtext(".//fieldentry") for item in items]
    assert kinds == ["multiple_choice_question", "short_answer_question", "essay_question"]

    choices = {label.get("ident"): label.findtext(".//mattext") for label in items[0].iter("response_label")}
    reasons = {reason.get("ident"): reason.findtext(".//mattext") for reason in items[0].iter("itemfeedback")}
    told, right = [], []
    for condition in items[0].iter("respcondition"):
        if choice := choices.get(condition.findtext(".//varequal")):
            reason = condition.find("displayfeedback")
            told += [] if reason is None else [(choice, reasons[reason.get("linkrefid")])]
            right += [choice] if condition.find("setvar") is not None else []
    assert [choice for choice, _ in told] == list(choices.values())
    assert [why.split()[0] for _, why in told] == ["<p>It", "<p>Right.", "<p>Two"]
    assert len(right) == 1 and right[0].startswith("<p><code>W_query</code>")
    assert 'data-equation-content="x W"' in right[0] and "/equation_images/x%20W" in right[0]


def test_each_question_counts_one_point_in_either_system(found):
    moodle = ElementTree.fromstring(export_quizzes.to_moodle("", 3, found, ""))
    assert [float(grade.text) for grade in moodle.iter("defaultgrade")] == [1, 1, 1]
    items, files = canvas(found)
    told = [dict(zip(item.iter("fieldlabel"), item.iter("fieldentry"), strict=True)) for item in items]
    points = [float(entry.text) for item in told for label, entry in item.items() if label.text == "points_possible"]
    assert points == [1, 1, 1]
    assert [float(total.text) for root in files.values() for total in root.findall("points_possible")] == [3]


@pytest.mark.parametrize(("number", "width"), [("6", 0.5), (".25", 0.005), ("-1.5", 0.05)])
def test_a_number_has_a_tolerance_of_half_its_last_place(write, number, width):
    found = quizzes.quizzes(write(QUIZ.replace("**6** or **six**", f"**{number}**")))
    assert found[1].accepted == [number]
    (answer,) = ElementTree.fromstring(export_quizzes.to_moodle("", 3, found, ""))[2].iter("answer")
    assert (answer.findtext("text"), float(answer.findtext("tolerance"))) == (number, width)
    _, item, open_one = canvas(found)[0]
    low, high = (float(item.findtext(f".//{end}")) for end in ("vargte", "varlte"))
    assert (low, high) == pytest.approx((float(number) - width, float(number) + width))
    # New Quizzes take a field for text when it does not say that it is for a number.
    assert [each.find(".//render_fib").get("fibtype") for each in (item, open_one)] == ["Decimal", None]


def test_the_same_questions_make_the_same_files(found):
    for export in (export_quizzes.to_moodle, export_quizzes.to_canvas):
        assert export("A", 3, found, "s") == export("A", 3, found, "s") != export("A", 3, found[:1], "s")

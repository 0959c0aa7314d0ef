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


def test_numbered_things_to_guess_belong_to_the_question_and_are_no_choices(write):
    (prediction,) = quizzes.predictions(write("**Predict.** Guess both:\n\n1. one\n2. two\n\nText.\n\n- a list\n"))
    assert (prediction.choices, prediction.rest) == ([], "Text.\n\n- a list")
    assert prediction.text.endswith("2. two")


def test_what_stands_between_a_prediction_and_its_code_is_told(write):
    (prediction,) = quizzes.predictions(write(PREDICTED.replace("pair\n\n", "pair\n\nSixteen.\n\n")))
    assert prediction.rest == "Sixteen."


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
    file = export_quizzes.to_moodle("3. A lab", 3, found, "https://site")
    category, chosen, typed, open_one = ElementTree.fromstring(file)
    assert category.findtext("category/text") == "$course$/top/Towards Self-Attention/3. A lab"
    kinds = [one.get("type") for one in (chosen, typed, open_one)]
    assert kinds == ["multichoice", "shortanswer", "essay"]
    assert chosen.findtext("name/text") == "Lab 3, question 1"
    assert chosen.findtext("questiontext/text") == "<p>Which matrix asks?</p>"
    file = re.sub(rb"&lt;/?span.*?&gt;", b"", file)  # around formulas
    chosen = ElementTree.fromstring(file)[1]
    assert [(answer.get("fraction"), answer.findtext("text")) for answer in chosen.iter("answer")] == [
        ("0", "<p><code>W_key</code></p>"),
        ("100", "<p><code>W_query</code>,\nas \\(x W\\)</p>"),
        ("0", "<p><code>&lt;b&gt;&amp;amp;&lt;/b&gt;</code> and \\(a &lt; b\\), a &amp; b</p>"),
    ]
    reasons = [answer.findtext("feedback/text") for answer in chosen.iter("answer")]
    assert reasons == ["<p>It answers.</p>", "<p>Right. A query is \\(x W_q\\).</p>", "<p>Two of them\nanswer.</p>"]
    assert chosen.findtext("generalfeedback/text") == '<p>See <a href="https://site/labs/02_keys.html">lab 2</a>.</p>'
    assert [answer.findtext("text") for answer in typed.iter("answer")] == ["6", "six"]
    assert open_one.findtext("graderinfo/text") == "<p>There is no single right answer.</p>"


@pytest.mark.parametrize(("number", "width"), [("6", 0.5), (".25", 0.005), ("-1.5", 0.05)])
def test_a_number_has_a_tolerance_of_half_its_last_place(write, number, width):
    found = quizzes.quizzes(write(QUIZ.replace("**6** or **six**", f"**{number}**")))
    assert found[1].accepted == [number]
    (answer,) = ElementTree.fromstring(export_quizzes.to_moodle("", 3, found, ""))[2].iter("answer")
    assert (answer.findtext("text"), float(answer.findtext("tolerance"))) == (number, width)
    tests = canvas(found)[0][1].find(f".//{QTI}or")
    low, high = (float(tests.findtext(f".//{QTI}{end}")) for end in ("vargte", "varlte"))
    assert (low, high) == pytest.approx((float(number) - width, float(number) + width))
    # New Quizzes take a field for text when it does not say that it is for a number.
    assert [canvas(found)[0][n].find(f".//{QTI}render_fib").get("fibtype") for n in (1, 2)] == ["Decimal", None]


QTI = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"


def canvas(found):
    """Return the items of the zip, and the files that it says it has and those that it has."""
    with zipfile.ZipFile(io.BytesIO(export_quizzes.to_canvas("3. A lab", 3, found, "https://site"))) as zipped:
        roots = {name: ElementTree.fromstring(zipped.read(name)) for name in zipped.namelist()}
    listed = [file.get("href") for file in roots["imsmanifest.xml"].iter() if file.tag.endswith("}file")]
    items = [item for root in roots.values() for item in root.iter(f"{QTI}item")]
    return items, sorted(listed), sorted(roots.keys() - {"imsmanifest.xml"})


def test_canvas_gets_every_question_and_a_manifest_of_all_files(found):
    items, listed, there = canvas(found)
    assert listed == there and len(there) == 2
    kinds = [next(e.text for e in item.iter(f"{QTI}fieldentry")) for item in items]
    assert kinds == ["multiple_choice_question", "short_answer_question", "essay_question"]


def test_in_canvas_each_choice_leads_to_its_own_reason_and_one_to_the_points(found):
    chosen = canvas(found)[0][0]
    choices = {label.get("ident"): label.findtext(f".//{QTI}mattext") for label in chosen.iter(f"{QTI}response_label")}
    reasons = {told.get("ident"): told.findtext(f".//{QTI}mattext") for told in chosen.iter(f"{QTI}itemfeedback")}
    told, right = {}, []
    for condition in chosen.iter(f"{QTI}respcondition"):
        choice, feedback = condition.findtext(f".//{QTI}varequal"), condition.find(f"{QTI}displayfeedback")
        if condition.find(f"{QTI}setvar") is not None:
            right.append(choices[choice])
        elif choice:
            told[choices[choice]] = reasons[feedback.get("linkrefid")]
    assert [why.split()[0] for why in told.values()] == ["<p>It", "<p>Right.", "<p>Two"] and list(told) == list(
        choices.values()
    )
    assert len(right) == 1 and right[0].startswith("<p><code>W_query</code>")
    assert 'data-equation-content="x W"' in right[0] and "/equation_images/x%20W" in right[0]


def test_the_same_questions_make_the_same_files(found):
    for export in (export_quizzes.to_moodle, export_quizzes.to_canvas):
        assert export("A", 3, found, "s") == export("A", 3, found, "s") != export("A", 3, found[:1], "s")

"""Claims about the slides: what of a lab comes onto them, and in which pieces. The lab is small, no cell runs."""

import re

import jupytext
import nbformat
import pytest
import slides
from docutils import nodes
from docutils.core import publish_doctree
from myst_nb.docutils_ import Parser

LAB = """
# Small

What does a token bring back?

**You will be able to** average, and mask what is padding.

**Time:** about 20 minutes to read.

## What you run on

Two switches.

```python
print("settings")
```

## Where it looks

Before the picture.

```python
"picture one"
```

It looks left. The second sentence is spoken.

<details><summary>Why?</summary>

The secret.

</details>

```python
"picture two"
```

**Predict.** How often is it right?

- Always.
- Never.

```python
print("0.75 of all")
```

Three in four. (Nobody guessed that.)

## The layer

It has four maps. Each is linear.

```python
print("four maps\\nfour biases")
```

## Words

Said and not shown.

## One line

Said, and shown to oneself.

```python
print("one line")
```

## One more

**Predict.** How many lines?

```python
print("line 0\\nline 1\\nline 2\\nline 3\\nline 4")
```

Five lines. All of them.

### Exercise 7.1 (build): the layer

```python
"picture of the solution"
```

```python
check.layer(layer)
```

## Marked

```python
"picture three"
```

```python
"picture four"
```

## What you can now say

- One.
- Two.
- Three.
- Four.

## Questions

**1.** Is it?
"""
SETTINGS = {"report_level": 5, "doctitle_xform": False, "nb_execution_mode": "off"}
MARKS = {'"picture three"': "skip", '"picture four"': "keep"}


@pytest.fixture(scope="module")
def deck() -> tuple[list, int]:
    notebook = jupytext.reads(LAB, fmt="md")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata |= {"slide": MARKS[cell.source]} if cell.source in MARKS else {}
            printed = re.match(r'print\("(.*)"\)', cell.source)
            shown = {"text/html": f"<svg><title>{cell.source}</title></svg>"}
            cell.outputs = (
                [nbformat.v4.new_output("stream", text=printed[1].replace("\\n", "\n"))]
                if printed
                else [nbformat.v4.new_output("display_data", shown)]
            )
    return slides.deck(page(notebook))


def page(notebook: nbformat.NotebookNode) -> nodes.section:
    """The section that is a notebook's page."""
    document = publish_doctree(nbformat.writes(notebook), parser=Parser(), settings_overrides=SETTINGS)
    return document.next_node(nodes.section)


def text(slide) -> str:
    return " ".join(part.astext() for part in slide.shows)


def notes(slide) -> str:
    return " ".join(part.astext() for part in slide.notes)


def test_a_deck_opens_with_the_question_and_closes_with_three_sentences(deck):
    pages, minutes = deck
    assert text(pages[0]) == "What does a token bring back?"
    assert text(pages[1]) == "Average, and mask what is padding." and pages[1].heading.astext() == "You will be able to"
    assert text(pages[-2]) == "7.1 (build): the layer"
    assert [item.astext() for item in pages[-1].shows[0]] == ["One.", "Two.", "Three."]
    assert minutes == 20


def test_a_section_shows_its_first_picture_and_says_the_sentence_behind_it(deck):
    pictures = [slide for slide in deck[0] if slide.kind == "picture"]
    assert "picture one" in text(pictures[0]) and pictures[0].heading.astext() == "Where it looks"
    assert "picture two" not in " ".join(map(text, deck[0]))


def test_a_short_answer_waits_on_the_slide_that_asks(deck):
    question = next(slide for slide in deck[0] if slide.label == "Predict")
    assert text(question).split() == "How often is it right? Always. Never.".split()
    assert (question.answer[0].astext(), question.then.astext()) == ("0.75 of all", "Three in four.")
    assert "0.75" not in text(question) + notes(question)


def test_a_longer_answer_has_the_next_slide(deck):
    place = next(i for i, slide in enumerate(deck[0]) if slide.heading.astext() == "One more")
    question, answer = deck[0][place : place + 2]
    assert (question.label, question.answer, question.then) == ("Predict", [], None)
    assert "line 4" not in text(question) + notes(question)
    assert (answer.label, answer.then.astext()) == ("Answer", "Five lines.") and "line 4" in text(answer)
    assert "All of them." in notes(answer)


def test_a_section_without_pictures_shows_its_first_sentence_and_what_it_printed(deck):
    layer = next(slide for slide in deck[0] if slide.heading.astext() == "The layer")
    assert text(layer) == "It has four maps. four maps\nfour biases"


def test_words_alone_and_a_picture_in_an_exercise_are_no_slide_and_the_words_are_spoken(deck):
    assert not {"Words", "One line"} & {slide.heading.astext() for slide in deck[0]}
    assert "solution" not in " ".join(map(text, deck[0]))
    layer = next(slide for slide in deck[0] if slide.heading.astext() == "The layer")
    assert "Said and not shown." in notes(layer) and "Said, and shown to oneself." in notes(layer)


def test_an_author_takes_a_cell_off_the_slides_or_keeps_it_there(deck):
    marked = [text(slide) for slide in deck[0] if slide.heading.astext() == "Marked"]
    assert len(marked) == 1 and "picture four" in marked[0]


def test_settings_verdicts_and_what_is_folded_away_are_neither_shown_nor_spoken(deck):
    everything = " ".join(text(slide) + notes(slide) for slide in deck[0])
    for never in ("settings", "check.layer", "secret", "Is it?"):
        assert never not in everything


def test_the_text_between_two_slides_is_spoken_and_takes_its_time(deck):
    place = next(i for i, slide in enumerate(deck[0]) if slide.kind == "picture")
    assert "Before the picture." in notes(deck[0][place])
    assert "Time: about 20 minutes" in notes(deck[0][1])
    assert deck[0][place].words() > slides.WORDS_A_LOOK


# ---------------------------------------------------------------------------------- what does not fit one slide


def table(rows: int, columns: int, name: str = "a name") -> str:
    head = "".join(f"<th>column {j}</th>" for j in range(columns))
    body = "".join(f"<tr><th>{name} {i}</th>" + f"<td>{i}</td>" * columns + "</tr>" for i in range(rows))
    return f'<div><table class="dataframe"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def test_a_table_that_fits_stays_whole():
    (whole,) = slides.cut(table(slides.ROWS, 3))
    assert whole == table(slides.ROWS, 3)


def test_a_long_table_is_dealt_out_with_its_headings():
    pieces = slides.cut(table(21, 2))
    assert all("column 1" in piece and piece.count("<tr>") <= slides.ROWS + 1 for piece in pieces)
    assert [i for piece in pieces for i in re.findall(r"a name (\d+)", piece)] == [str(i) for i in range(21)]


def test_a_wide_table_is_dealt_out_with_the_names_of_its_rows():
    pieces = slides.cut(table(3, 12, "a name of twenty letters"))
    assert len(pieces) > 1 and all(piece.count("a name of twenty") == 3 for piece in pieces)
    assert [j for piece in pieces for j in re.findall(r"column (\d+)", piece)] == [str(j) for j in range(12)]


def test_a_name_that_spans_rows_stands_in_each_of_them_on_every_slide():
    groups = [
        f'<tr><th rowspan="5">group {i}</th><th>way 0</th><td>{i}</td></tr>'
        + "".join(f"<tr><th>way {j}</th><td>{i}</td></tr>" for j in range(1, 5))
        for i in range(4)
    ]
    head = "<tr><td></td><td></td><th>found</th></tr>"
    pieces = slides.cut(f"<table><thead>{head}</thead><tbody>{''.join(groups)}</tbody></table>")
    assert len(pieces) > 1 and all(piece.count("<tr>") <= slides.ROWS + 1 for piece in pieces)
    rows = [slides.cells(row) for piece in pieces for row in re.findall("<tr>.*?</tr>", slides.parted(piece)[1])]
    assert [[slides.text(cell) for cell in row] for row in rows] == [
        [f"group {i}", f"way {j}", str(i)] for i in range(4) for j in range(5)
    ]


def test_an_interval_stays_with_its_number():
    wide = table(1, 8, "x" * 40).replace("column 4", "±")
    (piece,) = [piece for piece in slides.cut(wide) if "±" in piece]
    assert "column 3" in piece


def test_many_printed_lines_are_dealt_out():
    lines = "".join(f"<samp>line {i}\n</samp>" for i in range(30))
    pieces = slides.cut(f'<div class="output printed"><pre>{lines}</pre></div>')
    assert len(pieces) == 3 and all(piece.endswith("</pre></div>") for piece in pieces)
    assert re.findall(r"line (\d+)", "".join(pieces)) == [str(i) for i in range(30)]


@pytest.mark.parametrize("html", [
    "<table><tr><td>1</td></tr><tr><td>2</td><td>3</td></tr></table>",
    '<table><tr><td colspan="2">1</td></tr></table>',
    "<pre>no lines</pre>",
])  # fmt: skip
def test_what_has_no_rows_and_columns_stays_as_it_is(html):
    assert slides.cut(html) == [html]


def test_a_lab_that_says_little_has_a_deck_all_the_same():
    little = "# Short\n\n## What you can now say\n\nNothing.\n\n## Ask\n\n**Predict.**\n"
    pages, minutes = slides.deck(page(jupytext.reads(little, fmt="md")))
    assert [slide.kind for slide in pages] == ["title", "question"] and minutes == 0

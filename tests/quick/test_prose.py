"""Claims about the linter of words: it finds what the course does not write, and leaves ordinary English alone."""

import tomllib

import prose
import pytest

LISTS = tomllib.loads(prose.LISTS.read_text("utf-8"))
HOUSE_WORDS = {
    "It brings\nback what it found.": "brings back",
    "The query at <MARK> is the mark's row.": "the mark's row",
    "Measure the surprise in nats.": "surprise in nats",
    "Now mend the layer.": "mend",
    "Draw its attention map.": "attention map",
    "The sines say at which place a token is.": "place",
    "Each head has a map of its own.": "map",
    "Reviews that are too long are cut from the left.": "cut",
    "The accuracy is a rounded figure.": "figure",
    "A cache holds keys and values.": "cache",
}
ORDINARY = """A map of Warsaw is in another place. The figure shows it. Cut the cake, and keep the cache of the browser.
The slope of the line, a coin in the fountain, a look out of the window: nobody asks why."""


@pytest.mark.parametrize(("sentence", "words"), HOUSE_WORDS.items())
@pytest.mark.parametrize(
    "where", ["{}", "```python\nx = 1  # {}\n```", '# a comment\ndef f():\n    """{}"""\n', "// {}"]
)
def test_each_house_word_is_found_on_pages_in_code_and_in_scripts_with_its_line(where, sentence, words):
    suffix = {"#": ".py", "/": ".js"}.get(where[0], ".md")
    if "\n" in sentence and suffix != ".py":
        sentence = sentence.replace("\n", " ")
    text = where.format(sentence)
    found = [*prose.findings(prose.READERS[suffix](text), LISTS)]
    line = text[: text.index(sentence)].count("\n") + 1
    assert (line, words) in [finding[:2] for finding in found]


def test_ordinary_english_code_and_formulas_are_left_alone():
    text = f"{ORDINARY}\n`mend` and $mend$ and [a link](mend.md)\n\n```python\nmend = 1\n```\n"
    assert not [*prose.findings(prose.READERS[".md"](text), LISTS)]


def test_a_variable_that_does_not_say_what_it_holds_is_found():
    code = "x = 1\nfor row, told in pairs:\n    kept = told\n"
    assert [line for line, *_ in prose.misnamed(code, LISTS["names"])] == [2, 3]

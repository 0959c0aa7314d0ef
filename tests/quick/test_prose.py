"""The linter of words, which `make style` runs on all that readers see, finds them on pages, in code and scripts."""

import tomllib

import pytest

from tools import prose

LISTS = tomllib.loads(prose.LISTS.read_text("utf-8"))


@pytest.mark.parametrize(("kind", "text"), [(".md", "{}"), (".py", "x = 1  # {}"), (".js", "// {}")])
def test_a_house_word_is_found_and_ordinary_english_is_not(kind, text):
    for sentence, words in (("Now mend the layer.", ["mend"]), ("A map of Warsaw.", [])):
        assert [found for _, found, _ in prose.findings(f"file{kind}", text.format(sentence), LISTS)] == words

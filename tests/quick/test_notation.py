"""Claims about *Notation and words*: its symbols are those of code, formulas and colours, and its glossary is whole."""

import re
import tomllib
from pathlib import Path

import formulas
import prose
import pytest

from shared.figures.colours import ROLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book/notation.md").read_text("utf-8")
COLOURED = re.compile(r"\\textcolor\{(#\w+)\}\{([^{}]+)\}")
ROLE_OF = dict((symbol, formulas.ROLE_OF_COLOUR[colour]) for colour, symbol in COLOURED.findall(PAGE))
NOT_YET = tomllib.loads(prose.LISTS.read_text("utf-8"))["not_yet"]
JOINED = [path for path in sorted([*ROOT.glob("book/*.md"), *ROOT.glob("labs/*_*.md")])
          if path.relative_to(ROOT).as_posix() not in NOT_YET]  # fmt: skip
ENTRIES = re.findall(r"(?ms)^### (.+?)\n\n(.*?)(?=^#)", PAGE[PAGE.index("## Glossary") :].partition("\n## ")[0] + "#")


def test_each_role_has_its_symbols_and_the_site_colours_the_same_letters():
    assert set(ROLE_OF.values()) == set(ROLES)
    assert {letter: ROLE_OF.get(letter) for letter in formulas.ROLE_OF_LETTER} == formulas.ROLE_OF_LETTER


@pytest.mark.parametrize("page", JOINED, ids=lambda page: page.stem)
def test_every_coloured_symbol_of_a_page_is_one_of_the_table_in_its_colour(page):
    """Also with an index, as in q_i, or as one row in small letters."""
    for colour, symbol in COLOURED.findall(page.read_text("utf-8")):
        letter = symbol if symbol in ROLE_OF else symbol.partition("_")[0]
        assert ROLE_OF.get(letter, ROLE_OF.get(letter.upper())) == formulas.ROLE_OF_COLOUR[colour], symbol


def test_the_glossary_is_alphabetical_and_each_entry_says_what_and_where():
    names = [name for name, _ in ENTRIES]
    assert 60 <= len(names) <= 75 and names == sorted(names, key=str.casefold)
    labs = re.findall(r"(?m)^\[(.+)\]: \.\./labs/", PAGE)
    for name, text in ENTRIES:
        assert re.search(r"First\sin\s\[([^]]+)\]\.", text)[1].replace("\n", " ") in labs, name

"""Claims about *Notation and words*: its symbols are those of code, formulas and colors."""

import re
from pathlib import Path

import formulas
import pytest

from shared.colours import ROLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book/notation.md").read_text("utf-8")
COLOURED = re.compile(r"\\textcolor\{(#\w+)\}\{([^{}]+)\}")
ROLE_OF = dict((symbol, formulas.ROLE_OF_COLOUR[colour]) for colour, symbol in COLOURED.findall(PAGE))
PAGES = [*sorted(ROOT.glob("book/*.md")), *sorted(ROOT.glob("labs/*/*.md"))]


def test_each_role_has_its_symbols_and_the_site_colours_the_same_letters():
    assert set(ROLE_OF.values()) == set(ROLES)
    assert {letter: ROLE_OF.get(letter) for letter in formulas.ROLE_OF_LETTER} == formulas.ROLE_OF_LETTER


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_coloured_symbol_of_a_page_is_one_of_the_table_in_its_colour(page):
    """Also with an index, as in q_i, or as one row in small letters."""
    for colour, symbol in COLOURED.findall(page.read_text("utf-8")):
        letter = symbol if symbol in ROLE_OF else symbol.partition("_")[0]
        assert ROLE_OF.get(letter, ROLE_OF.get(letter.upper())) == formulas.ROLE_OF_COLOUR[colour], symbol

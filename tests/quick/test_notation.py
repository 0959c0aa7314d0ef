"""Claims about *Notation and words*: its symbols are those of code, formulas and colors."""

import re
from pathlib import Path

import formulas

from shared.colours import ROLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book/notation.md").read_text("utf-8")
COLOURED = re.compile(r"\\textcolor\{(#\w+)\}\{([^{}]+)\}")
ROLE_OF = dict((symbol, formulas.ROLE_OF_COLOUR[colour]) for colour, symbol in COLOURED.findall(PAGE))
PAGES = [*sorted(ROOT.glob("book/*.md")), *sorted(ROOT.glob("labs/*/*.md"))]


def test_each_role_has_its_symbols_and_the_site_colours_the_same_letters():
    assert set(ROLE_OF.values()) == set(ROLES)
    assert {letter: ROLE_OF.get(letter) for letter in formulas.ROLE_OF_LETTER} == formulas.ROLE_OF_LETTER


def in_another_colour(text: str) -> list[str]:
    """The coloured symbols of a text that are none of the table, or not in its colour.

    Those with an index, as q_i, or one row in small letters, have the colour of their letter.
    """
    found = []
    for colour, symbol in COLOURED.findall(text):
        letter = symbol if symbol in ROLE_OF else symbol.partition("_")[0]
        if ROLE_OF.get(letter, ROLE_OF.get(letter.upper())) != formulas.ROLE_OF_COLOUR.get(colour):
            found.append(symbol)
    return found


def test_every_coloured_symbol_of_a_page_is_one_of_the_table_in_its_colour():
    query, key = (ROLES[role][0] for role in ("query", "key"))
    right, wrong = rf"\textcolor{{{query}}}{{q_i}} \textcolor{{{key}}}{{K}}", rf"\textcolor{{{key}}}{{q_i}}"
    unknown = rf"\textcolor{{{query}}}{{Z}} \textcolor{{#123456}}{{Q}}"
    assert (in_another_colour(right), in_another_colour(wrong + unknown)) == ([], ["q_i", "Z", "Q"])
    found = {page.stem: in_another_colour(page.read_text("utf-8")) for page in PAGES}
    assert {page: symbols for page, symbols in found.items() if symbols} == {}

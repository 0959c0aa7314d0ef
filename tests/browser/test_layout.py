"""Every page as it is laid out, in fonts that every machine has, on a phone and on a desk.

tests/slow/test_every_page.py goes on with other fonts, widths and settings of readers.
"""

from pathlib import Path

import nbformat
import pytest
from site_in_browser import settle
from test_site import LABS, PAGES, ROOT

from shared.figures.picture import Picture

ALL = [*PAGES, "search", "404"]
OFFENCES = Path(__file__).with_name("layout.js").read_text("utf-8")
# The pages with models: what loads them, and what is there when they have answered.
LOADED = {
    "book/try_the_model": ("#try-load", "#try-strip .short:has-text('%')"),
    "book/seventy_two_heads": ("#heads-load", "#heads[data-viewed]"),
    "book/it_writes": ("#writes-load", "#writes[data-viewed]"),
}


def stored_figures(lab: str) -> list[Picture]:
    """The figures of a lab as its notebook stores them."""
    outputs = [each for cell in nbformat.read(ROOT / f"{lab}.ipynb", 4).cells for each in cell.get("outputs", [])]
    kinds = ("text/html", "image/svg+xml")
    texts = [each["data"][kind] for each in outputs for kind in kinds if kind in each.get("data", {})]
    return [
        Picture(text, "") for text in texts if any(sign in text for sign in ("<svg", "<script", 'class="matrices"'))
    ]


WITH_FIGURES = [lab for lab in LABS if stored_figures(lab)]


def opened(visit, address, name, width):
    """A page of the site; where it has models, they are loaded and have answered."""
    page = visit(f"{address}/{name}.html", width=width)
    if name in LOADED:
        button, answer = LOADED[name]
        if page.locator(button).is_visible():  # not where the package of the pretrained model was missing
            page.locator(button).click()
            page.locator(answer).first.wait_for()
    return page


def offences(page, widths) -> dict[int, list[str]]:
    """What is wrong at each width; nothing for a width where all is well."""
    found = {}
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        found[width] = page.evaluate(OFFENCES)
    return {width: wrong for width, wrong in found.items() if wrong}


@pytest.mark.parametrize("name", ALL)
def test_text_stays_in_its_box_and_a_page_in_its_width(visit, address, name):
    assert offences(opened(visit, address, name, 320), (320, 1440)) == {}


@pytest.mark.parametrize("lab", WITH_FIGURES)
def test_a_stored_figure_fits_where_the_site_s_fonts_are_missing(show, lab):
    """In JupyterLab, in Colab, in a saved notebook."""
    assert offences(show(*stored_figures(lab), width=320), (320, 1440)) == {}

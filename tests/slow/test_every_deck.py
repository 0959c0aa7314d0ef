"""Every deck of slides: as long as a lesson, read from the last row, in both themes, and printed."""

import re

import pytest
import site_pdf
import slides_in_browser
from site_in_browser import SITE
from test_site import LABS

DECKS = [lab.removeprefix("labs/") for lab in LABS]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", DECKS)
def test_a_deck_is_read_from_the_last_row_and_asks_nobody_else(visit, address, name, theme):
    page = slides_in_browser.opened(visit, f"{address}/slides/{name}.html", theme)
    assert slides_in_browser.faults(page) == []
    assert page.faults == [] and [url for url in page.asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_fits_a_lesson(name):
    html = (SITE / "slides" / f"{name}.html").read_text("utf-8")
    assert 12 <= html.count('<aside class="notes">') <= 26


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_works_from_a_disk(visit, name):
    page = slides_in_browser.opened(visit, (SITE / "slides" / f"{name}.html").as_uri())
    assert page.faults == []


def test_the_command_prints_one_deck_with_a_page_for_each_slide(monkeypatch, tmp_path, browser):
    monkeypatch.setattr(site_pdf, "ROOT", tmp_path)
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build/html").symlink_to(SITE)
    assert site_pdf.print_slides(site_pdf.browser_here(), DECKS[0][:2]) == 0
    printed = (tmp_path / f"_build/slides/{DECKS[0]}.pdf").read_bytes()
    slides = (SITE / "slides" / f"{DECKS[0]}.html").read_text("utf-8").count('<aside class="notes">')
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == slides

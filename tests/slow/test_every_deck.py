"""Every deck of slides: as long as a lesson, read from the last row, in both themes, and printed."""

import re
import subprocess
import sys

import lab_code
import pytest
import slides_in_browser
from site_in_browser import SITE, says
from test_site import LABS, ROOT

DECKS = [lab.removeprefix("labs/") for lab in LABS]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", DECKS)
def test_a_deck_is_read_from_the_last_row_and_asks_nobody_else(visit, address, name, theme):
    page = slides_in_browser.opened(visit, f"{address}/slides/{name}.html", theme)
    assert [fault for _ in slides_in_browser.turned(page) for fault in slides_in_browser.faults(page)] == []
    assert page.faults == [] and [url for url in page.asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.parametrize("name", [lab.stem for lab in lab_code.of_the_course() if lab.stem in DECKS])
def test_a_deck_fits_a_lesson(name):
    html = (SITE / "slides" / f"{name}.html").read_text("utf-8")
    assert 10 <= html.count('<aside class="notes">') <= 26  # lab 0 is read in a quarter of an hour
    said = re.escape(says("From minute {begin} of {minutes}.")).replace(r"\{begin\}", r"\d+")
    (minutes,) = set(re.findall(said.replace(r"\{minutes\}", r"(\d+)"), html))
    assert int(minutes) <= 45


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_works_from_a_disk(visit, name):
    page = slides_in_browser.opened(visit, (SITE / "slides" / f"{name}.html").as_uri())
    assert page.faults == []


def test_the_command_prints_one_deck_with_a_page_for_each_slide():
    name = DECKS[0]
    subprocess.run([sys.executable, ROOT / "tools/site_pdf.py", "slides", name[:2]], check=True)
    printed = (ROOT / "_build/slides" / f"{name}.pdf").read_bytes()
    slides = (SITE / "slides" / f"{name}.html").read_text("utf-8").count('<aside class="notes">')
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == slides


def test_a_deck_that_is_not_there_is_a_sentence():
    asked = [sys.executable, ROOT / "tools/site_pdf.py", "slides", "99"]
    answer = subprocess.run(asked, capture_output=True, text=True)
    assert answer.returncode == 1 and "There is no deck 99" in answer.stdout

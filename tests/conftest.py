"""A browser for every test that asks for one: the Chromium or Chrome of this machine, driven by Playwright.

And the number of processes for `pytest -n auto`.
"""

import os
import shutil
import signal
import sys

import how_many
import pytest

# Tests run side by side, and two threads that wait for one core would count as work of a check. Read as PyTorch loads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# What checks notebooks would build a grammar of addresses, which takes as long as importing PyTorch; none is checked.
sys.modules.setdefault("rfc3987_syntax", None)

# A script's shell makes what it runs in the background deaf to Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)  # `make test-all` runs without xdist
def pytest_xdist_auto_num_workers() -> int:
    return how_many.processes()


@pytest.fixture(scope="session")
def browser():
    """A headless browser. Without one the test is skipped; where REQUIRE_BROWSER=1 is set, it fails."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        sentence = f"no browser here: looked for {', '.join(names)}; install one of them to run this test"
        pytest.fail(sentence) if os.environ.get("REQUIRE_BROWSER") == "1" else pytest.skip(sentence)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Root may not use the sandbox (containers, continuous integration); there is no GPU to be had either. With one
        # renderer for all pages, a page opens in half the time.
        settings = ["--no-sandbox", "--disable-gpu", "--renderer-process-limit=1"]
        running = playwright.chromium.launch(executable_path=found, args=settings)
        yield running
        running.close()


@pytest.fixture(scope="session")
def address():
    """The built site on a server, as readers meet it."""
    import site_in_browser  # needs the course's figures, whose imports take seconds; here and below

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
    """Opens a page of figures with the site's colours; after the test it must have complained and asked for nothing."""
    import site_in_browser

    pages = []

    def show(*figures, theme="light", **settings):
        pages.append(visit("about:blank", theme, **{"width": 1000} | settings))
        pages[-1].set_content(site_in_browser.page_of(figures, theme))
        return pages[-1]

    yield show
    for page in pages:
        assert page.faults == [] and page.asked in ([], ["about:blank"])

"""The built site in a browser: what it fetches, how it is used by keyboard, at 360 pixels, in the dark."""

import functools
import http.server
import threading

import pytest
from test_site import LABS, PAGES, ROOT, SITE, TOC

ALL = [*PAGES, "search", "404"]
THEMES = ("light", "dark")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass


@pytest.fixture(scope="module")
def address():
    """The site on a server of its own, as readers meet it."""
    assert SITE.is_dir(), "the site is not built; run `make book` first"
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def visit(browser):
    """Opens an address and returns its page; `page.faults` collects what went wrong, `page.asked` what it fetched."""
    contexts = []

    def open_page(url: str, theme: str = "light", width: int = 1440):
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=theme, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.faults, page.asked = [], []
        page.on("console", lambda m: page.faults.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(url, wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", ALL)
def test_a_page_opens_without_a_fault_and_asks_nobody_else(visit, address, name):
    page = visit(f"{address}/{name}.html")
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.parametrize("name", ALL)
def test_a_page_works_from_a_stick(visit, name):
    page = visit((SITE / f"{name}.html").as_uri())
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((SITE.as_uri(), "data:", "blob:"))] == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ALL)
def test_axe_finds_nothing(visit, address, name, theme):
    from axe_playwright_python.sync_playwright import Axe

    page = visit(f"{address}/{name}.html", theme)
    found = Axe().run(page).response["violations"]
    told = [f"{fault['id']}: {node['html'][:160]}" for fault in found for node in fault["nodes"][:3]]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("name", ALL)
def test_a_phone_never_scrolls_sideways(visit, address, name):
    page = visit(f"{address}/{name}.html", width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    # What is cut off at the edge must be inside something that scrolls.
    lost = page.evaluate(
        """[...document.querySelectorAll("main *")].filter(e => {
             if (e.closest(".hidden") || !e.getClientRects().length) return false;
             if (e.getBoundingClientRect().right <= 361) return false;
             for (let up = e; up; up = up.parentElement)
               if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return false;
             return !e.closest("svg");
           }).map(e => e.outerHTML.slice(0, 120))"""
    )
    assert lost == []


def test_the_contents_open_and_close_by_keyboard_on_a_phone(visit, address):
    page = visit(f"{address}/{TOC['root']}.html", width=360)
    contents = page.locator("#contents")
    assert not contents.is_visible()
    page.get_by_role("button", name="Contents").focus()
    page.keyboard.press("Enter")
    assert contents.is_visible() and page.locator(f'#contents a[href$="{LABS[0]}.html"]').is_visible()
    page.keyboard.press("Escape")
    assert not contents.is_visible()


def test_the_first_tab_leads_past_the_contents(visit, address):
    page = visit(f"{address}/{LABS[0]}.html")
    page.keyboard.press("Tab")
    focused = page.evaluate("[document.activeElement.hash, document.activeElement.getBoundingClientRect().top >= 0]")
    assert focused == ["#main", True]


def test_whatever_takes_the_focus_shows_it(visit, address):
    page = visit(f"{address}/{TOC['root']}.html")
    for _ in range(25):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert outline == "3px", page.evaluate("document.activeElement.outerHTML")


def test_the_theme_follows_the_system_until_the_reader_chooses(visit, address):
    page = visit(f"{address}/{TOC['root']}.html", theme="dark")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(theme) == "light"
    page.goto(f"{address}/{PAGES[1]}.html")
    assert page.evaluate(theme) == "light"


def test_code_is_copied_as_it_stands(visit, address):
    page = visit(f"{address}/book/how_to_use.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".highlight").first.hover()
    page.get_by_role("button", name="Copy this code").first.click()
    page.wait_for_function("document.getElementById('said').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator(".highlight pre").first.inner_text()


@pytest.mark.parametrize("name", LABS)
def test_search_leads_into_a_lab(visit, address, name):
    text = (ROOT / f"{name}.md").read_text()
    word = next(word for word in ("softmax", "seeds") if word in text)
    page = visit(f"{address}/search.html?q={word}")
    page.wait_for_selector(f'#search-results a[href*="{name}.html"]')
    assert page.faults == []


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)>", "\u202eשלום 🙂", "word " * 20_000])
def test_no_search_does_harm(visit, address, text):
    page = visit(f"{address}/search.html")
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.locator("main input").fill(text)
    page.evaluate("Search.performSearch(document.querySelector('main input').value)")
    page.wait_for_selector("#search-results .search-summary")
    assert dialogs == [] and page.locator("#search-results img").count() == 0
    assert page.faults == []


def test_a_page_prints_without_its_frame_and_with_its_answers(visit, address):
    page = visit(f"{address}/{LABS[0]}.html")
    page.emulate_media(media="print")
    assert not page.locator(".bar").is_visible() and not page.locator("#contents").is_visible()
    assert page.locator("h1").is_visible()
    answers = page.locator("main details:not(.hide)")
    for place in range(answers.count()):
        assert answers.nth(place).evaluate("e => e.lastElementChild.checkVisibility({contentVisibilityAuto: true})")


def test_paper_is_white_also_for_readers_in_the_dark(visit, address):
    page = visit(f"{address}/{TOC['root']}.html", theme="dark")
    theme = "document.documentElement.dataset.theme"
    page.evaluate(f"addEventListener('beforeprint', () => {{ globalThis.printed = {theme}; }})")
    page.pdf()
    assert page.evaluate("printed") == "light" and page.evaluate(theme) == "dark"

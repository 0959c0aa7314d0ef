"""The built site in a browser: what it fetches, how it is used by keyboard, at 360 pixels, in the dark."""

import re
import subprocess
import zipfile

import pytest
from playwright.sync_api import Locator
from site_in_browser import axe, visits
from test_site import LABS, PAGES, ROOT, SITE, TOC

ALL = [*PAGES, "search", "404"]
A_PAGE_OF_EACH_KIND = [TOC["root"], "book/notation", LABS[5], "search"]
WIDTHS = (360, 768, 1440)
# What a reader may type or paste: markup, very much text, signs outside the plane, a text that turns the line round.
HOSTILE = ["<img src=x onerror=alert(1)>", "word " * 20_000, "🙂👩‍👩‍👧 𝕏", "\u202eשלום \u200fمرحبا"]


# --- every page, opened once on a phone ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=ALL)
def opened(request, browser, address):
    """A page of the site on a narrow screen; the tests below use it one after the other."""
    with visits(browser) as visit:
        yield visit(f"{address}/{request.param}.html", width=min(WIDTHS))


def test_a_page_opens_without_a_fault_and_asks_nobody_else(opened, address):
    assert opened.faults == []
    assert [url for url in opened.asked if not url.startswith((address, "data:", "blob:"))] == []


def test_no_label_is_cut_off_at_the_edge_of_its_picture(opened):
    cut = opened.evaluate(
        """[...document.querySelectorAll("svg[role=img] text")].filter(text => {
             const own = text.getBoundingClientRect(), picture = text.closest("svg").getBoundingClientRect();
             return own.left < picture.left - 1 || own.right > picture.right + 1;
           }).map(text => text.textContent)"""
    )
    assert cut == []


def test_a_table_has_headers_and_a_picture_of_numbers_says_them(opened):
    without = "[...document.querySelectorAll('main table')].filter(t => t.rows.length && !t.querySelector('th')).length"
    assert opened.evaluate(without) == 0
    # A drawn matrix shows its numbers or describes them; shade alone is for those who see it.
    silent = opened.evaluate(
        """[...document.querySelectorAll("main .cell_output svg[role=img]")]
             .filter(e => (e.getAttribute("aria-label") || "").length < 20).map(e => e.outerHTML.slice(0, 120))"""
    )
    assert silent == []


def test_a_page_is_accessible(opened):
    # Contrast takes longest: it is measured on a page of each kind below, and at night on all of them.
    assert axe(opened, rules={"color-contrast": {"enabled": False}}) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_is_whole_at_every_width(opened, width):
    opened.set_viewport_size({"width": width, "height": 900})
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    # What is cut off at the edge must be inside something that scrolls.
    lost = opened.evaluate(
        """width => [...document.querySelectorAll("main *")].filter(e => {
             if (e.closest(".hidden") || !e.getClientRects().length) return false;
             if (e.getBoundingClientRect().right <= width + 1) return false;
             for (let up = e; up; up = up.parentElement)
               if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return false;
             return !e.closest("svg");
           }).map(e => e.outerHTML.slice(0, 120))""",
        width,
    )
    assert lost == []


def test_nothing_typed_into_a_page_does_harm(opened):
    dialogs = []
    opened.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    pictures = opened.locator("img").count()
    fields = opened.locator("main input:is([type=text], [type=search], :not([type])), main textarea")
    for text in HOSTILE:
        for field in filter(Locator.is_visible, fields.all()):
            field.focus()
            field.fill("")
            opened.keyboard.insert_text(text)
            opened.keyboard.press("Tab")
            assert field.input_value() == text[: len(field.input_value())]
    assert dialogs == [] and opened.locator("img").count() == pictures and opened.faults == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", A_PAGE_OF_EACH_KIND)
def test_a_page_of_each_kind_has_contrast_in_both_themes(visit, address, name, theme):
    assert axe(visit(f"{address}/{name}.html", theme), runOnly=["color-contrast"]) == []


# --- from a stick ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stick(tmp_path_factory):
    """What `make offline` packs, unpacked in a folder with a space in its name."""
    folder = tmp_path_factory.mktemp("a stick")
    lines = (ROOT / "Makefile").read_text().partition("\noffline:")[2].splitlines()
    pack = next(line for line in lines if "-m zipfile" in line).strip().lstrip("@").replace("$(PYTHON)", "python3")
    subprocess.run(pack.replace("_build/towards", f"'{folder}'/towards"), shell=True, cwd=ROOT, check=True)
    with zipfile.ZipFile(folder / "towards-self-attention.zip") as packed:
        packed.extractall(folder)
    return folder / "html"


@pytest.mark.parametrize("name", [*A_PAGE_OF_EACH_KIND, "404", "book/try_the_model"])
def test_a_page_works_from_a_stick(visit, stick, name):
    page = visit((stick / f"{name}.html").as_uri())
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((stick.as_uri(), "data:", "blob:"))] == []


def test_the_stick_holds_the_whole_site(stick):
    held, built = ({path.relative_to(root) for path in root.rglob("*") if path.is_file()} for root in (stick, SITE))
    assert held == built


def test_search_works_from_a_stick(visit, stick):
    page = visit((stick / "index.html").as_uri())
    page.wait_for_url("**/welcome.html")
    page.locator("#find").fill("softmax")
    page.keyboard.press("Enter")
    page.locator(f'#search-results a[href*="{LABS[0]}.html"]').first.click()
    page.wait_for_url("**/01_recap_attention.html*")
    assert page.faults == []


# --- how it is used --------------------------------------------------------------------------------------------------


def test_what_scrolls_sideways_fades_where_more_is_to_come(visit, address):
    page = visit(f"{address}/labs/03_queries.html", width=360)
    formula = page.locator("div.math.more").first
    assert formula.evaluate("e => getComputedStyle(e).maskImage") != "none"
    formula.focus()
    assert formula.evaluate("e => getComputedStyle(e).maskImage") == "none", "a fade would swallow the mark of focus"
    handle = formula.element_handle()
    handle.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    page.wait_for_function("e => !e.classList.contains('more')", arg=handle)


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


@pytest.mark.parametrize("name", ["search", TOC["root"], LABS[5]])
def test_the_tab_key_reaches_everything_and_shows_where_it_is(visit, address, name):
    page = visit(f"{address}/{name}.html")
    wanted = page.evaluate(
        """[...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
             .filter(e => e.checkVisibility() && e.tabIndex >= 0).map((e, i) => (e.dataset.wanted = i, e.outerHTML))"""
    )
    here = """() => {
      let e = document.activeElement;
      while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
      const shows = (each) => each && getComputedStyle(each).outlineStyle !== "none";
      return e === document.body ? null
        : [e.dataset.wanted, e.outerHTML.slice(0, 120), shows(e) || e.matches("input") && shows(e.nextElementSibling)];
    }"""
    reached, unseen = set(), []
    for _ in range(1000):
        page.keyboard.press("Tab")
        found = page.evaluate(here)
        if found is None:
            break
        reached.add(found[0])
        if not found[2]:
            unseen.append(found[1])
    assert unseen == []
    assert [what[:120] for place, what in enumerate(wanted) if str(place) not in reached] == []


def test_nothing_moves_for_a_reader_who_wants_no_motion(visit, address):
    page = visit(f"{address}/{LABS[5]}.html")  # every visit asks for reduced motion
    moving = """[...document.querySelectorAll("*")].flatMap(e => [e, ...(e.shadowRoot?.querySelectorAll("*") ?? [])])
      .filter(e => { const look = getComputedStyle(e);
        return look.scrollBehavior === "smooth" || parseFloat(look.transitionDuration) > 0.01
          || (look.animationName || "none") !== "none"; }).map(e => e.outerHTML.slice(0, 120))"""
    assert page.evaluate(moving) == []


def test_a_lab_counts_as_read_once_its_end_was_in_sight(visit, address):
    page = visit(f"{address}/{LABS[0]}.html")
    assert page.locator(".read").count() == 0
    page.locator(".turn").scroll_into_view_if_needed()
    page.locator(".steps a.read").wait_for()
    page.goto(f"{address}/{LABS[1]}.html")
    for place in (".steps", "#contents"):
        read = page.locator(f"{place} a.read")
        assert read.count() == 1 and read.get_attribute("href").endswith("01_recap_attention.html")
        assert read.text_content().endswith(", read")


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


def test_search_leads_into_the_labs(visit, address):
    page = visit(f"{address}/search.html?q=softmax")
    for name in LABS:
        if "softmax" in (ROOT / f"{name}.md").read_text():
            page.wait_for_selector(f'#search-results a[href*="{name}.html"]')
    assert page.faults == []


FOUND = [("softmax", r"Pages and sections found: \d+\."), ("zzzzzz", "No page holds all of these words")]


@pytest.mark.parametrize(("word", "found"), FOUND)
def test_search_speaks_as_the_course_does(visit, address, word, found):
    page = visit(f"{address}/search.html?q={word}")
    page.locator(".search-summary", has_text=re.compile(found)).wait_for()
    assert page.locator("#search-results h2").inner_text() == "Found"


@pytest.mark.parametrize("text", HOSTILE)
def test_no_search_does_harm(visit, address, text):
    page = visit(f"{address}/{TOC['root']}.html")
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.locator("#find").focus()
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html*")
    page.wait_for_selector("#search-results .search-summary")
    # As much as an address may say, and then as much as a script may hand over.
    page.evaluate("words => Search.performSearch(words)", text)
    page.wait_for_selector("#search-results .search-summary")
    assert dialogs == [] and page.locator("#search-results img").count() == 0
    assert page.faults == []


def test_a_search_needs_no_mouse_and_says_what_it_found(visit, address):
    page = visit(f"{address}/{TOC['root']}.html", width=360)
    page.get_by_role("button", name="Contents").focus()
    for key in ("Enter", "Tab"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type("masked_softmax")
    page.keyboard.press("Enter")
    page.wait_for_function("/found: \\d+/.test(document.getElementById('said').textContent)")
    page.locator("main input").focus()
    for _ in range(2):  # the button, the first result
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/labs/*.html*")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360 and page.faults == []


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

"""The built site in a browser: what it fetches, how it is used by keyboard, at 360 pixels, in the dark."""

import re
import subprocess
import zipfile

import pytest
from playwright.sync_api import Locator
from site_in_browser import COLOURS, axe, visits
from test_site import LABS, PAGES, ROOT, SITE, TOC

ALL = [*PAGES, "search", "404"]
# What a reader may type or paste: markup, very much text, signs outside the plane, a text that turns the line round.
HOSTILE = ["<img src=x onerror=alert(1)>", "🙂👩‍👩‍👧 𝕏", "\u202eשלום \u200fمرحبا", "word " * 20_000]
THEME = "document.documentElement.dataset.theme"


# --- every page, opened once on a phone ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=ALL)
def opened(request, browser, address):
    """A page of the site on a narrow screen; the tests below use it one after the other."""
    with visits(browser) as visit:
        yield visit(f"{address}/{request.param}.html", width=320)


def test_a_page_opens_without_a_fault_asks_nobody_else_and_is_accessible(opened, address):
    assert opened.faults == []
    assert [url for url in opened.asked if not url.startswith((address, "data:", "blob:"))] == []
    assert not re.search("safetensors|weights|words.bin", " ".join(opened.asked)), (
        "a model comes before it is asked for"
    )
    # Colours are looked at on some pages below, and at night on all of them.
    assert axe(opened, rules={rule: {"enabled": False} for rule in COLOURS}) == []


def test_nothing_typed_into_a_page_does_harm(opened):
    pictures, text = opened.locator("img").count(), " ".join(HOSTILE)
    fields = opened.locator("main input:is([type=text], [type=search], :not([type])), main textarea")
    for field in filter(Locator.is_visible, fields.all()):
        field.focus()
        field.fill("")
        opened.keyboard.insert_text(text)
        opened.keyboard.press("Tab")
        assert field.input_value() == text[: len(field.input_value())]
    assert opened.locator("img").count() == pictures and opened.faults == []


COLOURED = {TOC["root"]: "color-contrast", "book/how_to_use": "color-contrast", "book/notation": "link-in-text-block"}


@pytest.mark.parametrize("name", COLOURED)
def test_colours_tell_letters_from_paper_and_links_from_their_text_in_both_themes(visit, address, name):
    page = visit(f"{address}/{name}.html", "light")
    for theme in ("light", "dark"):
        page.evaluate(f"theme => {{ {THEME} = theme; }}", theme)
        assert axe(page, runOnly=[COLOURED[name]]) == []


# --- from a stick ----------------------------------------------------------------------------------------------------


def test_the_site_works_from_a_stick_search_and_all(visit, tmp_path):
    """From a folder with a space in its name."""
    stick = tmp_path / "a stick"
    stick.symlink_to(SITE)
    page = visit((stick / "index.html").as_uri())
    page.wait_for_url("**/welcome.html")
    page.locator("#find").fill("softmax")
    page.keyboard.press("Enter")
    page.locator(f'#search-results a[href*="{LABS[1]}.html"]').first.click()
    page.wait_for_url("**/01_recap_attention.html*")
    for name in ("book/notation", LABS[7], "404", "book/try_the_model"):
        page.goto((stick / f"{name}.html").as_uri())
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((stick.as_uri(), "data:", "blob:"))] == []


def test_make_offline_packs_the_whole_site(tmp_path):
    (tmp_path / "_build/html/labs").mkdir(parents=True)
    files = {f"html/{name}": name.encode() for name in ("index.html", "labs/a lab.html", "labs/.nojekyll")}
    for name, data in files.items():
        (tmp_path / "_build" / name).write_bytes(data)
    recipe = (ROOT / "Makefile").read_text().partition("\noffline:")[2]
    pack = (
        next(line for line in recipe.splitlines() if "-m zipfile" in line).strip("\t@").replace("$(PYTHON)", "python3")
    )
    subprocess.run(pack, shell=True, cwd=tmp_path, check=True)
    with zipfile.ZipFile(tmp_path / "_build/towards-self-attention.zip") as packed:
        assert {name: packed.read(name) for name in packed.namelist() if not name.endswith("/")} == files


# --- how it is used --------------------------------------------------------------------------------------------------


def test_what_scrolls_sideways_shows_a_sign_at_its_edge_where_more_is_to_come(visit, address):
    page = visit(f"{address}/labs/03_queries.html", width=360)
    formula = page.locator("div.math.more").first
    sign = "e => getComputedStyle(e, '::after').content"
    assert "›" in formula.evaluate(sign)
    before = formula.screenshot()
    formula.evaluate("e => { e.scrollLeft = 9; }")
    assert formula.screenshot() != before, "it does not scroll"
    formula.focus()
    assert formula.evaluate(sign) == "none", "a fade would swallow the mark of focus"
    handle = formula.element_handle()
    handle.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    page.wait_for_function("e => !e.classList.contains('more')", arg=handle)


@pytest.mark.parametrize("name", ["search", TOC["root"], LABS[7], "book/try_the_model"])
def test_the_tab_key_reaches_everything_shows_where_it_is_and_skips_the_contents_at_will(visit, address, name):
    page = visit(f"{address}/{name}.html")
    page.keyboard.press("Tab")
    first = page.evaluate("[document.activeElement.hash, document.activeElement.getBoundingClientRect().top >= 0]")
    assert first == ["#main", True]
    if name == "book/try_the_model":
        page.locator("#try-load").press("Enter")  # after a click the focus would not show
        page.locator("#try-cards .verdict strong").first.wait_for()
        page.locator("a[href='#main']").focus()
    wanted = page.evaluate(
        """[...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
             .filter(e => e.checkVisibility() && e.tabIndex >= 0)
             .filter(e => e.type !== "radio" || e === (document.querySelector(`input[name="${e.name}"]:checked`)
               ?? document.querySelector(`input[name="${e.name}"]`))) // the one of its group that the key stops at
             .map((e, i) => (e.dataset.wanted = i, e.outerHTML))"""
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
        if (found := page.evaluate(here)) is None:
            break
        reached.add(found[0])
        if not found[2]:
            unseen.append(found[1])
        page.keyboard.press("Tab")
    assert unseen == []
    assert [what[:120] for place, what in enumerate(wanted) if str(place) not in reached] == []
    moving = """[...document.querySelectorAll("*")].flatMap(e => [e, ...(e.shadowRoot?.querySelectorAll("*") ?? [])])
      .filter(e => { const look = getComputedStyle(e);
        return look.scrollBehavior === "smooth" || parseFloat(look.transitionDuration) > 0.01
          || (look.animationName || "none") !== "none"; }).map(e => e.outerHTML.slice(0, 120))"""
    assert page.evaluate(moving) == [], "every visit asks for reduced motion"


def test_a_wide_table_of_numbers_stands_in_blocks_on_a_phone_each_number_below_the_name_of_its_column(visit, address):
    page = visit(f"{address}/labs/11_does_it_help.html", width=320)
    wide = page.locator("table.dataframe:has(tr > :nth-child(7))").first
    names = wide.locator("thead th").all_text_contents()
    names = [name for name in names if name.strip()]
    row = wide.locator("tbody tr").first
    said = row.locator("td").evaluate_all("cells => cells.map(e => getComputedStyle(e, '::before').content)")
    assert len(names) > 4 and [each.partition(" / ")[0].strip('"') for each in said] == names
    name, cell = row.locator("th").bounding_box(), row.locator("td").first.bounding_box()
    assert cell["y"] >= name["y"] + name["height"] - 1
    page.set_viewport_size({"width": 768, "height": 900})
    assert row.locator("td").first.evaluate("e => getComputedStyle(e, '::before').content") == "none"


def test_a_wrong_address_is_told_in_the_letters_of_the_course(visit, address):
    page = visit(f"{address}/404.html")
    page.wait_for_function("[...document.fonts].some((font) => font.status === 'loaded')")


def test_a_lab_counts_as_read_once_its_end_was_in_sight(visit, address):
    page = visit(f"{address}/{LABS[1]}.html")
    assert page.locator(".read").count() == 0
    page.locator(".turn").scroll_into_view_if_needed()
    page.locator(".steps a.read").wait_for()
    page.goto(f"{address}/{LABS[2]}.html")
    for place in (".steps", "#contents"):
        read = page.locator(f"{place} a.read")
        assert read.count() == 1 and read.get_attribute("href").endswith("01_recap_attention.html")
        assert read.text_content().endswith(", read")


def test_the_theme_follows_the_system_until_the_reader_chooses_and_paper_is_white(visit, address):
    page = visit(f"{address}/{TOC['root']}.html", theme="dark")
    page.evaluate(f"addEventListener('beforeprint', () => {{ globalThis.printed = {THEME}; }})")
    page.pdf()
    page.wait_for_function(f"{THEME} === 'dark'")  # again
    assert page.evaluate("printed") == "light"
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(THEME) == "light"
    page.goto(f"{address}/{PAGES[1]}.html")
    assert page.evaluate(THEME) == "light"


def test_figures_are_drawn_when_the_reader_comes_near(visit, address):
    figures = "[...document.querySelectorAll('[data-heads]')].filter((host) => host.shadowRoot).length"
    page = visit(f"{address}/labs/12_a_published_model.html", width=360, covered=True)
    assert page.evaluate(figures) == 0, "drawn before anybody can see them"
    page.locator("[data-heads]").first.scroll_into_view_if_needed()
    page.get_by_role("button", name="Layer 2, head 3").first.wait_for()
    assert page.evaluate(figures) == page.locator("[data-heads]").count()
    page.goto(f"{address}/labs/06_your_journey.html#walk1=7,2,1")
    assert page.locator(".what strong").inner_text() == "7. Weights"
    page.evaluate("location.hash = 'walk1=5,2,1'")
    page.locator(".what strong", has_text=re.compile(r"^5\.")).wait_for()


def test_code_is_copied_as_it_stands(visit, address):
    page = visit(f"{address}/book/how_to_use.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".highlight").first.hover()
    page.get_by_role("button", name="Copy this code").first.click()
    page.wait_for_function("said => document.getElementById('said').textContent === said", arg="Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator(".highlight pre").first.inner_text()


def test_no_search_does_harm(visit, address):
    page = visit(f"{address}/{TOC['root']}.html")
    for text in HOSTILE:
        page.locator("#find").fill("")
        page.locator("#find").focus()
        page.keyboard.insert_text(text)
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html*")
        page.wait_for_selector("#search-results .search-summary")
        # As much as an address may say, and then as much as a script may hand over.
        page.evaluate("words => Search.performSearch(words)", text)
        page.wait_for_selector("#search-results .search-summary")
        assert page.locator("#search-results img").count() == 0 and page.faults == []
        page.go_back()


def test_a_result_opens_at_its_match_in_its_section_folded_or_not(visit, address):
    """The page holds the word in its contents and in sections above, too."""
    page = visit(f"{address}/search.html", width=1280)
    place = """() => {
      const { top, bottom } = getSelection().getRangeAt(0).getBoundingClientRect();
      return top > 0 && bottom < innerHeight && getSelection().anchorNode.parentElement.closest("section").id;
    }"""
    for query, words, lab, section in [
        ("softmax", "softmax", 7, "scaled-and-through-the-softmax"),
        ("softmax", "softmax", 3, "why-divide-by-the-square-root-of-k"),
        ('"such models with dice"', "such models with dice", 2, "questions"),
    ]:
        page.goto(f"{address}/search.html?q={query}")
        page.locator(f'ul.search a[href*="{LABS[lab]}.html"][href$="#{section}"]').click()
        page.wait_for_url("**/labs/*")
        page.wait_for_function("words => getSelection().toString().toLowerCase() === words", arg=words, timeout=5000)
        assert page.evaluate(place) == section and "found" not in page.url
    page.goto(f"{address}/{LABS[7]}.html?found=zzzzz#questions")
    page.wait_for_function("!location.search")
    assert page.evaluate("getSelection().toString()") == "" and page.evaluate("scrollY") > 500 and page.faults == []


def test_contents_and_search_need_no_mouse_on_a_phone(visit, address):
    page = visit(f"{address}/{TOC['root']}.html", width=360)
    page.get_by_role("button", name="Contents").focus()
    for key, seen in [(None, False), ("Enter", True), ("Escape", False), ("Enter", True), ("Tab", True)]:
        if key:
            page.keyboard.press(key)
        assert page.locator(f'#contents a[href$="{LABS[1]}.html"]').is_visible() == seen
    assert page.evaluate("document.activeElement.id") == "find"
    for theme in ("light", "dark"):
        page.evaluate(f"theme => {{ {THEME} = theme; }}", theme)
        assert axe(page, "#contents") == []
    page.keyboard.type("masked_softmax")
    page.keyboard.press("Enter")
    page.wait_for_function("/: \\d+\\./.test(document.getElementById('said').textContent)")
    page.locator("main input").focus()
    for _ in range(2):  # the button, the first result
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/labs/*.html*")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360 and page.faults == []


def test_a_page_prints_without_its_frame_and_with_its_answers(visit, address):
    page = visit(f"{address}/{LABS[1]}.html")
    page.emulate_media(media="print")
    assert not page.locator(".bar").is_visible() and not page.locator("#contents").is_visible()
    assert page.locator("h1").is_visible()
    hidden = """[...document.querySelectorAll("main details:not(.hide)")]
      .filter(e => !e.lastElementChild.checkVisibility({ contentVisibilityAuto: true })).length"""
    assert page.evaluate(hidden) == 0

"""The built site in a browser: what it fetches, how it is used by keyboard, on a phone, in the dark, on paper, and what
its search finds.
"""

import re

import pytest
from playwright.sync_api import expect
from site_in_browser import COLOURS, ROOT, SITE, axe
from test_site import LABS, PAGES, TOC

ALL = [*PAGES, "search", "404"]
THEME = "document.documentElement.dataset.theme"
FOCUS = """() => {
  let e = document.activeElement;
  while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
  const outline = (each) => getComputedStyle(each).outline;
  const shows = (each) => each && !/none| 0px/.test(outline(each));
  return e === document.body ? null
    : [e.dataset.wanted, e.outerHTML.slice(0, 120), shows(e) || e.matches("input") && shows(e.nextElementSibling)]; }"""
WANTED = """[...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
  .filter(e => e.checkVisibility() && e.tabIndex >= 0)
  .filter(e => e.type !== "radio" || e === (document.querySelector(`input[name="${e.name}"]:checked`)
    ?? document.querySelector(`input[name="${e.name}"]`))) // the one of its group that the key stops at
  .map((e, i) => (e.dataset.wanted = i, e.outerHTML.slice(0, 120)))"""


@pytest.mark.parametrize("name", ALL)
def test_a_page_opens_without_a_fault_asks_nobody_else_and_is_accessible(visit, address, name):
    page = visit(f"{address}/{name}.html", width=320)
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((address, "data:", "blob:"))] == []
    assert "safetensors" not in " ".join(page.asked), "a model comes before it is asked for"
    # Colors are looked at on pages with questions and with models, and at night on all of them.
    assert axe(page, rules={rule: {"enabled": False} for rule in COLOURS}) == []


def test_the_site_works_from_a_disk_search_and_all(visit, tmp_path):
    """From a folder with a space in its name."""
    stick = tmp_path / "a stick"
    stick.symlink_to(SITE)
    page = visit((stick / "index.html").as_uri())
    page.wait_for_url("**/welcome.html")
    page.locator("#find").fill("softmax")
    page.keyboard.press("Enter")
    page.locator(f'#search-results a[href*="{LABS[1]}.html"]').first.click()
    page.wait_for_url("**/recap_attention.html*")
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((stick.as_uri(), "data:", "blob:"))] == []


# --- how it is used --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["search", TOC["root"], LABS[7], "book/try_the_model"])
def test_the_tab_key_reaches_everything_shows_where_it_is_and_skips_the_contents_at_will(visit, address, name):
    page = visit(f"{address}/{name}.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.hash") == "#main"
    assert page.get_by_role("link", name="Link to this heading").count() == 0, "a heading is read out with its link"
    wanted = page.evaluate(WANTED)
    reached, unseen = set(), []
    for _ in range(1000):
        if (found := page.evaluate(FOCUS)) is None:
            break
        assert "headerlink" not in found[1], "each heading is two stops of the tab key"
        reached.add(found[0])
        if not found[2]:
            unseen.append(found[1])
        page.keyboard.press("Tab")
    assert unseen == []
    assert [what for place, what in enumerate(wanted) if str(place) not in reached] == []
    moving = """[...document.querySelectorAll("*")].flatMap(e => [e, ...(e.shadowRoot?.querySelectorAll("*") ?? [])])
      .filter(e => { const look = getComputedStyle(e);
        return look.scrollBehavior === "smooth" || parseFloat(look.transitionDuration) > 0.01
          || (look.animationName || "none") !== "none"; }).map(e => e.outerHTML.slice(0, 120))"""
    assert page.evaluate(moving) == [], "every visit asks for reduced motion"


def test_a_reader_sees_the_section_folds_code_and_goes_on_where_the_reading_stopped(visit, address):
    page = visit(f"{address}/{LABS[6]}.html", width=1200)
    link = page.locator("#contents .sections a").nth(3)
    link.click()
    expect(link).to_have_attribute("aria-current", "location")
    assert page.locator(".bar .here").text_content() == link.inner_text()
    page.get_by_role("button", name="Fold code").click()
    assert page.locator(".cell_input >> visible=true").count() == page.locator("details.hide[open] .cell_input").count()
    assert page.locator(".cell_output >> visible=true").count() > 10
    page.reload()
    page.get_by_role("button", name="Unfold code").click()
    assert page.locator(".cell_input >> visible=true").count() > 10
    page.locator(".turn").scroll_into_view_if_needed()
    page.locator("#contents a.read").wait_for()
    page.goto(f"{address}/{TOC['root']}.html")
    assert page.get_by_role("link", name="Go on where you were").inner_text().startswith("Go on where you were: lab 6")
    button = page.locator(".start a", has_text="Attention in ten minutes")
    assert button.get_attribute("href").endswith(f"{LABS[0]}.html")
    assert page.faults == []


def test_the_theme_follows_the_system_until_the_reader_chooses_and_paper_is_white(visit, address):
    page = visit(f"{address}/{TOC['root']}.html", theme="dark")
    page.evaluate(f"addEventListener('beforeprint', () => {{ globalThis.printed = {THEME}; }})")
    page.pdf()
    page.wait_for_function(f"{THEME} === 'dark'")  # again
    assert page.evaluate("printed") == "light"
    page.get_by_role("button", name="Dark").click()
    page.goto(f"{address}/{PAGES[1]}.html")
    assert page.evaluate(THEME) == "light"


def test_a_page_prints_without_its_frame_and_with_its_answers(visit, address):
    page = visit(f"{address}/{LABS[1]}.html")
    page.emulate_media(media="print")
    assert not page.locator(".bar").is_visible() and not page.locator("#contents").is_visible()
    hidden = """[...document.querySelectorAll("main details:not(.hide, .ordering)")]
      .filter(e => !e.lastElementChild.checkVisibility({ contentVisibilityAuto: true })).length"""
    assert page.locator("h1").is_visible() and page.evaluate(hidden) == 0
    marks = page.locator("main summary").evaluate_all("all => all.map(e => getComputedStyle(e).listStyleType)")
    assert {*marks} == {"none"}, "a triangle says that what is below is closed"


def test_figures_are_drawn_when_the_reader_comes_near(visit, address):
    figures = "[...document.querySelectorAll('[data-heads]')].filter((host) => host.shadowRoot).length"
    page = visit(f"{address}/labs/a_pretrained_model/a_pretrained_model.html", width=360, covered=True)
    assert page.evaluate(figures) == 0, "drawn before anybody can see them"
    page.locator("[data-heads]").first.scroll_into_view_if_needed()
    page.get_by_role("button", name="Layer 2, head 3").first.wait_for()
    assert page.evaluate(figures) == page.locator("[data-heads]").count()


def test_an_address_opens_the_walk_at_its_step(visit, address):
    if "labs/when_in_doubt/when_in_doubt" not in LABS:
        pytest.skip("this course has left out the walk")
    page = visit(f"{address}/labs/when_in_doubt/when_in_doubt.html#walk1=7,2", width=360)
    assert page.locator(".what strong").inner_text() == "7. Weights"


def test_code_is_copied_as_it_stands(visit, address):
    page = visit(f"{address}/book/how_to_use.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".highlight").first.hover()
    page.get_by_role("button", name="Copy this code").first.click()
    page.wait_for_function("said => document.getElementById('said').textContent === said", arg="Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator(".highlight pre").first.inner_text()


def test_the_button_that_copies_is_as_large_as_a_thumb_and_lies_on_no_code(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{address}/{LABS[2]}.html")
    page.locator(".copy >> visible=true").first.wait_for()
    targets = """() => [...document.querySelectorAll(".copy")].filter(e => e.checkVisibility()).map(e => {
      const box = e.getBoundingClientRect(), around = getComputedStyle(e, "::after"), range = document.createRange();
      const [left, right, top, bottom] = ["left", "right", "top", "bottom"].map(side => parseFloat(around[side]) + 1);
      const target = { left: box.left + left, right: box.right - right,
        top: box.top + top, bottom: box.bottom - bottom };
      range.selectNodeContents(e.parentElement.querySelector("pre"));
      const below = [...range.getClientRects()].filter(letters => letters.width && letters.right > target.left);
      return [target.right - target.left, target.bottom - target.top,
        Math.min(...below.map(letters => letters.top)) - target.bottom]; })"""  # its border is 1 pixel wide
    found = page.evaluate(targets)
    context.close()
    assert len(found) > 5 and all(width >= 44 and height >= 44 for width, height, _ in found), found
    assert all(gap >= -1 for *_, gap in found), found  # infinite where no code is below it


def test_all_buttons_of_a_page_have_letters_of_one_kind(visit, address):
    for name in (LABS[2], "book/how_to_use", "book/remember", "book/it_writes", "book/seventy_two_heads"):
        page = visit(f"{address}/{name}.html")
        faces = page.locator("button").evaluate_all("all => all.map(e => getComputedStyle(e).fontFamily)")
        assert {face.split(",")[0].strip('"') for face in faces} == {"Course Sans"}, name


@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_logo_field_and_entries_of_the_contents_begin_at_one_edge(visit, address, width):
    page = visit(f"{address}/{LABS[1]}.html", width=width)
    begin = """() => [...document.querySelectorAll(".brand, #find, .part, #contents > ul > li > a")].map((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      return Math.round((e.matches("#find, .brand") ? e : range).getBoundingClientRect().left); })"""
    edges = page.evaluate(begin)
    assert len(edges) > 20 and len({*edges}) == 1, edges


@pytest.mark.parametrize("name", [LABS[6], LABS[-2], PAGES[-1]])
def test_the_contents_show_the_open_page_and_go_on_with_its_sections(visit, address, name):
    page = visit(f"{address}/{name}.html", width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.reload()
    field = page.locator("#contents form")
    seen = "link => (({ top, bottom }) => top >= %d && bottom < innerHeight)(link.getBoundingClientRect())"
    seen %= field.evaluate("form => form.getBoundingClientRect().bottom")  # nothing hides below the search field
    assert page.locator('#contents [aria-current="page"]').evaluate(seen)
    for heading in page.locator("#contents .sections a").evaluate_all("all => all.map(a => a.hash)"):
        page.evaluate("hash => { location.hash = hash; }", heading)
        page.locator(f'#contents a[href="{heading}"][aria-current="location"]').wait_for()
        assert page.locator(f'#contents a[href="{heading}"]').evaluate(seen), heading
        top = "e => e.getBoundingClientRect().top - e.closest('#contents').getBoundingClientRect().top"
        assert field.evaluate(top) == 0, "the field is always in sight"


def test_recap_is_no_endless_page_on_a_phone(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{address}/labs/recap_attention/recap_attention.html")
    height = page.evaluate("document.fonts.ready.then(() => document.documentElement.scrollHeight)")
    context.close()
    assert height < 14_000


def test_no_air_is_left_behind_a_root(visit, address):
    page = visit(f"{address}/labs/queries/queries.html")
    air = """async () => { await document.fonts.ready;
      const right = (e) => e.getBoundingClientRect().right;
      return Array.from(document.querySelectorAll('main p math msqrt'), (root) =>
        right(root) + parseFloat(getComputedStyle(root).marginRight) - right(root.lastElementChild)); }"""
    found = page.evaluate(air)
    assert found and max(map(abs, found)) < 0.5


def test_contents_and_search_need_no_mouse_on_a_phone(visit, address):
    page = visit(f"{address}/{TOC['root']}.html", width=320)
    page.get_by_role("button", name="Contents").focus()
    for key, seen in [("Enter", True), ("Escape", False), ("Enter", True), ("Tab", True), ("Enter", False),
                      ("Enter", True), ("Tab", True), ("Tab", True)]:  # the first stop closes  # fmt: skip
        page.keyboard.press(key)
        assert page.locator(f'#contents a[href$="{LABS[1]}.html"]').is_visible() == seen
    assert page.evaluate("document.activeElement.id") == "find" and axe(page, "#contents") == []
    page.keyboard.type("masked_softmax")
    page.keyboard.press("Enter")
    page.wait_for_function("/: \\d+\\./.test(document.getElementById('said').textContent)")
    page.locator("main input").focus()
    for key in ("Tab", "Tab", "Enter"):  # the button, the first result
        page.keyboard.press(key)
    page.wait_for_url("**/labs/*/*.html*")
    assert page.faults == []


# --- the search ------------------------------------------------------------------------------------------------------


def test_the_search_knows_quotes_numbers_signs_forgives_a_letter_and_takes_any_text(visit, address):
    page = visit(f"{address}/search.html?q=softmax", width=320)

    def found(query: str) -> list[str]:
        page.evaluate("query => Search.performSearch(query)", query)
        return page.locator("ul.search > li > a").evaluate_all("links => links.map(a => a.getAttribute('href'))")

    for name in LABS:
        text = (ROOT / f"{name}.md").read_text("utf-8")
        assert page.locator(f'#search-results a[href*="{name}.html"]').count() or "softmax" not in text, name
    assert not found("zzzzzz") and "The course does not have “zzzzzz”" in page.locator(".search-summary").inner_text()
    assert "#exercise-2" in found("Exercise 3.2:")[0] and not found("xercise 13.2.7")
    assert found("sofmax") == found("sotfmax") == found("softmax") != [] and found("residaul"), "a slip in a long word"
    assert found("masking") == found("masked") and found("layer normalisation") == found("layer normalization") != []
    assert (
        found("kv-cache")[0] == found("KV cache")[0] and found("layernorm") and found("10,000") == found("10000") != []
    )
    assert 0 < len(found('"one learned query"')) < len(found("one learned query"))
    assert not found('"question learned one"') and found("√") and found("ω")
    for text in ("<img src=x onerror=alert(1)>", "\u202eשלום", "word " * 20_000):
        found(text)
        assert page.locator("#search-results img").count() == 0
    assert page.faults == []


def test_a_result_opens_at_its_match_in_its_section_folded_or_not(visit, address):
    """The page holds the word in its contents and in sections above, too."""
    page = visit(f"{address}/search.html", width=1280)
    in_sight = """words => {
      const box = (e) => e.getBoundingClientRect(), inSight = (e) => box(e).top > 0 && box(e).bottom < innerHeight;
      return [...document.querySelectorAll("main :is(p, li)")].find((e) => e.textContent.toLowerCase().includes(words)
        && e.checkVisibility() && inSight(e))?.closest("section").id; }"""
    questions = (ROOT / f"{LABS[2]}.md").read_text("utf-8").partition("## Where to go next")[0]
    answer = questions.rpartition("<summary>Answer</summary>")[2].lower()
    folded = re.search(r"(?:\b[a-z]+ ){4}[a-z]+", answer)[0]
    for query, words, lab, section in [
        ("Why the square root", "why the square root", 3, "a-second-projection"),
        (f'"{folded}"', folded, 2, "questions"),
    ]:
        page.goto(f"{address}/search.html?q={query}")
        page.locator(f'ul.search a[href*="{LABS[lab]}.html#{section}:"]').click()
        page.wait_for_url("**/labs/*/*")
        page.wait_for_function(f"words => ({in_sight})(words) === '{section}'", arg=words, timeout=5000)

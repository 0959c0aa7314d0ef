"""The course on a phone, 320 pixels wide: readers find their way, and its figures fit. Few loads, many claims."""

import re
from pathlib import Path

import torch
from playwright.sync_api import expect
from site_in_browser import page_of

from shared.figures import walk
from shared.figures.heads import heads

ROOT = Path(__file__).resolve().parents[2]
LABS = [f"labs/{path.stem}" for path in sorted((ROOT / "labs").glob("[01]*.ipynb"))]
WIDTH = 320


# --------------------------------------------------------------------------------------------------- finding one's way


def test_a_reader_sees_the_section_and_can_go_on_there(visit, address):
    page = visit(f"{address}/{LABS[6]}.html", width=1200)
    link = page.locator("#contents .sections a").nth(3)
    link.click()
    expect(link).to_have_attribute("aria-current", "location")
    assert page.locator("#contents a[aria-current=location]").count() == 1
    assert 0 < float(page.evaluate("getComputedStyle(document.querySelector('.bar')).getPropertyValue('--read')")) < 1
    assert page.locator(".bar .here").text_content() == link.inner_text()
    # Code folds, results stay; folded it remains, until the reader unfolds it.
    page.get_by_role("button", name="Fold code").click()
    assert page.locator(".cell_input >> visible=true").count() == page.locator("details.hide[open] .cell_input").count()
    assert page.locator(".cell_output >> visible=true").count() > 10
    page.locator("details.code summary").first.click()
    assert page.locator("details.code .cell_input").first.is_visible()
    page.reload()
    page.get_by_role("button", name="Unfold code").click()
    assert page.locator("details.code").count() == 0 and page.locator(".cell_input >> visible=true").count() > 10
    page.goto(f"{address}/book/welcome.html")
    back = page.get_by_role("link", name="Go on where you were")
    assert back.inner_text().startswith("Go on where you were: lab 6, ")
    assert page.locator(".start a").first.get_attribute("href").endswith(f"{LABS[0]}.html")
    # And the browser forgets it all at one button.
    page.goto(f"{address}/book/how_to_use.html")
    page.evaluate("localStorage.setItem('of another site', 'kept')")
    page.get_by_role("button", name="Forget all of it").click()
    page.get_by_role("button", name="Forgotten").wait_for()
    assert page.evaluate("Object.keys(localStorage)") == ["of another site"]
    assert page.faults == []


def test_the_search_knows_quotes_numbers_signs_and_forgives_a_letter(visit, address):
    page = visit(f"{address}/search.html?q=softmax", width=WIDTH)

    def found(query: str) -> list[str]:
        page.evaluate("query => Search.performSearch(query)", query)
        return page.locator("ul.search > li > a").evaluate_all("links => links.map(a => a.getAttribute('href'))")

    page.locator(".search-summary", has_text=re.compile(r"Pages and sections found: \d+\.")).wait_for()
    assert page.locator("#search-results h2").inner_text() == "Found"
    for name in LABS:
        text = (ROOT / f"{name}.md").read_text("utf-8")
        assert page.locator(f'#search-results a[href*="{name}.html"]').count() or "softmax" not in text, name
    assert not found("zzzzzz")
    told = "No page holds all of these words. Try fewer, or another spelling."
    page.locator(".search-summary", has_text=told).wait_for()

    assert "#exercise-3-2" in found("exercise 3.2")[0] and "#exercise-3-2" in found("Exercise 3.2:")[0]
    assert not found("xercise 13.2.7")
    assert found("sofmax") == found("softmax") != [] and found("sotfmax") == found("softmax")
    found("sofmax")
    assert "Spelled as the course does: softmax." in page.locator(".search-summary").inner_text()
    assert 0 < len(found('"one learned question"')) < len(found("one learned question"))
    assert not found('"question learned one"')
    assert found("√") and found("α") and found("π")
    assert len(found("„one learned question”")) == len(found('"one learned question"'))
    assert page.faults == []


# ------------------------------------------------------------------------------------------------- walk, heads, models

WORDS = "Your journey starts with one step".split()


def test_walk_and_heads_fit_a_phone_and_the_address_keeps_the_walk(visit):
    generator = torch.Generator().manual_seed(1)
    features, W = torch.randn(6, 3, generator=generator), torch.randn(3, 3, 2, generator=generator)
    weights = torch.randn(6, 12, 6, 6, generator=generator).softmax(-1)
    vocabulary = dict(zip(WORDS, features.tolist(), strict=True))
    figures = [walk(WORDS, features, *W, follow=1, vocabulary=vocabulary), heads(WORDS, weights)]
    # The course's pages say where their root is; only there the walk writes into the address.
    html = page_of(figures, "light").replace("<html", '<html data-content_root="./"')
    page = visit("about:blank", width=WIDTH)
    font = (ROOT / "book/_static/fonts/course-sans.woff2").read_bytes()
    face = "@font-face { font-family: sans; src: url(sans.woff2); size-adjust: 106% } :root { --sans: sans }"
    html = html.replace("<style>", f"<style>{face}")
    page.route("http://course.test/**", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.route("**/sans.woff2", lambda route: route.fulfill(body=font))
    page.goto("http://course.test/lab.html")
    for _ in range(6):
        page.get_by_role("button", name="Next stage").click()
    assert page.locator(".what strong").inner_text() == "7. Weights"
    spoken = page.locator(".what").inner_text().split("“")[2].split("”")[0]
    chosen = page.locator("td.chosen")
    assert WORDS[int(chosen.get_attribute("data-col"))] == spoken, "it opens on another cell than it speaks of"
    cut = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert page.locator(".attention-walk .scroll").evaluate_all(cut) == 0
    # The controls stay in sight below the page's bar, and the sum covers nothing.
    page.locator(".attention-walk .scroll").last.scroll_into_view_if_needed()
    assert page.locator(".stages").bounding_box()["y"] >= 0
    assert page.locator(".sum").evaluate("e => getComputedStyle(e).position") == "static"
    page.wait_for_url("**#walk1=7,2,1")
    page.get_by_label("Your own sentence").fill("one step, one journey")
    page.wait_for_url("**#walk1=7,2,1,one*")
    page.reload()
    assert page.locator(".what strong").inner_text() == "7. Weights"
    assert page.get_by_label("Your own sentence").input_value() == "one step, one journey"
    # 72 maps, each as large as a fingertip, and the chosen head with its lines.
    maps = page.locator(".maps button")
    assert maps.count() == 72 and min(box["width"] for box in map(lambda m: m.bounding_box(), maps.all()[:12])) >= 40
    page.get_by_role("button", name="Layer 2, head 3").click()
    assert page.locator(".lines line[stroke-opacity]").count() >= 6
    page.locator(".lines text[text-anchor]", has_text="starts").click()
    assert "“starts” looks most at" in page.locator(".said").inner_text()
    # Where the system chooses the colours, what is chosen keeps a mark.
    page.emulate_media(forced_colors="active")
    assert chosen.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    looks = "all => new Set(all.map(e => getComputedStyle(e).backgroundColor)).size"
    assert page.locator(".attention-walk .chip span").evaluate_all(looks) == 2
    page.emulate_media(forced_colors="none", media="print")
    page.set_viewport_size({"width": 718, "height": 1000})
    for figure in (".attention-walk", ".attention-heads"):
        assert page.locator(figure).bounding_box()["height"] < 1000, "more than a sheet of paper"


def test_the_models_fit_a_phone_and_the_address_keeps_what_is_tried(visit, address):
    page = visit(f"{address}/book/try_the_model.html", width=WIDTH)
    page.locator("#try-load").click()
    page.locator("#try-strip .short", has_text="%").first.wait_for()
    slider, strip = page.locator("#try-slide").bounding_box(), page.locator("#try-strip").bounding_box()
    assert strip["y"] - (slider["y"] + slider["height"]) < 20 and strip["height"] < 140
    shown = page.locator("#try-cards .card >> visible=true")
    assert shown.count() == 1 and shown.locator("h3").inner_text().strip() == "Self-attention"
    page.get_by_role("radio", name="Mean pooling").check(force=True)
    assert shown.count() == 1 and shown.locator("h3").inner_text().strip() == "Mean pooling"
    page.wait_for_function("document.querySelectorAll('#try-chart .name-of-line').length === 6")
    page.locator("#try-own").fill("A quiet film about two sisters.")
    page.locator("#try-slide").fill("40")
    page.wait_for_url("**words=40**")
    page.reload()
    page.locator("#try-load").click()
    page.locator("#try-strip .short", has_text="%").first.wait_for()
    assert page.locator("#try-own").input_value() == "A quiet film about two sisters."
    assert page.locator("#try-slide").input_value() == "40"
    page.emulate_media(forced_colors="active")
    looks = "all => new Set(all.map(e => getComputedStyle(e).backgroundColor)).size"
    assert page.locator("#try-front label span").evaluate_all(looks) == 2
    assert page.faults == []

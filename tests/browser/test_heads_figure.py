"""The figure of all heads in a real browser: its numbers against the tensor, its keys, and what may not harm it."""

import pytest
import torch
from site_in_browser import axe

from shared.figures.colours import role_css
from shared.figures.heads import heads

WORDS = ["[CLS]", "the", "dog", "bit", "the", "man", "[SEP]"]


def maps(layers=3, count=4, n=7):
    generator = torch.Generator().manual_seed(1)
    return (3 * torch.randn(layers, count, n, n, generator=generator)).softmax(dim=-1)


@pytest.fixture
def show(browser):
    """Opens figures on one page, with the site's colours, and fails the test when the page reports an error."""
    pages, errors = [], []

    def open_page(*figures, theme="light", scripts=True, width=1000):
        page = browser.new_context(java_script_enabled=scripts, viewport={"width": width, "height": 900}).new_page()
        pages.append(page)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: errors.append(request.url))  # set_content itself requests nothing
        body = "\n<p>text</p>\n".join(each._repr_html_() for each in figures)
        page.set_content(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>Heads</title>'
            f"<style>{role_css()} body {{ background: var(--role-paper); color: var(--role-ink) }}</style>"
            f"<main><h1>Heads</h1>{body}</main></html>"
        )
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert errors == [], f"the page reported errors or asked for something from elsewhere: {errors}"


def numbers(page) -> torch.Tensor:
    """The table of the head that stands open."""
    rows = page.locator(".numbers tbody tr").all()
    return torch.tensor([[float(text) for text in row.locator("td").all_inner_texts()] for row in rows])


def opened(page) -> str:
    return page.locator(".maps [aria-pressed=true]").get_attribute("aria-label")


def test_every_head_opens_with_its_own_numbers(show):
    weights = maps()
    page = show(heads(WORDS, weights))
    page.locator("summary").click()
    assert page.locator(".maps button").count() == 12
    for layer, head in [(0, 0), (2, 3), (1, 2)]:
        page.get_by_role("button", name=f"Layer {layer}, head {head}", exact=True).click()
        assert opened(page) == f"Layer {layer}, head {head}"
        assert torch.allclose(numbers(page), weights[layer, head], atol=0.0056)


def test_the_sentence_carries_the_weights_of_the_followed_word(show):
    weights = maps()
    page = show(heads(WORDS, weights, layer=1, head=2, follow="dog"))
    shown = [float(text) for text in page.locator(".sentence small").all_inner_texts()]
    assert torch.allclose(torch.tensor(shown), weights[1, 2, 2], atol=0.0056)
    page.locator(".sentence input").nth(5).check(force=True)
    shown = [float(text) for text in page.locator(".sentence small").all_inner_texts()]
    assert torch.allclose(torch.tensor(shown), weights[1, 2, 5], atol=0.0056)
    top = WORDS[weights[1, 2, 5].argmax()]
    assert f"“man” looks most at “{top}”: {weights[1, 2, 5].max():.2f}" in page.locator(".said").inner_text()


def test_arrow_keys_go_from_map_to_map_and_stop_at_the_edge(show):
    page = show(heads(WORDS, maps()))
    page.get_by_role("button", name="Layer 0, head 0").focus()
    for key, wanted in [
        ("ArrowLeft", "Layer 0, head 0"),
        ("ArrowRight", "Layer 0, head 1"),
        ("ArrowDown", "Layer 1, head 1"),
        ("ArrowUp", "Layer 0, head 1"),
        ("ArrowUp", "Layer 0, head 1"),
    ]:
        page.keyboard.press(key)
        assert opened(page) == wanted
        focused = page.locator(".attention-heads").evaluate("host => host.shadowRoot.activeElement.ariaLabel")
        assert focused == wanted
    # the maps are one stop of the tab key
    assert page.locator('.maps button[tabindex="0"]').count() == 1


def test_the_words_answer_to_the_keyboard_too(show):
    page = show(heads(WORDS, maps(), follow="dog"))
    page.locator(".sentence input").nth(2).focus()
    page.keyboard.press("ArrowRight")
    assert "“bit” looks most at" in page.locator(".said").inner_text()


def test_a_small_map_is_dark_where_the_weight_is(show):
    weights = torch.zeros(1, 1, 3, 3)
    weights[0, 0, 0, 2] = weights[0, 0, 1, 0] = weights[0, 0, 2, 1] = 1
    page = show(heads(["a", "b", "c"], weights))
    paths = page.locator(".maps path")
    assert paths.count() == 1 and paths.get_attribute("opacity") == "1"
    assert paths.get_attribute("d") == "M2 0h1v1h-1zM0 1h1v1h-1zM1 2h1v1h-1z"


def test_hostile_words_stay_words(show):
    words = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "'\"&amp;", "شكرا", "🥨"]
    page = show(heads(words, maps(2, 2, 5)))
    assert page.locator(".sentence bdi").all_inner_texts() == words
    assert page.locator("img").count() == 0


def test_two_figures_on_a_page_do_not_meet(show):
    page = show(heads(WORDS, maps()), heads(["a", "b"], maps(1, 2, 2), head=1))
    first, second = page.locator(".attention-heads").all()
    first.get_by_role("button", name="Layer 2, head 3").click()
    assert second.locator(".said").inner_text().startswith("Layer 0, head 1.")


def test_without_scripts_one_head_stands_there_as_a_table(show):
    weights = maps()
    page = show(heads(WORDS, weights, layer=2, head=1), scripts=False)
    assert "Layer 2, head 1" in page.locator("caption").inner_text()
    cells = torch.tensor([float(text) for text in page.locator("td").all_inner_texts()])
    assert torch.allclose(cells.view(7, 7), weights[2, 1], atol=0.0056)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1000])
def test_axe_finds_nothing_and_the_page_does_not_scroll_sideways(show, theme, width):
    page = show(heads(WORDS, maps(6, 12)), theme=theme, width=width)
    page.locator("summary").click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe(page) == []


@pytest.mark.parametrize(
    ("words", "weights", "options", "sentence"),
    [
        (WORDS, maps()[0], {}, "give (layers, heads, 7, 7), one map a head. Take the batch axis off"),
        (WORDS[:3], maps(), {}, "for 3 words give (layers, heads, 3, 3)"),
        (WORDS, 2 * maps(), {}, "The weights are no shares"),
        (WORDS, maps() * torch.nan, {}, "The weights are no shares"),
        (WORDS, maps(), {"layer": 3}, "layer=3 is not there; layers run from 0 to 2"),
        (WORDS, maps(), {"head": -1}, "head=-1 is not there; heads run from 0 to 3"),
        (WORDS, maps(), {"follow": "cat"}, "follow='cat' is not in the sentence"),
        ([], maps(1, 1, 1), {}, "there are no words"),
    ],
)
def test_bad_input_is_answered_with_a_sentence(words, weights, options, sentence):
    with pytest.raises(ValueError) as raised:
        heads(words, weights, **options)
    assert sentence in str(raised.value)

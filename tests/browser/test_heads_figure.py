"""The figure of all heads in a real browser: its numbers against the tensor, its keys, and what may not harm it."""

import pytest
import torch
from site_in_browser import COLOURS, axe

from shared.figures.heads import heads

WORDS = ["[CLS]", "the", "<img src=x onerror=alert(1)>", "bit", "</script>", "man", "[SEP]"]


def maps(layers=3, count=4, n=7):
    generator = torch.Generator().manual_seed(1)
    return (3 * torch.randn(layers, count, n, n, generator=generator)).softmax(dim=-1)


def numbers(cells) -> torch.Tensor:
    return torch.tensor([float(text) for text in cells.all_inner_texts()])


def test_every_head_opens_with_its_own_numbers_and_the_sentence_carries_them(show):
    weights = maps()
    page = show(heads(WORDS, weights, follow=1))
    page.locator("summary").click()
    for layer, head in [(0, 0), (2, 3), (1, 2)]:
        page.get_by_role("button", name=f"Layer {layer}, head {head}", exact=True).click()
        table = numbers(page.locator(".numbers tbody td")).view(7, 7)
        assert torch.allclose(table, weights[layer, head], atol=0.0056)
    page.locator(".sentence input").nth(5).check(force=True)
    assert torch.allclose(numbers(page.locator(".sentence small")), weights[1, 2, 5], atol=0.0056)
    top = WORDS[weights[1, 2, 5].argmax()]
    assert f"“man” attends most to “{top}”: {weights[1, 2, 5].max():.2f}" in page.locator(".said").inner_text()
    assert page.locator(".sentence bdi").all_inner_texts() == WORDS and page.locator("img").count() == 0
    still = show(heads(WORDS, weights, layer=2, head=1), scripts=False)
    assert "Layer 2, head 1" in still.locator("caption").inner_text()
    assert torch.allclose(numbers(still.locator("td")).view(7, 7), weights[2, 1], atol=0.0056)


def test_a_small_map_is_dark_where_the_weight_is(show):
    weights = torch.zeros(1, 1, 3, 3)
    weights[0, 0, 0, 2] = weights[0, 0, 1, 0] = weights[0, 0, 2, 1] = 1
    paths = show(heads(["a", "b", "c"], weights)).locator(".maps path")
    assert paths.count() == 1 and paths.get_attribute("opacity") == "1"
    assert paths.get_attribute("d") == "M2 0h1v1h-1zM0 1h1v1h-1zM1 2h1v1h-1z"


def test_a_line_leads_from_each_word_on_the_left_to_the_word_on_the_right_that_it_attends_to(show):
    weights = torch.tensor([[0.0, 0.9, 0.1], [0.0, 0.0, 1.0], [0.96, 0.04, 0.0]])[None, None]
    page = show(heads(["a", "b", "c"], weights, follow=2))
    heights = [float(text.get_attribute("y")) for text in page.locator(".lines text[text-anchor=end]").all()]
    found = []
    for line in page.locator(".lines line").all():
        left, right = (
            min(range(3), key=lambda n, y=y: abs(heights[n] - float(line.get_attribute(y)))) for y in ("y1", "y2")
        )
        assert float(line.get_attribute("x1")) < float(line.get_attribute("x2"))
        assert line.get_attribute("data-row") == str(left)
        found.append((left, right))
    assert sorted(found) == [(0, 1), (0, 2), (1, 2), (2, 0), (2, 1)], (
        "the thin line of .04 is of the word that is followed"
    )
    page.locator(".lines line").first.dispatch_event("click")
    assert "“a” attends most to “b”: 0.90" in page.locator(".said").inner_text()


def test_arrow_keys_go_from_map_to_map_stop_at_the_edge_and_tab_reaches_one_map(show):
    page = show(heads(WORDS, maps(), follow=3))
    page.get_by_role("button", name="Layer 0, head 0").focus()
    for key, wanted in [("ArrowLeft", (0, 0)), ("ArrowRight", (0, 1)), ("ArrowDown", (1, 1)), ("ArrowUp", (0, 1))]:
        page.keyboard.press(key)
        name = "Layer {}, head {}".format(*wanted)
        assert page.locator(".maps [aria-pressed=true]").get_attribute("aria-label") == name
        assert page.locator(".attention-heads").evaluate("host => host.shadowRoot.activeElement.ariaLabel") == name
    assert page.locator('.maps button[tabindex="0"]').count() == 1


@pytest.mark.parametrize(("theme", "width", "options"), [("dark", 360, {}), ("light", 1000, {"runOnly": COLOURS})])
def test_axe_finds_nothing_and_the_page_does_not_scroll_sideways(show, theme, width, options):
    page = show(heads("[CLS] the dog bit the man [SEP]".split(), maps(6, 12)), theme=theme, width=width)
    page.locator("summary").click()
    page.locator(".numbers td").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe(page, **options) == []

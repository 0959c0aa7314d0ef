"""The welcome page's café: its numbers are those of PyTorch, keys work as clicks do, and without a script it stands."""

import re

import pytest
import torch
from site_in_browser import axe
from test_site import TOC

GUESTS, DRINKS, FRIENDS = ["Ada", "Ben", "Cleo", "Dan"], ["tea", "coffee", "juice", "tea"], [2, 0, 3, 0]
PAGE = f"{TOC['root']}.html"


def expected(guest: int, friend: int) -> tuple[str, list[str]]:
    """What the page says of a guest with this friend, and the weights on all guests as it writes them."""
    weights = (9 / 2 * torch.eye(4)[friend]).softmax(dim=0)
    output = [(weights[[own == drink for own in DRINKS]].sum(), drink) for drink in ("tea", "coffee", "juice")]
    parts = ", ".join(f"{drink} {short(part)}" for part, drink in sorted(output, key=lambda pair: -pair[0]))
    sentence = f"{GUESTS[guest]} attends to {GUESTS[friend]}: {short(weights[friend])}; output: {parts}."
    return sentence, [short(weight) for weight in weights]


def short(number: torch.Tensor) -> str:
    return f"{number:.2f}"[1:]


def numbers(drawn: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+", drawn)]


def test_every_guest_with_every_friend_has_the_weights_and_the_output_of_a_softmax(visit, address):
    page = visit(f"{address}/{PAGE}", width=320)
    asked = len(page.asked)
    chosen = 0
    for guest in range(4):
        friend = FRIENDS[guest]
        for press in ("click", "Enter", " "):
            button = page.locator(".cafe .guest").nth(guest)
            button.click() if press == "click" else button.press(press)
            if guest == chosen:  # the first press on another guest only chooses it
                friend = next(other % 4 for other in range(friend + 1, friend + 4) if other % 4 != guest)
            chosen = guest
            sentence, weights = expected(guest, friend)
            assert page.locator(".cafe-said").text_content() == sentence
            assert page.locator(".cafe .guest [class^=weight] text").all_text_contents() == weights
            seen = " ".join(button.locator("text").all_text_contents())
            assert button.get_attribute("aria-label") == f"{seen}, friend: {GUESTS[friend]}", "named as it is seen"
            pressed = page.locator(".cafe .guest").evaluate_all("all => all.map((one) => one.ariaPressed)")
            assert pressed == [str(other == guest).lower() for other in range(4)]
            wide = page.locator(".cafe .attention").evaluate_all("all => all.map((one) => one.getBBox().width)")
            assert len(wide) == 4 and page.locator(".cafe .friend").count() == 4
    assert page.faults == [] and len(page.asked) == asked
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    outline = "getComputedStyle(document.querySelector('.cafe .guest[aria-pressed=true]')).outlineStyle"
    page.locator(".cafe .guest").first.click()
    assert page.evaluate(outline) == "none", "a click of the mouse leaves no frame"
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert axe(page) == []


def test_without_a_script_the_picture_is_the_one_that_the_script_draws_first(visit, address):
    drawn = []
    for scripts in (True, False):
        page = visit(f"{address}/{PAGE}", scripts=scripts)
        arrows = [
            page.locator(place).evaluate_all("all => all.map((one) => one.getAttribute('d'))")
            for place in (f".cafe .{kind}{' path' * (not scripts)}" for kind in ("friend", "attention"))
        ]
        bars = page.locator(".cafe [class^=bar] path").evaluate_all(
            "all => all.map((one) => { const { x, y, width, height } = one.getBBox(); return [x, y, width, height]; })"
        )
        texts = page.locator(".cafe svg text").all_text_contents()
        drawn.append(([numbers(path) for kind in arrows for path in kind], bars, sorted(texts)))
    (live, bars, texts), (stored, stored_bars, stored_texts) = drawn
    assert len(live) == len(stored) == 8 and texts == stored_texts and ".97" in texts
    for one, other in zip(live, stored, strict=True):
        assert one == pytest.approx(other, abs=0.02)
    for one, other in zip(bars, stored_bars, strict=True):
        assert one == pytest.approx(other, abs=0.02)


def test_the_slider_sharpens_the_softmax_from_a_mean_to_a_dictionary_by_keys_as_well(visit, address):
    page = visit(f"{address}/{PAGE}", width=390)
    slider = page.get_by_role("slider", name="How sharply a query matches")
    assert slider.input_value() == "3", "the first frame is the stored picture"
    for key, factor in {"Home": 0, "ArrowRight": 0.1, "End": 5}.items():
        slider.press(key)
        weights = (factor**2 / 2 * torch.eye(4)[2]).softmax(dim=0)
        shown = page.locator(".cafe .guest [class^=weight] text").all_text_contents()
        assert shown == [f"{weight:.2f}".removeprefix("0") for weight in weights], factor
    page.emulate_media(media="print")
    assert not slider.is_visible() and page.locator(".cafe-said").is_visible()
    assert page.faults == [] and axe(page, ".cafe") == []

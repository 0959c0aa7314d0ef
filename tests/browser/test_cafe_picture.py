"""The welcome page's café: its numbers are those of PyTorch, keys work as clicks do, and without a script it stands."""

import re

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


def test_every_guest_with_every_friend_has_the_weights_and_the_output_of_a_softmax(visit, address):
    page = visit(f"{address}/{PAGE}", width=320)
    asked = len(page.asked)
    chosen = 0
    for guest in range(4):
        friend = FRIENDS[guest]
        for press in ("click", "Enter", " "):
            button = page.get_by_role("button", name=re.compile(f"^{GUESTS[guest]}, drinks {DRINKS[guest]}"))
            button.click() if press == "click" else button.press(press)
            if guest == chosen:  # the first press on another guest only chooses it
                friend = next(other % 4 for other in range(friend + 1, friend + 4) if other % 4 != guest)
            chosen = guest
            sentence, weights = expected(guest, friend)
            assert page.locator("#cafe-said").text_content() == sentence
            assert page.locator("#cafe .own text >> visible=true").all_text_contents() == weights
            assert button.get_attribute("aria-label").endswith(f"friend: {GUESTS[friend]}")
            pressed = page.locator("#cafe .guest").evaluate_all("all => all.map((one) => one.ariaPressed)")
            assert pressed == [str(other == guest).lower() for other in range(4)]
    assert page.faults == [] and len(page.asked) == asked
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        assert axe(page) == []


def test_without_a_script_the_picture_is_the_one_that_the_script_draws_first(visit, address):
    drawn = [
        [visit(f"{address}/{PAGE}", scripts=scripts).locator(place).inner_html() for place in
         ("#cafe .arrows", "#cafe .output", "#cafe-said")]
        for scripts in (True, False)
    ]  # fmt: skip
    assert drawn[0] == drawn[1] and ".97" in drawn[0][0]

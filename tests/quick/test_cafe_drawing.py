"""The café is drawn from data: who is whose friend, who attends to whom, and how wide an arrow is."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import PathPatch

from shared.figures import Cafe, Cafes
from shared.figures.cafe import FOUR, outline, thickness

NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"]
DRINKS = ["tea", "coffee", "juice", "water", "milk", "cocoa", "coffee", "tea"]
FRIENDS = ["Cleo", "Ada", "Dan", "Hana", "Ben", "Eve", "Ada", "Gus"]
WEIGHTS = np.random.default_rng(0).dirichlet([0.4] * 8, 8)
WELCOME = Path(__file__).resolve().parents[2] / "book/_static/cafe.svg"
REMEDY = 'run .venv/bin/python -c "from shared.figures.cafe import FOUR; print(FOUR.svg())" > book/_static/cafe.svg'


def arrows(cafe, kind):
    return {(arrow.source, arrow.target): arrow.weight for arrow in cafe.arrows if arrow.kind == kind}


def test_the_arrows_of_a_cafe_set_by_hand_have_the_weights_of_a_softmax_by_loops():
    names, friends, factor = NAMES[:4], ["Cleo", "Ada", "Dan", "Ada"], 3
    expected = {}
    for i, friend in enumerate(friends):
        scores = []
        for name in names:
            query, key = ([factor * (each == other) for other in names] for each in (friend, name))
            scores.append(sum(q * k for q, k in zip(query, key, strict=True)) / math.sqrt(len(names)))
        total = sum(math.exp(score) for score in scores)
        expected |= {(i, j): math.exp(score) / total for j, score in enumerate(scores)}
    found = arrows(Cafe(names, DRINKS[:4], friends, factor=factor, least=0), "attention")
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("attending", [None, *NAMES])
def test_arrows_are_the_weights_that_are_large_enough_and_friends_are_arrows_of_their_own(attending):
    cafe = Cafe(NAMES, DRINKS, FRIENDS, weights=WEIGHTS, attending=attending)
    large = {}
    for i in range(8):
        for j in range(8):
            if WEIGHTS[i, j] >= 0.05 and attending in (None, NAMES[i]):
                large[i, j] = WEIGHTS[i, j]
    assert arrows(cafe, "attention") == pytest.approx(large)
    assert list(arrows(cafe, "friend")) == [(i, NAMES.index(friend)) for i, friend in enumerate(FRIENDS)]
    for arrow in cafe.arrows:
        assert f"{NAMES[arrow.target]} {arrow.weight:.2f}".replace(" 0.", " .") in cafe.alt or arrow.kind == "friend"


@pytest.mark.parametrize("count", range(2, 11))
def test_arrows_reach_from_card_to_card_and_cards_do_not_meet(count):
    names = [*NAMES, "Ida", "Jan"][:count]
    cafe = Cafe(names, [*DRINKS, "milk", "tea"][:count], [*names[1:], names[0]], factor=4)
    for i, a in enumerate(cafe.guests):
        assert a.radius <= a.x <= cafe.width - a.radius and a.radius <= a.y <= cafe.height - a.radius
        assert all(math.hypot(a.x - b.x, a.y - b.y) >= a.radius + b.radius + 8 for b in cafe.guests[:i])
    for arrow in cafe.arrows:
        a, b = cafe.guests[arrow.source], cafe.guests[arrow.target]
        points = outline(arrow, cafe.guests)
        tail, tip = ((points[0][k] + points[-2][k]) / 2 for k in (0, 1)), points[3]
        assert 0 < math.dist(tip, (b.x, b.y)) - b.radius < 1.5, "the head touches the card that is attended to"
        assert abs(math.dist(tuple(tail), (a.x, a.y)) - a.radius) < 1.5
        assert math.dist(points[0], points[-2]) == pytest.approx(thickness(arrow))


def test_only_what_the_value_says_is_drawn_and_wider_is_more():
    cafe = Cafe(NAMES, DRINKS, FRIENDS, weights=WEIGHTS, attending="Dan", least=0.01)
    (axes,) = cafe.figure().axes
    drawn = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    assert len(drawn) == len(cafe.arrows)
    for patch, arrow in zip(drawn, cafe.arrows, strict=True):
        np.testing.assert_allclose(patch.get_path().vertices, outline(arrow, cafe.guests))
    row = arrows(cafe, "attention")
    order = sorted(row, key=lambda pair: row[pair])
    widths = {(arrow.source, arrow.target): thickness(arrow) for arrow in cafe.arrows if arrow.kind == "attention"}
    assert order == sorted(widths, key=lambda pair: widths[pair]) and len(set(widths.values())) == len(widths)
    written = [text.get_text() for text in axes.texts]
    assert [text for text in written if text[0] in ".1"] == [f"{w:.2f}".removeprefix("0") for w in WEIGHTS[3]]


def test_the_output_is_the_weighted_sum_of_the_drinks():
    cafe = Cafe(NAMES, DRINKS, FRIENDS, weights=WEIGHTS, attending="Eve", output=True)
    for drink, amount in cafe.outputs:
        assert amount == pytest.approx(sum(WEIGHTS[4, j] for j in range(8) if DRINKS[j] == drink))
    assert sum(amount for _, amount in cafe.outputs) == pytest.approx(1)
    (axes,) = cafe.figure().axes
    bars = [patch.get_width() for patch in axes.patches if str(patch.get_gid()).startswith("part:bar")]
    amounts = np.array([amount for _, amount in cafe.outputs])
    np.testing.assert_allclose(bars / amounts, bars[0] / amounts[0])
    assert "output of Eve" in [text.get_text() for text in axes.texts]
    named = Cafe(NAMES, DRINKS, FRIENDS, weights=WEIGHTS, attending="Eve", output="added by attention")
    assert "added by attention" in [text.get_text() for text in named.figure().axes[0].texts]
    assert f"added by attention: {DRINKS[0]}" in named.alt


def test_an_empty_chair_gets_no_attention_and_is_the_friend_of_whom_it_was():
    cafe = Cafe(NAMES[:4], ["tea", "coffee", None, "tea"], ["Cleo", "Ada", None, "Ada"], factor=3, least=0)
    assert all(weight == 0 for (_, target), weight in arrows(cafe, "attention").items() if target == 2)
    row = [cafe.matrix[0, j] for j in (0, 1, 3)]
    assert row == pytest.approx([1 / 3] * 3) and (0, 2) in arrows(cafe, "friend")
    assert "Cleo is away" in cafe.alt and "data-cafe" not in cafe.svg()


def test_one_query_for_all_stands_in_the_middle_and_hops_lead_from_friend_to_friend():
    cafe = Cafe(NAMES, DRINKS, weights=WEIGHTS[0], attending="Ada?", least=0)
    assert arrows(cafe, "attention") == pytest.approx({(8, j): w for j, w in enumerate(WEIGHTS[0])})
    assert cafe.guests[8].name == "Ada?"
    hops = Cafe(NAMES, DRINKS, FRIENDS, hops=["Ada", "Cleo", "Dan"])
    assert list(arrows(hops, "hop")) == [(0, 2), (2, 3)] and "The way: Ada to Cleo to Dan." in hops.alt


def test_two_cafes_are_beside_each_other_where_both_fit():
    small = [
        Cafe(NAMES[:4], DRINKS[:4], FRIENDS[:2] + ["Dan", "Ada"], factor=3, width=150, title=t) for t in ("a", "b")
    ]
    together = Cafes(small)
    (axes,) = together.figure().axes
    circles = [patch.center for patch in axes.patches if not isinstance(patch, PathPatch)]
    assert circles == [(g.x + 150 * side, g.y) for side in (0, 1) for g in small[0].guests]


def test_what_is_no_cafe_is_refused():
    for given, message in (
        ({"names": ["Ada"], "drinks": ["tea"]}, "1 guests"),
        ({"names": NAMES[:2], "drinks": DRINKS[:2], "friends": ["Ben", "Zoe"]}, "'Zoe' has no chair"),
        ({"names": NAMES, "drinks": DRINKS, "weights": WEIGHTS + 1}, "Are they scores"),
        ({"names": NAMES[:2], "drinks": DRINKS[:1]}, "give one for each"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            Cafe(**given)


def test_the_welcome_page_has_the_cafe_that_the_function_draws():
    assert WELCOME.read_text("utf-8").strip() == FOUR.svg().strip(), REMEDY

"""Shaded words: what is shaded is what was given, and it can be read and heard."""

import re

import pytest
import torch
from test_colours import contrast, mixed

from labs.recap_attention.shaded_words import STEPS, shaded_words
from shared.colours import NEUTRALS, ROLES


def test_more_attention_makes_a_thicker_underline():
    html = shaded_words(["a", "bore", "of", "film"], torch.tensor([0.1, 0.6, 0.0, 0.3])).html
    width = {word: float(width) for width, word in re.findall(r"border-bottom:([\d.]+)px[^>]*>(\w+)<", html)}
    assert width["bore"] == STEPS / 2 > width["film"] > width["a"] > 0
    assert "of" not in width and ">of<" not in html and " of " in html


def test_the_strongest_words_and_the_share_of_the_labeled_review_are_said_in_words():
    words, weights = ["dull", "fine", "end"], [0.3, 0.6, 0.1]
    shaded = shaded_words(words, weights, title="label: positive", target=[False, True, True])
    line = "Most attention: fine 0.60, dull 0.30, end 0.10. Attention on the labeled review: 0.70."
    assert repr(shaded) == f"label: positive\n{line}"
    assert line in shaded._repr_html_() and "label: positive" in shaded._repr_html_()


def test_the_labeled_review_is_marked_where_it_begins_and_ends():
    body = shaded_words(["one", "two"], [0.5, 0.5], target=[True, False]).html.split("<p style=")[-1]
    pieces = [piece for piece in re.findall(r">([^<>]+)<", body) if piece.strip()]
    assert pieces == ["▸ labeled review", "one", "◂ labeled review ends", "two"]


def test_words_and_title_cannot_become_markup():
    html = shaded_words(["<script>", "&amp;"], [0.9, 0.1], title="<b>").html
    assert "<script>" not in html and "<b>" not in html.replace("<b style", "")
    assert "&lt;script&gt;" in html and "&amp;amp;" in html


@pytest.mark.parametrize("theme", [0, 1])
def test_a_word_stays_readable_on_the_deepest_shade(theme):
    share = int(re.search(r"(\d+)%, transparent", shaded_words(["word"], [1.0]).html)[1]) / 100
    assert contrast(NEUTRALS["ink"][theme], mixed(ROLES["weight"][theme], NEUTRALS["paper"][theme], share)) >= 4.5
    assert contrast(ROLES["weight"][theme], NEUTRALS["paper"][theme]) >= 3  # the underline

"""The pictures of matrices.py say what the arrays say."""

import math
import re
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from test_colours import contrast, mixed

from shared.colours import LIGHTER, NEUTRALS, ROLES, css_colour
from shared.figures import Matrix, attention_over, lookup, product, softmax_row, split_heads, weighted_sum
from shared.figures.matrices import SHADE

WORDS = ["the", "the", "cat", "שלום", "東京", "👩‍👩‍👧‍👦", "naïve", "<b>&amp;", '"', "]]>", "a", "x" * 300]


def read_svgs(html):
    """Every <svg> of a piece of HTML, as an XML tree: an unescaped character anywhere makes the parsing fail."""
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.S)]


def kind(svg, wanted):
    return [e for e in svg.iter() if e.get("data-kind") == wanted]


def whole(element):
    """A drawn label, in full where it was cut."""
    title = element.find("title")
    return element.text if title is None else title.text


def number(text):
    return float(text.replace("−", "-"))


def numbered(words):
    """The labels to expect: repeated words count up."""
    return [f"{word} #{words[: i + 1].count(word)}" if words.count(word) > 1 else word for i, word in enumerate(words)]


def assert_drawn(svg, values, rows=None, columns=None):
    """The drawing holds these numbers, as precise as its decimals, and these labels."""
    values = np.asarray(values, dtype=float)
    (title,) = kind(svg, "name")
    assert title[0].text == "{} × {}".format(*values.shape)
    assert [whole(e) for e in kind(svg, "row")] == numbered(rows or [])
    assert [whole(e) for e in kind(svg, "column")] == numbered(columns or [])
    np.testing.assert_allclose([number(whole(e)) for e in kind(svg, "cell")], values.ravel(), rtol=0, atol=0.005001)


@pytest.mark.parametrize(("n", "d_model", "d_k", "d_v"), [(2, 2, 1, 2), (5, 4, 3, 3), (12, 32, 10, 16)])
def test_every_picture_shows_the_numbers_and_labels_of_its_arrays(n, d_model, d_k, d_v):
    random = np.random.default_rng(n)
    words, x = WORDS[:n], random.normal(size=(n, d_model))
    W_query, W_key, W_value = (random.normal(size=(width, d_model)) for width in (d_k, d_k, d_v))
    queries, keys, values = (x @ W.T for W in (W_query, W_key, W_value))
    scores = queries @ keys.T
    weights = torch.tensor(scores / math.sqrt(d_k)).softmax(dim=1).numpy()
    row, asked, ids = weights[1], [words[1]], [i % 2 for i in range(n)]

    def m(array, rows, columns):
        return Matrix(array, "m", rows=rows, columns=columns)

    looked_up = [(x[:2], words[:2], None), (x[:2][ids], words, None)]
    one_query = [(W_query, None, None), (x[[1]].T, None, asked), (queries[[1]].T, None, asked)]
    all_scores = [(queries, words, None), (keys.T, None, words), (scores, words, words)]
    softmax = [(scores[[1]], asked, words), (scores[[1]] / math.sqrt(d_k), asked, None), ([row], asked, None)]
    v = (values, words, None)
    summed = [(row[:, None], words, None), v, (row[:, None] * values, words, None), ([row @ values], asked, None)]
    for picture, expected in (
        (lookup(m(*looked_up[0]), ids, m(*looked_up[1]), 1), looked_up),
        (product(*(m(*each) for each in one_query)), one_query),
        (product(*(m(*each) for each in all_scores), 1, n - 1), all_scores),
        (softmax_row(scores[1], row, words, 1, math.sqrt(d_k)), softmax),
        (weighted_sum(row, m(*v), row @ values, 1), summed),
    ):
        for svg, drawn in zip(read_svgs(picture._repr_html_()), expected, strict=True):
            assert_drawn(svg, *drawn)
    columns = [f"column {i}" for i in range(d_model)]
    _, *heads = read_svgs(split_heads(m(x, words, columns), 2).html)
    for svg, half in zip(heads, np.split(np.arange(d_model), 2), strict=True):
        assert_drawn(svg, x[:, half], words, [columns[j] for j in half])
    drawn = re.findall(r">([^<>]+)</div><div[^>]*></div>([\d.]+)<", attention_over(words, row, 1).html)
    assert [unescape(name) for name, _ in drawn] == numbered(words)
    np.testing.assert_allclose([number(share) for _, share in drawn], row, atol=0.00501)


def test_a_product_marks_the_row_the_column_and_the_cell_that_belong_together():
    left, right = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    svgs = read_svgs(
        product(Matrix(left, "l", "query"), Matrix(right, "r", "key"), Matrix(left @ right, "o", "score"), 1, 2).html
    )

    def marked(svg):
        (frame,) = [e for e in svg.iter("rect") if e.get("stroke-width") == "3"]
        x, y, w, h = (float(frame.get(k)) for k in ("x", "y", "width", "height"))
        inside = [(e, float(e.get("x")) - x, float(e.get("y")) - y) for e in kind(svg, "cell")]
        return [number(e.text) for e, right, below in inside if 0 < right < w and 0 < below < h]

    assert [marked(svg) for svg in svgs] == [list(left[1]), list(right[:, 2]), [(left @ right)[1, 2]]]


def test_a_stronger_shade_is_a_larger_number_and_the_sign_shows_without_colour():
    for shape in ((1, 4), (1, 12)):  # with numbers, and with shades alone
        values = np.resize([0.0, 1.0, -2.0, 4.0], shape)
        (svg,) = read_svgs(Matrix(values, "m")._repr_html_())
        shades = [float(e.get("fill-opacity")) for e in svg.iter("rect") if e.get("fill-opacity")]
        expected = [x / 4 if x >= 0 else -x / 4 * LIGHTER for x in values[0]]  # a negative number is paler
        np.testing.assert_allclose(np.array(shades) / max(shades), expected, atol=0.02)
        hues = [e.get("fill") for e in svg.iter("rect") if e.get("fill-opacity")]
        assert [hue == css_colour("key") for hue in hues] == [x < 0 for x in values[0]]
    heights = [e.get("height") for e in kind(svg, "cell")]
    assert heights == ["16", "16", "4", "16"] * 3, "a negative shade must be a thin bar"


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("role", ROLES)
def test_a_number_reads_on_the_deepest_shade_below_it(role, theme):
    ground = mixed(ROLES[role][theme], NEUTRALS["paper"][theme], SHADE)
    assert contrast(NEUTRALS["ink"][theme], ground) >= 4.5

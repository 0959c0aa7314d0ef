"""The pictures of matrices.py say what the arrays say."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from test_colours import contrast, mixed

from shared.colours import LIGHTER, NEUTRALS, ROLES, css_colour
from shared.figures import Matrix, product, softmax_row, split_heads, weighted_sum
from shared.figures.matrices import SHADE

WORDS = ["the", "the", "cat", "שלום", "東京", "👩‍👩‍👧‍👦", "naïve", "<b>&amp;", '"', "]]>", "a", "x" * 300]


def read_grids(html):
    """Every matrix of a piece of HTML, as an XML tree: an unescaped character anywhere makes the parsing fail."""
    return [each for each in ElementTree.fromstring(html).iter("div") if each.get("role") == "img"]


def kind(grid, wanted):
    return [e for e in grid.iter() if e.get("data-kind") == wanted]


def area(element):
    """The first row and column of an element, and those after its last."""
    lines = [int(line) for line in re.search(r"grid-area:([\d/]+)", element.get("style"))[1].split("/")]
    return lines if len(lines) == 4 else [*lines, lines[0] + 1, lines[1] + 1]


def number(text):
    return float(text.replace("−", "-"))


def numbered(words):
    """The labels to expect: repeated words count up."""
    return [f"{word} #{words[: i + 1].count(word)}" if words.count(word) > 1 else word for i, word in enumerate(words)]


def assert_drawn(grid, values, rows=None, columns=None):
    """The drawing holds these numbers, as precise as its decimals, and these labels, each in its place."""
    values = np.asarray(values, dtype=float)
    assert kind(grid, "shape")[0].text == "{} × {}".format(*values.shape)
    assert [(e.text, *area(e)[:2]) for e in kind(grid, "row")] == [
        (label, i + 2, 1) for i, label in enumerate(numbered(rows or []))
    ]
    assert [(e.text, *area(e)[:2]) for e in kind(grid, "column")] == [
        (label, 1, j + 2) for j, label in enumerate(numbered(columns or []))
    ]
    drawn = np.full(values.shape, np.nan)
    for cell in kind(grid, "cell"):
        row, column, *_ = area(cell)
        drawn[row - 2, column - 2] = number(cell.text) if cell.text else values[row - 2, column - 2]
    np.testing.assert_allclose(drawn, values, rtol=0, atol=0.005001)


@pytest.mark.parametrize(("n", "d_model", "d_k", "d_v"), [(2, 2, 1, 2), (5, 4, 3, 3), (12, 32, 10, 16)])
def test_every_picture_shows_the_numbers_and_labels_of_its_arrays(n, d_model, d_k, d_v):
    random = np.random.default_rng(n)
    words, x = WORDS[:n], random.normal(size=(n, d_model))
    W_query, W_key, W_value = (random.normal(size=(width, d_model)) for width in (d_k, d_k, d_v))
    queries, keys, values = (x @ W.T for W in (W_query, W_key, W_value))
    scores = queries @ keys.T
    weights = torch.tensor(scores / math.sqrt(d_k)).softmax(dim=1).numpy()
    row, asked = weights[1], [words[1]]

    def m(array, rows, columns):
        return Matrix(array, "m", rows=rows, columns=columns)

    one_query = [(W_query, None, None), (x[[1]].T, None, asked), (queries[[1]].T, None, asked)]
    all_scores = [(queries, words, None), (keys.T, None, words), (scores, words, words)]
    softmax = [(scores[[1]], asked, words), (scores[[1]] / math.sqrt(d_k), asked, None), ([row], asked, None)]
    v = (values, words, None)
    summed = [(row[:, None], words, None), v, (row[:, None] * values, words, None), ([row @ values], asked, None)]
    for picture, expected in (
        (product(*(m(*each) for each in one_query)), one_query),
        (product(*(m(*each) for each in all_scores), 1, n - 1), all_scores),
        (softmax_row(scores[1], row, words, 1, math.sqrt(d_k)), softmax),
        (weighted_sum(row, m(*v), row @ values, 1), summed),
    ):
        for grid, drawn in zip(read_grids(picture._repr_html_()), expected, strict=True):
            assert_drawn(grid, *drawn)
    columns = [f"column {i}" for i in range(d_model)]
    _, *heads = read_grids(split_heads(m(x, words, columns), 2).html)
    for grid, half in zip(heads, np.split(np.arange(d_model), 2), strict=True):
        assert_drawn(grid, x[:, half], words, [columns[j] for j in half])


def test_a_product_marks_the_row_the_column_and_the_cell_that_belong_together():
    left, right = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    grids = read_grids(
        product(Matrix(left, "l", "query"), Matrix(right, "r", "key"), Matrix(left @ right, "o", "score"), 1, 2).html
    )

    def marked(grid):
        (frame,) = kind(grid, "frame")
        top, begin, bottom, end = area(frame)
        cells = [(e, *area(e)[:2]) for e in kind(grid, "cell")]
        return [number(e.text) for e, i, j in cells if top <= i < bottom and begin <= j < end]

    assert [marked(grid) for grid in grids] == [list(left[1]), list(right[:, 2]), [(left @ right)[1, 2]]]


def test_a_stronger_shade_is_a_larger_number_and_the_sign_shows_without_colour():
    for shape in ((1, 4), (1, 12)):  # with numbers, and with shades alone
        values = np.resize([0.0, 1.0, -2.0, 4.0], shape)
        (grid,) = read_grids(Matrix(values, "m")._repr_html_())
        styles = [e.get("style") for e in kind(grid, "cell")]
        mixes = [re.search(r"color-mix\(in srgb,(.*) (\d+)%,transparent", style) for style in styles]
        shades = np.array([int(mix[2]) for mix in mixes])
        expected = [x / 4 if x >= 0 else -x / 4 * LIGHTER for x in values[0]]  # a negative number is paler
        np.testing.assert_allclose(shades / max(shades), expected, atol=0.02)
        assert [mix[1] == css_colour("key") for mix in mixes] == [x < 0 for x in values[0]]
    assert ["margin:6px 0" in style for style in styles] == [x < 0 for x in values[0]], "a thin bar"


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("role", ROLES)
def test_a_number_reads_on_the_deepest_shade_below_it(role, theme):
    ground = mixed(ROLES[role][theme], NEUTRALS["paper"][theme], SHADE)
    assert contrast(NEUTRALS["ink"][theme], ground) >= 4.5

"""The pictures of matrices.py say what the arrays say, for the lab's sentence and for others nobody chose."""

import math
import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from test_colours import contrast, mixed

from shared.figures.colours import NEUTRALS, ROLES
from shared.figures.matrices import (
    SHADE,
    Matrix,
    attention_over,
    lookup,
    product,
    side_by_side,
    softmax_row,
    split_heads,
    weighted_sum,
)

HARD_WORDS = [
    "the", "the", "cat", "Donaudampfschifffahrtsgesellschaftskapitän", "שלום", "مرحبا", "東京", "मानवीय",
    "👩‍👩‍👧‍👦", "🇮🇱", "naïve", "nai\u0308ve", "<b>&amp;", '"', "'", "…", "!", "−1", "]]>", "a\x00b", "\u202eevil",
    "Привет", "x" * 300,
]  # fmt: skip


# Reading a picture


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


def entries(svg):
    """The numbers in the cells of one drawn matrix, in reading order."""
    return [number(whole(cell)) for cell in kind(svg, "cell")]


def numbered(words):
    """The labels to expect: repeated words count up, right-to-left ones are isolated then."""
    clean = ["".join("\ufffd" if ord(c) < 32 else c for c in w) for w in words]
    labels = []
    for i, word in enumerate(clean):
        backwards = any("\u0590" <= c <= "\u07ff" for c in word)
        shown = f"\u2068{word}\u2069" if backwards else word
        labels.append(f"{shown} #{clean[: i + 1].count(word)}" if clean.count(word) > 1 else word)
    return labels


def assert_drawn(svg, values, rows=None, columns=None):
    """The drawing holds these numbers, as precise as its decimals, and these labels."""
    values = np.asarray(values, dtype=float)
    (title,) = kind(svg, "name")
    assert title[0].text == "{} × {}".format(*values.shape)
    assert [whole(e) for e in kind(svg, "row")] == numbered(rows or [])
    assert [whole(e) for e in kind(svg, "column")] == numbered(columns or [])
    precise = 0.005001 if np.abs(values).max() < 100 else 0.05001
    np.testing.assert_allclose(entries(svg), values.ravel(), rtol=0, atol=precise)


# What is drawn


def generated(n, dim, d_k, d_v):
    """Words and matrices of these sizes; the products are products."""
    random = np.random.default_rng(n)
    words = [str(word) for word in random.choice(HARD_WORDS, n)]
    x = random.normal(size=(n, dim))
    W_query, W_key, W_value = (random.normal(size=(width, dim)) for width in (d_k, d_k, d_v))
    queries, keys, values = (x @ W.T for W in (W_query, W_key, W_value))
    scores = queries @ keys.T
    powers = np.exp((scores - scores.max(axis=1, keepdims=True)) / math.sqrt(d_k))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return words, x, W_query, queries, keys, values, scores, weights, weights @ values


def pictures(n, dim, d_k, d_v):
    """(how to draw it, for each matrix in it (array, row labels, column labels))."""
    words, x, W_query, queries, keys, values, scores, weights, outputs = generated(n, dim, d_k, d_v)
    row, asked, ids = weights[1], [words[1]], [i % 3 for i in range(n)]
    table = x[: max(ids) + 1]
    v = (values, words, None)
    looked_up = [(table, words[: len(table)], None), (table[ids], words, None)]
    one_query = [(W_query, None, None), (x[[1]].T, None, asked), (queries[[1]].T, None, asked)]
    all_scores = [(queries, words, None), (keys.T, None, words), (scores, words, words)]
    softmax = [(scores[[1]], asked, words), (scores[[1]] / math.sqrt(d_k), asked, None), ([row], asked, None)]
    summed = [(row[:, None], words, None), v, (row[:, None] * values, words, None), ([outputs[1]], asked, None)]

    def m(array, rows, columns):
        return Matrix(array, "m", rows=rows, columns=columns)

    return [
        (lambda: m([ids], None, words), [([ids], None, words)]),
        (lambda: lookup(m(*looked_up[0]), ids, m(*looked_up[1]), 1), looked_up),
        (lambda: product(*(m(*each) for each in one_query)), one_query),
        (lambda: product(*(m(*each) for each in all_scores), 1, n - 1), all_scores),
        (lambda: softmax_row(scores[1], row, words, 1, math.sqrt(d_k)), softmax),
        (lambda: weighted_sum(row, m(*v), outputs[1], 1), summed),
    ]


@pytest.mark.parametrize("sizes", [(2, 1, 1, 2), (5, 5, 3, 3), (11, 40, 10, 30), (40, 32, 11, 16)], ids=str)
def test_every_picture_shows_the_numbers_and_labels_of_its_arrays_each_time_the_same(sizes):
    for draw, expected in pictures(*sizes):
        html = draw()._repr_html_()
        assert not re.search(r"<style|<script|\sid=|\sclass=", html)
        for svg, drawn in zip(read_svgs(html), expected, strict=True):
            assert_drawn(svg, *drawn)
        start = time.process_time()  # this process alone: other work on the machine does not count
        assert draw()._repr_html_() == html
        assert time.process_time() - start <= 0.1 or sizes[0] > 5, "a picture of the lab takes long"
    words, *_, weights, _ = generated(*sizes)
    texts = [svg.findall("text") for svg in read_svgs(attention_over(words, weights[1], 1)._repr_html_())]
    assert [whole(name) for name, _ in texts] == numbered(words)
    np.testing.assert_allclose([number(share.text) for _, share in texts], weights[1], atol=0.00501)


def test_a_product_marks_the_row_the_column_and_the_cell_that_belong_together():
    left, right = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    svgs = read_svgs(
        product(Matrix(left, "l", "query"), Matrix(right, "r", "key"), Matrix(left @ right, "o", "score"), 1, 2).html
    )
    frames = [[e for e in svg.iter("rect") if e.get("stroke-width") == "3"] for svg in svgs]
    assert [len(found) for found in frames] == [1, 1, 1]

    def inside(svg, frame):
        x, y, w, h = (float(frame.get(k)) for k in ("x", "y", "width", "height"))
        return [
            number(e.text) for e in kind(svg, "cell") if x < float(e.get("x")) < x + w and y < float(e.get("y")) < y + h
        ]

    marked = [inside(svg, found[0]) for svg, found in zip(svgs, frames, strict=True)]
    assert marked == [list(left[1]), list(right[:, 2]), [(left @ right)[1, 2]]]


def test_the_sum_under_a_product_is_written_out_and_says_when_rounding_shows():
    whole_numbers = product(Matrix([[1, -2]], "q"), Matrix([[3], [4]], "k"), Matrix([[-5]], "s"))
    assert "1·3 + (−2)·4 = −5" in whole_numbers.html
    halves = product(Matrix([[0.5, 0.25]], "q"), Matrix([[0.5], [1.5]], "k"), Matrix([[0.625]], "s"))
    assert "0.50·0.50 + 0.25·1.50 = 0.62" in halves.html
    sevenths = product(Matrix([[1 / 7, 1 / 7]], "q"), Matrix([[7], [7]], "k"), Matrix([[2]], "s"))
    assert "0.14·7 + 0.14·7 ≈ 2" in sevenths.html
    tiny = product(Matrix([[0.123]], "q"), Matrix([[0.012]], "k"), Matrix([[0.001476]], "s"))
    assert "0.12·0.01 ≈ 1.5e−03" in tiny.html


def test_heads_are_groups_of_columns_and_every_token_keeps_its_row():
    joined = torch.arange(24.0).reshape(4, 6)
    svgs = read_svgs(split_heads(Matrix(joined, "queries", "query", list("abcd"), list("uvwxyz")), 3).html)
    assert [kind(svg, "name")[0].text for svg in svgs] == ["queries", "head 0", "head 1", "head 2"]
    for h, svg in enumerate(svgs[1:]):
        assert_drawn(svg, joined[:, 2 * h : 2 * h + 2], list("abcd"), list("uvwxyz")[2 * h : 2 * h + 2])


def test_a_stronger_shade_is_a_larger_number_whatever_its_sign():
    for shape in ((1, 4), (1, 12)):  # with numbers, and with shades alone
        values = np.resize([0.0, 1.0, -2.0, 4.0], shape)
        (svg,) = read_svgs(Matrix(values, "m")._repr_html_())
        shades = [float(e.get("fill-opacity")) for e in svg.iter("rect") if e.get("fill-opacity")]
        np.testing.assert_allclose(np.array(shades) / max(shades), np.abs(values[0]) / 4, atol=0.02)


def test_the_sign_shows_without_colour():
    signed = Matrix([[0.5, -0.5]], "m")
    assert [e.text for e in kind(read_svgs(signed._repr_html_())[0], "cell")] == ["0.50", "−0.50"]
    wide = Matrix(np.tile(signed.values, 10), "m")
    heights = [e.get("height") for e in kind(read_svgs(wide._repr_html_())[0], "cell")]
    assert heights == ["16", "4"] * 10, "a negative shade must be a thin bar"


def test_what_is_left_out_is_said_and_what_is_marked_is_drawn():
    left, right = np.ones((2, 64)), np.arange(64 * 50.0).reshape(64, 50) / 1000
    picture = product(Matrix(left, "l"), Matrix(right, "r"), Matrix(left @ right, "o"), 0, 25)
    assert "40 of 64 columns in the middle are left out" in picture.html
    assert "25 of 50 columns in the middle are left out" in picture.html
    drawn = np.ix_([*range(12), *range(52, 64)], [*range(12), 25, *range(38, 50)])
    np.testing.assert_allclose(entries(read_svgs(picture.html)[1]), right[drawn].ravel(), rtol=0, atol=0.005001)


@pytest.mark.parametrize("letter", ["👩‍👩‍👧‍👦", "🇮🇱", "नि", "👍🏽"])
def test_a_long_label_is_cut_between_whole_letters(letter):
    (label,) = kind(read_svgs(Matrix([[1]], "m", columns=["ab " + 50 * letter])._repr_html_())[0], "column")
    assert re.fullmatch(f"ab ({letter})*…", label.text)


def test_the_alternative_text_names_shapes_labels_and_the_largest_entry():
    (svg,) = read_svgs(Matrix([[1.5, 2.25], [-9, 0]], "scores", "score", ["a", "b"], ["c", "d"])._repr_html_())
    in_words = "scores, 2 by 2; rows a, b; columns c, d; largest entry 2.25 in row “a”, column “d”."
    assert (svg.get("role"), svg.get("aria-label")) == ("img", in_words)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("role", ROLES)
def test_a_number_reads_on_the_deepest_shade_below_it(role, theme):
    ground = mixed(ROLES[role][theme], NEUTRALS["paper"][theme], SHADE)
    assert contrast(NEUTRALS["ink"][theme], ground) >= 4.5


ONE = Matrix([[1.0]], "one")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: Matrix([[1, float("nan")]], "scores"), "scores holds nan in row 0, column 1; only finite"),
        (lambda: Matrix([[-math.inf]], "scores"), "scores holds -inf"),
        (lambda: Matrix([1, 2], "x"), r"x has the shape \(2,\); .* x\[None, :\]"),
        (lambda: Matrix(np.ones((0, 3)), "x"), r"x has the shape \(0, 3\)"),
        (lambda: Matrix([[1], [2, 3]], "x"), "rows of different lengths"),
        (lambda: Matrix([["a"]], "x"), "real numbers"),
        (lambda: Matrix([[1j]], "x"), "real numbers"),
        (lambda: Matrix([[1]], "x", "energy"), "'energy' is no role"),
        (lambda: Matrix([[1, 2]], "x", columns=["a"]), "1 labels for 2 columns of x"),
        (lambda: Matrix([[1]], "x", rows=[]), "empty. Give at least one word"),
        (lambda: Matrix([[1, 2]], "x", columns="ab"), "one string, 'ab'; give a list of words"),
        (lambda: product(ONE, Matrix([[1], [2]], "two"), ONE), "1 columns and two has 2 rows"),
        (lambda: product(ONE, ONE, Matrix([[2]], "wrong")), "wrong is not one × one: they differ by up to 1"),
        (lambda: product(ONE, ONE, Matrix([[1, 1]], "wide")), r"wide has the shape \(1, 2\)"),
        (lambda: product(ONE, ONE, ONE, row=1), "no row of one with the index 1; the first is 0, the last 0"),
        (lambda: lookup(ONE, [1], ONE), "the table has the rows 0 to 0"),
        (lambda: lookup(ONE, [0.5], ONE), "whole number"),
        (lambda: lookup(ONE, [0], Matrix([[2]], "e")), r"e is not one\[ids\]"),
        (lambda: softmax_row([1, 2], [0.5, 0.5], ["a", "b"]), "weights is not the softmax"),
        (lambda: softmax_row([], [], []), "the sentence is empty"),
        (lambda: softmax_row([1.0], [1.0], ["a"], scale=0), "positive number"),
        (lambda: softmax_row([[1.0]], [1.0], ["a"]), r"give one row, such as scores\[1\]"),
        (lambda: weighted_sum([1.0, 0.0], ONE, [1.0]), "2 weights for 1 values"),
        (lambda: weighted_sum([1.0], ONE, [2.0]), "not the sum of the weighted values"),
        (lambda: attention_over(["a", "b"], [0.5, 0.6], 0), "add up to 1.1"),
        (lambda: attention_over(["a"], [1.0], 1), "no word with the index 1"),
        (lambda: attention_over(["a"], [1.0], None), "no word with the index None"),
        (lambda: split_heads(Matrix(np.ones((2, 9)), "x"), 2), "9 columns cannot be shared by 2 heads"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_sentence(draw, message):
    with pytest.raises((ValueError, TypeError), match=message):
        draw()


def test_side_by_side_keeps_the_text_between():
    html = side_by_side(ONE, "then < that", ONE)._repr_html_()
    assert html.count("<svg") == 2 and "then &lt; that" in html

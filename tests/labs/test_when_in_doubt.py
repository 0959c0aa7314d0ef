"""*When in doubt* takes any sentence and any sizes: its own cells hold the outputs against PyTorch's."""

import lab_code
import numpy as np
import pytest

from labs.when_in_doubt.one_row import SCORES, WEIGHTS, OneRow, small
from labs.when_in_doubt.shares import LEFT, TOP, Shares


def run_lab(sentence="When in doubt look intelligent", followed=1, sizes="5, 3, 3"):
    """Run every code cell, assertions among them, with another sentence, word and sizes."""
    code = "\n".join(lab_code.cells(lab_code.find("when_in_doubt")))
    for old, new in (
        ('"When in doubt look intelligent"  # @param', f"{sentence!r}  # @param"),
        ("followed = 1", f"followed = {followed}"),
        ("= 5, 3, 3", f"= {sizes}"),
    ):
        assert code.count(old) == 1
        code = code.replace(old, new)
    exec(compile(code, "the lab", "exec"), {"__name__": "lab"})


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"sentence": "a b", "followed": 2}, "followed"),
        ({"sentence": " ", "followed": 0}, "empty"),
    ],
)
def test_a_sentence_or_a_word_that_does_not_fit_is_answered_with_a_sentence(written, says):
    with pytest.raises(ValueError, match=says):
        run_lab(**written)


@pytest.mark.parametrize(
    ("sentence", "sizes"),
    [("the cat saw the other cat", "64, 64, 16"), ("שלום <b>&amp; 東京 👩‍👩‍👧‍👦 naïve !", "4, 3, 2")],
)
def test_the_lab_is_right_for_any_sentence_and_any_sizes(sentence, sizes):
    run_lab(sentence, sizes=sizes)


def test_a_word_said_twice_is_drawn_as_one_column_of_weights_before_and_one_after():
    """The heights of the rectangles are softmax weights, computed here from exponentials."""
    powers = np.exp([1.0, 3.0, 0.5, 3.0])  # the last word is the second one again
    chart = Shares(["a", "b", "c", "b"], powers[:3] / powers[:3].sum(), powers / powers.sum(), "c")
    (axes,) = chart.figure().axes
    rectangles = [patch for patch in axes.patches if hasattr(patch, "get_height")]
    for left, column in zip(LEFT, (powers[:3], powers), strict=True):
        drawn = [patch for patch in rectangles if patch.get_x() == left]
        heights = np.array([patch.get_height() for patch in drawn])
        np.testing.assert_allclose(heights / heights.sum(), column / sum(column))
        np.testing.assert_allclose([patch.get_y() for patch in drawn], TOP + np.append(0, heights.cumsum()[:-1]))
    ribbons = [patch.get_xy() for patch in axes.patches if not hasattr(patch, "get_height")]
    factors = [(points[2][1] - points[3][1]) / (points[1][1] - points[0][1]) for points in ribbons]
    assert factors == pytest.approx([powers[:3].sum() / powers.sum()] * 3), "not all shrink by one factor"
    labels = [text.get_text() for text in axes.texts if text.get_text()[0] in "abc" and "." in text.get_text()]
    written = [[round(part, 2) for part in column / sum(column)] for column in (powers[:3], powers)]
    assert [float(label.split()[-1]) for label in labels] == pytest.approx(sum(written, []))
    assert [label for label in labels if "new" in label] == [f"b (new) {written[1][-1]:.2f}".replace("0.", ".")]
    with pytest.raises(ValueError, match="sum to 1"):
        Shares(["a", "b"], [0.9], [0.5, 0.5], "a").figure()


def test_negative_scores_reach_to_the_left_and_every_weight_can_be_read():
    scores = np.array([-1.5, 0.5, -9.0])
    powers = [2.718281828**score for score in scores]
    weights = np.array(powers) / sum(powers)
    chart = OneRow(["a", "b", "c"], scores, weights, 1)
    (axes,) = chart.drawn_in_style().axes
    found = {True: [], False: []}
    for bar in axes.patches:
        found[bar.get_x() + bar.get_width() < WEIGHTS[0] + 1e-6 and bar.get_x() < WEIGHTS[0]].append(bar)
    of_scores, of_weights = found[True], found[False]
    zero = of_scores[1].get_x()
    for bar, score in zip(of_scores, scores, strict=True):
        assert bar.get_width() / (SCORES[1] - SCORES[0]) == pytest.approx(abs(score) / 9.5)
        end = bar.get_x() if score < 0 else bar.get_x() + bar.get_width()
        assert (end - zero) * score > 0, "not on its side of zero"
    for bar, weight in zip(of_weights, weights, strict=True):
        assert bar.get_width() / (WEIGHTS[1] - WEIGHTS[0]) == pytest.approx(weight)
    texts = [text.get_text() for text in axes.texts]
    assert texts[-9:] == ["a", "−1.50", ".12", "b", "0.50", ".88", "c", "−9.00", ".00007"]


@pytest.mark.parametrize(
    ("weight", "written"), [(1, "1.00"), (0.054, ".05"), (0.0016, ".002"), (4.1e-5, ".00004"), (1e-9, "below .000001")]
)
def test_a_small_weight_keeps_its_first_digit(weight, written):
    assert small(weight) == written

"""*Keys*: keys are points and queries arrows; what is said to be farthest is farthest, and one key is never found."""

import math

import numpy as np
import torch
from matplotlib.colors import to_rgba

from labs.keys.plane import KEY, QUERY, KeyPlanes, as_trained_and_multiplied


def of_color(marks, color):
    return [mark for mark in marks if np.allclose(mark.get_facecolor(), to_rgba(color))]


def test_keys_are_points_and_queries_arrows_of_one_length():
    keys, queries = np.array([[1.0, 2], [-3, 1], [0.5, -1]]), np.array([[2.0, 0], [1, 1], [-1, -4]])
    (axes,) = KeyPlanes(["Ada", "Ben", "Cleo"], {"": (keys, queries)}).drawn_in_style().axes
    (points,) = of_color(axes.collections, KEY)
    np.testing.assert_array_equal(points.get_offsets(), keys)
    tips = np.array([text.xy for text in axes.texts if getattr(text, "arrow_patch", None)])
    lengths = np.linalg.norm(tips, axis=1, keepdims=True)
    assert np.ptp(lengths) < 1e-9
    np.testing.assert_allclose(tips / lengths, queries / np.linalg.norm(queries, axis=1, keepdims=True))
    texts = {text.get_text(): np.array(text.get_position()) for text in axes.texts}
    for name, key, tip in zip(("Ada", "Ben", "Cleo"), keys, tips, strict=True):
        for at, place in ((texts[name], key), (texts[f"{name}?"], tip)):
            assert np.linalg.norm(at - place) < 0.2 * np.linalg.norm(keys, axis=1).max()
            assert at @ place > 0.95 * np.linalg.norm(at) * np.linalg.norm(place), "a name is beyond its mark"


def test_two_keys_are_dropped_at_right_angles_and_the_key_of_the_highest_score_is_the_farthest():
    """Scores are computed here from queries that have their lengths, and after another product with the same scores."""
    generator = torch.Generator().manual_seed(0)
    keys, queries, R = (torch.randn(count, 2, generator=generator) for count in (5, 5, 2))
    moved = keys @ R, queries @ torch.linalg.inv(R).T
    chart = as_trained_and_multiplied(list("ABCDE"), (keys, queries), moved, asking=3)
    scores = queries[3] @ keys.T
    best = scores.argsort(descending=True)[:2]
    above, below = chart.drawn_in_style().axes
    assert above.get_xlim() == below.get_xlim() and above.get_ylim() == below.get_ylim(), "not one scale"
    for axes, (points, query) in zip((above, below), ((keys, queries[3]), (moved[0], moved[1][3])), strict=True):
        (marked,) = of_color(axes.collections, QUERY)
        lines = [line.get_xydata() for line in axes.lines[1:]]  # the first is that of the query
        feet = np.array([foot for _, foot in lines])
        np.testing.assert_allclose([key for key, _ in lines], points[best], atol=1e-6)
        np.testing.assert_allclose((points[best].numpy() - feet) @ query.numpy(), 0, atol=1e-5)
        np.testing.assert_allclose(feet @ query.numpy(), scores[best], atol=1e-5)
        np.testing.assert_allclose(marked.get_offsets()[0], feet[0], atol=1e-6)
        (named,) = [text for text in axes.texts if text.get_text() == "farthest"]
        np.testing.assert_allclose(named.xy, feet[0], atol=1e-6)
        assert [text.get_text() for text in axes.texts if text.get_text().endswith("?")] == ["D?"]
    assert ["circle" in axes.get_title(loc="left") for axes in (above, below)] == [True, False]
    assert "an ellipse, the same scores: keys as points" in chart.alt


def test_no_query_finds_the_key_with_the_question_mark():
    angles = torch.arange(8) * math.pi / 4 + 0.1
    keys = torch.stack([3 * angles.cos(), 2 * angles.sin()], dim=1)  # (8, 2)
    (axes,) = KeyPlanes(list("ABCDEFGH"), {"": (keys, keys)}, inside=True).drawn_in_style().axes
    *_, marked = axes.collections
    (key,) = marked.get_offsets()
    for degree in range(360):
        query = np.array([math.cos(math.radians(degree)), math.sin(math.radians(degree))])
        assert query @ key < (keys.numpy() @ query).max()
    assert "?" in [text.get_text() for text in axes.texts]

"""*Your journey*: every number of the published example comes out of a cell that is compared; the planes are right."""

import json
import re
from pathlib import Path

import lab_code
import numpy as np
import pytest

from labs.your_journey.planes import AllWeights, Reach, ValuesAndOutputs, spread
from tools.lab import code_of

REFERENCE = json.loads(Path(__file__).with_name("your_journey.json").read_text("utf-8"))
AFTER = REFERENCE.pop("linear_after_parameter_version_seed_123")
GIVEN = {"sentence", "tokens", "inputs", "d_in", "d_out", "seed", "note"}  # all else is drawn or computed
FIGURES = [(name, figure) for part in (REFERENCE, AFTER) for name, figure in part.items() if name not in GIVEN]


@pytest.fixture(scope="module")
def printed() -> list[list[float]]:
    """The numbers that each cell prints, in their order; of a cell that is exempt from comparison, none."""
    lab = lab_code.find("your_journey")
    cells = code_of(lab.stored(lab.notebook_file).cells)
    compared = [cell for cell in cells if "nbval-ignore-output" not in cell.metadata.get("tags", [])]
    texts = ["".join(output.get("text", "") for output in cell.outputs) for cell in compared]
    return [[float(number) for number in re.findall(r"-?\d+\.\d+", text)] for text in texts]


@pytest.mark.parametrize(("name", "figure"), FIGURES)
def test_the_lab_prints_each_figure_of_the_published_example(printed, name, figure):
    wanted = np.ravel(figure).tolist()
    found = [numbers[i : i + len(wanted)] for numbers in printed for i in range(len(numbers))]
    assert wanted in found, f"no cell of the lab prints {name}: {wanted}"


SIX_WORDS = REFERENCE["tokens"]
X = np.array(REFERENCE["inputs"])
Q, K, V = (X @ np.array(REFERENCE[f"W_{name}"]) for name in ("query", "key", "value"))  # (6, 2) each


def test_a_score_is_the_length_of_the_query_times_how_far_the_key_reaches():
    """The published scores are a second way to the reaches, which are drawn as feet on the line of the query."""
    scores = np.array(REFERENCE["scores"])
    for follow, query in enumerate(Q):
        chart = Reach(SIX_WORDS, Q, K, follow)
        length = np.sqrt(sum(number * number for number in query))
        np.testing.assert_allclose(length * chart.reaches, scores[follow], atol=2e-4)
        (axes,) = chart.drawn_in_style().axes
        feet, points = (collection.get_offsets() for collection in axes.collections)
        np.testing.assert_allclose(points, K)
        for line, foot, key in zip(axes.lines, feet, K, strict=True):
            np.testing.assert_allclose(line.get_xydata(), [key, foot])
            assert (key - foot) @ query == pytest.approx(0, abs=1e-9), "a dotted line is not at a right angle"
            assert foot[0] * query[1] == pytest.approx(foot[1] * query[0]), "a foot is not on the line of the query"
        texts = [text.get_text() for text in axes.texts]
        assert f"query of {SIX_WORDS[follow]}" in texts
        for word, score in zip(SIX_WORDS, scores[follow], strict=True):
            assert any(text == f"{word} {score / length:.2f}" for text in texts), "a number is not the key's reach"
        assert "the other 5 queries;\nsome coincide" in texts and "how far they reach" in axes.get_title(loc="left")
    angles = np.sort(np.degrees(np.arctan2(Q[:, 1], Q[:, 0])))
    assert np.diff(angles).min() < 0.2, "no two queries coincide"
    assert "within 13 degrees" in chart.alt and "reach: journey" in chart.alt


def test_values_and_outputs_are_drawn_where_they_are():
    outputs = np.array(REFERENCE["context"])
    chart = ValuesAndOutputs(SIX_WORDS, V, outputs)
    (axes,) = chart.figure().axes
    for collection, points in zip(axes.collections, (V, outputs), strict=True):
        np.testing.assert_array_equal(collection.get_offsets(), points)
    assert [text.get_text() for text in axes.texts] == [*SIX_WORDS, "values", "outputs"]
    (inset,) = axes.child_axes
    (points,) = inset.collections
    np.testing.assert_array_equal(points.get_offsets(), outputs)
    for low, high, numbers in zip(*np.transpose([inset.get_xlim(), inset.get_ylim()]), outputs.T, strict=True):
        assert low < numbers.min() < numbers.max() < high, "an output is outside the enlargement"
    largest = max(np.hypot(*(one - other)) for one in outputs for other in outputs)
    assert f"two outputs {largest:.3f}" in chart.alt


def test_all_weights_are_written_and_the_frame_is_around_the_largest_of_each_row():
    weights = np.array(REFERENCE["weights"])
    (axes,) = AllWeights(SIX_WORDS, weights).drawn_in_style().axes
    written = [text.get_text() for text in axes.texts if text.get_text()[0] == "."]
    np.testing.assert_allclose([float(text) for text in written], weights.ravel(), atol=0.00051)
    cells = [patch for patch in axes.patches if patch.get_fill()]
    (frame,) = [patch for patch in axes.patches if not patch.get_fill() and patch.get_linewidth() == 2]
    inside = [
        frame.get_x() <= cell.get_x() + 1
        and cell.get_x() + cell.get_width() <= frame.get_x() + frame.get_width() + 1
        and frame.get_y() <= cell.get_y() + 1
        for cell in cells
    ]
    np.testing.assert_array_equal(np.reshape(inside, weights.shape), weights == weights.max(axis=1, keepdims=True))
    darkest = [cell.get_alpha() for cell in cells]
    np.testing.assert_allclose(np.reshape(darkest, weights.shape) / max(darkest), weights / weights.max())


def test_names_that_would_meet_move_apart_and_keep_their_order():
    heights = spread({0: 1.0, 1: 0.95, 2: 0.2}, 0.1)
    assert heights == pytest.approx({2: 0.2, 1: 0.95, 0: 1.05})


WELCOME = Path(__file__).resolve().parents[2] / "book/_static/course.svg"
CELL = re.compile(
    r'<rect x="[^"]*" y="[^"]*" width="15" height="15" fill="var\(--role-(\w+),[^"]*" fill-opacity="([^"]*)"'
)


@pytest.mark.parametrize(
    ("role", "drawn"),
    [
        ("input", X), ("query", Q), ("key", K), ("value", V), ("score", REFERENCE["scores"]),
        ("weight", REFERENCE["weights"]), ("output", REFERENCE["context"]),
    ],
)  # fmt: skip
def test_the_shades_of_the_welcome_page_are_these_numbers(role, drawn):
    """From an opacity of .12 for the smallest number to 1 for the largest."""
    shades = [float(opacity) for name, opacity in CELL.findall(WELCOME.read_text("utf-8")) if name == role]
    values = np.ravel(drawn)
    wanted = 0.12 + 0.88 * (values - values.min()) / np.ptp(values)
    np.testing.assert_allclose(shades, wanted, atol=0.011)

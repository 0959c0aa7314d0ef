"""*Your journey*: every number of the published example comes out of a cell that is compared; the planes are right."""

import json
import re
from pathlib import Path

import lab_code
import numpy as np
import pytest

from labs.your_journey.planes import Reach, ValuesAndOutputs
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
        (axes,) = chart.figure().axes
        feet, points = (collection.get_offsets() for collection in axes.collections)
        np.testing.assert_allclose(points, K)
        for line, foot, key in zip(axes.lines, feet, K, strict=True):
            np.testing.assert_allclose(line.get_xydata(), [key, foot])
            assert (key - foot) @ query == pytest.approx(0, abs=1e-9), "a dotted line is not at a right angle"
            assert foot[0] * query[1] == pytest.approx(foot[1] * query[0]), "a foot is not on the line of the query"
    assert "within 13 degrees" in chart.alt and "reach: journey" in chart.alt


def test_values_and_outputs_are_drawn_where_they_are():
    outputs = np.array(REFERENCE["context"])
    chart = ValuesAndOutputs(SIX_WORDS, V, outputs)
    (axes,) = chart.figure().axes
    for collection, points in zip(axes.collections, (V, outputs), strict=True):
        np.testing.assert_array_equal(collection.get_offsets(), points)
    assert [text.get_text() for text in axes.texts] == [*SIX_WORDS, "all 6 outputs"]
    largest = max(np.hypot(*(one - other)) for one in outputs for other in outputs)
    assert f"two outputs {largest:.3f}" in chart.alt


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

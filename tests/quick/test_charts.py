"""Charts draw what they are given: each value is compared with a second computation, and with what is drawn."""

import math
import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch, Polygon
from test_colours import contrast

from shared.colours import ROLES
from shared.figures import Arcs, Bars, Cafe, Curves, Dots, HeatMap, Plot, Tiles
from shared.figures.picture import shading

WORDS = "your journey starts with one step".split()
SCORES = np.random.default_rng(1).normal(size=(6, 6)) * 3
WEIGHTS = np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)
CHARTS = [
    Dots({"a": (0.5, 0.1), "b": (0.7, 0)}, intervals=True, levels={"chance": 0.25}),
    Curves({"one": [1, 2, 4], "two": [1, 1, 1]}, "steps", "loss", levels={"zero": 0}),
    HeatMap(SCORES, row_labels=WORDS, column_labels=WORDS, role="score", rings=[(1, 2)]),
    Arcs(WORDS, WEIGHTS),
    Bars(["good", "bad"], [0.75, 0.25], top_k=1),
    Tiles(np.tril(np.ones((3, 3)))),
    Cafe(["Ada", "Ben"], ["tea", "milk"], ["Ben", "Ada"], factor=3),
]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_dots_are_the_results_with_their_intervals_and_levels():
    rows = {"tied": [0.39, 0.4], "both": [0.99, 1.0, 0.98]}
    chart = Dots(rows, levels={"chance": 1 / 6})
    assert chart.dots == [(name, value, 0) for name, values in rows.items() for value in values]
    (axes,) = chart.figure().axes
    assert [bar.lines[0].get_xdata()[0] for bar in axes.containers] == [0.39, 0.4, 0.99, 1.0, 0.98]
    strokes = [segment[0, 0] for each in axes.collections for segment in each.get_segments()]
    assert strokes == pytest.approx([0.395, 0.99, 1 / 6, 1 / 6]), "the means, and a line below each name"
    assert {f"mean {0.395:.2f}", "mean 0.99"} <= set(texts(axes))
    (axes,) = Dots({"a": (0.5, 0.1)}, intervals=True).figure().axes
    (segment,) = axes.containers[0].lines[2][0].get_segments()
    assert segment[:, 0] == pytest.approx([0.4, 0.6]) and "0.50 ± 0.10" in texts(axes)


def test_what_a_chart_says_in_letters_keeps_its_decimals():
    svg = Dots({"a": (0.8871, 0.0042)}, intervals=True, digits=3).svg()
    written = [
        "".join(text.itertext()) for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert "0.887 ± 0.004" in written


def test_the_gray_band_of_dots_lies_where_it_is_given():
    chart = Dots({"a": (0.5, 0.1)}, intervals=True, band=(-0.03, 0.03))
    (axes,) = chart.figure().axes
    (band,) = axes.patches  # one for each row
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((-0.03, 0.03))
    assert "Gray from -0.03 to 0.03." in chart.alt


def test_equal_dots_can_be_counted_and_the_axis_reaches_as_far_as_it_is_told():
    chart = Dots({"a": [1, 1, 1, 0.9], "b": [1, 1]}, span=(0, 1))
    (axes,) = chart.figure().axes
    drawn = {tuple(bar.lines[0].get_xydata()[0]) for bar in axes.containers}
    assert len(drawn) == 6 and {round(-y) for _, y in drawn} == {0, 1}, "each in its row"
    assert Dots({"a": 1}, title="It wins").alt.startswith("It wins: dots for accuracy.")
    assert Dots({"a": 1}, title="It wins").figure().get_suptitle() == "It wins"
    low, high = axes.get_xlim()
    assert -0.2 < low <= 0 and 1 <= high < 1.2
    assert Dots({"a": -0.5}).alt == "Dots for accuracy. a: −0.50."


def test_curves_are_the_given_points_and_their_names_do_not_meet():
    lines = {f"line {k}": np.column_stack([np.arange(5), np.arange(5) * k / 50]) for k in range(6)}
    chart = Curves(lines, "x", "y", levels={"level": 0.01})
    (axes,) = chart.figure().axes
    for (name, given), line in zip(lines.items(), axes.lines, strict=False):
        np.testing.assert_array_equal(np.column_stack(line.get_data()), given, err_msg=name)
    heights = sorted(chart.label_heights.values())
    assert min(np.diff(heights)) > 0.08 and -0.05 < heights[0] and heights[-1] <= 1
    order = sorted(chart.label_heights, key=lambda name: chart.label_heights[name])
    assert order == ["line 0", "level", *[f"line {k}" for k in range(1, 6)]]


def test_names_of_lines_that_meet_stand_around_their_end_and_lead_to_it():
    chart = Curves({"a": [0, 5], "b": [1, 5], "c": [2, 5], "far": [1, 10]}, "x", "y")
    assert np.mean([chart.label_heights[name] for name in "abc"]) == pytest.approx(chart.part(5))
    assert chart.label_heights["far"] == chart.part(10) == pytest.approx(0.95)
    (axes,) = chart.figure().axes
    assert {text.get_text(): text.arrow_patch is not None for text in axes.texts} == dict(
        a=True, b=False, c=True, far=False
    )


def test_a_line_that_ends_early_has_its_name_there_below_it_if_it_falls():
    seeds = np.array([[[0, 0], [0.5, 0.9], [1, 0.8]], [[0, 0.4], [0.5, 0.7], [1, 0.6]]])  # in the end a little lower
    chart = Curves({"rises": seeds, "falls": [[0, 1], [1, 0.1]], "long": [[0, 0], [4, 1]]}, "x", "y", {"level": 0.5})
    (axes,) = chart.figure().axes
    named = {text.get_text(): text for text in axes.texts}
    assert chart.early == ["rises", "falls"] and set(chart.label_heights) == {"long", "level"}
    assert tuple(named["rises"].xy) == pytest.approx((1, 0.7)) and tuple(named["falls"].xy) == (1, 0.1)
    assert [named[name].get_va() for name in chart.early] == ["center", "top"]


def test_lines_of_seeds_have_one_color_and_one_name():
    seeds = np.array([[[0, 1], [1, 3]], [[0, 2], [1, 5]]])
    chart = Curves({"three seeds": seeds, "one": [1, 4]}, "epoch", "loss", title="It rises")
    figure = chart.figure()
    (axes,) = figure.axes
    np.testing.assert_array_equal([line.get_xydata() for line in axes.lines[:2]], seeds)
    first, second, other = (line.get_color() for line in axes.lines)
    assert first == second != other and texts(axes) == ["three seeds", "one"]
    assert chart.ends["three seeds"] == (1, 4) and figure.get_suptitle() == "It rises"
    assert chart.alt.startswith(
        "It rises: curves of loss over epoch: three seeds, 2 lines, from 1 to 2 at 0 to 3 to 5 at 1;"
    )
    assert all(tick == round(tick) for tick in axes.get_xticks())


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("lowest", [0, -0.2, -1, -13])
def test_darker_is_more_and_a_negative_number_is_never_the_darkest(role, lowest):
    values = np.linspace(lowest, 1, 40)
    shades = HeatMap(values.reshape(2, 20), role=role).shades.reshape(40, 3)
    dark = np.array([contrast(to_hex(shade), "#ffffff") for shade in shades])
    positive = values >= 0
    assert (np.diff(dark[positive]) > 0).all() and dark.argmax() == 39
    assert positive.all() or dark[~positive].max() < dark[values >= 0.6].min()


def test_shades_follow_their_rule_number_by_number():
    def by_hand(values):
        low, high = min(values), max(values)
        if high < 0:
            return [(x - low) / (high - low) for x in values]
        return [x / high if x > 0 else x / (max(high, -low) or 1) for x in values]

    for values in ([1, 2, 4], [-13.36, 0, 2.0, -1], [-4, -2, -3], [0, 1, -0.5], [0, -0.6], [0, 0]):
        assert shading(np.array(values)).tolist() == pytest.approx(by_hand(values))


def test_a_heat_map_draws_its_shades_and_rings():
    chart = CHARTS[2]
    (axes,) = chart.figure().axes
    np.testing.assert_array_equal(axes.images[0].get_array(), chart.shades)
    assert [ring.center for ring in axes.patches] == [(2, 1)]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == WORDS
    i, j = np.unravel_index(SCORES.argmin(), SCORES.shape)
    assert f"Lowest: {SCORES[i, j]:.2f} at query {WORDS[i]}, key {WORDS[j]}." in chart.alt
    assert texts(axes) == ["above 0", "below 0"] and texts(HeatMap(WEIGHTS).figure().axes[0]) == []


def test_a_heat_map_has_as_many_labels_as_have_room():
    letters = [chr(97 + place) for place in range(26)]
    (axes,) = HeatMap(np.eye(26), row_labels=letters, column_labels=letters).figure().axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == letters[::2]


def test_arcs_lead_from_each_query_to_the_keys_with_large_weights():
    expected = [(i, j, WEIGHTS[i][j]) for i in range(6) for j in range(6) if WEIGHTS[i][j] >= 0.1]
    assert Arcs(WORDS, WEIGHTS).arcs == expected
    assert Arcs(WORDS, WEIGHTS, query=2).arcs == [arc for arc in expected if arc[0] == 2]
    assert Arcs(WORDS, WEIGHTS[2], query=2).arcs == [arc for arc in expected if arc[0] == 2]
    (axes,) = Arcs(WORDS, WEIGHTS).figure().axes
    heights = {word: text.get_position()[1] for word, text in zip(WORDS, axes.texts, strict=True)}
    curves = [patch.get_path().vertices for patch in axes.patches if isinstance(patch, PathPatch)]
    drawn = [(heights[WORDS[i]] - 4, heights[WORDS[j]] - 4) for i, j, _ in expected if i != j]
    assert [(curve[0][1], curve[-1][1]) for curve in curves] == drawn
    heads = [patch.get_xy() for patch in axes.patches if isinstance(patch, Polygon)]
    assert [head[0][1] for head in heads] == [end for _, end in drawn], "the head is at the key"
    (axes,) = Arcs(WORDS, np.eye(6)[0], query=3).figure().axes
    *_, word, number = [0, *axes.texts]
    assert number.get_text() == "1.00" and number.get_position()[0] - word.get_position()[0] < 60, "beside the words"
    with pytest.raises(ValueError, match="sums to 1"):
        repr(Arcs(WORDS, SCORES))


@pytest.mark.parametrize(("cut", "kept"), [({}, 6), ({"top_k": 2}, 2), ({"top_p": 0.7}, 3), ({"top_p": 0.65}, 2)])
def test_bars_keep_what_the_cut_keeps(cut, kept):
    values = [0.06, 0.4, 0.25, 0.15, 0.1, 0.04]
    chart = Bars(list("abcdef"), values, **cut)
    order = sorted(range(6), key=lambda place: -values[place])
    assert chart.bars == [("abcdef"[place], values[place], rank < kept) for rank, place in enumerate(order)]
    (axes,) = chart.figure().axes
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(np.array(widths) / widths[0], np.sort(values)[::-1] / 0.4)
    assert [bar.get_facecolor()[3] > 0 for bar in axes.patches] == [rank < kept for rank in range(6)]


def test_tiles_of_a_causal_mask_are_its_cells_its_diagonal_among_them():
    chart = Tiles(np.tril(np.ones((4, 4))), row_labels=list("abcd"), column_labels=list("abcd"))
    expected = {(i, j) for i in range(4) for j in range(4) if j <= i}
    assert chart.tiles == dict.fromkeys(expected, 1.0)
    assert Tiles([[0.3, 0.0], [0.0, 1.0]]).tiles == {(0, 0): 0.3, (1, 1): 1.0}
    (axes,) = chart.figure().axes
    empty, filled = axes.patches[:16], axes.patches[16:]
    rows, columns = ([text.get_position()[way] for text in axes.texts[at : at + 4]] for at, way in ((0, 1), (4, 0)))

    def place(cell):
        """The row and the column whose labels are beside a cell and above it."""
        x, y = cell.get_center()
        nearest = [min(range(4), key=lambda n: abs(labels[n] - at)) for labels, at in ((rows, y), (columns, x))]
        return tuple(nearest)

    assert {place(cell) for cell in filled} == expected and len({place(cell) for cell in empty}) == 16
    assert chart.alt == "Tiles, 4 by 4. Filled, row by row: a: a; b: a, b; c: a to c; d: a to d."
    assert Tiles([[0.3, 1.0], [0.3, 1.0], [0, 0]]).alt.endswith("0, 1: 0 (0.3), 1 (1); 2: none.")


def test_tiles_say_what_their_shades_are_and_leave_out_what_is_no_cell():
    chart = Tiles([[1, math.nan], [0.3, 0]], shades={1: "seen", 0.3: "new"})
    assert chart.cells == {(0, 0): 1, (1, 0): 0.3, (1, 1): 0} and chart.tiles == {(0, 0): 1, (1, 0): 0.3}
    (axes,) = chart.figure().axes
    assert texts(axes) == ["seen", "new"]
    empty, filled, key = axes.patches[:3], axes.patches[3:5], axes.patches[5:]
    assert [cell.get_alpha() for cell in [*filled, *key]] == [1, 0.3, 1, 0.3] and len(empty) == 3
    assert chart.alt.endswith("0: 0 (seen); 1: 0 (new).")


def test_charts_say_their_numbers_as_one_says_them():
    lines = {"small": [[1, 0.5], [4096, 3e-9]], "large": [[1, 2.5], [4096, 12345.6]]}
    chart = Curves(lines, "tokens", "megabytes", levels={"chance": 1 / 6, "0": 0})
    assert chart.alt == (
        "Curves of megabytes over tokens: small, from 0.5 at 1 to about 0 at 4,096; "
        "large, from 2.5 at 1 to 12,346 at 4,096. A line at 0.167: chance. A line at 0."
    )
    dots = Dots({"one": (0.5, 0.1)}, intervals=True, levels={"counting": 0.37})
    assert dots.alt == "Dots for accuracy. one: 0.50 ± 0.10. A line at 0.37: counting."


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: type(chart).__name__)
def test_a_chart_is_whole_svg_in_the_site_s_type_and_colours_and_a_png_beside_it(chart):
    shown, size = chart._repr_mimebundle_()
    svg = shown["image/svg+xml"]
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == chart.alt == shown["text/plain"] and len(chart.alt.split()) >= 5
    assert svg == chart.svg(), "the same in every run"
    for element in root.iter("{http://www.w3.org/2000/svg}text"):
        assert "var(--sans" in element.get("style") and "DejaVu" not in element.get("style")
        assert (
            float(re.search(r"([\d.]+)px", element.get("style"))[1]) >= 11
            or "tspan" in ElementTree.tostring(element).decode()
        )
    colours = set(re.findall(r"#[0-9a-f]{6}", re.sub(r"var\(--role-\w+, #[0-9a-f]{6}\)|base64,[^\"]*", "", svg)))
    assert not colours, f"colours that do not follow the theme: {colours}"
    assert "<style" not in svg and "metadata" not in svg
    ids = re.findall(r' id="([^"]+)"', svg)
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg)) == set(ids) and len(ids) == len(set(ids))
    assert shown["image/png"].startswith("iVBOR") and size["image/png"]["width"] == 360


def test_a_lab_s_own_figure_becomes_a_chart():
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    chart = Plot(figure, "A line from one to two.")
    assert "A line from one to two." in chart.svg() and math.isclose(
        float(re.search(r'width="(\d+)"', chart.svg())[1]), 553, abs_tol=1
    )
    plt.close("all")

"""*Many heads*: the bound for one head is what every line through the weeks leaves unexplained, and the exact 3/7; and
what is drawn is what is said.
"""

import math

import torch

from labs.many_heads.drawing import patterns
from labs.many_heads.weeks import DRAWN, JOINED, best_line, picture


def weeks(count, seed):
    days = 2 * torch.rand(count, 7, generator=torch.Generator().manual_seed(seed)) - 1
    return torch.stack([days.amax(dim=1), days.amin(dim=1)], dim=1).double()


def test_no_line_in_any_direction_leaves_less_unexplained_than_the_best():
    points = weeks(500, seed=3)
    (first, second), bound = best_line(points.float())
    around = points - points.mean(dim=0)
    left = []
    for degree in range(0, 180):
        across = torch.tensor([-math.sin(math.radians(degree)), math.cos(math.radians(degree))], dtype=torch.float64)
        left.append(((around @ across) ** 2).mean() / around.pow(2).sum(dim=1).mean())
    assert min(left) >= bound - 1e-6 and min(left) < bound + 1e-3
    drawn = math.degrees(math.atan2(*(second - first).flip(0).tolist())) % 180
    assert abs(drawn - min(range(180), key=left.__getitem__)) <= 1, "and the line that is drawn is that one"


def test_for_seven_independent_days_the_best_line_leaves_three_sevenths():
    assert abs(best_line(weeks(200_000, seed=0).float())[1] - 3 / 7) < 0.005


def lines_of(plot):
    """The points of each line of a plot by the number of its points, those of strokes and hairlines without gaps."""
    found = [torch.tensor(line.get_xydata()) for line in plot.figure().axes[0].lines]
    return [points[~points.isnan().any(dim=1)] for points in found]


def test_the_hairlines_are_the_distances_that_the_line_leaves_unexplained():
    points = weeks(200, seed=5).float()
    line, bound = best_line(points)
    plot = picture({"weeks": points}, "Weeks", line)
    strokes, drawn, hairs = lines_of(plot)
    assert len(strokes) == 2 * min(DRAWN, len(points)) and len(hairs) == 2 * JOINED
    torch.testing.assert_close(drawn.float(), line)
    along = (line[1] - line[0]).double()
    for week, foot in hairs.view(JOINED, 2, 2):
        on_the_line = (foot - line[0]) @ along / along.norm() ** 2 * along + line[0]
        assert torch.allclose(foot, on_the_line, atol=1e-5) and abs((week - foot) @ along) < 1e-5, "at right angles"
    assert f"the closest line: {bound:.2f} unexplained" in [text.get_text() for text in plot.figure().axes[0].texts]


def test_the_name_of_answers_on_one_line_is_at_the_line_and_of_others_in_the_corner():
    right, on_a_line = weeks(100, seed=6).float(), torch.linspace(0, 0.4, 100)[:, None] * torch.tensor([1.0, 0.5])
    (axes,) = picture({"right": right, "one head": on_a_line}, "Weeks", ends=on_a_line).figure().axes
    places = {text.get_text(): text for text in axes.texts}
    (x, y), corner = places["one head"].get_position(), places["right"].get_position()
    assert 0.4 < x < 0.5 and abs(y - 0.2) < 0.01 and corner == (0.04, 0.94)
    assert places["one head"].get_color() == axes.lines[1].get_color() != places["right"].get_color()


def test_each_head_has_a_row_for_each_real_word_and_no_row_reads_padding():
    weights, words = torch.rand(3, 4, 4), ["a", "b", "c", "<pad>"]
    weights[:, :, 3] = 0
    chart = patterns(weights, words)
    for head in range(3):
        for i in range(3):
            row = head * 4 + 1 + i
            assert chart.row_labels[row] == words[i] and list(chart.column_labels) == words
            for j in range(3):
                assert abs(chart.tiles[row, j] - weights[head, i, j].item()) < 1e-6
            assert (row, 3) in chart.cells and (row, 3) not in chart.tiles, "the column of padding is empty"
    assert len(chart.tiles) == 27 and chart.shape == (12, 4)
    assert chart.row_labels[::4] == ["head 0", "head 1", "head 2"], "each block has its heading"
    assert all(meaning == f"weight {f'{w:g}'.lstrip('0')}" for w, meaning in chart.shades.items())

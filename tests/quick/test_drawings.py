"""Claims about drawings, read from the pictures: what lines join, which cells are filled, how long a bar is."""

import math
import re
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import nn

from labs.a_language_model.drawing import shift_and_causal_mask
from labs.a_pretrained_model import schematic
from labs.a_question_from_the_text.schematic import two_thresholds
from labs.does_it_help.forest import Forest
from labs.induction_heads.schematic import induction_schematic
from labs.longer_texts.schematic import arrows_in_a_plane
from labs.many_heads.drawing import split_and_concatenate
from labs.one_pass.schematic import running_sum
from labs.the_block import drawing
from labs.the_kv_cache.schematic import prefill_and_decode
from shared.model import TransformerBlock

PRE_NORM = {
    "layer norm 1": {"x"}, "self-attention": {"layer norm 1"}, "+ 1": {"self-attention", "x"},
    "layer norm 2": {"+ 1"}, "feed-forward": {"layer norm 2"}, "+ 2": {"feed-forward", "+ 1"},
    "x for the next block": {"+ 2"},
}  # fmt: skip
POST_NORM = {
    "multi-head attention": {"x"}, "+ 1": {"multi-head attention", "x"}, "layer norm 1": {"+ 1"},
    "feed-forward": {"layer norm 1"}, "+ 2": {"feed-forward", "layer norm 1"}, "layer norm 2": {"+ 2"},
    "x for the next layer": {"layer norm 2"},
}  # fmt: skip
INDUCTION = {
    "previous-token head": {"c 1"}, "B, note: after c": {"previous-token head", "B"},
    "induction head": {"B, note: after c", "c 2"}, "prediction: B": {"induction head"},
}  # fmt: skip
TWO_HEADS = {
    "columns 0, 1": {"Q, K, V: n × 4 each"}, "columns 2, 3": {"Q, K, V: n × 4 each"},
    "attention 1": {"columns 0, 1"}, "attention 2": {"columns 2, 3"},
    "O0: n × 2": {"attention 1"}, "O1: n × 2": {"attention 2"},
    "concatenated: n × 4": {"O0: n × 2", "O1: n × 2"}, "times WO": {"concatenated: n × 4"},
}  # fmt: skip


def boxes_of(svg):
    """Name -> (left, top, right, bottom); a label that occurs twice is numbered from top to bottom."""
    rectangles = [
        [float(re.search(rf'\b{name}="([-\d.]+)"', rect)[1]) for name in ("x", "y", "width", "height")]
        for rect in re.findall(r"<rect[^>]*>", svg)
    ]
    svg = re.sub("</?tspan[^>]*>", "", svg)  # indices
    found, labels = {}, re.findall(r'font-size="14" text-anchor="middle"[^>]*>([^<]+)</text>', svg)
    for place, label in enumerate(labels):
        name = f"{label} {labels[: place + 1].count(label)}" if labels.count(label) > 1 else label
        x, y, wide, high = rectangles[place]
        found[name] = x, y, x + wide, y + high
    return found


def lines_of(svg):
    """The points of each line, to the tip of its arrow."""
    drawn = re.findall(r'<polyline points="([^"]+)"[^>]*/><polygon points="([^ ]+)', svg)
    return [[tuple(map(float, point.split(","))) for point in [*line.split()[:-1], tip]] for line, tip in drawn]


def lies_on(point, line):
    return any(
        min(a, c) <= point[0] <= max(a, c) and min(b, d) <= point[1] <= max(b, d)
        for (a, b), (c, d) in zip(line, line[1:], strict=False)
    )


def box_at(point, boxes):
    x, y = point
    return next((n for n, (a, b, c, d) in boxes.items() if a - 1 <= x <= c + 1 and b - 1 <= y <= d + 1), None)


def joined(svg):
    """Box -> the boxes whose output it gets, as a reader sees it: where lines meet, both go on."""
    boxes, lines, found = boxes_of(svg), lines_of(svg), {}
    for line in lines:
        sources = {box_at(line[0], boxes)} - {None}
        sources |= {box_at(other[0], boxes) for other in lines if other is not line and lies_on(line[0], other)}
        found.setdefault(box_at(line[-1], boxes), set()).update(sources - {None})
    return found


def overlap(one, other):
    """Whether two lines run along each other for more than a point, so that they are seen as one."""
    for (a, b), (c, d) in zip(one, one[1:], strict=False):
        for (e, f), (g, h) in zip(other, other[1:], strict=False):
            across = a == c == e == g and min(max(b, d), max(f, h)) - max(min(b, d), min(f, h)) > 0
            along = b == d == f == h and min(max(a, c), max(e, g)) - max(min(a, c), min(e, g)) > 0
            if across or along:
                return True
    return False


@pytest.mark.parametrize(
    ("draw", "expected"), [(drawing.block_schematic, PRE_NORM), (schematic.post_norm_schematic, POST_NORM)]
)
def test_each_sum_gets_what_comes_out_of_the_part_and_of_the_sum_or_norm_before_it(draw, expected):
    svg = draw().svg
    assert joined(svg) == expected
    assert not any(overlap(*pair) for pair in combinations(lines_of(svg), 2)), "no line hides another"


def test_each_line_of_the_residual_stream_has_its_name_along_it():
    svg = drawing.block_schematic().svg
    bypasses = sorted((line for line in lines_of(svg) if len(line) > 2), key=lambda line: line[0][1])
    names = sorted((y, x) for x, y, text in texts(svg) if text == "residual stream")
    for (y, x), line in zip(names, bypasses, strict=True):
        heights = [point[1] for point in line]
        assert abs(y - sum((min(heights), max(heights))) / 2) < 3 and x < min(point[0] for point in line)


def computed(drawn, block, x):
    """What the drawing says: each box works on the sum of what comes in, from top to bottom."""
    parts = {
        "layer norm 1": block.attention_norm, "layer norm 2": block.feed_forward_norm,
        "self-attention": lambda x: block.attention(x)[0], "multi-head attention": lambda x: block.attention(x)[0],
        "feed-forward": block.feed_forward,
    }  # fmt: skip
    found, name = {"x": x}, ""
    for name, sources in drawn.items():
        found[name] = parts.get(name, lambda x: x)(sum(found[source] for source in sources))
    return found[name]


@pytest.mark.parametrize(
    ("draw", "norm_first"), [(drawing.block_schematic, True), (schematic.post_norm_schematic, False)]
)
def test_what_the_drawing_says_is_what_the_block_computes(draw, norm_first):
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, 16, dropout=0, norm_first=norm_first)
    for parameter in block.parameters():
        nn.init.normal_(parameter)
    x, svg = torch.randn(2, 5, 8), draw().svg
    boxes = boxes_of(svg)
    from_top = dict(sorted(joined(svg).items(), key=lambda box: boxes[box[0]][1]))
    torch.testing.assert_close(computed(from_top, block, x), block(x)[0])


@pytest.mark.parametrize(("draw", "expected"), [(induction_schematic, INDUCTION), (split_and_concatenate, TWO_HEADS)])
def test_arrows_lead_from_what_is_read_to_what_reads_it(draw, expected):
    assert joined(draw().svg) == expected


# --- cells ---------------------------------------------------------------------------------------------------------


def rectangles(svg, role):
    """Left, top, width and height of those with this color, and how much of it they have."""
    found = []
    for rect in re.findall(r"<rect[^>]*>", svg):
        opacity = re.search(rf'fill="var\(--role-{role},[^"]*" fill-opacity="([^"]+)"', rect)
        if opacity:
            numbers = [float(re.search(rf'\b{name}="([-\d.]+)"', rect)[1]) for name in ("x", "y", "width", "height")]
            found.append((*numbers, float(opacity[1])))
    return found


def texts(svg):
    """(x, y, text), a list."""
    return [(float(x), float(y), text) for x, y, text in re.findall(r'<text x="([^"]+)" y="([^"]+)"[^>]*>([^<]+)', svg)]


def at_row(svg, y, anchor_x):
    """The text whose end is at this x and whose middle is in this row."""
    (word,) = [text for x, below, text in texts(svg) if abs(x - anchor_x) < 0.5 and y < below < y + 32]
    return word


def test_a_cell_is_filled_where_a_word_attends_to_itself_or_to_an_earlier_one_and_predicts_the_next():
    svg, words = shift_and_causal_mask().svg, ["this", "film", "is", "very", "good"]
    cells = [(x, y) for x, y, *_ in rectangles(svg, "weight")]
    columns = {x: word for x, y, word in texts(svg) if y == 36 and word in words}
    filled = {(at_row(svg, y, 52), columns[x + 16]) for x, y in cells}
    assert filled == {(words[i], words[j]) for i in range(4) for j in range(i + 1)} and len(cells) == 10
    for i, word in enumerate(words[:4]):
        (height,) = {y for x, y, text in texts(svg) if text == word and x == 52}
        assert [text for x, y, text in texts(svg) if y == height and x > 200] == [words[i + 1]]


@pytest.mark.parametrize(("prompt", "written"), [(["a", "b", "c"], ["d", "e"]), (["a"], ["b"])])
def test_each_token_attends_to_itself_and_what_is_before_it_and_a_step_adds_one_key_and_one_value(prompt, written):
    svg, tokens = prefill_and_decode(prompt, written).svg, [*prompt, *written]
    for role, rows in (("query", prompt), ("output", written)):
        filled = {(at_row(svg, y, 50), tokens[int((x - 58) / 27)]) for x, y, *_ in rectangles(svg, role)}
        assert filled == {(word, other) for word in rows for other in tokens[: tokens.index(word) + 1]}
    for role in ("key", "value"):
        cached = sorted(rectangles(svg, role))
        assert len(cached) == len(tokens), "a key and a value of each token"
        assert [opacity > 0.3 for *_, opacity in cached] == [token in prompt for token in tokens]
        added = {x + wide / 2 for x, _, wide, _, opacity in cached if opacity < 0.3}
        plus = [x for x, y, text in texts(svg) if text == "+" and any(0 < y - top < 20 for _, top, *_ in cached)]
        assert sorted(plus) == sorted(added), "a plus where a step adds what the prompt did not"
    assert [text for *_, text in texts(svg) if text.startswith("step")] == [
        f"step {1 + n}" for n in range(len(written))
    ]


# --- bars and arrows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scores", "values"), [([1, 3, 2], [10, 20, 30]), ([2, 0.5, 2.5], [4, -1, 8])])
def test_the_bar_after_each_score_is_the_softmax_so_far(scores, values):
    svg = running_sum(scores, values).svg
    bars = [rectangles(svg, role) for role in ("query", "key", "value")]  # of each token
    words = [text for *_, text in texts(svg)]
    for count in range(1, 4):
        at = sorted(bars[0])[count - 1][0]
        heights = np.array([[height for x, _, _, height, _ in bar if x == at] for bar in bars[:count]]).ravel()
        powers = np.exp(scores[:count])
        np.testing.assert_allclose(heights / heights.sum(), powers / powers.sum(), atol=2e-3)
        assert max(heights) == 76, "the largest score has a term of 1"
        tops = sorted((y, y + height) for bar in bars[:count] for x, y, _, height, _ in bar if x == at)
        assert all(abs(below - above) < 0.11 for (_, below), (above, _) in zip(tops, tops[1:], strict=False))
        assert f"sum {powers.sum() / powers.max():.2f}" in words
        assert f"output {powers @ values[:count] / powers.sum():.1f}" in words
        assert {f"score {scores[count - 1]:g}", f"value {values[count - 1]:g}"} <= {*words}
        assert {f"{term:.2f}" for term in powers / powers.max()} <= {*words}, "each term has its number"
    factors = [float(word[2:]) for word in words if word.startswith("×")]
    largest = [max(scores[:count]) for count in (1, 2, 3)]
    assert factors == pytest.approx([math.exp(a - b) for a, b in zip(largest, largest[1:], strict=False)], rel=0.05)


@pytest.mark.parametrize("tips", [((1, 2), (-1, 0.5)), ((2, 0), (0, -1)), ((-1, -1), (1, -1)), ((1, 1), (2, -1))])
def test_arrows_have_the_direction_and_the_length_of_their_vectors_and_the_arc_is_about_the_origin(tips):
    panel = [(str(n), tip, "query") for n, tip in enumerate(tips)]
    svg = arrows_in_a_plane([("", panel), ("", panel), ("", panel)], "three").svg
    lines, arcs = lines_of(svg), re.findall(r'd="M(\S+) (\S+)A22 22 0 0 ([01]) (\S+) (\S+)"', svg)
    longest = max(math.hypot(*tip) for tip in tips)
    for number, line in enumerate(lines):
        (x0, y0), *_, (x, y) = line
        assert ((x - x0) * longest / 58, (y0 - y) * longest / 58) == pytest.approx(tips[number % 2], abs=0.01)
    for arc, line in zip(arcs, lines[::2], strict=True):
        (ax, ay, sweep, bx, by), (x0, y0) = map(float, arc), line[0]
        turn = (math.atan2(by - y0, bx - x0) - math.atan2(ay - y0, ax - x0) + math.pi) % (2 * math.pi) - math.pi
        assert sweep == (turn > 0), "downwards is positive in SVG; the other way the arc bulges inwards"
        for (x, y), tip in zip(((ax, ay), (bx, by)), tips, strict=True):
            assert math.atan2(y0 - y, x - x0) == pytest.approx(math.atan2(*tip[::-1]), abs=0.01)
        assert f"angle {abs(turn):.2f}" in [text for *_, text in texts(svg)]
    high = float(re.search(r'viewBox="\S+ \S+ \S+ (\S+)"', svg)[1])
    assert all(-20 < y < high - 20 for line in lines for _, y in line), "no arrow leaves the drawing"


def test_what_two_thresholds_can_be_right_about():
    """R is below, between or above them; the marker's place chooses the threshold."""
    svg, rows = two_thresholds().svg, {}
    for x, y, text in texts(svg):
        if text[0] in "+−" or text in ("one", "both", "none"):
            rows.setdefault(round(y / 3), []).append((x, text))
    drawn = [[text for _, text in sorted(row)] for _, row in sorted(rows.items())]
    signs = [[R > threshold for R in (0, 1.5, 3)] for threshold in (1, 2)]  # marker first, marker second
    expected = []
    for answers in ((True, False), (False, True)):  # first review positive, second review positive
        right = [[sign == answer for sign in row] for row, answer in zip(signs, answers, strict=True)]
        for row, marks in zip(signs, right, strict=True):
            expected.append([f"{'−+'[sign]} {'✗✓'[mark]}" for sign, mark in zip(row, marks, strict=True)])
        expected.append([("none", "one", "both")[sum(zone)] for zone in zip(*right, strict=True)])
    assert drawn == expected
    # each zone is where R is: left of, between and right of the ticks of the thresholds
    first, second = (x for x, _, text in texts(svg) if text in ("θ₁", "θ₂"))
    assert all([x < first, first < x < second, second < x][zone] for row in rows.values()
               for zone, (x, _) in enumerate(sorted(row)))  # fmt: skip


@pytest.mark.parametrize("margin", [0.03, 0.005])
def test_each_interval_of_the_forest_plot_is_where_its_numbers_and_its_verdict_are(margin):
    groups = {"a": {"x": (0.1, 0.02), "y": (-0.008, 0.016)}, "b": {"z": (-0.02, 0.01), "v": (0.01, 0.03)}}
    forest = Forest(groups, margin)
    (axes,) = forest.drawn_in_style().axes
    shown = {text.get_text(): text.get_position() for text in axes.texts}
    pixels = (shown["0.10"][0] - shown["0.00"][0]) / 0.1  # of the axis, as labeled
    bars = [segment for bar in axes.containers for segment in bar[2][0].get_segments()]
    words = {"higher", "lower", "practically equal", "undecided"}
    verdicts = [
        (y, text.get_text()) for text in axes.texts if text.get_text() in words for _, y in [text.get_position()]
    ]
    bands, given = axes.patches, [row for group in groups.values() for row in group.values()]
    for (left, right), band, (y, word), (mean, half) in zip(bars, bands, verdicts, given, strict=True):
        ends = [(x - shown["0.00"][0]) / pixels for x, _ in (left, right)]
        assert ends == pytest.approx([mean - half, mean + half])
        assert band.get_width() / pixels == pytest.approx(2 * margin) and abs(y - left[1]) < 6
        low, high = ends
        equal = "practically equal" if max(-low, high) < margin else "undecided"
        assert word == ("higher" if low > 0 else "lower" if high < 0 else equal)
        assert f"{mean:.3f} ± {half:.3f}, {word}".replace("-", "−") in forest.alt

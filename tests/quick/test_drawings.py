"""Claims about the drawings of blocks: what their lines join, read from the picture, is what the block computes."""

import re
from itertools import combinations

import pytest
import torch
from torch import nn

from labs.a_pretrained_model import schematic
from labs.the_block import drawing
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


def boxes_of(html):
    """Name -> (left, top, right, bottom); a label that occurs twice is numbered from top to bottom."""
    rectangles = [
        [float(re.search(rf'\b{name}="([-\d.]+)"', rect)[1]) for name in ("x", "y", "width", "height")]
        for rect in re.findall(r"<rect[^>]*>", html)
    ]
    found, labels = {}, re.findall(r'font-size="14" text-anchor="middle"[^>]*>([^<]+)</text>', html)
    for place, label in enumerate(labels):
        name = f"{label} {labels[: place + 1].count(label)}" if labels.count(label) > 1 else label
        x, y, wide, high = rectangles[place]
        found[name] = x, y, x + wide, y + high
    return found


def lines_of(html):
    """The points of each line, to the tip of its arrow."""
    drawn = re.findall(r'<polyline points="([^"]+)"[^>]*/><polygon points="([^ ]+)', html)
    return [[tuple(map(float, point.split(","))) for point in [*line.split()[:-1], tip]] for line, tip in drawn]


def lies_on(point, line):
    return any(
        min(a, c) <= point[0] <= max(a, c) and min(b, d) <= point[1] <= max(b, d)
        for (a, b), (c, d) in zip(line, line[1:], strict=False)
    )


def box_at(point, boxes):
    x, y = point
    return next((n for n, (a, b, c, d) in boxes.items() if a - 1 <= x <= c + 1 and b - 1 <= y <= d + 1), None)


def joined(html):
    """Box -> the boxes whose output it gets, as a reader sees it: where lines meet, both go on."""
    boxes, lines, found = boxes_of(html), lines_of(html), {}
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
    html = draw().html
    assert joined(html) == expected
    assert not any(overlap(*pair) for pair in combinations(lines_of(html), 2)), "no line hides another"


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
    x, html = torch.randn(2, 5, 8), draw().html
    boxes = boxes_of(html)
    from_top = dict(sorted(joined(html).items(), key=lambda box: boxes[box[0]][1]))
    torch.testing.assert_close(computed(from_top, block, x), block(x)[0])

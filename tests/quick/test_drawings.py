"""Drawings of boxes and arrows: every label is inside its drawing, no two boxes overlap, and a highlight is seen."""

import re
from itertools import combinations

import pytest

from shared import figures
from shared.figures import drawings

EVERY = [
    *(figures.layer_schematic(part) for part in (None, *drawings.HIGHLIGHTS)),
    figures.split_and_concatenate(),
    figures.two_thresholds(),
    figures.block_schematic(),
    figures.induction_schematic(),
    figures.induction_schematic(heads=False),
    figures.post_norm_schematic(),
    figures.running_sum([1, 3, 2], [10, 20, 30]),
    figures.prefill_and_decode(["The", "film", "was"], ["very", "good", "."]),
    figures.shift_and_causal_mask(),
    figures.arrows_in_a_plane(
        [("a query", [("0", (2.0, 1.0), "query"), ("1", (1.0, 2.0), "key")])] * 3, "Arrows.", True
    ),
]


@pytest.mark.parametrize("picture", EVERY, ids=range(len(EVERY)))
def test_boxes_stay_inside_the_drawing_apart_and_fit_a_phone(picture):
    wide, high = map(float, re.search(r'viewBox="0 -14 (\d+) (\d+)"', picture.html).groups())
    assert wide <= 296
    number = r'="([-\d.]+)"'
    found = re.findall(f"<rect x{number} y{number} width{number} height{number} rx", picture.html)
    boxes = [tuple(map(float, numbers)) for numbers in found]
    assert all(0 <= x and x + w <= wide and -14 <= y and y + h <= high - 14 for x, y, w, h in boxes)
    for (x, y, w, h), (x2, y2, w2, h2) in combinations(boxes, 2):
        copies_of_one = (w, h) == (w2, h2) and abs(x - x2) < 9 and abs(y - y2) < 9
        assert copies_of_one or x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_a_highlight_takes_the_others_back_and_an_unknown_one_gets_a_sentence():
    dashed = [figures.layer_schematic(part).html.count("dasharray") for part in (None, "keys")]
    assert dashed[0] == 0 and dashed[1] == len(drawings.LAYER) - len(drawings.HIGHLIGHTS["keys"])
    with pytest.raises(ValueError, match="'mask' is no part of the layer; choose one of pooling, keys"):
        figures.layer_schematic("mask")

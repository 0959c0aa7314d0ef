"""The model and the loop that *Recap: attention* shows in a fold are those of the course; each stored run is a dot."""

import re

import lab_code
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from labs.recap_attention.ten_runs import Runs
from shared import cafe

FOLD = re.compile(r"<summary>The café's model and its training loop</summary>\n\n```python\n(.*?)\n```", re.DOTALL)


def test_the_loop_in_the_fold_trains_what_the_course_s_own_trains():
    lab = lab_code.find("recap_attention")
    names = {"torch": torch, "nn": nn, "cross_entropy": cross_entropy, "draw_cafes": cafe.draw_cafes}
    exec(FOLD.search(lab.text)[1], names)
    found = []
    for train in (names["train"], cafe.train):
        torch.manual_seed(1)
        layer = lab_code.taught(lab)["LearnedQuery"](32)
        found.append(train(layer, cafe.adas_drink, steps=5).state_dict())
    torch.testing.assert_close(*found, rtol=0, atol=0)


def test_each_run_is_a_dot_of_its_own_and_the_line_is_at_their_mean():
    groups = {
        "alone": {"mean": [0.9, 0.88, 0.9], "query": [0.8, 0.82]},
        "after": {"mean": [0.7, 0.6], "query": [0.5, 0.95]},
    }
    chart = Runs(groups)
    (axes,) = chart.drawn_in_style().axes
    rows = [runs for models in groups.values() for runs in models.values()]
    for runs, dots in zip(rows, axes.collections, strict=True):
        places = dots.get_offsets()
        assert sorted(places[:, 0]) == sorted(runs)
        assert len({tuple(place) for place in places.tolist()}) == len(runs), "equal runs cover each other"
    upright = [line for line in axes.lines if len({*line.get_xdata()}) == 1]
    means = [sum(runs) / len(runs) for runs in rows]
    assert [line.get_xdata()[0] for line in upright] == pytest.approx(means)
    texts = [text.get_text() for text in axes.texts]
    assert [text for text in texts if text in groups] == list(groups)
    assert [float(text) for text in texts if text not in groups] == pytest.approx(means, abs=0.0006)
    low, high = axes.get_xlim()
    assert low == 0.5 and high > np.max([max(runs) for runs in rows]), "the axis begins at chance"

"""Plots: what is drawn is what was given, and it can be read."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.text import Text
from test_colours import contrast

from shared.figures import heat_map, intervals

plt.switch_backend("agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def texts(figure) -> set[str]:
    return {text.get_text() for text in figure.findobj(Text)}


def test_a_heat_map_shows_the_given_matrix_with_its_labels_and_rings():
    matrix = torch.tensor([[0.25, 0.75], [0.5, 0.5]], requires_grad=True)
    names = {"row_labels": ["one", "step"], "column_labels": ["your", "journey"], "title": "weights"}
    figure = heat_map(matrix, **names, rings=[(0, 1)])
    shown = figure.axes[0].collections[0].get_array()
    assert np.array_equal(np.asarray(shown), matrix.detach().numpy())
    assert {"one", "step", "your", "journey", "weights"} <= texts(figure)
    assert [ring.center for ring in figure.axes[0].patches] == [(1.5, 0.5)]


@pytest.mark.parametrize(("role", "lowest"), [("weight", 0), ("weight", -1)])
def test_darker_is_always_more(role, lowest):
    values = np.linspace(lowest, 1, 40)
    mesh = heat_map(values.reshape(2, 20), role=role).axes[0].collections[0]
    shades = [contrast(to_hex(colour[:3]), "#ffffff") for colour in mesh.to_rgba(values)]
    positive = values >= 0
    assert all(np.diff(np.array(shades)[positive]) > 0) and np.argmax(shades) == 39


def test_intervals_draw_means_and_widths_and_write_them_out():
    figure = intervals({"mean": {"plain": (0.86, 0.01), "distracted": (0.72, 0.0)}, "tf-idf": {"plain": (0.87, 0)}})
    bars = [bar for bar in figure.axes[0].containers if bar.has_xerr]
    assert len(figure.axes[0].containers) == 3 and len(bars) == 1
    (segment,) = bars[0].lines[2][0].get_segments()
    assert segment[:, 0] == pytest.approx([0.85, 0.87])
    assert {"mean", "tf-idf", "plain", "distracted", "0.860 ± 0.010", "0.720", "0.870"} <= texts(figure)

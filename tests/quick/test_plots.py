"""Plots: what is drawn is what was given, it can be read, and bad input is answered."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.text import Text
from test_colours import contrast

from shared.figures import curves, heat_map, intervals
from shared.figures.colours import ROLES

plt.switch_backend("agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def history(*accuracies: float) -> list[dict]:
    keys = ("epoch", "train_loss", "train_accuracy", "validation_loss", "validation_accuracy")
    rows = [(epoch, 1 - a, a + 0.05, 1.1 - a, a) for epoch, a in enumerate(accuracies, start=1)]
    return [dict(zip(keys, row, strict=True)) for row in rows]


def drawn(axes) -> list[list[float]]:
    return [np.round(line.get_ydata(), 6).tolist() for line in axes.lines]


def texts(figure) -> set[str]:
    return {text.get_text() for text in figure.findobj(Text)}


# --- curves ------------------------------------------------------------------------------------------------------


def test_curves_draw_the_recorded_numbers_of_each_epoch():
    loss, accuracy = curves({"mean pooling": history(0.6, 0.7, 0.75)}).axes
    assert drawn(accuracy) == [[0.65, 0.75, 0.8], [0.6, 0.7, 0.75]]
    assert drawn(loss) == [[0.4, 0.3, 0.25], [0.5, 0.4, 0.35]]
    assert (loss.get_title(loc="left"), accuracy.get_title(loc="left")) == ("loss", "accuracy")
    both = curves({"first": history(0.6, 0.7), "second": history(0.6, 0.7)})
    assert len({(line.get_marker(), line.get_linestyle()) for line in both.axes[1].lines}) == 4, "told apart by colour"
    assert {"first", "second", "training", "validation"} <= texts(both)


# --- heat maps ---------------------------------------------------------------------------------------------------


def test_a_heat_map_shows_the_given_matrix_with_its_labels():
    matrix = torch.tensor([[0.25, 0.75], [0.5, 0.5]], requires_grad=True)
    figure = heat_map(matrix, row_labels=["one", "step"], column_labels=["your", "journey"], title="weights")
    shown = figure.axes[0].collections[0].get_array()
    assert np.array_equal(np.asarray(shown), matrix.detach().numpy())
    assert {"one", "step", "your", "journey", "weights", "0.25", "0.75", "0.50"} <= texts(figure)


@pytest.mark.parametrize(("role", "lowest"), [(role, 0) for role in ROLES] + [("weight", -1)])
def test_darker_is_always_more(role, lowest):
    values = np.linspace(lowest, 1, 40)
    mesh = heat_map(values.reshape(2, 20), role=role).axes[0].collections[0]
    shades = [contrast(to_hex(colour[:3]), "#ffffff") for colour in mesh.to_rgba(values)]
    assert all(np.diff(shades) > 0)


def test_numbers_in_cells_stand_out_from_every_shade():
    drawn = heat_map(np.linspace(-6, 4, 64).reshape(8, 8)).axes[0]
    pairs = list(zip(drawn.texts, drawn.collections[0].get_facecolors(), strict=True))
    assert len(pairs) == 64
    assert min(contrast(to_hex(number.get_color()), to_hex(shade)) for number, shade in pairs) > 4.5


# --- intervals ---------------------------------------------------------------------------------------------------


def test_intervals_draw_means_and_widths_and_write_them_out():
    figure = intervals({"mean": {"plain": (0.86, 0.01), "distracted": (0.72, 0.0)}, "tf-idf": {"plain": (0.87, 0)}})
    axes = figure.axes[0]
    bars = [bar for bar in axes.containers if bar.has_xerr]
    assert len(axes.containers) == 3 and len(bars) == 1
    (segment,) = bars[0].lines[2][0].get_segments()
    assert segment[:, 0] == pytest.approx([0.85, 0.87])
    assert {"mean", "tf-idf", "plain", "distracted", "0.860 ± 0.010", "0.720", "0.870"} <= texts(figure)
    assert len({bar.lines[0].get_marker() for bar in axes.containers}) == 2


# --- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "word"),
    [
        (lambda: curves({}), "0 models"),
        (lambda: heat_map([1.0, 2.0]), "shape"),
        (lambda: heat_map([[0.0, np.nan]]), "nan"),
        (lambda: heat_map([[0.0]], row_labels=["a", "b"]), "labels"),
        (lambda: intervals({"a": {"plain": (0.5, -0.1)}}), "-0.1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, word):
    with pytest.raises(ValueError, match=word):
        draw()

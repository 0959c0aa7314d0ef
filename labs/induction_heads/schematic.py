"""Two heads that together copy what followed: as a drawing, as weights on the shown pairs, and as circuits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import ROLES, below_zero
from shared.figures import STYLE, Curves, Plot, Tiles, svg
from shared.figures.chart import GRID
from shared.figures.charts import colour_map
from shared.figures.drawings import Box, Drawing, arrow, diagram
from shared.figures.picture import matrix_of, shading
from shared.figures.svg import MUTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def induction_schematic() -> Drawing:
    """The game of pairs with the two heads that answer it, from top to bottom."""
    boxes = {
        "c": Box(120, 20, "c"),
        "B": Box(192, 20, "B"),
        "...": Box(237, 20, "..."),
        "c again": Box(282, 20, "c"),
        "first": Box(91, 92, "previous-token head", "score"),
        "note": Box(180, 158, "B, note: after c", "value"),
        "second": Box(219, 230, "induction head", "score"),
        "answer": Box(224, 296, "prediction: B", "output"),
    }
    below_c = [("c", "c", "first"), ("c", "first", "note")]
    below_B = [("B", "B", "note"), ("B", "note", "second")]
    below_last = [("c again", "c again", "second"), ("c again", "second", "answer")]
    lines = [
        arrow([(boxes[letter].x, boxes[start].y + 15), (boxes[letter].x, boxes[end].y - 15)])
        for letter, start, end in below_c + below_B + below_last
    ]
    notes = [
        svg.text(-2, 68, "layer 1", 12, anchor="start", colour=MUTED),
        svg.text(-2, 124, "one position", 12, anchor="start", colour=MUTED),
        svg.text(-2, 138, "back", 12, anchor="start", colour=MUTED),
        svg.text(142, 226, "layer 2", 12, anchor="end", colour=MUTED),
        svg.text(142, 242, "what came after c?", 12, anchor="end", colour=MUTED),
    ]
    alt = (
        "The letters c B, some more, and c once more. In layer 1 a previous-token head at B attends one "
        "position back, to c, so that B carries the note: after c. In layer 2 an induction head at the last c "
        "looks for what came after c, finds B with its note, and predicts B."
    )
    return diagram(boxes, [], alt, more="".join([*lines, *notes]))


def weights_on_pairs(weights: Any, rows: Sequence[str], letters: Sequence[str], title: str) -> Tiles:
    """Attention weights (rows, letters) as cells, in tenths, with a gap after every second letter."""
    pairs = matrix_of(weights, "The weights").round(1).reshape(len(rows), -1, 2)  # (rows, pairs, 2)
    apart = np.pad(pairs, [(0, 0), (0, 0), (0, 1)], constant_values=np.nan)  # (rows, pairs, 3), the third is the gap
    columns = [label for pair in zip(letters[::2], letters[1::2], strict=True) for label in (*pair, "")]
    return Tiles(apart.reshape(len(rows), -1)[:, :-1], rows, columns[:-1], title=title)


def circuits_in_a_row(
    matrices: Mapping[str, tuple[Any, str, str]], letters: Sequence[str], full: float, words: str
) -> Plot:
    """Matrices of letters by letters side by side, all on one scale.

    Args:
        matrices: title -> the matrix, and what its rows and its columns are.
        full: the number that has the darkest shade.
        words: what is seen, for those who can't see it.
    """
    import matplotlib.pyplot as plt

    ticks = [0, len(letters) // 2, len(letters) - 1]
    with plt.rc_context(STYLE | {"axes.grid": False, "axes.titlesize": 11, "axes.labelsize": 11}):
        figure, panels = plt.subplots(1, len(matrices), figsize=(4.2, 2.3))
        figure.get_layout_engine().set(rect=(0, 0.1, 1, 0.9))  # the rest is for the key
        for axes, (title, (matrix, rows, columns)) in zip(panels, matrices.items(), strict=True):
            shades = colour_map("score")((shading(matrix_of(matrix, "The matrix"), full) + 1) / 2)[..., :3]
            axes.imshow(shades, interpolation="none", clip_on=False)
            axes.set(title=title, xlabel=columns)
            axes.set_ylabel(rows, labelpad=0)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_ticks(ticks, [letters[place] for place in ticks])
            axes.spines[:].set(visible=True, color=GRID)
        for x, said, role in ((0.02, "above 0", "score"), (0.24, "below 0", below_zero("score"))):
            figure.text(x, 0.03, said, color=ROLES[role][0], fontsize=11, fontweight="bold")
        figure.text(0.46, 0.03, f"darkest: {full:g} or more", fontsize=11)
    plt.close(figure)
    return Plot(figure, words)


@dataclass(frozen=True, repr=False, eq=False)
class CurvesAround(Curves):
    """Curves with a gray band.

    Args:
        band: from where to where.
    """

    band: tuple[float, float] = (0, 0)

    @property
    def alt(self) -> str:
        return f"{super().alt} Gray from {self.band[0]:g} to {self.band[1]:g}."

    def figure(self) -> "Figure":
        figure = super().figure()
        (axes,) = figure.axes
        axes.axvspan(*self.band, color=GRID, alpha=0.5, linewidth=0, zorder=0)
        return figure

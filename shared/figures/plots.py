"""Plots of results: heat maps, means with their intervals, and keys and queries in a plane.

Plain records and arrays go in, a matplotlib figure comes out. Each figure brings its own white
paper, because no one ink reads well on a light and on a dark page, and a notebook cannot know which
of the two it will stand on. The functions load matplotlib themselves: who draws matrices or shades
words does not wait for it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import ROLES

from .chart import INK, PAPER, STYLE
from .charts import colour_map
from .picture import matrix_of, words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# inches; at the width of a phone, 300 pixels, its letters are still some 11 pixels high
WIDTH = 4.2


def heat_map(
    matrix, *, title: str = "", rows: str = "", columns: str = "",
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None, role: str = "weight",
    rings: Sequence[tuple[int, int]] = (),
) -> "Figure":  # fmt: skip
    """Draw a matrix as shaded cells, darker for more; a small one is better read as a `Matrix`,
    with its numbers.

    Args:
        matrix: (rows, columns) numbers. Without a negative one, shades run from zero up in the
            colour of `role`. rows, columns: what the two axes count, for example "query" and "key".
            row_labels, column_labels: a word or a letter for each row and each column, given
            together; without them positions are counted.
        rings: (row, column) of each cell that the text speaks of; a ring is drawn around it.

    Raises:
        ValueError: not a matrix, no cells, a cell that is not finite, labels that do not match.
    """
    import matplotlib.pyplot as plt
    import seaborn

    matrix = matrix_of(matrix, "The matrix")
    height, width = matrix.shape
    labelled = row_labels is not None
    if row_labels is not None and column_labels is not None:
        row_labels, column_labels = (
            words_of(row_labels, "rows", height),
            words_of(column_labels, "columns", width),
        )
    # Labelled cells are square; other matrices fill the width, whatever their shape.
    inches = np.clip((WIDTH - 1.2) * height / width + 1.0, 2.2, 7.5) if labelled else 4.2
    full = float(np.abs(matrix).max())
    # Points that a cell has room for, so that no label runs into the next.
    letters = (
        min(STYLE["font.size"], 72 * (WIDTH - 1.6) / max(height, width))
        if labelled
        else STYLE["font.size"]
    )
    with plt.rc_context(
        STYLE | {"axes.grid": False, "xtick.labelsize": letters, "ytick.labelsize": letters}
    ):
        figure, axes = plt.subplots(figsize=(WIDTH, inches))
        seaborn.heatmap(
            matrix,
            ax=axes,
            cmap=colour_map(role),
            vmin=-full,
            vmax=full,
            square=labelled,
            # beside it, cells would be small
            cbar_kws={"location": "top", "shrink": 0.6} if labelled else None,
            xticklabels=column_labels or -(-width // 12),
            yticklabels=row_labels or "auto",
        )
        axes.set(title=title, xlabel=columns, ylabel=rows)
        axes.tick_params(length=0)
        axes.tick_params("y", rotation=0)
        for row, column in rings:
            centre = column + 0.5, row + 0.5
            axes.add_patch(
                plt.Circle(centre, 0.68, fill=False, edgecolor=INK, linewidth=1.5, clip_on=False)
            )
    return figure


def intervals(
    table: Mapping[str, Mapping[str, tuple[float, float]]], *, measure: str = "accuracy"
) -> "Figure":
    """Draw means with their 95% intervals: the name of a model, and a line for each kind of example
    below it.

    Args:
        table: model -> kind (for example "plain", "distracted") -> (mean, half the width of the
            interval). A half width of 0 draws the mean alone.
    """
    import matplotlib.pyplot as plt

    lines, ticks = 0, []
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            figsize=(WIDTH, 1.0 + 0.32 * sum(1 + len(entry) for entry in table.values()))
        )
        for model, entry in table.items():
            # a line that a lab draws ends at the name
            paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
            at: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center"}
            axes.annotate(model, (0, -lines), **at, fontweight="bold", bbox=paper)
            lines += 1
            for kind, (mean, half) in entry.items():
                axes.errorbar(
                    mean, -lines, xerr=half or None, color="#0b5394", marker="o", capsize=4
                )
                note = f"{mean:.3f}" + (f" ± {half:.3f}" if half else "")
                axes.annotate(note, (1.02, -lines), **at)
                ticks.append((-lines, kind))
                lines += 1
        axes.set_yticks(*map(list, zip(*ticks, strict=True)))
        axes.set_ylim(0.7 - lines, 0.7)
        axes.locator_params("x", nbins=6)
        axes.set_xlabel(f"{measure}, mean and 95% interval")
        axes.tick_params("y", length=0)
        axes.spines["left"].set_visible(False)
        axes.margins(x=0.08)
    return figure


def key_plane(keys, queries, names: Sequence[str]) -> "Figure":
    """Draw keys of width 2 as points with their names, and each query as an arrow of the same
    length from the origin.

    Args:
        keys, queries: (names, 2) each; query number i belongs to names[i].
    """
    import matplotlib.pyplot as plt

    points, arrows = matrix_of(keys, "keys"), matrix_of(queries, "queries")
    radius = np.linalg.norm(points, axis=1).max()
    tips = 0.62 * radius * arrows / np.linalg.norm(arrows, axis=1, keepdims=True)  # (names, 2)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(WIDTH, WIDTH))
        axes.quiver(
            *np.zeros_like(tips).T,
            *tips.T,
            color=ROLES["query"][0],
            angles="xy",
            scale_units="xy",
            scale=1,
        )
        axes.scatter(*points.T, color=ROLES["key"][0], zorder=3)
        for name, tip, (x, y) in zip(names, tips, points, strict=True):
            beyond = 1 + 0.17 * radius / np.hypot(x, y)
            axes.text(beyond * x, beyond * y, name, ha="center", va="center", color=ROLES["key"][0])
            box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
            colour = ROLES["query"][0]
            axes.text(
                *0.72 * tip, name, ha="center", va="center", color=colour, fontsize=9, bbox=box
            )
        limits = (-1.35 * radius, 1.35 * radius)
        axes.set(xlim=limits, ylim=limits, aspect="equal", xlabel="column 0", ylabel="column 1")
    return figure

"""Plots of results: training curves, heat maps, and means with their intervals.

Plain records and arrays go in, a matplotlib figure comes out. Each figure brings its own white paper, because no one
ink reads well on a light and on a dark page, and a notebook cannot know which of the two it will stand on.
The functions load matplotlib themselves: who draws matrices or shades words does not wait for it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .colours import NEUTRALS, ROLES
from .picture import matrix_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER, INK, GRID = (NEUTRALS[name][0] for name in ("paper", "ink", "grid"))
WIDTH = 4.2  # inches; at the width of a phone, 300 pixels, its letters are still some 11 pixels high

# The look of all plots; a lab's own plot takes it on with `with plt.rc_context(figures.STYLE):`.
STYLE: dict[str, Any] = {
    "figure.dpi": 200,
    "figure.facecolor": PAPER,
    "figure.constrained_layout.use": True,
    "axes.facecolor": PAPER,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "legend.frameon": False,
}

# One mark and one colour for each model: the mark alone tells them apart.
SERIES = (("o", "#0b5394"), ("s", "#a63d00"), ("^", "#00695c"), ("D", "#7b1fa2"), ("v", "#57606a"))

# What a history calls a part of the reviews: its name in the picture, and its look.
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "train": ("training", {"linestyle": "--", "markerfacecolor": PAPER}),
    "validation": ("validation", {"linestyle": "-"}),
}


def curves(histories: Mapping[str, Sequence]) -> "Figure":
    """Draw loss and accuracy after each epoch, training and validation, in two panels.

    Args:
        histories: a model's name -> its history, or its histories, one for each seed. A history is a sequence of
            records with `epoch`, `train_loss`, `train_accuracy`, `validation_loss` and `validation_accuracy`. Of
            several seeds each is drawn thin and their mean thick.

    Raises:
        ValueError: no model, more than five of them, or a history without epochs.
    """
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    runs = {name: _seeds(name, history) for name, history in histories.items()}
    if not 1 <= len(runs) <= len(SERIES):
        raise ValueError(f"There are {len(runs)} models to draw; give one to {len(SERIES)} of them.")
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(2, 1, sharex=True, figsize=(WIDTH, 5.4))
        for axes, measure in zip(panels, ("loss", "accuracy"), strict=True):
            axes.set_title(measure)
            ends = []
            for (name, seeds), (marker, colour) in zip(runs.items(), SERIES, strict=False):
                for part, (said, look) in PARTS.items():
                    end = _draw_seeds(axes, seeds, f"{part}_{measure}", marker, look | {"color": colour})
                    if len(runs) == 1 or part == "validation":
                        ends.append((*end, said if len(runs) == 1 else name, colour))
            _label_ends(figure, axes, ends)
        panels[1].set_xlabel("epoch")
        panels[1].xaxis.get_major_locator().set_params(integer=True)
        if len(runs) > 1:
            keys = [Line2D([], [], color=INK, marker="o", label=said, **look) for said, look in PARTS.values()]
            figure.legend(handles=keys, loc="outside upper right", ncols=2)
    return figure


def _seeds(name: str, history: Sequence) -> list:
    seeds = [history] if len(history) and isinstance(history[0], Mapping) else list(history)
    if not seeds or not all(len(seed) for seed in seeds):
        raise ValueError(f"The history of {name!r} has no epoch; train for at least one before you draw it.")
    return seeds


def _draw_seeds(axes, seeds: list, key: str, marker: str, look: dict) -> tuple[int, float]:
    """Draw several seeds thin, their mean over the epochs that all of them have thick; return where it ends."""
    for seed in seeds if len(seeds) > 1 else ():
        axes.plot([row["epoch"] for row in seed], [row[key] for row in seed], **look, linewidth=0.7, alpha=0.5)
    epochs = [rows[0]["epoch"] for rows in zip(*seeds, strict=False)]
    means = [np.mean([row[key] for row in rows]) for rows in zip(*seeds, strict=False)]
    axes.plot(epochs, means, **look, marker=marker)
    return epochs[-1], means[-1]


def _label_ends(figure: "Figure", axes, ends: list) -> None:
    """Write each line's name behind its end, names pushed apart until none covers another."""
    figure.draw_without_rendering()  # only now are the heights known
    low, high = axes.get_ylim()
    gap = 1.2 * STYLE["font.size"] * (high - low) / (axes.bbox.height * 72 / figure.dpi)
    ends = sorted(ends, key=lambda end: end[1])
    places = np.array([value for _, value, _, _ in ends])
    middle = places.mean()
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    places += middle - places.mean()
    last = max(epoch for epoch, *_ in ends)
    for place, (_, _, name, colour) in zip(places, ends, strict=True):
        axes.annotate(name, (last, place), (9, 0), textcoords="offset points", color=colour, va="center")


def heat_map(
    matrix,
    *,
    title: str = "",
    rows: str = "",
    columns: str = "",
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    role: str = "weight",
    rings: Sequence[tuple[int, int]] = (),
) -> "Figure":
    """Draw a matrix as shaded cells, darker for more, with the numbers written in when there are few.

    Args:
        matrix: (rows, columns) numbers. Without a negative one, shades run from zero up in the colour of `role`.
        rows, columns: what the two axes count, for example "query" and "key".
        row_labels, column_labels: one for each row and column, for example words; without them places are counted.
        rings: (row, column) of each cell that the text speaks of; a ring is drawn around it.

    Raises:
        ValueError: not a matrix, no cells, a cell that is not finite, labels that do not match, or an unknown role.
    """
    import matplotlib.pyplot as plt
    import seaborn
    from matplotlib.colors import LinearSegmentedColormap

    matrix = matrix_of(matrix, "The matrix")
    for name, labels, size in (("row", row_labels, len(matrix)), ("column", column_labels, matrix.shape[1])):
        if labels is not None and len(labels) != size:
            raise ValueError(f"There are {len(labels)} {name} labels for {size} {name}s; give one for each {name}.")
    if role not in ROLES:
        raise ValueError(f"The role {role!r} has no colour; the roles are {', '.join(ROLES)}.")

    height, width = matrix.shape
    few = width <= 8 and height <= 12
    worded = row_labels is not None or column_labels is not None
    # Cells of words are square; other matrices fill the width, whatever their shape.
    inches = np.clip((WIDTH - 1.2) * height / width + 1.0, 2.2, 7.5) if worded else 4.2
    signed = matrix.min() < 0
    # Either way darker is more, so the picture also reads without colour.
    shades = "cividis_r" if signed else LinearSegmentedColormap.from_list(role, [PAPER, ROLES[role][0]])
    # Points that a cell has room for, so that no label runs into the next; single letters take turns instead.
    turns = max(height, width) > 16 and {*map(len, [*(row_labels or ()), *(column_labels or ())])} == {1}
    letters = min(STYLE["font.size"], 72 * (WIDTH - 1.6) / max(height, width) if worded and not turns else np.inf)
    with plt.rc_context(STYLE | {"axes.grid": False, "xtick.labelsize": letters, "ytick.labelsize": letters}):
        figure, axes = plt.subplots(figsize=(WIDTH, inches))
        seaborn.heatmap(
            matrix,
            ax=axes,
            cmap=shades,
            vmin=None if signed else 0,
            square=worded,
            annot=few,
            cbar=not few,
            fmt=".2f",
            annot_kws={"fontsize": 10 if signed else 11},
            cbar_kws={"location": "top", "shrink": 0.6} if worded else None,  # beside it, cells would be small
            linewidths=0.8 if few else 0,
            linecolor=PAPER,
            xticklabels=-(-width // 12) if column_labels is None else list(column_labels),
            yticklabels="auto" if row_labels is None else list(row_labels),
        )
        for number, shade in zip(axes.texts, axes.collections[0].get_facecolor(), strict=False):
            # Seaborn's own limit leaves white numbers on middle shades, where black ones are read better.
            number.set_color("black" if seaborn.utils.relative_luminance(shade) > 0.18 else "white")
        axes.set(title=title, xlabel=columns, ylabel=rows)
        axes.tick_params(length=0)
        axes.tick_params("y", rotation=0)
        if turns:
            axes.tick_params("x", rotation=0)
            plt.setp(axes.get_yticklabels()[1::2], x=-0.065)
            plt.setp(axes.get_xticklabels()[1::2], y=-0.06)
        for row, column in rings:
            centre = column + 0.5, row + 0.5
            axes.add_patch(plt.Circle(centre, 0.68, fill=False, edgecolor=INK, linewidth=1.5, clip_on=False))
    return figure


def intervals(table: Mapping[str, Mapping[str, tuple[float, float]]], *, measure: str = "accuracy") -> "Figure":
    """Draw means with their 95% intervals: one line for each model, one mark for each kind of example.

    Args:
        table: model -> kind (for example "plain", "distracted") -> (mean, half the width of the interval). A half
            width of 0 draws the mean alone.

    Raises:
        ValueError: no model, more than five kinds, a number that is not finite, or a negative width.
    """
    import matplotlib.pyplot as plt

    kinds = list(dict.fromkeys(kind for entry in table.values() for kind in entry))
    if not 1 <= len(kinds) <= len(SERIES):
        counts = f"{len(table)} models with {len(kinds)} kinds"
        raise ValueError(f"There are {counts}; give one model and one kind at least, and five kinds at most.")
    styles = dict(zip(kinds, SERIES, strict=False))
    lines, ticks = 0, []
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(WIDTH, 1.0 + 0.32 * sum(1 + len(entry) for entry in table.values())))
        for model, entry in table.items():
            paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}  # a line that a lab draws ends at the name
            at: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center"}
            axes.annotate(model, (0, -lines), **at, fontweight="bold", bbox=paper)
            lines += 1
            for kind, (mean, half) in entry.items():
                if not (np.isfinite([mean, half]).all() and half >= 0):
                    raise ValueError(
                        f"{model}, {kind}: mean {mean} with half width {half}. Both must be finite, the width 0 or "
                        "more; a single run has no interval, so give it the width 0."
                    )
                marker, colour = styles[kind]
                axes.errorbar(mean, -lines, xerr=half or None, color=colour, marker=marker, capsize=4)
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
    """Draw keys of width 2 as points with their names, and each query as an arrow of the same length from the origin.

    Args:
        keys, queries: (names, 2) each; query number i belongs to names[i].

    Raises:
        ValueError: not two columns, or not a row for each name.
    """
    import matplotlib.pyplot as plt

    points, arrows = matrix_of(keys, "keys"), matrix_of(queries, "queries")
    if points.shape != (len(names), 2) or arrows.shape != points.shape:
        raise ValueError(
            f"keys {points.shape} and queries {arrows.shape} are drawn in a plane: give ({len(names)}, 2), "
            "a row for each name."
        )
    radius = np.linalg.norm(points, axis=1).max()
    tips = 0.62 * radius * arrows / np.linalg.norm(arrows, axis=1, keepdims=True)  # (names, 2)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(WIDTH, WIDTH))
        axes.quiver(*np.zeros_like(tips).T, *tips.T, color=ROLES["query"][0], angles="xy", scale_units="xy", scale=1)
        axes.scatter(*points.T, color=ROLES["key"][0], zorder=3)
        for name, tip, (x, y) in zip(names, tips, points, strict=True):
            beyond = 1 + 0.17 * radius / np.hypot(x, y)
            axes.text(beyond * x, beyond * y, name, ha="center", va="center", color=ROLES["key"][0])
            axes.text(*0.72 * tip, name, ha="center", va="center", color=ROLES["query"][0], fontsize=9,
                      bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1})  # fmt: skip
        axes.set(xlim=(-1.35 * radius, 1.35 * radius), ylim=(-1.35 * radius, 1.35 * radius), aspect="equal",
                 xlabel="column 0", ylabel="column 1")  # fmt: skip
    return figure

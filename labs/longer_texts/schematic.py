"""Arrows that rotate with the position, score matrices of the encodings, and curves that mark the trained length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING, Any

from shared.colours import css_colour
from shared.figures import STYLE, svg
from shared.figures.chart import GRID as GREY
from shared.figures.chart import MUTED, Plot
from shared.figures.charts import Curves, colour_map
from shared.figures.drawings import Drawing, arrow, drawing
from shared.figures.svg import GRID, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def arrows_in_a_plane(
    panels: Sequence[tuple[str, Sequence[tuple[str, tuple[float, float], str]]]],
    alt: str,
    arcs: bool = False,
) -> Drawing:
    """Vectors of two numbers as arrows from the origin, two panels in a row; a panel is a title and
    its arrows.

    Args:
        panels: each arrow is a label, its two numbers, and a role, which colours it.
        arcs: draw the angle between the first two arrows of each panel.
    """
    wide, high, lines = 146, 172, []
    longest = max(hypot(*tip) for _, arrows in panels for _, tip, _ in arrows)
    for number, (title, arrows) in enumerate(panels):
        x0, y0 = wide * (number % 2) + wide / 2, high * (number // 2) + 96
        lines.append(svg.text(x0, y0 - 88, title, 12))
        lines.append(f'<path d="M{x0 - 68} {y0}h136M{x0} {y0 - 70}v140" stroke="{GRID}"/>')
        for label, (x, y), role in arrows:
            tip = x0 + 54 * x / longest, y0 - 54 * y / longest
            lines.append(arrow([(x0, y0), tip], css_colour(role)))
            length = hypot(x, y)
            at = tip[0] + 11 * x / length, tip[1] - 11 * y / length + 4
            lines.append(svg.text(*at, label, 12, colour=css_colour(role), bold=True))
        if arcs:
            (_, (a, b), _), (_, (c, d), _), *_ = arrows
            ends = [(x0 + 22 * x / hypot(x, y), y0 - 22 * y / hypot(x, y)) for x, y in ((a, b), (c, d))]
            sweep = 0 if a * d - b * c > 0 else 1
            (ax, ay), (bx, by) = [tuple(map(svg.coordinate, end)) for end in ends]
            lines.append(
                f'<path d="M{ax} {ay}A22 22 0 0 {sweep} {bx} {by}" fill="none" stroke="{INK}" stroke-width="2"/>'
            )
    return drawing(2 * wide, high * ((len(panels) + 1) // 2), lines, alt)


@dataclass(frozen=True, repr=False, eq=False)
class CurvesBeyond(Curves):
    """Curves over positions or distances, gray as far as the model was trained.

    Args:
        trained: where the gray ends.
    """

    trained: float = 64

    @property
    def alt(self) -> str:
        return f"{super().alt} Gray up to {self.trained:g}: as in training."

    def figure(self) -> "Figure":
        figure = super().figure()
        (axes,) = figure.axes
        axes.axvspan(0, self.trained, color=GREY, alpha=0.5, linewidth=0, zorder=0)
        axes.annotate(
            "trained", (self.trained / 2, 1), (0, -2), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center", va="top", rotation=90, color=MUTED,
        )  # fmt: skip
        axes.set_xlim(left=0)
        return figure


def score_matrices(matrices: Mapping[str, Any], words: str) -> Plot:
    """The causal part of score matrices as shades, two in a row; `words` say what is seen."""
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.colors import CenteredNorm

    with plt.rc_context(STYLE | {"axes.grid": False}):
        figure, panels = plt.subplots((len(matrices) + 1) // 2, 2, figsize=(4.2, 6.2), sharex=True, sharey=True)
        for axes, (name, scores) in zip(panels.flat, matrices.items(), strict=True):
            causal = np.where(np.tri(len(scores), dtype=bool), scores, np.nan)  # (tokens, tokens)
            axes.imshow(causal, cmap=colour_map("score"), norm=CenteredNorm())
            axes.set_title(name)
        figure.supxlabel("position of the key")
        figure.supylabel("position of the query")
    plt.close(figure)
    return Plot(figure, words)

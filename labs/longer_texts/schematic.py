"""Arrows that rotate with the position, score matrices of the encodings, and curves that mark the trained length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import atan2, hypot
from typing import TYPE_CHECKING, Any

from shared.colours import css_colour
from shared.figures import STYLE, svg
from shared.figures.chart import GRID as GREY
from shared.figures.chart import INK as INK_OF_CHARTS
from shared.figures.chart import Plot
from shared.figures.charts import Curves, colour_map
from shared.figures.drawings import Drawing, arrow, drawing
from shared.figures.svg import GRID, INK, PAPER
from shared.figures.svg import MUTED as MUTED_IN_SVG

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def arrows_in_a_plane(
    panels: Sequence[tuple[str, Sequence[tuple[str, tuple[float, float], str]]]],
    alt: str,
    title: str = "",
) -> Drawing:
    """Vectors of two numbers as arrows from the origin, two panels in a row, with the angle between the
    first two arrows of each; a panel is a title and its arrows.

    Args:
        panels: each arrow is a label, its two numbers, and a role, which colours it.
    """
    longest = max(hypot(*tip) for _, arrows in panels for _, tip, _ in arrows)
    wide, unit, lines = 146, 58 / longest, [svg.text(0, 0, title, 12, anchor="start", bold=True)]
    rows = [panels[begin : begin + 2] for begin in range(0, len(panels), 2)]
    top = 26.0 * bool(title)
    for row in rows:
        ends = [tip for _, arrows in row for _, tip, _ in arrows]
        up, down = (max([0.0, *(sign * unit * y for _, y in ends)]) + 16 for sign in (1, -1))
        for number, (name, arrows) in enumerate(row):
            x0, y0 = wide * (number + 0.5), top + 30 + up
            (_, (a, b), _), (_, (c, d), _), *_ = arrows
            turn = atan2(a * d - b * c, a * c + b * d)
            lines.append(svg.text(x0, top, name, 12))
            lines.append(svg.text(x0, top + 16, f"angle {abs(turn):.2f}", 12, colour=MUTED_IN_SVG))
            lines.append(f'<path d="M{x0 - 68} {y0:.1f}h136M{x0} {y0 - up:.1f}v{up + down:.1f}" stroke="{GRID}"/>')
            axes = len(lines)
            for label, (x, y), role in arrows:
                out = unit + 11 / hypot(x, y)
                at = x0 + out * x, y0 - out * y
                paper = f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="7" fill="{PAPER}"/>'  # no axis through a name
                lines.insert(axes, paper)
                lines.append(arrow([(x0, y0), (x0 + unit * x, y0 - unit * y)], css_colour(role)))
                lines.append(svg.text(at[0], at[1] + 4, label, 12, colour=css_colour(role), bold=True))
            points = [(x0 + 22 * x / hypot(x, y), y0 - 22 * y / hypot(x, y)) for x, y in ((a, b), (c, d))]
            (ax, ay), (bx, by) = [tuple(map(svg.coordinate, point)) for point in points]
            lines.append(
                f'<path d="M{ax} {ay}A22 22 0 0 {0 if turn > 0 else 1} {bx} {by}" fill="none" stroke="{INK}" '
                f'stroke-width="2"/>'
            )
        top += 30 + up + down + 18
    return drawing(2 * wide, top - 18, lines, alt)


@dataclass(frozen=True, repr=False, eq=False)
class CurvesBeyond(Curves):
    """Curves over positions or distances, gray as far as the model was trained.

    Args:
        trained: where the gray ends; 0 if there is none.
        crests: points that have a ring and their x above it.
        pale: the line that is drawn behind the others.
    """

    trained: float = 64
    crests: Sequence[tuple[float, float]] = ()
    pale: str = ""

    @property
    def alt(self) -> str:
        gray = f" Gray up to {self.trained:g}: as in training." if self.trained else ""
        rings = f" Ringed: {', '.join(f'{x:g}' for x, _ in self.crests)}." if self.crests else ""
        return super().alt + gray + rings

    def figure(self) -> "Figure":
        figure = super().figure()
        (axes,) = figure.axes
        if self.trained:
            axes.axvspan(0, self.trained, color=GREY, alpha=0.5, linewidth=0, zorder=0)
        names = [name for name, lines in self.points.items() for _ in lines]
        for name, line in zip(names, axes.lines, strict=False):  # the lines of levels come after these
            if name == self.pale:
                line.set(alpha=0.6, linewidth=0.8, zorder=1)
        for x, y in self.crests:
            axes.plot(x, y, "o", markersize=9, markerfacecolor="none", markeredgecolor=INK_OF_CHARTS)
            axes.annotate(f"{x:g}", (x, y), (-8, 0), textcoords="offset points", ha="right", va="center")
        axes.set_xlim(left=0)
        return figure


def score_matrices(matrices: Mapping[str, Any], words: str, one_scale: Sequence[str] = ()) -> Plot:
    """The causal part of score matrices as shades, two in a row, each from its lowest score to its highest.

    Args:
        words: what is seen, for those who can't see it.
        one_scale: the names of those whose shades can be compared, from the lowest of all to the highest.
    """
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    causal = {name: np.where(np.tri(len(S), dtype=bool), S, np.nan) for name, S in matrices.items()}  # (tokens, tokens)
    high = {name: np.nanmax(scores) for name, scores in causal.items()}
    low = {name: np.nanmin(scores) for name, scores in causal.items()}
    low |= dict.fromkeys(one_scale, min([low[name] for name in one_scale], default=0))
    high |= dict.fromkeys(one_scale, max([high[name] for name in one_scale], default=0))
    shades = LinearSegmentedColormap.from_list("scores", colour_map("score")(np.linspace(0.5, 1, 64)))
    with plt.rc_context(STYLE | {"axes.grid": False, "axes.titlesize": 11}):
        figure, panels = plt.subplots((len(matrices) + 1) // 2, 2, figsize=(4.2, 6.2), sharex=True, sharey=True)
        for axes, (name, scores) in zip(panels.flat, causal.items(), strict=True):
            lowest = low[name] if low[name] < high[name] else high[name] - 1  # equal scores are all the highest
            axes.imshow(scores, cmap=shades, norm=Normalize(lowest, high[name]), clip_on=False)
            axes.set(title=name, xticks=range(0, len(scores), 10), yticks=range(0, len(scores), 10))
        figure.supxlabel("position of the key; dark: a high score", size=11.5)
        figure.supylabel("position of the query", size=11.5)
    plt.close(figure)
    return Plot(figure, words)

"""The forest plot of *Does it help?*: differences with their intervals, and the verdict beside each."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shared.colours import ROLES
from shared.figures.chart import GRID, INK, MUTED, PAPER, WIDTH, Chart, bare_axes
from shared.stored_runs import verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADING, ROW, STEP = 26, 38, 0.05  # pixels, pixels, accuracy


@dataclass(frozen=True, repr=False, eq=False)
class Forest(Chart):
    """Differences of accuracy, an interval each.

    Args:
        groups: heading -> comparison -> (difference, half width of its interval).
        margin: what is gray on both sides of zero.
    """

    groups: Mapping[str, Mapping[str, tuple[float, float]]]
    margin: float

    @cached_property
    def rows(self) -> list[tuple[str, str, float, float, str]]:
        """What is drawn, from top to bottom: heading, comparison, difference, half width, verdict."""
        return [
            (heading, name, difference, half, verdict(difference, half, self.margin))
            for heading, group in self.groups.items()
            for name, (difference, half) in group.items()
        ]

    @cached_property
    def notes(self) -> dict[str, list[str]]:
        """The rows below each heading in words."""
        lines: dict[str, list[str]] = {heading: [] for heading in self.groups}
        for heading, name, difference, half, word in self.rows:
            lines[heading].append(f"{name} {difference:.3f} ± {half:.3f}, {word}".replace("-0", "−0"))
        return lines

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest number that has to be on the axis."""
        lows, highs = zip(*((d - half, d + half) for _, _, d, half, _ in self.rows), strict=True)
        return min(-self.margin, *lows), max(self.margin, *highs)

    def at(self, difference: float) -> float:
        """Where a difference is, in pixels from the left; a word has room at the right."""
        low, high = self.ends
        return 6 + (WIDTH - 56) * (difference - low) / (high - low)

    @property
    def alt(self) -> str:
        rows = " ".join(f"{heading}: {'; '.join(notes)}." for heading, notes in self.notes.items())
        return f"Differences of accuracy with 95% intervals. {rows} Gray up to {self.margin:g} on both sides of 0."

    def figure(self) -> "Figure":
        from matplotlib.patches import Rectangle

        bottom = HEADING * len(self.groups) + ROW * len(self.rows)
        figure, axes = bare_axes(WIDTH, bottom + 40)
        colour, y, headings = ROLES["output"][0], 0, set[str]()
        for heading, name, difference, half, word in self.rows:
            if heading not in headings:
                headings.add(heading)
                axes.text(2, y + 18, heading, fontweight="bold")
                y += HEADING
            axes.text(6, y + 13, name, fontsize=11)
            middle = y + 25
            band = (self.at(-self.margin), middle - 8), self.at(self.margin) - self.at(-self.margin), 16
            axes.add_patch(Rectangle(*band, facecolor=GRID, alpha=0.6, linewidth=0))
            axes.plot([self.at(0)] * 2, [middle - 8, middle + 8], color=MUTED, linewidth=1.2)
            settled = word in ("higher", "lower")
            look = {"color": colour, "marker": "o", "markersize": 6, "capsize": 3}
            look |= {"markerfacecolor": colour if settled else PAPER}
            axes.errorbar(self.at(difference), middle, xerr=half * (self.at(1) - self.at(0)), **look)
            weight = {"fontweight": "bold"} if settled else {}
            right = self.at(max(difference + half, self.margin)) + 8
            axes.text(right, middle + 4, word, fontsize=11, color=INK if settled else MUTED, **weight)
            y += ROW
        axes.plot([2, WIDTH - 2], [bottom + 4] * 2, color=MUTED, linewidth=0.8)
        low, high = self.ends
        for count in range(math.ceil(low / STEP), math.floor(high / STEP) + 1):
            axes.text(
                self.at(count * STEP), bottom + 18, f"{count * STEP:.2f}".replace("-", "−"), ha="center", fontsize=11
            )
        axes.text(
            WIDTH / 2, bottom + 34, f"difference of accuracy; gray: within {self.margin:g}", ha="center", fontsize=11
        )
        return figure

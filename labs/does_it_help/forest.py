"""The forest plot of *Does it help?*: differences with their intervals, and the verdict beside each."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shared.colours import ROLES
from shared.figures.chart import GRID, INK, MUTED, PAPER, WIDTH, Chart, bare_axes
from shared.stored_runs import verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
    def verdicts(self) -> dict[str, list[str]]:
        """Below each heading, from top to bottom."""
        return {
            heading: [verdict(*pair, self.margin) for pair in group.values()] for heading, group in self.groups.items()
        }

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest number that has to be on the axis."""
        pairs = [pair for group in self.groups.values() for pair in group.values()]
        lows, highs = [mean - half for mean, half in pairs], [mean + half for mean, half in pairs]
        return min(-self.margin, *lows), max(self.margin, *highs)

    def at(self, difference: float) -> float:
        """Where a difference is, in pixels from the left; a word has room at the right."""
        low, high = self.ends
        return 6 + (WIDTH - 60) * (difference - low) / (high - low)

    @property
    def alt(self) -> str:
        lines = []
        for heading, group in self.groups.items():
            rows = zip(group.items(), self.verdicts[heading], strict=True)
            notes = [f"{name} {mean:.3f} ± {half:.3f}, {word}" for (name, (mean, half)), word in rows]
            lines.append(f"{heading}: {'; '.join(notes)}.")
        gray = f"Gray: within {self.margin:g} of 0."
        return f"Differences of accuracy with 95% intervals. {' '.join(lines)} {gray}".replace(" -", " −")

    def figure(self) -> "Figure":
        bottom = HEADING * len(self.groups) + ROW * sum(map(len, self.groups.values()))
        figure, axes = bare_axes(WIDTH, bottom + 40)
        y = 0
        for heading, group in self.groups.items():
            axes.text(2, y + 18, heading, fontweight="bold")
            y += HEADING
            for (name, pair), word in zip(group.items(), self.verdicts[heading], strict=True):
                axes.text(6, y + 13, name, fontsize=11)
                self.draw_interval(axes, y + 25, *pair, word)
                y += ROW
        axes.plot([2, WIDTH - 2], [bottom + 4] * 2, color=MUTED, linewidth=0.8)
        low, high = self.ends
        small: dict[str, Any] = {"ha": "center", "fontsize": 11}
        for count in range(math.ceil(low / STEP), math.floor(high / STEP) + 1):
            axes.text(self.at(count * STEP), bottom + 18, f"{count * STEP:.2f}", **small)
        axes.text(WIDTH / 2, bottom + 34, f"difference of accuracy; gray: within {self.margin:g}", **small)
        return figure

    def draw_interval(self, axes: "Axes", y: float, mean: float, half: float, word: str) -> None:
        """The margin, zero, the interval, filled if its sign is settled, and the verdict at its right."""
        from matplotlib.patches import Rectangle

        left, right, settled = self.at(-self.margin), self.at(self.margin), word in ("higher", "lower")
        axes.add_patch(Rectangle((left, y - 8), right - left, 16, facecolor=GRID, alpha=0.6, linewidth=0))
        axes.plot([self.at(0)] * 2, [y - 8, y + 8], color=MUTED, linewidth=1.2)
        colour, width = ROLES["output"][0], self.at(half) - self.at(0)
        look: dict[str, Any] = {"color": colour, "markerfacecolor": colour if settled else PAPER}
        axes.errorbar(self.at(mean), y, xerr=width, marker="o", markersize=6, capsize=3, **look)
        look = {"color": INK, "fontweight": "bold"} if settled else {"color": MUTED}
        axes.text(self.at(max(mean + half, self.margin)) + 8, y + 4, word, fontsize=11, **look)

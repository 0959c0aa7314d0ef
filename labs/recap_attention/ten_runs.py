"""A picture of *Recap: attention*: what each of several runs reached, in groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import ROLES
from shared.figures.chart import GRID, INK, Chart, new_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LANES = 5  # heights on which neighboring dots take turns, so that all can be counted


@dataclass(frozen=True, repr=False, eq=False)
class Runs(Chart):
    """Every run of every model as a dot, and a tick with its number at the model's mean.

    Args:
        groups: heading -> model -> the accuracies of its runs.
        span: where the axis begins, and where it ends at the earliest.
    """

    groups: Mapping[str, Mapping[str, Any]]
    span: tuple[float, float] = (0.5, 0.9)

    @property
    def alt(self) -> str:
        parts = []
        for heading, models in self.groups.items():
            rows = [
                f"{name} {min(runs):.3f} to {max(runs):.3f}, on average {np.mean(runs):.3f}"
                for name, runs in models.items()
            ]
            parts.append(f"{heading}: {'; '.join(rows)}.")
        return f"Accuracy of each run. {' '.join(parts)}"

    def figure(self) -> "Figure":
        figure, axes = new_axes(46 + sum(30 + 28 * len(models) for models in self.groups.values()))
        ticks, y = {}, 0.0
        across: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        for heading, models in self.groups.items():
            axes.annotate(heading, (0, y), fontweight="bold", va="center", **across)
            for (name, given), role in zip(models.items(), ("output", "query"), strict=True):
                y -= 28
                runs, color = np.sort(given), ROLES[role][0]
                heights = y + 4 * (np.arange(len(runs)) % LANES - (LANES - 1) / 2)
                axes.scatter(runs, heights, s=14, color=color, alpha=0.75, linewidth=0, zorder=3)
                axes.plot([runs.mean()] * 2, [y - 10, y + 10], color=INK, linewidth=1.2, zorder=4)
                axes.annotate(f"{runs.mean():.3f}", (1.03, y), color=color, va="center", **across)
                axes.axhline(y, color=GRID, linewidth=0.8, zorder=0)
                ticks[y] = name
            y -= 30
        axes.set(ylim=(y + 14, 12), xlabel="accuracy of each seed")
        axes.set_xlim(self.span[0], max(self.span[1], axes.dataLim.x1 + 0.01))
        axes.set_yticks(list(ticks), list(ticks.values()))
        axes.spines["left"].set_visible(False)
        axes.grid(False)
        return figure

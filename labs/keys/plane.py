"""Keys and queries of width 2 in a plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import ROLES
from shared.figures.chart import MUTED, PAPER, WIDTH, Chart
from shared.figures.picture import matrix_of, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEY, QUERY = ROLES["key"][0], ROLES["query"][0]
ARROW = 0.5  # length of a query's arrow, in parts of the farthest key's distance


@dataclass(frozen=True, repr=False, eq=False)
class KeyPlanes(Chart):
    """Keys of width 2 as points with their names, their polygon dotted, and each query as an arrow
    of the same length from the origin. Two planes side by side have one scale; there names
    have room for their first letters only, but for that of the asking query.

    Args:
        names: a name for each key and its query.
        planes: title -> keys and queries, (names, 2) each.
        asking: the index of a query onto whose line all keys are dropped.
        inside: draw a key inside the polygon, too, marked with a question mark.
    """

    names: Sequence[str]
    planes: dict[str, tuple[Any, Any]]
    asking: int | None = None
    inside: bool = False

    @cached_property
    def points(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What is drawn in each plane: the keys, and the queries, each divided by its length."""
        found = []
        for keys, queries in self.planes.values():
            words_of(self.names, "keys", len(keys))
            queries = matrix_of(queries, "queries")
            lengths = np.linalg.norm(queries, axis=1, keepdims=True)
            found.append((matrix_of(keys, "keys"), queries / lengths))
        return found

    @property
    def alt(self) -> str:
        parts = []
        for title, (keys, directions) in zip(self.planes, self.points, strict=True):
            order = np.argsort(np.arctan2(*keys.T[::-1]))
            around = ", ".join(self.names[place] for place in order)
            parts.append(f"{title or 'A plane'}: keys as points, counterclockwise {around}, and queries as arrows.")
            if self.asking is not None:
                reaches = keys @ directions[self.asking]
                listed = ", ".join(f"{self.names[i]} {reaches[i]:.1f}" for i in np.argsort(-reaches))
                parts.append(f"In the direction of the query for {self.names[self.asking]}, the keys reach: {listed}.")
        return " ".join(parts) + " A key with a question mark is inside the polygon." * self.inside

    def figure(self) -> "Figure":
        from matplotlib.figure import Figure

        count = len(self.planes)
        limits = np.array([1.3, 1.2]) * np.abs(np.concatenate([keys for keys, _ in self.points])).max(axis=0)
        figure = Figure(figsize=(WIDTH / 72, (WIDTH / count * limits[1] / limits[0] + 28) / 72))
        for place, (title, (keys, directions)) in enumerate(zip(self.planes, self.points, strict=True)):
            axes = figure.add_subplot(1, count, place + 1)
            axes.set(xlim=(-limits[0], limits[0]), ylim=(-limits[1], limits[1]), aspect="equal")
            axes.set_title(title, fontweight="bold")
            if not title:
                above: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom", "fontweight": "bold"}
                axes.text(0, 1.02 + 0.07 * self.inside, "keys", color=KEY, **above)
                axes.text(0.17, 1.02 + 0.07 * self.inside, "queries, drawn equally long", color=QUERY, **above)
                axes.text(0, 1.02, "? a key that no query finds" * self.inside, color=KEY, transform=axes.transAxes)
            axes.set(xlabel="column 0", ylabel="column 1" if place == 0 else "")
            axes.grid(count == 1)
            axes.locator_params(nbins=5)
            axes.tick_params(labelbottom=count == 1, labelleft=count == 1)  # one scale, and room for the names
            self._plane(axes, keys, directions, limits[0])
        return figure

    def _plane(self, axes: "Axes", keys: np.ndarray, directions: np.ndarray, limit: float) -> None:
        small = len(self.planes) > 1
        corners = keys[np.argsort(np.arctan2(*keys.T))]
        axes.fill(*corners.T, fill=False, edgecolor=KEY, linewidth=1, linestyle=":")
        if self.asking is not None:
            line = directions[self.asking]
            axes.plot(*np.outer([-2 * limit, 2 * limit], line).T, color=QUERY, linewidth=0.7)
            feet = np.outer(keys @ line, line)
            for foot, key in zip(feet, keys, strict=True):
                axes.plot(*np.transpose([key, foot]), color=MUTED, linewidth=0.7)
            x, y = feet[np.argmax(keys @ line)]
            axes.scatter(x, y, s=14, color=QUERY, zorder=3)
        tips = 0.35 * limit * directions
        for place, tip in enumerate(tips):
            asked = not small or place == self.asking
            arrow: dict[str, Any] = {"color": QUERY, "arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
            arrow |= {"lw": 1.8, "mutation_scale": 9} if asked else {"lw": 0.9, "mutation_scale": 6}
            axes.annotate("", tip, (0, 0), arrowprops=arrow)
        axes.scatter(keys[:, 0], keys[:, 1], s=14 if small else 22, color=KEY, zorder=3)
        for place, (name, key, tip) in enumerate(zip(self.names, keys, tips, strict=True)):
            shown = name[0] if small else name
            away = np.array([1 + 0.1 * len(shown), 1]) * (0.13 if small else 0.1) * limit
            look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 11}
            x, y = key + away * key / np.linalg.norm(key)
            axes.text(x, y, shown, color=KEY, **look)
            if small and place == self.asking:  # beside the line, so that nothing crosses it
                tip = tip + 0.3 * np.array([-tip[1], tip[0]])
                shown = name
                look |= {"fontweight": "bold", "bbox": {"facecolor": PAPER, "linewidth": 0, "pad": 0.5}}
            x, y = tip + away * tip / np.linalg.norm(tip)
            axes.text(x, y, f"{shown}?", color=QUERY, **look)
        if self.inside:
            # an edge's middle, moved towards the origin
            x, y = 0.36 * (corners[0] + corners[1])
            axes.scatter(x, y, s=22, color=PAPER, edgecolor=KEY, zorder=3)
            axes.annotate("?", (x, y), (5, 3), textcoords="offset points", color=KEY)

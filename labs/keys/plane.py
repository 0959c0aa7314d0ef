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
    of the same length from the origin. Two planes, one above the other, have one scale.

    Args:
        names: a name for each key and its query.
        planes: title -> keys and queries, (names, 2) each.
        asking: the index of the only query that is named; the two keys that reach farthest in its direction
            are dropped onto its line.
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
        beyond = np.array([1.3 if self.asking is None else 1.4, 1.2])  # room for names
        limits = beyond * np.abs(np.concatenate([keys for keys, _ in self.points])).max(axis=0)
        high = (WIDTH - 50) * limits[1] / limits[0] + 44 + 28 * self.inside  # beside, above and below: what is written
        figure = Figure(figsize=(WIDTH / 72, high * count / 72))
        for place, (title, (keys, directions)) in enumerate(zip(self.planes, self.points, strict=True)):
            axes = figure.add_subplot(count, 1, place + 1)
            axes.set(xlim=(-limits[0], limits[0]), ylim=(-limits[1], limits[1]), aspect="equal")
            axes.set_title(title, fontweight="bold")
            if not title:
                above: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom", "fontweight": "bold"}
                axes.text(0, 1.02 + 0.07 * self.inside, "keys", color=KEY, **above)
                axes.text(0.17, 1.02 + 0.07 * self.inside, "queries, drawn equally long", color=QUERY, **above)
                axes.text(0, 1.02, "? a key that no query finds" * self.inside, color=KEY, transform=axes.transAxes)
            axes.set(xlabel="column 0" if place == count - 1 else "", ylabel="column 1")
            axes.locator_params(nbins=5)
            self._plane(axes, keys, directions, limits[0])
        return figure

    def _plane(self, axes: "Axes", keys: np.ndarray, directions: np.ndarray, limit: float) -> None:
        corners = keys[np.argsort(np.arctan2(*keys.T))]
        axes.fill(*corners.T, fill=False, edgecolor=KEY, linewidth=1, linestyle=":")
        tips, named, away = 0.35 * limit * directions, range(len(keys)), keys.copy()
        if self.asking is not None:
            self._drop(axes, keys, directions[self.asking], away)
            named = range(self.asking, self.asking + 1)
        for place, tip in enumerate(tips):
            arrow: dict[str, Any] = {"color": QUERY, "arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
            faint = {"lw": 0.8, "mutation_scale": 6, "alpha": 0.35}
            arrow |= {"lw": 1.8, "mutation_scale": 9} if place in named else faint
            axes.annotate("", tip, (0, 0), arrowprops=arrow)
        axes.scatter(keys[:, 0], keys[:, 1], s=22, color=KEY, zorder=3)
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 11}
        for name, key, at in zip(self.names, keys, away, strict=True):
            x, y = _beyond(key, at, name, limit)
            axes.text(x, y, name, color=KEY, **look)
        for place in named:
            tip, name = tips[place], self.names[place]
            if self.asking is not None:  # beside the line, so that nothing crosses it
                tip = tip + 0.3 * np.array([-tip[1], tip[0]])
                look |= {"fontweight": "bold", "bbox": {"facecolor": PAPER, "linewidth": 0, "pad": 0.5}}
            x, y = _beyond(tip, tip, name, limit)
            axes.text(x, y, f"{name}?", color=QUERY, **look)
        if self.inside:
            # an edge's middle, moved towards the origin
            x, y = 0.36 * (corners[0] + corners[1])
            axes.scatter(x, y, s=22, color=PAPER, edgecolor=KEY, zorder=3)
            axes.annotate("?", (x, y), (5, 3), textcoords="offset points", color=KEY)

    def _drop(self, axes: "Axes", keys: np.ndarray, direction: np.ndarray, away: np.ndarray) -> None:
        """The two keys that reach farthest in this direction, dropped onto its line; their names lean away from it."""
        reaches, normal = keys @ direction, np.array([-direction[1], direction[0]])
        first, second = np.argsort(-reaches)[:2]
        axes.plot(*np.outer([0, 1.1 * reaches[first]], direction).T, color=QUERY, linewidth=0.9)
        for place in (first, second):
            axes.plot(*np.transpose([keys[place], reaches[place] * direction]), color=MUTED, linewidth=0.9)
            away[place] = keys[place] / np.linalg.norm(keys[place]) + np.copysign(1, keys[place] @ normal) * normal
        x, y = reaches[first] * direction
        axes.scatter(x, y, s=22, color=QUERY, zorder=3)
        below: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 11}
        axes.annotate("farthest", (x, y), (0, -5), color=QUERY, **below)


def _beyond(place: np.ndarray, away: np.ndarray, name: str, limit: float) -> np.ndarray:
    """Where a name is: from its mark in a direction, farther if it's long."""
    return place + 0.1 * limit * np.array([1 + 0.1 * len(name), 1]) * away / np.linalg.norm(away)


def as_trained_and_multiplied(names: Sequence[str], trained: Any, multiplied: Any, asking: int) -> KeyPlanes:
    """The circle of keys, and what an R makes of it: keys and queries, (names, 2) each, before and after."""
    planes = {"As trained: a circle": trained, "Times R: an ellipse, the same scores": multiplied}
    return KeyPlanes(names, planes, asking)

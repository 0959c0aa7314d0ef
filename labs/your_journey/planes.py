"""Pictures of *Your journey*: all weights with their numbers; keys, values and outputs as points in a plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import ROLES
from shared.figures.chart import GRID, INK, MUTED, PAPER, WIDTH, Chart, bare_axes, new_axes
from shared.figures.matrices import SHADE
from shared.figures.picture import matrix_of, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 330  # pixels


@dataclass(frozen=True, repr=False, eq=False)
class AllWeights(Chart):
    """Attention weights with three decimals, shaded from 0 on; the largest of each row is framed.

    Args:
        words: the words of the sentence.
        weights: (words, words).
    """

    words: Sequence[str]
    weights: Any

    @cached_property
    def values(self) -> np.ndarray:
        words_of(self.words, "rows of the weights", len(self.weights))
        return matrix_of(self.weights, "weights")

    @property
    def alt(self) -> str:
        largest = "; ".join(
            f"{word} to {self.words[row.argmax()]} {row.max():.3f}"
            for word, row in zip(self.words, self.values, strict=True)
        )
        return (
            f"Weights between {self.values.min():.3f} and {self.values.max():.3f}. The largest of each row: {largest}."
        )

    def figure(self) -> "Figure":
        from matplotlib.patches import Rectangle

        count, left, top, high = len(self.words), 66, 40, 24
        wide = (WIDTH - left - 4) / count
        figure, axes = bare_axes(WIDTH, top + high * count + 6)
        axes.text(2, top - 8, "query ↓", color=ROLES["query"][0])
        axes.text(left, 14, "key →", color=ROLES["key"][0])
        for place, word in enumerate(self.words):
            axes.text(left - 6, top + high * (place + 0.5) + 4, word, ha="right")
            axes.text(left + wide * (place + 0.5), top - 8, word, ha="center", fontsize=11)
        for (i, j), weight in np.ndenumerate(self.values):
            shade = SHADE * weight / self.values.max()
            at = left + wide * j, top + high * i
            axes.add_patch(Rectangle(at, wide, high, facecolor=ROLES["weight"][0], alpha=shade, linewidth=0))
            axes.add_patch(Rectangle(at, wide, high, fill=False, edgecolor=GRID, linewidth=0.6))
            number = f"{weight:.3f}".removeprefix("0")
            axes.text(at[0] + wide / 2, at[1] + high / 2 + 4, number, ha="center", fontsize=11)
        for column, rows in groupby(range(count), lambda i: int(self.values[i].argmax())):
            framed = list(rows)
            at = left + wide * column, top + high * framed[0]
            frame = Rectangle(at, wide, high * len(framed), fill=False, edgecolor=INK, linewidth=2, clip_on=False)
            axes.add_patch(frame)
        return figure


@dataclass(frozen=True, repr=False, eq=False)
class Reach(Chart):
    """How far each key reaches in the direction of one query; all queries are arrows of one length.

    Args:
        words: the words of the sentence.
        queries, keys: (words, 2) each.
        follow: the index of the query onto whose line the keys are dropped.
    """

    words: Sequence[str]
    queries: Any
    keys: Any
    follow: int

    @cached_property
    def directions(self) -> np.ndarray:
        """The queries, each divided by its length, (words, 2)."""
        queries = matrix_of(self.queries, "queries")
        return queries / np.linalg.norm(queries, axis=1, keepdims=True)

    @cached_property
    def points(self) -> np.ndarray:
        """The keys, (words, 2)."""
        words_of(self.words, "keys", len(self.keys))
        return matrix_of(self.keys, "keys")

    @cached_property
    def reaches(self) -> np.ndarray:
        """The distance from the origin to the foot of each key on the line of the query, (words,)."""
        return self.points @ self.directions[self.follow]

    @property
    def alt(self) -> str:
        angles = np.degrees(np.arctan2(*self.directions.T[::-1]))
        order = np.argsort(-self.reaches)
        listed = ", ".join(f"{self.words[i]} {self.reaches[i]:.2f}" for i in order)
        return (
            f"A plane with the {len(self.words)} keys as points and the queries as arrows from the origin, all within "
            f"{np.ptp(angles):.0f} degrees. Along the query of {self.words[self.follow]}, the keys reach: {listed}."
        )

    def figure(self) -> "Figure":
        figure, axes = new_axes(HEIGHT)
        length = 1.18 * np.abs(self.reaches).max()
        for place, (x, y) in enumerate(length * self.directions):
            chosen = place == self.follow
            color = ROLES["query"][0] if chosen else MUTED
            look: dict[str, Any] = {"color": color, "lw": 2.4 if chosen else 1, "mutation_scale": 12 if chosen else 8}
            look |= {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", (x, y), (0, 0), arrowprops=look, zorder=4 if chosen else 2)
        query = f"query of {self.words[self.follow]}"
        others = f"the other {len(self.words) - 1} queries;\nsome coincide"
        tip = length * self.directions[self.follow]
        axes.annotate(query, tip, (4, 16), textcoords="offset points", ha="center", color=ROLES["query"][0])
        lowest = length * self.directions[np.argmin(self.directions[:, 1])]
        axes.annotate(others, lowest, (5, 2), textcoords="offset points", color=MUTED)
        axes.set_title("keys, and how far they reach", color=ROLES["key"][0], fontweight="bold")
        feet = self.reaches[:, None] * self.directions[self.follow]  # (words, 2)
        for point, foot in zip(self.points, feet, strict=True):
            axes.plot(*np.transpose([point, foot]), color=ROLES["key"][0], linewidth=1, linestyle=(0, (2, 2)))
        axes.scatter(feet[:, 0], feet[:, 1], s=14, color=ROLES["query"][0], zorder=5)
        scatter(axes, self.points, "key")
        names = spread({i: self.points[i, 1] for i in range(len(self.points))}, 0.07 * length)
        beyond = max(length * self.directions[:, 0].max(), self.points[:, 0].max()) + 0.06 * length
        for place, height in names.items():
            leader: dict[str, Any] = {"arrowstyle": "-", "color": ROLES["key"][0], "lw": 0.4, "relpos": (0, 0.5)}
            axes.annotate(
                f"{self.words[place]} {self.reaches[place]:.2f}", self.points[place], (beyond, height), va="center",
                color=ROLES["key"][0], arrowprops=leader | {"shrinkA": 0, "shrinkB": 3},
            )  # fmt: skip
        axes.set(xlim=(-0.05 * length, 0.92 * length), ylim=(-0.03, length * 1.14))
        axes.set(xlabel="column 0", ylabel="column 1", aspect="equal")
        axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick < beyond])  # beyond, there are names alone
        return figure


@dataclass(frozen=True, repr=False, eq=False)
class ValuesAndOutputs(Chart):
    """The values of all words as points, and their outputs among them.

    Args:
        words: the words of the sentence.
        values, outputs: (words, 2) each.
    """

    words: Sequence[str]
    values: Any
    outputs: Any

    @cached_property
    def points(self) -> dict[str, np.ndarray]:
        """What is drawn: role -> (words, 2)."""
        words_of(self.words, "values", len(self.values))
        return {"value": matrix_of(self.values, "values"), "output": matrix_of(self.outputs, "outputs")}

    @property
    def alt(self) -> str:
        parts = [f"largest distance between two {role}s {farthest(found):.3f}" for role, found in self.points.items()]
        return f"Values and outputs of {', '.join(self.words)} as points in a plane: {', '.join(parts)}."

    def figure(self) -> "Figure":
        figure, axes = new_axes(HEIGHT)
        values, outputs = self.points.values()
        scatter(axes, values, "value")
        scatter(axes, outputs, "output")
        near = 0.08 * np.ptp(values, axis=0).max()
        for place, (word, value) in enumerate(zip(self.words, values, strict=True)):
            meets = any(np.linalg.norm(value - other) < near for other in values[:place])
            axes.annotate(word, value, (7, -13 if meets else -3), textcoords="offset points", color=ROLES["value"][0])
        for left, role in ((0, "value"), (0.22, "output")):
            look: dict[str, Any] = {"color": ROLES[role][0], "fontweight": "bold", "transform": axes.transAxes}
            axes.text(left, 1.03, f"{role}s", **look)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set(xlabel="column 0", ylabel="column 1")
        inset = axes.inset_axes((0.02, 0.27, 0.3, 0.36))
        inset.scatter(outputs[:, 0], outputs[:, 1], s=36, facecolor="none", edgecolor=ROLES["output"][0])
        size = 0.7 * np.ptp(outputs, axis=0).max()
        (x, y) = (outputs.min(axis=0) + outputs.max(axis=0)) / 2
        inset.set(xlim=(x - size, x + size), ylim=(y - size * 1.15, y + size * 1.15), xticks=[], yticks=[])
        inset.spines[:].set_visible(True)
        inset.set_xlabel("enlarged", fontsize=11)  # below, where no leader runs
        axes.indicate_inset_zoom(inset, edgecolor=MUTED)
        return figure


def farthest(points: np.ndarray) -> float:
    """The largest distance between two of the points."""
    return float(np.linalg.norm(points[:, None] - points[None], axis=-1).max())


def spread(wanted: dict[int, float], least: float) -> dict[int, float]:
    """Heights near the wanted ones, from below upwards at least so far apart."""
    heights: dict[int, float] = {}
    lowest = -np.inf
    for name in sorted(wanted, key=lambda name: wanted[name]):
        heights[name] = max(wanted[name], lowest)
        lowest = heights[name] + least
    return heights


def scatter(axes: "Axes", points: np.ndarray, role: str) -> None:
    """Points; two that nearly coincide are seen to be two."""
    look: dict[str, Any] = {"edgecolor": PAPER, "linewidth": 0.8, "alpha": 0.75, "zorder": 6}
    axes.scatter(points[:, 0], points[:, 1], s=26, color=ROLES[role][0], **look)

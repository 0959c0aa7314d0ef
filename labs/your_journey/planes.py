"""Pictures of *Your journey*: a vector of two numbers is a point in a plane, so keys and outputs can be seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import ROLES
from shared.figures.chart import MUTED, PAPER, Chart, new_axes
from shared.figures.picture import matrix_of, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 330  # pixels


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
        tip = length * self.directions[self.follow]
        axes.annotate("the queries", tip, (4, 6), textcoords="offset points", ha="center", color=ROLES["query"][0])
        feet = self.reaches[:, None] * self.directions[self.follow]  # (words, 2)
        for point, foot in zip(self.points, feet, strict=True):
            axes.plot(*np.transpose([point, foot]), color=ROLES["key"][0], linewidth=1, linestyle=(0, (2, 2)))
        axes.scatter(feet[:, 0], feet[:, 1], s=14, color=ROLES["query"][0], zorder=5)
        scatter(axes, self.points, "key", self.words)
        axes.set(ylim=(-0.03, length * 1.08), xlabel="column 0", ylabel="column 1")
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
        for role, found in self.points.items():
            scatter(axes, found, role, self.words if role == "value" else [])
        center = self.points["output"].mean(axis=0)
        pointer: dict[str, Any] = {"arrowstyle": "-", "color": ROLES["output"][0], "shrinkB": 8}
        axes.annotate(
            f"all {len(self.words)} outputs", center, (-112, -30), textcoords="offset points",
            color=ROLES["output"][0], arrowprops=pointer,
        )  # fmt: skip
        axes.set(xlabel="column 0", ylabel="column 1")
        return figure


def farthest(points: np.ndarray) -> float:
    """The largest distance between two of the points."""
    return float(np.linalg.norm(points[:, None] - points[None], axis=-1).max())


def scatter(axes: "Axes", points: np.ndarray, role: str, words: Sequence[str]) -> None:
    """Points in one scale on both axes, the word of each beside it; where two nearly meet, one word is lower."""
    color = ROLES[role][0]
    axes.scatter(points[:, 0], points[:, 1], s=26, color=color, zorder=6, linewidth=0, alpha=0.9)
    near = 0.08 * np.ptp(points, axis=0).max()
    for place, word in enumerate(words):
        meets = any(np.linalg.norm(points[place] - other) < near for other in points[:place])
        paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5}
        look: dict[str, Any] = {"textcoords": "offset points", "color": color, "bbox": paper, "zorder": 3}
        axes.annotate(word, points[place], (7, -13 if meets else -3), **look)
    axes.set_aspect("equal", adjustable="datalim")

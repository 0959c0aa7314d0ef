"""Keys and queries of width 2 in a plane."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shared.colours import ROLES
from shared.figures.chart import STYLE
from shared.figures.picture import matrix_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 4.2  # inches


def key_plane(keys, queries, names: Sequence[str], inside: bool = False) -> "Figure":
    """Draw keys of width 2 as points with their names, and each query as an arrow of the same
    length from the origin.

    Args:
        keys, queries: (names, 2) each; query number i belongs to names[i].
        inside: draw the keys' polygon, too, and a key inside it, marked with a question mark.
    """
    import matplotlib.pyplot as plt

    points, arrows = matrix_of(keys, "keys"), matrix_of(queries, "queries")
    radius = np.linalg.norm(points, axis=1).max()
    tips = 0.62 * radius * arrows / np.linalg.norm(arrows, axis=1, keepdims=True)  # (names, 2)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(WIDTH, WIDTH))
        axes.quiver(
            *np.zeros_like(tips).T,
            *tips.T,
            color=ROLES["query"][0],
            angles="xy",
            scale_units="xy",
            scale=1,
        )
        axes.scatter(*points.T, color=ROLES["key"][0], zorder=3)
        for name, (x, y) in zip(names, points, strict=True):
            beyond = 1 + 0.17 * radius / np.hypot(x, y)
            axes.text(beyond * x, beyond * y, name, ha="center", va="center", color=ROLES["key"][0])
        if inside:
            corners = points[np.argsort(np.arctan2(*points.T))]
            axes.fill(*corners.T, fill=False, edgecolor=ROLES["key"][0], linewidth=1, linestyle=":")
            between = 0.36 * (corners[0] + corners[1])  # an edge's middle, moved towards the origin
            axes.scatter(*between, color="white", edgecolor=ROLES["key"][0], zorder=3)
            axes.annotate("?", between, (4, 4), textcoords="offset points", color=ROLES["key"][0])
        limits = (-1.35 * radius, 1.35 * radius)
        axes.set(xlim=limits, ylim=limits, aspect="equal", xlabel="column 0", ylabel="column 1")
    return figure

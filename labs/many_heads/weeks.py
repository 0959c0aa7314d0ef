"""Weeks as points of a plane, (warmest day, coldest day), and the line that comes closest to them."""

from collections.abc import Mapping

import matplotlib
import torch
from matplotlib.figure import Figure
from torch import Tensor

from shared import figures

LOOKS = ("input", 0.4), ("key", 0.5), ("query", 1.0)  # the color and opacity of each cloud, in the order of drawing
DRAWN = 500  # points of a cloud: of 2,000, a page would become four times as heavy, and a picture no clearer


def best_line(points: Tensor) -> tuple[Tensor, float]:
    """The line with the smallest squared distance from the points (points, 2).

    Returns two points of it, (2, 2), and the fraction of the variance that it leaves unexplained.
    """
    center = points.mean(dim=0)  # (2,)
    _, lengths, directions = torch.linalg.svd(points - center, full_matrices=False)  # (2,), (2, 2)
    ends = center + torch.tensor([[-0.55], [0.55]]) * directions[0]  # (2, 2)
    return ends, (lengths[1] ** 2 / (lengths**2).sum()).item()


def dots(points: Tensor) -> Tensor:
    """Points (points, 2) as one line of strokes that are too short to be seen as such, (3 points, 2): a tenth of the
    letters that as many circles take.
    """
    end = points + torch.tensor([1e-3, 0.0])
    return torch.stack([points, end, torch.full_like(points, torch.nan)], dim=1).flatten(0, 1)


def picture(clouds: Mapping[str, Tensor], line: Tensor | None = None) -> figures.Plot:
    """Clouds of points by their names, each (points, 2), and a line between two points, (2, 2).

    Drawn are the first 500 points of each; what is said of a cloud is said of all.
    """
    labels, words = [], []
    with matplotlib.rc_context(figures.STYLE | {"path.simplify": False, "lines.solid_capstyle": "round"}):
        figure = Figure(figsize=(4.2, 4.2))
        axes = figure.subplots()
        axes.set(xlabel="warmest day", ylabel="coldest day", xlim=(-0.35, 1.15), ylim=(-1.15, 0.35))
        for (name, points), (role, opacity) in zip(clouds.items(), LOOKS, strict=False):
            labels.append((name, figures.ROLES[role][0]))
            axes.plot(*dots(points[:DRAWN]).T, color=labels[-1][1], alpha=opacity, linewidth=1.9)
            across = best_line(points)[1]
            spread = f"spread over the plane, {across:.2f} of the variance across their own best line"
            words.append(f"{name}, {'all on one line' if across < 1e-6 else spread}")
        if line is not None:
            labels.append(("the best line", figures.ROLES["output"][0]))
            axes.plot(line[:, 0], line[:, 1], color=labels[-1][1])
            words.append("a line through them")
        for place, (name, color) in enumerate(labels):
            axes.text(0.04, 0.94 - 0.07 * place, name, color=color, transform=axes.transAxes)
    return figures.Plot(figure, f"Points, the warmest day to the right and the coldest upwards: {'; '.join(words)}.")

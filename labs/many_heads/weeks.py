"""Weeks as points of a plane, (warmest day, coldest day), and the line that comes closest to them."""

from collections.abc import Mapping

import matplotlib
import torch
from matplotlib.figure import Figure
from torch import Tensor

from shared import figures

LOOKS = ("input", 0.35), ("key", 0.9), ("query", 0.9)  # the color and opacity of each cloud, in the order of drawing
DRAWN, JOINED = 200, 25  # points of a cloud, so that each is seen; how many of them have a line to where they belong


def best_line(points: Tensor) -> tuple[Tensor, float]:
    """The line with the smallest squared distance from the points (points, 2).

    Returns two points of it, (2, 2), and the fraction of the variance that it leaves unexplained.
    """
    center = points.mean(dim=0)  # (2,)
    _, lengths, directions = torch.linalg.svd(points - center, full_matrices=False)  # (2,), (2, 2)
    ends = center + torch.tensor([[-0.5], [0.5]]) * directions[0]  # (2, 2)
    return ends, (lengths[1] ** 2 / (lengths**2).sum()).item()


def dots(points: Tensor) -> Tensor:
    """Points (points, 2) as one line of strokes that are too short to be seen as such, (3 points, 2): a tenth of the
    letters that as many circles take.
    """
    end = points + torch.tensor([1e-3, 0.0])
    return torch.stack([points, end, torch.full_like(points, torch.nan)], dim=1).flatten(0, 1)


def nearest(points: Tensor, line: Tensor) -> Tensor:
    """The point of a line, given by two of its points (2, 2), that is nearest to each point, (points, 2)."""
    along = (line[1] - line[0]) / (line[1] - line[0]).norm()  # (2,)
    return line[0] + ((points - line[0]) @ along)[:, None] * along


def picture(
    clouds: Mapping[str, Tensor], title: str, line: Tensor | None = None, ends: Tensor | None = None
) -> figures.Plot:
    """Clouds of points by their names, each (points, 2), and a line between two points, (2, 2).

    Hairlines lead from some points of the first cloud to `ends`, (points, 2), or to the line. Drawn are the first 200
    points of each cloud; what is said of a cloud is said of all.
    """
    first, labels, words = next(iter(clouds.values())), [], []
    with matplotlib.rc_context(figures.STYLE | {"path.simplify": False, "lines.solid_capstyle": "round"}):
        figure = Figure(figsize=(4.2, 4.9))
        axes = figure.subplots()
        axes.set(xlabel="warmest day", ylabel="coldest day", xlim=(-0.35, 1.15), ylim=(-1.15, 0.5), aspect="equal")
        axes.set_title(title, fontweight="bold")
        for (name, points), (role, opacity) in zip(clouds.items(), LOOKS, strict=False):
            color, across = figures.ROLES[role][0], best_line(points)[1]
            axes.plot(*dots(points[:DRAWN]).T, color=color, alpha=opacity, linewidth=2.6, snap=False)
            if across < 1e-6:  # its name is at its upper end
                x, y = points[points[:DRAWN, 1].argmax()].tolist()
                side = "left" if x < 0.6 else "right"
                axes.text(x + (0.03 if side == "left" else -0.03), y, name, color=color, ha=side)
                words.append(f"{name}, all on one line")
            else:
                labels.append((name, color))
                words.append(f"{name}, spread over the plane, {across:.2f} of the variance across their own best line")
        if line is not None:
            ends, around = nearest(first, line), first - first.mean(dim=0)
            unexplained = ((first - ends) ** 2).sum() / (around**2).sum()
            labels.append((f"the closest line: {unexplained:.2f} unexplained", figures.ROLES["output"][0]))
            axes.plot(line[:, 0], line[:, 1], color=labels[-1][1])
            words.append(f"{labels[-1][0]}, with the distances of {JOINED} weeks")
        if ends is not None:
            hairs = torch.stack([first, ends, torch.full_like(first, torch.nan)], dim=1)[:JOINED].flatten(0, 1)
            axes.plot(*hairs.T, color=figures.ROLES["input"][0], linewidth=0.7, zorder=1)
        for place, (name, color) in enumerate(labels):
            axes.text(0.04, 0.94 - 0.065 * place, name, color=color, transform=axes.transAxes)
    return figures.Plot(figure, f"{title}. The warmest day to the right, the coldest upwards: {'; '.join(words)}.")

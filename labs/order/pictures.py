"""What *Order* draws, and what it compares with: the café around its table, the filling triangle, a rule, one head."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from shared import cafe, figures
from shared.colours import ROLES
from shared.figures.chart import GRID, MUTED, WIDTH, Chart, bare_axes
from shared.model import MultiHeadSelfAttention

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOUR = ROLES["weight"][0]


def table(cafes: cafe.Cafes, **picture) -> figures.Cafe:
    """The first café around its table, chairs clockwise, with what `figures.Cafe` takes besides."""
    names, drinks = cafes.names[0].tolist(), cafes.drinks[0].tolist()
    return figures.Cafe([cafe.NAMES[name] for name in names], [cafe.DRINKS[drink] for drink in drinks], **picture)


def counting_rule(cafes: cafe.Cafes) -> Tensor:
    """The most frequent drink among the seven other guests, (cafes, guests)."""
    drinks = one_hot(cafes.drinks, len(cafe.DRINKS))  # (cafes, guests, drinks)
    return (drinks.sum(dim=1, keepdim=True) - drinks).argmax(dim=2)


def as_one_head(layer: Any) -> MultiHeadSelfAttention:
    """The course's layer with a single head and the parameters of a layer without biases, d_model = d_k = d_v."""
    course = MultiHeadSelfAttention(layer.W_query.in_features, 1)
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value", "W_output"):
            linear = getattr(course, name)
            nn.init.zeros_(linear.bias)
            nn.init.eye_(linear.weight) if name == "W_output" else linear.weight.copy_(getattr(layer, name).weight)
    return course


@dataclass(frozen=True, repr=False, eq=False)
class Filling(Chart):
    """The lower triangle as time goes on: a small square of tiles for each word that comes in."""

    words: Sequence[str]

    @cached_property
    def panels(self) -> list[list[tuple[int, int, bool]]]:
        """For each word the filled tiles so far: row, column, and whether the tile is new."""
        count = len(self.words)
        return [[(i, j, i == now) for i in range(now + 1) for j in range(i + 1)] for now in range(count)]

    @property
    def alt(self) -> str:
        rows = [f"{word}: {', '.join(self.words[: now + 1])}" for now, word in enumerate(self.words)]
        return f"A triangle of tiles fills row by row, one row for each word. It attends to, {'; '.join(rows)}."

    def figure(self) -> "Figure":
        from matplotlib.patches import Rectangle

        count = len(self.words)
        gap = 10
        cell = (WIDTH - gap * (count - 1) - 2) / count**2
        figure, axes = bare_axes(WIDTH, cell * count + 24)
        for now, tiles in enumerate(self.panels):
            left = 1 + now * (cell * count + gap)
            axes.text(left + cell * count / 2, 13, self.words[now], ha="center", fontsize=11, color=MUTED)
            for i in range(count):
                for j in range(count):
                    look: dict[str, Any] = {"facecolor": "none", "edgecolor": GRID, "linewidth": 0.8}
                    axes.add_patch(Rectangle((left + cell * j, 20 + cell * i), cell - 1.5, cell - 1.5, **look))
            for i, j, new in tiles:
                look = {"facecolor": COLOUR, "linewidth": 0, "alpha": 1 if new else 0.35}
                axes.add_patch(Rectangle((left + cell * j, 20 + cell * i), cell - 1.5, cell - 1.5, **look))
        return figure

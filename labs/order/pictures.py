"""What *Order* draws, and what it compares with: the table, clocks, the filling triangle; a rule, one head."""

import math
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOUR = ROLES["weight"][0]


@dataclass(frozen=True, repr=False, eq=False)
class Table(figures.Cafe):
    """A café whose guests face a table, with the number of each chair at its edge."""

    @property
    def alt(self) -> str:
        return f"{super().alt} All face the table in the middle; chairs are counted clockwise from 0."

    def draw(self, axes: "Axes", left: float = 0) -> None:
        from matplotlib.patches import Circle

        count = len(self.guests)
        x, y = sum(guest.x for guest in self.guests) / count, sum(guest.y for guest in self.guests) / count
        axes.add_patch(Circle((left + x, y), 62, facecolor=GRID, alpha=0.4, linewidth=0))
        axes.text(left + x, y + 4, "table", ha="center", color=MUTED)
        for chair, guest in enumerate(self.guests):
            near = 50 / math.hypot(guest.x - x, guest.y - y)
            at = left + x + near * (guest.x - x), y + near * (guest.y - y) + 4
            axes.text(*at, str(chair), ha="center", fontsize=11, gid=f"part:chair-{chair}")
        super().draw(axes, left)


def table(cafes: cafe.Cafes, **picture) -> Table:
    """The first café around its table, chairs clockwise, with what `figures.Cafe` takes besides."""
    names, drinks = cafes.names[0].tolist(), cafes.drinks[0].tolist()
    return Table([cafe.NAMES[name] for name in names], [cafe.DRINKS[drink] for drink in drinks], **picture)


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
        gap, per_row = 24, 3
        cell = (WIDTH - gap * (per_row - 1) - 2) / (per_row * count)
        high, rows = cell * count + 38, -(-count // per_row)
        figure, axes = bare_axes(WIDTH, high * rows + 44)

        def tile(x: float, y: float, **look: Any) -> None:
            axes.add_patch(Rectangle((x, y), cell - 1.5, cell - 1.5, **look))

        for now, tiles in enumerate(self.panels):
            left, top = 1 + now % per_row * (cell * count + gap), now // per_row * high + 22
            axes.text(left, top - 8, f"… {self.words[now]}" if now else self.words[now], fontweight="bold")
            for i in range(count):
                for j in range(count):
                    tile(left + cell * j, top + cell * i, facecolor="none", edgecolor=GRID, linewidth=0.8)
            for i, j, new in tiles:
                tile(left + cell * j, top + cell * i, facecolor=COLOUR, linewidth=0, alpha=1 if new else 0.35)
        bottom = high * rows
        axes.text(2, bottom + 6, "rows: queries, columns: keys", color=MUTED, fontsize=11)
        for x, alpha, meaning in ((2, 1, "new row"), (100, 0.35, "as before")):
            look: dict[str, Any] = {"facecolor": COLOUR, "alpha": alpha, "linewidth": 0, "gid": "part:key"}
            axes.add_patch(Rectangle((x, bottom + 18), 12, 12, **look))
            axes.text(x + 18, bottom + 28, meaning, fontsize=11)
        return figure


@dataclass(frozen=True, repr=False, eq=False)
class Clocks(Chart):
    """Positions as clocks: a sine and the cosine next to it are a hand, which begins at twelve and turns to the right.

    Args:
        encoding: (chairs, columns); sines in the even columns, cosines in the odd ones.
        pairs: which pairs of columns are drawn, a row each; 0 is the first.
    """

    encoding: Tensor
    pairs: Sequence[int]

    @cached_property
    def hands(self) -> list[list[tuple[float, float]]]:
        """For each pair the tip of the hand at each chair: to the right, and up."""
        return [[tuple(tip) for tip in self.encoding[:, 2 * k : 2 * k + 2].tolist()] for k in self.pairs]

    @property
    def alt(self) -> str:
        turns = []
        for pair, tips in zip(self.pairs, self.hands, strict=True):
            first, second = (math.atan2(*tip) for tip in tips[:2])
            turns.append(f"columns {2 * pair} and {2 * pair + 1}, {math.degrees(second - first) % 360:.1f} degrees")
        return (
            f"A row of clocks for each pair of columns, one for each of {len(self.encoding)} chairs. "
            f"From chair to chair the hand turns by: {'; '.join(turns)}."
        )

    def figure(self) -> "Figure":
        from matplotlib.patches import Circle

        left, top, line = 56, 44, 34
        step = (WIDTH - left - 2) / len(self.encoding)
        radius = step / 2 - 2
        figure, axes = bare_axes(WIDTH, top + line * len(self.hands) + 2)
        axes.text(left - 10, 14, "columns", ha="right", fontsize=11, color=MUTED)
        axes.text(left + 2, 14, "chair", fontsize=11, color=MUTED)
        for chair in range(len(self.encoding)):
            axes.text(left + step * (chair + 0.5), 34, str(chair), ha="center", fontsize=11)
        for row, (pair, tips) in enumerate(zip(self.pairs, self.hands, strict=True)):
            y = top + line * (row + 0.5)
            axes.text(left - 10, y + 4, f"{2 * pair}, {2 * pair + 1}", ha="right", fontsize=11)
            for chair, (right, up) in enumerate(tips):
                x = left + step * (chair + 0.5)
                axes.add_patch(Circle((x, y), radius, facecolor="none", edgecolor=MUTED, linewidth=1))
                tip = [x, x + 0.85 * radius * right], [y, y - 0.85 * radius * up]
                axes.plot(*tip, color=ROLES["input"][0], linewidth=2.4, solid_capstyle="round", gid="part:hand")
        return figure

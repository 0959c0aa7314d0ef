"""What *Two sequences* draws besides the street: three kinds of Transformer as masks, and a digit's patches."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from shared import figures
from shared.colours import ROLES
from shared.figures.cafe import short
from shared.figures.chart import GRID, INK, MUTED, WIDTH, Chart, bare_axes
from shared.model import causal_mask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAP, TOP, LETTERS = 22, 40, 11  # pixels: between squares, above them, of a letter
SIDE = 232  # pixels of a digit
COLOURS = ROLES["weight"][0], ROLES["query"][0]  # within a sequence, from one to the other


@dataclass(frozen=True, repr=False, eq=False)
class Families(Chart):
    """Which token attends to which in the three kinds of Transformer: rows are queries, columns keys."""

    reads: int = 4
    writes: int = 3

    @cached_property
    def panels(self) -> dict[str, Tensor]:
        """Each kind's tiles: 0 is self-attention, 1 cross-attention, -1 nothing."""
        n, m = self.writes, self.reads
        both = -torch.ones(m + n, m + n)
        both[:m, :m] = 0
        both[m:, :m] = 1
        both[m:, m:] = causal_mask(n).float() - 1
        return {
            "encoder": torch.zeros(m, m),
            "decoder": causal_mask(m).float() - 1,
            "encoder-decoder": both,
        }

    @property
    def alt(self) -> str:
        return (
            f"Three squares of tiles, rows for queries and columns for keys. Encoder: all {self.reads} tokens attend "
            f"to all. Decoder: a lower triangle, each token attends to itself and to earlier ones. Encoder-decoder: "
            f"the {self.reads} tokens that are read attend to each other; the {self.writes} that are written attend to "
            "all of those, which is cross-attention, and to themselves and earlier ones of their own."
        )

    def figure(self) -> "Figure":
        from matplotlib.patches import Rectangle

        sizes = [len(panel) for panel in self.panels.values()]
        cell = (WIDTH - GAP * (len(sizes) - 1) - 2) / sum(sizes)
        bottom = TOP + cell * max(sizes)
        figure, axes = bare_axes(WIDTH, bottom + 44)
        axes.text(2, bottom + 18, "rows: queries, columns: keys", color=MUTED, fontsize=LETTERS)
        for x, colour, name in ((2, COLOURS[0], "self-attention"), (120, COLOURS[1], "cross-attention")):
            axes.add_patch(Rectangle((x, bottom + 28), 12, 12, facecolor=colour, linewidth=0, gid="part:key"))
            axes.text(x + 18, bottom + 38, name, fontsize=LETTERS)
        left = 1.0
        for name, panel in self.panels.items():
            axes.text(left + cell * len(panel) / 2, 14, name, ha="center", fontsize=11, color=MUTED)
            for row, column in torch.cartesian_prod(*[torch.arange(len(panel))] * 2).tolist():
                kind = int(panel[row, column])
                look: dict[str, Any] = {"facecolor": "none", "edgecolor": GRID, "linewidth": 0.8}
                if kind >= 0:
                    look = {"facecolor": COLOURS[kind], "linewidth": 0}
                axes.add_patch(Rectangle((left + cell * column, TOP + cell * row), cell - 1.5, cell - 1.5, **look))
            left += cell * len(panel) + GAP
        start = 0
        for name, count in (("read", self.reads), ("written", self.writes)):
            middle = cell * (start + count / 2)  # of both its columns and its rows in the last square
            look = {"ha": "center", "fontsize": LETTERS}
            axes.text(WIDTH - 1 - cell * sizes[-1] + middle, TOP - 6, name, **look)
            axes.text(WIDTH - 1 - cell * sizes[-1] - 8, TOP + middle, name, rotation=90, va="center", **look)
            start += count
        return figure


def alignment(weights: Tensor, digits: Tensor, words: Sequence[str], source: Tensor) -> figures.HeatMap:
    """Which word is read, (words,), for which digit of a date, (8,): weights (8, words), and a ring at each source."""
    parts = ("year ", "", "", "", "month ", "", "day ", "")
    rows = [part + str(digit) for part, digit in zip(parts, digits.tolist(), strict=True)]
    title = "The year comes first, from the last\nwords (ring: the word of the digit)"
    return figures.HeatMap(weights, "written", "read", rows, words, rings=list(enumerate(source.tolist())), title=title)


@dataclass(frozen=True, repr=False, eq=False)
class Patches(Chart):
    """A picture in gray, and the weights of its patches as numbers in their corners and as frames, as thick as they are
    large.

    Args:
        pixels: (height, width), from 0 to 1.
        weights: (rows, columns) of patches.
    """

    pixels: Tensor
    weights: Tensor
    title: str

    @property
    def alt(self) -> str:
        rows = "; ".join(", ".join(map(short, row)) for row in self.weights.tolist())
        return f"{self.title}. Weights of the patches, row by row: {rows}."

    def figure(self) -> "Figure":
        from matplotlib.patches import Rectangle

        cell, patch = SIDE / len(self.pixels), SIDE / len(self.weights)
        left, top = (WIDTH - SIDE) / 2, 26
        figure, axes = bare_axes(WIDTH, top + SIDE + 4, self.title)
        for (row, column), ink in np.ndenumerate(self.pixels.numpy()):
            at = left + cell * column, top + cell * row
            axes.add_patch(Rectangle(at, cell, cell, facecolor=ROLES["input"][0], alpha=0.4 * float(ink), linewidth=0))
        for (row, column), weight in np.ndenumerate(self.weights.numpy()):
            thick = 0.8 + 20 * float(weight)
            inside = thick / 2 + 1  # frames don't touch
            at = left + patch * column + inside, top + patch * row + inside
            look: dict[str, Any] = {"edgecolor": COLOURS[0], "linewidth": thick, "gid": "part:of-patch"}
            axes.add_patch(Rectangle(at, *[patch - 2 * inside] * 2, facecolor="none", joinstyle="miter", **look))
            corner = at[0] + inside + 4, at[1] + inside + 14
            axes.text(*corner, short(float(weight)), fontsize=LETTERS, color=INK)
        return figure

"""What *Two sequences* draws besides the street: encoder, decoder and encoder-decoder as masks."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from shared.colours import ROLES
from shared.figures.chart import GRID, MUTED, WIDTH, Chart, bare_axes
from shared.model import causal_mask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAP, TOP = 22, 24  # pixels
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
        figure, axes = bare_axes(WIDTH, TOP + cell * max(sizes) + 2)
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
        return figure

"""A picture of *When in doubt*: one row of weights as a column of height 1, before and after a word is added."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import ROLES
from shared.figures.cafe import short
from shared.figures.chart import INK, PAPER, WIDTH, Chart, bare_axes
from shared.figures.picture import numbers, words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP, HEIGHT, COLUMN = 46, 250, 30  # pixels; the height is a weight of 1
LEFT = (94, WIDTH - 102 - COLUMN)  # of the two columns
ROOM = 14  # pixels that a label needs
LEAST = 0.01  # smaller weights have no label


@dataclass(frozen=True, repr=False, eq=False)
class Shares(Chart):
    """Two columns of weights, and between them what each word keeps.

    Args:
        words: the words; the last one is new.
        before, after: their weights, (words - 1,) and (words,), each with the sum 1.
        asking: the word whose query it is.
    """

    words: Sequence[str]
    before: Any
    after: Any
    asking: str

    @cached_property
    def parts(self) -> list[list[tuple[float, float]]]:
        """What is drawn: for each column, from where to where each word's weight reaches, from 0 to 1."""
        found = []
        for weights, count in ((self.before, len(self.words) - 1), (self.after, len(self.words))):
            words_of(self.words[:count], "weights", len(weights))
            ends = np.cumsum(numbers(weights, "weights"))
            if abs(ends[-1] - 1) > 1e-3:
                raise ValueError(f"Weights sum to 1, these to {ends[-1]:.3f}.")
            found.append(list(zip([0.0, *ends[:-1].tolist()], ends.tolist(), strict=True)))
        return found

    @property
    def alt(self) -> str:
        sides = []
        for name, column in zip(("before", "after"), self.parts, strict=True):
            listed = [f"{word} {end - start:.3f}" for word, (start, end) in zip(self.words, column, strict=False)]
            sides.append(f"{name}: {', '.join(listed)}")
        columns = f"The weights of “{self.asking}”: two columns of height 1, divided by the weights."
        return f"{columns} {'; '.join(sides)}. The last word is new."

    def figure(self) -> "Figure":
        from matplotlib.patches import Polygon, Rectangle

        title = f"What “{self.asking[:12]}” attends to"
        figure, axes = bare_axes(WIDTH, TOP + HEIGHT + 12, title)
        old, new, color = *self.parts, ROLES["weight"][0]
        for (start, end), (new_start, new_end) in zip(old, new, strict=False):
            corners = [(LEFT[0] + COLUMN, start), (LEFT[0] + COLUMN, end), (LEFT[1], new_end), (LEFT[1], new_start)]
            corners = [(x, TOP + HEIGHT * y) for x, y in corners]
            axes.add_patch(Polygon(corners, facecolor=color, alpha=0.25, edgecolor=PAPER, linewidth=0.5))
        for side, column in enumerate(self.parts):
            axes.text(LEFT[side] + COLUMN / 2, TOP - 7, ("before", "after")[side], ha="center")
            free = TOP + 4.0  # where the next label may be
            for word, (start, end) in zip(self.words, column, strict=False):
                newcomer = side == 1 and end == column[-1][1]
                look: dict[str, Any] = {"facecolor": color, "edgecolor": PAPER, "alpha": 0.45 if newcomer else 0.75}
                size = HEIGHT * (end - start)
                axes.add_patch(Rectangle((LEFT[side], TOP + HEIGHT * start), COLUMN, size, **look))
                if end - start >= LEAST:
                    shown = f"{word[:11]}{' (new)' * newcomer} {short(end - start)}"
                    at, align = (LEFT[1] + COLUMN + 6, "left") if side else (LEFT[0] - 6, "right")
                    free = max(free, TOP + HEIGHT * (start + end) / 2 + 4)
                    axes.text(at, free, shown, ha=align, color=INK, fontsize=11)
                    free += ROOM
        return figure

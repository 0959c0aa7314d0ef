"""A picture of *When in doubt*: the scores of one word, with their signs, beside the weights that they become."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import ROLES, below_zero
from shared.figures.chart import GRID, WIDTH, Chart, bare_axes
from shared.figures.picture import numbers, words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP, LINE, BAR = 46, 25, 13  # pixels: the two headings, a word, a bar
NUMBERS, SCORES, WEIGHTS = (
    126,
    (134, 196),
    (210, 256),
)  # where scores end, and from where to where bars reach, in pixels


@dataclass(frozen=True, repr=False, eq=False)
class OneRow(Chart):
    """Words from top to bottom, each with a bar for its score, to the left if it's negative, and one for its weight.

    Args:
        words: the words.
        scores, weights: (words,), of one query.
        asking: the index of the word whose query it is.
    """

    words: Sequence[str]
    scores: Any
    weights: Any
    asking: int

    @cached_property
    def rows(self) -> list[tuple[str, float, float]]:
        """What is drawn, from top to bottom: word, score, weight."""
        words = words_of(self.words, "scores", len(self.scores))
        columns = numbers(self.scores, "scores"), numbers(self.weights, "weights")
        return [(word, float(score), float(weight)) for word, score, weight in zip(words, *columns, strict=True)]

    @property
    def alt(self) -> str:
        listed = "; ".join(f"{word} {signed(score)}, {small(weight)}" for word, score, weight in self.rows)
        return f"The row of “{self.words[self.asking]}”: of each word its score, and its weight. {listed}."

    def figure(self) -> "Figure":
        from matplotlib.patches import Rectangle

        title = f"The query of “{self.words[self.asking][:14]}” with every key"
        figure, axes = bare_axes(WIDTH, TOP + LINE * len(self.rows) + 6, title)
        found = np.array([score for _, score, _ in self.rows])
        low, high = min(found.min(), 0), max(found.max(), 0)
        scale = (SCORES[1] - SCORES[0]) / ((high - low) or 1)
        zero = SCORES[0] - scale * low
        for begin, name, line in ((NUMBERS - 30, "score", zero), (WEIGHTS[0], "weight", WEIGHTS[0])):
            axes.text(begin, TOP - 8, name, color=ROLES[name][0])
            axes.plot([line, line], [TOP - 2, TOP + LINE * len(self.rows)], color=GRID, linewidth=1)
        for place, (word, score, weight) in enumerate(self.rows):
            y, asked = TOP + LINE * place, place == self.asking
            look: dict[str, Any] = {"color": ROLES["query"][0], "fontweight": "bold"} if asked else {}
            axes.text(4, y + 15, word[:11], **look)
            role = "score" if score >= 0 else below_zero("score")
            bar = scale * score
            axes.add_patch(Rectangle((zero + min(bar, 0), y + 4), abs(bar), BAR, color=ROLES[role][0], linewidth=0))
            axes.text(NUMBERS, y + 15, signed(score), ha="right", fontsize=11)
            long = (WEIGHTS[1] - WEIGHTS[0]) * weight
            axes.add_patch(Rectangle((WEIGHTS[0], y + 4), long, BAR, color=ROLES["weight"][0], linewidth=0))
            axes.text(WEIGHTS[0] + long + 4, y + 15, small(weight), fontsize=11)
        return figure


def signed(score: float) -> str:
    """A score with two decimals and a minus sign."""
    return f"{score:.2f}".replace("-", "−")


def small(weight: float) -> str:
    """A weight with two decimals, or as many as its first digit needs, ".00004"."""
    decimals = max(2, math.ceil(-math.log10(weight))) if weight > 0 else 2
    return f"{weight:.{decimals}f}".removeprefix("0") if decimals <= 6 else "below .000001"

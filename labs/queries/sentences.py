"""A picture of *Queries*: what one word attends to, in sentences below one another."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shared.colours import ROLES
from shared.figures.cafe import short
from shared.figures.chart import WIDTH, Chart, bare_axes
from shared.figures.picture import numbers, words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE, ABOVE = 84, 50  # pixels: a sentence with its arrows, and the room for these


@dataclass(frozen=True, repr=False, eq=False)
class Sentences(Chart):
    """Sentences below one another; above each, an arrow from a word to every word that it attends to.

    Args:
        weights: sentence -> (words,), the weights of the word.
        asking: the word, which occurs once in each sentence.
        least: smaller weights have no arrow.
    """

    weights: Mapping[str, Any]
    asking: str
    least: float = 0.05

    @cached_property
    def arrows(self) -> list[list[tuple[int, float]]]:
        """What is drawn above each sentence: the index of a word, and its weight."""
        found = []
        for sentence, given in self.weights.items():
            words_of(sentence.split(), "weights", len(given))
            weights = enumerate(numbers(given, "weights").tolist())
            found.append([(place, weight) for place, weight in weights if weight >= self.least])
        return found

    @property
    def alt(self) -> str:
        lines = []
        for sentence, arrows in zip(self.weights, self.arrows, strict=True):
            to = ", ".join(f"{sentence.split()[place]} {short(weight)}" for place, weight in arrows)
            lines.append(f"In “{sentence}”, {self.asking} attends to {to}.")
        return " ".join(lines)

    def figure(self) -> "Figure":
        figure, axes = bare_axes(WIDTH, LINE * len(self.weights))
        for number, (sentence, arrows) in enumerate(zip(self.weights, self.arrows, strict=True)):
            words, base = sentence.split(), LINE * number + ABOVE
            at = [WIDTH * (place + 0.5) / len(words) for place in range(len(words))]
            asking = words.index(self.asking)
            for place, word in enumerate(words):
                bold: dict[str, Any] = {"fontweight": "bold", "color": ROLES["query"][0]} if place == asking else {}
                axes.text(at[place], base + 14, word, ha="center", **bold)
            for place, weight in arrows:
                bend = -0.45 if at[place] < at[asking] else 0.45
                look: dict[str, Any] = {"color": ROLES["weight"][0], "lw": 0.8 + 3 * weight, "mutation_scale": 12}
                look |= {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={-bend}", "shrinkA": 0, "shrinkB": 0}
                axes.annotate("", (at[place], base - 1), (at[asking], base - 1), arrowprops=look)
                middle = (at[place] + at[asking]) / 2, base - 8 - 0.26 * abs(at[place] - at[asking])
                axes.text(*middle, short(weight), ha="center", color=ROLES["weight"][0])
        return figure

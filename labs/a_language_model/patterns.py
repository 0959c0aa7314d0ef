"""What the lab shows of a model: its tokens as they are spelled, and who attends to whom."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from shared import figures
from shared.cafe import DRINKS
from shared.figures.cafe import short
from shared.review_writer import TOKENIZER

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False, eq=False)
class NumberedArcs(figures.Arcs):
    """Arcs to earlier words, each with its weight beside it, at the left."""

    def figure(self) -> "Figure":
        from matplotlib.patches import PathPatch

        figure = super().figure()
        (axes,) = figure.axes
        for number in axes.texts[bool(self.title) + len(self.words) :]:  # at the right of the words
            number.remove()
        drawn = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
        weights = [weight for query, key, weight in self.arcs if query != key]
        places = [arc.get_path().get_extents() for arc in drawn]
        left = min((place.x0 for place in places), default=0) - 8  # of all arcs, so that none crosses a number
        for place, weight in zip(places, weights, strict=True):
            middle = (place.y0 + place.y1) / 2
            axes.text(left, middle + 4, short(weight), ha="right", color=figures.ROLES["weight"][0])
        return figure


@dataclass(frozen=True, repr=False, eq=False)
class ArcsOfDrinks(NumberedArcs):
    """The arcs of an evening that begin at a drink; those of names are left out."""

    @cached_property
    def arcs(self) -> list[tuple[int, int, float]]:
        return [arc for arc in super().arcs if self.words[arc[0]] in DRINKS]


def spelled(tokenizer: Tokenizer, text: str) -> list[str]:
    """The tokens of a text, with a visible space."""
    return [token.replace("Ġ", "␣") for token in tokenizer.encode(text).tokens]


def first_merges(count: int) -> list[str]:
    """The first pairs of tokens that the course's tokenizer merged, in their order."""
    pairs = json.loads(TOKENIZER.read_text("utf-8"))["model"]["merges"]
    return ["+".join(part.replace("Ġ", "␣") for part in pair) for pair in pairs[:count]]


@torch.no_grad()
def attention_patterns(model: Any, ids: Tensor) -> Tensor:
    """The attention weights of every block of one text, ids (tokens,): (blocks, heads, tokens, tokens).

    They are read where a block's attention returns them, whatever the model does with them.
    """
    weights: list[Tensor] = []
    hooks = [block.attention.register_forward_hook(lambda layer, given, out: weights.append(out[1][0]))
             for block in model.blocks]  # fmt: skip
    model(ids[None])
    for hook in hooks:
        hook.remove()
    return torch.stack(weights)

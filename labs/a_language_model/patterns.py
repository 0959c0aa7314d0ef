"""What the lab shows of a model: its tokens as they are spelled, and who attends to whom."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from shared import figures
from shared.cafe import DRINKS
from shared.review_writer import TOKENIZER


@dataclass(frozen=True, repr=False, eq=False)
class ArcsOfDrinks(figures.Arcs):
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

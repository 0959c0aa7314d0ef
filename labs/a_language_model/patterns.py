"""What the lab shows of a model: its tokens as they are spelled, and who attends to whom."""

import json
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from shared.review_writer import TOKENIZER


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

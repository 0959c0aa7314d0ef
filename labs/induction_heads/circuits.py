"""The two circuits of a head, read off its matrices without any text: what it looks for, and what it writes.

QK circuit: the scores of some queries with some keys. OV circuit: what a head adds to the residual stream where it
attends. Both are for a layer with one head, and vectors (rows, d_model) go in where a token's hidden state would.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from shared.model import MultiHeadSelfAttention


@torch.no_grad()
def looks_for(layer: MultiHeadSelfAttention, queries: Tensor, keys: Tensor, allowed: Tensor | None = None) -> Tensor:
    """The QK circuit: each query's scores, (queries, keys), less their mean; 0 where a key is not `allowed`.

    A softmax doesn't see a number that is added to all scores of a query, so only differences in a row count.
    """
    scores = layer.W_query(queries) @ layer.W_key(keys).T / layer.head_dim**0.5  # (queries, keys)
    allowed = torch.ones_like(scores, dtype=torch.bool) if allowed is None else allowed
    means = (scores * allowed).sum(dim=1, keepdim=True) / allowed.sum(dim=1, keepdim=True)  # (queries, 1)
    return (scores - means) * allowed


@torch.no_grad()
def writes(layer: MultiHeadSelfAttention, attended: Tensor) -> Tensor:
    """The OV circuit: what the head adds to a token that attends to nothing else, (attended, d_model); no biases."""
    return attended @ layer.W_value.weight.T @ layer.W_output.weight.T


def largest_on_the_diagonal(matrix: Tensor) -> int:
    """In how many rows the largest number is the one on the diagonal."""
    return int((matrix.argmax(dim=1) == torch.arange(len(matrix))).sum())


@torch.no_grad()
def with_pasted(model: nn.Module, layer: int, places: Tensor, ids: Tensor, other: Tensor) -> Tensor:
    """The model's logits for `ids`, (texts, tokens, letters), where one layer adds at some places what it adds in
    `other` texts of the same length.
    """
    added: list[Tensor] = []

    def keep(part: nn.Module, inputs: tuple, output: Tensor) -> None:
        added.append(output)

    def paste(part: nn.Module, inputs: tuple, output: Tensor) -> Tensor:
        return output.index_copy(1, places, added[0][:, places])  # (texts, tokens, d_model)

    run_with(model, layer, keep, other)
    return run_with(model, layer, paste, ids)


def run_with(model: nn.Module, layer: int, hook: Callable, ids: Tensor) -> Tensor:
    """The model's logits, while a hook reads or changes what one layer adds."""
    handle = model.layers[layer].W_output.register_forward_hook(hook)  # type: ignore[index, union-attr]
    try:
        return model(ids)[0]
    finally:
        handle.remove()

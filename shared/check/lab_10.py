"""The checks of lab 10: measuring maps, taking out a head, following the layers down.

References are written as loops; what computes the mistakes is written as a reader might write it.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .harness import Case, Exercise, Mistake, draw

FIND = "lab 10, “A search for heads”"
MISSED = "lab 10, “Who is missed?”"
BREADTH = "lab 10, “Exercise 10.1”"
ROLLOUT = "lab 10, “Exercise 10.3”"


def _maps(*shape: int, seed: int = 0) -> Tensor:
    return draw(*shape, seed=seed).mul(2).softmax(dim=-1)


def _with_zeros(maps: Tensor) -> Tensor:
    """The same without anything above the diagonal: a map in which most weights are exactly 0."""
    kept = maps.tril()
    return kept / kept.sum(dim=-1, keepdim=True)


# --- breadth -----------------------------------------------------------------------------------------------------


def _breadth(weights: Tensor) -> Tensor:
    breadths = []
    for rows in weights.reshape(-1, *weights.shape[-2:]).tolist():
        entropies = [-sum(a * math.log(a) for a in row if a > 0) for row in rows]
        breadths.append(sum(map(math.exp, entropies)) / len(rows))
    return torch.tensor(breadths, dtype=weights.dtype).reshape(weights.shape[:-2])


def _entropy(weights: Tensor, axis: int = -1) -> Tensor:
    return -torch.xlogy(weights, weights).sum(dim=axis)


breadth = Exercise(
    name="breadth",
    cases=lambda: [
        Case({"weights": _maps(2, 3, 4, 4)}),
        Case({"weights": _maps(5, 5, seed=1)}),
        Case({"weights": _with_zeros(_maps(3, 6, 6, seed=2))}),
    ],
    reference=_breadth,
    mistakes=[
        Mistake(
            "entropy over the wrong axis",
            "You take the entropy of the columns. The shares of one asking piece stand in a row: the last axis.",
            FIND,
            lambda weights: _entropy(weights, -2).exp().mean(dim=-1),
        ),
        Mistake(
            "NaN where a weight is zero",
            "A weight of exactly 0 gives 0 times minus infinity, which is NaN. A masked map is full of such weights.",
            BREADTH,
            lambda weights: (-(weights * weights.log()).sum(dim=-1)).exp().mean(dim=-1),
        ),
        Mistake(
            "no exponential",
            "This is the mean entropy. Its exponential is what counts pieces: an even row over four has breadth 4.",
            BREADTH,
            lambda weights: _entropy(weights).mean(dim=-1),
        ),
        Mistake(
            "exponential of the mean",
            "You average the entropies first and take the exponential then. Each row has a breadth of its own: the "
            "exponential of each row comes first, then the mean.",
            BREADTH,
            lambda weights: _entropy(weights).mean(dim=-1).exp(),
        ),
        Mistake(
            "the minus is missing",
            "Without the minus the breadth falls below 1, and no row looks at less than one piece.",
            BREADTH,
            lambda weights: (-_entropy(weights)).exp().mean(dim=-1),
        ),
        Mistake(
            "another base",
            "The entropy is in bits, with the logarithm to base 2, and the exponential to base e: the two do not undo "
            "each other. Use the natural logarithm.",
            BREADTH,
            lambda weights: (_entropy(weights) / math.log(2)).exp().mean(dim=-1),
        ),
        Mistake(
            "one over the sum of squares",
            "This counts pieces too, but in another way, by squares of weights. The exercise asks for the entropy's.",
            BREADTH,
            lambda weights: (1 / weights.square().sum(dim=-1)).mean(dim=-1),
        ),
        Mistake(
            "summed over the rows",
            "You sum over the rows, so long texts look broad. Take their mean.",
            BREADTH,
            lambda weights: _entropy(weights).exp().sum(dim=-1),
        ),
        Mistake(
            "one number for all maps",
            "You average over everything. Heads are to be compared, so each map needs a number of its own.",
            BREADTH,
            lambda weights: _entropy(weights).exp().mean(),
        ),
    ],
    tried="maps with two axes in front, one and none, one of them with weights of exactly 0",
)


# --- a head taken out --------------------------------------------------------------------------------------------


def _without_head(weight: Tensor, head: int, num_heads: int) -> Tensor:
    head_dim = weight.shape[1] // num_heads
    rows = [[0.0 if j // head_dim == head else w for j, w in enumerate(row)] for row in weight.tolist()]
    return torch.tensor(rows, dtype=weight.dtype)


def _emptied(choose: Callable) -> Callable:
    """A mistake that makes zero whatever `choose` picks of (row, column, head, num_heads, head_dim)."""

    def gives(weight: Tensor, head: int, num_heads: int) -> Tensor:
        row = torch.arange(len(weight))[:, None]
        picked = choose(row, row.T, head, num_heads, len(weight) // num_heads)
        return weight.masked_fill(picked.expand(weight.shape), 0)

    return gives


without_head = Exercise(
    name="without_head",
    cases=lambda: [
        Case({"weight": draw(12, 12), "head": 1, "num_heads": 3}),
        Case({"weight": draw(8, 8, seed=1), "head": 3, "num_heads": 4}),
        Case({"weight": draw(10, 10, seed=2), "head": 0, "num_heads": 2}),
    ],
    reference=_without_head,
    mistakes=[
        Mistake(
            "rows instead of columns",
            "You empty rows. nn.Linear keeps (outputs, inputs): a row makes one output feature of all heads, and the "
            "head's own features are inputs, so columns.",
            MISSED,
            _emptied(lambda row, column, head, num_heads, head_dim: row // head_dim == head),
        ),
        Mistake(
            "rows and columns",
            "You empty the head's columns, and rows as well. Rows make outputs, and other heads contribute to them.",
            MISSED,
            _emptied(lambda row, column, head, _, dim: (row // dim == head) | (column // dim == head)),
        ),
        Mistake(
            "every so-many-th column",
            "You empty columns that lie apart. A head owns neighbouring features: lab 7 cuts them into slices.",
            "lab 7, “Cut the features into heads”",
            _emptied(lambda row, column, head, num_heads, head_dim: column % num_heads == head),
        ),
        Mistake(
            "one column only",
            "You empty one column. A head owns head_dim of them.",
            MISSED,
            _emptied(lambda row, column, head, num_heads, head_dim: column == head),
        ),
        Mistake(
            "first column of the head only",
            "You empty the first column of the head. It owns head_dim of them.",
            MISSED,
            _emptied(lambda row, column, head, num_heads, head_dim: column == head * head_dim),
        ),
        Mistake(
            "counted from 1",
            "You take out the head before the one asked for. Heads are counted from 0.",
            FIND,
            _emptied(lambda row, column, head, num_heads, head_dim: column // head_dim == head - 1),
        ),
        Mistake(
            "slices of num_heads columns",
            "Your slice is num_heads wide. A head's width is embed_dim / num_heads.",
            "lab 7, “Cut the features into heads”",
            _emptied(lambda row, column, head, num_heads, head_dim: column // num_heads == head),
        ),
        Mistake(
            "all heads but this one",
            "You keep this head and take out all others.",
            MISSED,
            _emptied(lambda row, column, head, num_heads, head_dim: column // head_dim != head),
        ),
        Mistake(
            "only the block on the diagonal",
            "You empty a square block. The head's features go into every output, so all rows of its columns.",
            MISSED,
            _emptied(lambda row, column, head, _, dim: (row // dim == head) & (column // dim == head)),
        ),
        Mistake(
            "the columns cut away",
            "You cut the columns out, and the matrix no longer fits what the heads bring. Make them zero.",
            MISSED,
            lambda weight, head, num_heads: weight[:, torch.arange(len(weight)) // (len(weight) // num_heads) != head],
        ),
    ],
    tried="three matrices with 2, 3 and 4 heads",
)


# --- rollout -----------------------------------------------------------------------------------------------------


def _rollout(weights: Tensor) -> Tensor:
    layers, heads, n, _ = weights.shape
    mixed = [[float(i == j) for j in range(n)] for i in range(n)]
    for layer in weights.tolist():
        step = [[(sum(h[i][j] for h in layer) / heads + (i == j)) / 2 for j in range(n)] for i in range(n)]
        mixed = [[sum(step[i][k] * mixed[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    return torch.tensor(mixed, dtype=weights.dtype)


def _rolled(
    weights: Tensor,
    heads: Callable = lambda weights: weights.mean(dim=1),
    residual: Callable = lambda layer, identity: (layer + identity) / 2,
    multiply: Callable = lambda layer, mixed: layer @ mixed,
) -> Tensor:
    """The solution with one step exchanged."""
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype)
    mixed = identity
    for layer in heads(weights):
        mixed = multiply(residual(layer, identity), mixed)
    return mixed


rollout = Exercise(
    name="rollout",
    cases=lambda: [
        Case({"weights": _maps(3, 2, 4, 4)}),
        Case({"weights": _maps(2, 4, 5, 5, seed=1)}),
        Case({"weights": _maps(4, 1, 3, 3, seed=2)}),
    ],
    reference=_rollout,
    mistakes=[
        Mistake(
            "layers in the wrong order",
            "You multiply the first layer last. What a layer mixes is what the layer below gave, so each later map "
            "stands on the left.",
            ROLLOUT,
            lambda weights: _rolled(weights, multiply=lambda layer, mixed: mixed @ layer),
        ),
        Mistake(
            "no residual connection",
            "The residual connection is missing: half of what leaves a layer went past the attention.",
            "lab 8, “What the residual connection is for”",
            lambda weights: _rolled(weights, residual=lambda layer, identity: layer),
        ),
        Mistake(
            "the identity added, not averaged",
            "You add the identity matrix and do not halve the sum, so rows sum to 2 and more with every layer.",
            ROLLOUT,
            lambda weights: _rolled(weights, residual=lambda layer, identity: layer + identity),
        ),
        Mistake(
            "heads summed",
            "You sum the maps of the heads. Their mean is again a map whose rows sum to 1.",
            ROLLOUT,
            lambda weights: _rolled(weights, heads=lambda weights: weights.sum(dim=1)),
        ),
        Mistake(
            "the largest head",
            "You take the largest weight of any head. The exercise asks for the mean over the heads.",
            ROLLOUT,
            lambda weights: _rolled(weights, heads=lambda weights: weights.amax(dim=1)),
        ),
        Mistake(
            "layers averaged",
            "You average the layers. Each stands on the one below, so they are multiplied.",
            ROLLOUT,
            lambda weights: (weights.mean(dim=(0, 1)) + torch.eye(weights.shape[-1], dtype=weights.dtype)) / 2,
        ),
        Mistake(
            "element by element",
            "You multiply the maps number by number. Mixtures of mixtures are a matrix product, `@`.",
            ROLLOUT,
            lambda weights: _times_each(weights),
        ),
        Mistake(
            "the maps turned",
            "Your maps are transposed: rows ask, columns answer, and rows sum to 1.",
            "lab 10, “Words instead of pieces”",
            lambda weights: _rolled(weights.transpose(-2, -1)),
        ),
        Mistake(
            "the result turned",
            "Your result is transposed: its rows are the last layer's pieces, its columns the words that went in.",
            ROLLOUT,
            lambda weights: _rolled(weights).T,
        ),
        Mistake(
            "the last layer only",
            "This is the last layer alone. Follow the mixing through all of them.",
            ROLLOUT,
            lambda weights: _rolled(weights[-1:]),
        ),
        Mistake(
            "the first layer left out",
            "One layer is missing at the bottom. Start from the identity matrix and go through all layers.",
            ROLLOUT,
            lambda weights: _rolled(weights[1:]),
        ),
    ],
    tried="three texts with 2, 3 and 4 layers",
)


def _times_each(weights: Tensor) -> Tensor:
    layers = (weights.mean(dim=1) + torch.eye(weights.shape[-1], dtype=weights.dtype)) / 2
    return layers.prod(dim=0)

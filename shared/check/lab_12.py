"""The check of lab 12: a measure of maps."""

import math

import torch
from torch import Tensor

from .compare import also_numpy
from .exercise import Case, Exercise, draw
from .mistakes import edits


def maps(*shape: int, seed: int = 0) -> Tensor:
    return draw(*shape, seed=seed).mul(2).softmax(dim=-1)


def with_zeros(weights: Tensor) -> Tensor:
    """The same without anything above the diagonal: a map in which most weights are exactly 0."""
    kept = weights.tril()
    return kept / kept.sum(dim=-1, keepdim=True)


# --- 12.1 ---
def breadth(weights):
    """How many pieces a row looks at, mean over the rows of each map: (..., pieces, pieces) to (...)."""
    entropy = -torch.xlogy(weights, weights).sum(dim=-1)  # (..., pieces)
    return entropy.exp().mean(dim=-1)


def breadth_by_loops(weights):
    breadths = []
    for rows in weights.reshape(-1, *weights.shape[-2:]).tolist():
        entropies = [-sum(a * math.log(a) for a in row if a > 0) for row in rows]
        breadths.append(sum(map(math.exp, entropies)) / len(rows))
    return torch.tensor(breadths, dtype=weights.dtype).reshape(weights.shape[:-2])


XLOGY = "torch.xlogy(weights, weights)"

breadth = Exercise(
    breadth,
    cases=[
        Case({"weights": maps(2, 3, 4, 4)}),
        Case({"weights": maps(5, 5, seed=1)}),
        Case({"weights": with_zeros(maps(3, 6, 6, seed=2))}),
    ],
    truth=breadth_by_loops,
    view=also_numpy,
    tried="maps with two axes in front, one and none, one of them with weights of exactly 0",
    see="Lab 12, “Exercise 12.1: a measure of your own”",
    mistakes=edits(f"""
        mean over the wrong axis: mean(dim=-1) => mean(dim=-2) || mean(dim=0)
        NaN where a weight is zero: {XLOGY} => (weights * weights.log())
        no exponential: entropy.exp() => entropy
        exponential of the mean: entropy.exp().mean(dim=-1) => entropy.mean(dim=-1).exp()
        not averaged over the rows: .mean(dim=-1) =>
        the minus is missing: -torch => torch || -torch => torch && entropy.exp() => entropy
        another base: {XLOGY} => ({XLOGY} / math.log(2))
        one over the sum of squares: entropy.exp() => (1 / (weights**2).sum(dim=-1))
        no entropy: -{XLOGY}.sum(dim=-1) => weights || {XLOGY} => weights
        the entropy is not summed: weights).sum(dim=-1) => weights)
        summed over the rows: mean(dim=-1) => sum(dim=-1)
        one number for all maps: mean(dim=-1) => mean() || weights).sum(dim=-1) => weights).sum()
        Lab 12, “A search for heads”
        entropy over the wrong axis: weights).sum(dim=-1) => weights).sum(dim=-2) || weights).sum(dim=0)
    """),
)

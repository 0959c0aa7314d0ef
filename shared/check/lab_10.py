"""The checks of lab 10: measuring maps, taking out a head, following the layers down."""

import math

import torch
from torch import Tensor

from .compare import also_numpy
from .exercise import Case, Exercise, draw
from .mistakes import edit

FIND = "Lab 10, “A search for heads”"
MISSED = "Lab 10, “Who is missed?”"
WORDS = "Lab 10, “Words instead of pieces”"
CUT = "Lab 7, “Cut the features into heads”"
RESIDUAL = "Lab 8, “What the residual connection is for”"


def maps(*shape: int, seed: int = 0) -> Tensor:
    return draw(*shape, seed=seed).mul(2).softmax(dim=-1)


def with_zeros(weights: Tensor) -> Tensor:
    """The same without anything above the diagonal: a map in which most weights are exactly 0."""
    kept = weights.tril()
    return kept / kept.sum(dim=-1, keepdim=True)


# --- 10.1 --------------------------------------------------------------------------------------------------------


def breadth(weights):
    """How many pieces a row looks at, mean over the rows of each map: (..., pieces, pieces) to (...)."""
    entropy = -torch.xlogy(weights, weights).sum(dim=-1)  # (..., pieces)
    return entropy.exp().mean(dim=-1)


def breadth_by_loops(weights: Tensor) -> Tensor:
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
    see="Lab 10, “Exercise 10.1: a measure of your own”",
    mistakes=[
        edit("entropy over the wrong axis", "weights).sum(dim=-1)", "weights).sum(dim=-2)", see=FIND),
        edit("entropy over the wrong axis", "weights).sum(dim=-1)", "weights).sum(dim=0)", see=FIND),
        edit("mean over the wrong axis", "mean(dim=-1)", "mean(dim=-2)"),
        edit("mean over the wrong axis", "mean(dim=-1)", "mean(dim=0)"),
        edit("NaN where a weight is zero", XLOGY, "(weights * weights.log())"),
        edit("no exponential", "entropy.exp()", "entropy"),
        edit("exponential of the mean", "entropy.exp().mean(dim=-1)", "entropy.mean(dim=-1).exp()"),
        edit("not averaged over the rows", ".mean(dim=-1)", ""),
        edit("the minus is missing", "-torch", "torch"),
        edit("the minus is missing", "-torch", "torch", "entropy.exp()", "entropy"),
        edit("another base", XLOGY, f"({XLOGY} / math.log(2))"),
        edit("one over the sum of squares", "entropy.exp()", "(1 / (weights**2).sum(dim=-1))"),
        edit("no entropy", "-torch.xlogy(weights, weights).sum(dim=-1)", "weights"),
        edit("no entropy", XLOGY, "weights"),
        edit("the entropy is not summed", "weights).sum(dim=-1)", "weights)"),
        edit("summed over the rows", "mean(dim=-1)", "sum(dim=-1)"),
        edit("one number for all maps", "mean(dim=-1)", "mean()"),
        edit("one number for all maps", "weights).sum(dim=-1)", "weights).sum()"),
    ],
)

# --- 10.2 --------------------------------------------------------------------------------------------------------


def without_head(weight, head, num_heads):
    """The matrix of W_output, (embed_dim, embed_dim), with one head taken out."""
    head_dim = weight.shape[1] // num_heads
    silent = weight.clone()
    silent[:, head * head_dim : (head + 1) * head_dim] = 0
    return silent


def emptied_by_loops(weight: Tensor, head: int, num_heads: int) -> Tensor:
    head_dim = weight.shape[1] // num_heads
    rows = [[0.0 if j // head_dim == head else w for j, w in enumerate(row)] for row in weight.tolist()]
    return torch.tensor(rows, dtype=weight.dtype)


SILENT, ROWS = "silent[:, head * head_dim : (head + 1) * head_dim]", "silent[head * head_dim : (head + 1) * head_dim]"

without_head = Exercise(
    without_head,
    cases=[
        Case({"weight": draw(12, 12), "head": 1, "num_heads": 3}),
        Case({"weight": draw(8, 8, seed=1), "head": 3, "num_heads": 4}),
        Case({"weight": draw(10, 10, seed=2), "head": 0, "num_heads": 2}),
    ],
    truth=emptied_by_loops,
    view=also_numpy,
    tried="three matrices with 2, 3 and 4 heads",
    see=MISSED,
    mistakes=[
        edit("rows instead of columns", SILENT, ROWS),
        edit("rows and columns", f"{SILENT} = 0", f"{SILENT} = 0; {ROWS} = 0"),
        edit("every so-many-th column", SILENT, "silent[:, head::num_heads]", see=CUT),
        edit("one column only", SILENT, "silent[:, head]"),
        edit("first column of the head only", SILENT, "silent[:, head * head_dim]"),
        edit("heads counted from 1", SILENT, "silent[:, max(head - 1, 0) * head_dim : head * head_dim]", see=FIND),
        edit("heads counted from 1", "head * head_dim : (head + 1)", "(head - 1) * head_dim : head", see=FIND),
        edit("one head too far", "head * head_dim : (head + 1)", "(head + 1) * head_dim : (head + 2)", see=FIND),
        edit("slices of num_heads columns", "// num_heads", "// (weight.shape[1] // num_heads)", see=CUT),
        edit("slices of num_heads columns", "weight.shape[1] // num_heads", "num_heads", see=CUT),
        edit("more than one head", "(head + 1)", "(head + 2)"),
        edit("more than one head", "head * head_dim : (head", ": (head"),
        edit("more than one head", ": (head + 1) * head_dim", ":"),
        edit("more than one head", "weight.shape[1] // num_heads", "weight.shape[1]"),
        edit("the slice does not start at the head", "head * head_dim :", "head :"),
        edit(
            "the slice does not start at the head", "head * head_dim : (head + 1) * head_dim", "head : head + head_dim"
        ),
        edit("nothing is taken out", "(head + 1)", "head"),
        edit("nothing is taken out", f"{SILENT} = 0", "pass"),
        edit("nothing is taken out", "(head + 1)", "(head - 1)"),
        edit("all heads but this one", f"{SILENT} = 0", f"kept = {SILENT}.clone(); silent.zero_(); {SILENT} = kept"),
        edit("only the block on the diagonal", "silent[:, ", "silent[head * head_dim : (head + 1) * head_dim, "),
        edit("not set to zero", "] = 0", "] = 1"),
        edit("not set to zero", "] = 0", "] = -1"),
        edit("only the head comes back", f"{SILENT} = 0", f"silent = {SILENT}"),
        edit(
            "the columns cut away",
            f"{SILENT} = 0",
            "silent = torch.cat([silent[:, : head * head_dim], silent[:, (head + 1) * head_dim :]], dim=1)",
        ),
    ],
)

# --- 10.3 --------------------------------------------------------------------------------------------------------


def rollout(weights):
    """All layers as one map: (layers, heads, pieces, pieces) to (pieces, pieces)."""
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype)
    mixed = identity
    for layer in weights.mean(dim=1):  # (pieces, pieces)
        mixed = (layer + identity) / 2 @ mixed
    return mixed


def rollout_by_loops(weights: Tensor) -> Tensor:
    layers, heads, n, _ = weights.shape
    mixed = [[float(i == j) for j in range(n)] for i in range(n)]
    for layer in weights.tolist():
        step = [[(sum(h[i][j] for h in layer) / heads + (i == j)) / 2 for j in range(n)] for i in range(n)]
        mixed = [[sum(step[i][k] * mixed[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    return torch.tensor(mixed, dtype=weights.dtype)


WITHOUT_RESIDUAL = "The residual connection is missing: half of what leaves a layer went past the attention."
STEP = "(layer + identity) / 2 @ mixed"

rollout = Exercise(
    rollout,
    cases=[
        Case({"weights": maps(3, 2, 4, 4)}),
        Case({"weights": maps(2, 4, 5, 5, seed=1)}),
        Case({"weights": maps(4, 1, 3, 3, seed=2)}),
    ],
    truth=rollout_by_loops,
    view=also_numpy,
    tried="three texts with 2, 3 and 4 layers",
    see="Lab 10, “Exercise 10.3: six layers in one map”",
    mistakes=[
        edit("layers in the wrong order", STEP, "mixed @ ((layer + identity) / 2)"),
        edit("layers in the wrong order", "weights.mean(dim=1)", "weights.mean(dim=1).flip(0)"),
        edit("no residual connection", STEP, "layer @ mixed", see=RESIDUAL, say=WITHOUT_RESIDUAL),
        edit("the identity added, not averaged", "/ 2 @", "@"),
        edit("halved without the residual connection", "(layer + identity) / 2", "layer / 2", see=RESIDUAL),
        edit("the identity alone", "(layer + identity) / 2", "identity / 2", see=RESIDUAL),
        edit("the identity subtracted", "layer + identity", "layer - identity", see=RESIDUAL),
        edit("what was mixed added, not the identity", "layer + identity", "layer + mixed"),
        edit("heads summed", "mean(dim=1)", "sum(dim=1)"),
        edit("the largest head", "mean(dim=1)", "amax(dim=1)"),
        edit("the first head only", "weights.mean(dim=1)", "weights[:, 0]"),
        edit("averaged over the layers, not the heads", "mean(dim=1)", "mean(dim=0)"),
        edit("layers averaged", "return mixed", "return (weights.mean(dim=(0, 1)) + identity) / 2"),
        edit("layers added up", "/ 2 @ mixed", "/ 2 + mixed"),
        edit("element by element", "for layer", "mixed = torch.ones_like(identity)\n    for layer", "/ 2 @", "/ 2 *"),
        edit("element by element", "/ 2 @", "/ 2 *"),
        edit("the maps turned", "weights.mean(dim=1)", "weights.mean(dim=1).mT", see=WORDS),
        edit("the result turned", "return mixed", "return mixed.T"),
        edit("the last layer only", "/ 2 @ mixed", "/ 2"),
        edit("the first layer left out", "weights.mean(dim=1)", "weights.mean(dim=1)[1:]"),
        edit("the layers not mixed", "return mixed", "return identity"),
        edit("the layers not mixed", STEP, "mixed"),
    ],
)

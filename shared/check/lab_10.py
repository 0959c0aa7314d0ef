"""The checks of lab 10: how broadly a head looks, a head taken out for good, and six layers in one map."""

import math

import torch
from torch import Tensor

from .compare import also_numpy
from .exercise import Case, Exercise, draw
from .mistakes import edit

CUT = "Lab 7, “Cut the features into heads”"
PAST = "Lab 8, “What the residual connection is for”"
WORDS = "Lab 10, “Words instead of pieces”"
FIND = "Lab 10, “A search for heads”"
MISSED = "Lab 10, “Who is missed?”"
BREADTH = "Lab 10, “Exercise 10.1: a measure of your own”"
ROLLOUT = "Lab 10, “Exercise 10.3: six layers in one map”"


def maps(*shape: int, seed: int = 0, ahead: bool = True) -> Tensor:
    """Attention maps; without what is ahead most weights are exactly 0."""
    scores = draw(*shape, seed=seed) * 2
    hidden = torch.ones(shape[-2:], dtype=torch.bool).triu(1)
    return (scores if ahead else scores.masked_fill(hidden, -torch.inf)).softmax(dim=-1)


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


XLOGY, ENTROPY, MEAN = (
    "torch.xlogy(weights, weights)",
    "-torch.xlogy(weights, weights).sum",
    "entropy.exp().mean(dim=-1)",
)

breadth = Exercise(
    breadth,
    cases=[
        Case({"weights": maps(2, 3, 4, 4)}),
        Case({"weights": maps(5, 5, seed=1)}),
        Case({"weights": maps(3, 6, 6, seed=2, ahead=False)}),
    ],
    truth=breadth_by_loops,
    view=also_numpy,
    tried="maps with two axes in front, one and none, one of them with weights of exactly 0",
    see=BREADTH,
    mistakes=[
        edit("entropy over the wrong axis", "sum(dim=-1)", "sum(dim=-2)", see=FIND),
        edit("entropy over the wrong axis", "sum(dim=-1)", "sum(dim=0)", see=FIND),
        edit("entropy over the wrong axis", "sum(dim=-1)", "sum(dim=1)", see=FIND),
        edit("NaN where a weight is zero", XLOGY, "(weights * weights.log())"),
        edit("no entropy", XLOGY, "weights"),
        edit("weights not summed", f"{XLOGY}.sum(dim=-1)", XLOGY),
        edit("the logarithm alone", XLOGY, "weights.clamp(min=1e-300).log()"),
        edit("the logarithm alone", XLOGY, "weights.log()"),
        edit("no exponential", "entropy.exp()", "entropy"),
        edit("exponential of the mean", MEAN, "entropy.mean(dim=-1).exp()"),
        edit("the minus is missing", "-torch", "torch"),
        edit("another base", XLOGY, f"({XLOGY} / math.log(2))"),
        edit("another base", "entropy.exp()", "entropy.exp2()"),
        edit("one over the sum of squares", "entropy.exp()", "(1 / weights.square().sum(dim=-1))"),
        edit("the largest weight", "entropy.exp()", "(1 / weights.amax(dim=-1))"),
        edit("summed over the rows", ".mean(dim=-1)", ".sum(dim=-1)"),
        edit("one number for all maps", ".mean(dim=-1)", ".mean()"),
        edit("one number for each row", ".mean(dim=-1)", ""),
        edit("mean over the maps", ".mean(dim=-1)", ".mean(dim=0)"),
        edit("mean over the maps", ".mean(dim=-1)", ".mean(dim=-2)"),
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


SLICE = "head * head_dim : (head + 1) * head_dim"
EMPTY = f"silent[:, {SLICE}] = 0"

without_head = Exercise(
    without_head,
    cases=[
        Case({"weight": draw(12, 12), "head": 1, "num_heads": 3}),
        Case({"weight": draw(8, 8, seed=1), "head": 3, "num_heads": 4}),
        Case({"weight": draw(10, 10, seed=2), "head": 0, "num_heads": 2}),
        Case({"weight": draw(9, 9, seed=3), "head": 2, "num_heads": 3}),
    ],
    truth=emptied_by_loops,
    view=also_numpy,
    tried="four matrices with two heads, three and four: the first, one in the middle, and the last taken out",
    see=MISSED,
    mistakes=[
        edit("rows instead of columns", f"silent[:, {SLICE}]", f"silent[{SLICE}]"),
        edit("rows and columns", EMPTY, f"{EMPTY}; silent[{SLICE}] = 0"),
        edit(
            "features dealt out in turn",
            *(SLICE, "head::num_heads"),
            see=CUT,
            say="You empty columns that lie apart. A head owns neighbouring features: lab 7 cuts them into slices.",
        ),
        edit("one column only", SLICE, "head"),
        edit("first column of the head only", SLICE, "head * head_dim"),
        edit("last column of the head kept", "(head + 1) * head_dim]", "(head + 1) * head_dim - 1]"),
        edit("counted from 1", SLICE, "max(head - 1, 0) * head_dim : head * head_dim", see=FIND),
        edit("the next head", SLICE, "(head + 1) * head_dim : (head + 2) * head_dim", see=FIND),
        edit(
            "num_heads taken for head_dim",
            *("weight.shape[1] // num_heads", "num_heads"),
            see=CUT,
            say="Your slice is num_heads wide. A head's width is embed_dim / num_heads.",
        ),
        edit("columns counted from the head's number", SLICE, "head : head + head_dim"),
        edit("columns counted from the head's number", "head * head_dim", "head"),
        edit("all up to this head", SLICE, ": (head + 1) * head_dim"),
        edit("all from this head on", SLICE, "head * head_dim :"),
        edit("all heads", SLICE, ":"),
        edit(
            "all heads but this one",
            *("silent = weight.clone()", "silent = torch.zeros_like(weight)"),
            *("] = 0", f"] = weight[:, {SLICE}]"),
        ),
        edit("only the block on the diagonal", "[:, ", f"[{SLICE}, "),
        edit(
            "the columns cut away",
            EMPTY,
            "silent = torch.cat([silent[:, : head * head_dim], silent[:, (head + 1) * head_dim :]], dim=1)",
        ),
        edit("this head's columns alone", "return silent", f"return weight[:, {SLICE}]"),
        edit("nothing taken out", "return silent", "return weight"),
        edit("nothing taken out", EMPTY, ""),
        edit("another number than zero", "] = 0", "] = 1"),
        edit("another number than zero", "] = 0", "] = -1"),
        edit("added in place of multiplied", "head * head_dim", "head + head_dim", see=CUT),
        edit("added in place of multiplied", "(head + 1) * head_dim", "head + 1 + head_dim", see=CUT),
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
    _, heads, n, _ = weights.shape
    mixed = [[float(i == j) for j in range(n)] for i in range(n)]
    for layer in weights.tolist():
        step = [[(sum(h[i][j] for h in layer) / heads + (i == j)) / 2 for j in range(n)] for i in range(n)]
        mixed = [[sum(step[i][k] * mixed[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    return torch.tensor(mixed, dtype=weights.dtype)


STEP, OF_HEADS = "(layer + identity) / 2 @ mixed", "weights.mean(dim=1)"
PAST_LEFT_OUT = "The residual connection is missing: half of what leaves a layer went past the attention."

rollout = Exercise(
    rollout,
    cases=[
        Case({"weights": maps(3, 2, 4, 4)}),
        Case({"weights": maps(2, 4, 5, 5, seed=1)}),
        Case({"weights": maps(4, 1, 3, 3, seed=2)}),
        Case({"weights": maps(3, 3, 3, 3, seed=3)}),
    ],
    truth=rollout_by_loops,
    view=also_numpy,
    tried="four texts with 2, 3 and 4 layers, and one to four heads",
    see=ROLLOUT,
    mistakes=[
        edit("layers in the wrong order", STEP, "mixed @ ((layer + identity) / 2)"),
        edit("no residual connection", STEP, "layer @ mixed", see=PAST, say=PAST_LEFT_OUT),
        edit("no residual connection", "(layer + identity) / 2", "layer / 2", see=PAST, say=PAST_LEFT_OUT),
        edit("no residual connection", STEP, "mixed @ layer", see=PAST, say=PAST_LEFT_OUT),
        edit("no attention", "(layer + identity)", "identity"),
        edit("the identity added, not averaged", "(layer + identity) / 2 @", "(layer + identity) @"),
        edit("the identity added, not averaged", STEP, "layer @ mixed + mixed"),
        edit("multiplied in place of divided", "/ 2", "* 2", say="You double the sum. Its half is the average."),
        edit("the identity taken off", "layer + identity", "layer - identity", see=PAST),
        edit("multiplied in place of added", "layer + identity", "layer * identity", see=PAST),
        edit("the residual connection of the first pieces", STEP, "(layer @ mixed + identity) / 2", see=PAST),
        edit("heads summed", "mean(dim=1)", "sum(dim=1)"),
        edit("the largest head", "mean(dim=1)", "amax(dim=1)"),
        edit("first head only", OF_HEADS, "weights[:, 0]", say="You follow head 0. Take the mean over the heads."),
        edit("mean over the wrong axis", "mean(dim=1)", "mean(dim=0)"),
        edit("mean over the wrong axis", "mean(dim=1)", "mean(dim=2)"),
        edit("mean over the wrong axis", "mean(dim=1)", "mean(dim=3)"),
        edit("layers averaged", "return mixed", "return (weights.mean(dim=(0, 1)) + identity) / 2"),
        edit("layers averaged", "return mixed", "return weights.mean(dim=(0, 1))"),
        edit("element by element", "mixed = identity", "mixed = torch.ones_like(identity)", "2 @", "2 *"),
        edit("element by element", "2 @", "2 *"),
        edit("the maps turned", OF_HEADS, f"{OF_HEADS}.transpose(1, 2)", see=WORDS),
        edit("the result turned", "return mixed", "return mixed.T"),
        edit("the last layer only", "/ 2 @ mixed", "/ 2"),
        edit("the first layer left out", OF_HEADS, f"{OF_HEADS}[1:]"),
        edit("the last layer left out", OF_HEADS, f"{OF_HEADS}[:-1]"),
        edit("the first layer only", "    return", "        break\n    return"),
    ],
)

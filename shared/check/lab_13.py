"""The checks of lab 13: taking out a head, following the layers down, whether a group is more than its heads."""

import math

import torch

from ..training import mean_and_interval
from .compare import also_numpy
from .exercise import Case, Exercise, draw
from .experiment import asked, by_sums
from .lab_12 import maps
from .mistakes import edits


# --- 13.1 ---
def without_head(weight, head, num_heads):
    """The matrix of W_output, (embed_dim, embed_dim), with one head taken out."""
    head_dim = weight.shape[1] // num_heads
    silent = weight.clone()
    silent[:, head * head_dim : (head + 1) * head_dim] = 0
    return silent


def emptied_by_loops(weight, head, num_heads):
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
    see="Lab 13, “Who is missed?”",
    mistakes=edits(f"""
        rows instead of columns: {SILENT} => {ROWS}
        rows and columns: {SILENT} = 0 => {SILENT} = 0; {ROWS} = 0
        one column only: {SILENT} => silent[:, head]
        first column of the head only: {SILENT} => silent[:, head * head_dim]
        more than one head: (head + 1) => (head + 2) || head * head_dim : (head => : (head ||
            : (head + 1) * head_dim => : || weight.shape[1] // num_heads => weight.shape[1]
        the slice does not start at the head: head * head_dim : => head : ||
            head * head_dim : (head + 1) * head_dim => head : head + head_dim || head * head_dim : => head_dim : ||
            head * head_dim : => head + head_dim :
        nothing is taken out: (head + 1) => head || {SILENT} = 0 => pass || (head + 1) => (head - 1)
        all heads but this one: {SILENT} = 0 => kept = {SILENT}.clone(); silent.zero_(); {SILENT} = kept
        only the block on the diagonal: silent[:, => silent[head * head_dim : (head + 1) * head_dim,
        not set to zero: ] = 0 => ] = 1 || ] = -1
        only the head comes back: {SILENT} = 0 => silent = {SILENT}
        the columns cut away: {SILENT} = 0 =>
            silent = torch.cat([silent[:, : head * head_dim], silent[:, (head + 1) * head_dim :]], dim=1)
        Lab 8, “Cut the features into heads”
        every so-many-th column: {SILENT} => silent[:, head::num_heads]
        slices of num_heads columns: // num_heads => // (weight.shape[1] // num_heads)
        Lab 12, “A search for heads”
        heads counted from 1: {SILENT} => silent[:, max(head - 1, 0) * head_dim : head * head_dim]
        one head too far: head * head_dim : (head + 1) => (head + 1) * head_dim : (head + 2)
    """),
)


# --- 13.2 ---
def rollout(weights):
    """All layers as one map: (layers, heads, pieces, pieces) to (pieces, pieces)."""
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype)
    mixed = identity
    for layer in weights.mean(dim=1):  # (pieces, pieces)
        mixed = (layer + identity) / 2 @ mixed
    return mixed


def rollout_by_pytorch(weights):
    identity = torch.eye(weights.shape[-1]).to(weights)
    return torch.linalg.multi_dot([*(weights.mean(dim=1) / 2 + identity / 2).flip(0), identity])


STEP = "(layer + identity) / 2 @ mixed"

rollout = Exercise(
    rollout,
    cases=[
        Case({"weights": maps(3, 2, 4, 4)}),
        Case({"weights": maps(2, 4, 5, 5, seed=1)}),
        Case({"weights": maps(4, 1, 3, 3, seed=2)}),
    ],
    truth=rollout_by_pytorch,
    view=also_numpy,
    tried="three texts with 2, 3 and 4 layers",
    see="Lab 13, “Exercise 13.2 (debug): six layers in one map”",
    mistakes=edits(f"""
        more than one fault is left [rollout]: mean(dim=1) => mean(dim=0) && {STEP} =>
            mixed @ ((layer + identity) / 2)
        layers in the wrong order: {STEP} => mixed @ ((layer + identity) / 2)
        the identity added, not averaged: / 2 @ => @
        what was mixed added, not the identity: layer + identity => layer + mixed
        heads summed: mean(dim=1) => sum(dim=1)
        the largest head: mean(dim=1) => amax(dim=1)
        the first head only: weights.mean(dim=1) => weights[:, 0]
        averaged over the layers, not the heads: mean(dim=1) => mean(dim=0)
        layers averaged: return mixed => return (weights.mean(dim=(0, 1)) + identity) / 2
        multiplied in place of divided [layers]: / 2 => * 2
        layers added up: / 2 @ mixed => / 2 + mixed
        element by element: / 2 @ => / 2 * || mixed = identity => mixed = 1 && / 2 @ => / 2 *
        the result turned: return mixed => return mixed.T
        the last layer only: / 2 @ mixed => / 2
        the first layer left out: weights.mean(dim=1) => weights.mean(dim=1)[1:]
        the layers not mixed: return mixed => return identity || {STEP} => mixed
        Lab 9, “What the residual connection does”
        no residual connection [rollout]: {STEP} => layer @ mixed
        no residual connection [first layer]: mixed = identity => mixed = weights[0].mean(dim=0) &&
            weights.mean(dim=1) => weights[1:].mean(dim=1)
        halved without the residual connection: (layer + identity) / 2 => layer / 2
        the identity alone: (layer + identity) / 2 => identity / 2
        the identity subtracted: layer + identity => layer - identity
        Lab 12, “Words instead of pieces”
        the maps turned: weights.mean(dim=1) => weights.mean(dim=1).mT
    """),
)


# --- 13.3 ---
def more_than_the_sum(lead_without, group):
    """What a group of heads does beyond the sum of its heads: mean and half of the interval."""
    whole = lead_without([])
    together = lead_without(group) - whole
    one_by_one = sum(lead_without([head]) - whole for head in group)
    return mean_and_interval(together - one_by_one)


def planted(heads_off) -> torch.Tensor:
    """The leads of six quartets. Each head counts by itself, and two of one layer count once more together."""
    quartet = torch.arange(6, dtype=torch.float64)
    lead = 1 + torch.sin(5 * quartet)
    for layer, head in heads_off:
        lead = lead - 0.01 * (1 + layer + head) * torch.cos(quartet * (1 + head))
    layers = [layer for layer, _ in heads_off]
    return lead - 0.05 * (len(layers) - len(set(layers))) * (1 + 0.2 * torch.sin(quartet))


def beyond(lead_without, group):
    """What is planted for two heads of one layer."""
    layers = [layer for layer, _ in group]
    shared = len(layers) - len(set(layers))
    return by_sums([-0.05 * shared * (1 + 0.2 * math.sin(quartet)) for quartet in range(6)])


ONE_BY_ONE = "sum(lead_without([head]) - whole for head in group)"

more_than_the_sum = Exercise(
    more_than_the_sum,
    cases=[
        Case({"lead_without": planted, "group": [(0, 1), (0, 2), (3, 1)]}),
        Case({"lead_without": planted, "group": [(2, 0), (2, 3), (2, 5), (1, 1)]}),
        Case({"lead_without": planted, "group": [(4, 2), (4, 1)]}),
    ],
    truth=beyond,
    tried="three groups of heads of which it is known what they do together",
    see="Lab 13, “The lead, and groups of heads”",
    mistakes=edits(f"""
        the sign turned round [group]: together - one_by_one => one_by_one - together
        the group alone: (together - one_by_one) => (together)
        the heads alone: (together - one_by_one) => (one_by_one)
        the whole model left out: lead_without(group) - whole => lead_without(group) && lead_without([head]) - whole =>
            lead_without([head]) || lead_without(group) - whole => lead_without(group) ||
            lead_without([head]) - whole => lead_without([head])
        added in place of subtracted [changes]: (group) - => (group) + || ([head]) - => ([head]) +
        one sign turned round: lead_without(group) - whole => whole - lead_without(group) ||
            lead_without([head]) - whole => whole - lead_without([head])
        averaged over the heads [group]: {ONE_BY_ONE} => {ONE_BY_ONE} / len(group)
        a head left out: for head in group => for head in group[1:] || for head in group => for head in group[:-1]
        more heads each time: {ONE_BY_ONE} => sum(lead_without(group[: n + 1]) - whole for n in range(len(group)))
        all but one: lead_without([head]) => lead_without([one for one in group if one != head])
        sizes in place of changes: together - one_by_one => together.abs() - one_by_one.abs()
    """)
    + asked("together - one_by_one", apart=("together", "one_by_one"), of=" [quartets]"),
)

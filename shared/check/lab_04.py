"""The checks of lab 4: the whole layer, and an average taken early."""

import math

import torch
from torch import nn

from ..model import masked_softmax
from .attention import COUNTED, PADDING, attention_by_pytorch, batches, real_tokens
from .exercise import Case, Exercise, draw
from .lab_03 import layer
from .mistakes import Wrong, edits
from .run import multiplications

VALUES = "Lab 4, “Where to look, and what to bring back”"
EARLY = "Lab 4, “One average, taken early”"


# --- 4.1 ---
class WholeLayer(nn.Module):
    def __init__(self, dim, key_dim, value_dim):
        super().__init__()
        self.W_query = nn.Linear(dim, key_dim, bias=False)
        self.W_key = nn.Linear(dim, key_dim, bias=False)
        self.W_value = nn.Linear(dim, value_dim, bias=False)

    def forward(self, features, mask):
        queries = self.W_query(features)  # (batch, tokens, key_dim)
        keys = self.W_key(features)  # (batch, tokens, key_dim)
        values = self.W_value(features)  # (batch, tokens, value_dim)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])  # (batch, tokens, tokens)
        weights = masked_softmax(scores, mask.unsqueeze(1))  # (batch, tokens, tokens)
        return weights @ values, weights


whole_layer = Exercise(
    WholeLayer,
    name="whole_layer",
    cases=batches((6, 3, 4), (4, 7, 2), (5, 2, 3), (4, 4, 4), (8, 2, 3)),
    truth=attention_by_pytorch,
    parts=("W_query", "W_key", "W_value"),
    widths=lambda dim, k, d_v: {"W_query": (dim, k), "W_key": (dim, k), "W_value": (dim, d_v)},
    tried="six batches, with padding and without, k and d_v below and above d, one token, large scores, in double "
    "precision, against PyTorch's scaled_dot_product_attention",
    see=VALUES,
    mistakes=layer("values", values="values.shape[2]")
    + edits("""
        features brought back: weights @ values => weights @ features
        values made of something else: self.W_value(features) => self.W_value(keys) || self.W_value(queries)
        one matrix for keys and values: self.W_key(features) => self.W_value(features)
    """),
)


# --- 4.2 ---
def average_early(weights, values, mask):
    """The mean output of real tokens, (batch, value_dim)."""
    share = mask / mask.sum(dim=1, keepdim=True)  # (batch, tokens), padded rows do not count
    row = (share.unsqueeze(2) * weights).sum(dim=1)  # (batch, tokens), the column means of A
    return (row.unsqueeze(2) * values).sum(dim=1)  # (batch, value_dim)


def mean_of_outputs(weights, values, mask):
    return torch.stack([(A @ V)[real].mean(dim=0) for A, V, real in zip(weights, values, mask, strict=True)])


def weights_and_values(value_dim: int, seed: int, lengths: list[int], padding_first: bool = False) -> Case:
    mask = real_tokens(lengths, padding_first)
    weights = masked_softmax(2 * draw(*mask.shape, mask.shape[1], seed=seed), mask[:, None])
    return Case({"weights": weights, "values": draw(*mask.shape, value_dim, seed=seed + 1), "mask": mask})


def takes_the_short_way(answer, run):
    """The one row costs n² + n d_v multiplications a text, all outputs n² d_v."""
    tokens, value_dim = 24, 20
    case = weights_and_values(value_dim, 5, [tokens, 8])
    if multiplications(answer, list(case.inputs.values()), run) > 2 * tokens * tokens * value_dim / 3:
        raise Wrong("the average taken late", see=EARLY)


SHARE, ROW = "mask / mask.sum(dim=1, keepdim=True)", "(share.unsqueeze(2) * weights).sum(dim=1)"

average_early = Exercise(
    average_early,
    cases=[
        weights_and_values(3, 0, [5, 3, 1]),
        weights_and_values(4, 10, [4, 4]),
        weights_and_values(6, 20, [6, 2], padding_first=True),
        weights_and_values(4, 30, [4, 3, 2, 4]),
        weights_and_values(2, 40, [1, 1]),
    ],
    truth=mean_of_outputs,
    also=takes_the_short_way,
    tried="five batches of weights and values, with padding and without, in double precision, against the mean of all "
    "outputs; and no product of all rows of A with the values was seen",
    see=EARLY,
    mistakes=edits(f"""
        divided by all places: mask.sum(dim=1, keepdim=True) => mask.shape[1]
        padding left in the sum: {SHARE} => (1 / mask.sum(dim=1, keepdim=True)).expand(mask.shape)
        not divided: / mask.sum(dim=1, keepdim=True) => || {ROW} => weights.sum(dim=1)
        one count for all texts: mask.sum(dim=1, keepdim=True) => mask.sum()
        counted over the batch: mask.sum(dim=1, keepdim=True) => mask.sum(dim=0)
        the axis of the count is lost: dim=1, keepdim=True => dim=1
        row means instead of column means: {ROW} => weights.mean(dim=2) || share || => return values.mean(dim=1) ||
            return values.sum(dim=1) / mask.sum(dim=1, keepdim=True) || weights).sum(dim=1) => weights).sum(dim=2)
        columns weighted instead of rows: share.unsqueeze(2) => share
        summed over the batch: weights).sum(dim=1) => weights).sum(dim=0) || values).sum(dim=1) => values).sum(dim=0)
        summed over the features: values).sum(dim=1) => values).sum(dim=2)
        one row read: {ROW} => weights[:, 0] || weights[:, -1]
        divided once too often: values).sum(dim=1 => values).mean(dim=1
        multiplied by the count: mask / mask => mask * mask
        {VALUES}
        rows of padding counted: {ROW} => weights.mean(dim=1)
        {PADDING}
        the mask the wrong way round: share = => mask = ~mask; share = ||
            share = => mask = ~mask; share = && keepdim=True) => keepdim=True).clamp(min=1)
        the mask only counted: share = => mask = {COUNTED}; share =
    """),
)

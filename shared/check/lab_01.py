"""The checks of lab 1: means without padding, and attention pooling."""

import torch
from torch import nn

from .attention import COUNTED, PADDING, TWO_MODELS, attend, real_tokens, texts, weighing
from .exercise import Exercise
from .mistakes import edits


# --- 1.1 ---
def masked_mean(features, mask):
    """The mean of the real tokens of each text, (batch, dim)."""
    total = (features * mask.unsqueeze(2)).sum(dim=1)  # (batch, dim)
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


def mean_by_loops(features, mask):
    return torch.stack(
        [tokens[real].sum(dim=0) / max(real.sum(), 1) for tokens, real in zip(features, mask, strict=True)]
    )


COUNT = "mask.sum(dim=1, keepdim=True).clamp(min=1)"
BATCHES = [
    texts((4,), real_tokens([5, 3, 1])),
    texts((2,), real_tokens([6, 6]), 1),
    texts((3,), real_tokens([4, 0, 2], padding_first=True), 2),
    texts((4,), real_tokens([4, 3, 2, 1]), 3),
]

masked_mean = Exercise(
    masked_mean,
    cases=BATCHES,
    truth=mean_by_loops,
    tried="four batches in double precision: with padding behind and in front, without, and with a text of padding "
    "only",
    see=TWO_MODELS,
    mistakes=edits(f"""
        divided by all places: {COUNT} => mask.shape[1]
        not divided: / {COUNT} =>
        one count for all texts: {COUNT} => mask.sum()
        mean over the batch: => return features.mean(dim=0) || sum(dim=1) => sum(dim=0) ||
            sum(dim=1) => sum(dim=0) && {COUNT} => mask.sum(dim=0)[:, None].clamp(min=1) ||
            sum(dim=1) => sum(dim=0) && {COUNT} => mask.sum(dim=0)[:, None]
        mean over the features: => return features.mean(dim=2) || return (features * mask.unsqueeze(2)).mean(dim=2) ||
            sum(dim=1) => sum(dim=2)
        counted over the batch: mask.sum(dim=1, keepdim=True) => mask.sum(dim=0).unsqueeze(1) ||
            mask.sum(dim=1 => mask.sum(dim=0
        the axis of the count is lost: mask.sum(dim=1, keepdim=True) => mask.sum(dim=1)
        the mask on the wrong axis: mask.unsqueeze(2) => mask.unsqueeze(1) || mask
        NaN for a text of padding: .clamp(min=1) =>
        multiplied by the count: / {COUNT} => * {COUNT}
        {PADDING}
        padding left in the mean: => return features.mean(dim=1)
        padding left in the sum: * mask.unsqueeze(2) => || * mask.unsqueeze(2) => && .clamp(min=1) =>
        the mask the wrong way round: total = => mask = ~mask; total = || mask.unsqueeze(2) => (~mask).unsqueeze(2) ||
            total = => mask = ~mask; total = && .clamp(min=1) =>
        the mask only counted: total = => mask = {COUNTED}; total =
    """),
)


# --- 1.2 ---
class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, features, mask):
        scores = self.score(features).squeeze(2)  # (batch, tokens)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=1) * mask  # (batch, tokens)
        return (weights.unsqueeze(2) * features).sum(dim=1), weights


def pool_by_pytorch(features, mask, score):
    """One query, of which each score is a key; a text of padding only gives zeros."""
    found = attend(torch.ones(len(features), 1, 1), score(features), features, mask, scale=1.0)
    return tuple(rows.squeeze(1).nan_to_num() for rows in found)


FILL, LOWEST = "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)", "torch.finfo(scores.dtype).min"
SECTIONS = {"HIDE": TWO_MODELS, "MASK": PADDING, "SOFTMAX": TWO_MODELS}
SOFT, SUMMED = "scores.softmax(dim=1) * mask", "(weights.unsqueeze(2) * features).sum"

attention_pool = Exercise(
    AttentionPool,
    name="attention_pool",
    cases=[
        *BATCHES,
        texts((3,), real_tokens([1, 1]), 4),
        texts((3,), real_tokens([1, 2] * 5 + [1, 3]), 5, scale=250.0),
    ],
    truth=pool_by_pytorch,
    parts=("score",),
    widths=lambda dim: {"score": (dim, 1)},
    tried="six batches in double precision, with padding, without, with a text of padding only, with texts of one "
    "token and with large scores, against PyTorch's scaled_dot_product_attention",
    see=TWO_MODELS,
    mistakes=weighing(SOFT, "self.score(features).squeeze(2)", "mask", 1, SECTIONS)
    + edits(f"""
        no softmax: {SOFT} => scores
        divided once too often: .sum(dim=1), weights => .mean(dim=1), weights
        weights not used: {SUMMED} => features.mean || features.sum || (mask.unsqueeze(2) * features).sum ||
            {SUMMED}(dim=1) => (mask.unsqueeze(2) * features).sum(dim=1) / {COUNT}
        summed over the features: features).sum(dim=1) => features).sum(dim=2)
        summed over the batch: features).sum(dim=1) => features).sum(dim=0)
        scores returned instead of weights: dim=1), weights => dim=1), scores || dim=1), self.score(features).squeeze(2)
        results in the wrong order: {SUMMED}(dim=1), weights => weights, {SUMMED}(dim=1)
        squeeze without an axis: squeeze(2) => squeeze()
        NaN for a text of padding: {LOWEST} => -torch.inf || {LOWEST} => -torch.inf && * mask =>
        weight for a text of padding: {SOFT} => scores.softmax(dim=1)
        {PADDING}
        the mask the wrong way round: ~mask => mask || ~mask, {LOWEST} => mask, -torch.inf
        the mask only counted: scores = scores.m => mask = {COUNTED}; scores = scores.m
    """),
)

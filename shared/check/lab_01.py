"""The checks of lab 1: means without padding, attention pooling, and what a cut throws away."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from .exercise import Case, Exercise, draw, real_tokens
from .mistakes import COUNTED, edit

PADDING = "Lab 1, “Batches, padding and the mask”"
TWO_MODELS = "Lab 1, “Two models”"
DISTRACTORS = "Lab 1, “Distractors”"

# --- 1.1 ---------------------------------------------------------------------------------------------------------


def masked_mean(features, mask):
    """The mean of the real tokens of each text, (batch, dim)."""
    total = (features * mask.unsqueeze(2)).sum(dim=1)  # (batch, dim)
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


def mean_by_loops(features: Tensor, mask: Tensor) -> Tensor:
    means = torch.zeros(features.shape[0], features.shape[2], dtype=features.dtype)
    for text, (tokens, real) in enumerate(zip(features, mask, strict=True)):
        if real.any():
            means[text] = tokens[real].mean(dim=0)
    return means


SUM, COUNT = "total = (features * mask.unsqueeze(2)).sum(dim=1)", "mask.sum(dim=1, keepdim=True).clamp(min=1)"

masked_mean = Exercise(
    masked_mean,
    cases=[
        Case({"features": draw(3, 5, 4), "mask": real_tokens([5, 3, 1])}),
        Case({"features": draw(2, 6, 2, seed=1), "mask": real_tokens([6, 6])}),
        Case({"features": draw(3, 4, 3, seed=2), "mask": real_tokens([4, 0, 2]).flip(1)}),
        Case({"features": draw(4, 4, 4, seed=3), "mask": real_tokens([4, 3, 2, 1])}),
    ],
    truth=mean_by_loops,
    tried="four batches in double precision: with padding behind and in front, without, and with a text of padding "
    "only",
    see=TWO_MODELS,
    mistakes=[
        edit("padding left in the mean", None, "return features.mean(dim=1)", see=PADDING),
        edit("padding left in the sum", " * mask.unsqueeze(2)", "", see=PADDING),
        edit("padding left in the sum", " * mask.unsqueeze(2)", "", ".clamp(min=1)", "", see=PADDING),
        edit("divided by all places", COUNT, "mask.shape[1]"),
        edit("not divided", f" / {COUNT}", ""),
        edit("one count for all texts", COUNT, "mask.sum()"),
        edit("the mask the wrong way round", SUM, f"mask = ~mask; {SUM}", see=PADDING),
        edit("the mask the wrong way round", SUM, f"mask = ~mask; {SUM}", ".clamp(min=1)", "", see=PADDING),
        edit("the mask the wrong way round", "mask.unsqueeze(2)", "(~mask).unsqueeze(2)", see=PADDING),
        edit("mean over the batch", None, "return features.mean(dim=0)"),
        edit("mean over the batch", "sum(dim=1)", "sum(dim=0)", COUNT, "mask.sum(dim=0)[:, None].clamp(min=1)"),
        edit("mean over the batch", "sum(dim=1)", "sum(dim=0)", COUNT, "mask.sum(dim=0)[:, None]"),
        edit("mean over the batch", "sum(dim=1)", "sum(dim=0)"),
        edit("mean over the features", None, "return features.mean(dim=2)"),
        edit("mean over the features", "sum(dim=1)", "sum(dim=2)"),
        edit("mean over the features", None, "return (features * mask.unsqueeze(2)).mean(dim=2)"),
        edit("counted over the batch", "mask.sum(dim=1, keepdim=True)", "mask.sum(dim=0).unsqueeze(1)"),
        edit("counted over the batch", "mask.sum(dim=1", "mask.sum(dim=0"),
        edit("the axis of the count is lost", "mask.sum(dim=1, keepdim=True)", "mask.sum(dim=1)"),
        edit("the mask on the wrong axis", "mask.unsqueeze(2)", "mask.unsqueeze(1)"),
        edit("the mask on the wrong axis", "mask.unsqueeze(2)", "mask"),
        edit("NaN for a text of padding", ".clamp(min=1)", ""),
        edit("multiplied by the count", f"/ {COUNT}", f"* {COUNT}"),
        edit("the mask only counted", SUM, f"mask = {COUNTED}; {SUM}", see=PADDING),
    ],
)

# --- 1.2 ---------------------------------------------------------------------------------------------------------


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, features, mask):
        scores = self.score(features).squeeze(2)  # (batch, tokens)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(dim=1) * mask  # (batch, tokens)
        return (weights.unsqueeze(2) * features).sum(dim=1), weights


def pool_by_loops(features: Tensor, mask: Tensor, score: Callable) -> tuple[Tensor, Tensor]:
    weights = torch.zeros(mask.shape, dtype=features.dtype)  # (batch, tokens)
    for text, real in enumerate(mask):
        scores = [score(token[None]).item() for token in features[text, real]]
        exponentials = [math.exp(score - max(scores)) for score in scores]
        weights[text, real] = torch.tensor([e / sum(exponentials) for e in exponentials], dtype=features.dtype)
    pooled = [sum(w * f for w, f in zip(*pair, strict=True)) for pair in zip(weights, features, strict=True)]
    return torch.stack(pooled), weights


FILL = "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)"
SOFT, SUMMED = "scores.softmax(dim=1) * mask", "(weights.unsqueeze(2) * features).sum"

attention_pool = Exercise(
    AttentionPool,
    name="attention_pool",
    cases=[
        Case({"features": draw(3, 5, 4), "mask": real_tokens([5, 3, 1])}, sizes=(4,)),
        Case({"features": draw(2, 6, 3, seed=1), "mask": real_tokens([6, 6])}, sizes=(3,)),
        Case({"features": draw(3, 4, 2, seed=2), "mask": real_tokens([4, 0, 2]).flip(1)}, sizes=(2,)),
        Case({"features": draw(4, 4, 4, seed=3), "mask": real_tokens([4, 3, 2, 1])}, sizes=(4,)),
        Case({"features": draw(2, 1, 3, seed=4), "mask": real_tokens([1, 1])}, sizes=(3,)),
        Case({"features": 250 * draw(12, 3, 3, seed=5), "mask": real_tokens([1, 2] * 5 + [1, 3])}, sizes=(3,)),
    ],
    truth=pool_by_loops,
    parts=("score",),
    widths=lambda dim: {"score": (dim, 1)},
    tried="six batches in double precision, with padding, without, with a text of padding only, with texts of one "
    "token and with large scores, against loops",
    see=TWO_MODELS,
    mistakes=[
        edit("softmax over the batch", "softmax(dim=1)", "softmax(dim=0)"),
        edit("softmax over the batch", SOFT, "scores.softmax(dim=0)"),
        edit("softmax over the batch", FILL, "scores", SOFT, "scores.softmax(dim=0)"),
        edit("softmax over the batch", FILL, "scores", "softmax(dim=1)", "softmax(dim=0)"),
        edit("no mask", FILL, "scores", SOFT, "scores.softmax(dim=1)", see=PADDING),
        edit("mask after the softmax", FILL, "scores"),
        edit("the mask the wrong way round", "masked_fill(~mask", "masked_fill(mask", see=PADDING),
        edit("the mask the wrong way round", "(~mask", "(mask", " * mask", "", see=PADDING),
        edit("the mask the wrong way round", "(~mask", "(mask", " * mask", " * ~mask", see=PADDING),
        edit("the mask the wrong way round", "~mask, torch.finfo(scores.dtype).min", "mask, -torch.inf", see=PADDING),
        edit(
            "the mask the wrong way round",
            *("~mask, torch.finfo(scores.dtype).min", "mask, -torch.inf", " * mask", ""),
            see=PADDING,
        ),
        edit("padding scored zero", FILL, "scores * mask"),
        edit("padding scored zero", FILL, "scores * mask", SOFT, "scores.softmax(dim=1)"),
        edit("the mask added as it is", FILL, "scores + mask"),
        edit("the mask added as it is", FILL, "scores + mask", SOFT, "scores.softmax(dim=1)"),
        edit("padding hidden with too small a number", "torch.finfo(scores.dtype).min", "-100.0"),
        edit("padding hidden with too small a number", "torch.finfo(scores.dtype).min", "-100.0", " * mask", ""),
        edit("padding hidden with too small a number", "torch.finfo(scores.dtype).min", "-20.0"),
        edit("padding hidden with too small a number", "torch.finfo(scores.dtype).min", "-20.0", " * mask", ""),
        edit("no softmax", SOFT, "scores * mask"),
        edit("no softmax", FILL, "scores", SOFT, "scores"),
        edit("no softmax", SOFT, "scores"),
        edit("sigmoid instead of softmax", "scores.softmax(dim=1)", "scores.sigmoid()"),
        edit("divided once too often", ".sum(dim=1), weights", ".mean(dim=1), weights"),
        edit("weights not used", SUMMED, "features.mean"),
        edit("weights not used", SUMMED, "features.sum"),
        edit("weights not used", SUMMED, "(mask.unsqueeze(2) * features).sum"),
        edit("weights not used", f"{SUMMED}(dim=1)", f"(mask.unsqueeze(2) * features).sum(dim=1) / {COUNT}"),
        edit("summed over the features", "features).sum(dim=1)", "features).sum(dim=2)"),
        edit("summed over the batch", "features).sum(dim=1)", "features).sum(dim=0)"),
        edit("scores returned instead of weights", "dim=1), weights", "dim=1), scores"),
        edit("scores returned instead of weights", "dim=1), weights", "dim=1), self.score(features).squeeze(2)"),
        edit("results in the wrong order", f"return {SUMMED}(dim=1), weights", f"return weights, {SUMMED}(dim=1)"),
        edit("squeeze without an axis", "squeeze(2)", "squeeze()"),
        edit("NaN for a text of padding", "torch.finfo(scores.dtype).min", "-torch.inf"),
        edit("NaN for a text of padding", "torch.finfo(scores.dtype).min", "-torch.inf", " * mask", ""),
        edit("weight for a text of padding", SOFT, "scores.softmax(dim=1)"),
        edit("the mask only counted", "scores = scores.m", f"mask = {COUNTED}; scores = scores.m", see=PADDING),
    ],
)

# --- 1.3 ---------------------------------------------------------------------------------------------------------


def lost_to_the_cut(labelled, distractor, window):
    """The share of labelled reviews of which nothing is left."""
    return (distractor >= window).mean()


def lost_by_lists(labelled: np.ndarray, distractor: np.ndarray, window: int) -> float:
    lost = 0
    for own, before in zip(labelled.tolist(), distractor.tolist(), strict=True):
        joined = ["distractor"] * before + ["labelled"] * own
        lost += "labelled" not in joined[:window]
    return lost / len(labelled)


def _lengths(seed: int, longest: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, longest, size)


lost_to_the_cut = Exercise(
    lost_to_the_cut,
    cases=[
        Case({"labelled": np.array([4, 5, 20, 1, 8]), "distractor": np.array([3, 10, 12, 9, 10]), "window": 10}),
        Case({"labelled": _lengths(2, 90, 40), "distractor": _lengths(1, 90, 40), "window": 50}),
        Case({"labelled": _lengths(4, 300, 200), "distractor": _lengths(3, 900, 200), "window": 256}),
    ],
    truth=lost_by_lists,
    tried="windows of 10, 50 and 256 tokens, one of them filled to its last place, against lists of words",
    see=DISTRACTORS,
    mistakes=[
        edit("a full window counted as room", ">=", ">"),
        edit("cut reviews counted as lost", "(distractor >=", "(distractor + labelled >"),
        edit("cut reviews counted as lost", "(distractor >=", "(distractor + labelled >="),
        edit("the two reviews exchanged", "(distractor", "(labelled"),
        edit("the two reviews exchanged", "(distractor >=", "(labelled >"),
        edit("a count instead of a share", ".mean()", ".sum()"),
        edit("the share that stays", ">=", "<"),
        edit("the share that stays", ">=", "<="),
        edit(
            "words counted instead of reviews",
            None,
            "return 1 - (window - distractor).clip(0, labelled).sum() / labelled.sum()",
        ),
        edit("the window is not used", ">= window", ">= 256"),
        edit("one answer for each review", ".mean()", ""),
        edit("only windows filled exactly", ">=", "=="),
        edit("the reviews compared with each other", ">= window", ">= labelled"),
    ],
)

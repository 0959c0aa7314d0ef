"""The checks of lab 1: a softmax with a mask, attention pooling, a mean without padding, an effect with an interval."""

import copy

import torch
from torch import nn

from ..model import AttentionPooling
from ..training import mean_and_interval
from .attention import COUNTED, PADDING, TWO_MODELS, attend, real_tokens, texts, weighing
from .exercise import Case, Exercise, draw
from .experiment import asked, by_sums
from .mistakes import Mistake, Wrong, edits
from .run import Raised

MASKS = [
    real_tokens([5, 3, 1]),
    real_tokens([6, 6]),
    real_tokens([4, 0, 2], padding_first=True),
    real_tokens([4, 3, 2, 1]),
    real_tokens([1, 1]),
]
LONELY = real_tokens([1, 2] * 6 + [3])  # among so many, some score lower than what a careless fill gives to padding


# --- 1.1 ---
def masked_softmax(scores, mask):
    """Softmax over the real tokens of each text, (batch, tokens); padding gets 0."""
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=1) * mask


def shares_by_loops(scores, mask):
    weights = torch.zeros(scores.shape, dtype=scores.dtype)
    for row, real in enumerate(mask):
        places = real.nonzero()[:, 0].tolist()
        for place in places:  # e to the difference cannot overflow where it counts
            weights[row, place] = 1 / sum((scores[row, other] - scores[row, place]).exp() for other in places)
    return weights


LOWEST = "torch.finfo(scores.dtype).min"
HIDE, SOFT = f"scores = scores.masked_fill(~mask, {LOWEST})", "scores.softmax(dim=1) * mask"
SECTIONS = {"HIDE": TWO_MODELS, "MASK": PADDING, "SOFTMAX": TWO_MODELS}

masked_softmax = Exercise(
    masked_softmax,
    cases=[
        *(Case({"scores": draw(*mask.shape, seed=n), "mask": mask}) for n, mask in enumerate(MASKS)),
        Case({"scores": 3000 * draw(13, 3, seed=5), "mask": LONELY}),
    ],
    truth=shares_by_loops,
    learns=("scores",),
    tried="six batches in double precision, with padding behind and in front, without, with a text of padding only, "
    "with texts of one token and with large scores, place by place",
    see=TWO_MODELS,
    mistakes=edits(f"""
        exponentials out of range: => e = scores.exp() * mask; return e / (e.sum(dim=1, keepdim=True) + 1e-9) ||
            => e = scores.exp() * mask; return e / e.sum(dim=1, keepdim=True) ||
            => e = (scores - scores.amax(dim=1, keepdim=True)).exp() * mask
            return e / e.sum(dim=1, keepdim=True).clamp(min=1e-12)
        no softmax: {SOFT} => scores
        exponentials not divided: {SOFT} => scores.exp() * mask
        softmax over the batch: dim=1 => dim=0
        NaN for a text of padding: {LOWEST} => -torch.inf || {LOWEST} => -torch.inf && * mask =>
        weight for a text of padding: * mask =>
        padding hidden with too small a number: {LOWEST} => -1000.0 || {LOWEST} => -1000.0 && * mask =>
        {PADDING}
        added in place of multiplied: * mask => + mask
        the mask only counted: scores = scores.m => mask = {COUNTED}; scores = scores.m
    """)
    + weighing(f"{HIDE} => && {SOFT}", "scores", "mask", 1, SECTIONS),
)


# --- 1.2 ---
def pool_by_pytorch(ids, mask, features, score, output):
    """One query, of which each score is a key; a text of padding only gives zeros."""
    tokens = features(ids)
    found = attend(torch.ones(len(tokens), 1, 1), score(tokens), tokens, mask, scale=1.0)
    pooled, weights = (rows.squeeze(1).nan_to_num() for rows in found)
    return output(pooled).squeeze(1), weights


def of_ids(sizes: tuple, mask: torch.Tensor, seed: int = 0, stretched: float = 1.0) -> Case:
    """A batch of texts for a model made with these sizes, of which the first is the number of words."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(2, sizes[0], mask.shape, generator=random) * mask
    return Case({"ids": ids, "mask": mask}, sizes, stretched)


def fits_into_lab_1(*names: str, see: str = TWO_MODELS):
    """A last look at a classifier: it hands settings on, and these parts are an nn.Linear with a bias."""

    def look(answer, run):
        made = run(lambda: answer(9, positions=False))
        if isinstance(made, Raised) or made.features.positions.any():
            raise Wrong("settings not handed on", see=see)
        for name in names:
            part = getattr(made, name)
            if not isinstance(part, nn.Linear) or part.bias is None:
                raise Wrong("no nn.Linear [looked into]", name=name)
        if made.output.in_features != 16:
            raise Wrong("another width by default")

    return look


WEIGH, SUMMED = "masked_softmax(scores, mask)", "weighted_sum(weights, features)"
OUT = "self.output(pooled).squeeze(1)"


def pooling() -> list[Mistake]:
    """What goes wrong in the classifiers of labs 1 and 2, from the scores on."""
    return edits(f"""
        NaN for a text of padding: {WEIGH} => scores.masked_fill(~mask, -torch.inf).softmax(1)
        weight for a text of padding: {WEIGH} => scores.masked_fill(~mask, -1e30).softmax(1)
        scaled [pooling]: {WEIGH} => masked_softmax(scores / features.shape[2] ** 0.5, mask)
        padding hidden in the features: (ids) => (ids) * mask.unsqueeze(2) && {WEIGH} => scores.softmax(1)
        divided once too often: {SUMMED} => (weights.unsqueeze(2) * features).mean(dim=1)
        weights not used: {SUMMED} => features.mean(dim=1) || features.sum(dim=1) ||
            (mask.unsqueeze(2) * features).sum(dim=1)
        the pooled features, not the output: {OUT} => pooled
        scores returned instead of weights: squeeze(1), weights => squeeze(1), scores
        results in the wrong order: return {OUT}, weights => return weights, {OUT}
        squeeze without an axis: squeeze(2) => squeeze()
        an axis of size 1 is left: {OUT} => self.output(pooled)
        a sigmoid behind the output: {OUT} => {OUT}.sigmoid()
        settings not handed on: (vocabulary_size, dim, **features) => (vocabulary_size, dim)
        {PADDING}
        the mask only counted: {WEIGH} => masked_softmax(scores, {COUNTED})
    """) + weighing(WEIGH, "scores", "mask", 1, SECTIONS)


attention_pool = Exercise(
    AttentionPooling,
    name="attention_pool",
    cases=[
        *(of_ids((9, dim), mask, seed) for seed, (dim, mask) in enumerate(zip((4, 2, 3, 4, 6), MASKS, strict=True))),
        of_ids((9, 4), LONELY, 5, stretched=30.0),
    ],
    truth=pool_by_pytorch,
    parts=("features", "score", "output"),
    widths=lambda words, dim: {"score": (dim, 1), "output": (dim, 1)},
    also=fits_into_lab_1("score", "output"),
    tried="six batches in double precision, with padding behind and in front, without, with a text of padding only, "
    "with texts of one token and with large scores, against PyTorch's scaled_dot_product_attention",
    see=TWO_MODELS,
    mistakes=edits(f"""
        weights not used: {SUMMED} => (mask.unsqueeze(2) * features).sum(dim=1) / mask.sum(1, keepdim=True).clamp(min=1)
        summed over the features: pooled = {SUMMED} => pooled = (weights.unsqueeze(2) * features).sum(dim=2) &&
            {OUT} => pooled
        one output for each token: => features = self.features(ids)
            weights = masked_softmax(self.score(features).squeeze(2), mask)
            return self.output(weights.unsqueeze(2) * features).squeeze(2), weights
        the score's map in place of the output's: {OUT} => self.score(pooled).squeeze(1)
        the output's map in place of the score's: self.score(features) => self.output(features)
    """)
    + pooling(),
)


# --- 1.3 ---
def masked_mean(features, mask):
    """The mean of the real tokens of each text, (batch, dim)."""
    total = (features * mask.unsqueeze(2)).sum(dim=1)  # (batch, dim)
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


def mean_by_loops(features, mask):
    return torch.stack(
        [tokens[real].sum(dim=0) / max(real.sum(), 1) for tokens, real in zip(features, mask, strict=True)]
    )


COUNT = "mask.sum(dim=1, keepdim=True).clamp(min=1)"
masked_mean = Exercise(
    masked_mean,
    cases=[texts((dim,), mask, seed) for seed, (dim, mask) in enumerate(zip((4, 2, 3, 4), MASKS, strict=False))],
    truth=mean_by_loops,
    tried="four batches in double precision: with padding behind and in front, without, and with a text of padding "
    "only",
    see=TWO_MODELS,
    mistakes=edits(f"""
        the fault is still there [mean]: {COUNT} => mask.sum(dim=1)
        divided by all places: {COUNT} => mask.shape[1]
        not divided: / {COUNT} =>
        one more counted: {COUNT} => (mask.sum(dim=1, keepdim=True) + 1)
        one count for all texts: {COUNT} => mask.sum()
        mean over the batch: => return features.mean(dim=0) || sum(dim=1) => sum(dim=0) ||
            sum(dim=1) => sum(dim=0) && {COUNT} => mask.sum(dim=0)[:, None].clamp(min=1) ||
            => return features[mask].mean(dim=0).expand(len(features), -1)
        mean over the features: => return features.mean(dim=2) || return (features * mask.unsqueeze(2)).mean(dim=2) ||
            sum(dim=1) => sum(dim=2)
        counted over the batch: mask.sum(dim=1, keepdim=True) => mask.sum(dim=0).unsqueeze(1) ||
            mask.sum(dim=1 => mask.sum(dim=0
        the axis of the count is lost: mask.sum(dim=1, keepdim=True) => mask.sum(dim=1)
        the mask on the wrong axis: mask.unsqueeze(2) => mask.unsqueeze(1) || mask
        NaN for a text of padding [mean]: .clamp(min=1) =>
        multiplied by the count: / {COUNT} => * {COUNT}
        {PADDING}
        padding left in the mean: => return features.mean(dim=1)
        padding left in the sum: * mask.unsqueeze(2) => || * mask.unsqueeze(2) => && .clamp(min=1) =>
        the mask the wrong way round: total = => mask = ~mask; total = || mask.unsqueeze(2) => (~mask).unsqueeze(2) ||
            total = => mask = ~mask; total = && .clamp(min=1) =>
        the mask only counted: total = => mask = {COUNTED}; total =
        added in place of multiplied: features * mask => features + mask
    """),
)


# --- 1.4 ---
def effect_of(change, models, measure):
    """The mean effect of a change on a measure, and half of its 95% interval over the models."""
    differences = []
    for model in models:
        changed = copy.deepcopy(model)
        change(changed)
        differences.append(measure(changed) - measure(model))
    return mean_and_interval(differences)


class Known(nn.Module):
    """A model of which all is known: what it measures, and by how much a change moves it."""

    def __init__(self, level: float, moves: float):
        super().__init__()
        self.level, self.moves = nn.Parameter(torch.tensor(level)), moves


def moved(model):
    with torch.no_grad():
        model.level += model.moves


def level(model):
    return model.level.item()


def planted(*levels_and_moves: tuple[float, float]) -> Case:
    return Case({"change": moved, "models": [Known(*pair) for pair in levels_and_moves], "measure": level})


CHANGED, RATIO = "measure(changed) - measure(model)", "measure(changed) / measure(model)"
AFTER = "[measure(change(changed) or changed) for changed in copy.deepcopy(models)]"

effect_of = Exercise(
    effect_of,
    cases=[
        planted((0.5, -0.25), (0.75, -0.125), (0.625, -0.5)),
        planted((0.25, 0.125), (0.5, 0.5)),
        planted((1.0, 0.25), (0.125, -0.5), (0.5, 1.0), (0.75, 0.75), (0.25, -0.125)),
    ],
    truth=lambda change, models, measure: by_sums([model.moves for model in models]),
    tried="lists of two, three and five models of which it is known what a change does to them",
    see="Lab 1, “Exercise 1.4 (experiment): take the places away from a trained model”",
    mistakes=edits(f"""
        the sign turned round [effect]: {CHANGED} => measure(model) - measure(changed)
        measured without a change: change(changed) => pass
        the change hands nothing back: = copy.deepcopy(model) => = change(copy.deepcopy(model)) && change(changed) =>
        the changed models alone: {CHANGED} => measure(changed)
        the models as they are alone: {CHANGED} => measure(model)
        one model only: for model in models: => for model in models[:1] * 2:
        each model compared with the first: - measure(model) => - measure(models[0])
        sign lost [effect]: {CHANGED} => abs({CHANGED})
        added in place of subtracted [changes]: measure(changed) - => measure(changed) +
        a ratio in place of a difference: measure(changed) - => measure(changed) / || {CHANGED} => {RATIO} - 1
        no mean and interval: return mean_and_interval(differences) => return differences
        changed twice: change(changed) => change(changed); change(changed)
    """)
    + asked("differences", apart=(AFTER, "[measure(model) for model in models]")),
)

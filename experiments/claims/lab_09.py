"""What lab 9 claims about residual connections, norm and feed-forward layer, with more seeds.

    python -m experiments.claims.lab_09              all runs, seed by seed; may be stopped and goes on
    python -m experiments.claims.lab_09 points       one part: points, or reviews, or reviews of one seed: 0 to 4

What is made stays in lab_09.json beside this file; delete an entry there to make it anew.
"""

import os
import sys
from functools import partial
from pathlib import Path

os.environ |= {"MPLBACKEND": "Agg", "TQDM_DISABLE": "1"}

import torch
from torch import nn

from experiments import record
from shared.data import Settings, distracted_examples, examples_with_distractors, prepare
from shared.model import EncoderClassifier, TransformerBlock
from shared.training import Recipe, evaluate, fit

MADE = Path(__file__).with_suffix(".json")
SEEDS = range(5)
once = partial(record.once, MADE)


class Without(TransformerBlock):
    """The block of lab 9 without the sum around attention, around the feed-forward layer, or around both."""

    kept = ""

    def forward(self, features, mask=None, attention_mask=None):
        attended, weights = self.attention(self.attention_norm(features), mask, attention_mask)
        features = self.dropout(attended) + (features if "attention" in self.kept else 0)
        thought = self.dropout(self.feed_forward(self.feed_forward_norm(features)))
        return thought + (features if "feed-forward" in self.kept else 0), weights


# The sum that is left when the other one goes.
KEPT = {"residual of attention": "feed-forward", "residual of feed-forward": "attention"}


class Nothing(nn.Module):
    def forward(self, features):
        return torch.zeros_like(features)


def take_away(blocks, part: str) -> None:
    for block in blocks:
        if part == "norm":
            block.attention_norm = block.feed_forward_norm = nn.Identity()
        elif part == "feed-forward":
            block.feed_forward = Nothing()
        elif part != "nothing":
            block.__class__ = Without
            block.kept = KEPT.get(part, "")


# --- points in a ring: six blocks, three rates -------------------------------------------------------------------


class Points(nn.Module):
    def __init__(self, part: str, num_blocks: int, dim: int = 16):
        super().__init__()
        self.features = nn.Linear(2, dim)
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, 2, 2 * dim, dropout=0.0, norm_first=True) for _ in range(num_blocks)
        )
        take_away(self.blocks, part)
        self.output = nn.Linear(dim, 1)

    def forward(self, points):
        features = self.features(points)  # (batch, points, dim)
        for block in self.blocks:
            features, _ = block(features)  # (batch, points, dim)
        return self.output(features.mean(dim=1)).squeeze(1)


def clouds(count: int, random: torch.Generator, size: int = 9):
    """Nine points each, and whether most of them lie inside the circle that holds half of all points."""
    points = torch.randn(count, size, 2, generator=random)
    inside = points.norm(dim=2) < 1.1774  # (count, points)
    return points, (inside.float().mean(dim=1) > 0.5).float()


def points(part: str, rate: float, num_blocks: int = 6, steps: int = 150) -> list[float]:
    """Accuracy for ten seeds, trained side by side: the models are small, and one call for all of them spares time."""
    models, randoms = [], []
    for seed in range(10):
        torch.manual_seed(seed)
        models.append(Points(part, num_blocks).eval())
        randoms.append(torch.Generator().manual_seed(seed))
    parameters, _ = torch.func.stack_module_state(models)
    optimizer = torch.optim.Adam(parameters.values(), lr=rate)

    def logits_of(parameters, cloud):
        return torch.func.functional_call(models[0], parameters, cloud)

    for _ in range(steps):
        cloud, label = map(torch.stack, zip(*(clouds(64, random) for random in randoms), strict=True))
        logits = torch.func.vmap(logits_of)(parameters, cloud)  # (seeds, batch)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, label, reduction="none").mean(dim=1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    cloud, label = clouds(2000, torch.Generator().manual_seed(99))
    with torch.no_grad():
        logits = torch.func.vmap(logits_of, in_dims=(0, None))(parameters, cloud)
    return ((logits > 0) == label.bool()).float().mean(dim=1).tolist()


def all_points() -> None:
    for rate in (0.03, 0.003, 0.001):
        for part in ("norm", "nothing", "feed-forward", "residual"):
            once(f"points, 6 blocks, without {part}, rate {rate}", partial(points, part, rate))


# --- distracted reviews: two blocks, three rates -----------------------------------------------------------------


def all_reviews(seed: int, parts: dict[str, tuple[float, ...]]) -> None:
    data = prepare(Settings(), cut=32)
    validation = examples_with_distractors(data.validation, seed=1)
    distracted = distracted_examples(data.test, seed=2)

    def run(part: str, rate: float) -> dict:
        torch.manual_seed(seed)
        model = EncoderClassifier(len(data.vocabulary), num_heads=2, num_blocks=2)
        take_away(model.blocks, part)
        history = fit(
            model,
            lambda epoch: examples_with_distractors(data.train, seed=1000 * (seed + 1) + epoch),
            validation,
            Recipe(6, rate, 64),
            seed,
        )
        by_epoch = [round(record["validation_accuracy"], 4) for record in history]
        return {"distracted": evaluate(model, distracted).accuracy, "validation": by_epoch}

    for part, rates in parts.items():
        for rate in rates:
            once(f"reviews, 2 blocks, 6 epochs, without {part}, rate {rate}, seed {seed}", partial(run, part, rate))


if __name__ == "__main__":
    torch.set_num_threads(1)
    chosen = sys.argv[1:] or ["points", "reviews"]
    if "points" in chosen:
        all_points()
    three = (0.005, 0.002, 0.001)
    one_sum = {"residual of attention": three[:1], "residual of feed-forward": three[:1]}
    for parts in ({"residual": three, "nothing": three}, one_sum):
        for seed in SEEDS:
            if "reviews" in chosen or str(seed) in chosen:
                all_reviews(seed, parts)

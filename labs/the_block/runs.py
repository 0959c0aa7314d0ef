"""What *The block* takes away in the café, with more seeds than the lab has time for.

Blocks without residual connections or norms on the friend's friend, at several depths and learning rates; and attention
with and without a feed-forward layer on the comparison of two drinks. An hour of one core. Writes runs.json, which the
lab reads.

    python -m labs.the_block.runs
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from shared import cafe, record
from shared.model import MultiHeadSelfAttention, TransformerBlock

RESULTS = record.ROOT / "labs/the_block/runs.json"
RATE = 0.003
PARTS = {
    "pre-norm and residual": {},
    "residual": {"norm": False},
    "pre-norm": {"residual": False},
    "neither": {"residual": False, "norm": False},
    "pre-norm, orthogonal initialization": {"residual": False, "orthogonal": True},
}
DEPTHS = {"two blocks": 2, "four blocks": 4}
RUNS = [  # the depth, the learning rate, what the blocks have, the number of seeds
    ("four blocks", 0.003, "pre-norm and residual", 5),
    ("four blocks", 0.003, "residual", 5),
    ("four blocks", 0.003, "pre-norm", 3),
    ("four blocks", 0.003, "neither", 3),
    ("four blocks", 0.003, "pre-norm, orthogonal initialization", 7),
    ("two blocks", 0.003, "pre-norm", 5),
    ("four blocks", 0.01, "pre-norm and residual", 5),
    ("four blocks", 0.01, "residual", 5),
    ("two blocks", 0.01, "pre-norm and residual", 3),
    ("two blocks", 0.01, "residual", 3),
]
HEADS, SEEDS_OF_HEADS = (1, 2, 4), 4


class Block(TransformerBlock):
    """A pre-norm block whose residual connections or norms may be left out."""

    def __init__(self, residual: bool = True, norm: bool = True, orthogonal: bool = False):
        super().__init__(d_model=32, num_heads=1, hidden_dim=64, dropout=0.0, norm_first=True)
        self.residual = residual
        if not norm:
            self.attention_norm = self.feed_forward_norm = nn.Identity()
        if orthogonal:
            for part in self.modules():
                if isinstance(part, nn.Linear):
                    nn.init.orthogonal_(part.weight)

    def forward(self, x: Tensor) -> Tensor:
        x = self.residual * x + self.attention(self.attention_norm(x))[0]  # (cafes, guests, d_model)
        return self.residual * x + self.feed_forward(self.feed_forward_norm(x))


class Attention(nn.Module):
    """Attention and a residual connection, without or with a feed-forward layer after it."""

    def __init__(self, num_heads: int, feed_forward: bool = False):
        super().__init__()
        self.attention = MultiHeadSelfAttention(32, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)) if feed_forward else None

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(x)[0]  # (cafes, guests, d_model)
        return x if self.feed_forward is None else x + self.feed_forward(x)


def trained_accuracy(make_layer: Callable[[], nn.Module], question: cafe.Question, seed: int, rate: float) -> float:
    """The accuracy that a layer reaches with the recipe of the lab."""
    torch.manual_seed(seed)
    model = cafe.train(make_layer(), question, seed=seed, learning_rate=rate)
    return round(cafe.accuracy(model, question), 4)


def blocks(number: int, parts: dict) -> nn.Module:
    return nn.Sequential(*(Block(**parts) for _ in range(number)))


def accuracies(name: str) -> list[float]:
    """The stored accuracies of all seeds of a model."""
    return [accuracy for key, accuracy in record.read(RESULTS).items() if key.startswith(f"{name}, seed ")]


if __name__ == "__main__":
    torch.set_num_threads(1)
    for depth, rate, name, seeds in RUNS:
        for seed in range(seeds):
            key = f"friend's friend, {depth}, rate {rate}: {name}, seed {seed}"
            make = partial(blocks, DEPTHS[depth], PARTS[name])
            record.load_or_run(RESULTS, key, trained_accuracy, make, cafe.friends_friends_drink, seed, rate)
    for heads in HEADS:
        for seed in range(SEEDS_OF_HEADS):
            key = f"same drink, no feed-forward, rate {RATE}: {heads} heads, seed {seed}"
            record.load_or_run(RESULTS, key, trained_accuracy, partial(Attention, heads), cafe.same_drink, seed, RATE)
    for seed in range(SEEDS_OF_HEADS):
        key = f"same drink, feed-forward, rate {RATE}: 1 heads, seed {seed}"
        record.load_or_run(RESULTS, key, trained_accuracy, partial(Attention, 1, True), cafe.same_drink, seed, RATE)

"""What *The block* takes away in the café, with more seeds than the lab has time for.

Blocks without residual connections or norms on the friend's friend, and attention without a feed-forward layer on the
comparison of two drinks. An hour of one core. Writes runs.json, which the lab reads.

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
PARTS = {  # the number of blocks, what is left out, and the seeds
    "four blocks": {
        "pre-norm and residual": ({}, 5),
        "residual": ({"norm": False}, 5),
        "pre-norm": ({"residual": False}, 3),
        "neither": ({"residual": False, "norm": False}, 3),
        "pre-norm, orthogonal initialization": ({"residual": False, "orthogonal": True}, 11),
    },
    "two blocks": {"pre-norm": ({"residual": False}, 5)},
}
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
    """Attention and a residual connection, without a feed-forward layer."""

    def __init__(self, num_heads: int):
        super().__init__()
        self.attention = MultiHeadSelfAttention(32, num_heads)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.attention(x)[0]  # (cafes, guests, d_model)


def trained_accuracy(make_layer: Callable[[], nn.Module], question: cafe.Question, seed: int) -> float:
    """The accuracy that a layer reaches with the recipe of the lab."""
    torch.manual_seed(seed)
    model = cafe.train(make_layer(), question, seed=seed, learning_rate=RATE)
    return round(cafe.accuracy(model, question), 4)


def blocks(number: int, parts: dict) -> nn.Module:
    return nn.Sequential(*(Block(**parts) for _ in range(number)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for heads in HEADS:
        for seed in range(SEEDS_OF_HEADS):
            key = f"same drink, no feed-forward, rate {RATE}: {heads} heads, seed {seed}"
            record.load_or_run(RESULTS, key, trained_accuracy, partial(Attention, heads), cafe.same_drink, seed)
    for depth, number in (("two blocks", 2), ("four blocks", 4)):
        for name, (parts, seeds) in PARTS[depth].items():
            for seed in range(seeds):
                key = f"friend's friend, {depth}, rate {RATE}: {name}, seed {seed}"
                make = partial(blocks, number, parts)
                record.load_or_run(RESULTS, key, trained_accuracy, make, cafe.friends_friends_drink, seed)

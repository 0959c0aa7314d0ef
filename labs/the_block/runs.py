"""Four blocks in the café without residual connections or norms, with more seeds than *The block* has time for.

An hour of one core. Writes runs.json, which the lab reads.

    python -m labs.the_block.runs
"""

import torch
from torch import Tensor, nn

from shared import cafe, record
from shared.model import TransformerBlock

RESULTS = record.ROOT / "labs/the_block/runs.json"
RATE = 0.003
PARTS = {  # what is left out, and the seeds
    "pre-norm and residual": ({}, 5),
    "residual": ({"norm": False}, 1),
    "pre-norm": ({"residual": False}, 3),
    "neither": ({"residual": False, "norm": False}, 3),
    "pre-norm, orthogonal initialization": ({"residual": False, "orthogonal": True}, 3),
}


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


def run(parts: dict, seed: int) -> float:
    """The accuracy of four blocks on the friend's friend."""
    torch.manual_seed(seed)
    blocks = nn.Sequential(*(Block(**parts) for _ in range(4)))
    model = cafe.train(blocks, cafe.friends_friends_drink, seed=seed, learning_rate=RATE)
    return round(cafe.accuracy(model, cafe.friends_friends_drink), 4)


if __name__ == "__main__":
    for name, (parts, seeds) in PARTS.items():
        for seed in range(seeds):
            key = f"friend's friend, four blocks, rate {RATE}: {name}, seed {seed}"
            record.load_or_run(RESULTS, key, run, parts, seed)

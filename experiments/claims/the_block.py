"""The parts of the Transformer block, one by one, with more seeds than *The block* has time for.

In the café: what two layers, a feed-forward layer, residual connections and norms are worth. Twenty minutes of one
core.

    python -m experiments.claims.the_block
"""

from functools import partial

import torch
from torch import Tensor, nn

from experiments import record
from shared import cafe
from shared.model import MultiHeadSelfAttention, TransformerBlock

RESULTS = record.ROOT / "shared/the_block.json"
SEEDS = range(5)


class Attention(nn.Module):
    """x plus the output of attention."""

    def __init__(self, num_heads: int = 1, d_model: int = 32):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.attention(x)[0]  # (cafes, guests, d_model)


class FeedForward(nn.Module):
    def __init__(self, d_model: int = 32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, d_model))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)  # (cafes, guests, d_model)


class FixedOnFriend(cafe.CafeModel):
    """Each guest attends to the friend and to nobody else."""

    def __init__(self, layer: nn.Module, d_model: int, *sizes: int):
        super().__init__(layer, d_model, *sizes)
        self.W_value = nn.Linear(d_model, d_model, bias=False)

    def embed(self, cafes: cafe.Cafes) -> Tensor:
        x = super().embed(cafes)  # (cafes, guests, d_model)
        chairs = cafes.chairs_of_friends()  # (cafes, guests)
        return x + self.W_value(x.gather(1, chairs[:, :, None].expand_as(x)))


def same_temperature(cafes: cafe.Cafes) -> Tensor:
    """Are my drink and my friend's both hot, or both cold?"""
    hot = torch.tensor([True, True, False, False, False, True])  # tea, coffee and cocoa
    return (hot[cafes.drinks] == hot[cafe.friends_drink(cafes)]).long()


class Block(TransformerBlock):
    """A pre-norm block whose residual connections or norms may be left out."""

    def __init__(self, d_model: int, num_heads: int, hidden_dim: int, residual: bool, norm: bool, orthogonal: bool):
        super().__init__(d_model, num_heads, hidden_dim, dropout=0.0, norm_first=True)
        self.residual = residual
        if not norm:
            self.attention_norm = self.feed_forward_norm = nn.Identity()  # type: ignore[assignment]
        if orthogonal:
            for part in self.modules():
                if isinstance(part, nn.Linear):
                    nn.init.orthogonal_(part.weight)

    def forward(self, x, mask=None, attention_mask=None):
        output, weights = self.attention(self.attention_norm(x), mask, attention_mask)
        x = self.residual * x + output  # (batch, tokens, d_model)
        return self.residual * x + self.feed_forward(self.feed_forward_norm(x)), weights


class Stack(nn.Module):
    def __init__(self, num_blocks: int = 4, residual: bool = True, norm: bool = True, orthogonal: bool = False):
        super().__init__()
        self.blocks = nn.ModuleList(Block(32, 1, 64, residual, norm, orthogonal) for _ in range(num_blocks))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x, _ = block(x)  # (cafes, guests, d_model)
        return x


def in_the_cafe(make_layer, question, seed: int, **recipe) -> float:
    torch.manual_seed(seed)
    model = cafe.train(make_layer(), question, seed=seed, **recipe)
    return round(cafe.accuracy(model, question), 4)


FRIENDS_FRIEND, SAME, TEMPERATURE = cafe.friends_friends_drink, cafe.same_drink, same_temperature
with_feed_forward = {"no feed-forward layer": nn.Identity, "feed-forward layer": FeedForward}
PARTS = {
    "pre-norm and residual": {},
    "residual": {"norm": False},
    "pre-norm": {"residual": False},
    "neither": {"residual": False, "norm": False},
    "pre-norm, orthogonal initialization": {"residual": False, "orthogonal": True},
}
RUNS = {
    **{
        f"friend's friend, four blocks, rate {rate}: {name}": partial(
            in_the_cafe, partial(Stack, **parts), FRIENDS_FRIEND, learning_rate=rate
        )
        for rate in (0.003, 0.01)
        for name, parts in PARTS.items()
    },
    "friend's friend, one layer": partial(in_the_cafe, Attention, FRIENDS_FRIEND),
    "friend's friend, one layer, two heads": partial(in_the_cafe, partial(Attention, 2), FRIENDS_FRIEND),
    "friend's friend, two layers": partial(
        in_the_cafe, lambda: nn.Sequential(Attention(), Attention()), FRIENDS_FRIEND
    ),
    **{
        f"{kind}, attention fixed: {name}": partial(in_the_cafe, part, question, model_class=FixedOnFriend)
        for kind, question in (("same drink", SAME), ("same temperature", TEMPERATURE))
        for name, part in with_feed_forward.items()
    },
    **{
        f"{kind}, attention learned: {name}": partial(
            in_the_cafe, lambda part=part: nn.Sequential(Attention(), part()), question
        )
        for kind, question in (("same drink", SAME), ("same temperature", TEMPERATURE))
        for name, part in with_feed_forward.items()
    },
}


def main() -> None:
    for name, run in RUNS.items():
        for seed in SEEDS:
            record.load_or_run(RESULTS, f"{name}, seed {seed}", run, seed)


if __name__ == "__main__":
    main()

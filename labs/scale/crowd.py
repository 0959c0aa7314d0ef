"""Cafés of any number of guests, and layers whose scores have one size or another; `train` records how they learn."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from shared import cafe, figures

D_MODEL = 32
EVERY = 50  # steps between two measurements


class Attention(nn.Module):
    """Self-attention without a mask, whose scores are divided by the root of d_k, not divided, or normalized.

    Args:
        scores: "divided", "not divided", or "normalized": queries and keys get a root mean square of 1, times a learned
            gain, and the scores are divided.
        unit: whether projections of x begin with variance 1, if x has it; otherwise they begin as in PyTorch.
        factor: multiplies what queries and keys begin with.
    """

    def __init__(self, d_k: int, scores: str, unit: bool = False, factor: float = 1.0):
        super().__init__()
        self.W_query, self.W_key = (nn.Linear(D_MODEL, d_k, bias=False) for _ in range(2))
        self.W_value = nn.Linear(D_MODEL, D_MODEL, bias=False)
        normalized = scores == "normalized"
        self.query_norm, self.key_norm = (nn.RMSNorm(d_k) if normalized else nn.Identity() for _ in range(2))
        self.divisor = 1.0 if scores == "not divided" else math.sqrt(d_k)
        if unit:
            for projection in (self.W_query, self.W_key, self.W_value):
                nn.init.normal_(projection.weight, std=D_MODEL**-0.5)
        with torch.no_grad():
            self.W_query.weight *= factor
            self.W_key.weight *= factor

    def forward(self, x: Tensor) -> Tensor:
        queries, keys = self.query_norm(self.W_query(x)), self.key_norm(self.W_key(x))  # (cafes, guests, d_k) each
        weights = (queries @ keys.mT / self.divisor).softmax(dim=2)  # (cafes, guests, guests)
        return weights @ self.W_value(x)


class Model(cafe.CafeModel):
    """The café's model with as many names as there are guests; with `unit`, the entries of x begin with variance 1."""

    def __init__(self, layer: nn.Module, guests: int, unit: bool = False):
        super().__init__(layer, D_MODEL)
        self.name, self.friend = nn.Embedding(guests, D_MODEL), nn.Embedding(guests, D_MODEL)
        for table in (self.name, self.friend, self.drink):
            nn.init.normal_(table.weight, std=3**-0.5 if unit else D_MODEL**-0.5)


def draw(count: int, guests: int, generator: torch.Generator) -> cafe.Cafes:
    """Random cafés of so many guests, each with another guest for a friend."""
    names = torch.rand(count, guests, generator=generator).argsort(dim=1)  # (cafes, guests)
    friends = (names + torch.randint(1, guests, (count, guests), generator=generator)) % guests
    return cafe.Cafes(names, friends, torch.randint(len(cafe.DRINKS), (count, guests), generator=generator))


def train(
    guests: int,
    d_k: int,
    scores: str,
    seed: int,
    unit: bool = False,
    factor: float = 1.0,
    momentum: bool = False,
    steps: int = 500,
    batch_size: int = 32,
    rate: float = 0.003,
) -> list[float]:
    """The accuracy on the friend's drink before training and after every 50 steps, in the same 64 cafés.

    With `momentum` the optimizer is plain gradient descent with a momentum of 0.9, otherwise Adam.
    """
    torch.manual_seed(seed)
    model = Model(Attention(d_k, scores, unit, factor), guests, unit)
    optimizer = (
        torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9) if momentum
        else torch.optim.Adam(model.parameters(), lr=rate)
    )  # fmt: skip
    generator, test = torch.Generator().manual_seed(seed), draw(64, guests, torch.Generator().manual_seed(1_000_000))
    curve = [round(cafe.accuracy(model, cafe.friends_drink, cafes=test), 4)]
    for step in range(1, steps + 1):
        cafes = draw(batch_size, guests, generator)
        loss = cross_entropy(model(cafes).flatten(0, 2), cafe.friends_drink(cafes).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % EVERY == 0:
            curve.append(round(cafe.accuracy(model, cafe.friends_drink, cafes=test), 4))
    return curve


def over_steps(accuracies: list[float] | np.ndarray) -> np.ndarray:
    """Accuracies as points (steps, accuracy), (measurements, 2)."""
    return np.column_stack([EVERY * np.arange(len(accuracies)), accuracies])


@torch.no_grad()
def first_scores(guests: int, d_k: int, unit: bool) -> Tensor:
    """The scores, not divided, with which training begins, in 64 cafés, (cafes, guests, guests)."""
    torch.manual_seed(0)
    layer = Attention(d_k, "not divided", unit)
    x = Model(layer, guests, unit).embed(draw(64, guests, torch.Generator().manual_seed(0)))  # (cafes, guests, d_model)
    return layer.W_query(x) @ layer.W_key(x).mT


def first_weights_of_friends(guests: int, d_k: int, unit: bool, divisor: float) -> Tensor:
    """The weight of each guest's friend with these scores, divided, in the same cafés, (cafes, guests)."""
    chairs = draw(64, guests, torch.Generator().manual_seed(0)).chairs_of_friends().unsqueeze(2)  # (cafes, guests, 1)
    weights = (first_scores(guests, d_k, unit) / divisor).softmax(dim=2)  # (cafes, guests, guests)
    return weights.gather(2, chairs).squeeze(2)


def friend_is_the_favorite(guests: int, d_k: int, unit: bool) -> float:
    """The fraction of guests whose friend has the largest of these scores, in the same cafés."""
    chairs = draw(64, guests, torch.Generator().manual_seed(0)).chairs_of_friends()  # (cafes, guests)
    return (first_scores(guests, d_k, unit).argmax(dim=2) == chairs).float().mean().item()


def draw_two_rooms() -> figures.Cafes:
    """The same four guests twice; in the second room, queries and keys are three times as long."""
    guests: dict[str, Any] = {
        "names": ["Ada", "Ben", "Cleo", "Dan"],
        "drinks": ["tea", "coffee", "juice", "tea"],
        "friends": ["Cleo", "Ada", "Dan", "Ada"],
        "attending": "Ada",
    }
    titles = {1: "scores as they are", 3: "scores × 9"}
    return figures.Cafes([figures.Cafe(**guests, factor=f, title=title, width=150) for f, title in titles.items()])

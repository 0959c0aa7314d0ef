"""The café of `shared.cafe` with sixteen names: eight guests are there, and half of them have a friend who is away.

The question is still "what does my friend drink?", and for a friend who is away the answer is "nobody".
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from shared.cafe import DRINKS

NUM_NAMES, GUESTS = 16, 8
NOBODY = len(DRINKS)  # the number of this answer


@dataclass(frozen=True)
class Cafes:
    """Cafés as rows of chairs; all tensors are (cafes, guests). `away` is True where a guest's friend is not there."""

    names: Tensor
    friends: Tensor
    drinks: Tensor
    away: Tensor
    answers: Tensor


def draw_cafes(count: int, seed: int | torch.Generator) -> Cafes:
    """Random cafés. Each guest's friend is away in half of the cases, whoever the guest is.

    Args:
        seed: a number, or a generator that goes on from where it is.
    """
    generator = torch.Generator().manual_seed(seed) if isinstance(seed, int) else seed
    everybody = torch.rand(count, NUM_NAMES, generator=generator).argsort(dim=1)  # (cafes, names)
    names, absent = everybody[:, :GUESTS], everybody[:, GUESTS:]  # (cafes, guests) each
    steps = torch.randint(1, GUESTS, (count, GUESTS), generator=generator)
    chairs = (torch.arange(GUESTS) + steps) % GUESTS  # (cafes, guests): one of the seven other guests
    away = torch.rand(count, GUESTS, generator=generator) < 0.5
    friends = torch.where(away, absent.gather(1, chairs), names.gather(1, chairs))
    drinks = torch.randint(NOBODY, (count, GUESTS), generator=generator)
    answers = drinks.gather(1, chairs).masked_fill(away, NOBODY)
    return Cafes(names, friends, drinks, away, answers)


class Model(nn.Module):
    """Guests to vectors, a layer, and a linear read-out of seven answers: six drinks and "nobody".

    Args:
        layer: takes x (cafes, guests, d_model) and returns the output, (cafes, guests, d_model), and the weights.
    """

    def __init__(self, layer: nn.Module, d_model: int = 32):
        super().__init__()
        self.name, self.friend = nn.Embedding(NUM_NAMES, d_model), nn.Embedding(NUM_NAMES, d_model)
        self.drink = nn.Embedding(len(DRINKS), d_model)
        for table in (self.name, self.friend, self.drink):
            nn.init.normal_(table.weight, std=d_model**-0.5)
        self.layer = layer
        self.read_out = nn.Linear(d_model, NOBODY + 1)

    def forward(self, cafes: Cafes) -> tuple[Tensor, Tensor]:
        """Logits (cafes, guests, answers), and the attention weights."""
        x = self.name(cafes.names) + self.friend(cafes.friends) + self.drink(cafes.drinks)  # (cafes, guests, d_model)
        output, weights = self.layer(x)
        return self.read_out(output), weights


class WithStartToken(nn.Module):
    """A layer whose tokens also attend to one learned token, placed before the first."""

    def __init__(self, layer: nn.Module, d_model: int = 32):
        super().__init__()
        self.layer, self.start = layer, nn.Parameter(torch.randn(d_model) / math.sqrt(d_model))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        start = self.start.expand(len(x), 1, -1)  # (cafes, 1, d_model)
        output, weights = self.layer(torch.cat([start, x], dim=1))  # (cafes, 1 + guests, ...)
        return output[:, 1:], weights[:, 1:]  # the rows of the guests


class Gated(nn.Module):
    """A layer whose output is multiplied by a gate, 0 to 1, which the token computes from itself (Qiu et al. 2025)."""

    def __init__(self, layer: nn.Module, d_model: int = 32):
        super().__init__()
        self.layer, self.W_gate = layer, nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        output, weights = self.layer(x)
        return output * self.W_gate(x).sigmoid(), weights


class TwoLayers(nn.Module):
    """A layer with a residual connection, then another; the weights are those of the second."""

    def __init__(self, first: nn.Module, second: nn.Module):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.second(x + self.first(x)[0])


def train(layer: nn.Module, seed: int, steps: int = 1000, learning_rate: float = 0.003, batch_size: int = 64) -> Model:
    """Train as in `shared.cafe.train`. The layer's own weights are drawn before this call, so set a seed there."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Model(layer)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in tqdm(range(steps), leave=False):
        cafes = draw_cafes(batch_size, generator)
        loss = cross_entropy(model(cafes)[0].flatten(0, 1), cafes.answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


TEST_CAFES = draw_cafes(1000, seed=1_000_000)


@torch.no_grad()
def accuracies(model: Model) -> list[float]:
    """Of guests whose friend is away, and of the others; then the mean weight of both on the first column."""
    logits, weights = model(TEST_CAFES)
    right, first = (logits.argmax(dim=2) == TEST_CAFES.answers).float(), weights[:, :, 0]  # (cafes, guests) each
    return [part[who].mean().item() for part in (right, first) for who in (TEST_CAFES.away, ~TEST_CAFES.away)]

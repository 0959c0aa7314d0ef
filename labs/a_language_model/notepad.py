"""The waiter's notepad: a language so small that the lowest possible loss is known exactly.

An evening has four guests out of eight. Each orders several times, always the same drink: "Ada tea Ben mate Ada tea".
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from shared.cafe import DRINKS, NAMES

WORDS = ["<START>", *NAMES, *DRINKS]
GUESTS, ORDERS = 4, 12  # of an evening
STEPS, BATCH, RATE = 400, 32, 0.004


def draw_evenings(count: int, generator: torch.Generator, guests: int = GUESTS, orders: int = ORDERS) -> Tensor:
    """Evenings as ids: the start token, then name, drink, name, drink ..., (count, 1 + 2 * orders)."""
    names = torch.rand(count, len(NAMES), generator=generator).argsort(dim=1)[:, :guests]  # who is there
    who = names.gather(1, torch.randint(guests, (count, orders), generator=generator))  # (count, orders)
    drink_of = torch.randint(len(DRINKS), (count, len(NAMES)), generator=generator)  # (count, names)
    pairs = torch.stack([1 + who, 1 + len(NAMES) + drink_of.gather(1, who)], dim=2)  # (count, orders, 2)
    return torch.cat([torch.zeros(count, 1, dtype=torch.long), pairs.flatten(1)], dim=1)


def lowest_loss(
    guests: int = GUESTS, orders: int = ORDERS, names: int = len(NAMES), drinks: int = len(DRINKS)
) -> float:
    """The mean loss per word of a model that knows all that can be known.

    Of a guest who has ordered before the drink is certain, of a new one it is one of all. A name is each of those
    seen with probability 1 / guests, and else one of the other names.
    """
    seen, total = [1.0] + [0.0] * guests, 0.0  # how probable it is that so many guests have ordered
    for _ in range(orders):
        after = [0.0] * (guests + 1)
        for number, probability in enumerate(seen):
            new = (guests - number) / guests
            loss = number / guests * math.log(guests)  # the name of a guest who has ordered before
            if new:
                loss += new * (math.log((names - number) / new) + math.log(drinks))
                after[number + 1] += probability * new
            after[number] += probability * (1 - new)
            total += probability * loss
        seen = after
    return total / (2 * orders)


def fit(model: nn.Module, seed: int) -> None:
    """Train on evenings, each of them new."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), RATE, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS + 1, pct_start=0.15)
    for _ in range(STEPS):
        loss = mean_loss(model, draw_evenings(BATCH, generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def mean_loss(model: nn.Module, evenings: Tensor) -> Tensor:
    return cross_entropy(model(evenings[:, :-1]).flatten(0, 1), evenings[:, 1:].flatten())


@torch.no_grad()
def drinks_right(model: nn.Module, evenings: Tensor) -> float:
    """How often the most probable word is right, of all drinks of guests who have ordered before."""
    names, drinks = evenings[:, 1::2], evenings[:, 2::2]  # (count, orders) each
    before = (names[:, None, :] == names[:, :, None]).tril(-1).any(dim=2)  # (count, orders)
    guessed = model(evenings[:, :-1]).argmax(dim=2)[:, 1::2]  # (count, orders)
    return (guessed == drinks)[before].float().mean().item()


def read(evening: Tensor) -> str:
    """An evening's ids as words."""
    words = [WORDS[number] for number in evening.tolist()[1:]]
    return ", ".join(" ".join(words[i : i + 2]) for i in range(0, len(words), 2))


@torch.no_grad()
def write(model: nn.Module, seed: int, orders: int = ORDERS) -> str:
    """An evening that a model writes: each word is drawn from its probabilities."""
    generator, ids = torch.Generator().manual_seed(seed), torch.tensor([0])
    for _ in range(2 * orders):
        probs = model(ids[None])[0, -1].softmax(dim=0)  # (words,)
        ids = torch.cat([ids, torch.multinomial(probs, 1, generator=generator)])
    return read(ids)

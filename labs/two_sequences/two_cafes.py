"""Two cafés in one street: the guests of one have their friends in the other, and some chairs there are empty."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from shared.cafe import DRINKS, NAMES
from shared.figures.cafe import LOOK, QUERY, Arrow, Guest, outline, short
from shared.figures.chart import INK, MUTED, PAPER, WIDTH, Chart, bare_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE, THERE = 3, 5  # chairs
LEFT, TOP, STEP, RADIUS = 40, 22, 58, 26  # pixels: a column's middle, a title's height, from card to card, of a card


@dataclass(frozen=True)
class Streets:
    """Some pairs of cafés. Of the guests here, names, friends and drinks, (streets, 3); of those there, names and
    drinks, (streets, 5), and a mask, False for an empty chair, where name and drink are 0."""

    names: Tensor
    friends: Tensor
    drinks: Tensor
    other_names: Tensor
    other_drinks: Tensor
    mask: Tensor

    def friends_drink(self) -> Tensor:
        """The right answer for each guest here, (streets, 3)."""
        sits_there = (self.friends.unsqueeze(2) == self.other_names.unsqueeze(1)) & self.mask.unsqueeze(1)
        return self.other_drinks.gather(1, sits_there.int().argmax(dim=2))

    def most_popular_drink(self) -> Tensor:
        """The most frequent drink of the other café, (streets, 1)."""
        counts = torch.zeros(len(self.mask), len(DRINKS))  # (streets, drinks)
        return counts.scatter_add(1, self.other_drinks, self.mask.float()).argmax(dim=1, keepdim=True)


def draw_streets(count: int, seed: int | torch.Generator) -> Streets:
    """Random streets: three guests here, two to five there, and everybody here has a friend there."""
    generator = torch.Generator().manual_seed(seed) if isinstance(seed, int) else seed
    seats = torch.rand(count, len(NAMES), generator=generator).argsort(dim=1)  # (streets, 8)
    names, other_names = seats[:, :HERE], seats[:, HERE:]
    taken = torch.randint(2, THERE + 1, (count, 1), generator=generator)
    mask = torch.arange(THERE) < taken  # (streets, 5)
    chairs = (torch.rand(count, HERE, generator=generator) * taken).long()  # (streets, 3), of the friends
    drinks = torch.randint(len(DRINKS), (count, HERE + THERE), generator=generator)
    return Streets(names, other_names.gather(1, chairs), drinks[:, :HERE], other_names * mask, drinks[:, HERE:] * mask,
                   mask)  # fmt: skip


class StreetModel(nn.Module):
    """Guests to vectors, a layer that takes x, y and the mask of y, and a linear read-out of the friend's drink."""

    def __init__(self, layer: nn.Module, d_model: int = 32):
        super().__init__()
        self.name, self.friend = nn.Embedding(len(NAMES), d_model), nn.Embedding(len(NAMES), d_model)
        self.drink = nn.Embedding(len(DRINKS), d_model)
        for table in (self.name, self.friend, self.drink):
            nn.init.normal_(table.weight, std=d_model**-0.5)
        self.layer, self.read_out = layer, nn.Linear(d_model, len(DRINKS))

    def forward(self, streets: Streets) -> tuple[Tensor, Tensor]:
        """Logits (streets, 3, drinks) and attention weights (streets, 3, keys)."""
        x = (
            self.name(streets.names) + self.friend(streets.friends) + self.drink(streets.drinks)
        )  # (streets, 3, d_model)
        y = self.name(streets.other_names) + self.drink(streets.other_drinks)  # (streets, 5, d_model)
        output, weights = self.layer(x, y, streets.mask)
        return self.read_out(output), weights


def train(layer: nn.Module, seed: int = 0, steps: int = 800) -> StreetModel:
    """Train with the recipe of the café: 64 new streets a step, with Adam."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = StreetModel(layer)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(steps):
        streets = draw_streets(64, generator)
        loss = cross_entropy(model(streets)[0].flatten(0, 1), streets.friends_drink().flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


TEST = draw_streets(2000, seed=1_000_000)


@torch.no_grad()
def right(model: StreetModel) -> Tensor:
    """Whether the answer is right, for each guest of the test streets, (streets, 3)."""
    return model(TEST)[0].argmax(dim=2) == TEST.friends_drink()


def accuracy(model: StreetModel) -> float:
    return right(model).float().mean().item()


def accuracy_by_friend(model: StreetModel) -> dict[str, float]:
    """The accuracy for the guests who look for each name."""
    found = right(model)
    return {name: found[TEST.friends == number].float().mean().item() for number, name in enumerate(NAMES)}


# --- the street that is drawn ---------------------------------------------------------------------------------------

NAMES_HERE, FRIENDS, DRINKS_HERE = ("Ada", "Ben", "Cleo"), ("Eve", "Dan", "Eve"), ("tea", "milk", "tea")
NAMES_THERE, DRINKS_THERE = ("Dan", "Eve", "Finn", "Gus", "Hana"), ("cocoa", "juice", "water", None, None)


def drawn_street() -> Streets:
    """The street of the pictures, as one example."""
    names, friends, others = ([NAMES.index(name) for name in row] for row in (NAMES_HERE, FRIENDS, NAMES_THERE))
    mask = torch.tensor([[drink is not None for drink in DRINKS_THERE]])
    drinks = torch.tensor([[DRINKS.index(drink) for drink in DRINKS_HERE]])
    other_drinks = torch.tensor([[DRINKS.index(drink) if drink else 0 for drink in DRINKS_THERE]])
    return Streets(torch.tensor([names]), torch.tensor([friends]), drinks, torch.tensor([others]) * mask, other_drinks,
                   mask)  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class Street(Chart):
    """The guests here in a column, those there in another, and arrows from one to the other.

    Args:
        weights: (guests here, chairs there) attention weights, arrows as wide as they are; None draws friends alone.
        attending: the guest whose weights are drawn, and written into the cards; by default those of all.
        least: weights below it are not drawn.
    """

    weights: Any = None
    attending: str | None = None
    least: float = 0.05

    @cached_property
    def guests(self) -> list[Guest]:
        """Those here, then those there; both columns begin at the top."""
        return [
            Guest(name, drink, x, TOP + STEP * (place + 0.5), RADIUS)
            for x, names, drinks in ((LEFT, NAMES_HERE, DRINKS_HERE), (WIDTH - LEFT, NAMES_THERE, DRINKS_THERE))
            for place, (name, drink) in enumerate(zip(names, drinks, strict=True))
        ]

    @cached_property
    def arrows(self) -> list[Arrow]:
        """To friends, then to whom a guest attends, which hides the arrow to its friend; chairs there are counted on
        from those here."""
        arrows = [Arrow(place, HERE + NAMES_THERE.index(friend), 0, "friend") for place, friend in enumerate(FRIENDS)
                  if NAMES_HERE[place] != self.attending]  # fmt: skip
        for place, row in enumerate([] if self.weights is None else self.weights.tolist()):
            if self.attending in (None, NAMES_HERE[place]):
                arrows += [Arrow(place, HERE + chair, weight, "attention") for chair, weight in enumerate(row)
                           if weight >= self.least]  # fmt: skip
        return arrows

    @property
    def alt(self) -> str:
        names = [*NAMES_HERE, *NAMES_THERE]
        here, there = (
            ", ".join(f"{guest.name} ({guest.drink or 'away'})" for guest in guests)
            for guests in (self.guests[:HERE], self.guests[HERE:])
        )
        sentences = {"friend": "{}'s friend is {}.", "attention": "{} attends to {} {}."}
        arrows = [sentences[a.kind].format(names[a.source], names[a.target], short(a.weight)) for a in self.arrows]
        return " ".join([f"Two cafés. Here: {here}. There: {there}.", *arrows])

    def figure(self) -> "Figure":
        from matplotlib.patches import Circle, Polygon

        figure, axes = bare_axes(WIDTH, TOP + STEP * THERE)
        for arrow in self.arrows:
            axes.add_patch(Polygon(outline(arrow, self.guests)[:-1], facecolor=LOOK[arrow.kind], linewidth=0))
        row = None if self.attending is None else self.weights[NAMES_HERE.index(self.attending)].tolist()
        for place, guest in enumerate(self.guests):
            chosen, ink = guest.name == self.attending, INK if guest.drink else MUTED
            line: dict[str, Any] = {"edgecolor": QUERY if chosen else MUTED, "linewidth": 3 if chosen else 1.2}
            line["linestyle"] = "-" if guest.drink else (0, (4, 3))
            axes.add_patch(Circle((guest.x, guest.y), guest.radius, facecolor=PAPER, **line))
            lines = [(guest.name, ink, "bold"), (guest.drink or "away", ink, "normal")]
            if row is not None and place >= HERE and guest.drink:
                lines.append((short(row[place - HERE]), QUERY, "normal"))
            for below, (text, colour, weight) in enumerate(lines):
                y = guest.y + 13 * (below - (len(lines) - 1) / 2) + 4
                axes.text(guest.x, y, text, ha="center", fontsize=11, color=colour, fontweight=weight)
        for x, title, side in ((2, "here", "left"), (WIDTH - 2, "there, across the street", "right")):
            axes.text(x, 14, title, ha=side, fontweight="bold")
        return figure

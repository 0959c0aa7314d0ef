"""The café of *Queries*: one room that is drawn again and again, and who in a café confuses a model."""

import torch
from torch import Tensor, nn

from shared import cafe, figures

# Ada's friend is Cleo, and Ben's friend is Ada; Cleo and Eve name each other.
FRIENDS = {"Ada": "Cleo", "Ben": "Ada", "Cleo": "Eve", "Dan": "Hana", "Eve": "Cleo", "Finn": "Ben", "Gus": "Dan",
           "Hana": "Gus"}  # fmt: skip
ORDERS = ("tea", "coffee", "juice", "water", "milk", "tea", "cocoa", "coffee")
ROOM = cafe.Cafes(
    torch.tensor([[cafe.NAMES.index(name) for name in FRIENDS]]),
    torch.tensor([[cafe.NAMES.index(friend) for friend in FRIENDS.values()]]),
    torch.tensor([[cafe.DRINKS.index(drink) for drink in ORDERS]]),
)


SEATS = [0, 2, 3, 5, 4, 6, 7, 1]  # clockwise; seated like this, nobody is in the way of an arrow


class InTheCafe(nn.Module):
    """A layer that takes x and a mask, where every chair is taken, so that no token is padding."""

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.attention(x, torch.ones(x.shape[:2], dtype=torch.bool))


@torch.no_grad()
def attention_weights(model: cafe.CafeModel, cafes: cafe.Cafes) -> Tensor:
    """What each guest attends to in a trained model, (cafes, guests, guests)."""
    return model.layer(model.embed(cafes))[1]


def draw(
    model: cafe.CafeModel | None = None, attending: str | None = None, title: str = "", least: float = 0.1
) -> figures.Cafe:
    """The room, with the weights of a trained model; without one, friends alone. No arrow below `least`."""
    weights = None if model is None else attention_weights(model, ROOM)[0][SEATS][:, SEATS]
    names, orders, friends = ([row[seat] for seat in SEATS] for row in (list(FRIENDS), ORDERS, list(FRIENDS.values())))
    return figures.Cafe(names, orders, friends, weights, attending, least=least, title=title)


def admirers(cafes: cafe.Cafes) -> Tensor:
    """How many guests name this guest as their friend, not counting this guest's own friend, (cafes, guests)."""
    names_me = cafes.friends.unsqueeze(1) == cafes.names.unsqueeze(2)  # (cafes, guests, guests who name them)
    not_my_friend = cafes.names.unsqueeze(1) != cafes.friends.unsqueeze(2)  # (cafes, guests, guests)
    return (names_me & not_my_friend).sum(dim=2)


@torch.no_grad()
def accuracy_by_admirers(model: cafe.CafeModel, most: int = 3) -> dict[int, float]:
    """How often the friend's drink is right for guests with 0, 1, ... admirers, in the test cafés."""
    right = model(cafe.TEST_CAFES)[:, :, 0].argmax(dim=2) == cafe.friends_drink(cafe.TEST_CAFES)  # (cafes, guests)
    count = admirers(cafe.TEST_CAFES)  # (cafes, guests)
    return {number: right[count == number].float().mean().item() for number in range(most + 1)}

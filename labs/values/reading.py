"""What the models of *Values* answer, and what a value of one number looks like to the read-out."""

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from shared import cafe, figures
from shared.colours import ROLES
from shared.figures.chart import INK, MUTED, new_axes

BOTH = cafe.my_drink, cafe.friends_drink
# The four guests of *Attention in ten minutes*, with their friends Cleo, Ada, Dan and Ada.
ROOM = cafe.Cafes(torch.tensor([[0, 1, 2, 3]]), torch.tensor([[2, 0, 3, 0]]), torch.tensor([[0, 1, 2, 0]]))


def draw(weights: Tensor) -> figures.Cafe:
    """The four guests with these attention weights, (guests, guests), and what Ada gets."""
    names, friends = ([cafe.NAMES[guest] for guest in guests[0]] for guests in (ROOM.names, ROOM.friends))
    drinks = [cafe.DRINKS[drink] for drink in ROOM.drinks[0]]
    return figures.Cafe(names, drinks, friends, weights, attending="Ada", output=True)


@torch.no_grad()
def right_in_both(model: cafe.CafeModel) -> dict[str, float]:
    """How often a model that was trained on both questions is right about my drink, my friend's, and both at once."""
    right = model(cafe.TEST_CAFES).argmax(dim=3) == cafe.right_answers(cafe.TEST_CAFES, BOTH)
    mine, friends = right.float().mean(dim=(0, 1)).tolist()  # right: (cafes, guests, questions)
    return {"my drink": mine, "friend's drink": friends, "both": right.all(dim=2).float().mean().item()}


@torch.no_grad()
def value_of_each_drink(model: cafe.CafeModel) -> Tensor:
    """The value of a guest with each drink, as one number, (drinks,); name and friend as they are on average."""
    x = model.drink.weight + model.name.weight.mean(dim=0) + model.friend.weight.mean(dim=0)  # (drinks, d_model)
    return model.layer.get_submodule("attention.W_value")(x)[:, 0]


def six_lines(values: Tensor, slopes: Tensor, intercepts: Tensor) -> figures.Plot:
    """The drinks as points on a line, (drinks,) each, and over it the logit of each drink; the highest one is thick."""
    at = torch.linspace(values.min() - 1, values.max() + 1, 1001)  # (points,)
    logits = at.unsqueeze(1) * slopes + intercepts  # (points, drinks)
    answers, top = logits.argmax(dim=1), logits.max().item()
    with plt.rc_context(figures.STYLE):
        figure, axes = new_axes(250)
    for drink, value in enumerate(values):
        axes.plot(at, logits[:, drink], color=MUTED, linewidth=0.7)
        highest = torch.where(answers == drink, logits[:, drink], torch.nan)
        axes.plot(at, highest, color=ROLES["output"][0], linewidth=3.5, solid_capstyle="butt")
        axes.plot(value, -0.4 * top, marker="o", color=ROLES["value"][0], markersize=6, clip_on=False)
        axes.text(value, -0.56 * top, cafe.DRINKS[drink], ha="center", va="center", color=INK, fontsize=11.5)
    axes.set(xlabel="the output t", ylim=(-0.7 * top, 1.05 * top), yticks=[])
    axes.set_title("logit of each drink", fontsize=11.5)
    axes.grid(False)
    axes.spines["left"].set_visible(False)
    names = ", ".join(cafe.DRINKS[drink] for drink in values.argsort())
    words = (f"Six points on a line, from left to right {names}. Above it a straight line for the logit of each drink; "
             "around each point the line of its own drink is the highest.")  # fmt: skip
    return figures.Plot(figure, words)

"""What the models of *Values* answer, and what a value of one number looks like to the read-out."""

import math
from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from shared import cafe, figures
from shared.colours import ROLES
from shared.figures.chart import GRID, new_axes

BOTH = cafe.my_drink, cafe.friends_drink
# The four guests of *Attention in ten minutes*, with their friends Cleo, Ada, Dan and Ada.
ROOM = cafe.Cafes(torch.tensor([[0, 1, 2, 3]]), torch.tensor([[2, 0, 3, 0]]), torch.tensor([[0, 1, 2, 0]]))


def draw(weights: Tensor, title: str, output: bool | str = True) -> figures.Cafe:
    """The four guests with these attention weights, (guests, guests), and what Ada gets; `output` may name it."""
    names, friends = ([cafe.NAMES[guest] for guest in guests[0]] for guests in (ROOM.names, ROOM.friends))
    drinks = [cafe.DRINKS[drink] for drink in ROOM.drinks[0]]
    return figures.Cafe(names, drinks, friends, weights, attending="Ada", output=output, title=title)


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
    """The drinks as points on a line, (drinks,) each, and over it the logit of each drink; the highest one is thick,
    bears the drink's name, and is joined to the drink's point.
    """
    at = torch.linspace(values.min() - 1, values.max() + 1, 1001)  # (points,)
    logits = at.unsqueeze(1) * slopes + intercepts  # (points, drinks)
    answers, top = logits.argmax(dim=1), logits.max().item()
    ground = logits.amax(dim=1).min().item() - 0.75 * top
    with plt.rc_context(figures.STYLE):
        figure, axes = new_axes(290)
    for drink, value in enumerate(values.tolist()):
        line, shade = logits[:, drink], ROLES["output" if drink % 2 else "value"][0]
        axes.plot(at, torch.where(line > ground + 0.3 * top, line, torch.nan), color=GRID, linewidth=0.8, zorder=1)
        axes.plot(at, torch.where(answers == drink, line, torch.nan), color=shade, linewidth=4, solid_capstyle="butt")
        highest = (slopes[drink] * value + intercepts[drink]).item()
        axes.plot([value, value], [ground, highest], color=shade, linewidth=0.9, linestyle=(0, (1, 2)))
        axes.plot(value, ground, marker="o", color=shade, markersize=6, clip_on=False)
        beside = -7 * (value - math.copysign(1, value)), 10  # the steeper a line, the farther its name
        look: dict[str, Any] = {
            "textcoords": "offset points",
            "ha": "center",
            "color": shade,
            "fontweight": "bold",
            "fontsize": 11.5,
        }
        axes.annotate(cafe.DRINKS[drink], (value, highest), beside, **look)
    axes.set(xlabel="output t; a dot at each drink's value v", ylabel="logit: the highest wins")
    axes.set(xticks=values.tolist(), yticks=[], ylim=(ground - 0.12 * top, 1.05 * top))
    axes.grid(False)
    names = ", ".join(cafe.DRINKS[drink] for drink in values.argsort())
    words = (f"Six points on a line, from left to right {names}. Above it a straight line for the logit of each drink; "
             "around each point the line of its own drink is the highest.")  # fmt: skip
    return figures.Plot(figure, words)

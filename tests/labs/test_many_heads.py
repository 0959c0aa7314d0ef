"""*Many heads*: the bound for one head is what every line through the weeks leaves unexplained, and the exact 3/7."""

import math

import torch

from labs.many_heads.weeks import best_line


def weeks(count, seed):
    days = 2 * torch.rand(count, 7, generator=torch.Generator().manual_seed(seed)) - 1
    return torch.stack([days.amax(dim=1), days.amin(dim=1)], dim=1).double()


def test_no_line_in_any_direction_leaves_less_unexplained_than_the_best():
    points = weeks(500, seed=3)
    (first, second), bound = best_line(points.float())
    around = points - points.mean(dim=0)
    left = []
    for degree in range(0, 180):
        across = torch.tensor([-math.sin(math.radians(degree)), math.cos(math.radians(degree))], dtype=torch.float64)
        left.append(((around @ across) ** 2).mean() / around.pow(2).sum(dim=1).mean())
    assert min(left) >= bound - 1e-6 and min(left) < bound + 1e-3
    drawn = math.degrees(math.atan2(*(second - first).flip(0).tolist())) % 180
    assert abs(drawn - min(range(180), key=left.__getitem__)) <= 1, "and the line that is drawn is that one"


def test_for_seven_independent_days_the_best_line_leaves_three_sevenths():
    assert abs(best_line(weeks(200_000, seed=0).float())[1] - 3 / 7) < 0.005

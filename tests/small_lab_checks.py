"""The checks of the small lab."""

from torch import nn

from checks.engine import Case, Check
from checks.trials import draw


def squared(x):
    """You squared x."""
    return x * x


double = Check(
    reference=lambda x: 2 * x,
    cases=[Case({"x": draw(3, 2)}), Case({"x": draw(5)})],
    mistakes=[squared],
    section="Small, “A long training”",
)


class Twice(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.project = nn.Linear(d_model, d_model)

    def forward(self, x):
        return 2 * self.project(x)


def not_doubled(x, project):
    """You did not double it."""
    return project(x)


twice = Check(
    reference=lambda x, project: project(x) + project(x),
    solution=Twice,
    parts=("project",),
    cases=[Case({"x": draw(4, 3)}, {"d_model": 3})],
    mistakes=[not_doubled],
    section="Small, “A layer”",
)

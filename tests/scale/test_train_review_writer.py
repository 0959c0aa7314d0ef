"""The loop that trains the course's own language model: what a step does, by hand."""

import pytest
import torch
from torch import nn

from experiments import train_review_writer as script


class OneWord(nn.Module):
    """The same logits at each place."""

    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor([0.0, 3.0, -2.0]))

    def forward(self, ids):
        return 100 * self.logits.expand(*ids.shape, 3)


def test_a_gradient_that_is_longer_than_one_is_shortened_to_one():
    model, ids = OneWord(), torch.tensor([0, 2, 1, 2] * 64)
    before = model.logits.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    script.one_epoch(model, script.Windows(ids, torch.arange(script.BATCH)), optimizer, schedule)
    assert float((model.logits.detach() - before).norm()) == pytest.approx(1, abs=1e-4)

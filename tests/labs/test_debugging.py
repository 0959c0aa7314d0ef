"""The steps of *A way to debug attention*: a right layer passes, and they find the bugs of the page's table."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from shared.model import MultiHeadSelfAttention, SelfAttention, causal_mask

PAGE = (Path(__file__).resolve().parents[2] / "book" / "debugging.md").read_text("utf-8")
FIRST, *BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CAUSAL = BLOCKS.pop(4)
STEPS = dict(enumerate(BLOCKS, start=1))
TABLE = re.findall(r"^\| (.+?) \| (.+) \|$", PAGE.partition("## Which step finds what")[2], re.MULTILINE)[2:]
BUGS = {
    "`d_v` typed in as a number": "width",
    "softmax over the queries": "queries",
    "softmax over the batch": "batch",
    "no mask": "no mask",
    "mask inverted": "inverted",
    "mask on the queries' axis": "rows",
    "mask applied after the softmax": "after",
    "no square root": "scale",
    "scores transposed": "transposed",
    "keys in the place of values": "keys",
    "`view` for `transpose`": "view",
    "dropout left on": "dropout",
    "keys detached": "detached",
}


class Faulty(SelfAttention):
    """The course's layer with one of the bugs, or with none."""

    def __init__(self, bug: str = ""):
        super().__init__(d_model=8, d_k=4, d_v=7 if bug == "width" else 6)
        self.bug = bug

    def forward(self, x, mask=None):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        if self.bug == "detached":
            keys = keys.detach()
        if self.bug == "view":
            values = values.reshape(values.shape[0], values.shape[2], -1).transpose(1, 2)
        scores = queries @ keys.mT / (1 if self.bug == "scale" else keys.shape[2] ** 0.5)
        scores = scores.mT if self.bug == "transposed" else scores
        allowed = mask[:, :, None] if self.bug == "rows" else mask[:, None, :]
        allowed = ~allowed if self.bug == "inverted" else allowed
        if self.bug not in ("no mask", "after"):
            scores = scores.masked_fill(~allowed, -torch.inf)
        weights = scores.softmax(dim={"queries": 1, "batch": 0}.get(self.bug, 2))
        weights = weights * allowed if self.bug == "after" else weights
        weights = nn.functional.dropout(weights, 0.5) if self.bug == "dropout" else weights
        return weights @ (keys if self.bug == "keys" else values), weights


def fails(step: str, layer) -> bool:
    """Whether a step of the page says that a layer is wrong."""
    torch.manual_seed(0)
    names: dict = {}
    exec(FIRST, names)
    names["layer"] = layer
    try:
        exec(step, names)
    except (AssertionError, RuntimeError):
        return True
    return False


@pytest.mark.parametrize("number", STEPS)
def test_a_right_layer_passes(number):
    torch.manual_seed(0)
    assert not fails(STEPS[number], SelfAttention(8, 4, 6))
    assert not fails(STEPS[number], Faulty()), "the layer with no bug"


@pytest.mark.parametrize(("bug", "row"), TABLE, ids=[bug for bug, _ in TABLE])
def test_the_table_says_which_steps_find_a_bug(bug, row):
    found = []
    for step in STEPS.values():
        torch.manual_seed(0)
        found.append("x" if fails(step, Faulty(BUGS[bug])) else "")
    assert "x" in found and [cell.strip() for cell in row.split("|")] == found


def test_the_future_is_hidden_in_a_causal_layer_and_seen_in_another():
    torch.manual_seed(0)
    heads = MultiHeadSelfAttention(8, 2)
    assert not fails(CAUSAL, lambda x, mask: heads(x, mask, causal_mask(x.shape[1])))
    assert fails(CAUSAL, heads)

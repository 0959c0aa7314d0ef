"""The steps of *A way to debug attention*: a right layer passes, and they find the bugs of the page's table."""

import dataclasses
import re
from pathlib import Path

import pytest
import torch
from torch import nn

import checks
from checks import engine
from shared.model import MultiHeadSelfAttention, SelfAttention, causal_mask

PAGE = (Path(__file__).resolve().parents[2] / "book" / "debugging.md").read_text("utf-8")
FIRST, *STEPS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CAUSAL = STEPS.pop(4)
TABLE = re.findall(r"^\| (.+?) \| (.+) \|$", PAGE.partition("## Which step finds what")[2], re.MULTILINE)[2:]


class Faulty(SelfAttention):
    """The course's layer with one of the bugs, which have the names of the table."""

    def __init__(self, bug: str, d_model: int = 8, d_k: int = 4, d_v: int = 6):
        super().__init__(d_model, d_k, 7 if bug == "`d_v` hard-coded" else d_v)
        self.bug = bug

    def forward(self, x, mask=None):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        if self.bug == "keys detached":
            keys = keys.detach()
        if self.bug == "`view` for `transpose`":
            values = values.reshape(values.shape[0], values.shape[2], -1).transpose(1, 2)
        scores = queries @ keys.mT / (1 if self.bug == "no square root" else keys.shape[2] ** 0.5)
        scores = scores.mT if self.bug == "scores transposed" else scores
        allowed = mask[:, :, None] if self.bug == "mask on the queries' axis" else mask[:, None, :]
        allowed = ~allowed if self.bug == "mask inverted" else allowed
        if self.bug not in ("no mask", "mask applied after the softmax"):
            scores = scores.masked_fill(~allowed, -torch.inf)
        weights = scores.softmax(dim={"softmax over the queries": 1, "softmax over the batch": 0}.get(self.bug, 2))
        weights = weights * allowed if self.bug == "mask applied after the softmax" else weights
        weights = nn.functional.dropout(weights, 0.5) if self.bug == "dropout left on" else weights
        return weights @ (keys if self.bug == "keys in place of values" else values), weights


def fails(step: str, layer) -> bool:
    """Whether a step of the page says that a layer is wrong."""
    names: dict = {}
    exec(FIRST, names)
    names["layer"] = layer
    try:
        exec(step, names)
    except (AssertionError, RuntimeError):
        return True
    return False


def test_a_right_layer_passes_each_step():
    for step in STEPS:
        torch.manual_seed(0)
        assert not fails(step, SelfAttention(8, 4, 6)) and not fails(step, Faulty("none")), step


@pytest.mark.parametrize(("bug", "row"), TABLE, ids=[bug for bug, _ in TABLE])
def test_the_table_says_which_steps_find_a_bug(bug, row):
    found = []
    for step in STEPS:
        torch.manual_seed(0)
        found.append("x" if fails(step, Faulty(bug)) else "")
    assert "x" in found and [cell.strip() for cell in row.split("|")] == found


@pytest.mark.parametrize(("bug", "row"), TABLE, ids=[bug for bug, _ in TABLE])
def test_a_check_without_a_name_for_a_bug_names_a_step_that_finds_it(bug, row, monkeypatch):
    monkeypatch.setattr(engine, "variations", lambda reference, given: [])
    monkeypatch.setattr(engine, "recognized", lambda trials: None)

    class Answer(Faulty):
        def __init__(self, *sizes):
            super().__init__(bug, *sizes)

    sentence = dataclasses.replace(checks.whole_layer, mistakes=[])(Answer).sentence
    (step,) = re.findall("Find it with step ([0-9])", sentence)
    assert row.split("|")[int(step) - 1].strip() == "x", sentence


def test_the_future_is_hidden_in_a_causal_layer_and_seen_in_another():
    torch.manual_seed(0)
    heads = MultiHeadSelfAttention(8, 2)
    assert not fails(CAUSAL, lambda x, mask: heads(x, mask, causal_mask(x.shape[1])))
    assert fails(CAUSAL, heads)

"""The checks of lab 10: a plausible wrong answer hears its own mistake, a right one is correct in any style.

A wrong answer is the lab's folded solution with one thing changed, as a reader would get it wrong. That solution and
starting cell do what they should, test_editions.py tries for every exercise of the course.
"""

import re
import time
from pathlib import Path

import pytest
import torch

from shared import check

TEXT = (Path(__file__).resolve().parents[2] / "labs/10_in_the_wild.md").read_text()
START = re.compile(r"^exercise: (\w+)\n---\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOLUTION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOLUTIONS = {start[1]: SOLUTION.search(TEXT, start.end())[1] for start in START.finditer(TEXT)}


def ask(name: str, code: str) -> check.Verdict:
    names = {"torch": torch}
    exec(compile(code, "<cell>", "exec"), names)
    begin = time.perf_counter()
    verdict = getattr(check, name)(names[name])
    # A second is the promise; the machine that runs the tests may be busy with others.
    assert time.perf_counter() - begin < 3, "the check took too long"
    return verdict


# Of each: the mistake's name, then what stands in the solution and what stands in its place.
ENTROPY = "-torch.xlogy(weights, weights).sum(dim=-1)"
SILENT = "silent[:, head * head_dim : (head + 1) * head_dim]"
WRONG = {
    "breadth": [
        ("entropy over the wrong axis", "weights).sum(dim=-1)", "weights).sum(dim=-2)"),
        ("NaN where a weight is zero", "torch.xlogy(weights, weights)", "(weights * torch.log(weights))"),
        ("no exponential", "entropy.exp()", "entropy"),
        ("exponential of the mean", "entropy.exp().mean(dim=-1)", "entropy.mean(dim=-1).exp()"),
        ("the minus is missing", "-torch", "torch"),
        ("another base", "torch.xlogy(weights, weights)", "(torch.xlogy(weights, weights) / 0.6931471805599453)"),
        ("one over the sum of squares", "entropy.exp()", "(1 / (weights**2).sum(dim=-1))"),
        ("summed over the rows", "mean(dim=-1)", "sum(dim=-1)"),
        ("one number for all maps", "mean(dim=-1)", "mean()"),
        ("returns nothing", "return ", ""),
        ("other numbers", "entropy.exp()", "(entropy.exp() + 0.01)"),
        ("changes its input", "entropy = ", "weights += 1e-9; entropy = "),
    ],
    "without_head": [
        ("rows instead of columns", SILENT, "silent[head * head_dim : (head + 1) * head_dim]"),
        ("rows and columns", f"{SILENT} = 0", f"{SILENT} = 0; silent[head * head_dim : (head + 1) * head_dim] = 0"),
        ("every so-many-th column", SILENT, "silent[:, head::num_heads]"),
        ("one column only", SILENT, "silent[:, head]"),
        ("first column of the head only", SILENT, "silent[:, head * head_dim]"),
        ("counted from 1", SILENT, "silent[:, max(head - 1, 0) * head_dim : head * head_dim]"),
        ("slices of num_heads columns", SILENT, "silent[:, head * num_heads : (head + 1) * num_heads]"),
        ("all heads but this one", f"{SILENT} = 0", f"kept = {SILENT}.clone(); silent.zero_(); {SILENT} = kept"),
        ("only the block on the diagonal", "silent[:, ", "silent[head * head_dim : (head + 1) * head_dim, "),
        (
            "the columns cut away",
            f"{SILENT} = 0",
            "silent = torch.cat([silent[:, : head * head_dim], silent[:, (head + 1) * head_dim :]], dim=1)",
        ),
        ("changes its input", "weight.clone()", "weight"),
        ("raises", "weight.shape[1] // num_heads", "weight.shape[1] / num_heads"),
        ("other numbers", "] = 0", "] = 1e-3"),
    ],
    "rollout": [
        ("layers in the wrong order", "(layer + identity) / 2 @ mixed", "mixed @ ((layer + identity) / 2)"),
        ("no residual connection", "(layer + identity) / 2 @ mixed", "layer @ mixed"),
        ("the identity added, not averaged", "(layer + identity) / 2 @", "(layer + identity) @"),
        ("heads summed", "mean(dim=1)", "sum(dim=1)"),
        ("the largest head", "mean(dim=1)", "amax(dim=1)"),
        ("layers averaged", "return mixed", "return (weights.mean(dim=(0, 1)) + identity) / 2"),
        (
            "element by element",
            "mixed = (layer + identity) / 2 @ mixed",
            "mixed = (layer + identity) / 2 * (mixed if mixed is not identity else 1)",
        ),
        ("the maps turned", "weights.mean(dim=1)", "weights.mean(dim=1).transpose(1, 2)"),
        ("the result turned", "return mixed", "return mixed.T"),
        ("the last layer only", "/ 2 @ mixed", "/ 2"),
        ("the first layer left out", "weights.mean(dim=1)", "weights.mean(dim=1)[1:]"),
        ("wrong shape", "return mixed", "return mixed[0]"),
        ("other numbers", "/ 2 @", "/ 2.01 @"),
    ],
}


@pytest.mark.parametrize(("name", "wrong"), [(name, wrong) for name, each in WRONG.items() for wrong in each])
def test_a_wrong_answer_hears_its_own_mistake(name, wrong):
    mistake, old, new = wrong
    assert old in SOLUTIONS[name], f"{old!r} is no part of the solution of {name}"
    verdict = ask(name, SOLUTIONS[name].replace(old, new))
    assert (verdict.state, verdict.mistake) == ("wrong", mistake), repr(verdict)


@pytest.mark.parametrize("name", WRONG)
def test_each_listed_mistake_is_made_by_a_wrong_answer(name):
    made = {mistake for mistake, _, _ in WRONG[name]}
    assert {mistake.name for mistake in getattr(check, name).mistakes} <= made


RIGHT = {
    "breadth": [
        """
def breadth(weights):
    logs = torch.where(weights > 0, weights, 1.0).log()
    return (-torch.einsum("...ij,...ij->...i", weights, logs)).exp().mean(-1)
""",
        """
def breadth(weights):
    return torch.special.entr(weights).sum(-1).exp().mean(-1)
""",
        """
def breadth(weights):
    flat = weights.reshape(-1, weights.shape[-2], weights.shape[-1])
    values = []
    for table in flat:
        rows = [torch.prod(row[row > 0] ** -row[row > 0]) for row in table]
        values.append(sum(rows) / len(rows))
    return torch.stack(values).reshape(weights.shape[:-2])
""",
    ],
    "without_head": [
        """
def without_head(weight, head, num_heads):
    heads = list(weight.chunk(num_heads, dim=1))
    heads[head] = torch.zeros_like(heads[head])
    return torch.cat(heads, dim=1)
""",
        """
def without_head(weight, head, num_heads):
    gate = torch.ones(num_heads, dtype=weight.dtype)
    gate[head] = 0
    return weight * gate.repeat_interleave(weight.shape[1] // num_heads)
""",
    ],
    "rollout": [
        """
def rollout(weights):
    eye = torch.eye(weights.shape[-1]).to(weights)
    return torch.linalg.multi_dot([*(0.5 * weights.mean(1) + 0.5 * eye).flip(0), eye])
""",
        """
def rollout(weights):
    mixed = torch.eye(weights.shape[-1]).to(weights)
    for layer in weights:
        mixed = torch.einsum("hij,jk->ik", layer, mixed) / (2 * len(layer)) + mixed / 2
    return mixed
""",
    ],
}


@pytest.mark.parametrize(("name", "code"), [(name, code) for name, each in RIGHT.items() for code in each])
def test_a_right_answer_is_correct_in_any_style(name, code):
    verdict = ask(name, code)
    assert verdict, repr(verdict)

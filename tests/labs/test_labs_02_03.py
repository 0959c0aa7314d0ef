"""The classes that labs 2 and 3 teach compute the same as those in `shared.model`, forward and backward."""

import math
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from shared import model as shared_model

LABS = Path(__file__).resolve().parents[2] / "labs"
VOCABULARY = 40


def taught_classes(lab: str) -> dict:
    """The classes written in a lab's code cells, by name."""
    cells = re.findall(r"```\{code-cell\}[^\n]*\n(.*?)\n```", (LABS / lab).read_text(), flags=re.DOTALL)
    names = {"math": math, "torch": torch, "nn": nn}
    names |= {name: getattr(shared_model, name) for name in ("TokenFeatures", "masked_softmax")}
    for cell in cells:
        if cell.startswith("class "):
            exec(cell, names)
    return names


def ids_and_mask() -> tuple[torch.Tensor, torch.Tensor]:
    """Texts of 9, 4, 1 and 0 real tokens."""
    torch.manual_seed(5)
    mask = torch.arange(9) < torch.tensor([[9], [4], [1], [0]])  # (4, 9)
    return torch.randint(2, VOCABULARY, (4, 9)) * mask, mask


def assert_same(taught: nn.Module, shared: nn.Module, inputs: tuple) -> None:
    """Both modules get equal weights; then outputs, weights and every gradient must agree."""
    taught, shared = taught.eval(), shared.eval()
    shared.load_state_dict(taught.state_dict())
    results = [module(*inputs) for module in (taught, shared)]
    for name, one, other in zip(("outputs", "attention weights"), *results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6, msg=lambda m, name=name: f"{name} differ: {m}")
    for outputs, weights in results:
        (outputs.sin().sum() + weights.cos().sum()).backward()
    others = dict(shared.named_parameters())
    for name, parameter in taught.named_parameters():
        torch.testing.assert_close(
            parameter.grad, others[name].grad, rtol=1e-5, atol=1e-6, msg=lambda m, name=name: f"gradient of {name}: {m}"
        )


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("key_dim", [1, 4, 16])
def test_the_key_model_of_lab_2_is_the_shared_one(key_dim, bias):
    sizes = {"vocabulary_size": VOCABULARY, "dim": 16, "key_dim": key_dim, "bias": bias}
    taught = taught_classes("02_keys.md")["KeyPooling"](**sizes)
    assert_same(taught, shared_model.KeyPooling(**sizes), ids_and_mask())


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_layer_of_lab_3_is_the_shared_one_without_values(bias, scale, masked):
    _, mask = ids_and_mask()
    features = torch.randn(4, 9, 6)
    taught = taught_classes("03_queries.md")["SelfAttention"](6, 3, bias=bias, scale=scale)
    shared = shared_model.SelfAttention(6, 3, bias=bias, scale=scale)
    assert_same(taught, shared, (features, mask) if masked else (features,))


def test_the_classifier_of_lab_3_is_the_shared_one_without_values():
    sizes = {"vocabulary_size": VOCABULARY, "dim": 16, "key_dim": 8}
    taught = taught_classes("03_queries.md")["SelfAttentionClassifier"](**sizes)
    assert_same(taught, shared_model.SelfAttentionClassifier(**sizes, value_dim=None), ids_and_mask())

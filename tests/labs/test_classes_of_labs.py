"""The classes that labs write down are those of `shared.model`: equal weights give equal results and gradients.

Where readers build the class themselves, tests/quick/test_checks.py holds it equal letter for letter instead.
"""

import lab_code
import pytest
import torch
from torch import nn

from shared import model

VOCABULARY, MARK = 40, 3


def taught(number: int, *functions: str) -> dict:
    return lab_code.taught(lab_code.find(number), *functions)


def ids_and_mask() -> tuple[torch.Tensor, torch.Tensor]:
    """Texts of 9, 4, 1 and 0 real tokens; each that has two has one mark."""
    torch.manual_seed(5)
    mask = torch.arange(9) < torch.tensor([[9], [4], [1], [0]])  # (4, 9)
    ids = torch.randint(MARK + 1, VOCABULARY, (4, 9))
    ids[:, 1] = MARK
    return ids * mask, mask


def features(*shape: int) -> torch.Tensor:
    torch.manual_seed(6)
    return torch.randn(shape)


def assert_same(of_the_lab: nn.Module, shared: nn.Module, first: torch.Tensor, *masks: torch.Tensor) -> None:
    """Both get the weights of the lab's; then results and every gradient must agree."""
    for parameter in of_the_lab.parameters():
        nn.init.normal_(parameter, std=0.5)  # norms and biases, too, begin at something that shows
    shared.load_state_dict(of_the_lab.state_dict())
    results, gradients = [], []
    for module in (of_the_lab.eval(), shared.eval()):
        given = first.clone().requires_grad_(first.is_floating_point())
        answer = module(given, *masks)
        parts = [part for part in (answer if isinstance(answer, tuple) else (answer,)) if part is not None]
        sum((part.sin().sum() for part in parts), torch.tensor(0.0)).backward()
        results.append(parts)
        gradients.append({name: parameter.grad for name, parameter in module.named_parameters()} | {"in": given.grad})
    ours, theirs = results
    for place, (one, other) in enumerate(zip(ours, theirs)):  # noqa: B905 - the layer of lab 6 returns no weights
        torch.testing.assert_close(one, other, msg=lambda found, place=place: f"result {place}: {found}")
    if len(ours) == len(theirs):
        torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("key_dim", [1, 4, 16])
def test_the_key_model_of_lab_2_is_the_shared_one(key_dim, bias):
    sizes = {"vocabulary_size": VOCABULARY, "dim": 16, "key_dim": key_dim, "bias": bias}
    assert_same(taught(2)["KeyPooling"](**sizes), model.KeyPooling(**sizes), *ids_and_mask())


@pytest.mark.parametrize("bias", [False, True])
def test_the_layer_of_lab_3_is_the_shared_one_without_values(bias):
    _, mask = ids_and_mask()
    of_the_lab = taught(3)["SelfAttention"](6, 3, bias=bias)
    assert_same(of_the_lab, model.SelfAttention(6, 3, bias=bias), features(4, 9, 6), mask)


def test_the_classifier_of_lab_3_is_the_shared_one_without_values():
    sizes = {"vocabulary_size": VOCABULARY, "dim": 16, "key_dim": 8}
    of_the_lab = taught(3)["SelfAttentionClassifier"](**sizes)
    assert_same(of_the_lab, model.SelfAttentionClassifier(**sizes, value_dim=None), *ids_and_mask())


def test_the_layer_of_lab_4_is_the_shared_one():
    _, mask = ids_and_mask()
    assert_same(taught(4)["SelfAttention"](8, 4, 6), model.SelfAttention(8, 4, 6), features(4, 9, 8), mask)


@pytest.mark.parametrize(
    ("lab", "name", "given", "shared", "options"),
    [
        (4, "SelfAttentionClassifier", [VOCABULARY], model.SelfAttentionClassifier, {}),
        (5, "MarkedSelfAttentionClassifier", [VOCABULARY, MARK], model.MarkedSelfAttentionClassifier, {}),
        (5, "ConstantQuery", [VOCABULARY, MARK], model.MarkedSelfAttentionClassifier, {"constant_query": True}),
    ],
)
def test_the_classifiers_of_labs_4_and_5_are_the_shared_ones(lab, name, given, shared, options):
    assert_same(taught(lab)[name](*given, 8, 4, 6), shared(*given, 8, 4, 6, **options), *ids_and_mask())


@pytest.mark.parametrize("shape", [(2, 6, 3), (1, 1, 4), (5, 9, 7), (6, 6, 6)])
@pytest.mark.parametrize("bias", [False, True])
def test_the_class_with_layers_of_lab_6_gives_the_outputs_of_the_shared_layer(shape, bias):
    class Outputs(model.SelfAttention):
        def forward(self, features):
            return super().forward(features)[0]

    dim = shape[-1]
    of_the_lab = taught(6)["SelfAttentionFromLayers"](dim, dim, qkv_bias=bias)
    assert_same(of_the_lab, Outputs(dim, dim, dim, bias=bias), features(*shape))


MASKS = {
    "no mask": (None, None),
    "padding": (torch.arange(6) < torch.tensor([[6], [4]]), None),
    "padding and causal": (torch.arange(6) < torch.tensor([[6], [4]]), model.causal_mask(6)),
}


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
def test_the_block_of_lab_9_is_the_shared_one_that_normalises_first(masks):
    of_the_lab = taught(9)["TransformerBlock"](8, 2, 12)
    assert_same(of_the_lab, model.TransformerBlock(8, 2, 12, norm_first=True), features(2, 6, 8), *masks)


def test_the_encoder_of_lab_9_is_the_shared_one():
    shared = model.EncoderClassifier(VOCABULARY, num_heads=2, hidden_dim=32, num_blocks=2)
    assert_same(taught(9, "make_blocks")["EncoderClassifier"](VOCABULARY), shared, *ids_and_mask())


@pytest.mark.parametrize("part", ["residual", "norm", "feed-forward"])
def test_what_lab_9_takes_away_is_gone_and_the_rest_stays(part):
    torch.manual_seed(0)
    (block,) = taught(9, "make_blocks")["make_blocks"](part, 16, num_heads=2, num_blocks=1, dropout=0.1).eval()
    given = features(2, 6, 16)

    normed = [given if part == "norm" else block.attention_norm(given)]
    after = block.attention(*normed)[0] + (0 if part == "residual" else given)
    thought = block.feed_forward(after if part == "norm" else block.feed_forward_norm(after))
    expected = {"residual": thought, "norm": after + thought, "feed-forward": after}[part]
    torch.testing.assert_close(block(given)[0], expected)

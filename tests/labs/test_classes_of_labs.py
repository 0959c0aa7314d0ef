"""The classes that labs write down are those of `shared.model`: equal weights give equal results and gradients."""

import lab_code
import pytest
import torch
from torch import nn

from shared import model

VOCABULARY, MARK = 40, 3
torch.manual_seed(5)
# Texts of 9, 4, 1 and 0 real tokens; each that has two has one mark.
REAL = torch.arange(9) < torch.tensor([[9], [4], [1], [0]])
IDS = torch.randint(MARK + 1, VOCABULARY, (4, 9)).index_fill(1, torch.tensor(1), MARK) * REAL
PADDED, CAUSAL = torch.arange(6) < torch.tensor([[6], [4]]), model.causal_mask(6)


class Outputs(model.SelfAttention):
    """The shared layer without its weights, as *Your journey* has it."""

    def forward(self, x):
        return super().forward(x)[0]


# The lab and its class, what it is made with, the same of `shared.model`, and what both are given.
PAIRS = [
    ("queries", "SelfAttention", (6, 3), model.SelfAttention(6, 3), (torch.randn(4, 9, 6), REAL)),
    ("queries", "SelfAttention", (6, 3, True), model.SelfAttention(6, 3, bias=True), (torch.randn(4, 9, 6), REAL)),
    ("queries", "SelfAttentionClassifier", (VOCABULARY, 16, 8),
     model.SelfAttentionClassifier(VOCABULARY, 16, 8, None), (IDS, REAL)),
    ("values", "SelfAttention", (8, 4, 6), model.SelfAttention(8, 4, 6), (torch.randn(4, 9, 8), REAL)),
    ("values", "SelfAttentionClassifier", (VOCABULARY, 8, 4, 6),
     model.SelfAttentionClassifier(VOCABULARY, 8, 4, 6), (IDS, REAL)),
    ("a_question_from_the_text", "MarkerQueryClassifier", (VOCABULARY, MARK, 8, 4, 6),
     model.MarkerQueryClassifier(VOCABULARY, MARK, 8, 4, 6), (IDS, REAL)),
    ("a_question_from_the_text", "ConstantQuery", (VOCABULARY, MARK, 8, 4, 6),
     model.MarkerQueryClassifier(VOCABULARY, MARK, 8, 4, 6, constant_query=True), (IDS, REAL)),
    ("your_journey", "SelfAttentionFromLayers", (7, 7), Outputs(7, 7, 7), (torch.randn(5, 9, 7),)),
    ("your_journey", "SelfAttentionFromLayers", (6, 6, True), Outputs(6, 6, 6, bias=True), (torch.randn(6, 6, 6),)),
    ("the_block", "TransformerBlock", (8, 2, 12), model.TransformerBlock(8, 2, 12, norm_first=True),
     (torch.randn(2, 6, 8), PADDED, CAUSAL)),
    ("the_block", "TransformerBlock", (8, 2, 12), model.TransformerBlock(8, 2, 12, norm_first=True),
     (torch.randn(2, 6, 8),)),
]  # fmt: skip


def results_and_gradients(module: nn.Module, first: torch.Tensor, *masks: torch.Tensor) -> tuple:
    given = first.clone().requires_grad_(first.is_floating_point())
    answer = module.eval()(given, *masks)
    answer = [part for part in answer if part is not None] if isinstance(answer, tuple) else [answer]
    sum(part.sin().sum() for part in answer).backward()
    return answer, {name: parameter.grad for name, parameter in module.named_parameters()} | {"in": given.grad}


@pytest.mark.parametrize(
    ("lab", "name", "sizes", "shared", "given"), PAIRS, ids=[f"{lab} {name} {sizes}" for lab, name, sizes, *_ in PAIRS]
)
def test_a_class_of_a_lab_is_the_shared_one(lab, name, sizes, shared, given):
    of_the_lab = lab_code.taught(lab_code.find(lab))[name](*sizes)
    for parameter in of_the_lab.parameters():
        nn.init.normal_(parameter, std=0.5)  # norms and biases, too, begin at something that shows
    shared.load_state_dict(of_the_lab.state_dict())
    torch.testing.assert_close(results_and_gradients(of_the_lab, *given), results_and_gradients(shared, *given))


@pytest.mark.parametrize("part", ["residual", "norm"])
def test_what_the_block_takes_away_is_gone_and_the_rest_stays(part):
    names = lab_code.taught(lab_code.find("the_block"))
    (block,) = names["Stack"](1, (part,), d_model=16, num_heads=2, dropout=0.1).eval().blocks
    x = torch.randn(2, 6, 16)
    after = block.attention(x if part == "norm" else block.attention_norm(x))[0] + (0 if part == "residual" else x)
    change = block.feed_forward(after if part == "norm" else block.feed_forward_norm(after))
    torch.testing.assert_close(block(x)[0], change + (0 if part == "residual" else after))

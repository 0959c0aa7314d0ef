"""The numbers of hidden positions never matter: in each precision, with infinite numbers and NaN among them."""

import pytest
import torch
from torch import nn

from experiments.train_classifier import EncoderClassifier
from labs.a_question_from_the_text.marker_query import MarkerQueryClassifier
from labs.recap_attention.exercises import LearnedQuery
from shared import model, review_writer

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
MASK = torch.tensor([[True, True, True, False, False], [True, False, True, False, True], [False] * 5])
D_MODEL, WORDS, MARK = 8, 12, 3


def disturbed(x, mask, number):
    """x with a number where the mask is False."""
    return x.masked_fill(~mask.reshape(*mask.shape, *[1] * (x.dim() - mask.dim())), number)


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf, 65_504.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_softmax_is_that_of_scores_filled_before_it(dtype, number):
    scores = (10 * torch.randn(3, 5, generator=torch.Generator().manual_seed(0))).to(dtype)
    expected = scores.masked_fill(~MASK, -torch.inf).softmax(dim=-1).nan_to_num()  # a row of padding alone is 0
    given = disturbed(scores, MASK, number).requires_grad_()
    weights = model.masked_softmax(given, MASK)
    assert torch.equal(weights, expected)
    weights.square().sum().backward()
    assert given.grad.isfinite().all() and not given.grad[~MASK].any()


LAYERS = {
    "weighted_sum": lambda: lambda x, mask: model.weighted_sum(model.masked_softmax(x[..., 0], mask), x),
    "LearnedQuery": lambda: LearnedQuery(D_MODEL),
    "SelfAttention": lambda: model.SelfAttention(D_MODEL, 4, 6, bias=True),
    "SelfAttention without values": lambda: model.SelfAttention(D_MODEL, 4),
    "MultiHeadSelfAttention": lambda: model.MultiHeadSelfAttention(D_MODEL, 2),
    "RotarySelfAttention": lambda: review_writer.RotarySelfAttention(D_MODEL, 2),
    "TransformerBlock": lambda: model.TransformerBlock(D_MODEL, 2, 16, norm_first=True),
    "TransformerBlock, post-norm": lambda: model.TransformerBlock(D_MODEL, 2, 16),
}


def real_rows(result, mask):
    """What a layer gives for real tokens and texts."""
    output = result[0] if isinstance(result, tuple) else result
    return output[mask] if output.dim() == 3 else output


@pytest.mark.parametrize("number", [torch.nan, torch.inf, 60_000.0])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LAYERS)
def test_what_x_holds_at_padding_does_not_matter(name, dtype, number):
    torch.manual_seed(0)
    layer, x = LAYERS[name](), torch.randn(3, 5, D_MODEL).to(dtype)
    layer = layer.to(dtype).eval() if isinstance(layer, nn.Module) else layer
    right = real_rows(layer(disturbed(x, MASK, 0.0), MASK), MASK)
    assert right.isfinite().all()
    assert torch.equal(real_rows(layer(disturbed(x, MASK, number), MASK), MASK), right)


def test_a_mask_reaches_the_rotated_heads():
    torch.manual_seed(0)
    layer, x = review_writer.RotarySelfAttention(D_MODEL, 2), torch.randn(2, 5, D_MODEL)
    weights = layer(x, MASK[:2], model.causal_mask(5))[1]
    assert not weights.masked_select(~MASK[:2, None, None, :]).any()
    assert torch.equal(weights.triu(1), torch.zeros_like(weights))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [
    model.MeanPooling, model.AttentionPooling, model.SelfAttentionClassifier, EncoderClassifier,
    lambda words: MarkerQueryClassifier(words, MARK),
])  # fmt: skip
def test_classifiers_run_in_each_precision_with_a_text_of_padding_alone(make, dtype):
    ids = torch.tensor([[MARK, 4, 5, 0, 0], [6, 7, MARK, 8, 9], [0] * 5])
    logits, weights = make(WORDS).to(dtype).eval()(ids, ids > 0)
    assert logits.isfinite().all() and weights[ids == 0].eq(0).all() and logits.dtype == dtype

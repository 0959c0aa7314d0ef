"""Claims about the faster layers: in training they give the results and the gradients of the plain ones."""

import math

import pytest
import test_attention_by_loops as by_loops
import torch
from test_attention_by_loops import MARK, VOCABULARY
from torch import nn

from shared import fast, model
from shared.fast import Dropout, faster

CLASSIFIERS = {name: make for name, (make, _) in by_loops.CLASSIFIERS.items()}


def made_batch():
    """Eleven texts of up to nine words, one of them of padding only."""
    torch.manual_seed(1)
    mask = torch.arange(9) < torch.tensor([9, 1, 0, 4, 7, 9, 2, 3, 5, 8, 6])[:, None]
    ids = torch.randint(4, VOCABULARY, mask.shape)
    ids[:, 0] = MARK
    return ids * mask, mask


def results(net, ids, mask):
    """Logits, weights and all gradients."""
    net.zero_grad()
    logits, weights = net(ids, mask)
    (logits.sin().sum() + weights.square().sum()).backward()
    return logits, weights, [p.grad.clone() for p in net.parameters() if p.grad is not None]


@pytest.mark.parametrize("numbers", (1, 200, 10**6), ids=("one text at a time", "a few", "all at once"))
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_faster_classifier_has_the_outputs_and_gradients_of_the_plain_one(name, numbers, monkeypatch):
    monkeypatch.setattr(fast, "WEIGHTS_AT_ONCE", numbers)
    torch.manual_seed(0)
    net = CLASSIFIERS[name]().double().eval()  # dropout is random and has tests of its own
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_(std=0.7)
    batch = made_batch()
    plain = results(net, *batch)
    with faster(net):
        torch.testing.assert_close(results(net, *batch), plain, atol=1e-12, rtol=1e-9)


def test_inside_the_block_the_layers_are_the_faster_ones_and_afterwards_the_plain_ones():
    net = CLASSIFIERS["self-attention"]()
    kinds = [type(layer) for layer in net.modules()]
    with pytest.raises(KeyboardInterrupt), faster(net):
        assert type(net) is fast.SelfAttentionClassifier and type(net.features.dropout) is Dropout
        with faster(net):  # evaluating while training
            pass
        assert type(net) is fast.SelfAttentionClassifier
        raise KeyboardInterrupt
    assert [type(layer) for layer in net.modules()] == kinds
    encoder = CLASSIFIERS["encoder"]()
    with faster(encoder):
        assert not any(type(layer) is nn.Dropout for layer in encoder.modules())


def test_what_a_reader_wrote_is_left_as_it_is():
    class Own(model.SelfAttentionClassifier):
        def forward(self, ids, mask):
            return ids.sum(dim=1), mask

    net = nn.ModuleList([Own(VOCABULARY), nn.Dropout(0.3)])
    with faster(net):
        assert type(net[0]) is Own and type(net[1]) is nn.Dropout


# --- dropout -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.999])
def test_dropout_drops_its_part_and_lifts_the_rest(rate):
    torch.manual_seed(0)
    features = torch.rand(7, 1001, 33, dtype=torch.float64).add(1).requires_grad_()
    dropped = Dropout(rate)(features)
    keep = dropped != 0
    sigma = math.sqrt(rate * (1 - rate) / features.numel())
    assert abs(keep.double().mean().item() - (1 - rate)) < 5 * sigma + 2**-16
    assert torch.allclose(dropped[keep], features[keep] / (1 - rate))
    # Four decisions come from one number: no decision may say anything about one of its neighbours.
    fate = keep.flatten().double() - keep.double().mean()
    for distance in range(1, 9):
        together = (fate[distance:] * fate[:-distance]).mean().item()
        assert abs(together) < 5 * rate * (1 - rate) / math.sqrt(features.numel())
    dropped.sum().backward()
    assert torch.allclose(features.grad, keep.double() / (1 - rate))


def test_dropout_repeats_with_a_seed_rests_in_evaluation_and_knows_both_ends():
    features = torch.randn(3, 5)
    layer = Dropout(0.3)
    drawn = []
    for _ in range(2):
        torch.manual_seed(4)
        drawn.append(layer(features))
    assert drawn[0].equal(drawn[1]) and not drawn[0].equal(layer(features))
    assert layer.eval()(features) is features and Dropout(0.0)(features) is features
    assert not Dropout(1.0)(features).any() and Dropout(0.3)(features[:0]).shape == (0, 5)
    assert Dropout(0.3)(features.bfloat16()).dtype == torch.bfloat16

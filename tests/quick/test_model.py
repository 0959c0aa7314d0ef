"""Claims about positions, masks and the small classifiers."""

import numpy as np
import pytest
import torch

from shared.model import (
    MAX_TOKENS,
    AttentionPooling,
    KeyPooling,
    MarkedSelfAttentionClassifier,
    MeanPooling,
    SelfAttentionClassifier,
    TokenFeatures,
    masked_softmax,
    sinusoidal_positions,
)

VOCABULARY = 30
MARK = 3


def classifiers():
    torch.manual_seed(0)
    return [
        MeanPooling(VOCABULARY),
        AttentionPooling(VOCABULARY),
        KeyPooling(VOCABULARY),
        SelfAttentionClassifier(VOCABULARY),
        SelfAttentionClassifier(VOCABULARY, value_dim=None),
        MarkedSelfAttentionClassifier(VOCABULARY, MARK),
        MarkedSelfAttentionClassifier(VOCABULARY, MARK, constant_query=True),
    ]


def names(model):
    return type(model).__name__


def made_batch(lengths=(7, 4, 2)):
    torch.manual_seed(1)
    ids = torch.randint(4, VOCABULARY, (len(lengths), max(lengths)))
    ids[:, 1] = MARK
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return ids.masked_fill(~mask, 0), mask


def test_positions_are_sines_and_cosines_of_growing_wavelength():
    positions = sinusoidal_positions(50, 6, base=1000.0).double().numpy()
    for position in (0, 1, 49):
        for column in range(6):
            angle = position / 1000.0 ** (2 * (column // 2) / 6)
            expected = np.sin(angle) if column % 2 == 0 else np.cos(angle)
            assert positions[position, column] == pytest.approx(expected, abs=1e-5)


def test_a_masked_place_gets_no_weight_and_an_all_masked_row_gives_zeros_and_finite_gradients():
    scores = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    weights = masked_softmax(scores, mask)
    assert weights[0, 2] == 0 and weights[0].sum().item() == pytest.approx(1)
    assert (weights[1] == 0).all()
    weights.square().sum().backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (torch.ones(2, 3), TypeError, "torch.float32; it must be torch.bool"),
        (torch.ones(4, dtype=torch.bool), ValueError, r"shape \(4,\); it must broadcast to \(2, 3\)"),
        (torch.ones(5, 2, 3, dtype=torch.bool), ValueError, "must broadcast"),
    ],
)
def test_a_mask_of_the_wrong_kind_or_shape_is_refused(mask, error, message):
    with pytest.raises(error, match=message):
        masked_softmax(torch.zeros(2, 3), mask)


@pytest.mark.parametrize("model", classifiers(), ids=names)
def test_padding_changes_no_logit_and_gets_no_weight(model):
    model.eval()
    ids, mask = made_batch()
    logits, weights = model(ids, mask)
    assert logits.shape == (3,) and weights.shape == ids.shape
    assert weights.sum(dim=1).allclose(torch.ones(3), atol=1e-5)
    assert (weights[~mask] == 0).all()
    for row, length in enumerate(mask.sum(dim=1)):
        alone, _ = model(ids[row : row + 1, :length], mask[row : row + 1, :length])
        assert alone.item() == pytest.approx(logits[row].item(), abs=1e-6)


@pytest.mark.parametrize("model", classifiers(), ids=names)
def test_a_row_of_padding_only_gives_numbers_and_finite_gradients(model):
    ids, mask = made_batch()
    mask[2] = False
    logits, weights = model(ids.masked_fill(~mask, 0), mask)
    assert logits.isfinite().all() and (weights[2] == 0).all()
    logits.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("model", classifiers(), ids=names)
def test_texts_may_be_longer_than_any_seen_in_training(model):
    ids, mask = made_batch((MAX_TOKENS, 5))
    assert model(ids, mask)[0].isfinite().all()


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (torch.full((1, 3), VOCABULARY), ValueError, "ids run from 30 to 30; the vocabulary has ids 0 to 29"),
        (torch.zeros((1, MAX_TOKENS + 1), dtype=torch.long), ValueError, "positions reach to"),
        (torch.zeros((1, 3)), TypeError, "give integers"),
        (torch.zeros(3, dtype=torch.long), TypeError, r"\(batch, tokens\)"),
    ],
)
def test_bad_ids_are_refused_with_a_sentence(ids, error, message):
    with pytest.raises(error, match=message):
        TokenFeatures(VOCABULARY)(ids)


def test_the_averaged_layer_equals_the_average_of_all_rows():
    torch.manual_seed(2)
    model = SelfAttentionClassifier(VOCABULARY).eval()
    ids, mask = made_batch()
    logits, _ = model(ids, mask)
    rows, _ = model.attention(model.features(ids), mask)  # (batch, tokens, value_dim)
    for row, length in enumerate(mask.sum(dim=1)):
        expected = model.output(rows[row, :length].mean(dim=0))
        assert logits[row].item() == pytest.approx(expected.item(), abs=1e-5)


def test_the_marked_row_equals_that_row_of_the_full_layer():
    torch.manual_seed(3)
    model = MarkedSelfAttentionClassifier(VOCABULARY, MARK).eval()
    ids, mask = made_batch()
    logits, weights = model(ids, mask)
    rows, all_weights = model.attention(model.features(ids), mask)
    assert weights.allclose(all_weights[:, 1], atol=1e-6)  # the mark stands at place 1
    assert logits.allclose(model.output(rows[:, 1]).squeeze(1), atol=1e-5)

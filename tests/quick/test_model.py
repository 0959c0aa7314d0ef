"""Claims about positions, masks, ids and dropout. What the layers compute: test_attention_by_loops.py."""

import numpy as np
import pytest
import torch

from shared.model import (
    MAX_TOKENS,
    TokenFeatures,
    masked_softmax,
    sinusoidal_positions,
)

VOCABULARY = 30


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

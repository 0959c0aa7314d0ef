"""Masks and ids that no model takes are refused with a sentence. What models compute: test_attention_by_loops.py."""

import pytest
import torch

from shared.model import MAX_TOKENS, TokenFeatures, masked_softmax

VOCABULARY = 30


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
        (torch.full((1, 3), -1), ValueError, "ids run from -1 to -1"),
        (torch.zeros((1, MAX_TOKENS + 1), dtype=torch.long), ValueError, "positions reach to"),
        (torch.zeros((1, 3)), TypeError, "give integers"),
        (torch.zeros(3, dtype=torch.long), TypeError, r"\(batch, tokens\)"),
    ],
)
def test_bad_ids_are_refused_with_a_sentence(ids, error, message):
    with pytest.raises(error, match=message):
        TokenFeatures(VOCABULARY)(ids)

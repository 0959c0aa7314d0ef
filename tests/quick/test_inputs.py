"""What no model takes and no drawing has is refused, with a word of what was wrong."""

import pytest
import torch

from shared.figures.colours import css_colour
from shared.model import MAX_TOKENS, MultiHeadSelfAttention, TokenEmbedding, causal_mask, masked_softmax

FEATURES, LAST_ALONE = torch.randn(2, 5, 4), torch.zeros(5, 5, dtype=torch.bool).index_fill(1, torch.tensor(4), True)


def heads(**masks):
    return MultiHeadSelfAttention(4, 2)(FEATURES, **masks)


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: masked_softmax(torch.zeros(2, 3), torch.ones(2, 3)), TypeError, "bool"),
        (lambda: masked_softmax(torch.zeros(2, 3), torch.ones(5, 2, 3, dtype=torch.bool)), ValueError, "shape"),
        (lambda: TokenEmbedding(30)(torch.full((1, 3), 30)), ValueError, "0 to 29"),
        (lambda: TokenEmbedding(30)(torch.zeros((1, MAX_TOKENS + 1), dtype=torch.long)), ValueError, "positions"),
        (lambda: TokenEmbedding(30)(torch.zeros((1, 3))), TypeError, "integers"),
        (lambda: MultiHeadSelfAttention(9, 2), ValueError, r"\[1, 3, 9\]"),
        (lambda: heads(mask=torch.ones(5, 2, dtype=torch.bool)), ValueError, r"\(2, 5\)"),
        (lambda: heads(attention_mask=causal_mask(6)), ValueError, r"\(5, 5\) or \(2, 5, 5\)"),
        (lambda: heads(attention_mask=causal_mask(5) & ~torch.eye(5, dtype=torch.bool)), ValueError, "token 0"),
        (lambda: heads(mask=torch.arange(5) < torch.tensor([[5], [4]]), attention_mask=LAST_ALONE),
         ValueError, "text 1"),
        (lambda: css_colour("energy"), ValueError, "'energy' is no colour of the course"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_or_drawn_is_refused(call, error, word):
    with pytest.raises(error, match=word):
        call()

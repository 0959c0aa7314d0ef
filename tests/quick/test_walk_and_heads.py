"""Walk and heads from Python: what does not fit gets a sentence."""

import pytest
import torch

from shared.figures.heads import heads
from shared.figures.walk import walk

WORDS = ["[CLS]", "the", "dog", "bit", "the", "man", "[SEP]"]
MAPS = torch.rand(3, 4, 7, 7, generator=torch.Generator().manual_seed(1)).softmax(dim=-1)


ONES = {"words": ["a", "b"], "x": torch.ones(2, 3)} | dict.fromkeys(("W_query", "W_key", "W_value"), torch.ones(3, 2))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"words": ["a", "b", "c"]}, "3 words"),
        ({"x": [[1.0, float("nan"), 0.0]] * 2}, "nan"),
        ({"W_query": torch.ones(2, 3)}, "W_query"),
        ({"W_key": torch.ones(3, 4)}, "W_key"),
        ({"follow": "c"}, "c"),
    ],
    ids=str,
)
def test_what_the_walk_cannot_show_is_refused(change, word):
    with pytest.raises((ValueError, TypeError), match=word):
        walk(**(ONES | change))


@pytest.mark.parametrize(
    ("words", "weights", "options", "word"),
    [
        (WORDS, MAPS[0], {}, "layers"),
        (WORDS[:3], MAPS, {}, "3 words"),
        (WORDS, 2 * MAPS, {}, "sums to 1"),
        (WORDS, MAPS, {"follow": 7}, "0 to 6"),
    ],
)
def test_what_the_heads_cannot_show_is_refused(words, weights, options, word):
    with pytest.raises(ValueError, match=word):
        heads(words, weights, **options)

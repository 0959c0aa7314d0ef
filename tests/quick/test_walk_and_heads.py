"""Walk and heads from Python: the same arrays give the same bytes, and what does not fit gets a sentence."""

import pytest
import torch

from shared.figures.heads import heads
from shared.figures.walk import walk

WORDS = ["[CLS]", "the", "dog", "bit", "the", "man", "[SEP]"]
MAPS = torch.rand(3, 4, 7, 7, generator=torch.Generator().manual_seed(1)).softmax(dim=-1)


def test_the_same_arrays_give_the_same_bytes():
    first, second = (walk(["a", "b"], torch.ones(2, 3), *torch.ones(3, 3, 2)) for _ in range(2))
    assert first._repr_html_() == second._repr_html_()
    assert repr(first) == "Walk through self-attention: 2 words, 3 columns, 1 head(s)"


ONES = {"words": ["a", "b"], "x": torch.ones(2, 3)} | dict.fromkeys(("W_query", "W_key", "W_value"), torch.ones(3, 2))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"words": []}, "words"),
        ({"words": "a b"}, "string"),
        ({"words": ["a", "b", "c"]}, "3 words"),
        ({"x": [[1.0, float("nan"), 0.0]] * 2}, "nan"),
        ({"W_query": torch.ones(2, 3)}, "W_query"),
        ({"convention": "up"}, "convention"),
        ({"W_key": torch.ones(3, 4)}, "keys"),
        ({"num_heads": 3}, "num_heads"),
        ({"follow": 2}, "0 to 1"),
        ({"mask": [[True, False], [False, False]]}, "mask|nothing"),
        ({"vocabulary": {"a": [1, 2]}}, "'a'"),
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
        (WORDS, MAPS, {"layer": 3}, "layer=3"),
        (WORDS, MAPS, {"follow": "cat"}, "cat"),
    ],
)
def test_what_the_heads_cannot_show_is_refused(words, weights, options, word):
    with pytest.raises(ValueError, match=word):
        heads(words, weights, **options)

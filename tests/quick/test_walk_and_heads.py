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
    assert repr(first) == "Walk through self-attention: 2 words, 3 features, 1 head(s)"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"words": []}, "no words"),
        ({"words": "a b"}, "one string"),
        ({"words": ["a", 3]}, "not text"),
        ({"words": ["a", " "]}, "blank"),
        ({"words": ["a", "b", "c"]}, "2 rows for 3 words"),
        ({"features": [[1.0, float("nan"), 0.0]] * 2}, "features holds nan"),
        ({"features": [[1.0], [1.0, 2.0]]}, "as many in each row"),
        ({"features": [1.0, 2.0]}, "give a matrix"),
        ({"W_query": torch.ones(2, 3)}, r"W_query has shape \(2, 3\).*3 rows"),
        ({"convention": "Wx"}, "3 columns"),
        ({"convention": "up"}, "convention is 'up'"),
        ({"W_key": torch.ones(3, 4)}, "queries would be 2 wide and keys 4"),
        ({"num_heads": 3}, "num_heads=3 does not divide the 2"),
        ({"num_heads": 0}, "num_heads=0"),
        ({"W_output": torch.ones(3, 2)}, "W_output has shape"),
        ({"follow": "cat"}, "choose one of a, b"),
        ({"follow": 2}, "choose 0 to 1"),
        ({"follow": None}, "choose 0 to 1"),
        ({"mask": [1, 1]}, "give bools"),
        ({"mask": [[True, False], [False, False]]}, "leaves word 1 nothing"),
        ({"mask": [True, True], "vocabulary": {"a": [1, 2, 3]}}, "a mask fits one sentence"),
        ({"vocabulary": {}}, "vocabulary is empty"),
        ({"vocabulary": {"a": [1, 2]}}, "'a' are 2 numbers"),
    ],
    ids=str,
)
def test_what_the_walk_cannot_show_is_refused_with_a_sentence(change, sentence):
    ones = {name: torch.ones(3, 2) for name in ("W_query", "W_key", "W_value")}
    arguments = {"words": ["a", "b"], "features": torch.ones(2, 3)} | ones | change
    with pytest.raises((ValueError, TypeError), match=sentence):
        walk(**arguments)


@pytest.mark.parametrize(
    ("words", "weights", "options", "sentence"),
    [
        (WORDS, MAPS[0], {}, "give (layers, heads, 7, 7), one map a head. Take the batch axis off"),
        (WORDS[:3], MAPS, {}, "for 3 words give (layers, heads, 3, 3)"),
        (WORDS, 2 * MAPS, {}, "The weights are no shares"),
        (WORDS, MAPS * torch.nan, {}, "The weights are no shares"),
        (WORDS, MAPS, {"layer": 3}, "layer=3 is not there; layers run from 0 to 2"),
        (WORDS, MAPS, {"head": -1}, "head=-1 is not there; heads run from 0 to 3"),
        (WORDS, MAPS, {"follow": "cat"}, "follow='cat' is not in the sentence"),
        ([], torch.ones(1, 1, 1, 1), {}, "there are no words"),
    ],
)
def test_what_the_heads_cannot_show_is_refused_with_a_sentence(words, weights, options, sentence):
    with pytest.raises(ValueError) as raised:
        heads(words, weights, **options)
    assert sentence in str(raised.value)

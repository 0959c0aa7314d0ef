"""Lab 7 is right for sentences and sizes nobody chose, too. Its own cells hold it to the published numbers."""

import lab_code
import pytest
import torch
from torch.nn import functional as F


def run_lab(sentence="When in doubt look intelligent", followed=1, sizes="5, 3, 3"):
    """Run every code cell, with another sentence, word and sizes: the variables that the lab leaves behind."""
    code = "\n".join(lab_code.cells(lab_code.find(7)))
    for old, new in (
        ('"When in doubt look intelligent"  # @param', f"{sentence!r}  # @param"),
        ("followed = 1", f"followed = {followed}"),
        ("= 5, 3, 3", f"= {sizes}"),
    ):
        assert code.count(old) == 1
        code = code.replace(old, new)
    left = {"__name__": "lab"}
    exec(compile(code, "lab 7", "exec"), left)
    return left


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"sentence": "two words", "followed": 2}, "followed is 2; .* 0 to 1"),
        ({"sentence": "a b", "followed": -1}, "followed is -1; .* 0 to 1"),
        ({"sentence": " ", "followed": 0}, "is empty"),
        ({"sizes": "-1, 3, 3"}, "A size is -1; choose whole numbers"),
        ({"sizes": "5, 0, 3"}, "A size is 0; choose whole numbers"),
        ({"sizes": "5, 3, 2.5"}, "A size is 2.5; choose whole numbers"),
    ],
)
def test_a_sentence_a_word_or_a_size_that_does_not_fit_is_answered_with_a_sentence(written, says):
    with pytest.raises(ValueError, match=says):
        run_lab(**written)


@pytest.mark.parametrize(
    ("sentence", "sizes"),
    [
        ("one two", "1, 1, 1"),
        ("the cat saw the other cat", "64, 64, 16"),
        ("שלום <b>&amp; 東京 👩‍👩‍👧‍👦 naïve !", "4, 3, 2"),
        ("w " * 40, "1, 64, 2"),
    ],
)
def test_the_lab_is_right_for_any_sentence_and_any_sizes(sentence, sizes):
    lab = run_lab(sentence, sizes=sizes)
    words = sentence.split()
    embedded = torch.stack([lab["table"][sorted(set(words)).index(word)] for word in words])
    wanted = F.scaled_dot_product_attention(*(embedded @ lab[name].T for name in ("W_query", "W_key", "W_value")))
    torch.testing.assert_close(lab["contexts"], wanted, atol=1e-3, rtol=0)
    assert not lab["outscored"](lab["unit"] @ lab["unit"].T).any()

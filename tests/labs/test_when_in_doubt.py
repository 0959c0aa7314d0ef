"""*When in doubt* takes any sentence and any sizes: its own cells hold the outputs against PyTorch's."""

import lab_code
import pytest


def run_lab(sentence="When in doubt look intelligent", followed=1, sizes="5, 3, 3"):
    """Run every code cell, assertions among them, with another sentence, word and sizes."""
    code = "\n".join(lab_code.cells(lab_code.find("when_in_doubt")))
    for old, new in (
        ('"When in doubt look intelligent"  # @param', f"{sentence!r}  # @param"),
        ("followed = 1", f"followed = {followed}"),
        ("= 5, 3, 3", f"= {sizes}"),
    ):
        assert code.count(old) == 1
        code = code.replace(old, new)
    exec(compile(code, "the lab", "exec"), {"__name__": "lab"})


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"sentence": "a b", "followed": 2}, "followed"),
        ({"sentence": " ", "followed": 0}, "empty"),
        ({"sizes": "5, 3, 2.5"}, "size"),
    ],
)
def test_a_sentence_a_word_or_a_size_that_does_not_fit_is_answered_with_a_sentence(written, says):
    with pytest.raises(ValueError, match=says):
        run_lab(**written)


@pytest.mark.parametrize(
    ("sentence", "sizes"),
    [("the cat saw the other cat", "64, 64, 16"), ("שלום <b>&amp; 東京 👩‍👩‍👧‍👦 naïve !", "4, 3, 2")],
)
def test_the_lab_is_right_for_any_sentence_and_any_sizes(sentence, sizes):
    run_lab(sentence, sizes=sizes)

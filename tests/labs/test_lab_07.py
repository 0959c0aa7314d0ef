"""Lab 7 gives the published numbers for its own sentence, and right ones for sentences and sizes nobody chose."""

import lab_code
import numpy as np
import pytest


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


def test_the_lab_agrees_with_the_published_walkthrough():
    lab = run_lab()
    assert lab["vocabulary"] == {"When": 0, "doubt": 1, "in": 2, "intelligent": 3, "look": 4}
    assert lab["ids"].tolist() == [0, 2, 1, 4, 3] and lab["word"] == "in"
    assert all(lab[name].shape == (3, 5) for name in ("W_query", "W_key", "W_value"))
    published = [0.0016809, 0.10713, 0.17067, 0.72051, 9.37e-09]
    np.testing.assert_allclose(lab["repeated"], published, rtol=1e-3, atol=0)
    outscored = [w for w, out in zip(lab["journey_words"], lab["outscored"](lab["raw"]), strict=True) if out]
    assert outscored == ["starts", "with", "one", "step"]


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
    table, *projections = (lab[name].double().numpy() for name in ("table", "W_query", "W_key", "W_value"))
    words = sentence.split()
    features = np.array([table[sorted(set(words)).index(word)] for word in words])
    queries, keys, values = (features @ W.T for W in projections)
    powers = np.exp((scores := queries @ keys.T / np.sqrt(queries.shape[1])) - scores.max(axis=1, keepdims=True))
    contexts = powers / powers.sum(axis=1, keepdims=True) @ values
    np.testing.assert_allclose(lab["contexts"], contexts, atol=1e-3)
    assert not lab["outscored"](lab["unit"] @ lab["unit"].T).any()

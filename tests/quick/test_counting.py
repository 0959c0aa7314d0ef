"""Claims about Kneser-Ney smoothing, against the same formula in loops over dictionaries."""

from collections import Counter

import numpy as np
import pytest

from labs.a_language_model.counting import kneser_ney

KNOWN, UNKNOWN = 9, 1
WORDS = np.random.default_rng(0).zipf(1.5, 600) % KNOWN  # every count from 1 to 4 occurs


def in_loops(order, scale=1.0):
    """The probability of a word after a history of `order - 1` words or fewer, by recursion."""
    grams = zip(*(WORDS.tolist()[start:] for start in range(order)), strict=False)
    counts = {order: Counter(gram for gram in grams if gram[-1] != UNKNOWN)}
    for length in range(order - 1, 0, -1):
        counts[length] = Counter(gram[1:] for gram in counts[length + 1])

    def discount(length, count):
        n = Counter(counts[length].values())
        if not all(n[i] for i in (1, 2, 3, 4)):
            return min(0.5 * scale, 1) if count else 0
        i = min(count, 3)
        return min(scale * (i - (i + 1) * n[1] / (n[1] + 2 * n[2]) * n[i + 1] / n[i]), i) if i else 0

    def probability(word, history):
        shorter = probability(word, history[1:]) if history else 1 / KNOWN
        followers = {gram: count for gram, count in counts[len(history) + 1].items() if gram[:-1] == history}
        if not followers:
            return shorter
        count, length = counts[len(history) + 1][*history, word], len(history) + 1
        taken = sum(discount(length, count) for count in followers.values())
        return (count - discount(length, count) + taken * shorter) / sum(followers.values())

    return probability


@pytest.mark.parametrize("order, scale", [(1, 1.0), (2, 1.0), (3, 1.0), (3, 0.8), (2, 1.3)])
def test_every_probability_is_that_of_the_formula_and_they_sum_to_1(order, scale):
    histories = np.array(list(np.ndindex(*(KNOWN,) * (order - 1))), dtype=int)  # (histories, order - 1)
    probability, sums = in_loops(order, scale), np.zeros(len(histories))
    for word in range(KNOWN):
        texts = np.column_stack([histories, np.full(len(histories), word)])
        found = kneser_ney(WORDS, texts, KNOWN, UNKNOWN, scale)
        assert found == pytest.approx([probability(word, tuple(history)) for history in histories.tolist()])
        sums += found
    assert sums == pytest.approx(np.ones(len(histories)))


def test_a_word_that_follows_few_others_is_improbable_after_a_new_one():
    francisco, glasses, san, new = 2, 3, 4, 5
    words = np.array([san, francisco] * 20 + [new, glasses, 6, glasses, 7, glasses, 8, glasses] * 2)
    after_8 = [kneser_ney(words, np.array([[francisco, word]]), KNOWN)[0] for word in (francisco, glasses)]
    assert after_8[1] > 2 * after_8[0], "though it is the more frequent one"

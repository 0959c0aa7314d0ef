"""The best way of counting words, which a language model has to beat."""

import numpy as np


def kneser_ney(
    words: np.ndarray, texts: np.ndarray, known_words: int, unknown: int = -1, scale: float = 1.0
) -> np.ndarray:
    """The probability of the last word of each text after the others by counting `words`, (texts,).

    Interpolated Kneser-Ney smoothing with a discount for counts of 1, of 2, and of 3 or more, each from the counts
    themselves, times `scale`: at 1 nothing is tuned. The longest history counts how often a word followed; a shorter
    one counts after how many different words it did.

    Args:
        words: ids of the text to count, (words,).
        texts: ids, (texts, order); an order of 3 counts trigrams.
        unknown: an id that is never counted as the word that follows.
        scale: what the discounts are multiplied by, to tune them on other text.

    Source: Chen and Goodman 1999, An empirical study of smoothing techniques for language modeling.
    """
    order = texts.shape[1]
    digits = known_words ** np.arange(order, dtype=np.int64)[::-1]  # (order,): a gram becomes one number
    grams = np.lib.stride_tricks.sliding_window_view(words, order)  # (grams, order)
    grams, counts = np.unique(grams[grams[:, -1] != unknown] @ digits, return_counts=True)
    tables = []
    for length in range(order - 1, -1, -1):  # of the history
        tables.append((grams, counts))
        grams, counts = np.unique(grams % known_words**length, return_counts=True)  # without the first word
    probs = np.full(len(texts), 1 / known_words)  # (texts,)
    for length, (grams, counts) in enumerate(reversed(tables)):
        asked = texts[:, order - 1 - length :] @ digits[order - 1 - length :]  # (texts,)
        discounts = np.minimum(scale * _discounts(counts), np.arange(4))  # (4,)
        histories, whose = np.unique(grams // known_words, return_inverse=True)
        total = _look_up(histories, np.bincount(whose, counts), asked // known_words)  # (texts,)
        taken = np.bincount(whose, discounts[counts.clip(max=3)])  # (histories,), what goes to the shorter history
        count = _look_up(grams, counts, asked)  # (texts,)
        counted = count - discounts[count.clip(max=3).astype(int)]
        mixed = counted + _look_up(histories, taken, asked // known_words) * probs
        probs = np.divide(mixed, total, out=probs, where=total > 0)
    return probs


def _discounts(counts: np.ndarray) -> np.ndarray:
    """What is subtracted from a count of 0, 1, 2, and 3 or more, (4,)."""
    n = np.bincount(counts.clip(max=5), minlength=6)  # how many grams occur once, twice ...
    if not n[1:5].all():
        return np.array([0, 0.5, 0.5, 0.5])
    i, share = np.arange(1, 4), n[1] / (n[1] + 2 * n[2])
    return np.array([0, *(i - (i + 1) * share * n[i + 1] / n[i]).clip(min=0)])


def _look_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The value of each wanted key, 0 where there is none; the keys are sorted."""
    place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)

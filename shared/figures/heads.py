"""All heads of a model over one sentence: a small picture of each, and one head at a time to read
word by word.

Python checks the weights and writes them, in thousandths, into one piece of HTML; heads.js does the
rest.
"""

from collections.abc import Sequence

import numpy as np

from .picture import Picture, index_of, interactive, numbers, still, words_of


def heads(
    words: Sequence[str], weights, *, layer: int = 0, head: int = 0, follow: int = 0
) -> Picture:
    """The attention of every head over a sentence, as an interactive figure.

    Args:
        words: the n words, in their order.
        weights: (layers, heads, n, n); row i of a pattern holds the weights of query i and sums to
            1. layer, head: the head that is open first, both counted from 0.
        follow: the index of the query that is followed first.

    Raises:
        ValueError: weights of a different shape, scores in place of weights, or a layer, head or
            word that does not exist.
    """
    weights = numbers(weights, "weights")
    n = len(words)
    if weights.ndim != 4 or weights.shape[2:] != (n, n):
        raise ValueError(
            f"The weights have shape {weights.shape}; for {n} words give (layers, heads, {n}, "
            f"{n}), one attention "
            "pattern per head. Remove the batch axis with weights[0]."
        )
    # NaN fails the comparison, too.
    if not ((weights >= 0).all() and (abs(weights.sum(axis=3) - 1) < 1e-3).all()):
        raise ValueError(
            "Attention weights are zero or more, and each row sums to 1; these are not. Are they "
            "scores?"
        )

    words = words_of(words, "rows of a pattern", n)
    data = {
        "words": words,
        "weights": np.rint(1000 * weights).astype(int).tolist(),
        "layer": index_of(layer, weights.shape[0], "layer"),
        "head": index_of(head, weights.shape[1], "head"),
        "follow": index_of(follow, n, "word"),
    }
    table = still(
        "Here you can open every head. The figure needs scripts: in a notebook, run this cell to "
        "start it.",
        f"Layer {layer}, head {head}: where the word of the row looks",
        words,
        words,
        weights[layer, head],
        digits=2,
    )
    return interactive(
        "heads",
        data,
        table,
        f"{weights.shape[0]} layers of {weights.shape[1]} heads over {n} words",
    )

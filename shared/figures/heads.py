"""All heads of a model over one sentence: a small picture of each, and one head at a time to read word by word.

Python checks the weights and writes them, in thousandths, into one piece of HTML; heads.js does the rest.
"""

from collections.abc import Sequence

import numpy as np

from .picture import Picture, interactive, numbers, place, sentence, still


def heads(words: Sequence[str], weights, *, layer: int = 0, head: int = 0, follow: str | int = 0) -> Picture:
    """The attention of every head over a sentence, as an interactive figure.

    Args:
        words: the n words, in their order.
        weights: (layers, heads, n, n); row i of a map says where word i looks, and sums to 1.
        layer, head: the head that stands open first, both counted from 0.
        follow: the word that is followed first, or its index.

    Raises:
        ValueError: weights of another shape, weights that are no shares, or a layer, head or word that is not there.
        TypeError: words that are not text.
    """
    words = sentence(words)
    n = len(words)
    weights = numbers(weights, "weights")
    if weights.ndim != 4 or not weights.size or weights.shape[2:] != (n, n):
        raise ValueError(
            f"The weights have shape {weights.shape}; for {n} words give (layers, heads, {n}, {n}), one attention "
            "pattern per head. Remove the batch axis with weights[0]."
        )
    # NaN fails the comparison, too.
    if not ((weights >= 0).all() and (abs(weights.sum(axis=3) - 1) < 1e-3).all()):
        raise ValueError("Attention weights are zero or more, and each row sums to 1; these are not. Are they scores?")
    for name, value, size in (("layer", layer, weights.shape[0]), ("head", head, weights.shape[1])):
        if value not in range(size):
            raise ValueError(f"{name}={value!r} does not exist; {name}s run from 0 to {size - 1}.")

    data = {
        "words": words,
        "weights": np.rint(1000 * weights).astype(int).tolist(),
        "layer": int(layer),
        "head": int(head),
        "follow": place(follow, words),
    }
    table = still(
        "Here you can open every head. The figure needs scripts: in a notebook, run this cell to start it.",
        f"Layer {layer}, head {head}: where the word of the row looks",
        words,
        words,
        weights[layer, head],
        digits=2,
    )
    return interactive("heads", data, table, f"{weights.shape[0]} layers of {weights.shape[1]} heads over {n} words")

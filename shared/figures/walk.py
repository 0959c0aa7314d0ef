"""The walk: self-attention step by step in the page, for the reader to point at, to follow and to
type into.

Python checks the lab's arrays and writes them into one piece of HTML; walk.js does the rest.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from .picture import Picture, index_of, interactive, matrix_of, numbers, still, words_of


def walk(
    words: Sequence[str], x, W_query, W_key, W_value, *, follow: str | int = 0,
    vocabulary: Mapping[str, Sequence[float]] | None = None,
) -> Picture:  # fmt: skip
    """Self-attention over a sentence as an interactive walk from the rows of X to context vectors.

    Arrays may be tensors, NumPy arrays or lists. Scores are scaled by the square root of the width
    of the keys (Vaswani et al. 2017, section 3.2.1).

    Args:
        words: the n words of the sentence; the same word may come twice.
        x: (n, d_model), one row for each word.
        W_query, W_key: (d_model, d_k).
        W_value: (d_model, d_v).
        follow: the word that the walk speaks about first, or its index.
        vocabulary: word -> its row of d_model numbers. With it the reader can type new sentences;
            words that are not in it get random rows, and the walk says so.

    Raises:
        ValueError: sizes that do not fit together, NaN or infinity, no words, a followed word that
            is not there.
        TypeError: one string in place of a list of words.
    """
    x = matrix_of(x, "x")  # (n, d_model)
    n, d_model = x.shape
    words = words_of(words, "rows of x", n)
    weights = {"W_query": W_query, "W_key": W_key, "W_value": W_value}
    weights = {name: matrix_of(matrix, name) for name, matrix in weights.items()}
    for name, matrix in weights.items():
        if len(matrix) != d_model:
            raise ValueError(
                f"{name} has the shape {matrix.shape}; it needs {d_model} rows, one for each "
                f"column of x."
            )
    if weights["W_query"].shape != weights["W_key"].shape:
        raise ValueError(
            f"W_query has the shape {weights['W_query'].shape} and W_key {weights['W_key'].shape}. "
            f"A score is the dot "
            "product of a query and a key, so give both the same shape."
        )
    known = None
    if vocabulary is not None:
        rows = matrix_of([numbers(row) for row in vocabulary.values()], "vocabulary")
        known = list(zip(vocabulary, _rounded(rows), strict=True))

    data = {
        "words": words,
        "x": _rounded(x),
        **{name: _rounded(matrix) for name, matrix in weights.items()},
        "follow": index_of(words.index(follow) if isinstance(follow, str) else follow, n, "word"),
        "vocabulary": known,
    }
    table = still(
        "Here you can walk through self-attention step by step. The walk needs scripts: in a "
        "notebook, run this cell "
        "to start it. This is its first stage.",
        "X: one row of numbers for each word",
        range(1, d_model + 1),
        words,
        x,
        digits=0 if (x == x.round()).all() else 2,  # one-hot vectors read better as 0 and 1
    )
    return interactive(
        "walk", data, table, f"Walk through self-attention: {n} words, {d_model} columns"
    )


def _rounded(matrix: np.ndarray) -> list[list[float]]:
    """As Python numbers with five decimals: later ones differ from one processor to another."""
    return [[round(float(x), 5) for x in row] for row in matrix]

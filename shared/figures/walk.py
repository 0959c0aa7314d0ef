"""The walk: self-attention step by step in the page, for the reader to point at, to follow and to type into.

Python checks the lab's arrays and writes them into one piece of HTML; walk.js does the rest.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from .picture import Picture, interactive, matrix_of, numbers, place, sentence, still

CONVENTIONS = ("xW", "Wx")


def walk(
    words: Sequence[str],
    x,
    W_query,
    W_key,
    W_value,
    *,
    follow: str | int = 0,
    convention: str = "xW",
    num_heads: int = 1,
    W_output=None,
    mask=None,
    vocabulary: Mapping[str, Sequence[float]] | None = None,
) -> Picture:
    """Self-attention over a sentence as an interactive walk from the rows of X to context vectors.

    Arrays may be tensors, NumPy arrays or lists. Scores are scaled by the square root of the width of one head's
    keys (Vaswani et al. 2017, section 3.2.1); heads are split and concatenated as in section 3.2.2.

    Args:
        words: the n words of the sentence; the same word may come twice.
        x: (n, d_model), one row for each word.
        W_query, W_key: (d, heads * k) for "xW", (heads * k, d) for "Wx" (the shape of `nn.Linear.weight`).
        W_value: (d, heads * d_v), or (heads * d_v, d).
        follow: the word that the walk speaks about first, or its index.
        convention: "xW" when a query is made as `x @ W_query`, "Wx" when it is `W_query @ x`.
        num_heads: heads that share the columns ("xW") or rows ("Wx") of the matrices; the reader chooses one.
        W_output: (heads * d_v, d_out), or (d_out, heads * d_v): a last stage that projects the concatenated heads.
        mask: (n,) or (n, n) of bool, True where a word may be attended to; (n,) holds for every query.
        vocabulary: word -> its row of d_model numbers. With it the reader can type new sentences; words that are not in
            it get random rows, and the walk says so.

    Raises:
        ValueError: sizes that do not fit together, NaN or infinity, no words, a followed word that is not there, a
            mask that leaves a word nothing to look at, a mask together with a vocabulary.
        TypeError: words that are not text.
    """
    words = sentence(words)
    n = len(words)
    if convention not in CONVENTIONS:
        raise ValueError(f'convention is {convention!r}; choose "xW" for x @ W or "Wx" for W @ x.')
    x = matrix_of(x, "x")  # (n, d_model)
    if len(x) != n:
        raise ValueError(f"x has {len(x)} rows for {n} words; give one row for each word.")
    d_model = x.shape[1]
    come_in, go_out, side = (0, 1, "rows") if convention == "xW" else (1, 0, "columns")

    def taking(size: int, what: str, values, name: str) -> np.ndarray:
        matrix = matrix_of(values, name)
        if matrix.shape[come_in] != size:
            hint = f'for convention="{convention}" it needs {size} {side}, one for each {what}'
            raise ValueError(f"{name} has shape {matrix.shape}; {hint}")
        return matrix

    weights = {"W_query": W_query, "W_key": W_key, "W_value": W_value}
    weights = {name: taking(d_model, "column of x", values, name) for name, values in weights.items()}
    widths = {name: matrix.shape[go_out] for name, matrix in weights.items()}
    if widths["W_query"] != widths["W_key"]:
        raise ValueError(
            f"queries would be {widths['W_query']} wide and keys {widths['W_key']}; a score is their dot "
            "product, so give W_query and W_key the same shape."
        )
    for name, width in widths.items():
        if not isinstance(num_heads, int) or num_heads < 1 or width % num_heads:
            raise ValueError(
                f"num_heads={num_heads} does not divide the {width} columns that {name} gives; choose a whole "
                f"number that does, such as 1 or {width}."
            )
    if W_output is not None:
        W_output = taking(widths["W_value"], "width of the concatenated heads", W_output, "W_output")
    if mask is not None and vocabulary is not None:
        raise ValueError("A mask fits one sentence only; leave out the mask, or the vocabulary that lets readers type.")

    data = {
        "words": words,
        "x": _rounded(x),
        **{name: _rounded(matrix) for name, matrix in weights.items()},
        "W_output": None if W_output is None else _rounded(W_output),
        "convention": convention,
        "heads": num_heads,
        "follow": place(follow, words),
        "mask": None if mask is None else _mask(mask, n),
        "vocabulary": None if vocabulary is None else _vocabulary(vocabulary, d_model),
    }
    table = still(
        "Here you can walk through self-attention step by step. The walk needs scripts: in a notebook, run this cell "
        "to start it. This is its first stage.",
        "X: one row of numbers for each word",
        range(1, d_model + 1),
        words,
        x,
        digits=0 if (x == x.round()).all() else 2,  # one-hot vectors read better as 0 and 1
    )
    return interactive(
        "walk", data, table, f"Walk through self-attention: {n} words, {d_model} columns, {num_heads} head(s)"
    )


def _rounded(matrix: np.ndarray) -> list[list[float]]:
    """As Python numbers with seven significant digits: those after them differ from one processor to another."""
    return [[float(f"{x:.7g}") for x in row] for row in matrix]


def _mask(mask, n: int) -> list[list[bool]]:
    mask = np.asarray(mask.detach().cpu() if hasattr(mask, "detach") else mask)
    if mask.dtype != bool or mask.shape not in ((n,), (n, n)):
        raise ValueError(
            f"mask has shape {mask.shape} and type {mask.dtype}; give bools of shape ({n},) or ({n}, {n}), True "
            "where a word may be attended to."
        )
    mask = np.broadcast_to(mask, (n, n))
    if not mask.any(axis=1).all():
        raise ValueError(
            f"The mask leaves word {int(mask.any(axis=1).argmin())} nothing to attend to; set one entry True."
        )
    return mask.tolist()


def _vocabulary(vocabulary: Mapping[str, Sequence[float]], d_model: int) -> list[list]:
    if not vocabulary:
        raise ValueError("The vocabulary is empty; give at least one word with its row, or leave it out.")
    pairs = []
    for word, of_word in vocabulary.items():
        row = matrix_of(numbers(of_word, f"the row of {word!r}")[None], f"the row of {word!r}")  # (1, d_model)
        if row.shape[1] != d_model:
            raise ValueError(f"The row of {word!r} has {row.shape[1]} numbers; those of the sentence have {d_model}.")
        pairs.append([str(word), _rounded(row)[0]])
    return pairs

"""All heads of a model over one sentence: a small picture of each, and one head at a time to read word by word.

Python checks the weights and writes them, in thousandths, into one piece of HTML; heads.js, inlined beside them, does
the rest.
"""

import html
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .plots import _numbers
from .walk import Walk, _index, _style, _words

HERE = Path(__file__).parent


def heads(words: Sequence[str], weights, *, layer: int = 0, head: int = 0, follow: str | int = 0) -> Walk:
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
    words = _words(words)
    n = len(words)
    weights = _numbers(weights)
    if weights.ndim != 4 or not weights.size or weights.shape[2:] != (n, n):
        raise ValueError(
            f"The weights have shape {weights.shape}; for {n} words give (layers, heads, {n}, {n}), one map a head. "
            "Take the batch axis off with weights[0]."
        )
    # NaN fails the comparison, too.
    if not ((weights >= 0).all() and (abs(weights.sum(axis=3) - 1) < 1e-3).all()):
        raise ValueError("The weights are no shares: each row of each map is zero or more and sums to 1.")
    for name, value, size in (("layer", layer, weights.shape[0]), ("head", head, weights.shape[1])):
        if value not in range(size):
            raise ValueError(f"{name}={value!r} is not there; {name}s run from 0 to {size - 1}.")

    data = {
        "words": words,
        "weights": np.rint(1000 * weights).astype(int).tolist(),
        "layer": int(layer),
        "head": int(head),
        "follow": _index(follow, words),
        "style": _style() + (HERE / "heads.css").read_text(encoding="utf-8"),
    }
    # An attribute survives every notebook; inside '...' only these three characters could end or change it.
    payload = json.dumps(data, separators=(",", ":"))
    payload = payload.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;")
    script = (HERE / "heads.js").read_text(encoding="utf-8")
    html_text = (
        f'<div class="attention-heads" data-lm-suppress-shortcuts="true" data-heads=\'{payload}\'>\n'
        f"{_still(words, weights[layer, head], layer, head)}</div>\n<script>\n{script}</script>\n"
    )
    return Walk(html_text, f"{weights.shape[0]} layers of {weights.shape[1]} heads over {n} words")


def _still(words: list[str], weights: np.ndarray, layer: int, head: int) -> str:
    """One head as a plain table, for a page without scripts and a notebook that is not trusted yet."""
    across = "".join(f'<th scope="col">{html.escape(word)}</th>' for word in words)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(word)}</th>' + "".join(f"<td>{w:.2f}</td>" for w in row) + "</tr>\n"
        for word, row in zip(words, weights, strict=True)
    )
    return (
        "<p>Here you can open every head. The figure needs scripts: in a notebook, run this cell to start it.</p>\n"
        f'<div style="overflow-x: auto"><table>\n<caption>Layer {layer}, head {head}: where the word of the row '
        f'looks</caption>\n<thead><tr><th scope="col">word</th>{across}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table></div>\n"
    )

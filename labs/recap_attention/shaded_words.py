"""Words shaded by the attention they get.

Words and their weights go in; out comes a small piece of HTML that follows the page's light or dark
theme.
"""

from collections.abc import Sequence
from html import escape

import numpy as np

from shared.colours import css_colour
from shared.figures.picture import Picture, matrix_of, numbers, words_of

STEPS = 8  # shades from nothing to the largest weight
STRONGEST = 5  # words named in the line under the title


def shaded_words(words: Sequence[str], weights, *, title: str = "", target: Sequence[bool] | None = None) -> Picture:
    """Shade each word by its weight: the more attention, the thicker its underline and the darker
    its ground.

    Args:
        words: the words in their order.
        weights: (words,) attention weights, zero or more.
        title: one line above the words, for example label and prediction.
        target: (words,) true for the words of the review that the label is about; its ends are
            marked.

    Raises:
        ValueError: no weight for each word, or a weight that is negative or not finite.
    """
    weights = matrix_of(numbers(weights, "weights")[None], "weights")[0]  # (words,)
    words = words_of(words, "weights", len(weights))
    if weights.min() < 0:
        raise ValueError(f"A weight is {weights.min()}; attention weights are zero or more. Are they scores?")
    marked = np.zeros(len(words), bool) if target is None else numbers(target, "target").astype(bool)

    order = np.argsort(-weights, kind="stable")
    strongest = [place for place in order[:STRONGEST].tolist() if weights[place] > 0]
    summary = "Most attention: " + ", ".join(f"{words[place]} {weights[place]:.2f}" for place in strongest) + "."
    if not strongest:
        summary = "No word gets any attention."
    if marked.any():
        on_target = weights[marked].sum() / (weights.sum() or 1.0)
        summary += f" Attention on the labeled review: {on_target:.2f}."

    steps = np.rint(STEPS * weights / (weights.max() or 1.0)).astype(int)
    pieces = []
    inside = False
    for place, word in enumerate(words):
        if marked[place] != inside:
            inside = not inside
            pieces.append(_flag("▸ labeled review" if inside else "◂ labeled review ends"))
        pieces.append(_word(word, int(steps[place]), place in strongest))
    head = f'<p style="margin:0 0 .3em;font-weight:bold">{escape(title)}</p>' if title else ""
    html = (
        f'<div class="shaded-words" style="max-width:46rem;padding:.6em '
        f".8em;overflow-wrap:anywhere;"
        f'color:{css_colour("ink")};background:{css_colour("paper")}">'
        f'{head}<p style="margin:0 0 .5em;font-size:.9em">{escape(summary)}</p>'
        f'<p style="margin:0;line-height:2">{" ".join(pieces)}</p></div>'
    )
    return Picture(html, f"{title}\n{summary}" if title else summary)


def _word(word: str, step: int, strong: bool) -> str:
    if not step:
        return escape(word)
    color = css_colour("weight")
    # The underline carries the weight for readers who see no color; a browser without color-mix
    # shows it alone.
    shade = f"color-mix(in srgb, {color} {4 * step}%, transparent)"
    style = f"border-bottom:{step / 2:g}px solid {color};background:{shade}"
    tag = "b" if strong else "span"
    return f'<{tag} style="{style}">{escape(word)}</{tag}>'


def _flag(text: str) -> str:
    style = "border:1px solid;border-radius:.3em;padding:0 .3em;white-space:nowrap"
    return f'<small style="{style}">{text}</small>'

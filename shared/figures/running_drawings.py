"""Drawings of computations that run along a text: a softmax that arrives score by score, and the KV cache."""

from collections.abc import Sequence
from math import exp

from shared.colours import css_colour

from . import svg
from .drawings import arrow, drawing
from .picture import Picture
from .svg import MUTED


def running_sum(scores: Sequence[float], values: Sequence[float]) -> Picture:
    """The online softmax of three tokens: one bar after each, whose segments are the terms of the normalizer."""
    roles, wide, bottom, unit = ("query", "key", "value"), 40, 196, 76
    parts, sentences = [], []
    for count in range(1, len(scores) + 1):
        x, highest = 50 + 98 * (count - 1), max(scores[:count])
        terms = [exp(score - highest) for score in scores[:count]]
        parts.append(svg.text(x, 30, f"score {scores[count - 1]:g}", 13, bold=True))
        y = float(bottom)
        for role, term in zip(roles, terms, strict=False):
            look = f'{svg.fill(role, 0.35)} stroke="{css_colour(role)}" stroke-width="1.5"'
            y -= unit * term
            parts.append(svg.box(x - wide / 2, y, wide, unit * term, look))
            if term > 0.2:
                parts.append(svg.text(x, y + unit * term / 2 + 4, f"{term:.2f}", 12))
        if count < len(scores):  # what happens to the whole bar when the next score arrives
            factor = exp(highest - max(scores[: count + 1]))
            parts.append(arrow([(x + 24, 182), (x + 74, 182)]))
            parts.append(svg.text(x + 49, 174, f"× {factor:.2g}", 12, bold=True))
        normalizer = sum(terms)
        mean = sum(term * value for term, value in zip(terms, values, strict=False)) / normalizer
        for line, label in enumerate((f"maximum {highest:g}", f"sum {normalizer:.2f}", f"mean {mean:.1f}")):
            parts.append(svg.text(x, 216 + 17 * line, label, 12))
        sentences.append(
            f"after score {scores[count - 1]:g} the maximum is {highest:g}, the sum of the exponentials "
            f"{normalizer:.2f} and the weighted mean {mean:.1f}"
        )
    alt = (
        f"Three bars, one after each score: {'; '.join(sentences)}. Each bar is a stack of terms. When the second "
        "score raises the maximum, the first bar shrinks by one factor before the new term is put on top; the third "
        "score does not raise it, so the factor is 1."
    )
    return drawing(296, 254, parts, alt)


def prefill_and_decode(prompt: Sequence[str], written: Sequence[str]) -> Picture:
    """Who attends to whom while a text is written, and what the KV cache holds then."""
    tokens, cell, left, top = [*prompt, *written], 27, 56, 92
    across = [left + cell * (column + 0.5) for column in range(len(tokens))]
    end = left + cell * len(tokens)
    parts = [svg.text(left - 6, 10, "cache", 12, anchor="end", bold=True)]
    for row, role in enumerate(("key", "value")):
        y = -6 + 22 * row
        parts.append(svg.text(end + 6, y + 15, f"{role}s", 12, anchor="start", colour=css_colour(role)))
        for column, x in enumerate(across):
            look = f'rx="2" {svg.fill(role, 0.4 if column < len(prompt) else 0.12)} stroke="{css_colour(role)}"'
            parts.append(svg.box(x - cell / 2 + 2, y, cell - 4, 20, look))
    for x, token in zip(across, tokens, strict=True):
        parts.append(svg.text(x + 4, 82, token, 12, anchor="start", colour=MUTED, turn=-50))
    for row, token in enumerate(tokens):
        y = top + cell * row + (8 if row >= len(prompt) else 0) + 6 * max(0, row - len(prompt))
        parts.append(svg.text(left - 6, y + 18, token, 12, anchor="end"))
        for column in range(row + 1):
            role = "query" if row < len(prompt) else "output"
            look = f'rx="2" {svg.fill(role, 0.35)} stroke="{css_colour(role)}"'
            parts.append(svg.box(left + cell * column + 2, y + 2, cell - 4, cell - 4, look))
        if row >= len(prompt):
            label = f"step {row - len(prompt) + 1}"
            parts.append(svg.text(end + 6, y + 18, label, 12, anchor="start", colour=css_colour("output")))
    middle = top + cell * len(prompt) / 2 + 4
    parts.append(svg.text(end + 6, middle, "prefill:", 12, anchor="start", colour=css_colour("query"), bold=True))
    parts.append(svg.text(end + 6, middle + 15, "all at once", 12, anchor="start", colour=css_colour("query")))
    high = top + cell * len(tokens) + 8 + 6 * (len(written) - 1)
    parts.append(svg.text(left - 6, 76, "query", 11, anchor="end", colour=MUTED))
    alt = (
        f"Above, the cache: a key and a value for each of the tokens {', '.join(tokens)}. Below, one row for each "
        f"query token, with a cell for every token that it attends to, itself and those before it. The rows of the "
        f"prompt, {', '.join(prompt)}, are computed together: prefill, which fills the first {len(prompt)} columns of "
        "the cache. Each later row, "
        f"{', '.join(written)}, is a step of decode of its own: it adds one key and one value to the "
        "cache, and computes no other row again."
    )
    return drawing(296, high + 6, parts, alt)

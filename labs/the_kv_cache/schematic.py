"""A text being written, and what the cache holds."""

from collections.abc import Sequence

from shared.colours import css_colour
from shared.figures import svg
from shared.figures.drawings import Drawing, drawing
from shared.figures.svg import MUTED


def prefill_and_decode(prompt: Sequence[str], written: Sequence[str]) -> Drawing:
    """Who attends to whom while a text is written, and what the KV cache holds then."""
    tokens, cell, left, top = [*prompt, *written], 27, 56, 128
    across = [left + cell * (column + 0.5) for column in range(len(tokens))]
    end = left + cell * len(tokens)
    parts = [svg.text(0, 0, "Each step adds one key and one value", 12, anchor="start", bold=True)]
    for x, token in zip(across, tokens, strict=True):
        parts.append(svg.text(x, 56, token, 12, anchor="start", colour=MUTED, turn=-50))
    parts.append(svg.text(left - 6, 88, "cache", 12, anchor="end", bold=True))
    for row, role in enumerate(("key", "value")):
        y = 62 + 22 * row
        parts.append(svg.text(end + 6, y + 15, f"{role}s", 12, anchor="start", colour=css_colour(role)))
        for column, x in enumerate(across):
            later = column >= len(prompt)
            look = f'rx="2" {svg.fill(role, 0.12 if later else 0.4)} stroke="{css_colour(role)}"'
            parts.append(svg.box(x - cell / 2 + 2, y, cell - 4, 20, look))
            if later:
                parts.append(svg.text(x, y + 15, "+", 13, colour=css_colour(role)))
    parts.append(svg.text(left - 6, top - 6, "query", 12, anchor="end", bold=True))
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
    alt = (
        f"Above, the cache: a key and a value for each of the tokens {', '.join(tokens)}, with a plus where a step "
        f"adds them. Below, "
        f"one row for each "
        f"query token, with a cell for every token that it attends to, itself and those before it. "
        f"The rows of the "
        f"prompt, {', '.join(prompt)}, are computed together: prefill, which fills the first "
        f"{len(prompt)} columns of "
        "the cache. Each later row, "
        f"{', '.join(written)}, is a step of decode of its own: it adds one key and one value to "
        f"the "
        "cache, and computes no other row again."
    )
    return drawing(296, high + 6, parts, alt)

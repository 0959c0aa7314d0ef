"""The online softmax, score by score."""

from collections.abc import Sequence
from math import exp

from shared.colours import css_colour
from shared.figures import svg
from shared.figures.drawings import Drawing, arrow, drawing


def running_sum(scores: Sequence[float], values: Sequence[float]) -> Drawing:
    """The online softmax of three tokens: one bar after each, whose segments are the terms of the
    normalizer.
    """
    roles, wide, bottom, unit = ("query", "key", "value"), 40, 176, 76
    parts = [svg.text(0, 0, "Each bar is the normalizer so far", 12, anchor="start", bold=True)]
    sentences = []
    for count in range(1, len(scores) + 1):
        x, highest = 50 + 98 * (count - 1), max(scores[:count])
        terms = [exp(score - highest) for score in scores[:count]]
        parts.append(svg.text(x, 24, f"score {scores[count - 1]:g}", 13, bold=True))
        parts.append(svg.text(x, 41, f"value {values[count - 1]:g}", 13))
        y = float(bottom)
        for role, term in zip(roles, terms, strict=False):
            look = f'{svg.fill(role, 0.35)} stroke="{css_colour(role)}" stroke-width="1.5"'
            y -= unit * term
            parts.append(svg.box(x - wide / 2, y, wide, unit * term, look))
            inside = term > 0.2  # else the number is to the left of its bar
            left, anchor = (x, "middle") if inside else (x - wide / 2 - 4, "end")
            parts.append(svg.text(left, y + unit * term / 2 + 4, f"{term:.2f}", 12, anchor))
        if count < len(scores):  # what happens to the whole bar when the next score arrives
            now = max(scores[: count + 1])
            parts.append(arrow([(x + 24, 138), (x + 74, 138)]))
            parts.append(svg.text(x + 49, 130, f"× {exp(highest - now):.2g}", 12, bold=True))
            if now > highest:
                power = f'<tspan dy="-4" font-size="11">{highest:g} − {now:g}</tspan>'
                parts.append(svg.text(x + 40, 155, "e", 12).replace("</text>", f"{power}</text>"))
        normalizer = sum(terms)
        mean = sum(term * value for term, value in zip(terms, values, strict=False)) / normalizer
        for line, label in enumerate((f"maximum {highest:g}", f"sum {normalizer:.2f}", f"output {mean:.1f}")):
            parts.append(svg.text(x, 196 + 17 * line, label, 12))
        sentences.append(
            f"after score {scores[count - 1]:g} with value {values[count - 1]:g} the maximum is {highest:g}, the "
            f"normalizer {normalizer:.2f} and the output so far {mean:.1f}"
        )
    alt = (
        f"Three bars, one after each score: {'; '.join(sentences)}. Each bar is a stack of terms. "
        f"When the second "
        "score raises the maximum, the first bar shrinks by one factor before the new term is put "
        "on top; the third "
        "score does not raise it, so the factor is 1."
    )
    return drawing(296, 234, parts, alt)

"""What one threshold can separate, and what it cannot."""

from html import escape

from shared.colours import css_colour
from shared.figures import svg
from shared.figures.drawings import Drawing, arrow, drawing
from shared.figures.svg import INK, MUTED


def two_thresholds() -> Drawing:
    """The number line of *A question from the text*: two thresholds, three intervals and two kinds
    of pair.
    """
    centres, ticks, high = (50, 148, 246), (99, 197), 250

    def heading(y: float, label: str) -> str:  # longer than the labels that `svg.text` draws
        return f'<text x="8" y="{y}" font-size="12" fill="{MUTED}">{escape(label)}</text>'

    lines = [
        heading(8, "R, the sum over the words of both reviews"),
        arrow([(4, 40), (292, 40)], INK),
    ]
    for x, label, where in zip(ticks, ("θ₁", "θ₂"), ("first", "second"), strict=True):
        lines += [f'<path d="M{x} 33v14" stroke="{INK}" stroke-width="2"/>']
        lines += [svg.text(x, 30, label, 14, anchor="middle", bold=True)]
        lines += [svg.text(x, 60, f"marker {where}", 11, anchor="middle", colour=MUTED)]
    rows = (
        (88, "Predictions, marker first / marker second:", ("− / −", "+ / −", "+ / +"), None),
        (
            144,
            "First review positive, right is + / −:",
            ("one right", "both right", "one right"),
            1,
        ),
        (
            200,
            "Second review positive, right is − / +:",
            ("one right", "none right", "one right"),
            None,
        ),
    )
    for y, title, cells, ringed in rows:
        lines.append(heading(y, title))
        for number, (x, cell) in enumerate(zip(centres, cells, strict=True)):
            if number == ringed:
                look = f'rx="5" fill="none" stroke="{css_colour("output")}" stroke-width="2"'
                lines.append(svg.box(x - 41, y + 8, 82, 26, look))
            lines.append(svg.text(x, y + 26, cell, 14, anchor="middle"))
    alt = (
        "A number line for R with two thresholds: theta 1 holds where the marker is before the "
        "first review, theta 2 "
        "where it is before the second. Left of both, the prediction is negative both times; right "
        "of both, positive "
        "both times; between them it is positive with the marker first and negative with the "
        "marker second. So a pair "
        "whose first review is positive can be right both times, between the thresholds. A pair "
        "whose second review is "
        "positive is right once outside of them and never between them."
    )
    return drawing(296, high, lines, alt)

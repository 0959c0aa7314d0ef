"""What one threshold can separate, and what it cannot."""

from shared.colours import css_colour
from shared.figures import svg
from shared.figures.drawings import Drawing, arrow, drawing
from shared.figures.svg import GRID, INK, MUTED

EDGES = (110, 172, 234, 296)  # pixels: R below both thresholds, between them, above both
ROW = 23
HOW_MANY = ("none", "one", "both")


def two_thresholds() -> Drawing:
    """The number line of *A question from the text*: two thresholds, three zones, and what is
    right in each of them for two kinds of pair.
    """
    lines = [
        svg.text(0, -4, "A swap moves the threshold, not R", 13, anchor="start", bold=True),
        svg.text(0, 30, "R, the sum", 11, anchor="start", colour=MUTED),
        svg.text(0, 44, "over all words", 11, anchor="start", colour=MUTED),
        arrow([(EDGES[0], 36), (EDGES[3], 36)], INK),
    ]
    for x, label in zip(EDGES[1:3], ("θ₁", "θ₂"), strict=True):
        lines += [svg.text(x, 24, label, 14, bold=True)]
        lines += [f'<path d="M{x} 29v14" stroke="{INK}" stroke-width="2"/>']
    for edge, zone_name in zip(EDGES, ("below both", "between", "above both"), strict=False):
        lines.append(svg.text(edge + 31, 56, zone_name, 11, colour=MUTED))
    y = 80
    for first in (True, False):
        kinds = ("First", "second") if first else ("Second", "first")
        heading = f"{kinds[0]} review positive, {kinds[1]} negative"
        lines.append(svg.text(0, y, heading, 12, anchor="start", bold=True))
        top = y + 7
        lines += [svg.box(EDGES[1], top, 62, 3 * ROW, f'fill="{GRID}" fill-opacity="0.45"')]
        lines += [f'<path d="M{x} {top}v{3 * ROW}" stroke="{MUTED}" stroke-dasharray="4 3"/>' for x in EDGES[1:3]]
        counts = [0, 0, 0]
        for marker, right in enumerate((first, not first)):
            y += ROW
            label = ("marker first, θ₁", "marker second, θ₂")[marker]
            lines.append(svg.text(0, y, label, 11, anchor="start"))
            for zone in range(3):
                positive = zone > marker  # R is above the threshold of this place of the marker
                counts[zone] += positive == right
                cell = f"{'−+'[positive]} {'✗✓'[positive == right]}"
                lines.append(svg.text(EDGES[zone] + 31, y + 1, cell, 14))
        y += ROW
        lines.append(svg.text(0, y, "how many right", 11, anchor="start", colour=MUTED))
        for zone, count in enumerate(counts):
            lines.append(svg.text(EDGES[zone] + 31, y, HOW_MANY[count], 12, bold=count != 1))
        colour = css_colour("output") if first else MUTED
        look = f'rx="5" fill="none" stroke="{colour}" stroke-width="2"'
        lines.append(svg.box(EDGES[1] + 4, top + 2, 54, 3 * ROW - 3, look))
        y += 34
    key = "predicted: + or −; ✓ right, ✗ wrong"
    lines.append(svg.text(0, y - 8, key, 11, anchor="start", colour=MUTED))
    alt = (
        "A number line for R with two thresholds: theta 1 holds where the marker is before the "
        "first review, theta 2 where it is before the second; a swap moves the threshold, not R. "
        "Left of both, the prediction is negative both times; right of both, positive both times; "
        "between them it is positive with the marker first and negative with the marker second. "
        "So a pair whose first review is positive is right both times between the thresholds, and "
        "once outside. A pair whose second review is positive is right once outside of them and "
        "never between them."
    )
    return drawing(296, y - 4, lines, alt)

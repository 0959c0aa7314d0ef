"""The pieces that pictures of matrices are drawn with: numbers and labels as text, boxes, and how
blocks flow.

All of it is SVG and HTML as strings, in pixels, without ids, so that many pictures can share a
page.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from html import escape

import numpy as np

from shared.colours import css_colour

LONGEST_LABEL = 120  # pixels
# the site's own, where it is
FONT = "var(--sans,system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif)"
# A figure is also seen where the site's font is missing, and must fit in any. So a character is as
# wide, in font sizes, as in the widest of DejaVu Sans, Liberation Sans and Noto Sans (advance width
# / units per em, rounded up to 0.05); tests/slow/test_every_page.py looks at every figure in all
# three.
REGULAR = {
    0.3: "'ijl", 0.35: " ,.:;I·‘’", 0.4: "!()-/[\\]ftᵀ", 0.45: "r", 0.5: '"J`', 0.55: "csz“”",
    0.6: "*?L_kvxy|–",
    0.65: "$0123456789FTabdeghnopqu{}√", 0.7: "ABEKPSVXYZ", 0.75: "CRU", 0.8: "&DGHNOQ",
    0.85: "#+<=>^w~×−≈÷↓±∞",
    0.95: "%M", 1.0: "ÆWm—…→←⋯⋮", 1.05: "@æœ", 1.1: "Œ",
}  # fmt: skip
BOLD = {
    0.35: " 'ijl", 0.4: ",.:;I·‘’", 0.45: "-/\\fᵀ", 0.5: "!()[]`rt", 0.55: '"*', 0.6: "J_csz|–",
    0.65: "?Lx",
    0.7: "$0123456789EFTaekovy“”√", 0.75: "CPSYZbdghnpqu{}", 0.8: "ABKRVX",
    0.85: "#+<=>DGHNOQU^~×−≈÷↓±∞", 0.9: "&",
    0.95: "w", 1.0: "@M—…→←⋯⋮", 1.05: "%m", 1.1: "æœ¼½¾", 1.15: "WÆ", 1.2: "Œ",
}  # fmt: skip
WIDTHS = [
    {c: width for width, characters in table.items() for c in characters}
    for table in (REGULAR, BOLD)
]
INK, MUTED, GRID, PAPER = (css_colour(name) for name in ("ink", "muted", "grid", "paper"))


def written(values: np.ndarray) -> Callable[[float], str]:
    """How the numbers of an array are written: whole, with two decimals or, far out, in powers of
    ten.
    """
    largest = float(np.abs(values).max())
    form = ".2f" if 0.01 <= largest < 1e4 else ".1e"
    if np.all(values == np.round(values)) and largest < 1e5:
        form = ".0f"

    def show(value: float) -> str:
        text = f"{value:{form}}"
        return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")

    return show


def short(value: float) -> str:
    root = round(value**2)
    return (
        f"√{root}"
        if root > 1 and abs(value - root**0.5) < 1e-6 and value != round(value)
        else f"{value:.4g}"
    )


def numbered(labels: Sequence[str]) -> list[str]:
    """Repeated labels get their turn, “the #1”, “the #2”, so that a picture tells them apart."""
    total = Counter(labels)
    seen: Counter[str] = Counter()
    names = []
    for label in labels:
        seen[label] += 1
        names.append(f"{label} #{seen[label]}" if total[label] > 1 else label)
    return names


def named(labels: Sequence[str] | None, index: int) -> str:
    """How a sentence names a row, a column or a word: by its label, else by its index."""
    return f"“{numbered(labels)[index]}”" if labels else str(index)


def listed(labels: Sequence[str]) -> str:
    if len(labels) > 12:
        labels = [*labels[:5], "…", *labels[-5:]]
    return ", ".join(labels)


@cache
def _em(c: str, bold: bool = False) -> float:
    """How wide a character is, in font sizes: what the table does not hold rather too wide than too
    narrow.
    """
    if unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.east_asian_width(c) in "WF" or unicodedata.category(c) == "So":
        return 1.3
    letter = unicodedata.normalize("NFD", c)[0]  # without its accents
    return WIDTHS[bold].get(letter, 0.75 if c.islower() else 1)


def width(text: str, size: float, bold: bool = False) -> float:
    return size * sum(_em(c, bold) for c in text)


def longest(labels: Sequence[str], size: float, bold: bool = False) -> float:
    """The width of the longest label as it is drawn."""
    return max((width(fit(label, size, bold), size, bold) for label in labels), default=0)


def fit(label: str, size: float, bold: bool = False) -> str:
    """The label, cut to the longest that is drawn."""
    if width(label, size, bold) <= LONGEST_LABEL:
        return label
    while width(label, size, bold) > LONGEST_LABEL - size:
        label = label[:-1]
    return label + "…"


def coordinate(x: float) -> str:
    return f"{round(x, 1):g}"


def fill(role: str, opacity: float) -> str:
    return f'fill="{css_colour(role)}" fill-opacity="{round(opacity, 2):g}"'


def text(
    x: float, y: float, label: str, size: float, anchor: str = "middle", colour: str = INK,
    bold: bool = False,
    turn: int = 0, kind: str = "",
) -> str:  # fmt: skip
    """A label, shortened where it is too long; pointing at it then shows all of it."""
    drawn = fit(label, size, bold)
    return (
        f'<text x="{coordinate(x)}" y="{coordinate(y)}" font-size="{size:g}" '
        f'text-anchor="{anchor}" fill="{colour}"'
        + ' font-weight="700"' * bold
        + (f' transform="rotate({turn} {coordinate(x)} {coordinate(y)})"' if turn else "")
        + (f' data-kind="{kind}"' if kind else "")
        + f">{escape(drawn)}{f'<title>{escape(label)}</title>' if drawn != label else ''}</text>"
    )


def box(x: float, y: float, width: float, height: float, look: str, title: str = "") -> str:
    left, top, wide, high = map(coordinate, (x, y, width, height))
    end = f"><title>{title}</title></rect>" if title else "/>"
    return f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" {look}{end}'


def signed(sign: str, block: str) -> str:
    """A block with the sign before it: they go to the next line together."""
    if not sign:
        return block
    above = f'<div style="font-size:18px;color:{MUTED};flex:none">{escape(sign)}</div>'
    return flow([above, block], down=sign.startswith("↓"))


def flow(blocks: Sequence[str], down: bool = False, gap: int = 10) -> str:
    direction = (
        "flex-direction:column;align-items:flex-start"
        if down
        else "flex-wrap:wrap;align-items:center"
    )
    return (
        f'<div style="display:flex;{direction};gap:{gap}px;max-width:100%;">{"".join(blocks)}</div>'
    )

"""The pieces of a drawing: text and boxes as strings of SVG, in pixels, without ids, so that many
can share a page.
"""

from html import escape

from shared.colours import css_colour

# the site's own, where it is
FONT = "var(--sans,system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif)"
# A drawing is also seen where the site's font is missing, and must fit in any: a letter of a label
# is as wide, in font sizes, as those of DejaVu Sans are on average, the widest of the three that
# tests/slow/test_every_page.py looks at.
LETTER = 0.64
INK, MUTED, GRID, PAPER = (css_colour(name) for name in ("ink", "muted", "grid", "paper"))


def width(text: str, size: float) -> float:
    return LETTER * size * len(text)


def coordinate(x: float) -> str:
    return f"{round(x, 1):g}"


def fill(role: str, opacity: float) -> str:
    return f'fill="{css_colour(role)}" fill-opacity="{round(opacity, 2):g}"'


def text(
    x: float, y: float, label: str, size: float, anchor: str = "middle", colour: str = INK,
    bold: bool = False, turn: int = 0,
) -> str:  # fmt: skip
    across, down = coordinate(x), coordinate(y)
    look = f'font-size="{size:g}" text-anchor="{anchor}" fill="{colour}"'
    look += ' font-weight="700"' * bold
    look += f' transform="rotate({turn} {across} {down})"' * bool(turn)
    return f'<text x="{across}" y="{down}" {look}>{escape(label)}</text>'


def box(x: float, y: float, width: float, height: float, look: str) -> str:
    left, top, wide, high = map(coordinate, (x, y, width, height))
    return f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" {look}/>'

"""Drawings of how things are connected: boxes and arrows, narrow enough for a phone.

A box has the color of its role.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from shared.colours import css_colour

from . import svg
from .svg import FONT, INK, MUTED, PAPER

SIZE, HEIGHT = 14, 30  # font size and height of a box, in pixels


@dataclass(frozen=True)
class Box:
    """A label with an outline; x and y are its center. "W_Q" is drawn with its Q as a subscript."""

    x: float
    y: float
    label: str
    role: str = "input"

    @property
    def width(self) -> float:
        return svg.width(self.label, SIZE) + 16

    def edge(self, towards: "Box") -> tuple[float, float]:
        """Where an arrow to or from another box meets this one."""
        if abs(towards.y - self.y) >= HEIGHT:
            return self.x, self.y + (HEIGHT / 2 if towards.y > self.y else -HEIGHT / 2)
        return self.x + (self.width / 2 if towards.x > self.x else -self.width / 2), self.y

    def draw(self) -> str:
        look = f'rx="5" stroke="{css_colour(self.role)}" stroke-width="2" fill="{PAPER}"'
        x, y = self.x - self.width / 2, self.y - HEIGHT / 2
        name, *index = self.label.split("_")
        label = escape(name) + "".join(
            f'<tspan dy="4" font-size="11">{escape(part[:1])}</tspan>'
            f'<tspan dy="-4">{escape(part[1:])}</tspan>'
            for part in index
        )
        place = f'x="{svg.coordinate(self.x)}" y="{svg.coordinate(self.y + 5)}"'
        style = f'font-size="{SIZE}" text-anchor="middle" fill="{INK}"'
        return svg.box(x, y, self.width, HEIGHT, look) + f"<text {place} {style}>{label}</text>"


def arrow(points: Iterable[tuple[float, float]], colour: str = MUTED) -> str:
    """A line through all points, with a head at the last."""
    *_, (x0, y0), (x1, y1) = points = list(points)
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    dx, dy = 7 * (x1 - x0) / length, 7 * (y1 - y0) / length
    line = " ".join(
        f"{svg.coordinate(x)},{svg.coordinate(y)}" for x, y in [*points[:-1], (x1 - dx, y1 - dy)]
    )
    corners = (x1, y1), (x1 - dx - dy / 2, y1 - dy + dx / 2), (x1 - dx + dy / 2, y1 - dy - dx / 2)
    head = " ".join(f"{svg.coordinate(x)},{svg.coordinate(y)}" for x, y in corners)
    return (
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        f'<polygon points="{head}" fill="{colour}"/>'
    )


@dataclass(frozen=True, repr=False)
class Drawing:
    """A drawing as SVG, and the same in words, which JupyterLab shows for a notebook that nobody
    has run there.
    """

    svg: str
    alt: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.alt


def drawing(wide: float, high: float, parts: Iterable[str], alt: str) -> Drawing:
    """SVG elements on the course's paper; the text alternative is read in their place."""
    size = f'width="{wide + 8:.0f}" viewBox="-4 -20 {wide + 8:.0f} {high + 26:.0f}"'
    look = f"display:block;height:auto;max-width:100%;border-radius:6px;background:{PAPER}"
    return Drawing(
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(alt)}" '
        f'style="{look};color:{INK};font-family:{FONT}">{"".join(parts)}</svg>',
        alt,
    )


def diagram(
    boxes: dict[str, Box], arrows: Iterable[tuple[str, str]], alt: str, more: str = ""
) -> Drawing:
    """Boxes by name, arrows between them, and more SVG."""
    lines = [arrow([boxes[a].edge(boxes[b]), boxes[b].edge(boxes[a])]) for a, b in arrows]
    drawn = [box.draw() for box in boxes.values()]
    wide = max(box.x + box.width / 2 for box in boxes.values()) + 5
    high = max(box.y for box in boxes.values()) + HEIGHT / 2 + 3
    return drawing(wide, high, [more, *lines, *drawn], alt)


def stack(
    boxes: Sequence[tuple[str, str]], bypasses: Sequence[tuple[int, int]], left: float, alt: str,
    more: str = ""
) -> Drawing:  # fmt: skip
    """Boxes from top to bottom, each a label and a role, and lines on the left that bypass some of
    them.

    A line leaves the arrow below the box where it begins, so that it carries what comes out of that
    box.
    """
    placed = [Box(150, 20 + 60 * place, label, role) for place, (label, role) in enumerate(boxes)]
    for begin, end in bypasses:
        top, bottom = placed[begin], placed[end]
        start, target = top.y + HEIGHT / 2 + 10, bottom.x - bottom.width / 2
        more += arrow(
            [(top.x, start), (left, start), (left, bottom.y), (target, bottom.y)],
            css_colour("output"),
        )
        more += f'<circle cx="{top.x:g}" cy="{start:g}" r="3" fill="{css_colour("output")}"/>'
    names = [str(place) for place in range(len(placed))]
    return diagram(
        dict(zip(names, placed, strict=True)), zip(names, names[1:], strict=False), alt, more=more
    )

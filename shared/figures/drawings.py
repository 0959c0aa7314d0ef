"""Drawings of how things are connected: boxes and arrows, narrow enough for a phone.

A box has the colour of its role where it is what a lab is about, and a dashed outline otherwise.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape

from shared.colours import css_colour

from . import svg
from .picture import Picture
from .svg import FONT, GRID, INK, MUTED, PAPER

SIZE, HEIGHT = 14, 30  # font size and height of a box, in pixels


@dataclass(frozen=True)
class Box:
    """A label with an outline; x and y are its centre. "W_Q" is drawn with its Q as a subscript."""

    x: float
    y: float
    label: str
    role: str = "input"
    copies: int = 1  # outlines behind one another, for several heads

    @property
    def width(self) -> float:
        return svg.width(self.label, SIZE) + 16

    def edge(self, towards: "Box") -> tuple[float, float]:
        """Where an arrow to or from another box meets this one."""
        if abs(towards.y - self.y) >= HEIGHT:
            return self.x, self.y + (HEIGHT / 2 if towards.y > self.y else -HEIGHT / 2)
        return self.x + (self.width / 2 if towards.x > self.x else -self.width / 2), self.y

    def draw(self, highlighted: bool) -> str:
        colour = css_colour(self.role) if highlighted else GRID
        look = f'rx="5" stroke="{colour}" stroke-width="{2 if highlighted else 1}" '
        look += f'fill="{PAPER}"' if highlighted else f'fill="{PAPER}" stroke-dasharray="3 3"'
        outlines = [
            svg.box(
                self.x - self.width / 2 + 4 * copy,
                self.y - HEIGHT / 2 - 4 * copy,
                self.width,
                HEIGHT,
                look,
            )
            for copy in reversed(range(self.copies))
        ]
        name, *index = self.label.split("_")
        label = escape(name) + "".join(
            f'<tspan dy="4" font-size="11">{escape(part[:1])}</tspan><tspan '
            f'dy="-4">{escape(part[1:])}</tspan>'
            for part in index
        )
        ink = INK if highlighted else MUTED
        place = f'x="{svg.coordinate(self.x)}" y="{svg.coordinate(self.y + 5)}"'
        return (
            "".join(outlines)
            + f'<text {place} font-size="{SIZE}" text-anchor="middle" fill="{ink}">{label}</text>'
        )


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


def drawing(wide: float, high: float, parts: Iterable[str], alt: str) -> Picture:
    """SVG elements on the course's paper; the text alternative is read in their place."""
    size = f'width="{wide:.0f}" viewBox="0 -14 {wide:.0f} {high + 14:.0f}"'
    return Picture(
        f'<div style="background:{PAPER};color:{INK};padding:8px '
        f'min(8px,1vw);border-radius:6px;font-family:{FONT}">'
        f'<svg {size} role="img" aria-label="{escape(alt)}" '
        f'style="display:block;height:auto;max-width:100%">'
        f"{''.join(parts)}</svg></div>",
        alt,
    )


def diagram(
    boxes: dict[str, Box], arrows: Iterable[tuple[str, str]], alt: str,
    highlighted: Collection[str] | None = None, more: str = "",
) -> Picture:  # fmt: skip
    """Boxes by name, arrows between them, and more SVG; all boxes are highlighted unless some are
    named.
    """
    lines = [arrow([boxes[a].edge(boxes[b]), boxes[b].edge(boxes[a])]) for a, b in arrows]
    drawn = [box.draw(highlighted is None or name in highlighted) for name, box in boxes.items()]
    wide = max(box.x + box.width / 2 + 4 * box.copies for box in boxes.values()) + 1
    high = max(box.y for box in boxes.values()) + HEIGHT / 2 + 3
    return drawing(wide, high, [more, *lines, *drawn], alt)


LAYER = {
    "X": Box(135, 20, "X, one row for each token"),
    "W_Q": Box(40, 80, "W_Q", "query"), "W_K": Box(120, 80, "W_K", "key"),
    "W_V": Box(235, 80, "W_V", "value"),
    "Q": Box(40, 140, "Q", "query"), "K": Box(120, 140, "K", "key"),
    "V": Box(235, 140, "V", "value"),
    "S": Box(82, 200, "S = Q Kᵀ / √d_k", "score"),
    "A": Box(82, 260, "A = softmax(S)", "weight"),
    "O": Box(160, 320, "O = A V", "output"),
}  # fmt: skip
LAYER_ARROWS = [
    ("X", "W_Q"), ("X", "W_K"), ("X", "W_V"), ("W_Q", "Q"), ("W_K", "K"), ("W_V", "V"), ("Q", "S"),
    ("K", "S"),
    ("S", "A"), ("A", "O"), ("V", "O"),
]  # fmt: skip
HIGHLIGHTS = {
    "pooling": ("X", "Q", "S", "A", "O"),
    "keys": ("X", "W_K", "K", "S"),
    "queries": ("X", "W_Q", "Q", "S"),
    "values": ("X", "W_V", "V", "O"),
    "marker": ("X", "Q", "S", "A", "O"),
    "softmax": ("S", "A", "O"),
    "cache": ("K", "V"),
    "heads": ("Q", "K", "V", "S", "A", "O", "C", "W_O"),
    "causal": ("S", "A"),
    "positions": ("Q", "K", "S"),
}


def layer_schematic(highlight: str) -> Picture:
    """The layer from X to its output, with the part in colour that `highlight` names, one of
    `HIGHLIGHTS`.
    """
    boxes, arrows = dict(LAYER), list(LAYER_ARROWS)
    if highlight == "pooling":
        boxes["Q"] = Box(40, 140, "one q", "query")
    if highlight == "marker":
        boxes["Q"] = Box(44, 140, "marker q", "query")
    if highlight == "heads":
        boxes |= {name: replace(boxes[name], copies=3) for name in ("Q", "K", "V", "S", "A", "O")}
        boxes |= {
            "C": Box(160, 380, "concatenated outputs", "output"),
            "W_O": Box(160, 440, "W_O", "output"),
        }
        arrows += [("O", "C"), ("C", "W_O")]
    alt = (
        "The layer from top to bottom: X times W_Q, W_K and W_V gives Q, K and V; scores S = Q Kᵀ "
        "/ √d_k; weights A by "
        f"softmax; output O = A V. In colour: "
        f"{', '.join(boxes[name].label for name in HIGHLIGHTS[highlight])}."
    )
    return diagram(boxes, arrows, alt, HIGHLIGHTS[highlight])


def split_and_concatenate() -> Picture:
    """How two heads share four columns: split, attention in each, concatenated, then W_O."""
    boxes = {
        "QKV": Box(140, 20, "Q, K, V: n × 4 each"),
        "0": Box(68, 80, "columns 0, 1", "query"), "1": Box(212, 80, "columns 2, 3", "key"),
        "A0": Box(68, 140, "attention", "query"), "A1": Box(212, 140, "attention", "key"),
        "O0": Box(68, 200, "O_0: n × 2", "query"), "O1": Box(212, 200, "O_1: n × 2", "key"),
        "C": Box(140, 260, "O_0 beside O_1: n × 4", "output"),
        "W_O": Box(140, 320, "times W_O", "output"),
    }  # fmt: skip
    pairs = "QKV 0, QKV 1, 0 A0, 1 A1, A0 O0, A1 O1, O0 C, O1 C, C W_O".split(", ")
    alt = (
        "Q, K and V with four columns are split: head 0 takes columns 0 and 1, head 1 columns 2 "
        "and 3. Each computes "
        "attention; their outputs, n by 2 each, are concatenated to n by 4 and multiplied by W_O."
    )
    return diagram(boxes, [tuple(pair.split()) for pair in pairs], alt)  # type: ignore[misc]


def stack(
    boxes: Sequence[tuple[str, str]], bypasses: Sequence[tuple[int, int]], left: float, alt: str,
    more: str = ""
) -> Picture:  # fmt: skip
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


def block_schematic() -> Picture:
    """The pre-norm Transformer block, with the residual stream down its left side."""
    boxes = [
        ("x", "input"), ("layer norm", "input"), ("self-attention", "score"), ("+", "output"),
        ("layer norm", "input"),
        ("feed-forward", "value"), ("+", "output"), ("x for the next block", "input"),
    ]  # fmt: skip
    alt = (
        "The block from top to bottom: x, layer norm, self-attention, sum with x; then layer norm, "
        "feed-forward, sum "
        "with the first sum; the result is x for the next block. Two lines lead past the parts, "
        "one from x to the "
        "first sum and one from there to the second: the residual stream."
    )
    stream = svg.text(52, 140, "residual stream", 12, turn=-90, colour=MUTED)
    return stack(boxes, [(0, 3), (3, 6)], 60, alt, stream)


def shift_and_causal_mask() -> Picture:
    """Each position's input, the positions that it may attend to, and the word that it has to
    predict: the next one.
    """
    inputs, targets = ["this", "film", "is", "very"], ["film", "is", "very", "good"]
    left, top, cell = 60, 44, 36
    right = left + cell * len(inputs)
    lines = [
        svg.text(left + cell * len(inputs) / 2, -2, "attends to", 12, colour=MUTED),
        svg.text(left - 8, top - 8, "input", 12, anchor="end", colour=MUTED),
        svg.text(right + 30, top - 8, "target", 12, anchor="start", colour=MUTED),
    ]
    for column, word in enumerate(inputs):
        lines.append(svg.text(left + cell * (column + 0.5), top - 8, word, 12))
    for row, (word, target) in enumerate(zip(inputs, targets, strict=True)):
        y, middle = top + cell * row, top + cell * (row + 0.5)
        lines.append(svg.text(left - 8, middle + 5, word, SIZE, anchor="end"))
        for column in range(len(inputs)):
            allowed = column <= row
            look = svg.fill("weight", 0.6) if allowed else f'fill="{PAPER}" stroke-dasharray="3 3"'
            edge = css_colour("weight") if allowed else GRID
            lines.append(
                svg.box(
                    left + cell * column + 2,
                    y + 2,
                    cell - 4,
                    cell - 4,
                    f'rx="4" stroke="{edge}" {look}',
                )
            )
        lines.append(arrow([(right + 4, middle), (right + 26, middle)]))
        lines.append(svg.text(right + 30, middle + 5, target, SIZE, anchor="start", bold=True))
    alt = (
        "A square table for the text “this film is very good”. Rows and columns are the inputs, "
        "this, film, is, very. "
        "In each row the cells up to its own column are filled: the position may attend to itself "
        "and to earlier ones. "
        "The cells to the right are empty: they are masked. An arrow leads from each row to its "
        "target, the next word: "
        "film, is, very, good."
    )
    return drawing(296, top + cell * len(inputs) + 6, lines, alt)

"""The café as a ring of guests: thin gray arrows for who is whose friend, colored ones as wide as
their weight.

`Cafe` holds names, drinks, friends and weights; `guests` and `arrows` follow from them, and only
they are drawn. On the site a café with a `factor` answers to the reader: book/_static/cafe.js
computes its weights and draws the same arrows.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from math import cos, hypot, pi, sin, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import ROLES

from .chart import INK, MUTED, PAPER, WIDTH, Chart, bare_axes
from .picture import numbers, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUERY, OUTPUT = ROLES["query"][0], ROLES["output"][0]
LOOP = 15  # pixels that the arrow of a guest to itself needs outside the ring
# pixels to the right of the line between two guests
LANES = {"friend": 3, "attention": 7, "hop": 9}
LOOK = {"friend": MUTED, "attention": QUERY, "hop": ROLES["value"][0]}
BAR, LONGEST_BAR = 22, 150  # pixels from one bar of the output to the next; the bar of 1


@dataclass(frozen=True)
class Guest:
    """A card: a name, the drink on it, and its place in pixels. An empty chair has no drink."""

    name: str
    drink: str | None
    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Arrow:
    """From one guest to another, by their indices; the kind is "friend", "attention" or "hop"."""

    source: int
    target: int
    weight: float
    kind: str


@dataclass(frozen=True, repr=False, eq=False)
class Cafe(Chart):
    """A café of two to ten guests, and what attends to what in it.

    Args:
        names: the guests, clockwise.
        drinks: one for each guest; None where the chair is empty, because that guest is away.
        friends: the name of each guest's friend; None for a guest without one.
        weights: (guests, guests) attention weights, those of an empty chair 0; or (guests,), of one
            query for the whole café, which is drawn in the middle. None draws friends alone.
        attending: the guest whose weights are drawn, and written into the cards; by default those
            of all guests. With one query for all, what the card in the middle says.
        factor: instead of weights, a layer set by hand: queries and keys are one-hot names times
            this factor. Such a café answers to the reader on the site.
        hops: names, each reached from the one before: the way of two hops.
        least: weights below it are not drawn as arrows.
        output: bars below, for the drinks that `attending` gets; a text is their heading.
        title, width: the line above; pixels, half for one of two cafés.

    Raises:
        ValueError: too many guests, a friend or a name that is not there, weights that do not fit
            or do not sum to 1.
    """

    names: Sequence[str]
    drinks: Sequence[str | None]
    friends: Sequence[str | None] | None = None
    weights: Any = None
    attending: str | None = None
    factor: float | None = None
    hops: Sequence[str] = ()
    least: float = 0.05
    output: bool | str = False
    title: str = ""
    width: float = WIDTH

    def __post_init__(self) -> None:
        count = len(self.names)
        if not 2 <= count <= 10:
            raise ValueError(f"There are {count} guests; the ring has room for two to ten.")
        words_of(self.drinks, "guests", count)
        if self.friends is not None:
            words_of(self.friends, "guests", count)
        named = [*(self.friends or ()), *self.hops, *([] if self.of_all else [self.attending])]
        for name in named:
            if name is not None and name not in self.names:
                chairs = ", ".join(self.names)
                raise ValueError(f"{name!r} has no chair in this café; name one of {chairs}.")
        if self.matrix is None:
            return
        sums = self.matrix.sum(axis=-1)[... if self.of_all else self.there]
        fits = self.matrix.shape in ((count,), (count, count))
        if not fits or (self.matrix < 0).any() or (abs(sums - 1) > 1e-3).any():
            needed = "Give each guest a row of weights that are zero or more and sum to 1."
            raise ValueError(f"{needed} Are they scores?")

    @cached_property
    def there(self) -> np.ndarray:
        return np.array([drink is not None for drink in self.drinks])

    @cached_property
    def of_all(self) -> bool:
        """One query for the whole café."""
        return self.weights is not None and np.ndim(self.weights) == 1

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """The weights, (guests, guests) or (guests,), as they were given or as the factor makes
        them.
        """
        if self.factor is None:
            return None if self.weights is None else numbers(self.weights, "weights")
        friends = np.array(self.friends or (), object)[:, None]
        scores = self.factor**2 * (friends == np.array(self.names, object))
        exponentials = np.exp(scores / sqrt(len(self.names))) * self.there
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    @cached_property
    def chosen(self) -> int | None:
        """The index of what attends alone: a guest, or the query in the middle, which comes after
        them.
        """
        if self.of_all:
            return len(self.names)
        return None if self.attending is None else list(self.names).index(self.attending)

    @cached_property
    def row(self) -> np.ndarray | None:
        """The weights of what attends alone, (guests,)."""
        if self.matrix is None or self.chosen is None:
            return None
        return self.matrix if self.of_all else self.matrix[self.chosen]

    @cached_property
    def guests(self) -> list[Guest]:
        count = len(self.names)
        radius = 25 if self.width < WIDTH else 40 if count <= 4 else 28 if count <= 8 else 26
        start = -3 * pi / 4 if count == 4 else pi if count == 2 else -pi / 2
        angles = [start + 2 * pi * place / count for place in range(count)]
        across = (self.width / 2 - radius - LOOP) / max(abs(cos(angle)) for angle in angles)
        down = across * (0.72 if count <= 4 and self.width == WIDTH else 1)
        top = radius + LOOP + 22 * bool(self.title) - down * min(map(sin, angles))
        cards = []
        for name, drink, angle in zip(self.names, self.drinks, angles, strict=True):
            x, y = self.width / 2 + across * cos(angle), top + down * sin(angle)
            cards.append(Guest(name, drink, x, y, radius))
        if self.of_all:
            cards.append(Guest(self.attending or "query", "", self.width / 2, top, radius))
        return cards

    @cached_property
    def arrows(self) -> list[Arrow]:
        """All arrows, those that lie above others last."""
        index = {name: place for place, name in enumerate(self.names)}
        friends = [
            Arrow(index[name], index[friend], 0, "friend")
            for name, friend in zip(self.names, self.friends or (), strict=False)
            if friend is not None
        ]
        weights = np.zeros((0, 0)) if self.matrix is None else np.atleast_2d(self.matrix)
        attention = [
            Arrow(len(self.names) if self.of_all else source, target, float(weight), "attention")
            for (source, target), weight in np.ndenumerate(weights)  # type: ignore[misc]
            if weight >= self.least and (self.of_all or self.chosen in (None, source))
        ]
        hops = [
            Arrow(index[a], index[b], 1, "hop")
            for a, b in zip(self.hops, self.hops[1:], strict=False)
        ]
        return [*friends, *attention, *hops]

    @cached_property
    def outputs(self) -> list[tuple[str, float]]:
        """Each drink with its weight in the output of what attends alone."""
        row = np.zeros(len(self.names)) if self.row is None else self.row
        menu = dict.fromkeys(drink for drink in self.drinks if drink)
        return [(drink, float(row[[own == drink for own in self.drinks]].sum())) for drink in menu]

    @property
    def height(self) -> float:
        below = LOOP if len(self.names) > 2 else 2
        bars = 24 + BAR * len(self.outputs) if self.output else 0
        return max(guest.y + guest.radius for guest in self.guests) + below + bars

    @property
    def alt(self) -> str:
        cards, friends = [], self.friends or [None] * len(self.names)
        for name, drink, friend in zip(self.names, self.drinks, friends, strict=True):
            does = f"drinks {drink}" if drink else "is there" if drink == "" else "is away"
            cards.append(f"{name} {does}" + (f", friend: {friend}" if friend else ""))
        begin = f"{self.title}: a" if self.title else "A"
        parts = [f"{begin} café with {len(self.names)} chairs. {'; '.join(cards)}."]
        attending: dict[str, list[str]] = {}
        for arrow in self.arrows:
            if arrow.kind == "attention":
                to = f"{self.guests[arrow.target].name} {short(arrow.weight)}"
                attending.setdefault(self.guests[arrow.source].name, []).append(to)
        parts += [f"{name} attends to {', '.join(to)}." for name, to in attending.items()]
        parts += [f"The way: {' to '.join(self.hops)}."] * bool(self.hops)
        outputs = ", ".join(f"{drink} {short(x)}" for drink, x in self.outputs)
        heading = self.output if isinstance(self.output, str) else "Output"
        parts += [f"{heading}: {outputs}."] * bool(self.output)
        return " ".join(parts)

    def draw(self, axes: "Axes", left: float = 0) -> None:
        """Guests and arrows, from `left` on."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        for arrow in self.arrows:
            points = [(x + left, y) for x, y in outline(arrow, self.guests)]
            colour, part = LOOK[arrow.kind], {"gid": f"part:arrow {arrow.kind}", "clip_on": False}
            if arrow.source == arrow.target:
                path = Path(points, [Path.MOVETO, *[Path.CURVE4] * 3])
                look = {"edgecolor": colour, "facecolor": "none", "linewidth": thickness(arrow)}
                axes.add_patch(PathPatch(path, **look, **part))
            else:
                axes.add_patch(PathPatch(Path(points), facecolor=colour, linewidth=0, **part))
        for place, guest in enumerate(self.guests):
            self._card(axes, place, guest, left)
        if self.title:
            axes.text(left + self.width / 2, 15, self.title, ha="center", fontweight="bold")
        if self.output:
            self._bars(axes, self.height - BAR * len(self.outputs) - 4)

    def _card(self, axes: "Axes", place: int, guest: Guest, left: float) -> None:
        from matplotlib.patches import Circle

        ink = MUTED if guest.drink is None else INK
        card = Circle((guest.x + left, guest.y), guest.radius, facecolor=PAPER, clip_on=False)
        edge, thick = (QUERY, 3) if place == self.chosen else (MUTED, 1.2)
        line: Any = (0, (4, 3)) if guest.drink is None else "-"
        card.set(edgecolor=edge, linewidth=thick, linestyle=line, gid=f"part:card-{place}")
        axes.add_patch(card)
        lines = [("name", guest.name, ink)]
        if guest.drink != "":
            lines.append(("drink", guest.drink or "away", ink))
        if self.row is not None and place < len(self.row) and guest.drink is not None:
            lines.append(("weight", short(self.row[place]), QUERY))
        for below, (part, text, colour) in enumerate(lines):
            size = 12 if part == "name" and guest.radius > 25 else 11
            font: dict[str, Any] = {"fontsize": size, "color": colour}
            font["fontweight"] = "bold" if part == "name" else "normal"
            y = guest.y + 13.5 * (below - (len(lines) - 1) / 2) + 4
            axes.text(guest.x + left, y, text, ha="center", gid=f"part:{part}-{place}", **font)

    def _bars(self, axes: "Axes", top: float) -> None:
        from matplotlib.patches import Rectangle

        name = self.guests[self.chosen or 0].name
        heading = self.output if isinstance(self.output, str) else f"output of {name}"
        axes.text(84, top - 5, heading, color=OUTPUT, fontweight="bold", gid="part:heading")
        for place, (drink, amount) in enumerate(self.outputs):
            y = top + BAR * place
            look: dict[str, Any] = {"facecolor": OUTPUT, "linewidth": 0, "clip_on": False}
            axes.text(76, y + 13, drink, ha="right")
            axes.add_patch(
                Rectangle((84, y + 2), LONGEST_BAR * amount, 15, gid=f"part:bar-{place}", **look)
            )
            axes.text(90 + LONGEST_BAR * amount, y + 13, short(amount), gid=f"part:amount-{place}")

    def figure(self) -> "Figure":
        figure, axes = bare_axes(self.width, self.height)
        self.draw(axes)
        return figure

    @property
    def attributes(self) -> str:
        """What cafe.js needs of a café that answers."""
        if self.factor is None or self.friends is None or not self.there.all():
            return ""
        guests = [
            [guest.name, guest.drink, friend, round(guest.x, 2), round(guest.y, 2)]
            for guest, friend in zip(self.guests, self.friends, strict=True)
        ]
        data = {"guests": guests, "radius": self.guests[0].radius, "factor": self.factor}
        data |= {"chosen": self.chosen or 0, "least": self.least}
        return f'data-cafe="{escape(json.dumps(data, separators=(",", ":")))}" '


@dataclass(frozen=True, repr=False, eq=False)
class Cafes(Chart):
    """Cafés in one picture: beside each other where the width of a phone has room for them, else
    below each other.
    """

    cafes: Sequence[Cafe]

    @property
    def alt(self) -> str:
        return " ".join(cafe.alt for cafe in self.cafes)

    def figure(self) -> "Figure":
        beside = sum(cafe.width for cafe in self.cafes) <= WIDTH
        height = max(cafe.height for cafe in self.cafes)
        figure, axes = bare_axes(
            WIDTH, height if beside else sum(cafe.height for cafe in self.cafes)
        )
        left = 0.0
        for cafe in self.cafes:
            cafe.draw(axes, left)
            left += cafe.width
        return figure


# The café of the welcome page, book/_static/cafe.svg, and of *Attention in ten minutes*.
FOUR = Cafe(
    ("Ada", "Ben", "Cleo", "Dan"), ("tea", "coffee", "juice", "tea"), ("Cleo", "Ada", "Dan", "Ada"),
    attending="Ada", factor=3, least=0.005, output=True,
)  # fmt: skip


def short(weight: float) -> str:
    """A weight with two decimals and without its zero, ".97"."""
    return f"{weight:.2f}".removeprefix("0")


def thickness(arrow: Arrow) -> float:
    return 1.2 if arrow.kind == "friend" else 4 if arrow.kind == "hop" else 1 + 7 * arrow.weight


def outline(arrow: Arrow, guests: Sequence[Guest]) -> list[tuple[float, float]]:
    """The corners of an arrow from card to card, head included; for a loop, the points of its
    curve.

    cafe.js draws by the same rule, and a test compares the two.
    """
    a, b = guests[arrow.source], guests[arrow.target]
    if arrow.source == arrow.target:
        # away from the others
        out = -1 if a.y < sum(guest.y for guest in guests) / len(guests) else 1
        y = a.y + out * (a.radius - 2)
        return [(a.x - 9, y), (a.x - 16, y + 16 * out), (a.x + 16, y + 16 * out), (a.x + 9, y)]
    wide, distance = thickness(arrow), hypot(b.x - a.x, b.y - a.y)
    lane: float = LANES[arrow.kind]
    if arrow.kind == "attention":
        lane = lane + wide / 2 if a.drink else 0  # no other arrow leads to the query in the middle
    along = (b.x - a.x) / distance, (b.y - a.y) / distance
    begin, end = (sqrt(radius**2 - lane**2) + 1 for radius in (a.radius, b.radius))
    head = 6 + 0.6 * wide
    corners = [
        (begin, -wide / 2), (distance - end - head, -wide / 2),
        (distance - end - head, -wide / 2 - head / 2.5),
        (distance - end, 0), (distance - end - head, wide / 2 + head / 2.5),
        (distance - end - head, wide / 2),
        (begin, wide / 2), (begin, -wide / 2),
    ]  # fmt: skip
    return [
        (a.x + x * along[0] - (y + lane) * along[1], a.y + x * along[1] + (y + lane) * along[0])
        for x, y in corners
    ]

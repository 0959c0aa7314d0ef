"""Charts of results: each is a value that says what is drawn, and shows itself.

Dots      results of several models on one axis, with intervals and a level
Curves    lines with their names at their ends
HeatMap   a matrix as shades; signed data have two directions and a middle
Arcs      attention weights over a sentence
Bars      a distribution, with the cut of top-k or top-p
Tiles     the cells of a small matrix that are filled: a mask, a window, who computes what
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from shared.colours import LIGHTER, ROLES, below_zero

from .cafe import short
from .chart import GRID, INK, MUTED, PAPER, WIDTH, Chart, bare_axes, new_axes
from .picture import matrix_of, numbers, shading, words_of

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Curves take these in turn, with their marks, so that they differ without color as well.
LINES = [
    ("query", "o"),
    ("key", "s"),
    ("value", "^"),
    ("score", "D"),
    ("output", "v"),
    ("input", "x"),
]
CELL = 22  # pixels
SMALLEST = 11  # pixels of a letter


def said(number: float) -> str:
    """A number as one says it: three digits, whole from 1,000 on, and no powers of ten."""
    if 0 < abs(number) < 0.001:
        return "about 0"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def levels_in_words(levels: Mapping[str, float] | None) -> str:
    """A sentence for each level of a chart; one whose name is its number says it once."""
    named = {said(level): name for name, level in (levels or {}).items()}
    return "".join(
        f" A line at {at}{'' if name == at else ': ' + name}." for at, name in named.items()
    )


def in_runs(places: Sequence[str]) -> str:
    """Labels in order, with three neighbors or more as "first to last", for an alternative text."""
    return f"{places[0]} to {places[-1]}" if len(places) > 2 else ", ".join(places)


def write_title(figure: "Figure", title: str) -> None:
    """What there is to see, above everything."""
    if title:
        figure.suptitle(title, x=0, ha="left", fontsize=12, fontweight="bold")


def colour_map(role: str) -> "Colormap":
    """From the second, lighter hue of negative numbers by way of paper to the role's color: darker
    is always more.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    below = LIGHTER * np.array(to_rgb(ROLES[below_zero(role)][0])) + (1 - LIGHTER)
    return LinearSegmentedColormap.from_list(role, [tuple(below), PAPER, ROLES[role][0]])


@dataclass(frozen=True, repr=False, eq=False)
class Dots(Chart):
    """Results on one axis: a line for each model, a dot for each result, and the half width of its
    interval; where there are several, as of seeds, a stroke at their mean.

    Args:
        rows: model -> its results, a number or several, as of seeds; or (mean, half width of the
            interval).
        measure: what the axis counts, for example "accuracy".
        levels: name -> number, vertical lines such as {"chance": 1 / 6}.
        intervals: whether a pair is a mean and its half width.
        band: from where to where the axis is gray.
        span: the axis reaches at least from here to there, for example (0, 1).
        title: what there is to see.
        digits: decimals of the number above a single dot, or of the mean of several.
    """

    rows: Mapping[str, Any]
    measure: str = "accuracy"
    levels: Mapping[str, float] | None = None
    intervals: bool = False
    digits: int = 2
    band: tuple[float, float] | None = None
    span: tuple[float, float] | None = None
    title: str = ""

    @cached_property
    def dots(self) -> list[tuple[str, float, float]]:
        """What is drawn, from top to bottom: name, number, half width."""
        if self.intervals:
            return [(name, float(mean), float(half)) for name, (mean, half) in self.rows.items()]
        return [
            (name, float(value), 0.0)
            for name, given in self.rows.items()
            for value in np.atleast_1d(numbers(given))
        ]

    @cached_property
    def heights(self) -> list[float]:
        """Of each dot; equal ones of a row are below each other, so that they can be counted."""
        values = [value for _, value, _ in self.dots] + list(self.span or ())
        near = 0.025 * (max(values) - min(values) or 1)
        places = [(name, round(value / near)) for name, value, _ in self.dots]
        most, names, seen = Counter(places), list(self.rows), Counter[tuple[str, int]]()
        heights = []
        for place in places:
            heights.append(-names.index(place[0]) - seen[place] * min(0.14, 0.4 / most[place]))
            seen[place] += 1
        return heights

    @cached_property
    def notes(self) -> dict[str, list[str]]:
        """The dots of each model in words."""
        lines: dict[str, list[str]] = {name: [] for name in self.rows}
        for name, value, half in self.dots:
            number = f"{value:.{self.digits}f}" + (f" ± {half:.{self.digits}f}" if half else "")
            lines[name].append(number.replace("-", "−"))
        return lines

    @property
    def alt(self) -> str:
        rows = "; ".join(f"{name}: {', '.join(values)}" for name, values in self.notes.items())
        gray = f" Gray from {self.band[0]:g} to {self.band[1]:g}." if self.band else ""
        dots = f"{self.title}: dots" if self.title else "Dots"
        return f"{dots} for {self.measure}. {rows}.{levels_in_words(self.levels)}{gray}"

    def figure(self) -> "Figure":
        colour, names = ROLES["output"][0], list(self.rows)
        extra = 16 * bool(self.levels) + 20 * bool(self.title)
        figure, axes = new_axes(62 + 34 * len(names) + extra)
        # Name and number are above the line, so that a long name takes no room from the axis; the
        # gray band and a level's line leave out the letters.
        places = -np.arange(len(names))
        if self.band:
            low, high = self.band
            look: dict[str, Any] = {"color": GRID, "alpha": 0.6, "linewidth": 0, "zorder": 0}
            axes.barh(places - 0.09, high - low, left=low, height=0.42, **look)
        for (_, value, half), height in zip(self.dots, self.heights, strict=True):
            axes.errorbar(
                value, height, xerr=half or None, marker="o", markersize=6, capsize=3,
                clip_on=False, color=colour, markeredgecolor=PAPER, markeredgewidth=0.6,
            )  # fmt: skip
        if self.span:
            axes.update_datalim([(end, 0) for end in self.span])
        above: dict[str, Any] = {"xycoords": ("axes fraction", "data")}
        above |= {"textcoords": "offset points", "clip_on": False}
        for place, (name, notes) in enumerate(self.notes.items()):
            axes.annotate(name, (0, -place), (0, 8), **above)
            mean = np.mean([value for own, value, _ in self.dots if own == name])
            if len(notes) > 1:
                stroke: dict[str, Any] = {"color": INK, "linewidth": 1.2, "zorder": 3}
                axes.vlines(mean, -place - 0.3, -place + 0.08, **stroke)
            text = notes[0] if len(notes) == 1 else f"mean {mean:.{self.digits}f}".replace("-", "−")
            axes.annotate(text, (1, -place), (0, 8), ha="right", color=colour, **above)
        for name, level in (self.levels or {}).items():
            dashed: Any = {"color": MUTED, "linewidth": 1.2, "linestyle": (0, (4, 3)), "zorder": 0}
            axes.vlines([level] * len(names), places - 0.3, places + 0.12, **dashed)
            at: dict[str, Any] = {"xycoords": ("data", "axes fraction")}
            at["textcoords"] = "offset points"
            axes.annotate(name, (level, 1), (0, 2), ha="center", color=MUTED, **at)
        axes.set(
            ylim=(-len(names) + 0.6, 0.75),
            yticks=[-place for place in range(len(names))],
            xlabel=self.measure,
        )
        axes.tick_params("y", labelleft=False)
        axes.spines["left"].set_visible(False)
        axes.grid(False, axis="x")
        axes.locator_params("x", nbins=5)
        axes.margins(x=0.08)
        write_title(figure, self.title)
        return figure


@dataclass(frozen=True, repr=False, eq=False)
class Curves(Chart):
    """Lines with their names at their ends, so that no legend is needed.

    Args:
        lines: name -> (points, 2), or (points,), which are counted from 0; or (seeds, points, 2),
            which are thin lines of one color with one name.
        x, y: what the axes count.
        levels: name -> number, horizontal lines.
        log: the axes that are logarithmic: "", "x", "y" or "xy".
        title: what there is to see.
    """

    lines: Mapping[str, Any]
    x: str
    y: str
    levels: Mapping[str, float] | None = None
    log: str = ""
    title: str = ""

    @cached_property
    def points(self) -> dict[str, np.ndarray]:
        """What is drawn: name -> (seeds, points, 2)."""
        found = {name: numbers(line, name) for name, line in self.lines.items()}
        pairs = {
            name: np.column_stack([range(len(p)), p]) if p.ndim == 1 else p
            for name, p in found.items()
        }
        return {name: p if p.ndim == 3 else p[None] for name, p in pairs.items()}

    @cached_property
    def heights(self) -> np.ndarray:
        """All numbers on the upright axis."""
        levels = list((self.levels or {}).values())
        return np.concatenate([*(p[..., 1].ravel() for p in self.points.values()), levels])

    @cached_property
    def ends(self) -> dict[str, tuple[float, float]]:
        """Where each line and each level ends, on the axes as drawn; of seeds, their mean."""
        right = max(p[..., 0].max() for p in self.points.values())
        at = {n: p[np.arange(len(p)), p[..., 0].argmax(1)].mean(0) for n, p in self.points.items()}
        ends = {name: (float(x), float(y)) for name, (x, y) in at.items()}
        return ends | {name: (float(right), level) for name, level in (self.levels or {}).items()}

    def part(self, y: float) -> float:
        """How far up the axis a number is, from 0 to 1: there is a twentieth below and above."""
        scale = np.log if "y" in self.log else np.asarray
        low, high = scale(self.heights.min()), scale(self.heights.max())
        return float(0.05 + 0.9 * (scale(y) - low) / ((high - low) or 1))

    @cached_property
    def early(self) -> list[str]:
        """Lines that end well before the others, and have their names there."""
        right = max(x for x, _ in self.ends.values())
        return [name for name, (x, _) in self.ends.items() if x < 0.9 * right]

    @cached_property
    def label_heights(self) -> dict[str, float]:
        """Where each other name is, in parts of the axis's height: as near the end of its line as
        can be, and clear of the others.
        """
        from sklearn.isotonic import isotonic_regression

        late = [name for name in self.ends if name not in self.early]
        names = sorted(late, key=lambda name: self.ends[name][1])
        above = 0.082 * np.arange(len(names))  # lines of text
        wanted = np.array([self.part(self.ends[name][1]) for name in names]) - above
        found = isotonic_regression(wanted, y_min=-0.04, y_max=max(1 - above[-1], -0.04)) + above
        return dict(zip(names, found.tolist(), strict=True))

    @property
    def alt(self) -> str:
        def several(values: np.ndarray) -> str:
            low, high = said(values.min()), said(values.max())
            return low if low == high else f"{low} to {high}"

        def ends(p: np.ndarray) -> str:
            first, last = (f"{several(p[:, k, 1])} at {said(p[0, k, 0])}" for k in (0, -1))
            return f"{len(p)} lines, " * (len(p) > 1) + f"from {first} to {last}"

        lines = "; ".join(f"{name}, {ends(p)}" for name, p in self.points.items())
        curves = f"{self.title}: curves" if self.title else "Curves"
        return f"{curves} of {self.y} over {self.x}: {lines}.{levels_in_words(self.levels)}"

    def figure(self) -> "Figure":
        from matplotlib.ticker import NullFormatter

        figure, axes = new_axes(230 + 20 * bool(self.title))
        engine: Any = figure.get_layout_engine()
        if engine:  # as in STYLE; names are a little wider in a browser
            engine.set(w_pad=8 / 72)
        axes.set(
            xscale="log" if "x" in self.log else "linear",
            yscale="log" if "y" in self.log else "linear",
        )
        for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            if name in self.log:
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter(NullFormatter())
        places = np.unique(np.concatenate([p[..., 0].ravel() for p in self.points.values()]))
        if "x" not in self.log and (places == np.round(places)).all():
            axes.locator_params("x", integer=True)
        elif len(places) <= 6:  # lengths are powers of two rather than of ten
            axes.set_xticks(places)
        colours = {}
        for place, (name, p) in enumerate(self.points.items()):
            role, mark = LINES[place % len(LINES)]
            colours[name] = ROLES[role][0]
            look: Any = {"color": colours[name], "marker": "" if p.shape[1] > 12 else mark}
            look["linewidth"] = 1.8 if len(p) == 1 else 1
            for line in p:
                axes.plot(*line.T, markersize=4.5, clip_on=False, **look)
        for name, level in (self.levels or {}).items():
            colours[name] = MUTED
            axes.axhline(level, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)))
        low, high = self.heights.min(), self.heights.max()
        if "y" in self.log:
            room = (high / low) ** (0.05 / 0.9)
            axes.set_ylim(low / room, high * room)
        else:
            room = 0.05 / 0.9 * ((high - low) or 1)
            axes.set_ylim(low - room, high + room)
        for name in self.early:  # below a line that falls, else beside it
            falls = (self.points[name][:, -1, 1] < self.points[name][:, 0, 1]).all()
            below: dict[str, Any] = {"ha": "right", "va": "top"} if falls else {"va": "center"}
            below |= {"textcoords": "offset points", "color": colours[name]}
            axes.annotate(name, self.ends[name], (4, -5) if falls else (8, 0), **below)
        for name, height in self.label_heights.items():
            x, y = self.ends[name]
            moved = x < places[-1] or abs(height - self.part(y)) > 0.03
            leader = {"arrowstyle": "-", "color": colours[name], "linewidth": 0.5, "shrinkA": 0}
            axes.annotate(
                name, (x, y), (1.05, height), textcoords="axes fraction", va="center",
                color=colours[name], annotation_clip=False,
                arrowprops=leader | {"shrinkB": 2, "relpos": (0, 0.5)} if moved else None,
            )  # fmt: skip
        axes.set(xlabel=self.x)
        axes.set_title(self.y, fontsize=11.5, x=0)
        write_title(figure, self.title)
        return figure


@dataclass(frozen=True, repr=False, eq=False)
class HeatMap(Chart):
    """A matrix as shades; a small one is better read as a `Matrix`, with its numbers.

    Args:
        matrix: (rows, columns). Positive numbers are shaded in the color of `role`; zero is paper,
            and negative numbers have a second, lighter hue. rows, columns: what the axes count, for
            example "query" and "key". row_labels, column_labels: a word for each; without them
            positions are counted.
        rings: (row, column) of each cell that the text speaks of.
        full: the number that has the darkest shade; by default the largest.
    """

    matrix: Any
    rows: str = "query"
    columns: str = "key"
    row_labels: Sequence[Any] | None = None
    column_labels: Sequence[Any] | None = None
    role: str = "weight"
    rings: Sequence[tuple[int, int]] = ()
    full: float | None = None
    title: str = ""

    @cached_property
    def values(self) -> np.ndarray:
        return matrix_of(self.matrix, "The matrix")

    @cached_property
    def shades(self) -> np.ndarray:
        """What is drawn: the color of each cell, (rows, columns, 3), red, green and blue from 0 to
        1.
        """
        return colour_map(self.role)((shading(self.values, self.full) + 1) / 2)[..., :3]

    @property
    def alt(self) -> str:
        def place(flat: int) -> str:
            i, j = map(int, np.unravel_index(flat, self.values.shape))
            row = self.row_labels[i] if self.row_labels is not None else i
            column = self.column_labels[j] if self.column_labels is not None else j
            return f"{self.rows} {row}, {self.columns} {column}"

        low, high = int(self.values.argmin()), int(self.values.argmax())
        height, width = self.values.shape
        rings = "; ".join(place(i * width + j) for i, j in self.rings)
        alt = f"{self.title or 'Matrix'}, {height} by {width}, as shades."
        alt += f" Largest: {self.values.flat[high]:.2f} at {place(high)}."
        if self.values.min() < 0:
            alt += f" Lowest: {self.values.flat[low]:.2f} at {place(low)}."
        return alt + f" Ringed: {rings}." * bool(rings)

    def figure(self) -> "Figure":
        from matplotlib.patches import Circle
        from matplotlib.patheffects import withStroke
        from matplotlib.ticker import MaxNLocator

        height, width = self.values.shape
        square = self.row_labels is not None or height == width
        figure, axes = new_axes(
            float(np.clip((WIDTH - 70) * height / width + 70, 110, 540)) if square else 200
        )
        # clipped, it would not blend with a dark page
        axes.imshow(self.shades, interpolation="none", clip_on=False)
        axes.set_aspect("equal" if square else "auto")
        for axis, labels, count in (
            (axes.xaxis, self.column_labels, width),
            (axes.yaxis, self.row_labels, height),
        ):
            if labels is None:
                axis.set_major_locator(MaxNLocator("auto", integer=True))
                continue
            each = -(-12 * count // (WIDTH - 70))  # as many labels as have room
            words = words_of(labels, "rows or columns", count)
            axis.set_ticks(range(0, count, each), words[::each])
        if self.column_labels is not None and max(map(len, map(str, self.column_labels))) > 2:
            axes.tick_params("x", rotation=60)
        axes.set(xlabel=self.columns, ylabel=self.rows)
        signed = self.values.min() < 0 < self.values.max()
        axes.set_title(self.title, pad=20 if signed else None)
        for place, (sign, role) in enumerate(
            [("above 0", self.role), ("below 0", below_zero(self.role))] if signed else ()
        ):
            at: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
            at |= {"color": ROLES[role][0], "fontsize": SMALLEST, "fontweight": "bold"}
            axes.annotate(sign, (0, 1), (58 * place, 6), **at)
        axes.grid(False)
        axes.spines[:].set_visible(False)
        edge = [withStroke(linewidth=3.5, foreground=PAPER)]  # seen on dark cells, too
        for row, column in self.rings:
            ring = Circle((column, row), 0.46, fill=False, edgecolor=INK, linewidth=1.5)
            ring.set(clip_on=False, path_effects=edge)
            axes.add_patch(ring)
        return figure


@dataclass(frozen=True, repr=False, eq=False)
class Arcs(Chart):
    """Attention weights over a sentence: an arc for each weight, as wide as it is large, above a
    column of words.

    Args:
        words: the words, drawn from top to bottom so that a phone has room for them.
        weights: (words, words), or (words,) of `query`.
        query: the index of the word whose weights are drawn; by default those of all.
        least: smaller weights are not drawn.
    """

    words: Sequence[str]
    weights: Any
    query: int | None = None
    least: float = 0.1
    title: str = ""

    @cached_property
    def arcs(self) -> list[tuple[int, int, float]]:
        """What is drawn: query, key, weight."""
        weights = numbers(self.weights, "weights")
        words_of(self.words, "columns of the weights", weights.shape[-1])
        rows = {self.query: weights} if weights.ndim == 1 else dict(enumerate(weights))
        if weights.min() < 0 or (abs(weights.sum(axis=-1) - 1) > 1e-3).any():
            raise ValueError(
                "Attention weights are zero or more, and each row sums to 1; these are not."
            )
        if weights.ndim == 1 and self.query is None:
            raise ValueError("This is one row of weights; give the index of its word as `query`.")
        chosen = [row for row in rows if row is not None and self.query in (None, row)]
        return [
            (row, key, float(w))
            for row in chosen
            for key, w in enumerate(rows[row])
            if w >= self.least
        ]

    @property
    def alt(self) -> str:
        rows: dict[int, list[str]] = {}
        for query, key, weight in self.arcs:
            rows.setdefault(query, []).append(f"{self.words[key]} {short(weight)}")
        lines = "; ".join(
            f"{self.words[query]} attends to {', '.join(keys)}" for query, keys in rows.items()
        )
        sentence = f"{self.title or 'Arcs'} over “{' '.join(self.words)}”"
        return f"{sentence}: {lines}. Weights below {self.least:g} are not drawn."

    def figure(self) -> "Figure":
        from matplotlib.patches import Circle, PathPatch, Polygon
        from matplotlib.path import Path

        top, line, count = 26 * bool(self.title) + 14, 24, len(self.words)
        figure, axes = bare_axes(WIDTH, top + line * count + 4, self.title)
        # Arcs to earlier words bend to the left of the words, those to later ones to the right.
        centre, reach, colour = WIDTH / 2, 100, ROLES["weight"][0]
        half = {place: 3.9 * min(len(word), 14) + 6 for place, word in enumerate(self.words)}
        for place, word in enumerate(self.words):
            bold: dict[str, Any] = (
                {"fontweight": "bold", "color": ROLES["query"][0]} if place == self.query else {}
            )
            axes.text(centre, top + line * place + 8, word, ha="center", **bold)
        ends = []  # of the words and of the arcs on their right
        for query, key, weight in self.arcs:
            side = -1 if key <= query else 1
            a, b = top + line * query + 4, top + line * key + 4
            x, y = centre + side * half[query], centre + side * half[key]
            if query == key:
                dot = Circle((x - 3, a), 2 + 4 * weight, facecolor=colour, linewidth=0)
                axes.add_patch(dot)
                continue
            head = [(y, b), (y + 7 * side, b - 4), (y + 7 * side, b + 4)]
            axes.add_patch(Polygon(head, color=colour, linewidth=0))
            out = max(half[query], half[key]) + reach * min(1, 0.25 + abs(key - query) / count)
            bend = centre + side * out
            points = [(x, a), (bend, a), (bend, b), (y + 6 * side, b)]
            ends.append(max(x, y) / 4 + 3 * bend / 4)
            path = Path(points, [Path.MOVETO, *[Path.CURVE4] * 3])
            look = {"edgecolor": colour, "linewidth": 0.8 + 6 * weight, "alpha": 0.85}
            axes.add_patch(
                PathPatch(path, facecolor="none", capstyle="butt", clip_on=False, **look)
            )
        right = max([*ends, *(centre + width for width in half.values())]) + 12
        for _, key, weight in self.arcs if self.query is not None else []:
            axes.text(right, top + line * key + 8, short(weight), color=colour)
        return figure


@dataclass(frozen=True, repr=False, eq=False)
class Bars(Chart):
    """A distribution as bars from the largest to the smallest; what a cut leaves out is hollow.

    Args:
        labels, probabilities: one for each bar.
        top_k, top_p: keep the k largest, or the fewest whose sum reaches p.
    """

    labels: Sequence[Any]
    probabilities: Any
    top_k: int | None = None
    top_p: float | None = None
    title: str = ""

    @cached_property
    def bars(self) -> list[tuple[str, float, bool]]:
        """What is drawn, from top to bottom: label, probability, whether the cut keeps it."""
        values = numbers(self.probabilities, "probabilities")
        labels = words_of(self.labels, "probabilities", len(values))
        order = np.argsort(-values, kind="stable")
        keep = np.arange(len(values)) < (len(values) if self.top_k is None else self.top_k)
        if self.top_p is not None:
            keep &= np.cumsum(values[order]) - values[order] < self.top_p
        bars = zip(order, keep, strict=True)
        return [(labels[i], float(values[i]), bool(kept)) for i, kept in bars]

    @property
    def alt(self) -> str:
        inside, outside = (
            ", ".join(f"{label} {short(x)}" for label, x, keep in self.bars if keep is inside)
            for inside in (True, False)
        )
        return f"{self.title or 'Bars'}: {inside}." + (f" Cut off: {outside}." if outside else "")

    def figure(self) -> "Figure":
        from matplotlib.patches import Rectangle

        top, line, left = 26 * bool(self.title) + 6, 22, 92
        figure, axes = bare_axes(WIDTH, top + line * len(self.bars) + 4, self.title)
        scale = (WIDTH - left - 46) / max(value for _, value, _ in self.bars)
        for place, (label, value, keep) in enumerate(self.bars):
            y, colour = top + line * place, ROLES["weight"][0]
            axes.text(left - 8, y + 14, label, ha="right", color=INK if keep else MUTED)
            face, edge = (colour, colour) if keep else ("none", MUTED)
            look: dict[str, Any] = {"facecolor": face, "edgecolor": edge, "clip_on": False}
            axes.add_patch(Rectangle((left, y + 3), scale * value, 15, linewidth=1, **look))
            axes.text(left + scale * value + 6, y + 14, short(value), color=INK if keep else MUTED)
        return figure


@dataclass(frozen=True, repr=False, eq=False)
class Tiles(Chart):
    """The cells of a small matrix that are filled: a mask, a window, what a step computes.

    Args:
        filled: (rows, columns); true, or a number from 0 to 1 for how much; NaN is no cell at all.
        row_labels, column_labels: a short word for each.
        rows, columns: what the axes count.
        shades: what a number stands for, below the picture.
    """

    filled: Any
    row_labels: Sequence[Any] | None = None
    column_labels: Sequence[Any] | None = None
    rows: str = ""
    columns: str = ""
    title: str = ""
    shades: Mapping[float, str] | None = None

    @cached_property
    def cells(self) -> dict[tuple[int, int], float]:
        """(row, column) -> how much of the color; without those that are no cell at all."""
        given = np.asarray(self.filled, dtype=float)
        values = matrix_of(np.nan_to_num(given), "The tiles")
        return {(int(i), int(j)): float(values[i, j]) for i, j in np.argwhere(~np.isnan(given))}

    @cached_property
    def tiles(self) -> dict[tuple[int, int], float]:
        """What is filled: (row, column) -> how much of the color."""
        return {place: amount for place, amount in self.cells.items() if amount > 0}

    @cached_property
    def shape(self) -> tuple[int, int]:
        rows, columns = np.asarray(self.filled).shape
        return rows, columns

    @property
    def alt(self) -> str:
        rows = [str(row) for row in self.row_labels or range(self.shape[0])]
        columns = [str(column) for column in self.column_labels or range(self.shape[1])]
        several, shades = len(set(self.tiles.values())) > 1, self.shades or {}

        def row_in_words(i: int) -> str:
            runs = groupby(range(self.shape[1]), lambda j: self.tiles.get((i, j)))
            words = [
                in_runs([columns[j] for j in run])
                + f" ({shades.get(amount, f'{amount:.2g}')})" * several
                for amount, run in runs
                if amount
            ]
            return ", ".join(words) or "none"

        # equal rows below one another are said once
        groups = [(words, list(run)) for words, run in groupby(range(self.shape[0]), row_in_words)]
        lines = "; ".join(f"{in_runs([rows[i] for i in run])}: {words}" for words, run in groups)
        shape = f"{self.shape[0]} by {self.shape[1]}"
        return f"{self.title or 'Tiles'}, {shape}. Filled, row by row: {lines}."

    def figure(self) -> "Figure":
        from matplotlib.patches import Rectangle

        height, width = self.shape
        labels = [words_of(each, "tiles", count) if each is not None else [] for each, count in
                  ((self.row_labels, height), (self.column_labels, width))]  # fmt: skip
        left, top = 8 + 7.2 * max(map(len, labels[0]), default=0), 8.0 + 22 * bool(self.title)
        cell = min(CELL, (WIDTH - left - 4) / width)
        turned = labels[1] and 7.2 * max(map(len, labels[1])) > cell - 2
        top += (5.5 * max(map(len, labels[1])) + 12 if turned else 18) * bool(labels[1])
        shades, below = self.shades or {}, top + cell * height + 18
        figure, axes = bare_axes(
            WIDTH, below - 12 + 20 * bool(self.rows) + 20 * len(shades), self.title
        )
        if self.rows:
            note = f"rows: {self.rows}, columns: {self.columns}"
            axes.text(2, below, note, color=MUTED, fontsize=SMALLEST)
        for row, label in enumerate(labels[0]):
            axes.text(left - 6, top + cell * (row + 0.5) + 4, label, ha="right", fontsize=SMALLEST)
        at_column: dict[str, Any] = {"ha": "center", "fontsize": SMALLEST}
        if turned:
            at_column |= {"ha": "left", "rotation": 55, "rotation_mode": "anchor"}
        for column, label in enumerate(labels[1]):
            x = left + cell * (column + 0.5) + 3 * bool(turned)
            axes.text(x, top - 6, label, **at_column)

        def tile(at: tuple[float, float], size: float, **look: Any) -> None:
            axes.add_patch(Rectangle(at, size, size, **look))

        def corner(i: int, j: int) -> tuple[float, float]:
            return left + cell * j + 1, top + cell * i + 1

        full: dict[str, Any] = {"facecolor": ROLES["weight"][0], "linewidth": 0}
        for i, j in self.cells:
            tile(corner(i, j), cell - 2, facecolor="none", edgecolor=GRID, linewidth=0.8)
        for (i, j), amount in self.tiles.items():
            tile(corner(i, j), cell - 2, alpha=amount, **full)
        for place, (amount, meaning) in enumerate(shades.items()):
            y = below + 20 * (place + bool(self.rows))
            tile((2, y - 10), 12, alpha=amount, **full)
            axes.text(20, y, meaning, fontsize=SMALLEST)
        return figure

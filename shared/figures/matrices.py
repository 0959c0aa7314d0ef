"""Pictures of matrices and of the steps of attention, drawn from the arrays of a lab and nothing else.

A `Matrix` is an array with a name, a role and labels, and shows itself; the functions set several side by side and
mark what belongs together. Each checks its arithmetic first: a picture that would be wrong is refused.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from . import svg
from .colours import ROLES, css_colour
from .picture import Picture, matrix_of, numbers
from .svg import FONT, GRID, INK, MUTED, PAPER

MOST_NUMBERS = (12, 10)  # rows and columns up to which the cells carry their numbers; beyond, shades alone
MOST_CELLS = 40  # rows or columns up to which all are drawn; beyond, the middle is left out
SHADE = 0.42  # opacity below a number, at most: the number keeps a contrast of 4.5:1 (tests/quick/test_matrices.py)
TOLERANCE = 1e-4  # of the largest entry: float32 differs by less, a wrong formula by more


@dataclass(frozen=True, repr=False, eq=False)
class Matrix:
    """An array with its name, its role and its labels; as the last value of a cell it draws itself.

    Args:
        values: (rows, columns), NumPy array, tensor or nested list. A vector is given as a row, `x[None, :]`, or as a
            column, `x[:, None]`.
        name: the title above the grid.
        role: one of `ROLES`; it chooses the colour.
        rows, columns: a label for each, often the words of the sentence.
        full: the magnitude with the deepest shade; by default the largest in the array, for weights 1.

    Raises:
        ValueError: no real numbers, not two dimensions, no entries, NaN or infinity, labels that do not match the
            shape, no such role.
        TypeError: one string in place of a list of labels.
    """

    values: Any
    name: str
    role: str = "input"
    rows: Sequence[Any] | None = None
    columns: Sequence[Any] | None = None
    full: float | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"{self.role!r} is no role of the course; choose one of {', '.join(ROLES)}.")
        values = matrix_of(self.values, self.name)
        object.__setattr__(self, "values", values)
        for axis, kind in enumerate(("rows", "columns")):
            labels = getattr(self, kind)
            if labels is not None:
                object.__setattr__(self, kind, _words(labels, f"{kind} of {self.name}", values.shape[axis]))

    def _repr_html_(self) -> str:
        return _page([_block(self)], [self])

    def __repr__(self) -> str:
        rows, columns = self.values.shape
        i, j = map(int, np.unravel_index(np.argmax(self.values), self.values.shape))
        parts = [f"{self.name}, {rows} by {columns}"]
        parts += [f"{kind} {svg.listed(labels)}" for kind in ("rows", "columns") if (labels := getattr(self, kind))]
        entry = svg.written(self.values)(self.values[i, j])
        place = f"row {svg.named(self.rows, i)}, column {svg.named(self.columns, j)}"
        return "; ".join([*parts, f"largest entry {entry} in {place}"]) + "."


def side_by_side(*parts: Matrix | str) -> Picture:
    """Matrices in a row, with the given text between them: `side_by_side(scores, "softmax", weights)`."""
    blocks, sign = [], ""
    for part in parts:
        if isinstance(part, Matrix):
            blocks.append(_block(part, sign=sign))
        sign = "" if isinstance(part, Matrix) else part
    alt = " ".join(repr(part) if isinstance(part, Matrix) else f"{part}:" for part in parts)
    return Picture(_page(blocks, [part for part in parts if isinstance(part, Matrix)]), alt)


def product(left: Matrix, right: Matrix, result: Matrix, row: int = 0, column: int = 0) -> Picture:
    """left x right = result, with the row, the column and the cell that belong together marked, and its sum.

    Args:
        left, right, result: (a, b), (b, c) and (a, c).
        row, column: the row of `left` and the column of `right` that are marked.

    Raises:
        ValueError: shapes that do not fit, a result that is not the product, no such row or column.
    """
    (a, b), (b2, c) = left.values.shape, right.values.shape
    if b != b2:
        raise ValueError(
            f"{left.name} has {b} columns and {right.name} has {b2} rows; a product needs as many of the one as of "
            "the other. Does one of them have to be transposed?"
        )
    row, column = _index(row, a, f"row of {left.name}"), _index(column, c, f"column of {right.name}")
    _check_equal(result, left.values @ right.values, f"{left.name} × {right.name}")
    terms = _sum(left, right, result, row, column)
    blocks = [
        _block(left, row=row),
        _block(right, column=column, sign="×"),
        _block(result, row, column, sign="="),
    ]
    where = f"row {svg.named(left.rows, row)} of {left.name}, column {svg.named(right.columns, column)} of {right.name}"
    note = f"{where}: {terms}"
    alt = f"{left.name} ({a} by {b}) times {right.name} ({b} by {c}) is {result!r} Marked: {note}."
    return Picture(_page(blocks, [left, right, result], note), alt)


def lookup(table: Matrix, ids: Sequence[int], result: Matrix, row: int = 0) -> Picture:
    """Rows of a table picked by their numbers: result = table[ids], with one picked row marked in both.

    Args:
        table: (vocabulary, d_model).
        ids: (tokens,) whole numbers.
        result: (tokens, d_model).
        row: the row of `result` that is marked, with its source.

    Raises:
        ValueError: an id outside the table, a result that is not what the table holds there.
    """
    picks = numbers(ids, "ids")
    if picks.ndim != 1 or not picks.size or np.any(picks != np.floor(picks)):
        raise ValueError(f"ids are one whole number for each token; these are {ids!r}.")
    picks = picks.astype(int)
    size = len(table.values)
    if picks.min() < 0 or picks.max() >= size:
        raise ValueError(f"ids run from {picks.min()} to {picks.max()}, the table has the rows 0 to {size - 1}.")
    row = _index(row, len(picks), "token of the sentence")
    _check_equal(result, table.values[picks], f"{table.name}[ids]")
    picked = int(picks[row])
    note = f"{svg.named(result.rows, row)} has the id {picked}: row {picked} of {table.name} is copied."
    blocks = [_block(table, row=picked), _block(result, row=row, sign="→")]
    return Picture(_page(blocks, [table, result], note), f"Lookup in {table!r} It gives {result!r} Marked: {note}")


def softmax_row(scores: Any, weights: Any, words: Sequence[Any], asking: int = 0, scale: float = 1.0) -> Picture:
    """One row of scores before and after weights = softmax(scores / scale), a bar below each weight.

    Args:
        scores, weights: (tokens,), one for each word that is looked at.
        words: the words of the sentence.
        asking: the index of the word that asks.
        scale: what the scores are divided by, sqrt(d_k) (Vaswani et al. 2017, section 3.2.1).

    Raises:
        ValueError: weights that are not the softmax of the scaled scores, lengths that differ, a scale of 0 or less.
    """
    words = _words(words, "words")
    asking = _index(asking, len(words), "word")
    if not np.isfinite(scale) or scale <= 0:
        raise ValueError(f"The scale is {scale}; scores are divided by a positive number, sqrt(d_k).")
    asker = [words[asking]]
    before = Matrix(_row(scores, "scores"), "scores", "score", asker, words)
    scaled = Matrix(before.values / scale, "scaled scores", "score", asker, words, full=before.full)
    after = Matrix(_row(weights, "weights"), "weights", "weight", asker, words)
    exponentials = np.exp(scaled.values - scaled.values.max())
    _check_equal(after, exponentials / exponentials.sum(), "the softmax of the scaled scores")
    cell = max(map(_cell_width, (before, scaled, after)))
    blocks = [
        _block(before, cell_width=cell),
        _block(scaled, cell_width=cell, sign=f"↓ ÷ {svg.short(scale)}", named_columns=False),
        _block(after, cell_width=cell, sign="↓ softmax", named_columns=False, bars=True),
    ]
    note = f"The weights add up to {svg.written(after.values)(after.values.sum())}."
    alt = f"One row through the softmax. {before!r} Divided by {svg.short(scale)}, then the softmax: {after!r} {note}"
    return Picture(_page(blocks, [before, scaled, after], note, down=True), alt)


def weighted_sum(weights: Any, values: Matrix, context: Any, asking: int = 0) -> Picture:
    """The context vector of one word as the sum of all value rows, each times its weight.

    Args:
        weights: (tokens,), one row of attention weights.
        values: (tokens, d_v) with the words as rows.
        context: (d_v,).
        asking: the index of the word that asks.

    Raises:
        ValueError: weighted rows that do not add up to the context vector, lengths that differ.
    """
    words = values.rows or _words(range(1, len(values.values) + 1), "words")
    asking = _index(asking, len(words), "word")
    column = _row(weights, "weights").T  # (tokens, 1)
    if len(column) != len(words):
        raise ValueError(f"There are {len(column)} weights for {len(words)} values; each value needs one.")
    shares = Matrix(column, "weights", "weight", words)
    full = float(np.abs(values.values).max())
    weighted = Matrix(shares.values * values.values, "weighted values", "value", words, values.columns, full)
    total = Matrix(_row(context, "context"), "context vector", "output", [words[asking]], values.columns)
    _check_equal(total, weighted.values.sum(axis=0, keepdims=True), "the sum of the weighted values")
    cell = max(_cell_width(weighted), _cell_width(total))
    label = max(map(_label_width, (weighted, total)))
    stack = [
        _block(weighted, cell_width=cell, label_width=label),
        _block(total, cell_width=cell, label_width=label, sign="↓ add the rows"),
    ]
    blocks = [_block(shares), _block(values, sign="×"), svg.signed("=", svg.flow(stack, down=True))]
    alt = f"{shares!r} Each times its row of {values!r} The weighted rows add up to {total!r}"
    return Picture(_page(blocks, [shares, values, weighted, total]), alt)


def attention_over(words: Sequence[Any], weights: Any, asking: int) -> Picture:
    """The sentence with one row of attention laid over it: shade, bar and number of each word show its weight.

    Args:
        words, weights: one weight for each word of the sentence, (tokens,).
        asking: the index of the word that asks; it is framed.

    Raises:
        ValueError: weights that are negative or do not add up to 1, lengths that differ.
    """
    words = _words(words, "words")
    shares = Matrix(_row(weights, "weights"), "weights", "weight", None, words)
    asking = _index(asking, len(words), "word")
    row = shares.values[0]
    if row.min() < 0 or abs(row.sum() - 1) > TOLERANCE:
        raise ValueError(f"The weights add up to {row.sum():.4f}; attention weights are positive and add up to 1.")
    show = svg.written(row)
    names = svg.numbered(words)
    tokens = []
    for i, (name, weight) in enumerate(zip(names, row, strict=True)):
        width = round(max(svg.longest([name], 15, bold=i == asking), svg.width(show(weight), 12)) + 14)
        share = weight / row.max()
        box, bar = f'x="1" y="1" width="{width - 2}" height="28" rx="4"', 'x="4" y="33"'
        tokens.append(
            f'<svg width="{width}" height="58" aria-hidden="true" style="flex:none">'
            + f"<rect {box} {svg.fill('weight', SHADE * share)}/>"
            + f'<rect {box} fill="none" stroke="{INK}" stroke-width="2"/>' * (i == asking)
            + svg.text(width / 2, 20, name, 15, bold=i == asking)
            + f'<rect {bar} width="{width - 8}" height="5" rx="2" {svg.fill("grid", 0.6)}/>'
            + f'<rect {bar} width="{svg.coordinate((width - 8) * share)}" height="5" rx="2" {svg.fill("weight", 1)}/>'
            + svg.text(width / 2, 53, show(weight), 12)
            + "</svg>"
        )
    alt = f"Attention of “{words[asking]}” over the sentence: " + ", ".join(
        f"{name} {show(weight)}" for name, weight in zip(names, row, strict=True)
    )
    backwards = sum(svg.right_to_left(word) for word in words) * 2 > len(words)
    sentence = svg.flow(tokens, gap=2, style="direction:rtl;" * backwards)
    note = (
        f"Framed: {svg.named(words, asking)}, the word that asks. The largest weight: {svg.named(words, row.argmax())}."
    )
    return Picture(_page([f'<div role="img" aria-label="{escape(alt)}">{sentence}</div>'], [], note), f"{alt}. {note}")


def split_heads(joined: Matrix, num_heads: int) -> Picture:
    """The split into heads, `x.view(tokens, num_heads, head_dim).transpose(0, 1)`: groups of columns, one a head.

    Args:
        joined: (tokens, num_heads * head_dim).
        num_heads: number of heads (Vaswani et al. 2017, section 3.2.2).

    Raises:
        ValueError: a number of columns that num_heads does not divide.
    """
    tokens, d_model = joined.values.shape
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(
            f"{d_model} columns cannot be split into {num_heads} heads; num_heads must divide the number of columns."
        )
    head_dim = d_model // num_heads
    heads = joined.values.reshape(tokens, num_heads, head_dim).transpose(1, 0, 2)  # (num_heads, tokens, head_dim)
    full = joined.full or float(np.abs(joined.values).max())
    groups = [joined.columns and joined.columns[start : start + head_dim] for start in range(0, d_model, head_dim)]
    parts = [
        Matrix(head, f"head {h}", joined.role, joined.rows, group, full)
        for h, (head, group) in enumerate(zip(heads, groups, strict=True))
    ]
    blocks = [_block(joined, group=head_dim), *(_block(part, sign="→" * (part is parts[0])) for part in parts)]
    note = (
        f"Every token keeps its row in every head. Of its {d_model} columns, head 0 takes the first {head_dim}, "
        f"each further head the next {head_dim}."
    )
    return Picture(
        _page(blocks, [joined, *parts], note),
        f"{joined!r} Split into {num_heads} heads of {tokens} by {head_dim}. {note}",
    )


# Checks


def _check_equal(drawn: Matrix, expected: np.ndarray, what: str) -> None:
    if drawn.values.shape != expected.shape:
        raise ValueError(f"{drawn.name} has the shape {drawn.values.shape}, {what} has {expected.shape}.")
    gap = np.abs(drawn.values - expected).max()
    if gap > TOLERANCE * max(1.0, float(np.abs(expected).max())):
        raise ValueError(f"{drawn.name} is not {what}: they differ by up to {gap:.4g}, so the picture would be wrong.")


def _row(vector: Any, name: str) -> np.ndarray:
    array = numbers(vector, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has the shape {array.shape}; give one row, such as {name}[1].")
    return array[None, :]  # (1, tokens)


def _words(labels: Sequence[Any], what: str, count: int | None = None) -> list[str]:
    if isinstance(labels, str):
        raise TypeError(f"The {what} are one string, {labels!r}; give a list of words, such as sentence.split().")
    words = [
        "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in str(label)) for label in labels
    ]
    if not words:
        raise ValueError(f"There are no {what}: the sentence is empty. Give at least one word.")
    if count is not None and len(words) != count:
        raise ValueError(f"There are {len(words)} labels for {count} {what}; each needs one.")
    return words


def _index(index: int, count: int, what: str) -> int:
    if index not in range(-count, count):
        raise ValueError(f"There is no {what} with the index {index!r}; the first is 0, the last {count - 1}.")
    return int(index) % count


def _sum(left: Matrix, right: Matrix, result: Matrix, row: int, column: int) -> str:
    def read(text: str) -> float:
        return float(text.replace("−", "-"))

    show_left, show_right, show = (svg.written(m.values) for m in (left, right, result))
    pairs = [(show_left(a), show_right(b)) for a, b in zip(left.values[row], right.values[:, column], strict=True)]
    terms = ["·".join(f"({text})" if text.startswith("−") else text for text in pair) for pair in pairs]
    if len(terms) > 8:
        terms = [*terms[:3], f"… {len(terms) - 6} more …", *terms[-3:]]
    answer = show(result.values[row, column])
    slack = 0 if "e" in answer else 0.005  # beyond two decimals, the rounded numbers only nearly give the answer
    equal = abs(sum(read(a) * read(b) for a, b in pairs) - read(answer)) <= slack + 1e-9
    return f"{' + '.join(terms)} {'=' if equal else '≈'} {answer}"


# Drawing


def _shaded(m: Matrix) -> bool:
    return any(size > most for size, most in zip(m.values.shape, MOST_NUMBERS, strict=True))


def _shown(count: int, keep: int | None) -> list[int | None]:
    """The indices that are drawn, None where some are left out; what is marked is always drawn."""
    if count <= MOST_CELLS:
        return list(range(count))
    ends = {*range(12), *range(count - 12, count), *([keep] if keep is not None else [])}
    shown: list[int | None] = []
    for i in sorted(ends):
        if i and i - 1 not in ends:
            shown.append(None)
        shown.append(i)
    return shown


def _cell_width(m: Matrix) -> float:
    if _shaded(m):
        return 16 if m.columns else 8
    show = svg.written(m.values)
    return max(26, round(max(svg.width(show(v), 13) for v in m.values.flat)) + 2)


def _label_width(m: Matrix, bold: bool = False) -> float:
    return svg.longest(svg.numbered(m.rows), 11 if _shaded(m) else 13, bold) + 8 if m.rows else 0


class _Grid:
    """Where everything of one drawn matrix stands, in pixels, and the pieces of its SVG."""

    def __init__(
        self, m: Matrix, row: int | None, column: int | None, named_columns: bool = True,
        cell_width: float | None = None, label_width: float | None = None,
    ) -> None:  # fmt: skip
        self.m, self.marked_row, self.marked_column = m, row, column
        self.shaded = _shaded(m)
        self.size, self.height = (11, 16) if self.shaded else (13, 28)
        self.width = cell_width or _cell_width(m)
        self.row_labels = svg.numbered(m.rows or ())
        self.column_labels = svg.numbered(m.columns or ()) if named_columns else []
        self.longest = svg.longest(self.column_labels, self.size, bold=column is not None)
        self.turned = self.longest > self.width - 4
        self.top = 24 if not self.column_labels else 44 if not self.turned else 36 + 0.94 * self.longest
        self.left = 2 + (_label_width(m, bold=row is not None) if label_width is None else label_width)
        self.down, self.across = map(_shown, m.values.shape, (row, column))
        self.bottom, self.right = self.top + len(self.down) * self.height, self.left + len(self.across) * self.width
        self.y = {i: self.top + at * self.height for at, i in enumerate(self.down)}
        self.x = {j: self.left + at * self.width for at, j in enumerate(self.across)}
        self.rows, self.columns = ([i for i in shown if i is not None] for shown in (self.down, self.across))
        self.full = m.full or (1.0 if m.role == "weight" else float(np.abs(m.values).max())) or 1.0

    def labels(self) -> str:
        drawn = []
        for i in self.rows if self.row_labels else ():
            y, bold = self.y[i] + self.height / 2 + self.size * 0.36, i == self.marked_row
            drawn.append(svg.text(self.left - 8, y, self.row_labels[i], self.size, "end", bold=bold, kind="row"))
        look: dict[str, Any] = {"anchor": "start", "turn": -70} if self.turned else {}
        for j in self.columns if self.column_labels else ():
            x, bold = self.x[j] + self.width / 2 + 3 * self.turned, j == self.marked_column
            label = self.column_labels[j]
            drawn.append(svg.text(x, self.top - 6, label, self.size, bold=bold, kind="column", **look))
        return "".join(drawn)

    def cells(self) -> str:
        show, role, drawn = svg.written(self.m.values), self.m.role, []
        for i in self.rows:
            for j in self.columns:
                value, x, y = float(self.m.values[i, j]), self.x[j], self.y[i]
                strength = min(1.0, abs(value) / self.full)
                if self.shaded:
                    inset = 6 if value < 0 else 0  # a thin bar, so that the sign shows without number and colour
                    look = f'{svg.fill(role, strength)} data-kind="cell"'
                    drawn.append(svg.box(x, y + inset, self.width, self.height - 2 * inset, look, show(value)))
                else:
                    look = f'{svg.fill(role, SHADE * strength)} stroke="{GRID}"'
                    drawn.append(svg.box(x, y, self.width, self.height, look))
                    drawn.append(svg.text(x + self.width / 2, y + 18.5, show(value), 13, kind="cell"))
        if self.shaded:
            drawn.append(self.frame(colour=GRID, thick=1))
        for at in [at for at, j in enumerate(self.across) if j is None]:
            x, y = self.left + (at + 0.5) * self.width, (self.top + self.bottom) / 2
            drawn.append(svg.text(x, y + 4, "⋯", 14, colour=MUTED))
        for at in [at for at, i in enumerate(self.down) if i is None]:
            x, y = (self.left + self.right) / 2, self.top + (at + 0.5) * self.height
            drawn.append(svg.text(x, y + 4, "⋮", 14, colour=MUTED))
        return "".join(drawn)

    def frame(
        self, i: int | None = None, j: int | None = None, span: int = 1, colour: str = INK, thick: int = 3
    ) -> str:
        """A frame around row i, column j (and the next ones, `span` in all), one cell, or everything."""
        x, width = (self.left, self.right - self.left) if j is None else (self.x[j], self.width * span)
        y, height = (self.top, self.bottom - self.top) if i is None else (self.y[i], self.height)
        return svg.box(x, y, width, height, f'fill="none" stroke="{colour}" stroke-width="{thick}"')

    def bars(self) -> str:
        """Below a single row: a bar for each cell, 44 pixels for the deepest shade."""
        tall = {j: 44 * min(1.0, abs(float(self.m.values[0, j])) / self.full) for j in self.columns}
        inset, wide, look = 0.2 * self.width, 0.6 * self.width, svg.fill(self.m.role, 1)
        return "".join(svg.box(self.x[j] + inset, self.bottom + 4, wide, tall[j], look) for j in self.columns)


def _block(
    m: Matrix, row: int | None = None, column: int | None = None, sign: str = "", bars: bool = False, group: int = 0,
    **layout,
) -> str:  # fmt: skip
    """One matrix as an SVG of its natural size that scrolls in itself where the page is narrower."""
    grid = _Grid(m, row, column, **layout)
    shape, colour = f"{m.values.shape[0]} × {m.values.shape[1]}", css_colour(m.role)
    parts = [
        f'<text x="2" y="15" font-size="14" font-weight="700" fill="{colour}" data-kind="name">{escape(m.name)}'
        f'<tspan dx="8" font-size="13" font-weight="400" fill="{MUTED}">{shape}</tspan></text>',
        grid.labels(),
        grid.cells(),
    ]
    for start in range(0, m.values.shape[1], group) if group else ():
        if all(j in grid.x for j in range(start, start + group)):
            parts.append(grid.frame(j=start, span=group, thick=2))
    if row is not None or column is not None:
        both = row is not None and column is not None  # the cell where a row and a column meet
        parts.append(grid.frame(row, column, colour=INK if both else colour))
    parts += [grid.bars()] * bars
    overhang = 0.35 * grid.longest + 7 - grid.width / 2 if grid.turned else 2
    width = max(grid.right + max(2, overhang), svg.width(m.name, 14, bold=True) + svg.width(shape, 13) + 12)
    missing = [
        f"{count - len(drawn)} of {count} {kind} in the middle are left out ({mark})."
        for kind, mark, drawn, count in zip(
            ("rows", "columns"), "⋮⋯", (grid.rows, grid.columns), m.values.shape, strict=True
        )
        if len(drawn) < count
    ]
    least = width * 11 / grid.size  # text shrinks to 11 pixels before the picture scrolls
    reach = f'tabindex="0" role="group" aria-label="{escape(m.name)}, scrolls sideways" ' if least > 280 else ""
    across, down = map(svg.coordinate, (width, grid.bottom + (53 if bars else 3)))
    html = (
        f'<div {reach}style="overflow-x:auto;overflow-y:hidden;max-width:100%;flex:none">'
        f'<svg width="{across}" viewBox="0 0 {across} {down}" role="img" '
        f'aria-label="{escape(repr(m))}" style="display:block;height:auto;max-width:100%;min-width:{least:.0f}px">'
        f"{''.join(parts)}</svg>"
        + f'<div style="font-size:12px;color:{MUTED}">{" ".join(missing)}</div>' * bool(missing)
        + "</div>"
    )
    return svg.signed(sign, html)


def _page(blocks: Sequence[str], drawn: Sequence[Matrix], note: str = "", down: bool = False) -> str:
    """The whole picture: its blocks beside or, on a narrow page, below each other, and a sentence under them."""
    if any(map(_shaded, drawn)):
        note += " Where numbers have no room, a stronger shade is a larger number and a thin bar a negative one."
    text = f'<div style="margin-top:10px;font-size:14px;overflow-wrap:anywhere">{escape(note)}</div>' * bool(note)
    return (
        f'<div style="background:{PAPER};color:{INK};padding:8px min(8px,1vw);border-radius:6px;'
        f'font-family:{FONT};line-height:1.4;font-variant-numeric:tabular-nums">{svg.flow(blocks, down)}{text}</div>'
    )

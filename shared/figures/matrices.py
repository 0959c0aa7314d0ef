"""Pictures of matrices and of the steps of attention, drawn from the arrays of a lab and nothing
else.

A `Matrix` is an array with a name, a role and labels, and shows itself; the functions set several
side by side and mark what belongs together. Each checks its arithmetic first: a picture that would
be wrong is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from shared.colours import LIGHTER, ROLES, below_zero, css_colour

from . import svg
from .picture import Picture, index_of, matrix_of, numbers, shading, words_of
from .svg import FONT, GRID, INK, MUTED, PAPER

# rows and columns up to which the cells carry their numbers; beyond, shades alone
MOST_NUMBERS = (12, 10)
MOST_CELLS = 100  # rows or columns: a picture of more would make the page slow
# opacity below a number, at most: the number keeps a contrast of 4.5:1
# (tests/quick/test_matrices.py)
SHADE = 0.42
TOLERANCE = 1e-4  # of the largest entry: float32 differs by less, a wrong formula by more


@dataclass(repr=False, eq=False)
class Matrix:
    """An array with its name, its role and its labels; as the last value of a cell it draws itself.

    Args:
        values: (rows, columns), NumPy array, tensor or nested list. A vector is given as a row,
            `x[None, :]`, or as a column, `x[:, None]`.
        name: the title above the grid.
        role: one of `ROLES`; it chooses the colour.
        rows, columns: a label for each, often the words of the sentence.
        full: the number with the deepest shade; by default the largest in the array, for weights 1.

    Raises:
        ValueError: no real numbers, not two dimensions, no entries or more than 100 rows or
            columns, NaN or infinity, labels that do not match the shape, no such role.
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
            raise ValueError(
                f"{self.role!r} is no role of the course; choose one of {', '.join(ROLES)}."
            )
        self.values = matrix_of(self.values, self.name)
        rows, columns = self.values.shape
        if max(rows, columns) > MOST_CELLS:
            raise ValueError(
                f"{self.name} has the shape {self.values.shape}; a picture has room for "
                f"{MOST_CELLS} rows and columns. "
                "Take a shorter sentence, or draw a part of the matrix."
            )
        if self.rows is not None:
            self.rows = words_of(self.rows, f"rows of {self.name}", rows)
        if self.columns is not None:
            self.columns = words_of(self.columns, f"columns of {self.name}", columns)

    def _repr_html_(self) -> str:
        return _picture([_block(self)], [self]).html

    def __repr__(self) -> str:
        rows, columns = self.values.shape
        i, j = map(int, np.unravel_index(np.argmax(self.values), self.values.shape))
        parts = [f"{self.name}, {rows} by {columns}"]
        parts += [
            f"{kind} {svg.listed(labels)}"
            for kind in ("rows", "columns")
            if (labels := getattr(self, kind))
        ]
        entry = svg.written(self.values)(self.values[i, j])
        place = f"row {svg.named(self.rows, i)}, column {svg.named(self.columns, j)}"
        return "; ".join([*parts, f"largest entry {entry} in {place}"]) + "."


def side_by_side(*matrices: Matrix) -> Picture:
    """Several matrices in a row."""
    return _picture([_block(m) for m in matrices], matrices)


def product(left: Matrix, right: Matrix, result: Matrix, row: int = 0, column: int = 0) -> Picture:
    """left x right = result, with the row, the column and the cell that belong together marked, and
    its sum.

    Args:
        left, right, result: (a, b), (b, c) and (a, c).
        row, column: the row of `left` and the column of `right` that are marked.

    Raises:
        ValueError: shapes that do not fit, a result that is not the product, no such row or column.
    """
    (a, b), (b2, c) = left.values.shape, right.values.shape
    if b != b2:
        raise ValueError(
            f"{left.name} has {b} columns and {right.name} has {b2} rows; a product needs as many "
            f"of the one as of "
            "the other. Does one of them have to be transposed?"
        )
    row, column = (
        index_of(row, a, f"row of {left.name}"),
        index_of(column, c, f"column of {right.name}"),
    )
    _check_equal(result, left.values @ right.values, f"{left.name} × {right.name}")
    blocks = [
        _block(left, row=row),
        _block(right, column=column, sign="×"),
        _block(result, row, column, sign="="),
    ]
    where = f"row {svg.named(left.rows, row)} of {left.name}, "
    where += f"column {svg.named(right.columns, column)} of {right.name}"
    return _picture(
        blocks, [left, right, result], f"{where}: {_sum(left, right, result, row, column)}"
    )


def lookup(table: Matrix, ids: Sequence[int], result: Matrix, row: int = 0) -> Picture:
    """Rows of a table picked by their numbers: result = table[ids], with one picked row marked in
    both.

    Args:
        table: (vocabulary, d_model).
        ids: (tokens,) whole numbers.
        result: (tokens, d_model).
        row: the row of `result` that is marked, with its source.

    Raises:
        ValueError: a result that is not what the table holds there.
    """
    picks = numbers(ids, "ids").astype(int)  # (tokens,)
    row = index_of(row, len(picks), "token of the sentence")
    _check_equal(result, table.values[picks], f"{table.name}[ids]")
    picked = int(picks[row])
    name = svg.named(result.rows, row)
    note = f"{name} has the id {picked}: row {picked} of {table.name} is copied."
    blocks = [_block(table, row=picked), _block(result, row=row, sign="→")]
    return _picture(blocks, [table, result], note)


def softmax_row(
    scores: Any, weights: Any, words: Sequence[Any], asking: int = 0, scale: float = 1.0
) -> Picture:
    """One row of scores before and after weights = softmax(scores / scale), a bar below each
    weight.

    Args:
        scores, weights: (tokens,), one for each word that is looked at.
        words: the words of the sentence.
        asking: the index of the query token.
        scale: what the scores are divided by, sqrt(d_k) (Vaswani et al. 2017, section 3.2.1).

    Raises:
        ValueError: weights that are not the softmax of the scaled scores, lengths that differ.
    """
    asking = index_of(asking, len(words), "word")
    asker = [words[asking]]
    before = Matrix(_row(scores, "scores"), "scores", "score", asker, words)
    scaled = Matrix(before.values / scale, "scaled scores", "score", asker, words)
    after = Matrix(_row(weights, "weights"), "weights", "weight", asker, words)
    exponentials = np.exp(scaled.values - scaled.values.max())
    _check_equal(after, exponentials / exponentials.sum(), "the softmax of the scaled scores")
    drawn = [before, scaled, after]
    blocks = [
        _block(before, aligned=drawn),
        _block(scaled, aligned=drawn, sign=f"↓ ÷ {svg.short(scale)}", named_columns=False),
        _block(after, aligned=drawn, sign="↓ softmax", named_columns=False, bars=True),
    ]
    note = f"The weights add up to {svg.written(after.values)(after.values.sum())}."
    return _picture(blocks, drawn, note, down=True)


def weighted_sum(weights: Any, values: Matrix, context: Any, asking: int = 0) -> Picture:
    """The context vector of one word as the sum of all value rows, each times its weight.

    Args:
        weights: (tokens,), one row of attention weights.
        values: (tokens, d_v) with the words as rows.
        context: (d_v,).
        asking: the index of the query token.

    Raises:
        ValueError: weighted rows that do not add up to the context vector, lengths that differ.
    """
    words = values.rows or range(len(values.values))
    asking = index_of(asking, len(words), "word")
    shares = Matrix(_row(weights, "weights").T, "weights", "weight", words)  # (tokens, 1)
    full = float(np.abs(values.values).max())
    weighted = Matrix(
        shares.values * values.values, "weighted values", "value", words, values.columns, full
    )
    total = Matrix(
        _row(context, "context"), "context vector", "output", [words[asking]], values.columns
    )
    _check_equal(
        total, weighted.values.sum(axis=0, keepdims=True), "the sum of the weighted values"
    )
    stack = [
        _block(weighted, aligned=[weighted, total]),
        _block(total, aligned=[weighted, total], sign="↓ add the rows"),
    ]
    blocks = [_block(shares), _block(values, sign="×"), svg.signed("=", svg.flow(stack, down=True))]
    return _picture(blocks, [shares, values, weighted, total])


def attention_over(words: Sequence[str], weights: Any, asking: int) -> Picture:
    """The sentence with one row of attention laid over it: shade, bar and number of each word show
    its weight.

    Args:
        words, weights: one weight for each word of the sentence, (tokens,).
        asking: the index of the query token; it is framed.

    Raises:
        ValueError: weights that are negative or do not add up to 1, lengths that differ.
    """
    row = Matrix(_row(weights, "weights"), "weights", "weight", None, words).values[0]  # (tokens,)
    asking = index_of(asking, len(words), "word")
    if row.min() < 0 or abs(row.sum() - 1) > TOLERANCE:
        raise ValueError(
            f"The weights add up to {row.sum():.4f}; attention weights are positive and add up to "
            f"1."
        )
    show, colour, tokens = svg.written(row), css_colour("weight"), []
    for i, (name, weight) in enumerate(zip(svg.numbered(words), row, strict=True)):
        share = 100 * weight / row.max()
        frame = (
            f"border:2px solid {INK};font-weight:700"
            if i == asking
            else "border:2px solid transparent"
        )
        tokens.append(
            f"<div "
            f'style="max-width:100%;text-align:center;font-size:12px;print-color-adjust:exact">'
            f'<div style="padding:2px '
            f"6px;font-size:15px;border-radius:4px;overflow-wrap:anywhere;{frame};"
            f"background:color-mix(in srgb,{colour} "
            f'{SHADE * share:.0f}%,transparent)">{escape(name)}</div>'
            f'<div style="height:5px;margin:3px 3px 1px;border-radius:2px;'
            f"background:linear-gradient(to right,{colour} {share:.1f}%,{GRID} "
            f'{share:.1f}%)"></div>'
            f"{show(weight)}</div>"
        )
    largest = f"{show(row.max())}, is that of {svg.named(words, row.argmax())}"
    note = f"Framed: {svg.named(words, asking)}, the query token. The largest weight, {largest}."
    return _picture(
        [f'<div dir="auto" style="max-width:100%">{svg.flow(tokens, gap=2)}</div>'], [], note
    )


def split_heads(joined: Matrix, num_heads: int) -> Picture:
    """The split into heads, `x.view(tokens, num_heads, head_dim).transpose(0, 1)`: groups of
    columns, one a head.

    Args:
        joined: (tokens, num_heads * head_dim).
        num_heads: number of heads (Vaswani et al. 2017, section 3.2.2).
    """
    tokens, d_model = joined.values.shape
    head_dim = d_model // num_heads
    # (num_heads, tokens, head_dim)
    heads = joined.values.reshape(tokens, num_heads, head_dim).transpose(1, 0, 2)
    full = joined.full or float(np.abs(joined.values).max())
    groups = [
        joined.columns and joined.columns[start : start + head_dim]
        for start in range(0, d_model, head_dim)
    ]
    parts = [
        Matrix(head, f"head {h}", joined.role, joined.rows, group, full)
        for h, (head, group) in enumerate(zip(heads, groups, strict=True))
    ]
    blocks = [
        _block(joined, group=head_dim),
        *(_block(part, sign="→" * (part is parts[0])) for part in parts),
    ]
    note = (
        f"Every token keeps its row in every head. Of its {d_model} columns, head 0 takes the "
        f"first {head_dim}, "
        f"each further head the next {head_dim}."
    )
    return _picture(blocks, [joined, *parts], note)


# Checks


def _check_equal(drawn: Matrix, expected: np.ndarray, what: str) -> None:
    allowed = TOLERANCE * max(1.0, float(np.abs(expected).max()))
    if drawn.values.shape != expected.shape or np.abs(drawn.values - expected).max() > allowed:
        raise ValueError(f"{drawn.name} is not {what}, so the picture would be wrong.")


def _row(vector: Any, name: str) -> np.ndarray:
    array = numbers(vector, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has the shape {array.shape}; give one row, such as {name}[1].")
    return array[None, :]  # (1, tokens)


def _sum(left: Matrix, right: Matrix, result: Matrix, row: int, column: int) -> str:
    """The marked entry of a product as a sum, with the numbers as they are written in the cells."""
    show_left, show_right, show = (svg.written(m.values) for m in (left, right, result))
    a, b, answer = left.values[row], right.values[:, column], result.values[row, column]
    factors = [(show_left(x), show_right(y)) for x, y in zip(a, b, strict=True)]
    terms = [
        "·".join(f"({text})" if text.startswith("−") else text for text in pair) for pair in factors
    ]
    if len(terms) > 8:
        terms = [*terms[:3], f"… {len(terms) - 6} more …", *terms[-3:]]
    rounded = a.round(2) @ b.round(2)  # rounded numbers only nearly give the answer
    sign = "=" if abs(rounded - answer.round(2)) < 0.00501 else "≈"
    return f"{' + '.join(terms)} {sign} {show(answer)}"


# Drawing


def _shaded(m: Matrix) -> bool:
    return any(size > most for size, most in zip(m.values.shape, MOST_NUMBERS, strict=True))


def _cell_width(m: Matrix) -> float:
    if _shaded(m):
        return 16 if m.columns else 8
    show = svg.written(m.values)
    return max(26, round(max(svg.width(show(v), 13) for v in m.values.flat)) + 2)


def _label_width(m: Matrix, bold: bool = False) -> float:
    return svg.longest(svg.numbered(m.rows), 11 if _shaded(m) else 13, bold) + 8 if m.rows else 0


class _Grid:
    """Where everything of one drawn matrix is, in pixels, and the pieces of its SVG."""

    def __init__(
        self, m: Matrix, row: int | None, column: int | None, named_columns: bool,
        aligned: Sequence[Matrix]
    ) -> None:  # fmt: skip
        self.m, self.marked_row, self.marked_column = m, row, column
        self.shaded = _shaded(m)
        self.size, self.height = (11, 16) if self.shaded else (13, 28)
        self.width = max(map(_cell_width, aligned))
        self.row_labels = svg.numbered(m.rows or ())
        self.column_labels = svg.numbered(m.columns or ()) if named_columns else []
        self.longest = svg.longest(self.column_labels, self.size, bold=column is not None)
        self.turned = self.longest > self.width - 4
        self.top = (
            24 if not self.column_labels else 44 if not self.turned else 36 + 0.94 * self.longest
        )
        self.left = 2 + max(_label_width(each, bold=row is not None) for each in aligned)
        self.bottom, self.right = self.y(len(m.values)), self.x(m.values.shape[1])
        self.full = m.full or (1.0 if m.role == "weight" else None)

    def x(self, column: float) -> float:
        return self.left + column * self.width

    def y(self, row: float) -> float:
        return self.top + row * self.height

    def labels(self) -> str:
        drawn = []
        for i, label in enumerate(self.row_labels):
            y, bold = self.y(i + 0.5) + self.size * 0.36, i == self.marked_row
            drawn.append(svg.text(self.left - 8, y, label, self.size, "end", bold=bold, kind="row"))
        anchor, turn = ("start", -70) if self.turned else ("middle", 0)
        for j, label in enumerate(self.column_labels):
            x, bold = self.x(j + 0.5) + 3 * self.turned, j == self.marked_column
            drawn.append(
                svg.text(
                    x, self.top - 6, label, self.size, anchor, bold=bold, turn=turn, kind="column"
                )
            )
        return "".join(drawn)

    def cells(self) -> str:
        show, drawn = svg.written(self.m.values), []
        shades = shading(self.m.values, self.full)
        for (i, j), value in np.ndenumerate(self.m.values):
            x, y, shade = self.x(j), self.y(i), float(shades[i, j])
            role, strength = (
                (self.m.role, shade) if shade >= 0 else (below_zero(self.m.role), -LIGHTER * shade)
            )
            if self.shaded:
                # a thin bar, so that the sign shows without number and colour
                inset = 6 if value < 0 else 0
                look = f'{svg.fill(role, strength)} data-kind="cell"'
                drawn.append(
                    svg.box(x, y + inset, self.width, self.height - 2 * inset, look, show(value))
                )
            else:
                look = f'{svg.fill(role, SHADE * strength)} stroke="{GRID}"'
                drawn.append(svg.box(x, y, self.width, self.height, look))
                drawn.append(svg.text(x + self.width / 2, y + 18.5, show(value), 13, kind="cell"))
        if self.shaded:
            drawn.append(self.frame(colour=GRID, thick=1))
        return "".join(drawn)

    def frame(
        self,
        i: int | None = None,
        j: int | None = None,
        span: int = 1,
        colour: str = INK,
        thick: int = 3,
    ) -> str:
        """A frame around row i, column j (and the next ones, `span` in all), one cell, or
        everything.
        """
        x, width = (
            (self.left, self.right - self.left) if j is None else (self.x(j), self.width * span)
        )
        y, height = (self.top, self.bottom - self.top) if i is None else (self.y(i), self.height)
        return svg.box(x, y, width, height, f'fill="none" stroke="{colour}" stroke-width="{thick}"')

    def bars(self) -> str:
        """Below a single row: a bar for each cell, 44 pixels for the deepest shade."""
        inset, wide, look = 0.2 * self.width, 0.6 * self.width, svg.fill(self.m.role, 1)
        tall = 44 * np.abs(shading(self.m.values, self.full))[0]
        return "".join(
            svg.box(self.x(j) + inset, self.bottom + 4, wide, high, look)
            for j, high in enumerate(tall)
        )


def _block(
    m: Matrix, row: int | None = None, column: int | None = None, sign: str = "",
    bars: bool = False, group: int = 0,
    named_columns: bool = True, aligned: Sequence[Matrix] = (),
) -> str:  # fmt: skip
    """One matrix as an SVG of its natural size that scrolls in itself where the page is narrower.

    Args:
        row, column: what is framed; with both, the cell where they meet.
        sign: what is written before the matrix.
        bars: a bar below each cell of a single row.
        group: how many columns at a time are framed.
        aligned: matrices whose cells are below each other, this one among them.
    """
    grid = _Grid(m, row, column, named_columns, aligned or [m])
    shape, colour = f"{m.values.shape[0]} × {m.values.shape[1]}", css_colour(m.role)
    parts = [
        f'<text x="2" y="15" font-size="14" font-weight="700" fill="{colour}" '
        f'data-kind="name">{escape(m.name)}'
        f'<tspan dx="8" font-size="13" font-weight="400" fill="{MUTED}">{shape}</tspan></text>',
        grid.labels(),
        grid.cells(),
    ]
    if group:
        parts += [
            grid.frame(j=start, span=group, thick=2) for start in range(0, m.values.shape[1], group)
        ]
    if row is not None or column is not None:
        both = row is not None and column is not None
        parts.append(grid.frame(row, column, colour=INK if both else colour))
    parts += [grid.bars()] * bars
    overhang = 0.35 * grid.longest + 7 - grid.width / 2 if grid.turned else 2
    width = max(
        grid.right + max(2, overhang), svg.width(m.name, 14, bold=True) + svg.width(shape, 13) + 12
    )
    least = width * 11 / grid.size  # text shrinks to 11 pixels before the picture scrolls
    reach = (
        f'tabindex="0" role="group" aria-label="{escape(m.name)}, scrolls sideways" '
        if least > 280
        else ""
    )
    across, down = map(svg.coordinate, (width, grid.bottom + (53 if bars else 3)))
    html = (
        f'<div {reach}style="overflow-x:auto;overflow-y:hidden;max-width:100%;flex:none">'
        f'<svg width="{across}" viewBox="0 0 {across} {down}" role="img" '
        f'aria-label="{escape(repr(m))}" '
        f'style="display:block;height:auto;max-width:100%;min-width:{least:.0f}px">'
        f"{''.join(parts)}</svg></div>"
    )
    return svg.signed(sign, html)


def _picture(
    blocks: Sequence[str], drawn: Sequence[Matrix], note: str = "", down: bool = False
) -> Picture:
    """Blocks beside or, on a narrow page, below each other, and a sentence under them; in words,
    the same matrices.
    """
    alt = " ".join([*map(repr, drawn), note]).strip()
    if any(map(_shaded, drawn)):
        note += " Where numbers have no room, a stronger shade is a larger number and a thin bar "
        note += "a negative one."
    text = (
        f'<div style="margin-top:10px;font-size:14px;overflow-wrap:anywhere">{escape(note)}</div>'
        * bool(note)
    )
    return Picture(
        f'<div style="background:{PAPER};color:{INK};padding:8px min(8px,1vw);border-radius:6px;'
        f'font-family:{FONT};line-height:1.4;font-variant-numeric:tabular-nums">'
        f"{svg.flow(blocks, down)}{text}</div>",
        alt,
    )

"""Pictures of matrices and of the steps of attention, drawn from the arrays of a lab and nothing
else.

A `Matrix` is an array with a name, a role and labels, and shows itself; the functions set several
side by side and mark what belongs together. Each checks its arithmetic first: a picture that would
be wrong is refused.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from shared.colours import LIGHTER, ROLES, below_zero, css_colour

from .picture import Picture, index_of, matrix_of, numbers, shading, words_of
from .svg import FONT, GRID, INK, MUTED, PAPER

# rows and columns up to which the cells carry their numbers; beyond, shades alone
MOST_NUMBERS = (12, 10)
MOST_CELLS = 100  # rows or columns: a picture of more would make the page slow
# opacity below a number, at most: the number keeps a contrast of 4.5:1
# (tests/quick/test_matrices.py)
SHADE = 0.42
LABEL = "max-width:120px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
TOLERANCE = 1e-4  # of the largest entry: float32 differs by less, a wrong formula by more


@dataclass(repr=False, eq=False)
class Matrix:
    """An array with its name, its role and its labels; as the last value of a cell it draws itself.

    Args:
        values: (rows, columns), NumPy array, tensor or nested list. A vector is given as a row,
            `x[None, :]`, or as a column, `x[:, None]`.
        name: the title above the grid.
        role: one of `ROLES`; it chooses the color.
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
        return _picture([_grid(self)], [self]).html

    def __repr__(self) -> str:
        rows, columns = self.values.shape
        i, j = map(int, np.unravel_index(np.argmax(self.values), self.values.shape))
        parts = [f"{self.name}, {rows} by {columns}"]
        parts += [
            f"{kind} {_listed(labels)}"
            for kind in ("rows", "columns")
            if (labels := getattr(self, kind))
        ]
        entry = _written(self.values)(self.values[i, j])
        place = f"row {_named(self.rows, i)}, column {_named(self.columns, j)}"
        return "; ".join([*parts, f"largest entry {entry} in {place}"]) + "."


def side_by_side(*matrices: Matrix) -> Picture:
    """Several matrices in a row."""
    return _picture([_grid(m) for m in matrices], matrices)


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
            f"{left.name} has {b} columns and {right.name} has {b2} rows; for a product, "
            "the two numbers must be equal. Should one of the matrices be transposed?"
        )
    row = index_of(row, a, f"row of {left.name}")
    column = index_of(column, c, f"column of {right.name}")
    _check_equal(result, left.values @ right.values, f"{left.name} × {right.name}")
    blocks = [
        _grid(left, row=row), _signed("×", _grid(right, column=column)),
        _signed("=", _grid(result, row=row, column=column)),
    ]  # fmt: skip
    where = f"row {_named(left.rows, row)} of {left.name}, column {_named(right.columns, column)}"
    note = f"{where} of {right.name}: {_sum(left, right, result, row, column)}"
    return _picture(blocks, [left, right, result], note)


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
        _grid(before, beside=drawn),
        _signed(f"↓ ÷ {_short(scale)}", _grid(replace(scaled, columns=None), beside=drawn)),
        _signed("↓ softmax", _grid(replace(after, columns=None), beside=drawn, bars=True)),
    ]
    note = f"The weights add up to {_written(after.values)(after.values.sum())}."
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
    row = _row(context, "context")  # (1, d_v)
    total = Matrix(row, "context vector", "output", [words[asking]], values.columns)
    _check_equal(
        total, weighted.values.sum(axis=0, keepdims=True), "the sum of the weighted values"
    )
    stack = [
        _grid(weighted, beside=[total]),
        _signed("↓ add the rows", _grid(total, beside=[weighted])),
    ]
    blocks = [_grid(shares), _signed("×", _grid(values)), _signed("=", _flow(stack, down=True))]
    return _picture(blocks, [shares, values, weighted, total])


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
    blocks = [_grid(joined, group=head_dim), _signed("→", _flow([_grid(part) for part in parts]))]
    note = (
        f"Every token keeps its row in every head. Of its {d_model} columns, head 0 takes the "
        f"first {head_dim}, each further head the next {head_dim}."
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
    show_left, show_right, show = (_written(m.values) for m in (left, right, result))
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


# Words


def _written(values: np.ndarray) -> Callable[[float], str]:
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


def _short(value: float) -> str:
    root = round(value**2)
    is_root = root > 1 and abs(value - root**0.5) < 1e-6 and value != round(value)
    return f"√{root}" if is_root else f"{value:.4g}"


def _numbered(labels: Sequence[str] | None) -> list[str]:
    """Repeated labels get their turn, “the #1”, “the #2”, so that a picture tells them apart."""
    total, seen, names = Counter(labels or ()), Counter[str](), []
    for label in labels or ():
        seen[label] += 1
        names.append(f"{label} #{seen[label]}" if total[label] > 1 else label)
    return names


def _named(labels: Sequence[str] | None, index: int) -> str:
    """How a sentence names a row, a column or a word: by its label, else by its index."""
    return f"“{_numbered(labels)[index]}”" if labels else str(index)


def _listed(labels: Sequence[str]) -> str:
    return ", ".join([*labels[:5], "…", *labels[-5:]] if len(labels) > 12 else labels)


# Drawing


def _shaded(m: Matrix) -> bool:
    return any(size > most for size, most in zip(m.values.shape, MOST_NUMBERS, strict=True))


def _item(kind: str, area: str, style: str, text: str = "") -> str:
    """One piece of a grid. A label that has no room ends in dots, and pointing at it shows it."""
    more = f' dir="auto" title="{escape(text)}"' if len(text) > 14 else ""
    return f'<div data-kind="{kind}"{more} style="grid-area:{area};{style}">{escape(text)}</div>'


def _grid(
    m: Matrix, row: int | None = None, column: int | None = None, group: int = 0,
    beside: Sequence[Matrix] = (), bars: bool = False,
) -> str:  # fmt: skip
    """One matrix as a CSS grid: labels in its first row and column, a cell for each number.

    Args:
        row, column: what is framed; with both, the cell where they meet.
        group: how many columns at a time are framed.
        beside: matrices whose columns are to be below this one's.
        bars: a bar below each cell of a single row.
    """
    (height, width), shaded, colour = m.values.shape, _shaded(m), css_colour(m.role)
    aligned, bold = [m, *beside], "font-weight:700"
    cell = 16 if m.columns else 8  # pixels, without numbers
    letters = max(len(_written(each.values)(x)) for each in aligned for x in each.values.flat)
    across = f"{cell}px" if shaded else f"minmax(max(2em,{letters + 0.5}ch),max-content)"
    parts = []
    # Equally wide; a set would have another order in every process.
    for label in dict.fromkeys(label for each in aligned for label in _numbered(each.rows)):
        parts.append(
            _item("width", "1/1", f"{LABEL};visibility:hidden;height:0;padding-right:8px", label)
        )
    for i, label in enumerate(_numbered(m.rows)):
        style = f"{LABEL};text-align:right;padding-right:8px;{bold if i == row else ''}"
        parts.append(_item("row", f"{i + 2}/1", style, label))
    names = _numbered(m.columns)
    turned = max(map(len, names), default=0) > (2 if shaded else letters)
    turn = (
        "writing-mode:vertical-rl;transform:rotate(180deg);max-height:120px;padding:5px 0;" * turned
    )
    for j, label in enumerate(names):
        style = f"{LABEL};{turn}align-self:end;justify-self:center;{bold if j == column else ''}"
        parts.append(_item("column", f"1/{j + 2}", style, label))
    show, full = _written(m.values), m.full or (1.0 if m.role == "weight" else None)
    shades = shading(m.values, full)
    for (i, j), value in np.ndenumerate(m.values):
        shade, role = float(shades[i, j]), m.role
        if shade < 0:  # another hue, and paler
            shade, role = -LIGHTER * shade, below_zero(m.role)
        deep = round(100 * shade * (1 if shaded else SHADE))
        style = f"background:color-mix(in srgb,{css_colour(role)} {deep}%,transparent);"
        if shaded:  # a thin bar, so that the sign shows without number and color
            parts.append(
                _item("cell", f"{i + 2}/{j + 2}", style + "margin:6px 0;" * bool(value < 0))
            )
            continue
        style += f"border:1px solid {GRID};margin:0 -1px -1px 0"
        parts.append(_item("cell", f"{i + 2}/{j + 2}", style, show(value)))
    for j, share in enumerate(np.abs(shades[0])) if bars else ():
        style = f"height:{44 * share:.1f}px;margin:4px 20%;background:{colour}"
        parts.append(_item("bar", f"{height + 2}/{j + 2}", style))

    def frame(rows: tuple[int, int], columns: tuple[int, int], look: str) -> str:
        (top, bottom), (left, right) = rows, columns
        area = f"{top + 2}/{left + 2}/{bottom + 2}/{right + 2}"
        return _item("frame", area, f"border:{look};margin:-1px -2px -2px -1px;z-index:1")

    for start in range(0, width, group) if group else ():
        parts.append(frame((0, height), (start, start + group), f"2px solid {INK}"))
    if row is not None or column is not None:
        rows = (0, height) if row is None else (row, row + 1)
        columns = (0, width) if column is None else (column, column + 1)
        line = colour if row is None or column is None else INK
        parts.append(frame(rows, columns, f"3px solid {line}"))
    if shaded:
        parts.append(frame((0, height), (0, width), f"1px solid {GRID}"))
    wide = width * (cell if shaded else 8 * letters) + 8 * max(map(len, m.rows or [""])) > 280
    reach = f'tabindex="0" role="group" aria-label="{escape(m.name)}, scrolls sideways" ' * wide
    columns_of = f"grid-template-columns:max-content repeat({width},{across})"
    rows_of = f"grid-template-rows:auto repeat({height},{'16px' if shaded else '2.1em'})"
    return (
        f'<div {reach}style="overflow-x:auto;max-width:100%;padding:2px"><div role="img" '
        f'aria-label="{escape(repr(m))}" style="width:max-content">'
        f'<div style="font-size:14px"><b data-kind="name" style="color:{colour}">'
        f"{escape(m.name)}</b>"
        f' <span data-kind="shape" style="color:{MUTED}">{height} × {width}</span></div>'
        f'<div style="display:grid;{columns_of};{rows_of};align-items:stretch;text-align:center;'
        f"line-height:{'16px' if shaded else '2em'};font-size:"
        f'{"11px" if shaded else "clamp(11px,3.6vw,13px)"}">{"".join(parts)}</div></div></div>'
    )


def _signed(sign: str, block: str) -> str:
    """A block with the sign before it: they go to the next line together."""
    above = f'<div style="font-size:18px;color:{MUTED};flex:none">{escape(sign)}</div>'
    return _flow([above, block], down=sign.startswith("↓"))


def _flow(blocks: Sequence[str], down: bool = False) -> str:
    way = "column;align-items:flex-start" if down else "row;flex-wrap:wrap;align-items:center"
    style = f"display:flex;flex-direction:{way};gap:10px;max-width:100%"
    return f'<div style="{style}">{"".join(blocks)}</div>'


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
    style = "margin-top:10px;font-size:14px;overflow-wrap:anywhere"
    text = f'<div style="{style}">{escape(note)}</div>' * bool(note)
    return Picture(
        f'<div class="matrices" style="background:{PAPER};color:{INK};padding:8px min(8px,1vw);'
        f"border-radius:6px;font-family:{FONT};line-height:1.4;font-variant-numeric:tabular-nums;"
        f'print-color-adjust:exact">{_flow(blocks, down)}{text}</div>',
        alt,
    )

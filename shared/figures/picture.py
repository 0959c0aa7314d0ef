"""What every figure needs: numbers from what a lab has at hand, and one way to show HTML as the
output of a cell.

A figure that a reader can point at brings its script along, inlined beside its data, so that it
also works in Colab and in a saved notebook. Scripts that only a page of the site loads lie in
book/_static.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from shared.colours import ROLES

HERE = Path(__file__).parent


@dataclass(frozen=True, repr=False)
class Picture:
    """Something to look at: HTML for a notebook, and the same in words for a terminal and those who
    do not see.
    """

    html: str
    alt: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.alt


def numbers(values, name: str = "This array") -> np.ndarray:
    """An array of floats from a tensor wherever it lives, a NumPy array, or lists; ValueError for
    anything else.
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu().double()  # NumPy knows no bfloat16
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} contains something other than real numbers, or rows of different lengths; "
            "a figure needs numbers, equally many in each row."
        )
    return array.astype(float)


def matrix_of(values, name: str) -> np.ndarray:
    """A matrix (rows, columns) of finite numbers from what `numbers` takes; ValueError for anything
    else.
    """
    array = numbers(values, name)
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"{name} has the shape {array.shape}; give a matrix with at least one row and one "
            "column. A vector is a row, x[None, :], or a column, x[:, None]."
        )
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        i, j = wrong[0]
        raise ValueError(
            f"{name} has {array[i, j]} in row {i}, column {j}; only finite numbers can be drawn. "
            "Look for a division by zero, or for masked scores without a softmax."
        )
    return array


def shading(values: np.ndarray, full: float | None = None) -> np.ndarray:
    """How deep the shade of each number is, from -1 (lowest) by way of 0 (paper) to 1.

    Positive numbers are measured by the largest, or by `full`; negative ones by the larger of that
    and the lowest. Where all are negative, shades run from the lowest, which is paper, to the
    highest.
    """
    low, high = float(values.min()), float(values.max())
    if high < 0:
        return (values - low) / ((high - low) or 1.0)
    full = full or high or -low or 1.0
    return np.clip(np.where(values < 0, values / max(full, -low), values / full), -1, 1)


def words_of(labels: Sequence[Any], what: str, count: int) -> list[str]:
    """The labels as a list of text, one for each of `count` things; TypeError for one string in
    place of a list.
    """
    if isinstance(labels, str):
        raise TypeError(
            f"The words are one string, {labels!r}; give a list of words, such as sentence.split()."
        )
    words = [str(label) for label in labels]
    if len(words) != count:
        raise ValueError(
            f"There are {len(words)} words or labels for {count} {what}; give one for each."
        )
    return words


def index_of(index: int, count: int, what: str) -> int:
    """The index of one of `count` things, counted from the end where it is negative."""
    if index not in range(-count, count):
        raise ValueError(f"There is no {what} with the index {index!r}; choose 0 to {count - 1}.")
    return int(index) % count


def interactive(kind: str, data: dict, table: str, alt: str) -> Picture:
    """A figure that `kind`.js draws from `data`; where no script runs, `table` stands in for it.

    The style sheet of the walk serves all of them; `kind`.css may add to it.
    """

    def text_of(name: str) -> str:
        return (HERE / name).read_text(encoding="utf-8")

    style = text_of("walk.css")
    for role, (light, dark) in ROLES.items():
        style += f".role-{role} {{ --role: var(--role-{role}, {light}); }}\n"
        style += f".dark .role-{role} {{ --role: var(--role-{role}, {dark}); }}\n"
    if kind != "walk":
        style += text_of(f"{kind}.css")
    # An attribute survives every notebook; inside '...' only these three characters could end or
    # change it.
    payload = json.dumps(data | {"style": style}, separators=(",", ":"))
    payload = payload.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;")
    # The second attribute keeps JupyterLab from reading letters that are typed into the figure as
    # its own shortcuts.
    return Picture(
        f'<div class="attention-{kind}" data-lm-suppress-shortcuts="true" '
        f"data-{kind}='{payload}'>\n"
        f"{table}</div>\n<script>\n(() => "
        f"{{\n{text_of('tools.js')}\n{text_of(f'{kind}.js')}}})();\n</script>\n",
        alt,
    )


def still(
    opening: str,
    caption: str,
    columns: Sequence,
    words: Sequence[str],
    cells: np.ndarray,
    digits: int,
) -> str:
    """A plain table, a row for each word, for a page without scripts and a notebook that is not
    trusted yet.
    """
    across = "".join(f'<th scope="col">{escape(str(column))}</th>' for column in columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(word)}</th>'
        + "".join(f"<td>{x:.{digits}f}</td>" for x in row)
        + "</tr>\n"
        for word, row in zip(words, cells, strict=True)
    )
    return (
        f'<p>{opening}</p>\n<div style="overflow-x: auto"><table>\n<caption>{caption}</caption>\n'
        f"<thead><tr><th "
        f'scope="col">word</th>{across}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n'
    )

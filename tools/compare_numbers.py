"""Compares numbers as numbers and all else to the letter: a plugin for nbval, which runs the labs
and reports.

Why: the last bits of a sum of floats depend on the processor, so the last printed place may, too.
The rule:

* A number with a decimal point may differ by one unit in its last place, whether it is printed or
  behind a picture, in the tags of HTML and SVG. Zeros at the end may be left out.
* A whole number is exact. It is a count, an id, a shape or an epoch, and one unit would be a wrong
  count. A lab that rounds a float prints its decimals. Only in a list behind a picture it may be a
  rounded float, as the thousandths of *A pretrained model*, and may differ by one.
* Everything else is compared to the letter: words, labels, the number of lines, nan, stderr,
  scripts, styles. Only blanks count as one, for a column that is set flush right gives them up for
  a sign or a digit. nbval leaves PNG and JPEG alone.
* A cell that cannot hold this, because it shows times, sampled text or what a training ended with,
  is not compared: it has the tag nbval-ignore-output.

As a program this is pytest with the plugin: `python -m tools.compare_numbers --nbval
labs/your_journey/your_journey.ipynb`.
"""

import copy
import os
import re
import sys
from collections.abc import Iterator
from decimal import Decimal

import pytest

if __name__ == "__main__":  # here, since pytest itself wants to be the first that imports nbval
    sys.exit(pytest.main(["-p", "tools.compare_numbers", *sys.argv[1:]]))

from nbval.plugin import IPyNbCell  # noqa: E402

# Not the numbers in 2.13.0, in 2026-11-21 and in x86_64.
PRINTED = re.compile(r"((?<![\w.])[-+\u2212]?(?:\d[\d,]*)?\.\d+(?:e[-+]?\d+)?(?!\w|\.\d))")
BEHIND = re.compile(r"((?<![\w.#])-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w.]))")
# Scripts and styles whole, then tags, whose quoted attributes may hold a ">".
MARKUP = re.compile(
    r"""(<script\b.*?</script>|<style\b.*?</style>|<[a-zA-Z/!](?:"[^"]*"|'[^']*'|[^'">])*>)""", re.S
)

REMEDY = (
    "That is more than rounding on another processor. Look for what changed it: the lab, `shared`, "
    "a package. If the change is intended, run `make labs LAB={name} AGAIN=1` and look at the "
    "difference."
)
# An output is cut into pieces: (kind, text).
TEXT, NUMBER, DRAWN = "text", "printed number", "number behind the picture"


def pieces(kind_of_output: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield an output's text and numbers in their order, as (kind, text)."""
    is_markup = kind_of_output in ("text/html", "image/svg+xml")
    for part in MARKUP.split(text) if is_markup else [text]:
        if is_markup and part.startswith(("<script", "<style")):
            yield TEXT, part
            continue
        pattern, kind = (BEHIND, DRAWN) if is_markup and MARKUP.match(part) else (PRINTED, NUMBER)
        for place, piece in enumerate(pattern.split(part)):
            yield (kind, piece) if place % 2 else (TEXT, re.sub(" +", " ", piece))


def difference(kind_of_output: str, stored: str, computed: str) -> str:
    """Say how two outputs differ by more than rounding; the empty text when they do not."""
    pairs = [list(pieces(kind_of_output, text)) for text in (stored, computed)]
    before = ""
    for (kind, one), (other_kind, other) in zip(*pairs, strict=False):
        if kind != other_kind or (kind == TEXT and one != other):
            same = len(os.path.commonprefix([one, other]))
            after = (before + one[:same])[-60:]
            stored, computed = one[same:][:60], other[same:][:60]
            return f"the text differs after {after!r}: stored {stored!r}, computed {computed!r}"
        if kind == TEXT:
            before = one
        elif not is_rounding(
            one, other, in_a_list=kind == DRAWN and before.rstrip().endswith(("[", ","))
        ):
            return f"{kind} after {before[-60:]!r}: stored {one}, computed {other}"
    if len(pairs[0]) != len(pairs[1]):
        return f"stored are {len(pairs[0])} pieces of text and numbers, computed {len(pairs[1])}"
    return ""


def is_rounding(stored: str, computed: str, in_a_list: bool = False) -> bool:
    """Say whether two numbers differ by one unit in the last place, at most; whole ones may in a
    list, else not.
    """
    one, other = (
        Decimal(text.replace("\u2212", "-").replace(",", "")) for text in (stored, computed)
    )
    last = min(one.as_tuple().exponent, other.as_tuple().exponent)
    return abs(one - other) <= (Decimal(1).scaleb(last) if last < 0 or in_a_list else 0)


# --- into nbval -----------------------------------------------------------------------------------

_to_the_letter = IPyNbCell.compare_outputs


def compare_outputs(
    cell: IPyNbCell, test: list, ref: list, skip_compare: tuple[str, ...] | None = None
) -> bool:
    """nbval's comparison, after the texts that differ by rounding were made equal. A subclass would
    do it, had nbval a way to use one.
    """
    settled = copy.deepcopy(test)
    for computed, stored in zip(settled, ref, strict=False):
        ours, theirs = (output.get("data", output) for output in (computed, stored))
        is_stdout = stored.get("name") == "stdout"
        for key, text in theirs.items():
            compared = (
                key == "image/svg+xml" or key.startswith("text/") or (key == "text" and is_stdout)
            )
            if not compared or not isinstance(ours.get(key), str):
                continue  # or another sort of output: nbval says so
            if found := difference(key, text, ours[key]):
                cell.comparison_traceback = [f"{key}: {found}.", REMEDY.format(name=cell.path.stem)]
                return False
            ours[key] = text
    return _to_the_letter(cell, settled, ref, skip_compare)


IPyNbCell.compare_outputs = compare_outputs

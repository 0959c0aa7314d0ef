"""Compares numbers as numbers and all else to the letter: a plugin for nbval, which runs the labs and reports.

Why: the last bits of a sum of floats depend on the processor, so the last printed place may, too. The rule:

* A printed number with a decimal point may differ by one unit in its last place, if it keeps its format. When more
  than 5 % of an output's printed numbers differ, and at least two, that is no rounding: red.
* A printed whole number is exact. It is a count, an id, a shape or an epoch, and one unit would be a wrong count. A
  lab that rounds a float prints its decimals.
* A number behind a picture (JSON and coordinates in the tags of HTML and SVG) may differ by one unit in the last
  place that numbers of its kind have, or by one part in 100,000 of the largest of them. Its kind is its key or its
  attribute. Whole numbers are exact there as well, except in lists of JSON: there they are floats, rounded to save
  space, as the thousandths of *A pretrained model*.
* Everything else is compared to the letter: words, labels, the number of lines, nan, stderr, scripts, styles. nbval
  leaves PNG and JPEG alone.

nbval passes a cell that was never executed; here it is red. As a program this is pytest with the plugin:
`python tools/compare_numbers.py --nbval labs/06_your_journey.ipynb`.
"""

import copy
import html
import json
import os
import re
import sys
from collections.abc import Iterator
from decimal import Decimal

import pytest

if __name__ == "__main__":  # here, since pytest itself wants to be the first that imports nbval
    sys.exit(pytest.main(["-p", "compare_numbers", *sys.argv[1:]]))

from nbval.plugin import IPyNbCell  # noqa: E402

SHARE = 0.05  # of an output's printed numbers that may differ in their last place
PART = Decimal("0.00001")  # of the largest number of its kind
# With the blanks before it: a column that is set flush right gives them up for a sign or a digit. Not the numbers in
# 2.13.0, in 2026-11-21 and in x86_64.
PRINTED = re.compile(r"( *(?<![\w.])[-+\u2212]?(?:\d[\d,]*)?\.\d+(?:e[-+]?\d+)?(?!\w|\.\d))")
BEHIND = re.compile(r"((?<![\w.#])-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w.]))")
# Scripts and styles whole, then tags, whose quoted attributes may hold a ">".
MARKUP = re.compile(r"""(<script\b.*?</script>|<style\b.*?</style>|<[a-zA-Z/!](?:"[^"]*"|'[^']*'|[^'">])*>)""", re.S)
ATTRIBUTE = re.compile(r"""([\w:-]+=)("[^"]*"|'[^']*')""")
READ_ALOUD = ("aria-label=", "alt=", "title=")  # printed, for those who hear the page

# An output is cut into pieces: (kind, text). These two kinds, and one for each sort of number behind a picture.
TEXT, NUMBER = "text", "printed number"


def pieces(kind_of_output: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield an output's text and numbers in their order, as (kind, text)."""
    if kind_of_output not in ("text/html", "image/svg+xml"):
        yield from numbers_in(text, PRINTED, NUMBER)
        return
    for part in MARKUP.split(text):
        if not MARKUP.match(part):
            yield from numbers_in(part, PRINTED, NUMBER)
        elif part.startswith(("<script", "<style")):
            yield TEXT, part
        else:
            names = ATTRIBUTE.split(part)  # text, name, value, text, name, value, ..., text
            yield TEXT, names[0]
            for name, value, rest in zip(names[1::3], names[2::3], names[3::3], strict=True):
                yield TEXT, name
                yield from attribute(name, value)
                yield TEXT, rest


def numbers_in(text: str, number: re.Pattern, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the text between numbers, and the numbers, in turn."""
    for place, part in enumerate(number.split(text)):
        yield (kind if place % 2 else TEXT), part


def attribute(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of an attribute's value: JSON by its keys, words that are read aloud, or coordinates."""
    if value[1:2] in ("{", "["):
        try:
            data = json.loads(html.unescape(value[1:-1]), parse_float=Decimal)
        except ValueError:
            pass  # it only looks like JSON
        else:
            yield from inside(data, name.rstrip("="))
            return
    yield from numbers_in(value, *((PRINTED, NUMBER) if name in READ_ALOUD else (BEHIND, name.rstrip("="))))


def inside(data: object, kind: str, listed: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the pieces of JSON data; the kind of a number is the path of keys that leads to it."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield TEXT, key
            yield from inside(value, f"{kind} {key}")
    elif isinstance(data, list):
        yield TEXT, f"{len(data)} in a list"
        for value in data:
            yield from inside(value, kind, listed=True)
    elif isinstance(data, Decimal):
        yield kind, str(data)
    elif isinstance(data, int) and not isinstance(data, bool) and listed:
        yield f"{kind}, rounded", str(data)
    else:
        yield TEXT, repr(data)


def difference(kind_of_output: str, stored: str, computed: str) -> str:
    """Say how two outputs differ by more than rounding; the empty text when they do not."""
    if stored == computed:
        return ""
    pairs = [list(pieces(kind_of_output, text)) for text in (stored, computed)]
    numbers = {}  # by kind, in their order: the text before a number, stored, computed
    before = ""
    for (kind, one), (other_kind, other) in zip(*pairs, strict=False):
        if kind != other_kind or (kind == TEXT and one != other):
            same = len(os.path.commonprefix([one, other]))
            after = (before + one[:same])[-60:]
            return f"the text differs after {after!r}: stored {one[same:][:60]!r}, computed {other[same:][:60]!r}"
        if kind == TEXT:
            before = one
        else:
            numbers.setdefault(kind, []).append((before, one, other))
    if len(pairs[0]) != len(pairs[1]):
        return f"stored are {len(pairs[0])} pieces of text and numbers, computed {len(pairs[1])}"
    for kind, found in numbers.items():
        if kind != NUMBER:
            places = last_places([Decimal(number) for _, *both in found for number in both], kind)
        for count, (before, one, other) in enumerate(found, start=1):
            if one != other and not (is_rounding(one, other) if kind == NUMBER else places(one, other)):
                where = "" if kind == NUMBER else " behind the picture"
                line = before.rsplit("\n", 1)[-1][-60:].strip()
                after = f" after {line!r}" if line else ""
                return f"{kind}{where}, {count} of {len(found)}{after}: stored {one.strip()}, computed {other.strip()}"
    printed = numbers.get(NUMBER, [])
    changed = [(one.strip(), other.strip()) for _, one, other in printed if one != other]
    if len(changed) >= 2 and len(changed) > SHARE * len(printed):
        listed = "; ".join(f"stored {one}, computed {other}" for one, other in changed[:5])
        return f"{len(changed)} of {len(printed)} printed numbers differ in their last place, too many: {listed}"
    return ""


def is_rounding(stored: str, computed: str) -> bool:
    """Say whether two printed numbers have one format and differ by one unit in the last place, at most."""
    texts = [text.strip().replace("\u2212", "-") for text in (stored, computed)]
    one, other = (Decimal(text.replace(",", "")) for text in texts)
    decimals = [len(text.lower().partition("e")[0].partition(".")[2]) for text in texts]
    signed = [text.startswith(("+", "-")) for text in texts]
    blanks = [len(text) - len(text.lstrip(" ")) for text in (stored, computed)]
    return (
        decimals[0] == decimals[1]
        and ("e" in texts[0]) == ("e" in texts[1])
        and (signed[0] == signed[1] or not any(text.startswith("+") for text in texts))
        and (blanks[0] == blanks[1] or len(stored) == len(computed))
        and abs(one - other) <= Decimal(1).scaleb(max(one.as_tuple().exponent, other.as_tuple().exponent))
    )


def last_places(numbers: list[Decimal], kind: str):
    """Return what says whether two numbers behind a picture agree, from all numbers of their kind."""
    shortest = [number.normalize() for number in numbers]
    decimals = max(max(0, -number.as_tuple().exponent) for number in shortest)
    digits = max(len(number.as_tuple().digits) for number in shortest)
    largest = max(abs(number) for number in numbers)

    def agree(stored: str, computed: str) -> bool:
        one, other = Decimal(stored), Decimal(computed)
        size = max(one, other, key=abs).adjusted()
        # Numbers are rounded to as many decimals as the others have, or to as many significant digits.
        unit = max(Decimal(1).scaleb(-decimals), Decimal(1).scaleb(size - digits + 1), PART * largest)
        if not decimals:
            unit = Decimal(kind.endswith(", rounded"))
        return abs(one - other) <= unit

    return agree


# --- into nbval --------------------------------------------------------------------------------------------------

_to_the_letter = IPyNbCell.compare_outputs


def compare_outputs(cell: IPyNbCell, test: list, ref: list, skip_compare: tuple[str, ...] | None = None) -> bool:
    """nbval's comparison, after the texts that differ by rounding were made equal. A subclass would do it, had nbval
    a way to use one."""
    settled = copy.deepcopy(test)
    for computed, stored in zip(settled, ref, strict=False):
        for place, kind in comparable(stored):
            ours, theirs = (output.get("data", output) for output in (computed, stored))
            if not isinstance(ours.get(place), str):
                continue  # another sort of output: nbval says so
            found = difference(kind, theirs[place], ours[place])
            if found:
                cell.comparison_traceback = [f"{kind}: {found}.", remedy(cell)]
                return False
            ours[place] = theirs[place]
    return _to_the_letter(cell, settled, ref, skip_compare)


def comparable(output: dict) -> list[tuple[str, str]]:
    """Return (key, kind) of the texts of an output in which numbers are compared as numbers."""
    if output["output_type"] == "stream":
        return [("text", output["name"])] if output["name"] == "stdout" else []
    texts = {key for key, value in output.get("data", {}).items() if isinstance(value, str)}
    return [(key, key) for key in sorted(texts) if key.startswith("text/") or key == "image/svg+xml"]


def remedy(cell: IPyNbCell) -> str:
    return (
        "That is more than rounding on another processor. Look for what changed it: the lab, `shared`, a package. If "
        f"it is meant, run `make labs LAB={cell.path.name.partition('_')[0]} AGAIN=1` and look at the difference."
    )


IPyNbCell.compare_outputs = compare_outputs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """Run a cell, and turn it red if the stored notebook never executed it."""
    result = yield
    if isinstance(item, IPyNbCell) and item.cell.source.strip() and item.cell.execution_count is None:
        number = item.path.name.partition("_")[0]
        item.raise_cell_error(f"never executed, so nothing is stored: run `make labs LAB={number} AGAIN=1`")
    return result

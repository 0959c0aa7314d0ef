"""What cells show, on a page: printed columns become tables, long lines wrap, and every picture has words.

It also stops the build (warnings are errors) where a figure has no words.
"""

import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)
FEWEST_WORDS = 5  # of a text that says what a picture shows; a file's name or a title has fewer


class _Pictures(HTMLParser):
    """Collects what in a piece of HTML is a picture and has no words, or too few to say what it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.wordless: list[str] = []

    def handle_starttag(self, tag, attributes) -> None:
        given = dict(attributes)
        if tag == "img" and "alt" not in given:
            self.wordless.append("<img> without alt")
        named = given.get("aria-label") or given.get("aria-labelledby") or given.get("aria-hidden") == "true"
        if tag == "svg" and not named:
            self.wordless.append("<svg> without aria-label (or aria-hidden where it only decorates)")
        words = given.get("alt") if tag == "img" else given.get("aria-label") if tag == "svg" else None
        if words and len(words.split()) < FEWEST_WORDS:
            self.wordless.append(f"<{tag}> has the words {words!r}; say in a sentence what it shows")


NUMBER = re.compile(r"[±+-]?[\d.,]+(?:e[+-]?\d+)?%?(?: ± [\d.]+)?")
BRACKETS = re.compile(r"\s*\[[\s\d\[-]|.*(?:tensor|array)\(")  # arrays line up, too, and are no table


def gutters(lines: list[str]) -> list[tuple[int, int]]:
    """Where columns that were printed with spaces part: places that are blank in every line.

    A single blank place parts words, too. So it counts only where all lines leave more room, or most of them do and
    the others go on right behind it, after a colon, with a number or bracket, or as those do.
    """
    width = max(map(len, lines))
    blank = "".join("01"[all(line[place : place + 1] in ("", " ") for line in lines)] for place in range(width))
    begin = min(len(line) - len(line.lstrip()) for line in lines)
    # Two spaces or more; two before a number are its padding, as in "k =  4". No column begins with a colon.
    wide = [set() for _ in lines]
    for places, line in zip(wide, lines, strict=True):
        for run in re.finditer(r"(?<=\S)(?<![a-z=,](?=  \d)) {2,}(?=[^\s:])", line):
            places.update(range(*run.span()))
    found = []
    for start, end in (run.span() for run in re.finditer("1+", blank)):
        on = [line for line in lines if len(line) > end]
        apart = [line for line, places in zip(lines, wide, strict=True) if not places.isdisjoint(range(start, end))]
        firsts = {line[end:].split(" ")[0] for line in apart}
        alike = all(
            line[end] != " "
            and (line[start - 1] == ":" or line[end] in "+-([0123456789" or line[end:].split(" ")[0] in firsts)
            for line in on
        )
        single = end - start == 1 and not (len(apart) > len(lines) / 2 and alike) and len(apart) < len(on)
        inside = any(line[:start].count("(") > line[:start].count(")") for line in on)
        if start > begin and apart and 2 * len(on) > len(lines) and not single and not inside:
            found.append((start, end))
        elif all(re.fullmatch(r": [+-]?[\d.]+(?: {2,}[+-]?[\d.]+)+", line[start - 1 :]) for line in lines):
            found.append((start, end))  # a name, a colon, and then numbers with more room between them
    return found


def printed_table(lines: list[str]) -> str:
    """Lines with common gutters as an HTML table; ValueError where they have none."""
    places = gutters(lines)
    if not places:
        raise ValueError("these lines hold no columns")
    edges = [0, *(end for _, end in places), None]
    rows = [[line[left:right].rstrip() for left, right in zip(edges, edges[1:], strict=False)] for line in lines]
    columns = list(zip(*(row[1:] for row in rows), strict=True))

    def heads(column: tuple[str, ...]) -> bool:  # words above numbers
        return not re.search(r"\d", column[0]) and all(re.search(r"\d", each) for each in column[1:] if each)

    headed = not rows[0][0].strip() or (len(rows) > 2 and all(map(heads, columns)))

    # Columns of numbers alone end at one place, as those of a data frame do.
    figures = [False, *(all(NUMBER.fullmatch(each.strip()) for each in column[headed:] if each) for column in columns)]

    def cell(text: str, row: int, column: int) -> str:
        tag, scope = ("th", ' scope="col"') if headed and row == 0 else ("td", "") if column else ("th", ' scope="row"')
        tag, scope = (tag, scope) if text.strip() else ("td", "")  # a heading of nothing is none
        indent = len(text) - len(text.lstrip()) if column == 0 else 0
        style = f' style="padding-left: {indent}ch"' if indent else ""
        kind = ' class="figure"' if figures[column] else ""
        return f"<{tag}{kind}{scope}{style}>{escape(text.strip(), quote=False)}</{tag}>"

    html = ["<tr>" + "\n".join(cell(text, i, j) for j, text in enumerate(row)) + "</tr>" for i, row in enumerate(rows)]
    head = f"<thead>{html[0]}</thead>\n" if headed else ""
    return f'<table class="printed">{head}<tbody>{chr(10).join(html[headed:])}</tbody></table>'


def printed_line(line: str) -> str:
    """A line that goes on, where it must wrap, below its first number, or else a little to the right."""
    indent = len(re.match(r"\s*(?:(?:tensor|array)\()?\[*", line)[0]) or 2
    style = f' style="--indent: {indent}ch"' if indent != 2 and len(line) > 30 else ""
    return f"<samp{style}>{escape(line, quote=False)}\n</samp>"


def printed(text: str) -> str:
    """What a cell printed, as HTML: lines that wrap with a hanging indent, and a table where columns were printed."""
    parts: list[tuple[bool, list[str]]] = []  # (is it a table, its lines)
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    while lines:
        stop = (i for i, line in enumerate(lines) if not line.strip() or BRACKETS.match(line))
        size = next(stop, len(lines))
        while size > 1 and not gutters(lines[:size]):
            size -= 1
        if size > 1 and len(lines[0]) > gutters(lines[:size])[0][1]:
            parts.append((True, lines[:size]))
        else:
            size = 1
            if not parts or parts[-1][0]:
                parts.append((False, []))
            parts[-1][1].append(lines[0])
        lines = lines[size:]
    html = ""
    for is_table, lines in parts:
        html += printed_table(lines) if is_table else f"<pre>{''.join(map(printed_line, lines))}</pre>"
    return f'<div class="output printed">{together(html)}</div>'


def together(html: str) -> str:
    """No line ends with the sign before an interval or begins with a unit; a cell that begins with a sign is narrow."""
    html = re.sub(r"(?<=\d) (?=(?:ms|s|kB|MB|GB)\b)", "\N{NO-BREAK SPACE}", html)
    return html.replace(">± ", ">±").replace(" ± ", " ±\N{NO-BREAK SPACE}")


def with_columns_named(table: str) -> str:
    """Each cell of a data frame with the name of its column, for a wide one stands in blocks on a phone."""
    names = re.findall(r"<th\b[^>]*>(.*?)</th>", table.partition("</tr>")[0], re.DOTALL)

    def row(found: re.Match) -> str:
        cells = found[0].split("<td")  # names of the row come first, so columns are counted from the last
        named = zip(names[len(names) + 1 - len(cells) :], cells[1:], strict=False)
        return cells[0] + "".join(f'<td data-column="{name.replace(chr(34), "&quot;")}"{cell}' for name, cell in named)

    return re.sub(r"<tr.*?</tr>", row, table, flags=re.DOTALL)


class PageChecks(SphinxPostTransform):
    """Every picture has words, every table scrolls inside itself, and what was printed fits a phone."""

    default_priority = 900  # after MyST-NB has chosen which output of a cell the page shows
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for image in self.document.findall(nodes.image):
            # MyST-NB names a figure after its file where the cell gives no text.
            words = image.get("alt", "").strip()
            if not words or Path(words).suffix in {".png", ".svg", ".jpg", ".jpeg"}:
                logger.warning(
                    "a figure has no alternative text; give its cell `mystnb: {image: {alt: ...}}`", location=image
                )
            elif len(words.split()) < FEWEST_WORDS:
                logger.warning(f"a figure has the words {words!r}; say in a sentence what it shows", location=image)
        for raw in list(self.document.findall(nodes.raw)):
            if raw.get("format") == "html":
                pictures = _Pictures()
                pictures.feed(raw.astext())
                for fault in pictures.wordless:
                    logger.warning(f"a picture has no words: {fault}", location=raw)
                if 'class="dataframe"' in raw.astext():
                    table = with_columns_named(together(raw.astext()))
                    raw.replace_self(nodes.raw("", table, format="html", classes=raw["classes"]))
        for block in list(self.document.findall(nodes.literal_block)):
            if {"output", "stream"} <= set(block["classes"]) or {"output", "text_plain"} <= set(block["classes"]):
                block.replace_self(nodes.raw("", printed(block.astext()), format="html"))
        for table in list(self.document.findall(nodes.table)):
            frame = nodes.container(classes=["scroll"])
            table.replace_self(frame)
            frame += table


def setup(app: Sphinx) -> dict:
    app.add_post_transform(PageChecks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""What cells show, on a page: long lines wrap, tables fit a phone, and every picture has words.

It also stops the build (warnings are errors) where a figure has no words.
"""

import re
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)
FEWEST_WORDS = 5  # of a text that says what a picture shows; a file's name or a title has fewer


def printed_line(line: str) -> str:
    """A line that goes on, where it must wrap, below its first number, or else a little to the right."""
    indent = len(re.match(r"\s*(?:(?:tensor|array)\()?\[*", line)[0]) or 2
    style = f' style="--indent: {indent}ch"' if indent != 2 and len(line) > 30 else ""
    return f"<samp{style}>{escape(line, quote=False)}\n</samp>"


def printed(text: str) -> str:
    """What a cell printed, as HTML: lines that wrap with a hanging indent."""
    lines = [printed_line(line.rstrip()) for line in text.rstrip("\n").split("\n")]
    return f'<div class="output printed"><pre>{together("".join(lines))}</pre></div>'


def together(html: str) -> str:
    """No line ends with the sign before an interval or begins with a unit; a cell that begins with a sign is narrow."""
    html = re.sub(r"(?<=\d) (?=(?:ms|s|kB|MB|GB)\b)", "\N{NO-BREAK SPACE}", html)
    return html.replace(">± ", ">±").replace(" ± ", " ±\N{NO-BREAK SPACE}")


def column_names(table: Tag) -> list[str]:
    """The name of each column of a data frame, from all rows of its head: "friend's drink, accuracy"."""
    rows = []
    for row in table.thead.find_all("tr"):
        names = [(name.get_text(" ", strip=True), int(name.get("colspan", 1))) for name in row.find_all("th")]
        rows.append([name for name, columns in names for _ in range(columns)])
    return [", ".join(filter(None, names)) for names in zip(*rows, strict=True)]


def with_columns_named(html: str) -> str:
    """Each cell of a data frame with the name of its column, for a wide one stands in blocks on a phone."""
    soup = BeautifulSoup(html, "html.parser")
    for table in soup.select("table.dataframe"):
        names = column_names(table)
        for row in table.tbody.find_all("tr"):
            cells = row.find_all("td")
            # The names of the rows have columns, too, and come first.
            for name, cell in zip(names[len(names) - len(cells) :], cells, strict=True):
                cell["data-column"] = name
    return str(soup)


class PageChecks(SphinxPostTransform):
    """Every picture has words, every table scrolls inside itself, and what was printed fits a phone."""

    default_priority = 900  # after MyST-NB has chosen which output of a cell the page shows
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for image in list(self.document.findall(nodes.image)):
            # A chart that a cell has drawn goes into the page itself, where it has the site's letters and colors.
            if image["uri"].endswith(".svg") and "jupyter_execute" in image["uri"]:
                drawn = (Path(self.app.srcdir) / image["uri"].lstrip("/")).read_text("utf-8")
                image.replace_self(nodes.raw("", f'<div class="output chart">{drawn}</div>', format="html"))
                continue
            words = image.get("alt", "")  # MyST-NB names a figure after its file where the cell gives no text
            if len(words.split()) < FEWEST_WORDS:
                logger.warning(
                    f"a figure has no alternative text that says what it shows, only {words!r}; "
                    "give its cell `mystnb: {image: {alt: ...}}`",
                    location=image,
                )
        for raw in list(self.document.findall(nodes.raw)):
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


class FoldedCode(SphinxPostTransform):
    """Code that arrives folded says what it is: its first line `# @title Imports`, or how many lines there are."""

    default_priority = 198  # before MyST-NB folds it
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for cell in self.document.findall(nodes.container):
            if not (cell.get("hide_mode") and (code := next(cell.findall(nodes.literal_block), None))):
                continue
            lines = [line for line in code.astext().split("\n") if line.strip()]
            title, many = re.match(r"# @title (.+)", lines[0]), "" if len(lines) == 1 else "s"
            cell["prompt_show"] = cell["prompt_hide"] = title[1] if title else f"Code, {len(lines)} line{many}"


def setup(app: Sphinx) -> None:
    app.add_post_transform(FoldedCode)
    app.add_post_transform(PageChecks)

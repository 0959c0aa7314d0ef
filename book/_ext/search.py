"""What search.js searches: all pages section by section, as readers see their words.

A search of our own: Pagefind forgives no letter and does not run over file://, where a copy from a stick is read.
"""

import json
import re
import unicodedata
from html import unescape
from pathlib import Path

from built import after_pages
from course_site import course_map
from docutils import nodes
from formulas import to_mathml
from sphinx.application import Sphinx
from sphinx.util.logging import suppress_logging


def no_stock_search(app: Sphinx) -> None:
    """Sphinx's search knows no quotes and no signs, forgives nothing and ends at a page: search.js does all four."""
    app.builder.search = False


def words_of(node: nodes.Node) -> str:
    """The text of a node as a reader sees it, on one line; of a formula its letters and signs."""

    def formula(latex: str) -> str:
        try:
            markup = to_mathml(latex, display=False)
        except ValueError:  # the page shows it as it was written, and the build has said so
            return latex
        apart = re.sub(r"</?(?:mo|mrow|mtext|mfrac)\b[^>]*>", " ", markup.replace("<msqrt>", " \N{SQUARE ROOT}"))
        signs = unicodedata.normalize("NFKC", unescape(re.sub(r"<[^>]+>", "", apart)))  # a bold x is an x
        return re.sub(r"(?<=[(\[\N{SQUARE ROOT}]) | (?=[)\],.])", "", " ".join(signs.split()))

    def text(leaf: nodes.Text) -> str:
        if isinstance(leaf.parent, nodes.label):  # of a reference: its number or key, which no page shows
            return " "
        if isinstance(leaf.parent, (nodes.math, nodes.math_block)):
            return formula(leaf.astext())
        plain = leaf.astext()
        if isinstance(leaf.parent, nodes.raw):  # and not <PAD> in the text
            plain = re.sub(r"<(script|style|svg).*?</\1>|<[^>]+>", " ", plain, flags=re.DOTALL)
        block = leaf.parent
        while isinstance(block, nodes.Inline):
            block = block.parent
        return plain if leaf is not [*block.findall(nodes.Text)][-1] else f"{plain} "

    return " ".join("".join(text(leaf) for leaf in node.findall(nodes.Text)).split())


def is_code(node: nodes.Node) -> bool:
    """Say whether a part of a section is a cell with what it prints, or code in the text."""
    return isinstance(node, nodes.literal_block) or "cell" in node.get("classes", [])


LABEL = re.compile(r"(you|what you|time|predict|hint|right)\b|.*[.:?!]$|\W*\d|.{41}", re.IGNORECASE)


def terms_of(section: nodes.section) -> list[str]:
    """What a section defines: its words in bold, but for those that label a paragraph or are an answer."""

    def counts(node: nodes.Node) -> bool:
        while not isinstance(node, nodes.section):
            node = node.parent
            if {"predict", "quiz"} & set(node.get("classes", [])):
                return False
        return node is section

    bold = [" ".join(node.astext().split()).lower() for node in section.findall(nodes.strong) if counts(node)]
    return [term for term in bold if not LABEL.match(term)]


def names_of(entry: nodes.section) -> list[str]:
    """What an entry of the glossary is found by: its title, other books' words (bold), and what a comment lists."""
    names = [entry[0].astext(), *(node.astext() for node in entry.findall(nodes.strong))]
    for raw in entry.findall(nodes.raw):
        names += [name for listed in re.findall(r"<!-- search: (.*?) -->", raw.astext()) for name in listed.split(", ")]
    return list(dict.fromkeys(" ".join(name.split()).lower() for name in names))


def write_search(app: Sphinx, static: Path) -> None:
    """All that can be searched, section by section, as a script: a page from a disk may read no other file.

    Of each section its id, title, prose, code, and the terms that the course defines there: those in bold that were not
    in bold in an earlier lab, and all names of an entry of the glossary.
    """
    pages, defined = [], set()
    for page in (page for part in course_map(app) for page in part["pages"]):
        sections = []
        with suppress_logging():  # what there is to warn of was said when the page was written
            doctree = app.env.get_and_resolve_doctree(page["name"], app.builder)
        for section in doctree.findall(nodes.section):
            title, *rest = section.children
            own = [child for child in rest if not isinstance(child, nodes.section)]
            prose, code = (" ".join(words_of(part) for part in own if is_code(part) == of) for of in (False, True))
            terms = [term for term in terms_of(section) if page["name"].startswith("labs/") and term not in defined]
            defined.update(terms)
            if "glossary" in section.parent.get("ids", []):
                terms = names_of(section)
            sections.append([section["ids"][0], title.astext(), prose.strip(), code.strip(), terms])
        pages.append([page["name"], page["title"], sections])
    # An address in the text must not look like one that the script would ask.
    script = json.dumps(pages, ensure_ascii=False, separators=(",", ":")).replace("://", r"\u003a//")
    (static.parent / "searchindex.js").write_text(f"globalThis.courseIndex = {script};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", no_stock_search)
    after_pages(app, write_search)

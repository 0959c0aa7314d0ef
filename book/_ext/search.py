"""What search.js searches: all pages section by section, as readers see their words.

A search of our own: Pagefind forgives no letter and does not run over file://, where a copy from a stick is read.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, Comment, Tag
from built import after_pages
from course_site import course_map
from sphinx.application import Sphinx

CODE = "div.cell, div[class^=highlight-]"  # a cell with what it prints, and code in the text
LABEL = re.compile(r"(you|what you|time|predict|hint|right)\b|.*[.:?!]$|\W*\d|.{41}", re.IGNORECASE)


def no_stock_search(app: Sphinx) -> None:
    """Sphinx's search knows no quotes and no signs, forgives nothing and ends at a page: search.js does all four."""
    app.builder.search = False


def words_of(*parts: Tag) -> str:
    return " ".join(" ".join(part.get_text() for part in parts).split())


def signs_of(formula: Tag) -> str:
    """The letters and signs of a formula, on one line."""
    for root in formula.select("msqrt"):
        root.insert(0, "\N{SQUARE ROOT}")
    for index in formula.select("msub > :last-child, msubsup > :nth-child(2)"):
        index.insert_before("_")
    for part in formula.select("mo, mrow, mtext, mfrac"):
        part.insert_before(" ")
        part.insert_after(" ")
    signs = unicodedata.normalize("NFKC", words_of(formula))  # a bold x is an x
    return re.sub(r"(?<=[(\[_\N{SQUARE ROOT}]) | (?=[)\],._])", "", signs)


def sections_of(page: str) -> Iterator[tuple[Tag, str, str, str]]:
    """The sections of a page: each with its title, its prose and its code, without the sections inside it."""
    soup = BeautifulSoup(page, "html.parser")
    for unseen in soup.select("script, style, svg, .label, details.hide > summary"):
        unseen.decompose()
    for formula in soup.select("math"):
        formula.replace_with(signs_of(formula))
    for block in soup.select("p, li, dt, dd, th, td, div"):
        block.insert_before(" ")
    for part_of_one in soup.select("section:not(:has(> * > .headerlink))"):
        part_of_one.name = "div"
    for section in soup.select("main section"):
        code = [part.extract() for part in section.select(CODE) if part.find_parent("section") is section]
        title = section.select_one(":scope > :has(> .headerlink)")
        own = [part for part in section.select(":scope > :not(section)") if part is not title]
        yield section, words_of(title), words_of(*own), words_of(*code)


def terms_of(section: Tag) -> list[str]:
    """What a section defines: its words in bold, but for those that label a paragraph or are an answer."""
    bold = [each for each in section.find_all("strong") if each.find_parent("section") is section]
    terms = [words_of(each).lower() for each in bold if not each.find_parent(class_=("predict", "quiz"))]
    return [term for term in terms if not LABEL.match(term)]


def names_of(entry: Tag, title: str) -> list[str]:
    """What an entry of the glossary is found by: its title, other books' words (bold), and what a comment lists."""
    names = [title, *(words_of(each) for each in entry.find_all("strong"))]
    for comment in entry.find_all(string=lambda text: isinstance(text, Comment)):
        names += comment.strip().removeprefix("search: ").split(", ")
    return list(dict.fromkeys(name.lower() for name in names))


def hidden_words() -> dict[str, list[str]]:
    """What readers type for a section that does not say it, by page and id: the lines of search_words.txt."""
    lines = Path(__file__).with_name("search_words.txt").read_text("utf-8").splitlines()
    found = [line.split(": ") for line in lines if line and not line.startswith("#")]
    return {section: words.split(", ") for section, words in found}


def write_search(app: Sphinx, static: Path) -> None:
    """All that can be searched, section by section, as a script: a page from a disk may read no other file.

    Of each section its id, title, prose, code, the terms that the course defines there (those in bold that were not in
    bold in an earlier lab, and all names of an entry of the glossary), and its hidden words.
    """
    pages, defined, hidden = [], set(), hidden_words()
    for page in (page for part in course_map(app) for page in part["pages"]):
        sections = []
        for section, title, prose, code in sections_of((static.parent / f"{page['name']}.html").read_text("utf-8")):
            terms = [term for term in terms_of(section) if page["name"].startswith("labs/") and term not in defined]
            defined.update(terms)
            if section.parent.get("id") == "glossary":
                terms = names_of(section, title)
            words = hidden.get(f"{page['name']}#{section['id']}", [])
            sections.append([section["id"], title, prose, code, terms, words])
        pages.append([page["name"], page["title"], sections])
    # An address in the text must not look like one that the script would ask.
    script = json.dumps(pages, ensure_ascii=False, separators=(",", ":")).replace("://", r"\u003a//")
    (static.parent / "searchindex.js").write_text(f"globalThis.courseIndex = {script};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", no_stock_search)
    after_pages(app, write_search)

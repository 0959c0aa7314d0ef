"""Claims about what labs and pages cite: each work is in `references.bib`, and each citation is a link to it."""

import re
from pathlib import Path

import pytest
from pybtex.database import parse_file

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "Makefile").exists())
WORKS = parse_file(ROOT / "book" / "references.bib").entries
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("labs/**/*.md")), *sorted(ROOT.glob("book/*.md"))]

CODE = re.compile(r"^```(?:\{code-cell\}|\w).*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
NAME = r"[A-Z][\w'-]+"
# Clark et al. (2019), Kingma and Ba 2015, Zhang, Zhao and LeCun 2015: the names, and the year.
CITATION = re.compile(rf"({NAME}(?:\s+et al\.|(?:,\s+{NAME})*,?\s+and\s+{NAME})?)\s+\(?((?:19|20)\d\d)\b")
DATE = re.compile(r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}")


def address(work) -> str:
    """Where a work is read: its DOI, or else its URL."""
    doi = work.fields.get("doi")
    return f"https://doi.org/{doi}" if doi else work.fields["url"]


def faults(text: str) -> list[str]:
    """What is wrong with the citations of a page: not in references.bib, other authors, no link, a link elsewhere."""
    text = DATE.sub("", CODE.sub("", text))
    cited = [(*match.groups(), url) for words, url in LINK.findall(text) for match in CITATION.finditer(words)]
    cited += [(*match.groups(), "no link") for match in CITATION.finditer(LINK.sub("", text))]
    found = []
    for names, year, url in cited:
        authors = re.findall(NAME, names)
        work = WORKS.get(f"{authors[0].lower()}{year}")
        surnames = [" ".join(person.last_names) for person in work.persons["author"]] if work else []
        if authors != (surnames[:1] if "et al." in names else surnames):
            found.append(f"{names} {year}: no such work in book/references.bib")
        elif url != address(work):
            found.append(f"{names} {year}: {url}, where {address(work)} is its address")
    return found


def test_every_work_has_an_address_and_says_what_it_is_for():
    assert not [
        key for key, work in WORKS.items() if not {"url", "doi"} & set(work.fields) or "note" not in work.fields
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_citation_is_a_link_to_its_work(page):
    assert not faults(page.read_text())

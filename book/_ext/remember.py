"""The questions of all labs, and of *Mistakes from the wild*, for the page "Remember", taken from the built pages.

Each question gets the section of its page that has most of its rare words: there a reader finds what was forgotten.
"""

import json
import re
from pathlib import Path
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from built import after_pages
from search import sections_of, words_of
from sklearn.feature_extraction.text import TfidfVectorizer
from sphinx.application import Sphinx

CAN_BE_ASKED = re.compile(r"</summary>\s*(?:<ol\b|<p><strong>)")  # the others are open questions
NOT_THE_LESSON = re.compile(r"Questions|Exercise|Where to go next|You will be able|What you can now say")


def nearest(asked: str, lesson: list[tuple[str, str, str]]) -> tuple[str, str]:
    """Return id and title of the section that shares most with a question; a word of few sections counts most."""
    if not lesson:
        return "", ""
    vectorizer = TfidfVectorizer(token_pattern="[a-z_]{3,}", sublinear_tf=True, smooth_idf=False)
    sections = vectorizer.fit_transform([text for *_, text in lesson])  # (sections, words)
    return lesson[(sections @ vectorizer.transform([asked]).T).toarray().argmax()][:2]


def questions(page: str, name: str) -> list[dict]:
    """Return the questions of a built page that can be asked; `name` is its address below the site's root."""
    soup, found = BeautifulSoup(page, "html.parser"), []
    lesson = [
        (section["id"], title, f"{title} {prose} {code}")
        for section, title, prose, code in sections_of(page)
        if section.find_parent("section") and not NOT_THE_LESSON.search(title)
    ]
    for box in soup.select("div.quiz"):
        if not CAN_BE_ASKED.search(str(box)):
            continue
        place, heading = nearest(words_of(box), lesson)
        for attribute in ("href", "src"):  # the page "Remember" lies in book/, beside labs/
            for link in box.select(f"[{attribute}]"):
                link[attribute] = urljoin(f"https://site/{name}", link[attribute]).replace("https://site", "..")
        title = words_of(soup.h1)
        found.append(
            {"id": box["id"], "lab": name, "title": title, "place": place, "heading": heading, "html": str(box)}
        )
    return found


def write_questions(app: Sphinx, static: Path) -> None:
    """Write a script with the questions: a page that was opened from a disk may fetch no other file."""
    found = []
    labs = [*app.config.numbers_of_labs]
    for page in labs + [doc for doc in ("book/wild_mistakes",) if doc in app.env.all_docs]:
        name = f"{page}.html"
        found += questions((Path(app.outdir) / name).read_text("utf-8"), name)
    text = json.dumps(found, ensure_ascii=False).replace("https:", "https\\u003a")  # links, and nothing that is loaded
    (static / "remember_questions.js").write_text(f"globalThis.rememberQuestions = {text};\n", "utf-8")


def setup(app: Sphinx) -> None:
    after_pages(app, write_questions)

"""The questions of all labs, and of *Mistakes from the wild*, for the page "Remember", taken from the built pages.

Each question gets the section of its page that has most of its rare words: there a reader finds what was forgotten.
"""

import html
import json
import math
import re
from collections import Counter
from pathlib import Path

from built import after_pages
from sphinx.application import Sphinx

BOX = re.compile(r'<div class="quiz\b[^>]*id="(quiz-\w+)"[^>]*>')
SECTION = re.compile(r'<section[^>]* id="([^"]+)"[^>]*>\s*<h[2-4]>(.*?)</h[2-4]>', re.DOTALL)
CAN_BE_ASKED = re.compile(r"</summary>\s*(?:<ol\b|<p><strong>)")  # the others are open questions
NOT_THE_LESSON = re.compile(r"Questions|Exercise|Where to go next|You will be able|What you can now say")


def plain(markup: str) -> str:
    """Return the text of a piece of HTML."""
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", markup).split()))


def whole(page: str, start: int) -> str:
    """Return the element `div` that begins at a place."""
    depth = 0
    for tag in re.finditer(r"<(/?)div\b", page[start:]):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return page[start : start + tag.end() + 1]
    raise ValueError("a question's box does not end")


def sections(page: str) -> list[tuple[str, str, Counter]]:
    """Return the sections of a lab's lesson: the id, the title, and how often each word occurs."""
    found = list(SECTION.finditer(page))
    ends = [*(each.start() for each in found[1:]), len(page)]
    return [
        (each[1], plain(re.sub(r'<a class="headerlink".*?</a>', "", each[2])), words(page[each.end() : end]))
        for each, end in zip(found, ends, strict=False)  # a lab of a single section has none below its title
        if not NOT_THE_LESSON.search(each[2])
    ]


def words(markup: str) -> Counter:
    return Counter(re.findall(r"[a-z_]{3,}", plain(markup).lower()))


def nearest(asked: Counter, lesson: list[tuple[str, str, Counter]]) -> tuple[str, str]:
    """Return id and title of the section that shares most with a question; a word of few sections counts most."""
    if not lesson:
        return "", ""
    rarity = {word: math.log(len(lesson) / n) for word, n in Counter(w for *_, c in lesson for w in c).items()}

    def closeness(section: tuple[str, str, Counter]) -> float:
        """The cosine of two texts, each a vector with one number for each word."""
        weights = {word: rarity[word] * (1 + math.log(count)) for word, count in section[2].items()}
        shared = sum(weights[word] * rarity[word] for word in asked if word in weights)
        return shared / (math.hypot(*weights.values()) or 1)

    return max(lesson, key=closeness)[:2]


def questions(page: str, name: str) -> list[dict]:
    """Return the questions of a built page that can be asked; `name` is its address below the site's root."""
    title = plain(re.sub(r'<a class="headerlink".*?</a>', "", re.search(r"(?s)<h1>(.*?)</h1>", page)[1]))
    lesson, found = sections(page), []
    for box in BOX.finditer(page):
        markup = whole(page, box.start())
        if not CAN_BE_ASKED.search(markup):
            continue
        place, heading = nearest(words(markup), lesson)
        # The page lies in book/, beside labs/. What a lab has in its own folder is in ../labs/ from there.
        markup = re.sub(r'(href|src)="#', rf'\1="../{name}#', markup)
        markup = re.sub(r'(href|src)="(?!\w+:|\.\./|#)', rf'\1="../{name.partition("/")[0]}/', markup)
        found.append({"id": box[1], "lab": name, "title": title, "place": place, "heading": heading, "html": markup})
    return found


def write_questions(app: Sphinx, static: Path) -> None:
    """Write a script with the questions: a page that was opened from a disk may fetch no other file."""
    if app.builder.name != "html":  # all pages are one, as for the PDF
        return
    found = []
    labs = sorted(doc for doc in app.env.all_docs if doc.startswith("labs/"))
    for page in labs + [doc for doc in ("book/wild_mistakes",) if doc in app.env.all_docs]:
        name = f"{page}.html"
        found += questions((Path(app.outdir) / name).read_text("utf-8"), name)
    text = json.dumps(found, ensure_ascii=False).replace("https:", "https\\u003a")  # links, and nothing that is loaded
    (static / "remember_questions.js").write_text(f"globalThis.rememberQuestions = {text};\n", "utf-8")


def setup(app: Sphinx) -> None:
    after_pages(app, write_questions)

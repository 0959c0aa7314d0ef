"""A deck of slides for each lab, cut out of its page while the page is made: no number is typed, no cell runs.

The rules. A deck opens with the question of the lab and what the reader will be able to do. Then come the sections.
Each shows its first picture, or else its first table; its first figure to play with; and every Predict: a slide that
asks, and one with what the next cell showed; where that is a few printed lines, a key brings them onto the slide that
asks. A section that has none of these shows its first sentence with its formula or what it printed first; words
alone, and words with one printed line, are spoken. An exercise shows its Predicts alone, for the rest would give its
solution away. A page with models to play with stands in the deck of the lab that it names first. The deck closes
with the exercises' names and the first three sentences of "What you can now say".
An author may mark a cell `slide: skip`, or `slide: keep`, which shows its outputs, or its code where it has none.
The text between two slides is spoken: it stands in the notes, with its share of the minutes that the lab names.
"""

import importlib.util
import itertools
import re
import shutil
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from answers import begins, predicts
from docutils import nodes
from finished import finished, make_lazy
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import get_translation

_ = get_translation("course")
GOALS, SAID = "be able to", "What you can now say"
NO_STORY = ("What you run on", SAID, "Questions", "Where to go next")
TO_PLAY_WITH = {"book/try_the_model": "try", "book/seventy_two_heads": "heads"}  # and where on the page one plays
WORDS_A_LOOK = 40  # a slide is looked at for as long as so many words take to say
# What fits a slide in letters that are read from the last row.
ROWS, LINES, LETTERS = 9, 11, 94
FEW = 3  # so many printed lines have room below their question
REVEAL = ("dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js", "plugin/zoom/zoom.js", "LICENSE")


@dataclass
class Slide:
    """One slide: what stands above its heading, the heading, what it shows, what a key brings, and the notes."""

    heading: nodes.Node
    label: str = ""
    shows: list[nodes.Node] = field(default_factory=list)
    answer: list[nodes.Node] = field(default_factory=list)
    then: nodes.Node | None = None
    notes: list[nodes.Node] = field(default_factory=list)
    kind: str = "text"

    def words(self) -> int:
        """How long the slide takes, in words."""
        spoken = [*self.notes, *(part for part in self.shows if not isinstance(part, nodes.raw))]
        return WORDS_A_LOOK + sum(len(part.astext().split()) for part in spoken)


# ------------------------------------------------------------------------------------------- what a lab is made of


def is_cell(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def flat(section: nodes.Element):
    """The nodes of a section without its subsections, without what is folded away, and out of their wrappings."""
    folded = 0
    for node in section.children:
        if isinstance(node, nodes.raw):
            folded += node.astext().count("<details") - node.astext().count("</details")
        if folded or isinstance(node, nodes.section | nodes.title):
            continue
        if isinstance(node, nodes.container) and not is_cell(node):
            yield from flat(node)
        else:
            yield node


def mark(cell: nodes.Element) -> str:
    """What an author says about a cell: `keep`, `skip` or nothing. A check's verdict is about one reader."""
    metadata = cell.get("cell_metadata", {})
    source = next((block.astext() for block in cell.findall(nodes.literal_block)), "")
    checks = "exercise" in metadata or re.match(r"(\w+ = )?check\.", source)
    return metadata.get("slide", "skip" if checks else "")


def shown(cell: nodes.Element) -> list[nodes.Node]:
    """The outputs of a cell, in their order."""
    outputs = [node for node in cell.children if "cell_output" in node.get("classes", [])]
    leaves = (nodes.raw, nodes.image, nodes.literal_block)
    return [node for output in outputs for node in output.findall(lambda node: isinstance(node, leaves))]


def kind_of(output: nodes.Node) -> str:
    """What an output is: `live` (to play with), `picture`, `table` or `printed`."""
    html = output.astext()
    if isinstance(output, nodes.image):
        return "picture"
    if "<script" in html:
        return "live"
    if "<table" in html:
        return "table"
    return "printed" if 'class="output printed"' in html or isinstance(output, nodes.literal_block) else "picture"


def first_sentence(paragraph: nodes.Element) -> nodes.Element:
    """A copy of a paragraph that ends where its first sentence ends."""
    short = paragraph.deepcopy()
    for place, child in enumerate(short.children):
        end = re.search(r"(?<=[\w)”’\"][.?!])\s+(?=[A-Z“\"(])", child.astext())
        if end and isinstance(child, nodes.Text):
            short.children[place:] = [nodes.Text(child.astext()[: end.start()])]
            break
    return short


# --------------------------------------------------------------------------------- what does not fit one slide


def cut(html: str) -> list[str]:
    """A printed or drawn table, or printed lines, in pieces that fit a slide each.

    Rows are dealt out evenly, and so are columns; every piece has the headings of both.
    """
    if "<table" not in html:
        lines = re.findall("<samp.*?</samp>", html, re.DOTALL)
        opening, closing = html.partition("<samp")[0], html.rpartition("</samp>")[2]
        return [opening + "".join(some) + closing for some in dealt(lines, LINES, heights(lines)) if lines] or [html]
    if html.count("<table") > 1 or "colspan=" in html:
        return [html]
    opening, table, closing = re.match(r"(.*<table[^>]*>)(.*)(</table>.*)", html, re.DOTALL).groups()
    head, body = (filled([cells(row) for row in re.findall(r"<tr.*?</tr>", part, re.DOTALL)]) for part in parted(table))
    if len({len(row) for row in head + body}) != 1:
        return [html]
    places = range(len((head + body)[0]))
    names = max(1, sum(cell.startswith("<th") for cell in (head + body)[-1]))  # columns that name a row
    words = [[longest_word(cell) for cell in row] for row in head] + [[text(cell) for cell in row] for row in body]
    widths = [2 + max(len(row[place]) for row in words) for place in places]
    columns = [[i] for i in places[names:]]
    for place in reversed(places[names + 1 :]):
        if head and text(head[0][place]) == "±":  # it belongs to the column before
            columns[place - names - 1 : place - names + 1] = [[place - 1, place]]
    pieces = []
    room = LETTERS - sum(widths[:names])
    for some in dealt(columns, room, [sum(widths[i] for i in group) for group in columns]):
        for rows in dealt(body, ROWS, [1] * len(body)):
            shown = [*places[:names], *sum(some, [])]
            top, rest = (
                "".join("<tr>" + "".join(row[i] for i in shown) + "</tr>" for row in part) for part in (head, rows)
            )
            pieces.append(f"{opening}<thead>{top}</thead><tbody>{rest}</tbody>{closing}")
    return pieces


def filled(rows: list[list[str]]) -> list[list[str]]:
    """The rows with each cell that spans several of them standing in every one."""
    spanning: dict[int, tuple[int, str]] = {}  # column -> how many rows are left, and the cell
    whole = []
    for row in rows:
        given, line = iter(row), []
        for place in itertools.count():
            left, cell = spanning.get(place, (0, ""))
            if not left:
                cell = next(given, "")
                found = re.search(r' rowspan="(\d+)"', cell)
                left, cell = int(found[1]) if found else 1, re.sub(r' rowspan="\d+"', "", cell)
            if not cell:
                break
            spanning[place] = left - 1, cell
            line.append(cell)
        whole.append(line)
    return whole


def parted(table: str) -> tuple[str, str]:
    head, found, body = table.partition("</thead>")
    return (head, body) if found else ("", head)


def cells(row: str) -> list[str]:
    return re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)


def text(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html).strip()


def longest_word(html: str) -> str:
    return max(text(html).split(), key=len, default="")


def heights(lines: list[str]) -> list[int]:
    return [1 + len(text(line)) // (LETTERS - 20) for line in lines]  # all letters are as wide as an m


def dealt(things: list, most: int, sizes: list[int]) -> list[list]:
    """Things in as few groups as hold at most so much each, of about the same size; at least one group."""
    groups = -(-sum(sizes) // most) or 1
    found, size = [[]], 0
    for thing, its in zip(things, sizes, strict=True):
        if found[-1] and (size + its > most or size >= sum(sizes) / groups):
            found, size = [*found, []], 0
        found[-1].append(thing)
        size += its
    return found


# --------------------------------------------------------------------------------------------------- the deck


def deck(lab: nodes.section) -> tuple[list[Slide], int]:
    """The slides of a lab, from the section that is its page, and the minutes that it names (0 where it names none)."""
    opening = list(flat(lab))
    labels = [node.next_node(nodes.strong).astext() if begins(node, "(?s).*") else "" for node in opening]
    bold = next((place for place, label in enumerate(labels) if label), len(opening))
    slides = [Slide(lab[0], shows=opening[:bold], kind="title")]
    minutes = 0
    for place, label in enumerate(labels):
        node = opening[place]
        if GOALS in label:
            following = [each for each in opening[place + 1 : place + 2] if isinstance(each, nodes.bullet_list)]
            goals = following or [without_label(node)]
            slides.append(Slide(nodes.Text(_("You will be able to")), shows=goals, kind="goals"))
        elif place >= bold and isinstance(node, nodes.paragraph):
            slides[-1].notes.append(node)
        if label.startswith("Time"):
            minutes = int((re.search(r"(\d+) minutes", node.astext()) or [0, 0])[1])

    sections = [node for node in lab.findall(nodes.section) if node is not lab]
    turns = nodes.bullet_list()
    for section in sections:
        name = section[0].astext()
        if name in NO_STORY:
            continue
        exercise = re.match(r"Exercise (\d.*)", name)
        if exercise:
            turns += nodes.list_item("", nodes.paragraph("", exercise[1]))
        found, spoken = slides_of(section, exercise=bool(exercise) or name == "Exercises")
        slides += found
        slides[-1].notes += spoken
    if turns.children:
        slides.append(Slide(nodes.Text(_("Your turn")), shows=[turns], kind="list"))
    said = next((section for section in sections if section[0].astext() == SAID), None)
    sentences = said.next_node(nodes.bullet_list) if said is not None else None
    if sentences is not None:
        sentences = sentences.deepcopy()
        sentences.children = sentences.children[:3]
        slides.append(Slide(nodes.Text(_("Three sentences to remember")), shows=[sentences], kind="list"))
    return slides, minutes


def without_label(paragraph: nodes.Element) -> nodes.Element:
    """A copy of a paragraph without the bold words at its beginning, where they end a sentence or name what follows."""
    rest = paragraph.deepcopy()
    strong = rest.next_node(nodes.strong)
    strong.parent.remove(strong)
    for first in [leaf for leaf in rest.findall(nodes.Text) if leaf.strip()][:1]:
        begin = first.lstrip()
        first.parent.replace(first, nodes.Text(begin[:1].upper() + begin[1:]))
    return rest


def slides_of(section: nodes.section, exercise: bool) -> tuple[list[Slide], list[nodes.Node]]:
    """The slides of one section, without its subsections, and what is said behind the last of them."""
    found: list[Slide] = []
    waiting: list[nodes.Node] = []  # what is said before the next slide
    asked, seen = False, set()
    story = list(flat(section))
    cells_shown = [node for node in story if is_cell(node) and mark(node) != "skip"]
    drawn = {kind_of(output) for cell in cells_shown for output in shown(cell)} & {"picture", "live"}

    def add(slide: Slide) -> None:
        slide.notes, waiting[:] = [*waiting, *slide.notes], []
        found.append(slide)

    def show(place: int, label: str = "") -> None:
        outputs = groups(story[place])
        if not label and any(kind == "picture" for _, kind in outputs):  # a line beside a picture is for one's own run
            outputs = [(shows, kind) for shows, kind in outputs if kind != "printed"]
        if label and [kind for _, kind in outputs] == ["printed"] and lines(outputs[0][0]) <= FEW:
            found[-1].answer, outputs = outputs[0][0], []
        for shows, kind in outputs:
            add(Slide(section[0], label, shows, kind=kind))
        words, behind = [*story[place + 1 : place + 3], None, None][:2]
        leads_on = behind is not None and is_cell(behind)  # what is said between two cells is about the second
        if isinstance(words, nodes.paragraph) and not predicts(words) and not leads_on:
            found[-1].then = first_sentence(words)

    for place, node in enumerate(story):
        following = story[place + 1] if place + 1 < len(story) else None
        if predicts(node):
            choices = [following] if isinstance(following, nodes.bullet_list | nodes.enumerated_list) else []
            add(Slide(section[0], _("Predict"), [without_label(node), *choices], kind="question"))
            asked = True
        elif is_cell(node):
            kinds = {kind_of(output) for output in shown(node)}
            said = mark(node)
            if said == "skip" or not (kinds or said == "keep"):
                continue
            new = kinds - seen - {"printed"}
            first = new - {"table"} or (new and not drawn)
            if asked or said == "keep" or (first and not exercise):
                show(place, _("Answer") if asked else "")
                asked, seen = False, seen | kinds
        elif found and node in found[-1].shows:
            continue  # the choices of a question
        elif isinstance(node, nodes.paragraph | nodes.bullet_list | nodes.enumerated_list | nodes.math_block):
            if asked and following is None:  # words alone answer
                add(Slide(section[0], _("Answer"), [first_sentence(node)]))
            waiting.append(node)
    if not found and not exercise:
        words = [first_sentence(node) for node in story if isinstance(node, nodes.paragraph)][:1]
        proof = [[node] for node in story if isinstance(node, nodes.math_block)][:1]
        printed = [groups(cell)[0][0] for cell in cells_shown if shown(cell)][:1]
        proof += [shows for shows in printed if lines(shows) > 1]
        if proof:
            add(Slide(section[0], shows=words + sum(proof, [])))
    return found, waiting if found or not exercise else []


def lines(printed: list[nodes.Node]) -> int:
    """How many lines of a slide the printed outputs take."""
    return sum(heights(text("".join(output.astext() for output in printed)).splitlines()))


def groups(cell: nodes.Element) -> list[tuple[list[nodes.Node], str]]:
    """What a cell showed, dealt out to slides: pictures together, a table or long print in pieces."""
    found: list[tuple[list[nodes.Node], str]] = []
    for output in shown(cell):
        kind, pieces = kind_of(output), [output]
        if kind in ("table", "printed") and isinstance(output, nodes.raw):
            pieces = [nodes.raw("", html, format="html") for html in cut(output.astext())]
        if found and found[-1][1] == kind and kind != "live" and len(pieces) == 1:
            found[-1][0].append(output)
        else:
            found += [([piece], kind) for piece in pieces]
    return found or [([next(iter(cell.findall(nodes.literal_block)))], "code")]


# ------------------------------------------------------------------------------------------- the deck as a page


def lab_of(app: Sphinx, page: str) -> str | None:
    """The lab that a page names first, where the course has that page."""
    links = app.env.get_doctree(page).findall(addnodes.pending_xref) if page in app.env.all_docs else []
    return next((link["reftarget"] for link in links if link["reftarget"].startswith("labs/")), None)


def played(app: Sphinx, page: str) -> Slide:
    """The slide that holds a whole page to play with; it loads when the slide is turned to."""
    title = app.env.titles[page]
    frame = f'<iframe data-src="../{page}.html#{TO_PLAY_WITH[page]}" title="{escape(title.astext())}"></iframe>'
    return Slide(title, shows=[nodes.raw("", frame, format="html")], kind="live")


def write_deck(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """When a lab's page is written, its deck is, too."""
    if doctree is None or not pagename.startswith("labs/"):
        return

    def html(*parts: nodes.Node) -> str:
        body = "".join(app.builder.render_partial(part.deepcopy())["fragment"] for part in parts)
        return make_lazy(app, finished(body)).replace('loading="lazy" ', "")

    slides, minutes = deck(doctree.next_node(nodes.section))
    turn = next((place for place, slide in enumerate(slides) if slide.kind == "list"), len(slides))
    slides[turn:turn] = [played(app, page) for page in TO_PLAY_WITH if lab_of(app, page) == pagename]
    total, before, shown_slides = sum(slide.words() for slide in slides), 0, []
    for slide in slides:
        begin, before = before, before + slide.words()
        heading = slide.heading
        inline = nodes.inline("", "", *[child.deepcopy() for child in heading.children or [heading]])
        shown_slides.append(
            {
                "kind": slide.kind,
                "label": slide.label,
                "heading": html(inline),
                "body": html(*slide.shows),
                "answer": html(*slide.answer),
                "then": html(slide.then) if slide.then is not None else "",
                "notes": html(*slide.notes),
                "minutes": _("From minute {begin} of {minutes}.").format(
                    begin=round(minutes * begin / total), minutes=minutes
                )
                if minutes
                else "",
            }
        )
    number = int(re.match(r"labs/(\d+)", pagename)[1])
    more = {"slides": shown_slides, "number": number, "title": escape(doctree.next_node(nodes.title).astext())}
    app.builder.handle_page(pagename.replace("labs/", "slides/"), more, "slides.html")


def copy_reveal(app: Sphinx, exception: Exception | None) -> None:
    """reveal.js comes with sphinx-revealjs, and lies on the site itself: a deck asks no other host."""
    if exception is None and app.builder.format == "html":
        package = Path(importlib.util.find_spec("sphinx_revealjs").origin).parent
        target = Path(app.outdir) / "_static/reveal"
        target.mkdir(parents=True, exist_ok=True)
        for name in REVEAL:
            shutil.copy(package / "_static/revealjs" / name, target)


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", write_deck, priority=600)  # behind course_site's
    app.connect("build-finished", copy_reveal)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

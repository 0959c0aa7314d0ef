"""What the book's pages need beyond Sphinx: formulas without a script, the course's colours, and the way through it.

It also stops the build (warnings are errors) where a page would fail a reader: a figure without words, a formula
that would show as an error.
"""

import base64
import gzip
import json
import re
import sys
import unicodedata
from html import escape
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path

from babel.messages.pofile import read_po
from docutils import nodes
from latex2mathml.converter import convert
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import get_translation
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.images import get_image_size

logger = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "shared/locale"
_ = get_translation("course")  # in the language of _config.yml


def _alone(file: str):
    """One module of the repository, alone: importing all of `shared` would bring PyTorch into the book build."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(f"course_{Path(file).stem}", ROOT / file)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


COLOURS, IDENTITY = _alone("shared/figures/colours.py"), _alone("tools/identity.py")
# A formula names a role's light colour, `\textcolor{#0250d5}{Q}`: every reader of LaTeX knows that. On the site the
# colour becomes a class, so that it follows the theme.
ROLE_OF_COLOUR = {light.lower(): role for role, (light, _) in COLOURS.ROLES.items()}
# In a lab these letters have no other meaning, so they wear their colour without being told: see book/notation.md.
ROLE_OF_LETTER = {"Q": "query", "K": "key", "V": "value", "E": "score", "A": "weight"}


# ---------------------------------------------------------------------------------------------------- formulas


INLINE = r'<math [^>]*display="inline">(?:(?!</math>).)*</math>'
WITH_MARKS = re.compile(rf"[(“]{INLINE}[,.;:?!)”]*|{INLINE}[,.;:?!)”]+", re.DOTALL)


def to_mathml(latex: str, display: bool, letters_have_roles: bool = False) -> str:
    """The MathML of a LaTeX formula; ValueError with a sentence where it cannot be drawn."""
    # TeX sets a function off from the letters beside it; the library does not.
    spaced = re.sub(r"(?<=[\w}])\s*(?=\\(?:exp|ln|log|sin|cos)\b)", r"\\,", latex)
    spaced = re.sub(r"(\\(?:exp|ln|log|sin|cos)\b)\s*(?=\w)", r"\1\\,", spaced)
    try:
        markup = convert(spaced, display="block" if display else "inline")
    except Exception as error:  # the library raises a class of its own for every kind of slip
        raise ValueError(f"the formula {latex!r} is not understood ({type(error).__name__}: {error})") from error
    unknown = re.search(r"<m[io]>(\\\w*|&)</m[io]>", markup)
    if unknown:
        raise ValueError(
            f"the formula {latex!r} holds {unknown[1]!r}, which the site cannot draw; "
            "use plain LaTeX, and `pmatrix` or `align*` for what needs columns"
        )

    def role_class(match: re.Match) -> str:
        role = ROLE_OF_COLOUR.get(match[1].lower())
        if role is None:
            known = ", ".join(f"{colour} ({role})" for colour, role in ROLE_OF_COLOUR.items())
            raise ValueError(f"the formula {latex!r} has the colour {match[1]}, which is no role; use one of {known}")
        return f'class="role-{role}"'

    if letters_have_roles:
        for letter, role in ROLE_OF_LETTER.items():
            markup = markup.replace(f"<mi>{letter}</mi>", f'<mi class="role-{role}">{letter}</mi>')
    return re.sub(r'mathcolor="([^"]*)"', role_class, markup)


def visit_math(self, node) -> None:
    display = isinstance(node, nodes.math_block)
    try:
        markup = to_mathml(node.astext(), display, letters_have_roles="in-a-lab" in node["classes"])
    except ValueError as error:
        logger.warning(str(error), location=node)
        markup = f"<code>{self.encode(node.astext())}</code>"
    self.body.append(f'<div class="math">{markup}</div>' if display else markup)
    raise nodes.SkipNode


# ------------------------------------------------------------------------------------- figures, tables, details


class LettersOfLabs(SphinxTransform):
    """Formulas remember that they stand in a lab, also where all pages become one, as for the PDF."""

    default_priority = 500

    def apply(self, **kwargs) -> None:
        if self.env.docname.startswith("labs/"):
            for formula in [*self.document.findall(nodes.math), *self.document.findall(nodes.math_block)]:
                formula["classes"].append("in-a-lab")


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


# ------------------------------------------------------------------------------------------ what a cell prints

BRACKETS = re.compile(r"\s*\[[\s\d\[-]|.*(?:tensor|array)\(")  # arrays line up, too, and are no table


def gutters(lines: list[str]) -> list[tuple[int, int]]:
    """Where columns that were printed with spaces part: places that are blank in every line.

    A single blank place parts words, too. So it counts only where all lines leave more room, or most of them do and
    all go on right behind it.
    """
    width = max(map(len, lines))
    blank = "".join("01"[all(line[place : place + 1] in ("", " ") for line in lines)] for place in range(width))
    begin = min(len(line) - len(line.lstrip()) for line in lines)
    # Two spaces or more; two before a number are its padding, as in "k =  4".
    wide = [set() for _ in lines]
    for places, line in zip(wide, lines, strict=True):
        for run in re.finditer(r"(?<=\S)(?<![a-z=](?=  \d)) {2,}(?=\S)", line):
            places.update(range(*run.span()))
    found = []
    for start, end in (run.span() for run in re.finditer("1+", blank)):
        on = [line for line in lines if len(line) > end]
        room = sum(not places.isdisjoint(range(start, end)) for places in wide)
        alike = all(line[end] != " " for line in on)
        single = end - start == 1 and not (room > len(lines) / 2 and alike) and room < len(on)
        if start > begin and room and 2 * len(on) >= len(lines) and not single:
            found.append((start, end))
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

    def cell(text: str, row: int, column: int) -> str:
        tag, scope = ("th", ' scope="col"') if headed and row == 0 else ("td", "") if column else ("th", ' scope="row"')
        tag, scope = (tag, scope) if text.strip() else ("td", "")  # a heading of nothing is none
        indent = len(text) - len(text.lstrip()) if column == 0 else 0
        style = f' style="padding-left: {indent}ch"' if indent else ""
        return f"<{tag}{scope}{style}>{escape(text.strip(), quote=False)}</{tag}>"

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
    """No line ends with the sign before an interval."""
    return html.replace(" ± ", " ±\N{NO-BREAK SPACE}")


class PageChecks(SphinxPostTransform):
    """Every picture has words, every table scrolls inside itself, and what was printed fits a phone."""

    default_priority = 900  # after MyST-NB has chosen which output of a cell the page shows
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for meta in self.document.findall(nodes.meta):  # MyST makes them too late for Sphinx to translate them
            said = meta["content"]
            meta["content"] = _(said) if said else ""
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
                    raw.replace_self(nodes.raw("", together(raw.astext()), format="html", classes=raw["classes"]))
        for block in list(self.document.findall(nodes.literal_block)):
            if {"output", "stream"} <= set(block["classes"]) or {"output", "text_plain"} <= set(block["classes"]):
                block.replace_self(nodes.raw("", printed(block.astext()), format="html"))
        for table in list(self.document.findall(nodes.table)):
            frame = nodes.container(classes=["scroll"])
            table.replace_self(frame)
            frame += table


class LabsLeftOut(SphinxPostTransform):
    """A link to a lab that _toc.yml does not name becomes plain words: an instructor chooses labs by lines there."""

    default_priority = 8  # before MyST, which would call the lab an unknown document

    def run(self, **kwargs) -> None:
        for link in list(self.document.findall(addnodes.pending_xref)):
            target = link.get("reftarget", "")
            if link.get("refdomain") == "doc" and target.startswith("labs/") and target not in self.env.all_docs:
                link.replace_self(link[0].deepcopy())


# ------------------------------------------------------------------------------------------ the way through it


def course_map(app: Sphinx) -> list[dict]:
    """The parts of _toc.yml in order: each with its caption and its pages (name and title)."""
    site_map = app.env.external_site_map

    def page(name: str) -> dict:
        name = app.env.path2doc(name) or name
        return {"name": name, "title": app.env.titles[name].astext()}

    root = {"caption": None, "pages": [page(site_map.root.docname)]}
    return [root] + [
        {"caption": part.caption and _(part.caption), "pages": [page(item) for item in part.items]}
        for part in site_map.root.subtrees
    ]


def add_context(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    parts = course_map(app)
    context["_"] = _
    context["course"] = parts
    context["labs"] = [page for part in parts for page in part["pages"] if page["name"].startswith("labs/")]
    context["home"] = parts[0]["pages"][0]
    options = app.config.html_theme_options
    context["html_baseurl"] = app.config.html_baseurl
    context["repository"] = options["repository_url"].rstrip("/")
    context["homeless"] = "OWNER" in context["repository"].split("/")
    owner_and_name = context["repository"].removeprefix("https://github.com/")
    if pagename.startswith("labs/"):
        branch, launch, notebook = options["repository_branch"], options["launch_buttons"], f"{pagename}.ipynb"
        context["colab"] = f"{launch['colab_url']}/github/{owner_and_name}/blob/{branch}/{notebook}"
        context["student"] = f"{IDENTITY.read(Path(app.srcdir))['colab_student']}/{Path(notebook).name}"
        context["binder"] = f"{launch['binderhub_url']}/v2/gh/{owner_and_name}/{branch}?urlpath=lab/tree/{notebook}"
    if doctree is not None:
        context["body"] = make_lazy(app, finished(context["body"]))
        # What the check says of an exercise that nobody has written yet makes sense only where cells run.
        where = f'<a href="{context["pathto"]("book/how_to_use")}#do-the-exercises">{_("where Python runs")}</a>'
        yours = _("Yours to write, {where}. This page cannot run it.").format(where=where)
        open_yet = _("Not done yet: write your answer in the cell above, run it, then this one.").partition(":")[0]
        context["body"] = re.sub(f"<p>{re.escape(open_yet)}:.*?</p>", f"<p>{yours}</p>", context["body"])
        context["body"] = drawn_late(context["body"])
        sections = [s for s in doctree.findall(nodes.section) if isinstance(s.parent.parent, nodes.document)]
        context["sections"] = [(s["ids"][0], s.next_node(nodes.title).astext()) for s in sections]
        words = next((p.astext() for p in doctree.findall(nodes.paragraph)), app.config.html_title)
        context["description"] = re.sub(r"\s+", " ", words)[:155]


# Pygments' kinds of code that course.css colours, by the one that stands for its like: comments, words of Python,
# texts, numbers, names where they are defined. All others are plain.
KINDS = {"c": "c1 ch cm gp", "k": "kc kd kn ow", "s": "s1 s2 sa sb sd se si", "m": "mf mh mi", "nf": "fm nb nc nd"}
LIKE = {kind: first for first, others in KINDS.items() for kind in [first, *others.split()]}


def few_elements(code: re.Match) -> str:
    """Highlighted code with an element for each run of one colour: a span for every dot keeps a phone busy."""
    pieces = re.findall(r'<span(?: class="([^"]*)")?>([^<]*)</span>|([^<]+)', code[0])
    if len(re.findall("<", code[0])) != 2 * sum("" == between for *_, between in pieces):
        return code[0]  # spans within spans, as around a line that stands out
    runs = groupby(((LIKE.get(kind), inside + between) for kind, inside, between in pieces), key=lambda piece: piece[0])
    texts = ((kind, "".join(text for _, text in run)) for kind, run in runs)
    return "".join(f'<span class="{kind}">{text}</span>' if kind else text for kind, text in texts)


def finished(body: str) -> str:
    """The HTML that Sphinx wrote, as readers and their screen readers want it."""
    # docutils' role for an entry has been given up by ARIA; a list has items.
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    # What is heard is what is seen: "Show code cell source".
    body = body.replace(' aria-label="Toggle hidden content"', "")
    # Sphinx's own catalogues lack these words in most languages.
    body = body.replace('title="Link to this heading"', f'title="{_("Link to this heading")}"')
    # Marks by which the course finds its way stay English in a lab's text, and are read in the reader's language.
    marks = {"Predict.": _("Predict."), "Hint": _("Hint"), "Solution": _("Solution"), "Answer": _("Answer")}
    body = re.sub(
        rf"(<(?:strong|summary)>)({'|'.join(map(re.escape, marks))})(?=</)", lambda at: at[1] + marks[at[2]], body
    )
    # The corner of a table is a heading of nothing.
    for corner in ("<th></th>", '<th class="head"><p></p></th>'):
        body = body.replace(corner, "<td></td>")
    # Where a list explains the labs, each has its number.
    body = re.sub(r'<dt>(?=<a [^>]*href="[^"]*labs/0?(\d+)_)', r'<dt><span class="number">\1</span> ', body)
    body = re.sub(r'(?<=<div class="highlight"><pre>).*?(?=</pre>)', few_elements, body, flags=re.DOTALL)
    # No line begins with the comma behind a formula, or ends with the bracket before it.
    return WITH_MARKS.sub(r'<span class="together">\g<0></span>', body)


def drawn_late(body: str) -> str:
    """Each script of figures once, for course.js to run when a reader comes near the first of them.

    A notebook needs a script beside each figure. On a page they are the same text again, and drawing the 72 maps of
    three figures keeps a phone from showing the first line.
    """
    scripts = dict.fromkeys(re.findall(r"(?<=</table></div>\n</div>\n)<script>.*?</script>", body, re.DOTALL))
    for script in scripts:
        body = body.replace(script, "")
    return body + "".join(
        script.replace("<script>", '<script type="text/plain" class="figures">') for script in scripts
    )


def make_lazy(app: Sphinx, body: str) -> str:
    """Figures come when the reader comes near them, into room that is kept for them."""
    sources = {name: Path(app.srcdir) / source for source, name in app.builder.images.items()}

    def sized(match: re.Match) -> str:
        size = get_image_size(sources[match[1]]) if match[1] in sources else None
        room = f'width="{size[0]}" height="{size[1]}" ' if size else ""
        return f'<img loading="lazy" {room}'

    return re.sub(r'<img (?=[^>]*src="[^"]*_images/([^"]+)")', sized, body)


def set_base(app: Sphinx, config) -> None:
    """The address that the site has on GitHub's pages follows from the repository's."""
    match = re.fullmatch(r"https://github\.com/([^/]+)/([^/]+?)/?", config.html_theme_options["repository_url"])
    if match:
        config.html_baseurl = f"https://{match[1]}.github.io/{match[2]}/"


def add_pages(app: Sphinx):
    """The redirect from the site's root, and the page for a wrong address."""
    yield "index", {"title": app.config.html_title}, "index.html"
    # A browser that is told of no icon asks the host's root for one, and reports that it is missing.
    logo = base64.b64encode((Path(app.srcdir) / app.config.html_favicon).read_bytes()).decode()
    yield "404", {"title": _("There is no page here"), "icon": f"data:image/svg+xml;base64,{logo}"}, "404.html"
    yield "search", {}, "search.html"


def write_colours(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        sheet = COLOURS.role_css() + "".join(
            f".role-{role} {{ color: var(--role-{role}); }}\n" for role in COLOURS.ROLES
        )
        (Path(app.outdir) / "_static" / "roles.css").write_text(sheet, encoding="utf-8")


def write_words(app: Sphinx, exception: Exception | None) -> None:
    """What the catalogue has for the scripts, in front of words.js; a site in English has no catalogue."""
    catalogue = LOCALE / app.config.language / "LC_MESSAGES/course.po"
    if exception is not None or app.builder.format != "html" or not catalogue.is_file():
        return
    with catalogue.open("rb") as file:
        messages = read_po(file)
    # A text with forms for numbers, by its first.
    words = {
        message.id[0] if message.pluralizable else message.id: message.string
        for message in messages
        if any(place.endswith(".js") for place, line in message.locations) and message.string and all(message.string)
    }
    script = Path(app.outdir) / "_static" / "words.js"
    given = f"{{ words: {json.dumps(words, ensure_ascii=False)}, form: (n) => Number({messages.plural_expr}) }}"
    script.write_text(f"globalThis.courseWords = {given};\n{script.read_text('utf-8')}", encoding="utf-8")
    script.with_name("translations.js").unlink(missing_ok=True)  # the words of Sphinx's own scripts, which no page has


# ------------------------------------------------------------------------------------------------------ the search


def no_stock_search(app: Sphinx) -> None:
    """Sphinx's search knows no quotes and no signs, forgives nothing and ends at a page: search.js does all four."""
    app.builder.search = False


def words_of(node: nodes.Node) -> str:
    """The text of a node as a reader sees it, formulas with their letters, on one line."""

    def greek(match: re.Match) -> str:
        try:
            return unicodedata.lookup(f"GREEK SMALL LETTER {match[1]}")
        except KeyError:
            return match[1]

    def text(leaf: nodes.Node) -> str:
        if isinstance(leaf.parent, (nodes.math, nodes.math_block)):
            return re.sub(r"[{}^_&]|\\\\|\\textcolor{.*?}", " ", re.sub(r"\\([a-z]+)", greek, leaf.astext()))
        return re.sub(r"<(script|style|svg).*?</\1>|<[^>]+>", " ", leaf.astext(), flags=re.DOTALL)

    return " ".join(" ".join(text(leaf) for leaf in node.findall(nodes.Text)).split())


def write_search(app: Sphinx, exception: Exception | None) -> None:
    """All that can be searched, section by section, as a script: a page from a disk may read no other file."""
    if exception is not None or app.builder.format != "html":
        return
    pages = []
    for page in (page for part in course_map(app) for page in part["pages"]):
        sections = []
        for section in app.env.get_doctree(page["name"]).findall(nodes.section):
            title, *rest = section.children
            own = [words_of(child) for child in rest if not isinstance(child, nodes.section)]
            sections.append([section["ids"][0], title.astext(), " ".join(filter(None, own))])
        pages.append([page["name"], page["title"], sections])
    # An address in the text must not look like one that the script would ask.
    script = json.dumps(pages, ensure_ascii=False, separators=(",", ":")).replace("://", r"\u003a//")
    (Path(app.outdir) / "searchindex.js").write_text(f"globalThis.courseIndex = {script};\n", encoding="utf-8")


# ------------------------------------------------------------------------------------------- the models to try

WEIGHTS = ROOT / "book" / "_static" / "try_the_model.safetensors"  # made by experiments/models_to_try.py


def say_size(app: Sphinx, doctree) -> None:
    """Put the size of the models where the page says WEIGHTS_SIZE."""
    for node in [node for node in doctree.findall(nodes.Text) if "WEIGHTS_SIZE" in node]:
        app.env.note_dependency(str(WEIGHTS))
        size = f"{WEIGHTS.stat().st_size / 1e6:.1f} MB"
        node.parent.replace(node, nodes.Text(node.replace("WEIGHTS_SIZE", size)))


def write_weights(app: Sphinx, exception: Exception | None) -> None:
    """The models once more as a script: a page that was opened from a disk may fetch no other file."""
    if exception is None and app.builder.format == "html" and WEIGHTS.exists():
        packed = base64.b64encode(gzip.compress(WEIGHTS.read_bytes(), mtime=0)).decode()
        script = Path(app.outdir) / "_static" / "try_the_model.weights.js"
        script.write_text(f'globalThis.tryTheModelWeights = "{packed}";\n', encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.add_message_catalog("course", str(LOCALE))
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.add_transform(LettersOfLabs)
    app.add_post_transform(PageChecks)
    app.add_post_transform(LabsLeftOut)
    app.connect("config-inited", set_base)
    app.connect("builder-inited", no_stock_search)
    app.connect("html-page-context", add_context)
    app.connect("html-collect-pages", add_pages)
    app.connect("build-finished", write_colours)
    app.connect("build-finished", write_words)
    app.connect("build-finished", write_search)
    app.connect("doctree-read", say_size)
    app.connect("build-finished", write_weights)
    app.setup_extension("answers")
    app.setup_extension("published_model")
    app.setup_extension("slides")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

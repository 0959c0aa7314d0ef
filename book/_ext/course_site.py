"""What the book's pages need beyond Sphinx: the way through the course and its buttons.

Everything else has a file of its own: formulas, outputs of cells, the finished HTML, predictions and questions, search,
the two pages with models.
"""

import base64
import re
from pathlib import Path

from docutils import nodes
from finished import FewElements, drawn_late, finished, make_lazy
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from tools import contents, identity

ROOT = Path(__file__).resolve().parents[2]
LONGEST_DESCRIPTION = 200  # letters, where a page does not say its own

# Where what a lab teaches can be played with; its end says so.
LIVE_PAGES = {
    "ten_minutes": "book/playground", "recap_attention": "book/playground", "keys": "book/playground",
    "queries": "book/playground", "values": "book/playground", "order": "book/playground",
    "the_block": "book/playground", "when_in_doubt": "book/seventy_two_heads",
    "many_heads": "book/seventy_two_heads", "a_pretrained_model": "book/seventy_two_heads",
    "what_attention_explains": "book/seventy_two_heads", "a_language_model": "book/it_writes",
    "induction_heads": "book/it_writes", "the_kv_cache": "book/it_writes",
    "a_question_from_the_text": "book/try_the_model", "does_it_help": "book/try_the_model",
}  # fmt: skip
EXTENSIONS = ("formulas", "outputs", "answers", "search", "try_the_model", "seventy_two_heads", "it_writes", "remember")


class LabsLeftOut(SphinxPostTransform):
    """A link to a lab that _toc.yml does not name becomes plain words: an instructor chooses labs by lines there."""

    default_priority = 8  # before MyST, which would call the lab an unknown document

    def run(self, **kwargs) -> None:
        for link in list(self.document.findall(addnodes.pending_xref)):
            target = link.get("reftarget", "")
            if link.get("refdomain") == "doc" and target.startswith("labs/") and target not in self.env.all_docs:
                link.replace_self(link[0].deepcopy())


class NumbersOfExercises(SphinxTransform):
    """The heading of an exercise gets the number of its lab: Exercise 1 becomes Exercise 2.1."""

    default_priority = 500

    def apply(self, **kwargs) -> None:
        number = self.app.config.numbers_of_labs.get(self.env.docname)
        for title in self.document.findall(nodes.title):
            text = title.next_node(nodes.Text)
            if number and text and re.match(r"Exercise \d", text):
                text.parent.replace(text, nodes.Text(text.replace("Exercise ", f"Exercise {number}.", 1)))


class FactsOfALab(SphinxTransform):
    """The paragraph that says how long a lab takes, what it needs and what it is good for is set in small type."""

    default_priority = 500

    def apply(self, **kwargs) -> None:
        for paragraph in self.document.findall(nodes.paragraph):
            if paragraph.astext().startswith("Time: about"):
                paragraph["classes"].append("facts")


class LabsInOrder(SphinxTransform):
    """A list that explains labs follows the order of _toc.yml, and one that is left out there is left out here."""

    default_priority = 500

    def apply(self, **kwargs) -> None:
        order = [*self.app.config.numbers_of_labs]
        for each in [*self.document.findall(nodes.definition_list)]:
            labs = {item: name for item in each if (name := self.lab_of(item))}
            there = iter(
                sorted((item for item in labs if labs[item] in order), key=lambda item: order.index(labs[item]))
            )
            items = [next(there) if item in labs else item for item in each if labs.get(item, order[0]) in order]
            each.children = items

    def lab_of(self, item: nodes.definition_list_item) -> str:
        """The lab to which the term of a list leads, or the empty text."""
        link = next(item[0].findall(addnodes.pending_xref), None)
        found = re.search(r"labs/\w+/\w+", link["reftarget"]) if link else None
        return found[0] if found else ""


# ------------------------------------------------------------------------------------------ the way through it


def course_map(app: Sphinx) -> list[dict]:
    """The parts of _toc.yml in order: each with its caption and its pages (name, title, and a lab's number)."""
    site_map = app.env.external_site_map

    def page(name: str) -> dict:
        name = app.env.path2doc(name) or name
        return {"name": name, "title": app.env.titles[name].astext(), "number": app.config.numbers_of_labs.get(name)}

    root = {"caption": None, "pages": [page(site_map.root.docname)]}
    return [root] + [
        {"caption": part.caption, "pages": [page(item) for item in part.items]} for part in site_map.root.subtrees
    ]


def add_context(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    parts = course_map(app)
    context["course"] = parts
    context["live_pages"] = LIVE_PAGES
    context["home"] = parts[0]["pages"][0]
    context["html_baseurl"] = app.config.html_baseurl
    address = app.config.course_address
    context["repository"] = address and address["url"]
    if address and pagename.startswith("labs/"):
        launch, notebook = app.config.html_theme_options["launch_buttons"], f"{pagename}.ipynb"
        repository = address["url"].removeprefix("https://github.com/")
        context["colab"] = f"{launch['colab_url']}/github/{repository}/blob/{address['branch']}/{notebook}"
        context["student"] = f"{address['colab_student']}/{pagename}_student.ipynb"
        in_binder = f"{repository}/{address['branch']}?urlpath=lab/tree/{notebook}"
        context["binder"] = f"{launch['binderhub_url']}/v2/gh/{in_binder}"
    if doctree is not None:
        context["body"] = make_lazy(app, finished(context["body"], app.config.numbers_of_labs))
        context["body"] = drawn_late(context["body"])
        sections = [s for s in doctree.findall(nodes.section) if isinstance(s.parent.parent, nodes.document)]
        context["sections"] = [(s["ids"][0], s.next_node(nodes.title).astext()) for s in sections]
        context["description"] = description(doctree)
        # The layout writes these two itself, once a page.
        context["metatags"] = re.sub(r'<meta [^>]*name="(viewport|description)"[^>]*>\n?', "", context["metatags"])


def description(doctree: nodes.document) -> str:
    """What search engines and previews of links say of a page: its own `description`, or its first sentences."""
    for meta in doctree.findall(nodes.meta):
        if meta.get("name") == "description":
            return meta["content"]
    words = " ".join(next((paragraph.astext() for paragraph in doctree.findall(nodes.paragraph)), "").split())
    return re.match(rf".{{,{LONGEST_DESCRIPTION}}}[.?!](?= [A-Z“]|$)|.*", words)[0]


def read_settings(app: Sphinx, config) -> None:
    """Labs have numbers by _toc.yml, and the address that the site has on GitHub's pages follows from the
    repository's.
    """
    labs = contents.labs(Path(app.srcdir))
    config.numbers_of_labs = {f"labs/{name}/{name}": number for name, number in labs.items()}
    config.course_address = address = identity.published(Path(app.srcdir))
    if address:
        config.html_baseurl = f"{address['site']}/"
        app.tags.add("published")  # for `only` directives on pages


def add_pages(app: Sphinx):
    """The redirect from the site's root, and the page for a wrong address."""
    yield "index", {"title": app.config.html_title}, "index.html"
    # A browser that is told of no icon asks the host's root for one, and reports that it is missing.
    logo, font = (
        base64.b64encode((ROOT / name).read_bytes()).decode()
        for name in (app.config.html_favicon, "book/_static/fonts/source-serif-4.woff2")
    )
    carried = {"icon": f"data:image/svg+xml;base64,{logo}", "font": f"data:font/woff2;base64,{font}"}
    yield "404", {"title": "There is no page here", **carried}, "404.html"
    yield "search", {}, "search.html"


def setup(app: Sphinx) -> None:
    # What read_settings finds; another address, and all pages change.
    app.add_config_value("course_address", None, "env")
    app.add_config_value("numbers_of_labs", {}, "env")
    app.add_transform(NumbersOfExercises)
    app.add_transform(FactsOfALab)
    app.add_transform(LabsInOrder)
    app.add_post_transform(LabsLeftOut)
    app.connect("config-inited", read_settings)
    app.connect("html-page-context", add_context)
    app.connect("html-collect-pages", add_pages)
    PygmentsBridge.html_formatter = FewElements
    for name in EXTENSIONS:
        app.setup_extension(name)

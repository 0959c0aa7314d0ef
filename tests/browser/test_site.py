"""The built site as files: what it loads, where its links lead, what its pictures say. `make book` builds it."""

import functools
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import formulas
import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup, Tag

from tools import identity, site
from tools.lab import Lab, code_of

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PUBLISHED = identity.published(ROOT)  # None where buttons and links to the repository would lead nowhere
CHAPTERS = [TOC["root"]] + [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]
PAGES = [name.removesuffix(".ipynb") for name in CHAPTERS]
LABS = [name for name in PAGES if name.startswith("labs/")]


class Page:
    """What the checks ask of one page: its text, its ids, the attributes of its tags."""

    def __init__(self, path: Path):
        self.path, self.text = path, path.read_text("utf-8")
        self.soup = BeautifulSoup(self.text, "html.parser", multi_valued_attributes=None)
        self.ids = {tag["id"] for tag in self.soup.select("[id]")}

    def every(self, *names: str) -> list[dict]:
        return [tag.attrs for tag in self.soup.find_all(names)]


parsed = functools.cache(Page)  # each page once


def built(name: str) -> Page:
    path = SITE / f"{name}.html"
    assert path.is_file(), f"{path.relative_to(ROOT)} is not there; run `make book` first"
    return parsed(path)


def dead_links(page: Page) -> list[str]:
    """The links inside the site that lead to no file, or to no place in it."""
    dead = []
    for given in page.every("a", "area", "form"):
        address = given.get("href") or given.get("action") or ""
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or not address:
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        if not target.is_file():
            dead.append(address)
        elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in parsed(target).ids:
            dead.append(address)
    return dead


@pytest.mark.parametrize("name", [*PAGES, "index", "search"])
def test_a_page_has_no_dead_link(name):
    assert dead_links(built(name)) == []


def test_a_dead_link_is_found_and_one_to_another_site_is_left_to_make_links(tmp_path):
    (tmp_path / "there.html").write_text('<h2 id="here">A section</h2>')
    links = "there.html there.html#here #own https://example.org/gone gone.html there.html#gone #gone".split()
    (tmp_path / "page.html").write_text('<p id="own">' + "".join(f'<a href="{link}">a</a>' for link in links))
    assert dead_links(Page(tmp_path / "page.html")) == ["gone.html", "there.html#gone", "#gone"]


@pytest.mark.parametrize("name", [*PAGES, "index", "404", "search"])
def test_a_page_has_an_icon(name):
    page = built(name)
    # A browser that is told of no icon asks the host for favicon.ico: a request more, and an error in its console.
    assert [given["href"] for given in page.every("link") if given.get("rel") == "icon"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_a_description_an_address_words_for_its_pictures_and_drawn_formulas(name):
    page = built(name)
    assert len(page.every("h1")) == 1, f"{name} needs one heading of the first level"
    metas = {given.get("name") or given.get("property"): given.get("content") for given in page.every("meta")}
    assert re.fullmatch(r".{40,}[.?!]", metas["description"]), f"{name} does not say what it is about"
    canonical = [given["href"] for given in page.every("link") if given.get("rel") == "canonical"]
    assert canonical == ([f"{PUBLISHED['site']}/{name}.html"] if PUBLISHED else [])
    assert "OWNER" not in "".join(canonical)
    for given in page.every("img"):
        assert "alt" in given and not given["alt"].endswith((".png", ".svg")), f"{given} has no words"
    for given in page.every("svg"):
        named = given.get("aria-label") or given.get("aria-labelledby") or given.get("aria-hidden") == "true"
        assert named, "a drawing has no aria-label"
    text = re.sub(r"<(script|style|pre|code)\b.*?</\1>", "", page.text, flags=re.DOTALL)
    assert not re.search(r"\\(frac|sqrt|text|operatorname|top|cdot)\b|\$\$", text), "a formula is left as source"


@pytest.mark.parametrize("name", LABS)
def test_the_launch_links_and_the_download_of_a_lab_lead_to_its_notebook(name):
    page = built(name)
    links = [given.get("href", "") for given in page.every("a")]
    for host in ("https://colab.research.google.com/", "https://mybinder.org/"):
        found = [link for link in links if link.startswith(host) and link.endswith(f"/{Path(name).name}.ipynb")]
        assert bool(found) == bool(PUBLISHED), host
    download = next(given["href"] for given in page.every("a") if "download" in given)
    assert page.path.parent.joinpath(download).read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()
    assert "Not done yet" not in page.text, f"{name} asks a reader of the page to run a cell"


@pytest.mark.parametrize("name", LABS)
def test_the_answer_to_an_exercise_to_build_is_folded_and_nobody_is_congratulated_for_it(name):
    in_sight = re.sub(r"<details>.*?</details>|<[^>]+>", "", built(name).text, flags=re.DOTALL)
    for exercise in Lab(ROOT, Path(name).name).exercises:
        assert exercise.kind != "build" or exercise.solution.split("\n")[0] not in in_sight, exercise.number
    assert "Correct in all" not in in_sight


def shown_cells(name: str) -> list[nbformat.NotebookNode]:
    """The code cells of a lab's notebook that its page shows."""
    cells = code_of(nbformat.read(ROOT / f"{name}.ipynb", as_version=4).cells)
    return [cell for cell in cells if "remove-cell" not in cell.metadata.get("tags", [])]


def shown_outputs(name: str) -> list[dict[str, str]]:
    """What these cells put out, each output by its kinds."""
    outputs = [output for cell in shown_cells(name) for output in cell.outputs]
    return [{"stream": output.text} if output.output_type == "stream" else output.data for output in outputs]


def plain(text: str) -> str:
    """A text without what a page changes: the kind of its spaces, and their number at the end of a line."""
    lines = text.replace("\N{NO-BREAK SPACE}", " ").replace("± ", "±").strip("\n").split("\n")
    return "\n".join(line.rstrip() for line in lines)


def rows_of(frame: Tag) -> list[list[str]]:
    """The text of every cell of a data frame, row by row, names included."""
    return [[plain(cell.get_text()).strip() for cell in row(["th", "td"])] for row in frame("tr")]


def labels_of(frame: Tag) -> list[list[str]]:
    """The name above each cell of a data frame, and where columns are in groups, that of the group before it."""
    heads = [
        [cell.get_text().strip() for cell in row(["th", "td"]) for _ in range(int(cell.get("colspan", 1)))]
        for row in frame.thead("tr")
    ]
    above = [", ".join(filter(None, names)) for names in zip(*heads, strict=True)]
    return [above[-len(row("td")) :] for row in frame.tbody("tr")]


@pytest.mark.parametrize("name", LABS)
def test_every_cell_of_every_data_frame_arrives_and_is_named_as_its_column_is(name):
    in_notebook = [
        frame
        for output in shown_outputs(name)
        for frame in BeautifulSoup(output.get("text/html", ""), "html.parser").select("table.dataframe")
    ]
    on_page = built(name).soup.select("table.dataframe")
    assert [rows_of(frame) for frame in on_page] == [rows_of(frame) for frame in in_notebook]
    labels = [[[cell["data-column"] for cell in row("td")] for row in frame.tbody("tr")] for frame in on_page]
    assert labels == [labels_of(frame) for frame in in_notebook]
    assert not [row for frame in on_page for row in rows_of(frame) if {"NaN", "nan", "None"} & {*row}]


@pytest.mark.parametrize("name", LABS)
def test_everything_that_a_cell_prints_arrives_in_order(name):
    kinds = {"stream", "text/plain"}  # a page shows the plain text of what has no other kind
    printed = [next(iter(output.values())) for output in shown_outputs(name) if {*output} <= kinds]
    on_page = [block.get_text() for block in built(name).soup.select("div.output.printed pre")]
    assert list(map(plain, on_page)) == list(map(plain, printed))


@pytest.mark.parametrize("name", LABS)
def test_a_page_shows_no_assertion_of_the_course_s_own(name):
    starts = [exercise.start for exercise in Lab(ROOT, Path(name).name).exercises]
    shown = [plain(block.get_text()) for block in built(name).soup.select("div.cell_input pre")]
    asserting = [source for source in shown if re.search(r"(?m)^\s*assert\b", source)]
    assert [source for source in asserting if source not in map(plain, starts)] == []


def test_the_root_and_a_wrong_address_lead_to_the_welcome_page_which_speaks_of_every_lab():
    stems = {Path(given["href"]).stem for given in built(TOC["root"]).every("a") if "href" in given}
    assert [name for name in LABS if Path(name).name not in stems] == []
    refresh = next(given["content"] for given in built("index").every("meta") if given.get("http-equiv"))
    assert refresh.endswith(f"url={TOC['root']}.html")
    lost = built("404")
    loads = "src=" in lost.text or "stylesheet" in lost.text
    assert not loads, "a host shows 404.html under any address, so it can load nothing by a relative one"
    assert lost.every("a")[0]["href"] == (f"{urlsplit(PUBLISHED['site']).path}/" if PUBLISHED else "/")


def test_the_letters_of_a_lab_wear_their_colours_and_follow_the_theme():
    light = formulas.ROLES["query"][0]
    markup = formulas.to_mathml(rf"\textcolor{{{light}}}{{Q}}", display=False)
    assert 'class="role-query"' in markup and light not in markup
    markup = formulas.to_mathml("A(X W_V)", display=False, letters_have_roles=True)
    assert '<mi class="role-weight">A</mi>' in markup and '<msub class="role-value"><mi>W</mi>' in markup
    sheet = (SITE / "_static" / "roles.css").read_text()
    for role, (light, dark) in formulas.ROLES.items():
        assert f"--role-{role}: light-dark({light}, {dark});" in sheet


def test_the_search_index_knows_where_terms_are_introduced_and_no_key_of_a_reference():
    text = (SITE / "searchindex.js").read_text("utf-8")
    sections = [(name, *section) for name, _, listed in json.loads(text[text.index("[") : -2]) for section in listed]
    terms = [term for name, *_, terms, _ in sections if name.startswith("labs/") for term in terms]
    assert terms and len(terms) == len(set(terms)), "a term is introduced once"
    keys = re.findall(r"(?m)^@\w+\{([^,]+),", (ROOT / "book/references.bib").read_text("utf-8"))
    assert keys and not set(re.findall(r"\w+", text)) & set(keys)
    names = {title: names for page, _, title, *_, names, _ in sections if page == "book/notation"}
    assert {"energy", "lookup"} <= set(names["Score"]), "the other names of a term"
    there, pages = {f"{name}#{id}" for name, id, *_ in sections}, {name for name, *_ in sections}
    lines = (ROOT / "book/_ext/search_words.txt").read_text("utf-8").splitlines()
    meant = {line.split(":")[0] for line in lines if not line.startswith("#")}
    assert {place for place in meant - there if place.split("#")[0] in pages} == set(), (
        "words for a section that is gone"
    )


@pytest.mark.parametrize(
    "name", ["book/_theme/page.html", "book/_static/model/weights", "shared/colours.py", "_toc.yml"]
)
def test_what_makes_or_dresses_a_page_makes_the_build_forget_when_it_changed(tmp_path, monkeypatch, name):
    changed = tmp_path / name
    changed.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(site, "ROOT", tmp_path)
    first, second, again = [changed.write_text(text) and site.makers() for text in ("a = 1", "a = 2", "a = 2")]
    assert first != second == again


def test_a_link_to_a_lab_that_is_gone_is_listed_with_its_line(tmp_path):
    lines = [
        "# A page",
        "[Keys](../labs/keys/keys.ipynb#scores), [Queries](../labs/queries/queries.ipynb)",
        "[Old]: ../labs/old/old.ipynb",
    ]
    (tmp_path / "labs/keys").mkdir(parents=True)
    (tmp_path / "labs/keys/keys.md").write_text("# Keys\n\n[Values](../values/values.ipynb)\n")
    (tmp_path / "page.md").write_text("\n\n".join(lines))
    (tmp_path / "_toc.yml").write_text("root: page\nchapters: [{file: labs/keys/keys.ipynb}]\n")
    assert site.links_to_labs_that_are_gone(tmp_path) == [
        "page.md, line 3: links to queries, which _toc.yml does not name.",
        "page.md, line 5: links to old, which _toc.yml does not name.",
        "labs/keys/keys.md, line 3: links to values, which _toc.yml does not name.",
    ]

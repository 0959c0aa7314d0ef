"""The built site as files: what it loads, where its links lead, what its pictures say. `make book` builds it."""

import functools
import gzip
import importlib.util
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import build_site
import check_links
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text())
CHAPTERS = [TOC["root"]] + [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]
PAGES = [name.removesuffix(".ipynb") for name in CHAPTERS]
LABS = [name for name in PAGES if name.startswith("labs/")]


@dataclass
class Page(HTMLParser):
    """What the checks ask of one page: its tags with their attributes, its ids, its headings."""

    path: Path
    tags: list[tuple[str, dict]] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.text = self.path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attributes) -> None:
        given = {name: value or "" for name, value in attributes}
        self.tags.append((tag, given))
        self.ids.add(given.get("id", ""))

    def every(self, *names: str) -> list[dict]:
        return [given for tag, given in self.tags if tag in names]


parsed = functools.cache(Page)  # each page once: a lab takes a second


def built(name: str) -> Page:
    path = SITE / f"{name}.html"
    assert path.is_file(), f"{path.relative_to(ROOT)} is not there; run `make book` first"
    return parsed(path)


@pytest.fixture(scope="module")
def course_site():
    """The book's own Sphinx extension, as a module."""
    spec = importlib.util.spec_from_file_location("course_site", ROOT / "book" / "_ext" / "course_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loads(page: Page) -> list[str]:
    """The addresses that a browser fetches when it opens the page."""
    fetched = [given[name] for _, given in page.tags for name in ("src", "poster", "data") if given.get(name)]
    links = [given["href"] for given in page.every("link") if given.get("rel") not in {"canonical", "next", "prev"}]
    sheets = re.findall(r"url\(\s*['\"]?([^'\")]+)", page.text)
    return [address for address in fetched + links + sheets if not address.startswith(("data:", "#"))]


# ------------------------------------------------------------------------------------------ nothing from elsewhere


@pytest.mark.parametrize("name", [*PAGES, "index", "404", "search"])
def test_what_a_page_loads_is_there(name):
    page = built(name)
    for address in loads(page):
        target = (page.path.parent / unquote(urlsplit(address).path)).resolve()
        assert target.is_file(), f"{name} asks for {address}, which the site does not have"


# An address elsewhere where a script or a style sheet begins a text or a url(); the names of XML are not fetched.
ADDRESS = re.compile(r"""(?i)(?:["'`]|url\()\s*(?:(?:https?|wss?|ftp):|//\w)(?!//www\.w3\.org/)[^"'`)\s]*""")
# What makes a browser ask: on every tag, but for the links that a reader follows.
ASKING = {"src", "srcset", "imagesrcset", "poster", "data", "action", "formaction", "background", "ping", "manifest"}


def elsewhere(page: Page) -> list[str]:
    """What a page asks other hosts for, now or when it is used: by a tag, a style or a script of its own."""
    asked = []
    for tag, given in page.tags:
        leads_on = tag in ("a", "area") or given.get("rel") in ("canonical", "next", "prev")
        names = ASKING if leads_on else ASKING | {"href", "xlink:href"}
        asked += [value for name, value in given.items() if name in names]
        if given.get("http-equiv", "").lower() == "refresh":
            asked.append(given["content"])
        asked += [f"url({url}" for url in re.findall(r"url\(([^)]*)", given.get("style", ""))]
    own = re.findall(r"(?is)<(?:script|style)\b[^>]*>(.*?)</(?:script|style)>", page.text)
    return [
        value for value in asked if re.search(r"(?i)(?:^|[\s,=(\"'])(?:\w+:)?//\w", re.sub(r"data:\S*", "", value))
    ] + [address for text in own for address in ADDRESS.findall(text)]


@pytest.mark.parametrize("name", [*PAGES, "index", "404", "search"])
def test_a_page_asks_no_other_host_for_anything(name):
    assert elsewhere(built(name)) == []


def test_style_sheets_scripts_and_drawings_ask_no_other_host():
    for path in [*SITE.rglob("*.css"), *SITE.rglob("*.js")]:
        found = ADDRESS.findall(path.read_text(encoding="utf-8"))
        assert not found, f"{path.name} asks {found}"
    for path in SITE.rglob("*.svg"):
        assert elsewhere(Page(path)) == [], path.name


@pytest.mark.parametrize(
    "fault",
    [
        '<img src="small.png" srcset="small.png 1x, https://far.example/large.png 2x">',
        '<link rel="preconnect" href="//far.example">',
        '<form action="https://far.example/collect"></form>',
        '<a href="here.html" ping="https://far.example/seen">here</a>',
        '<meta http-equiv="refresh" content="0; url=https://far.example/">',
        '<svg><image href="https://far.example/a.png"/></svg>',
        '<p style="background: url(https://far.example/a.png)">here</p>',
        '<style>@import "https://far.example/a.css";</style>',
        "<style>p { background: url( //far.example/a.png ) }</style>",
        '<script type="module">import("https://far.example/a.js")</script>',
        "<script>fetch(`https://far.example/${word}`)</script>",
        "<script>new WebSocket('wss://far.example')</script>",
        "<script>document.body.innerHTML = '<img src=\"//far.example/a.png\">'</script>",
    ],
)
def test_whatever_asks_another_host_is_found(tmp_path, fault):
    (tmp_path / "page.html").write_text(f"<p>Fine.</p>{fault}")
    assert any("far.example" in address for address in elsewhere(Page(tmp_path / "page.html")))


@pytest.mark.parametrize(
    "fine",
    [
        '<a href="https://far.example">a link to follow</a>',
        '<link rel="canonical" href="https://far.example/page.html">',
        '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
        "<script>document.createElementNS('http://www.w3.org/2000/svg', 'svg') // see http://far.example</script>",
        '<img src="data:image/png;base64,//8A//8">',
    ],
)
def test_what_asks_nobody_is_let_through(tmp_path, fine):
    (tmp_path / "page.html").write_text(fine)
    assert elsewhere(Page(tmp_path / "page.html")) == []


@pytest.mark.parametrize("name", LABS)
def test_the_first_load_of_a_lab_stays_small(name):
    page = built(name)
    sheets = {(page.path.parent / a).resolve() for a in loads(page) if a.endswith(".css")}
    fonts = {(sheet.parent / a) for sheet in sheets for a in re.findall(r"url\((fonts/[^)]+)\)", sheet.read_text())}
    files = {page.path} | {(page.path.parent / urlsplit(a).path).resolve() for a in loads(page)} | fonts
    size = sum(len(gzip.compress(path.read_bytes(), 6)) for path in files)
    assert size <= 600_000, f"{name} is {size / 1000:.0f} kB compressed; 600 kB is the limit"


# ------------------------------------------------------------------------------------------------- links and pages


@pytest.mark.parametrize("name", [*PAGES, "index", "search"])
def test_every_internal_link_and_anchor_leads_somewhere(name):
    page, dead = built(name), []
    for given in page.every("a", "area", "form"):
        address = given.get("href") or given.get("action") or ""
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or not address:
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        if not target.is_file():
            dead.append(address)
        elif parts.fragment and target.suffix == ".html":
            if unquote(parts.fragment) not in parsed(target).ids:
                dead.append(address)
    assert not dead, f"dead links on {name}: {dead}"


@pytest.mark.parametrize("name", LABS)
def test_every_launch_link_names_a_file_of_the_repository(name):
    url, branch = CONFIG["repository"]["url"].removeprefix("https://github.com/"), CONFIG["repository"]["branch"]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    links = [given.get("href", "") for given in built(name).every("a")]
    colab = f"{CONFIG['launch_buttons']['colab_url']}/github/{url}/blob/{branch}/"
    binder = f"{CONFIG['launch_buttons']['binderhub_url']}/v2/gh/{url}/{branch}?urlpath=lab/tree/"
    if "OWNER" in url:
        assert not [link for link in links if "OWNER" in link or link.startswith((colab, binder))], "it leads nowhere"
        assert "This copy of the course has no home yet" in built(name).text
        return
    for start in (colab, binder):
        files = {link.removeprefix(start) for link in links if link.startswith(start)}
        assert files == {f"{name}.ipynb"}, f"{name} has no single launch link that begins with {start}: {files}"
    assert f"{name}.ipynb" in tracked, f"{name}.ipynb is not committed, so its launch links would find nothing"


@pytest.mark.parametrize("name", LABS)
def test_a_lab_can_be_downloaded_as_it_lies_in_the_repository(name):
    link = next(given["href"] for given in built(name).every("a") if "download" in given)
    assert (SITE / f"{name}.html").parent.joinpath(link).read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_its_language_its_title_and_what_it_is_about(name):
    page = built(name)
    assert page.every("html")[0]["lang"] == "en"
    assert len(page.every("h1")) == 1, f"{name} needs one heading of the first level"
    described = [given for given in page.every("meta") if given.get("name") == "description"]
    assert any(len(given["content"]) > 40 for given in described), f"{name} does not say what it is about"


@pytest.mark.parametrize("name", [*PAGES, "index", "404", "search"])
def test_a_page_names_its_icon(name):
    # A browser that is told of none asks the host for favicon.ico: one request more, and an error in its console.
    assert [given["href"] for given in built(name).every("link") if given.get("rel") == "icon"]


@pytest.mark.parametrize("name", ["labs/05_your_journey", "book/notation"])
def test_a_page_has_a_link_to_report_an_error_on_it(name):
    found = [given["href"] for given in built(name).every("a") if "/issues/new" in given.get("href", "")]
    if "OWNER" in CONFIG["repository"]["url"]:
        assert found == [], "a link that leads nowhere"
        return
    assert found == [f"{CONFIG['repository']['url']}/issues/new?title=In%20{name}"]


@pytest.mark.parametrize("name", PAGES)
def test_every_heading_can_be_linked(name):
    page = built(name)
    headings = len(re.findall(r"<h[1-4]>", page.text.partition("<main")[2]))
    assert headings == len([given for given in page.every("a") if given.get("class") == "headerlink"])


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_has_words(name):
    page = built(name)
    for given in page.every("img"):
        assert "alt" in given and not given["alt"].endswith((".png", ".svg")), f"{name}: {given} has no words"
    for given in page.every("svg"):
        named = given.get("aria-label") or given.get("aria-labelledby") or given.get("aria-hidden") == "true"
        assert named, f"{name}: a drawing has no aria-label"


@pytest.mark.parametrize("name", LABS)
def test_a_figure_comes_late_and_into_room_that_is_kept(name):
    for given in built(name).every("img"):
        if "_images/" in given["src"]:
            assert given.get("loading") == "lazy" and given.get("width") and given.get("height"), given["src"]


def test_the_welcome_page_speaks_of_every_lab_in_the_course():
    links = [given for given in built(TOC["root"]).every("a") if "reference" in given.get("class", "")]
    stems = dict.fromkeys(Path(given["href"]).stem for given in links)  # the button to start leads to the first of them
    assert [f"labs/{stem}" for stem in stems if f"labs/{stem}" in LABS] == LABS


def test_the_root_leads_to_the_welcome_page_and_the_wrong_address_stands_alone():
    refresh = next(given["content"] for given in built("index").every("meta") if given.get("http-equiv"))
    assert refresh.endswith(f"url={TOC['root']}.html")
    lost = built("404")
    assert not loads(lost), "a host shows 404.html under any address, so it can load nothing by a relative one"
    way_out = lost.every("a")[0]["href"]
    assert urljoin("https://OWNER.github.io/a/b", way_out).endswith(f"/{CONFIG['repository']['url'].split('/')[-1]}/")


def test_search_finds_words_inside_labs():
    index = (SITE / "searchindex.js").read_text()
    for lab in LABS:
        assert f'"{lab}"' in index
    assert re.search(r"\bsoftmax\b", index)


# --------------------------------------------------------------------------------------- colours, formulas, figures


def test_the_site_takes_its_colours_from_the_table(course_site):
    sheet = (SITE / "_static" / "roles.css").read_text()
    for role, pair in course_site.COLOURS.ROLES.items():
        assert all(f"--role-{role}: {colour};" in sheet for colour in pair)


def test_a_coloured_symbol_follows_the_theme(course_site):
    light = course_site.COLOURS.ROLES["query"][0]
    markup = course_site.to_mathml(rf"\textcolor{{{light}}}{{Q}}", display=False)
    assert 'class="role-query"' in markup and light not in markup


def test_the_letters_of_a_lab_wear_their_colours(course_site):
    markup = course_site.to_mathml("A(FV)", display=False, letters_have_roles=True)
    assert '<mi class="role-weight">A</mi>' in markup and '<mi class="role-value">V</mi>' in markup
    assert "role-" not in course_site.to_mathml("A(FV)", display=False)
    lab, notation = built("labs/03_queries").text, built("book/notation").text
    assert '<mi class="role-query">Q</mi>' in lab and "<mi>Q</mi>" not in lab.partition("<main")[2]
    assert "<mi>Q</mi>" in notation, "other people's symbols keep their ink"


def test_a_function_stands_apart_from_the_letters_beside_it(course_site):
    a, space = "<mi>a</mi>", '<mspace width="0.167em" />'
    assert f"{a}{space}<mi>ln</mi>{space}{a}" in course_site.to_mathml(r"a \ln a", display=False)
    assert course_site.to_mathml(r"\sin a \sin b", display=False).count("<mspace") == 3
    assert "mspace" not in course_site.to_mathml(r"\cos(a - b)", display=False)


def test_no_line_begins_with_the_comma_behind_a_formula(course_site):
    formula = course_site.to_mathml("k", display=False)
    for together in (f"{formula},", f"({formula}).", f"“{formula}”"):
        kept = course_site.WITH_MARKS.sub(r"<\g<0>>", f"{formula} in {together} and {formula} alone")
        assert kept == f"{formula} in <{together}> and {formula} alone"
    assert re.search(r"</math>[,.]</span>", built("book/notation").text)


@pytest.mark.parametrize(
    ("formula", "named"),
    [(r"\textcolor{#123456}{Q}", "#123456"), (r"\begin{aligned}a&=b\end{aligned}", "&"), (r"\sqrt", "sqrt")],
)
def test_a_formula_that_cannot_be_drawn_is_named(course_site, formula, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        course_site.to_mathml(formula, display=True)


@pytest.mark.parametrize("name", PAGES)
def test_no_formula_is_left_as_source(name):
    text = re.sub(r"<(script|style|pre|code)\b.*?</\1>", "", built(name).text, flags=re.DOTALL)
    assert not re.search(r"\\(frac|sqrt|text|operatorname|top|cdot)\b|\$\$", text)


@pytest.mark.parametrize("name", PAGES)
def test_a_full_stop_stays_with_its_formula(name):
    before_a_break = r'display="inline">(?:(?!</math>).)*</math>[.,;:?!)”]+(?![.,;:?!)”]|</span>)'
    pulled_apart = re.findall(before_a_break, built(name).text)
    assert not pulled_apart, f"a line may break before the full stop of {pulled_apart[0]}"


def test_the_welcome_picture_is_what_its_script_draws():
    run = [sys.executable, "-c", "from tools.site_picture import picture; print(picture(), end='')"]
    drawn = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sentence = "book/_static/course.svg is stale; run `python -m tools.site_picture`"
    assert drawn == (ROOT / "book" / "_static" / "course.svg").read_text(), sentence


@pytest.fixture(scope="module")
def faulty_build(tmp_path_factory):
    """What a build says of a page with one fault of each kind, and how it ends."""
    copy = tmp_path_factory.mktemp("book")
    for folder in ("book/_ext", "book/_theme", "book/_static", "shared/figures"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "book" / "references.bib", copy / "book")
    shutil.copy(ROOT / "_config.yml", copy)
    (copy / "_toc.yml").write_text("format: jb-book\nroot: page\n")
    (copy / "page.md").write_text(
        "# A page\n\n![](book/_static/logo.svg)\n\n<svg viewBox='0 0 1 1'></svg>\n\n"
        "![Losses](book/_static/logo.svg)\n\n<svg viewBox='0 0 1 1' aria-label='A map'></svg>\n\n"
        "$\\textcolor{#123456}{Q}$\n\n[lost](nowhere.md)\n"
    )
    run = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-W", "--keep-going"]
    return subprocess.run(run, cwd=copy, capture_output=True, text=True)


@pytest.mark.parametrize(
    "complaint",
    [
        "no alternative text",
        "the words 'Losses'; say in a sentence",
        "<svg> without aria-label",
        "<svg> has the words 'A map'; say in a sentence",
        "#123456, which is no role",
        "nowhere.md",
    ],
)
def test_what_would_fail_a_reader_stops_the_build(faulty_build, complaint):
    assert faulty_build.returncode != 0
    assert complaint in " ".join((faulty_build.stdout + faulty_build.stderr).split())


@pytest.mark.parametrize("name", ["_ext/site.py", "_theme/page.html", "_static/course.js", "_static/model/weights"])
def test_what_makes_or_dresses_a_page_makes_the_build_forget_when_it_changed(tmp_path, monkeypatch, name):
    changed = tmp_path / "book" / name
    changed.parent.mkdir(parents=True)
    changed.write_text("a = 1")
    memory = tmp_path / "memory"
    monkeypatch.setattr(build_site, "ROOT", tmp_path)
    monkeypatch.setattr(build_site, "MEMORY", memory)
    monkeypatch.setattr(build_site, "WHOLE", memory / "whole")
    remembered = []

    def sphinx(*_, **__):
        remembered.append((memory / "a page").exists())
        memory.mkdir(exist_ok=True)
        (memory / "a page").touch()
        return subprocess.CompletedProcess([], 0)

    monkeypatch.setattr(build_site.subprocess, "run", sphinx)
    build_site.main()
    build_site.main()
    changed.write_text("a = 2")
    build_site.main()
    assert remembered == [False, True, False]


# ------------------------------------------------------------------------------------------- links to other sites


class Answers(BaseHTTPRequestHandler):
    """Another site with one page."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/there" else 404)
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_) -> None:
        pass


def test_a_link_that_does_not_answer_is_named_and_fails_nothing(tmp_path, capsys):
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        site = f"http://127.0.0.1:{other.server_port}"
        (tmp_path / "_config.yml").write_text("title: A book\nonly_build_toc_files: true\n")
        (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: page\n")
        (tmp_path / "page.md").write_text(f"# A page\n\n[there]({site}/there)\n[gone]({site}/gone)\n")
        status = check_links.main(tmp_path)
        other.shutdown()
    told = capsys.readouterr().out
    assert status == 0 and "1 of 2 links to other sites answer" in told
    assert f"{site}/gone\n" in told and "404" in told and "page.md:3" in told and "/there" not in told


def test_a_link_check_that_could_not_run_fails(tmp_path, capsys):
    assert check_links.main(tmp_path) == 1
    assert "could not be checked" in capsys.readouterr().out

"""The built site as files: what it loads, where its links lead, what its pictures say. `make book` builds it."""

import functools
import gzip
import re
import subprocess
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import build_site
import finished
import formulas
import identity
import pandas
import pytest
import site_picture
import yaml
from outputs import printed, with_columns_named

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text())
PUBLISHED = identity.published(ROOT)  # None where buttons and links to the repository would lead nowhere
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


def loads(page: Page) -> list[str]:
    """The addresses that a browser fetches when it opens the page."""
    fetched = [given[name] for _, given in page.tags for name in ("src", "poster", "data") if given.get(name)]
    links = [given["href"] for given in page.every("link") if given.get("rel") not in {"canonical", "next", "prev"}]
    sheets = re.findall(r"url\(\s*['\"]?([^'\")]+)", page.text)
    return [address for address in fetched + links + sheets if not address.startswith(("data:", "#"))]


# ------------------------------------------------------------------------------------------ nothing from elsewhere


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


def test_style_sheets_scripts_and_drawings_ask_no_other_host():
    for path in [*SITE.rglob("*.css"), *SITE.rglob("*.js")]:
        found = ADDRESS.findall(path.read_text(encoding="utf-8"))
        assert not found, f"{path.name} asks {found}"
    for path in SITE.rglob("*.svg"):
        assert elsewhere(Page(path)) == [], path.name


ASKS = """\
<img src="small.png" srcset="small.png 1x, https://far.example/large.png 2x">
<link rel="preconnect" href="//far.example">
<form action="https://far.example/collect"></form>
<a href="here.html" ping="https://far.example/seen">here</a>
<meta http-equiv="refresh" content="0; url=https://far.example/">
<svg><image href="https://far.example/a.png"/></svg>
<p style="background: url(https://far.example/a.png)">here</p>
<style>@import "https://far.example/a.css";</style>
<script>fetch(`https://far.example/${word}`)</script>
<script>new WebSocket('wss://far.example')</script>"""
ASKS_NOBODY = """\
<a href="https://far.example">a link to follow</a>
<link rel="canonical" href="https://far.example/page.html">
<script>document.createElementNS('http://www.w3.org/2000/svg', 'svg') // see http://far.example</script>
<img src="data:image/png;base64,//8A//8">"""


def test_whatever_asks_another_host_is_found_and_nothing_else(tmp_path):
    def found(text: str) -> bool:
        (tmp_path / "page.html").write_text(f"<p>Fine.</p>{text}")
        return elsewhere(Page(tmp_path / "page.html")) != []

    assert [text for text in ASKS.split("\n") if not found(text)] == []
    assert [text for text in ASKS_NOBODY.split("\n") if found(text)] == []


# ------------------------------------------------------------------------------------------------------ every page


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


@pytest.mark.parametrize("name", [*PAGES, "index", "404", "search"])
def test_a_page_has_all_it_loads_asks_no_other_host_and_has_no_dead_link(name):
    page = built(name)
    missing = [a for a in loads(page) if not (page.path.parent / unquote(urlsplit(a).path)).resolve().is_file()]
    assert not missing, f"{name} asks for what the site does not have"
    assert elsewhere(page) == []
    assert name == "404" or dead_links(page) == []
    # A browser that is told of no icon asks the host for favicon.ico: a request more, and an error in its console.
    assert [given["href"] for given in page.every("link") if given.get("rel") == "icon"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read_found_and_linked(name):
    page = built(name)
    assert page.every("html")[0]["lang"] == "en"
    assert len(page.every("h1")) == 1, f"{name} needs one heading of the first level"
    metas = {given.get("name") or given.get("property"): given.get("content") for given in page.every("meta")}
    assert len(metas) == len(page.every("meta")), f"{name} has two descriptions, or two viewports"
    assert re.fullmatch(r".{40,}[.?!]", metas["description"]), f"{name} does not say what it is about"
    assert metas["og:description"] == metas["description"]
    headings = len(re.findall(r"<h[1-4]>", page.text.partition("<main")[2]))
    assert headings == len([given for given in page.every("a") if given.get("class") == "headerlink"])
    report = [given["href"] for given in page.every("a") if "/issues/new" in given.get("href", "")]
    title = quote(f"In {name}")
    assert report == ([f"{PUBLISHED['url']}/issues/new?title={title}"] if PUBLISHED else [])
    assert ("This copy has no address yet" in page.text) == (PUBLISHED is None)
    canonical = [given["href"] for given in page.every("link") if given.get("rel") == "canonical"]
    assert canonical == ([f"{PUBLISHED['site']}/{name}.html"] if PUBLISHED else [])
    for given in page.every("img"):
        assert "alt" in given and not given["alt"].endswith((".png", ".svg")), f"{given} has no words"
    for given in page.every("svg"):
        named = given.get("aria-label") or given.get("aria-labelledby") or given.get("aria-hidden") == "true"
        assert named, "a drawing has no aria-label"


@pytest.mark.parametrize("name", PAGES)
def test_every_formula_is_drawn_and_keeps_its_full_stop(name):
    text = re.sub(r"<(script|style|pre|code)\b.*?</\1>", "", built(name).text, flags=re.DOTALL)
    assert not re.search(r"\\(frac|sqrt|text|operatorname|top|cdot)\b|\$\$", text), "a formula is left as source"
    before_a_break = r'display="inline">(?:(?!</math>).)*</math>[.,;:?!)”]+(?![.,;:?!)”]|</span>)'
    assert not re.findall(before_a_break, built(name).text), "a line may break before a full stop"


@pytest.mark.parametrize("name", LABS)
def test_a_lab_loads_little_and_its_launch_links_and_download_lead_to_its_notebook(name):
    page = built(name)
    sheets = {(page.path.parent / a).resolve() for a in loads(page) if a.endswith(".css")}
    fonts = {(sheet.parent / a) for sheet in sheets for a in re.findall(r"url\((fonts/[^)]+)\)", sheet.read_text())}
    files = {page.path} | {(page.path.parent / urlsplit(a).path).resolve() for a in loads(page)} | fonts
    size = sum(len(gzip.compress(path.read_bytes(), 6)) for path in files)
    assert size <= 600_000, f"{name} is {size / 1000:.0f} kB compressed; 600 kB is the limit"
    assert len(page.tags) <= 4000, f"{name} has {len(page.tags)} elements: a phone needs long to lay them out"
    assert page.text.count("// All heads over one sentence") <= 1, "a script that draws figures stands there twice"
    for given in page.every("img"):
        if "_images/" in given["src"]:  # a figure comes late, and into room that is kept
            assert given.get("loading") == "lazy" and given.get("width") and given.get("height"), given["src"]

    url = (PUBLISHED or identity.read(ROOT))["url"].removeprefix("https://github.com/")
    branch = CONFIG["repository"]["branch"]
    links = [given.get("href", "") for given in page.every("a")]
    with_blanks = f"{(PUBLISHED or identity.read(ROOT))['colab_student']}/{Path(name).name}.ipynb"
    assert links.count(with_blanks) == (1 if PUBLISHED else 0), "the button to do it yourself"
    links = [link for link in links if link != with_blanks]
    for start in (
        f"{CONFIG['launch_buttons']['colab_url']}/github/{url}/blob/{branch}/",
        f"{CONFIG['launch_buttons']['binderhub_url']}/v2/gh/{url}/{branch}?urlpath=lab/tree/",
    ):
        found = {link.removeprefix(start) for link in links if link.startswith(start)}
        assert found == ({f"{name}.ipynb"} if PUBLISHED else set()), start
    tracked = subprocess.run(["git", "ls-files", "labs"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"{name}.ipynb" in tracked.split(), f"{name}.ipynb is not committed: its launch links would find nothing"
    download = next(given["href"] for given in page.every("a") if "download" in given)
    assert page.path.parent.joinpath(download).read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()


def test_an_exercise_that_is_open_says_where_it_can_be_done():
    where = "../book/how_to_use.html#do-the-exercises"
    for name in LABS:
        assert "Not done yet" not in built(name).text, f"{name} asks a reader of the page to run a cell"
    assert where in {given.get("href") for given in built(LABS[6]).every("a")}


def test_code_has_elements_for_what_has_a_colour_and_keeps_its_text():
    code = '<span></span><span class="kn">import</span><span class="w"> </span><span class="nn">math</span>\n'
    code += '<span class="l l-Scalar">a</span>=<span class="sa">f</span><span class="s2">&lt;</span>'
    few = '<span class="k">import</span> math\na=<span class="s">f&lt;</span>'
    body = '<div class="highlight"><pre>{}\n</pre></div><span class="n">x</span>'
    assert finished.finished(body.format(code)) == body.format(few)
    nested = body.format(f'<span class="hll">{code}</span>')
    assert finished.finished(nested) == nested


def test_a_long_name_of_a_file_may_break_and_a_number_stays_with_its_sign_and_its_unit():
    name = '<span class="pre">labs/12_a_published_model.ipynb</span>'
    assert finished.finished(name).count("<wbr>") == 5 and finished.finished(name).replace("<wbr>", "") == name
    assert finished.finished('<span class="pre">f(a.b)</span>') == '<span class="pre">f(a.b)</span>'
    assert finished.finished("<p>.9 ± .1</p>") == "<p>.9 ±\u00a0.1</p>"
    assert "12\u00a0ms, 3\u00a0MB and 4 more" in printed("12 ms, 3 MB and 4 more")


def test_the_root_and_a_wrong_address_lead_to_the_welcome_page_which_speaks_of_every_lab():
    links = [given for given in built(TOC["root"]).every("a") if "reference" in given.get("class", "")]
    stems = [*dict.fromkeys(Path(given["href"]).stem for given in reversed(links))][::-1]  # a button to start is first
    assert [f"labs/{stem}" for stem in stems if f"labs/{stem}" in LABS] == LABS
    refresh = next(given["content"] for given in built("index").every("meta") if given.get("http-equiv"))
    assert refresh.endswith(f"url={TOC['root']}.html")
    lost = built("404")
    assert not loads(lost), "a host shows 404.html under any address, so it can load nothing by a relative one"
    way_out = lost.every("a")[0]["href"]
    assert way_out == (f"{urlsplit(PUBLISHED['site']).path}/" if PUBLISHED else "/")


def test_the_hours_on_the_welcome_page_are_the_sum_of_the_labs_own_times():
    texts = [(ROOT / f"{name}.md").read_text("utf-8") for name in LABS]
    usual = [int(re.search(r"(?m)^\*\*Time:?\*\*:? about (\d+) minutes", text)[1]) for text in texts]
    optional = [int(minutes) for text in texts for minutes in re.findall(r"optional and takes (\d+) more", text)]
    said = re.search(r"labs of half an hour each, (\d+) hours", built(TOC["root"]).text)
    if said and len(LABS) == len([*(ROOT / "labs").glob("*_*.md")]):  # a fork may teach some of them
        assert max(usual) <= 30 and int(said[1]) == round(sum(usual + optional) / 60)


# --------------------------------------------------------------------------------------- colours, formulas, figures


def test_the_letters_of_a_lab_wear_their_colours_and_follow_the_theme():
    light = formulas.ROLES["query"][0]
    markup = formulas.to_mathml(rf"\textcolor{{{light}}}{{Q}}", display=False)
    assert 'class="role-query"' in markup and light not in markup
    markup = formulas.to_mathml("A(FV)", display=False, letters_have_roles=True)
    assert '<mi class="role-weight">A</mi>' in markup and '<mi class="role-value">V</mi>' in markup
    assert "role-" not in formulas.to_mathml("A(FV)", display=False)
    if "labs/03_queries" in LABS:  # a fork may leave it out
        lab = built("labs/03_queries").text
        assert '<mi class="role-query">Q</mi>' in lab and "<mi>Q</mi>" not in lab.partition("<main")[2]
    assert "<mi>Q</mi>" in built("book/notation").text, "other people's symbols keep their ink"
    sheet = (SITE / "_static" / "roles.css").read_text()
    for role, pair in formulas.ROLES.items():
        assert all(f"--role-{role}: {colour};" in sheet for colour in pair)


def test_a_function_stands_apart_and_no_line_begins_with_the_comma_behind_a_formula():
    a, space = "<mi>a</mi>", '<mspace width="0.167em" />'
    assert f"{a}{space}<mi>ln</mi>{space}{a}" in formulas.to_mathml(r"a \ln a", display=False)
    assert "mspace" not in formulas.to_mathml(r"\cos(a - b)", display=False)
    formula = formulas.to_mathml("k", display=False)
    for behind, form in [(sign, ' form="prefix"') for sign in "=(,"] + [(end, "") for end in "2!)|]"]:
        assert f"<mo{form}>&#x02212;</mo>" in formulas.to_mathml(f"{behind} -1", display=False), behind
    for together in (f"{formula},", f"({formula}).", f"“{formula}”"):
        kept = finished.WITH_MARKS.sub(r"<\g<0>>", f"{formula} in {together} and {formula} alone")
        assert kept == f"{formula} in <{together}> and {formula} alone"


@pytest.mark.parametrize(
    ("formula", "named"),
    [(r"\textcolor{#123456}{Q}", "#123456"), (r"\begin{aligned}a&=b\end{aligned}", "&"), (r"\sqrt", "sqrt")],
)
def test_a_formula_that_cannot_be_drawn_is_named(formula, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        formulas.to_mathml(formula, display=True)


# ----------------------------------------------------------------------------------------------- what a cell prints


def test_a_cell_of_a_data_frame_knows_the_name_of_its_column():
    frame = pandas.DataFrame(
        {"a": [1], "<b>": [2]}, index=pandas.MultiIndex.from_tuples([("x", "y")], names=["p", "q"])
    )
    cells = re.findall(r'<td data-column="([^"]*)">(\d)</td>', with_columns_named(frame.to_html()))
    assert cells == [("a", "1"), ("&lt;b&gt;", "2")]


def test_what_was_printed_stays_text_to_the_letter():
    text = "a  b <i>\nc  d\n\ntensor([[ 0.12, -0.30],\n        [-0.10,  0.25]])"
    assert re.sub(r"<[^>]+>", "", printed(text)).rstrip("\n") == escape(text)


# -------------------------------------------------------------------------------------------------------- the build


@pytest.mark.parametrize(
    "name",
    ["book/_ext/site.py", "book/_theme/page.html", "book/_static/course.js", "book/_static/model/weights",
     "shared/figures/colours.py"],
)  # fmt: skip
def test_what_makes_or_dresses_a_page_makes_the_build_forget_when_it_changed(tmp_path, monkeypatch, name):
    changed = tmp_path / name
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
    monkeypatch.setattr(build_site.identity, "published", lambda root: None)  # there are no settings here
    build_site.main()
    build_site.main()
    changed.write_text("a = 2")
    build_site.main()
    assert remembered == [False, True, False]


def test_the_welcome_picture_is_what_its_script_draws():
    sentence = "book/_static/course.svg is stale; run `python -m tools.site_picture`"
    assert site_picture.picture() == (ROOT / "book" / "_static" / "course.svg").read_text(), sentence

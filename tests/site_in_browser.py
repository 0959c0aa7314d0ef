"""The built site as a browser meets it: served below a path, opened with what went wrong noted, looked at by axe."""

import functools
import os
import re
import shutil
import subprocess
import threading
from contextlib import contextmanager, suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urljoin

import matplotlib
import nbformat
import pytest
import small_course
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error

from shared.colours import role_css
from tools import site

COLOURS = ["color-contrast", "link-in-text-block"]  # the rules of axe that ask for colors: they take longest
ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build/html"


# Sets of fonts: where their files are (matplotlib brings the first; Debian's fonts-liberation and fonts-noto-core the
# others), and the families for serif, sans-serif and monospace.
DEBIAN = Path("/usr/share/fonts/truetype")
FONTS = {
    "DejaVu": (Path(matplotlib.get_data_path(), "fonts/ttf"), ["DejaVu Serif", "DejaVu Sans", "DejaVu Sans Mono"]),
    "Liberation": (DEBIAN, ["Liberation Serif", "Liberation Sans", "Liberation Mono"]),
    "Noto": (DEBIAN, ["Noto Serif", "Noto Sans", "Noto Sans Mono"]),
}


def font_files(fonts: str) -> list[Path]:
    """The files of a set of fonts, none if not installed."""
    folder, families = FONTS[fonts]
    patterns = [f"**/{family.replace(' ', '')}{style}.ttf" for family in families for style in ("", "-*")]
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def find_browser() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


@contextmanager
def browser_with(playwright, folder: Path, fonts: str = "DejaVu", *settings: str):
    """A headless browser that sees one set of fonts and no other of this machine's."""
    files = font_files(fonts)
    if not files:
        pytest.skip(f"not run with {fonts}: its fonts are not installed here (Debian: fonts-{fonts.lower()}...)")
    for path in files:
        (folder / path.name).symlink_to(path)
    families = dict(zip(("serif", "sans", "mono"), FONTS[fonts][1], strict=True))
    config = folder / "fonts.conf"
    config.write_text((ROOT / "tests/fonts.conf").read_text().format(folder=folder, **families))
    # Root may not use the sandbox (containers, continuous integration); there is no GPU to be had either. With one
    # renderer for all pages, a page opens in half the time.
    running = playwright.chromium.launch(
        executable_path=find_browser(),
        args=["--no-sandbox", "--disable-gpu", "--renderer-process-limit=1", *settings],
        env=os.environ | {"FONTCONFIG_FILE": str(config)},
    )
    yield running
    running.close()


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site below /some/where: a host may put it under any path."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix("/some/where") if path.startswith("/some/where/") else "/none")

    def log_message(self, *_) -> None:
        pass


@contextmanager
def served(site: Path = SITE):
    """The site on a server of its own; yields its address."""
    assert site.is_dir(), "the site is not built; run `make book` first"
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/some/where"
        server.shutdown()


def small_site(folder: Path, pages: list[str], labs: dict[str, list]) -> subprocess.CompletedProcess:
    """Build a site of these pages, without their links, and of labs with these cells, into _build/html.

    A cell is Markdown, or code with its metadata and what it printed. Left out are the two models of 23 and 3 MB.
    """
    for name in ("book/_ext", "book/_theme", "book/_static", "shared/figures"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    small_course.settings(folder)
    for name in ("pyproject.toml", "book/references.bib", *pages):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in pages:
        (folder / name).write_text(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", (ROOT / name).read_text("utf-8")), "utf-8")
    for name in ("seventy_two_heads", "it_writes"):
        (folder / f"book/_ext/{name}.py").write_text("def setup(app):\n    pass\n")
    language = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    for name, cells in labs.items():
        notebook = nbformat.v4.new_notebook(cells=[*map(cell, cells)], metadata=language)
        (folder / f"labs/{name}").mkdir(parents=True)
        nbformat.write(notebook, folder / f"labs/{name}/{name}.ipynb")
    chapters = "".join(f"      - file: labs/{name}/{name}.ipynb\n" for name in labs)
    contents = f"format: jb-book\nroot: {Path(pages[0]).with_suffix('')}\nparts:\n  - caption: Labs\n    chapters:\n"
    others = [path for path in sorted(folder.glob("book/*.md")) if f"book/{path.name}" != pages[0]]
    (folder / "_toc.yml").write_text(contents + chapters + "".join(f"      - file: book/{p.stem}\n" for p in others))
    remote = "git init -q && git remote add origin git@github.com:someone/their-course.git"
    subprocess.run(remote, shell=True, cwd=folder, check=True)
    return site.jupyter_book(folder, "-W", "--keep-going", "-q")


def cell(given: str | tuple) -> nbformat.NotebookNode:
    """A cell of a small site: Markdown, or (code, metadata, what it printed)."""
    if isinstance(given, str):
        return nbformat.v4.new_markdown_cell(given)
    code, metadata, printed = given
    output = [nbformat.v4.new_output("stream", name="stdout", text=printed)] if printed else []
    return nbformat.v4.new_code_cell(code, outputs=output, execution_count=1, metadata=metadata)


def settle(page):
    """Wait for two frames: what watches sizes is told them with the first."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@functools.cache
def window(browser):
    """The window in which all pages open, for a window of its own takes a page half a second; and what empties it."""
    context = browser.new_context()
    return context, context.new_cdp_session(context.new_page())


@contextmanager
def visits(browser):
    """Opens an address and returns its page; unless `covered`, predictions are answered and all figures drawn.

    `page.faults` collects what went wrong, dialogs among it, and `page.asked` what it fetched. In the end the pages
    are closed, and what they kept is gone.
    """
    context, storage = window(browser)
    pages = []

    def visit(
        url: str,
        theme: str = "light",
        width: int = 1440,
        scripts: bool = True,
        covered: bool = False,
    ):
        page = context.new_page() if scripts else browser.new_page(java_script_enabled=False)
        pages.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.faults, page.asked = [], []
        page.on("console", lambda m: page.faults.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: (page.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(url, wait_until="load")
        with suppress(Error):  # a page that sends its reader on is not there any more
            if not covered:
                page.evaluate("delete document.documentElement.dataset.covers")
                page.evaluate("for (const when of ['beforeprint', 'afterprint']) dispatchEvent(new Event(when))")
            if scripts:
                settle(page)
        return page

    yield visit
    for page in pages:
        page.close()
    context.unroute_all()
    context.clear_permissions()
    for origin in {urljoin(url, "/") for page in pages for url in page.asked if url.startswith(("http", "file"))}:
        storage.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})


def page_of(figures: list, theme: str) -> str:
    """A page of the course's figures in the site's colors."""
    body = "\n<p>text</p>\n".join(each._repr_html_() for each in figures)
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>Figures</title>'
        f"<style>{role_css()} body {{ background: var(--role-paper); color: var(--role-ink) }}</style>"
        f"<main><h1>Figures</h1>{body}</main></html>"
    )


AXE = """([within, options]) => axe.run(within, options).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
  nodes.slice(0, 3).map(({ html }) => `${id}: ${html.slice(0, 160)}`)))"""


def axe(page, within: str = "html", **options) -> list[str]:
    """What axe-core finds, one line for each place, also of a rule that it does not ask by itself: a name contains what
    is seen (WCAG 2.5.3). It reports violations alone, in half the time.
    """
    if not page.evaluate("'axe' in globalThis"):
        page.context.new_cdp_session(page).send("Runtime.evaluate", {"expression": Axe().axe_script})
    rules = {"label-content-name-mismatch": {"enabled": True}} | options.pop("rules", {})
    return page.evaluate(AXE, [within, {"resultTypes": ["violations"], "preload": False, "rules": rules} | options])


def too_small(page, selector: str) -> list[str]:
    """The targets of a finger that are below 24 pixels, in shadow trees, too."""
    boxes = """all => all.map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
      .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html)"""
    return page.locator(selector).locator("visible=true").evaluate_all(boxes)

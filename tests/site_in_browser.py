"""The built site as a browser meets it: served below a path, opened with what went wrong noted, looked at by axe."""

import functools
import threading
from contextlib import contextmanager, suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error

from shared.figures.colours import role_css

SITE = Path(__file__).resolve().parents[1] / "_build/html"


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


@contextmanager
def visits(browser):
    """Opens an address and returns its page; unless `covered`, predictions are answered and all figures drawn.

    `page.faults` collects what went wrong, dialogs among it, and `page.asked` what it fetched.
    """
    contexts = []

    def visit(
        url: str,
        theme: str = "light",
        width: int = 1440,
        scripts: bool = True,
        motion: str = "reduce",
        covered: bool = False,
    ):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            reduced_motion=motion,
            java_script_enabled=scripts,
        )
        contexts.append(context)
        page = context.new_page()
        page.faults, page.asked = [], []
        page.on("console", lambda m: page.faults.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: (page.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(url, wait_until="load")
        if not covered:
            with suppress(Error):  # a page that sends its reader on is not there any more
                page.evaluate("delete document.documentElement.dataset.covers")
                page.evaluate("for (const when of ['beforeprint', 'afterprint']) dispatchEvent(new Event(when))")
        return page

    yield visit
    for context in contexts:
        context.close()


def page_of(figures: list, theme: str) -> str:
    """A page of the course's figures in the site's colours."""
    body = "\n<p>text</p>\n".join(each._repr_html_() for each in figures)
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>Figures</title>'
        f"<style>{role_css()} body {{ background: var(--role-paper); color: var(--role-ink) }}</style>"
        f"<main><h1>Figures</h1>{body}</main></html>"
    )


def axe(page, **options) -> list[str]:
    """What axe-core finds, one line for each place. It reports violations alone, in half the time."""
    found = Axe().run(page, options={"resultTypes": ["violations"]} | options).response["violations"]
    return [f"{fault['id']}: {node['html'][:160]}" for fault in found for node in fault["nodes"][:3]]

"""What extensions write beside the pages, and put into their text, when the site is built."""

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx


def after_pages(app: Sphinx, write: Callable[[Sphinx, Path], None]) -> None:
    """Let `write(app, folder)` add to the folder `_static` of a site whose pages were all written."""

    def write_if_built(app: Sphinx, exception: Exception | None) -> None:
        if exception is None and app.builder.format == "html":
            write(app, Path(app.outdir) / "_static")

    app.connect("build-finished", write_if_built)


def write_model(folder: Path, variable: str, files: dict[str, bytes] | None) -> None:
    """Write the files of a model into a folder, and `about.js`, which gives the page their sizes and digests.

    `*.js` beside a file is a copy for a page that was opened from a disk, which may run scripts and fetch nothing.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    about = None if files is None else {}
    for name, data in (files or {}).items():
        (folder / name).write_bytes(data)
        script = f'globalThis.arrived("{base64.b64encode(data).decode()}");\n'
        (folder / f"{name}.js").write_text(script, "ascii")
        about[name] = {"bytes": len(data), "digest": hashlib.sha256(data).hexdigest()}
    (folder / "about.js").write_text(f"globalThis.{variable} = {json.dumps(about)};\n", "ascii")


def fill_in(app: Sphinx, doctree: nodes.document, prefix: str, values: Callable[[], dict], *sources: Path) -> None:
    """Put values, which follow from some files, in place of words such as PREFIX_SIZE on a page."""
    for node in [node for node in doctree.findall(nodes.Text) if prefix in node]:
        for source in sources:
            app.env.note_dependency(str(source))
        text = re.sub(rf"{prefix}[A-Z]+", lambda name: values()[name[0]], node)
        node.parent.replace(node, nodes.Text(text))

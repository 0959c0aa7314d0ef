"""The models of the page "Try the model": their size, and a copy for a page that was opened from a disk."""

import base64
import hashlib
import json
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "book" / "_static" / "try_the_model.safetensors"  # made by experiments/live_page_models.py


def say_size(app: Sphinx, doctree) -> None:
    """Put the size of the models in place of WEIGHTS_SIZE on the page."""
    for node in [node for node in doctree.findall(nodes.Text) if "WEIGHTS_SIZE" in node]:
        app.env.note_dependency(str(WEIGHTS))
        size = f"{WEIGHTS.stat().st_size / 1e6:.1f} MB"
        node.parent.replace(node, nodes.Text(node.replace("WEIGHTS_SIZE", size)))


def write_weights(app: Sphinx, exception: Exception | None) -> None:
    """What the page has to know of the file, and the file once more as a script, for a page opened from a disk."""
    if exception is None and app.builder.format == "html" and WEIGHTS.exists():
        data, static = WEIGHTS.read_bytes(), Path(app.outdir) / "_static"
        about = {WEIGHTS.name: {"bytes": len(data), "digest": hashlib.sha256(data).hexdigest()}}
        (static / "try_the_model.about.js").write_text(f"globalThis.tryTheModelFiles = {json.dumps(about)};\n", "ascii")
        script = f'globalThis.arrived("{base64.b64encode(data).decode()}");\n'
        (static / f"{WEIGHTS.name}.js").write_text(script, "ascii")


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", say_size)
    app.connect("build-finished", write_weights)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

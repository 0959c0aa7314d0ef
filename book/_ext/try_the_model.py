"""The models of the page "Try the model": their size, and a copy for a page that was opened from a disk."""

import base64
import gzip
from pathlib import Path

from built import after_pages, fill_in
from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "book" / "_static" / "try_the_model.safetensors"  # made by experiments/live_page_models.py


def say_size(app: Sphinx, doctree: nodes.document) -> None:
    """Put the size of the models in place of WEIGHTS_SIZE on the page."""
    fill_in(app, doctree, "WEIGHTS_", lambda: {"WEIGHTS_SIZE": f"{WEIGHTS.stat().st_size / 1e6:.1f} MB"}, WEIGHTS)


def write_weights(app: Sphinx, static: Path) -> None:
    """The models once more as a script: a page that was opened from a disk may fetch no other file."""
    packed = base64.b64encode(gzip.compress(WEIGHTS.read_bytes(), mtime=0)).decode()
    (static / "try_the_model.weights.js").write_text(f'globalThis.tryTheModelWeights = "{packed}";\n', "utf-8")


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", say_size)
    after_pages(app, write_weights)

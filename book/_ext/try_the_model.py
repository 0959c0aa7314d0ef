"""The models of the page "Try the model": their size, and a copy for a page that was opened from a disk."""

from pathlib import Path

from built import after_pages, fill_in, write_model
from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "book" / "_static" / "try_the_model.safetensors"  # made by experiments/live_page_models.py


def say_size(app: Sphinx, doctree: nodes.document) -> None:
    """Put the size of the models in place of WEIGHTS_SIZE on the page."""
    fill_in(app, doctree, "WEIGHTS_", lambda: {"WEIGHTS_SIZE": f"{WEIGHTS.stat().st_size / 1e6:.1f} MB"}, WEIGHTS)


def write_weights(app: Sphinx, static: Path) -> None:
    """What the page has to know of the file, and the file once more as a script, for a page opened from a disk."""
    write_model(static / "try_the_model.about.js", "tryTheModelFiles", {WEIGHTS.name: WEIGHTS.read_bytes()})


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", say_size)
    after_pages(app, write_weights)

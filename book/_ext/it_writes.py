"""The course's language model for the page "It writes": its weights and tokenizer in one file, and what was measured.

They come from `shared`. `about.js` gives the page the size and the digest of the file; `model.safetensors.js` is the
same once more for a page that was opened from a disk, which may run scripts and fetch nothing. A word such as
WRITER_LOSS on the page becomes the number that `shared/review_writer.json` holds.
"""

import base64
import hashlib
import json
import math
import re
import shutil
from pathlib import Path

from docutils import nodes
from safetensors.numpy import load_file, save
from sphinx.application import Sphinx

SHARED = Path(__file__).resolve().parents[2] / "shared"
WEIGHTS, TOKENIZER, MEASURED = (SHARED / f"review_writer{end}" for end in (".safetensors", "_tokenizer.json", ".json"))
FILE = "model.safetensors"


def packed() -> bytes:
    """The weights, with the tokens in the order of their ids and the merges of the tokenizer in the file's header."""
    tokenizer = json.loads(TOKENIZER.read_text("utf-8"))["model"]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in tokenizer["merges"]]
    tokens = sorted(tokenizer["vocab"], key=tokenizer["vocab"].get)
    return save(load_file(WEIGHTS), {"tokens": "\n".join(tokens), "merges": "\n".join(merges)})


def numbers() -> dict[str, str]:
    """What the page says by name."""
    measured = json.loads(MEASURED.read_text("utf-8"))
    training, test, repeated = measured["training"], measured["test"], measured["repeated"]
    parameters = sum(tensor.size for name, tensor in load_file(WEIGHTS).items() if not name.endswith(".scale"))
    losses = {
        f"WRITER_{name.upper()}": "{:.2f} ± {:.2f}".format(*test[name])
        for name in ("unigram", "bigram", "trigram", "loss")
    }
    return losses | {
        "WRITER_SIZE": f"{len(packed()) / 1e6:.1f} MB",
        "WRITER_PARAMETERS": f"{parameters / 1e6:.1f} million",
        "WRITER_TOKENS": f"{training['tokens'] / 1e6:.1f} million",
        "WRITER_STEPS": f"{training['steps']:,}",
        "WRITER_BEFORE": f"{test['loss before rounding'][0]:.3f}",
        "WRITER_ROUNDED": f"{test['loss'][0]:.3f}",
        "WRITER_PERPLEXITY": f"{math.exp(test['loss'][0]):.0f}",
        "WRITER_WINDOWS": f"{test['windows']:,}",
        "WRITER_PHRASES": f"{repeated['phrases']:,}",
        "WRITER_REPEATED": f"{repeated['in training reviews']:,}",
    }


def say_numbers(app: Sphinx, doctree) -> None:
    """Put the numbers where the page names them."""
    named = [node for node in doctree.findall(nodes.Text) if "WRITER_" in node]
    if not named:
        return
    app.env.note_dependency(str(MEASURED))
    app.env.note_dependency(str(WEIGHTS))
    known = numbers()
    for node in named:
        node.parent.replace(node, nodes.Text(re.sub(r"WRITER_[A-Z]+", lambda name: known[name[0]], node)))


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the model beside the pages, and what the page has to know of it."""
    if exception is not None or app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "review_writer"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    data = packed()
    (target / FILE).write_bytes(data)
    script = f'globalThis.arrived("{base64.b64encode(data).decode()}");\n'
    (target / f"{FILE}.js").write_text(script, "ascii")
    about = {FILE: {"bytes": len(data), "digest": hashlib.sha256(data).hexdigest()}}
    (target / "about.js").write_text(f"globalThis.reviewWriterFiles = {json.dumps(about)};\n", "ascii")


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", say_numbers)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""The course's language model for the page "It writes": its weights and tokenizer in one file, and what was measured.

They come from `shared`. A word such as WRITER_LOSS on the page becomes a number of `shared/review_writer.json`.
"""

import functools
import json
import math
from pathlib import Path

from built import after_pages, fill_in, write_model
from docutils import nodes
from safetensors.numpy import load_file, save
from sphinx.application import Sphinx

SHARED = Path(__file__).resolve().parents[2] / "shared"
WEIGHTS, TOKENIZER, MEASURED = (SHARED / f"review_writer{end}" for end in (".safetensors", "_tokenizer.json", ".json"))


def packed() -> bytes:
    """The weights, with the tokens in the order of their ids and the merges of the tokenizer in the file's header."""
    tokenizer = json.loads(TOKENIZER.read_text("utf-8"))["model"]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in tokenizer["merges"]]
    tokens = sorted(tokenizer["vocab"], key=tokenizer["vocab"].get)
    return save(load_file(WEIGHTS), {"tokens": "\n".join(tokens), "merges": "\n".join(merges)})


@functools.cache
def numbers() -> dict[str, str]:
    """What the page says by name."""
    measured = json.loads(MEASURED.read_text("utf-8"))
    training, test, repeated = measured["training"], measured["test"], measured["repeated"]
    parameters = sum(tensor.size for name, tensor in load_file(WEIGHTS).items() if not name.endswith(".scale"))
    losses = {
        f"WRITER_{name.upper().replace('-', '')}": "{:.2f} ± {:.2f}".format(*test[name])
        for name in ("unigram", "bigram", "trigram", "four-gram", "five-gram", "loss")
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


def say_numbers(app: Sphinx, doctree: nodes.document) -> None:
    """Put the numbers where the page names them."""
    fill_in(app, doctree, "WRITER_", numbers, MEASURED, WEIGHTS)


def write(app: Sphinx, static: Path) -> None:
    """Write the model beside the pages, and what the page has to know of it."""
    write_model(static / "review_writer/about.js", "reviewWriterFiles", {"model.safetensors": packed()})


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", say_numbers)
    after_pages(app, write)

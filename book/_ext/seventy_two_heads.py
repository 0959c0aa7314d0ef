"""The pretrained model for the page "Your sentence, seventy-two heads": one byte for each weight, built with the site.

The weights come from the installed package and are only in the built site. Where the package is missing the page
says so.
"""

import base64
import json
from pathlib import Path

from built import after_pages, write_model
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "labs/a_pretrained_model/a_pretrained_model.ipynb"
MOST_TOKENS = 128  # of a sentence: as the package delivers its tokenizer


def packed() -> bytes:
    """The file of the site: embeddings and layers, rounded, and in its header the tokens in the order of their ids."""
    from safetensors.torch import save

    from shared import pretrained_model
    from shared.review_writer import round_to_int8

    pretrained = pretrained_model.load()
    state = pretrained.model.state_dict()
    segments = state.pop("segments.weight")
    state["positions.weight"] = state["positions.weight"][:MOST_TOKENS] + segments[0]  # all of it is a first text
    ids = pretrained.tokenizer.get_vocab()
    return save(round_to_int8(state), {"tokens": "\n".join(sorted(ids, key=ids.get))})


def write(app: Sphinx, static: Path) -> None:
    """Write the model beside the pages, and the picture that those see who have no JavaScript."""
    folder = static / "pretrained_model"
    try:
        files = {"model.safetensors": packed()}
    except ModuleNotFoundError:
        files = None
    write_model(folder / "about.js", "pretrainedModel", files)
    (folder / "all_heads.png").write_bytes(still_picture())


def still_picture() -> bytes:
    """The picture of all heads as *A pretrained model* drew it."""
    lab = json.loads(LAB.read_text("utf-8"))
    alts = {
        n: cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "") for n, cell in enumerate(lab["cells"])
    }
    drawn = next(n for n, alt in alts.items() if alt.startswith("Seventy-two"))
    return base64.b64decode(
        next(each["data"]["image/png"] for each in lab["cells"][drawn]["outputs"] if "data" in each)
    )


def setup(app: Sphinx) -> None:
    after_pages(app, write)

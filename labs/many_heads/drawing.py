"""Two heads that share four columns, and whom the words of a sentence attend to in each head."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from shared import figures
from shared.figures import svg
from shared.figures.drawings import Box, Drawing, diagram


def split_and_concatenate() -> Drawing:
    """How two heads share four columns: split, attention in each, outputs concatenated, then
    W_O.
    """
    boxes = {
        "QKV": Box(140, 20, "Q, K, V: n × 4 each"),
        "0": Box(68, 80, "columns 0, 1", "query"), "1": Box(212, 80, "columns 2, 3", "key"),
        "A0": Box(68, 140, "attention", "query"), "A1": Box(212, 140, "attention", "key"),
        "O0": Box(68, 200, "O_0: n × 2", "query"), "O1": Box(212, 200, "O_1: n × 2", "key"),
        "C": Box(140, 260, "concatenated: n × 4", "output"),
        "W_O": Box(140, 320, "times W_O", "output"),
    }  # fmt: skip
    pairs = "QKV 0, QKV 1, 0 A0, 1 A1, A0 O0, A1 O1, O0 C, O1 C, C W_O".split(", ")
    alt = (
        "Q, K and V with four columns are split: head 0 takes columns 0 and 1, head 1 columns 2 "
        "and 3. Each computes "
        "attention; their outputs, n by 2 each, are concatenated to n by 4 and multiplied by W_O."
    )
    names = "".join(svg.text(x, 54, name, 12, colour=svg.MUTED) for x, name in ((40, "head 0"), (240, "head 1")))
    return diagram(boxes, [tuple(pair.split()) for pair in pairs], alt, names)  # type: ignore[misc]


def patterns(weights: Tensor, words: Sequence[str]) -> figures.Tiles:
    """The weights of each head, (heads, tokens, tokens), below each other, each with its name above; rows of `<pad>`,
    which nobody reads, are left out."""
    real = [place for place, word in enumerate(words) if word != "<pad>"]
    gap = np.full((1, len(words)), np.nan)
    blocks = [block for of_head in weights.detach().numpy() for block in (gap, of_head[real])]
    rows = [label for head in range(len(weights)) for label in (f"head {head}", *(words[place] for place in real))]
    title = f"{len(weights)} heads, whom each word attends to"
    shades = {1: "weight 1", 0.5: "weight .5", 0.1: "weight .1"}
    return figures.Tiles(np.vstack(blocks), rows, list(words), "queries", "keys", title, shades)

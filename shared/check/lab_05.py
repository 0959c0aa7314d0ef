"""The check of lab 5: the one row that asks."""

import math

import torch
from torch import Tensor

from ..model import masked_softmax
from .attention import COUNTED, PADDING, ROOT, TWO_MODELS, attention_by_pytorch, real_tokens, scaling, weighing
from .exercise import Case, Exercise, draw
from .lab_04 import VALUES
from .mistakes import Wrong, edits
from .run import multiplications

OWN_QUERY = "Lab 5, “The mark's own query”"
ALL_COST = "Lab 4, “What it costs”"


# --- 5.1 ---
def marks_row(features, mask, place, W_query, W_key, W_value):
    """The output at one place of each text, (batch, value_dim)."""
    marks = features[torch.arange(len(place)), place]  # (batch, dim)
    queries = marks @ W_query  # (batch, key_dim)
    keys = features @ W_key  # (batch, tokens, key_dim)
    scores = (keys @ queries.unsqueeze(2)).squeeze(2) / math.sqrt(keys.shape[2])  # (batch, tokens)
    weights = masked_softmax(scores, mask)  # (batch, tokens)
    return (weights.unsqueeze(2) * (features @ W_value)).sum(dim=1)  # (batch, value_dim)


def row_of_the_mark(features, mask, place, W_query, W_key, W_value):
    """The whole layer by PyTorch, then one row of it."""
    output, _ = attention_by_pytorch(features, mask, *(W.__rmatmul__ for W in (W_query, W_key, W_value)))
    return torch.stack([rows[at] for rows, at in zip(output, place.tolist(), strict=True)])


def marked(sizes: tuple, seed: int, mask: Tensor, place: list[int], scale: float = 1.0) -> Case:
    dim, key_dim, value_dim = sizes
    inputs = {"features": scale * draw(*mask.shape, dim, seed=seed), "mask": mask, "place": torch.tensor(place)}
    widths = {"W_query": key_dim, "W_key": key_dim, "W_value": value_dim}
    return Case(inputs | {name: draw(dim, width, seed=seed + n) for n, (name, width) in enumerate(widths.items(), 1)})


def reads_one_row(answer, run):
    """All keys and values cost n d (k + d_v) multiplications a text, all scores and outputs n² (k + d_v) more."""
    tokens, dim, key_dim, value_dim = 40, 5, 3, 4
    case = marked((dim, key_dim, value_dim), 5, real_tokens([tokens, 8]), [2, 6])
    if multiplications(answer, list(case.inputs.values()), run) > 2 * tokens * tokens * key_dim:
        raise Wrong("all rows computed", see=ALL_COST)


MARKS, OUT = "features[torch.arange(len(place)), place]", "(weights.unsqueeze(2) * (features @ W_value)).sum(dim=1)"
WIDTHS = {
    "features": "features.shape[2]",
    "values": "W_value.shape[1]",
    "tokens": "keys.shape[1]",
    "texts": "len(keys)",
}
ALL = (
    "queries, keys = features @ W_query, features @ W_key; "
    "weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1)); return"
)

marks_row = Exercise(
    marks_row,
    cases=[
        marked((6, 3, 4), 0, real_tokens([5, 3, 2]), [4, 0, 1]),
        marked((4, 7, 2), 10, real_tokens([6, 6]), [3, 5]),
        marked((5, 2, 3), 20, real_tokens([4, 2, 3, 1], padding_first=True), [1, 2, 2, 3]),
        marked((4, 4, 4), 30, real_tokens([4, 3, 2, 4]), [1, 2, 0, 3]),
        marked((3, 2, 2), 40, real_tokens([1, 1]), [0, 0]),
        marked((5, 2, 2), 50, real_tokens([1, 1, 1, 2] * 4 + [3]), [0] * 17, scale=30.0),
    ],
    truth=row_of_the_mark,
    also=reads_one_row,
    tried="six batches with the mark at its own place in each text, one with large scores, in double precision, "
    "against the whole layer of PyTorch; and no n x n matrix was formed",
    see=OWN_QUERY,
    mistakes=edits(f"""
        the first row read: {MARKS} => features[:, 0]
        the last row read: {MARKS} => features[:, -1]
        one place for all texts: {MARKS} => features[:, place[0]]
        every place in every text: {MARKS} => features[:, place] ||
            => {ALL} (weights @ (features @ W_value))[:, place]
        a text taken for a place: {MARKS} => features[place, torch.arange(len(place))] || features[place]
        all rows averaged: => {ALL} (weights @ (features @ W_value)).mean(dim=1) ||
            => {ALL} (mask.unsqueeze(2) * (weights @ features @ W_value)).sum(dim=1) / mask.sum(dim=1)[:, None]
        the mark's column read: marks @ W_query => marks @ W_key && features @ W_key => features @ W_query
        the weights of the mark's column: => {ALL} (weights.mT @ features @ W_value)[torch.arange(len(place)), place]
        the mark's own value: {OUT} => marks @ W_value
        one matrix for both: marks @ W_query => marks @ W_key || features @ W_key => features @ W_query
        divided once too often: W_value)).sum(dim=1) => W_value)).mean(dim=1)
        summed over the batch: W_value)).sum(dim=1) => W_value)).sum(dim=0)
        summed over the features: W_value)).sum(dim=1) => W_value)).sum(dim=2)
        squeeze without an axis: .squeeze(2) => .squeeze()
        {PADDING}
        the mask only counted: masked_softmax(scores, mask) => masked_softmax(scores, {COUNTED})
        {VALUES}
        features brought back: (features @ W_value) => features
        keys brought back: (features @ W_value) => keys
        queries brought back: features @ W_value => features @ W_query
    """)
    + scaling("keys.shape[2]", ROOT, "(keys @ queries.unsqueeze(2)).squeeze(2)", **WIDTHS)
    + weighing(
        *("masked_softmax(scores, mask)", "scores", "mask", 1),
        {"HIDE": TWO_MODELS, "MASK": PADDING, "SOFTMAX": OWN_QUERY},
    ),
)

"""The checks of lab 4: the whole layer, an average taken early, and the one row that asks."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..model import masked_softmax
from .exercise import Case, Exercise, draw, real_tokens
from .lab_03 import attention_by_pytorch, batches
from .mistakes import COUNTED, LOWEST, attention, edit
from .run import Wrong, multiplications

PADDING = "Lab 1, “Batches, padding and the mask”"
TWO_MODELS = "Lab 1, “Two models”"
ROOT = "Lab 3, “Why divide by the square root of k?”"
VALUES = "Lab 4, “Where to look, and what to bring back”"
EARLY = "Lab 4, “One average, taken early”"
TWIST = "Lab 4, “The twist: a task that one query cannot solve”"
ALL_COST = "Lab 4, “What it costs”"

# --- 4.1 ---------------------------------------------------------------------------------------------------------


class WholeLayer(nn.Module):
    def __init__(self, dim, key_dim, value_dim):
        super().__init__()
        self.W_query = nn.Linear(dim, key_dim, bias=False)
        self.W_key = nn.Linear(dim, key_dim, bias=False)
        self.W_value = nn.Linear(dim, value_dim, bias=False)

    def forward(self, features, mask):
        queries = self.W_query(features)  # (batch, tokens, key_dim)
        keys = self.W_key(features)  # (batch, tokens, key_dim)
        values = self.W_value(features)  # (batch, tokens, value_dim)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])  # (batch, tokens, tokens)
        weights = masked_softmax(scores, mask.unsqueeze(1))  # (batch, tokens, tokens)
        return weights @ values, weights


whole_layer = Exercise(
    WholeLayer,
    name="whole_layer",
    cases=batches((6, 3, 4), (4, 7, 2), (5, 2, 3), (4, 4, 4), (8, 2, 3)),
    truth=attention_by_pytorch,
    parts=("W_query", "W_key", "W_value"),
    widths=lambda dim, key_dim, value_dim: {
        "W_query": (dim, key_dim),
        "W_key": (dim, key_dim),
        "W_value": (dim, value_dim),
    },
    tried="six batches, with padding and without, k and d_v below and above d, one token, large scores, in double "
    "precision, against PyTorch's scaled_dot_product_attention",
    see=VALUES,
    mistakes=[
        *attention("values"),
        edit("d_v instead of k in the scale", "math.sqrt(keys.shape[2])", "math.sqrt(values.shape[2])", see=ROOT),
        edit("features brought back", "weights @ values", "weights @ features"),
        edit("values made of something else", "self.W_value(features)", "self.W_value(keys)"),
        edit("values made of something else", "self.W_value(features)", "self.W_value(queries)"),
        edit("one matrix for keys and values", "keys = self.W_key(features)", "keys = self.W_value(features)"),
        *(
            edit("a residual connection", "return weights @ values", f"return {added}")
            for added in ("weights @ values + values", "weights @ values + features")
        ),
    ],
)

# --- 4.2 ---------------------------------------------------------------------------------------------------------


def average_early(weights, values, mask):
    """The mean output of real tokens, (batch, value_dim)."""
    share = mask / mask.sum(dim=1, keepdim=True)  # (batch, tokens), padded rows do not count
    row = (share.unsqueeze(2) * weights).sum(dim=1)  # (batch, tokens), the column means of A
    return (row.unsqueeze(2) * values).sum(dim=1)  # (batch, value_dim)


def mean_of_outputs(weights: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    means = []
    for rows, own, real in zip(weights, values, mask, strict=True):
        outputs = [sum(w * value for w, value in zip(row, own, strict=True)) for row in rows[real]]
        means.append(sum(outputs) / len(outputs))
    return torch.stack(means)


def weights_and_values(value_dim: int, seed: int, lengths: list[int], padding_first: bool = False) -> Case:
    mask = real_tokens(lengths).flip(1) if padding_first else real_tokens(lengths)
    batch, tokens = mask.shape
    scores = 2 * draw(batch, tokens, tokens, seed=seed)
    inputs = {"weights": masked_softmax(scores, mask[:, None]), "values": draw(batch, tokens, value_dim, seed=seed + 1)}
    return Case(inputs | {"mask": mask})


def takes_the_short_way(answer: Callable, go: Callable) -> None:
    """The one row costs n² + n d_v multiplications a text, all outputs n² d_v."""
    tokens, value_dim = 24, 20
    case = weights_and_values(value_dim, 5, [tokens, 8])
    if multiplications(answer, list(case.inputs.values()), go) > 2 * tokens * tokens * value_dim / 3:
        raise Wrong(
            "the average taken late",
            "The numbers are right. But you form the outputs of all tokens, an n x n matrix times the values, and "
            f"average them afterwards. Average the rows of A first: one row times the values is enough. Read again: "
            f"{EARLY}.",
        )


SHARE, ROW = "mask / mask.sum(dim=1, keepdim=True)", "(share.unsqueeze(2) * weights).sum(dim=1)"

average_early = Exercise(
    average_early,
    cases=[
        weights_and_values(3, 0, [5, 3, 1]),
        weights_and_values(4, 10, [4, 4]),
        weights_and_values(6, 20, [6, 2], True),
        weights_and_values(4, 30, [4, 3, 2, 4]),
        weights_and_values(2, 40, [1, 1]),
    ],
    truth=mean_of_outputs,
    also=takes_the_short_way,
    tried="five batches of weights and values, with padding and without, in double precision, against the mean of all "
    "outputs; and no product of all rows of A with the values was seen",
    see=EARLY,
    mistakes=[
        edit("rows of padding counted", ROW, "weights.mean(dim=1)", see=VALUES),
        edit("rows of padding counted", SHARE, "torch.ones_like(mask) / mask.shape[1]", see=VALUES),
        edit("divided by all places", "mask.sum(dim=1, keepdim=True)", "mask.shape[1]"),
        edit("padding left in the sum", SHARE, "(1 / mask.sum(dim=1, keepdim=True)).expand(mask.shape)"),
        edit("padding left in the sum", ROW, "weights.sum(dim=1) / mask.sum(dim=1, keepdim=True)"),
        edit("not divided", " / mask.sum(dim=1, keepdim=True)", ""),
        edit("not divided", ROW, "weights.sum(dim=1)"),
        edit("one count for all texts", "mask.sum(dim=1, keepdim=True)", "mask.sum()"),
        edit("counted over the batch", "mask.sum(dim=1, keepdim=True)", "mask.sum(dim=0)"),
        edit("counted over the batch", "mask.sum(dim=1", "mask.sum(dim=0"),
        edit("the axis of the count is lost", "dim=1, keepdim=True", "dim=1"),
        edit("row means instead of column means", ROW, "weights.mean(dim=2)"),
        edit("row means instead of column means", ROW, "share"),
        edit("row means instead of column means", None, "return values.mean(dim=1)"),
        edit("row means instead of column means", None, "return values.sum(dim=1) / mask.sum(dim=1, keepdim=True)"),
        edit("row means instead of column means", "weights).sum(dim=1)", "weights).sum(dim=2)"),
        edit("columns weighted instead of rows", "share.unsqueeze(2)", "share"),
        edit("summed over the batch", "weights).sum(dim=1)", "weights).sum(dim=0)"),
        edit("summed over the batch", "values).sum(dim=1)", "values).sum(dim=0)"),
        edit("summed over the features", "values).sum(dim=1)", "values).sum(dim=2)"),
        edit("one row read", ROW, "weights[:, 0]"),
        edit("one row read", ROW, "weights[:, -1]"),
        edit("divided once too often", "values).sum(dim=1)", "values).mean(dim=1)"),
        edit("divided once too often", "weights).sum(dim=1)", "weights).mean(dim=1)"),
        edit("multiplied by the count", "mask / mask", "mask * mask"),
        edit("the mask the wrong way round", "share =", "mask = ~mask; share =", see=PADDING),
        edit(
            "the mask the wrong way round",
            *("share =", "mask = ~mask; share =", "keepdim=True)", "keepdim=True).clamp(min=1)"),
            see=PADDING,
        ),
        edit("the mask only counted", "share =", f"mask = {COUNTED}; share =", see=PADDING),
    ],
)

# --- 4.3 ---------------------------------------------------------------------------------------------------------


def marks_row(features, mask, place, W_query, W_key, W_value):
    """The output at one place of each text, (batch, value_dim)."""
    marks = features[torch.arange(len(place)), place]  # (batch, dim)
    queries = marks @ W_query  # (batch, key_dim)
    keys = features @ W_key  # (batch, tokens, key_dim)
    scores = (keys @ queries.unsqueeze(2)).squeeze(2) / math.sqrt(keys.shape[2])  # (batch, tokens)
    weights = masked_softmax(scores, mask)  # (batch, tokens)
    return (weights.unsqueeze(2) * (features @ W_value)).sum(dim=1)  # (batch, value_dim)


def row_of_the_mark(
    features: Tensor, mask: Tensor, place: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor
) -> Tensor:
    """The whole layer by PyTorch, then one row of it."""
    maps = ((lambda features, W=W: features @ W) for W in (W_query, W_key, W_value))
    output, _ = attention_by_pytorch(features, mask, *maps)
    return torch.stack([rows[at] for rows, at in zip(output, place.tolist(), strict=True)])


def marked(sizes: tuple, seed: int, lengths: list[int], place: list[int], padding_first: bool = False) -> Case:
    dim, key_dim, value_dim = sizes
    mask = real_tokens(lengths).flip(1) if padding_first else real_tokens(lengths)
    inputs = {"features": draw(*mask.shape, dim, seed=seed), "mask": mask, "place": torch.tensor(place)}
    for number, (name, width) in enumerate((("W_query", key_dim), ("W_key", key_dim), ("W_value", value_dim)), 1):
        inputs[name] = draw(dim, width, seed=seed + number)
    return Case(inputs)


def reads_one_row(answer: Callable, go: Callable) -> None:
    """All keys and values cost n d (k + d_v) multiplications a text, all scores and outputs n² (k + d_v) more."""
    tokens, dim, key_dim, value_dim = 40, 5, 3, 4
    case = marked((dim, key_dim, value_dim), 5, [tokens, 8], [2, 6])
    if multiplications(answer, list(case.inputs.values()), go) > 2 * tokens * tokens * key_dim:
        raise Wrong(
            "all rows computed",
            "The numbers are right. But the scores of all tokens are formed, tokens x tokens, and all rows but one are "
            "thrown away. Make one query, of the mark alone; then the cost grows with n. "
            f"Read again: {ALL_COST}.",
        )


MARKS, OUT = "features[torch.arange(len(place)), place]", "(weights.unsqueeze(2) * (features @ W_value)).sum(dim=1)"
SOFT = "masked_softmax(scores, mask)"
WHOLE = """queries, keys = features @ W_query, features @ W_key
weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1))
output = weights @ (features @ W_value)
return """

marks_row = Exercise(
    marks_row,
    cases=[
        marked((6, 3, 4), 0, [5, 3, 2], [4, 0, 1]),
        marked((4, 7, 2), 10, [6, 6], [3, 5]),
        marked((5, 2, 3), 20, [4, 2, 3, 1], [1, 2, 2, 3], padding_first=True),
        marked((4, 4, 4), 30, [4, 3, 2, 4], [1, 2, 0, 3]),
        marked((3, 2, 2), 40, [1, 1], [0, 0]),
    ],
    truth=row_of_the_mark,
    also=reads_one_row,
    tried="five batches with the mark at its own place in each text, in double precision, against the whole layer of "
    "PyTorch; and no n x n matrix was formed",
    see=TWIST,
    mistakes=[
        edit("the mask only counted", SOFT, f"masked_softmax(scores, {COUNTED})", see=PADDING),
        edit("the first row read", MARKS, "features[:, 0]"),
        edit("the last row read", MARKS, "features[:, -1]"),
        edit("one place for all texts", MARKS, "features[:, place[0]]"),
        edit("every place in every text", MARKS, "features[:, place]"),
        edit("every place in every text", None, WHOLE + "output[:, place]"),
        edit("a text taken for a place", MARKS, "features[place, torch.arange(len(place))]"),
        edit("a text taken for a place", MARKS, "features[place]"),
        edit("all rows averaged", None, WHOLE + "output.mean(dim=1)"),
        edit("all rows averaged", None, WHOLE + "(mask.unsqueeze(2) * output).sum(dim=1) / mask.sum(dim=1)[:, None]"),
        edit("the mark's column read", "marks @ W_query", "marks @ W_key", "features @ W_key", "features @ W_query"),
        edit(
            "the weights of the mark's column",
            None,
            (WHOLE + "output[torch.arange(len(place)), place]").replace("weights @", "weights.mT @"),
        ),
        edit("the mark's own value", OUT, "marks @ W_value"),
        edit("no scale", " / math.sqrt(keys.shape[2])", "", see=ROOT),
        edit("d instead of k in the scale", "math.sqrt(keys.shape[2])", "math.sqrt(features.shape[2])", see=ROOT),
        edit("d instead of k in the scale", "keys.shape[2]", "W_key.shape[0]", see=ROOT),
        edit("d_v instead of k in the scale", "keys.shape[2]", "W_value.shape[1]", see=ROOT),
        edit("the number of tokens in the scale", "keys.shape[2]", "keys.shape[1]", see=ROOT),
        edit("no root in the scale", "math.sqrt(keys.shape[2])", "keys.shape[2]", see=ROOT),
        edit("multiplied by the scale", "/ math.sqrt", "* math.sqrt", see=ROOT),
        edit("one matrix for both", "marks @ W_query", "marks @ W_key"),
        edit("one matrix for both", "features @ W_key", "features @ W_query"),
        edit("softmax over the batch", SOFT, f"scores.masked_fill(~mask, {LOWEST}).softmax(dim=0)"),
        edit("softmax over the batch", SOFT, "scores.softmax(dim=0)"),
        edit("no mask", SOFT, "scores.softmax(dim=1)", see=VALUES),
        edit("mask after the softmax", SOFT, "scores.softmax(dim=1) * mask", see=TWO_MODELS),
        edit("padding scored zero", SOFT, "(scores * mask).softmax(dim=1)", see=TWO_MODELS),
        edit("the mask the wrong way round", SOFT, "masked_softmax(scores, ~mask)", see=PADDING),
        edit("the mask added as it is", SOFT, "(scores + mask).softmax(dim=1)", see=TWO_MODELS),
        edit("no softmax", SOFT, "scores", see=TWO_MODELS),
        edit("no softmax", SOFT, "scores * mask", see=TWO_MODELS),
        edit("features brought back", "(features @ W_value)", "features", see=VALUES),
        edit("keys brought back", "(features @ W_value)", "keys", see=VALUES),
        edit("keys brought back", "features @ W_value", "features @ W_key", see=VALUES),
        edit("queries brought back", "features @ W_value", "features @ W_query", see=VALUES),
        edit("divided once too often", "W_value)).sum(dim=1)", "W_value)).mean(dim=1)"),
        edit("summed over the batch", "W_value)).sum(dim=1)", "W_value)).sum(dim=0)"),
        edit("summed over the features", "W_value)).sum(dim=1)", "W_value)).sum(dim=2)"),
        edit("squeeze without an axis", ".squeeze(2)", ".squeeze()"),
    ],
)

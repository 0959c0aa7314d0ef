"""What the exercises on attention share: batches, PyTorch's attention as the truth, and families of mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .exercise import Case, draw
from .mistakes import Mistake, Wrong, edits

PADDING = "Lab 0, “Batches, padding and the mask”"
TWO_MODELS = "Lab 1, “Two models”"
ROOT = "Lab 3, “Why divide by the square root of k?”"
EACH = "Lab 3, “A question for each token”"
WHO = "Lab 3, “Who asks whom”"
LAYER = "Lab 3, “The layer”"

# Somebody whose mask says how many tokens are real, and no longer which.
COUNTED = "torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)"


def real_tokens(lengths: list[int], padding_first: bool = False) -> Tensor:
    """The mask of texts with so many real tokens each, (batch, tokens) bool."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]  # (batch, tokens)
    return mask.flip(1) if padding_first else mask


def texts(sizes: tuple, mask: Tensor, seed: int = 0, scale: float = 1.0) -> Case:
    """A batch of texts for a layer made with these sizes, of which the first is the width of the features."""
    return Case({"features": scale * draw(*mask.shape, sizes[0], seed=seed), "mask": mask}, sizes)


def batches(*more: tuple) -> list[Case]:
    """Batches that tell mistakes apart: other widths, padding in front, all sizes equal, one token, large scores."""
    small, wide, narrow, equal, large = more
    return [
        texts(small, real_tokens([5, 3, 1])),
        texts(wide, real_tokens([6, 6]), 1),
        texts(narrow, real_tokens([4, 2, 3, 1], padding_first=True), 2),
        texts(equal, real_tokens([4, 3, 2, 4]), 3),
        texts(small, real_tokens([1, 1]), 4),
        texts(large, real_tokens([1, 1, 1, 2] * 4 + [3]), 5, scale=30.0),
    ]


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """PyTorch's own attention: the outputs, and the weights, which values of the unit matrix bring back.

    queries (..., asking, k), keys (..., tokens, k), values (..., tokens, v); mask (..., tokens), or one a query,
    (..., asking, tokens).
    """
    unit = torch.eye(keys.shape[-2], dtype=keys.dtype).expand(*keys.shape[:-2], -1, -1)
    if mask is not None and mask.dim() < queries.dim():
        mask = mask[..., None, :]
    hides = {"attn_mask": mask, "scale": scale}
    both = (nn.functional.scaled_dot_product_attention(queries, keys, brought, **hides) for brought in (values, unit))
    return tuple(both)


def attention_by_pytorch(
    features: Tensor, mask: Tensor, W_query: Callable, W_key: Callable, W_value: Callable = lambda features: features
) -> tuple[Tensor, Tensor]:
    """A layer of self-attention; what rows of padding give is left open."""
    found = attend(W_query(features), W_key(features), W_value(features), mask)
    return tuple(rows.masked_fill(~mask[:, :, None], torch.nan) for rows in found)


def check_bias(run: Callable, make: Callable, names: tuple[str, ...], default: bool) -> None:
    """Raise Wrong unless these parts are an nn.Linear each, with a bias where `make(bias=...)` asks for one."""
    for bias, settings in ((True, {"bias": True}), (False, {"bias": False}), (default, {})):
        made = run(lambda settings=settings: make(**settings))
        for name in names:
            if not isinstance(getattr(made, name), nn.Linear):
                raise Wrong("no nn.Linear [looked into]", name=name)
            if (getattr(made, name).bias is not None) != bias:
                raise Wrong("the bias does not follow the argument", name=name)


def family(table: str, **words: str) -> list[Mistake]:
    """A table in which words in capitals stand for the code or the section of one exercise."""
    for word, meant in words.items():
        table = table.replace(word, meant)
    return edits(table)


def scaling(width: str, see: str, scores: str = "scores", **others: str) -> list[Mistake]:
    """What goes wrong with `scores / math.sqrt(width)`; `others` are the widths that are taken for it, as code."""
    names = {"features": "d instead of k", "values": "d_v instead of k", "heads": "the number of heads"}
    names |= {"tokens": "the number of tokens", "texts": "the number of texts"}
    taken = [f"{names[other]} in the scale: sqrt(WIDTH) => sqrt({code})\n" for other, code in others.items()]
    table = """SEE
no scale: / math.sqrt(WIDTH) =>
no root in the scale: math.sqrt(WIDTH) => WIDTH
multiplied by the scale: / math.sqrt => * math.sqrt
the scale divided by the scores: SCORES / math.sqrt(WIDTH) => math.sqrt(WIDTH) / (SCORES)
"""
    return family(table + "".join(taken), SEE=see, SCORES=scores, WIDTH=width)


WEIGHING = """SEE_HIDE
mask after the softmax: WEIGH => SCORES.softmax(AXIS) * MASK
padding hidden with too small a number: WEIGH => SCORES.masked_fill(~MASK, -20.0).softmax(AXIS) ||
    WEIGH => SCORES.masked_fill(~MASK, -20.0).softmax(AXIS) * MASK ||
    WEIGH => SCORES.masked_fill(~MASK, -100.0).softmax(AXIS) ||
    WEIGH => SCORES.masked_fill(~MASK, -100.0).softmax(AXIS) * MASK
padding scored zero: WEIGH => (SCORES * MASK).softmax(AXIS) || WEIGH => (SCORES * MASK).softmax(AXIS) * MASK
the mask added as it is: WEIGH => (SCORES + MASK).softmax(AXIS) || WEIGH => (SCORES + MASK).softmax(AXIS) * MASK
no softmax: WEIGH => SCORES * MASK || WEIGH => SCORES
sigmoid instead of softmax: WEIGH => SCORES.sigmoid() * MASK || WEIGH => SCORES.sigmoid()
SEE_MASK
no mask: WEIGH => SCORES.softmax(AXIS)
the mask the wrong way round: WEIGH => SCORES.masked_fill(MASK, -1e30).softmax(AXIS) ||
    WEIGH => SCORES.masked_fill(MASK, -1e30).softmax(AXIS) * MASK ||
    WEIGH => SCORES.masked_fill(MASK, -1e30).softmax(AXIS) * ~MASK ||
    WEIGH => SCORES.masked_fill(MASK, -torch.inf).softmax(AXIS) || WEIGH => (SCORES - 1e9 * MASK).softmax(AXIS)
SEE_SOFTMAX
softmax over the batch: WEIGH => SCORES.masked_fill(~MASK, -1e30).softmax(0) || WEIGH => SCORES.softmax(0) ||
    WEIGH => SCORES.softmax(0) * MASK
"""
ASKING = """SEE_SOFTMAX
softmax over the wrong axis: WEIGH => SCORES.masked_fill(~MASK, -1e30).softmax(DOWN) ||
    SCORES.masked_fill(~MASK, -torch.inf).softmax(DOWN) || SCORES.masked_fill(~ASKS, -1e30).softmax(DOWN) ||
    SCORES.softmax(DOWN)
the mask on those who ask: WEIGH => SCORES.masked_fill(~ASKS, -1e30).softmax(AXIS) || SCORES.softmax(AXIS) * ASKS ||
    SCORES.masked_fill(~ASKS, -torch.inf).softmax(AXIS)
SEE_HIDE
NaN in rows of padding: WEIGH => SCORES.masked_fill(~(MASK & ASKS), -torch.inf).softmax(AXIS)
"""


def weighing(weigh: str, scores: str, mask: str, axis: int, see: dict[str, str], asks: str = "") -> list[Mistake]:
    """What goes wrong where scores become weights.

    Args:
        weigh: where the solution does it; other edits that belong to it may stand in front, each with its `=>`.
        scores: the scores as code, not yet masked.
        mask: the mask as code, with the axes of the scores.
        axis: of the softmax.
        see: the sections that explain the mask ("MASK"), what it must hide ("HIDE") and the softmax ("SOFTMAX").
        asks: where all tokens ask, the mask of those who do, as code.
    """
    words = {f"SEE_{word}": section for word, section in see.items()}
    words |= {"SCORES": scores, "MASK": mask, "AXIS": str(axis), "DOWN": str(axis - 1), "ASKS": asks, "WEIGH": weigh}
    return family(WEIGHING + (ASKING if asks else ""), **words)


def mixing(features: str, turned: str, brought: str, others=("queries", "keys"), **see: str) -> list[Mistake]:
    """What goes wrong in a layer of `queries @ keys.turned` and `weights @ brought`.

    `others` is the code that gives queries and keys where the weights are used. `see` has the sections that explain who
    asks (`EACH`), the two matrices (`WHOM`), the product of all with all (`PRODUCT`), what is brought back (`BACK`).
    """
    table = """SEE_EACH
queries and keys exchanged: queries @ keys.TURNED => keys @ queries.TURNED
SEE_WHOM
one matrix for both: queries @ keys => keys @ keys || queries @ queries
SEE_PRODUCT
no transpose at all: keys.TURNED => keys
a reshape for a transpose: keys.TURNED => keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])
SEE_BACK
weighted with the transposed weights: weights @ BROUGHT => weights.mT @ BROUGHT
keys brought back: weights @ BROUGHT => weights @ OTHER_KEYS
queries brought back: weights @ BROUGHT => weights @ OTHER_QUERIES
weights not used: weights @ BROUGHT => BROUGHT
averaged over the tokens: weights @ BROUGHT => (weights @ BROUGHT).mean(dim=-2) || (weights @ BROUGHT).sum(dim=-2)
a residual connection: weights @ BROUGHT => weights @ BROUGHT + BROUGHT || weights @ BROUGHT + FEATURES
"""
    sections = {f"SEE_{word}": section for word, section in see.items()}
    queries, keys = others
    words = {"OTHER_QUERIES": queries, "OTHER_KEYS": keys, "TURNED": turned, "BROUGHT": brought, "FEATURES": features}
    return family(table, **sections, **words)


# The widths that stand beside that of the keys, in a layer for batches.
AXES = {"features": "features.shape[2]", "tokens": "keys.shape[1]", "texts": "keys.shape[0]"}
SCORES, WEIGH = "queries @ keys.transpose(1, 2)", "masked_softmax(scores, mask.unsqueeze(1))"


def layer(brought: str, scores: str = "scores", others=("queries", "keys"), **widths: str) -> list[Mistake]:
    """The mistakes of the layers of labs 3 and 4; `brought` is what the weights bring back.

    `scores` and `others` are the code that gives the scores, and queries and keys, where the weights are used.
    """
    known = scaling("keys.shape[2]", ROOT, SCORES, **widths, **AXES)
    known += mixing("features", "transpose(1, 2)", brought, others, EACH=EACH, WHOM=WHO, PRODUCT=LAYER, BACK=LAYER)
    sections = {"HIDE": TWO_MODELS, "MASK": PADDING, "SOFTMAX": LAYER}
    known += weighing(WEIGH, "scores", "mask.unsqueeze(1)", 2, sections, asks="mask.unsqueeze(2)")
    return known + edits(f"""
        {EACH}
        one question for all: {SCORES} => queries.mean(dim=1, keepdim=True).expand_as(queries) @ keys.mT
        the scale after the softmax: {WEIGH} =>
            masked_softmax({SCORES}, mask.unsqueeze(1)) / math.sqrt(keys.shape[2])
        {LAYER}
        transpose of the wrong axes: keys.transpose(1, 2) => keys.permute(2, 1, 0) || keys.transpose(0, 1)
        the axis of the mask is lost: {WEIGH} => masked_softmax(scores, mask) ||
            scores.masked_fill(~mask, -1e30).softmax(dim=2)
        scores returned instead of weights: {brought}, weights => {brought}, {scores}
        weights returned transposed: {brought}, weights => {brought}, weights.mT
        results in the wrong order: weights @ {brought}, weights => weights, weights @ {brought}
        {PADDING}
        the mask only counted: {WEIGH} => masked_softmax(scores, ({COUNTED}).unsqueeze(1))
    """)

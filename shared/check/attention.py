"""What the exercises on attention share: batches, PyTorch's attention as the truth, and families of mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .exercise import Case, draw
from .mistakes import Mistake, edits

PADDING = "Lab 1, “Batches, padding and the mask”"
TWO_MODELS = "Lab 1, “Two models”"
ROOT = "Lab 3, “Why divide by the square root of k?”"

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

    queries (..., asking, k), keys (..., tokens, k), values (..., tokens, v), mask (..., tokens).
    """
    unit = torch.eye(keys.shape[-2], dtype=keys.dtype).expand(*keys.shape[:-2], -1, -1)
    hides = {"attn_mask": None if mask is None else mask[..., None, :], "scale": scale}
    both = (nn.functional.scaled_dot_product_attention(queries, keys, brought, **hides) for brought in (values, unit))
    return tuple(both)


def attention_by_pytorch(
    features: Tensor, mask: Tensor, W_query: Callable, W_key: Callable, W_value: Callable = lambda features: features
) -> tuple[Tensor, Tensor]:
    """A layer of self-attention; what rows of padding give is left open."""
    found = attend(W_query(features), W_key(features), W_value(features), mask)
    return tuple(rows.masked_fill(~mask[:, :, None], torch.nan) for rows in found)


def scaling(width: str, see: str, scores: str = "scores", **others: str) -> list[Mistake]:
    """What goes wrong with `scores / math.sqrt(width)`; `others` are the widths that are taken for it, as code."""
    names = {"features": "d instead of k", "values": "d_v instead of k", "heads": "the number of heads"}
    names |= {"tokens": "the number of tokens", "texts": "the number of texts"}
    return edits(f"""
{see}
no scale: / math.sqrt({width}) =>
no root in the scale: math.sqrt({width}) => {width}
multiplied by the scale: / math.sqrt => * math.sqrt
the scale divided by the scores: {scores} / math.sqrt({width}) => math.sqrt({width}) / ({scores})
""") + edits(
        "\n".join(
            [see] + [f"{names[kind]} in the scale: sqrt({width}) => sqrt({taken})" for kind, taken in others.items()]
        )
    )


def weighing(weigh: str, scores: str, mask: str, axis: int, see: dict[str, str], asking: str = "") -> list[Mistake]:
    """What goes wrong where scores become weights.

    Args:
        weigh: where the solution does it.
        scores: the scores as code, not yet masked.
        mask: the mask as code, with the axes of the scores.
        axis: of the softmax.
        see: the sections that explain the mask ("mask"), what it must hide ("hide") and the softmax ("softmax").
        asking: where a text asks itself, the mask over those who ask, as code.
    """
    hidden = f"{scores}.masked_fill(~{mask}, {{}}).softmax(dim={axis})"
    small = [hidden.format(number) + after for number in (-10.0, -20.0, -50.0, -100.0) for after in ("", f" * {mask}")]
    softmax = f"{scores}.softmax(dim={axis})"
    found = f"""
{see["hide"]}
mask after the softmax: {weigh} => {softmax} * {mask}
padding hidden with too small a number: {weigh} => {" || ".join(small)}
padding scored zero: {weigh} => ({scores} * {mask}).softmax(dim={axis}) ||
    ({scores} * {mask}).softmax(dim={axis}) * {mask}
the mask added as it is: {weigh} => ({scores} + {mask}).softmax(dim={axis}) ||
    ({scores} + {mask}).softmax(dim={axis}) * {mask}
no softmax: {weigh} => {scores} * {mask} || {scores}
sigmoid instead of softmax: {weigh} => {scores}.sigmoid() * {mask} || {scores}.sigmoid()
{see["mask"]}
no mask: {weigh} => {softmax}
the mask the wrong way round: {weigh} => {scores}.masked_fill({mask}, -1e30).softmax(dim={axis}) ||
    {scores}.masked_fill({mask}, -torch.inf).softmax(dim={axis}) ||
    ({scores} - 1e9 * {mask}).softmax(dim={axis}) || {scores}.masked_fill({mask}, -1e30).softmax(dim={axis}) * ~{mask}
{see["softmax"]}
softmax over the batch: {weigh} => {scores}.masked_fill(~{mask}, -1e30).softmax(dim=0) ||
    {scores}.masked_fill(~{mask}, -1e30).softmax(dim=0) * {mask} || {scores}.softmax(dim=0) * {mask} ||
    {scores}.masked_fill(~{mask}, -torch.inf).softmax(dim=0) || {scores}.softmax(dim=0)
"""
    if not asking:
        return edits(found)
    down = f"softmax(dim={axis - 1})"
    return edits(f"""{found}
softmax over the wrong axis: {weigh} => {scores}.masked_fill(~{mask}, -1e30).{down} ||
    {scores}.masked_fill(~{mask}, -torch.inf).{down} || {scores}.masked_fill(~{mask}, -torch.inf).{down}.nan_to_num() ||
    {scores}.masked_fill(~{asking}, -1e30).{down} || {scores}.masked_fill(~{asking}, -torch.inf).{down} ||
    {scores}.{down} || ({scores}.mT.masked_fill(~{mask}, -1e30).softmax(dim={axis}) * {mask}).mT
the mask on those who ask: {weigh} => {scores}.masked_fill(~{asking}, -1e30).softmax(dim={axis}) * {asking} ||
    {scores}.masked_fill(~{asking}, -1e30).softmax(dim={axis}) || {softmax} * {asking} ||
    {scores}.masked_fill(~{asking}, -torch.inf).softmax(dim={axis})
{see["hide"]}
mask after the softmax: {weigh} => {softmax} * {mask} * {asking}
NaN in rows of padding: {weigh} => {scores}.masked_fill(~({mask} & {asking}), -torch.inf).softmax(dim={axis})
""")


def mixing(features: str, turned: str, brought: str, **see: str) -> list[Mistake]:
    """What goes wrong in a layer of `queries @ keys.turned` and `weights @ brought`.

    `see` has the sections that explain who asks (`asks`), the two matrices (`whom`), the product of all with all
    (`product`), and what is brought back (`back`).
    """
    output = f"weights @ {brought}"
    return edits(f"""
{see["asks"]}
queries and keys exchanged: queries @ keys.{turned} => keys @ queries.{turned}
{see["whom"]}
one matrix for both: queries @ keys => keys @ keys || queries @ keys => queries @ queries
{see["product"]}
no transpose at all: keys.{turned} => keys
a reshape for a transpose: keys.{turned} => keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])
{see["back"]}
weighted with the transposed weights: {output} => weights.mT @ {brought}
keys brought back: {output} => weights @ keys
queries brought back: {output} => weights @ queries
weights not used: {output} => {brought}
averaged over the tokens: {output} => ({output}).mean(dim=-2) || ({output}).sum(dim=-2)
a residual connection: {output} => {output} + {brought} || {output} + {features}
""")

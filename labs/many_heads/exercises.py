"""The checks of *Many heads*: the whole layer, and heads with three bugs."""

import math
from functools import partial

import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.layers import both_masks, by_heads, heads, heads_of_real_tokens
from checks.running import outcome
from checks.trials import bugs_left, changed, check_linears, draw
from shared.model import MultiHeadSelfAttention, causal_mask, masked_softmax


def reshaped(projected, num_heads):
    """The projections are reshaped to (batch, num_heads, tokens, head_dim) at once, which mixes tokens and heads. Split
    the last axis first, then transpose the tokens with the heads."""
    return projected.reshape(len(projected), num_heads, -1, projected.shape[2] // num_heads)


def every_third_column(projected, num_heads):
    """Each head gets every h-th column instead of a block of neighboring columns. The last axis is split into
    (num_heads, head_dim), in this order."""
    return projected.unflatten(2, (-1, num_heads)).permute(0, 3, 1, 2)


def joined_by_reshape(outputs):
    """The heads' outputs are concatenated without transposing heads and tokens back, so the tokens are mixed."""
    return outputs.reshape(len(outputs), outputs.shape[2], -1)


# --- many_heads ----------------------------------------------------------------------------------------------------


def attention_mask_ignored(x, mask, attention_mask):
    """The `attention_mask` is not used."""
    return both_masks(x, mask, None)


def padding_mask_ignored(x, mask, attention_mask):
    """The `mask` is not used, so padding gets weight."""
    return both_masks(x, None, attention_mask)


def one_mask_replaces_the_other(x, mask, attention_mask):
    """Where both masks are given, only the `attention_mask` is used. A token needs the permission of both: use `&`."""
    return both_masks(x, mask if attention_mask is None else None, attention_mask)


def padding_mask_replaces_the_other(x, mask, attention_mask):
    """Where both masks are given, only the `mask` is used. A token needs the permission of both: write two `if`, not
    `elif`, and `&`."""
    return both_masks(x, mask, attention_mask if mask is None else None)


def one_mask_is_enough(x, mask, attention_mask):
    """Where both masks are given, a token may be attended to if one of them allows it. It needs the permission of both:
    use `&`, not `|`."""
    if mask is None or attention_mask is None:
        return both_masks(x, mask, attention_mask)
    return both_masks(x, mask, None) | both_masks(x, None, attention_mask)


def each_mask_inverted(x, mask, attention_mask):
    """The masks are the wrong way round, each by itself. Here True means may attend, so no `~` belongs before them."""
    return both_masks(x, *(None if m is None else ~m for m in (mask, attention_mask)))


def always_causal(x, mask, attention_mask):
    """A token does not attend to those that follow it, even where no `attention_mask` says so. Leave the causal mask
    out: the layer gets it as an argument."""
    return both_masks(x, mask, attention_mask) & causal_mask(x.shape[1])


def masks_inverted(x, mask, attention_mask):
    """The masks are the wrong way round. PyTorch's own layer hides where True; here True means may attend."""
    allowed = both_masks(x, mask, attention_mask)
    return allowed if mask is None and attention_mask is None else ~allowed


def padded_queries_hidden(x, mask, attention_mask):
    """The mask hides rows instead of columns, so padding is attended to. Give it the shape (batch, 1, 1, tokens)."""
    allowed = both_masks(x, None, attention_mask)
    return allowed if mask is None else allowed & mask[:, :, None]


def masks_of_other_texts(scores, mask):
    """The masks are repeated in the wrong order, so that heads get the mask of another text. Give the mask an axis of
    length 1 for the heads, `mask[:, None]`, or use `repeat_interleave`."""
    texts = torch.arange(len(scores) * scores.shape[1]).view(scores.shape[:2]) % len(scores)  # (batch, num_heads)
    return masked_softmax(scores, mask[:, 0][texts])


def masks_of_heads(mask=None, **given):
    """The mask lacks the axis of the heads: it is lined up from the last axis, so head 1 gets the mask of text 1, in
    all texts. Give it the shape (batch, 1, 1, tokens): `mask[:, None, None, :]`."""
    if mask is None:
        return heads(**given)
    return heads(**given, weigh=lambda scores, allowed: masked_softmax(scores, allowed & mask[:, None, :]))


def residual_added(x, **given):
    """The output has x in it. There is no residual connection in this layer: return the projected outputs alone."""
    output, weights = heads(x=x, **given)
    return x + output, weights


def no_output_projection(**given):
    """`W_output` is not used: it projects the concatenated outputs of the heads."""
    return heads(**given | {"W_output": nn.Identity()})


def batch(shape, num_heads, lengths=None, padding_first=False, scale=1.0, **attention_mask):
    """A batch with masks; with `lengths` each text has padding, for else `~mask` would hide whole texts."""
    mask = trials.real_tokens([*lengths, shape[1]], padding_first)[:-1] if lengths else None
    inputs = {"x": scale * draw(*shape), "mask": mask, **attention_mask}
    return Case(inputs, {"d_model": shape[2], "num_heads": num_heads})


def one_mask_each(texts, tokens):
    """Which token may attend to which, (texts, tokens, tokens), different in each text."""
    return (draw(texts, tokens, tokens, seed=7) > 0) | torch.eye(tokens, dtype=torch.bool)


class NotRefused(Wrong):
    """{num_heads} heads cannot share a width of {d_model}: raise a ValueError with a sentence."""


def fits_into_the_lab(answer):
    """The lab reads four nn.Linear with biases, and numbers of heads that do not fit are refused with a sentence."""
    check_linears(answer, (9, 3), ("W_query", "W_key", "W_value", "W_output"), biased=True)
    for d_model, num_heads in ((9, 2), (4, 8)):
        refused = outcome(lambda *sizes: answer(*sizes)(draw(1, 3, sizes[0])), d_model, num_heads)
        if not isinstance(refused, ValueError) or not str(refused):
            raise NotRefused(num_heads=num_heads, d_model=d_model)


many_heads = Check(
    reference=heads_of_real_tokens,
    solution=MultiHeadSelfAttention,
    parts=("num_heads", "W_query", "W_key", "W_value", "W_output"),
    cases=[
        batch((3, 3, 9), 3, [2, 1, 2]),
        Case({"x": draw(2, 5, 9)}, {"d_model": 9, "num_heads": 3}),
        batch((2, 4, 6), 2),
        batch((2, 5, 6), 2, [3, 4]),
        batch((4, 4, 8), 4, [1, 3, 2, 3], padding_first=True),
        batch((1, 3, 5), 1, [2]),
        batch((12, 3, 6), 2, [1] * 8 + [2] * 4, scale=12.0),
        batch((1, 4, 6), 2),
        batch((1, 4, 6), 2, attention_mask=causal_mask(4)),
        batch((2, 4, 6), 2, attention_mask=causal_mask(4)),
        batch((3, 5, 9), 3, [4, 2, 3], attention_mask=causal_mask(5)),
        batch((2, 4, 8), 4, [3, 2], padding_first=True, attention_mask=causal_mask(4)),
        batch((3, 4, 6), 2, [3, 4, 2], attention_mask=one_mask_each(3, 4)),
        batch((3, 5, 8), 4, attention_mask=one_mask_each(3, 5)),
    ],
    mistakes=[
        *(changed(partial(heads, weigh=weigh), combine=masks_inverted)
          for weigh in (masked_softmax, trials.weight_for_padding, trials.nan_for_padding)),
        *(changed(partial(heads, weigh=weigh), combine=each_mask_inverted)
          for weigh in (masked_softmax, trials.weight_for_padding, trials.nan_for_padding)),
        *(changed(heads, combine=step) for step in (
            attention_mask_ignored, padding_mask_ignored, one_mask_replaces_the_other,
            padding_mask_replaces_the_other, one_mask_is_enough, padded_queries_hidden, always_causal)),
        changed(heads, split=reshaped), changed(heads, split=every_third_column),
        changed(heads, join=joined_by_reshape),
        *(changed(heads, score=step) for step in trials.SCORE_MISTAKES),
        *(changed(heads, weigh=step) for step in (
            *trials.MASK_MISTAKES, trials.softmax_over_queries, trials.softmax_over_axis_0, masks_of_other_texts,
            trials.nan_for_padding)),
        no_output_projection, residual_added, masks_of_heads,
    ],
    section="Many heads, “The layer”",
    last_look=fits_into_the_lab,
)  # fmt: skip


# --- fix_the_heads -------------------------------------------------------------------------------------------------


def mean_over_heads(queries, keys, values, num_heads, mask, **steps):
    """The right way, one step of which a known mistake exchanges."""
    outputs, weights = by_heads(queries, keys, values, num_heads, mask[:, None, :], **steps)
    return outputs, weights.mean(dim=1)


def mean_of_real_tokens(mask, **given):
    """The right way; what a padded token gets does not matter."""
    return tuple(rows.masked_fill(~mask[:, :, None], math.nan) for rows in mean_over_heads(mask=mask, **given))


def blocks_overlap(projected, num_heads):
    """The blocks of columns overlap: head h begins at column h. Let it begin at column h * head_dim."""
    return projected.unfold(2, projected.shape[2] // num_heads, 1)[:, :, :num_heads].transpose(1, 2)


def scale_of_num_heads(queries, keys, d_model):
    """The scores are divided by the root of the number of heads. A head's dot product has head_dim terms."""
    return queries @ keys.mT / math.sqrt(d_model / keys.shape[-1])


def mask_without_effect(scores, mask):
    """Padding gets weight: the mask is left out, or it hides rows, which are queries. Hide columns, with the mask in
    the shape (batch, 1, tokens)."""
    return scores.softmax(-1)


def several_bugs_left():
    """More than one bug is left. Compare each line with the formula, for a case with three heads and padding."""


def projected(shape, num_heads, lengths, padding_first=False, scale=1.0):
    mask = trials.real_tokens([*lengths, shape[1]], padding_first)[:-1]
    inputs = {name: scale * draw(*shape, seed=seed) for seed, name in enumerate(("queries", "keys", "values"))}
    return Case(inputs | {"num_heads": num_heads, "mask": mask})


fix_the_heads = Check(
    reference=mean_of_real_tokens,
    cases=[
        projected((2, 4, 6), 3, [4, 2]), projected((3, 3, 9), 3, [3, 1, 2]),
        projected((2, 5, 8), 2, [3, 4], padding_first=True), projected((1, 3, 5), 1, [2]),
        projected((2, 4, 8), 4, [2, 3], scale=150.0), projected((1, 4, 6), 3, [4]),
    ],
    mistakes=[
        *bugs_left(mean_over_heads, several_bugs_left, split=every_third_column, score=trials.root_of_d_model,
                   weigh=trials.padding_scored_zero),
        changed(mean_over_heads, split=blocks_overlap),
        *(changed(mean_over_heads, score=step)
          for step in (scale_of_num_heads, trials.root_left_out, trials.not_scaled, trials.root_of_tokens,
                       trials.keys_reshaped)),
        *(changed(mean_over_heads, weigh=step) for step in (
            mask_without_effect, trials.mask_after_softmax, *trials.MASK_MISTAKES[3:])),
    ],
    section="Many heads, “Split and concatenate”",
)  # fmt: skip

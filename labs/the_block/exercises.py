"""The checks of *The block*: layer normalization, the Transformer block, a post-norm block with bugs.

Known mistakes of a block are other orders of its four parts; `block` computes the rest with the reader's parts.
"""

from functools import partial

import torch

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.layers import (
    NORM_INSIDE,
    PARTS,
    batches,
    block,
    block_mistakes,
    gelu,
    has_the_parameters,
    heads_of_real_tokens,
    input_added_again,
    post_norm,
    pre_norm,
    texts,
)
from checks.trials import changed, draw, goes_on
from shared import model

BLOCK = "The block, “Write the block”"

# --- transformer_block ---------------------------------------------------------------------------------------------


class TransformerBlock(model.TransformerBlock):
    """Of the lab: always pre-norm."""

    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.1):
        super().__init__(d_model, num_heads, hidden_dim, dropout, norm_first=True)


def attention_mask_not_used(**given):
    """The `attention_mask` does not reach the attention. Pass it on."""
    return block(**given | {"attention_mask": None})


def neither_mask_used(**given):
    """Neither mask reaches the attention. Pass on both: `self.attention(..., mask, attention_mask)`."""
    return block(**given | {"mask": None, "attention_mask": None})


def both_normalized_features_added(x, attention, feed_forward, norm_1, norm_2):
    """In both halves the sum adds to the normalized x. Normalize only what a part reads: `x + part(norm(x))`."""
    x = norm_1(x) + attention(norm_1(x))
    return norm_2(x) + feed_forward(norm_2(x))


def sum_of_the_attention_lost(x, attention, feed_forward, norm_1, norm_2):
    """The second sum adds to the block's input, so the attention's output is lost. Add to the first sum."""
    return x + feed_forward(norm_2(x + attention(norm_1(x))))


class SumsWithoutAdd(Wrong):
    """The results are right, but `forward` doesn't make both sums with `self.add(x, change)`. The lab replaces that
    method.
    """


class WrongDropout(Wrong):
    """Without dropout the results are right. `dropout`, 0.1 by default, is the dropout probability, used both in `add`
    and after ReLU in `feed_forward`."""


def dropout_and_sums(answer):
    """Where dropout falls, its default, and that the lab can take the sums away by replacing `add`."""
    goes_on("`TransformerBlock(d_model=16, num_heads=4, hidden_dim=64)`",
            lambda: answer(d_model=16, num_heads=4, hidden_dim=64))  # fmt: skip
    x = draw(1, 6, 8).to(torch.get_default_dtype())
    for sizes in ((8, 4, 20), (8, 4, 20, 0.3)):
        layer, course, outputs = answer(*sizes), TransformerBlock(*sizes), []
        has_the_parameters(layer, course)
        course.load_state_dict(layer.state_dict(), strict=False)
        for one in (layer.train(), course.train()):
            torch.manual_seed(0)  # the parts follow one another, so dropout draws the same
            outputs.append(one(x)[0])
        if not torch.allclose(*outputs):
            raise WrongDropout
    layer.eval().add = course.eval().add = lambda x, change: change  # type: ignore[method-assign]
    if not torch.allclose(layer(x)[0], course(x)[0]):
        raise SumsWithoutAdd


transformer_block = Check(
    reference=partial(block, attend=heads_of_real_tokens),
    solution=TransformerBlock,
    parts=PARTS,
    cases=[
        *batches(),
        texts(6, 2, 12, trials.real_tokens([4, 4]), model.causal_mask(4)),
        texts(8, 4, 10, trials.real_tokens([5, 2]), model.causal_mask(5)),
    ],
    mistakes=[
        *(changed(block, order=order) for order in (
            post_norm, both_normalized_features_added, sum_of_the_attention_lost)),
        *block_mistakes(block, pre_norm, gelu), attention_mask_not_used, neither_mask_used,
    ],
    section=BLOCK,
    last_look=dropout_and_sums,
)  # fmt: skip


# --- first_block ---------------------------------------------------------------------------------------------------


class FirstBlock(model.TransformerBlock):
    """The post-norm block of the first Transformer, without dropout."""

    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim, dropout=0.0)

    def forward(self, x, mask=None):  # type: ignore[override]
        return super().forward(x, mask)[0]


def first_output(order=post_norm, **given):
    """The right way, or with another order."""
    return block(**given, order=order)[0]


def several_bugs_left(order):
    def several_bugs_left(**given):
        """More than one bug is left: a norm is inside the sum, and padding gets weight. Compare each line with
        `norm(x + part(x))`, and follow the mask."""
        return first_output(order, **given | {"mask": None})

    return several_bugs_left


first_block = Check(
    reference=partial(first_output, attend=heads_of_real_tokens),
    solution=FirstBlock,
    parts=PARTS,
    cases=batches(),
    mistakes=[
        *map(several_bugs_left, NORM_INSIDE),
        *(changed(first_output, order=order) for order in (*NORM_INSIDE, pre_norm, input_added_again)),
        *block_mistakes(first_output, post_norm, gelu),
    ],
    section=BLOCK,
)


# --- layer_norm ----------------------------------------------------------------------------------------------------


def normalized(
    x, scale, shift, eps=1e-5, axis=-1, correction=0, divide=lambda x, variance, eps: x / (variance + eps).sqrt()
):
    """The right way, one step of which a known mistake exchanges."""
    centered = x - x.mean(axis, keepdim=True)
    return divide(centered, x.var(axis, correction=correction, keepdim=True), eps) * scale + shift


def sample_variance(**given):
    """The variance is divided by d_model - 1, which is the default of `var`. Use `var(..., unbiased=False)`, or
    the mean of the squares."""
    return normalized(**given, correction=1)


def over_the_tokens(**given):
    """Mean and variance are taken over the tokens. Each token has its own, over the last axis."""
    return normalized(**given, axis=-2)


def over_axis_one(**given):
    """Mean and variance are taken over axis 1, which in a batch is the tokens. Count from the end: `dim=-1`."""
    return normalized(**given, axis=1)


def over_everything(**given):
    """There is one mean and one variance for all numbers. Each token has its own: `mean(dim=-1, keepdim=True)`."""
    return normalized(**given, axis=tuple(range(given["x"].dim())))


def eps_outside_the_root(x, variance, eps):
    """`eps` is added to the square root of the variance. Add it to the variance, under the root."""
    return x / (variance.sqrt() + eps)


def sample_deviation(**given):
    """`std` divides by d_model - 1, and you add `eps` to it instead of to the variance. Take the mean of the squares,
    add `eps`, then the root.
    """
    return normalized(**given, correction=1, divide=eps_outside_the_root)


def eps_left_out(x, variance, eps):
    """`eps` is not used, so for a token whose entries are all equal you compute 0 / 0. Add it to the variance."""
    return x / variance.sqrt()


def root_left_out(x, variance, eps):
    """You divide by the variance. Divide by its square root, the standard deviation."""
    return x / (variance + eps)


def scale_and_shift_left_out(x, scale, shift, eps):
    """`scale` and `shift` are not used. Multiply by the first, then add the second."""
    return normalized(x, 1, 0, eps)


def to_normalize(*shape, eps):
    """Random x; one token's are all equal, and only `eps` prevents a division by 0."""
    x = 3 + 2 * draw(*shape, seed=1)
    x[..., 0, :] = 1.5
    return Case({"x": x, "scale": draw(shape[-1], seed=2), "shift": draw(shape[-1], seed=3), "eps": eps})


layer_norm = Check(
    reference=normalized,
    cases=[
        to_normalize(3, 5, eps=1e-5), to_normalize(4, 4, 4, eps=0.1), to_normalize(2, 3, 6, eps=0.5),
        to_normalize(2, 1, 3, eps=1e-3), to_normalize(1, 3, 4, eps=0.1),
    ],
    mistakes=[
        sample_variance, sample_deviation, over_the_tokens, over_axis_one, over_everything,
        scale_and_shift_left_out,
        *(changed(normalized, divide=step) for step in (eps_outside_the_root, eps_left_out, root_left_out)),
    ],
    section="The block, “What the norm does”",
    forbidden=("layer_norm", "native_layer_norm", "group_norm", "instance_norm", "batch_norm"),
)  # fmt: skip

"""The checks of *The block*: the Transformer block, a post-norm block with bugs, layer normalization, an ablation.

Known mistakes of a block are other orders of its four parts; `block` computes the rest with the reader's parts.
"""

from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.many_heads import heads, heads_of_real_tokens
from checks.trials import changed, draw, first_minus_second, goes_on, paired_mistakes
from shared import model

BLOCK = "The block, “Write the block”"
PARTS = ("attention", "attention_norm", "feed_forward", "feed_forward_norm", "num_heads")


# --- what the blocks of this lab and of *A pretrained model* share --------------------------------------------------


def pre_norm(x, attention, feed_forward, norm_1, norm_2, keep_1=1, keep_2=1):
    """This is pre-norm: each part reads normalized x. The exercise asks for post-norm, `norm(x + part(x))`."""
    x = keep_1 * x + attention(norm_1(x))
    return keep_2 * x + feed_forward(norm_2(x))


def post_norm(x, attention, feed_forward, norm_1, norm_2, keep_1=1, keep_2=1):
    """This is post-norm: each sum is normalized. The exercise asks for pre-norm, `x + part(norm(x))`."""
    x = norm_1(keep_1 * x + attention(x))
    return norm_2(keep_2 * x + feed_forward(x))


def norms_inside_the_sums(x, attention, feed_forward, norm_1, norm_2):
    """In both halves the norm is inside the sum. Normalize the sum, `norm(x + part(x))`."""
    x = x + norm_1(attention(x))
    return x + norm_2(feed_forward(x))


def norm_inside_the_first_sum(x, attention, feed_forward, norm_1, norm_2):
    """After the attention the norm is inside the sum. Normalize the sum, `norm(x + part(x))`."""
    x = x + norm_1(attention(x))
    return norm_2(x + feed_forward(x))


def norm_inside_the_second_sum(x, attention, feed_forward, norm_1, norm_2):
    """After the feed-forward layer the norm is inside the sum. Normalize the sum, `norm(x + part(x))`."""
    x = norm_1(x + attention(x))
    return x + norm_2(feed_forward(x))


def input_added_again(x, attention, feed_forward, norm_1, norm_2):
    """The second sum adds to the block's input. Add to the normalized first sum."""
    return norm_2(x + feed_forward(norm_1(x + attention(x))))


NORM_INSIDE = norms_inside_the_sums, norm_inside_the_first_sum, norm_inside_the_second_sum


def gelu(x):
    """The activation function is GELU. This block has ReLU."""
    return F.gelu(x)


def block(
    x, attention, attention_norm, feed_forward, feed_forward_norm, num_heads, mask=None, attention_mask=None,
    eps=None, order=pre_norm, activation=torch.relu, attend=heads,
):  # fmt: skip
    """Output and weights of a block; `order` puts its parts together, and `eps` is the norms' own unless given."""
    projections = {name: getattr(attention, name) for name in ("W_query", "W_key", "W_value", "W_output")}
    weights = []

    def attended(x):
        output, of_heads = attend(x=x, num_heads=num_heads, mask=mask, attention_mask=attention_mask, **projections)
        weights.append(of_heads)
        return output

    def two_layers(x):
        return feed_forward[-1](activation(feed_forward[0](x)))

    def normalizing(norm):
        return lambda x: F.layer_norm(x, x.shape[2:], norm.weight, norm.bias, norm.eps if eps is None else eps)

    return order(x, attended, two_layers, *map(normalizing, (attention_norm, feed_forward_norm))), weights[0]


def block_mistakes(compute, order, other_activation):
    """What goes wrong in any block, of which `compute` is right with this order of its parts."""

    def mask_not_used(**given):
        """The `mask` does not reach the attention, so padding gets weight. Hand it on."""
        return compute(**given | {"mask": None})

    def causal_without_being_asked(**given):
        """A token does not attend to those that follow it. This block reads whole texts: without an `attention_mask`,
        give the attention none."""
        causal = model.causal_mask(given["x"].shape[1])
        return compute(**given | {"attention_mask": causal})

    def mask_inverted(mask=None, **given):
        """The `mask` is the wrong way round: attention attends to padding only. It is True for a real token."""
        return compute(**given, mask=~mask)

    def mask_inverted_if_given(mask=None, **given):
        """The `mask` is the wrong way round: attention attends to padding only. It is True for a real token."""
        return compute(**given, mask=None if mask is None else ~mask)

    def attention_norm_used_twice(x, attention, feed_forward, norm_1, norm_2):
        """`attention_norm` is used in both halves. The half with the feed-forward layer has its own,
        `feed_forward_norm`."""
        return order(x, attention, feed_forward, norm_1, norm_1)

    def attention_norm_left_out(x, attention, feed_forward, norm_1, norm_2):
        """`attention_norm` is not used. Each half of the block has a norm."""
        return order(x, attention, feed_forward, nn.Identity(), norm_2)

    def feed_forward_norm_left_out(x, attention, feed_forward, norm_1, norm_2):
        """`feed_forward_norm` is not used. Each half of the block has a norm."""
        return order(x, attention, feed_forward, norm_1, nn.Identity())

    def attention_not_added(*parts):
        """There is no residual connection around the attention: add its input to its output."""
        return order(*parts, keep_1=0)

    def feed_forward_not_added(*parts):
        """There is no residual connection around the feed-forward layer: add the x after the attention to its
        output."""
        return order(*parts, keep_2=0)

    def nothing_added(*parts):
        """There is no residual connection at all: add the input of each part to its output."""
        return order(*parts, keep_1=0, keep_2=0)

    orders = (
        attention_norm_used_twice, attention_norm_left_out, feed_forward_norm_left_out, attention_not_added,
        feed_forward_not_added, nothing_added,
    )  # fmt: skip
    return [
        mask_not_used, causal_without_being_asked, mask_inverted, mask_inverted_if_given,
        *(changed(compute, order=wrong) for wrong in orders), changed(compute, activation=other_activation),
    ]  # fmt: skip


class ParametersMissing(Wrong):
    """The results are right, but the layer has no parameter `{name}`, so another model cannot be loaded. Make the parts
    that the exercise lists, in that order; dropout has a number there, too."""


class ParameterTooMany(Wrong):
    """The results are right, but the layer has a parameter `{name}`, which another model has not, so it cannot be
    loaded. Make only the parts that the exercise lists."""


def has_the_parameters(layer, course):
    """Parameters are loaded by name from PyTorch's layer or from a pretrained model."""
    if missing := course.state_dict().keys() - layer.state_dict().keys():
        raise ParametersMissing(name=max(missing))
    if too_many := layer.state_dict().keys() - course.state_dict().keys():
        raise ParameterTooMany(name=max(too_many))


def texts(d_model, num_heads, hidden_dim, mask, attention_mask=None, **eps):
    inputs = {"x": draw(*mask.shape, d_model), "mask": mask}
    inputs |= {} if attention_mask is None else {"attention_mask": attention_mask}
    return Case(inputs, {"d_model": d_model, "num_heads": num_heads, "hidden_dim": hidden_dim, **eps})


def batches(**eps):
    """Padding behind and in front, two masks for one layer, no mask, a batch of one, one token."""
    return [
        texts(6, 2, 12, trials.real_tokens([4, 2]), **eps),
        texts(6, 2, 12, trials.real_tokens([3, 4], padding_first=True), **eps),
        texts(8, 4, 10, trials.real_tokens([1, 5, 3], padding_first=True), **eps),
        texts(4, 1, 7, trials.real_tokens([4, 3])[1:], **eps),
        texts(6, 3, 9, trials.real_tokens([1, 1]), **eps),
        Case({"x": draw(1, 3, 4)}, {"d_model": 4, "num_heads": 2, "hidden_dim": 5, **eps}),
        texts(6, 2, 12, trials.real_tokens([5]), **eps),
    ]


# --- transformer_block ---------------------------------------------------------------------------------------------


class TransformerBlock(model.TransformerBlock):
    """Of the lab: always pre-norm."""

    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.1):
        super().__init__(d_model, num_heads, hidden_dim, dropout, norm_first=True)


def attention_mask_not_used(**given):
    """The `attention_mask` does not reach the attention. Hand it on."""
    return block(**given | {"attention_mask": None})


def neither_mask_used(**given):
    """Neither mask reaches the attention. Hand both on: `self.attention(..., mask, attention_mask)`."""
    return block(**given | {"mask": None, "attention_mask": None})


def both_normalized_features_added(x, attention, feed_forward, norm_1, norm_2):
    """In both halves the sum adds to the normalized x. Normalize only what a part reads: `x + part(norm(x))`."""
    x = norm_1(x) + attention(norm_1(x))
    return norm_2(x) + feed_forward(norm_2(x))


def sum_of_the_attention_lost(x, attention, feed_forward, norm_1, norm_2):
    """The second sum adds to the block's input, so the attention's output is lost. Add to the first sum."""
    return x + feed_forward(norm_2(x + attention(norm_1(x))))


class SumsWithoutAdd(Wrong):
    """The results are right, but `forward` does not make both sums by `self.add(x, change)`. The lab replaces that
    method."""


class WrongDropout(Wrong):
    """Without dropout the results are right. With it, `dropout`, 0.1 by default, is the probability for what each part
    adds, in `add`, and for what ReLU gives, in `feed_forward`."""


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
    layer.eval().add = course.eval().add = lambda x, change: change
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

    def __init__(self, *sizes):
        super().__init__(*sizes, dropout=0.0)

    def forward(self, x, mask=None):
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
    centred = x - x.mean(axis, keepdim=True)
    return divide(centred, x.var(axis, correction=correction, keepdim=True), eps) * scale + shift


def sample_variance(**given):
    """The variance is divided by d_model - 1, which is the default of `var`. Use `var(..., unbiased=False)`, or
    the mean of the squares."""
    return normalized(**given, correction=1)


def over_the_tokens(**given):
    """Mean and variance run over the tokens. Those of a token are over its own x, the last axis."""
    return normalized(**given, axis=-2)


def over_axis_one(**given):
    """Mean and variance run over axis 1, which in a batch is the tokens. Count from the end: `dim=-1`."""
    return normalized(**given, axis=1)


def over_everything(**given):
    """There is one mean and one variance for all numbers. Each token has its own: `mean(dim=-1, keepdim=True)`."""
    return normalized(**given, axis=tuple(range(given["x"].dim())))


def eps_outside_the_root(x, variance, eps):
    """`eps` is added to the root of the variance. Add it to the variance, before the root."""
    return x / (variance.sqrt() + eps)


def sample_deviation(**given):
    """`std` divides by d_model - 1, and `eps` is added to it instead of the variance. Take the mean of the squares, add
    `eps`, then the root."""
    return normalized(**given, correction=1, divide=eps_outside_the_root)


def eps_left_out(x, variance, eps):
    """`eps` is not used, so a token whose x are all equal gives 0 / 0. Add it to the variance."""
    return x / variance.sqrt()


def root_left_out(x, variance, eps):
    """The x are divided by the variance. Divide by its root, the standard deviation."""
    return x / (variance + eps)


def scale_and_shift_left_out(x, scale, shift, eps):
    """`scale` and `shift` are not used. Multiply by the one, then add the other."""
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


# --- ablation_by_learning_rate -------------------------------------------------------------------------------------


def accuracies(accuracy, part_away, rates, seeds):
    """Learning rate -> the accuracies with each seed, of the whole model and of the one without the part."""
    return {
        rate: torch.tensor([[accuracy(away, rate, seed) for seed in seeds] for away in ("nothing", part_away)])
        for rate in rates
    }


def known_accuracy(part_away, rate, seed):
    return trials.synthetic_accuracy(part_away, rate, seed)


leads = trials.finished(accuracies, first_minus_second)


ablation_by_learning_rate = Check(
    reference=leads,
    cases=[
        Case({"accuracy": known_accuracy, "part_away": part, "rates": rates, "seeds": seeds})
        for part, rates, seeds in (
            ("norm", [0.001, 0.01], [0, 1, 2]),
            ("residual", [0.02, 0.001, 0.005], [3, 7]),
            ("norm", [0.003], [5, 1, 8, 2]),
        )
    ],
    mistakes=[*trials.seed_mistakes(leads), *paired_mistakes(accuracies)],
    section="The block, “What residual connections are for”",
)

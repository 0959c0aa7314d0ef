"""The checks of *The block*: the Transformer block, a post-norm block with faults, layer normalization, an ablation.

Known mistakes of a block are other orders of its four parts; `block` computes the rest with the reader's parts.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from checks import trials
from checks.engine import Case, Check, ForbiddenName, Wrong
from checks.many_heads import heads, heads_by_pytorch
from checks.trials import changed, draw
from shared import model

BLOCK = "The block, “Write the block”"


# --- what the blocks of this lab and of *A pretrained model* share --------------------------------------------------


def pre_norm(x, attention, feed_forward, norm_1, norm_2, add_1=torch.add, add_2=torch.add):
    """This is pre-norm: each part reads normalized x. The exercise asks for post-norm, `norm(x + part(x))`."""
    x = add_1(x, attention(norm_1(x)))
    return add_2(x, feed_forward(norm_2(x)))


def post_norm(x, attention, feed_forward, norm_1, norm_2, add_1=torch.add, add_2=torch.add):
    """This is post-norm: each sum is normalized. The exercise asks for pre-norm, `x + part(norm(x))`."""
    x = norm_1(add_1(x, attention(x)))
    return norm_2(add_2(x, feed_forward(x)))


def change_alone(x, change):
    return change


def as_given(mask, attention_mask):
    return mask, attention_mask


def block(
    x, attention, attention_norm, feed_forward, feed_forward_norm, num_heads, mask=None, attention_mask=None,
    eps=None, order=pre_norm, activation=torch.relu, masks=as_given, attend=heads,
):  # fmt: skip
    """Output and weights of a block; `order` puts its parts together, and `eps` is the norms' own unless given."""
    projections = {name: getattr(attention, name) for name in ("W_query", "W_key", "W_value", "W_output")}
    mask, attention_mask = masks(mask, attention_mask)
    weights = []

    def attended(x):
        output, of_heads = attend(x, num_heads, **projections, mask=mask, attention_mask=attention_mask)
        weights.append(of_heads)
        return output

    def two_layers(x):
        return feed_forward[-1](activation(feed_forward[0](x)))

    def normalizing(norm):
        return lambda x: F.layer_norm(x, x.shape[2:], norm.weight, norm.bias, norm.eps if eps is None else eps)

    return order(x, attended, two_layers, *map(normalizing, (attention_norm, feed_forward_norm))), weights[0]


def mask_not_used(mask, attention_mask):
    """The `mask` does not reach the attention, so padding gets weight. Hand it on."""
    return None, attention_mask


def attention_mask_not_used(mask, attention_mask):
    """The `attention_mask` does not reach the attention. Hand it on."""
    return mask, None


def mask_inverted(mask, attention_mask):
    """The `mask` is the wrong way round: attention attends to padding only. It is True for a real token."""
    return ~mask, attention_mask


def mask_inverted_if_given(mask, attention_mask):
    return None if mask is None else ~mask, attention_mask


mask_inverted_if_given.__doc__ = mask_inverted.__doc__
MASKS_INVERTED = mask_inverted, mask_inverted_if_given


def one_head(num_heads, **given):
    """`num_heads` is not used: there is one head. Hand it on to `MultiHeadSelfAttention`."""
    return block(**given, num_heads=1)


def part_mistakes(order):
    """What goes wrong with single parts, in an order that is right otherwise."""

    def norms_exchanged(x, attention, feed_forward, norm_1, norm_2):
        """The norms are exchanged: `attention_norm` belongs to the attention, `feed_forward_norm` to the other half."""
        return order(x, attention, feed_forward, norm_2, norm_1)

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

    def both_norms_left_out(x, attention, feed_forward, norm_1, norm_2):
        """Neither norm is used. Each half of the block has one."""
        return order(x, attention, feed_forward, nn.Identity(), nn.Identity())

    def attention_not_added(x, *parts):
        """There is no residual connection around the attention: add its input to its output."""
        return order(x, *parts, add_1=change_alone)

    def feed_forward_not_added(x, *parts):
        """There is no residual connection around the feed-forward layer: add the x after the attention to its
        output."""
        return order(x, *parts, add_2=change_alone)

    def nothing_added(x, *parts):
        """There is no residual connection: add the x to the output of each part."""
        return order(x, *parts, add_1=change_alone, add_2=change_alone)

    return [
        norms_exchanged, attention_norm_used_twice, attention_norm_left_out, feed_forward_norm_left_out,
        both_norms_left_out, attention_not_added, feed_forward_not_added, nothing_added,
    ]  # fmt: skip


def has_the_parameters(made, course):
    """Parameters are loaded by name from PyTorch's layer or from a pretrained model."""
    if missing := course.state_dict().keys() - made.state_dict().keys():
        raise Wrong(f"The results are right, but the layer has no parameter `{max(missing)}`, so another model "
                    "cannot be loaded. Make the parts that the exercise lists.", "parameters_missing")  # fmt: skip


def texts(d_model, num_heads, hidden_dim, mask, seed=0, attention_mask=None, **eps):
    inputs = {"x": draw(*mask.shape, d_model, seed=seed), "mask": mask}
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
    ]


PARTS = ("attention", "attention_norm", "feed_forward", "feed_forward_norm", "num_heads")


# --- transformer_block ---------------------------------------------------------------------------------------------


class TransformerBlock(model.TransformerBlock):
    """Of the lab: pre-norm, and `add` can be replaced."""

    def add(self, x, change):
        return x + self.dropout(change)

    def forward(self, x, mask=None, attention_mask=None):
        attention_output, weights = self.attention(self.attention_norm(x), mask, attention_mask)
        x = self.add(x, attention_output)
        return self.add(x, self.feed_forward(self.feed_forward_norm(x))), weights


def normalized_features_added(x, attention, feed_forward, norm_1, norm_2):
    """The attention's output is added to the normalized x. Add it to those before the norm."""
    x = norm_1(x) + attention(norm_1(x))
    return x + feed_forward(norm_2(x))


def normalized_sum_added(x, attention, feed_forward, norm_1, norm_2):
    """The feed-forward layer's output is added to normalized x. Add it to the sum before the norm."""
    x = norm_2(x + attention(norm_1(x)))
    return x + feed_forward(x)


def both_added_to_normalized(x, attention, feed_forward, norm_1, norm_2):
    """Both parts add to normalized x. Add the output of each to the x before its norm."""
    x = norm_1(x)
    return normalized_sum_added(x, attention, feed_forward, nn.Identity(), norm_2)


def sum_of_the_attention_lost(x, attention, feed_forward, norm_1, norm_2):
    """The second sum adds to the block's input, so the attention's output is lost. Add to the first sum."""
    return x + feed_forward(norm_2(x + attention(norm_1(x))))


def halves_side_by_side(x, attention, feed_forward, norm_1, norm_2):
    """The feed-forward layer reads the block's input. It has to read the first sum."""
    return x + attention(norm_1(x)) + feed_forward(norm_2(x))


def dropout_and_sums(answer):
    """Where dropout falls, its default, and that the lab can take the sums away by replacing `add`."""
    made, x, outputs = answer(8, 4, 20, 0.3), draw(1, 6, 8).to(torch.get_default_dtype()), []
    has_the_parameters(made, TransformerBlock(8, 4, 20))
    course = TransformerBlock(8, 4, 20, 0.3)
    course.load_state_dict(made.state_dict(), strict=False)
    for layer in (made.train(), course.train()):
        torch.manual_seed(0)  # the parts follow one another, so dropout draws the same
        outputs.append(layer(x)[0])
    if not torch.allclose(*outputs):
        raise Wrong("Without dropout the results are right. With it, `dropout` is the probability for what each part "
                    "adds, in `add`, and for what ReLU gives, in `feed_forward`.", "wrong_dropout")  # fmt: skip
    made.eval().add = course.eval().add = lambda x, change: change
    if not torch.allclose(made(x)[0], course(x)[0]):
        raise Wrong("The results are right, but `forward` does not make both sums by `self.add(x, change)`. The "
                    "lab replaces that method.", "sums_without_add")  # fmt: skip
    if any(part.p != 0.1 for part in answer(8, 4, 20).modules() if isinstance(part, nn.Dropout)):
        raise Wrong("The results are right, but the default of `dropout` is not 0.1.", "another_default")


transformer_block = Check(
    reference=lambda **given: block(**given, attend=heads_by_pytorch),
    solution=TransformerBlock,
    parts=PARTS,
    cases=[
        *batches(),
        texts(6, 2, 12, trials.real_tokens([4, 4]), 1, model.causal_mask(4)),
        texts(8, 4, 10, trials.real_tokens([5, 2]), 2, model.causal_mask(5)),
    ],
    mistakes=[
        *(changed(block, order=order) for order in (
            post_norm, normalized_features_added, normalized_sum_added, both_added_to_normalized,
            sum_of_the_attention_lost, halves_side_by_side, *part_mistakes(pre_norm))),
        *(changed(block, masks=step) for step in (mask_not_used, attention_mask_not_used, *MASKS_INVERTED)),
        one_head,
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


def norms_inside_the_sums(x, attention, feed_forward, norm_1, norm_2):
    """One fault is left, in both halves: the norm is inside the sum. Normalize the sum, `norm(x + part(x))`."""
    x = x + norm_1(attention(x))
    return x + norm_2(feed_forward(x))


def norm_inside_the_first_sum(x, attention, feed_forward, norm_1, norm_2):
    """One fault is left: after the attention the norm is inside the sum. Normalize the sum, `norm(x + part(x))`."""
    x = x + norm_1(attention(x))
    return norm_2(x + feed_forward(x))


def norm_inside_the_second_sum(x, attention, feed_forward, norm_1, norm_2):
    """One fault is left: after the feed-forward layer the norm is inside the sum. Normalize the sum,
    `norm(x + part(x))`."""
    x = norm_1(x + attention(x))
    return x + norm_2(feed_forward(x))


def mask_not_handed_on(mask, attention_mask):
    """One fault is left: the mask does not reach the attention, so padding gets weight."""
    return None, attention_mask


def sum_before_the_norm_used(x, attention, feed_forward, norm_1, norm_2):
    """The feed-forward half works with the first sum as it was before its norm. It reads the normalized sum, and adds
    to it."""
    x = x + attention(x)
    return norm_2(x + feed_forward(norm_1(x)))


def input_added_again(x, attention, feed_forward, norm_1, norm_2):
    """The second sum adds to the block's input. Add to the normalized first sum."""
    return norm_2(x + feed_forward(norm_1(x + attention(x))))


def several_faults_left(order):
    """The mask and a norm are wrong."""

    def several_faults_left(**given):
        """More than one fault is left: a norm is inside the sum, and padding gets weight. Compare each line with
        `norm(x + part(x))`, and follow the mask."""
        return block(**given, order=order, masks=mask_not_handed_on)[0]

    return several_faults_left


def post_norm_output(**given):
    """The right way, one step of which a known mistake exchanges."""
    return block(**{"order": post_norm} | given)[0]


NORM_INSIDE = norms_inside_the_sums, norm_inside_the_first_sum, norm_inside_the_second_sum
POST_NORM_MISTAKES = pre_norm, sum_before_the_norm_used, input_added_again, *part_mistakes(post_norm)

first_block = Check(
    reference=lambda **given: post_norm_output(**given, attend=heads_by_pytorch),
    solution=FirstBlock,
    parts=PARTS,
    cases=batches(),
    mistakes=[
        *map(several_faults_left, NORM_INSIDE),
        *(changed(post_norm_output, masks=step) for step in (mask_not_handed_on, *MASKS_INVERTED)),
        *(changed(post_norm_output, order=order) for order in (*NORM_INSIDE, *POST_NORM_MISTAKES)),
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


def over_the_batch(**given):
    """Mean and variance run over the first axis, as in batch normalization. Let them run over the last one."""
    return normalized(**given, axis=0)


def over_the_text(**given):
    """All tokens of a text share one mean and one variance. Each token has its own, over the last axis."""
    return normalized(**given, axis=(-2, -1))


def over_everything(**given):
    """There is one mean and one variance for all numbers. Each token has its own: `mean(dim=-1, keepdim=True)`."""
    return normalized(**given, axis=tuple(range(given["x"].dim())))


def eps_outside_the_root(x, variance, eps):
    """`eps` is added to the root of the variance. Add it to the variance, before the root."""
    return x / (variance.sqrt() + eps)


def eps_left_out(x, variance, eps):
    """`eps` is not used, so a token whose x are all equal gives 0 / 0. Add it to the variance."""
    return x / variance.sqrt()


def root_left_out(x, variance, eps):
    """The x are divided by the variance. Divide by its root, the standard deviation."""
    return x / (variance + eps)


def mean_not_subtracted(x, **given):
    """The mean is not subtracted."""
    spread = (x.var(-1, correction=0, keepdim=True) + given["eps"]).sqrt()
    return x / spread * given["scale"] + given["shift"]


def scale_and_shift_left_out(x, scale, shift, eps):
    """`scale` and `shift` are not used. Multiply by the one, then add the other."""
    return normalized(x, 1, 0, eps)


def to_normalize(*shape, eps):
    """Random x; one token's are all equal, and only `eps` prevents a division by 0."""
    x = 3 + 2 * draw(*shape, seed=1)
    x[..., 0, :] = 1.5
    return Case({"x": x, "scale": draw(shape[-1], seed=2), "shift": draw(shape[-1], seed=3), "eps": eps})


class RefusesNorms(TorchFunctionMode):
    """Raises when PyTorch's own normalization is called, under whatever name."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function.__name__.removeprefix("native_") in ("layer_norm", "group_norm", "instance_norm", "batch_norm"):
            raise ForbiddenName(name=function.__name__)
        return function(*args, **kwargs or {})


def does_the_work_itself(answer):
    with RefusesNorms():
        answer(*to_normalize(3, 5, eps=0.1).inputs.values())


layer_norm = Check(
    reference=lambda x, scale, shift, eps: F.layer_norm(x, scale.shape, scale, shift, eps),
    solution=normalized,
    cases=[
        to_normalize(3, 5, eps=1e-5),
        to_normalize(4, 4, 4, eps=0.1),
        to_normalize(2, 3, 6, eps=0.5),
        to_normalize(2, 1, 3, eps=1e-3),
        to_normalize(1, 3, 4, eps=0.1),
    ],
    mistakes=[
        sample_variance, over_everything, over_the_text, over_the_tokens, over_the_batch, mean_not_subtracted,
        *(changed(normalized, divide=step) for step in (eps_outside_the_root, eps_left_out, root_left_out)),
        scale_and_shift_left_out,
    ],
    section="The block, “What the norm does”",
    last_look=does_the_work_itself,
)  # fmt: skip


# --- ablation_by_learning_rate -------------------------------------------------------------------------------------


def gains(accuracy, part_away, rates, seeds):
    """Learning rate -> how much the whole model is ahead, with each seed."""
    return {rate: [accuracy("nothing", rate, s) - accuracy(part_away, rate, s) for s in seeds] for rate in rates}


def intervals(**given):
    return {rate: trials.interval_by_sums(row) for rate, row in gains(**given).items()}


def ablated_minus_whole(**given):
    """The difference has the wrong sign: the exercise asks for the whole model minus the one without the part."""
    return {rate: (-mean, half) for rate, (mean, half) in intervals(**given).items()}


def one_rate_for_all(**given):
    """Every entry is for the first learning rate. Pass each rate of `rates` to both runs."""
    return {rate: intervals(**given)[given["rates"][0]] for rate in given["rates"]}


def gains_accumulated(**given):
    """The gains of earlier learning rates are still in the list. Begin a new list for each rate."""
    row = []
    return {rate: trials.interval_by_sums(row := row + more) for rate, more in gains(**given).items()}


def pairing_lost(accuracy, part_away, rates, seeds):
    """Both models have an interval of their own. Subtract seed by seed first, then take the interval of the
    differences."""
    pairs = {
        r: [trials.interval_by_sums([accuracy(p, r, s) for s in seeds]) for p in ("nothing", part_away)] for r in rates
    }
    return {r: (whole[0] - other[0], math.hypot(whole[1], other[1])) for r, (whole, other) in pairs.items()}


ablation_by_learning_rate = Check(
    reference=intervals,
    cases=[
        Case({"accuracy": trials.synthetic_accuracy, "part_away": part, "rates": rates, "seeds": seeds})
        for part, rates, seeds in (
            ("norm", [0.001, 0.01], [0, 1, 2]),
            ("residual", [0.02, 0.001, 0.005], [3, 7]),
            ("norm", [0.003], [5, 1, 8, 2]),
        )
    ],
    mistakes=[
        ablated_minus_whole, one_rate_for_all, gains_accumulated, pairing_lost,
        *trials.seed_mistakes(intervals), *trials.interval_mistakes(gains),
    ],
    section="The block, “What residual connections are for”",
)  # fmt: skip

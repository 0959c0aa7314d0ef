"""The checks of *Your journey*: a matrix as a layer, and self-attention that is wrong on batches alone."""

import math

import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import bugs_left, changed, draw, goes_on

TWO_CLASSES = "Your journey, “Two classes, one formula”"


# --- fix_the_batch -------------------------------------------------------------------------------------------------


def root_of_last_axis(keys):
    return math.sqrt(keys.shape[-1])


def share_of_row(powers):
    return powers / powers.sum(dim=-1, keepdim=True)


def by_exponentials(queries, keys, values, root=root_of_last_axis, weigh=share_of_row):
    """The lab's function, of which a bug or a known mistake exchanges some step."""
    scores = queries @ keys.mT
    powers = torch.exp((scores - scores.mean()) / root(keys))
    return weigh(powers) @ values


def both_bugs_left():
    """Two bugs are left: two lines count an axis from the front. What is axis 1 in a sentence, and what in a
    batch?"""


def root_of_axis_one(keys):
    """In the scale, axis 1 of the keys is their width in a sentence, but the number of tokens in a
    batch. Count from the end."""
    return math.sqrt(keys.shape[1])


def root_left_out(keys):
    """The scores are divided by d_k instead of sqrt(d_k): `math.sqrt` is missing."""
    return keys.shape[-1]


def root_of_tokens(keys):
    """The scores are divided by the square root of the number of tokens. d_k is the last axis of the keys,
    `keys.shape[-1]`.
    """
    return math.sqrt(keys.shape[-2])


def scale_lost(keys):
    """The scores are not divided by sqrt(d_k). Divide them before the softmax."""
    return 1


def sum_over_axis_one(powers):
    """In the sum, axis 1 is the key tokens in a sentence, but the query tokens in a batch. Count
    from the end."""
    return powers / powers.sum(dim=1, keepdim=True)


def sum_over_queries(powers):
    """The sum runs over the query tokens, so columns sum to 1. Sum over the last axis, the key tokens."""
    return powers / powers.sum(dim=-2, keepdim=True)


def axis_of_sums_lost(powers):
    """The sums have lost their axis, so they do not line up with the rows. Keep it with `keepdim=True`."""
    return powers / powers.sum(dim=-1)


def softmax_of_powers(powers):
    """The softmax gets exponentials and takes theirs. Give it the scaled scores, or divide the exponentials by their
    sum."""
    return powers.softmax(-1)


def mean_of_each_row(queries, keys, values):
    """Two bugs are left: each row's own mean is subtracted, which changes nothing after the softmax, but two lines
    still count an axis from the front. What is axis 1 in a sentence, and what in a batch?"""
    scores = queries @ keys.mT
    powers = torch.exp((scores - scores.mean(dim=-1, keepdim=True)) / root_of_axis_one(keys))
    return sum_over_axis_one(powers) @ values


def projected(shape, d_k, d_v, scale=1.0):
    widths = {"queries": d_k, "keys": d_k, "values": d_v}
    return Case({name: scale * draw(*shape, width, seed=n) for n, (name, width) in enumerate(widths.items())})


fix_the_batch = Check(
    reference=lambda queries, keys, values: trials.attend(queries, keys, values)[0],
    cases=[
        projected((2, 5), 4, 3), projected((6,), 2, 3), projected((4, 4), 4, 4), projected((3, 2), 5, 2),
        projected((1, 3), 2, 2, scale=2.0),
    ],
    mistakes=[
        *bugs_left(by_exponentials, both_bugs_left, root=root_of_axis_one, weigh=sum_over_axis_one),
        *(changed(by_exponentials, root=step) for step in (root_left_out, root_of_tokens, scale_lost)),
        *(changed(by_exponentials, weigh=step) for step in (sum_over_queries, axis_of_sums_lost, softmax_of_powers)),
        mean_of_each_row,
    ],
    section=TWO_CLASSES,
)  # fmt: skip


# --- matrix_to_linear ----------------------------------------------------------------------------------------------


def linear(d_in, d_out, weight):
    layer = nn.Linear(d_in, d_out, bias=False)
    with torch.no_grad():
        layer.weight.copy_(weight)
    return layer


def copied_into_linear(W):
    return linear(W.shape[0], W.shape[1], W.T)


def not_transposed(W):
    """The weight is `W` itself. `nn.Linear` stores its matrix transposed, (d_out, d_in): copy `W.T`."""
    return linear(W.shape[0], W.shape[1], W)


def matrix_assigned(W):
    """The weight is `W` itself, so its shape is (d_in, d_out). `nn.Linear(d_in, d_out)` stores its matrix transposed:
    copy `W.T`."""
    layer = linear(W.shape[0], W.shape[1], W.T)
    layer.weight = nn.Parameter(W.clone())
    return layer


class NoLinear(Wrong):
    """Return the layer itself, an `nn.Linear` with the numbers of `W`."""


class BiasLeftIn(Wrong):
    """The layer has a bias, and `x @ W` has none: make it with `bias=False`."""


class NotRegistered(Wrong):
    """The weight is not a parameter of the layer, so no optimizer would find it. Copy into `layer.weight` under
    `torch.no_grad()`."""


def only_the_weight(layer, W):
    """What counts of the layer, (d_out, d_in)."""
    if not isinstance(layer, nn.Linear):
        raise NoLinear
    if layer.bias is not None:
        raise BiasLeftIn
    if not any(layer.weight is parameter for parameter in layer.parameters()):
        raise NotRegistered
    return layer.weight.detach()


class Frozen(Wrong):
    """The numbers are right, but the layer cannot learn: its weight needs a gradient."""


class MemoryShared(Wrong):
    """The weight shares its memory with `W`, so training the layer would change `W`. Copy the numbers:
    `layer.weight.copy_(W.T)`.
    """


def learns_by_itself(answer):
    for shape in ((3, 2), (1, 3)):  # one row transposed is a view, even where others would be copied
        W = nn.Parameter(draw(*shape).to(torch.get_default_dtype()))  # as the lab hands it over
        weight = goes_on("a matrix that is an `nn.Parameter`", lambda W=W: answer(W)).weight
        if not weight.requires_grad:
            raise Frozen
        if weight.untyped_storage().data_ptr() == W.untyped_storage().data_ptr():
            raise MemoryShared


matrix_to_linear = Check(
    reference=lambda W: torch.stack(W.unbind(1)),
    solution=copied_into_linear,
    cases=[Case({"W": draw(*shape)}) for shape in ((3, 2), (2, 5), (1, 3), (4, 4))],
    mistakes=[not_transposed, matrix_assigned],
    section=TWO_CLASSES,
    canonical=only_the_weight,
    last_look=learns_by_itself,
)

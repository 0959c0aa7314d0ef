"""The checks of *Values*: the whole layer of self-attention, and values that a read-out absorbs."""

import math

import torch

from checks.engine import Case, Check, Wrong
from checks.layers import LAYER_MISTAKES, attention_by_pytorch, layer, layer_cases
from checks.trials import bugs_left, changed, check_linears, draw, goes_on, real_tokens
from shared.model import SelfAttention

VALUES = "Values, “What a token passes on”"


# --- whole_layer ---------------------------------------------------------------------------------------------------


def root_of_d_v(W_value, **given):
    """The scores are divided by the square root of the width of the values. A score has d_k terms: use sqrt(d_k)."""
    root = math.sqrt(W_value(given["x"]).shape[2])
    return layer(W_value=W_value, **given, score=lambda queries, keys, d_model: queries @ keys.mT / root)


def features_averaged(W_value, **given):
    """`W_value` is not used: the weights average the rows of x. The output is `weights @ values`."""
    return layer(**given)


class AttentionWeightsMissing(Wrong):
    """The method `attention_weights` is missing: it returns the weights alone."""


class OtherWeights(Wrong):
    """`attention_weights` and `forward` return different weights. Let `attention_weights` return the weights alone,
    (batch, tokens, tokens), and let `forward` call it."""


def fits_into_the_lab(answer):
    """The lab calls `attention_weights`, and reads three linear maps without a bias."""
    check_linears(answer, (5, 3, 4), ("W_query", "W_key", "W_value"), biased=False)
    goes_on("`SelfAttention(32, 16, d_v=1)`", lambda: answer(32, 16, d_v=1))
    made, x, mask = answer(5, 3, 4), draw(2, 4, 5), real_tokens([4, 2])
    if not hasattr(made, "attention_weights"):
        raise AttentionWeightsMissing
    x = x.to(made.W_key.weight.dtype)
    weights, right = made.attention_weights(x, mask), made(x, mask)[1]
    same = isinstance(weights, torch.Tensor) and weights.shape == right.shape
    if not same or not torch.allclose(weights[mask], right[mask], atol=1e-5):
        raise OtherWeights


whole_layer = Check(
    reference=attention_by_pytorch,
    solution=SelfAttention,
    parts=("W_query", "W_key", "W_value"),
    cases=layer_cases("d_model", "d_k", "d_v"),
    mistakes=[*LAYER_MISTAKES, root_of_d_v, features_averaged],
    section=VALUES,
    last_look=fits_into_the_lab,
)


# --- fold_values ---------------------------------------------------------------------------------------------------


def product(value_weight, out_weight):
    return out_weight @ value_weight


def value_bias_through_the_read_out(value_bias, out_weight, out_bias):
    """The rows of A sum to 1, so a mean of values has their bias as it is."""
    return out_weight @ value_bias + out_bias


def folded(value_weight, value_bias, out_weight, out_bias, multiply=product, add=value_bias_through_the_read_out):
    """The right way, steps of which bugs and known mistakes exchange."""
    return multiply(value_weight, out_weight), add(value_bias, out_weight, out_bias)


def value_weight_transposed(value_weight, out_weight):
    """The weight of the values is transposed. An `nn.Linear` computes `x @ weight.T + bias`: write down the product
    of the two with `x`, and then transpose it as a whole."""
    return out_weight @ value_weight.T


def value_bias_lost(value_bias, out_weight, out_bias):
    """The bias of the values is lost. Each row of A sums to 1, so every output contains that bias once, and the
    read-out multiplies it."""
    return out_bias


def both_bugs_left():
    """Both bugs are left. Try two layers without biases first, so that only the weight can be wrong."""


def wrong_order(value_weight, out_weight):
    """The two weights are in the wrong order. `x` meets the values first, so in the weights of `nn.Linear`, which are
    transposed, their matrix comes last.
    """
    return value_weight @ out_weight


def result_transposed(value_weight, out_weight):
    """This matrix is for `x @ weight`. An `nn.Linear` stores it transposed, (d_out, d_model)."""
    return (out_weight @ value_weight).T


def value_bias_as_it_is(value_bias, out_weight, out_bias):
    """The bias of the values is added as it is. It goes through the read-out, too: multiply it by `out_weight`."""
    return value_bias + out_bias


def value_bias_transposed(value_bias, out_weight, out_bias):
    """The bias of the values meets the transposed weight of the read-out. An `nn.Linear` computes `x @ weight.T`."""
    return value_bias @ out_weight + out_bias


def two_linears(size, seed):
    names = {"value_weight": (size, size), "value_bias": (size,), "out_weight": (size, size), "out_bias": (size,)}
    return Case({name: draw(*shape, seed=seed + n) for n, (name, shape) in enumerate(names.items())})


fold_values = Check(
    reference=folded,
    cases=[two_linears(size, seed) for size, seed in ((4, 0), (3, 10), (6, 20), (1, 30))],
    mistakes=[
        *bugs_left(folded, both_bugs_left, multiply=value_weight_transposed, add=value_bias_lost),
        *(changed(folded, multiply=step) for step in (wrong_order, result_transposed)),
        *(changed(folded, add=step) for step in (value_bias_as_it_is, value_bias_transposed)),
    ],
    section="Values, “Values before a linear read-out”",
)  # fmt: skip

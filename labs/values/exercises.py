"""The checks of *Values*: the whole layer of self-attention, and an experiment that ablates the attention."""

import copy
import math

import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.layers import LAYER_MISTAKES, attention_by_pytorch, layer, layer_cases
from checks.trials import check_linears, draw, first_minus_second, goes_on, real_tokens
from shared.intervals import mean_and_interval
from shared.model import SelfAttention

VALUES = "Values, “What a token passes on”"


# --- whole_layer ---------------------------------------------------------------------------------------------------


def root_of_d_v(W_value, **given):
    """The scores are divided by the root of the width of the values. A dot product of keys has d_k terms."""
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


def fits_into_the_classifier(answer):
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
    last_look=fits_into_the_classifier,
)


# --- ablate_attention ----------------------------------------------------------------------------------------------


class AsInTheLab(SelfAttention):
    """Weights on padding count, because its x are not set to zero."""

    def forward(self, x, mask=None):
        weights = self.attention_weights(x, mask)
        return weights @ self.W_value(x), weights


class Judge(nn.Module):
    """A model that classifies texts of its own, of one to eight tokens, by the sign of a number in the mean output."""

    texts: torch.Tensor
    mask: torch.Tensor

    def __init__(self, num_texts, seed):
        super().__init__()
        self.attention = AsInTheLab(4, 3, 2).double()
        self.register_buffer("mask", real_tokens([8, *(1 + 5 * n % 8 for n in range(1, num_texts))]), persistent=False)
        with torch.no_grad():
            for number, weight in enumerate(self.attention.parameters()):
                weight.copy_(2 * draw(*weight.shape, seed=seed + number))
        self.register_buffer("texts", draw(num_texts, 8, 4, seed=seed + 20), persistent=False)
        self.labels = draw(num_texts, seed=seed + 21) > 0


def right_predictions(net):
    """Whether the prediction is right, (texts,) as an array."""
    with torch.no_grad():
        output = net.attention(net.texts, net.mask)[0]  # (texts, tokens, d_v)
        total = (output * net.mask[:, :, None]).sum(dim=1)  # (texts, d_v), with the sign of the mean
        return ((total[:, 0] > 0) == net.labels).numpy()


def zero_queries(attention):
    nn.init.zeros_(attention.W_query.weight)


def before_and_after(net, right, change=zero_queries):
    """For each text 1 where the prediction is right, else 0: of the model as it is, and changed."""
    ablated = copy.deepcopy(net)
    change(ablated.attention)
    return torch.tensor([right(net), right(ablated)], dtype=torch.float64)


def values_ablated(net, right):
    """The values are zero, so nothing is left of the text. Make the weights equal instead: set the queries to zero."""
    return first_minus_second(before_and_after(net, right, lambda attention: attention.W_value.weight.data.zero_()))


def weight_on_padding(net, right):
    """All positions have the same weight, padding too. Each token has to attend to all *real* tokens equally."""

    def change(attention):
        attention.attention_weights = lambda x, mask: torch.full((len(x), x.shape[1], x.shape[1]), 1 / x.shape[1]).to(x)

    return first_minus_second(before_and_after(net, right, change))


def nothing_ablated(net, right):
    """Both measurements are of the unchanged model. Set its query projection to zero, in the copy that you measure."""
    return 0.0, 0.0


def accuracy_after(net, right):
    """This is the accuracy of the ablated model. Subtract it from the accuracy before, review by review."""
    return mean_and_interval(before_and_after(net, right)[1])


ablate_attention = Check(
    reference=lambda net, right: first_minus_second(before_and_after(net, right)),
    cases=[Case({"net": Judge(size, seed), "right": right_predictions}) for size, seed in ((60, 0), (25, 1), (200, 2))],
    mistakes=[
        values_ablated, weight_on_padding, nothing_ablated, accuracy_after, *trials.paired_mistakes(before_and_after),
    ],
    section="Values, “Exercise 2 (experiment): ablate the attention”",
)  # fmt: skip

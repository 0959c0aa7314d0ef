"""The checks of *Your journey*: self-attention on batches, its two bugs, a matrix as a layer."""

import math

import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw

CLASS = "Your journey, “A class that owns its matrices”"


# --- batched_attention ---------------------------------------------------------------------------------------------


class SelfAttention(nn.Module):
    """Self-attention whose projections are matrices; x (..., tokens, d_in)."""

    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_k))
        self.W_key = nn.Parameter(torch.rand(d_in, d_k))
        self.W_value = nn.Parameter(torch.rand(d_in, d_v))

    def forward(self, x):
        return trials.attend(x @ self.W_query, x @ self.W_key, x @ self.W_value)[0]  # (..., tokens, d_v)


def attention_by_pytorch(x, W_query, W_key, W_value):
    return trials.attend(W_query(x), W_key(x), W_value(x))[0]


def softmax_of_rows(scores, mask):
    return scores.softmax(-1)


def weighted_sum(weights, queries, keys, values, x):
    return weights @ values


def attention(x, W_query, W_key, W_value, score=trials.scaled, weigh=softmax_of_rows, combine=weighted_sum):
    """The right way, one step of which a known mistake exchanges."""
    queries, keys, values = W_query(x), W_key(x), W_value(x)
    weights = weigh(score(queries, keys, x.shape[-1]), torch.ones(x.shape[-2], dtype=torch.bool))
    return combine(weights, queries, keys, values, x)


def all_axes_reversed(queries, keys, d_model):
    """On a batch the keys are transposed in all axes, as `.T` does, so sentences attend to each other. Exchange the
    last two axes only: `transpose(-2, -1)`."""
    return queries @ keys.permute(*reversed(range(keys.dim()))) / math.sqrt(keys.shape[-1])


def first_axes_transposed(queries, keys, d_model):
    """On a batch axes 0 and 1 are the sentences and the tokens. Count from the end: `transpose(-2, -1)`."""
    return queries @ keys.transpose(0, 1) / math.sqrt(keys.shape[-1])


def width_from_axis_one(queries, keys, d_model):
    """The scale takes axis 1 of the keys, which is d_k in a sentence, but the number of tokens in a batch. Count from
    the end: `keys.shape[-1]`."""
    return queries @ keys.mT / math.sqrt(keys.shape[1])


def softmax_over_axis_one(scores, mask):
    """The softmax runs over axis 1, the key tokens of a sentence, but the query tokens of a batch. Use `dim=-1`."""
    return scores.softmax(1)


def softmax_over_all_scores(scores, mask):
    """One softmax runs over all scores of a sentence. Each row has weights of its own, which sum to 1: `dim=-1`."""
    return scores.flatten(-2).softmax(-1).reshape(scores.shape)


def inputs_averaged(weights, queries, keys, values, x):
    """The weights are applied to `x`. The output is the weighted sum of the values, `x @ W_value`."""
    return weights @ x


def keys_averaged(weights, queries, keys, values, x):
    """The weights are applied to the keys. The output is the weighted sum of the values."""
    return weights @ keys


def weights_transposed(weights, queries, keys, values, x):
    """The weights are transposed before the sum. Row i has the weights of query token i: `weights @ values`."""
    return weights.mT @ values


def sentences_joined(x, W_query, W_key, W_value):
    """The sentences of a batch are joined into one, so they attend to each other. Keep the batch axis."""
    return attention(x.flatten(0, -2), W_query, W_key, W_value).unflatten(0, x.shape[:-1])


def sentences(shape, d_k, d_v):
    return Case({"x": draw(*shape)}, {"d_in": shape[-1], "d_k": d_k, "d_v": d_v})


batched_attention = Check(
    reference=attention_by_pytorch,
    solution=SelfAttention,
    parts=("W_query", "W_key", "W_value"),
    cases=[
        sentences((5, 3), 2, 4),
        sentences((2, 6, 3), 2, 4),
        sentences((3, 4, 6), 5, 2),
        sentences((2, 1, 3), 4, 2),
        sentences((1, 5, 3), 2, 4),
        sentences((4, 4, 3), 4, 2),  # a wrong axis of the keys raises no error here
    ],
    mistakes=[
        *(changed(attention, score=step) for step in (
            all_axes_reversed, first_axes_transposed, width_from_axis_one, *trials.SCORE_MISTAKES)),
        *(changed(attention, weigh=step) for step in (
            softmax_over_axis_one, softmax_over_all_scores, trials.softmax_over_queries, trials.softmax_over_batch,
            trials.softmax_left_out, trials.sigmoid_for_softmax)),
        *(changed(attention, combine=step) for step in (inputs_averaged, keys_averaged, weights_transposed)),
        sentences_joined,
    ],
    section=CLASS,
)  # fmt: skip


# --- fix_the_batch -------------------------------------------------------------------------------------------------


def root_of_last_axis(keys):
    return math.sqrt(keys.shape[-1])


def sum_of_rows(powers):
    return powers.sum(dim=-1, keepdim=True)


def mean_of_all(scores):
    return scores.mean()


def by_exponentials(queries, keys, values, root=root_of_last_axis, total=sum_of_rows, shift=mean_of_all):
    """The lab's function, of which a fault or a known mistake exchanges some step."""
    scores = queries @ keys.mT
    powers = torch.exp((scores - shift(scores)) / root(keys))
    return powers / total(powers) @ values


def both_faults_left(queries, keys, values):
    """Two faults are left: two lines count an axis from the front. What is axis 1 in a sentence, and what in a
    batch?"""
    return by_exponentials(queries, keys, values, root_of_axis_one, sum_over_axis_one)


def root_of_axis_one(keys):
    """One fault is left, in the scale: axis 1 of the keys is their width in a sentence, but the number of tokens in a
    batch. Count from the end."""
    return math.sqrt(keys.shape[1])


def sum_over_axis_one(powers):
    """One fault is left, in the sum: axis 1 is the key tokens in a sentence, but the query tokens in a batch. Count
    from the end."""
    return powers.sum(dim=1, keepdim=True)


def sum_over_queries(powers):
    """The sum runs over the query tokens, so columns sum to 1. Sum over the last axis, the key tokens."""
    return powers.sum(dim=-2, keepdim=True)


def axis_of_sums_lost(powers):
    """The sums have lost their axis, so they do not line up with the rows. Keep it: `keepdim=True`."""
    return powers.sum(dim=-1)


def sum_over_all_scores(powers):
    """The sum runs over a whole sentence. Each row of weights sums to 1 by itself: sum over the last axis."""
    return powers.sum(dim=(-2, -1), keepdim=True)


def sum_over_the_batch(powers):
    """The sum runs over the whole batch. Each row of weights sums to 1 by itself: sum over the last axis."""
    return powers.sum()


def mean_of_columns(scores):
    """A mean for each column is subtracted, which changes the differences within a row. The line as given did no harm:
    it subtracts one number from all scores."""
    return scores.mean(dim=-2, keepdim=True)


def not_normalized(powers):
    """The exponentials are not divided by their sum, so the weights of a row do not sum to 1."""
    return 1.0


def projected(shape, d_k, d_v, scale=1.0):
    widths = {"queries": d_k, "keys": d_k, "values": d_v}
    return Case({name: scale * draw(*shape, width, seed=n) for n, (name, width) in enumerate(widths.items())})


def by_softmax(queries, keys, values, score):
    return score(queries, keys, queries.shape[-1]).softmax(-1) @ values


fix_the_batch = Check(
    reference=lambda queries, keys, values: trials.attend(queries, keys, values)[0],
    cases=[
        projected((2, 5), 4, 3),
        projected((6,), 2, 3),
        projected((4, 4), 4, 4),
        projected((3, 2), 5, 2),
        projected((1, 3), 2, 2, scale=2.0),
    ],
    mistakes=[
        both_faults_left,
        changed(by_exponentials, root=root_of_axis_one),
        *(changed(by_exponentials, total=step) for step in (
            sum_over_axis_one, sum_over_queries, axis_of_sums_lost, sum_over_all_scores,
            sum_over_the_batch, not_normalized)),
        changed(by_exponentials, shift=mean_of_columns),
        *(changed(by_softmax, score=step) for step in trials.SCORE_MISTAKES if step is not trials.root_of_d_model),
    ],
    section=CLASS,
)  # fmt: skip


# --- matrix_to_linear ----------------------------------------------------------------------------------------------


def linear(d_in, d_out, weight):
    layer = nn.Linear(d_in, d_out, bias=False)
    with torch.no_grad():
        layer.weight.copy_(weight)
    return layer


def copied_into_linear(W):
    return linear(*W.shape, W.T)


def not_transposed(W):
    """The weight is `W` itself. `nn.Linear` stores its matrix transposed, (d_out, d_in): copy `W.T`."""
    return linear(*W.shape, W)


def matrix_assigned(W):
    """The weight is `W` itself, so its shape is (d_in, d_out). `nn.Linear(d_in, d_out)` stores its matrix transposed:
    copy `W.T`."""
    layer = linear(*W.shape, W.T)
    layer.weight = nn.Parameter(W.clone())
    return layer


def reshaped(W):
    """`W` is reshaped where it has to be transposed: that gives the shape, but puts the numbers in other places."""
    return linear(*W.shape, W.reshape(W.T.shape))


def only_the_weight(layer, W):
    """What counts of the layer, (d_out, d_in)."""
    if not isinstance(layer, nn.Linear):
        raise Wrong("Return the layer, an `nn.Linear` with the numbers of `W`.", "no_linear")
    if layer.bias is not None:
        raise Wrong("The layer has a bias, and `x @ W` has none: make it with `bias=False`.", "bias_left_in")
    if not any(layer.weight is parameter for parameter in layer.parameters()):
        raise Wrong("The weight is not a parameter of the layer, so no optimizer would find it. Copy into "
                    "`layer.weight` under `torch.no_grad()`.", "not_registered")  # fmt: skip
    return layer.weight.detach()


def learns_by_itself(answer):
    for shape in ((3, 2), (1, 3)):  # one row transposed is a view, even where others would be copied
        W = draw(*shape).to(torch.get_default_dtype())
        weight = answer(W).weight
        if not weight.requires_grad:
            raise Wrong("The numbers are right, but the layer cannot learn: its weight needs a gradient.", "frozen")
        if weight.untyped_storage().data_ptr() == W.untyped_storage().data_ptr():
            raise Wrong("The weight shares the memory of `W`, so training the layer would change `W`. Copy the "
                        "numbers: `layer.weight.copy_(W.T)`.", "memory_shared")  # fmt: skip


matrix_to_linear = Check(
    reference=lambda W: torch.stack(W.unbind(1)),
    solution=copied_into_linear,
    cases=[Case({"W": draw(*shape)}) for shape in ((3, 2), (2, 5), (1, 3), (4, 4))],
    mistakes=[not_transposed, matrix_assigned, reshaped],
    section="Your journey, “Two classes, one formula”",
    canonical=only_the_weight,
    last_look=learns_by_itself,
)

"""The checks of *Your journey*: self-attention on batches, its two faults, a matrix as a layer, one matrix or two."""

import math

import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw

CLASS = "Your journey, “A class with parameters”"


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


def attention(x, W_query, W_key, W_value, score=trials.scaled, weigh=softmax_of_rows):
    """The right way, one step of which a known mistake exchanges."""
    scores = score(W_query(x), W_key(x), x.shape[-1])
    return weigh(scores, torch.ones(x.shape[-2], dtype=torch.bool)) @ W_value(x)


def inputs_averaged(x, W_query, W_key, W_value):
    """The weights are applied to `x`. The output is the weighted sum of the values, `x @ W_value`."""
    return attention(x, W_query, W_key, torch.clone)


def keys_averaged(x, W_query, W_key, W_value):
    """The weights are applied to the keys. The output is the weighted sum of the values."""
    return attention(x, W_query, W_key, W_key)


def all_axes_reversed(queries, keys, d_model):
    """On a batch the keys are transposed in all axes, as `.T` does, so sentences attend to each other. Exchange the
    last two axes only: `transpose(-2, -1)`."""
    return queries @ keys.permute(*reversed(range(keys.dim()))) / math.sqrt(keys.shape[-1])


def softmax_over_axis_one(scores, mask):
    """The softmax runs over axis 1, the key tokens of a sentence, but the query tokens of a batch. Use `dim=-1`."""
    return scores.softmax(1)


def sentences(shape, d_k, d_v):
    return Case({"x": draw(*shape)}, {"d_in": shape[-1], "d_k": d_k, "d_v": d_v})


batched_attention = Check(
    reference=attention_by_pytorch,
    solution=SelfAttention,
    parts=("W_query", "W_key", "W_value"),
    cases=[
        sentences((5, 3), 2, 4), sentences((2, 6, 3), 2, 4), sentences((3, 4, 6), 5, 2), sentences((1, 5, 3), 2, 4),
        sentences((4, 4, 3), 4, 2),  # a wrong axis of the keys raises no error here
    ],
    mistakes=[
        *(changed(attention, score=step) for step in (all_axes_reversed, *trials.SCORE_MISTAKES)),
        *(changed(attention, weigh=step) for step in (
            softmax_over_axis_one, trials.softmax_over_queries, trials.softmax_over_batch, trials.softmax_left_out,
            trials.sigmoid_for_softmax)),
        inputs_averaged, keys_averaged,
    ],
    section=CLASS,
)  # fmt: skip


# --- fix_the_batch -------------------------------------------------------------------------------------------------


def root_of_last_axis(keys):
    return math.sqrt(keys.shape[-1])


def sum_of_rows(powers):
    return powers.sum(dim=-1, keepdim=True)


def by_exponentials(queries, keys, values, root=root_of_last_axis, total=sum_of_rows):
    """The lab's function, of which a fault or a known mistake exchanges some step."""
    scores = queries @ keys.mT
    powers = torch.exp((scores - scores.mean()) / root(keys))
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


def projected(shape, d_k, d_v, scale=1.0):
    widths = {"queries": d_k, "keys": d_k, "values": d_v}
    return Case({name: scale * draw(*shape, width, seed=n) for n, (name, width) in enumerate(widths.items())})


def by_softmax(queries, keys, values, score):
    return score(queries, keys, queries.shape[-1]).softmax(-1) @ values


fix_the_batch = Check(
    reference=lambda queries, keys, values: trials.attend(queries, keys, values)[0],
    cases=[
        projected((2, 5), 4, 3), projected((6,), 2, 3), projected((4, 4), 4, 4), projected((3, 2), 5, 2),
        projected((1, 3), 2, 2, scale=2.0),
    ],
    mistakes=[
        both_faults_left, changed(by_exponentials, root=root_of_axis_one),
        *(changed(by_exponentials, total=step) for step in (sum_over_axis_one, sum_over_queries, axis_of_sums_lost)),
        *(changed(by_softmax, score=step) for step in trials.SCORE_MISTAKES[:3]),
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
    mistakes=[not_transposed, matrix_assigned],
    section="Your journey, “A class with layers”",
    canonical=only_the_weight,
    last_look=learns_by_itself,
)


# --- what_two_matrices_cost ----------------------------------------------------------------------------------------


def pairs(own_weight, seeds, two=True):
    """The weights with one matrix and with two, (2, seeds)."""
    return torch.tensor([[own_weight(kind, seed) for seed in seeds] for kind in (False, two)], dtype=torch.float64)


def differences(own_weight, seeds, **two):
    one_matrix, two_matrices = pairs(own_weight, seeds, **two)
    return one_matrix - two_matrices


def interval(own_weight, seeds, **two):
    return trials.two_standard_errors(differences(own_weight, seeds, **two))


def one_matrix_twice(own_weight, seeds):
    """Both runs have one matrix, so all differences are 0. `own_weight(True, seed)` has two."""
    return interval(own_weight, seeds, two=False)


def arguments_exchanged(own_weight, seeds):
    """`two_matrices` and `seed` are exchanged: the seed comes second."""
    return interval(lambda two, seed: own_weight(seed, two), seeds)


def known_weight(two_matrices, seed):
    return trials.synthetic_accuracy(two_matrices, seed)


what_two_matrices_cost = Check(
    reference=interval,
    cases=[Case({"own_weight": known_weight, "seeds": seeds}) for seeds in (range(20), [3, 5, 8, 13, 21, 34])],
    mistakes=[
        one_matrix_twice, arguments_exchanged, *trials.paired_mistakes(pairs, trials.two_standard_errors),
        *trials.seed_mistakes(interval), *trials.two_standard_errors_mistakes(differences),
    ],
    section="Your journey, “One matrix or two”",
)  # fmt: skip

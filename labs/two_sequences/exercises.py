"""The checks of *Two sequences*: cross-attention with its mask, and a layer with the keys and the mask of x."""

import math
from collections.abc import Callable
from functools import partial, update_wrapper

import torch
from torch import Tensor, nn

from checks import trials
from checks.engine import Case, Check
from checks.layers import on_queries
from checks.trials import bugs_left, changed, check_linears, draw, real_tokens
from shared.model import masked_softmax

# --- cross_attention -----------------------------------------------------------------------------------------------


def first(x, y):
    return x


def second(x, y):
    return y


def keys_only(mask, tokens):
    """(batch, 1, m): the same for all queries."""
    return mask[:, None, :]


def cross(
    x, y, mask, W_query, W_key, W_value,
    query_side=first, key_side=second, value_side=second, value_map=None, hide=keys_only,
    score=trials.scaled, weigh=trials.masked,
):  # fmt: skip
    """The right way, one step of which a known mistake exchanges."""
    queries, keys = W_query(query_side(x, y)), W_key(key_side(x, y))  # (batch, n, d_k), (batch, m, d_k)
    weights = weigh(score(queries, keys, x.shape[2]), hide(mask, x.shape[1]))  # (batch, n, m)
    return weights @ (value_map or W_value)(value_side(x, y)), weights


def cross_by_pytorch(x, y, mask, W_query, W_key, W_value):
    """Where y has no real token, output and weights are zeros."""
    nothing = ~mask.any(dim=1)[:, None, None]  # (batch, 1, 1)
    results = trials.attend(W_query(x), W_key(y), W_value(y), mask[:, None, :] | nothing)
    return tuple(rows.masked_fill(nothing, 0.0) for rows in results)


# From which side.


def keys_from_x(x, y):
    """The keys come from x. A query is compared with what the *other* sequence offers, so make the keys from y."""
    return x


def values_from_x(x, y):
    """The values come from x. What is averaged belongs to the keys, token by token, so make the values from y."""
    return x


def queries_from_y(x, y):
    """The queries come from y, so this is self-attention in y. There is one output for each token of x, so make the
    queries from x."""
    return y


def x_among_the_keys(x, y):
    """Keys and values come from both sequences, one after the other. Here the queries attend to y alone."""
    return torch.cat([x, y], dim=1)


def keys_and_values_from_x(**given):
    """Keys and values come from x, so this is self-attention, and y is not used. Make both from y."""
    return cross(**given, key_side=first, value_side=first)


def self_attention_without_mask(**given):
    """This is self-attention in x: neither y nor its mask is used. Make keys and values from y."""
    return cross(**given, key_side=first, value_side=first, weigh=trials.no_mask)


def sides_exchanged(**given):
    """The two sequences are swapped: y attends to x. Queries come from x, keys and values from y."""
    return cross(**given, query_side=second, key_side=first, value_side=first)


def sides_exchanged_without_mask(**given):
    """The two sequences are swapped: y attends to x, and the mask is not used. Queries come from x, keys and values
    from y.
    """
    return cross(**given, query_side=second, key_side=first, value_side=first, weigh=trials.no_mask)


def attends_to_both(mask, x, y, **given):
    """Keys and values come from x and y together. Here the queries attend to y alone."""
    mask = torch.cat([torch.ones(x.shape[:2], dtype=torch.bool), mask], dim=1)
    return cross(x, y, mask, **given, key_side=x_among_the_keys, value_side=x_among_the_keys)


# What is hidden.


def causal_too(mask, tokens):
    """Query i attends to the first i + 1 tokens of y only. The other sequence is there from the beginning: hide its
    padding, and nothing else."""
    return mask[:, None, :] & torch.ones(tokens, mask.shape[1], dtype=torch.bool).tril()


def hidden_as_query_too(mask, tokens):
    """The mask of y hides rows as well, but rows are tokens of x. Hide the columns only: give it
    the shape (batch, 1, m)."""
    return mask[:, None, :] & mask[:, :, None]


def first_text_s_mask(mask, tokens):
    """All texts get the mask of the first one. Give it an axis for the queries, (batch, 1, m)."""
    return mask[:1, None, :]


def texts_as_queries(mask, tokens):
    """The mask, (batch, m), meets scores of n rows and m columns, so the texts are taken for queries. Give it an axis
    for the queries, (batch, 1, m).
    """
    return mask


def causal_alone(mask, tokens):
    """Query i attends to the first i + 1 tokens of y, padding included. The other sequence is there from the beginning:
    hide its padding, and nothing else."""
    return torch.ones(1, tokens, mask.shape[1], dtype=torch.bool).tril()


# What is averaged and returned.


def keys_averaged(W_key, **given):
    """The weights average the keys. The output is `weights @ values`."""
    return cross(**given, W_key=W_key, value_map=W_key)


def inputs_averaged(**given):
    """`W_value` is not used: the weights average the rows of y. The output is `weights @ values`."""
    return cross(**given, value_map=lambda y: y)


def weights_transposed(x, y, W_value, **given):
    """The weights are transposed before they average. Row i holds the weights of query i: leave the transposition
    out."""
    weights = cross(x, y, W_value=W_value, **given)[1]
    return weights.mT @ W_value(y), weights


def weights_divided(W_key, y, **given):
    """The weights are divided by sqrt(d_k), so that a row doesn't sum to 1. Divide the scores, before the softmax."""
    root = math.sqrt(W_key(y).shape[2])
    return tuple(rows / root for rows in cross(W_key=W_key, y=y, **given, score=trials.not_scaled))


def added_to_x(x, **given):
    """The output is added to x. That residual connection belongs to the block around the layer: return `weights @
    values`."""
    output, weights = cross(x=x, **given)
    return x + output, weights


def padded_inputs_zeroed(x, y, mask, **given):
    """Padded rows of y are set to zero, but a key of zeros has a score of 0, which gets weight like any other. Hide the
    scores of padding."""
    return cross(x, y * mask[:, :, None], mask, **given, weigh=trials.no_mask)


def padded_values_zeroed(x, y, mask, W_value, **given):
    """The values of padding are set to zero, but padding still takes weight from the real tokens. Hide its scores."""
    weights = cross(x, y, mask, W_value=W_value, **given, weigh=trials.no_mask)[1]
    return weights @ (W_value(y) * mask[:, :, None]), weights


def results_exchanged(**given):
    """The weights come first: the exercise asks for the output, then the weights."""
    return cross(**given)[::-1]


def scores_returned(**given):
    """The second result is the scores. The exercise asks for the weights, whose rows sum to 1."""
    return cross(**given)[0], cross(**given, weigh=trials.softmax_left_out)[1]


def softmax_over_x(scores, mask):
    """The softmax runs over the queries, so columns sum to 1. Let it run over the tokens attended to, the last axis."""
    return trials.hidden(scores, mask).softmax(-2) * mask


def divided_again(scores, mask):
    """The weights are masked after the softmax and divided by their sum again. On paper that's right, but where a
    hidden score is much larger, nothing is left to divide. Hide the scores before the softmax."""
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


def root_of_queries(queries, keys, d_model):
    """The scores are divided by the square root of the number of queries. d_k is the last axis of the keys."""
    return queries @ keys.mT / math.sqrt(queries.shape[-2])


def by_masked_softmax(mistake: Callable) -> Callable:
    """The same mistake in a layer that uses `masked_softmax`, which raises another error where the mask doesn't fit."""
    return update_wrapper(partial(mistake, weigh=masked_softmax), mistake)


SIDES = (
    changed(cross, key_side=keys_from_x), changed(cross, query_side=queries_from_y), keys_and_values_from_x,
    sides_exchanged,
)  # fmt: skip
HIDDEN = tuple(changed(cross, hide=step) for step in (
    causal_alone, causal_too, hidden_as_query_too, texts_as_queries, first_text_s_mask))  # fmt: skip
# What is wrong in both exercises.
SHARED: tuple[Callable, ...] = (
    *SIDES, *map(by_masked_softmax, SIDES), self_attention_without_mask, sides_exchanged_without_mask, attends_to_both,
    *HIDDEN, *map(by_masked_softmax, HIDDEN),
    *(changed(cross, weigh=step) for step in (
        *trials.MASK_MISTAKES, trials.softmax_over_queries, softmax_over_x, trials.softmax_over_axis_0)),
    *(changed(cross, score=step) for step in (*trials.SCORE_MISTAKES[:-1], root_of_queries)),
    keys_averaged, inputs_averaged, weights_transposed, weights_divided,
)  # fmt: skip


class CrossAttention(nn.Module):
    """The course's own answer, with which the lab goes on until the reader's is right."""

    def __init__(self, d_model: int, d_k: int, d_v: int):
        super().__init__()
        self.W_query = nn.Linear(d_model, d_k, bias=False)
        self.W_key = nn.Linear(d_model, d_k, bias=False)
        self.W_value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x: Tensor, y: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.W_query(x) @ self.W_key(y).mT / math.sqrt(self.W_key.out_features)  # (batch, n, m)
        weights = masked_softmax(scores, mask.unsqueeze(1))  # (batch, n, m)
        return weights @ self.W_value(y), weights


def two_texts(n, mask, d_model=6, d_k=4, d_v=3, scale=1.0, seed=0):
    """n tokens of x attend to the real tokens of y."""
    inputs = {"x": scale * draw(len(mask), n, d_model, seed=seed), "y": draw(*mask.shape, d_model, seed=seed + 1)}
    inputs["y"][-1, 0] = 0.0  # a score of 0 is a score like any other
    return Case(inputs | {"mask": mask}, {"d_model": d_model, "d_k": d_k, "d_v": d_v})


def goes_into_the_lab(answer):
    """The lab reads three linear maps without a bias, and makes the queries from any number of tokens."""
    check_linears(answer, (5, 3, 4), ("W_query", "W_key", "W_value"), biased=False)


HOLES = torch.tensor([[True, False, True, True, False, True], [False, True, False, False, True, True]])

cross_attention = Check(
    reference=cross_by_pytorch,
    solution=CrossAttention,
    parts=("W_query", "W_key", "W_value"),
    cases=[
        two_texts(3, real_tokens([5, 3, 1])), two_texts(5, real_tokens([5, 2, 4]), seed=10),  # n = m
        two_texts(6, HOLES, 4, 7, 2, seed=20), two_texts(7, real_tokens([4, 2, 3], padding_first=True), 5, 2, 5),
        two_texts(4, real_tokens([3, 0, 2, 4]), 5, 5, 5, seed=30),  # as many texts as tokens, an empty one, d_k = d_v
        two_texts(1, real_tokens([1, 1])), two_texts(3, real_tokens([1, 1])), two_texts(2, real_tokens([5])),
        two_texts(4, real_tokens([1, 1, 1, 2] * 4 + [3]), 8, 2, 3, scale=300.0, seed=40),
    ],
    mistakes=[
        *SHARED, changed(cross, value_side=values_from_x),
        *(changed(cross, weigh=step) for step in (
            *map(on_queries, (trials.masked, masked_softmax, trials.weight_for_padding, trials.nan_for_padding)),
            trials.nan_for_padding, trials.weight_for_padding, divided_again)),
        padded_inputs_zeroed, padded_values_zeroed, added_to_x, results_exchanged, scores_returned,
    ],
    section="Two sequences, “Exercise 1 (build): cross-attention”",
    forbidden=("scaled_dot_product_attention", "multi_head_attention_forward", "_native_multi_head_attention"),
    last_look=goes_into_the_lab,
)  # fmt: skip


# --- fix_the_sides -------------------------------------------------------------------------------------------------


def padding_of_y(x_mask, y_mask):
    """(batch, m), True for a real token of y."""
    return y_mask


def with_both_masks(x, y, x_mask, y_mask, W_query, W_key, W_value, way=cross, choose=padding_of_y, **steps):
    """A way of the first exercise, or one of its mistakes, with matrices and a mask for each side."""
    given = {"W_query": W_query, "W_key": W_key, "W_value": W_value}
    maps = {name: partial(torch.matmul, other=matrix) for name, matrix in given.items()}
    return way(x=x, y=y, mask=choose(x_mask, y_mask), **maps, **steps)


def of_real_tokens(x_mask, **given):
    """The right way; what a padded token of x gets does not matter."""
    results = with_both_masks(x_mask=x_mask, **given, way=cross_by_pytorch)
    return tuple(rows.masked_fill(~x_mask[:, :, None], math.nan) for rows in results)


# The two bugs.


def compared_with_its_own_tokens(x, y):
    """Each query is compared with tokens of x, so the scores stay the same whatever y says. Exchange two tokens of y:
    which of your tensors should change, and doesn't?
    """
    return x


def padding_of_x(x_mask, y_mask):
    """Padding of y gets weight, or a real token of y gets none. The columns of the scores are tokens of y: whose
    padding does your mask hide?
    """
    return x_mask


def several_bugs_left():
    """More than one bug is left. Exchange two tokens of y: do two columns of the weights change places? And is the
    weight on padding zero?
    """


def own_tokens_and_no_mask(**given):
    """Each query is compared with tokens of x, and padding gets weight. Exchange two tokens of y: which of your tensors
    should change, and doesn't? And whose padding has to be hidden?
    """
    return with_both_masks(**given, key_side=compared_with_its_own_tokens, weigh=trials.no_mask)


# What else is done to the masks.


def real_on_both_sides(x_mask, y_mask):
    """A token of y is hidden where the token of x at the same position is padding. The two positions have nothing to do
    with each other: hide the padding of y, and nothing else.
    """
    return x_mask & y_mask


def real_on_one_side(x_mask, y_mask):
    """Padding of y gets weight where the token of x at the same position is real. Hide all padding of y: columns are
    tokens of y, and `x_mask` says nothing about them.
    """
    return x_mask | y_mask


def mask_on_the_queries(mask, tokens):
    """The mask hides rows, which are tokens of x, so padding of y gets weight. Which axis of the scores counts the
    tokens of y?
    """
    return mask[:, :, None]


def both_sides_as_keys(x, y, x_mask, y_mask, **given):
    """Keys and values come from x and y together. Here the queries attend to y alone."""
    return with_both_masks(x, y, x_mask, torch.cat([x_mask, y_mask], dim=1), **given,
                           key_side=x_among_the_keys, value_side=x_among_the_keys)  # fmt: skip


def truncated_to_x(x, y, x_mask, y_mask, **given):
    """y is truncated to the length of x, so its last tokens are never attended to. n and m may differ: which product
    made you truncate it?
    """
    tokens = x.shape[1]
    return with_both_masks(x, y[:, :tokens], x_mask, y_mask[:, :tokens], **given)


def mixed_matrices(W_query, W_key, **given):
    """`W_key` makes the queries, and `W_query` the keys. Exchange the two matrices, not the two sequences."""
    return with_both_masks(W_query=W_key, W_key=W_query, **given)


def on_both_sides(mistake: Callable, **choice: Callable) -> Callable:
    """A mistake of the first exercise, here."""
    return update_wrapper(partial(with_both_masks, way=mistake, **choice), mistake)


def two_padded_sides(x_mask, y_mask, d_model, d_k, d_v, seed):
    shapes = {"x": (*x_mask.shape, d_model), "y": (*y_mask.shape, d_model)}
    shapes |= {"W_query": (d_model, d_k), "W_key": (d_model, d_k), "W_value": (d_model, d_v)}
    drawn = {name: draw(*shape, seed=seed + k) for k, (name, shape) in enumerate(shapes.items())}
    return Case({"x": drawn.pop("x"), "y": drawn.pop("y"), "x_mask": x_mask, "y_mask": y_mask} | drawn)


WITH_MASKED_SOFTMAX = partial(with_both_masks, weigh=masked_softmax)
OTHERS: list[Callable] = [padded_inputs_zeroed, padded_values_zeroed, results_exchanged, scores_returned]
BUGS_LEFT = [
    mistake
    for way in (WITH_MASKED_SOFTMAX, with_both_masks)
    for mistake in bugs_left(way, several_bugs_left, choose=padding_of_x, key_side=compared_with_its_own_tokens)
]

fix_the_sides = Check(
    reference=of_real_tokens,
    cases=[
        two_padded_sides(real_tokens([4, 2]), real_tokens([3, 4]), 3, 5, 2, 0),  # n = m
        two_padded_sides(real_tokens([2, 1, 2]), real_tokens([5, 3, 1]), 4, 3, 6, 10),
        two_padded_sides(real_tokens([6, 4]), real_tokens([2, 3], padding_first=True), 5, 2, 3, 20),
        two_padded_sides(real_tokens([3, 2, 3]), real_tokens([2, 3, 1]), 4, 4, 4, 40),  # as many texts as tokens
        two_padded_sides(real_tokens([1, 1]), real_tokens([4, 1]), 4, 2, 2, 50),
        two_padded_sides(real_tokens([4, 3], padding_first=True), real_tokens([2, 4]), 6, 2, 3, 60),
    ],
    mistakes=[
        *BUGS_LEFT, own_tokens_and_no_mask,
        *(changed(way, choose=step) for step in (real_on_both_sides, real_on_one_side)
          for way in (with_both_masks, WITH_MASKED_SOFTMAX)),
        *(on_both_sides(changed(partial(cross, weigh=weigh), hide=mask_on_the_queries), **choice)
          for weigh in (trials.masked, masked_softmax, trials.nan_for_padding)
          for choice in ({}, {"choose": padding_of_x})),
        changed(with_both_masks, value_side=values_from_x), both_sides_as_keys, truncated_to_x, mixed_matrices,
        *(on_both_sides(mistake) for mistake in SHARED if mistake.__name__ != "keys_from_x"),  # one of the bugs
        *(on_both_sides(mistake, choose=padding_of_x) for mistake in (
            keys_and_values_from_x, by_masked_softmax(keys_and_values_from_x), sides_exchanged,
            by_masked_softmax(sides_exchanged))),
        *map(on_both_sides, OTHERS),
    ],
    section="Two sequences, “Exercise 2 (debug): right shapes, wrong words”",
)  # fmt: skip

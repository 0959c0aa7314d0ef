"""The checks of *Queries*: self-attention, the attention that a token receives, one query for all tokens."""

import math

import torch
from torch import Tensor

from checks import trials
from checks.engine import Case, Check, Wrong, compare
from checks.layers import LAYER_MISTAKES, attention_by_pytorch, layer_cases
from checks.trials import bugs_left, changed, check_linears, draw, real_tokens
from shared.model import SelfAttention

LAYER = "Queries, “A second projection”"


# --- add_queries ---------------------------------------------------------------------------------------------------


def check_biases(answer):
    """Raise Wrong unless the parts are an nn.Linear each, with a bias where `bias=True` asks for one."""
    for settings in ({}, {"bias": False}, {"bias": True}):
        check_linears(answer, (6, 3), ("W_query", "W_key"), settings.get("bias", False), **settings)


add_queries = Check(
    reference=attention_by_pytorch,
    solution=SelfAttention,
    parts=("W_query", "W_key"),
    cases=layer_cases("d_model", "d_k"),
    mistakes=LAYER_MISTAKES,
    section=LAYER,
    last_look=check_biases,
)


# --- attention_received --------------------------------------------------------------------------------------------


def number_of_others(mask):
    """Of each text, (batch, 1)."""
    return (mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)


def other_real_tokens(mask):
    """Whether a token, as a query, counts for another: (batch, tokens, tokens)."""
    return mask[:, :, None] & ~torch.eye(mask.shape[1], dtype=torch.bool)


def received(x, mask, W_query, W_key, score=trials.scaled, queries=other_real_tokens, count=number_of_others):
    """The right way, steps of which bugs and known mistakes exchange."""
    weights = trials.masked(score(x @ W_query, x @ W_key, x.shape[2]), mask[:, None, :])
    return (weights * queries(mask)).sum(dim=1) / count(mask)


def padded_queries_counted(mask):
    """Padded tokens are counted as queries. They have rows of weights, too: leave out rows where the mask is False."""
    return ~torch.eye(mask.shape[1], dtype=torch.bool)


def divided_by_positions(mask):
    """The sum is divided by the number of positions. Divide by the number of other real tokens of
    each text."""
    return mask.shape[1] - 1


def several_bugs_left():
    """More than one bug is left. Which lines use a size that grows when a longer text joins the batch?"""


def own_weight_counted(mask):
    """The weight that a token gives to itself is in the sum. Only the other tokens count: leave out the diagonal."""
    return mask[:, :, None]


def counted_among_the_others(mask):
    """The sum is divided by the number of all real tokens. The token itself is not among the others, so subtract 1."""
    return mask.sum(dim=1, keepdim=True).clamp(min=1)


def divided_by_zero(mask):
    """NaN: a text of one token has no others, and 0 / 0 is NaN. Divide by at least 1."""
    return mask.sum(dim=1, keepdim=True) - 1


def mean_over_all_queries(x, mask, W_query, W_key):
    """The mean is taken over all queries, with zeros for those that do not count. Divide the sum by the number of the
    *other real* tokens."""
    return received(x, mask, W_query, W_key, count=lambda mask: mask.shape[1])


def only_the_own_weight(mask):
    """Only the weight that a token gives to itself is in the sum. It is the one to leave out: `~torch.eye(...)`."""
    return mask[:, :, None] & torch.eye(mask.shape[1], dtype=torch.bool)


def given_not_received(x, mask, W_query, W_key):
    """These are the weights that a token gives, the sum of its row. The weights that it receives are in its column:
    sum over axis 1."""
    weights = trials.attend(x @ W_query, x @ W_key, x, mask)[1].nan_to_num()
    return (weights * other_real_tokens(mask)).sum(dim=2) / number_of_others(mask)


def batch(mask, d_model, d_k, seed=0, scale=1.0):
    parts = {"W_query": draw(d_model, d_k, seed=seed + 1), "W_key": draw(d_model, d_k, seed=seed + 2)}
    return Case({"x": scale * draw(*mask.shape, d_model, seed=seed), "mask": mask} | parts)


attention_received = Check(
    reference=received,
    cases=[
        batch(real_tokens([5, 3, 1]), 4, 2),
        batch(real_tokens([6, 6]), 3, 5, seed=10),
        batch(real_tokens([4, 2, 3, 1], padding_first=True), 6, 3, seed=20),
        batch(real_tokens([2, 0, 4, 3]), 5, 4, seed=30),
        batch(real_tokens([4, 5])[:1], 4, 3, seed=50),
        batch(real_tokens([2] * 16 + [3]), 4, 2, seed=40, scale=20.0),
    ],
    mistakes=[
        *bugs_left(received, several_bugs_left, score=trials.root_of_tokens,
                   queries=padded_queries_counted, count=divided_by_positions),
        *(changed(received, count=step) for step in (counted_among_the_others, divided_by_zero)),
        *(changed(received, queries=step) for step in (own_weight_counted, only_the_own_weight)),
        given_not_received, mean_over_all_queries,
    ],
    section=LAYER,
)  # fmt: skip


# --- one_query -----------------------------------------------------------------------------------------------------


def pooling_row(w, d_k):
    return {"weights": (draw(6, len(w), seed=7).to(w) @ w).softmax(dim=0).expand(6, 6)}


class QueryOfEachToken(Wrong):
    """The rows of weights differ, because `W_query` gives each token a query of its own. Which matrix makes all queries
    equal to the bias?"""


def weights_of_six_tokens(result, w, d_k):
    """Many answers are right: what counts is the weights that six tokens get."""
    shapes = {"W_query": (len(w), d_k), "b_query": (d_k,), "W_key": (len(w), d_k)}
    compare(result, tuple(torch.full(shape, math.nan).to(w) for shape in shapes.values()),
            f"W_query, b_query, W_key, for d_model = {len(w)} and d_k = {d_k}")  # fmt: skip
    W_query, b_query, W_key = (part.to(w) for part in result)
    x = draw(6, len(w), seed=7).to(w)
    weights = ((x @ W_query + b_query) @ (x @ W_key).mT / math.sqrt(d_k)).softmax(dim=1)
    if not torch.allclose(weights, weights[:1].expand_as(weights), atol=1e-6):
        raise QueryOfEachToken
    return {"weights": weights}


def bias_of_ones(factor: Tensor | float, direction: Tensor, d_k: int) -> tuple[Tensor, Tensor, Tensor]:
    """A query of ones, and keys along it."""
    W_query, ones = torch.zeros(len(direction), d_k), torch.ones(d_k)
    return W_query, ones, factor * torch.outer(direction, ones.to(direction))


def scale_not_undone(w, d_k):
    """The scores are too small by the factor sqrt(d_k). The layer divides by it, so multiply the bias by it."""
    return bias_of_ones(1 / d_k, w, d_k)


def columns_add_up(w, d_k):
    """The scores are too large by the factor sqrt(d_k): `W_key` holds `w` in every column, and the columns add up.
    Divide by sqrt(d_k)."""
    return bias_of_ones(1.0, w, d_k)


def root_upside_down(w, d_k):
    """The scores are too small by the factor d_k: `W_key` is divided by sqrt(d_k), by which the layer divides again.
    Multiply instead."""
    return bias_of_ones(d_k**-1.5, w, d_k)


def factor_times_root(w, d_k):
    """The scores are too large by the factor d_k: `W_key` holds `w` times sqrt(d_k), and its columns add up. Divide by
    the root instead."""
    return bias_of_ones(math.sqrt(d_k), w, d_k)


def sign_wrong(w, d_k):
    """The scores have the wrong sign: the product of `W_key` and `b_query` must point along `w`."""
    return bias_of_ones(-(d_k**-0.5), w, d_k)


def all_scores_equal(w, d_k):
    """All scores are equal. Is `b_query` or `W_key` zero?"""
    return bias_of_ones(0.0, w, d_k)


one_query = Check(
    reference=pooling_row,
    cases=[
        Case({"w": draw(d_model, seed=seed), "d_k": d_k})
        for seed, (d_model, d_k) in enumerate(((5, 3), (5, 5), (4, 1), (3, 8)))
    ],
    mistakes=[scale_not_undone, columns_add_up, sign_wrong, all_scores_equal, factor_times_root, root_upside_down],
    section="Queries, “One query for all, once more”",
    canonical=weights_of_six_tokens,
)  # fmt: skip

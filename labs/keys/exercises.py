"""The checks of *Keys*: learned queries with keys, a key model as one vector."""

import math

import torch
from torch import Tensor, nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import changed, check_linears, check_parameters, draw

KEYS = "Keys, “A small space to meet in”"
ONE_VECTOR = "Keys, “Is there more to keys?”"


# --- learned_queries -----------------------------------------------------------------------------------------------


def outputs(x, W_key, query, weigh=trials.masked):
    """The right way, one step of which a known mistake exchanges."""
    scores = query(W_key(x)).mT  # (batch, num_queries, tokens)
    weights = weigh(scores, torch.ones_like(scores, dtype=torch.bool))
    return weights @ x, weights


def scaled_by_root(x, W_key, query):
    """The scores are divided by the root of a width. Here a score is a query times a key, and nothing is divided."""
    return outputs(x, W_key, lambda keys: query(keys) / keys.shape[2] ** 0.5)


def keys_averaged(x, W_key, query):
    """The weights average the keys. Keys only decide the weights; what is averaged is x."""
    weights = outputs(x, W_key, query)[1]
    return weights @ W_key(x), weights


def weights_transposed(x, W_key, query):
    """The weights have a row for each token. They need a row for each query, `(batch, num_queries, tokens)`."""
    output, weights = outputs(x, W_key, query)
    return output, weights.mT


def weights_first(x, W_key, query):
    """The weights come first: the exercise asks for the output, then the weights."""
    return outputs(x, W_key, query)[::-1]


class BiasInKeys(Wrong):
    """`W_key` has a bias. Leave it out, `nn.Linear(..., bias=False)`; the lab tries one further down."""


def no_bias(answer):
    """A bias in the keys changes no result, so it cannot be seen there."""
    if getattr(answer(3, 5, 2).W_key, "bias", None) is not None:
        raise BiasInKeys


class QueriesEqual(Wrong):
    """The results are right, but all queries begin with the same numbers, so they get the same gradients and stay
    equal. Draw them: `torch.randn(num_queries, d_k) / math.sqrt(d_k)`."""


def fits_into_the_lab(answer):
    """The lab exchanges the key projection, compares queries with keys by itself, and trains several queries."""
    no_bias(answer)
    queries = answer(3, 5, 2).query
    if torch.is_tensor(queries) and (queries == queries[:1]).all():
        raise QueriesEqual
    check_linears(answer, (3, 5, 2), ("W_key",), biased=False)
    check_parameters(answer(3, 5, 2), query=(3, 2))


def layer(num_queries, d_model, d_k, shape, seed, scale=1.0):
    sizes = {"num_queries": num_queries, "d_model": d_model, "d_k": d_k}
    return Case({"x": draw(*shape, d_model, seed=seed)}, sizes, scale)


class LearnedQueries(nn.Module):
    """Several learned queries, each compared with a key of every token.

    x (batch, tokens, d_model) to the outputs (batch, num_queries, d_model) and the weights, a row
    for each query, (batch, num_queries, tokens).
    """

    def __init__(self, num_queries: int, d_model: int, d_k: int):
        super().__init__()
        self.W_key = nn.Linear(d_model, d_k, bias=False)
        self.query = nn.Parameter(torch.randn(num_queries, d_k) / math.sqrt(d_k))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        keys = self.W_key(x)  # (batch, tokens, d_k)
        scores = self.query @ keys.transpose(1, 2)  # (batch, num_queries, tokens)
        weights = scores.softmax(dim=2)  # (batch, num_queries, tokens)
        return weights @ x, weights


learned_queries = Check(
    reference=outputs,
    solution=LearnedQueries,
    parts=("W_key", "query"),
    cases=[
        layer(3, 5, 2, (4, 6), 0), layer(8, 6, 3, (2, 8), 1), layer(1, 4, 2, (3, 5), 2), layer(4, 3, 1, (1, 1), 3),
        layer(3, 5, 2, (5, 4), 4, scale=3.0),
    ],
    mistakes=[
        *(changed(outputs, weigh=step) for step in (
            trials.softmax_over_queries, trials.softmax_over_axis_0, trials.softmax_left_out)),
        scaled_by_root, keys_averaged, weights_transposed, weights_first,
    ],
    section=KEYS,
    last_look=fits_into_the_lab,
)  # fmt: skip


# --- redundant_key -------------------------------------------------------------------------------------------------


def bias(center, W_key, b_key, query, b_query):
    return (b_key - center @ W_key) @ query + b_query


def folded(bias=bias, **given):
    """The right way, one step of which a bug or a known mistake exchanges."""
    return given["W_key"] @ given["query"], bias(**given)


def both_bugs_left(center, W_key, b_key, query, b_query):
    """Two bugs are left, both in `b`: the query must multiply the key's bias, and the center must be subtracted."""
    return b_key.sum() + b_query


def center_left_out(center, W_key, b_key, query, b_query):
    """One bug is left: the center is not in `b`. `center @ W_key` is subtracted from each key, so its product with the
    query is subtracted from each score."""
    return b_key @ query + b_query


def key_bias_summed(center, W_key, b_key, query, b_query):
    """One bug is left: `b_key` is summed. It is part of each key, so take its dot product with the query."""
    return b_key.sum() - center @ W_key @ query + b_query


def center_summed(center, W_key, b_key, query, b_query):
    """The numbers of the center are summed. What is subtracted from the score is `center @ W_key @ query`."""
    return b_key @ query - center.sum() + b_query


def shifted_bias_summed(center, W_key, b_key, query, b_query):
    """`b_key` and the center's key are summed. Both are parts of a key: take the dot product of their difference with
    the query.
    """
    return (b_key - center @ W_key).sum() + b_query


def query_bias_multiplied(center, W_key, b_key, query, b_query):
    """`b_query` is multiplied by the query. It is added to the score itself, outside the bracket."""
    return (b_key - center @ W_key + b_query) @ query


def center_added(center, W_key, b_key, query, b_query):
    """The center is added. The model subtracts it from x, so its part of the score must be subtracted, too."""
    return (b_key + center @ W_key) @ query + b_query


def query_bias_left_out(center, W_key, b_key, query, b_query):
    """`b_query` is left out of `b`."""
    return (b_key - center @ W_key) @ query


def center_in_the_vector(center, W_key, b_key, query, b_query):
    """The center is subtracted from `w` instead of in `b`. `w` multiplies x alone: what `center @ W_key @ query` takes
    from every score belongs to `b`.
    """
    return W_key @ query - center, center_left_out(center, W_key, b_key, query, b_query)


def key_model(d_model, d_k, seed):
    shapes = {"center": (d_model,), "W_key": (d_model, d_k), "b_key": (d_k,), "query": (d_k,), "b_query": ()}
    return Case({name: draw(*shape, seed=seed + n) for n, (name, shape) in enumerate(shapes.items())})


redundant_key = Check(
    reference=folded,
    cases=[key_model(6, 4, 0), key_model(3, 5, 10), key_model(4, 1, 20), key_model(4, 4, 30)],
    mistakes=[
        *(changed(folded, bias=step) for step in (
            both_bugs_left, key_bias_summed, center_left_out, center_added, center_summed, shifted_bias_summed,
            query_bias_left_out, query_bias_multiplied)),
        center_in_the_vector,
    ],
    section=ONE_VECTOR,
)  # fmt: skip

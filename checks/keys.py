"""The checks of *Keys*: attention pooling with keys, a key model as one linear map, one key matrix for two queries."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from checks import trials
from checks.engine import Case, Check, Wrong, compare
from checks.recap_attention import attention_pool, pool, pool_by_pytorch, scaled_by_width
from checks.trials import draw
from shared.model import KeyPooling

TWO_STEPS = "Keys, “From one map to two”"
PROOF = "Keys, “The proof on a trained model”"


def check_biases(make: Callable, names: Sequence[str], default: bool) -> None:
    """Raise Wrong unless these parts are an nn.Linear each, with a bias where `make(bias=...)` asks for one."""
    for settings in ({"bias": True}, {"bias": False}, {}):
        layer, asked = make(**settings), settings.get("bias", default)
        for part in names:
            if not isinstance(getattr(layer, part), nn.Linear):
                raise Wrong(f"The lab reads `{part}` as an `nn.Linear`.", "no nn.Linear")
            if (getattr(layer, part).bias is not None) != asked:
                way = f"`bias={asked}`" if settings else "no `bias`"
                raise Wrong(f"Made with {way}, the layer has `{part}` {'without' if asked else 'with'} a bias. Hand it "
                            f"on, `nn.Linear(..., bias=bias)`; its default is {default}.",
                            "bias not handed on")  # fmt: skip


# --- key_pooling ---------------------------------------------------------------------------------------------------


def with_keys(function):
    """What a function of *Recap: attention* gives when the score is a key times the query."""

    def pooling(ids, mask, embedding, W_key, query, output):
        return function(ids=ids, mask=mask, embedding=embedding, score=lambda x: query(W_key(x)), output=output)

    pooling.__name__, pooling.__doc__ = function.__name__, function.__doc__
    return pooling


def scaled_by_root(ids, mask, embedding, W_key, query, output):
    """The scores are divided by the root of a width. Here a score is a key times the query, and nothing else."""
    return pool(ids, mask, embedding, lambda x: query(W_key(x)) / W_key(x).shape[2] ** 0.5, output)


def tanh_of_keys(ids, mask, embedding, W_key, query, output):
    """A tanh follows the keys. In this exercise the query meets the keys as they are."""
    return pool(ids, mask, embedding, lambda x: query(W_key(x).tanh()), output)


def keys_pooled(ids, mask, embedding, W_key, query, output):
    """The weights average the keys. They belong to the embedding: keys only decide the weights."""
    x = embedding(ids)
    weights = trials.masked(query(W_key(x)).squeeze(2), mask)
    return output((weights.unsqueeze(2) * W_key(x)).sum(dim=1)).squeeze(1), weights


def query_not_used(ids, mask, embedding, W_key, query, output):
    """The numbers of a key are summed, and the query is not used. The score of a token is `query(keys)`."""
    return pool(ids, mask, embedding, lambda x: W_key(x).sum(dim=2, keepdim=True), output)


def one_output_for_each_token(ids, mask, embedding, W_key, query, output):
    """There is one output for each token. Sum the weighted embedding over the tokens before `output`."""
    x = embedding(ids)
    weights = trials.masked(query(W_key(x)).squeeze(2), mask)
    return output(weights.unsqueeze(2) * x).squeeze(2), weights


def output_left_out(ids, mask, embedding, W_key, query, output):
    """The pooled embedding are returned. They go through `output`, which makes a logit of them."""
    return pool(ids, mask, embedding, lambda x: query(W_key(x)), lambda pooled: pooled.unsqueeze(1))


def texts(d_model, d_k, mask, seed, scale=1.0):
    """Random ids for a model of nine words; padding is 0."""
    ids = torch.randint(2, 9, mask.shape, generator=torch.Generator().manual_seed(seed)) * mask
    return Case({"ids": ids, "mask": mask}, {"vocabulary_size": 9, "d_model": d_model, "d_k": d_k}, scale)


def settings_handed_on(answer):
    """The lab makes the model without positions and in its default widths, and reads the three linear maps."""
    check_biases(lambda **bias: answer(9, **bias), ("W_key", "query"), default=True)
    if getattr(answer(9, bias=False).output, "bias", None) is None:
        raise Wrong("The lab reads `output` as an `nn.Linear` with a bias; `bias` is for `W_key` and `query` alone.",
                    "no bias in output")  # fmt: skip
    if answer(9, positions=False).embedding.positions.any():
        raise Wrong("`KeyPooling(9, positions=False)` has positions all the same: hand `**embedding` on to "
                    "`TokenEmbedding(vocabulary_size, d_model, **embedding)`.", "settings not handed on")  # fmt: skip
    if answer(9).W_key.weight.shape != (16, 16):
        raise Wrong("Without `d_model` and `d_k` the model has other widths than 16 and 16.", "another default")


key_pooling = Check(
    reference=with_keys(pool_by_pytorch),
    solution=KeyPooling,
    parts=("embedding", "W_key", "query", "output"),
    cases=[
        *(texts(*widths, mask, seed) for seed, (widths, mask) in enumerate(
            zip(((4, 2), (2, 5), (3, 3), (4, 1), (6, 4), (4, 2)), trials.MASKS, strict=True))),
        texts(4, 2, trials.MASKS[0].flip(0), 6),
        texts(4, 2, trials.ONE_REAL_TOKEN, 5, scale=16.0),
    ],
    mistakes=[
        scaled_by_root, tanh_of_keys, keys_pooled, query_not_used, one_output_for_each_token, output_left_out,
        *(with_keys(mistake) for mistake in attention_pool.mistakes if mistake is not scaled_by_width),
    ],
    section=TWO_STEPS,
    last_look=settings_handed_on,
)  # fmt: skip


# --- redundant_key -------------------------------------------------------------------------------------------------


def map_by_asking(centre, W_key, b_key, query, b_query):
    """The scores of the key model for a token of zeros, and for one with a single 1."""

    def score(x):
        return ((x - centre) @ W_key + b_key) @ query + b_query

    b = score(torch.zeros_like(centre))
    return torch.stack([score(x) - b for x in torch.eye(len(centre)).to(centre)]), b


def changed_bias(bias):
    """A known mistake in `b`."""

    def mistake(centre, W_key, b_key, query, b_query):
        return W_key @ query, bias(centre, W_key, b_key, query, b_query)

    mistake.__name__, mistake.__doc__ = bias.__name__, bias.__doc__
    return mistake


def both_faults_left(centre, W_key, b_key, query, b_query):
    """Two faults are left, both in `b`: the key's bias has to meet the query, and the centre has to be subtracted."""
    return b_key.sum() + b_query


def centre_left_out(centre, W_key, b_key, query, b_query):
    """One fault is left: the centre is not in `b`. Each key lacks `centre @ W_key`, so each score lacks that times the
    query."""
    return b_key @ query + b_query


def key_bias_summed(centre, W_key, b_key, query, b_query):
    """One fault is left: `b_key` is summed. It is part of each key, so the query meets it: a dot product."""
    return b_key.sum() - centre @ W_key @ query + b_query


def both_summed(centre, W_key, b_key, query, b_query):
    """One fault is left: the numbers of the key's bias and of the centre's key are summed, without the query. The query
    meets each of them: a dot product."""
    return (b_key - centre @ W_key).sum() + b_query


def centre_added(centre, W_key, b_key, query, b_query):
    """The centre is added. The model subtracts it from the embedding, so its part of the score is subtracted too."""
    return (b_key + centre @ W_key) @ query + b_query


def key_bias_left_out(centre, W_key, b_key, query, b_query):
    """The key's bias is left out. The query meets it in every key, so it adds `b_key @ query`."""
    return -centre @ W_key @ query + b_query


def query_bias_left_out(centre, W_key, b_key, query, b_query):
    """`b_query` is left out of `b`."""
    return (b_key - centre @ W_key) @ query


def query_left_out_of_w(centre, W_key, b_key, query, b_query):
    """`w` is the sum of the columns of `W_key`; the query is left out. Multiply: `W_key @ query`."""
    return W_key.sum(dim=1), map_by_asking(centre, W_key, b_key, query, b_query)[1]


def results_exchanged(**given):
    """`b` comes first: the exercise asks for `w`, then `b`."""
    return map_by_asking(**given)[::-1]


def key_model(d_model, d_k, seed):
    shapes = {"centre": (d_model,), "W_key": (d_model, d_k), "b_key": (d_k,), "query": (d_k,), "b_query": ()}
    return Case({name: draw(*shape, seed=seed + n) for n, (name, shape) in enumerate(shapes.items())})


redundant_key = Check(
    reference=map_by_asking,
    cases=[key_model(6, 4, 0), key_model(3, 5, 10), key_model(4, 1, 20), key_model(4, 4, 30)],
    mistakes=[
        *map(changed_bias, (
            both_faults_left, key_bias_summed, both_summed, centre_left_out, centre_added, key_bias_left_out,
            query_bias_left_out)),
        query_left_out_of_w, results_exchanged,
    ],
    section=TWO_STEPS,
)  # fmt: skip


# --- factor_the_projection -----------------------------------------------------------------------------------------


def products_with_queries(result, w, query, other):
    """Many matrices are right: what counts is their products with both queries, (d_model,) each."""
    shape = (len(w), len(query))
    if isinstance(result, Tensor) and result.shape == shape[::-1] != shape:
        raise Wrong(f"The matrix is transposed: it has shape {shape[::-1]} instead of (d_model, d_k), {shape}.",
                    "matrix_transposed")  # fmt: skip
    compare(result, torch.full(shape, torch.nan).to(w), f"`W_key`, for {shape[0]} embedding and d_k = {shape[1]}")
    by_query, by_other = result @ query.to(result), result @ other.to(result)  # (d_model,) each
    finds_w = torch.allclose(by_query, w.to(result), atol=1e-4)
    finds_nothing = torch.allclose(by_other, torch.zeros_like(by_other), atol=1e-4)
    if finds_w and not finds_nothing:
        raise Wrong("`query` gives w, but `other` does not give 0. The rows of `W_key` must be orthogonal to `other`: "
                    "subtract from `query` its projection on `other`.", "other_not_zero")  # fmt: skip
    if finds_nothing and not finds_w:
        raise Wrong("`other` gives 0, but `query` does not give w. Divide by the dot product of `query` with the "
                    "direction of the rows.", "query_not_undone")  # fmt: skip
    return {"W_key @ query": by_query, "W_key @ other": by_other}


def other_not_zero_and_not_divided(w, query, other):
    """Both products are wrong: `W_key @ query` gives w times q · q, and `other` does not give 0. Which direction is
    orthogonal to `other`?"""
    return torch.outer(w, query)


def queries_exchanged(w, query, other):
    """The queries are exchanged: `other` gives w, and `query` gives 0."""
    rows = other - (query @ other) / (query @ query) * query
    return torch.outer(w, rows) / (rows @ other)


def w_in_every_column(w, query, other):
    """Every column is `w`, so the queries are not used. The columns need the factors that a query undoes."""
    return w[:, None].repeat(1, len(query))


def two_queries(d_model, both, seed):
    return Case({"w": draw(d_model, seed=seed), "query": both[0], "other": both[1]})


factor_the_projection = Check(
    reference=lambda w, query, other: {"W_key @ query": w, "W_key @ other": torch.zeros_like(w)},
    cases=[
        *(two_queries(6, draw(2, d_k, seed=10 + n), seed=n) for n, d_k in enumerate((3, 2, 9))),
        two_queries(1, draw(2, 4, seed=20), seed=4),
        two_queries(6, torch.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 3.0]], dtype=torch.float64), seed=3),
    ],
    mistakes=[other_not_zero_and_not_divided, queries_exchanged, w_in_every_column],
    section=PROOF,
    canonical=products_with_queries,
)  # fmt: skip

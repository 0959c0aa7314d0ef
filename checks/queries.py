"""The checks of *Queries*: self-attention, the attention that a token receives, one query for all tokens."""

import math

import torch
from torch import Tensor

from checks import trials
from checks.engine import Case, Check, Wrong, compare
from checks.keys import check_biases
from checks.trials import changed, draw, real_tokens
from shared.model import SelfAttention

LAYER = "Queries, “The layer”"


# --- add_queries ---------------------------------------------------------------------------------------------------


def attention_by_pytorch(x, mask, W_query, W_key):
    """What a padded token attends to does not matter."""
    results = trials.attend(W_query(x), W_key(x), x, mask)
    return tuple(rows.masked_fill(~mask[:, :, None], math.nan) for rows in results)


def layer(x, mask, W_query, W_key, score=trials.scaled, weigh=trials.masked):
    """The right way, one step of which a known mistake exchanges."""
    scores = score(W_query(x), W_key(x), x.shape[2])  # (batch, tokens, tokens)
    weights = weigh(scores, mask[:, None, :])
    return weights @ x, weights


def mask_on_queries(scores, mask):
    """The mask hides rows, which are queries, instead of columns. Give it the shape (batch, 1, tokens)."""
    return scores.masked_fill(~mask.mT, -1e300).softmax(-1)


def axis_of_mask_missing(scores, mask):
    """The mask has no axis for the queries, so its texts line up with the queries. Make it (batch, 1, tokens)."""
    return scores.masked_fill(~mask.squeeze(1), -1e300).softmax(-1)


def one_query_for_all(queries, keys, d_model):
    """All tokens of a text have the same query, the mean. Each token has its own: do not average the queries."""
    return trials.scaled(queries.mean(dim=1, keepdim=True).expand_as(queries), keys, d_model)


def own_key_only(x, mask, W_query, W_key):
    """Each query is compared only with the key of its own token. `queries @ keys.mT` gives the scores of all pairs."""
    keys = W_key(x)
    weights = trials.masked((W_query(x) * keys).sum(dim=2) / math.sqrt(keys.shape[2]), mask)
    return weights[:, :, None] * x, weights


def weights_not_used(x, mask, W_query, W_key):
    """x is returned unchanged, and the weights are not used. The output is `weights @ x`."""
    return x, layer(x, mask, W_query, W_key)[1]


def weights_transposed(x, mask, W_query, W_key):
    """The output sums over the queries: the weights are transposed. The output is `weights @ x`."""
    weights = layer(x, mask, W_query, W_key)[1]
    return weights.mT @ x, weights


def keys_averaged(x, mask, W_query, W_key):
    """The weights average the keys. This layer has no values, so average the rows of x: `weights @ x`."""
    weights = layer(x, mask, W_query, W_key)[1]
    return weights @ W_key(x), weights


def one_output_for_all(x, mask, W_query, W_key):
    """There is one output for each text. Self-attention has one for each token: do not average over the tokens."""
    output, weights = layer(x, mask, W_query, W_key)
    return output.mean(dim=1), weights


def residual_added(x, mask, W_query, W_key):
    """The input is added to the output. There is no residual connection in this layer."""
    output, weights = layer(x, mask, W_query, W_key)
    return x + output, weights


def results_exchanged(x, mask, W_query, W_key):
    """The weights come first: the exercise asks for the output, then the weights."""
    return layer(x, mask, W_query, W_key)[::-1]


def scores_returned(x, mask, W_query, W_key):
    """The scores are returned instead of the weights."""
    return layer(x, mask, W_query, W_key)[0], trials.scaled(W_query(x), W_key(x), 0)


def texts(mask, d_model, d_k, seed=0, scale=1.0):
    x = scale * draw(*mask.shape, d_model, seed=seed)
    return Case({"x": x, "mask": mask}, {"d_model": d_model, "d_k": d_k})


add_queries = Check(
    reference=attention_by_pytorch,
    solution=SelfAttention,
    parts=("W_query", "W_key"),
    cases=[
        texts(real_tokens([5, 3, 1]), 6, 3),
        texts(real_tokens([2, 5, 4]), 6, 3, seed=6),
        texts(real_tokens([6, 6]), 4, 7, seed=1),
        texts(real_tokens([4, 2, 3, 1], padding_first=True), 5, 2, seed=2),
        texts(real_tokens([4, 3, 2, 4]), 5, 4, seed=3),
        texts(real_tokens([1, 1]), 6, 3, seed=4),
        texts(real_tokens([3, 5])[:1], 6, 3, seed=7),
        texts(real_tokens([1, 1, 1, 2] * 4 + [3]), 8, 2, seed=5, scale=30.0),
    ],
    mistakes=[
        *(changed(layer, weigh=step) for step in (
            mask_on_queries, *trials.MASK_MISTAKES, trials.softmax_over_queries, trials.nan_in_columns,
            trials.nan_for_real_tokens, axis_of_mask_missing)),
        *(changed(layer, score=step) for step in (*trials.SCORE_MISTAKES, one_query_for_all)),
        own_key_only, weights_not_used, weights_transposed, keys_averaged,
        one_output_for_all, residual_added, results_exchanged, scores_returned,
    ],
    section=LAYER,
    last_look=lambda answer: check_biases(lambda **bias: answer(6, 3, **bias), ("W_query", "W_key"), default=False),
)  # fmt: skip


# --- attention_received --------------------------------------------------------------------------------------------


def received_by_loops(x, mask, W_query, W_key):
    weights = trials.attend(x @ W_query, x @ W_key, x, mask)[1]
    received = torch.zeros_like(weights[:, 0])  # (batch, tokens)
    for text, real in enumerate(mask):
        tokens = real.nonzero()[:, 0].tolist()
        for key in tokens:
            others = [weights[text, query, key] for query in tokens if query != key]
            received[text, key] = sum(others) / max(len(others), 1)
    return received


def number_of_others(mask):
    """Of each text, (batch, 1)."""
    return (mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)


def other_real_tokens(mask):
    """Whether a token, as a query, counts for another: (batch, tokens, tokens)."""
    return mask[:, :, None] & ~torch.eye(mask.shape[1], dtype=torch.bool)


def received(
    x, mask, W_query, W_key,
    score=trials.scaled, weigh=trials.masked, queries=other_real_tokens, count=number_of_others,
):  # fmt: skip
    """The right way, with steps that known mistakes exchange."""
    weights = weigh(score(x @ W_query, x @ W_key, x.shape[2]), mask[:, None, :])
    return (weights * queries(mask)).sum(dim=1) / count(mask)


def all_other_positions(mask):
    return ~torch.eye(mask.shape[1], dtype=torch.bool)


def positions_but_one(mask):
    return mask.shape[1] - 1


def all_positions(mask):
    return mask.shape[1]


def faults_left(name, sentence, *faults):
    """The function in which these of its bugs are left, by the names of the steps."""

    def mistake(**given):
        return received(**given, **dict(faults))

    mistake.__name__, mistake.__doc__ = name, sentence
    return mistake


SCALE, PADDED_QUERIES = ("score", trials.root_of_tokens), ("queries", all_other_positions)
COUNTS = [("count", positions_but_one), ("count", all_positions)]
MORE = "More than one bug is left. Which lines use a size that grows when a longer text joins the batch?"
FAULTS = [
    *(faults_left("several_faults_left", MORE, SCALE, PADDED_QUERIES, count) for count in COUNTS),
    faults_left("several_faults_left", MORE, SCALE, PADDED_QUERIES),
    *(faults_left("several_faults_left", MORE, fault, count) for fault in (SCALE, PADDED_QUERIES) for count in COUNTS),
    faults_left("number_of_tokens_in_the_scale", "One bug is left: the scores are divided by the root of the number "
                "of tokens. A dot product has d_k terms, `keys.shape[2]`.", SCALE),
    faults_left("padded_queries_counted", "One bug is left: padded tokens are among the queries. Each has a row of "
                "weights too, so leave out the rows where the mask is False.", PADDED_QUERIES),
    *(faults_left("divided_by_positions", "One bug is left: the sum is divided by the number of positions. Divide by "
                  "the number of other real tokens of each text.", count) for count in COUNTS),
]  # fmt: skip


def own_weight_counted(mask):
    """The weight that a token gives to itself is in the sum. Only the other tokens count: leave out the diagonal."""
    return mask[:, :, None]


def counted_among_the_others(mask):
    """The sum is divided by the number of all real tokens. The token itself is not among the others, so subtract 1."""
    return mask.sum(dim=1, keepdim=True).clamp(min=1)


def divided_by_zero(mask):
    """NaN: a text of one token has no others, and 0 / 0 is NaN. Divide by at least 1."""
    return mask.sum(dim=1, keepdim=True) - 1


def not_averaged(mask):
    """The weights are summed. The exercise asks for their mean over the other tokens."""
    return 1


def mean_over_all_real_tokens(**given):
    """The token itself counts among the others, both in the sum and in the number. Leave out the diagonal, and subtract
    1 from the number."""
    return received(**given, queries=own_weight_counted, count=counted_among_the_others)


def own_token_hidden(scores, mask):
    """No token can attend to itself, which changes all weights. Leave the softmax as it is, and the diagonal out of the
    sum."""
    return trials.masked(scores, mask & ~torch.eye(mask.shape[2], dtype=torch.bool))


def given_not_received(x, mask, W_query, W_key):
    """These are the weights that a token gives, the sum of its row. The weights that it receives are in its column:
    sum over axis 1."""
    weights = trials.attend(x @ W_query, x @ W_key, x, mask)[1].nan_to_num()
    return (weights * other_real_tokens(mask)).sum(dim=2) / number_of_others(mask)


def batch(mask, d_model, d_k, seed=0, scale=1.0):
    parts = {"W_query": draw(d_model, d_k, seed=seed + 1), "W_key": draw(d_model, d_k, seed=seed + 2)}
    return Case({"x": scale * draw(*mask.shape, d_model, seed=seed), "mask": mask} | parts)


attention_received = Check(
    reference=received_by_loops,
    cases=[
        batch(real_tokens([5, 3, 1]), 4, 2),
        batch(real_tokens([6, 6]), 3, 5, seed=10),
        batch(real_tokens([4, 2, 3, 1], padding_first=True), 6, 3, seed=20),
        batch(real_tokens([2, 0, 4, 3]), 5, 4, seed=30),
        batch(real_tokens([4, 5])[:1], 4, 3, seed=50),
        batch(real_tokens([2] * 16 + [3]), 4, 2, seed=40, scale=20.0),
    ],
    mistakes=[
        *FAULTS,
        *(changed(received, count=step) for step in (
            counted_among_the_others, divided_by_zero, not_averaged)),
        changed(received, queries=own_weight_counted), mean_over_all_real_tokens,
        *(changed(received, weigh=step) for step in (
            own_token_hidden, trials.softmax_over_queries, trials.nan_in_columns, trials.nan_for_real_tokens,
            *trials.MASK_MISTAKES)),
        *(changed(received, score=step) for step in trials.SCORE_MISTAKES if step is not trials.root_of_tokens),
        given_not_received,
    ],
    section=LAYER,
)  # fmt: skip


# --- one_query -----------------------------------------------------------------------------------------------------


def pooling_row(w, d_k):
    return {"weights": (draw(6, len(w), seed=7).to(w) @ w).softmax(dim=0).expand(6, 6)}


def weights_of_six_tokens(result, w, d_k):
    """Many answers are right: what counts is the weights that six tokens get."""
    shapes = {"W_query": (len(w), d_k), "b_query": (d_k,), "W_key": (len(w), d_k)}
    compare(result, tuple(torch.full(shape, math.nan).to(w) for shape in shapes.values()),
            f"W_query, b_query, W_key, for d_model = {len(w)} and d_k = {d_k}")  # fmt: skip
    W_query, b_query, W_key = (part.to(w) for part in result)
    x = draw(6, len(w), seed=7).to(w)
    weights = ((x @ W_query + b_query) @ (x @ W_key).mT / math.sqrt(d_k)).softmax(dim=1)
    if not torch.allclose(weights, weights[:1].expand_as(weights), atol=1e-6):
        raise Wrong("The rows of weights differ, because `W_query` gives each token a query of its own. Which matrix "
                    "makes all queries equal to the bias?", "query_of_each_token")  # fmt: skip
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


def scale_undone_twice(w, d_k):
    """The scores are too large by the factor d_k. Each of the d_k columns adds to the score; divide it so that
    the scores are `x @ w`."""
    return bias_of_ones(math.sqrt(d_k), w, d_k)


def divided_twice(w, d_k):
    """The scores are too small by the factor d_k. The layer itself divides by sqrt(d_k)."""
    return bias_of_ones(d_k**-1.5, w, d_k)


def root_of_the_wrong_width(w, d_k):
    """The root is that of d_model. The layer divides by sqrt(d_k)."""
    return bias_of_ones(len(w) ** -0.5, w, d_k)


def sign_wrong(w, d_k):
    """The scores have the wrong sign: bias and keys must multiply to `w`."""
    return bias_of_ones(-(d_k**-0.5), w, d_k)


def all_scores_equal(w, d_k):
    """All scores are equal. Is the query's bias or the key matrix zero?"""
    return bias_of_ones(0.0, w, d_k)


def w_not_used(w, d_k):
    """The keys contain ones instead of `w`. `W_key @ b_query` must be a multiple of `w`."""
    return bias_of_ones(d_k**-0.5, torch.ones_like(w), d_k)


one_query = Check(
    reference=pooling_row,
    cases=[
        Case({"w": draw(d_model, seed=seed), "d_k": d_k})
        for seed, (d_model, d_k) in enumerate(((5, 3), (5, 5), (4, 1), (3, 8)))
    ],
    mistakes=[
        scale_not_undone, columns_add_up, scale_undone_twice, divided_twice, root_of_the_wrong_width, sign_wrong,
        all_scores_equal, w_not_used,
    ],
    section="Queries, “One query for all, once more”",
    canonical=weights_of_six_tokens,
)  # fmt: skip

"""The checks of *Order*: causal self-attention that respects padding, and a causal mask that is off by one."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from checks import trials
from checks.engine import Case, Check
from checks.trials import changed, check_linears, draw, real_tokens
from shared.model import masked_softmax

# --- causal_attention ----------------------------------------------------------------------------------------------


def earlier(tokens: int, diagonal: int = 0) -> Tensor:
    return torch.ones(tokens, tokens, dtype=torch.bool).tril(diagonal)


def both(mask: Tensor) -> Tensor:
    """True where a token may attend, (batch, tokens, tokens)."""
    return earlier(mask.shape[1]) & mask[:, None, :]


def causal(x, mask, W_query, W_key, W_value, allow=both, score=trials.scaled, weigh=trials.masked):
    """The right way, one step of which a known mistake exchanges."""
    scores = score(W_query(x), W_key(x), x.shape[2])  # (batch, tokens, tokens)
    weights = weigh(scores, allow(mask))
    return weights @ W_value(x), weights


def causal_by_pytorch(x, mask, W_query, W_key, W_value):
    """What a padded token attends to does not matter, but where nothing is allowed there are zeros."""
    allowed = both(mask)
    nothing = ~allowed.any(dim=2, keepdim=True)  # (batch, tokens, 1)
    any_number = ~mask[:, :, None] & ~nothing
    results = trials.attend(W_query(x), W_key(x), W_value(x), allowed | nothing)
    return tuple(rows.masked_fill(nothing, 0.0).masked_fill(any_number, math.nan) for rows in results)


# Which token may attend to which.


def padding_mask_lost(mask):
    """Padding is attended to: `mask` is not used, or used for rows only. A token may attend where both masks allow it:
    combine the triangle with `mask[:, None, :]`, using `&`.
    """
    return earlier(mask.shape[1]).expand(len(mask), -1, -1)


def causal_mask_lost(mask):
    """Tokens attend to later ones: padding is hidden, the future isn't. Combine the padding mask with a lower triangle,
    using `&`.
    """
    return mask[:, None, :].expand(-1, mask.shape[1], -1)


def causal_mask_lost_in_a_square(mask):
    """Real tokens attend to later ones: padding is hidden, as key and as query, but the future isn't. Combine the
    padding mask with a lower triangle, using `&`.
    """
    return mask[:, None, :] & mask[:, :, None]


def no_mask_at_all(mask):
    """Neither mask has any effect: tokens attend to later ones and to padding. `masked_fill` without a trailing `_`
    returns a new tensor: do you use what it returns?"""
    return torch.ones(len(mask), mask.shape[1], mask.shape[1], dtype=torch.bool)


def one_mask_is_enough(mask):
    """A token may attend where one of the two masks allows it. It needs the permission of both: use `&` between masks
    of what is allowed, `|` between masks of what is hidden.
    """
    return earlier(mask.shape[1]) | mask[:, None, :]


def strict_triangle(mask):
    """The diagonal is missing, so no token attends to itself, and the first one to nothing. Keep the diagonal:
    `tril()` of what is allowed, or `triu(diagonal=1)` of what is hidden."""
    return earlier(mask.shape[1], -1) & mask[:, None, :]


def one_step_ahead(mask):
    """The triangle is one step too wide: each token attends to the one after it. What is hidden begins right above the
    diagonal: `triu(diagonal=1)`, and what is allowed ends on it: `tril()`."""
    return earlier(mask.shape[1], 1) & mask[:, None, :]


def time_reversed(mask):
    """Tokens attend to themselves and to later ones: rows and columns of the triangle are swapped. Rows are queries, so
    what is allowed is the lower triangle, `tril()`.
    """
    return earlier(mask.shape[1]).mT & mask[:, None, :]


def triangle_inverted(mask):
    """The triangle is inverted: tokens attend only to later ones. `masked_fill` hides where its mask is True, so give
    it what is *not* allowed.
    """
    return ~earlier(mask.shape[1]) & mask[:, None, :]


def padding_inverted(mask):
    """The padding mask is inverted: tokens attend only to padding. `mask` is True for a real token."""
    return earlier(mask.shape[1]) & ~mask[:, None, :]


def everything_inverted(mask):
    """The combined mask is inverted: what should be hidden is seen, and the rest is hidden. Where is a `~` missing, or
    one too many?
    """
    return ~both(mask)


def padded_queries_hidden(mask):
    """The padding mask hides rows, which are queries, so real tokens still attend to padding. Give it the shape
    (batch, 1, tokens): `mask[:, None, :]`."""
    return earlier(mask.shape[1]) & mask[:, :, None]


# From scores to weights.


def after_the_softmax(scores, allowed):
    """The mask comes after the softmax: the rows don't sum to 1, and each weight was divided by a sum that holds the
    future. Hide the scores before the softmax."""
    return scores.softmax(-1) * allowed


def divided_again(scores, allowed):
    """The weights are masked after the softmax and divided by their sum again. On paper that's right, but where a
    hidden score is much larger, all that's left is 0 divided by 0. Hide the scores before the softmax.
    """
    weights = scores.softmax(-1) * allowed
    return weights / weights.sum(-1, keepdim=True)


def divided_again_safely(scores, allowed):
    """The weights are masked after the softmax and divided by their sum again. On paper that's right, but where a
    hidden score is much larger, nothing is left to divide. Hide the scores before the softmax."""
    weights = scores.softmax(-1) * allowed
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)


def scored_zero(scores, allowed):
    """What is hidden has a score of 0, and exp(0) is 1: it keeps weight. This happens if scores are multiplied by a
    mask, or by `tril()` itself. Fill them with minus infinity instead."""
    return (scores * allowed).softmax(-1)


def scored_zero_then_removed(scores, allowed):
    """What is hidden has a score of 0, and exp(0) is 1: it takes weight, and what you leave doesn't sum to 1. Fill the
    scores with minus infinity before the softmax."""
    return (scores * allowed).softmax(-1) * allowed


def mask_added(scores, allowed):
    """The mask is added to the scores as 0 and 1, which hides nothing. Fill hidden scores with minus infinity:
    `masked_fill(~allowed, -math.inf)`."""
    return (scores + allowed.to(scores)).softmax(-1)


def nan_where_nothing_is_allowed(scores, allowed):
    """NaN: padding at the beginning of a text may attend to nothing, so its row is all minus infinity. Turn such a row
    into zeros: `masked_softmax` does that, and so does `nan_to_num` after the softmax.
    """
    return scores.masked_fill(~allowed, -math.inf).softmax(-1)


def weight_where_nothing_is_allowed(scores, allowed):
    """Padding at the beginning of a text may attend to nothing, yet its row has weights. Multiply them by the mask
    after the softmax."""
    return trials.hidden(scores, allowed).softmax(-1)


def causal_mask_after_softmax(scores, allowed):
    """Padding is hidden before the softmax, but later tokens only after it: each weight was divided by a sum that holds
    the future. Hide both before the softmax."""
    seen = allowed.any(dim=1, keepdim=True)  # (batch, 1, tokens): a real token is seen at least by itself
    return trials.masked(scores, seen.expand_as(allowed)) * earlier(scores.shape[-1])


def padding_mask_after_softmax(scores, allowed):
    """Later tokens are hidden before the softmax, but padding only after it, so the weights don't sum to 1. Hide both
    before the softmax."""
    return trials.masked(scores, earlier(scores.shape[-1]).expand_as(allowed)) * allowed


def padding_scored_zero(scores, allowed):
    """Later tokens are hidden, but padding has a score of 0, and exp(0) is 1. Fill its scores with minus infinity,
    too."""
    seen = allowed.any(dim=1, keepdim=True)
    return trials.masked(scores * seen, earlier(scores.shape[-1]).expand_as(allowed))


def future_scored_zero(scores, allowed):
    """Padding is hidden, but later tokens have a score of 0, and exp(0) is 1: `tril()` of scores writes zeros. Fill
    them with minus infinity instead."""
    seen = allowed.any(dim=1, keepdim=True)
    return trials.masked(scores.tril(), seen.expand_as(allowed))


def softmax_over_queries(scores, allowed):
    """The softmax runs over the queries, so columns sum to 1. Let it run over the keys, the last axis."""
    return trials.hidden(scores, allowed).softmax(-2) * allowed


def scores_as_weights(scores, allowed):
    """Hidden scores are set to 0 and the rest are used as weights. A softmax has to come between."""
    return scores * allowed


# What is averaged and returned.


def padded_inputs_zeroed(x, mask, **given):
    """Padded x are set to zero, but a key of zeros has a score of 0, which gets weight like any other. Hide the scores
    of padding."""
    return causal(x=x * mask[:, :, None], mask=mask, **given, allow=padding_mask_lost)


def padded_values_zeroed(x, mask, W_value, **given):
    """The values of padding are set to zero, but padding still takes weight from the real tokens. Hide its scores."""
    return causal(x, mask, W_value=lambda x: W_value(x) * mask[:, :, None], **given, allow=padding_mask_lost)


def keys_averaged(W_key, **given):
    """The weights average the keys. The output is `weights @ values`."""
    return causal(**given | {"W_key": W_key, "W_value": W_key})


def inputs_averaged(W_value, **given):
    """`W_value` is not used: the weights average the rows of x. The output is `weights @ values`."""
    return causal(**given, W_value=lambda x: x)


def weights_transposed(W_value, **given):
    """The weights are transposed before they average, so outputs come from later tokens. Leave the transposition
    out."""
    weights = causal(**given, W_value=W_value)[1]
    return weights.mT @ W_value(given["x"]), weights


def results_exchanged(**given):
    """The weights come first: the exercise asks for the output, then the weights."""
    return causal(**given)[::-1]


class CausalSelfAttention(nn.Module):
    """The course's own answer, with which the lab goes on until the reader's is right."""

    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.W_query = nn.Linear(d_model, d_k, bias=False)
        self.W_key = nn.Linear(d_model, d_k, bias=False)
        self.W_value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x, mask):
        scores = self.W_query(x) @ self.W_key(x).mT / math.sqrt(self.W_key.out_features)
        weights = masked_softmax(scores, both(mask))  # (batch, tokens, tokens)
        return weights @ self.W_value(x), weights


def texts(mask, d_model=6, d_k=4, d_v=3, scale=1.0, seed=0):
    inputs = {"x": scale * draw(*mask.shape, d_model, seed=seed), "mask": mask}
    return Case(inputs, {"d_model": d_model, "d_k": d_k, "d_v": d_v})


def goes_into_the_lab(answer):
    """The lab reads three linear maps without a bias."""
    check_linears(answer, (5, 3, 4), ("W_query", "W_key", "W_value"), biased=False)


HOLES = torch.tensor([[True, False, True, True, False, True], [False, True, False, False, True, True]])

causal_attention = Check(
    reference=causal_by_pytorch,
    solution=CausalSelfAttention,
    parts=("W_query", "W_key", "W_value"),
    cases=[
        texts(real_tokens([5, 3, 1])), texts(real_tokens([4, 2, 3], padding_first=True)), texts(real_tokens([5])),
        texts(HOLES, 4, 7, 2), texts(real_tokens([4, 0, 2, 3], padding_first=True), 5, 2, 5),
        texts(real_tokens([1, 1]), 5, 2, 5), texts(real_tokens([20, 11], padding_first=True), 3, 2, 2),
        texts(real_tokens([1, 2, 1, 3] * 4, padding_first=True), 8, 2, 3, scale=300.0),
    ],
    mistakes=[
        *(changed(causal, allow=step) for step in (
            padding_mask_lost, causal_mask_lost, causal_mask_lost_in_a_square, no_mask_at_all, one_mask_is_enough,
            strict_triangle, one_step_ahead,
            time_reversed, triangle_inverted, padding_inverted, everything_inverted, padded_queries_hidden)),
        *(changed(causal, weigh=step) for step in (
            after_the_softmax, divided_again, divided_again_safely, scored_zero, scored_zero_then_removed, mask_added,
            nan_where_nothing_is_allowed, weight_where_nothing_is_allowed, causal_mask_after_softmax,
            padding_mask_after_softmax, padding_scored_zero, future_scored_zero, softmax_over_queries,
            scores_as_weights)),
        *(changed(causal, score=step) for step in trials.SCORE_MISTAKES),
        padded_inputs_zeroed, padded_values_zeroed, keys_averaged, inputs_averaged, weights_transposed,
        results_exchanged,
    ],
    section="Order, “Before the softmax, or after?”",
    forbidden=("scaled_dot_product_attention", "multi_head_attention_forward", "_native_multi_head_attention"),
    last_look=goes_into_the_lab,
)  # fmt: skip


# --- fix_the_mask --------------------------------------------------------------------------------------------------


def row_plus(shift: Callable[[int, int], int]) -> Callable:
    """A mask in which the query of row i attends to columns up to i plus a shift, of m queries and n keys."""
    return lambda m, n: torch.arange(n) <= torch.arange(m)[:, None] + shift(m, n)


right = row_plus(lambda m, n: n - m)


def newest(queries, keys, values, allow=right, score=trials.scaled):
    """The right way, one step of which a known mistake exchanges."""
    scores = score(queries, keys, 0).masked_fill(~allow(len(queries), len(keys)), -math.inf)
    return scores.softmax(1) @ values


def one_older_key(m, n):
    """Row i still attends up to column i + 1, which is right with one older key only. How many older keys are there?"""
    return row_plus(lambda m, n: 1)(m, n)


def from_the_top(m, n):
    """Row i attends up to column i, as if the first query were the first token of the text. It is token n - m."""
    return row_plus(lambda m, n: 0)(m, n)


def still_one_ahead(m, n):
    """The shift is one too large: each token attends to the one after it. Row 0 is token n - m, and it may attend to
    itself, but no further."""
    return row_plus(lambda m, n: n - m + 1)(m, n)


def now_one_behind(m, n):
    """The shift is one too small: no token attends to itself. Row 0 is token n - m, and it may attend to itself."""
    return row_plus(lambda m, n: n - m - 1)(m, n)


def shifted_by_queries(m, n):
    """The shift is m, the number of queries. Count the keys that are older than all queries instead."""
    return row_plus(lambda m, n: m)(m, n)


def nothing_hidden(m, n):
    """Nothing is hidden: each query attends to all keys, later ones among them."""
    return row_plus(lambda m, n: n)(m, n)


def shifted_backwards(m, n):
    """The shift has the wrong sign: with m queries and n keys, row 0 is token n - m."""
    return row_plus(lambda m, n: m - n)(m, n)


def hidden_and_shown_exchanged(m, n):
    """The mask is inverted: only later tokens are attended to."""
    return ~right(m, n)


def last_tokens(m, n, seed):
    shapes = {"queries": (m, 4), "keys": (n, 4), "values": (n, 3)}
    return Case({name: 2 * draw(*shape, seed=seed + k) for k, (name, shape) in enumerate(shapes.items())})


fix_the_mask = Check(
    reference=newest,
    cases=[last_tokens(m, n, 10 * n + m) for m, n in ((3, 3), (2, 5), (4, 5), (1, 4), (5, 9), (1, 1))],
    mistakes=[
        *(changed(newest, allow=step) for step in (
            one_older_key, from_the_top, still_one_ahead, now_one_behind, shifted_by_queries, nothing_hidden,
            shifted_backwards, hidden_and_shown_exchanged)),
        *(changed(newest, score=step) for step in trials.SCORE_MISTAKES[:2]),
    ],
    section="Order, “The direction of time”",
)  # fmt: skip

"""The checks of *The KV cache*: a step with a cache, grouped queries, and a sliding window in blocks, with two bugs."""

import math

import torch

from checks import trials
from checks.engine import Case, Check
from checks.layers import WINDOW_MISTAKES, in_window
from checks.trials import changed, draw, goes_on
from shared.model import masked_softmax


def after(cached, new):
    return torch.cat([cached, new], dim=1)  # (num_heads, tokens, d_k or d_v)


def drawn(num_heads, seed, scale=2.0, **shapes):
    """Normal numbers for each input, (num_heads, *shape)."""
    return {name: scale * draw(num_heads, *shape, seed=seed + n) for n, (name, shape) in enumerate(shapes.items())}


# --- cached_step ---------------------------------------------------------------------------------------------------


def step(query, key, value, keys, values, score=trials.scaled, weigh=masked_softmax):
    """The right way, one step of which a known mistake exchanges."""
    keys, values = after(keys, key), after(values, value)
    scores = score(query, keys, len(query) * query.shape[2])  # (num_heads, 1, tokens)
    return weigh(scores, torch.ones_like(scores, dtype=torch.bool)) @ values, keys, values


def newest_token_left_out(query, key, value, keys, values):
    """The newest token doesn't attend to itself. Append its key and value first, then compute the scores."""
    return trials.attend(query, keys, values)[0], after(keys, key), after(values, value)


def nothing_appended(keys, values, **new):
    """The cache is returned as it was given. The next step also needs the key and the value of this token."""
    return step(keys=keys, values=values, **new)[0], keys, values


def newest_put_in_front(query, key, value, keys, values):
    """The new key and value are put before the cached ones. Put them at the end: `torch.cat([keys, key], dim=1)`."""
    return trials.attend(query, after(key, keys), after(value, values))[0], after(key, keys), after(value, values)


def results_exchanged(**given):
    """Keys and values are returned in the wrong order: first the output, then the keys, then the values."""
    output, keys, values = step(**given)
    return output, values, keys


def softmax_over_heads(scores, mask):
    """The softmax runs over axis 0, the heads. Let it run over the tokens of the cache, the last axis."""
    return scores.softmax(0)


def oldest_token_only(scores, mask):
    """The newest token attends to the oldest only: `tril()` leaves one True in a single row. No mask is needed, as no
    token of the cache is a later one."""
    return masked_softmax(scores, mask.tril())


def one_step(num_heads, tokens, d_k, d_v, seed=0):
    """A step after so many cached tokens."""
    new = {"query": (1, d_k), "key": (1, d_k), "value": (1, d_v)}
    return Case(drawn(num_heads, seed, **new, keys=(tokens, d_k), values=(tokens, d_v)))


def feeds_the_next_layer(answer):
    """The lab concatenates the heads of the output, and projects them."""
    inputs = {name: x.to(torch.get_default_dtype()) for name, x in one_step(3, 4, 3, 2).inputs.items()}
    output = answer(*inputs.values())[0]
    goes_on("`W_output(output.flatten())`", lambda: torch.nn.Linear(6, 6)(output.flatten()))


cached_step = Check(
    reference=step,
    cases=[one_step(3, 4, 3, 2), one_step(2, 0, 5, 3, 10), one_step(1, 6, 4, 4, 20), one_step(4, 1, 2, 6, 30)],
    mistakes=[
        newest_token_left_out, nothing_appended, newest_put_in_front, results_exchanged,
        *(changed(step, score=way) for way in trials.SCORE_MISTAKES[:4]),
        *(changed(step, weigh=way) for way in (
            trials.softmax_left_out, trials.softmax_over_queries, softmax_over_heads, oldest_token_only)),
    ],
    section="The KV cache, “One step”",
    last_look=feeds_the_next_layer,
)  # fmt: skip


# --- grouped_attention -----------------------------------------------------------------------------------------------


def interleaved(heads, num_heads):
    return heads.repeat_interleave(num_heads // len(heads), dim=0)  # (num_heads, tokens, d_k or d_v)


def grouped(queries, keys, values, share=interleaved, share_values=None, score=trials.scaled, weigh=masked_softmax):
    """The right way, one step of which a known mistake exchanges."""
    keys, values = share(keys, len(queries)), (share_values or share)(values, len(queries))
    scores = score(queries, keys, len(queries) * queries.shape[2])  # (num_heads, new, tokens)
    return weigh(scores, torch.ones_like(scores, dtype=torch.bool)) @ values


def copies_in_turn(heads, num_heads):
    """Query heads take the KV heads in turn: 0, 1, 0, 1. Neighbors share one: 0, 0, 1, 1, so use `repeat_interleave`,
    not `repeat`.
    """
    return heads.repeat(num_heads // len(heads), 1, 1)


def only_the_values_in_turn(heads, num_heads):
    """The keys are repeated for neighbors, and the values in turn. A query head needs the values that belong to its
    keys: repeat both in the same way."""
    return copies_in_turn(heads, num_heads)


def only_the_keys_in_turn(**given):
    """The values are repeated for neighbors, and the keys in turn. A query head needs the keys that belong to its
    values: repeat both in the same way."""
    return grouped(**given, share=copies_in_turn, share_values=interleaved)


def causal(scores, mask):
    """The newer tokens are hidden from the older ones. Nothing is hidden here: leave the mask out."""
    new, tokens = scores.shape[-2:]
    hidden = torch.ones(new, tokens, dtype=torch.bool).triu(tokens - new + 1)
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


def causal_from_the_upper_corner(scores, mask):
    """Query i attends to the first i + 1 tokens only, by a causal mask. Nothing is hidden here: leave the mask out."""
    return masked_softmax(scores, torch.ones(scores.shape[-2:], dtype=torch.bool).tril())


def first_kv_head_for_all(heads, num_heads):
    """All query heads attend with KV head 0. That is multi-query attention; here each group has a KV head of its
    own."""
    return heads[:1].expand(num_heads, -1, -1)


def mean_of_kv_heads(heads, num_heads):
    """The KV heads are averaged. Each group of query heads attends with one of them, as it is."""
    return heads.mean(dim=0, keepdim=True).expand(num_heads, -1, -1)


def queries_averaged(queries, keys, values):
    """The queries of a group are averaged, so there is one output for each KV head, or a whole group has the same one.
    Only keys and values are shared: each query head has an output of its own.
    """
    pooled = queries.unflatten(0, (len(keys), -1)).mean(dim=1)  # (num_kv_heads, new, d_k)
    return interleaved(grouped(pooled, keys, values), len(queries))


def one_output_for_each_kv_head(queries, keys, values):
    return grouped(queries.unflatten(0, (len(keys), -1)).mean(dim=1), keys, values)


one_output_for_each_kv_head.__doc__ = queries_averaged.__doc__


def shared_cache(num_heads, num_kv_heads, new, tokens, d_k, d_v, seed=0):
    """So many query heads and KV heads."""
    cache = drawn(num_kv_heads, seed, keys=(tokens, d_k), values=(tokens, d_v))
    return Case(drawn(num_heads, seed + 5, queries=(new, d_k)) | cache)


grouped_attention = Check(
    reference=grouped,
    cases=[
        shared_cache(8, 2, 3, 5, 4, 3), shared_cache(6, 3, 1, 4, 2, 5, 10), shared_cache(4, 1, 2, 6, 3, 3, 20),
        shared_cache(2, 2, 4, 3, 5, 2, 30),
    ],
    mistakes=[
        *(changed(grouped, share=way) for way in (copies_in_turn, first_kv_head_for_all, mean_of_kv_heads)),
        changed(grouped, share_values=only_the_values_in_turn), queries_averaged, one_output_for_each_kv_head,
        only_the_keys_in_turn,
        *(changed(grouped, score=way) for way in trials.SCORE_MISTAKES[:4]),
        *(changed(grouped, weigh=way) for way in (
            trials.softmax_left_out, trials.softmax_over_queries, softmax_over_heads, causal,
            causal_from_the_upper_corner)),
    ],
    section="The KV cache, “How much memory a KV cache takes”",
)  # fmt: skip


# --- fix_the_blocks ------------------------------------------------------------------------------------------------


def everything(rows, reach, new):
    """All keys and values are returned. Only the last `reach` are needed for what comes next: `keys[:, -reach:]`."""
    return rows


def newest(rows, reach, new):
    return rows[:, -reach:]


def by_blocks(
    queries, keys, values, kept_keys, kept_values, reach, near=in_window, keep=newest, early=everything, moved=1
):
    """The right way, one step of which a known mistake exchanges; keys and values are truncated `early`, before they
    are attended to, and what is kept of them is returned."""
    new = queries.shape[1]
    keys, values = early(after(kept_keys, keys), reach, new), early(after(kept_values, values), reach, new)
    distance = moved * (keys.shape[1] - new) + torch.arange(new)[:, None] - torch.arange(keys.shape[1])  # (new, tokens)
    scores = trials.scaled(queries, keys, 0).masked_fill(~near(distance, reach), -math.inf)
    return scores.softmax(-1) @ values, keep(keys, reach, new), keep(values, reach, new)


def truncated_too_early(**given):
    """At least one bug is left: the cache is truncated to `reach` tokens before the new tokens attend to it, but the
    first token of a block needs older tokens than the last one does. When you've fixed that, see whether a token
    attends too far back.
    """
    return by_blocks(**given, early=newest)


def new_ones_only(rows, reach, new):
    """Only the new keys and values are returned. If a block is shorter than the window, the cache has to keep older
    ones as well.
    """
    return rows[:, -new:]


def mask_not_moved(**given):
    """The mask treats the first new token as position 0, although there are older ones in the cache. Row i belongs to
    position i plus the number of tokens that were kept.
    """
    return by_blocks(**given, moved=0)


def second_edge_not_moved(**given):
    """Only one edge of the window takes the cached tokens into account, so a token attends too far. Shift both `tril`
    and `triu` by the number of cached tokens.
    """
    cached = given["kept_keys"].shape[1]
    return by_blocks(**given, near=lambda distance, reach: in_window(distance, reach + cached))


def mask_inverted(distance, reach):
    """The mask is inverted. `scores.where(allowed, -math.inf)` keeps the scores where `allowed` is True."""
    return ~in_window(distance, reach)


def one_block(num_heads, new, cached, d_k, d_v, reach, seed=0, scale=2.0):
    """A block of new tokens after so many cached ones."""
    shapes = {"queries": (new, d_k), "keys": (new, d_k), "values": (new, d_v)}
    shapes |= {"kept_keys": (cached, d_k), "kept_values": (cached, d_v)}
    return Case(drawn(num_heads, seed, scale, **shapes) | {"reach": reach})


fix_the_blocks = Check(
    reference=by_blocks,
    cases=[
        one_block(2, 3, 4, 3, 2, 4), one_block(1, 6, 0, 4, 4, 2, 10), one_block(3, 1, 3, 2, 5, 3, 20),
        one_block(2, 5, 2, 3, 3, 9, 30), one_block(1, 4, 1, 5, 2, 1, 40), one_block(9, 4, 2, 2, 3, 2, 50, scale=400.0),
    ],
    mistakes=[
        truncated_too_early, mask_not_moved, second_edge_not_moved,
        *(changed(by_blocks, near=way) for way in (*WINDOW_MISTAKES, mask_inverted)),
        *(changed(by_blocks, keep=way) for way in (everything, new_ones_only)),
    ],
    section="The KV cache, “Exercise 3 (debug): a window read in blocks”",
)  # fmt: skip

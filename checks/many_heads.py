"""The checks of *Many heads*: the whole layer, heads with three faults, and an experiment on heads and width."""

import math
from functools import partial

import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw
from shared.model import MultiHeadSelfAttention, causal_mask

SPLIT = "Many heads, “Split and concatenate”"
LAYER = "Many heads, “The layer”"


# --- many_heads ----------------------------------------------------------------------------------------------------


def heads_by_pytorch(x, num_heads, W_query, W_key, W_value, W_output, mask=None, attention_mask=None):
    """Head by head; what a padded token gets does not matter."""
    allowed = torch.ones(len(x), x.shape[1], x.shape[1], dtype=torch.bool)
    for other in (attention_mask, None if mask is None else mask[:, None, :]):
        allowed = allowed if other is None else allowed & other  # (batch, tokens, tokens)
    heads = zip(*(W(x).chunk(num_heads, dim=2) for W in (W_query, W_key, W_value)), strict=True)
    outputs, weights = zip(*(trials.attend(*head, allowed) for head in heads), strict=True)
    output, weights = W_output(torch.cat(outputs, dim=2)), torch.stack(weights, dim=1)
    if mask is None:
        return output, weights
    return output.masked_fill(~mask[:, :, None], math.nan), weights.masked_fill(~mask[:, None, :, None], math.nan)


def split(projected, num_heads):
    return projected.unflatten(2, (num_heads, -1)).transpose(1, 2)  # (batch, num_heads, tokens, head_dim)


def join(outputs):
    return outputs.transpose(1, 2).flatten(2)  # (batch, tokens, d_model)


def both_masks(mask, attention_mask):
    """True where a token may attend, (batch or 1, 1, tokens or 1, tokens); None without a mask."""
    allowed = None if mask is None else mask[:, None, None, :]
    if attention_mask is not None:
        attention_mask = attention_mask[..., None, :, :]
        allowed = attention_mask if mask is None else attention_mask & allowed
    return allowed


def heads(
    x, num_heads, W_query, W_key, W_value, W_output, mask=None, attention_mask=None,
    split=split, score=trials.scaled, combine=both_masks, weigh=trials.masked, join=join, finish=None,
):  # fmt: skip
    """The right way, one step of which a known mistake exchanges."""
    queries, keys, values = (split(W(x), num_heads) for W in (W_query, W_key, W_value))
    scores = score(queries, keys, x.shape[2])  # (batch, num_heads, tokens, tokens)
    allowed = combine(mask, attention_mask)
    weights = weigh(scores, torch.ones(1, 1, 1, 1, dtype=torch.bool) if allowed is None else allowed)
    return (finish or (lambda output, weights, *_: (output, weights)))(
        W_output(join(weights @ values)), weights, weights @ values, x
    )


def reshaped(projected, num_heads):
    """The projections are reshaped to (batch, num_heads, tokens, head_dim) at once, which mixes tokens and heads. Split
    the last axis first, then transpose the tokens with the heads."""
    return projected.reshape(len(projected), num_heads, -1, projected.shape[2] // num_heads)


def every_third_column(projected, num_heads):
    """Each head gets every h-th column instead of a block of neighbouring columns. The last axis is split into
    (num_heads, head_dim), in this order."""
    return projected.unflatten(2, (-1, num_heads)).permute(0, 3, 1, 2)


def head_dim_and_num_heads_exchanged(projected, num_heads):
    """num_heads and head_dim are exchanged: there are num_heads heads, each head_dim wide."""
    return split(projected, projected.shape[2] // num_heads)


def one_head(projected, num_heads):
    """There is only one head: the projections are not split."""
    return projected.unsqueeze(1)


def one_softmax_for_each_column(projected, num_heads):
    """Every column is a head of its own. A head is head_dim columns wide."""
    return split(projected, projected.shape[2])


def joined_by_reshape(outputs):
    """The heads' outputs are concatenated without transposing heads and tokens back, so the tokens are mixed."""
    return outputs.reshape(len(outputs), outputs.shape[2], -1)


def joined_in_turn(outputs):
    """The heads' outputs are concatenated column by column instead of head after head."""
    return outputs.permute(0, 2, 3, 1).flatten(2)


def attention_mask_ignored(mask, attention_mask):
    """The `attention_mask` is not used."""
    return both_masks(mask, None)


def padding_mask_ignored(mask, attention_mask):
    """The `mask` is not used, so padding gets weight."""
    return both_masks(None, attention_mask)


def one_mask_replaces_the_other(mask, attention_mask):
    """Where both masks are given, only the `attention_mask` is used. A token needs the permission of both: use `&`."""
    return both_masks(mask if attention_mask is None else None, attention_mask)


def attention_mask_forgotten_beside_the_other(mask, attention_mask):
    """Where both masks are given, only the `mask` is used. A token needs the permission of both: use `&`."""
    return both_masks(mask, attention_mask if mask is None else None)


def axis_of_heads_missing(mask, attention_mask):
    """An `attention_mask` for each text, (batch, tokens, tokens), is laid over the heads instead of the texts. Give it
    an axis for the heads: `attention_mask[:, None]`."""
    allowed = both_masks(mask, None)
    return allowed if attention_mask is None else attention_mask & (True if allowed is None else allowed)


def attention_mask_inverted(mask, attention_mask):
    """The `attention_mask` is the wrong way round. PyTorch's own layer hides where it is True; here True means may
    attend."""
    return both_masks(mask, None if attention_mask is None else ~attention_mask)


def either_mask_permits(mask, attention_mask):
    """A token may be attended to where one of the two masks is True. It needs both: `&` instead of `|`."""
    if mask is None or attention_mask is None:
        return both_masks(mask, attention_mask)
    return attention_mask[..., None, :, :] | mask[:, None, None, :]


def attention_mask_transposed(mask, attention_mask):
    """The `attention_mask` is transposed: its rows are the queries, its columns the tokens that they may attend to."""
    return both_masks(mask, None if attention_mask is None else attention_mask.mT)


def padded_queries_hidden(mask, attention_mask):
    """The mask hides rows instead of columns, so padding is attended to. Give it the shape (batch, 1, 1, tokens)."""
    allowed = both_masks(None, attention_mask)
    if mask is None:
        return allowed
    return mask[:, None, :, None] if allowed is None else allowed & mask[:, None, :, None]


def masks_inverted(mask, attention_mask):
    """The masks are the wrong way round. PyTorch's own layer hides where True; here True means may attend."""
    allowed = both_masks(mask, attention_mask)
    return None if allowed is None else ~allowed


def no_output_projection(output, weights, outputs, x):
    """`W_output` is not used: it projects the concatenated outputs of the heads."""
    return join(outputs), weights


def averaged_weights(output, weights, outputs, x):
    """The weights are averaged over the heads. Return those of each head, (batch, num_heads, tokens, tokens)."""
    return output, weights.mean(dim=1)


def residual_added(output, weights, outputs, x):
    """The input is added to the output. There is no residual connection in this layer."""
    return x + output, weights


def projected_alike(name, used):
    """A mistake in which one projection does the work of another."""

    def one_projection_for_two(**given):
        return heads(**given | {name: given[used]})

    one_projection_for_two.__doc__ = f"`{used}` is used where `{name}` is needed."
    return one_projection_for_two


def batch(shape, num_heads, lengths=None, padding_first=False, scale=1.0, **attention_mask):
    """A batch with masks; with `lengths` each text has padding, for else `~mask` would hide whole texts."""
    mask = trials.real_tokens([*lengths, shape[1]], padding_first)[:-1] if lengths else None
    inputs = {"x": scale * draw(*shape), "mask": mask, **attention_mask}
    return Case(inputs, {"d_model": shape[2], "num_heads": num_heads})


def one_mask_each(texts, tokens):
    """Which token may attend to which, (texts, tokens, tokens), different in each text."""
    return (draw(texts, tokens, tokens, seed=7) > 0) | torch.eye(tokens, dtype=torch.bool)


def fits_into_the_lab(answer):
    """The lab reads four nn.Linear with biases, and numbers of heads that do not fit are refused with a sentence."""
    for name in ("W_query", "W_key", "W_value", "W_output"):
        if not isinstance(part := getattr(answer(9, 3), name), nn.Linear) or part.bias is None:
            raise Wrong(f"The lab reads `{name}` as an `nn.Linear` with a bias.", "no nn.Linear")
    for d_model, num_heads in ((9, 2), (4, 8)):
        try:
            answer(d_model, num_heads)(draw(1, 3, d_model))
        except ValueError as error:
            if not str(error):
                raise Wrong("Give the ValueError a sentence that says what does not fit.", "no sentence") from None
            continue
        except Exception:
            pass  # another error does not say what to do
        raise Wrong(
            f"{num_heads} heads cannot share a width of {d_model}: raise a ValueError with a sentence.", "not refused"
        )


many_heads = Check(
    reference=heads_by_pytorch,
    solution=MultiHeadSelfAttention,
    parts=("num_heads", "W_query", "W_key", "W_value", "W_output"),
    cases=[
        batch((3, 3, 9), 3, [2, 1, 2]),
        Case({"x": draw(2, 5, 9)}, {"d_model": 9, "num_heads": 3}),
        batch((2, 4, 6), 2),
        batch((2, 5, 6), 2, [3, 4]),
        batch((4, 4, 8), 4, [1, 3, 2, 3], padding_first=True),
        batch((1, 3, 5), 1, [2]),
        batch((12, 3, 6), 2, [1] * 8 + [2] * 4, scale=12.0),
        batch((2, 4, 6), 2, attention_mask=causal_mask(4)),
        batch((3, 5, 9), 3, [4, 2, 3], attention_mask=causal_mask(5)),
        batch((2, 4, 8), 4, [3, 2], padding_first=True, attention_mask=causal_mask(4)),
        batch((2, 4, 6), 2, [3, 4], attention_mask=one_mask_each(2, 4)),
        batch((3, 5, 8), 4, attention_mask=one_mask_each(3, 5)),
    ],
    mistakes=[
        *(changed(heads, split=step) for step in (
            reshaped, every_third_column, head_dim_and_num_heads_exchanged, one_head, one_softmax_for_each_column)),
        *(changed(heads, join=step) for step in (joined_by_reshape, joined_in_turn)),
        *(changed(heads, combine=step) for step in (
            masks_inverted, attention_mask_ignored, padding_mask_ignored, one_mask_replaces_the_other,
            either_mask_permits, attention_mask_transposed, padded_queries_hidden, attention_mask_inverted,
            attention_mask_forgotten_beside_the_other, axis_of_heads_missing)),
        *(changed(partial(heads, weigh=weigh), combine=attention_mask_inverted) for weigh in (
            trials.weight_for_padding, trials.nan_for_padding)),
        *(changed(heads, score=step) for step in trials.SCORE_MISTAKES),
        *(changed(heads, weigh=step) for step in trials.MASK_MISTAKES),
        *(changed(heads, weigh=step) for step in (trials.softmax_over_queries, trials.nan_for_padding)),
        *(changed(heads, finish=step) for step in (no_output_projection, averaged_weights, residual_added)),
        changed(partial(heads, weigh=trials.weight_for_padding), finish=averaged_weights),
        *(projected_alike(*pair) for pair in (
            ("W_value", "W_key"), ("W_key", "W_value"),
            ("W_value", "W_query"))),
    ],
    section=LAYER,
    last_look=fits_into_the_lab,
)  # fmt: skip


# --- fix_the_heads -------------------------------------------------------------------------------------------------


def joined_by_pytorch(queries, keys, values, num_heads, mask):
    """What a padded token gets does not matter."""
    outputs, weights = trials.attend(*(split(x, num_heads) for x in (queries, keys, values)), mask[:, None, None, :])
    return tuple(rows.masked_fill(~mask[:, :, None], math.nan) for rows in (join(outputs), weights.mean(dim=1)))


def in_turn(x, head, num_heads):
    return x[:, :, head::num_heads]


def block(x, head, num_heads):
    return x.chunk(num_heads, dim=2)[head]


def one_by_one(queries, keys, values, num_heads, mask, take=block, width=None, weigh=trials.masked):
    """The heads in a loop; `width` is that of the scale, head_dim unless given."""
    outputs, all_weights = [], []
    for head in range(num_heads):
        q, k, v = (take(x, head, num_heads) for x in (queries, keys, values))
        weights = weigh(q @ k.mT / math.sqrt(width or q.shape[2]), mask[:, None, :])
        outputs.append(weights @ v)
        all_weights.append(weights)
    return torch.cat(outputs, dim=2), torch.stack(all_weights).mean(dim=0)


def zero_for_padding(scores, mask):
    return scores.masked_fill(~mask, 0.0).softmax(-1)


def faults_left(sentence, name, **faults):
    """The loop with these of its faults: `take`, `width` (of all heads), `weigh`."""

    def mistake(**given):
        return one_by_one(**given, **faults | ({"width": given["queries"].shape[2]} if "width" in faults else {}))

    mistake.__name__, mistake.__doc__ = name, sentence
    return mistake


TAKE, WIDTH, WEIGH = {"take": in_turn}, {"width": 0}, {"weigh": zero_for_padding}
MORE = "More than one fault is left. Compare each line with the formula, for a case with three heads and padding."


def outputs_added(**given):
    """The heads' outputs are added up. Concatenate them along the last axis."""
    return sum(one_by_one(**given)[0].chunk(given["num_heads"], dim=2)), one_by_one(**given)[1]


def weights_of_one_head(**given):
    """The weights are those of a single head. Return the mean over the heads."""
    first = {name: given[name].chunk(given["num_heads"], dim=2)[-1] for name in ("queries", "keys", "values")}
    return one_by_one(**given)[0], one_by_one(**given | first | {"num_heads": 1})[1]


def weights_summed(**given):
    """The weights of the heads are summed. Return their mean, whose rows sum to 1."""
    outputs, weights = one_by_one(**given)
    return outputs, weights * given["num_heads"]


def projected(shape, num_heads, lengths, padding_first=False, scale=1.0):
    mask = trials.real_tokens([*lengths, shape[1]], padding_first)[:-1]
    inputs = {name: scale * draw(*shape, seed=seed) for seed, name in enumerate(("queries", "keys", "values"))}
    return Case(inputs | {"num_heads": num_heads, "mask": mask})


fix_the_heads = Check(
    reference=joined_by_pytorch,
    cases=[
        projected((2, 4, 6), 3, [4, 2]),
        projected((3, 3, 9), 3, [3, 1, 2]),
        projected((2, 5, 8), 2, [3, 4], padding_first=True),
        projected((1, 3, 5), 1, [2]),
        projected((2, 4, 8), 4, [2, 3], scale=12.0),
    ],
    mistakes=[
        *(faults_left(MORE, "several_faults_left", **faults)
          for faults in (TAKE | WIDTH | WEIGH, TAKE | WIDTH, TAKE | WEIGH, WIDTH | WEIGH)),
        faults_left("One fault is left: head h takes every num_heads-th column from h on, and not the block of columns "
                    "from h * head_dim to (h + 1) * head_dim.", "columns_in_turn", **TAKE),
        faults_left("One fault is left: the scale is the root of the width of all heads together. A head's dot product "
                    "has head_dim terms.", "scale_of_all_heads", **WIDTH),
        faults_left("One fault is left: a score of 0 gives padding weight, because exp(0) = 1. Fill with -inf.",
                    "score_of_zero", **WEIGH),
        *(changed(one_by_one, weigh=step) for step in (*trials.MASK_MISTAKES, trials.softmax_over_queries)
          if step.__name__ != "padding_scored_zero"),  # which is the third fault
        outputs_added, weights_of_one_head, weights_summed,
    ],
    section=SPLIT,
)  # fmt: skip


# --- effect_of_a_head ----------------------------------------------------------------------------------------------


def differences(unexplained_by, seeds, wide=(8, 1), narrow=(2, 2)):
    return torch.tensor(
        [unexplained_by(*wide, seed) - unexplained_by(*narrow, seed) for seed in seeds], dtype=torch.float64
    )


def interval(unexplained_by, seeds, **layers):
    return trials.interval_by_sums(differences(unexplained_by, seeds, **layers), 2.776)


def two_heads_minus_one(unexplained_by, seeds):
    """The difference has the wrong sign: the exercise asks for one wide head minus two narrow ones."""
    return interval(lambda *run: -unexplained_by(*run), seeds)


def width_of_one_head(unexplained_by, seeds):
    """`d_model` is the width of all heads together: two heads that are 1 wide each have an `d_model` of 2."""
    return interval(unexplained_by, seeds, narrow=(1, 2))


def two_wide_heads(unexplained_by, seeds):
    """The two heads are 8 wide each. Compare with two heads that are 1 wide each: `d_model` is 2."""
    return interval(unexplained_by, seeds, narrow=(16, 2))


def heads_share_eight(unexplained_by, seeds):
    """The two heads share a width of 8. The exercise asks for two heads that are 1 wide each, `d_model` 2."""
    return interval(unexplained_by, seeds, narrow=(8, 2))


def one_narrow_head(unexplained_by, seeds):
    """The one head is not 8 wide, so it has no more than the two."""
    return interval(unexplained_by, seeds, wide=(2, 1))


def arguments_exchanged(unexplained_by, seeds):
    """`d_model` and `num_heads` are exchanged: the width comes first."""
    return interval(unexplained_by, seeds, wide=(1, 8))


def pairing_lost(unexplained_by, seeds):
    """The interval is that of two separate groups. Subtract seed by seed first: what both share cancels."""
    first, second = (torch.tensor([unexplained_by(*pair, s) for s in seeds]) for pair in ((8, 1), (2, 2)))
    half = 2.776 * math.sqrt((first.var() + second.var()) / len(first))
    return (first - second).mean(), half


def known_result(d_model, num_heads, seed):
    return trials.synthetic_accuracy(d_model, num_heads, seed)


def opposite(d_model, num_heads, seed):
    return 1 - known_result(d_model, num_heads, seed)


def with_quantile_of_the_lab(result, unexplained_by, seeds):
    """The quantile with all its digits is as good as 2.776."""
    exact, rounded = (
        trials.interval_by_sums(differences(unexplained_by, seeds), quantile) for quantile in (None, 2.776)
    )
    agree = isinstance(result, (tuple, list)) and len(result) == 2 and abs(float(result[1]) - exact[1]) < 1e-6
    return (result[0], rounded[1]) if agree else result


effect_of_a_head = Check(
    reference=interval,
    cases=[
        Case({"unexplained_by": run, "seeds": seeds})
        for run, seeds in ((known_result, range(5)), (opposite, [3, 5, 8, 13, 21]), (known_result, range(10, 15)))
    ],
    mistakes=[
        two_heads_minus_one, width_of_one_head, two_wide_heads, heads_share_eight, one_narrow_head, arguments_exchanged,
        pairing_lost, *trials.seed_mistakes(interval), *trials.interval_mistakes(differences),
    ],
    section="Many heads, “Exercise 8.3 (experiment): heads or width?”",
    canonical=with_quantile_of_the_lab,
)  # fmt: skip

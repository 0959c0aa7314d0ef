"""The checks of *Recap: attention*: a learned query, a softmax with a mask, a mean without padding."""

import math

import torch
from torch import Tensor, nn

from checks import trials
from checks.engine import Case, Check
from checks.trials import changed, check_parameters, draw, goes_on, real_tokens
from shared import model

BY_HAND = "Recap: attention, “By hand, with four words”"
PADDING = "Recap: attention, “Film reviews”"


# --- masked_softmax ------------------------------------------------------------------------------------------------


def exponentials_by_hand(eps):
    def exponentials_by_hand(scores, mask):
        """The exponential of a large score overflows, and a text of padding alone has only zeros to divide. Hide the
        scores of padding with the dtype's lowest number, use `softmax`, then multiply by the mask."""
        exponentials = scores.exp() * mask
        return exponentials / (exponentials.sum(dim=1, keepdim=True) + eps)

    return exponentials_by_hand


def maximum_of_padding(scores, mask):
    """The maximum that is subtracted is taken over padding, too. Where padding has a much larger score, the
    exponentials of all real tokens are 0. Take it over the real tokens alone."""
    exponentials = (scores - scores.amax(dim=1, keepdim=True)).exp() * mask
    return exponentials / exponentials.sum(dim=1, keepdim=True).clamp(min=1e-9)


def divided_by_their_sum(scores, mask):
    """NaN: after the softmax a text of padding alone has only zeros, which are divided by their sum. Hide the scores of
    padding before the softmax, and nothing has to be divided.
    """
    weights = scores.softmax(1) * mask
    return weights / weights.sum(dim=1, keepdim=True)


def softmax_over_the_texts(scores, mask):
    """The softmax runs over axis 0, the texts. Let it run over the tokens of each text: `dim=1`."""
    return trials.hidden(scores, mask).softmax(0) * mask


# Scores of exactly 0 are scores like any other; padding has the highest.
REAL_ZEROS = torch.tensor([[0.0, 1.0, 5.0], [0.0, 0.0, -1.0]], dtype=torch.float64)

masked_softmax = Check(
    reference=trials.masked,
    solution=model.masked_softmax,
    cases=[
        *(Case({"scores": draw(*mask.shape, seed=seed), "mask": mask}) for seed, mask in enumerate(trials.MASKS)),
        Case({"scores": 30_000 * draw(13, 3, seed=5), "mask": trials.ONE_REAL_TOKEN}),
        Case({"scores": REAL_ZEROS, "mask": real_tokens([2, 3])}),
        Case({"scores": draw(1, 5, seed=6), "mask": real_tokens([5])}),
    ],
    mistakes=[
        *trials.MASK_MISTAKES, trials.nan_for_padding, trials.weight_for_padding,
        *map(exponentials_by_hand, (0, 1e-9)), divided_by_their_sum, softmax_over_the_texts,
        maximum_of_padding,
    ],
    section=PADDING,
    needs_gradient=("scores",),
)  # fmt: skip


# --- learned_query -------------------------------------------------------------------------------------------------


def weighted_mean(x, query, mask=None, weigh=trials.masked):
    """The right way, one step of which a known mistake exchanges."""
    mask = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask
    weights = weigh(query(x).squeeze(2), mask)
    return (weights.unsqueeze(2) * x).sum(dim=1), weights


def weights_not_used(x, query, mask=None):
    """Every token counts the same: the weights are computed, but x is averaged without them."""
    return x.mean(dim=1), weighted_mean(x, query, mask)[1]


def mean_of_weighted(x, query, mask=None):
    """The weighted rows are averaged. The weights already sum to 1, so take the sum over the tokens."""
    weights = weighted_mean(x, query, mask)[1]
    return (weights.unsqueeze(2) * x).mean(dim=1), weights


def softmax_over_texts(x, query, mask=None):
    """Without a mask the softmax runs over axis 0, the texts. Let it run over the tokens of each text: `dim=1`."""
    return weighted_mean(x, query, mask, (lambda scores, _: scores.softmax(0)) if mask is None else trials.masked)


def scores_divided(x, query, mask=None):
    """The scores are divided by sqrt(d_model), which this exercise does not ask for. Leave out the division."""
    return weighted_mean(x, lambda x: query(x) / math.sqrt(x.shape[2]), mask)


def results_exchanged(x, query, mask=None):
    """The weights come first: the exercise asks for the output, then the weights."""
    return weighted_mean(x, query, mask)[::-1]


def fits_into_the_lab(answer):
    """The lab multiplies names and positions by the query."""
    layer = goes_on("`LearnedQuery(d_model=32)`", lambda: answer(d_model=32))
    check_parameters(layer, query=(32,))


def with_a_zero_token(mask, d_model):
    """A real token of zeros has the score 0."""
    x = draw(*mask.shape, d_model, seed=8).index_fill(1, torch.tensor(0), 0.0)
    return Case({"x": x, "mask": mask}, {"d_model": d_model})


def texts(d_model, mask, seed, scale=1.0):
    return Case({"x": draw(*mask.shape, d_model, seed=seed), "mask": mask}, {"d_model": d_model}, scale)


class LearnedQuery(nn.Module):
    """A mean of the tokens, weighted by their dot products with one learned query.

    x (batch, tokens, d_model) to the output (batch, d_model) and the weights (batch, tokens).
    `mask` is (batch, tokens), True for a real token; None where all are.
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_model) / math.sqrt(d_model))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        scores = x @ self.query  # (batch, tokens)
        weights = model.masked_softmax(scores, mask)  # (batch, tokens)
        return model.weighted_sum(weights, x), weights


learned_query = Check(
    reference=weighted_mean,
    solution=LearnedQuery,
    parts=("query",),
    cases=[
        Case({"x": draw(3, 8, 4, seed=7)}, {"d_model": 4}),
        *(texts((4, 2, 3, 4, 6, 4)[seed], mask, seed) for seed, mask in enumerate(trials.MASKS)),
        texts(4, trials.ONE_REAL_TOKEN, 5, scale=20_000.0), with_a_zero_token(real_tokens([2, 3]), 4),
        texts(4, real_tokens([5]), 9),
    ],
    mistakes=[
        *(changed(weighted_mean, weigh=step) for step in trials.MASK_MISTAKES),
        softmax_over_texts, scores_divided, weights_not_used, mean_of_weighted, results_exchanged,
    ],
    section=BY_HAND,
    last_look=fits_into_the_lab,
)  # fmt: skip


# --- masked_mean ---------------------------------------------------------------------------------------------------


def mean_by_loops(x, mask):
    return torch.stack([x[real].sum(dim=0) / max(int(real.sum()), 1) for x, real in zip(x, mask, strict=True)])


def mean(x, counted, counts):
    return (x * counted.unsqueeze(2)).sum(dim=1) / counts


def both_bugs_left(x, mask):
    """Two bugs are left: counts (batch,) line up with the sum's columns, and a text of padding alone divides by 0."""
    return mean(x, mask, mask.sum(dim=1))


def axis_of_counts_lost(x, mask):
    """The first bug is left: counts (batch,) line up with the sum's columns, not with texts. Use `keepdim=True`."""
    return mean(x, mask, mask.sum(dim=1).clamp(min=1))


def divided_by_zero(x, mask):
    """The second bug is left: a text of padding alone gives 0 / 0, and that's NaN. Divide by at least 1."""
    return mean(x, mask, mask.sum(dim=1, keepdim=True))


def padding_in_the_mean(x, mask):
    """Padding is in the mean. Multiply x by the mask before you sum, and count the positions where the mask is True."""
    return x.mean(dim=1)


def padding_in_the_sum(x, mask):
    """Padding is in the sum, though not in the count. Multiply x by the mask first."""
    return mean(x, torch.ones_like(mask), mask.sum(dim=1, keepdim=True).clamp(min=1))


def all_positions_counted(x, mask):
    """The sum is divided by the number of positions, padding included, so means of short texts come out too small."""
    return mean(x, mask, mask.shape[1])


def one_added_to_counts(x, mask):
    """The counts are one too large. `clamp(min=1)` changes only a count of 0."""
    return mean(x, mask, mask.sum(dim=1, keepdim=True) + 1)


def whole_batch_counted(x, mask):
    """The sum is divided by the number of real tokens of the whole batch. Count those of each text: sum over axis 1."""
    return mean(x, mask, mask.sum())


def with_zeros(mask, d_model, seed):
    """Features of which a few are exactly 0, so that non-zero x are not the same as real tokens."""
    x = draw(*mask.shape, d_model, seed=seed)
    return Case({"x": x * (x > -1), "mask": mask})


masked_mean = Check(
    reference=mean_by_loops,
    cases=[with_zeros(mask, (4, 2, 3, 4, 5, 3)[seed], seed) for seed, mask in enumerate(trials.MASKS)],
    mistakes=[
        both_bugs_left, axis_of_counts_lost, divided_by_zero, padding_in_the_mean, padding_in_the_sum,
        all_positions_counted, one_added_to_counts, whole_batch_counted,
    ],
    section=PADDING,
)  # fmt: skip

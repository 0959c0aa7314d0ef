"""What the checks share: inputs, PyTorch's attention as a reference, and the known mistakes of many exercises.

A family of mistakes takes the exercise's own computation as a function and changes one step of it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from shared.statistics import mean_and_interval


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in double precision, always the same for the same shape and seed."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def real_tokens(lengths: Sequence[int], padding_first: bool = False) -> Tensor:
    """The mask of texts with so many real tokens each, (batch, tokens) bool."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]  # (batch, tokens)
    return mask.flip(1) if padding_first else mask


# Padding behind, none, in front with a text of padding only, texts and tokens of one number, one token, one text.
MASKS = [
    real_tokens([5, 3, 1]),
    real_tokens([6, 6]),
    real_tokens([4, 0, 2], padding_first=True),
    real_tokens([4, 3, 2, 1]),
    real_tokens([1, 1]),
    real_tokens([4])[:, [0, 1, 2, 3, 3]] & torch.tensor([True, True, True, True, False]),
]
ONE_REAL_TOKEN = real_tokens([1, 2] * 6 + [3])  # of so many texts, one has a score below a careless fill for padding


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """PyTorch's own attention: the outputs, and the weights, which are the outputs of an identity matrix as values.

    queries (..., m, d_k), keys (..., n, d_k), values (..., n, d_v); mask bool (..., n), or one for each query,
    (..., m, n).
    """
    identity = torch.eye(keys.shape[-2], dtype=keys.dtype).expand(*keys.shape[:-2], -1, -1)
    if mask is not None and mask.dim() < queries.dim():
        mask = mask[..., None, :]
    attention = nn.functional.scaled_dot_product_attention
    output, weights = (attention(queries, keys, v, attn_mask=mask, scale=scale) for v in (values, identity))
    return output, weights


def changed(function: Callable, **steps: Callable) -> Callable:
    """A known mistake: `function` with one step exchanged, under the name and with the sentence of that step."""
    (step,) = steps.values()

    def mistake(**given: Any) -> Any:
        return function(**given, **steps)

    mistake.__name__, mistake.__doc__ = step.__name__, step.__doc__
    return mistake


# --- scores to weights: each takes the scores (..., n) and the mask, of the same number of axes --------------------


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """The right way."""
    return scores.masked_fill(~mask, -1e300).softmax(-1) * mask


def no_mask(scores, mask):
    """Padding gets weight, because the softmax runs over all positions. Hide the scores of padding before it."""
    return scores.softmax(-1)


def mask_after_softmax(scores, mask):
    """The weights of a text do not sum to 1, because padding is removed after the softmax. Hide its scores before."""
    return scores.softmax(-1) * mask


def mask_inverted(scores, mask):
    """The mask is the wrong way round. PyTorch's own layers hide where a mask is True; here True marks a real token, so
    fill the scores where it is False: `masked_fill(~mask, ...)`."""
    return scores.masked_fill(mask, -1e300).softmax(-1)


def only_padding_weighted(scores, mask):
    """The mask is the wrong way round: all weight goes to padding. PyTorch's own layers hide where a mask is True; here
    True marks a real token."""
    return masked(scores, ~mask)


def padding_scored_zero(scores, mask):
    """A score of 0 is not no weight, because exp(0) = 1. Fill the scores of padding with the lowest number, or -inf."""
    return (scores * mask).softmax(-1)


def mask_added(scores, mask):
    """The mask is added to the scores as 0 and 1, which hides nothing. Fill the scores where the mask is False."""
    return (scores + mask).softmax(-1)


def softmax_left_out(scores, mask):
    """Scores are used as weights. A softmax makes them positive, and lets each row sum to 1."""
    return scores


def sigmoid_for_softmax(scores, mask):
    """A sigmoid gives each token a weight of its own, so they do not sum to 1. Use a softmax over the tokens."""
    return scores.sigmoid()


def softmax_over_batch(scores, mask):
    """The softmax runs over the batch, so that texts compete. Let it run over the tokens attended to, the last axis."""
    return scores.masked_fill(~mask, -1e300).softmax(0)


def softmax_over_queries(scores, mask):
    """The softmax runs over the queries, so columns sum to 1. Let it run over the tokens attended to, the last axis."""
    return scores.masked_fill(~mask, -1e300).softmax(-2)


def nan_for_real_tokens(scores, mask):
    """NaN: the mask is the wrong way round, so a text without padding has only -inf. PyTorch's own layers hide where a
    mask is True; here True marks a real token, so fill where it is False: `masked_fill(~mask, ...)`."""
    return scores.masked_fill(mask, -math.inf).softmax(-1)


def nan_in_columns(scores, mask):
    """NaN: the softmax runs over the queries, and a column of padding is all -inf. Let it run over the tokens attended
    to, the last axis."""
    return scores.masked_fill(~mask, -math.inf).softmax(-2)


def nan_for_padding(scores, mask):
    """NaN: a row that may attend to nothing is all -inf. Use the dtype's lowest number, and multiply by the mask."""
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def weight_for_padding(scores, mask):
    """A row without any real token still gets weights, all equal. Multiply by the mask after the softmax."""
    return scores.masked_fill(~mask, -1e300).softmax(-1)


def fill_of(number: float) -> Callable:
    """A fill for padding that is too small."""

    def fill_too_small(scores, mask):
        """Padding is not hidden where real scores are low, too: the fill is too small a number. Use the lowest number
        of the dtype, `torch.finfo(scores.dtype).min`, or -inf."""
        return scores.masked_fill(~mask, number).softmax(-1)

    return fill_too_small


def then_zero(weigh: Callable) -> Callable:
    """The same mistake, after which the weights of padding are set to 0."""

    def mistake(scores, mask):
        return weigh(scores, mask) * mask

    mistake.__name__, mistake.__doc__ = weigh.__name__, weigh.__doc__
    return mistake


_WRONG_WEIGHTS = (
    mask_inverted, padding_scored_zero, mask_added, softmax_left_out, sigmoid_for_softmax, softmax_over_batch,
    *map(fill_of, (-10.0, -20.0, -50.0, -100.0)),
)  # fmt: skip
MASK_MISTAKES = (
    no_mask, mask_after_softmax, only_padding_weighted, *_WRONG_WEIGHTS, *map(then_zero, _WRONG_WEIGHTS),
)  # fmt: skip


# --- queries and keys to scores: each takes queries (..., n, d_k), keys (..., n, d_k) and the width d_model --------


def scaled(queries: Tensor, keys: Tensor, d_model: int) -> Tensor:
    """The right way."""
    return queries @ keys.mT / math.sqrt(keys.shape[-1])


def not_scaled(queries, keys, d_model):
    """The scores are not divided by sqrt(d_k). Without it the softmax gets sharper, the wider the keys are."""
    return queries @ keys.mT


def root_left_out(queries, keys, d_model):
    """The scores are divided by d_k instead of sqrt(d_k): `math.sqrt` is missing."""
    return queries @ keys.mT / keys.shape[-1]


def multiplied_by_root(queries, keys, d_model):
    """The scores are multiplied by sqrt(d_k); divide by it."""
    return queries @ keys.mT * math.sqrt(keys.shape[-1])


def root_of_d_model(queries, keys, d_model):
    """The scores are divided by sqrt(d_model). A dot product of keys has d_k terms, so divide by sqrt(d_k)."""
    return queries @ keys.mT / math.sqrt(d_model)


def root_of_tokens(queries, keys, d_model):
    """The scores are divided by the root of the number of tokens. d_k is the last axis of the keys."""
    return queries @ keys.mT / math.sqrt(keys.shape[-2])


def queries_and_keys_exchanged(queries, keys, d_model):
    """The scores are transposed: row i must hold the query of token i with all keys, so it is Q Kᵀ and not K Qᵀ."""
    return scaled(keys, queries, d_model)


def transpose_left_out(queries, keys, d_model):
    """The keys are not transposed. Q Kᵀ has a row for each query and a column for each key."""
    return queries @ keys / math.sqrt(keys.shape[-1])


def reshaped_for_transposed(queries, keys, d_model):
    """The keys are reshaped where they have to be transposed: that gives the shape, but mixes the numbers of tokens."""
    return queries @ keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2]) / math.sqrt(keys.shape[-1])


def queries_with_queries(queries, keys, d_model):
    """The queries are compared with themselves; the keys are not used."""
    return queries @ queries.mT / math.sqrt(keys.shape[-1])


def keys_with_keys(queries, keys, d_model):
    """The keys are compared with themselves; the queries are not used."""
    return scaled(keys, keys, d_model)


SCORE_MISTAKES = (
    not_scaled, root_left_out, multiplied_by_root, root_of_d_model, root_of_tokens, queries_and_keys_exchanged,
    transpose_left_out, reshaped_for_transposed, queries_with_queries, keys_with_keys,
)  # fmt: skip


# --- experiments: `values_of(**inputs)` gives the values of which mean and half-width are asked, or a dict of such --


def finished(values_of: Callable, finish: Callable, **settings: Any) -> Callable:
    """An experiment that ends with `finish(values, **settings)`, under its name and with its sentence."""

    def mistake(**given: Any) -> Any:
        values = values_of(**given)
        if isinstance(values, dict):
            return {key: finish(torch.as_tensor(row, dtype=torch.float64), **settings) for key, row in values.items()}
        return finish(torch.as_tensor(values, dtype=torch.float64), **settings)

    mistake.__name__, mistake.__doc__ = finish.__name__, finish.__doc__
    return mistake


def standard_error(values):
    """The half-width is one standard error. Multiply it by the quantile of Student's t."""
    return values.mean(), values.std() / math.sqrt(len(values))


def standard_deviation(values):
    """The half-width is the standard deviation of the runs. Their mean varies less: divide it by sqrt(n)."""
    return values.mean(), values.std()


def normal_quantile(values):
    """The quantile 1.96 belongs to the normal distribution. A few runs need Student's t, which is larger."""
    return values.mean(), 1.96 * values.std() / math.sqrt(len(values))


def whole_width(values, interval=mean_and_interval):
    """The second number is the whole width of the interval, twice what is asked."""
    mean, half = interval(values)
    return mean, 2 * half


def ends(values, interval=mean_and_interval):
    """The two ends of the interval are returned instead of mean and half-width."""
    mean, half = interval(values)
    return mean - half, mean + half


def half_first(values, interval=mean_and_interval):
    """Mean and half-width are returned in the wrong order."""
    return interval(values)[::-1]


def values_returned(values):
    """All values are returned instead of their mean and half-width."""
    return values


def interval_mistakes(values_of: Callable) -> list[Callable]:
    """The wrong ways to make mean and half-width of the right values."""
    ways = (standard_error, standard_deviation, normal_quantile, whole_width, ends, half_first, values_returned)
    return [finished(values_of, way) for way in ways]


def two_standard_errors(values):
    """The right way in an exercise that asks for two standard errors in place of Student's t."""
    return values.mean(), 2 * values.std() / math.sqrt(len(values))


def one_standard_error(values):
    """The half-width is one standard error; the exercise asks for two."""
    return values.mean(), values.std() / math.sqrt(len(values))


def root_of_n_left_out(values):
    """The half-width is two standard deviations. The mean of n values varies less: divide by sqrt(n)."""
    return values.mean(), 2 * values.std()


def divided_by_n(values):
    """The half-width is divided by n instead of sqrt(n)."""
    return values.mean(), 2 * values.std() / len(values)


def ddof_zero(values):
    """The standard deviation divides by n. An estimate from a sample divides by n - 1: in NumPy, `std(ddof=1)`."""
    return values.mean(), 2 * values.std(correction=0) / math.sqrt(len(values))


def students_t(values):
    """The half-width uses the quantile of Student's t. Here the exercise asks for two standard errors."""
    return mean_and_interval(values)


def two_standard_errors_mistakes(values_of: Callable) -> list[Callable]:
    """The wrong ways to make mean and two standard errors of the right values."""
    ways = (one_standard_error, root_of_n_left_out, divided_by_n, ddof_zero, students_t, values_returned)
    mistakes = [finished(values_of, way) for way in ways]
    return mistakes + [
        finished(values_of, way, interval=two_standard_errors) for way in (whole_width, ends, half_first)
    ]


def seed_mistakes(answer: Callable) -> list[Callable]:
    """What goes wrong with the argument `seeds` of an experiment, of which `answer(**inputs)` is the right result."""

    def one_seed_for_all(**given):
        """Every run uses the same seed, so the runs do not vary by chance. Pass each seed of `seeds` to its run."""
        return answer(**given | {"seeds": [given["seeds"][0]] * len(given["seeds"])})

    def own_seeds(**given):
        """The seeds are 0, 1, 2, ... and not those of the argument `seeds`. Write `for seed in seeds`."""
        return answer(**given | {"seeds": range(len(given["seeds"]))})

    def seed_left_out(**given):
        """The last seed is left out. Write `for seed in seeds`."""
        return answer(**given | {"seeds": list(given["seeds"])[:-1]})

    return [one_seed_for_all, own_seeds, seed_left_out]


def synthetic_accuracy(*settings_and_seed: Any) -> float:
    """What a run "measures" in the cases of an experiment, without training, by its settings and its seed."""
    *settings, seed = settings_and_seed
    level = sum(n * (len(value) if isinstance(value, str) else value) for n, value in enumerate(settings, 2))
    return 0.6 + 0.1 * math.cos(level) + 0.15 * math.sin(7 * seed + 1) + 0.04 * math.cos(level + 3 * seed)


def interval_by_sums(values: Sequence[float], quantile: float | None = None) -> tuple[float, float]:
    """Mean and half-width of the 95% interval, by the formulas; `quantile` instead of Student's t."""
    n, mean = len(values), float(sum(values)) / len(values)
    spread = math.sqrt(sum(float(value - mean) ** 2 for value in values) / (n - 1))
    if quantile is None:
        from scipy import stats

        quantile = float(stats.t.ppf(0.975, n - 1))
    return mean, quantile * spread / math.sqrt(n)

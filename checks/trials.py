"""What the checks share: inputs, PyTorch's attention as a reference, and the known mistakes of many
exercises.

A family of mistakes takes the exercise's own computation as a function and changes one step of it.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from itertools import combinations
from typing import Any

import torch
from scipy.special import stdtrit
from torch import Tensor, nn

from checks.compare import Wrong
from checks.running import error_sentence, outcome
from shared.intervals import mean_and_interval


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in double precision, always the same for the same shape and seed."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def real_tokens(lengths: Sequence[int], padding_first: bool = False) -> Tensor:
    """The mask of texts with so many real tokens each, (batch, tokens) bool."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]  # (batch, tokens)
    return mask.flip(1) if padding_first else mask


# Padding behind, none, in front with a text of padding only, texts and tokens of one number, one
# token, one text.
MASKS = [
    real_tokens([5, 3, 1]),
    real_tokens([6, 6]),
    real_tokens([4, 0, 2], padding_first=True),
    real_tokens([4, 3, 2, 1]),
    real_tokens([1, 1]),
    real_tokens([4])[:, [0, 1, 2, 3, 3]] & torch.tensor([True, True, True, True, False]),
]
# of so many texts, one has a score below a careless fill for padding
ONE_REAL_TOKEN = real_tokens([1, 2] * 6 + [3])


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """PyTorch's own attention: the outputs, and the weights, which are the outputs of an identity
    matrix as values.

    queries (..., m, d_k), keys (..., n, d_k), values (..., n, d_v); mask bool (..., n), or one for
    each query, (..., m, n).
    """
    identity = torch.eye(keys.shape[-2], dtype=keys.dtype).expand(*keys.shape[:-2], -1, -1)
    if mask is not None and mask.dim() < queries.dim():
        mask = mask[..., None, :]
    attention = nn.functional.scaled_dot_product_attention
    return attention(queries, keys, values, mask), attention(queries, keys, identity, mask)


def changed(function: Callable, **steps: Callable) -> Callable:
    """A known mistake: `function` with one step exchanged, under the name and with the sentence of
    that step.
    """
    (step,) = steps.values()
    return update_wrapper(partial(function, **steps), step)


def bugs_left(function: Callable, several: Callable, **bugs: Callable) -> list[Callable]:
    """What is left of the bugs of an exercise, each in a step of `function`: several, with their
    sentence, or one.
    """
    some = [
        dict(left)
        for number in range(len(bugs), 1, -1)
        for left in combinations(bugs.items(), number)
    ]
    ones = [changed(function, **{step: bug}) for step, bug in bugs.items()]
    for one in ones:
        one.__doc__ = f"One bug is left. {one.__doc__}"
    return [*(update_wrapper(partial(function, **steps), several) for steps in some), *ones]


class NoLinear(Wrong):
    """The lab needs `{name}` to be an `nn.Linear` {bias} a bias, in `{layer}`."""


def check_linears(
    answer: Callable, sizes: tuple, names: Sequence[str], biased: bool, **settings: bool
) -> None:
    """Raise Wrong unless these parts are an `nn.Linear` each, with a bias or without."""
    layer = answer(*sizes, **settings)
    for part, name in ((getattr(layer, name), name) for name in names):
        if not isinstance(part, nn.Linear) or (part.bias is not None) != biased:
            arguments = ", ".join(
                [*map(str, sizes), *(f"{key}={value}" for key, value in settings.items())]
            )
            raise NoLinear(
                name=name,
                bias="with" if biased else "without",
                layer=f"{answer.__name__}({arguments})",
            )


class NoParameter(Wrong):
    """The lab needs `{name}` to be an `nn.Parameter` of shape {right}; yours is {own}."""


def check_parameters(layer: nn.Module, **shapes: tuple[int, ...]) -> None:
    """Raise Wrong unless these parts are an `nn.Parameter` of such a shape each."""
    for name, right in shapes.items():
        part = getattr(layer, name)
        own = (
            f"of shape {tuple(part.shape)}"
            if isinstance(part, Tensor)
            else f"of type {type(part).__name__}"
        )
        if not isinstance(part, nn.Parameter) or part.shape != right:
            raise NoParameter(name=name, right=right, own=own)


class LabBreaks(Wrong):
    """The results are right, but the lab goes on with {what}, which fails: {error}"""


def goes_on(what: str, function: Callable) -> Any:
    """What the lab does next with an answer; Wrong where that raises an exception."""
    result = outcome(function)
    if isinstance(result, Exception):
        raise LabBreaks(what=what, error=error_sentence(result))
    return result


# --- scores to weights: each takes the scores (..., n) and the mask, of the same number of axes ---


def hidden(scores: Tensor, mask: Tensor) -> Tensor:
    """The scores, the lowest number where the mask is False."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """The right way."""
    return hidden(scores, mask).softmax(-1) * mask


def no_mask(scores: Tensor, mask: Tensor) -> Tensor:
    """Padding gets weight, because the softmax runs over all positions. Hide the scores of padding
    before it.
    """
    return scores.softmax(-1)


def mask_after_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """The weights of a text don't sum to 1: padding is removed after the softmax. Hide its scores
    before it.
    """
    return scores.softmax(-1) * mask


def padding_scored_zero(scores: Tensor, mask: Tensor) -> Tensor:
    """A score of 0 still gets weight: exp(0) = 1. Fill the scores of padding with the dtype's
    lowest number, or -inf.
    """
    return (scores * mask).softmax(-1)


def removed_after_score_of_zero(scores: Tensor, mask: Tensor) -> Tensor:
    """Padding takes weight with its score of 0 (exp(0) is 1), and the weights that are left sum to
    less than 1. Fill its scores with the dtype's lowest number.
    """
    return (scores * mask).softmax(-1) * mask


def softmax_left_out(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores are used as weights. A softmax makes them positive, and makes each row sum to 1."""
    return scores


def masked_scores_as_weights(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores are used as weights, with 0 for padding. Hide the scores of padding, then take the
    softmax.
    """
    return scores * mask


def softmax_over_queries(scores: Tensor, mask: Tensor) -> Tensor:
    """The softmax runs over the queries, so columns sum to 1. Let it run over the tokens attended
    to, the last axis.
    """
    return hidden(scores, mask).softmax(-2)


def nan_for_padding(scores: Tensor, mask: Tensor) -> Tensor:
    """NaN: a row that may attend to nothing is all -inf, or is divided by its sum of 0. Fill
    with the dtype's lowest number, and multiply by the mask after the softmax.
    """
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def weight_for_padding(scores: Tensor, mask: Tensor) -> Tensor:
    """A row without any real token still gets weights, all equal. Multiply by the mask after the
    softmax.
    """
    return hidden(scores, mask).softmax(-1)


def only_others_kept(scores: Tensor, mask: Tensor) -> Tensor:
    return hidden(scores, mask).softmax(-1) * ~mask


def inverted(weigh: Callable) -> Callable:
    """A way to hide scores, with the mask the wrong way round."""

    def mask_inverted(scores: Tensor, mask: Tensor) -> Tensor:
        """The mask is inverted. PyTorch's own layers hide where a mask is True; here True marks a
        real token, so hide the scores where it is False: `masked_fill(~mask, ...)`.
        """
        return weigh(scores, ~mask)

    return mask_inverted


def mask_added(scores: Tensor, mask: Tensor) -> Tensor:
    """The mask is added to the scores, where True is 1 and False is 0, so padding keeps nearly all
    of its weight. Hide its scores: `masked_fill(~mask, ...)`.
    """
    return (scores + mask.to(scores)).softmax(-1)


def filled_with_minus_ten(scores: Tensor, mask: Tensor) -> Tensor:
    """The scores of padding are filled with -10, which is not low enough: exp(-10) is not 0, and a
    real score may be lower. Use the dtype's lowest number.
    """
    return scores.masked_fill(~mask, -10.0).softmax(-1)


def softmax_over_axis_0(scores: Tensor, mask: Tensor) -> Tensor:
    """The softmax runs over axis 0, the texts of the batch. Let it run over the tokens attended to,
    the last axis.
    """
    return hidden(scores, mask).softmax(0) * mask


MASK_MISTAKES = (
    no_mask, mask_after_softmax, padding_scored_zero, removed_after_score_of_zero, softmax_left_out,
    masked_scores_as_weights,
    *map(inverted, (masked, weight_for_padding, nan_for_padding, only_others_kept)),
    mask_added, filled_with_minus_ten,
)  # fmt: skip


# --- queries and keys to scores: each takes queries (..., n, d_k), keys (..., n, d_k) and d_model


def scaled(queries: Tensor, keys: Tensor, d_model: int) -> Tensor:
    """The right way."""
    return queries @ keys.mT / math.sqrt(keys.shape[-1])


def not_scaled(queries: Tensor, keys: Tensor, d_model: int) -> Tensor:
    """The scores are not divided by sqrt(d_k). Without that, the wider the keys, the sharper the
    softmax.
    """
    return queries @ keys.mT


def root_left_out(queries: Tensor, keys: Tensor, d_model: int) -> Tensor:
    """The scores are divided by d_k instead of sqrt(d_k): `math.sqrt` is missing."""
    return queries @ keys.mT / keys.shape[-1]


def root_of_d_model(queries: Tensor, keys: Tensor, d_model: int) -> Tensor:
    """The scores are divided by sqrt(d_model). A dot product of keys has d_k terms, so divide by
    sqrt(d_k).
    """
    return queries @ keys.mT / math.sqrt(d_model)


def root_of_tokens(queries: Tensor, keys: Tensor, d_model: int) -> Tensor:
    """The scores are divided by the square root of the number of tokens. d_k is the last axis of
    the keys.
    """
    return queries @ keys.mT / math.sqrt(keys.shape[-2])


def queries_and_keys_exchanged(queries: Tensor, keys: Tensor, d_model: int) -> Tensor:
    """The scores are transposed: row i must hold the scores of query i with all keys, so it's Q Kᵀ,
    not K Qᵀ.
    """
    return scaled(keys, queries, d_model)


def keys_reshaped(queries: Tensor, keys: Tensor, d_model: int) -> Tensor:
    """The keys are reshaped instead of transposed, so a column mixes the numbers of several tokens.
    Swap the last two axes: `keys.transpose(-2, -1)`.
    """
    return queries @ keys.reshape(*keys.shape[:-2], keys.shape[-1], -1) / math.sqrt(keys.shape[-1])


def keys_not_transposed(queries: Tensor, keys: Tensor, d_model: int) -> Tensor:
    """The keys are not transposed; the product fits only if a key happens to be as wide as the text
    is long. Swap the last two axes: `keys.transpose(-2, -1)`.
    """
    return queries @ keys / math.sqrt(keys.shape[-1])


SCORE_MISTAKES = (
    not_scaled, root_left_out, root_of_d_model, root_of_tokens, queries_and_keys_exchanged,
    keys_reshaped, keys_not_transposed,
)  # fmt: skip


# --- experiments: `values_of(**inputs)` gives the values whose mean and half-width are asked, or a
# dict of such


def finished(values_of: Callable, finish: Callable) -> Callable:
    """An experiment that ends with `finish(values)`, under its name and with its sentence."""

    def mistake(**given: Any) -> Any:
        values = values_of(**given)
        if isinstance(values, dict):
            return {
                key: finish(torch.as_tensor(row, dtype=torch.float64))
                for key, row in values.items()
            }
        return finish(torch.as_tensor(values, dtype=torch.float64))

    return update_wrapper(mistake, finish)


def standard_error(values: Tensor) -> tuple[Tensor, Tensor]:
    """The half-width is one standard error. Multiply it by the quantile of Student's t."""
    return values.mean(), values.std() / math.sqrt(len(values))


def standard_deviation(values: Tensor) -> tuple[Tensor, Tensor]:
    """The half-width is the standard deviation of the runs. Their mean varies less: divide it by
    sqrt(n).
    """
    return values.mean(), values.std()


def normal_quantile(values: Tensor) -> tuple[Tensor, Tensor]:
    """The quantile 1.96 belongs to the normal distribution. With only a few runs, use Student's t,
    whose quantile is larger.
    """
    return values.mean(), 1.96 * values.std() / math.sqrt(len(values))


def half_width_times(factor: float, values: Tensor) -> tuple[float, float]:
    mean, half = mean_and_interval(values)  # type: ignore[arg-type]
    return mean, factor * half


def whole_width(values: Tensor) -> tuple[float, float]:
    """The second number is the whole width of the interval, twice what is asked for."""
    return half_width_times(2, values)


def root_of_n_left_out(values: Tensor) -> tuple[float, float]:
    """The half-width belongs to a single run. The mean of n runs varies less: divide by sqrt(n)."""
    return half_width_times(math.sqrt(len(values)), values)


def divided_by_n(values: Tensor) -> tuple[float, float]:
    """The half-width is divided by n. The standard deviation of a mean is smaller by a factor of
    sqrt(n) only.
    """
    return half_width_times(1 / math.sqrt(len(values)), values)


def n_degrees_of_freedom(values: Tensor) -> tuple[Tensor, Tensor]:
    """The quantile is for n degrees of freedom. The mean uses up one of them, so take n - 1."""
    return values.mean(), stdtrit(len(values), 0.975) * values.std() / math.sqrt(len(values))


def ends_of_the_interval(values):
    """These are the two ends of the interval. Return its middle, the mean, and half its width."""
    mean, half = mean_and_interval(values)
    return mean - half, mean + half


def interval_mistakes(values_of: Callable) -> list[Callable]:
    """The wrong ways to make mean and half-width of the right values."""
    ways = (
        standard_error, standard_deviation, normal_quantile, whole_width, root_of_n_left_out,
        divided_by_n, n_degrees_of_freedom, ends_of_the_interval,
    )  # fmt: skip
    return [finished(values_of, way) for way in ways]


# --- the mean of a difference: each takes both rows of values, (2, n) -----------------------------


def first_minus_second(pair: Tensor) -> tuple[float, float]:
    """The right way."""
    return mean_and_interval(pair[0] - pair[1])  # type: ignore[arg-type]


def second_minus_first(pair: Tensor) -> tuple[float, float]:
    """The difference has the wrong sign. Read again what the exercise subtracts from what."""
    return mean_and_interval(pair[1] - pair[0])  # type: ignore[arg-type]


def pairing_lost(pair: Tensor) -> tuple[float, float]:
    """You combine two intervals, one from each group. Subtract pair by pair first: what the two
    values of a pair have in common then cancels.
    """
    (first, a), (second, b) = map(mean_and_interval, pair)
    return first - second, math.hypot(a, b)


def half_widths_added(pair: Tensor) -> tuple[float, float]:
    """The half-widths of both groups are added. Subtract pair by pair first, then take one interval
    of the differences.
    """
    (first, a), (second, b) = map(mean_and_interval, pair)
    return first - second, a + b


def nothing_subtracted(pair: Tensor) -> tuple[float, float]:
    """Nothing is subtracted from the first group of values. Subtract the second, pair by pair."""
    return mean_and_interval(pair[0])  # type: ignore[arg-type]


def one_of_the_second(pair: Tensor) -> tuple[float, float]:
    """One value of the second group is subtracted from all of the first. Subtract pair by pair."""
    return mean_and_interval(pair[0] - pair[1][0])  # type: ignore[arg-type]


def mean_of_the_second(pair: Tensor) -> tuple[float, float]:
    """The mean of the second group is subtracted from each value of the first, so the half-width is
    that of the first group alone. Subtract pair by pair.
    """
    return mean_and_interval(pair[0] - pair[1].mean())  # type: ignore[arg-type]


def paired_mistakes(pairs_of: Callable) -> list[Callable]:
    """The wrong ways to go on from `pairs_of(**inputs)`, which gives both rows of values, or a dict
    of such pairs.
    """

    def differences(**given: Any) -> Any:
        pairs = pairs_of(**given)
        return (
            {key: a - b for key, (a, b) in pairs.items()}
            if isinstance(pairs, dict)
            else pairs[0] - pairs[1]
        )

    ways = (
        second_minus_first, pairing_lost, half_widths_added, nothing_subtracted, one_of_the_second,
        mean_of_the_second,
    )  # fmt: skip
    return [*(finished(pairs_of, way) for way in ways), *interval_mistakes(differences)]


def seed_mistakes(answer: Callable) -> list[Callable]:
    """What goes wrong with the argument `seeds` of an experiment, of which `answer(**inputs)` is
    the right result.
    """

    def one_seed_for_all(**given: Any) -> Any:
        """Every run uses the same seed, so the runs don't vary by chance. Pass each seed of `seeds`
        to its run.
        """
        return answer(**given | {"seeds": [given["seeds"][0]] * len(given["seeds"])})

    def own_seeds(**given: Any) -> Any:
        """The seeds are 0, 1, 2, ..., not those of the argument. Write `for seed in seeds`."""
        return answer(**given | {"seeds": range(len(given["seeds"]))})

    return [one_seed_for_all, own_seeds]


def synthetic_accuracy(*settings_and_seed: Any) -> float:
    """What a run "measures" in the cases of an experiment, without training.

    Any number would do that depends on all settings and on the seed, and on both together, so that
    a mistake in what is paired or averaged changes the result. The cosines keep it in (0, 1).
    """
    *settings, seed = settings_and_seed
    level = sum(
        n * (len(value) if isinstance(value, str) else value) for n, value in enumerate(settings, 2)
    )
    return (
        0.6
        + 0.1 * math.cos(level)
        + 0.15 * math.sin(7 * seed + 1)
        + 0.04 * math.cos(level + 3 * seed)
    )


class ModelLeftChanged(Wrong):
    """The model stays changed, at least if `measure` raises an error. Change a copy
    (`copy.deepcopy`), or undo the change in a `finally`.
    """


def leaves_the_model(run: Callable, model: Any, state: Callable, *texts: Any) -> None:
    """Raise Wrong if `run(measure)` leaves the model changed where `measure` raises an error on a
    changed one.
    """
    whole = state(model, *texts)

    def fails(*given: Any, **named: Any) -> Any:
        if state(*given, *named.values()) != whole:
            raise ArithmeticError
        return whole

    with contextlib.suppress(ArithmeticError):
        run(fails)
    if state(model, *texts) != whole:
        raise ModelLeftChanged

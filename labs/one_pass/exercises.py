"""The check of *Attention in one pass*: two halves of a softmax are merged."""

import math

import torch

from checks.compare import Wrong
from checks.engine import Case, Check
from checks.running import error_sentence, outcome
from checks.trials import changed, draw, goes_on


def merged(first, second, exponent=lambda own, common: own - common, of_normalizers=1, of_sums=1):
    """The right way, with the exponents of the corrections, or their powers, exchanged."""
    common = torch.maximum(first[0], second[0])  # (n, 1)
    halves = [(exponent(part[0], common).exp(), *part[1:]) for part in (first, second)]
    return common, sum(c**of_normalizers * n for c, n, _ in halves), sum(c**of_sums * s for c, _, s in halves)


def no_correction(own, common):
    """Normalizers and sums are added as they are, though each is relative to the maximum of its own half. First
    multiply each half by exp(its maximum - the common one)."""
    return torch.zeros_like(own)


def correction_inverted(own, common):
    """The correction is inverted. It is exp(old maximum - common maximum), which is at most 1."""
    return common - own


def sums_not_corrected(first, second):
    """The weighted sums are added without a correction. They are relative to the maximum of their half, too."""
    return merged(first, second, of_sums=0)


def normalizers_not_corrected(first, second):
    """The normalizers are added without a correction. They are relative to the maximum of their half, too."""
    return merged(first, second, of_normalizers=0)


def relative_to_the_first(first, second):
    """Both halves are made relative to the maximum of the first. Where the second has the higher one, the result is
    relative to another maximum than the one returned, and may overflow."""
    correction = (second[0] - first[0]).exp()
    return torch.maximum(first[0], second[0]), *(first[n] + correction * second[n] for n in (1, 2))


def first_half_corrected_alone(first, second):
    """Only the first half is corrected. The second is relative to its own maximum, too, which may be the lower one."""
    common = torch.maximum(first[0], second[0])
    return common, *((first[0] - common).exp() * first[n] + second[n] for n in (1, 2))


def relative_to_the_second(first, second):
    """The maximum returned is that of the second half, although the first may have the higher one. Take
    `torch.maximum` of both, and correct both halves."""
    correction = (first[0] - second[0]).exp()
    return second[0], *(correction * first[n] + second[n] for n in (1, 2))


def common_not_subtracted(own, common):
    """Each half is multiplied by the exponential of its own maximum, which overflows where scores are large. Subtract
    the common maximum first."""
    return own


def one_maximum_for_all(first, second):
    """One maximum is taken over all queries. Each query has its own: `torch.maximum` of both halves."""
    common = torch.maximum(first[0], second[0]).max().expand_as(first[0])
    corrections = [(half[0] - common).exp() for half in (first, second)]
    return common, *(corrections[0] * first[n] + corrections[1] * second[n] for n in (1, 2))


def relative_to_the_other(first, second):
    """Each half is corrected to the maximum of the other. Correct both to the common maximum, exp(own - common)."""
    common, change = torch.maximum(first[0], second[0]), first[0] - second[0]
    return common, *(change.exp() * first[n] + (-change).exp() * second[n] for n in (1, 2))


def divided_already(first, second):
    """The sum is divided by the normalizer. That is done once, at the very end: return what `one_more` keeps."""
    common, normalizer, summed = merged(first, second)
    return common, normalizer, summed / normalizer


def second_half_corrected_alone(first, second):
    """Only the second half is corrected. The first is relative to its own maximum, too, which may be the lower one."""
    common = torch.maximum(first[0], second[0])
    return common, *(first[n] + (second[0] - common).exp() * second[n] for n in (1, 2))


class CountsFromTheFront(Wrong):
    """The results are right, but the lab goes on with batches, (batch, n, 1) and (batch, n, d_v), and there they are
    not: {error} Count axes from the end, `dim=-1`, and keep them."""


def goes_on_with_batches(answer):
    """The lab merges blocks of whole batches, and follows their gradient."""
    cases = [two_halves(4, (2, 3), 3, seed=seed).inputs for seed in (12, 14)]
    first, second = ([torch.stack(p).to(torch.get_default_dtype()) for p in zip(*(c[half] for c in cases), strict=True)]
                     for half in ("first", "second"))  # fmt: skip
    for part in (*first, *second):
        part.requires_grad_()
    result = outcome(lambda: answer(tuple(first), tuple(second)))
    error = error_sentence(result) if isinstance(result, Exception) else ""
    right = merged(first, second)
    if error or not all(torch.is_tensor(r) and r.shape == s.shape and torch.allclose(r, s, rtol=1e-4)
                        for r, s in zip(result, right, strict=True)):  # fmt: skip
        raise CountsFromTheFront(error=error or "they differ.")
    goes_on("the gradient, `backward()`", lambda: (result[2] / result[1]).sum().backward())


def half(scores, values, empty):
    """What one machine reports of scores (n, tokens) and values (tokens, d_v); it is empty for these queries."""
    scores = scores.index_fill(0, torch.tensor(empty, dtype=torch.long), -math.inf)
    maximum = scores.amax(dim=1, keepdim=True)  # (n, 1)
    terms = (scores - maximum).exp().nan_to_num(0.0)  # (n, tokens)
    return maximum, terms.sum(dim=1, keepdim=True), terms @ values


def two_halves(n, lengths, d_v, higher=0.0, empty=((), ()), seed=0):
    """`higher` is added to all scores of the second half."""
    scores = list(draw(n, sum(lengths), seed=seed).split(lengths, dim=1))
    values = draw(sum(lengths), d_v, seed=seed + 1).split(lengths)
    first, second = half(scores[0], values[0], empty[0]), half(scores[1] + higher, values[1], empty[1])
    return Case({"first": first, "second": second})


merge = Check(
    reference=merged,
    cases=[
        two_halves(3, (2, 4), 2), two_halves(5, (3, 1), 4, 800.0, seed=2), two_halves(1, (2, 2), 3, -3.0, seed=10),
        two_halves(2, (2, 3), 4, empty=((0, 1), ()), seed=4), two_halves(4, (3, 1), 3, empty=((), range(4)), seed=6),
        two_halves(4, (2, 3), 2, empty=((0, 2), (3,)), seed=8),
    ],
    mistakes=[
        *(changed(merged, exponent=step) for step in (no_correction, correction_inverted, common_not_subtracted)),
        sums_not_corrected, normalizers_not_corrected, relative_to_the_first, relative_to_the_second,
        first_half_corrected_alone, second_half_corrected_alone, divided_already,
        one_maximum_for_all, relative_to_the_other,
    ],
    section="Attention in one pass, “Two halves”",
    last_look=goes_on_with_batches,
)  # fmt: skip

"""The checks of *Attention in one pass*: two halves of a softmax are merged, and its gradient taken block by block."""

import math

import torch

from checks.compare import Wrong
from checks.engine import Case, Check
from checks.running import error_sentence, outcome
from checks.trials import changed, draw, goes_on
from labs.one_pass.peak_memory import peak_bytes


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
    """The correction is inverted. It should be exp(old maximum - common maximum), which is at most 1."""
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
    """The sum is divided by the normalizer. That's done once, at the very end: return what `one_more` keeps."""
    common, normalizer, summed = merged(first, second)
    return common, normalizer, summed / normalizer


def second_half_corrected_alone(first, second):
    """Only the second half is corrected. The first is relative to its own maximum, too, which may be the lower one."""
    common = torch.maximum(first[0], second[0])
    return common, *(first[n] + (second[0] - common).exp() * second[n] for n in (1, 2))


class CountsFromTheFront(Wrong):
    """The results are right, but the lab goes on with batches, (batch, n, 1) and (batch, n, d_v), and for those they
    are not: {error} Count axes from the end, `dim=-1`, and keep them.
    """


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


# --- gradients_in_blocks ---------------------------------------------------------------------------------------------


def weights_of(scores, log_sum_exp):
    return (scores - log_sum_exp).exp()


def mean_of_outputs(grad_output, output, weights, grad_weights):
    return (grad_output * output).sum(-1, keepdim=True)  # (..., n, 1)


def five_formulas(
    queries, keys, values, output, log_sum_exp, grad_output, block,
    weigh=weights_of, mean=mean_of_outputs, of_score=1.0, of_query=1.0, of_key=1.0,
    multiply=True, collect=sum, pass_on=False, width=lambda queries, values: queries.shape[-1],
):  # fmt: skip
    """The right way, one step of which a known mistake exchanges."""
    root, of_queries, of_keys, of_values = math.sqrt(width(queries, values)), [], [], []
    for k, v in zip(keys.split(block, -2), values.split(block, -2), strict=True):
        weights = weigh(queries @ k.mT / root**of_score, log_sum_exp)  # (..., n, block)
        grad_weights = grad_output @ v.mT  # (..., n, block)
        differences = grad_weights - mean(grad_output, output, weights, grad_weights)
        grad_scores = weights * differences if multiply else differences
        of_values.append((grad_scores if pass_on else weights).mT @ grad_output)
        of_keys.append(grad_scores.mT @ queries / root**of_key)
        of_queries.append(grad_scores @ k / root**of_query)
    return collect(of_queries), torch.cat(of_keys, -2), torch.cat(of_values, -2)


def softmax_of_the_block(scores, log_sum_exp):
    """The weights come from a softmax over one block, so the weights of all blocks together sum to more than 1. Take
    `(scores - log_sum_exp).exp()`, which counts the scores of the other blocks, too."""
    return scores.softmax(-1)


def log_sum_exp_left_out(scores, log_sum_exp):
    """The weights are exp(scores), not divided by the normalizer. Subtract the log-sum-exp before `exp`."""
    return scores.exp()


def scores_not_scaled(**given):
    """The second time, the scores are not divided by sqrt(d_k). In the forward pass they were, so its log-sum-exp
    belongs to the divided ones: divide here, too.
    """
    return five_formulas(**given, of_score=0.0)


def no_mean(grad_output, output, weights, grad_weights):
    """The weighted mean is not subtracted. Raising one score takes weight from the others: subtract
    `(grad_output * output).sum(dim=-1, keepdim=True)` from the gradient of the weights."""
    return 0.0


def mean_of_the_block(grad_output, output, weights, grad_weights):
    """The weighted mean is taken over one block, but it belongs to the whole row. Compute it from the output:
    `(grad_output * output).sum(dim=-1, keepdim=True)`."""
    return (weights * grad_weights).sum(-1, keepdim=True)


def plain_mean(grad_output, output, weights, grad_weights):
    """The mean is not weighted. D is the mean of the gradients with the weights: `(grad_output * output).sum(dim=-1,
    keepdim=True)`."""
    return grad_weights.mean(-1, keepdim=True)


def mean_of_columns(grad_output, output, weights, grad_weights):
    """The product of output and its gradient is averaged over the columns. A dot product sums them: `sum(dim=-1,
    keepdim=True)`."""
    return (grad_output * output).mean(-1, keepdim=True)


def root_left_out_of_both(**given):
    """The gradients of queries and keys are not divided by sqrt(d_k), though the scores are."""
    return five_formulas(**given, of_query=0.0, of_key=0.0)


def root_left_out_of_queries(**given):
    """The gradient of the queries isn't divided by sqrt(d_k), but the gradient of the keys is. Divide both."""
    return five_formulas(**given, of_query=0.0)


def root_left_out_of_keys(**given):
    """The gradient of the keys isn't divided by sqrt(d_k), but the gradient of the queries is. Divide both."""
    return five_formulas(**given, of_key=0.0)


def divided_twice(**given):
    """The gradients of queries and keys are divided by d_k, that is, by sqrt(d_k) twice. Divide once."""
    return five_formulas(**given, of_query=2.0, of_key=2.0)


def not_times_the_weights(**given):
    """The difference is not multiplied by the weights. The gradient of a score is its weight times (gradient of the
    weight minus the mean)."""
    return five_formulas(**given, multiply=False)


def width_of_the_values(queries, values):
    """The scores are divided by the root of the values' width. A score is a sum over d_k products: take the root of
    the width of queries and keys."""
    return values.shape[-1]


def of_outputs(**given):
    """The gradient of the values is multiplied by the output. An output is weight times value, so what multiplies the
    transposed weights is the gradient of the output."""
    *first, _ = five_formulas(**given)
    *_, of_values = five_formulas(**given | {"grad_output": given["output"]})
    return *first, of_values


def divided_by_the_log(scores, log_sum_exp):
    """The weights are divided by the log-sum-exp, which is a logarithm. Subtract it before `exp`."""
    return scores.exp() / log_sum_exp


def last_block_only(parts):
    """The gradient of the queries is that of the last block. Each block contributes: start from zeros, and add."""
    return parts[-1]


def gradient_of_scores_passed_on(**given):
    """You compute the gradient of the values from the gradient of the scores. It should be the weights, transposed,
    times `grad_output`.
    """
    return five_formulas(**given, pass_on=True)


def returned_in_another_order(**given):
    """Keys and values are returned in the wrong order: first the gradient of the queries, then keys, then values."""
    of_queries, of_keys, of_values = five_formulas(**given)
    return of_queries, of_values, of_keys


def after_a_forward_pass(n, m, d_k, d_v, block, batch=(), seed=0):
    """What the backward pass is given."""
    shapes = {"queries": (*batch, n, d_k), "keys": (*batch, m, d_k), "values": (*batch, m, d_v)}
    given = {name: draw(*shape, seed=seed + i) for i, (name, shape) in enumerate(shapes.items())}
    scores = given["queries"] @ given["keys"].mT / math.sqrt(d_k)  # (..., n, m)
    given |= {"output": scores.softmax(-1) @ given["values"], "log_sum_exp": scores.logsumexp(-1, keepdim=True)}
    return Case(given | {"grad_output": draw(*batch, n, d_v, seed=seed + 9), "block": block})


class WholeMatrix(Wrong):
    """The results are right, but at its peak your code holds as many numbers as the whole n × m matrix has. Compute
    the weights of `block` keys at a time, and keep none of them when the next block begins."""


def stays_in_blocks(answer):
    """With blocks far narrower than the matrix, everything in memory together is less than the matrix."""
    given = after_a_forward_pass(512, 512, 4, 4, 8, seed=80).inputs
    given = {name: value.to(torch.get_default_dtype()) if torch.is_tensor(value) else value
             for name, value in given.items()}  # fmt: skip
    scores = given["queries"] @ given["keys"].mT
    if peak_bytes(answer, *given.values()) >= scores.nbytes:
        raise WholeMatrix


gradients_in_blocks = Check(
    reference=five_formulas,
    cases=[
        after_a_forward_pass(5, 6, 4, 3, 2), after_a_forward_pass(4, 7, 2, 5, 3, seed=20),
        after_a_forward_pass(4, 5, 9, 2, 2, batch=(3,), seed=40), after_a_forward_pass(1, 5, 3, 3, 1, seed=60),
    ],
    mistakes=[
        *(changed(five_formulas, weigh=way) for way in (
            softmax_of_the_block, log_sum_exp_left_out, divided_by_the_log)),
        *(changed(five_formulas, mean=way) for way in (no_mean, mean_of_the_block, plain_mean, mean_of_columns)),
        scores_not_scaled, root_left_out_of_both, root_left_out_of_queries, root_left_out_of_keys, divided_twice,
        not_times_the_weights, changed(five_formulas, width=width_of_the_values), of_outputs,
        changed(five_formulas, collect=last_block_only), gradient_of_scores_passed_on, returned_in_another_order,
    ],
    section="Attention in one pass, “The gradient”",
    last_look=stays_in_blocks,
    imports=("torch._dynamo",),  # which counting bytes imports
)  # fmt: skip

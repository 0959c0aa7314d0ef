"""The checks of *Scale*: the backward pass of attention, and how a small step of the queries changes the weights."""

import math

import torch

from checks import trials
from checks.engine import Case, Check
from checks.trials import bugs_left, changed, draw, real_tokens
from shared.model import masked_softmax

# --- attention_backward --------------------------------------------------------------------------------------------


def by_autograd(queries, keys, values, grad_output):
    """PyTorch's own attention, and PyTorch's own gradients."""
    inputs = [one.detach().requires_grad_() for one in (queries, keys, values)]
    with torch.enable_grad():
        output = torch.nn.functional.scaled_dot_product_attention(*inputs)
        return torch.autograd.grad(output, inputs, grad_output)


def along_rows(scores):
    return scores.softmax(dim=-1)


def minus_the_weighted_mean(weights, grad_weights):
    return weights * (grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True))


def with_values(weights, values, grad_output):
    return grad_output @ values.mT


def with_weights(weights, values, grad_output):
    return weights.mT @ grad_output


def with_keys(grad_scores, queries, keys):
    return grad_scores @ keys


def with_queries(grad_scores, queries, keys):
    return grad_scores.mT @ queries


def gradients(
    queries, keys, values, grad_output, divisors=lambda d_k, d_v, tokens: [math.sqrt(d_k)] * 3, weigh=along_rows,
    of_weights=with_values, of_scores=minus_the_weighted_mean, of_values=with_weights, of_queries=with_keys,
    of_keys=with_queries, order=lambda q, k, v: (q, k, v),
):  # fmt: skip
    """The right way, steps of which known mistakes exchange; divisors of the scores and of both gradients."""
    root, of_query, of_key = divisors(keys.shape[-1], values.shape[-1], keys.shape[-2])
    weights = weigh(queries @ keys.mT / root)  # (batch, tokens, tokens)
    grad_scores = of_scores(weights, of_weights(weights, values, grad_output))  # (batch, tokens, tokens)
    return order(
        of_queries(grad_scores, queries, keys) / of_query,
        of_keys(grad_scores, queries, keys) / of_key,
        of_values(weights, values, grad_output),
    )


# from the gradient of the weights to that of the scores


def off_diagonal_left_out(weights, grad_weights):
    """Here a score changes its own weight only: A ∘ (1 - A) is the diagonal of the softmax's Jacobian. But a higher
    score also takes weight from all others of its row: subtract their part, a aᵀ, too.
    """
    return weights * (1 - weights) * grad_weights


def nothing_subtracted(weights, grad_weights):
    """The gradient of a score is its weight times the gradient of the weight. Subtract the weighted mean of the row
    first: (A ∘ grad_weights), summed over the keys."""
    return weights * grad_weights


def plain_mean(weights, grad_weights):
    """The mean that is subtracted is the plain one. It is the weighted mean, with the weights of that row:
    `(weights * grad_weights).sum(dim=-1, keepdim=True)`."""
    return weights * (grad_weights - grad_weights.mean(dim=-1, keepdim=True))


def plain_sum(weights, grad_weights):
    """The sum of the row's gradients is subtracted. Multiply each by its weight before you sum: what is needed is a
    weighted mean."""
    return weights * (grad_weights - grad_weights.sum(dim=-1, keepdim=True))


def mean_over_queries(weights, grad_weights):
    """The weighted mean runs over the queries. A softmax is along a row, so sum over the keys, the last axis."""
    return weights * (grad_weights - (weights * grad_weights).sum(dim=-2, keepdim=True))


def one_mean_for_all(weights, grad_weights):
    """One number is subtracted from the gradients of all rows. Each row has its own weighted mean: `sum(dim=-1,
    keepdim=True)`."""
    return weights * (grad_weights - (weights * grad_weights).sum())


def mean_along_columns(weights, grad_weights):
    """Each row's weighted mean is subtracted from a column, the one with its number. Keep the axis, `sum(dim=-1,
    keepdim=True)`, so that it is subtracted from its row."""
    return weights * (grad_weights - (weights * grad_weights).sum(dim=-1).unsqueeze(-2))


def mean_of_products(weights, grad_weights):
    """The products of weights and gradients are averaged, not summed. The weights of a row already sum to 1, so their
    `sum` is the weighted mean."""
    return weights * (grad_weights - (weights * grad_weights).mean(dim=-1, keepdim=True))


def weights_left_out(weights, grad_weights):
    """The difference from the weighted mean is right, but it isn't multiplied by the weight at the end. A score with
    hardly any weight has hardly any gradient.
    """
    return grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)


def softmax_passed_over(weights, grad_weights):
    """The gradient of the weights is used as the gradient of the scores. The softmax is between them: multiply by its
    Jacobian.
    """
    return grad_weights


def sign_of_scores_wrong(weights, grad_weights):
    """The gradients of queries and keys have the wrong sign: the weighted mean is subtracted from the gradient, not the
    other way round."""
    return -minus_the_weighted_mean(weights, grad_weights)


def softmax_of_the_gradient(weights, grad_weights):
    """The softmax is applied to the gradient. What the backward pass needs is the softmax's derivative:
    diag(a) - a aᵀ for each row."""
    return grad_weights.softmax(dim=-1)


def product_subtracted_alone(weights, grad_weights):
    """The weights are missing from the second term: A ∘ grad_weights minus its sum. Multiply that sum by the weights as
    well."""
    product = weights * grad_weights
    return product - product.sum(dim=-1, keepdim=True)


def mean_added(weights, grad_weights):
    """The weighted mean is added. The Jacobian is diag(a) *minus* a aᵀ, so subtract it."""
    return weights * (grad_weights + (weights * grad_weights).sum(dim=-1, keepdim=True))


def diagonal_left_out(weights, grad_weights):
    """Only the second part of the Jacobian is there, - a aᵀ. Add the first, diag(a), which multiplies each gradient by
    its own weight."""
    return -weights * (weights * grad_weights).sum(dim=-1, keepdim=True)


def values_for_the_output(weights, grad_weights):
    """What is subtracted is the product of grad_output with the token's own value. It must be the product with the
    token's *output*, which is the weighted mean of the row."""
    return weights * (grad_weights - grad_weights.diagonal(dim1=-2, dim2=-1).unsqueeze(-1))


# the division by the root


def root_left_out_backward(d_k, d_v, tokens):
    """Queries and keys get gradients that are too large by the factor sqrt(d_k). The scores were divided by it, so
    divide their gradient by it, too."""
    return math.sqrt(d_k), 1, 1


def root_left_out_for_keys(d_k, d_v, tokens):
    """The gradient of the keys is not divided by sqrt(d_k), though the gradient of the queries is. Divide both."""
    return math.sqrt(d_k), math.sqrt(d_k), 1


def root_left_out_for_queries(d_k, d_v, tokens):
    """The gradient of the queries is not divided by sqrt(d_k), though the gradient of the keys is. Divide both."""
    return math.sqrt(d_k), 1, math.sqrt(d_k)


def root_twice_backward(d_k, d_v, tokens):
    """Queries and keys get gradients that are too small by the factor sqrt(d_k). Divide their gradient by it
    once."""
    return math.sqrt(d_k), d_k, d_k


def root_left_out_forward(d_k, d_v, tokens):
    """The weights belong to scores that are not divided by sqrt(d_k). Compute them as the layer does."""
    return 1, math.sqrt(d_k), math.sqrt(d_k)


def root_nowhere(d_k, d_v, tokens):
    """This is the backward pass of a layer that does not divide its scores by sqrt(d_k). Ours divides."""
    return 1, 1, 1


def d_k_without_root(d_k, d_v, tokens):
    """The scores are divided by d_k instead of sqrt(d_k), and so is their gradient: `math.sqrt` is missing."""
    return d_k, d_k, d_k


def root_multiplied(d_k, d_v, tokens):
    """Queries and keys get gradients that are too large by the factor d_k: you multiply the gradient of the scores
    by sqrt(d_k). Divide it, as you divided the scores."""
    return math.sqrt(d_k), d_k**-0.5, d_k**-0.5


def root_of_d_v(d_k, d_v, tokens):
    """The scores are divided by the square root of the values' width. A score is a sum of d_k products: divide by
    sqrt(d_k).
    """
    return [math.sqrt(d_v)] * 3


def root_of_tokens(d_k, d_v, tokens):
    """The scores are divided by the square root of the number of tokens. d_k is the last axis of the keys."""
    return [math.sqrt(tokens)] * 3


# the weights


def along_columns(scores):
    """The softmax runs over the queries, so columns sum to 1. Let it run over the keys, the last axis."""
    return scores.softmax(dim=-2)


def overflow(scores):
    """The result contains NaN, because `exp` of a large score is infinite. Use `softmax`, which subtracts the largest
    score first."""
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def scores_as_weights(scores):
    """The scores are used as weights. Take their softmax first."""
    return scores


# the three products


def values_not_transposed(weights, values, grad_output):
    """The gradient of the values is A times the gradient of the output. Value j gets something from each query i that
    attended to it, so the matrix is Aᵀ: `weights.mT @ grad_output`.
    """
    return weights @ grad_output


def values_with_values(weights, values, grad_output):
    """The gradient of the values is multiplied by the values. An output is weight times value, so what multiplies
    `weights.mT` is the gradient of the output."""
    return weights.mT @ values


def keys_reshaped(grad_scores, queries, keys):
    """The gradient of the keys is reshaped instead of transposed, so its numbers reach the wrong tokens."""
    return (queries.mT @ grad_scores).reshape(keys.shape)


def keys_not_transposed(grad_scores, queries, keys):
    """The gradient of the keys takes the gradient of the scores as it is. Key j is in column j of the scores: transpose
    it, `grad_scores.mT @ queries`."""
    return grad_scores @ queries


def queries_transposed(grad_scores, queries, keys):
    """The gradient of the queries takes the gradient of the scores transposed. Query i is in row i of the scores, so
    there is nothing to transpose: `grad_scores @ keys`."""
    return grad_scores.mT @ keys


def queries_with_queries(grad_scores, queries, keys):
    """The gradient of the queries is multiplied by the queries. A score is query times key, so the gradient is
    multiplied by the other factor, the keys.
    """
    return grad_scores @ queries


def keys_with_keys(grad_scores, queries, keys):
    """The gradient of the keys is multiplied by the keys. A score is query times key, so the gradient is multiplied by
    the other factor, the queries.
    """
    return grad_scores.mT @ keys


def weights_gradient_transposed(weights, values, grad_output):
    """The gradient of the weights is transposed. Row i belongs to query i, so grad_output comes first:
    `grad_output @ values.mT`."""
    return values @ grad_output.mT


def outputs_for_values(weights, values, grad_output):
    """The gradient of the weights is taken from the outputs. A weight multiplies a value, so its gradient is
    `grad_output @ values.mT`."""
    return grad_output @ (weights @ values).mT


def ones_for_the_gradient(queries, keys, values, grad_output):
    """`grad_output` is not used: these are the gradients of the sum of all outputs. Begin with what you are given."""
    return gradients(queries, keys, values, torch.ones_like(grad_output))


def queries_and_keys_exchanged(q, k, v):
    """The gradients of queries and keys are swapped. Return them in the order queries, keys, values."""
    return k, q, v


def values_first(q, k, v):
    """The gradient of the values is returned first. Return them in the order queries, keys, values."""
    return v, q, k


def reversed_order(q, k, v):
    """The gradients are returned in the order values, keys, queries. Return them in the order queries, keys, values."""
    return v, k, q


def tokens(batch, count, d_k, d_v, seed, scale=1.0):
    queries, keys = scale * draw(2, batch, count, d_k, seed=seed)
    return Case({"queries": queries, "keys": keys, "values": draw(batch, count, d_v, seed=seed + 1),
                 "grad_output": draw(batch, count, d_v, seed=seed + 2)})  # fmt: skip


attention_backward = Check(
    reference=by_autograd,
    solution=gradients,
    cases=[
        tokens(2, 5, 3, 4, seed=0), tokens(1, 6, 2, 7, seed=10), tokens(3, 4, 8, 2, seed=20),
        tokens(4, 4, 4, 4, seed=30), tokens(2, 1, 3, 2, seed=40), tokens(2, 6, 5, 3, seed=50, scale=2.0),
        tokens(3, 5, 6, 4, seed=60, scale=60.0),
    ],
    mistakes=[
        *(changed(gradients, of_scores=step) for step in (
            off_diagonal_left_out, nothing_subtracted, plain_mean, plain_sum, mean_over_queries, mean_along_columns,
            one_mean_for_all, mean_of_products, weights_left_out, softmax_passed_over, sign_of_scores_wrong,
            softmax_of_the_gradient, product_subtracted_alone, mean_added, diagonal_left_out, values_for_the_output)),
        *(changed(gradients, divisors=step) for step in (
            root_left_out_backward, root_left_out_for_keys, root_left_out_for_queries, root_twice_backward,
            root_left_out_forward, root_nowhere, d_k_without_root, root_multiplied, root_of_d_v, root_of_tokens)),
        *(changed(gradients, weigh=step) for step in (along_columns, overflow, scores_as_weights)),
        *(changed(gradients, of_queries=step) for step in (queries_transposed, queries_with_queries)),
        *(changed(gradients, of_keys=step) for step in (keys_not_transposed, keys_with_keys, keys_reshaped)),
        *(changed(gradients, of_values=step) for step in (values_not_transposed, values_with_values)),
        *(changed(gradients, of_weights=step) for step in (weights_gradient_transposed, outputs_for_values)),
        ones_for_the_gradient,
        *(changed(gradients, order=step) for step in (queries_and_keys_exchanged, values_first, reversed_order)),
    ],
    section="Scale, “Attention, backward”",
    forbidden=("backward", "grad", "run_backward", "vjp", "jvp", "jacobian", "_softmax_backward_data"),
    imports=("torch.fx.experimental.symbolic_shapes",),  # what autograd imports at its first call takes seconds
)  # fmt: skip


# --- change_of_weights ---------------------------------------------------------------------------------------------


def along_the_step(weights, change_of_scores):
    return weights * (change_of_scores - (weights * change_of_scores).sum(dim=-1, keepdim=True))


def keys_hidden(scores, mask):
    return masked_softmax(scores, mask.unsqueeze(1))


def change(queries, keys, mask, step, score=trials.scaled, weigh=keys_hidden, softmax=along_the_step):
    """The right way, steps of which bugs and known mistakes exchange. Rows of padded queries may hold anything."""
    weights = weigh(score(queries, keys, 0), mask)  # (batch, tokens, tokens)
    changes = softmax(weights, score(step, keys, 0))
    return changes.masked_fill(~mask.unsqueeze(2), math.nan) if weigh is keys_hidden else changes


def padded_queries_hidden(scores, mask):
    """The mask hides the rows of padded queries, and padded keys get weight. Hide columns: `mask.unsqueeze(1)`."""
    return masked_softmax(scores, mask.unsqueeze(2))


def no_mask(scores, mask):
    """The mask is not used, so padding gets weight. Hide its scores before the softmax: `mask.unsqueeze(1)`."""
    return scores.softmax(dim=-1)


def several_bugs_left():
    """More than one bug is left. By what is a score divided, what does the mask hide, and does the change of a row of
    weights sum to zero?"""


def own_score_alone(weights, change_of_scores):
    """A score changes its own weight alone, as on the Jacobian's diagonal, so the changes of a row don't sum to 0. The
    scores of the other tokens count as well: subtract the weighted mean of all changes.
    """
    return weights * (1 - weights) * change_of_scores


def mean_left_out(weights, change_of_scores):
    """The weighted mean of the changes is not subtracted, so the weights would no longer sum to 1."""
    return weights * change_of_scores


def plain_mean_of_changes(weights, change_of_scores):
    """The mean that is subtracted is the plain one. Weigh each change of a score by the weight of its token."""
    return weights * (change_of_scores - change_of_scores.mean(dim=-1, keepdim=True))


def mean_of_changes_over_queries(weights, change_of_scores):
    """The weighted mean of the changes runs over the queries. A softmax is along a row, so sum over the keys, the last
    axis."""
    return weights * (change_of_scores - (weights * change_of_scores).sum(dim=-2, keepdim=True))


def mean_of_changes_added(weights, change_of_scores):
    """The weighted mean of the changes is added. Subtract it: what one token gains, the others give."""
    return weights * (change_of_scores + (weights * change_of_scores).sum(dim=-1, keepdim=True))


def products_averaged(weights, change_of_scores):
    """The products of weights and changes are averaged, not summed. The weights of a row already sum to 1, so their
    `sum` is the weighted mean."""
    return weights * (change_of_scores - (weights * change_of_scores).mean(dim=-1, keepdim=True))


def sum_subtracted_alone(weights, change_of_scores):
    """The weighted mean is subtracted, but not multiplied by the weight: a token without weight would change, too."""
    return weights * change_of_scores - (weights * change_of_scores).sum(dim=-1, keepdim=True)


def not_times_the_weight(weights, change_of_scores):
    """The difference from the weighted mean is not multiplied by the weight. Without weight, nothing changes."""
    return change_of_scores - (weights * change_of_scores).sum(dim=-1, keepdim=True)


def root_left_out_of_the_scores(queries, keys, mask, step):
    """The scores are not divided by sqrt(d_k), though their change is. Divide both."""
    return change(queries * math.sqrt(keys.shape[-1]), keys, mask, step)


def after_the_step(queries, keys, mask, step):
    """The weights belong to the queries after the step. The Jacobian is taken where the step begins."""
    return change(queries + step, keys, mask, step)


def root_left_out_of_the_step(queries, keys, mask, step):
    """The change of the scores is not divided by sqrt(d_k), though the scores are. Divide both."""
    return change(queries, keys, mask, step * math.sqrt(keys.shape[-1]))


def whole_difference(queries, keys, mask, step):
    """This is the difference of the weights after the whole step. The exercise asks for the first order: the Jacobian
    times the change of the scores."""
    after, before = (keys_hidden(trials.scaled(q, keys, 0), mask) for q in (queries + step, queries))
    return (after - before).masked_fill(~mask.unsqueeze(2), math.nan)


def steps(mask, d_k, seed):
    queries, keys, step = draw(3, *mask.shape, d_k, seed=seed)
    return Case({"queries": queries, "keys": keys, "mask": mask, "step": step})


change_of_weights = Check(
    reference=change,
    cases=[
        steps(real_tokens([5, 3, 1]), 4, seed=0), steps(real_tokens([6, 6]), 3, seed=1),
        steps(real_tokens([4, 2, 3, 1], padding_first=True), 6, seed=2), steps(real_tokens([4, 5])[:1], 2, seed=3),
    ],
    mistakes=[
        *bugs_left(change, several_bugs_left, score=trials.root_left_out, weigh=padded_queries_hidden,
                   softmax=own_score_alone),
        changed(change, weigh=no_mask), changed(change, score=trials.not_scaled),
        *(changed(change, softmax=step) for step in (
            mean_left_out, plain_mean_of_changes, mean_of_changes_over_queries, mean_of_changes_added,
            products_averaged, sum_subtracted_alone, not_times_the_weight)),
        root_left_out_of_the_step, root_left_out_of_the_scores, after_the_step, whole_difference,
    ],
    section="Scale, “Who gives, who takes”",
)  # fmt: skip

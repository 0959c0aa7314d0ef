"""The checks of *Values*: the whole layer of self-attention, and an experiment that ablates the attention."""

import copy
import math

import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.queries import axis_of_mask_missing, layer, mask_on_queries, one_query_for_all
from checks.trials import changed, draw, masked, real_tokens, scaled
from shared.model import SelfAttention
from shared.statistics import mean_and_interval

VALUES = "Values, “What a token passes on”"


# --- whole_layer ---------------------------------------------------------------------------------------------------


def layer_by_pytorch(x, mask, W_query, W_key, W_value):
    """What a padded token attends to does not matter."""
    results = trials.attend(W_query(x), W_key(x), W_value(x), mask)
    return tuple(rows.masked_fill(~mask[:, :, None], math.nan) for rows in results)


def whole(x, mask, W_query, W_key, W_value, score=scaled, weigh=masked):
    """The right way, one step of which a known mistake exchanges."""
    weights = layer(x, mask, W_query, W_key, score, weigh)[1]
    return weights @ W_value(x), weights


def root_of_d_v(x, mask, W_query, W_key, W_value):
    """The scores are divided by the root of the width of the values. A dot product of keys has d_k terms."""
    values = W_value(x)
    weights = masked(W_query(x) @ W_key(x).mT / math.sqrt(values.shape[2]), mask[:, None, :])
    return weights @ values, weights


def features_averaged(x, mask, W_query, W_key, W_value):
    """`W_value` is not used: the weights average the rows of x. The output is `weights @ values`."""
    return layer(x, mask, W_query, W_key)


def keys_averaged(x, mask, W_query, W_key, W_value):
    """The weights average the keys. The output is `weights @ values`."""
    weights = whole(x, mask, W_query, W_key, W_value)[1]
    return weights @ W_key(x), weights


def weights_not_used(x, mask, W_query, W_key, W_value):
    """The values are returned as they are, and the weights are not used. The output is `weights @ values`."""
    return W_value(x), whole(x, mask, W_query, W_key, W_value)[1]


def weights_transposed(x, mask, W_query, W_key, W_value):
    """The output sums over the queries: the weights are transposed. The output is `weights @ values`."""
    weights = whole(x, mask, W_query, W_key, W_value)[1]
    return weights.mT @ W_value(x), weights


def padded_values_zeroed(x, mask, W_query, W_key, W_value):
    """Padding gets weight, although its values are 0, so the other weights are too small. Hide its scores instead."""
    weights = scaled(W_query(x), W_key(x), 0).softmax(dim=2)
    return weights @ (W_value(x) * mask[:, :, None]), weights


def one_output_for_all(x, mask, W_query, W_key, W_value):
    """There is one output for each text. Self-attention has one for each token: do not average over the tokens."""
    output, weights = whole(x, mask, W_query, W_key, W_value)
    return output.mean(dim=1), weights


def residual_added(x, mask, W_query, W_key, W_value):
    """The values are added to the output. There is no residual connection in this layer."""
    output, weights = whole(x, mask, W_query, W_key, W_value)
    return output + W_value(x), weights


def results_exchanged(x, mask, W_query, W_key, W_value):
    """The weights come first: the exercise asks for the output, then the weights."""
    return whole(x, mask, W_query, W_key, W_value)[::-1]


def scores_returned(x, mask, W_query, W_key, W_value):
    """The scores are returned instead of the weights."""
    output = whole(x, mask, W_query, W_key, W_value)[0]
    return output, scaled(W_query(x), W_key(x), 0)


def transposed_weights_returned(x, mask, W_query, W_key, W_value):
    """The weights are returned transposed: row i belongs to the query of token i."""
    output, weights = whole(x, mask, W_query, W_key, W_value)
    return output, weights.mT


def texts(mask, d_model, d_k, d_v, seed=0, scale=1.0):
    x = scale * draw(*mask.shape, d_model, seed=seed)
    return Case({"x": x, "mask": mask}, {"d_model": d_model, "d_k": d_k, "d_v": d_v})


def fits_into_the_classifier(answer):
    """The lab calls `attention_weights`, and reads three linear maps without a bias."""
    made, x, mask = answer(5, 3, 4), draw(2, 4, 5), real_tokens([4, 2])
    for name in ("W_query", "W_key", "W_value"):
        if not isinstance(getattr(made, name), nn.Linear) or getattr(made, name).bias is not None:
            raise Wrong(f"The lab reads `{name}` as an `nn.Linear` without a bias.", "no nn.Linear")
    if not hasattr(made, "attention_weights"):
        raise Wrong("The method `attention_weights` is missing: it returns the weights alone.", "no attention_weights")
    x = x.to(made.W_key.weight.dtype)
    weights, right = made.attention_weights(x, mask), made(x, mask)[1]
    if not isinstance(weights, torch.Tensor) or weights.shape != right.shape:
        raise Wrong(
            "`attention_weights` does not return the weights alone, (batch, tokens, tokens).",
            "other weights",
        )
    if not torch.allclose(weights[mask].sum(dim=1), torch.ones(len(weights[mask])).to(weights), atol=1e-5):
        raise Wrong("`attention_weights` does not return weights: its rows do not sum to 1. The softmax belongs "
                    "in this method.", "other weights")  # fmt: skip
    if not torch.allclose(weights[mask], right[mask], atol=1e-5):
        raise Wrong(
            "`attention_weights` and `forward` return different weights. Let `forward` call `attention_weights`.",
            "other weights",
        )


whole_layer = Check(
    reference=layer_by_pytorch,
    solution=SelfAttention,
    parts=("W_query", "W_key", "W_value"),
    cases=[
        texts(real_tokens([5, 3, 1]), 6, 3, 4),
        texts(real_tokens([2, 5, 4]), 6, 3, 4, seed=6),
        texts(real_tokens([6, 6]), 4, 7, 2, seed=1),
        texts(real_tokens([4, 2, 3, 1], padding_first=True), 5, 2, 3, seed=2),
        texts(real_tokens([4, 3, 2, 4]), 5, 4, 3, seed=3),
        texts(real_tokens([1, 1]), 6, 3, 4, seed=4),
        texts(real_tokens([3, 5])[:1], 6, 3, 4, seed=7),
        texts(real_tokens([1, 1, 1, 2] * 4 + [3]), 8, 2, 3, seed=5, scale=30.0),
    ],
    mistakes=[
        *(changed(whole, weigh=step) for step in (
            mask_on_queries, axis_of_mask_missing, *trials.MASK_MISTAKES, trials.softmax_over_queries,
            trials.nan_in_columns, trials.nan_for_real_tokens)),
        *(changed(whole, score=step) for step in (*trials.SCORE_MISTAKES, one_query_for_all)),
        root_of_d_v, features_averaged, keys_averaged, weights_not_used, weights_transposed, padded_values_zeroed,
        one_output_for_all, residual_added, results_exchanged, scores_returned, transposed_weights_returned,
    ],
    section=VALUES,
    last_look=fits_into_the_classifier,
)  # fmt: skip


# --- ablate_attention ----------------------------------------------------------------------------------------------


class Judge(nn.Module):
    """A model that classifies eight-token texts of its own by the sign of a number in its averaged output."""

    def __init__(self, num_texts, seed):
        super().__init__()
        self.attention = SelfAttention(4, 3, 2).double()
        with torch.no_grad():
            for number, weight in enumerate(self.attention.parameters()):
                weight.copy_(2 * draw(*weight.shape, seed=seed + number))
        self.texts, self.labels = draw(num_texts, 8, 4, seed=seed + 20), draw(num_texts, seed=seed + 21) > 0


def right_predictions(net):
    """Whether the prediction is right, (texts,) as an array."""
    with torch.no_grad():
        return ((net.attention(net.texts)[0].mean(dim=1)[:, 0] > 0) == net.labels).numpy()


def fall_with_equal_weights(net, right):
    predictions = net.attention.W_value(net.texts).mean(dim=1)[:, 0] > 0
    return mean_and_interval(right(net).astype(float) - (predictions == net.labels).numpy())


def before_and_after(net, right, part="W_query"):
    """For each text 1 where the prediction is right, else 0: of the model as it is, and without one part."""
    ablated = copy.deepcopy(net)
    nn.init.zeros_(getattr(ablated.attention, part).weight)
    return right(net).astype(float), right(ablated).astype(float)


def falls(net, right):
    before, after = before_and_after(net, right)
    return before - after


def values_ablated(net, right):
    """The values are zero, so nothing is left of the text. Make the weights equal instead: set the queries to zero."""
    before, after = before_and_after(net, right, "W_value")
    return mean_and_interval(before - after)


def nothing_ablated(net, right):
    """Both measurements are of the unchanged model. Set its query projection to zero, in the copy that you measure."""
    return 0.0, 0.0


def rise_not_fall(net, right):
    """The difference has the wrong sign. A fall is positive: before minus after."""
    return mean_and_interval(-falls(net, right))


def accuracy_after(net, right):
    """This is the accuracy of the ablated model. Subtract it from the accuracy before, review by review."""
    return mean_and_interval(before_and_after(net, right)[1])


def accuracy_before(net, right):
    """This is the accuracy of the unchanged model. Subtract that of the ablated model, review by review."""
    return mean_and_interval(before_and_after(net, right)[0])


def changed_predictions_counted(net, right):
    """Every changed prediction counts as a fall. One that becomes right counts against it: do not use `abs` or `!=`."""
    return mean_and_interval(abs(falls(net, right)))


def pairing_lost(net, right):
    """Each model has its own interval, as if it were tested on different reviews. Subtract review by review first."""
    (before, a), (after, b) = map(mean_and_interval, before_and_after(net, right))
    return before - after, math.hypot(a, b)


ablate_attention = Check(
    reference=fall_with_equal_weights,
    cases=[Case({"net": Judge(size, seed), "right": right_predictions}) for size, seed in ((60, 0), (25, 1), (200, 2))],
    mistakes=[
        values_ablated, nothing_ablated, rise_not_fall, accuracy_after, accuracy_before, changed_predictions_counted,
        pairing_lost, *trials.interval_mistakes(falls),
    ],
    section="Values, “Exercise 4.2 (experiment): ablate the attention”",
)  # fmt: skip

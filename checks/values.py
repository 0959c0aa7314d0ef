"""The checks of *Values*: the whole layer of self-attention, and an experiment that ablates the attention."""

import copy
import math

import numpy as np
import torch
from torch import nn

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.queries import layer, layer_mistakes
from checks.trials import draw, real_tokens
from shared.model import SelfAttention
from shared.statistics import mean_and_interval

VALUES = "Values, “Where to look, and what to bring back”"


# --- whole_layer ---------------------------------------------------------------------------------------------------


def layer_by_pytorch(features, mask, W_query, W_key, W_value):
    """What a padded token attends to does not matter."""
    results = trials.attend(W_query(features), W_key(features), W_value(features), mask)
    return tuple(rows.masked_fill(~mask[:, :, None], math.nan) for rows in results)


def features_averaged(features, mask, W_query, W_key, W_value):
    """`W_value` is not used: the weights average the features. The output is `weights @ values`."""
    return layer(features, mask, W_query, W_key)


def texts(mask, dim, key_dim, value_dim, seed=0, scale=1.0):
    features = scale * draw(*mask.shape, dim, seed=seed)
    return Case({"features": features, "mask": mask}, {"dim": dim, "key_dim": key_dim, "value_dim": value_dim})


def fits_into_the_classifier(answer):
    """The lab calls `attend`, and reads three linear maps without a bias."""
    made, features, mask = answer(5, 3, 4), draw(2, 4, 5), real_tokens([4, 2])
    for name in ("W_query", "W_key", "W_value"):
        if not isinstance(getattr(made, name), nn.Linear) or getattr(made, name).bias is not None:
            raise Wrong(f"The lab reads `{name}` as an `nn.Linear` without a bias.", "no nn.Linear")
    if not hasattr(made, "attend"):
        raise Wrong("The method `attend` is missing: it returns the weights alone.", "no attend")
    features = features.to(made.W_key.weight.dtype)
    weights, right = made.attend(features, mask), made(features, mask)[1]
    if not isinstance(weights, torch.Tensor) or weights.shape != right.shape:
        raise Wrong("`attend` does not return the weights alone, (batch, tokens, tokens).", "attend differs")
    if not torch.allclose(weights[mask].sum(dim=1), torch.ones(len(weights[mask])).to(weights), atol=1e-5):
        raise Wrong("`attend` does not return weights: its rows do not sum to 1. The softmax belongs in `attend`.",
                    "attend differs")  # fmt: skip
    if not torch.allclose(weights[mask], right[mask], atol=1e-5):
        raise Wrong("`attend` returns other weights than `forward`. Let `forward` call it.", "attend differs")


whole_layer = Check(
    reference=layer_by_pytorch,
    solution=SelfAttention,
    parts=("W_query", "W_key", "W_value"),
    cases=[
        texts(real_tokens([5, 3, 1]), 6, 3, 4), texts(real_tokens([2, 5, 4]), 6, 3, 4, seed=6),
        texts(real_tokens([4, 2, 3, 1], padding_first=True), 5, 2, 3, seed=2),
        texts(real_tokens([4, 3, 2, 4]), 5, 4, 3, seed=3), texts(real_tokens([1, 1]), 6, 3, 4, seed=4),
        texts(real_tokens([3, 5])[:1], 6, 3, 4, seed=7),
        texts(real_tokens([1, 1, 1, 2] * 4 + [3]), 8, 2, 3, seed=5, scale=30.0),
    ],
    mistakes=[features_averaged, *layer_mistakes(layer)],
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


def before_and_after(net, right, part="W_query"):
    """For each text 1 where the prediction is right, else 0: of the model as it is, and without a part, (2, texts)."""
    ablated = copy.deepcopy(net)
    nn.init.zeros_(getattr(ablated.attention, part).weight)
    return torch.tensor(np.stack([right(net), right(ablated)]), dtype=torch.float64)


def falls(net, right, part="W_query"):
    before, after = before_and_after(net, right, part)
    return before - after


def values_ablated(net, right):
    """The values are zero, so nothing is left of the text. Make the weights equal instead: set the queries to zero."""
    return mean_and_interval(falls(net, right, "W_value"))


def nothing_ablated(net, right):
    """Both measurements are of the unchanged model. Set its query projection to zero, in the copy that you measure."""
    return 0.0, 0.0


def changed_predictions_counted(net, right):
    """Every changed prediction counts as a fall. One that becomes right counts against it: do not use `abs` or `!=`."""
    return mean_and_interval(abs(falls(net, right)))


ablate_attention = Check(
    reference=lambda net, right: mean_and_interval(falls(net, right)),
    cases=[Case({"net": Judge(size, seed), "right": right_predictions}) for size, seed in ((60, 0), (25, 1), (200, 2))],
    mistakes=[
        values_ablated, nothing_ablated, changed_predictions_counted, *trials.paired_mistakes(before_and_after),
        *trials.interval_mistakes(falls),
    ],
    section="Values, “Exercise 4.2 (experiment): ablate the attention”",
)  # fmt: skip

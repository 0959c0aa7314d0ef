"""How a model behaves on pairs of reviews when the marker moves from one to the other."""

import numpy as np
import torch
from torch import nn

from shared.data import Examples, batches
from shared.review_pairs import opposite_labels


def right_on_both_kinds(right: np.ndarray, pairs: Examples) -> float:
    """How often a model is right both times on the kind of opposite pairs on which it is right both times less often.

    The two kinds are those whose first review is positive and those whose second is; they are compared at each
    length of the first review, and the mean over lengths is weighted by the number of pairs. For one constant query
    with a linear classifier this is 0.

    Args:
        right: (2, pairs), from `review_pairs.correct`.
    """
    # (pairs,), the review that comes first
    first = np.where(pairs.distractor_first, pairs.distractor_rows, pairs.target_rows)
    length, positive = pairs.reviews.lengths[first], pairs.reviews.labels[first] == 1
    opposite, twice = opposite_labels(pairs), np.asarray(right.all(axis=0))  # (pairs,) each
    fewer, count = [], []
    for each in np.unique(length):
        kinds = [opposite & (length == each) & (positive == kind) for kind in (True, False)]
        if all(kind.any() for kind in kinds):
            fewer.append(min(twice[kind].mean() for kind in kinds))
            count.append(sum(kind.sum() for kind in kinds))
    return float(np.average(fewer, weights=count))


@torch.no_grad()
def attention_on_first(net: nn.Module, pairs: Examples) -> tuple[float, float]:
    """Mean attention on the first review, where the marker is before the first review and where before the second."""
    device = next(net.parameters()).device
    net.eval()
    mass = np.empty(len(pairs))
    for batch in batches(pairs, 256, device=device):
        mass[batch.rows] = (net(batch.ids, batch.mask)[1] * batch.in_target).sum(dim=1).cpu()
    marked_first = ~pairs.distractor_first
    return float(mass[marked_first].mean()), float((1 - mass[~marked_first]).mean())

"""Attention weights outside the model that computed them: shuffled, and given to a classifier without positions."""

import numpy as np
import torch
from scipy import stats
from scipy.sparse import csr_matrix
from torch import Tensor

from shared import data
from shared.model import AttentionPooling


@torch.no_grad()
def removal_and_shuffling(
    pooling: AttentionPooling, examples: data.Examples, number: int, seed: int = 0
) -> dict[str, Tensor]:
    """For each of the first examples: do weights agree with the effect of removal, and what if they are shuffled?

    Returns, each (number,): Kendall's tau of weights and effects; the median change of the probability over twenty
    shuffles; and the fraction of shuffles with the same prediction.
    """
    random, rows = np.random.default_rng(seed), list[tuple[float, float, float]]()
    for batch in data.batches(examples, batch_size=1):
        if len(rows) == number:
            break
        weights = pooling(batch.ids, batch.mask)[1][0]  # (tokens,)
        logits = pooling.output(pooling.embedding(batch.ids))[0, :, 0]  # (tokens,): as if this were the only token
        logit = weights @ logits  # the classifier is linear, so its output is the weighted mean
        removed = (logit - weights * logits) / (1 - weights)  # (tokens,): without this token
        effect = (removed.sigmoid() - logit.sigmoid()).abs()
        shuffled = torch.stack([weights[random.permutation(len(weights))] for _ in range(20)]) @ logits  # (20,)
        change = (shuffled.sigmoid() - logit.sigmoid()).abs().median().item()
        same = ((shuffled > 0) == (logit > 0)).float().mean().item()
        rows.append((stats.kendalltau(weights, effect).statistic, change, same))
    return dict(zip(("tau", "change", "same prediction"), torch.tensor(rows).T, strict=True))


@torch.no_grad()
def weighted_counts(pooling: AttentionPooling, examples: data.Examples, vocabulary_size: int) -> dict[str, csr_matrix]:
    """Each text as a bag of words that are counted by their weights, by three kinds of weights.

    "attention": those of the model. "halves only": each half keeps its attention, spread evenly over its words.
    "equal": all words alike. Each is (examples: data.Examples, vocabulary_size).
    """
    rows, columns = [], []
    kinds: dict[str, list[np.ndarray]] = {"attention": [], "halves only": [], "equal": []}
    for batch in data.batches(examples, batch_size=64):
        weights = pooling(batch.ids, batch.mask)[1]  # (batch, tokens)
        labelled = batch.labelled & batch.mask
        first, second = (
            half / half.sum(dim=1, keepdim=True).clamp(min=1) for half in (labelled, batch.mask & ~labelled)
        )
        on_labelled = (weights * labelled).sum(dim=1, keepdim=True)  # (batch, 1)
        even = on_labelled * first + (1 - on_labelled) * second
        row, token = batch.mask.nonzero(as_tuple=True)
        rows.append(np.asarray(batch.rows)[row.numpy()])
        columns.append(batch.ids[row, token].numpy())
        for kind, of_kind in zip(
            kinds.values(), (weights, even, batch.mask / batch.mask.sum(1, keepdim=True)), strict=True
        ):
            kind.append(of_kind[row, token].numpy())
    cells = np.concatenate(rows), np.concatenate(columns)
    shape = len(examples), vocabulary_size
    return {name: csr_matrix((np.concatenate(kind), cells), shape=shape) for name, kind in kinds.items()}

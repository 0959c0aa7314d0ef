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

    Returns Kendall's tau of weights and effects, whether the prediction is positive, and whether it is right, each
    (number,). Then the same with weights shuffled twenty times, (number, 20), where effects are those of these weights;
    tau for the first three of them only, (number, 3).
    """
    random, rows = np.random.default_rng(seed), list[tuple[Tensor, Tensor, Tensor]]()
    for batch in data.batches(examples, batch_size=1):
        if len(rows) == number:
            break
        weights = pooling(batch.ids, batch.mask)[1][0]  # (tokens,)
        logits = pooling.output(pooling.embedding(batch.ids))[0, :, 0]  # (tokens,): as if this were the only token
        shuffled = [weights[random.permutation(len(weights))] for _ in range(20)]
        weights = torch.stack([weights, *shuffled])  # (21, tokens)
        logit = weights @ logits[:, None]  # (21, 1): the classifier is linear, so its output is the weighted mean
        removed = (logit - weights * logits) / (1 - weights)  # (21, tokens): without this token
        effects = (removed.sigmoid() - logit.sigmoid()).abs()
        tau = torch.tensor([stats.kendalltau(*pair).statistic for pair in zip(weights[:4], effects[:4], strict=True)])
        positive = logit[:, 0] > 0  # (21,)
        rows.append((tau, positive.float(), (positive == batch.labels.bool()).float()))
    results = dict(zip(("tau", "positive", "right"), map(torch.stack, zip(*rows, strict=True)), strict=True))
    with_shuffled = {f"{name}, shuffled": of[:, 1:] for name, of in results.items()}
    return {name: of[:, 0] for name, of in results.items()} | with_shuffled


def evenly(words: Tensor) -> Tensor:
    """Equal weights on the words that are True in each text, (batch, tokens)."""
    return words / words.sum(dim=1, keepdim=True).clamp(min=1)


@torch.no_grad()
def weighted_counts(pooling: AttentionPooling, examples: data.Examples, vocabulary_size: int) -> dict[str, csr_matrix]:
    """Each text as a bag of words that are counted by their weights, by three kinds of weights.

    "attention": those of the model. "halves only": each half keeps its attention, spread evenly over its words.
    "equal": all words alike. Each is (examples, vocabulary_size).
    """
    rows, columns = [], []
    kinds: dict[str, list[np.ndarray]] = {"attention": [], "halves only": [], "equal": []}
    for batch in data.batches(examples, batch_size=64):
        weights = pooling(batch.ids, batch.mask)[1]  # (batch, tokens)
        on_labelled = (weights * batch.in_target).sum(dim=1, keepdim=True)  # (batch, 1)
        even = on_labelled * evenly(batch.in_target) + (1 - on_labelled) * evenly(batch.mask & ~batch.in_target)
        row, token = batch.mask.nonzero(as_tuple=True)
        rows.append(batch.rows[row.numpy()])
        columns.append(batch.ids[row, token].numpy())
        for kind, of_kind in zip(kinds, (weights, even, evenly(batch.mask)), strict=True):
            kinds[kind].append(of_kind[row, token].numpy())
    cells = np.concatenate(rows), np.concatenate(columns)
    shape = len(examples), vocabulary_size
    return {name: csr_matrix((np.concatenate(kind), cells), shape=shape) for name, kind in kinds.items()}

"""Attention weights outside the model that computed them: shuffled, and given to a classifier without positions."""

import numpy as np
import torch
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.metrics import roc_auc_score
from torch import Tensor

from shared import data
from shared.model import AttentionPooling


@torch.no_grad()
def removal_and_shuffling(
    pooling: AttentionPooling, examples: data.Examples, number: int, seed: int = 0
) -> dict[str, Tensor]:
    """For each of the first examples: do weights agree with the effect of removal, and what if they are shuffled?

    Returns Kendall's tau of weights and effects, the logit, whether it is positive, and whether that is right, each
    (number,). Then the same with weights shuffled twenty times, (number, 20), where effects are those of these weights;
    tau for the first three of them only, (number, 3). At last the label, and the logit with equal weights, (number,).
    """
    random, rows, others = np.random.default_rng(seed), list[tuple[Tensor, ...]](), list[tuple[Tensor, Tensor]]()
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
        rows.append((tau, logit[:, 0], positive.float(), (positive == batch.labels.bool()).float()))
        others.append((batch.labels[0], logits.mean()))
    results = dict(zip(("tau", "logit", "positive", "right"), map(torch.stack, zip(*rows, strict=True)), strict=True))
    with_shuffled = {f"{name}, shuffled": of[:, 1:] for name, of in results.items()}
    label, equal = map(torch.stack, zip(*others, strict=True))
    return {name: of[:, 0] for name, of in results.items()} | with_shuffled | {"label": label, "logit, equal": equal}


def area(logits: Tensor, labels: Tensor) -> float:
    """How often a positive text has a larger logit than a negative one (the area under the ROC curve); the mean over
    columns, if logits are (texts, columns)."""
    columns = logits.view(len(labels), -1).T
    return float(np.mean([roc_auc_score(labels, column) for column in columns]))


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

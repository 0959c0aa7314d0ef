"""A toy of the marked task: reviews of ten words, one of which is good or bad."""

import itertools

import torch
from torch import Tensor

PAD, SEP, MARK, GOOD, BAD, WORD = range(6)


def toy_pairs() -> tuple[Tensor, Tensor, Tensor]:
    """All 800 pairs: ids (800, 22), is the marked review good (800,), and are the labels opposite (800,)."""
    texts, labels, opposite = [], [], []
    for first, second in itertools.product((GOOD, BAD), repeat=2):
        for i, j in itertools.product(range(10), repeat=2):  # where the good or bad words are
            reviews = [WORD] * 10, [WORD] * 10
            reviews[0][i], reviews[1][j] = first, second
            for markers, counts in (((MARK, SEP), first), ((SEP, MARK), second)):
                texts.append([markers[0], *reviews[0], markers[1], *reviews[1]])
                labels.append(counts == GOOD)
                opposite.append(first != second)
    return torch.tensor(texts), torch.tensor(labels), torch.tensor(opposite)


def toy_tokens(ids: Tensor) -> Tensor:
    """Three numbers for each token, (texts, 22, 3): good or bad (1, -1, else 0), `<SEP>` or not, first half or not."""
    sentiment = (ids == GOOD).float() - (ids == BAD).float()  # (texts, 22)
    first_half = (torch.arange(ids.shape[1]) < ids.shape[1] // 2).float().expand(ids.shape)
    return torch.stack([sentiment, (ids == SEP).float(), first_half], dim=2)

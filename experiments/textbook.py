"""The textbook pipeline, which the course's speed is measured against: plain, right, and without any of our ideas.

Texts are concatenated as strings, tokenized by four substitutions, stored as lists, padded to 256 ids, shuffled into
batches of 1,024, and read by self-attention without a mask that forms all n x n weights and averages all outputs.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor, nn

WINDOW = 256


def tokenize(text: str) -> list[str]:
    """Lower-case words of the letters a to z, by four substitutions."""
    text = text.lower()
    text = re.sub(r"</?[a-z][^>]*>", " ", text)  # tags
    text = re.sub(r"[^a-z]", " ", text)  # everything but letters
    text = re.sub(r" +", " ", text)  # runs of spaces
    text = re.sub(r"^ | $", "", text)  # spaces at both ends
    return text.split(" ") if text else []


def join_texts(texts: list[str], partners: list[int]) -> list[str]:
    """Each text alone, then each with the text of its partner in front."""
    return texts + [texts[partner] + " " + text for partner, text in zip(partners, texts, strict=True)]


def build_vocabulary(texts: list[str], min_count: int = 2) -> dict[str, int]:
    """Ids of the words seen at least `min_count` times, the most frequent first, after <PAD> and <UNK>."""
    tokens = [tokenize(text) for text in texts]
    counts = Counter(word for words in tokens for word in words)
    frequent = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    return {word: place for place, word in enumerate(["<PAD>", "<UNK>", *frequent])}


def encode(texts: list[str], vocabulary: dict[str, int]) -> list[list[int]]:
    """The ids of each text, truncated and padded to 256."""
    tokens = [tokenize(text) for text in texts]
    ids = [[vocabulary.get(word, 1) for word in words] for words in tokens]
    return [(row + [0] * WINDOW)[:WINDOW] for row in ids]


def batches(
    ids: list[list[int]], labels: list[int], batch_size: int = 1024, seed: int = 0
) -> Iterator[tuple[Tensor, Tensor]]:
    """Shuffled batches: ids (batch, 256) and labels (batch,)."""
    order = list(range(len(ids)))
    random.Random(seed).shuffle(order)
    for begin in range(0, len(order), batch_size):
        rows = order[begin : begin + batch_size]
        yield torch.tensor([ids[row] for row in rows]), torch.tensor([float(labels[row]) for row in rows])


class SelfAttentionClassifier(nn.Module):
    """Self-attention over 256 tokens, padding included; the average of all outputs, then a linear classifier.

    The parameters are initialized as in `shared.model.SelfAttentionClassifier`: same widths, same spread, same dropout.
    """

    def __init__(self, vocabulary_size: int, d_model: int = 16, d_k: int = 8, d_v: int = 16):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        nn.init.normal_(self.embedding.weight, std=0.1)
        column = torch.arange(d_model)
        angle = torch.arange(WINDOW)[:, None] / 1000 ** (2 * (column // 2) / d_model)
        self.register_buffer("positions", torch.where(column % 2 == 0, angle.sin(), angle.cos()))  # (256, d_model)
        self.dropout = nn.Dropout(0.3)
        self.W_query = nn.Linear(d_model, d_k, bias=False)
        self.W_key = nn.Linear(d_model, d_k, bias=False)
        self.W_value = nn.Linear(d_model, d_v, bias=False)
        self.output = nn.Linear(d_v, 1)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.dropout(self.embedding(ids) + self.positions)  # (batch, 256, d_model)
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])  # (batch, 256, 256)
        outputs = scores.softmax(dim=2) @ values  # (batch, 256, d_v)
        return self.output(outputs.mean(dim=1)).squeeze(1)  # (batch,)

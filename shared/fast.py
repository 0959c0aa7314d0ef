"""Layers of `shared.model` once more, faster: same parameters and results, other steps. `shared.training` uses them.

Self-attention trains more than twice as fast this way. Dropout alone brings a tenth or two; it is here because the
figures of the labs were made with its random numbers. A test holds each equal to its plain twin.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from shared import model

WEIGHTS_AT_ONCE = 500_000


@contextmanager
def faster(net: nn.Module) -> Iterator[None]:
    """Let the layers of `shared.model` in a network compute faster inside a `with` block.

    Parameters and results stay what they are, except that dropout draws other random numbers. Layers that are not of
    `shared.model` are left alone.
    """
    twins = {layer: SelfAttentionClassifier for layer in net.modules() if type(layer) is model.SelfAttentionClassifier}
    for layer in net.modules():
        if isinstance(layer, model.TokenFeatures | model.TransformerBlock):
            twins |= {part: Dropout for part in layer.modules() if type(part) is nn.Dropout}
    plain = {layer: type(layer) for layer in twins}
    for layer, twin in twins.items():
        layer.__class__ = twin
    try:
        yield
    finally:
        for layer, kind in plain.items():
            layer.__class__ = kind


class SelfAttentionClassifier(model.SelfAttentionClassifier):
    """Averaged self-attention with few passes over the n x n numbers, and without the product of weights and values."""

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(ids)  # (batch, tokens, dim)
        queries = self.attention.W_query(features)  # (batch, tokens, key_dim)
        queries = queries / math.sqrt(queries.shape[2])  # fewer numbers to divide than scores
        # Laid out anew, because the gradient multiplies the n x n scores by the keys: twice as fast this way.
        keys = self.attention.W_key(features).transpose(1, 2).contiguous()  # (batch, key_dim, tokens)
        hidden = torch.zeros(mask.shape, dtype=queries.dtype, device=mask.device)
        hidden = hidden.masked_fill(~mask, torch.finfo(queries.dtype).min).unsqueeze(1)  # (batch, 1, tokens)
        rows_that_count = (mask.to(features) / mask.sum(dim=1, keepdim=True).clamp(min=1)).unsqueeze(2)

        # On a CPU a few texts at a time, whose n x n weights fit its cache: nearly twice as fast in training.
        size = 1 + WEIGHTS_AT_ONCE // (1 + ids.shape[1] ** 2) if ids.device.type == "cpu" else len(ids)
        average_rows = []
        for some in zip(*(part.split(size) for part in (hidden, queries, keys, rows_that_count)), strict=True):
            some_hidden, some_queries, some_keys, some_that_count = some
            scores = torch.baddbmm(some_hidden, some_queries, some_keys)  # (texts, tokens, tokens), masked already
            average_rows.append((scores.softmax(dim=2) * some_that_count).sum(dim=1))  # (texts, tokens)
        weights = torch.cat(average_rows)  # (batch, tokens)
        pooled = self.attention.W_value(model.weighted_sum(weights, features))  # (batch, value_dim), mapped once a text
        return self.output(pooled).squeeze(1), weights


class Dropout(nn.Dropout):
    """`nn.Dropout` that cuts each random number of 64 bits into four decisions of 16; the rate is kept to 1/65,536.

    Drawing is the part of a step that the cores of a processor cannot do together.
    """

    def forward(self, features: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return features
        count = features.numel()
        drawn = torch.empty((count + 3) // 4, dtype=torch.int64, device=features.device).random_(-(2**63), None)
        sixteen = drawn.view(torch.int16)[:count].view(features.shape)  # from -32,768 to 32,767, all equally likely
        keep = sixteen >= round(self.p * 2**16) - 2**15
        return features * keep / (1 - self.p) if self.p < 1 else features * 0

"""Attention layers and the classifiers built on them: tensors in, logits out.

Dimensions: batch, tokens (n), d_model (d, features of a token), d_k (k), d_v (d_v). Every classifier takes
`ids` (batch, tokens) and `mask` (batch, tokens; True for a real token), and returns `logits` (batch,) and `weights`
(batch, tokens): how much each token had to say, summing to 1.
"""

import math

import torch
from torch import Tensor, nn

from shared.inputs import check_ids, check_inputs, check_mask

MAX_TOKENS = 1024


def sinusoidal_positions(num_tokens: int, d_model: int, base: float = 1000.0) -> Tensor:
    """Positions as sines and cosines of growing wavelength, (num_tokens, d_model).

    Even columns hold sines and odd ones cosines of position / base^(2 floor(i / 2) / d_model).
    Source: Vaswani et al. 2017, section 3.5, which uses base 10,000.
    """
    column = torch.arange(d_model)
    angle = torch.arange(num_tokens)[:, None] / base ** (2 * (column // 2) / d_model)  # (num_tokens, d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis; where `mask` is False the weight is 0, and a row without any True is all 0.

    Args:
        scores: (..., n).
        mask: bool, broadcasts to `scores`; None lets every place take part.

    Raises:
        TypeError: the mask is not bool.
        ValueError: the mask does not broadcast to the scores.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, scores.shape)
    return softmax_of_biased(scores + mask_bias(mask, scores), mask)


def mask_bias(mask: Tensor, like: Tensor) -> Tensor:
    """What to add to scores to hide the positions where `mask` is False: 0 or the smallest number of `like`'s type.

    Adding it takes fewer passes over the n x n scores than `masked_fill`. It is not -inf, because that turns a row
    without any True into NaN.
    """
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill(~mask, torch.finfo(like.dtype).min)


def softmax_of_biased(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis of scores with a `mask_bias`; a row without any True is all 0."""
    weights = scores.softmax(dim=-1)
    # Only a row without any True needs the product, but looking for one would make the processor wait for a GPU.
    return weights if mask.device.type == "cpu" and mask.any(dim=-1).all() else weights * mask


class TokenFeatures(nn.Module):
    """Word embedding plus sinusoidal position, then dropout: ids (batch, tokens) to (batch, tokens, d_model).

    Args:
        positions: False leaves the positions out.
        std: standard deviation of the first embeddings; PyTorch's default of 1 learns worse here (lab 11).

    Raises:
        ValueError: more than `MAX_TOKENS` tokens, or an id outside the vocabulary.
        TypeError: ids are not integers.
    """

    positions: Tensor

    def __init__(
        self, vocabulary_size: int, d_model: int = 16, dropout: float = 0.3, positions: bool = True, std: float = 0.1
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        nn.init.normal_(self.embedding.weight, std=std)
        table = sinusoidal_positions(MAX_TOKENS, d_model) if positions else torch.zeros(MAX_TOKENS, d_model)
        self.register_buffer("positions", table, persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor) -> Tensor:
        check_ids(ids, self.embedding.num_embeddings, MAX_TOKENS)
        return self.dropout(self.embedding(ids) + self.positions[: ids.shape[1]])  # (batch, tokens, d_model)


def weighted_sum(weights: Tensor, features: Tensor) -> Tensor:
    """Weights (batch, tokens) times features (batch, tokens, d_model), summed over the tokens: (batch, d_model)."""
    return (weights.unsqueeze(1) @ features).squeeze(1)  # (batch, 1, tokens) @ (batch, tokens, d_model)


class MeanPooling(nn.Module):
    """The baseline: every token counts the same (lab 1)."""

    def __init__(self, vocabulary_size: int, d_model: int = 16, **features):
        super().__init__()
        self.features = TokenFeatures(vocabulary_size, d_model, **features)
        self.output = nn.Linear(d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(ids)  # (batch, tokens, d_model)
        weights = mask.to(features) / mask.sum(dim=1, keepdim=True).clamp(min=1)  # (batch, tokens)
        pooled = weighted_sum(weights, features)  # (batch, d_model)
        return self.output(pooled).squeeze(1), weights


class AttentionPooling(nn.Module):
    """One linear map gives each token a score; softmax makes weights of the scores (lab 1).

    Source: additive attention with one fixed query, Bahdanau et al. 2015, section 3.1, made linear.
    """

    def __init__(self, vocabulary_size: int, d_model: int = 16, **features):
        super().__init__()
        self.features = TokenFeatures(vocabulary_size, d_model, **features)
        self.score = nn.Linear(d_model, 1)
        self.output = nn.Linear(d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(ids)  # (batch, tokens, d_model)
        scores = self.score(features).squeeze(2)  # (batch, tokens)
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        pooled = weighted_sum(weights, features)  # (batch, d_model)
        return self.output(pooled).squeeze(1), weights


class KeyPooling(nn.Module):
    """Attention pooling whose score is a key times one learned query (lab 2)."""

    def __init__(self, vocabulary_size: int, d_model: int = 16, d_k: int = 16, bias: bool = True, **features):
        super().__init__()
        self.features = TokenFeatures(vocabulary_size, d_model, **features)
        self.W_key = nn.Linear(d_model, d_k, bias=bias)
        self.query = nn.Linear(d_k, 1, bias=bias)
        self.output = nn.Linear(d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(ids)  # (batch, tokens, d_model)
        keys = self.W_key(features)  # (batch, tokens, d_k)
        scores = self.query(keys).squeeze(2)  # (batch, tokens)
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        pooled = weighted_sum(weights, features)  # (batch, d_model)
        return self.output(pooled).squeeze(1), weights


class SelfAttention(nn.Module):
    """Every token asks, every token answers: features (batch, tokens, d_model) to (batch, tokens, d_v).

    Args:
        d_v: None leaves the values out; the layer then brings back the features themselves (lab 3).

    Source: Vaswani et al. 2017, section 3.2.1.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int | None = None, bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_model, d_k, bias=bias)
        self.W_key = nn.Linear(d_model, d_k, bias=bias)
        self.W_value = nn.Identity() if d_v is None else nn.Linear(d_model, d_v, bias=bias)

    def attend(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        """The weights, (batch, tokens, tokens): row i says where token i looks.

        Args:
            mask: (batch, tokens) bool, True for a real token; a padded token is looked at by nobody.
        """
        # Most of the time goes into passes over the n x n scores. So the queries are divided, not the scores; the bias
        # of the mask is added by the product itself; and keys that lie transposed in memory make that product faster.
        keys = self.W_key(features).transpose(1, 2).contiguous()  # (batch, d_k, tokens)
        queries = self.W_query(features) / math.sqrt(keys.shape[1])  # (batch, tokens, d_k)
        if mask is None:
            return (queries @ keys).softmax(dim=2)  # (batch, tokens, tokens)
        check_mask(mask, features.shape[:2])
        mask = mask.unsqueeze(1)  # (batch, 1, tokens)
        scores = torch.baddbmm(
            mask_bias(mask, queries), queries, keys
        )  # bias + queries @ keys, (batch, tokens, tokens)
        return softmax_of_biased(scores, mask)

    def forward(self, features: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        weights = self.attend(features, mask)  # (batch, tokens, tokens)
        values = self.W_value(features)  # (batch, tokens, d_v)
        return weights @ values, weights


class SelfAttentionClassifier(nn.Module):
    """Self-attention, averaged over the tokens, then a linear classifier (labs 3 and 4).

    The average of the rows of A V is the average row of A, times V. So one row of weights a text is enough; it is what
    the classifier returns. Likewise V = X W_V can wait until the rows of X are averaged.
    """

    def __init__(
        self,
        vocabulary_size: int,
        d_model: int = 16,
        d_k: int = 8,
        d_v: int | None = 16,
        **features,
    ):
        super().__init__()
        self.features = TokenFeatures(vocabulary_size, d_model, **features)
        self.attention = SelfAttention(d_model, d_k, d_v)
        self.output = nn.Linear(d_v or d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(ids)  # (batch, tokens, d_model)
        rows = self.attention.attend(features, mask)  # (batch, tokens, tokens)
        rows_that_count = mask.to(features) / mask.sum(dim=1, keepdim=True).clamp(min=1)  # (batch, tokens), adding to 1
        weights = weighted_sum(rows_that_count, rows)  # (batch, tokens)
        pooled = self.attention.W_value(weighted_sum(weights, features))  # (batch, d_v)
        return self.output(pooled).squeeze(1), weights


class MarkedSelfAttentionClassifier(nn.Module):
    """Self-attention read at one row, the one of the mark (lab 5): one query a text, so the cost grows with n.

    Args:
        mark_id: the id of the mark, which stands once in every sequence.
        constant_query: ask the same learned query in every text; the control that takes self-attention away.
    """

    def __init__(
        self,
        vocabulary_size: int,
        mark_id: int,
        d_model: int = 16,
        d_k: int = 8,
        d_v: int = 16,
        constant_query: bool = False,
        **features,
    ):
        super().__init__()
        self.mark_id = mark_id
        self.features = TokenFeatures(vocabulary_size, d_model, **features)
        self.attention = SelfAttention(d_model, d_k, d_v)
        self.constant_query = nn.Parameter(torch.randn(d_k)) if constant_query else None
        self.output = nn.Linear(d_v, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(ids)  # (batch, tokens, d_model)
        marked = weighted_sum((ids == self.mark_id).to(features), features)  # (batch, d_model), the mark's features
        queries = self.attention.W_query(marked)  # (batch, d_k)
        if self.constant_query is not None:
            queries = self.constant_query.expand(len(ids), -1)
        keys = self.attention.W_key(features)  # (batch, tokens, d_k)
        scores = (keys @ queries.unsqueeze(2)).squeeze(2) / math.sqrt(keys.shape[2])  # (batch, tokens)
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        pooled = weighted_sum(weights, self.attention.W_value(features))  # (batch, d_v)
        return self.output(pooled).squeeze(1), weights


def causal_mask(num_tokens: int, device: torch.device | str | None = None) -> Tensor:
    """True where a token may look, (num_tokens, num_tokens) bool: at itself and at all that stand before it.

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool, device=device).tril()


class MultiHeadSelfAttention(nn.Module):
    """Several attentions side by side, each on its own slice of the features (Vaswani et al. 2017, section 3.2.2).

    Each of the `num_heads` heads has head_dim = d_model / num_heads features of every token to compare.
    """

    def __init__(self, d_model, num_heads):
        super().__init__()
        if num_heads < 1 or d_model % num_heads:
            fitting = [heads for heads in range(1, d_model + 1) if d_model % heads == 0]
            raise ValueError(
                f"{d_model} features cannot be shared by {num_heads} heads in equal parts. "
                f"Choose num_heads among {fitting}, or another d_model."
            )
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.W_output = nn.Linear(d_model, d_model)

    def split(self, projected):
        """Cut the features of each token into heads, (batch, num_heads, tokens, head_dim)."""
        cut = projected.unflatten(2, (self.num_heads, self.head_dim))  # (batch, tokens, num_heads, head_dim)
        return cut.transpose(1, 2)  # (batch, num_heads, tokens, head_dim)

    def forward(self, features, mask=None, attention_mask=None):
        """The output (batch, tokens, d_model) and the weights (batch, num_heads, tokens, tokens).

        Args:
            features: (batch, tokens, d_model).
            mask: (batch, tokens) bool, True for a real token; a padded token is looked at by nobody.
            attention_mask: (tokens, tokens) bool, or one for each text, (batch, tokens, tokens); True where the token
                of the row may look at the token of the column.
        """
        check_inputs(features, self.num_heads * self.head_dim, mask, attention_mask)
        # To divide the queries is to divide the scores, of which there are more.
        queries = self.split(self.W_query(features) / math.sqrt(self.head_dim))  # (batch, num_heads, tokens, head_dim)
        keys = self.split(self.W_key(features))  # (batch, num_heads, tokens, head_dim)
        values = self.split(self.W_value(features))  # (batch, num_heads, tokens, head_dim)
        scores = queries @ keys.transpose(2, 3)  # (batch, num_heads, tokens, tokens)
        allowed = None
        if mask is not None:
            allowed = mask[:, None, None, :]  # (batch, 1, 1, tokens)
        if attention_mask is not None:
            may_look = attention_mask[..., None, :, :]  # the same for all heads
            allowed = may_look if mask is None else may_look & allowed  # (batch, 1, tokens, tokens)
        weights = masked_softmax(scores, allowed)  # (batch, num_heads, tokens, tokens)
        joined = (weights @ values).transpose(1, 2).flatten(2)  # (batch, tokens, d_model)
        return self.W_output(joined), weights


class TransformerBlock(nn.Module):
    """Attention lets tokens exchange, a feed-forward layer lets each one think; both only add to the features (lab 9).

    Features (batch, tokens, d_model) come out in the same shape, with the weights of the heads. Equal to
    `nn.TransformerEncoderLayer` with equal weights, except that no dropout falls on the attention weights.

    Args:
        hidden_dim: the width between the two linear maps of the feed-forward layer.
        norm_first: normalise what goes into each part, instead of the sum that comes out.

    Source: Vaswani et al. 2017, section 3.1; norm_first: Xiong et al. 2020.
    """

    def __init__(self, d_model: int, num_heads: int, hidden_dim: int, dropout: float = 0.1, norm_first: bool = False):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, hidden_dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden_dim, d_model)
        )
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(
        self, features: Tensor, mask: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        if self.norm_first:
            attended, weights = self.attention(self.attention_norm(features), mask, attention_mask)
            features = features + self.dropout(attended)  # (batch, tokens, d_model)
            thought = self.feed_forward(self.feed_forward_norm(features))  # (batch, tokens, d_model)
            return features + self.dropout(thought), weights
        attended, weights = self.attention(features, mask, attention_mask)
        features = self.attention_norm(features + self.dropout(attended))  # (batch, tokens, d_model)
        thought = self.feed_forward(features)  # (batch, tokens, d_model)
        return self.feed_forward_norm(features + self.dropout(thought)), weights


class EncoderClassifier(nn.Module):
    """Transformer blocks, then attention pooling over what they made of the tokens, then a linear classifier (lab 9).

    The returned weights are those of the pooling.
    """

    def __init__(
        self,
        vocabulary_size: int,
        d_model: int = 16,
        num_heads: int = 4,
        hidden_dim: int = 32,
        num_blocks: int = 1,
        **features,
    ):
        super().__init__()
        self.features = TokenFeatures(vocabulary_size, d_model, **features)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, num_heads, hidden_dim, norm_first=True) for _ in range(num_blocks)
        )
        self.score = nn.Linear(d_model, 1)
        self.output = nn.Linear(d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(ids)  # (batch, tokens, d_model)
        for block in self.blocks:
            features, _ = block(features, mask)  # (batch, tokens, d_model)
        scores = self.score(features).squeeze(2)  # (batch, tokens)
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        pooled = weighted_sum(weights, features)  # (batch, d_model)
        return self.output(pooled).squeeze(1), weights

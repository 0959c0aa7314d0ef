"""Attention layers and the classifiers built on them: tensors in, logits out.

Shapes: batch, tokens (n), d_model (columns of X), d_k (columns of Q and K), d_v (columns of V).
Every classifier takes `ids` (batch, tokens) and `mask` (batch, tokens; True for a real token), and
returns `logits` (batch,) and `weights` (batch, tokens): the attention weight of each token, summing
to 1. Its keywords `**embedding` go to `TokenEmbedding`: dropout, positions, std.
"""

import math

import torch
from torch import Tensor, nn

from shared.input_errors import check_ids, check_inputs, check_mask

MAX_TOKENS = 1024


def sinusoidal_positions(num_tokens: int, d_model: int, base: float = 1000.0) -> Tensor:
    """Positions as sines and cosines of growing wavelength, (num_tokens, d_model).

    Even columns hold sines and odd ones cosines of position / base^(2 floor(i / 2) / d_model).
    Source: Vaswani et al. 2017, section 3.5, which uses base 10,000.
    """
    column = torch.arange(d_model)
    wavelength = base ** (2 * (column // 2) / d_model)  # (d_model,), divided by 2 pi
    angle = torch.arange(num_tokens)[:, None] / wavelength  # (num_tokens, d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis; where `mask` is False the weight is 0, even in a whole row.

    Scores where `mask` is False never matter, not even infinite ones or NaN.

    Args:
        scores: (..., n).
        mask: bool, broadcasts to `scores`; None lets every position take part.

    Raises:
        TypeError: the mask is not bool.
        ValueError: the mask does not broadcast to the scores.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, scores.shape)
    # The lowest number, because -inf would turn a row without any True into NaN; the product
    # with the mask turns it into zeros.
    scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)  # (..., n)
    return scores.softmax(dim=-1) * mask


class TokenEmbedding(nn.Module):
    """Embedding plus sinusoidal positional encoding, then dropout.

    ids (batch, tokens) to x (batch, tokens, d_model).

    Args:
        positions: False leaves the positional encoding out.
        std: standard deviation of the initial embeddings; with PyTorch's default, 1, models learn
            worse here (*Does it help?*).

    Raises:
        ValueError: more than `MAX_TOKENS` tokens, or an id outside the vocabulary.
        TypeError: ids are not integers (batch, tokens).
    """

    positions: Tensor  # the encoding; all zeros if the argument of this name is False

    def __init__(
        self, vocabulary_size: int, d_model: int = 16, dropout: float = 0.3,
        positions: bool = True, std: float = 0.1,
    ):  # fmt: skip
        super().__init__()
        self.table = nn.Embedding(vocabulary_size, d_model)
        nn.init.normal_(self.table.weight, std=std)
        encoding = torch.zeros(MAX_TOKENS, d_model)
        if positions:
            encoding = sinusoidal_positions(MAX_TOKENS, d_model)
        self.register_buffer("positions", encoding, persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor) -> Tensor:
        check_ids(ids, self.table.num_embeddings, MAX_TOKENS)
        x = self.table(ids) + self.positions[: ids.shape[1]]  # (batch, tokens, d_model)
        return self.dropout(x)


def weighted_sum(weights: Tensor, x: Tensor) -> Tensor:
    """Weights (batch, tokens) times x (batch, tokens, d_model), summed to (batch, d_model).

    A token of weight 0 adds nothing, not even infinite numbers or NaN.
    """
    x = x.masked_fill((weights == 0).unsqueeze(2), 0)  # (batch, tokens, d_model)
    return (weights.unsqueeze(1) @ x).squeeze(1)  # (batch, 1, tokens) @ (batch, tokens, d_model)


def mean_weights(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The weights of a mean over the real tokens, (batch, tokens): equal, and 0 for padding."""
    return mask.to(dtype) / mask.sum(dim=1, keepdim=True).clamp(min=1)


class MeanPooling(nn.Module):
    """The baseline: the mean of all tokens (*Recap: attention*)."""

    def __init__(self, vocabulary_size: int, d_model: int = 16, **embedding):
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary_size, d_model, **embedding)
        self.output = nn.Linear(d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embedding(ids)  # (batch, tokens, d_model)
        weights = mean_weights(mask, x.dtype)  # (batch, tokens)
        pooled = weighted_sum(weights, x)  # (batch, d_model)
        return self.output(pooled).squeeze(1), weights


class AttentionPooling(nn.Module):
    """A linear map gives each token a score, a softmax makes them weights (*Recap: attention*).

    Source: Bahdanau et al. 2015, section 3.1: additive attention, here linear, with one query.
    """

    def __init__(self, vocabulary_size: int, d_model: int = 16, **embedding):
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary_size, d_model, **embedding)
        self.score = nn.Linear(d_model, 1)
        self.output = nn.Linear(d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embedding(ids)  # (batch, tokens, d_model)
        scores = self.score(x).squeeze(2)  # (batch, tokens)
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        pooled = weighted_sum(weights, x)  # (batch, d_model)
        return self.output(pooled).squeeze(1), weights


def without_padding(x: Tensor, mask: Tensor | None) -> Tensor:
    """x (batch, tokens, d_model), 0 where `mask` is False: weight 0 times infinity would be NaN."""
    return x if mask is None else x.masked_fill(~mask.unsqueeze(2), 0)


class SelfAttention(nn.Module):
    """Every token attends to all: x (batch, tokens, d_model) to outputs (batch, tokens, d_v).

    Args:
        d_v: None leaves the value projection out: the output is a weighted mean of x (*Queries*).

    Source: Vaswani et al. 2017, section 3.2.1.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int | None = None, bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_model, d_k, bias=bias)
        self.W_key = nn.Linear(d_model, d_k, bias=bias)
        self.W_value = nn.Identity() if d_v is None else nn.Linear(d_model, d_v, bias=bias)

    def attention_weights(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The attention weights, (batch, tokens, tokens): row i holds those of query token i.

        Args:
            mask: (batch, tokens) bool, True for a real token; no token attends to padding.
        """
        check_inputs(x, self.W_query.in_features, mask)
        x = without_padding(x, mask)
        keys = self.W_key(x)  # (batch, tokens, d_k)
        # Dividing the queries divides the scores, too; in a long text, queries are fewer numbers.
        queries = self.W_query(x) / math.sqrt(keys.shape[2])  # (batch, tokens, d_k)
        scores = queries @ keys.transpose(1, 2)  # (batch, tokens, tokens)
        return masked_softmax(scores, None if mask is None else mask.unsqueeze(1))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        weights = self.attention_weights(x, mask)  # (batch, tokens, tokens)
        values = self.W_value(without_padding(x, mask))  # (batch, tokens, d_v)
        return weights @ values, weights  # (batch, tokens, d_v)


class SelfAttentionClassifier(nn.Module):
    """Self-attention, averaged over the tokens, then a linear classifier (*Queries* and *Values*).

    The mean of the rows of A V is the mean row of A, times V. So one row of weights for each text
    is enough, and it is what the classifier returns. Likewise W_V can be applied once the rows of X
    are averaged.
    """

    def __init__(
        self, vocabulary_size: int, d_model: int = 16,
        d_k: int = 8, d_v: int | None = 16, **embedding,
    ):  # fmt: skip
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary_size, d_model, **embedding)
        self.attention = SelfAttention(d_model, d_k, d_v)
        self.output = nn.Linear(d_v or d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embedding(ids)  # (batch, tokens, d_model)
        attention_weights = self.attention.attention_weights(x, mask)  # (batch, tokens, tokens)
        mean = mean_weights(mask, x.dtype)  # (batch, tokens)
        weights = (mean.unsqueeze(1) @ attention_weights).squeeze(1)  # (batch, tokens)
        pooled = self.attention.W_value(weighted_sum(weights, x))  # (batch, d_v)
        return self.output(pooled).squeeze(1), weights


def causal_mask(num_tokens: int, device: torch.device | str | None = None) -> Tensor:
    """A token may attend to itself and those before it: True, (num_tokens, num_tokens) bool.

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool, device=device).tril()


def allowed_pairs(mask: Tensor | None, attention_mask: Tensor | None) -> Tensor | None:
    """Which query may attend to which key; broadcasts to (batch, num_heads, tokens, tokens).

    Args:
        mask: bool, (batch, tokens); True for a real token.
        attention_mask: bool, (tokens, tokens) or (batch, tokens, tokens); True: may attend.
    """
    if mask is not None:
        mask = mask[:, None, None, :]  # (batch, 1, 1, tokens)
    if attention_mask is not None:
        attention_mask = attention_mask.unsqueeze(-3)  # (batch, 1, tokens, tokens), or no batch
    if mask is None:
        return attention_mask
    return mask if attention_mask is None else mask & attention_mask


class MultiHeadSelfAttention(nn.Module):
    """Several heads, each on its own columns of the projections.

    Each of the `num_heads` heads has head_dim = d_model / num_heads columns.

    Raises:
        ValueError: d_model is not a multiple of `num_heads`.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        if num_heads < 1 or d_model % num_heads:
            fitting = [heads for heads in range(1, d_model + 1) if d_model % heads == 0]
            raise ValueError(
                f"{d_model} columns cannot be split into {num_heads} heads of equal width. Choose "
                f"num_heads among {fitting}, or another d_model."
            )
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.W_output = nn.Linear(d_model, d_model)

    def split(self, projected: Tensor) -> Tensor:
        """Split the columns of each token into heads, (batch, num_heads, tokens, head_dim)."""
        return projected.unflatten(2, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The output (batch, tokens, d_model) and the weights (batch, num_heads, tokens, tokens).

        Args:
            x: (batch, tokens, d_model).
            mask: (batch, tokens) bool, True for a real token; no token attends to padding.
            attention_mask: (tokens, tokens) bool, or one for each text, (batch, tokens, tokens);
                True where the token of the row may attend to the token of the column.
        """
        check_inputs(x, self.num_heads * self.head_dim, mask, attention_mask)
        real_x = without_padding(x, mask)  # padding keeps its queries, as in PyTorch's layer
        # (batch, num_heads, tokens, head_dim); dividing the queries divides the scores, too
        queries = self.split(self.W_query(x) / math.sqrt(self.head_dim))
        keys = self.split(self.W_key(real_x))  # (batch, num_heads, tokens, head_dim)
        values = self.split(self.W_value(real_x))  # (batch, num_heads, tokens, head_dim)
        scores = queries @ keys.transpose(2, 3)  # (batch, num_heads, tokens, tokens)
        allowed = allowed_pairs(mask, attention_mask)
        weights = masked_softmax(scores, allowed)  # (batch, num_heads, tokens, tokens)
        concatenated = (weights @ values).transpose(1, 2).flatten(2)  # (batch, tokens, d_model)
        return self.W_output(concatenated), weights


class TransformerBlock(nn.Module):
    """Multi-head self-attention, then a feed-forward layer, each with a residual connection.

    Takes x and the masks of `MultiHeadSelfAttention`; returns x in the same shape, (batch, tokens,
    d_model), and the attention weights of the heads.
    Equal to `nn.TransformerEncoderLayer` with equal parameters, except that the attention weights
    get no dropout.

    Args:
        hidden_dim: the width between the two linear maps of the feed-forward layer.
        norm_first: pre-norm, which normalizes the input of each part; otherwise post-norm, which
            normalizes the sum.
        attention: the class of the attention layer, created with d_model and num_heads.

    Source: Vaswani et al. 2017, section 3.1; norm_first: Xiong et al. 2020.
    """

    def __init__(
        self, d_model: int, num_heads: int, hidden_dim: int, dropout: float = 0.1,
        norm_first: bool = False, attention: type[nn.Module] = MultiHeadSelfAttention,
    ):  # fmt: skip
        super().__init__()
        self.attention = attention(d_model, num_heads)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, hidden_dim),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_dim, d_model),
        )
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def add(self, x: Tensor, change: Tensor) -> Tensor:
        """The residual connection: x plus the change, which gets dropout."""
        return x + self.dropout(change)  # (batch, tokens, d_model)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        if self.norm_first:
            attention_output, weights = self.attention(self.attention_norm(x), mask, attention_mask)
            x = self.add(x, attention_output)  # (batch, tokens, d_model)
            return self.add(x, self.feed_forward(self.feed_forward_norm(x))), weights
        attention_output, weights = self.attention(x, mask, attention_mask)
        x = self.attention_norm(self.add(x, attention_output))  # (batch, tokens, d_model)
        return self.feed_forward_norm(self.add(x, self.feed_forward(x))), weights

"""The course's own language model: it continues film reviews, token by token.

Blocks of `shared.model` with rotary positions, four of them, on subword tokens (byte-level BPE). Every text begins with
a start token, and the model ends a review with the same token.
"""

import torch
from torch import Tensor, nn

from shared.model import MultiHeadSelfAttention, TransformerBlock, causal_mask, masked_softmax

START = 0  # the id of the start token
CONTEXT = 128  # tokens that the model was trained on at a time, the start token included


def rotate(x: Tensor, first_position: int = 0) -> Tensor:
    """Rotate each pair of columns (j, j + d / 2) by an angle that grows with the position; x (..., tokens, d).

    Source: Su et al. 2021, RoFormer, with the pairs laid out as in GPT-NeoX.
    """
    tokens, half = x.shape[-2], x.shape[-1] // 2
    positions = torch.arange(first_position, first_position + tokens, device=x.device)
    angles = positions[:, None] / 10_000 ** (torch.arange(half, device=x.device) / half)  # (tokens, d / 2)
    first, second = x[..., :half], x[..., half:]  # (..., tokens, d / 2) each
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class RotarySelfAttention(MultiHeadSelfAttention):
    """Multi-head self-attention whose queries and keys are rotated by their positions."""

    def forward(self, x, mask=None, attention_mask=None):
        queries = rotate(self.split(self.W_query(x))) / self.head_dim**0.5  # (batch, num_heads, tokens, head_dim)
        keys = rotate(self.split(self.W_key(x)))  # (batch, num_heads, tokens, head_dim)
        values = self.split(self.W_value(x))  # (batch, num_heads, tokens, head_dim)
        scores = queries @ keys.transpose(2, 3)  # (batch, num_heads, tokens, tokens)
        weights = masked_softmax(scores, attention_mask)
        return self.W_output((weights @ values).transpose(1, 2).flatten(2)), weights


class ReviewWriter(nn.Module):
    """Ids (batch, tokens) to logits of the next token; embedding and read-out share a matrix."""

    def __init__(self, vocabulary_size: int = 4096, d_model: int = 192, num_heads: int = 6, num_blocks: int = 4):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        nn.init.normal_(self.embedding.weight, std=0.05)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, num_heads, 4 * d_model, dropout=0.0, norm_first=True) for _ in range(num_blocks)
        )
        for block in self.blocks:
            block.attention = RotarySelfAttention(d_model, num_heads)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, ids: Tensor) -> Tensor:
        return self.read(ids)[0]

    def read(self, ids: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Logits, and the attention weights of each block, (batch, num_heads, tokens, tokens)."""
        allowed = causal_mask(ids.shape[1], ids.device)
        x, weights = self.embedding(ids), []  # (batch, tokens, d_model)
        for block in self.blocks:
            x, of_block = block(x, attention_mask=allowed)
            weights.append(of_block)
        return self.norm(x) @ self.embedding.weight.T, weights  # (batch, tokens, vocabulary)

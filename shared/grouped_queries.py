"""Multi-head self-attention in which several query heads share the keys and values of one head (*The KV cache*)."""

import math

from torch import Tensor, nn

from shared.model import MultiHeadSelfAttention, masked_softmax


class GroupedQueryAttention(MultiHeadSelfAttention):
    """x (batch, tokens, d_model) to the output and the weights of each query head.

    Args:
        num_kv_heads: heads of keys and values; each serves num_heads / num_kv_heads query heads, neighbours of one
            another. With num_heads it is multi-head attention, with 1 multi-query attention.

    Raises:
        ValueError: num_kv_heads does not divide num_heads.

    Source: Ainslie et al. 2023, section 2.2.
    """

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int):
        super().__init__(d_model, num_heads)
        if num_kv_heads < 1 or num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} query heads cannot share {num_kv_heads} key heads equally.")
        self.group = num_heads // num_kv_heads
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim)

    def split(self, projected: Tensor) -> Tensor:
        """Split columns into heads of `head_dim` columns, (batch, heads, tokens, head_dim)."""
        return projected.unflatten(2, (-1, self.head_dim)).transpose(1, 2)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        queries = self.split(self.W_query(x)) / math.sqrt(self.head_dim)  # (batch, num_heads, tokens, head_dim)
        # A cache stores these, (batch, num_kv_heads, tokens, head_dim); they are repeated only to be multiplied.
        keys, values = self.split(self.W_key(x)), self.split(self.W_value(x))
        keys = keys.repeat_interleave(self.group, dim=1)  # (batch, num_heads, tokens, head_dim)
        values = values.repeat_interleave(self.group, dim=1)  # (batch, num_heads, tokens, head_dim)
        allowed = None if mask is None else mask[:, None, None, :]  # (batch, 1, 1, tokens)
        if attention_mask is not None:
            permitted = attention_mask[..., None, :, :]  # the same for all heads
            allowed = permitted if allowed is None else permitted & allowed
        weights = masked_softmax(queries @ keys.transpose(2, 3), allowed)  # (batch, num_heads, tokens, tokens)
        return self.W_output((weights @ values).transpose(1, 2).flatten(2)), weights

"""Multi-head self-attention in which several query heads share the keys and values of one head (*The KV cache*)."""

from torch import Tensor, nn

from shared.model import MultiHeadSelfAttention


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
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim)

    def split(self, projected: Tensor) -> Tensor:
        """Split columns into heads, (batch, num_heads, tokens, head_dim); each head of keys or values is repeated."""
        heads = projected.unflatten(2, (-1, self.head_dim)).transpose(1, 2)  # (batch, num_kv_heads, tokens, head_dim)
        # A cache stores `heads`; they are repeated only to be multiplied.
        return heads.repeat_interleave(self.num_heads // heads.shape[1], dim=1)

"""A Transformer block that computes only the row that is read."""

from torch import Tensor, nn

from shared import model


class BlockAtMarker(nn.Module):
    """A pre-norm Transformer block whose output is read at the marker alone (*The block*).

    Equal to row m of the whole block, m being the marker's position; the other rows are not needed, so they are not
    computed, and the cost grows with n instead of n².
    """

    def __init__(
        self, vocabulary_size: int, marker_id: int, d_model: int = 16, num_heads: int = 4, hidden_dim: int = 32
    ):
        super().__init__()
        self.marker_id = marker_id
        self.embedding = model.TokenEmbedding(vocabulary_size, d_model)
        self.block = model.TransformerBlock(d_model, num_heads, hidden_dim, norm_first=True)
        self.output = nn.Linear(d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x, block = self.embedding(ids), self.block  # (batch, tokens, d_model)
        at_marker = (ids == self.marker_id).to(x)[:, None]  # (batch, 1, tokens)
        normal, attention = block.attention_norm(x), block.attention  # type: ignore[operator]
        queries = attention.split(attention.W_query(at_marker @ normal))  # type: ignore[operator]  # (batch, num_heads, 1, head_dim)
        keys, values = (attention.split(W(normal)) for W in (attention.W_key, attention.W_value))  # type: ignore[operator]
        scores = queries @ keys.transpose(2, 3) / attention.head_dim**0.5  # type: ignore[operator]  # (batch, num_heads, 1, tokens)
        weights = model.masked_softmax(scores, mask[:, None, None])  # (batch, num_heads, 1, tokens)
        concatenated = (weights @ values).transpose(1, 2).flatten(2)  # (batch, 1, d_model)
        row = at_marker @ x + block.dropout(attention.W_output(concatenated))  # type: ignore[operator]  # (batch, 1, d_model)
        row = row + block.dropout(block.feed_forward(block.feed_forward_norm(row)))  # (batch, 1, d_model)
        return self.output(row)[:, 0, 0], weights.mean(dim=1)[:, 0]

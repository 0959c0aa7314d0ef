"""Self-attention that computes one row alone: that of a marker."""

import math

from torch import Tensor, nn

from shared.model import SelfAttention, TokenEmbedding, masked_softmax, weighted_sum


class MarkerQueryClassifier(nn.Module):
    """Self-attention read at the marker token (*A question from the text*): one query a text, so
    the cost grows with n.

    Args:
        marker_id: the id of the marker, which occurs once in every sequence.
    """

    def __init__(
        self,
        vocabulary_size: int,
        marker_id: int,
        d_model: int = 16,
        d_k: int = 8,
        d_v: int = 16,
        **embedding,
    ):
        super().__init__()
        self.marker_id = marker_id
        self.embedding = TokenEmbedding(vocabulary_size, d_model, **embedding)
        self.attention = SelfAttention(d_model, d_k, d_v)
        self.output = nn.Linear(d_v, 1)

    def ask(self, ids: Tensor, x: Tensor) -> Tensor:
        """The query of each text, (batch, d_k)."""
        # (batch, d_model), the row of X at the marker
        marker = weighted_sum((ids == self.marker_id).to(x), x)
        return self.attention.W_query(marker)  # (batch, d_k)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        check_marker(ids, mask, self.marker_id)
        x = self.embedding(ids)  # (batch, tokens, d_model)
        queries = self.ask(ids, x).unsqueeze(2)  # (batch, d_k, 1)
        keys = self.attention.W_key(x)  # (batch, tokens, d_k)
        scores = (keys @ queries).squeeze(2) / math.sqrt(keys.shape[2])  # (batch, tokens)
        weights = masked_softmax(scores, mask)  # (batch, tokens)
        pooled = weighted_sum(weights, self.attention.W_value(x))  # (batch, d_v)
        return self.output(pooled).squeeze(1), weights


def check_marker(ids: Tensor, mask: Tensor, marker_id: int) -> None:
    """Raise a sentence unless the marker occurs once in each text; a text of padding alone needs
    none.

    Raises:
        ValueError: a text without the marker, or with more than one.
    """
    if ids.device.type != "cpu":  # the processor would have to wait for a GPU
        return
    counts = ((ids == marker_id) & mask).sum(dim=1)  # (batch,)
    wrong = mask.any(dim=1) & (counts != 1)  # (batch,)
    if wrong.any():
        text = int(wrong.nonzero()[0])
        raise ValueError(
            f"Text {text} has the marker, id {marker_id}, {int(counts[text])} times; this model "
            f"reads each text at its "
            "one marker. `marked_examples` puts it before a review."
        )

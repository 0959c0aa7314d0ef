"""The language model of *A language model*: ids in, logits of the word after each position out."""

from torch import Tensor, nn

from shared.model import TokenEmbedding, TransformerBlock, causal_mask


class LanguageModel(nn.Module):
    """Logits of the next word at each position; not `causal`, a position sees what follows."""

    def __init__(
        self, known_words: int, causal: bool = True,
        d_model: int = 64, num_heads: int = 4, num_blocks: int = 2,
    ):  # fmt: skip
        super().__init__()
        self.causal = causal
        self.embedding = TokenEmbedding(known_words, d_model, dropout=0.0, std=0.5)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, num_heads, 2 * d_model, dropout=0.0, norm_first=True)
            for _ in range(num_blocks)
        )
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, known_words)

    def forward(self, ids: Tensor) -> Tensor:
        attention_mask = causal_mask(ids.shape[1], ids.device) if self.causal else None
        x = self.embedding(ids)  # (batch, tokens, d_model)
        for block in self.blocks:
            x, _ = block(x, attention_mask=attention_mask)  # (batch, tokens, d_model)
        return self.output(self.norm(x))  # (batch, tokens, known_words)

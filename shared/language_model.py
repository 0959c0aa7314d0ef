"""The language model of *A language model*, its windows of text and its loss."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from shared.model import TokenEmbedding, TransformerBlock, causal_mask

CONTEXT = 64  # words of a window


class LanguageModel(nn.Module):
    """Logits of the next word at each position; not `causal`, a position sees what follows."""

    def __init__(self, known_words, causal=True, d_model=64, num_heads=4, num_blocks=2):
        super().__init__()
        self.causal = causal
        self.embedding = TokenEmbedding(known_words, d_model, dropout=0.0, std=0.5)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, num_heads, 2 * d_model, dropout=0.0, norm_first=True)
            for _ in range(num_blocks)
        )
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, known_words)

    def forward(self, ids):
        attention_mask = causal_mask(ids.shape[1], ids.device) if self.causal else None
        x = self.embedding(ids)  # (batch, tokens, d_model)
        for block in self.blocks:
            x, _ = block(x, attention_mask=attention_mask)  # (batch, tokens, d_model)
        return self.output(self.norm(x))  # (batch, tokens, known_words)


def windows(text, count, generator):
    """Ids of random windows and of the words that follow each of theirs, (count, CONTEXT) each."""
    starts = torch.randint(len(text) - CONTEXT, (count, 1), generator=generator)
    ids = text[starts + torch.arange(CONTEXT + 1)]  # (count, CONTEXT + 1)
    return ids[:, :-1], ids[:, 1:]


def loss_of(model, ids, next_ids, unknown):
    """Mean cross-entropy in nats; words with the id of `unknown` ones are left out."""
    return cross_entropy(model(ids).flatten(0, 1), next_ids.flatten(), ignore_index=unknown)

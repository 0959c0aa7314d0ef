"""The course's own language model: it continues film reviews, token by token.

Blocks of `shared.model` with rotary positions, four of them, on subword tokens (byte-level BPE).
Every text begins with a start token, and the model ends a review with the same token. `load` gives
the trained model and its tokenizer.
"""

import math
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from shared.input_errors import check_inputs
from shared.model import (
    MultiHeadSelfAttention,
    TransformerBlock,
    both_masks,
    causal_mask,
    masked_softmax,
    without_padding,
)

START = 0  # the id of the start token
CONTEXT = 128  # tokens that the model was trained on at a time, the start token included


def rotate_halves(x: Tensor) -> Tensor:
    """Rotate each pair of columns (j, j + d / 2) of x (..., tokens, d), further at each position.

    Source: Su et al. 2021, RoFormer, with the pairs laid out as in GPT-NeoX.
    """
    tokens, half = x.shape[-2], x.shape[-1] // 2
    positions = torch.arange(tokens, device=x.device)
    # (tokens, d / 2)
    angles = positions[:, None] / 10_000 ** (torch.arange(half, device=x.device) / half)
    first, second = x[..., :half], x[..., half:]  # (..., tokens, d / 2) each
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


class RotarySelfAttention(MultiHeadSelfAttention):
    """Multi-head self-attention whose queries and keys are rotated by their positions."""

    def forward(
        self, x: Tensor, mask: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        check_inputs(x, self.num_heads * self.head_dim, mask, attention_mask)
        real_x = without_padding(x, mask)
        queries = rotate_halves(self.split(self.W_query(x)))  # (batch, num_heads, tokens, head_dim)
        keys = rotate_halves(self.split(self.W_key(real_x)))  # (batch, num_heads, tokens, head_dim)
        values = self.split(self.W_value(real_x))  # (batch, num_heads, tokens, head_dim)
        # (batch, num_heads, tokens, tokens)
        scores = queries @ keys.transpose(2, 3) / math.sqrt(self.head_dim)
        # (batch, num_heads, tokens, tokens)
        weights = masked_softmax(scores, both_masks(mask, attention_mask))
        return self.W_output((weights @ values).transpose(1, 2).flatten(2)), weights


class ReviewWriter(nn.Module):
    """Ids (batch, tokens) to logits of the next token; embedding and read-out share a matrix."""

    def __init__(
        self,
        vocabulary_size: int = 4096,
        d_model: int = 192,
        num_heads: int = 6,
        num_blocks: int = 4,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        nn.init.normal_(self.embedding.weight, std=0.05)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, num_heads, 4 * d_model, 0.0, True, RotarySelfAttention)
            for _ in range(num_blocks)
        )
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


# --- the trained model ----------------------------------------------------------------------------

WEIGHTS, TOKENIZER = (
    Path(__file__).with_name(f"review_writer{end}") for end in (".safetensors", "_tokenizer.json")
)


def round_to_int8(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices as int8, with a scale for each row in `name.scale`; vectors stay as they are."""
    rounded = {}
    for name, tensor in state.items():
        if tensor.dim() == 2:
            scale = tensor.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127  # (rows, 1)
            rounded[name], rounded[f"{name}.scale"] = (tensor / scale).round().to(torch.int8), scale
        else:
            rounded[name] = tensor
    return rounded


def restore(rounded: dict[str, Tensor]) -> dict[str, Tensor]:
    """The matrices of `round_to_int8` as floating-point numbers."""
    return {
        name: tensor * rounded[f"{name}.scale"] if f"{name}.scale" in rounded else tensor
        for name, tensor in rounded.items()
        if not name.endswith(".scale")
    }


def load():
    """The trained model, in evaluation mode, and its tokenizer; a network is not needed."""
    from tokenizers import Tokenizer  # only those who load the model need the package

    model = ReviewWriter()
    model.load_state_dict(restore(load_file(WEIGHTS)))
    return model.eval(), Tokenizer.from_file(str(TOKENIZER))


def most_probable(logits: Tensor, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """Logits (vocabulary,), -inf but for the `top_k` largest or the fewest that reach `top_p`."""
    ordered, order = logits.sort(descending=True)
    drop = torch.zeros_like(ordered, dtype=torch.bool)
    if top_k is not None:
        drop[top_k:] = True
    if top_p is not None:
        probs = ordered.softmax(dim=0)
        # the first token that passes top_p still counts
        drop |= probs.cumsum(dim=0) - probs >= top_p
    return logits.masked_fill(torch.zeros_like(drop).scatter(0, order, drop), -torch.inf)


def window(ids: list[int]) -> list[int]:
    """What the model sees of a text: the start token, then at most its last 127 tokens.

    The window moves on by 64 tokens at a time, because whenever it moves, all keys and values are
    computed again: those of before come from hidden states that had attended to tokens that are no
    longer there.
    """
    step = CONTEXT // 2
    dropped = max(0, math.ceil((len(ids) - (CONTEXT - 1)) / step) * step)
    return [START, *ids[dropped:]]


@torch.no_grad()
def continue_text(
    model: ReviewWriter, tokenizer, beginning: str = "", num_tokens: int = 60,
    temperature: float = 0.8,
    top_k: int | None = None, top_p: float | None = None, seed: int = 0,
) -> str:  # fmt: skip
    """The beginning and what the model writes after it, to the review's end or `num_tokens`.

    Args:
        temperature: divides the logits; at 0 the most probable token is taken.

    Raises:
        ValueError: a negative temperature, top_k below 1, or top_p that is not above 0 and at most
            1.
    """
    wrong_k, wrong_p = top_k is not None and top_k < 1, top_p is not None and not 0 < top_p <= 1
    if temperature < 0 or wrong_k or wrong_p:
        raise ValueError(
            f"temperature={temperature}, top_k={top_k}, top_p={top_p}: give a temperature of 0 or "
            "more, top_k of 1 or more, and top_p above 0 and at most 1."
        )
    generator = torch.Generator().manual_seed(seed)
    ids = tokenizer.encode(beginning).ids
    for _ in range(num_tokens):
        logits = model(torch.tensor([window(ids)]))[0, -1]  # (vocabulary,)
        if temperature == 0:
            token = int(logits.argmax())
        else:
            probs = (most_probable(logits, top_k, top_p) / temperature).softmax(dim=0)
            token = int(torch.multinomial(probs, 1, generator=generator))
        if token == START:
            break
        ids.append(token)
    return tokenizer.decode(ids)

"""The language models of *Longer texts*: alike but for their positional encoding, trained on windows of 64 tokens.

Also how they are trained, and their loss at each position of a longer window.
"""

import copy
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from labs.longer_texts.reviews_as_tokens import HELD_OUT, LENGTH, STEP, TOKENS, overlapping_windows, separate_windows
from shared.model import MultiHeadSelfAttention, TransformerBlock, causal_mask

ENCODINGS = ("none", "sines", "learned table", "rotary", "ALiBi")
TRAINED, BATCH, STEPS, RATE = 64, 8, 1000, 0.004  # tokens of a window, windows of a step, steps, highest learning rate
D_MODEL, NUM_HEADS, NUM_BLOCKS = 64, 4, 2


def rotate_pairs(vectors: Tensor, positions: Tensor, base: float = 10_000) -> Tensor:
    """Rotate each pair of neighbours in vectors (..., width) by position times frequency.

    Source: Su et al. 2021.
    """
    width = vectors.shape[-1]
    frequencies = base ** (-torch.arange(0, width, 2).to(vectors) / width)  # (width / 2,)
    angles = positions[..., None] * frequencies  # (..., width / 2)
    x, y = vectors[..., 0::2], vectors[..., 1::2]  # (..., width / 2)
    rotated = torch.stack([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1)
    return rotated.flatten(-2)  # (..., width)


def alibi_slopes(num_heads: int) -> Tensor:
    """The ALiBi slope of each head, (num_heads,): 1/4, 1/16, 1/64, 1/256 for four heads (Press et al. 2022)."""
    return 2 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)


class PositionedAttention(MultiHeadSelfAttention):
    """Multi-head self-attention that may rotate queries and keys, or subtract a slope times the distance.

    A distance above `farthest` counts as `farthest`, if that is not None.

    Args:
        rotation: rotates queries and keys by their positions.
        slopes: those of ALiBi, (num_heads,).
    """

    def __init__(self, d_model: int, num_heads: int, rotation: Callable | None = None, slopes: Tensor | None = None):
        super().__init__(d_model, num_heads)
        self.rotation, self.slopes = rotation, slopes
        self.farthest: int | None = None

    def forward(self, x: Tensor, positions: Tensor, allowed: Tensor) -> Tensor:  # type: ignore[override]
        """The output, (batch, tokens, d_model).

        Args:
            positions: (tokens,).
            allowed: (tokens, tokens) bool, True where the token of the row may attend to the token of the column.
        """
        queries, keys, values = [self.split(project(x)) for project in (self.W_query, self.W_key, self.W_value)]
        distances = positions[:, None] - positions  # (tokens, tokens)
        if self.rotation is None:
            scores = queries @ keys.mT  # (batch, num_heads, tokens, tokens)
        else:
            scores = self.rotation(queries, positions) @ self.rotation(keys, positions).mT
            if self.farthest is not None:
                far = self.rotation(queries, torch.full_like(positions, self.farthest)) @ keys.mT
                scores = torch.where(distances > self.farthest, far, scores)
        scores = scores / math.sqrt(self.head_dim)
        if self.slopes is not None:
            distances = distances if self.farthest is None else distances.clamp(max=self.farthest)
            scores = scores - self.slopes[:, None, None] * distances
        weights = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)  # (batch, num_heads, tokens, tokens)
        return self.W_output((weights @ values).transpose(1, 2).flatten(2))


def in_order(ids: Tensor) -> Tensor:
    """The positions 0, 1, 2 ... of the tokens of each text, (tokens,)."""
    return torch.arange(ids.shape[1])


class PositionedModel(nn.Module):
    """A language model with one of the `ENCODINGS`: ids (batch, tokens) to logits of the next token.

    `positions` may be replaced: a function of ids that gives the position of each token. With a
    smaller `window`, sliding-window attention: a token attends to so many tokens at most, itself included.

    Args:
        rotation: rotates queries and keys by their positions, and makes the sines.
    """

    def __init__(self, encoding: str, rotation: Callable = rotate_pairs):
        super().__init__()
        if encoding not in ENCODINGS:
            raise ValueError(f"The encoding is {encoding!r}; it accepts {', '.join(ENCODINGS)}.")
        self.encoding, self.rotation, self.window = encoding, rotation, LENGTH
        self.positions: Callable[[Tensor], Tensor] = in_order
        self.embedding = nn.Embedding(TOKENS, D_MODEL)
        nn.init.normal_(self.embedding.weight, std=0.5)
        self.table = nn.Parameter(0.5 * torch.randn(LENGTH, D_MODEL)) if encoding == "learned table" else None
        self.blocks = nn.ModuleList(TransformerBlock(D_MODEL, NUM_HEADS, 2 * D_MODEL, 0.0) for _ in range(NUM_BLOCKS))
        for block in self.blocks:
            block.attention = PositionedAttention(
                D_MODEL, NUM_HEADS,
                rotation if encoding == "rotary" else None, alibi_slopes(NUM_HEADS) if encoding == "ALiBi" else None,
            )  # fmt: skip
        self.norm = nn.LayerNorm(D_MODEL)
        self.output = nn.Linear(D_MODEL, TOKENS)

    def forward(self, ids: Tensor) -> Tensor:
        positions, x = self.positions(ids), self.embedding(ids)  # (tokens,), (batch, tokens, D_MODEL)
        if self.encoding == "sines":
            x = x + self.rotation(torch.tensor([1.0, 0.0]).repeat(D_MODEL // 2), positions, 1000)
        if self.table is not None:
            x = x + self.table[positions.long()]
        allowed = causal_mask(ids.shape[1]) & ~causal_mask(ids.shape[1]).tril(-self.window)  # (tokens, tokens)
        for block in self.blocks:
            x = x + block.attention(block.attention_norm(x), positions, allowed)  # type: ignore[operator]
            x = x + block.feed_forward(block.feed_forward_norm(x))  # type: ignore[operator]
        return self.output(self.norm(x))  # (batch, tokens, TOKENS)


def make_model(encoding: str, stream: Tensor, seed: int, rotation: Callable = rotate_pairs) -> PositionedModel:
    """An untrained model, whose biases hold how frequent each token of `stream` is."""
    torch.manual_seed(seed)
    model = PositionedModel(encoding, rotation)
    with torch.no_grad():
        model.output.bias.copy_(((torch.bincount(stream, minlength=TOKENS) + 1) / len(stream)).log())
    return model


def train(
    model: nn.Module, stream: Tensor, seed: int,
    steps: int = STEPS, rate: float = RATE, num_tokens: int = TRAINED, batch: int = BATCH,
) -> None:  # fmt: skip
    """Train on random windows of `stream`, `batch` of `num_tokens` in each step; the rate rises, then falls to 0."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), rate, betas=(0.9, 0.95), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1, pct_start=0.15)
    for _ in range(steps):
        starts = torch.randint(len(stream) - num_tokens, (batch, 1), generator=generator)  # (batch, 1)
        windows = stream[starts + torch.arange(num_tokens + 1)]  # (batch, num_tokens + 1)
        loss = cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()


# --- tests ---------------------------------------------------------------------------------------------------------


def changed(
    net: PositionedModel, positions: Callable = in_order, window: int = LENGTH, farthest: int | None = None
) -> PositionedModel:
    """A copy of a model that differs in where its tokens are, or how far they see; `net` stays as it is."""
    other = copy.deepcopy(net)
    other.positions, other.window = positions, window
    for block in other.blocks:
        block.attention.farthest = farthest  # type: ignore[union-attr]
    return other


@torch.no_grad()
def token_losses(net: nn.Module, windows: Tensor) -> Tensor:
    """The loss at each position of held-out windows (windows, tokens + 1), (windows, tokens)."""
    parts = [cross_entropy(net(some[:, :-1]).mT, some[:, 1:], reduction="none") for some in windows.split(10)]
    return torch.cat(parts)


def loss_by_position(net: nn.Module, held_out: Tensor) -> Tensor:
    """The mean loss of each `STEP` positions, (LENGTH / STEP,)."""
    return token_losses(net, overlapping_windows(held_out)).mean(dim=0).view(-1, STEP).mean(dim=1)


def loss_far_away(net: nn.Module, held_out: Tensor) -> float:
    """The mean loss in the second half of long windows."""
    return token_losses(net, separate_windows(held_out))[:, LENGTH // 2 :].mean().item()


def loss_as_trained(net: nn.Module, held_out: Tensor) -> float:
    """The mean loss of the same tokens when each is predicted from 32 to 63 tokens before it, in a text of 64."""
    texts = held_out[LENGTH // 2 - TRAINED // 2 :].unfold(0, TRAINED + 1, TRAINED // 2)[: HELD_OUT // (TRAINED // 2)]
    return token_losses(net, texts)[:, TRAINED // 2 :].mean().item()


@torch.no_grad()
def average_query_and_key(net: PositionedModel, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The mean query and the mean key of each head in the last block, not rotated, (num_heads, 1, head_dim) each."""
    inputs, attention = [], net.blocks[-1].attention
    hook = attention.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))  # type: ignore[union-attr]
    net(ids)
    hook.remove()
    queries, keys = (attention.split(project(inputs[0])) for project in (attention.W_query, attention.W_key))  # type: ignore[operator, union-attr]
    return queries.mean(dim=(0, 2))[:, None], keys.mean(dim=(0, 2))[:, None]


def begins_at(start: int) -> Callable[[Tensor], Tensor]:
    """Positions of a text whose first token is at `start`."""
    return lambda ids: start + in_order(ids)


def second_half_later(gap: int) -> Callable[[Tensor], Tensor]:
    """Positions of a text of `TRAINED` tokens whose second half begins `gap` later, and no token is added."""
    return lambda ids: in_order(ids) + gap * (in_order(ids) >= TRAINED // 2)


def divided_by(factor: float) -> Callable[[Tensor], Tensor]:
    """Positions for position interpolation."""
    return lambda ids: in_order(ids) / factor

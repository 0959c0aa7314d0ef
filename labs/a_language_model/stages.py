"""A language model that grows part by part: the models, how they are trained, and what they are measured with."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from labs.a_language_model.reviews_as_tokens import TOKENS, random_windows
from shared.language_model import LanguageModel
from shared.review_writer import RotarySelfAttention

D_MODEL, NUM_HEADS = 96, 4
BATCH, RATE = 1024, 0.006  # tokens in a step, and the highest learning rate


class Stage(NamedTuple):
    """What a model of the lab has; `context` is the number of tokens that it sees."""

    blocks: int
    context: int
    feed_forward: bool = True
    num_heads: int = NUM_HEADS
    change: tuple[Callable[[LanguageModel], None], ...] = ()  # other parts in place of the lab's


class Zero(nn.Module):
    """In place of a feed-forward layer: the residual connection adds nothing."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class SwiGLU(nn.Module):
    """A feed-forward layer with a gate: three matrices in place of two, and no biases (Shazeer 2020)."""

    def __init__(self, d_model: int, hidden_dim: int):
        super().__init__()
        self.gate = nn.Linear(d_model, hidden_dim, bias=False)
        self.up = nn.Linear(d_model, hidden_dim, bias=False)
        self.down = nn.Linear(hidden_dim, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))  # (batch, tokens, d_model)


def rms_norm(model: LanguageModel) -> None:
    """RMSNorm in place of each LayerNorm."""
    d_model = model.norm.normalized_shape[0]
    model.norm = nn.RMSNorm(d_model)  # type: ignore[assignment]
    for block in model.blocks:
        block.attention_norm, block.feed_forward_norm = nn.RMSNorm(d_model), nn.RMSNorm(d_model)  # type: ignore[assignment]


def swiglu(model: LanguageModel) -> None:
    """SwiGLU in place of each feed-forward layer, with as many parameters in its matrices."""
    for block in model.blocks:
        first = block.feed_forward[0]  # type: ignore[index]
        block.feed_forward = SwiGLU(first.in_features, first.out_features * 2 // 3)  # type: ignore[union-attr]


def rotary(model: LanguageModel) -> None:
    """Rotary positions instead of the sines that are added to the embeddings."""
    model.embedding.positions.zero_()
    for block in model.blocks:
        block.attention = RotarySelfAttention(model.norm.normalized_shape[0], block.attention.num_heads)  # type: ignore[arg-type, union-attr]


STAGES = {
    "tokens alone": Stage(0, 16),
    "+ attention": Stage(1, 16, feed_forward=False),
    "+ feed-forward": Stage(1, 16),
    "+ second block": Stage(2, 16),
    "+ rotary positions": Stage(2, 16, change=(rotary,)),
    "+ longer context": Stage(2, 128, change=(rotary,)),
}
CONTROLS = {  # the last stage with one thing changed
    "sines": Stage(2, 128),
    "one head": Stage(2, 128, num_heads=1, change=(rotary,)),
    "RMSNorm": Stage(2, 128, change=(rotary, rms_norm)),
    "SwiGLU": Stage(2, 128, change=(rotary, swiglu)),
}


def make_model(stage: Stage, training: Tensor) -> LanguageModel:
    """An untrained model, whose biases hold how frequent each token of `training` is."""
    model = LanguageModel(TOKENS, d_model=D_MODEL, num_heads=stage.num_heads, num_blocks=stage.blocks)
    if not stage.feed_forward:
        for block in model.blocks:
            block.feed_forward = Zero()
    for change in stage.change:
        change(model)
    frequencies = (torch.bincount(training, minlength=TOKENS) + 1) / len(training)  # (TOKENS,)
    with torch.no_grad():
        model.output.bias.copy_(frequencies.log())
    return model


class Training:
    """One model in training; `step` takes the next step, and `state_dict` is all that is needed to go on later."""

    def __init__(self, model: nn.Module, training: Tensor, context: int, num_steps: int, seed: int):
        self.model, self.training, self.context, self.done = model, training, context, 0
        self.generator = torch.Generator().manual_seed(seed)
        self.optimizer = torch.optim.Adam(model.parameters(), RATE, betas=(0.9, 0.95), fused=True)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, RATE, total_steps=num_steps + 1, pct_start=0.15
        )

    def step(self) -> None:
        windows = random_windows(self.training, BATCH // self.context, self.context, self.generator)
        loss = cross_entropy(self.model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.done += 1

    def state_dict(self) -> dict:
        parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "schedule")}
        return parts | {"generator": self.generator.get_state(), "done": self.done}

    def load_state_dict(self, state: dict) -> None:
        for name in ("model", "optimizer", "schedule"):
            getattr(self, name).load_state_dict(state[name])
        self.generator.set_state(state["generator"])
        self.done = state["done"]


@torch.no_grad()
def token_losses(model: nn.Module, texts: Tensor, context: int) -> Tensor:
    """The loss of each token of held-out texts but the first, (texts, tokens - 1).

    The model sees `context` tokens at a time, and moves on by half of them: so each token is predicted from at least
    half a context, except at the beginning of a text.
    """
    half, parts = context // 2, []
    for start in range(0, texts.shape[1] - 1, half):
        seen = texts[:, max(0, start + half - context) : start + half]  # (texts, context)
        logits = torch.cat([model(some)[:, -half:] for some in seen.split(100)])  # (texts, half, TOKENS)
        targets = texts[:, start + 1 : start + half + 1]  # (texts, half)
        parts.append(cross_entropy(logits.transpose(1, 2), targets, reduction="none"))
    return torch.cat(parts, dim=1)

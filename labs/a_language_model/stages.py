"""A language model that grows part by part: the models, how they are trained, and what they are measured with."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from labs.a_language_model.reviews_as_tokens import TOKENS, random_windows
from shared.language_model import LanguageModel
from shared.review_writer import RotarySelfAttention

D_MODEL, NUM_HEADS = 96, 4
BATCH, STEPS = 1024, 3000  # tokens in a step, and how many steps
RATE, MUON_RATE = 0.006, 0.02  # the highest learning rates, of Adam and of Muon


class Stage(NamedTuple):
    """What a model of the lab has; `context` is the number of tokens that it sees."""

    blocks: int
    context: int
    feed_forward: bool = True
    num_heads: int = NUM_HEADS
    change: tuple[Callable[[LanguageModel], None], ...] = ()  # other parts in place of the lab's
    muon: bool = False  # the optimizer of the matrices in the blocks; all else has Adam
    steps: int = STEPS
    d_model: int = D_MODEL


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


def tied(model: LanguageModel) -> None:
    """One matrix for embedding and read-out, as in GPT-2."""
    nn.init.normal_(model.embedding.table.weight, std=0.05)
    model.output.weight = model.embedding.table.weight


def wide(model: LanguageModel) -> None:
    """Feed-forward layers four times as wide as the model, twice as wide as the lab's."""
    d_model = model.norm.normalized_shape[0]
    for block in model.blocks:
        block.feed_forward = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.ReLU(), nn.Linear(4 * d_model, d_model))


def dropout(model: LanguageModel) -> None:
    """In training, a tenth of the numbers that enter the residual stream are zeros, others each time."""
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.1


STAGES = {
    "tokens alone": Stage(0, 16),
    "+ attention": Stage(1, 16, feed_forward=False),
    "+ feed-forward": Stage(1, 16),
    "+ second block": Stage(2, 16),
    "+ rotary positions": Stage(2, 16, change=(rotary,)),
    "+ longer context": Stage(2, 128, change=(rotary,)),
    "+ Muon": Stage(2, 128, change=(rotary,), muon=True),
    "+ longer training": Stage(2, 128, change=(rotary,), muon=True, steps=4 * STEPS),
    "+ larger": Stage(2, 128, change=(rotary, tied, wide), muon=True, steps=4 * STEPS, d_model=128),
}
FURTHER = {  # "+ larger" with one thing changed
    "twice as long": STAGES["+ larger"]._replace(steps=8 * STEPS),
    "with dropout": STAGES["+ larger"]._replace(change=(rotary, tied, wide, dropout)),
    "with dropout, twice as long": STAGES["+ larger"]._replace(change=(rotary, tied, wide, dropout), steps=8 * STEPS),
}
BEST = list(FURTHER)[-1]
SHORT_CONTEXT = {"16 tokens in sight": Stage(2, 16, change=(rotary,), muon=True, steps=4 * STEPS)}
CONTROLS = {  # "+ longer context" with one thing changed
    "sines": Stage(2, 128),
    "one head": Stage(2, 128, num_heads=1, change=(rotary,)),
    "RMSNorm": Stage(2, 128, change=(rotary, rms_norm)),
    "SwiGLU": Stage(2, 128, change=(rotary, swiglu)),
}


def make_model(stage: Stage, training: Tensor) -> LanguageModel:
    """An untrained model, whose biases hold how frequent each token of `training` is."""
    model = LanguageModel(TOKENS, d_model=stage.d_model, num_heads=stage.num_heads, num_blocks=stage.blocks)
    if not stage.feed_forward:
        for block in model.blocks:
            block.feed_forward = Zero()
    for change in stage.change:
        change(model)
    frequencies = (torch.bincount(training, minlength=TOKENS) + 1) / len(training)  # (TOKENS,)
    with torch.no_grad():
        model.output.bias.copy_(frequencies.log())
    return model


class Muon(torch.optim.Optimizer):
    """Momentum whose steps are made orthogonal, so that they go equally far in all directions (Jordan et al. 2024).

    `torch.optim.Muon` does the same in bfloat16, which is a hundred times slower on a processor without it.
    """

    def __init__(self, matrices: list[nn.Parameter], lr: float, momentum: float = 0.95):
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for shape in {matrix.shape for matrix in group["params"]}:
                same = [matrix for matrix in group["params"] if matrix.shape == shape]
                steps = []
                for matrix in same:
                    mean = self.state[matrix].setdefault("mean", torch.zeros_like(matrix))
                    mean.lerp_(matrix.grad, 1 - group["momentum"])
                    steps.append(matrix.grad.lerp(mean, group["momentum"]))  # Nesterov's
                rate = group["lr"] * max(1, shape[0] / shape[1]) ** 0.5
                for matrix, step in zip(same, orthogonal(torch.stack(steps)), strict=True):
                    matrix.sub_(step, alpha=rate)


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices (count, rows, columns) with all singular values near 1, by five steps of Newton and Schulz."""
    x = matrices / matrices.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)  # (count, rows, columns)
    x = x.mT if x.shape[1] > x.shape[2] else x
    for _ in range(5):
        gram = x @ x.mT  # (count, rows, rows)
        x = 3.4445 * x + (2.0315 * gram @ gram - 4.7750 * gram) @ x
    return x if x.shape == matrices.shape else x.mT


class Training:
    """One model in training; `step` takes the next step, and `state_dict` is all that is needed to go on later."""

    def __init__(self, model: LanguageModel, training: Tensor, stage: Stage, seed: int):
        self.model, self.training, self.stage, self.done = model, training, stage, 0
        self.generator = torch.Generator().manual_seed(seed)
        matrices = [parameter for parameter in model.blocks.parameters() if parameter.dim() == 2]
        others = [parameter for parameter in model.parameters() if all(parameter is not matrix for matrix in matrices)]
        with_adam = others if stage.muon else list(model.parameters())
        self.optimizers: list[torch.optim.Optimizer] = [
            torch.optim.Adam(with_adam, RATE, betas=(0.9, 0.95), fused=True)
        ]
        if stage.muon:
            self.optimizers.append(Muon(matrices, MUON_RATE))
        self.schedules = [
            torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=stage.steps + 1, pct_start=0.15)
            for optimizer, rate in zip(self.optimizers, (RATE, MUON_RATE), strict=False)
        ]

    def step(self) -> None:
        windows = random_windows(self.training, BATCH // self.stage.context, self.stage.context, self.generator)
        self.model.train()
        loss = cross_entropy(self.model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())
        self.model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer, schedule in zip(self.optimizers, self.schedules, strict=True):
            optimizer.step()
            schedule.step()
        self.done += 1

    def _parts(self) -> list[Any]:
        return [self.model, *self.optimizers, *self.schedules]

    def state_dict(self) -> dict:
        parts = [part.state_dict() for part in self._parts()]
        generators = [self.generator.get_state(), torch.get_rng_state()]  # of windows, and of dropout
        return {"parts": parts, "generators": generators, "done": self.done}

    def load_state_dict(self, state: dict) -> None:
        for part, stored in zip(self._parts(), state["parts"], strict=True):
            part.load_state_dict(stored)
        self.generator.set_state(state["generators"][0])
        torch.set_rng_state(state["generators"][1])
        self.done = state["done"]


@torch.no_grad()
def token_losses(model: nn.Module, texts: Tensor, context: int) -> Tensor:
    """The loss of each token of held-out texts but the first, (texts, tokens - 1).

    The model sees `context` tokens at a time, and moves on by half of them: so each token is predicted from at least
    half a context, except at the beginning of a text.
    """
    model.eval()
    half, parts = context // 2, []
    for start in range(0, texts.shape[1] - 1, half):
        seen = texts[:, max(0, start + half - context) : start + half]  # (texts, context)
        logits = torch.cat([model(some)[:, -half:] for some in seen.split(100)])  # (texts, half, TOKENS)
        targets = texts[:, start + 1 : start + half + 1]  # (texts, half)
        parts.append(cross_entropy(logits.transpose(1, 2), targets, reduction="none"))
    return torch.cat(parts, dim=1)

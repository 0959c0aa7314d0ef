"""The small language model of *Induction heads*, and the same model trained without repeated passages.

In each training window a passage comes a second time, at some distance; in half of the windows it is one of random
tokens, so that looking it up is the only way to predict it. The control never sees such windows. Along the way each is
shown a text twice, random tokens and held-out reviews: its loss in both copies, and where each head looks. Writes
runs.json into the lab's folder; a stopped script goes on where it was.

    python -m experiments.train_small_model
"""

import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from labs.a_language_model.reviews_as_tokens import TOKENS, Reviews, load_reviews, random_windows
from labs.a_language_model.stages import Muon
from labs.induction_heads.copying import shown_twice
from shared import record
from shared.review_writer import START, ReviewWriter

SIZES = {"vocabulary_size": TOKENS, "d_model": 64, "num_heads": 2, "num_blocks": 2}
RESULTS = record.ROOT / "labs/induction_heads/runs.json"
CHECKPOINTS = record.ROOT / "_build/small_model"  # of each run, so that it can go on
SHARES = {"repeated passages": 1.0, "no repeated passages": 0.0}  # of the windows
OF_RANDOM_TOKENS = 1 / 2  # of these passages
SEEDS = {"repeated passages": (0, 1, 2), "no repeated passages": (0,)}
STEPS, BATCH, CONTEXT, EVERY = 1000, 32, 64, 25  # windows in a step, tokens in a window, steps between measurements
SHORTEST, LONGEST = 10, 30  # tokens of a passage
RATE, MUON_RATE = 0.006, 0.02  # the highest learning rates, of Adam and of Muon
LENGTH, TEXTS = 30, 32  # tokens of a text that is shown twice, and how many are


def windows(stream: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Windows of a start token and the tokens after it, (BATCH, CONTEXT + 1); a share of them has a passage twice."""
    ids = random_windows(stream, BATCH, CONTEXT, generator)
    ids[:, 0] = START
    for place in (torch.rand(BATCH, generator=generator) < share).nonzero().flatten().tolist():
        repeat_a_passage(ids[place], generator)  # a view: the window itself changes
    return ids


def repeat_a_passage(window: Tensor, generator: torch.Generator) -> None:
    """Write one passage of a window, without its start token, over a later part of the window."""

    def draw(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (1,), generator=generator))

    length = draw(SHORTEST, LONGEST)
    first = draw(1, len(window) - 2 * length)
    second = draw(first + length, len(window) - length)
    if torch.rand(1, generator=generator) < OF_RANDOM_TOKENS:
        window[first : first + length] = torch.randint(1, TOKENS, (length,), generator=generator)
    window[second : second + length] = window[first : first + length].clone()


def measured(model: ReviewWriter, reviews: Reviews) -> dict:
    """The loss on held-out reviews, and what the model makes of random tokens and of reviews that are shown twice."""
    random_tokens = torch.randint(1, TOKENS, (TEXTS, LENGTH), generator=torch.Generator().manual_seed(0))
    held_out = reviews.validation[:32, : CONTEXT + 1]  # the start token is the first
    with torch.no_grad():
        loss = cross_entropy(model(held_out[:, :-1]).transpose(1, 2), held_out[:, 1:]).item()
    found: dict = {"loss": round(loss, 4)}
    for name, texts in (("random tokens", random_tokens), ("reviews", reviews.validation[:TEXTS, 1 : LENGTH + 1])):
        twice = shown_twice(model.read, texts, texts)
        found[name] = {key: [round(number, 4) for number in t.flatten().tolist()] for key, t in twice._asdict().items()}
    return found


def run(kind: str, seed: int, reviews: Reviews) -> dict:
    """Train one model, or go on training it; what was measured every few steps."""
    torch.manual_seed(seed)
    model = ReviewWriter(**SIZES)
    for block in model.blocks:  # from 0, a rotation begins without any preference for a distance
        for projection in (block.attention.W_query, block.attention.W_key):
            nn.init.normal_(projection.bias)
    matrices = [parameter for parameter in model.blocks.parameters() if parameter.dim() == 2]
    others = [parameter for parameter in model.parameters() if all(parameter is not matrix for matrix in matrices)]
    optimizers = [torch.optim.Adam(others, RATE, betas=(0.9, 0.95), fused=True), Muon(matrices, MUON_RATE)]
    schedules = [
        torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=STEPS + 1, pct_start=0.1)
        for optimizer, rate in zip(optimizers, (RATE, MUON_RATE), strict=True)
    ]
    parts, generator = [model, *optimizers, *schedules], torch.Generator().manual_seed(seed + 1)
    curve: list[dict] = []
    seconds, checkpoint = 0.0, CHECKPOINTS / f"{kind}, seed {seed}.pt"
    if checkpoint.exists():
        stored = torch.load(checkpoint)
        for part, state in zip(parts, stored["parts"], strict=True):
            part.load_state_dict(state)
        generator.set_state(stored["generator"])
        curve, seconds = stored["curve"], stored["seconds"]
    start = time.process_time() - seconds
    for step in range(len(curve[1:]) * EVERY, STEPS + 1):
        if step % EVERY == 0 and len(curve) <= step // EVERY:
            curve.append({"step": step, **measured(model, reviews)})
            print(kind, seed, step, curve[-1]["loss"], curve[-1]["random tokens"]["losses"], flush=True)
            state = {"parts": [part.state_dict() for part in parts], "generator": generator.get_state()}
            torch.save(state | {"curve": curve, "seconds": time.process_time() - start}, f"{checkpoint}.part")
            Path(f"{checkpoint}.part").replace(checkpoint)
        if step == STEPS:
            break
        ids = windows(reviews.training, SHARES[kind], generator)
        loss = cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
    minutes = round((time.process_time() - start) / 60, 1)
    return {"kind": kind, "seed": seed, "curve": curve, "cpu_minutes": minutes}


if __name__ == "__main__":
    torch.set_num_threads(1)
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    reviews = load_reviews()
    for kind, seeds in SEEDS.items():
        for seed in seeds:
            record.load_or_run(RESULTS, f"{kind}, seed {seed}", run, kind, seed, reviews)

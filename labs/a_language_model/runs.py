"""A small language model on the reviews, one part more in each stage; the lab *A language model* reads the results.

Four stages: no block (embedding and read-out), one block without its feed-forward layer, one block, two blocks. Each is
trained like the model of the lab, with three seeds; 15 minutes of one core. Writes labs/a_language_model/runs.json.

    python -m labs.a_language_model.runs
"""

import math
import time

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from shared import record
from shared.data import UNK, Settings, load_prepared
from shared.language_model import CONTEXT, LanguageModel, loss_of, windows

TABLE = record.ROOT / "labs/a_language_model/runs.json"
KNOWN_WORDS, STEPS, RATE, BATCH = 2000, 2000, 0.008, 8
STAGES = {"no block": 0, "+ attention": 1, "+ feed-forward": 1, "+ second block": 2}  # and the number of blocks
CURVE = (0, 100, 200, 400, 800, 1200, 1600, 2000)
BEGINNINGS = ("this movie is", "i", "the story")


class Zero(nn.Module):
    """In place of a feed-forward layer, so that the residual connection adds nothing."""

    def forward(self, x):
        return torch.zeros_like(x)


@torch.no_grad()
def loss_of_last(model, ids, next_ids) -> float:
    """The mean loss at the word after each text."""
    parts = zip(ids.split(200), next_ids.split(200), strict=True)
    losses = [cross_entropy(model(some)[:, -1], words, reduction="none") for some, words in parts]
    return round(torch.cat(losses).mean().item(), 4)


def write(model, vocabulary, beginning, generator, num_words=22, temperature=0.8) -> str:
    ids = [vocabulary.id("<SEP>"), *vocabulary.encode(beginning)]
    for _ in range(num_words):
        with torch.no_grad():
            scores = model(torch.tensor([ids[-CONTEXT:]]))[0, -1] / temperature  # (KNOWN_WORDS,)
        scores[[0, UNK, vocabulary.id("<SEP>"), vocabulary.id("<MARK>")]] = -math.inf
        ids.append(torch.multinomial(scores.softmax(0), 1, generator=generator).item())
    return " ".join(vocabulary.decode(ids[1:]))


def run(stage: str, seed: int, prepared) -> dict:
    """Train one stage; its losses on held-out text, its curve and its texts."""
    separator, start = prepared.vocabulary.id("<SEP>"), time.process_time()

    def stream(reviews):
        ids = np.insert(reviews.ids, reviews.offsets[:-1], separator)
        return torch.from_numpy(np.where(ids < KNOWN_WORDS, ids, UNK)).long()

    training, validation = stream(prepared.train), stream(prepared.validation)
    ids, next_ids = windows(validation, 3000, torch.Generator().manual_seed(2))
    known = next_ids[:, -1] != UNK
    last = ids[known], next_ids[known, -1]  # the words that the lab measures with, too
    torch.manual_seed(seed)
    model, curve = LanguageModel(KNOWN_WORDS, num_blocks=STAGES[stage]), []
    if stage == "+ attention":
        model.blocks[0].feed_forward = Zero()
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        model.output.bias.copy_(((torch.bincount(training, minlength=KNOWN_WORDS) + 1) / len(training)).log())
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS + 1, pct_start=0.15)
    for step in range(STEPS + 1):
        if step in CURVE:
            curve.append([step, loss_of_last(model, *last)])
        if step < STEPS:
            loss = loss_of(model, *windows(training, BATCH, generator), UNK)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    dice = torch.Generator().manual_seed(11)
    result = {"stage": stage, "seed": seed, "loss": curve[-1][1], "curve": curve}
    result["texts"] = [write(model, prepared.vocabulary, beginning, dice) for beginning in BEGINNINGS]
    return result | {"cpu_seconds": round(time.process_time() - start)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    reviews = load_prepared(Settings())
    for seed in range(3):
        for stage in STAGES:
            record.load_or_run(TABLE, f"{stage}, seed {seed}", run, stage, seed, reviews)

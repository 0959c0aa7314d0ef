"""What lab 10 says about its language model, trained twice as long and from three seeds, beside counting.

    python -m experiments.claims.lab_10        all runs, seed by seed; may be stopped and goes on

What is made stays in lab_10.json beside this file; delete an entry there to make it anew. The text, the counting and
the training are those of the lab, which takes half of the steps and one seed.
"""

import math
import os
from collections import Counter
from functools import partial
from pathlib import Path

os.environ |= {"MPLBACKEND": "Agg", "TQDM_DISABLE": "1"}

import numpy as np
import torch
import torch.nn.functional as F

from experiments import record
from shared.data import SEPARATOR, UNK, Settings, encode, prepare
from shared.language_model import LanguageModel

MADE = Path(__file__).with_suffix(".json")
KNOWN_WORDS, CONTEXT, STEPS, SEEN = 2000, 64, 2400, (1, 4, 16, 64)


def streams() -> list[torch.Tensor]:
    """Training and validation text, (ids,) each: a separator before each review, rare words unknown."""
    data = prepare(Settings(), cut=32)
    found = []
    for part in (data.reviews.train, data.reviews.validation):
        reviews = encode(part, data.vocabulary, drop_unknown=True)
        ids = np.insert(reviews.ids, reviews.offsets[:-1], data.vocabulary.id(SEPARATOR))
        found.append(torch.from_numpy(np.where(ids < KNOWN_WORDS, ids, UNK)).long())
    return found


def cuttings(text: torch.Tensor, number: int, random: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Random cuttings, and for each place the word that comes next: two of (number, CONTEXT)."""
    starts = torch.randint(len(text) - CONTEXT, (number, 1), generator=random)
    pieces = text[starts + torch.arange(CONTEXT + 1)]
    return pieces[:, :-1], pieces[:, 1:]


def to_guess(text: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The words of the lab's examination: what stands before, (texts, CONTEXT), and the words, (texts,)."""
    pieces, next_words = cuttings(text, 3000, torch.Generator().manual_seed(2))
    known = next_words[:, -1] != UNK
    return pieces[known], next_words[known, -1]


def mean_and_error(surprise: torch.Tensor) -> list[float]:
    """Mean, and half of a 95% interval over the words."""
    return [round(surprise.mean().item(), 4), round(1.96 * surprise.std().item() / math.sqrt(len(surprise)), 4)]


def counted(train: torch.Tensor, validation: torch.Tensor) -> dict[str, torch.Tensor]:
    """Surprise of frequencies, bigram and trigram at each word, (texts,); a history counts like a hundred sightings."""
    words, followed_by, followed = train.tolist(), [], []
    for length in (1, 2, 3):
        pieces = [piece for piece in zip(*(words[i:] for i in range(length)), strict=False) if piece[-1] != UNK]
        followed_by.append(Counter(pieces))
        followed.append(Counter(piece[:-1] for piece in pieces))

    def probability(word, history):
        shorter = probability(word, history[1:]) if history else 1 / KNOWN_WORDS
        return (followed_by[len(history)][*history, word] + 100 * shorter) / (followed[len(history)][history] + 100)

    pieces, next_words = to_guess(validation)
    found = {}
    for length, name in enumerate(("frequencies", "bigram", "trigram")):
        histories = [tuple(piece[CONTEXT - length :]) for piece in pieces.tolist()]
        told = [probability(word, history) for word, history in zip(next_words.tolist(), histories, strict=True)]
        found[name] = -torch.tensor(told).log()
    return found


def trained(train: torch.Tensor, seed: int) -> LanguageModel:
    torch.manual_seed(seed)
    model, random = LanguageModel(KNOWN_WORDS), torch.Generator().manual_seed(1 + seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.008, fused=True)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.008, total_steps=STEPS + 1, pct_start=0.15)
    for _ in range(STEPS):
        ids, next_ids = cuttings(train, 16, random)
        loss = F.cross_entropy(model(ids).flatten(0, 1), next_ids.flatten(), ignore_index=UNK)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate.step()
    return model


def run(train: torch.Tensor, validation: torch.Tensor, counts: dict[str, torch.Tensor], seed: int) -> dict:
    """Surprise at the same words with 1, 4, 16 and 64 words seen, and differences word by word."""
    model = trained(train, seed)
    pieces, next_words = to_guess(validation)
    surprise = {}
    with torch.no_grad():
        for seen in SEEN:
            parts = zip(pieces[:, -seen:].split(100), next_words.split(100), strict=True)
            each = [F.cross_entropy(model(some)[:, -1], word, reduction="none") for some, word in parts]
            surprise[seen] = torch.cat(each)
    return {
        "words": len(next_words),
        "surprise": {str(seen): mean_and_error(each) for seen, each in surprise.items()},
        "bigram minus model, 1": mean_and_error(counts["bigram"] - surprise[1]),
        "bigram minus model, 64": mean_and_error(counts["bigram"] - surprise[64]),
        "trigram minus model, 64": mean_and_error(counts["trigram"] - surprise[64]),
        "1 minus 64 words seen": mean_and_error(surprise[1] - surprise[64]),
        "4 minus 64 words seen": mean_and_error(surprise[4] - surprise[64]),
        "16 minus 64 words seen": mean_and_error(surprise[16] - surprise[64]),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    train, validation = streams()
    counts = counted(train, validation)
    told = {name: mean_and_error(each) for name, each in counts.items()} | {"words to learn from": len(train)}
    record.once(MADE, "counting", lambda: told)
    for seed in range(3):
        record.once(MADE, f"{STEPS} steps, seed {seed}", partial(run, train, validation, counts, seed))

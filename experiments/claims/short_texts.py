"""What short texts do to the models of the page "Try the model", before and after they learned from short pieces.

Three seeds, five minutes of one core. The twenty sentences and their labels stand in short_sentences.json, written
before anything was trained; what the page shows, that of the first seed, is in book/short_texts.txt.
"""

import json
from functools import partial
from pathlib import Path

import numpy as np
import torch

from experiments import models_to_try as page
from experiments import record
from experiments.report import table
from shared import data

HERE = Path(__file__).parent
MADE = HERE / "short_texts.json"
SHOWN = record.ROOT / "book" / "short_texts.txt"
SENTENCES = json.loads((HERE / "short_sentences.json").read_text())["sentences"]
PLACES = (1, 5, 20, 50, 128)


@torch.no_grad()
def positive(net: torch.nn.Module, name: str, vocabulary: data.Vocabulary, text: str) -> float:
    """How positive the model finds a text, alone, from 0 to 1."""
    mark = [vocabulary.id(data.MARK)] if name == page.MARKED else []
    ids = torch.tensor([mark + vocabulary.encode(text)])  # (1, tokens)
    return torch.sigmoid(net.eval()(ids, torch.ones_like(ids, dtype=torch.bool))[0]).item()


@torch.no_grad()
def average_word(net: torch.nn.Module, reviews: data.Reviews) -> list[float]:
    """The logit of a text that says the average word at each of its places: nothing but places speaks there."""
    counts = torch.from_numpy(np.bincount(reviews.train.ids, minlength=len(reviews.vocabulary))).float()
    embedding = net.features.embedding
    word = (counts / counts.sum()) @ embedding.weight  # (dim,)
    kept, embedding.weight.data = embedding.weight.data, word.expand_as(embedding.weight).clone()
    ids = [torch.ones(1, places, dtype=torch.long) for places in PLACES]
    found = [round(net.eval()(each, each.bool())[0].item(), 2) for each in ids]
    embedding.weight.data = kept
    return found


def run(reviews: data.Reviews, name: str, seed: int, pieces: bool) -> dict:
    net = page.trained(name, reviews, seed, pieces)
    net = page.unpacked(net, page.rounded(net))
    found = page.measured(net, name, reviews)
    found["sentences"] = [round(positive(net, name, reviews.vocabulary, text), 4) for text, _ in SENTENCES]
    if name != page.MARKED:  # which needs a mark
        found["average word"] = average_word(net, reviews)
    return found


def summary(found: dict) -> dict[str, str]:
    """What the page says of one model and the twenty sentences."""
    told, labels = np.array(found["sentences"]), np.array([label for _, label in SENTENCES])
    right, sure = (told > 0.5) == labels, np.maximum(told, 1 - told)
    return {
        "right, of 20": f"{right.sum()}",
        "sure when right": f"{sure[right].mean():.0%}",
        "sure when wrong": f"{sure[~right].mean():.0%}",
        "wrong and more than 99% sure": f"{(~right & (sure > 0.99)).sum()}",
    }


def shown(made: dict) -> str:
    """The table of the page, before and after, in Markdown."""
    rows = [
        {"Model": name, "learned from": learned} | summary(made[f"{name}, {kind}, seed 0"])
        for name in page.MODELS
        for kind, learned in (("before", "whole reviews"), ("after", "short pieces too"))
    ]
    return "<!-- Made by `python -m experiments.claims.short_texts`. -->\n\n" + table(rows)


if __name__ == "__main__":
    reviews = data.prepare(data.Settings())
    for seed in range(3):
        for name in page.MODELS:
            for kind in ("before", "after"):
                record.once(MADE, f"{name}, {kind}, seed {seed}", partial(run, reviews, name, seed, kind == "after"))
    record.write(SHOWN, shown(record.read(MADE)))

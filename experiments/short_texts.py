"""The models of the page *Try the model* on short texts, before and after learning from short pieces of reviews.

Three seeds, five minutes of one core. The twenty sentences and their labels are in short_sentences.json, written before
anything was trained. The page shows the results of the first seed, from book/short_texts.txt.

    python -m experiments.short_texts
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from experiments import live_page_models as page
from shared import data, record

RESULTS = Path(__file__).with_suffix(".json")
SHOWN = record.ROOT / "book" / "short_texts.txt"
SENTENCES = json.loads(RESULTS.with_name("short_sentences.json").read_text())["sentences"]


@torch.no_grad()
def positive(net: torch.nn.Module, name: str, vocabulary: data.Vocabulary, text: str) -> float:
    """How positive the model finds a text, alone, from 0 to 1."""
    mark = [vocabulary.id(data.MARKER)] if name == page.MARKED else []
    ids = torch.tensor([mark + vocabulary.encode(text)])  # (1, tokens)
    return torch.sigmoid(net.eval()(ids, torch.ones_like(ids, dtype=torch.bool))[0]).item()


def run(source: data.PreparedReviews, name: str, seed: int, pieces: bool) -> dict:
    net = page.train(name, source, seed, pieces)
    net = page.unpacked(net, page.rounded(net))
    result = page.measured(net, name, source)
    result["sentences"] = [round(positive(net, name, source.vocabulary, text), 4) for text, _ in SENTENCES]
    return result


def summary(result: dict) -> dict[str, str]:
    """What the page shows of one model and the twenty sentences."""
    probabilities, labels = np.array(result["sentences"]), np.array([label for _, label in SENTENCES])
    right, sure = (probabilities > 0.5) == labels, np.maximum(probabilities, 1 - probabilities)
    return {
        "right, of 20": f"{right.sum()}",
        "sure when right": f"{sure[right].mean():.0%}",
        "sure when wrong": f"{sure[~right].mean():.0%}",
        "wrong and more than 99% sure": f"{(~right & (sure > 0.99)).sum()}",
    }


def shown(results: dict) -> str:
    """The table of the page, before and after, in Markdown."""
    rows = [
        {"Model": name, "learned from": learned} | summary(results[f"{name}, {kind}, seed 0"])
        for name in page.MODELS
        for kind, learned in (("before", "whole reviews"), ("after", "short pieces too"))
    ]
    table = pd.DataFrame(rows).to_markdown(index=False, colalign=["left"] * 2 + ["right"] * 4)
    return f"<!-- Made by `python -m experiments.short_texts`. -->\n\n{table}\n"


if __name__ == "__main__":
    source = data.load_prepared(data.Settings())
    for seed in range(3):
        for name in page.MODELS:
            for kind in ("before", "after"):
                key = f"{name}, {kind}, seed {seed}"
                record.load_or_run(RESULTS, key, run, source, name, seed, kind == "after")
    record.write(SHOWN, shown(record.read(RESULTS)))

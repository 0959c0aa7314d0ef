"""Rounds the trained language model, stores it in `shared`, and measures it: python -m experiments.store_review_writer

`experiments.train_review_writer` trains it. Measured on reviews of the test part, in windows of one start token and the
128 tokens after it: the loss before and after rounding, n-gram models on the same tokens, and how often what the model
writes repeats eight words of a training review.
"""

import json
from collections import Counter

import numpy as np
import torch
from safetensors.torch import save_file

from experiments import record
from experiments.train_review_writer import FOLDER, LEARNING_RATE, SEED, Windows, next_token_loss, stream, texts
from shared import review_writer
from shared.review_writer import CONTEXT, START, ReviewWriter, continue_text

RESULT = record.ROOT / "shared/review_writer.json"
DISCOUNT = 0.75  # of the n-gram models: absolute discounting, interpolated


@torch.no_grad()
def losses(model: ReviewWriter, windows: Windows) -> np.ndarray:
    """The loss of each window, in nats per token."""
    model.eval()
    return np.array([float(next_token_loss(model, windows.batch([row]))[0]) for row in range(len(windows))])


class NGrams:
    """Unigram, bigram and trigram with absolute discounting, each interpolated with the one before it."""

    def __init__(self, ids: np.ndarray, vocabulary: int):
        counts = np.bincount(ids, minlength=vocabulary) + 1.0  # no token has probability 0
        self.unigram = counts / counts.sum()
        self.tables = []
        for order in (2, 3):
            grams = Counter(zip(*(ids[start : len(ids) - order + 1 + start].tolist() for start in range(order))))  # noqa: B905
            total, kinds = Counter(), Counter()
            for gram, count in grams.items():
                total[gram[:-1]] += count
                kinds[gram[:-1]] += 1
            self.tables.append((grams, total, kinds))

    def probs(self, gram: tuple[int, ...]) -> list[float]:
        """The probability of the last of three tokens by unigram, bigram and trigram."""
        found = [float(self.unigram[gram[-1]])]
        for order, (grams, total, kinds) in enumerate(self.tables, start=2):
            whole = gram[-order:]
            seen = total[whole[:-1]]
            lower = found[-1]
            if seen:
                lower = (max(grams[whole] - DISCOUNT, 0) + DISCOUNT * kinds[whole[:-1]] * found[-1]) / seen
            found.append(lower)
        return found


def n_gram_losses(ids: np.ndarray, windows: Windows) -> np.ndarray:
    """The loss of each window by unigram, bigram and trigram, (windows, 3)."""
    model = NGrams(ids, 4096)
    found = []
    for row in range(len(windows)):
        tokens = [START, *windows.batch([row])[0].tolist()]  # two start tokens before the first
        logs = [np.log(model.probs(tuple(tokens[i : i + 3]))) for i in range(len(tokens) - 2)]
        found.append(-np.mean(logs, axis=0))
    return np.array(found)


def mean_and_interval(values: np.ndarray) -> list[float]:
    return [round(float(values.mean()), 4), round(float(1.96 * values.std(ddof=1) / len(values) ** 0.5), 4)]


def repeated(tokenizer, model, training: list[str], num_texts: int = 40) -> dict:
    """How many eight-word phrases in texts of the model occur in a training review."""
    known = {hash(tuple(words[i : i + 8])) for text in training for words in [text.split()] for i in range(len(words))}
    phrases = []
    for seed in range(num_texts):
        words = continue_text(model, tokenizer, num_tokens=100, seed=seed).split()
        phrases += [tuple(words[i : i + 8]) for i in range(len(words) - 7)]
    return {"phrases": len(phrases), "in training reviews": sum(hash(phrase) in known for phrase in phrases)}


def main() -> None:
    from tokenizers import Tokenizer

    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    curve = json.loads((FOLDER / "curve.json").read_text())
    training, _, test = texts()
    ids, held_out = stream(tokenizer, training), stream(tokenizer, test)
    windows = Windows(held_out, torch.arange(0, len(held_out) - CONTEXT, 8 * CONTEXT))

    model = ReviewWriter()
    last = FOLDER / f"after_{curve['curve'][-1]['steps']}_steps.pt"
    model.load_state_dict(torch.load(last))
    before = losses(model, windows)
    save_file(review_writer.round_to_int8(model.state_dict()), review_writer.WEIGHTS)
    review_writer.TOKENIZER.write_text((FOLDER / "tokenizer.json").read_text("utf-8"), "utf-8")
    model, tokenizer = review_writer.load()
    after = losses(model, windows)
    n_grams = n_gram_losses(ids.numpy(), windows)
    characters = sum(len(tokenizer.decode(windows.batch([row])[0, 1:].tolist())) for row in range(len(windows)))

    stages = {}
    for steps in [epoch["steps"] for epoch in curve["curve"]][:: max(1, len(curve["curve"]) // 4)]:
        stage = ReviewWriter().eval()
        stage.load_state_dict(torch.load(FOLDER / f"after_{steps}_steps.pt"))
        stages[steps] = continue_text(stage, tokenizer, "This movie", num_tokens=50)
    record.write(
        RESULT,
        {
            "made_by": "python -m experiments.train_review_writer, python -m experiments.store_review_writer",
            "about": record.about(),
            "training": {
                "seed": SEED, "learning_rate": LEARNING_RATE, "tokens": len(ids), **curve,
            },
            "test": {
                "windows": len(windows),
                "characters per token": round(characters / (len(windows) * CONTEXT), 3),
                "loss before rounding": mean_and_interval(before),
                "loss": mean_and_interval(after),
                **{
                    name: mean_and_interval(n_grams[:, i]) for i, name in enumerate(("unigram", "bigram", "trigram"))
                },
                "trigram minus model": mean_and_interval(n_grams[:, 2] - after),
            },
            "texts at five stages": stages,
            "repeated": repeated(tokenizer, model, training),
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()

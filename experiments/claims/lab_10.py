"""What lab 10 says about its language model, trained twice as long and from three seeds, beside counting."""

from functools import partial
from pathlib import Path

import torch

from experiments import claims, record

MADE = Path(__file__).with_suffix(".json")
STEPS = 2400
EDITS = {"train(model, steps=1200)": "", "manual_seed(1)": "manual_seed(1 + seed)"}  # of the lab's training alone


def run(lab: dict, seed: int, steps: int = STEPS) -> dict:
    """Surprise at the same words with 1, 4, 16 and 64 words seen, and differences word by word."""
    lab["seed"] = seed
    torch.manual_seed(seed)
    lab["model"] = lab["LanguageModel"](lab["known_words"])
    lab["train"](lab["model"], steps)
    seen = {number: lab["surprises_at"](lab["pieces"][:, -number:]) for number in (1, 4, 16, 64)}
    counted = lab["surprises"]
    return {
        "words": len(lab["next_words"]),
        "surprise": {str(number): mean_and_error(each) for number, each in seen.items()},
        "bigram minus model, 1": mean_and_error(counted["bigram"] - seen[1]),
        "bigram minus model, 64": mean_and_error(counted["bigram"] - seen[64]),
        "trigram minus model, 64": mean_and_error(counted["trigram"] - seen[64]),
        **{f"{number} minus 64 words seen": mean_and_error(seen[number] - seen[64]) for number in (1, 4, 16)},
    }


def mean_and_error(surprise: torch.Tensor) -> list[float]:
    """Mean, and half of a 95% interval over the words."""
    return [round(surprise.mean().item(), 4), round(1.96 * surprise.std().item() / len(surprise) ** 0.5, 4)]


if __name__ == "__main__":
    lab = claims.run_lab(10, "def surprises_at", EDITS, seed=0)
    counted = {name: mean_and_error(lab["surprises"][name]) for name in ("frequencies", "bigram", "trigram")}
    record.once(MADE, "counting", lambda: counted | {"words to learn from": len(lab["training_text"])})
    for seed in range(3):
        record.once(MADE, f"{STEPS} steps, seed {seed}", partial(run, lab, seed))

"""What lab 1 claims about mean pooling, attention pooling and positions, with more seeds."""

from functools import partial
from pathlib import Path

import torch

from experiments import claims, record
from shared.data import Settings, distracted_examples, plain_examples, prepare
from shared.model import AttentionPooling, MeanPooling
from shared.training import Recipe, evaluate

MADE = Path(__file__).with_suffix(".json")
PLACES = (0, 32, 64, 96, 128, 160, 192, 224, 255)


def run(data, make, epochs: int, seed: int) -> dict:
    """Accuracy on both kinds of reviews, the epoch that was kept, and what the score says of places."""
    torch.manual_seed(seed)
    model = make(len(data.vocabulary))
    history = claims.train(model, data, Recipe(epochs, 0.005, 64), seed)
    distracted = evaluate(model, distracted_examples(data.test, seed=2))
    found = {
        "plain": evaluate(model, plain_examples(data.test)).accuracy,
        "distracted": distracted.accuracy,
        "share": distracted.share_on_labelled,
        "epoch kept": history.best_epoch,
    }
    if hasattr(model, "score"):
        with torch.no_grad():
            says = model.features.positions[: PLACES[-1] + 1] @ model.score.weight[0]  # (256,)
        found["u.p at places"] = {str(place): round(says[place].item(), 3) for place in PLACES}
    return found


if __name__ == "__main__":
    data = prepare(Settings())
    for seed in range(5):
        for name, make in (
            ("mean pooling", MeanPooling),
            ("attention pooling", AttentionPooling),
            ("attention pooling without positions", partial(AttentionPooling, positions=False)),
        ):
            for epochs in (4, 3) if seed < 3 and "without" not in name else (4,):
                record.once(MADE, f"{name}, {epochs} epochs, seed {seed}", partial(run, data, make, epochs, seed))

"""What lab 9 claims about residual connections, norm and feed-forward layer, with more seeds."""

from functools import partial
from pathlib import Path

import torch
from torch import nn

from experiments import claims, record
from shared.data import Settings, distracted_examples, prepare
from shared.model import EncoderClassifier, TransformerBlock
from shared.training import Recipe, evaluate

once = partial(record.once, Path(__file__).with_suffix(".json"))
LAB = claims.definitions(9)
# The sum that is left when the other one goes.
KEPT = {"residual of attention": "feed-forward", "residual of feed-forward": "attention"}


class Without(TransformerBlock):
    """The block of lab 9 without its sums, or with one that is `kept`."""

    def forward(self, features, mask=None, attention_mask=None):
        attended, weights = self.attention(self.attention_norm(features), mask, attention_mask)
        features = self.dropout(attended) + (features if self.kept == "attention" else 0)
        thought = self.dropout(self.feed_forward(self.feed_forward_norm(features)))
        return thought + (features if self.kept == "feed-forward" else 0), weights


def points(part: str, rate: float, steps: int = 150) -> list[float]:
    """Accuracy for ten seeds, trained side by side: the models are small, and one call for all of them spares time."""
    models, randoms, clouds = [], [], LAB["clouds"]
    for seed in range(10):
        torch.manual_seed(seed)
        models.append(LAB["PointsClassifier"](part).eval())
        randoms.append(torch.Generator().manual_seed(seed))
    parameters, _ = torch.func.stack_module_state(models)
    optimizer = torch.optim.Adam(parameters.values(), lr=rate)

    def logits_of(parameters, cloud):
        return torch.func.functional_call(models[0], parameters, cloud)

    for _ in range(steps):
        cloud, label = map(torch.stack, zip(*(clouds(64, random) for random in randoms), strict=True))
        logits = torch.func.vmap(logits_of)(parameters, cloud)  # (seeds, batch)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, label, reduction="none").mean(dim=1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    cloud, label = clouds(2000, torch.Generator().manual_seed(99))
    with torch.no_grad():
        logits = torch.func.vmap(logits_of, in_dims=(0, None))(parameters, cloud)
    return ((logits > 0) == label.bool()).float().mean(dim=1).tolist()


def reviews(data, part: str, rate: float, seed: int, epochs: int = 6) -> dict:
    """Accuracy of an encoder on distracted reviews, and on validation epoch by epoch."""
    torch.manual_seed(seed)
    model = EncoderClassifier(len(data.vocabulary), num_heads=2, num_blocks=2)
    for block in model.blocks if part != "nothing" else ():
        block.__class__, block.kept = Without, KEPT.get(part)
    history = claims.train(model, data, Recipe(epochs, rate, 64), seed)
    by_epoch = [round(epoch["validation_accuracy"], 4) for epoch in history]
    distracted = distracted_examples(data.test, seed=2)
    return {"distracted": evaluate(model, distracted).accuracy, "validation": by_epoch}


if __name__ == "__main__":
    for rate in (0.03, 0.003, 0.001):
        for part in ("norm", "nothing", "feed-forward", "residual"):
            once(f"points, 6 blocks, without {part}, rate {rate}", partial(points, part, rate))
    data, three = prepare(Settings(), cut=32), (0.005, 0.002, 0.001)
    for part, rates in {"residual": three, "nothing": three, **dict.fromkeys(KEPT, three[:1])}.items():
        for seed in range(5):
            for rate in rates:
                key = f"reviews, 2 blocks, 6 epochs, without {part}, rate {rate}, seed {seed}"
                once(key, partial(reviews, data, part, rate, seed))

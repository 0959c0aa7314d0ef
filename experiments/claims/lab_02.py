"""What lab 2 says about key models of width 1: the same start, divided between K and q in three ways."""

from functools import partial
from pathlib import Path

import torch

from experiments import claims, record
from shared.data import Settings, distracted_examples, plain_examples, prepare
from shared.model import AttentionPooling, KeyPooling
from shared.training import Recipe, evaluate

MADE = Path(__file__).with_suffix(".json")


@torch.no_grad()
def key_model(single: AttentionPooling, size_of_query: float | None, vocabulary_size: int) -> KeyPooling:
    """A key model of width 1 equal to `single`; `size_of_query` None keeps the query that PyTorch draws."""
    model = KeyPooling(vocabulary_size, key_dim=1)
    model.features.load_state_dict(single.features.state_dict())
    model.output.load_state_dict(single.output.state_dict())
    if size_of_query is not None:
        model.query.weight.fill_(size_of_query)
    model.W_key.weight.copy_(single.score.weight / model.query.weight)
    model.query.bias.add_(single.score.bias - model.W_key.bias @ model.query.weight[0] - model.query.bias)
    return model


def run(data, division: str, seed: int) -> dict:
    torch.manual_seed(seed)
    model = single = AttentionPooling(len(data.vocabulary))
    size_of_w = single.score.weight.norm().item()
    sizes = {"as drawn": None, "balanced": size_of_w**0.5, "tiny query": 0.02}
    if division in sizes:
        model = key_model(single, sizes[division], len(data.vocabulary))
    query = model.query.weight.norm().item() if division in sizes else None
    claims.train(model, data, Recipe(3, 0.005, 64), seed)
    test = plain_examples(data.test) + distracted_examples(data.test, seed=2)
    return {"size of w": size_of_w, "size of q": query, "accuracy": evaluate(model, test).accuracy}


if __name__ == "__main__":
    data = prepare(Settings())
    for seed in range(5):
        for division in ("as drawn", "balanced", "tiny query", "single map"):
            record.once(MADE, f"k = 1, {division}, seed {seed}", partial(run, data, division, seed))

"""Language models whose four query heads share four, two or one heads of keys and values, and cafés with a gate.

Ten minutes of one core for the first, and five for the second. Writes runs.json, which the lab reads.

    python -m labs.the_kv_cache.runs
"""

import numpy as np
import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from labs.the_kv_cache import absent_friends
from labs.the_kv_cache.absent_friends import Gated, TwoLayers
from labs.the_kv_cache.grouped_queries import GroupedQueryAttention
from shared import data, record
from shared.language_model import LanguageModel
from shared.model import SelfAttention

RESULTS = record.ROOT / "labs/the_kv_cache/runs.json"
KNOWN_WORDS, STEPS, BATCH, LEARNING_RATE = 1000, 800, 16, 0.003
CONTEXT = 64  # words of a window
NUM_HEADS, KV_HEADS, SEEDS = 4, (4, 2, 1), (0, 1, 2)


def stream(ids: np.ndarray) -> Tensor:
    words = torch.from_numpy(ids).long()  # (words,)
    return words.where(words < KNOWN_WORDS, data.UNK)


def windows(text: Tensor, count: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Ids of random windows and of the words that follow each of theirs, (count, CONTEXT) each."""
    starts = torch.randint(len(text) - CONTEXT, (count, 1), generator=generator)
    ids = text[starts + torch.arange(CONTEXT + 1)]  # (count, CONTEXT + 1)
    return ids[:, :-1], ids[:, 1:]


def mean_loss(model: nn.Module, ids: Tensor, next_ids: Tensor) -> Tensor:
    """Mean cross-entropy in nats; unknown words are left out."""
    return cross_entropy(model(ids).flatten(0, 1), next_ids.flatten(), ignore_index=data.UNK)


def train_and_measure(num_kv_heads: int, seed: int, training: Tensor, held_out: Tensor) -> dict:
    """The loss on held-out text, and the numbers that a cache stores for each token."""
    torch.manual_seed(seed)
    model = LanguageModel(KNOWN_WORDS, num_heads=NUM_HEADS)
    for block in model.blocks:
        block.attention = GroupedQueryAttention(64, NUM_HEADS, num_kv_heads)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    generator = torch.Generator().manual_seed(seed)  # the same windows for all numbers of heads
    for _ in range(STEPS):
        loss = mean_loss(model, *windows(training, BATCH, generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        ids = held_out.unfold(0, CONTEXT + 1, CONTEXT)[:1000]  # (1000, CONTEXT + 1)
        loss = mean_loss(model, ids[:, :-1], ids[:, 1:])
    layers = [block.attention for block in model.blocks]
    cached = sum(layer.W_key.out_features + layer.W_value.out_features for layer in layers)
    return {"loss": round(loss.item(), 4), "cached_numbers_per_token": cached}


def one_layer() -> SelfAttention:
    return SelfAttention(32, 16, 32)


CAFES = {  # what the start token comes before
    "start token and gate": lambda: Gated(one_layer()),
    "two layers": lambda: TwoLayers(one_layer(), one_layer()),
    "two layers and gate": lambda: TwoLayers(one_layer(), Gated(one_layer())),
}
CAFE_SEEDS = {"start token and gate": 5, "two layers": 3, "two layers and gate": 3}


def with_start_token(name: str, seed: int) -> dict:
    """Accuracies and weights on the start token, as the lab measures them."""
    torch.manual_seed(seed)
    layer = absent_friends.WithStartToken(CAFES[name]())
    results = absent_friends.accuracies(absent_friends.train(layer, seed))
    return {"results": [round(number, 4) for number in results]}


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, seeds in CAFE_SEEDS.items():
        for seed in range(seeds):
            record.load_or_run(RESULTS, f"{name}, seed {seed}", with_start_token, name, seed)
    texts = data.load_prepared(data.start_lab(), max_tokens=128)
    training, held_out = stream(texts.train.ids), stream(texts.validation.ids)
    for seed in SEEDS:
        for num_kv_heads in KV_HEADS:
            key = f"{num_kv_heads} KV heads, seed {seed}"
            record.load_or_run(RESULTS, key, train_and_measure, num_kv_heads, seed, training, held_out)

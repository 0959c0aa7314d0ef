"""A tiny training on synthetic reviews, in one process or under torchrun; `test_distributed.py` compares the two.

torchrun --nproc-per-node=2 tests/torchrun_training.py FILE writes losses, weights and gradients as JSON.
"""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from torch import distributed

from shared import data, model, training
from shared.reviews import tokenized


def reviews() -> data.EncodedReviews:
    """193 synthetic reviews; in batches of 16 the last batch holds one, too few for two processes."""
    random = np.random.default_rng(0)
    filler = [f"{a}{b}" for a in "bcdfg" for b in "aeiou"]
    labels = random.integers(0, 2, 193).tolist()
    texts = [" ".join([*random.choice(filler, random.integers(3, 12)), "good" if one else "bad"]) for one in labels]
    split = tokenized(texts, labels)
    return data.encode(split, data.build_vocabulary(split))


def train() -> dict:
    """Four epochs of a self-attention classifier without dropout; its history, weights and gradients."""
    source = reviews()
    torch.manual_seed(0)
    net = model.SelfAttentionClassifier(source.vocabulary_size, dropout=0.0)

    def examples(epoch):
        drawn = data.distracted_examples(source, epoch)
        alone = np.arange(193) % 2 == 1
        rows = np.where(alone, data.NO_DISTRACTOR, drawn.distractor_rows)  # different lengths
        return replace(drawn, distractor_rows=rows)

    recipe = training.Recipe(4, learning_rate=0.02, batch_size=16)
    history = training.fit(net, examples, data.plain_examples(source), recipe, 3)
    numbers = {f"weight of {name}": weight.tolist() for name, weight in net.state_dict().items()}
    # Adam divides by the gradient's size, so a gradient of twice the size would not show in the weights.
    numbers |= {f"last gradient of {name}": weight.grad.tolist() for name, weight in net.named_parameters()}
    return asdict(history) | {"numbers": numbers}


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    training.best_device = lambda: torch.device("cpu")
    result = train()
    if distributed.get_rank() == 0:
        Path(sys.argv[1]).write_text(json.dumps(result))
    distributed.destroy_process_group()

"""Trains the course's language model on the bundled reviews: python -m experiments.train_review_writer [STEPS]

It may be stopped, and goes on from its checkpoint in _build/review_writer, where it also writes the curve.
"""

import json
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from torch.nn.functional import cross_entropy

from shared.review_writer import CONTEXT, START, ReviewWriter
from shared.reviews import movie_parts, read_movies
from shared.training import Recipe, fit

FOLDER = Path("_build/review_writer")
BATCH, EPOCH = 32, 200  # windows in a step, steps between two validations
STEPS = 2800  # some one and a half passes over the training reviews
LEARNING_RATE, WARM_UP, WEIGHT_DECAY, SEED = 3e-3, 150, 0.1, 0


def texts() -> list[list[str]]:
    """The reviews for training, validation and test: neighbours stay in one part, and no text is in two."""
    everything, labels = read_movies()
    parts: list[list[str]] = [[], [], []]
    for text, part in dict(zip(reversed(everything), movie_parts(np.array(labels))[::-1], strict=True)).items():
        parts[part].append(text)
    return parts


def train_tokenizer(training: list[str]) -> Tokenizer:
    """Byte-level BPE with 4,096 subword tokens, of which the first is the start token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=4096, special_tokens=["<START>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(training, trainer)
    return tokenizer


def stream(tokenizer: Tokenizer, reviews: list[str]) -> Tensor:
    """All reviews in one row of ids, each with the start token before it."""
    encoded = tokenizer.encode_batch(reviews)
    return torch.tensor([number for text in encoded for number in (START, *text.ids)])


@dataclass
class Windows:
    """Windows of a stream, each a start token and the `CONTEXT` tokens that follow its start; examples for `fit`."""

    ids: Tensor
    starts: Tensor

    def __len__(self):
        return len(self.starts)

    def batch_rows(self, batch_size: int, seed: int):
        return np.array_split(np.arange(len(self)), max(1, len(self) // batch_size))

    def batch(self, rows):
        windows = self.ids.unfold(0, CONTEXT, 1)[self.starts[rows]]  # (batch, CONTEXT)
        start = windows.new_full((len(rows), 1), START)
        return torch.cat([start, windows], dim=1)  # (batch, CONTEXT + 1)


def next_token_loss(model, windows: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy in nats per token, and the fraction of tokens that are predicted right, summed over windows."""
    logits, targets = model(windows[:, :-1]), windows[:, 1:]  # (batch, CONTEXT, vocabulary), (batch, CONTEXT)
    loss = cross_entropy(logits.transpose(1, 2), targets, reduction="none")  # (batch, CONTEXT)
    return loss.mean(dim=1).sum(), (logits.argmax(dim=2) == targets).float().mean(dim=1).sum()


def main(steps: int) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    training, validation, _ = texts()
    tokenizer = train_tokenizer(training)
    tokenizer.save(str(FOLDER / "tokenizer.json"))
    ids, held_out = stream(tokenizer, training), stream(tokenizer, validation)
    print(f"{len(ids):,} tokens for training, {len(held_out):,} for validation", flush=True)

    torch.manual_seed(SEED)
    model = ReviewWriter()
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.95), weight_decay=WEIGHT_DECAY, fused=True
    )

    def rate(step: int) -> float:  # warm-up, then half a cosine
        return min((step + 1) / WARM_UP, 0.5 * (1 + np.cos(np.pi * min(step / steps, 1))))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    records: list[dict] = []
    checkpoint = FOLDER / "checkpoint.pt"
    if checkpoint.is_file():
        stored = torch.load(checkpoint, weights_only=False)
        model.load_state_dict(stored["model"])
        optimizer.load_state_dict(stored["optimizer"])
        records = stored["records"]
        schedule.last_epoch = len(records) * EPOCH
        print(f"goes on after {len(records) * EPOCH} steps", flush=True)
    begin = time.perf_counter()

    def windows(epoch: int) -> Windows:  # a pass begins at a place of its own, and its windows come in random order
        first = (epoch + done - 1) * EPOCH * BATCH
        per_pass = len(ids) // CONTEXT - 1
        starts = []
        for number in range(first, first + EPOCH * BATCH):
            generator = np.random.default_rng([SEED, number // per_pass])
            if not starts or number % per_pass == 0:
                offset, order = generator.integers(CONTEXT), generator.permutation(per_pass)
            starts.append(offset + CONTEXT * order[number % per_pass])
        return Windows(ids, torch.tensor(starts))

    def store(record: dict) -> None:
        seconds = time.perf_counter() - begin
        records.append(record | {"steps": (len(records) + 1) * EPOCH, "seconds": round(seconds)})
        print(records[-1], flush=True)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "records": records}, checkpoint)
        torch.save(model.state_dict(), FOLDER / f"after_{len(records) * EPOCH}_steps.pt")
        machine = f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
        (FOLDER / "curve.json").write_text(json.dumps({"machine": machine, "steps": steps, "curve": records}, indent=1))

    done = len(records)
    checked = Windows(held_out, torch.arange(0, len(held_out) - CONTEXT, 16 * CONTEXT))
    recipe = Recipe(steps // EPOCH - done, LEARNING_RATE, BATCH, max_gradient_norm=1.0)
    fit(compiled, windows, checked, recipe, SEED, "cpu", next_token_loss, optimizer, schedule, store)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)

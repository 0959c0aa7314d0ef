"""Trains the course's own language model on the bundled reviews, rounds it, stores it in `shared`, and measures it.

Measured on reviews of the test part, in windows of one start token and the 128 tokens after it: the loss before and
after rounding, counting on the same tokens, and how often what the model writes repeats eight words of a training
review. Two hours of one core; three minutes to measure the stored model again and to count, without training it.

    python -m experiments.train_review_writer
    python -m experiments.train_review_writer measure
"""

import copy
import platform
import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from labs.a_language_model.counting import kneser_ney
from shared import record, review_writer
from shared.review_writer import CONTEXT, START, ReviewWriter, continue_text
from shared.reviews import movie_parts, read_movies

RESULT = record.ROOT / "shared/review_writer.json"
BATCH, EPOCH = 32, 200  # windows in a step, steps between two validations
STEPS = 3400  # some two passes over the training reviews
LEARNING_RATE, WARM_UP, WEIGHT_DECAY, SEED = 3e-3, 150, 0.1, 0
VOCABULARY = 4096
GRAMS = {"unigram": 1, "bigram": 2, "trigram": 3, "four-gram": 4, "five-gram": 5}  # and how many tokens they count


# --- the reviews -------------------------------------------------------------------------------------------------


def texts() -> list[list[str]]:
    """The reviews for training, validation and test: neighbors stay in one part, and no text is in two."""
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
        vocab_size=VOCABULARY, special_tokens=["<START>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(training, trainer)
    return tokenizer


def stream(tokenizer: Tokenizer, reviews: list[str]) -> Tensor:
    """All reviews in one row of ids, each with the start token before it."""
    encoded = tokenizer.encode_batch(reviews)
    return torch.tensor([number for text in encoded for number in (START, *text.ids)])


@dataclass
class Windows:
    """Windows of a stream, each a start token and the `CONTEXT` tokens that follow its start."""

    ids: Tensor
    starts: Tensor

    def __len__(self):
        return len(self.starts)

    def batch_rows(self, batch_size: int):
        return np.array_split(np.arange(len(self)), max(1, len(self) // batch_size))

    def batch(self, rows):
        windows = self.ids.unfold(0, CONTEXT, 1)[self.starts[rows]]  # (batch, CONTEXT)
        start = windows.new_full((len(rows), 1), START)
        return torch.cat([start, windows], dim=1)  # (batch, CONTEXT + 1)


# --- training ----------------------------------------------------------------------------------------------------


def next_token_loss(model, windows: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy in nats per token, and the fraction of tokens that are predicted right, summed over windows."""
    logits, targets = model(windows[:, :-1]), windows[:, 1:]  # (batch, CONTEXT, vocabulary), (batch, CONTEXT)
    loss = cross_entropy(logits.transpose(1, 2), targets, reduction="none")  # (batch, CONTEXT)
    return loss.mean(dim=1).sum(), (logits.argmax(dim=2) == targets).float().mean(dim=1).sum()


def one_epoch(model: nn.Module, windows: Windows, optimizer, schedule) -> tuple[float, float]:
    """A step for each batch, with gradients of length 1 at most; the mean loss and accuracy on the way."""
    totals = torch.zeros(2)
    model.train()
    for rows in windows.batch_rows(BATCH):
        loss, right = next_token_loss(model, windows.batch(rows))
        optimizer.zero_grad()
        (loss / len(rows)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
        totals += torch.stack([loss.detach(), right])
    train_loss, train_accuracy = (totals / len(windows)).tolist()
    return train_loss, train_accuracy


@torch.no_grad()
def mean_loss_and_accuracy(model: nn.Module, windows: Windows) -> tuple[float, float]:
    """The mean over the windows, without training."""
    model.eval()
    totals = torch.zeros(2)
    for rows in windows.batch_rows(128):
        totals += torch.stack(next_token_loss(model, windows.batch(rows)))
    loss, accuracy = (totals / len(windows)).tolist()
    return loss, accuracy


def train(ids: Tensor, held_out: Tensor, tokenizer: Tokenizer) -> tuple[ReviewWriter, list[dict], dict[int, str]]:
    """The trained model, its curve, and what it wrote at five stages."""
    torch.manual_seed(SEED)
    model = ReviewWriter()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.95), weight_decay=WEIGHT_DECAY, fused=True
    )

    def rate(step: int) -> float:  # warm-up, then half a cosine
        return min((step + 1) / WARM_UP, 0.5 * (1 + np.cos(np.pi * min(step / STEPS, 1))))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    curve, stages, begin = [], {}, time.perf_counter()

    def windows(epoch: int) -> Windows:  # a pass begins at a place of its own, and its windows come in random order
        first = (epoch - 1) * EPOCH * BATCH
        per_pass = len(ids) // CONTEXT - 1
        starts = []
        for number in range(first, first + EPOCH * BATCH):
            generator = np.random.default_rng([SEED, number // per_pass])
            if not starts or number % per_pass == 0:
                offset, order = generator.integers(CONTEXT), generator.permutation(per_pass)
            starts.append(offset + CONTEXT * order[number % per_pass])
        return Windows(ids, torch.tensor(starts))

    checked = Windows(held_out, torch.arange(0, len(held_out) - CONTEXT, 16 * CONTEXT))
    compiled, best_weights = torch.compile(model), {}
    for epoch in range(1, STEPS // EPOCH + 1):
        train_loss, train_accuracy = one_epoch(compiled, windows(epoch), optimizer, schedule)
        loss, accuracy = mean_loss_and_accuracy(compiled, checked)
        found = {"epoch": epoch, "train_loss": train_loss, "train_accuracy": train_accuracy}
        found |= {"validation_loss": loss, "validation_accuracy": accuracy, "steps": epoch * EPOCH}
        curve.append(found | {"seconds": round(time.perf_counter() - begin)})
        print(curve[-1], flush=True)
        if accuracy >= max(record["validation_accuracy"] for record in curve):
            best_weights = copy.deepcopy(model.state_dict())
        if (epoch - 1) % max(1, STEPS // EPOCH // 4) == 0:
            stages[epoch * EPOCH] = continue_text(model, tokenizer, "This movie", num_tokens=50)
    model.load_state_dict(best_weights)
    return model, curve, stages


# --- what is measured --------------------------------------------------------------------------------------------


@torch.no_grad()
def losses(model: ReviewWriter, windows: Windows) -> np.ndarray:
    """The loss of each window, in nats per token."""
    model.eval()
    return np.array([float(next_token_loss(model, windows.batch([row]))[0]) for row in range(len(windows))])


def counted_losses(ids: Tensor, windows: Windows, order: int) -> np.ndarray:
    """The loss of each window by counting `order` tokens in a row, with Kneser-Ney smoothing."""
    tokens = windows.batch(np.arange(len(windows)))[:, 1:]  # (windows, CONTEXT)
    texts = pad(tokens, (order - 1, 0), value=START).unfold(1, order, 1)  # (windows, CONTEXT, order)
    probs = kneser_ney(ids.numpy(), texts.flatten(0, 1).numpy(), VOCABULARY)  # (windows * CONTEXT,)
    return -np.log(probs).reshape(tokens.shape).mean(axis=1)


def measured(ids: Tensor, windows: Windows) -> dict:
    """The stored model on test reviews, beside counting; each loss with half of its interval over windows."""
    model, tokenizer = review_writer.load()
    loss, counted = losses(model, windows), {name: counted_losses(ids, windows, n) for name, n in GRAMS.items()}
    best = min(counted, key=lambda name: counted[name].mean())
    characters = sum(len(tokenizer.decode(windows.batch([row])[0, 1:].tolist())) for row in range(len(windows)))
    return {
        "windows": len(windows),
        "characters per token": round(characters / (len(windows) * CONTEXT), 3),
        "loss": mean_and_interval(loss),
        **{name: mean_and_interval(values) for name, values in counted.items()},
        "best counting": best,
        "best counting minus model": mean_and_interval(counted[best] - loss),
        "measured_by": "python -m experiments.train_review_writer measure",
        "about": record.about(),
    }


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


def test_windows(held_out: Tensor) -> Windows:
    return Windows(held_out, torch.arange(0, len(held_out) - CONTEXT, 8 * CONTEXT))


def train_and_store(training: list[str], validation: list[str], test: list[str]) -> None:
    tokenizer = train_tokenizer(training)
    ids, windows = stream(tokenizer, training), test_windows(stream(tokenizer, test))
    model, curve, stages = train(ids, stream(tokenizer, validation), tokenizer)
    save_file(review_writer.round_to_int8(model.state_dict()), review_writer.WEIGHTS)
    tokenizer.save(str(review_writer.TOKENIZER))
    before = losses(model, windows)
    content = {
        "made_by": "python -m experiments.train_review_writer",
        "about": record.about(),
        "training": {
            "seed": SEED, "learning_rate": LEARNING_RATE, "tokens": len(ids),
            "machine": f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}",
            "steps": STEPS, "curve": curve,
        },
        "test": {"loss before rounding": mean_and_interval(before), **measured(ids, windows)},
        "texts at five stages": stages,
        "repeated": repeated(tokenizer, review_writer.load()[0], training),
    }  # fmt: skip
    record.write(RESULT, content)


def measure_again(training: list[str], test: list[str]) -> None:
    """What `measured` gives for the stored model, in place of what was stored; training's results stay."""
    _, tokenizer = review_writer.load()
    content = record.read(RESULT)
    before = content["test"]["loss before rounding"]
    found = measured(stream(tokenizer, training), test_windows(stream(tokenizer, test)))
    record.write(RESULT, content | {"test": {"loss before rounding": before, **found}})


if __name__ == "__main__":
    torch.set_num_threads(1)
    training, validation, test = texts()
    if sys.argv[1:] == ["measure"]:
        measure_again(training, test)
    else:
        train_and_store(training, validation, test)

"""Measures the course's pipeline against the textbook's, and how cost grows; keeps it in experiments/speed.json.

The rule: both run on this machine in the same minutes, taking turns, each in a process of its own; a figure is the
ratio of the two in one round, its median over the rounds, and the smallest and largest.

    python -m experiments.speed                 # all: half an hour on two idle cores
    python -m experiments.speed text training   # these two
"""

import multiprocessing
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
import torch
from torch import Tensor, nn

from experiments import made_corpus, record, textbook
from shared import data, model, training
from shared.fast import faster
from shared.scale.on_disk import reviews_on_disk

SPEED = record.HERE / "speed.json"
CORPUS = record.ROOT / "_build/made"  # made corpora and their tokens; `make clean` removes them
RECIPE = training.recipe_for(data.Settings())
ROUNDS = 5
SIZES = (5_000, 25_000, 125_000, 560_000)  # reviews; with their distractors twice as many examples


def alone(measurement: Callable[..., dict], **values) -> dict:
    """Run one of the measurements below in a new process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(measurement, **values).result()
    print(measurement.__name__, values, {name: round(value, 3) for name, value in found.items()}, flush=True)
    return found


def in_turn(rounds: int, *measurements: Callable[..., dict], **values) -> list[list[dict]]:
    """Run measurements one after the other, so many times; for each what its rounds gave."""
    found = [[alone(measurement, **values) for measurement in measurements] for _ in range(rounds)]
    return [list(runs) for runs in zip(*found, strict=True)]


def peak() -> float:
    """The most megabytes that this process has held; nan where the system does not say."""
    status = Path("/proc/self/status")  # getrusage would count what the parent held, too
    return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) * 1024 / 1e6 if status.exists() else float("nan")


# --- from text to batches ----------------------------------------------------------------------------------------


def first_movies(count: int) -> tuple[list[str], list[int]]:
    """Bundled reviews of both labels."""
    texts, labels = data.read_movies()
    rows = np.linspace(0, len(texts) - 1, min(count, len(texts))).astype(int)
    return [texts[row] for row in rows], [labels[row] for row in rows]


def text_by_textbook(reviews: int) -> dict:
    """All batches of the reviews, alone and with a distractor in front, by the textbook pipeline."""
    texts, labels = first_movies(reviews)
    partners = np.random.default_rng(0).integers(0, len(texts), len(texts)).tolist()
    start = time.perf_counter()
    joined = textbook.join_texts(texts, partners)
    vocabulary = textbook.build_vocabulary(texts)
    made = textbook.batches(textbook.encode(joined, vocabulary), labels * 2)
    examples = sum(len(rows) for rows, _ in made)
    return {"seconds": time.perf_counter() - start, "words": len(vocabulary), "examples": examples}


def text_by_ours(reviews: int) -> dict:
    """The same by the course's pipeline, in batches as the labs use them."""
    texts, labels = first_movies(reviews)
    data.tokenized(texts[:1], labels[:1])  # loads what is loaded once
    start = time.perf_counter()
    split = data.tokenized(texts, labels)
    vocabulary = data.build_vocabulary(split)
    encoded = data.encode(split, vocabulary, drop_unknown=True)
    made = data.batches(data.examples_with_distractors(encoded, 0), RECIPE.batch_size, seed=0)
    examples = sum(len(batch.labels) for batch in made)
    return {"seconds": time.perf_counter() - start, "words": len(vocabulary), "examples": examples}


def spread(values: list[float]) -> list[float]:
    """Median, smallest, largest."""
    return [round(value, 3) for value in (statistics.median(values), min(values), max(values))]


def compared(figure: str, unit: str, book: list[float], ours: list[float], target: float) -> dict:
    """Both medians and spreads, and how many times better ours is, round by round."""
    more_is_better = unit == "examples a second"
    ratios = [b / a if more_is_better else a / b for a, b in zip(book, ours, strict=True)]
    each = {"textbook": spread(book), "ours": spread(ours), "times_better": spread(ratios)}
    return {"figure": figure, "unit": unit} | each | {"target": target}


def text(rounds: int = ROUNDS, reviews: int = 25_000) -> list[dict]:
    """From 25,000 texts to the batches of one epoch."""
    book, ours = in_turn(rounds, text_by_textbook, text_by_ours, reviews=reviews)
    if len({run["words"] for run in book + ours}) != 1:
        raise AssertionError("The pipelines found vocabularies of different size: their times must not be compared.")
    seconds = ([run["seconds"] for run in runs] for runs in (book, ours))
    return [compared("text to batches", "seconds", *seconds, 12)]


# --- training ----------------------------------------------------------------------------------------------------


def step(optimizer: torch.optim.Optimizer, logits: Tensor, labels: Tensor) -> int:
    """One step of training, the same for both; how many examples it took."""
    loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return len(labels)


def rate(steps: Iterator[int], seconds: float) -> float:
    """Examples a second, while `steps`, which trains and yields how many examples, goes on for so long."""
    for _, _ in zip(range(3), steps, strict=False):
        pass  # the first steps set things up
    start, examples = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        examples += next(steps)
    return examples / (time.perf_counter() - start)


def textbook_batches(reviews: data.Split, seed: int, most: int | None = None):
    """Vocabulary, and a function of the epoch that gives the textbook's batches of a split."""
    vocabulary = textbook.build_vocabulary(list(reviews.texts))
    rows = np.random.default_rng(seed).permutation(len(reviews))[:most]
    texts, labels = [reviews.texts[row] for row in rows], [reviews.labels[row] for row in rows]

    def epoch(number: int):
        partners = np.random.default_rng((seed, number)).integers(0, len(texts), len(texts)).tolist()
        ids = textbook.encode(textbook.join_texts(texts, partners), vocabulary)
        return textbook.batches(ids, labels * 2, RECIPE.batch_size, number)

    return vocabulary, epoch


def train_textbook(scale: str, seconds: float) -> dict:
    """Examples a second of the textbook's training, with two threads."""
    torch.set_num_threads(2)
    vocabulary, epoch = textbook_batches(data.load_reviews("movies", scale).train, 0, most=2500)
    made = list(epoch(1))
    net = textbook.SelfAttentionClassifier(len(vocabulary))
    optimizer = torch.optim.Adam(net.parameters(), lr=RECIPE.learning_rate)
    return {"rate": rate((step(optimizer, net(ids), labels) for _ in range(10**6) for ids, labels in made), seconds)}


def train_ours(scale: str, seconds: float, reviews: int = 0) -> dict:
    """Examples a second of the course's training, with two threads; with `reviews`, on so many made ones."""
    torch.set_num_threads(2)
    prepared = data.prepare_reviews(made_reviews(reviews) if reviews else data.load_reviews("movies", scale))
    net = model.SelfAttentionClassifier(len(prepared.vocabulary))
    optimizer = torch.optim.Adam(net.parameters(), lr=RECIPE.learning_rate, fused=True)
    batches = (
        batch
        for epoch in range(10**6)
        for batch in data.batches(data.examples_with_distractors(prepared.train, epoch), RECIPE.batch_size, epoch)
    )
    steps = (step(optimizer, net(batch.ids, batch.mask)[0], batch.labels) for batch in batches)
    with faster(net):
        return {"rate": rate(steps, seconds), "peak": peak()}


def speed_of_training(rounds: int = ROUNDS, seconds: int = 8) -> list[dict]:
    """Examples a second of self-attention, both in batches of 64: of 1,024 the textbook learns nothing here."""
    lines = []
    for scale, words in (("quick", "20 to 150 words"), ("full", "all lengths")):
        both = in_turn(rounds, train_textbook, train_ours, scale=scale, seconds=seconds)
        book, ours = ([run["rate"] for run in runs] for runs in both)
        lines.append(compared(f"training, {words}", "examples a second", book, ours, 3))
    return lines


def accuracy_of_textbook(seed: int, epochs: int = RECIPE.epochs) -> dict:
    """Accuracy on plain and distracted test reviews of 20 to 150 words."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    reviews = data.load_reviews("movies", "quick")
    vocabulary, epoch = textbook_batches(reviews.train, seed)
    net = textbook.SelfAttentionClassifier(len(vocabulary))
    optimizer = torch.optim.Adam(net.parameters(), lr=RECIPE.learning_rate)
    for number in range(1, epochs + 1):
        for ids, labels in epoch(number):
            step(optimizer, net(ids), labels)
    net.eval()
    texts, labels = list(reviews.test.texts), torch.tensor(reviews.test.labels).bool()
    partners = data.distracted_examples(data.prepare_reviews(reviews).test, 2).distractor.tolist()
    found = {}
    for name, some in (("plain", texts), ("distracted", textbook.join_texts(texts, partners)[len(texts) :])):
        with torch.no_grad():
            logits = torch.cat([net(ids) for ids in torch.tensor(textbook.encode(some, vocabulary)).split(256)])
        found[name] = ((logits > 0) == labels).float().mean().item()
    return found


def accuracy_of_ours(seed: int, epochs: int = RECIPE.epochs) -> dict:
    """The same of the course's model."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    prepared = data.prepare_reviews(data.load_reviews("movies", "quick"))
    net = model.SelfAttentionClassifier(len(prepared.vocabulary))

    def examples(epoch: int) -> data.Examples:
        return data.examples_with_distractors(prepared.train, 1000 * (seed + 1) + epoch)

    validation = data.examples_with_distractors(prepared.validation, 1)
    training.fit(net, examples, validation, replace(RECIPE, epochs=epochs), seed, device="cpu")
    tests = {"plain": data.plain_examples(prepared.test), "distracted": data.distracted_examples(prepared.test, 2)}
    return {name: training.evaluate(net, examples).accuracy for name, examples in tests.items()}


def accuracy(seeds: int = 3) -> list[dict]:
    """Accuracy after the same number of epochs, both in batches of 64."""
    lines = []
    for pipeline, measurement in (("this course", accuracy_of_ours), ("textbook", accuracy_of_textbook)):
        runs = [alone(measurement, seed=seed) for seed in range(seeds)]
        lines.append({"pipeline": pipeline} | {kind: spread([run[kind] for run in runs]) for kind in runs[0]})
    return lines


# --- as the work grows -------------------------------------------------------------------------------------------


def made_reviews(count: int) -> data.Reviews:
    """Made reviews on disk: `count` to train on, and 2,000 for each of the other splits."""
    datasets.config.HF_DATASETS_CACHE = CORPUS
    whole = datasets.Dataset.from_file(str(made_corpus.on_disk(CORPUS, count + 4_000)))
    parts = (range(count), range(count, count + 2_000), range(count + 2_000, count + 4_000))
    return reviews_on_disk(*(whole.select(part) for part in parts), "made")


def prepare(reviews: int) -> dict:
    """Seconds and peak memory of preparing made reviews: tokens, vocabulary, ids."""
    start = time.perf_counter()
    prepared = data.prepare_reviews(made_reviews(reviews))
    return {"seconds": time.perf_counter() - start, "peak": peak(), "examples": 2 * len(prepared.train)}


def growth(sizes: tuple[int, ...] = SIZES, seconds: int = 15) -> list[dict]:
    """Seconds, memory and examples a second as the reviews become more."""
    lines = []
    for reviews in sizes:
        made_corpus.on_disk(CORPUS, reviews + 4_000)
        for left in CORPUS.rglob("*.tokens"):
            left.unlink()
        first, again = (alone(prepare, reviews=reviews) for _ in range(2))  # the second finds the tokens on disk
        trained = alone(train_ours, scale="", seconds=seconds, reviews=reviews)
        lines.append(
            {
                "examples": first["examples"],
                "prepared_seconds": round(first["seconds"], 2),
                "opened_seconds": round(again["seconds"], 2),
                "examples_a_second": round(trained["rate"]),
                "prepared_peak_megabytes": round(first["peak"]),
                "training_peak_megabytes": round(trained["peak"]),
            }
        )
    return lines


PARTS = {"text": text, "training": speed_of_training, "accuracy": accuracy, "growth": growth}

if __name__ == "__main__":
    record.measure(SPEED, "make bench", PARTS, sys.argv[1:])

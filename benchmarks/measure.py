"""One measurement in a process of its own, as one line of JSON: `python -m benchmarks.measure NAME [KEY=VALUE ...]`.

Each measurement is a function below; `benchmarks/against_textbook.py` says which to run, in which order, how often.
"""

import contextlib
import ctypes
import gc
import json
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks import made_corpus, textbook
from shared import data, model, training
from shared.fast import faster
from shared.scale import processes
from shared.scale.on_disk import reviews_on_disk

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "_build/benchmarks"  # made corpora and their tokens; `make clean` removes them
MEGABYTE = 1_000_000
RECIPE = training.recipe_for(data.Settings())


def memory(kind: str) -> float:
    """This process's resident memory in MB: VmRSS now, VmHWM at its peak; nan where the system does not say."""
    with contextlib.suppress(OSError):
        return int(re.search(rf"{kind}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024 / MEGABYTE
    return float("nan")


class Cost:
    """Seconds, processor seconds, and extra megabytes at the peak, of what runs in a `with` block."""

    def __enter__(self):
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # memory that is free but still ours would hide a peak
            pyarrow.default_memory_pool().release_unused()
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
        self.before, self.start, self.cpu_start = memory("VmRSS"), time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.seconds, self.cpu = time.perf_counter() - self.start, time.process_time() - self.cpu_start
        self.megabytes = memory("VmHWM") - self.before


# --- from text to batches ----------------------------------------------------------------------------------------


def text_by_textbook(reviews: int = 25_000) -> dict:
    """All batches of the reviews, alone and with a distractor in front, by the textbook pipeline."""
    texts, labels = first_movies(reviews)
    partners = np.random.default_rng(0).integers(0, len(texts), len(texts)).tolist()
    with Cost() as cost:
        joined = textbook.join_texts(texts, partners)
        vocabulary = textbook.build_vocabulary(texts)
        ids = textbook.encode(joined, vocabulary)
        examples = sum(len(rows) for rows, _ in textbook.batches(ids, labels * 2))
    return {"seconds": cost.seconds, "cpu": cost.cpu, "megabytes": cost.megabytes, "words": len(vocabulary)} | {
        "examples": examples
    }


def text_by_ours(reviews: int = 25_000, cores: int = 2) -> dict:
    """The same by the course's pipeline, on so many cores, in batches as the labs use them."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    texts, labels = first_movies(reviews)
    data.tokenize_all(texts[:1])  # loads what is loaded once
    with Cost() as cost:
        split = data.Split(texts, labels)
        vocabulary = data.build_vocabulary(split.tokens)
        encoded = data.encode(split, vocabulary, drop_unknown=True)
        made = data.batches(data.examples_with_distractors(encoded, 0), RECIPE.batch_size, seed=0)
        examples = sum(len(batch.labels) for batch in made)
    return {"seconds": cost.seconds, "cpu": cost.cpu, "megabytes": cost.megabytes, "words": len(vocabulary)} | {
        "examples": examples
    }


def first_movies(count: int) -> tuple[list[str], list[int]]:
    """Bundled reviews of both labels."""
    texts, labels = data.read_movies()
    rows = np.linspace(0, len(texts) - 1, min(count, len(texts))).astype(int)
    return [texts[row] for row in rows], [labels[row] for row in rows]


# --- training ----------------------------------------------------------------------------------------------------


def textbook_batches(reviews: data.Split, batch_size: int, seed: int, most: int | None = None):
    """Vocabulary, and a function of the epoch that gives the textbook's batches of a split."""
    vocabulary = textbook.build_vocabulary(list(reviews.texts))
    rows = np.random.default_rng(seed).permutation(len(reviews))[:most]
    texts, labels = [reviews.texts[row] for row in rows], [reviews.labels[row] for row in rows]

    def epoch(number: int):
        partners = np.random.default_rng((seed, number)).integers(0, len(texts), len(texts)).tolist()
        ids = textbook.encode(textbook.join_texts(texts, partners), vocabulary)
        return textbook.batches(ids, labels * 2, batch_size, number)

    return vocabulary, epoch


def step(net: nn.Module, optimizer: torch.optim.Optimizer, logits: Tensor, labels: Tensor) -> None:
    """One step of training, the same for both."""
    loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def rate(steps, seconds: float) -> float:
    """Examples a second, while `steps`, which trains and yields how many examples, goes on for so long."""
    for _, _ in zip(range(3), steps, strict=False):
        pass  # the first steps set things up
    start, examples = time.perf_counter(), 0
    for size in steps:
        examples += size
        if time.perf_counter() - start > seconds:
            break
    return examples / (time.perf_counter() - start)


def train_textbook(scale: str = "quick", batch_size: int = 1024, seconds: float = 8) -> dict:
    """Examples a second of the textbook's training, with two threads."""
    reviews = data.load_reviews("movies", scale)
    torch.set_num_threads(2)
    vocabulary, epoch = textbook_batches(reviews.train, batch_size, 0, most=2500)
    made = list(epoch(1))
    net = textbook.SelfAttentionClassifier(len(vocabulary))
    optimizer = torch.optim.Adam(net.parameters(), lr=RECIPE.learning_rate)

    def steps():
        while True:
            for ids, labels in made:
                step(net, optimizer, net(ids), labels)
                yield len(labels)

    return {"rate": rate(steps(), seconds)}


def train_ours(scale: str = "quick", seconds: float = 8, reviews: int = 0) -> dict:
    """Examples a second of the course's training; alone with two threads, under torchrun with one thread a process.

    With `reviews`, on so many made ones.
    """
    with processes.together():
        rank, count = processes.place()
        prepared = data.prepare_reviews(made_reviews(reviews) if reviews else data.load_reviews("movies", scale))
        torch.set_num_threads(2 // count)
        torch.manual_seed(0)
        net = model.SelfAttentionClassifier(len(prepared.vocabulary))
        together = net if count == 1 else DistributedDataParallel(net)
        optimizer = torch.optim.Adam(net.parameters(), lr=RECIPE.learning_rate, fused=True)

        def steps():
            for epoch in range(10**6):
                examples = data.examples_with_distractors(prepared.train, epoch)
                for rows in data.batch_rows(examples, RECIPE.batch_size, epoch):
                    batch = data.make_batch(examples, rows[rank::count])
                    step(net, optimizer, together(batch.ids, batch.mask)[0], batch.labels)
                    yield len(batch.labels)

        # Both processes have to stop at the same step: they count steps, after one of them has looked at the clock.
        with faster(net):
            found = rate(steps(), seconds) if count == 1 else rate_together(steps(), seconds)
        return {"rate": found, "peak": memory("VmHWM")} if rank == 0 else {}


def rate_together(steps, seconds: float) -> float:
    """`rate` in several processes, which do as many steps as the first one thinks fit."""
    start = time.perf_counter()
    for _, _ in zip(range(20), steps, strict=False):
        pass
    many = processes.from_first(max(1, round(20 * seconds / (time.perf_counter() - start))))
    start = time.perf_counter()
    examples = sum(size for _, size in zip(range(many), steps, strict=False))
    return processes.summed(torch.tensor(float(examples))).item() / (time.perf_counter() - start)


def accuracy(which: str = "ours", seed: int = 0, batch_size: int = 64, epochs: int = RECIPE.epochs) -> dict:
    """Accuracy on the test reviews, plain and distracted, after training on reviews of 20 to 150 words."""
    reviews = data.load_reviews("movies", "quick")
    prepared = data.prepare_reviews(reviews)
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    tests = {
        "plain": data.plain_examples(prepared.test),
        "distracted": data.distracted_examples(prepared.test, 2),
    }
    if which == "ours":
        net = model.SelfAttentionClassifier(len(prepared.vocabulary))
        validation = data.examples_with_distractors(prepared.validation, 1)
        recipe = replace(RECIPE, batch_size=batch_size, epochs=epochs)

        def examples(epoch: int) -> data.Examples:
            return data.examples_with_distractors(prepared.train, 1000 * (seed + 1) + epoch)

        training.fit(net, examples, validation, recipe, seed, device="cpu")
        return {name: training.evaluate(net, examples).accuracy for name, examples in tests.items()}

    vocabulary, epoch = textbook_batches(reviews.train, batch_size, seed)
    net = textbook.SelfAttentionClassifier(len(vocabulary))
    optimizer = torch.optim.Adam(net.parameters(), lr=RECIPE.learning_rate)
    for number in range(1, epochs + 1):
        for ids, labels in epoch(number):
            step(net, optimizer, net(ids), labels)
    net.eval()
    found = {}
    texts = list(reviews.test.texts)
    partners = tests["distracted"].distractor.tolist()
    for name, some in (("plain", texts), ("distracted", textbook.join_texts(texts, partners)[len(texts) :])):
        ids = torch.tensor(textbook.encode(some, vocabulary))
        with torch.no_grad():
            said = torch.cat([net(part) for part in ids.split(256)]) > 0
        found[name] = (said == torch.tensor(reviews.test.labels).bool()).float().mean().item()
    return found


# --- as the work grows -------------------------------------------------------------------------------------------


def made_reviews(count: int) -> data.Reviews:
    """Made reviews on disk: `count` to train on, and 2,000 for each of the other splits."""
    import datasets

    CORPUS.mkdir(parents=True, exist_ok=True)
    datasets.config.HF_DATASETS_CACHE = CORPUS
    path = CORPUS / f"{count}.arrow"
    if not path.exists():
        made_corpus.write(path, count + 4_000)
    whole = datasets.Dataset.from_file(str(path))
    parts = (range(count), range(count, count + 2_000), range(count + 2_000, count + 4_000))
    return reviews_on_disk(*(whole.select(part) for part in parts), "made")


def corpus(reviews: int) -> dict:
    """Write the made corpus, if it is not there yet, and leave none of its tokens."""
    made_corpus_file = CORPUS / f"{reviews}.arrow"
    CORPUS.mkdir(parents=True, exist_ok=True)
    if not made_corpus_file.exists():
        made_corpus.write(made_corpus_file, reviews + 4_000)
    for left in (CORPUS / "towards-self-attention").glob("*.tokens"):
        left.unlink()
    return {"megabytes": made_corpus_file.stat().st_size / MEGABYTE}


def growth_prepare(reviews: int) -> dict:
    """Seconds and resident memory of preparing made reviews: tokens, vocabulary, ids."""
    import datasets  # noqa: F401  loaded before the clock starts

    with Cost() as cost:
        prepared = data.prepare_reviews(made_reviews(reviews))
    tokens = int(prepared.train.lengths.sum())
    return {"seconds": cost.seconds, "peak": memory("VmHWM"), "reviews": len(prepared.train), "tokens": tokens}


def growth_train(reviews: int, seconds: float = 15) -> dict:
    """Examples a second and resident memory of training on made reviews that were prepared before."""
    return train_ours(reviews=reviews, seconds=seconds)


def epoch(reviews: int) -> dict:
    """One whole epoch of self-attention on made reviews with one thread: seconds, peak memory, accuracy on others."""
    with Cost() as cost:
        prepared = data.prepare_reviews(made_reviews(reviews))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = model.SelfAttentionClassifier(len(prepared.vocabulary))
    start = time.perf_counter()
    recipe = replace(RECIPE, epochs=1)
    validation = data.examples_with_distractors(prepared.validation, 1)
    history = training.fit(
        net, lambda number: data.examples_with_distractors(prepared.train, number), validation, recipe, device="cpu"
    )
    return {
        "examples": 2 * len(prepared.train),
        "prepared_seconds": cost.seconds,
        "seconds": time.perf_counter() - start,
        "peak": memory("VmHWM"),
        "accuracy": history[-1]["validation_accuracy"],
    }


def main(name: str, *given: str) -> None:
    """Run one measurement and print what it found."""
    values = dict(part.split("=", 1) for part in given)
    found = globals()[name](**{key: int(value) if value.isdigit() else value for key, value in values.items()})
    if found:
        print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

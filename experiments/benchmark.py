"""Measures what the course costs and how fast it is, in one run, and writes the tables of book/times.md.

Labs and commands run in a clone of the last commit, with the environment that is here: two labs at a time, one thread
each. The textbook pipeline (textbook.py) and the course take turns in this process; a ratio is that of one round. Both
train in batches of 64, because a speed counts only where the accuracies are about equal.

    python -m experiments.benchmark                  # `make bench`: about an hour on two idle cores
    python -m experiments.benchmark textbook gpu     # some parts of: labs, commands, textbook, gpu
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

import ends
from experiments import textbook
from experiments.train_classifier import EncoderClassifier
from shared import data, model, record, training
from shared.reviews import read_movies, tokenized

RESULTS, TABLES = Path(__file__).with_name("benchmark.json"), record.ROOT / "book/times.txt"
RECIPE = training.recipe_for(data.Settings())
LAB_LIMIT, LIMITS = 90, {"make book": 30, "make test": 9 * 60}  # seconds on two cores


# --- labs and commands -------------------------------------------------------------------------------------------


def clone(folder: str) -> Path:
    """The last commit, in a folder of its own."""
    ends.need_room(Path(folder), 300)
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", record.ROOT, f"{folder}/course"], check=True)
    return Path(folder, "course")


def make(folder: Path, *target: str) -> dict:
    """Seconds of a make target and megabytes of its largest process, with the environment that runs this."""
    command = ["make", "-o", "environment", *target, f"PYTHON={sys.executable}", f"OURS={sys.executable}"]
    settings = os.environ | {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=settings)
    _, status, usage = os.wait4(process.pid, 0)  # unlike wait, returns what this child and its children used
    if status:
        raise SystemExit(f"make {' '.join(target)} failed, and nothing is stored; its output is above.")
    kilobyte = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes
    result = {"seconds": round(time.monotonic() - start, 1), "megabytes": round(usage.ru_maxrss * kilobyte / 1e6)}
    print(*target, result, flush=True)
    return result


def labs() -> dict[str, dict]:
    """Execute each lab, two at a time."""
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(max_workers=2) as pool:
        folder = clone(temporary)
        names = re.findall(r"\blabs/(\w+)/", (folder / "_toc.yml").read_text("utf-8"))
        results = pool.map(lambda name: make(folder, "labs", f"LAB={name}", "AGAIN=1"), names)
        return dict(zip(names, results, strict=True))


def commands() -> dict[str, dict]:
    """Build the site with nothing stale, and run all tests."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = clone(temporary)
        make(folder, "book")  # brings everything up to date; not counted
        return {"make book": make(folder, "book"), "make test": make(folder, "test")}


# --- against the textbook ----------------------------------------------------------------------------------------


def partners(texts: list[str], seed: int | tuple[int, int]) -> list[int]:
    """A distractor for each text."""
    return np.random.default_rng(seed).integers(0, len(texts), len(texts)).tolist()


def text_by_textbook(texts: list[str], labels: list[int]) -> int:
    """All batches of the texts, alone and with a distractor in front; how many examples."""
    ids = textbook.encode(textbook.join_texts(texts, partners(texts, 0)), textbook.build_vocabulary(texts))
    return sum(len(rows) for rows, _ in textbook.batches(ids, labels * 2))


def text_by_course(texts: list[str], labels: list[int]) -> int:
    """The same by the course."""
    split = tokenized(texts, labels)
    encoded = data.encode(split, data.build_vocabulary(split))
    batches = data.batches(data.examples_with_distractors(encoded, 0), RECIPE.batch_size, 0)
    return sum(len(batch.labels) for batch in batches)


def train(net: nn.Module, batches: list[tuple]) -> float:
    """Train on batches of (inputs of the net, labels), by the same loop for both; the examples a second."""
    optimizer = torch.optim.Adam(net.parameters(), lr=RECIPE.learning_rate)
    start = time.perf_counter()
    for inputs, labels in batches:
        logits = net(*inputs)
        logits = logits[0] if isinstance(logits, tuple) else logits
        loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if not loss.isfinite():  # waits for a GPU, too
        raise FloatingPointError("The loss is no finite number: this speed would mean nothing.")
    return sum(len(labels) for _, labels in batches) / (time.perf_counter() - start)


def training_by_textbook(reviews: data.Reviews, seed: int) -> dict[str, float]:
    """Examples a second of the textbook's self-attention, with batches that are ready, and its accuracies."""
    texts, labels, batches = list(reviews.train.texts), list(reviews.train.labels), []
    vocabulary = textbook.build_vocabulary(texts)
    for epoch in range(1, RECIPE.epochs + 1):
        ids = textbook.encode(textbook.join_texts(texts, partners(texts, (seed, epoch))), vocabulary)
        batches += [([rows], targets) for rows, targets in textbook.batches(ids, labels * 2, RECIPE.batch_size, epoch)]
    torch.manual_seed(seed)
    net = textbook.SelfAttentionClassifier(len(vocabulary))
    results = {"training, examples a second": train(net, batches)}
    tests, labels = list(reviews.test.texts), torch.tensor(reviews.test.labels).bool()
    distractors = data.distracted_examples(data.prepare(reviews).test, 2).distractor_rows.tolist()
    for name, some in (("plain", tests), ("distracted", textbook.join_texts(tests, distractors)[len(tests) :])):
        with torch.no_grad():
            ids = torch.tensor(textbook.encode(some, vocabulary))
            logits = torch.cat([net.eval()(rows) for rows in ids.split(256)])
        results[f"accuracy, {name}"] = ((logits > 0) == labels).float().mean().item()
    return results


def training_by_course(reviews: data.Reviews, seed: int) -> dict[str, float]:
    """The same by the course."""
    source, batches = data.prepare(reviews), []
    for epoch in range(1, RECIPE.epochs + 1):
        examples = data.examples_with_distractors(source.train, 1000 * (seed + 1) + epoch)
        made = data.batches(examples, RECIPE.batch_size, epoch)
        batches += [([batch.ids, batch.mask], batch.labels) for batch in made]
    torch.manual_seed(seed)
    net = model.SelfAttentionClassifier(len(source.vocabulary))
    results = {"training, examples a second": train(net, batches)}
    tests = {"plain": data.plain_examples(source.test), "distracted": data.distracted_examples(source.test, 2)}
    return results | {f"accuracy, {name}": training.evaluate(net, test).accuracy for name, test in tests.items()}


def against_textbook(rounds: int = 5) -> dict[str, dict]:
    """The same work by course and textbook in turn: the median of each, and of the ratio with its extremes."""
    movies, reviews, results = read_movies(), data.load_reviews(), {}
    text_by_course(*movies)  # loads what is loaded once
    for seed in range(rounds):
        pairs = [(seconds(text_by_course, *movies), seconds(text_by_textbook, *movies))]
        pairs += [(training_by_course(reviews, seed), training_by_textbook(reviews, seed))]
        for course, book in pairs:
            for name in course:
                results.setdefault(name, []).append((course[name], book[name]))
                print(f"{name}: course {course[name]:.3f}, textbook {book[name]:.3f}", flush=True)
    return {name: compared(np.array(pairs), "seconds" in name) for name, pairs in results.items()}


def seconds(run: Callable, *inputs) -> dict[str, float]:
    """The time that a call takes."""
    start = time.perf_counter()
    run(*inputs)
    return {"from text to examples, seconds": time.perf_counter() - start}


def compared(pairs: np.ndarray, lower_is_better: bool) -> dict:
    """Medians of course and textbook, the columns of (rounds, 2), and median, least and largest ratio of a round."""
    course, book = pairs.T
    ratios = book / course if lower_is_better else course / book
    ratio = [round(float(value), 2) for value in (np.median(ratios), ratios.min(), ratios.max())]
    return {"course": round(float(np.median(course)), 3), "textbook": round(float(np.median(book)), 3), "ratio": ratio}


def gpu(device: str = "cuda", batch_size: int = 1024) -> dict[str, dict]:
    """Examples a second of training each model on the device, with batches that are there already."""
    source, results = data.load_prepared(data.Settings("movies", "full" if device == "cuda" else "quick")), {}
    examples = data.batches(data.examples_with_distractors(source.train, 1), batch_size, 1)
    batches = [batch.to(device) for batch, _ in zip(examples, range(20), strict=False)]
    batches = [([batch.ids, batch.mask], batch.labels) for batch in batches]
    for kind in (model.AttentionPooling, model.SelfAttentionClassifier, EncoderClassifier):
        for numbers in ("float32", "bfloat16"):
            net = kind(len(source.vocabulary)).to(device)
            with torch.autocast(device, torch.bfloat16, enabled=numbers == "bfloat16"):
                train(net, batches)  # warms up
                results[f"{kind.__name__}, {numbers}"] = {"examples a second": round(train(net, batches * 3))}
    return results


# --- the tables --------------------------------------------------------------------------------------------------


def table(rows: list[dict], part: dict) -> str:
    """Rows as a table in Markdown, numbers to the right, and below when and on what they were measured."""
    align = ["left", *["right"] * (len(rows[0]) - 1)]
    text = pd.DataFrame(rows).fillna("").to_markdown(index=False, colalign=align, disable_numparse=True)
    source = f"{part['date']}, commit {part['commit']}: {part['machine']}, Python {part['python']}"
    return f"```{{table}}\n:class: figures\n\n{text}\n```\n\n*Measured on {source}, PyTorch {part['torch']}.*\n"


def tables(results: dict) -> str:
    """What book/times.md shows."""
    times = []
    for name, lab in results["labs"]["each"].items():
        if (record.ROOT / "labs" / name).exists():  # others have another name now
            link = f"[](../labs/{name}/{name}.ipynb)"  # the site puts the title there
            times.append({"Lab": link, "Minutes": f"{lab['seconds'] / 60:.1f}", "GB": f"{lab['megabytes'] / 1000:.1f}"})
    text = table(times, results["labs"])
    for part in ("commands", "textbook", "gpu"):
        rows = []
        for name, value in results.get(part, {"each": {}})["each"].items():
            numbers = {column.capitalize(): f"{n:,.4g}" for column, n in value.items() if column != "ratio"}
            if "ratio" in value and not name.startswith("accuracy"):  # which is no speed
                numbers["Ratio"] = "{:.2f} ({:.2f} to {:.2f})".format(*value["ratio"])
            rows.append({"What": name} | numbers)
        text += "\n" + table(rows, results[part]) if rows else ""
    return text


def main(chosen: list[str]) -> None:
    parts = {"labs": labs, "commands": commands, "textbook": against_textbook, "gpu": gpu}
    if unknown := set(chosen) - parts.keys():
        sys.exit(f"{', '.join(sorted(unknown))} cannot be measured; choose among {', '.join(parts)}.")
    for name in chosen or parts:
        if name == "gpu" and not torch.cuda.is_available():
            print("PyTorch finds no CUDA device here, so nothing is measured on a GPU.")
            continue
        part = record.about() | {"each": parts[name]()}
        record.write(RESULTS, {"made_by": "make bench"} | record.read(RESULTS) | {name: part})
    results = record.read(RESULTS)
    record.write(TABLES, tables(results))
    for name, value in (results["labs"]["each"] | results["commands"]["each"]).items():
        if value["seconds"] > LIMITS.get(name, LAB_LIMIT):
            print(f"{name}: {value['seconds']:.0f} seconds, and its limit is {LIMITS.get(name, LAB_LIMIT)}.")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Runs the experiments of lab 9, all models x variants x seeds, and writes the table that the lab reads.

The rule: each finished run is one line of _build/results.jsonl, so the tool may be stopped at any moment, even by a
power cut, and goes on where it was. The table, shared/does_it_help.json, is written in one step when no run is missing,
with the command, the versions, the machine, the date and a fingerprint of the code that made it. Lines made by other
code are not used again.
"""

import argparse
import ast
import hashlib
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE="1")  # two runs at a time, on a core each

import notebooks  # noqa: E402  (the number of threads has to be set before what follows)
import numpy as np  # noqa: E402
import sklearn  # noqa: E402
import torch  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from torch import nn  # noqa: E402

from shared import data, model, training  # noqa: E402

LINES = ROOT / "_build" / "results.jsonl"
TABLE = ROOT / "shared" / "does_it_help.json"  # a part of the package: Colab has no other file of the labs
SOURCES = (
    *(f"shared/{name}.py" for name in ("reviews", "data", "model", "fast", "training")),
    "tools/results.py",
)
SEEDS = 5


# --- what is run -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Run:
    """One model, trained once: the task is `front` (lab 1) or `marked` (lab 4)."""

    task: str
    model: str
    variant: str
    seed: int


class Unmasked(nn.Module):
    """A model as a textbook pipeline would use it: every sequence padded to 256 tokens, and no mask."""

    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner

    def forward(self, ids, mask):
        width = ids.shape[1]
        ids = nn.functional.pad(ids, (0, 256 - width))  # (batch, 256)
        logits, weights = self.inner(ids, torch.ones_like(ids, dtype=torch.bool))
        return logits, weights[:, :width]


MODELS: dict[str, Callable[..., nn.Module]] = {
    "mean pooling": lambda size, mark, **options: model.MeanPooling(size, **options),
    "attention pooling": lambda size, mark, **options: model.AttentionPooling(size, **options),
    "key pooling": lambda size, mark, **options: model.KeyPooling(size, **options),
    "self-attention, no values": lambda size, mark, **options: model.SelfAttentionClassifier(
        size, value_dim=None, **options
    ),
    "self-attention": lambda size, mark, **options: model.SelfAttentionClassifier(size, **options),
    "encoder": lambda size, mark, **options: model.EncoderClassifier(size, **options),
    "mark's row": lambda size, mark, **options: model.MarkedSelfAttentionClassifier(size, mark, **options),
    "mark's row, constant query": lambda size, mark, **options: model.MarkedSelfAttentionClassifier(
        size, mark, constant_query=True, **options
    ),
}

AS_TAUGHT = "as taught"
MODEL_OPTIONS = {
    "no scale": {"scale": False},
    "no positions": {"positions": False},
    "embeddings of std 1": {"std": 1.0},
    "32 features": {"dim": 32},
    "32 features, 16 keys, 32 values": {"dim": 32, "key_dim": 16, "value_dim": 32},
}
SHARES = {"half of the reviews": 2, "a quarter of the reviews": 4}
ALL_LENGTHS = {"all reviews, fair window": data.REVIEW_TOKENS, "all reviews, cut window": None}

GRID = {
    ("front", "TF-IDF"): [AS_TAUGHT, *SHARES, *ALL_LENGTHS],
    ("front", "mean pooling"): [AS_TAUGHT, "no mask", "no positions", "32 features", *SHARES, *ALL_LENGTHS],
    ("front", "attention pooling"): [
        AS_TAUGHT,
        "no mask",
        "no positions",
        "separator",
        "embeddings of std 1",
        "32 features",
        *SHARES,
        *ALL_LENGTHS,
    ],
    ("front", "key pooling"): [AS_TAUGHT],
    ("front", "self-attention, no values"): [AS_TAUGHT],
    ("front", "self-attention"): [
        AS_TAUGHT,
        "no mask",
        "no scale",
        "no positions",
        "separator",
        "32 features, 16 keys, 32 values",
        *SHARES,
    ],
    ("front", "encoder"): [AS_TAUGHT],
    ("marked", "TF-IDF"): [AS_TAUGHT],
    ("marked", "mean pooling"): [AS_TAUGHT],
    ("marked", "attention pooling"): [AS_TAUGHT, "32 features"],
    ("marked", "self-attention"): [AS_TAUGHT],
    ("marked", "mark's row"): [AS_TAUGHT, "no scale", "no positions", "32 features, 16 keys, 32 values"],
    ("marked", "mark's row, constant query"): [AS_TAUGHT],
}


def all_runs(seeds: int) -> list[Run]:
    """Every run of the grid, those of the first seed first, so that a stopped run has looked at everything once."""
    return [Run(*key, variant, seed) for seed in range(seeds) for key, variants in GRID.items() for variant in variants]


# --- one run -----------------------------------------------------------------------------------------------------


@cache
def prepared(scale: str, cut: int | None) -> data.Prepared:
    return data.prepare(data.Settings("movies", scale), cut)


def part_of(split: data.EncodedReviews, divisor: int, seed: int) -> data.EncodedReviews:
    """A random part of the reviews."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(split))[: len(split) // divisor])
    ids = np.concatenate([split[row] for row in rows])
    return replace(split, ids=ids, offsets=np.cumsum([0, *split.lengths[rows]]), labels=split.labels[rows])


def example_makers(run: Run, source: data.Prepared) -> tuple[Callable, Callable]:
    """Two functions of (reviews, seed): the plain and the distracted examples of the run's task."""
    separator, mark = source.vocabulary.id(data.SEPARATOR), source.vocabulary.id(data.MARK)
    window = 256 if run.variant == "all reviews, cut window" else None
    if run.task == "marked":
        return (
            lambda reviews, seed: data.plain_examples(reviews, mark),
            lambda reviews, seed: data.distracted_examples(reviews, seed, True, mark, separator),
        )
    before = separator if run.variant == "separator" else data.PAD
    return (
        lambda reviews, seed: data.plain_examples(reviews, window=window),
        lambda reviews, seed: data.distracted_examples(reviews, seed, before_labelled=before, window=window),
    )


def perform(run: Run) -> dict:
    """Train and measure once; the result as a line of the table."""
    torch.set_num_threads(1)
    scale, cut = ("full", ALL_LENGTHS[run.variant]) if run.variant in ALL_LENGTHS else ("quick", data.REVIEW_TOKENS)
    source = prepared(scale, cut)
    train = part_of(source.train, SHARES.get(run.variant, 1), run.seed)
    plain, distracted = example_makers(run, source)

    def both(reviews, seed):
        return plain(reviews, seed) + distracted(reviews, seed)

    tests = {"plain": plain(source.test, 2), "distracted": distracted(source.test, 2)}
    start = time.process_time()
    if run.model == "TF-IDF":
        figures = bag_of_words(both(train, 1000 * (run.seed + 1)), tests)
    else:
        figures = network(run, source, lambda epoch: both(train, 1000 * (run.seed + 1) + epoch), both, tests)
    return asdict(run) | figures | {"cpu_seconds": round(time.process_time() - start, 1)}


def bag_of_words(training_examples: data.Examples, tests: dict[str, data.Examples]) -> dict:
    """The yardstick: TF-IDF and logistic regression."""
    vectorizer = TfidfVectorizer(analyzer=list, min_df=2)
    lists = {name: [examples[i] for i in range(len(examples))] for name, examples in tests.items()}
    features = vectorizer.fit_transform([training_examples[i] for i in range(len(training_examples))])
    classifier = LogisticRegression(max_iter=1000).fit(features, training_examples.labels)
    accuracy = {
        name: round(classifier.score(vectorizer.transform(lists[name]), tests[name].labels), 4) for name in tests
    }
    return accuracy | {"share_on_labelled": None, "parameters": classifier.coef_.size + 1, "outside_embedding": None}


def network(run: Run, source: data.Prepared, training_examples: Callable, both: Callable, tests: dict) -> dict:
    """One of our models, trained with the recipe of lab 1 and kept at its best epoch."""
    recipe = training.recipe_for(data.Settings())
    if run.model == "mean pooling":
        recipe = replace(recipe, epochs=recipe.epochs + 1)
    torch.manual_seed(run.seed)
    mark = source.vocabulary.id(data.MARK)
    net = MODELS[run.model](len(source.vocabulary), mark, **MODEL_OPTIONS.get(run.variant, {}))
    parameters = sum(p.numel() for p in net.parameters())
    embedding = net.features.embedding.weight.numel()
    if run.variant == "no mask":
        net = Unmasked(net)
    training.fit(net, training_examples, both(source.validation, 1), recipe, run.seed)
    measured = {name: training.evaluate(net, examples) for name, examples in tests.items()}
    return {
        "plain": round(measured["plain"].accuracy, 4),
        "distracted": round(measured["distracted"].accuracy, 4),
        "share_on_labelled": round(measured["distracted"].share_on_labelled, 4),
        "parameters": parameters,
        "outside_embedding": parameters - embedding,
    }


# --- lines and table ---------------------------------------------------------------------------------------------


def fingerprint() -> str:
    """A digest of the code that the results depend on; comments and docstrings do not count."""
    trees = [notebooks.plain(ast.parse((ROOT / name).read_text()), is_module=True) for name in SOURCES]
    return hashlib.sha256(json.dumps(trees).encode()).hexdigest()[:16]


def finished(lines: Path, mark: str) -> dict[Run, dict]:
    """The results that stand in the file and were made by this code; a last line that broke off is cut away."""
    if not lines.exists():
        return {}
    content = lines.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with lines.open("r+b") as file:
            file.truncate(len(whole))
    results = {}
    for line in whole.splitlines():
        record = json.loads(line)
        if record.pop("made_by") == mark:
            results[Run(*(record[name] for name in ("task", "model", "variant", "seed")))] = record
    return results


def append(lines: Path, record: dict) -> None:
    """Add one line and wait until the disk has it."""
    lines.parent.mkdir(parents=True, exist_ok=True)
    with lines.open("ab") as file:
        file.write(json.dumps(record).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def write_table(table: Path, results: dict[Run, dict], command: str, mark: str) -> None:
    """Write the table in one step, in the order of the grid."""
    content = {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, two runs at a time, one thread each",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__.split("+")[0],
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "data": prepared("quick", data.REVIEW_TOKENS).reviews.citation,
        "made_by": mark,
        "results": [results[run] for run in sorted(results, key=lambda run: (*asdict(run).values(),))],
    }
    half = table.with_name(f".{table.name}.part")
    half.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    os.replace(half, table)


def leave_with(parent: int) -> None:
    """Let a worker end itself when its parent was killed: nobody else would ever tell it."""

    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the experiments of lab 9.")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", default="", help="runs whose task, model or variant contains this text")
    parser.add_argument("--lines", type=Path, default=LINES)
    parser.add_argument("--table", type=Path, default=TABLE)
    chosen = parser.parse_args()

    runs = [run for run in all_runs(chosen.seeds) if chosen.only in f"{run.task}, {run.model}, {run.variant}"]
    mark = fingerprint()
    results = finished(chosen.lines, mark)
    missing = [run for run in runs if run not in results]
    print(f"{len(runs)} runs, {len(runs) - len(missing)} of them done before.", flush=True)
    with ProcessPoolExecutor(max_workers=2, initializer=leave_with, initargs=(os.getpid(),)) as pool:
        waiting = {pool.submit(perform, run): run for run in missing}
        for number, future in enumerate(as_completed(waiting), 1):
            run, record = waiting[future], future.result()
            append(chosen.lines, record | {"made_by": mark})
            results[run] = record
            print(f"{number:4} of {len(missing)}  {run.task}, {run.model}, {run.variant}, seed {run.seed}: ", end="")
            print(f"plain {record['plain']:.3f}, distracted {record['distracted']:.3f}", flush=True)
    write_table(chosen.table, {run: results[run] for run in runs}, "make results", mark)
    print(f"The table is {os.path.relpath(chosen.table, ROOT)}.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nStopped. What is finished is kept; run it again to go on.")

"""Measures the course's pipeline against the textbook's, and how cost grows; writes benchmarks/results.json.

The rule: both run on this machine in the same minutes, taking turns, each in a process of its own; a figure is the
ratio of the two in one round, its median over the rounds, and the smallest and largest. A part that is named alone is
measured alone; the rest of the file stays as it was:

    python benchmarks/against_textbook.py                 # all: half an hour on two idle cores
    python benchmarks/against_textbook.py text training   # these two
"""

import json
import os
import platform
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results.json"
ROUNDS = 5
SIZES = (5_000, 25_000, 125_000, 560_000)  # reviews; with their distractors twice as many examples


def measure(name: str, processes: int = 1, **values) -> dict:
    """Run one measurement of benchmarks/measure.py in a process of its own, or in several that train together."""
    start = [] if processes == 1 else ["-m", "torch.distributed.run", f"--nproc-per-node={processes}"]
    command = [sys.executable, *start, "-m", "benchmarks.measure", name]
    command += [f"{key}={value}" for key, value in values.items()]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TQDM_DISABLE": "1"}
    environment.pop("OMP_NUM_THREADS", None)  # each measurement sets its own
    if processes > 1:
        environment["OMP_NUM_THREADS"] = "1"
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    print(name, *(f"{key}={value}" for key, value in values.items()), {k: round(v, 3) for k, v in found.items()})
    return found


def spread(values: list[float]) -> list[float]:
    """Median, smallest, largest."""
    return [round(value, 3) for value in (statistics.median(values), min(values), max(values))]


def compared(figure: str, unit: str, textbook: list[float], ours: list[float], more: bool, target: float) -> dict:
    """One line of results: both medians and spreads, and how many times better ours is, round by round."""
    ratios = [b / a if more else a / b for a, b in zip(textbook, ours, strict=True)]
    return {
        "figure": figure,
        "unit": unit,
        "textbook": spread(textbook),
        "ours": spread(ours),
        "times_better": spread(ratios),
        "target": target,
    }


def text(rounds: int = ROUNDS, reviews: int = 25_000) -> list[dict]:
    """From 25,000 texts to the batches of one epoch."""
    found = {"textbook": [], 1: [], 2: []}
    for _ in range(rounds):
        found["textbook"].append(measure("text_by_textbook", reviews=reviews))
        for cores in (1, 2):
            found[cores].append(measure("text_by_ours", reviews=reviews, cores=cores))
    of = {(who, what): [run[what] for run in runs] for who, runs in found.items() for what in ("seconds", "cpu")}
    peak = {who: [run["megabytes"] for run in runs] for who, runs in found.items()}
    if len({run["words"] for runs in found.values() for run in runs}) != 1:
        raise AssertionError("The pipelines found vocabularies of different size: their times must not be compared.")
    book = of["textbook", "seconds"]
    return [
        compared("text to batches, one core", "seconds", book, of[1, "seconds"], False, 12),
        compared("text to batches, two cores", "seconds", book, of[2, "seconds"], False, 20),
        compared("text to batches, processor time", "seconds", of["textbook", "cpu"], of[1, "cpu"], False, 12),
        compared("peak extra memory, one core", "MB", peak["textbook"], peak[1], False, 30),
        compared("peak extra memory, two cores", "MB", peak["textbook"], peak[2], False, 30),
    ]


def training(rounds: int = ROUNDS, seconds: int = 8) -> list[dict]:
    """Examples a second of self-attention on two cores."""
    lines = []
    for scale, words, target in (("quick", "20 to 150 words", 5), ("full", "all lengths", 3)):
        rates = {"textbook": [], "textbook, 64": [], "threads": [], "processes": []}
        for _ in range(rounds):
            rates["textbook"].append(measure("train_textbook", scale=scale, seconds=seconds)["rate"])
            rates["textbook, 64"].append(measure("train_textbook", scale=scale, seconds=seconds, batch_size=64)["rate"])
            rates["threads"].append(measure("train_ours", scale=scale, seconds=seconds)["rate"])
            rates["processes"].append(measure("train_ours", processes=2, scale=scale, seconds=seconds)["rate"])
        for way in ("threads", "processes"):
            for book, batch in (("textbook", "1,024"), ("textbook, 64", "64")):
                lines.append(
                    compared(
                        f"training, {words}, two {way}; the textbook in batches of {batch}",
                        "examples a second",
                        rates[book],
                        rates[way],
                        True,
                        target if (way, book) == ("threads", "textbook") else None,
                    )
                )
    return lines


def accuracy(seeds: int = 3) -> list[dict]:
    """Accuracy on test reviews of 20 to 150 words, the same number of epochs for all."""
    ways = {
        "ours, batches of 64": {"which": "ours"},
        "textbook, batches of 64": {"which": "textbook"},
        "textbook, batches of 1,024": {"which": "textbook", "batch_size": 1024},
    }
    found = {way: [] for way in ways}
    for seed in range(seeds):
        for way, values in ways.items():
            found[way].append(measure("accuracy", seed=seed, **values))
    return [
        {"model": way} | {kind: spread([run[kind] for run in runs]) for kind in ("plain", "distracted")}
        for way, runs in found.items()
    ]


def growth(sizes: tuple[int, ...] = SIZES, seconds: int = 15) -> list[dict]:
    """Seconds, memory and examples a second as the reviews become more."""
    lines = []
    for reviews in sizes:
        written = measure("corpus", reviews=reviews)
        prepared = measure("growth_prepare", reviews=reviews)
        again = measure("growth_prepare", reviews=reviews)  # the tokens lie on disk now
        trained = measure("growth_train", reviews=reviews, seconds=seconds)
        lines.append(
            {
                "examples": 2 * prepared["reviews"],
                "text_megabytes": round(written["megabytes"]),
                "prepared_seconds": round(prepared["seconds"], 2),
                "prepared_peak_megabytes": round(prepared["peak"]),
                "opened_seconds": round(again["seconds"], 2),
                "opened_peak_megabytes": round(again["peak"]),
                "examples_a_second": round(trained["rate"]),
                "training_peak_megabytes": round(trained["peak"]),
            }
        )
    return lines


def epoch(reviews: int = SIZES[-1]) -> list[dict]:
    """One whole epoch of the largest size."""
    measure("corpus", reviews=reviews)
    return [{key: round(value, 3) for key, value in measure("epoch", reviews=reviews).items()}]


PARTS = {part.__name__: part for part in (text, training, accuracy, growth, epoch)}


def about() -> dict:
    """When, on what machine, and with what."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "machine": f"{cpu[0].partition(': ')[2]}, {len(os.sched_getaffinity(0))} cores, {platform.system()}",
        "python": platform.python_version(),
        **{package: version(package).partition("+")[0] for package in ("torch", "numpy", "pyarrow")},
        "load_before": round(os.getloadavg()[0], 2),
    }


def main(names: list[str]) -> None:
    """Measure the named parts and put them into the file."""
    unknown = set(names) - set(PARTS)
    if unknown:
        sys.exit(f"{', '.join(sorted(unknown))} cannot be measured; choose among {', '.join(PARTS)}.")
    for name in names or PARTS:
        found = about()
        found["each"] = PARTS[name]()
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        partial = RESULTS.with_suffix(".partial")
        partial.write_text(json.dumps(results | {name: found}, indent=1) + "\n")
        os.replace(partial, RESULTS)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Measures the course itself: seconds and memory of every lab, and of the phases of `make book` and `make test`.

The rule: everything runs in a clone of the last commit, two labs at a time as in `make labs`, and is compared with a
budget. Memory is that of the largest process. A part that is named alone is measured alone; the rest of
benchmarks/course.json stays as it was:

    python benchmarks/course.py                  # labs, book, test, processes: half an hour on two idle cores
    python benchmarks/course.py book             # a minute
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from against_textbook import about

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/course.json"

# Seconds, and megabytes of the largest process, on two cores.
LAB = (120, 2000)
LONG_LABS = {"01": (180, 2000), "04": (180, 2000), "08": (180, 2000), "10": (180, 2000)}
WHOLE = {"labs": 12 * 60, "book": 30, "edit": 10, "test": 20 * 60}


def budget(lab: str) -> tuple[int, int]:
    """Seconds and megabytes that a lab, as `04_values`, may take."""
    return LONG_LABS.get(lab[:2], LAB)


def measured(command: list[str] | str, folder: Path) -> dict:
    """Run a command to its end: seconds, megabytes of its largest process, and its exit status."""
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=folder,
        shell=isinstance(command, str),
        env=os.environ | {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)  # unlike wait, says what this child and its children used
    process.returncode = os.waitstatus_to_exitcode(status)
    kilobyte = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes
    if process.returncode:
        print(output[-3000:])
    return {
        "seconds": round(time.monotonic() - start, 1),
        "megabytes": round(usage.ru_maxrss * kilobyte / 1e6),
        "status": process.returncode,
    }


def clone(folder: Path) -> Path:
    """The last commit, in a folder of its own."""
    target = folder / "course"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, target], check=True)
    return target


def phases(target: str, folder: Path) -> dict[str, str]:
    """The phases of a make target as commands for this Python; making the environment is none of them."""
    printed = subprocess.run(
        ["make", "--no-print-directory", "-n", target, f"PYTHON={sys.executable}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.replace("\\\n", " ")
    (line,) = [line for line in printed.splitlines() if "tools/phases.py" in line]
    found = dict(argument.split(": ", 1) for argument in shlex.split(line)[2:])
    del found["environment"]
    return {name: command.replace(".venv/bin/python", sys.executable) for name, command in found.items()}


def run_phases(target: str, folder: Path) -> dict[str, dict]:
    """Measure each phase of a make target; the first that fails is the last."""
    results = {}
    for name, command in phases(target, folder).items():
        results[name] = measured(command, folder)
        print(f"make {target}, {name}: {results[name]['seconds']:.0f} s", flush=True)
        if results[name]["status"]:
            break
    return results


def measure_labs(folder: Path) -> dict:
    """Execute every lab from nothing, two at a time."""
    for notebook in (folder / "labs").glob("*.ipynb"):
        notebook.unlink()
    names = [lab.stem for lab in sorted((folder / "labs").glob("[0-9][0-9]_*.md"))]

    def one(name: str) -> dict:
        result = measured([sys.executable, "tools/make_labs.py", name[:2]], folder)
        print(f"{name}: {result['seconds']:.0f} s, {result['megabytes']} MB", flush=True)
        return result

    start = time.monotonic()
    with ThreadPoolExecutor(max_workers=2) as pool:
        each = dict(zip(names, pool.map(one, names), strict=True))
    return {"seconds": round(time.monotonic() - start, 1), "each": each}


def measure_book(folder: Path) -> dict:
    """Build the book with nothing stale, then once more after an edit of a lab's prose."""
    run_phases("book", folder)  # brings everything up to date; not counted
    whole = run_phases("book", folder)
    with next((folder / "labs").glob("05_*.md")).open("a") as text:
        text.write("\nA sentence more.\n")
    edit = run_phases("book", folder)
    return {"seconds": total(whole), "each": whole, "edit": {"seconds": total(edit), "each": edit}}


def measure_test(folder: Path) -> dict:
    """Check everything, phase by phase."""
    run_phases("book", folder)  # what is stale would fail the tests
    each = run_phases("test", folder)
    return {"seconds": total(each), "each": each}


def measure_processes(folder: Path) -> dict:
    """Seconds for an epoch in one process and in two: three epochs less one, so that starting does not count."""
    launcher = {"alone": [], "two": ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]}
    each = {}
    for model, batch_size in (("attention-pooling", 64), ("self-attention", 64), ("self-attention", 1024)):
        row = {"model": model, "batch_size": batch_size, "status": 0}
        for name, start in launcher.items():
            seconds = []
            for epochs in (1, 3):
                given = ["--model", model, "--batch-size", str(batch_size), "--epochs", str(epochs)]
                result = measured([sys.executable, *start, "-m", "shared.scale", *given], folder)
                seconds.append(result["seconds"])
                row["status"] = row["status"] or result["status"]
            row[name] = round((seconds[1] - seconds[0]) / 2, 2)
        each[f"{model}, {batch_size}"] = row
        print(f"{model}, batches of {batch_size}: {row['alone']} s an epoch alone, {row['two']} s in two", flush=True)
    return {"each": each}


def total(each: dict[str, dict]) -> float:
    return round(sum(result["seconds"] for result in each.values()), 1)


def over_budget(results: dict) -> list[str]:
    """A sentence for each thing that failed or took more than its budget."""
    said = []
    for part, result in results.items():
        for kind, found in ((part, result), ("edit", result.get("edit"))):
            if kind in WHOLE and found and found["seconds"] > WHOLE[kind]:
                said.append(f"{kind}: {found['seconds']:.0f} seconds, and the budget is {WHOLE[kind]}.")
        for name, found in result["each"].items():
            if found["status"]:
                said.append(f"{part}, {name}: failed with status {found['status']}.")
            for unit, most in zip(("seconds", "megabytes"), budget(name) if part == "labs" else (), strict=False):
                if found[unit] > most:
                    said.append(f"{name}: {found[unit]:.0f} {unit}, and its budget is {most}.")
    return said


def main(chosen: list[str]) -> int:
    """Measure the chosen parts, or all, write them down, and return 1 when a budget was not kept."""
    parts = {"labs": measure_labs, "book": measure_book, "test": measure_test, "processes": measure_processes}
    if unknown := set(chosen) - parts.keys():
        print(f"{', '.join(sorted(unknown))}: there are only {', '.join(parts)}.")
        return 2
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in chosen or parts:
        with tempfile.TemporaryDirectory() as folder:
            results[part] = about() | parts[part](clone(Path(folder)))
    half = RESULTS.with_name(f".{RESULTS.name}.part")
    half.write_text(json.dumps({part: results[part] for part in parts if part in results}, indent=1) + "\n")
    os.replace(half, RESULTS)
    sentences = over_budget(results)
    print("\n".join(sentences) if sentences else "Every budget is kept.")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

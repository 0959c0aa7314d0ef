"""Writes book/times.md from what the benchmarks measured: benchmarks/course.json, results.json and on_gpu.json.

The rule: no figure of the page is typed by hand, and what nobody has measured is said to be not measured. A test
compares the page with what this would write.
"""

import json
import os
from pathlib import Path

import course

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "book/times.md"

OPENING = """\
---
myst:
  html_meta:
    description: Seconds and memory of each lab and of building the book, and the speed against a textbook pipeline.
---
# What it costs

Each figure on this page was written by a program: `make bench` here, `make gpu` for the last part. Your machine gives
other seconds; what should hold everywhere are the budgets, which are made for two processor cores.
"""


def table(heads: list[str], rows: list[list]) -> str:
    """A Markdown table; a column of numbers only is set to the right."""
    numbers = [all(str(row[i])[:1].isdigit() for row in rows) for i in range(len(heads))]
    lines = [heads, ["---:" if right else "---" for right in numbers], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def measured_where(part: dict) -> str:
    """When and on what a part was measured."""
    return (
        f"*Measured on {part['date']}, commit {part['commit']}: {part['machine']}, "
        f"Python {part['python']}, PyTorch {part['torch']}.*"
    )


def verdict(seconds: float, most: float) -> str:
    return "kept" if seconds <= most else "**not kept**"


def labs(found: dict | None) -> str:
    if not found:
        return "## The labs\n\nNot measured yet: `make bench` does it."
    rows = []
    for name, lab in found["each"].items():
        seconds, megabytes = course.budget(name)
        kept = lab["seconds"] <= seconds and lab["megabytes"] <= megabytes and not lab["status"]
        rows.append(
            [
                f"[{int(name[:2])}. {name[3:].replace('_', ' ')}](../labs/{name}.ipynb)",
                f"{lab['seconds']:.0f}",
                seconds,
                lab["megabytes"],
                megabytes,
                "kept" if kept else "**not kept**",
            ]
        )
    heads = ["Lab", "Seconds", "Budget", "Megabytes", "Budget", ""]
    most = course.WHOLE["labs"]
    return f"""\
## The labs

Every lab executed from nothing, two at a time with one thread each, as `make labs` does it. The seconds count starting
Python and loading PyTorch; the megabytes are those of the largest process.

{table(heads, rows)}

All of them together: {found["seconds"]:.0f} seconds; the budget is {most} ({verdict(found["seconds"], most)}).

{measured_where(found)}"""


def targets(found: dict) -> str:
    rows = []
    kinds = {
        "book": ("`make book`, nothing stale", found.get("book")),
        "edit": ("`make book` after an edit of prose", found.get("book", {}).get("edit")),
        "test": ("`make test`", found.get("test")),
    }
    for kind, (name, part) in kinds.items():
        if not part:
            rows.append([name, "", "not measured yet", "", course.WHOLE[kind], ""])
            continue
        for phase, result in part["each"].items():
            failed = " (failed)" if result["status"] else ""
            rows.append([name, phase + failed, f"{result['seconds']:.0f}", result["megabytes"], "", ""])
        kept = verdict(part["seconds"], course.WHOLE[kind])
        rows.append([name, "**whole**", f"{part['seconds']:.0f}", "", course.WHOLE[kind], kept])
    where = [measured_where(found[part]) for part in ("book", "test") if part in found]
    heads = ["Command", "Phase", "Seconds", "Megabytes", "Budget", ""]
    return "\n\n".join(
        [
            "## Building and checking",
            "The environment is there already; making it takes as long as your network does.",
            table(heads, rows),
            *dict.fromkeys(where),
        ]
    )


def several(found: dict | None) -> str:
    if not found:
        return "## One process and two\n\nNot measured yet: `make bench` does it."
    rows = []
    for row in found["each"].values():
        one, two = row["alone"], row["two"]
        rows.append([row["model"], row["batch_size"], f"{one:.1f}", f"{two:.1f}", f"{one / two:.2f}"])
    heads = ["Model", "Examples in a batch", "Seconds, one process", "Seconds, two", "Times as fast"]
    return f"""\
## One process and two

Seconds for one epoch of `python -m shared.training`, alone and with `torchrun --nproc-per-node=2`, on the same reviews
and batches, one thread each; how they work together is told in [One device, and several](scaling.md). Below 1, the
second process costs more than it brings.

{table(heads, rows)}

{measured_where(found)}"""


def on_gpu(found: dict | None) -> str:
    opening = "## On a GPU\n\n"
    if not found:
        return opening + (
            "**Not measured.** No GPU was at hand when this was written, and a guess is no measurement. The labs take "
            "a GPU by themselves where PyTorch finds one. `make gpu` on such a machine runs the labs and the training "
            "of the classifiers, in float32 and bfloat16, with this course's attention and with PyTorch's fused one, "
            "writes `benchmarks/on_gpu.json`, and this section fills itself."
        )
    labs = found["labs"].items()
    lab_rows = [[name, f"{lab['seconds']:.0f}", "failed" if lab["status"] else ""] for name, lab in labs]
    heads = ["Model", "Numbers", "Attention", "Examples a second", "GPU megabytes"]
    rows = [
        [row["model"], row["numbers"], row["attention"], f"{row['examples_per_second']:.0f}", row["megabytes"]]
        for row in found["training"]
    ]
    return "\n\n".join(
        [
            opening.strip(),
            table(["Lab", "Seconds", ""], lab_rows),
            f"Training steps alone, batches of {found['batch_size']} examples that lie on the GPU already; making them "
            f"on one processor core gives {found['batches_per_second']:.0f} batches a second:",
            table(heads, rows),
            f"*{found['gpu']}.* " + measured_where(found),
        ]
    )


def render(found_course: dict, ratios: dict | None, gpu: dict | None) -> str:
    """The whole page."""
    costs = [labs(found_course.get("labs")), targets(found_course), several(found_course.get("processes"))]
    return "\n\n".join([OPENING.strip(), *costs, against_textbook(ratios), on_gpu(gpu)]) + "\n"


def against_textbook(found: dict | None) -> str:
    return "## Against a textbook pipeline\n\nNot measured yet: `make bench` does it."


def read(name: str) -> dict | None:
    path = ROOT / "benchmarks" / name
    return json.loads(path.read_text()) if path.exists() else None


def current() -> str:
    """The page as it has to be for the figures that lie here."""
    return render(read("course.json") or {}, read("results.json"), read("on_gpu.json"))


if __name__ == "__main__":
    half = PAGE.with_name(f".{PAGE.name}.part")
    half.write_text(current())
    os.replace(half, PAGE)
    print("book/times.md is written.")

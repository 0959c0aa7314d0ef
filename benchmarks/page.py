"""Writes book/times.md from what the benchmarks measured: benchmarks/course.json, results.json and on_gpu.json.

The rule: no figure of the page is typed by hand, and what nobody has measured is said to be not measured. A test
compares the page with what this would write.
"""

import json
import math
import os
import re
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
    """A table of figures, which the site never breaks; columns of numbers and nothing else are set to the right."""
    columns = [[str(row[place]) for row in rows] for place in range(len(heads))]
    number = re.compile(r"[\d.,]*|not measured")
    numbers = [any(column) and all(number.fullmatch(cell) for cell in column) for column in columns]
    lines = [heads, ["---:" if right else "---" for right in numbers], *rows]
    body = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
    return f"```{{table}}\n:class: figures\n\n{body}\n```"


def measured_where(part: dict) -> str:
    """When and on what a part was measured."""
    return (
        f"*Measured on {part['date']}, commit {part['commit']}: {part['machine']}, "
        f"Python {part['python']}, PyTorch {part['torch']}.*"
    )


def verdict(seconds: float, most: float) -> str:
    return "kept" if seconds <= most else "**not kept**"


def lab_link(name: str) -> str:
    """A link to a lab, as `04_values`, by its own title."""
    title = re.search("^# (.+)$", (ROOT / f"labs/{name}.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    return f"[{int(name[:2])}. {title}](../labs/{name}.ipynb)"


def labs(found: dict | None) -> str:
    if not found:
        return "## The labs\n\nNot measured yet: `make bench` does it."
    rows = []
    for name, lab in found["each"].items():
        seconds, megabytes = course.budget(name)
        kept = lab["seconds"] <= seconds and lab["megabytes"] <= megabytes and not lab["status"]
        rows.append(
            [
                lab_link(name),
                f"{lab['seconds']:.0f}",
                seconds,
                lab["megabytes"],
                megabytes,
                "kept" if kept else "**not kept**",
            ]
        )
    heads = ["Lab", "Seconds", "Budget", "Megabytes", "Budget", "Verdict"]
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
            rows.append([name, "", "not measured", "", f"{course.WHOLE[kind]:,}", ""])
            continue
        for phase, result in part["each"].items():
            failed = " (failed)" if result["status"] else ""
            rows.append([name, phase + failed, f"{result['seconds']:.0f}", result["megabytes"], "", ""])
        kept = verdict(part["seconds"], course.WHOLE[kind])
        rows.append([name, "**whole**", f"{part['seconds']:.0f}", "", f"{course.WHOLE[kind]:,}", kept])
    where = [measured_where(found[part]) for part in ("book", "test") if part in found]
    heads = ["Command", "Phase", "Seconds", "Megabytes", "Budget (seconds)", "Verdict"]
    return "\n\n".join(
        [
            "## Building and checking",
            "The environment is there already; making it takes as long as your network does. The megabytes are those "
            "of the largest process.",
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

Seconds for one epoch of `python -m shared.scale`, alone and with `torchrun --nproc-per-node=2`, on the same reviews
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
    lab_rows = [
        [lab_link(name), f"{lab['seconds']:.0f}", "failed" if lab["status"] else ""]
        for name, lab in found["labs"].items()
    ]
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


def spread(numbers: list[float]) -> str:
    """Median, and smallest to largest."""
    digits = 3 if numbers[0] < 1 else 1 if numbers[0] < 100 else 0
    middle, low, high = (f"{number:,.{digits}f}" for number in numbers)
    return f"{middle} ({low} to {high})"


def panel(title: str, sizes: list[float], figures: list[float]) -> str:
    """A small drawn curve over sizes on a logarithmic axis, from 0 up, with its numbers at the points."""
    width, height, most = 150, 80, max(figures)
    left, right = math.log(sizes[0]), math.log(sizes[-1])
    places = [
        (30 + width * (math.log(size) - left) / (right - left), 110 - height * figure / most)
        for size, figure in zip(sizes, figures, strict=True)
    ]
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
    marks = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="currentColor"/>'
        f'<text x="{x:.0f}" y="{y - 8:.0f}">{figure:,.0f}</text>'
        f'<text x="{x:.0f}" y="128">{size / 1000:,.0f}k</text>'
        for (x, y), size, figure in zip(places, sizes, figures, strict=True)
    )
    said = ", ".join(f"{figure:,.0f} at {size:,.0f}" for size, figure in zip(sizes, figures, strict=True))
    return (
        f'<svg viewBox="0 0 210 140" width="210" role="img" aria-label="{title}, by number of examples: {said}" '
        'font-size="10" text-anchor="middle" fill="currentColor">'
        f'<text x="105" y="12" font-weight="bold">{title}</text>'
        '<path d="M20 110H190" stroke="currentColor" fill="none"/>'
        f'<polyline points="{line}" fill="none" stroke="var(--role-query, #0250d5)" stroke-width="2"/>{marks}</svg>'
    )


def growth_figure(lines: list[dict]) -> str:
    """Three panels that stay flat when cost grows no faster than the data."""
    sizes = [line["examples"] for line in lines]
    preparing = [line["prepared_seconds"] / line["examples"] * 1e6 for line in lines]
    panels = [
        panel("examples a second, training", sizes, [line["examples_a_second"] for line in lines]),
        panel("seconds to prepare a million", sizes, preparing),
        panel("peak megabytes, training", sizes, [line["training_peak_megabytes"] for line in lines]),
    ]
    return f'```{{raw}} html\n<div style="display: flex; flex-wrap: wrap">{"".join(panels)}</div>\n```'


def against_textbook(found: dict | None) -> str:
    opening = "## Against a textbook pipeline\n\n"
    if not found:
        return opening + "Not measured yet: `make bench` does it."
    parts = [
        opening + "The textbook joins texts, cleans them by four substitutions, pads lists of ids to 256, and shuffles "
        "batches of 1,024 without a mask; this course takes 64 at a time, so the textbook trains with 64 as well. Both "
        "pipelines ran on one machine in the same minutes, taking turns. Each figure is the median of the rounds, with "
        "the smallest and the largest. The targets are what the course set out to reach. From text to batches "
        "the course works on one core: a second one did not help, because Python runs one thread at a time."
    ]
    for name in ("text", "training"):
        if name in found:
            rows, units = [], {line["unit"] for line in found[name]["each"]}
            for line in found[name]["each"]:
                unit = f" ({line['unit']})" if len(units) > 1 else ""
                times, target = line["times_better"], line["target"]
                kept = "" if target is None else "reached" if times[0] >= target else "**not reached**"
                figures = [spread(line["textbook"]), spread(line["ours"]), spread(times)]
                rows.append([line["figure"] + unit, *figures, target or "", kept])
            heads = ["Figure" if len(units) > 1 else f"Figure, in {units.pop()}", "Textbook", "This course"]
            heads += ["Times better", "Target", "Verdict"]
            parts += [table(heads, rows), measured_where(found[name])]
    if "accuracy" in found:
        lines = found["accuracy"]["each"]
        rows = [[line["model"], spread(line["plain"]), spread(line["distracted"])] for line in lines]
        parts += [
            "Speed counts only at equal accuracy. On the same test reviews:",
            table(["Pipeline", "Plain", "Distracted"], rows),
            measured_where(found["accuracy"]),
        ]
    if "growth" in found:
        heads = {
            "examples": "Examples",
            "prepared_seconds": "Seconds to prepare",
            "opened_seconds": "Seconds to open again",
            "examples_a_second": "Examples a second in training",
            "prepared_peak_megabytes": "MB, preparing",
            "training_peak_megabytes": "MB, training",
        }
        rows = [[f"{line[key]:,}" for key in heads] for line in found["growth"]["each"]]
        parts += [
            "## As the data grow",
            "A made corpus of the lengths of Yelp's reviews, each review alone and with a distractor. A curve that "
            "stays flat is a cost that grows no faster than the data. Memory is the peak of the whole process.",
            growth_figure(found["growth"]["each"]),
            table(list(heads.values()), rows),
            measured_where(found["growth"]),
        ]
    if "epoch" in found:
        said = {
            "examples": "examples",
            "prepared_seconds": "seconds to prepare them",
            "seconds": "seconds for the epoch",
            "peak": "MB of memory at most",
            "accuracy": "accuracy on 2,000 other reviews and their distracted twins",
        }
        one = found["epoch"]["each"][0]
        rows = [[words, f"{one[key]:,.3f}" if one[key] < 1 else f"{one[key]:,.0f}"] for key, words in said.items()]
        parts += [
            "One whole epoch of self-attention on the largest of them, with one thread:",
            table(["What", "Figure"], rows),
            measured_where(found["epoch"]),
        ]
    return "\n\n".join(parts)


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

"""Writes what was measured for people to read: book/times.md for readers, the tables of experiments/README.md for us.

The rule: no figure there is typed by hand, and what nobody has measured is said to be not measured. A test compares
both files with what this would write.
"""

import re
from collections.abc import Callable

from experiments import costs, record

PAGE, README = record.ROOT / "book/times.md", record.HERE / "README.md"
BELOW = "<!-- From here on made by `make bench`, which runs experiments/report.py. -->\n"

READERS = """\
---
myst:
  html_meta:
    description: How many minutes and how much memory each lab takes.
---
% Made by `make bench`, which runs experiments/report.py.
# What each lab takes

From opening a lab to its last output, with two labs at a time on two processor cores, starting Python included.
The last column is its memory. No lab needs a GPU. Minutes on your machine differ, all by about the same factor.

"""


def table(heads: list[str], rows: list[list]) -> str:
    """A Markdown table; columns of figures are set to the right."""
    right = [all(re.fullmatch(r"[\d.,]+", str(cell)) for cell in column) for column in zip(*rows, strict=True)]
    lines = [heads, ["---:" if numbers else "---" for numbers in right], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def where(part: dict) -> str:
    """When and on what a part was measured."""
    measured = f"Measured on {part['date']}, commit {part['commit']}: {part['machine']}"
    return f"{measured}, Python {part['python']}, PyTorch {part['torch']}."


def times(labs: dict | None) -> str:
    """The page for readers."""
    if not labs:
        return READERS + "Not measured yet.\n"
    rows = []
    for name, lab in labs["each"].items():
        if name not in costs.WHOLE:
            title = re.search("^# (.+)$", (record.ROOT / f"labs/{name}.md").read_text(), re.MULTILINE)[1]
            link = f"[{int(name[:2])}. {title}](../labs/{name}.ipynb)"
            rows.append([link, f"{lab['seconds'] / 60:.1f}", f"{lab['megabytes'] / 1000:.1f}"])
    body = table(["Lab", "Minutes", "GB"], rows)
    return f"{READERS}```{{table}}\n:class: figures\n\n{body}```\n\n*{where(labs)}*\n"


def spread(numbers: list[float]) -> str:
    """Median, and smallest to largest."""
    digits = 3 if numbers[0] < 1 else 1 if numbers[0] < 100 else 0
    middle, low, high = (f"{number:,.{digits}f}" for number in numbers)
    return f"{middle} ({low} to {high})"


def verdict(kept: bool) -> str:
    return "yes" if kept else "**no**"


def cost_row(name: str, found: dict) -> list:
    most = costs.budget(name)
    kept = not found["status"] and all(found[unit] <= most[unit] for unit in most)
    return [name, f"{found['seconds']:.0f}", most["seconds"], found.get("megabytes", ""), verdict(kept)]


def ratio_row(line: dict) -> list:
    times, target = line["times_better"], line["target"]
    figures = [spread(line[who]) for who in ("textbook", "ours", "times_better")]
    return [f"{line['figure']} ({line['unit']})", *figures, target, verdict(times[0] >= target)]


def section(title: str, part: dict | None, heads: str, row: Callable[..., list]) -> str:
    """A table of one part, a row for each of its lines."""
    if not part:
        return f"### {title}\n\nNot measured yet.\n"
    each = part["each"]
    rows = [row(*line) for line in each.items()] if isinstance(each, dict) else [row(line) for line in each]
    return f"### {title}\n\n{table(heads.split(', '), rows)}\n{where(part)}\n"


def growth_row(line: dict) -> list:
    return [f"{line[name]:,}" for name in (
        "examples", "prepared_seconds", "opened_seconds", "examples_a_second", "prepared_peak_megabytes",
        "training_peak_megabytes",
    )]  # fmt: skip


def tables(cost: dict, fast: dict, device: dict) -> str:
    """All tables of the README."""
    spent, ratios = "What, Seconds, Budget, MB of the largest process, Kept", "Figure, Textbook, Course, Times better"
    grows = "Examples, Seconds to prepare, to open again, Examples a second, MB preparing, MB training"
    return "\n".join(
        [
            section("The labs", cost.get("labs"), spent, cost_row),
            section("Building", cost.get("book"), spent, cost_row),
            section("Checking", cost.get("test"), spent, cost_row),
            section(
                "One process and two",
                cost.get("processes"),
                "Model and examples in a batch, Seconds of an epoch, In two processes",
                lambda name, found: [name.replace(", ", ": "), found["one"], found["two"]],
            ),
            section("From text to batches", fast.get("text"), f"{ratios}, Target, Reached", ratio_row),
            section("Training", fast.get("training"), f"{ratios}, Target, Reached", ratio_row),
            section(
                "Accuracy of both after the same epochs",
                fast.get("accuracy"),
                "Pipeline, Plain, Distracted",
                lambda line: [line["pipeline"], spread(line["plain"]), spread(line["distracted"])],
            ),
            section("As the data grow", fast.get("growth"), grows, growth_row),
            section("The labs on a GPU", device.get("labs"), spent, cost_row),
            section(
                "Training steps on a GPU",
                device.get("training"),
                "Model, Numbers, Examples a second, GPU MB",
                lambda line: list(line.values()),
            ),
        ]
    )


def current() -> dict:
    """Both files and the text that each has to have for the figures that lie here."""
    cost, fast, device = (record.read(record.HERE / f"{name}.json") for name in ("costs", "speed", "gpu"))
    written = README.read_text().partition(BELOW)[0]
    return {PAGE: times(cost.get("labs")), README: f"{written}{BELOW}\n{tables(cost, fast, device)}"}


if __name__ == "__main__":
    for path, text in current().items():
        path.write_text(text)
        print(f"{path.relative_to(record.ROOT)} is written.")

"""Writes what was measured for people to read: book/times.md for readers, the tables of experiments/README.md for us.

The rule: no figure there is typed by hand. A test compares both files with what this would write.
"""

import re

from experiments import costs, record

PAGE, README = record.ROOT / "book/times.md", record.HERE / "README.md"
BELOW = "<!-- From here on made by `make bench`, which runs experiments/report.py. -->\n"
TITLES = {
    ("costs", "labs"): "The labs",
    ("costs", "book"): "Building",
    ("costs", "test"): "Checking",
    ("costs", "processes"): "Seconds of an epoch in one process and in two",
    ("speed", "text"): "From text to batches",
    ("speed", "training"): "Training",
    ("speed", "accuracy"): "Accuracy of both after the same epochs",
    ("speed", "growth"): "As the data grow",
    ("gpu", "labs"): "The labs on a GPU",
    ("gpu", "training"): "Training steps on a GPU",
}

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


def table(rows: list[dict]) -> str:
    """A Markdown table with a column for each key; columns of figures are set to the right."""
    right = [all(re.fullmatch(r"[\d.,]+%?", row[name]) for row in rows) for name in rows[0]]
    lines = [rows[0], ["---:" if numbers else "---" for numbers in right], *(row.values() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def where(part: dict) -> str:
    """When and on what a part was measured."""
    measured = f"Measured on {part['date']}, commit {part['commit']}: {part['machine']}"
    return f"{measured}, Python {part['python']}, PyTorch {part['torch']}."


def times(labs: dict) -> str:
    """The page for readers."""
    rows = []
    for name, lab in labs["each"].items():
        if name not in costs.WHOLE:
            title = re.search("^# (.+)$", (record.ROOT / f"labs/{name}.md").read_text("utf-8"), re.MULTILINE)[1]
            link = f"[{int(name[:2])}. {title}](../labs/{name}.ipynb)"
            rows.append({"Lab": link, "Minutes": f"{lab['seconds'] / 60:.1f}", "GB": f"{lab['megabytes'] / 1000:.1f}"})
    return f"{READERS}```{{table}}\n:class: figures\n\n{table(rows)}```\n\n*{where(labs)}*\n"


def said(figure: object) -> str:
    """A figure as it is read: a list is a median with the smallest and the largest."""
    if isinstance(figure, list):
        return "{} ({} to {})".format(*map(said, figure))
    return f"{figure:,.4g}" if isinstance(figure, float) else f"{figure:,}" if isinstance(figure, int) else figure


def tables(measured: dict[str, dict]) -> str:
    """All tables of the README, from the JSON files by their names; what nobody measured has none."""
    found = []
    for (file, part), title in TITLES.items():
        if content := measured.get(file, {}).get(part):
            each = content["each"]
            lines = [{"what": name} | line for name, line in each.items()] if isinstance(each, dict) else each
            rows = [{name.replace("_", " "): said(line.get(name, "")) for name in lines[0]} for line in lines]
            found.append(f"### {title}\n\n{table(rows)}\n{where(content)}\n")
    return "\n".join(found)


def current() -> dict:
    """Both files and the text that each has to have for the figures that lie here."""
    measured = {name: record.read(record.HERE / f"{name}.json") for name in ("costs", "speed", "gpu")}
    written = README.read_text("utf-8").partition(BELOW)[0]
    return {PAGE: times(measured["costs"]["labs"]), README: f"{written}{BELOW}\n{tables(measured)}"}


if __name__ == "__main__":
    for path, text in current().items():
        record.write(path, text)
        print(f"{path.relative_to(record.ROOT)} is written.")

"""Says what is wrong with a lab as files: whether text, notebook and outputs fit together. Changes
nothing.

The rule: a notebook is exactly what `make labs` would write from the text, executed once from top
to bottom, and nothing in it depends on the machine it ran on. Each problem names the lab and the
cell, and says what to run.
"""

import re
import tempfile
from pathlib import Path

import nbformat

from tools import compare_numbers
from tools.lab import Lab, code_of

DIRECTIVE = re.compile(r"^\s*(?:`{3,}|~{3,}|:{3,})\{|\{[a-z][a-z:-]*\}`", re.MULTILINE)
MOST_DIGITS = (
    5  # significant ones of a printed number: those after them differ from one processor to another
)
ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")


def problems(lab: Lab) -> list[str]:
    """Return what is wrong with a lab, the empty list when all is well. Of notebooks that somebody
    ran or changed, the course's own edition is looked at.
    """
    remedy = f"run `make labs LAB={lab.name}`"
    name = lab.notebook_file.relative_to(lab.root).as_posix()
    found, stale, notebook = (
        directives(lab),
        lab.why_stale(lab.inputs()),
        lab.stored(lab.notebook_file),
    )
    if notebook is None:
        return [*found, f"{name}: {stale}: {remedy}."]
    if without_outputs(notebook) != without_outputs(lab.notebook()):
        found.append(f"{name} is not what {lab.name}.md generates: {remedy}.")
    if stale:
        found.append(f"{name}: its outputs cannot be trusted ({stale}): {remedy}.")
    return found + [f"{name}: {what}" for what in output_problems(lab, notebook, remedy)]


def directives(lab: Lab) -> list[str]:
    """Return a sentence for each directive or role in a lab's text."""
    found = []
    for cell in lab.cells:
        if cell.cell_type == "markdown" and (match := DIRECTIVE.search(cell.source)):
            where, what = lab.line_of(cell.source), match[0].strip()
            found.append(
                f"{where}: `{what}` is a directive or role, which Colab shows raw: use Markdown."
            )
    return found


def without_outputs(notebook: nbformat.NotebookNode) -> list[list]:
    """Return what a lab's text says about each cell: all but its outputs."""
    return [
        [cell[part] for part in ("cell_type", "source", "metadata", "id")]
        for cell in notebook.cells
    ]


def output_problems(lab: Lab, notebook: nbformat.NotebookNode, remedy: str) -> list[str]:
    """Return what is wrong with the stored outputs themselves."""
    places = {str(lab.root.resolve()), str(Path.home()), tempfile.gettempdir()} - {"/"}
    machine = re.compile(
        "|".join(re.escape(place) + r"\b" for place in places) + r"|/site-packages/|ipykernel_\d"
    )
    found = []
    for place, cell in enumerate(code_of(notebook.cells), start=1):
        where = f"code cell {place} (`{cell.source.strip().split(chr(10))[0][:50]}`)"
        for output in cell.outputs:
            if output.get("name") == "stderr":
                found.append(
                    f"{where} wrote to stderr, `{output.text.strip()[:80]}`: silence its cause "
                    f"and {remedy}."
                )
            for kind, text in readable(output).items():
                if match := machine.search(text) or ADDRESS.search(text):
                    found.append(
                        f"{where} shows `{match[0]}` ({kind}), which differs elsewhere: print "
                        f"less, {remedy}."
                    )
                for number in long_numbers(kind, text):
                    found.append(
                        f"{where} prints {number}: round it to {MOST_DIGITS} significant digits, "
                        f"{remedy}."
                    )
    return found


def long_numbers(kind: str, text: str) -> list[str]:
    """Return the printed numbers with a decimal point that have more significant digits than a lab
    may print.
    """
    numbers = [
        part for sort, part in compare_numbers.pieces(kind, text) if sort == compare_numbers.NUMBER
    ]
    # Digits count from the first that is not zero: 0.0120 and 1.20e-5 have three.
    digits = [re.sub(r"\D", "", number.partition("e")[0]).lstrip("0") for number in numbers]
    return [number for number, some in zip(numbers, digits, strict=True) if len(some) > MOST_DIGITS]


def readable(output: nbformat.NotebookNode) -> dict[str, str]:
    """Return the parts of an output that are text, by their kind."""
    if output.output_type == "stream":
        return {output.name: output.text}
    data = output.get("data", {"traceback": "\n".join(output.get("traceback", []))})
    return {
        kind: text
        for kind, text in data.items()
        if isinstance(text, str) and not kind.startswith("image/p")
    }

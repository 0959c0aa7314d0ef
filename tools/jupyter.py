"""Writes the page that `make jupyter` opens: the labs in the course's order, with blanks first,
then with results.
"""

import os
import subprocess
import sys
from pathlib import Path

import nbformat

from shared import record
from tools import contents
from tools.lab import course

ROOT = Path(__file__).resolve().parents[1]
PAGE = "_build/course.ipynb"  # a notebook, which JupyterLab shows with its links, and not as source


def write_page(root: Path) -> None:
    """Write the page."""
    labs, text = {lab.name: lab for lab in course(root)}, "# The labs\n"
    for caption, names in contents.parts_with_labs(root).items():
        text += f"\n## {caption}\n\n| | Work in it | With all results |\n| --- | --- | --- |\n"
        for lab in map(labs.get, names):
            here = f"../labs/{lab.name}/{lab.name}"
            text += (
                f"| {lab.number} | [{lab.title}]({here}_student.ipynb) | [open]({here}.ipynb) |\n"
            )
    cell = nbformat.v4.new_markdown_cell(text, id="labs")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    page = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
    record.write(root / PAGE, nbformat.writes(page) + "\n")


def main(root: Path) -> int:
    """Write the page and start JupyterLab on it."""
    write_page(root)
    as_root = ["--allow-root"] if os.getuid() == 0 else []
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--LabApp.default_url=/lab/tree/{PAGE}",
        *as_root,
    ]
    return subprocess.run(command, cwd=root).returncode


if __name__ == "__main__":
    sys.exit(main(ROOT))

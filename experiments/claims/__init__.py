"""Claims of the labs, tried with more seeds and conditions than a lab has time for: what the scripts here share.

Each is called as `python -m experiments.claims.lab_01`, may be stopped and goes on. What is made stays in the JSON file
beside it; delete an entry there to make it anew. What a lab has code for is run from the lab's own cells.
"""

import os

# Before PyTorch and tqdm are loaded. LAB_KEPT: nothing that a lab has trained before is taken from the disk.
os.environ |= {"LAB_KEPT": "", "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}

import ast
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO

import jupytext
from IPython.core.inputtransformer2 import TransformerManager
from torch import nn

from experiments import record
from shared.data import Reviews, examples_with_distractors
from shared.training import History, Recipe, fit


def train(net: nn.Module, data: Reviews, recipe: Recipe, seed: int) -> History:
    """Train as labs do: on reviews alone and with a distractor in front, drawn anew in each epoch."""
    return fit(
        net,
        lambda epoch: examples_with_distractors(data.train, seed=1000 * (seed + 1) + epoch),
        examples_with_distractors(data.validation, seed=1),
        recipe,
        seed,
    )


def cells(number: int, edits: Mapping[str, str] | None = None) -> list[str]:
    """The code cells of a lab, with texts in them replaced. Exits with a sentence where one of them is gone."""
    (lab,) = (record.ROOT / "labs").glob(f"{number:02}_*.md")
    sources = [cell.source for cell in jupytext.read(lab).cells if cell.cell_type == "code"]
    for text, other in (edits or {}).items():
        if not any(text in source for source in sources):
            raise SystemExit(f"labs/{lab.name} has no cell with `{text}` any more.")
        sources = [source.replace(text, other) for source in sources]
    return [TransformerManager().transform_cell(source) for source in sources]


def execute(nodes: list[ast.stmt], names: dict, number: int, asserts: bool = True) -> None:
    """Run statements of a lab, silently."""
    with redirect_stdout(StringIO()):
        exec(compile(ast.Module(nodes, []), f"lab {number}", "exec", optimize=int(not asserts)), names)


def run_lab(number: int, last: str, edits: Mapping[str, str] | None = None, asserts: bool = True, **given) -> dict:
    """Run the cells of a lab up to the first that holds the text `last`, and return the names that they leave."""
    names, every = {"__name__": "lab", "display": print} | given, cells(number, {last: last} | (edits or {}))
    os.chdir(record.ROOT / "labs")  # where its notebook runs
    for cell in every:
        execute(ast.parse(cell).body, names, number, asserts)
        if last in cell:
            break
    return names


def definitions(number: int, assigned: Sequence[str] = (), edits: Mapping[str, str] | None = None, **given) -> dict:
    """What a lab imports and defines, and the variables called `assigned`; nothing else is run."""
    names = {"__name__": "lab"} | given
    for cell in cells(number, edits):
        execute([node for node in ast.parse(cell).body if _defines(node, assigned)], names, number)
    return names


def _defines(node: ast.stmt, assigned: Sequence[str]) -> bool:
    if isinstance(node, ast.Assign):
        return any(name.id in assigned for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name))
    return isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)

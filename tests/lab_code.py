"""The code of a lab, for tests: its cells as they were written, and what they define."""

import ast
import functools
from collections.abc import Callable
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager

from tools import instructor, lab
from tools.lab import Lab, code_of

ROOT = Path(__file__).resolve().parents[1]


@functools.cache
def course() -> list[Lab]:
    """Return the labs, read once for all tests of a process."""
    return lab.course(ROOT)


def of_the_course() -> list[Lab]:
    """Return the labs that say what their readers will be able to do. One that a fork adds may leave that out."""
    return [lab for lab in course() if instructor.OUTCOMES.search(lab.text)]


@functools.cache
def find(name: str) -> Lab:
    """Return the lab with this name, also one that a fork leaves out of its course."""
    return Lab(ROOT, name)


def cells(lab: Lab) -> list[str]:
    """Return the code cells of the text in their order; generated ones are none of them."""
    return [cell.source for cell in code_of(lab.cells)]


def imports(lab: Lab) -> dict:
    """Return what a lab's import statements, and nothing else, leave behind."""
    return _run(lab, lambda node: isinstance(node, ast.Import | ast.ImportFrom), {})


def taught(lab: Lab, *functions: str, names: dict | None = None) -> dict:
    """Return what a lab imports, all its classes, and the functions of these names, added to `names` where given."""
    kinds = ast.Import | ast.ImportFrom | ast.ClassDef
    found = _run(lab, lambda node: isinstance(node, kinds) or getattr(node, "name", "") in functions, names or {})
    assert set(functions) <= found.keys(), f"labs/{lab.name} no longer defines {set(functions) - found.keys()}"
    return found


def begun(lab: Lab, last: str) -> dict:
    """Return what a lab's cells leave behind up to the one that defines `last`."""
    names = {}
    for source in cells(lab):
        exec(compile(parse_cell(source), f"labs/{lab.name}", "exec"), names)
        if last in names:
            return names
    raise AssertionError(f"labs/{lab.name} no longer defines {last}")


def parse_cell(source: str) -> ast.Module:
    """Return the syntax tree of a cell, with magics turned into calls."""
    return ast.parse(TransformerManager().transform_cell(source))


def _run(lab: Lab, wanted: Callable[[ast.stmt], bool], names: dict) -> dict:
    nodes = [node for source in cells(lab) for node in parse_cell(source).body if wanted(node)]
    exec(compile(ast.Module(nodes, []), f"labs/{lab.name}", "exec"), names)
    return names

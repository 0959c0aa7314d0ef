"""The code of a lab, for tests: its cells as they were written, and what they define."""

import ast
import functools
from pathlib import Path

import notebooks

ROOT = Path(__file__).resolve().parents[1]


def of_the_course() -> list[Path]:
    """Return labs 00 to 16. One that a fork adds need not have what it takes to be taught, asked and shown."""
    return [lab for lab in notebooks.labs(ROOT) if int(lab.name[:2]) < 17]


def find(number: int) -> Path:
    """Return the text of the lab with this number."""
    (lab,) = (ROOT / "labs").glob(f"{number:02}_*.md")
    return lab


@functools.cache
def cells(lab: Path) -> list[str]:
    """Return the code cells of the text in their order; generated ones are none of them."""
    written = notebooks.code_cells(notebooks.generate(lab))
    return [cell.source for cell in written if not notebooks.is_generated(cell)]


def definitions(lab: Path) -> dict[str, ast.stmt]:
    """Return the functions and classes of a lab by name; of two with one name the later."""
    kinds = ast.FunctionDef | ast.ClassDef
    return {node.name: node for node in _statements(lab) if isinstance(node, kinds)}


def imports(lab: Path) -> dict:
    """Return what a lab's import statements, and nothing else, leave behind."""
    return _run(lab, [node for node in _statements(lab) if isinstance(node, ast.Import | ast.ImportFrom)], {})


def taught(lab: Path, *functions: str) -> dict:
    """Return what a lab imports, all its classes, and the functions of these names."""
    defined = definitions(lab)
    wanted = [node for name, node in defined.items() if name in functions or isinstance(node, ast.ClassDef)]
    assert set(functions) <= set(defined), f"labs/{lab.name} no longer defines {set(functions) - set(defined)}"
    return _run(lab, wanted, imports(lab))


def begun(lab: Path, last: str, *functions: str) -> dict:
    """Return what a lab's cells leave behind up to the one that defines `last`, and the functions of these names."""
    names = {}
    for source in cells(lab):
        exec(compile(notebooks.parse_cell(source), f"labs/{lab.name}", "exec"), names)
        if last in names:
            return _run(lab, [definitions(lab)[name] for name in functions], names)
    raise AssertionError(f"labs/{lab.name} no longer defines {last}")


@functools.cache
def _statements(lab: Path) -> list[ast.stmt]:
    trees = [notebooks.parse_cell(source) for source in cells(lab)]
    return [node for tree in trees if isinstance(tree, ast.AST) for node in tree.body]


def _run(lab: Path, nodes: list[ast.stmt], names: dict) -> dict:
    exec(compile(ast.Module(nodes, []), f"labs/{lab.name}", "exec"), names)
    return names

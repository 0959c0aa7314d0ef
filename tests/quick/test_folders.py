"""Claims about the folders: arrows run one way, and what is made is told from what is written."""

import ast
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "Makefile").exists())


def imported(path: Path) -> set[str]:
    """The top folders, or `labs`, that a module imports from."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("shared", {"labs", "tools", "experiments", "tests", "book"}),
        ("book", {"labs", "tools", "experiments", "tests"}),
        ("experiments", {"labs", "tools", "tests", "book"}),
        ("tools", {"labs", "experiments", "tests"}),
    ],
)
def test_imports_run_one_way(folder, forbidden):
    """`tools` may be imported by its file names, too: its folder is on the path of its scripts."""
    scripts = {path.stem for path in ROOT.glob("tools/*.py")} if folder != "tools" else set()
    for path in ROOT.glob(f"{folder}/**/*.py"):
        found = imported(path) & (forbidden | scripts)
        assert not found, f"{path.relative_to(ROOT)} imports {', '.join(sorted(found))}"

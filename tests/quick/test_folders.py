"""Folders import in one direction: shared, checks and labs, experiments; tools and extensions are beside them."""

import ast
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "Makefile").exists())


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("shared", {"checks", "labs", "tools", "experiments", "tests", "book"}),
        ("checks", {"tools", "experiments", "tests", "book"}),
        ("labs", {"tools", "experiments", "tests", "book"}),
        ("experiments", {"tests", "book"}),
        ("tools", {"experiments", "tests"}),
        ("book", {"experiments", "tests"}),
    ],
)
def test_imports_run_one_way(folder, forbidden):
    files = [*ROOT.glob(f"{folder}/**/*.py")]
    assert files, f"{folder} holds no code"
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            found = {name.partition(".")[0] for name in names} & forbidden
            assert not found, f"{path.relative_to(ROOT)} imports {', '.join(sorted(found))}"

"""What Colab installs, a wheel of this tree: in an empty folder each lab finds its modules and its data there."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("shared", "checks", "labs")
NOTEBOOKS = sorted(path for path in ROOT.glob("labs/*/*.ipynb") if path.stem == path.parent.name)
NOT_CODE = ("__pycache__", ".ipynb_checkpoints", ".ruff_cache")
EACH = """
import json, sys
for name, source in json.load(sys.stdin).items():
    try:
        exec(source, {})
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in FOLDERS:
        where = getattr(module, "__file__", None) or list(module.__path__)[0]
        if not where.startswith(PLACE):
            print(f"{name} comes from {where}")
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with what the wheel brings, and nothing else."""
    tree, place = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("place")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns(*NOT_CODE))
    for name in ("pyproject.toml", "ends.py"):
        shutil.copy(ROOT / name, tree)
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "install", "-q", *offline, "--target", str(place), str(tree)]
    made = subprocess.run(pip, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert made.returncode == 0, made.stdout
    return place


def test_it_has_every_module_and_every_file_that_these_read(place):
    files = [path for name in FOLDERS for path in (ROOT / name).rglob("*") if path.is_file()]
    needed = [path.relative_to(ROOT) for path in files if path.suffix not in (".md", ".ipynb", ".pyc", ".toml")]
    missing = [str(path) for path in needed if not set(path.parts) & set(NOT_CODE) and not (place / path).is_file()]
    assert needed and missing == []


def opened(notebook: Path) -> str:
    """A lab's own imports, and its lines that read what is stored beside a module."""
    lines = []
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            for node in ast.parse(TransformerManager().transform_cell(cell.source)).body:
                reads = isinstance(node, ast.Assign) and "resources.files" in ast.unparse(node.value)
                if reads or isinstance(node, ast.Import | ast.ImportFrom):
                    lines.append(ast.unparse(node))
    return "\n".join(lines)


def test_each_lab_imports_from_it_and_finds_its_stored_runs(place, tmp_path):
    sources = {notebook.stem: opened(notebook) for notebook in NOTEBOOKS}
    modules = [path.relative_to(ROOT).with_suffix("") for path in sorted(ROOT.glob("labs/*/*.py"))]
    sources |= {".".join(path.parts): f"import {'.'.join(path.parts)}" for path in modules}
    assert NOTEBOOKS and modules and any("resources.files" in source for source in sources.values())
    script = f"FOLDERS, PLACE = {FOLDERS!r}, {str(place)!r}\n{EACH}"
    environment = os.environ | {"PYTHONPATH": str(place), "MPLBACKEND": "agg"}
    run = {"cwd": tmp_path, "env": environment, "input": json.dumps(sources), "capture_output": True, "text": True}
    found = subprocess.run([sys.executable, "-P", "-c", script], **run)
    assert (found.returncode, found.stdout) == (0, ""), found.stdout + found.stderr[-2000:]

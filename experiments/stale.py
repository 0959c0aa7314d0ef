"""Says when the table of lab 11, shared/does_it_help.json, is stale: made by other code or versions than are here.

`make book` and `make test` end with `python -m experiments.stale`.
"""

import ast
import hashlib
import json
import tokenize
from importlib.metadata import version
from pathlib import Path

from experiments import record

TABLE = record.ROOT / "shared/does_it_help.json"  # a part of the package: Colab has no other file of the labs
PARTS = ("__init__", "data", "fast", "inputs", "model", "reviews", "training")  # what the grid reaches of `shared`
SOURCES = (*(record.ROOT / f"shared/{part}.py" for part in PARTS), record.HERE / "grid.py")
PACKAGES = ("torch", "numpy", "scikit-learn")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def versions() -> dict[str, str]:
    """The packages that the figures come from; `+cpu` behind a version changes none."""
    return {package: version(package).partition("+")[0] for package in PACKAGES}


def code_of(path: Path) -> str:
    """A file without its comments and docstrings, which change no figure."""
    lines = path.read_text(encoding="utf-8").splitlines()
    with path.open("rb") as file:
        comments = [token.start for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]
    for row, column in comments:
        lines[row - 1] = lines[row - 1][:column].rstrip()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first, last = node.body[0].lineno - 1, node.body[0].end_lineno
            lines[first:last] = [""] * (last - first)
    return "\n".join(line for line in lines if line)


def fingerprint() -> str:
    """A digest of the code that the figures come from."""
    return digest("\0".join(code_of(path) for path in SOURCES))


def made_by() -> str:
    """What runs are made by here: code and versions."""
    return ", ".join([fingerprint(), *(f"{name} {number}" for name, number in versions().items())])


def why_stale(table: Path = TABLE) -> str:
    """A sentence when other code or other versions made the stored table; the empty text when it fits."""
    stored = json.loads(table.read_text(encoding="utf-8"))
    here = versions()
    others = [f"{name} {stored['versions'][name]}" for name in here if stored["versions"][name] != here[name]]
    if stored["made_by"] != fingerprint():
        others.insert(0, "other code")
    if not others:
        return ""
    return (
        f"{table.name}, the table of lab 11, was made on {stored['date']} by {', '.join(others)}: "
        "its figures may have changed. `make results` makes one run of each row again, some minutes, and where "
        "one differs all of them."
    )


if __name__ == "__main__":
    if sentence := why_stale():
        print(sentence)

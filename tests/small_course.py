"""A course of one lab, for tests of editions: small_lab.md, with an exercise to build and another one."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def make(root: Path) -> Path:
    """Write the course below `root` and return its one lab. Nothing executes it."""
    (root / "labs").mkdir()
    shutil.copy(ROOT / "_config.yml", root)
    (root / "_toc.yml").write_text("labs/11_small\n")
    return shutil.copy(ROOT / "tests/small_lab.md", root / "labs/11_small.md")


def change(path: Path, old: str, new: str) -> None:
    """Put one text in the place of another, once; the old one must be there."""
    text = path.read_text("utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new, 1), "utf-8")

"""A course of one lab, for tests of editions: small_lab.md, with an exercise to build and another one."""

import shutil
from pathlib import Path

import yaml

from tools.lab import Lab

ROOT = Path(__file__).resolve().parents[1]


def make(root: Path) -> Path:
    """Write the course below `root` and return the text of its one lab. Nothing executes it."""
    (root / "labs/small").mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", root)
    settings(root)
    contents(root, "small")
    return shutil.copy(ROOT / "tests/small_lab.md", root / "labs/small/small.md")


def settings(root: Path) -> None:
    """Let a course have our settings, but a title, an author and an address that no fork has changed."""
    ours = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    repository = {"url": "https://github.com/OWNER/towards-self-attention", "branch": "main"}
    names = {"title": "Towards Self-Attention", "author": "The authors", "student_edition": None}
    (root / "_config.yml").write_text(yaml.safe_dump(ours | names | {"repository": repository}), "utf-8")


def contents(root: Path, *names: str) -> None:
    """Let a course have these labs."""
    chapters = "".join(f"  - file: labs/{name}/{name}.ipynb\n" for name in names)
    (root / "_toc.yml").write_text(f"format: jb-book\nroot: book/welcome\nchapters:\n{chapters}")


def read(text: Path) -> Lab:
    """Read the lab of this text as it is now."""
    return Lab(text.parents[2], text.parent.name, "11")


def change(path: Path, old: str, new: str) -> None:
    """Put one text in the place of another, once; the old one must be there."""
    text = path.read_text("utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new, 1), "utf-8")

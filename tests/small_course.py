"""A course of one lab, for tests of editions and grading: small_lab.md, with an exercise to build and another one."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def make(root: Path) -> Path:
    """Write the course below `root` and return its one lab."""
    (root / "labs").mkdir(parents=True)
    for name in ("_config.yml", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, root)
    for package in ("shared", "checks"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "_toc.yml").write_text("labs/11_small\n")
    shutil.copy(ROOT / "tests/small_lab_checks.py", root / "checks/small.py")
    with open(root / "checks/__init__.py", "a") as file:
        file.write("\nfrom checks.small import double, twice\n")
    return shutil.copy(ROOT / "tests/small_lab.md", root / "labs/11_small.md")


def change(path: Path, old: str, new: str) -> None:
    """Put one text in the place of another, once; the old one must be there."""
    text = path.read_text("utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new, 1), "utf-8")

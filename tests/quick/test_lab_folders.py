"""No lab needs another lab's folder: what its code imports or reads is its own, or in `shared`."""

import re
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "Makefile").exists())
FOLDERS = sorted(path.parent for path in ROOT.glob("labs/*/*.md") if path.stem == path.parent.name)
NAMED = re.compile(r"\blabs(?:\.|/| import )(\w+)")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_lab_needs_no_folder_of_another_lab(folder):
    for path in [*folder.glob("*.py"), *folder.glob("*.md")]:
        text = path.read_text("utf-8")
        if path.suffix == ".md":  # prose may name labs: only code counts
            text = "\n".join(re.findall(r"(?ms)^```\{code-cell\}.*?^```$", text))
        others = {name for name in NAMED.findall(text) if (ROOT / "labs" / name).is_dir()} - {folder.name}
        assert not others, f"{path.relative_to(ROOT)} needs the folder of {', '.join(sorted(others))}"
        assert not re.search(r"(?m)^\s*from \.\.", text), f"{path.relative_to(ROOT)} imports from the folder above"


def test_there_are_lab_folders():
    assert FOLDERS

"""Which labs the course has, in what order, and with which numbers: _toc.yml says so, and nothing
else.
"""

import itertools
import string
from pathlib import Path

import yaml


def pages(root: Path) -> list[str]:
    """Return the pages of the book as _toc.yml names them, in its order."""
    contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    return [contents["root"], *(file for _, files in _parts(contents) for file in files)]


def parts_with_labs(root: Path) -> dict[str, list[str]]:
    """Return the captions of the parts that have labs, each with the names of these, as `labs` has
    them.
    """
    contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    found = {
        caption: [Path(file).parent.name for file in files if file.startswith("labs/")]
        for caption, files in _parts(contents)
    }
    return {caption: names for caption, names in found.items() if names}


def labs(root: Path) -> dict[str, str]:
    """Return the names of the labs, each with its number: they count from 0, and in the part
    *Appendix* from A.

    Raises ValueError where _toc.yml names one that is not there.
    """
    contents, found = yaml.safe_load((root / "_toc.yml").read_text("utf-8")), {}
    numbers, letters = map(str, itertools.count()), iter(string.ascii_uppercase)
    for caption, files in _parts(contents):
        for file in (file for file in files if file.startswith("labs/")):
            name = Path(file).parent.name
            if file != f"labs/{name}/{name}.ipynb":
                raise ValueError(
                    f"_toc.yml names {file}; a lab is named like labs/keys/keys.ipynb."
                )
            found[name] = next(letters if caption == "Appendix" else numbers)
    return found


def _parts(contents: dict) -> list[tuple[str, list[str]]]:
    """Return the parts of the contents, each with its caption and the names of its pages."""
    return [
        (part.get("caption", ""), [chapter["file"] for chapter in part.get("chapters", [])])
        for part in contents.get("parts", [contents])
    ]

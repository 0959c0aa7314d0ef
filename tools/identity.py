"""Carries the repository's URL and branch from _config.yml to all other files that name them.

The rule: below a line `<!-- identity: TEMPLATE -->` (in TOML and YAML `# identity: TEMPLATE`) stands one line that
is the template filled in. A template may name {url}, {branch}, {name}, {site} and {colab}.
"""

import re
from pathlib import Path

import yaml

FILES = ("README.md", "CONTRIBUTING.md", "CITATION.cff", "pyproject.toml")
MARKED = re.compile(r"^(?P<indent> *)(?P<mark>(?:<!--|#) identity: (?P<template>.+?)(?: -->)?)\n.*$", re.MULTILINE)


def read(root: Path) -> dict[str, str]:
    """Return what templates may name: url, branch, name, site (the published pages) and colab (the repository there).

    Two more belong to the student edition: student (where it is published) and colab_student (the same in Colab).
    Raises ValueError for settings that cannot be read, or a student edition that Colab could not open.
    """
    try:
        settings = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
        url, branch = settings["repository"]["url"].rstrip("/"), settings["repository"]["branch"]
        owner, name = url.split("/")[-2:]
    except (yaml.YAMLError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            "_config.yml has to hold `repository:` with `url: https://github.com/you/your-course` and `branch: main`; "
            f"it cannot be read so: {error}"
        ) from None
    student = str(settings.get("student_edition", "student")).strip("/")
    if "://" not in student:
        student = f"{url}/blob/{branch}/{student}"
    if not re.fullmatch(r"https://github\.com/[^/\s]+/[^/\s]+/blob/\S+", student):
        raise ValueError(
            f"student_edition in _config.yml is {student}. Name a folder of the repository, as `student`, or a whole "
            "address that Colab can open: https://github.com/you/your-class/blob/main"
        )
    return {
        "student": student,
        "colab_student": student.replace("https://github.com/", "https://colab.research.google.com/github/"),
        "url": url,
        "branch": branch,
        "name": name,
        "site": f"https://{owner}.github.io/{name}",
        "colab": f"https://colab.research.google.com/github/{owner}/{name}/blob/{branch}",
    }


def outdated(root: Path) -> dict[Path, str]:
    """Return the files that do not say what _config.yml says, each with the text that it should have."""
    identity = read(root)

    def fill(match: re.Match) -> str:
        return f"{match['indent']}{match['mark']}\n{match['indent']}{match['template'].format(**identity)}"

    new_texts = {}
    for path in (root / name for name in FILES):
        if path.is_file():
            text = path.read_text("utf-8")
            if (new_text := MARKED.sub(fill, text)) != text:
                new_texts[path] = new_text
    return new_texts

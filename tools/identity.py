"""Carries the repository's URL and branch from _config.yml to all other files that name them.

The rule: below a line `<!-- identity: TEMPLATE -->` (in TOML and YAML `# identity: TEMPLATE`) is one line, the
template filled in. A template may name {url}, {branch}, {name}, {site} and {colab}.
"""

import re
import subprocess
from pathlib import Path

import yaml

FILES = ("README.md", "CONTRIBUTING.md", "CITATION.cff", "pyproject.toml")
PLACEHOLDER = "OWNER"  # in place of the owner's name until somebody sets the address
REMOTE = re.compile(r"(?:https://(?:[^@/\s]+@)?|(?:ssh://)?git@)github\.com[:/]([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
MARKED = re.compile(r"^(?P<indent> *)(?P<mark>(?:<!--|#) identity: (?P<template>.+?)(?: -->)?)\n.*$", re.MULTILINE)


def read(root: Path, url: str | None = None) -> dict[str, str]:
    """Return what templates may name: url, branch, name, site (the published pages) and colab (the repository there).
    Another `url` takes the place of the one in _config.yml.

    Two more belong to the student edition: student (where it is published) and colab_student (the same in Colab).
    Raises ValueError for settings that cannot be read, or a student edition that Colab could not open.
    """
    try:
        settings = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
        url, branch = (url or settings["repository"]["url"]).rstrip("/"), settings["repository"]["branch"]
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


def published(root: Path) -> dict[str, str] | None:
    """Return what `read` does, for the buttons of the site; None where no address is known.

    Where _config.yml still says OWNER, the address is that of the git remote `origin`, if that is on GitHub: a fork has
    working buttons before anybody has set anything. Files in the repository take theirs from _config.yml alone, or they
    would be stale in each fork.
    """
    identity = read(root)
    if PLACEHOLDER not in identity["url"].split("/"):
        return identity
    command = ["git", "-C", str(root), "config", "--local", "remote.origin.url"]
    try:
        remote = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:  # the sources as an archive, on a machine without git
        return None
    match = REMOTE.fullmatch(remote)
    return read(root, f"https://github.com/{match[1]}/{match[2]}") if match else None


def labs_in_toc(root: Path) -> list[str] | None:
    """Return the names of the labs in _toc.yml, such as 02_keys; None where there is no such list.

    Raises ValueError where it names a lab that is not there, as after half of a move.
    """
    contents = root / "_toc.yml"
    if not contents.is_file():
        return None
    names = re.findall(r"(?m)^[^#\n]*\blabs/(\w+)", contents.read_text("utf-8"))
    for name in names:
        if not (root / f"labs/{name}.md").is_file():
            raise ValueError(
                f"_toc.yml names labs/{name}, but there is no labs/{name}.md. To move a lab, `git mv` its .md and its "
                ".ipynb, and change its line in _toc.yml; to leave it out, remove the line. Nothing was changed."
            )
    return names


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

"""Carries title, author and address of the course from _config.yml to all other files that name
them.

The rule: below a line `<!-- identity: TEMPLATE -->` (in other texts `# identity: TEMPLATE`) is one
line, the template filled in. A template may name {title}, {author}, {url}, {branch}, {name}, {site}
and {colab}.
"""

import functools
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

FILES = (
    "README.md",
    "CONTRIBUTING.md",
    "CITATION.cff",
    "LICENSE",
    "pyproject.toml",
    "book/welcome.md",
)
PLACEHOLDER = "OWNER"  # in place of the owner's name until somebody sets the address
# As GitHub shows and copies it: https with or without a name, SSH, with `.git` or a slash at its
# end.
ADDRESS = re.compile(
    r"(?:https?://|ssh://)?(?:[^@/\s]+@)?github\.com[:/]([\w.-]+)/([\w.-]+?)(?:\.git)?/*"
)
MARKED = re.compile(
    r"^(?P<indent> *)(?P<mark>(?:<!--|#) identity: (?P<template>.+?)(?: -->)?)\n.*$", re.MULTILINE
)


@functools.cache  # each lab asks for it several times
def parsed(text: str) -> dict:
    """Return settings from the text of _config.yml."""
    return yaml.safe_load(text)


def read(root: Path, url: str | None = None) -> dict[str, str]:
    """Return what templates may name: title, author, url, branch, name, site (the published pages)
    and colab (the repository there). Another `url` takes the place of the one in _config.yml.

    Two more belong to the student edition: student (where it is published) and colab_student (the
    same in Colab). And `version` is the tag that first cells install, from pyproject.toml.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    settings = parsed((root / "_config.yml").read_text("utf-8"))
    given, branch = (url or settings["repository"]["url"]).strip(), settings["repository"]["branch"]
    address = ADDRESS.fullmatch(given)
    if not address:
        raise ValueError(
            f"_config.yml: `{given}` is not the address of a repository on GitHub, which Colab and "
            "the links need. Write it as the browser shows it: https://github.com/you/your-course"
        )
    owner, name = address.groups()
    url = f"https://github.com/{owner}/{name}"
    student = (settings["student_edition"] or f"{url}/blob/{branch}").rstrip("/")
    return {
        "student": student,
        "colab_student": student.replace(
            "https://github.com/", "https://colab.research.google.com/github/"
        ),
        "url": url,
        "branch": branch,
        "name": name,
        "title": settings["title"],
        "author": settings["author"],
        "version": f"v{project['version']}",
        "site": f"https://{owner}.github.io/{name}",
        "colab": f"https://colab.research.google.com/github/{owner}/{name}/blob/{branch}",
    }


def published(root: Path) -> dict[str, str] | None:
    """Return what `read` does, for the buttons of the site; None where no address is known.

    Where _config.yml still says OWNER, the address is that of the git remote `origin`, if that is
    on GitHub: a fork has working buttons before anybody has set anything. Files in the repository
    take theirs from _config.yml alone, or they would be stale in each fork.
    """
    identity = read(root)
    if PLACEHOLDER not in identity["url"].split("/"):
        return identity
    remote = remote_address(root)
    return read(root, remote) if remote else None


def remote_address(root: Path) -> str:
    """Return the address of the git remote `origin`; an empty text where there is none on GitHub,
    or no git.
    """
    command = ["git", "-C", str(root), "config", "--local", "remote.origin.url"]
    try:
        found = ADDRESS.fullmatch(
            subprocess.run(command, capture_output=True, text=True).stdout.strip()
        )
    except FileNotFoundError:
        return ""
    return f"https://github.com/{found[1]}/{found[2]}" if found else ""


def disagreement(root: Path) -> str:
    """Return a sentence where _config.yml and the remote `origin` name different repositories, or
    an empty text.
    """
    written, remote = read(root)["url"], remote_address(root)
    if not remote or written.lower() == remote.lower():
        return ""
    return (
        f"_config.yml names {written}, and this copy belongs to {remote}: the notebooks lead to "
        "the former. If it is a fork of yours, write its address into _config.yml, under "
        "repository, and run make labs."
    )


def outdated(root: Path) -> dict[Path, str]:
    """Return the files that do not say what _config.yml says, each with the text that it should
    have.
    """
    identity = read(root)

    def fill(match: re.Match) -> str:
        indent, written = match["indent"], match["template"].format(**identity)
        return f"{indent}{match['mark']}\n{indent}{written}"

    old_texts = {root / name: (root / name).read_text("utf-8") for name in FILES}
    new_texts = {path: MARKED.sub(fill, text) for path, text in old_texts.items()}
    return {path: text for path, text in new_texts.items() if text != old_texts[path]}


def with_addresses(markdown: str, site: str) -> str:
    """Return a piece of a lab or page in which links to pages and labs lead to the site."""
    text = re.sub(r"\]\((?:(?:\.\./)+book/)?(\w+)\.md", rf"]({site}/book/\1.html", markdown)
    return re.sub(r"\]\(\.\./(?:labs/)?(\w+/\w+)\.ipynb", rf"]({site}/labs/\1.html", text)

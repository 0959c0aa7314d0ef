"""Carries the repository's URL and branch from _config.yml to all other files that name them.

The rule: below a line `<!-- identity: TEMPLATE -->` (in TOML and YAML `# identity: TEMPLATE`) is one line, the
template filled in. A template may name {url}, {branch}, {name}, {site} and {colab}.
"""

import functools
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

FILES = ("README.md", "CONTRIBUTING.md", "CITATION.cff", "pyproject.toml")
PLACEHOLDER = "OWNER"  # in place of the owner's name until somebody sets the address
REMOTE = re.compile(r".*\bgithub\.com[:/]([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
MARKED = re.compile(r"^(?P<indent> *)(?P<mark>(?:<!--|#) identity: (?P<template>.+?)(?: -->)?)\n.*$", re.MULTILINE)


@functools.cache  # each lab asks for it several times
def parsed(text: str) -> dict:
    """Return settings from the text of _config.yml."""
    return yaml.safe_load(text)


def read(root: Path, url: str | None = None) -> dict[str, str]:
    """Return what templates may name: url, branch, name, title, site (the published pages) and colab (the repository
    there). Another `url` takes the place of the one in _config.yml.

    Two more belong to the student edition: student (where it is published) and colab_student (the same in Colab). And
    `version` is the tag that first cells install, from pyproject.toml.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    settings = parsed((root / "_config.yml").read_text("utf-8"))
    url, branch = (url or settings["repository"]["url"]).rstrip("/"), settings["repository"]["branch"]
    owner, name = url.split("/")[-2:]
    student = (settings["student_edition"] or f"{url}/blob/{branch}").rstrip("/")
    return {
        "student": student,
        "colab_student": student.replace("https://github.com/", "https://colab.research.google.com/github/"),
        "url": url,
        "branch": branch,
        "name": name,
        "title": settings["title"],
        "version": f"v{project['version']}",
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
    remote = REMOTE.fullmatch(subprocess.run(command, capture_output=True, text=True).stdout.strip())
    return read(root, f"https://github.com/{remote[1]}/{remote[2]}") if remote else None


def outdated(root: Path) -> dict[Path, str]:
    """Return the files that do not say what _config.yml says, each with the text that it should have."""
    identity = read(root)

    def fill(match: re.Match) -> str:
        return f"{match['indent']}{match['mark']}\n{match['indent']}{match['template'].format(**identity)}"

    old_texts = {root / name: (root / name).read_text("utf-8") for name in FILES}
    new_texts = {path: MARKED.sub(fill, text) for path, text in old_texts.items()}
    return {path: text for path, text in new_texts.items() if text != old_texts[path]}


def with_addresses(markdown: str, site: str) -> str:
    """Return a piece of a lab or page in which links to pages and labs lead to the site."""
    text = re.sub(r"\]\((?:(?:\.\./)+book/)?(\w+)\.md", rf"]({site}/book/\1.html", markdown)
    return re.sub(r"\]\(\.\./(?:labs/)?(\w+/\w+)\.ipynb", rf"]({site}/labs/\1.html", text)

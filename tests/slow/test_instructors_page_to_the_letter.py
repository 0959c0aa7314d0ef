"""Follows book/instructors.md, and the exercise in labs/README.md, to the letter, in a fork with another name:
what they say to write is written, what they say to type is typed, and what is left is green.

The rule: a comment above a block says what to do with it, `<!-- write FILE -->`, `append FILE`, `set FILE`, which puts
it in place of the line with its key, or `list FILE`, which adds it below the labs that the file lists. A block without
a language holds commands. The words around may change.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tools import check_labs, contents, exercises
from tools.lab import Lab, executed_in_order

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book/instructors.md").read_text() + (ROOT / "labs/README.md").read_text()
FENCED = r"^(?P<fence>`{3,})(?P<language>\w*)\n(?P<text>.*?)\n(?P=fence)$"
BLOCK = re.compile(r"(?:^<!-- (?P<what>\w+) (?P<file>\S+) -->\n)?" + FENCED, re.DOTALL | re.MULTILINE)
WHO = {f"GIT_{role}_{what}": "test@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def run(root, command):
    """Type a command in the fork. The environment is this one: nothing is installed."""
    personal = ("PYTHONPATH", "MAKEFLAGS", "PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER")
    environment = {name: value for name, value in os.environ.items() if name not in personal} | WHO
    options = {"cwd": root, "env": environment, "capture_output": True, "text": True, "timeout": 6000}
    answer = subprocess.run(command, shell=True, **options)
    assert answer.returncode == 0, f"{command}\n{answer.stdout[-3000:]}{answer.stderr[-3000:]}"
    return answer.stdout


def part(heading: str) -> str:
    """Return what is below a heading, up to the next one of its level."""
    found = exercises.headings(PAGE)
    (start,) = [each.end() for each in found if each[0] == heading]
    ends = [each.start() for each in found if each.start() > start and each[0].split()[0] <= heading.split()[0]]
    return PAGE[start : ends[0] if ends else None]


def follow(root: Path, heading: str) -> None:
    """Do what a part of the page says, in a copy of the repository, block by block."""
    for block in BLOCK.finditer(part(heading)):
        text = block["text"] + "\n"
        path = root / (block["file"] or "")
        if block["what"] in ("write", "append"):
            with path.open("a") as file:
                file.write(text)
        elif block["what"] == "set":
            path.write_text(re.sub(rf"(?m)^{block['text'].partition(':')[0]}:.*$", block["text"], path.read_text()))
        elif block["what"] == "list":
            here = path.read_text()
            last = [*re.finditer(r"labs/(?!the_reviews)", here)][-1].start()  # not the appendix
            end = min(here.find(stop, last) % (len(here) + 1) for stop in ("\n\n", "\n  - ") if stop in here[last:])
            gap = "\n" if text.lstrip().startswith("-") else "\n\n"
            path.write_text(here[:end] + gap + block["text"] + here[end:])
        else:
            assert not block["language"], f"no comment says what to do with this block:\n{text}"
            for command in block["text"].split("\n"):
                run(root, command)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A clone of the last commit, with an address of its own, whose .venv is the environment of this test."""
    root = tmp_path_factory.mktemp("fork") / "course"
    subprocess.run(["git", "clone", "-q", ROOT, root], check=True)
    python = root / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    sign = "from tools import environment; (environment.VENV / 'made-from').write_text(environment.digest())"
    subprocess.run([sys.executable, "-c", sign], cwd=root, check=True)
    settings = root / "_config.yml"
    names = {"title": "title: Attention, our way", "author": "author: Ada and Ben"}
    for key, line in names.items():
        settings.write_text(re.sub(rf"(?m)^{key}: .*$", line, settings.read_text()))
    follow(root, "## Make it your own")
    assert "# Attention, our way" in (root / "README.md").read_text()
    run(root, "git commit -qam 'an address of its own'")
    return root


@pytest.fixture(scope="module")
def added(course):
    """The copy after "Add a lab in ten minutes", and after giving that lab an exercise."""
    follow(course, "## Add a lab in ten minutes")
    follow(course, "## An exercise, step by step")
    return course


def test_a_lab_added_by_the_page_is_executed_and_stands_in_the_book(added):
    lab = Lab(added, "length", contents.labs(added)["length"])
    assert executed_in_order(lab.stored(lab.notebook_file)) and not check_labs.problems(lab)
    page = (added / "_build/html/labs/length/length.html").read_text()
    assert "Does length matter?" in page and f"Exercise {lab.number}.1" in page and "tensor([" in page
    welcome = (added / "_build/html/book/welcome.html").read_text()
    assert re.search(r'href="[^"]*labs/length/length\.html"', welcome) and "one of them is longer" in welcome
    assert run(added, "git status --porcelain") == "", "the page's commit leaves something behind"


def test_two_labs_left_out_leave_words_behind_and_the_fork_is_green(added):
    toc, dropped = added / "_toc.yml", ("when_in_doubt", "does_it_help")
    toc.write_text(re.sub(rf"\n.*labs/(?:{'|'.join(dropped)})/.*", "", toc.read_text()))
    assert not set(dropped) & set(contents.labs(added))
    follow(added, "## Choose labs")
    assert not list(added.glob("_build/html/labs/when_in_doubt/*"))
    pages = [*(added / "_build/html").glob("labs/*/*.html"), *(added / "_build/html/book").glob("*.html")]
    assert pages and not [page.name for page in pages if "when_in_doubt" in page.read_text()]
    run(added, "git add -A && git commit -q -m less && make test")

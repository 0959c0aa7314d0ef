"""The page for instructors as something to follow: its blocks are written where it says, its commands typed.

The rule: a comment above a block says what to do with it, `<!-- write FILE -->`, `append FILE`, `set FILE`, which puts
it in place of the line with its key, or `list FILE`, which adds it below the labs that the file lists. A block without
a language holds commands. The words around may change.
"""

import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "book/instructors.md").read_text()
FENCED = r"^(?P<fence>`{3,})(?P<language>\w*)\n(?P<text>.*?)\n(?P=fence)$"
BLOCK = re.compile(r"(?:^<!-- (?P<what>\w+) (?P<file>\S+) -->\n)?" + FENCED, re.DOTALL | re.MULTILINE)


def part(heading: str) -> str:
    """Return the part of the page below a heading, up to the next one of its level."""
    below = PAGE.split(f"\n{heading}\n")[1]
    outside = re.sub(FENCED, lambda fence: re.sub(r"[^\n]", " ", fence[0]), below, flags=re.DOTALL | re.MULTILINE)
    following = re.search(rf"(?m)^#{{2,{len(heading.split()[0])}}} ", outside)
    return below[: following.start()] if following else below


def follow(root: Path, heading: str, run: Callable = lambda root, command: None) -> None:
    """Do what a part of the page says, in a copy of the repository, block by block; `run` types a command there."""
    for block in BLOCK.finditer(part(heading)):
        text = block["text"] + "\n"
        path = root / (block["file"] or "")
        if block["what"] == "write":
            path.write_text(text)
        elif block["what"] == "append":
            path.write_text(path.read_text() + text)
        elif block["what"] == "set":
            path.write_text(re.sub(rf"(?m)^{block['text'].partition(':')[0]}:.*$", block["text"], path.read_text()))
        elif block["what"] == "list":
            here = path.read_text()
            last = [*re.finditer(r"labs/\d", here)][-1].start()  # not the appendix
            end = min(here.find(stop, last) % (len(here) + 1) for stop in ("\n\n", "\n  - ") if stop in here[last:])
            gap = "\n" if text.lstrip().startswith("-") else "\n\n"
            path.write_text(here[:end] + gap + block["text"] + here[end:])
        else:
            assert not block["language"], f"no comment says what to do with this block:\n{text}"
            for command in block["text"].split("\n"):
                run(root, command)

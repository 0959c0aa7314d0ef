"""Tries the book's links to other sites, and lists those that do not answer, with the pages they stand on.

The rule: a link is somebody else's to break, so the list is news and not a failure; only a check that could not run
fails. `make test` checks the links inside the site, and those that take a lab elsewhere, without a network.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import endings

ROOT = Path(__file__).resolve().parents[1]


def main(root: Path) -> int:
    """Let Sphinx try every link below `root`, print what it found, and return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        jupyter_book = Path(sys.executable).with_name("jupyter-book")
        command = [jupyter_book, "build", root, "--builder", "linkcheck", "--path-output", folder]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        report = next(Path(folder).rglob("output.json"), None)
        if report is None:
            print(f"The links could not be checked:\n{run.stdout}")
            return 1
        links = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
    links = [link for link in links if link["uri"].startswith("http")]
    silent = {}
    for link in links:
        if link["status"] in ("broken", "timeout"):
            why, places = silent.setdefault(link["uri"], (reason(link["info"]), set()))
            places.add(f"{link['filename']}:{link['lineno']}")
    for address, (why, places) in sorted(silent.items()):
        print(f"{address}\n    {why}\n    {', '.join(sorted(places))}")
    addresses = len({link["uri"] for link in links})
    print(f"{addresses - len(silent)} of {addresses} links to other sites answer.")
    return 0


def reason(info: str) -> str:
    """The innermost message of a failed request, in one short line."""
    return info.rsplit("Caused by", 1)[-1].strip("() ")[:160] or "no answer in time"


if __name__ == "__main__":
    endings.run(main, ROOT)

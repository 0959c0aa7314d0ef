"""Builds the site from _toc.yml into _build/html, with warnings as errors.

The rule: a build that did not come to its end without a warning leaves no memory behind. Sphinx
reads again only what changed, so a second build would not see the warning of the first, and pass.
Nor does it see that something changed which makes pages out of the sources (extension, theme,
style, scripts, role colors, the order of the labs): then it forgets, too, and pages that are gone
leave the site.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import ends

from shared import record
from tools import contents, digests, exercises, identity

ROOT = Path(__file__).resolve().parents[1]
MEMORY = ROOT / "_build/.doctrees"
WHOLE = MEMORY / "whole"
NO_ADDRESS = """The site has no buttons for Colab and Binder and no links to its source: it knows no
address of the course. Write it into _config.yml, under repository, or add the remote `origin` on
GitHub, and build again."""
LINK = re.compile(r"(?:\]\(|^\[[^\]]+\]: )(?:\.\./)+(?:labs/)?(\w+)/\1\.ipynb", re.MULTILINE)


def makers() -> str:
    """A fingerprint of what makes pages out of the sources."""
    # The extension reads these.
    own = (
        "shared/colours.py",
        "shared/figures/tools.js",
        "tools/identity.py",
        "tools/ordering.py",
        "tools/contents.py",
        "_toc.yml",
    )
    found = [ROOT / name for name in own]
    found += [
        path for name in ("_ext", "_theme", "_static") for path in (ROOT / "book" / name).rglob("*")
    ]
    found = sorted(path for path in found if path.is_file() and path.suffix != ".pyc")
    return digests.digest(
        "".join(digests.digest(path.read_bytes().decode("latin-1")) for path in found)
    )


def jupyter_book(folder: Path, *options: str) -> subprocess.CompletedProcess:
    """Build the book in a folder; its extensions import the course's own packages.

    Raises OSError on a full disk.
    """
    ends.need_room(folder, 100)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", *options]
    given = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def links_to_labs_that_are_gone(root: Path) -> list[str]:
    """Return a sentence for each link to a lab that _toc.yml does not name; on the site it is plain
    words.
    """
    there, found = contents.labs(root), []
    for path in ((root / name).with_suffix(".md") for name in contents.pages(root)):
        text = exercises.without_fences(path.read_text("utf-8"))  # an example in code is no link
        for link in LINK.finditer(text):
            if link[1] not in there:
                line = text.count("\n", 0, link.start()) + 1
                where = f"{path.relative_to(root)}, line {line}"
                found.append(f"{where}: links to {link[1]}, which _toc.yml does not name.")
    return found


def main() -> int:
    """Build the site and return the exit status."""
    if not WHOLE.exists() or WHOLE.read_text("utf-8") != makers():
        for folder in (MEMORY, ROOT / "_build/html"):
            shutil.rmtree(folder, ignore_errors=True)
    WHOLE.unlink(missing_ok=True)
    build = jupyter_book(ROOT, "--warningiserror", "--keep-going", "--quiet")
    if build.returncode:
        print(build.stdout)
        return build.returncode
    record.write(WHOLE, makers())
    print("".join(f"{sentence}\n" for sentence in links_to_labs_that_are_gone(ROOT)), end="")
    if identity.published(ROOT) is None:
        print(NO_ADDRESS)
    elif sentence := identity.disagreement(ROOT):
        print(sentence)
    return 0


if __name__ == "__main__":
    sys.exit(main())

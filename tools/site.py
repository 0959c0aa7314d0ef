"""Builds the site from _toc.yml into _build/html, with warnings as errors.

The rule: a build that did not come to its end without a warning leaves no memory behind. Sphinx reads again only
what changed, so a second build would not see the warning of the first, and pass. Nor does it see that something
changed which makes pages out of the sources (extension, theme, style, scripts, role colours): then it forgets, too.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import identity
import safe_files

ROOT = Path(__file__).resolve().parents[1]
MEMORY = ROOT / "_build/.doctrees"
WHOLE = MEMORY / "whole"
NO_ADDRESS = """The site has no buttons for Colab and Binder and no links to its source: it knows no address of the
course. Write it into _config.yml, under repository, or add the remote `origin` on GitHub, and build again."""


def makers() -> str:
    """A fingerprint of what makes pages out of the sources."""
    # The extension reads these three.
    files = [ROOT / name for name in ("shared/figures/colours.py", "tools/identity.py", "tools/ordering.py")]
    files += [path for name in ("_ext", "_theme", "_static") for path in (ROOT / "book" / name).rglob("*")]
    files = sorted(path for path in files if path.is_file() and path.suffix != ".pyc")
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def main() -> int:
    """Build the site and return the exit status."""
    if not WHOLE.exists() or WHOLE.read_text("utf-8") != makers():
        shutil.rmtree(MEMORY, ignore_errors=True)
    WHOLE.unlink(missing_ok=True)
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    book = [jupyter_book, "build", ROOT, "--warningiserror", "--keep-going", "--quiet"]
    build = subprocess.run(book, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if build.returncode:
        print(build.stdout)
        return build.returncode
    safe_files.write_whole(WHOLE, makers())
    if identity.published(ROOT) is None:
        print(NO_ADDRESS)
    return 0


if __name__ == "__main__":
    safe_files.run(main)

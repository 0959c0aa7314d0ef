"""Claims about the folders: from the listing one sees what is written and what is made, and arrows run one way."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "Makefile").exists())
MAKERS = re.compile(r"`?(make [a-z-]+|python -m [a-z_.]+)")
# What nobody writes by hand; the pages of figures besides.
MADE = (".ipynb", ".json", ".png", ".safetensors", ".svg", ".woff2")
GIVEN = {"your_journey.json"}  # the published example that lab 5 follows: a test compares with it, nothing makes it


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    return [path for line in listed.stdout.splitlines() if (path := ROOT / line).is_file()]


def maker(path: Path) -> str | None:
    """The command that a file names on its first lines, or the line about it in the README of a folder above."""
    if path.suffix in (".md", ".json", ".txt"):
        if found := MAKERS.search(path.read_text(encoding="utf-8")[:400]):
            return found[1]
    for folder in path.relative_to(ROOT).parents:
        readme = ROOT / folder / "README.md"
        if folder != Path(".") and readme.exists():
            names = (f"{path.name}`", f"NN_name{path.suffix}`")
            for line in readme.read_text(encoding="utf-8").splitlines():
                if any(name in line for name in names):
                    return line
    return None


def test_every_made_file_says_what_made_it():
    made = [path for path in tracked() if path.suffix in MADE and path.name not in GIVEN]
    made += [ROOT / "book/times.md", ROOT / "experiments/README.md", ROOT / "constraints.txt"]
    assert len(made) > 20
    silent = [str(path.relative_to(ROOT)) for path in made if not maker(path)]
    assert not silent, f"Say in the first lines, or in the folder's README.md, which command makes {', '.join(silent)}."


def test_every_command_that_is_said_to_make_a_file_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for readme in (ROOT / "labs/README.md", ROOT / "book/README.md", ROOT / "experiments/README.md"):
        for command in MAKERS.findall(readme.read_text(encoding="utf-8")):
            kind, name = command.rsplit(" ", 1)
            module = ROOT / f"{name.replace('.', '/')}"
            exists = name in targets if kind == "make" else module.with_suffix(".py").exists() or module.is_dir()
            assert exists, f"{readme.relative_to(ROOT)} names `{command}`, which is not there"


def imported(path: Path) -> set[str]:
    """The top folders, or `labs`, that a module imports from."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("shared", {"labs", "tools", "experiments", "tests", "book"}),
        ("book", {"labs", "tools", "experiments", "tests"}),
        ("experiments", {"labs", "tools", "tests", "book"}),
        ("tools", {"labs", "experiments", "tests"}),
    ],
)
def test_imports_run_one_way(folder, forbidden):
    """`tools` may be imported by its file names, too: its folder is on the path of its scripts."""
    scripts = {path.stem for path in ROOT.glob("tools/*.py")} if folder != "tools" else set()
    for path in ROOT.glob(f"{folder}/**/*.py"):
        found = imported(path) & (forbidden | scripts)
        assert not found, f"{path.relative_to(ROOT)} imports {', '.join(sorted(found))}"

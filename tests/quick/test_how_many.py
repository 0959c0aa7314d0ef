"""Claims about the number of processes: it follows cores, memory and a container's limits, or what somebody set."""

import os
import subprocess
import sys

import how_many
import pytest


@pytest.mark.parametrize(
    ("gigabytes", "limits", "processes"),
    [
        (64, {}, 8),
        (8, {}, 4),
        (1, {}, 1),
        (64, {"cpu.max": "200000 100000"}, 2),
        (64, {"cpu.max": "50000 100000", "memory.max": "max"}, 1),
        (64, {"cpu.max": "max 100000", "memory.max": str(6 * 2**30)}, 3),
    ],
)
def test_processes_follow_cores_memory_and_a_container_s_limits(monkeypatch, tmp_path, gigabytes, limits, processes):
    monkeypatch.delenv("PROCESSES", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 2**30, "SC_PHYS_PAGES": gigabytes}.get)
    monkeypatch.setattr(how_many, "LIMITS", tmp_path)
    for name, text in limits.items():
        (tmp_path / name).write_text(text + "\n")
    assert how_many.processes() == processes
    monkeypatch.setenv("PROCESSES", "5")
    assert how_many.processes() == 5


@pytest.mark.parametrize("given", ["0", "many", "-1"])
def test_what_is_no_number_of_processes_is_refused(monkeypatch, given):
    monkeypatch.setenv("PROCESSES", given)
    with pytest.raises(SystemExit, match="is no number of processes"):
        how_many.processes()


def test_as_a_program_it_says_the_number_to_make():
    environment = os.environ | {"PROCESSES": "3"}
    said = subprocess.run([sys.executable, how_many.__file__], env=environment, capture_output=True, text=True)
    assert said.stdout == "3\n"

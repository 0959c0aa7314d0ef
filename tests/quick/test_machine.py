"""Claims about the number of processes: it follows cores, memory and a container's limits, or what somebody set."""

import os

import machine
import pytest


@pytest.fixture
def computer(monkeypatch, tmp_path):
    """A machine of 8 cores; its memory and its container's limits are set by calling the fixture."""

    def has(gigabytes, **limits):
        monkeypatch.delenv("PROCESSES", raising=False)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
        monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 2**30, "SC_PHYS_PAGES": gigabytes}.get)
        monkeypatch.setattr(machine, "LIMITS", tmp_path)
        for name, text in limits.items():
            (tmp_path / name.replace("_", ".")).write_text(text + "\n")

    return has


@pytest.mark.parametrize(
    ("gigabytes", "limits", "processes"),
    [
        (64, {}, 8),
        (8, {}, 4),
        (1, {}, 1),
        (64, {"cpu_max": "200000 100000"}, 2),
        (64, {"cpu_max": "50000 100000", "memory_max": "max"}, 1),
        (64, {"cpu_max": "max 100000", "memory_max": str(6 * 2**30)}, 3),
    ],
)
def test_processes_follow_cores_memory_and_a_container_s_limits(computer, gigabytes, limits, processes):
    computer(gigabytes, **limits)
    assert machine.processes() == processes


def test_a_number_that_somebody_sets_goes_first_and_no_number_is_refused(computer, monkeypatch):
    computer(64)
    monkeypatch.setenv("PROCESSES", "3")
    assert machine.processes() == 3
    for given in ("0", "many", "-1"):
        monkeypatch.setenv("PROCESSES", given)
        with pytest.raises(SystemExit, match="is no number of processes"):
            machine.processes()

"""A stopped or killed `make results` goes on where it was, and a full disk ends it with a sentence."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

import psutil
import pytest

from experiments import results

PART = "front, TF-IDF"  # five runs


def start(folder, **options) -> subprocess.Popen:
    command = [sys.executable, "-m", "experiments.results", "--part", PART, folder]
    options |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=results.record.ROOT, **options)


def wait_for_a_run(folder, running: subprocess.Popen) -> None:
    while not (folder / "results.json").exists() and running.poll() is None:
        time.sleep(0.05)


def rows_of(folder) -> list[dict]:
    """The results without their CPU seconds, which no two runs share."""
    rows = json.loads((folder / "table.json").read_text())["results"]
    return [{name: value for name, value in row.items() if name != "cpu_seconds"} for row in rows]


def test_a_killed_run_goes_on_and_ends_with_the_table_of_an_undisturbed_one(tmp_path):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    first = start(killed)
    wait_for_a_run(killed, first)
    time.sleep(random.random())  # any moment will do: no seed here
    workers = psutil.Process(first.pid).children(recursive=True)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert workers and psutil.wait_procs(workers, timeout=20)[1] == [], "nobody told its workers"
    done = len(results.finished(killed / "results.json"))
    assert 1 <= done and not (killed / "table.json").exists(), "killed too late to show anything"

    again, whole = start(killed), start(undisturbed)
    output = again.communicate(timeout=300)[0]
    whole.communicate(timeout=300)
    assert f"5 runs, {done} of them done before." in output
    assert rows_of(killed) == rows_of(undisturbed)
    assert len(rows_of(killed)) == len(results.finished(killed / "results.json")) == 5


@pytest.mark.parametrize("early", [True, False], ids=["while workers start", "when a run is finished"])
def test_ctrl_c_ends_with_a_sentence_and_keeps_what_is_finished(tmp_path, early):
    running = start(tmp_path, start_new_session=True)
    assert "0 of them done before" in running.stdout.readline()
    if not early:
        wait_for_a_run(tmp_path, running)
    time.sleep(random.random())
    os.killpg(running.pid, signal.SIGINT)  # a terminal sends it to all processes at once
    output = running.communicate(timeout=60)[0]
    assert "Stopped. What is finished is kept" in output and "Traceback" not in output, output
    assert early or results.finished(tmp_path / "results.json")


def test_a_full_disk_ends_with_a_sentence_and_keeps_what_is_finished(tmp_path):
    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))  # one run, and the beginning of another

    stopped = start(tmp_path, preexec_fn=little_room)
    output = stopped.communicate(timeout=300)[0]
    assert stopped.returncode == 1 and "Traceback" not in output, output
    assert "results.json cannot be written (File too large). What is finished is kept" in output
    assert len(results.finished(tmp_path / "results.json")) == 1

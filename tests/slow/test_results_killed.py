"""A killed `make results` goes on where it was, and ends with the table of an undisturbed one."""

import json
import random
import signal
import subprocess
import sys
import time

from experiments import results, table

PART = ["--seeds", "3", "--only", "marked, mean pooling"]


def start(*arguments) -> subprocess.Popen:
    command = [sys.executable, "-m", "experiments.results", *map(str, arguments)]
    return subprocess.Popen(command, cwd=results.record.ROOT, stdout=subprocess.PIPE, text=True)


def rows_of(folder) -> list[dict]:
    """The results without their CPU seconds, which no two runs share."""
    rows = json.loads((folder / "table.json").read_text())["results"]
    return [{name: value for name, value in row.items() if name != "cpu_seconds"} for row in rows]


def test_a_killed_run_goes_on_and_ends_with_the_table_of_an_undisturbed_one(tmp_path):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    first = start(*PART, "--into", killed)
    lines = killed / "lines.jsonl"
    while not lines.exists() and first.poll() is None:
        time.sleep(0.05)
    time.sleep(random.random())  # any moment will do: no seed here
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = lines.read_bytes().count(b"\n")
    assert 1 <= done and not (killed / "table.json").exists(), "killed too late to show anything"
    with lines.open("a") as file:
        file.write('{"task": "marked", "mod')  # a line that the power cut broke off

    again, whole = start(*PART, "--into", killed), start(*PART, "--into", undisturbed)
    output = again.communicate(timeout=300)[0]
    whole.communicate(timeout=300)
    assert f"3 runs, {done} of them done before." in output
    assert rows_of(killed) == rows_of(undisturbed)
    assert len(rows_of(killed)) == 3
    assert len(results.finished(lines, table.made_by())) == 3  # the broken line spoiled none after it

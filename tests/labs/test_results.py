"""Claims about `make results`: it may be killed at any moment, and tells when its table is out of date."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import results

COMMAND = [sys.executable, "tools/results.py", "--seeds", "3", "--only", "marked, mean pooling"]


def start(folder: Path) -> subprocess.Popen:
    files = ["--lines", str(folder / "lines.jsonl"), "--table", str(folder / "table.json")]
    return subprocess.Popen([*COMMAND, *files], cwd=results.ROOT, stdout=subprocess.PIPE, text=True)


def table(folder: Path) -> list[dict]:
    """The results without their CPU seconds, which no two runs share."""
    rows = json.loads((folder / "table.json").read_text())["results"]
    return [{name: value for name, value in row.items() if name != "cpu_seconds"} for row in rows]


def test_a_killed_run_goes_on_and_ends_with_the_table_of_an_undisturbed_one(tmp_path):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    for folder in (undisturbed, killed):
        folder.mkdir()

    first = start(killed)
    lines = killed / "lines.jsonl"
    while not lines.exists() and first.poll() is None:
        time.sleep(0.05)
    time.sleep(random.random())  # any moment will do: no seed here
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = len(lines.read_text().splitlines())
    assert 1 <= done and not (killed / "table.json").exists(), "killed too late to show anything"
    with lines.open("a") as file:
        file.write('{"task": "marked", "mod')  # a line that the power cut broke off

    again, whole = start(killed), start(undisturbed)
    output = again.communicate(timeout=300)[0]
    whole.communicate(timeout=300)
    assert f"3 runs, {done} of them done before." in output
    assert table(killed) == table(undisturbed)
    assert len(table(killed)) == 3
    assert len(results.finished(lines, results.fingerprint())) == 3  # the broken line spoiled none after it


def test_lines_made_by_other_code_are_not_used_again(tmp_path):
    lines = tmp_path / "lines.jsonl"
    run = results.all_runs(1)[0]
    record = {"task": run.task, "model": run.model, "variant": run.variant, "seed": run.seed, "plain": 0.5}
    results.append(lines, record | {"made_by": "other"})
    assert results.finished(lines, "this") == {}
    assert results.finished(lines, "other") == {run: record}


def test_the_stored_table_is_whole_and_says_where_it_comes_from():
    stored = json.loads(results.TABLE.read_text())
    found = {results.Run(row["task"], row["model"], row["variant"], row["seed"]) for row in stored["results"]}
    assert found == set(results.all_runs(results.SEEDS))
    assert all(stored[name] for name in ("command", "date", "machine", "versions", "data"))
    if stored["made_by"] != results.fingerprint():
        warnings.warn(
            f"{os.path.relpath(results.TABLE, results.ROOT)} was made by other code on {stored['date']}: "
            "run `make results` when you have a quarter of an hour.",
            stacklevel=1,
        )

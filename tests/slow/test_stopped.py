"""Claims about Ctrl-C while labs run: the tool ends with a sentence, and leaves no process behind."""

import os
import signal
import subprocess
import sys
import time

import psutil
import small_course

SLEEPS = "import pathlib, time\n\npathlib.Path('../began').touch()\ntime.sleep(60)\nprint(trained)"
RUN = """
import pathlib, sys, safe_files, {tool}
{tool}.ROOT = pathlib.Path.cwd()
if __name__ == "__main__":
    safe_files.run({tool}.main, {arguments}, stopped="All is as it was.")
"""


def started(tool: str, root, arguments: str) -> subprocess.Popen:
    """Start a tool on the course at `root`, as a terminal does."""
    (root / "run.py").write_text(RUN.format(tool=tool, arguments=arguments))
    return subprocess.Popen(
        [sys.executable, "run.py"], cwd=root, text=True, start_new_session=True,
        env=dict(os.environ, PYTHONPATH=str(small_course.ROOT / "tools")),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_ctrl_c_while_a_lab_runs_ends_with_a_sentence_and_no_kernel(tmp_path):
    lab = small_course.make(tmp_path)
    small_course.change(lab, "print(trained)", SLEEPS)
    running = started("make_labs", tmp_path, "set(), False")
    while not (tmp_path / "began").exists() and running.poll() is None:
        time.sleep(0.1)
    below = psutil.Process(running.pid).children(recursive=True)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    said, _ = running.communicate(timeout=20)
    assert running.returncode and "Stopped. All is as it was." in said and "Traceback" not in said, said
    assert not psutil.wait_procs(below, timeout=10)[1]
    assert not lab.with_suffix(".ipynb").exists()

"""Every submission of tests/submissions.py, through the quick look and through otter.

Otter's part is skipped where it is not installed: instructors alone need it.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import grade_notebook
import instructor
import pytest
import submissions
from submissions import EVERY, HOSTILE

# Each can kill or outlive what runs it, where Linux shuts nothing in.
DANGEROUS = ["kills its parent", "leaves a process behind", "forks", "rewrites its course", "a lambda"]


shut_in = pytest.mark.skipif(not grade_notebook.alone(), reason="this system has no namespaces to shut a submission in")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return submissions.make_course(tmp_path_factory.mktemp("course") / "course")


@pytest.fixture(scope="module")
def table(course):
    found = {}
    waited_for = {name for name in EVERY if EVERY[name].remark == "did not end within"}
    for seconds, names in (("20", waited_for), ("300", EVERY.keys() - waited_for)):  # the machine may be busy
        folder = course.parent / f"in {seconds} seconds"
        submissions.hand_in(course, folder, names)
        looked = submissions.look(course, folder, "--seconds", seconds)
        assert looked.returncode == 0, looked.stdout + looked.stderr
        found |= submissions.rows(folder)
    return found


@shut_in
@pytest.mark.parametrize("name", EVERY)
def test_a_submission_gets_its_row_whatever_it_does(table, name):
    submissions.hold(name, table[name.replace(";", ",")])  # as in the table, which some would split at ;


def test_without_namespaces_a_run_that_was_ended_goes_on_and_harms_no_other_row(course):
    folder = course.parent / "open"
    submissions.hand_in(course, folder, DANGEROUS)
    for _ in range(4):
        looked = submissions.look(course, folder, "--seconds", "300", alone=False)
        if looked.returncode == 0:
            break
    assert looked.returncode == 0, looked.stdout + looked.stderr
    table = submissions.rows(folder)
    assert table["a lambda"]["total"] == "3" and "ended the whole run" in table["kills its parent"]["remark"]
    assert table["rewrites its course"]["total"] == "0" and table["leaves a process behind"]["total"] == "2"


@shut_in
@pytest.mark.skipif(
    not importlib.util.find_spec("otter"), reason="otter-grader is not installed: instructors alone need it"
)
@pytest.mark.parametrize("name", [*HOSTILE, "all right", "squared", "answers in new cells below the stubs"])
def test_otter_gives_points_for_what_is_right_alone(course, autograder, tmp_path, name):
    submissions.hand_in(course, tmp_path / "in", [name])
    command = ["-m", "otter", "run", "--no-logo", "-a", "11_small.zip", "-o", tmp_path, tmp_path / f"in/{name}.ipynb"]
    run = subprocess.run([sys.executable, *command], cwd=autograder, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    tests = json.loads((tmp_path / "results.json").read_text())["tests"]
    points = {test["name"]: test["score"] for test in tests if "score" in test}
    assert set(points) == set(submissions.ALL)
    assert tuple(name for name in submissions.ALL if points[name]) == EVERY[name].right


@pytest.fixture(scope="module")
def autograder(course):
    folder = course / "_build/instructor/otter"
    assert instructor.autograders(course, folder) == ["11_small"]
    shutil.rmtree(folder / "11_small")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    return folder

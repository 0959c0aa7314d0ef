"""Brings the notebooks of the labs up to date with their texts, and the repository's name with
_config.yml.

The rule: a stale lab is executed once, in a fresh kernel, as many side by side as the machine
allows; any other keeps its outputs. A notebook is replaced in one step, and only by an execution
that came to its end. One that somebody changed is left alone, and the new one goes to _build/new.
The lab's student edition follows; nothing executes it. Called with names, as in `python -m
tools.labs keys`, it leaves other labs alone; with `again` it executes all that it chose.
"""

import copy
import functools
import multiprocessing
import os
import re
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbclient
import nbformat

from shared import record
from tools import check_labs, identity, lab, student
from tools.lab import Lab, code_of, kernel_environment, signed, text_of

ROOT = Path(__file__).resolve().parents[1]


def execute(lab: Lab, notebook: nbformat.NotebookNode) -> None:
    """Execute a notebook in place.

    Raises RuntimeError with a message that names the cell and shows what went wrong.
    """
    metadata = copy.deepcopy(notebook.metadata)
    client = nbclient.NotebookClient(
        notebook,
        timeout=None,
        kernel_name="python3",
        record_timing=False,  # times would make each execution another file
        coalesce_streams=True,
        extra_arguments=[
            "--log-level=ERROR"
        ],  # it warns of eavesdroppers, and talks to nobody but this process
        resources={"metadata": {"path": str(lab.folder)}},
    )
    try:
        client.execute(env=kernel_environment(lab.root))
    except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.DeadKernelError) as error:
        failed = [cell for cell in code_of(notebook.cells) if cell.execution_count is not None][-1]
        where = lab.line_of(failed.source)
        trace = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
        raise RuntimeError(
            f"a code cell failed ({where}); the notebook was left as it was.\n\n{trace}\n"
        ) from None
    notebook.metadata = (
        metadata  # the kernel wrote its own version there, which is no part of the lab
    )


def bring_up_to_date(lab: Lab, again: bool = False) -> tuple[str, str]:
    """Bring the notebook of a lab up to date; return what was done, and where the new one is if it
    is left alone.

    Raises RuntimeError when a cell fails.
    """
    notebook, old = lab.notebook(), lab.stored(lab.notebook_file)
    inputs = lab.inputs()  # now: an edit during the execution makes the lab stale again
    reason = lab.why_stale(inputs) or ("as you asked" if again else "")
    before = text_of(lab.notebook_file)
    if reason:
        start = time.monotonic()
        execute(lab, notebook)
        done = f"executed in {time.monotonic() - start:.0f} s ({reason})"
    else:
        for cell, stored in zip(code_of(notebook.cells), code_of(old.cells), strict=True):
            cell.outputs, cell.execution_count = stored.outputs, stored.execution_count
        done = "up to date"
    new = lab.write(lab.notebook_file, signed(notebook, inputs))
    if not reason and text_of(lab.notebook_file) != before:
        done = "text updated, nothing executed"
    return done, new


def attempt(lab: Lab, again: bool) -> dict[Path, str] | None:
    """Bring one lab up to date and print one line about it.

    Returns where new notebooks are in place of those that readers changed; None where the lab is
    not as it should be.
    """
    try:
        done, new = bring_up_to_date(lab, again)
        left_alone = {
            lab.notebook_file: new,
            lab.student_file: lab.write(lab.student_file, student.text_of(lab)),
        }
        problems = check_labs.problems(lab)
    except (RuntimeError, ValueError) as error:
        print(f"{lab.name:<24} {error}", flush=True)
        return None
    print(
        "\n".join([f"{lab.name:<24} {done}", *(f"    {problem}" for problem in problems)]),
        flush=True,
    )
    return None if problems else left_alone


def worker_count() -> int:
    """Return how many labs run side by side: one a core, with 2 GB of memory each, or what
    PROCESSES says.
    """
    if given := os.environ.get("PROCESSES"):
        return int(given)
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, round(memory / 2**31)))


def main(root: Path, names: set[str], again: bool) -> int:
    """Bring all labs, or those with these names, up to date. Return the exit status."""
    # The last labs take longest: the short ones fill the gaps.
    chosen = lab.chosen(lab.course(root), names)[::-1]
    for path, text in identity.outdated(root).items():
        record.write(path, text)
        print(f"{path.name:<24} follows _config.yml")
    # Ctrl-C is for this process alone, which ends the others; their kernels see that and end
    # themselves.
    with ProcessPoolExecutor(
        worker_count(), initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    ) as pool:
        try:
            results = list(pool.map(functools.partial(attempt, again=again), chosen))
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                process.kill()
            raise
    left_alone = {file: new for result in results for file, new in (result or {}).items()}
    print(end=lab.about_those_left_alone(left_alone, root))
    return int(None in results)


if __name__ == "__main__":
    given = set(sys.argv[1:])
    sys.exit(main(ROOT, given - {"again"}, "again" in given))

"""Brings the notebooks of the labs up to date with their texts, and the repository's name with _config.yml.

The rule: a stale lab is executed once, in a fresh kernel, as many side by side as the machine allows; any other keeps
its outputs. A notebook is replaced in one step, and only by an execution that came to its end. One that somebody
changed by hand is kept in yours/ first. The lab's student edition follows; nothing executes it. Called with names or
numbers, as in `make_labs.py keys`, it leaves the other labs alone; with `again` it executes all that it chose.
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

import check_labs
import identity
import nbclient
import nbformat
import notebooks
import safe_files
import student

ROOT = Path(__file__).resolve().parents[1]


def execute(lab: Path, notebook: nbformat.NotebookNode) -> None:
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
        extra_arguments=["--log-level=ERROR"],  # it warns of eavesdroppers, and talks to nobody but this process
        resources={"metadata": {"path": str(lab.parent)}},
    )
    try:
        client.execute(env=notebooks.kernel_environment(lab.parent.parent))
    except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.DeadKernelError) as error:
        failed = [cell for cell in notebooks.code_cells(notebook) if cell.execution_count is not None][-1]
        where = notebooks.line_of(lab, failed.source)
        trace = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
        raise RuntimeError(f"a code cell failed ({where}); the notebook was left as it was.\n\n{trace}\n") from None
    notebook.metadata = metadata  # the kernel wrote its own version there, which is no part of the lab


def bring_up_to_date(lab: Path, again: bool = False) -> str:
    """Bring one lab up to date and return what was done. Raises RuntimeError when a cell fails."""
    target = lab.with_suffix(".ipynb")
    notebook, old = notebooks.generate(lab), notebooks.read(lab)
    inputs = notebooks.made_from(lab)  # now: an edit during the execution makes the lab stale again
    reason = notebooks.why_stale(lab) or ("as you asked" if again else "")
    note = (copied := notebooks.keep(target)) and f"; the changed notebook is stored as {copied}"
    if reason:
        start = time.monotonic()
        execute(lab, notebook)
        done = f"executed in {time.monotonic() - start:.0f} s ({reason}{note})"
    else:
        for cell, before in zip(notebooks.code_cells(notebook), notebooks.code_cells(old), strict=True):
            cell.outputs, cell.execution_count = before.outputs, before.execution_count
        done = "up to date"
    text = notebooks.sign(notebook, inputs)
    if not target.exists() or text != target.read_text("utf-8"):
        safe_files.write_whole(target, text)
        done = done if reason else "text updated, nothing executed"
    return done


def attempt(lab: Path, again: bool) -> bool:
    """Bring one lab up to date, print one line about it, and say whether it is as it should be."""
    try:
        done = bring_up_to_date(lab, again)
        if lab in notebooks.taught(lab.parents[1]) and (copy := student.write(lab, student.text_of(lab))):
            done += f"; the student edition that you worked in is stored as {copy}"
        problems = check_labs.problems(lab)
    except (RuntimeError, ValueError) as error:
        print(f"{lab.stem:<24} {error}", flush=True)
        return False
    print("\n".join([f"{lab.stem:<24} {done}", *(f"    {problem}" for problem in problems)]), flush=True)
    return not problems


def worker_count() -> int:
    """Return how many labs run side by side: one a core, with 2 GB of memory each, or what PROCESSES says."""
    if given := os.environ.get("PROCESSES"):
        return int(given)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, round(memory / 2**31)))


def main(names: set[str], again: bool) -> int:
    """Bring all labs, or those with these names or numbers, up to date. Return the exit status."""
    # The last labs take longest: the short ones fill the gaps.
    chosen = notebooks.chosen(ROOT, names)[::-1]
    student.tidy(ROOT)
    for path, text in identity.outdated(ROOT).items():
        safe_files.write_whole(path, text)
        print(f"{path.name:<24} follows _config.yml")
    # Ctrl-C is for this process alone, which ends the others; their kernels see that and end themselves.
    with ProcessPoolExecutor(
        worker_count(), initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    ) as pool:
        try:
            return 0 if all(list(pool.map(functools.partial(attempt, again=again), chosen))) else 1
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                process.kill()
            raise


if __name__ == "__main__":
    given = set(sys.argv[1:])
    safe_files.run(main, given - {"again"}, "again" in given)

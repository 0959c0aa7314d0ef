"""Grades a folder of submitted notebooks and writes a table: one row a student, one column an exercise.

The rule: what stands in the folder is a student's, a notebook or a folder of notebooks, and its name is the student's.
Each notebook runs as a copy, in a clean process, in a folder of its own, within limits of time, memory, processes and
files; `grade_worker.py` says which of its cells. What goes wrong there costs this student's row and no other. The
table lies beside the folder, under its name with .csv, and appears only when it is complete. No sandbox: see
book/instructors.md.
"""

import argparse
import ast
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import endings
import exercises
import notebooks
import psutil

ROOT = Path(__file__).resolve().parents[1]
MARK = "COURSE_SUBMISSION"  # in the environment of all processes of a submission, by which they are found again
NOTEBOOK_BYTES = 50_000_000
PROCESSES, FILES, FOLDER_BYTES = 20, 2_000, 200_000_000


@dataclass(frozen=True)
class Limits:
    """What a submission may take: seconds in all, seconds for one cell, gigabytes more than the imports take."""

    seconds: float = 60
    cell_seconds: float = 10
    gigabytes: float = 2


# What the labs ask


def plan(root: Path, number: str = "") -> dict[str, dict]:
    """Return for each lab (or the one with this number) what the worker needs to know of it.

    Raises ValueError when there is no such lab, none with exercises, or a malformed one.
    """
    every = exercises.read_all(root)
    chosen = {lab: found for lab, found in every.items() if not number or lab.name.startswith(f"{number.zfill(2)}_")}
    if not any(chosen.values()):
        have = ", ".join(lab.name[:2] for lab, found in every.items() if found)
        raise ValueError(f"No exercises in {'lab ' + number if number else 'the labs'}; the labs with some: {have}.")
    labs = {}
    for lab, found in chosen.items():
        code = notebooks.code_cells(notebooks.generate(lab))
        starts = {exercise.start_id for exercise in found}
        prelude = []
        for cell in code:
            tree = notebooks.parse_cell(cell.source)
            if cell.id not in starts and not notebooks.is_generated(cell) and isinstance(tree, ast.AST):
                definitions = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
                prelude += [ast.unparse(node) for node in tree.body if isinstance(node, definitions)]
        labs[lab.stem] = {
            "prelude": prelude,
            "known": [cell.source.strip() for cell in code if cell.id not in starts],
            "exercises": [
                {
                    "name": exercise.name,
                    "start_id": exercise.start_id,
                    "check": exercise.verdict.strip(),
                    "binds": sorted(set().union(*map(exercises.bound, ast.parse(exercise.start).body))),
                }
                for exercise in found
            ],
        }
    return labs


# One submission


def family(mark: str) -> list[psutil.Process]:
    """Return the processes that began in a submission, also those that left its process group."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def end(process: subprocess.Popen, mark: str) -> None:
    """Kill a submission and all that it started."""
    for _ in range(100):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        process.poll()
        alive = [member for member in family(mark) if member.status() != psutil.STATUS_ZOMBIE]
        if not alive:
            break
        for member in alive:
            try:
                member.kill()
            except psutil.Error:
                pass
        time.sleep(0.01)
    process.wait()


def excess(mark: str, folder: Path, gigabytes: float) -> str:
    """Say which limit a running submission passed; the empty text when none."""
    members, memory = family(mark), 0
    if len(members) > PROCESSES:
        return f"it started more than {PROCESSES} processes"
    for member in members:
        try:
            # What forked processes share counts once at most.
            memory += member.memory_full_info().uss if len(members) > 1 else member.memory_info().rss
        except psutil.Error:
            continue
    if memory > (gigabytes + 1) * 1e9:  # a gigabyte is for the imports
        return f"it took more than {gigabytes:g} GB of memory"
    files = size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            files += 1
            try:
                size += os.lstat(os.path.join(path, name)).st_size
            except OSError:
                continue
            if files > FILES or size > FOLDER_BYTES:
                return "it filled its folder"
    return ""


def run(notebook: Path, root: Path, labs: dict, limits: Limits, stopped: threading.Event) -> dict:
    """Run one notebook and return its lab, the findings by exercise, and a remark."""
    outcome = {"lab": None, "findings": {}, "remark": ""}
    if notebook.is_symlink() or not notebook.is_file() or notebook.suffix != ".ipynb":
        return outcome | {"remark": f"{notebook.name} is no notebook"}
    if notebook.stat().st_size > NOTEBOOK_BYTES:
        return outcome | {"remark": f"{notebook.name} is larger than {NOTEBOOK_BYTES // 10**6} MB"}
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        (place / "work").mkdir()
        shutil.copyfile(notebook, place / "submission.ipynb")
        shutil.copytree(root / "shared", place / "shared", ignore=shutil.ignore_patterns("__pycache__"))
        (place / "plan.json").write_text(json.dumps(labs), "utf-8")
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        own = {"HOME": str(place / "work"), "TMPDIR": str(place / "work"), "MPLBACKEND": "Agg", MARK: mark}
        threads = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        usual = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "CUDA_VISIBLE_DEVICES": ""}
        worker = [sys.executable, "-I", Path(__file__).with_name("grade_worker.py"), place, str(writer)]
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(
            [*worker, str(limits.cell_seconds), str(int(limits.gigabytes * 1e9))],
            cwd=place, env=usual | threads | own, stdin=nothing, stdout=nothing, stderr=nothing,
            pass_fds=[writer], start_new_session=True,
        )  # fmt: skip
        os.close(writer)
        start, said, reason = time.monotonic(), b"", ""
        try:
            while process.poll() is None and not reason:
                time.sleep(0.2)
                said += drain(reader, len(said))
                if time.monotonic() - start > limits.seconds:
                    reason = f"it did not end within {limits.seconds:g} seconds"
                elif stopped.is_set():
                    reason = "stopped"
                else:
                    reason = excess(mark, place, limits.gigabytes)
        finally:
            end(process, mark)
            said += drain(reader, len(said))
            os.close(reader)
    return outcome | judge(said, reason, process.returncode)


def drain(reader: int, have: int) -> bytes:
    """Return what waits in a pipe, up to a megabyte in all."""
    said = b""
    while have + len(said) < 1_000_000:
        try:
            more = os.read(reader, 65536)
        except BlockingIOError:
            break
        if not more:
            break
        said += more
    return said


def judge(said: bytes, reason: str, status: int) -> dict:
    """Return lab, findings and remark from what the worker said and how it ended."""
    outcome, done = {"lab": None, "findings": {}, "remark": ""}, None
    for line in said.decode(errors="replace").split("\n"):
        try:
            finding = json.loads(line)
        except ValueError:
            continue
        outcome["lab"] = finding.get("lab", outcome["lab"])
        done = finding.get("done", done)
        if "exercise" in finding:
            outcome["findings"][finding["exercise"]] = (finding["state"], finding["what"])
    if done is None:
        if not reason and status < 0:
            reason = f"it crashed ({signal.Signals(-status).name})"
        outcome["remark"] = reason or f"it left Python before its end (status {status})"
    else:
        outcome["remark"] = done
    return outcome


# The table


def submissions(folder: Path) -> dict[str, list[Path]]:
    """Return the notebooks of each student. Whatever else somebody handed in is listed too, for the remark."""
    found = {}
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        student = entry.name if entry.is_dir() else entry.stem
        inside = [entry]
        if entry.is_dir() and not entry.is_symlink():
            inside = sorted(path for path in entry.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
        found.setdefault(student, []).extend(inside)
    return found


def row(outcomes: list[dict], columns: dict[str, str]) -> dict[str, str]:
    """Return a student's row without the name. `columns` says of which lab each exercise is."""
    cells, remarks = {}, [outcome["remark"] for outcome in outcomes if outcome["remark"]]
    for name, lab in columns.items():
        own = [outcome for outcome in outcomes if outcome["lab"] == lab]
        state, what = own[0]["findings"].get(name, ("missing", "")) if len(own) == 1 else ("missing", "")
        if state == "missing" and own and own[0]["remark"]:
            state = "stopped"
        cells[name] = state
        if what:
            remarks.append(f"{name}: {what}")
    labs = [outcome["lab"] for outcome in outcomes if outcome["lab"]]
    remarks += [f"more than one notebook of {lab}, none counts" for lab in sorted(set(labs)) if labs.count(lab) > 1]
    if not outcomes:
        remarks.append("no notebook in this folder")
    total = sum(state == "correct" for state in cells.values())
    return {**cells, "total": str(total), "remark": "; ".join(remarks)}


def safe(text: str) -> str:
    """Return a text as a cell of a table: one line, not too long, and nothing a spreadsheet would calculate."""
    text = text.encode(errors="replace").decode()
    text = re.sub(r"\s+", " ", "".join(letter if letter.isprintable() else " " for letter in text)).strip()[:500]
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")) else text


def grade(root: Path, folder: Path, number: str, limits: Limits, at_once: int) -> Path:
    """Grade a folder by the labs below `root` and return the path of the table.

    Raises ValueError for a folder without submissions, or a lab without exercises.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder: name the one that holds the submitted notebooks.")
    labs, students = plan(root, number), submissions(folder)
    if not students:
        raise ValueError(f"{folder} is empty: put the submitted notebooks there, one for each student.")
    stopped = threading.Event()
    pool = ThreadPoolExecutor(at_once)
    runs = {s: [pool.submit(run, path, root, labs, limits, stopped) for path in paths] for s, paths in students.items()}
    outcomes = {}
    try:
        for student, own in runs.items():
            outcomes[student] = [future.result() for future in own]
            states = [state for outcome in outcomes[student] for state, _ in outcome["findings"].values()]
            print(f"{safe(student):<30} {states.count('correct')} correct", flush=True)
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
    seen = {outcome["lab"] for own in outcomes.values() for outcome in own} | (set(labs) if number else set())
    columns = {e["name"]: lab for lab in labs if lab in seen for e in labs[lab]["exercises"]}
    table = folder.resolve().with_name(f"{folder.resolve().name}.csv")
    lines = io.StringIO(newline="")
    writer = csv.DictWriter(lines, ["student", *columns, "total", "remark"])
    writer.writeheader()
    for student, own in outcomes.items():
        cells = {"student": student, **row(own, columns)}
        writer.writerow({name: safe(text) for name, text in cells.items()})
    endings.replace(table, lines.getvalue())
    return table


def main(arguments: list[str]) -> int:
    """Grade the folder that the arguments name and return the exit status."""
    usual = Limits()
    parser = argparse.ArgumentParser(prog="grade", description="Grades a folder of submitted notebooks.")
    parser.add_argument("folder", type=Path, help="one notebook, or one folder of notebooks, for each student")
    parser.add_argument("--lab", default="", help="grade this lab alone, as 05; else each notebook tells its own")
    parser.add_argument("--seconds", type=float, default=usual.seconds, help=f"for a notebook ({usual.seconds:g})")
    parser.add_argument("--gigabytes", type=float, default=usual.gigabytes, help=f"of memory ({usual.gigabytes:g})")
    cores = min(os.cpu_count() or 1, 4)
    parser.add_argument("--at-once", type=int, default=cores, help=f"notebooks that run side by side ({cores} here)")
    given = parser.parse_args(arguments)
    limits = Limits(given.seconds, min(usual.cell_seconds, given.seconds), given.gigabytes)
    try:
        table = grade(ROOT, given.folder, given.lab, limits, max(1, given.at_once))
    except ValueError as error:
        print(error)
        return 1
    print(f"The table is {table}.")
    return 0


if __name__ == "__main__":
    endings.run(main, sys.argv[1:], stopped="No table was written.")

"""Judges the answers in one notebook without running a line of it: `grade_worker.py` does that, shut in.

The rule: an answer counts when the course's check calls it correct, and when it gives what is right for inputs (and,
in a layer, weights) that were drawn here and stand in no notebook. The first is said in the student's own process, and
could be forged there; the second is compared here, where no code of the student's ever runs. Otter's tests and
`grade.py` both ask this module. It needs nothing of the course but what `course.zip` holds: the package `shared`, the
plan of the labs, and the worker.
"""

import atexit
import contextlib
import ctypes
import importlib
import io
import json
import os
import pickle
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import psutil

PROCESSES, FOLDER_BYTES, FOUND_BYTES = 20, 200_000_000, 20_000_000
# Where Linux lets it: a submission sees no process but its own, has no network, and nothing of it is left behind.
ALONE = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]


@dataclass
class Judged:
    """What became of a notebook: its lab, what is said of each exercise, and what ended it early, if anything."""

    lab: str = ""
    found: dict[str, dict] = field(default_factory=dict)
    remark: str = ""


@cache
def alone() -> list[str]:
    """Return the words in front of a command that shut it in, or none where the system does not have them."""
    try:
        works = subprocess.run([*ALONE, "true"], capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        works = False
    return ALONE if works else []


def judge(notebook: bytes, course: bytes, lab: str = "", seconds: float = 60, gigabytes: float = 2) -> Judged:
    """Run a notebook and judge its answers to the exercises of a lab; without one, of the lab that it fits best.

    Args:
        notebook: the file that was handed in.
        course: a zip with `shared`, the plan of the labs, and the worker; the same in all calls of one process.
        seconds: what the notebook may take in all, and gigabytes of memory more than PyTorch takes.
    """
    place = Path(tempfile.mkdtemp(prefix="judged-"))
    try:
        zipfile.ZipFile(io.BytesIO(course)).extractall(place)
        plan = json.loads((place / "plan.json").read_text("utf-8"))
        plan = {"labs": {lab: plan[lab]} if lab else plan, "seconds": min(10, seconds), "bytes": int(gigabytes * 1e9)}
        (place / "plan.json").write_text(json.dumps(plan), "utf-8")
        (place / "submission.ipynb").write_bytes(notebook)
        names = [exercise["name"] for lab in plan["labs"].values() for exercise in lab["exercises"]]
        (place / "trials.pkl").write_bytes(for_worker(course, tuple(names)))
        for folder in ("work", "found"):
            (place / folder).mkdir()
        judged = Judged(remark=run(place, seconds, gigabytes))
        judged.lab = {name: name for name in plan["labs"]}.get(said(place, "lab", str), "")
        judged.remark = judged.remark or said(place, "end", str)
        for exercise in plan["labs"].get(judged.lab, {"exercises": []})["exercises"]:
            name = exercise["name"]
            verdict = said(place, name, dict)
            if verdict.get("state") not in ("correct", "wrong", "not done yet"):
                verdict = {"state": "stopped" if judged.remark else "missing"}
            words = {part: verdict.get(part) for part in ("state", "mistake", "sentence")}
            verdict = {part: word[:1000] if isinstance(word, str) else "" for part, word in words.items()}
            if verdict["state"] == "correct" and not right(course, name, place / f"found/{name}.pt"):
                verdict |= {"state": "wrong", "mistake": "wrong for other inputs"}
                verdict["sentence"] = "Right for the inputs of the check in the notebook, and wrong for other inputs."
            judged.found[name] = verdict
        return judged
    finally:
        subprocess.run(["rm", "-rf", place], capture_output=True)  # folders may be nested deeper than Python can follow


# The student's process


def run(place: Path, seconds: float, gigabytes: float) -> str:
    """Run the worker within its limits, end all that it started, and say what ended it early, if anything."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # a process that leaves its parent becomes a child of this one
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "",
        "MPLBACKEND": "Agg",
    }
    work = {"HOME": str(place / "work"), "TMPDIR": str(place / "work")}
    process = subprocess.Popen(
        [*alone(), sys.executable, "-I", place / "grade_worker.py", place],
        cwd=place, env=environment | threads | work, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    began, reason = time.monotonic(), ""
    try:
        while process.poll() is None and not reason:
            time.sleep(0.1)
            if time.monotonic() - began > seconds:
                reason = f"it did not end within {seconds:g} seconds"
            else:
                reason = excess(place, gigabytes)
    finally:
        end(process)
    if reason or process.returncode == 0 and (place / "found/end.json").exists():
        return reason
    number = -process.returncode if process.returncode < 0 else process.returncode - 128  # said by unshare
    if number in set(signal.Signals):
        return f"it crashed ({signal.Signals(number).name})"
    return f"it left Python before its end (status {process.returncode})"


def family() -> list[psutil.Process]:
    """Return the living processes that began in the submission; nothing else starts any here."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def memory_of(process: psutil.Process) -> int:
    """Return the bytes that a process holds; where it does not hide them, of what forked ones share its part alone."""
    try:
        with contextlib.suppress(psutil.AccessDenied):
            about = process.memory_full_info()
            return getattr(about, "pss", about.uss)
        return process.memory_info().rss
    except psutil.Error:
        return 0


def excess(place: Path, gigabytes: float) -> str:
    """Say which limit a running submission passed; the empty text when none."""
    members = family()
    if len(members) > PROCESSES:
        return f"it started more than {PROCESSES} processes"
    memory = sum(map(memory_of, members))
    if memory > (gigabytes + 1) * 1e9:  # a gigabyte is for the imports
        return f"it took more than {gigabytes:g} GB of memory"
    size, folders = 0, [place / "work"]
    for folder in folders:
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                size += 1000 + entry.stat(follow_symlinks=False).st_size  # a file takes room in a table, too
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
            if size > FOLDER_BYTES or len(folders) > 1000:
                return "it filled its folder"
    return ""


def end(process: subprocess.Popen) -> None:
    """Kill a submission and all that it started."""
    for _ in range(100):
        for member in family():
            with contextlib.suppress(psutil.Error):
                member.kill()
        process.poll()
        if not family():
            break
        time.sleep(0.01)
    process.wait()


def said(place: Path, name: str, kind: type) -> object:
    """Return what the worker wrote of something, or an empty value: whatever lies there was written by a student."""
    path = place / f"found/{name}.json"
    try:
        what = json.loads(content(path))
    except (OSError, ValueError, RecursionError):
        what = None
    return what if isinstance(what, kind) else kind()


def content(path: Path) -> bytes:
    """Return the content of a plain file. Raises OSError for one that is too large, or a link, a pipe, a device."""
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode) or about.st_size > FOUND_BYTES:
        raise OSError(f"{path} is no plain file, or too large")
    return path.read_bytes()


# What nobody but this process knows


@cache
def exercises(course: bytes) -> dict:
    """Return the course's exercises with other numbers drawn than any notebook has seen."""
    own = tempfile.mkdtemp(prefix="course-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    zipfile.ZipFile(io.BytesIO(course)).extractall(own)
    sys.path.insert(0, own)
    import torch

    from shared import check
    from shared.check import exercise

    exercise.OTHERS = secrets.randbits(30)
    torch.manual_seed(exercise.OTHERS)
    torch.set_default_dtype(torch.float64)
    core = ("exercise", "mistakes", "run", "answer_code", "compare", "layer")
    for name, module in list(sys.modules.items()):
        if name.startswith("shared.check.") and name.split(".")[2] not in core:
            importlib.reload(module)
    return {name: e for name, e in vars(importlib.reload(check)).items() if isinstance(e, exercise.Exercise)}


@cache
def draw(course: bytes, name: str) -> list[dict]:
    """Return the trials of an exercise: inputs, and for a layer its parts, which stand in for those of an answer."""
    exercise, trials = exercises(course)[name], []
    import torch

    from shared.check import layer

    for case in exercise.cases:
        made = layer.disturbed(exercise.solution(*case.sizes).double().eval()) if exercise.parts else None
        parts, weights = {part: getattr(made, part) for part in exercise.parts}, {}
        for part, own in parts.items():
            if isinstance(own, torch.Tensor):
                weights[part] = {"weight": own.detach().T}
            else:
                weights[part] = {key: value.detach() for key, value in own.state_dict().items()}
            if "weight" in weights[part]:
                weights[part].setdefault("bias", torch.randn(len(weights[part]["weight"]), dtype=torch.float64))
        trials.append({"inputs": case.inputs, "parts": parts, "weights": weights})
    return trials


@cache
def for_worker(course: bytes, names: tuple[str, ...]) -> bytes:
    """Return the trials as a worker gets them. Inputs that cannot be sent it takes from its own cases."""
    sent = {
        name: [{"inputs": trial["inputs"], "weights": trial["weights"]} for trial in draw(course, name)]
        for name in names
    }
    for trial in (trial for trials in sent.values() for trial in trials):
        try:
            pickle.dumps(trial["inputs"])
        except (pickle.PicklingError, AttributeError, TypeError):
            trial["inputs"] = None
    return pickle.dumps((sys.modules["shared.check.exercise"].OTHERS, sent))


def right(course: bytes, name: str, file: Path) -> bool:
    """Say whether what an answer gave in the trials is right; whatever lies in the file was written by a student."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            packed = content(file)
            if sum(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(packed)).infolist()) > FOUND_BYTES:
                return False  # zeros pack well: a small file could unpack to more than this machine has
            given = torch.load(io.BytesIO(packed), weights_only=True)
        pairs = list(zip(draw(course, name), given, strict=True))
        return any(
            all(agrees(exercises(course)[name], trial, own, turned) for trial, own in pairs) for turned in (False, True)
        )
    except Exception:  # a file that is no file of PyTorch's raises whatever it likes
        return False


def agrees(exercise: object, trial: dict, given: dict, turned: bool) -> bool:
    """Say whether an answer is right in one trial. `turned`: a square matrix of its own stands as (out, in)."""
    import torch

    from shared.check import compare, layer

    parts = {}
    for part, own in trial["parts"].items():
        weights, took = trial["weights"][part], given["took"][part]
        if "weight" in weights and weights["weight"].dim() == 2:
            square = len(set(weights["weight"].shape)) == 1
            matrix = weights["weight"] if took == "matrix" and turned and square else weights["weight"].T
            bias = weights["bias"] if took == "bias" else 0.0
            parts[part] = layer.Map(lambda x, matrix=matrix, bias=bias: x @ matrix + bias)
        else:
            parts[part] = own
    with torch.no_grad():
        wanted = exercise.truth(**deepcopy(trial["inputs"]), **parts)
    try:
        compare.compare(given["gives"], wanted, "")
    except compare.Wrong:
        return False
    return True

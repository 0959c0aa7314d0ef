"""Runs the exercises of one submitted notebook; `grade.py` starts it, in a clean process and a folder of its own.

The rule: first the lab's import statements and its definitions of functions and classes, then, in their order, the
exercises' cells and whatever else the student added or changed; never the lab's own unchanged cells, which may train
for minutes. After an exercise's cell comes its check as the lab has it. Each finding goes at once to a pipe that
`grade.py` reads, so that nothing which is printed counts, and a crash loses only what would have come later.
"""

import ast
import builtins
import json
import math
import os
import resource
import signal
import sys
from pathlib import Path


class OutOfTime(BaseException):
    """Raised into a cell that takes too long; no Exception, so that `except Exception` does not swallow it."""


class Shell:
    """Stands in for IPython where a cell uses magics: `%%time` runs its cell, all others do nothing."""

    def __init__(self, namespace: dict):
        self.namespace = namespace

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        if name in ("time", "timeit", "capture"):
            exec(compile(cell, "<cell>", "exec"), self.namespace)

    def __getattr__(self, name: str):
        return lambda *args, **kwargs: None


def parse(source: str) -> ast.Module:
    """Return the syntax tree of a cell, magics turned into calls. Raises SyntaxError."""
    try:
        return ast.parse(source)
    except SyntaxError:
        from IPython.core.inputtransformer2 import TransformerManager

        return ast.parse(TransformerManager().transform_cell(source))


def read(path: Path) -> list[dict]:
    """Return the code cells of a notebook: the source, the metadata and the id. Raises ValueError for another file."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found = []
        for cell in cells:
            source, metadata = cell["source"], cell.get("metadata") or {}
            source = source if isinstance(source, str) else "".join(source)
            # Colab keeps ids in the metadata.
            ids = {str(cell.get("id")), str(metadata.get("id"))}
            if cell["cell_type"] == "code":
                found.append({"source": source.strip(), "exercise": metadata.get("exercise"), "ids": ids})
        return found
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("it is no notebook that can be read") from None


def binds(source: str) -> set[str]:
    """Return the names that a cell's own functions, classes and assignments have."""
    try:
        body = parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return names | {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def places(cells: list[dict], lab: dict) -> dict[int, dict]:
    """Return the exercise that each cell answers, by the cell's place: the last one that its marks or names fit."""
    found = {}
    names = [set() if cell["source"] in lab["known"] else binds(cell["source"]) for cell in cells]
    for exercise in lab["exercises"]:
        name, id = exercise["name"], exercise["start_id"]
        marked = [place for place, cell in enumerate(cells) if cell["exercise"] == name or id in cell["ids"]]
        # A program that dropped both marks left the names that the starting cell defines.
        named = [place for place in range(len(cells)) if names[place] & set(exercise["binds"])]
        for place in (marked or named)[-1:]:
            found[place] = exercise
    return found


def belongs_to(cells: list[dict], labs: dict) -> str | None:
    """Return the lab that most of the exercises belong to, or None."""
    counts = {name: len(places(cells, lab)) for name, lab in labs.items()}
    best = max(counts, key=counts.get, default=None)
    return best if best and counts[best] else None


def run(source: str, namespace: dict, seconds: float) -> BaseException | None:
    """Run a cell and return what it raised, if anything. Zero seconds are no limit."""
    me = os.getpid()

    def stop(*_):
        raise OutOfTime

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        exec(compile(parse(source), "<cell>", "exec"), namespace)
    except BaseException as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if os.getpid() != me:  # a process that the cell forked must not go on as if it were this one
            os._exit(0)
    return None


def snapshot() -> list[tuple[object, dict]]:
    """Return what checks rest on as it is before the student's code: modules and classes with their attributes."""
    import torch
    from torch import nn

    names = [name for name in sys.modules if name.split(".")[0] == "shared"]
    owners = [builtins, math, torch, torch.Tensor, nn, nn.functional, nn.Module, torch.linalg, torch.testing]
    for module in (sys.modules[name] for name in names):
        owners.append(module)
        owners += [part for part in vars(module).values() if isinstance(part, type) and part.__module__ in names]
    return [(owner, dict(vars(owner))) for owner in owners]


def restore(saved: list[tuple[object, dict]]) -> None:
    """Put back what the student's code changed, so that overwriting a check does not pass it."""
    for owner, before in saved:
        now = vars(owner)
        for name, value in before.items():
            if now.get(name) is not value:
                type.__setattr__(owner, name, value) if isinstance(owner, type) else setattr(owner, name, value)


def check(exercise: dict, namespace: dict, error: BaseException | None, checks: object, seconds: float) -> dict:
    """Return what the lab's own check says of the answer in the namespace."""
    if isinstance(error, NotImplementedError):
        return {"state": "not done yet", "what": ""}
    if isinstance(error, OutOfTime):
        return {"state": "wrong", "what": f"its cell did not end within {seconds:.0f} seconds"}
    result = {}
    call = f"result['verdict'] = {exercise['check']}"
    raised = run(call, {**namespace, "check": checks, "result": result}, seconds)
    verdict = result.get("verdict")
    if raised is None and type(verdict) is checks.Verdict:
        what = verdict.sentence if verdict.mistake == "raises" else verdict.mistake  # which error, and where
        return {"state": str(verdict.state), "what": str(what or "")[:500]}
    raised = error or raised
    return {"state": "wrong", "what": f"{type(raised).__name__}: {raised}"[:500]}


def main(place: Path, pipe: int, seconds: float, bytes_more: int) -> None:
    """Run the notebook `place/submission.ipynb` by the rules in `place/plan.json`."""

    def send(**finding) -> None:
        os.write(pipe, (json.dumps(finding) + "\n").encode())

    labs = json.loads((place / "plan.json").read_text("utf-8"))
    try:
        cells = read(place / "submission.ipynb")
    except ValueError as error:
        return send(done=str(error))
    name = belongs_to(cells, labs)
    if name is None:
        return send(done=f"it holds no exercise of {'lab ' + next(iter(labs)) if len(labs) == 1 else 'the course'}")
    lab = labs[name]
    send(lab=name)

    namespace = {"__name__": "__main__", "display": print}
    namespace["get_ipython"] = lambda: Shell(namespace)
    sys.path.insert(0, str(place))
    from shared import check as checks

    checks.run.SECONDS = seconds  # a grade must not hang on how busy the machine is
    for statement in lab["prelude"]:
        run(statement, namespace, seconds=0)  # without an alarm: a busy machine imports PyTorch slowly
    import torch

    torch.broadcast_shapes((1,), (1,))  # its first call imports for a second or more: not on a student's time
    saved = snapshot()
    # What the imports took is the base, for a PyTorch that knows CUDA reserves many gigabytes it never uses.
    if sys.platform == "linux":
        base = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (base + bytes_more, base + bytes_more))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000_000, 100_000_000))
    os.chdir(place / "work")

    answered = places(cells, lab)
    for number, cell in enumerate(cells):
        exercise = answered.get(number)
        if exercise:
            send(exercise=exercise["name"], state="stopped", what="")
            for bound in exercise["binds"]:
                namespace.pop(bound, None)  # a class of the lab with this name is no answer
        elif cell["source"] in lab["known"]:
            continue
        error = run(cell["source"], namespace, seconds)
        if exercise:
            restore(saved)
            send(exercise=exercise["name"], **check(exercise, namespace, error, checks, seconds))
    send(done="")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
    sys.stdout = sys.stderr = None
    os._exit(0)  # threads that a student left running hold nobody up

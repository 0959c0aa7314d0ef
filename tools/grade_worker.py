"""Runs the answers of one submitted notebook, in a process and a folder that `grade_notebook.py` made for it.

The rule: first the definitions of all cells that the student added or changed, in their order, and the check of each
exercise behind every cell that defines its answer, and once more at the end. What is not right by then gets a second
run, of those cells as they stand. The lab's own cells are never run, apart from its imports and definitions. What is
found of an exercise goes to a file at once, so that a crash loses only what would have come later. All of it is a
student's word: `grade_notebook.py` believes an answer only for what it gives on inputs that stand in no notebook.
"""

import ast
import contextlib
import hashlib
import json
import numbers
import os
import pickle
import resource
import signal
import sys
from pathlib import Path

DEFINITIONS = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef


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
    """Return the syntax tree of a cell, magics turned into calls; where it is no Python, a tree that says so."""
    try:
        try:
            return ast.parse(source)
        except SyntaxError:
            from IPython.core.inputtransformer2 import TransformerManager

            return ast.parse(TransformerManager().transform_cell(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return ast.parse(f"raise SyntaxError({str(error)!r})")


def read(path: Path) -> list[dict]:
    """Return the code cells of a notebook: the source, the metadata and the id. Raises ValueError for another file."""
    try:
        found = []
        for cell in json.loads(path.read_text(encoding="utf-8-sig"))["cells"]:
            source, metadata = cell["source"], cell.get("metadata") or {}
            source = source if isinstance(source, str) else "".join(source)
            # Colab keeps ids in the metadata.
            ids = {str(cell.get("id")), str(metadata.get("id"))}
            if cell["cell_type"] == "code":
                found.append({"source": source.strip(), "exercise": metadata.get("exercise"), "ids": ids})
        return found
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("it is no notebook that can be read") from None


def bound(tree: ast.Module) -> set[str]:
    """Return the names that a cell gives a meaning, be it as `double` or as `Double.forward`."""
    names, targets, statements = set(), [], list(tree.body)
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets += node.targets if isinstance(node, ast.Assign) else [node.target]
        else:  # behind an if, say
            statements += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return names | {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def answers(cell: dict, exercise: dict) -> bool:
    """Say whether a cell that is not the lab's own answers an exercise: by its mark, its id, or a name it defines."""
    marked = cell["exercise"] == exercise["name"] or exercise["start_id"] in cell["ids"]
    return marked or not exercise["binds"].isdisjoint(bound(cell["tree"]))


def run(tree: ast.Module, namespace: dict, seconds: float) -> BaseException | None:
    """Run a cell and return what it raised, if anything. Zero seconds are no limit."""
    me = os.getpid()

    def stop(*_):
        raise OutOfTime

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        exec(compile(tree, "<cell>", "exec"), namespace)
    except BaseException as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if os.getpid() != me:  # a process that the cell forked must not go on as if it were this one
            os._exit(0)
    return None


def judged(exercise: dict, answer: object, error: BaseException | None, checks: object, seconds: float) -> dict:
    """Return what the course's check says of an answer: the state, the mistake's name, the sentence."""
    state, mistake, sentence = "wrong", "raises", "It raises an error that cannot be told."
    try:
        if answer is not None and getattr(answer, "__module__", "").split(".")[0] == "shared":
            mistake, sentence = "the course's own", "This is the course's own, and no answer to the exercise."
        elif answer is not None:
            verdict = getattr(checks, exercise["name"])(answer)
            state, mistake, sentence = verdict.state, verdict.mistake, verdict.sentence
        elif isinstance(error, OutOfTime):
            mistake, sentence = "never ends", f"The cell of the answer did not end within {seconds:.0f} seconds."
        elif error is None or isinstance(error, NotImplementedError):
            state, mistake, sentence = "not done yet", None, "Nothing is there yet."
        else:
            sentence = f"The cell raises {type(error).__name__}: {error}"
    except BaseException:  # some errors raise others when they are to be told
        pass
    return {"state": state, "mistake": mistake, "sentence": sentence}


def outputs(check: object, answer: object, trials: list) -> list:
    """Return what an answer gives in trials with inputs, and for a layer weights, that `grade_notebook.py` drew."""
    import torch

    from shared.check import exercise, run

    for dtype in (torch.float64, torch.float32):
        try:
            with run.state_kept():
                torch.set_default_dtype(dtype)
                go = exercise.runner(answer, dtype)
                return [trial(check, answer, go, drawn, place) for place, drawn in enumerate(trials)]
        except exercise._DtypeTrouble:
            continue
    return []


def trial(check: object, answer: object, go: object, drawn: dict, place: int) -> dict:
    """Return what an answer gives for one set of inputs, and how its linear maps took their weights."""
    import torch

    from shared.check.exercise import _cast

    dtype, case = torch.get_default_dtype(), check.cases[place]
    inputs = {name: _cast(value, dtype) for name, value in (drawn["inputs"] or case.inputs).items()}
    if not check.parts:
        return {"gives": plain(check._seen(go(answer, *inputs.values()), inputs))}
    layer, took = go(lambda: answer(*case.sizes).eval()), {}
    with torch.no_grad():
        for name, weights in drawn["weights"].items():
            part = getattr(layer, name)
            if isinstance(part, torch.Tensor):  # kept as (in, out), unless its shape says otherwise
                matrix, took[name] = weights["weight"].T, "matrix"
                fits = part.shape == matrix.shape or 1 in matrix.shape
                part.copy_(matrix.reshape(part.shape) if fits else matrix.T)
            else:
                took[name] = "bias" if "bias" in part.state_dict() else "no bias"
                values = [value for key, value in weights.items() if key != "bias" or took[name] == "bias"]
                part.load_state_dict(dict(zip(part.state_dict(), values, strict=True)))  # whatever stands between them
    return {"gives": plain(check._seen(go(layer, *inputs.values()), inputs)), "took": took}


def plain(value: object) -> object:
    """Return a value as tensors, dicts, tuples and numbers, all that may leave this process."""
    import numpy as np
    import torch

    if isinstance(value, dict):
        return {key.item() if isinstance(key, np.generic) else key: plain(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(map(plain, value))
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (np.ndarray, np.generic)):
        return torch.as_tensor(value)
    return float(value) if isinstance(value, numbers.Real) else None


def main(place: Path) -> None:
    """Run the notebook `place/submission.ipynb` by the rules in `place/plan.json`."""
    plan = json.loads((place / "plan.json").read_text("utf-8"))
    seconds, labs = plan["seconds"], plan["labs"]

    def say(name: str, what: object) -> None:
        (place / "found/part").write_text(json.dumps(what))
        (place / "found/part").rename(place / f"found/{name}.json")

    try:
        cells = read(place / "submission.ipynb")
    except ValueError as error:
        return say("end", str(error))
    for cell in cells:
        cell["tree"] = parse(cell["source"])
    own = {name: [cell for cell in cells if cell["source"] not in lab["known"]] for name, lab in labs.items()}
    for lab in labs.values():
        for exercise in lab["exercises"]:
            exercise["binds"] = set(exercise["binds"])
    counts = {name: sum(any(answers(c, e) for c in own[name]) for e in lab["exercises"]) for name, lab in labs.items()}
    name = max(counts, key=counts.get)
    if not counts[name]:
        return say("end", f"it holds no exercise of {'lab ' + name if len(labs) == 1 else 'the course'}")
    say("lab", name)
    lab, cells, found = labs[name], own[name], {}

    sys.path.insert(0, str(place))
    import torch

    from shared import check as checks

    checks.run.SECONDS = seconds  # a mark must not hang on how busy the machine is
    checks.Exercise.use = lambda self, answer: answer
    prelude = [ast.parse(statement) for statement in lab["prelude"]]
    others, trials = pickle.loads((place / "trials.pkl").read_bytes())
    if sys.platform == "linux":
        # What PyTorch took is the base: one that knows CUDA reserves many gigabytes it never uses.
        base = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (base + plan["bytes"], base + plan["bytes"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000_000, 100_000_000))
    os.chdir(place / "work")

    def look(exercise: dict, namespace: dict, error: BaseException | None = None) -> None:
        name = exercise["name"]
        if found.get(name) == "correct":
            return
        answer = namespace.get(exercise["answer"])
        verdict = judged(exercise, answer, error, checks, seconds)
        found[name] = verdict["state"]
        if verdict["state"] == "correct":
            if any(hashlib.sha256(cell["source"].encode()).hexdigest() == exercise["solution"] for cell in cells):
                verdict["mistake"] = "letter for letter the course's"
            checks.exercise.OTHERS = others  # what a check draws to look at an answer is drawn anew, too
            with contextlib.suppress(Exception):
                torch.save(outputs(getattr(checks, name), answer, trials[name]), place / f"found/{name}.pt")
            checks.exercise.OTHERS = 0
        say(name, verdict)

    for whole in (False, True):
        namespace = {"__name__": "__main__", "display": print}
        namespace["get_ipython"] = lambda namespace=namespace: Shell(namespace)
        for statement in prelude:
            run(statement, namespace, seconds=0)  # without an alarm: a busy machine imports slowly
        met = set()
        for cell in cells:
            answered = [exercise for exercise in lab["exercises"] if answers(cell, exercise)]
            for exercise in answered:
                if exercise["name"] not in met:  # a class of the lab with this name is no answer
                    met.add(exercise["name"])
                    for bound_name in exercise["binds"]:
                        namespace.pop(bound_name, None)
            body = [node for node in cell["tree"].body if whole or isinstance(node, DEFINITIONS)]
            error = run(ast.Module(body, []), namespace, seconds)
            for exercise in answered:
                look(exercise, namespace, error)
        for exercise in lab["exercises"]:
            if exercise["name"] in met and namespace.get(exercise["answer"]) is not None:
                look(exercise, namespace)  # what it needs may stand further down
        tried = [e for e in lab["exercises"] if any(answers(c, e) and c["source"] != e["start"] for c in cells)]
        if all(found.get(exercise["name"]) == "correct" for exercise in tried):
            break
    say("end", "")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout = sys.stderr = None
    os._exit(0)  # threads that a student left running hold nobody up

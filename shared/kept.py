"""`fit` that remembers: a training that was made once, in this lab or another, is loaded instead of made again.

A file holds weights and history, under a name that is a digest of all that they come from. Files lie in
`_build/trained` of the course's folder, elsewhere in `trained` beside the notebook; LAB_KEPT names another place, and
LAB_KEPT= keeps nothing. Delete the folder to train anew.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from pickle import PicklingError

import joblib
import numpy as np
import torch
from torch import nn

from shared import training as plain
from shared.data import Examples
from shared.scale import checkpoints
from shared.training import History, Recipe, best_device

SHARED = Path(__file__).resolve().parent
IN_A_COPY = (SHARED.parent / "_toc.yml").is_file()  # of the repository; Colab has the package alone
USUAL = SHARED.parent / "_build/trained" if IN_A_COPY else Path("trained")


def fit(
    model: nn.Module, training: Callable[[int], Examples], validation: Examples, recipe: Recipe, seed: int = 0
) -> History:
    """Train as `shared.training.fit` does, or load what that gave before, and leave the model in the same state.

    A file that cannot be read or written is told, and changes nothing else. A run that was stopped is not kept.

    Raises:
        FloatingPointError: the loss became NaN or infinite.
    """
    path = _place(model, training, validation, recipe, seed)
    kept = _read(path) if path else None
    if kept:
        _say(f"Loaded, for the same was trained before. To train anew, delete {path.parent.resolve()}")
        model.to(best_device()).train().load_state_dict(kept["weights"])
        history = History(kept["history"])
        history.best_epoch = kept["best_epoch"]
    else:
        history = plain.fit(model, training, validation, recipe, seed)
        if path and not history.interrupted:
            _write(path, model, history)
    torch.manual_seed(seed)  # what is drawn next must not depend on whether anything was trained
    return history


def _place(
    model: nn.Module, training: Callable[[int], Examples], validation: Examples, recipe: Recipe, seed: int
) -> Path | None:
    """The file of this training, named by a digest of code, first weights, data, settings and of what rounds numbers.

    None where nothing is to be kept, or where the code of a class or one of its settings cannot be known.
    """
    folder, cells = os.environ.get("LAB_KEPT", USUAL), _cells_that_count(model)
    if not folder or cells is None:
        return None
    layers = [(name, type(part).__qualname__) for name, part in model.named_modules()]
    settings = [{k: v for k, v in vars(part).items() if not k.startswith("_")} for part in model.modules()]
    numbers = {name: part.numpy(force=True) for name, part in [*model.named_parameters(), *model.named_buffers()]}
    examples = [training(epoch) for epoch in range(1, recipe.epochs + 1)]
    training_of = layers, settings, numbers, examples, validation, recipe, seed
    rounding = torch.get_num_threads(), torch.backends.cpu.get_cpu_capability(), str(best_device())
    versions = sys.version, torch.__version__, np.__version__
    try:
        name = joblib.hash([_code_of_shared(), cells, training_of, rounding, versions])
    except PicklingError:  # a lambda among the settings, for instance
        return None
    return Path(folder) / f"{name}.pt"


def _cells_that_count(model: nn.Module) -> list[str] | None:
    """The cells run so far if the model has a class of the notebook's own, which may use all of them; else none.

    None, where such a class comes from elsewhere: what it uses is not known.
    """
    homes = {type(part).__module__ for part in model.modules()}
    foreign = {home for home in homes if home.partition(".")[0] not in ("shared", "torch")}
    notebook = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not foreign:
        return []
    return list(notebook.user_ns["In"]) if notebook and foreign == {"__main__"} else None


@cache
def _code_of_shared() -> list[str]:
    return [path.read_text("utf-8") for path in sorted(SHARED.rglob("*.py"))]


def _read(path: Path) -> dict | None:
    """What a file holds; None where there is none, or none that can be used."""
    try:
        kept = checkpoints.read(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _say(f"Trained anew: {path} is damaged or cannot be read ({type(error).__name__}).")
        return None
    if kept.get("digest") != path.stem:
        _say(f"Trained anew: {path} holds another training than its name says.")
        return None
    return kept


def _write(path: Path, model: nn.Module, history: History) -> None:
    """Keep a training; several processes may do so at once."""
    kept = {
        "digest": path.stem,
        "weights": model.state_dict(),
        "history": list(history),
        "best_epoch": history.best_epoch,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as own:
            checkpoints.write(Path(own) / path.name, kept)
            os.replace(Path(own) / path.name, path)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        _say(f"Trained, but not kept for the next time: {path.parent} cannot be written to ({reason}).")


@cache  # once for each sentence: a lab trains many models
def _say(sentence: str) -> None:
    print(sentence)

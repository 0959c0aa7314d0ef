"""Files that a killed run continues from, to the digit: weights, optimizer, random states and history.

A checkpoint appears under its name only when complete, and is checked when read. It is one line with the SHA-256 of
the rest, and the rest is what `torch.save` writes.
"""

import hashlib
import io
import os
from pathlib import Path

import torch
from torch import nn

from shared.scale import processes
from shared.training import History, Recipe

__all__ = ["read", "resume", "save", "write"]


def save(
    path: Path | str,
    recipe: Recipe,
    seed: int,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    history: History,
    best_weights: dict,
) -> None:
    """Write all that a run needs to go on after its last epoch; of several processes the first one writes.

    Raises:
        OSError: the file could not be written; the one before is kept.
    """
    states = processes.of_all(_random_state())
    state = {
        "run": _run(recipe, seed, model),
        "model": model.state_dict(),
        "best_weights": best_weights,
        "optimizer": optimizer.state_dict(),
        "random": states,
        "history": list(history),
        "best_epoch": history.best_epoch,
    }
    if processes.place()[0] == 0:
        write(Path(path), state)


def resume(
    path: Path | str,
    recipe: Recipe,
    seed: int,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    history: History,
) -> dict | None:
    """Bring model, optimizer, history and random states to where the file left them; the best weights so far.

    Without a file nothing happens. Of several processes the first one reads, and tells the others.

    Raises:
        ValueError: the file is damaged, belongs to another run, or has more epochs behind it than the recipe has.
    """
    path = Path(path)
    rank = processes.place()[0]
    state = processes.from_first(read(path) if rank == 0 and path.exists() else None)
    if state is None:
        return None
    for name, here in _run(recipe, seed, model).items():
        there = state["run"].get(name)
        if there != here:
            detail = "" if isinstance(here, dict) else f": {there} there, {here} here"
            raise ValueError(
                f"The checkpoint {path} belongs to another run, with other {name}{detail}. "
                "Start as before to continue it, or name another file."
            )
    done = len(state["history"])
    if recipe.epochs < done:
        raise ValueError(
            f"The checkpoint {path} has {done} epochs behind it, and this run asks for {recipe.epochs}. "
            f"Ask for {done} or more to continue it, or name another file."
        )
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    history[:] = state["history"]
    history.best_epoch = state["best_epoch"]
    own = state["random"][rank]
    torch.set_rng_state(own["cpu"])
    if "cuda" in own:
        torch.cuda.set_rng_state(own["cuda"])
    return state["best_weights"]


def write(path: Path, state: dict) -> None:
    """Write a checkpoint in one step.

    Raises:
        OSError: the disk is full, or something like it; what stood under this name before is kept.
    """
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getvalue()
    half = path.with_name(f".{path.name}.part")
    try:
        with half.open("wb") as file:
            file.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, path)
    except OSError as error:
        half.unlink(missing_ok=True)
        kept = "the one of the epoch before is kept" if path.exists() else "there is none of an epoch before"
        raise OSError(
            error.errno, f"The checkpoint {path} could not be written ({error.strerror}); {kept}. Make room and go on"
        ) from error


def read(path: Path) -> dict:
    """Read a checkpoint.

    Raises:
        ValueError: it is not whole.
    """
    digest, _, content = path.read_bytes().partition(b"\n")
    if digest != hashlib.sha256(content).hexdigest().encode():
        raise ValueError(
            f"{path} is no checkpoint, or a damaged one: its content does not fit the digest in its first line. "
            "Delete it to start from the first epoch, or name another file."
        )
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)


def _random_state() -> dict:
    state = {"cpu": torch.get_rng_state()}
    return state | {"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else state


def _run(recipe: Recipe, seed: int, model: nn.Module) -> dict:
    """What has to be the same for a run that continues, by name; it may ask for more epochs."""
    return {
        "learning rate": recipe.learning_rate,
        "batch size": recipe.batch_size,
        "seed": seed,
        "processes": processes.place()[1],
        "numbers": getattr(model, "numbers", "float32"),
        "dropout": [layer.p for layer in model.modules() if isinstance(layer, nn.Dropout)],
        "shapes of weights": {name: list(weight.shape) for name, weight in model.state_dict().items()},
    }

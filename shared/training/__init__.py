"""Fit a classifier to examples and measure it: a model and batches in, figures out.

Works for every model whose forward takes `ids` and `mask` and returns `logits` and `weights`, as those of
`shared.model` do. `python -m shared.training` trains from the command line, on several devices under torchrun.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from shared.data import Examples, Settings, batches
from shared.training import checkpoints, processes

__all__ = ["Evaluation", "History", "Recipe", "best_device", "evaluate", "fit", "mean_and_interval", "recipe_for"]


@dataclass(frozen=True)
class Recipe:
    """How to train: epochs over the data, Adam's learning rate, examples in a batch."""

    epochs: int
    learning_rate: float
    batch_size: int


def recipe_for(settings: Settings) -> Recipe:
    """The class recipe for 100,000 Yelp reviews, and one that learns from a few thousand for all else."""
    if (settings.source, settings.scale) == ("yelp", "full"):
        return Recipe(epochs=20, learning_rate=0.001, batch_size=1024)
    return Recipe(epochs=3, learning_rate=0.005, batch_size=64)


def best_device() -> torch.device:
    """CUDA where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


class History(list):
    """One record an epoch: epoch, train_loss, train_accuracy, validation_loss, validation_accuracy.

    `best_epoch` is the one whose weights the model has now; `interrupted` says that the reader stopped the run.
    """

    best_epoch: int | None = None
    interrupted: bool = False


@dataclass(frozen=True)
class Evaluation:
    """A model's figures on some examples; arrays are in the order of the examples."""

    loss: float
    accuracy: float
    share_on_labelled: float  # of the weights, mean over examples; the rest falls on the distractor
    logits: np.ndarray  # (examples,)
    labels: np.ndarray  # (examples,)


@torch.no_grad()
def evaluate(model: nn.Module, examples: Examples, batch_size: int = 256) -> Evaluation:
    """Loss, accuracy, and the share of attention on the labelled review, without dropout."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    logits = torch.empty(len(examples), device=device)
    share = torch.empty(len(examples), device=device)
    for batch in batches(examples, batch_size, device=device):
        index = torch.from_numpy(batch.index).to(device, non_blocking=True)
        logits[index], weights = model(batch.ids, batch.mask)
        share[index] = (weights * batch.labelled).sum(dim=1)
    model.train(was_training)
    labels = torch.from_numpy(examples.labels).to(logits)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, labels).item()
    accuracy = ((logits > 0) == labels.bool()).float().mean().item()
    return Evaluation(loss, accuracy, share.mean().item(), logits.cpu().numpy(), examples.labels)


def fit(
    model: nn.Module,
    training: Callable[[int], Examples],
    validation: Examples,
    recipe: Recipe,
    seed: int = 0,
    device: torch.device | str | None = None,
    checkpoint: Path | str | None = None,
) -> History:
    """Train with Adam on binary cross-entropy, and keep the weights of the epoch that validates best.

    In each of several processes that train together, every batch is shared out and the gradients are averaged.

    Args:
        training: gives the examples of an epoch, counted from 1, so that each epoch can draw new distractors.
        seed: of dropout and of the order of the batches.
        device: None takes CUDA where there is one.
        checkpoint: a file written after each epoch; where it exists already, the run continues from it.

    Returns:
        The history. A KeyboardInterrupt ends the run early and keeps the epochs done.

    Raises:
        FloatingPointError: the loss became NaN or infinite.
        ValueError: the checkpoint is damaged, or another run's.
        OSError: the checkpoint could not be written; the one before is kept.
    """
    rank, count = processes.place()
    device = best_device() if device is None else torch.device(device)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, fused=True)
    torch.manual_seed(seed + rank)
    history, best_weights = History(), None
    if checkpoint is not None:
        run = {"learning rate": recipe.learning_rate, "batch size": recipe.batch_size, "seed": seed}
        best_weights = checkpoints.resume(checkpoint, run, model, optimizer, history)
    together = model if count == 1 else DistributedDataParallel(model)
    try:
        for epoch in range(len(history) + 1, recipe.epochs + 1):
            examples = training(epoch)
            train_loss, train_accuracy = _one_epoch(together, examples, optimizer, recipe, seed * 1000 + epoch, device)
            if not math.isfinite(train_loss):
                raise FloatingPointError(
                    f"The loss became {train_loss} in epoch {epoch}. The usual reasons are a learning rate that is "
                    f"too large (here {recipe.learning_rate}) and a division by zero in the model; try a tenth of it."
                )
            now = evaluate(model, validation)
            history.append(
                {
                    "epoch": epoch,
                    "train_loss": train_loss,
                    "train_accuracy": train_accuracy,
                    "validation_loss": now.loss,
                    "validation_accuracy": now.accuracy,
                }
            )
            if now.accuracy >= max(record["validation_accuracy"] for record in history):
                history.best_epoch = epoch
                best_weights = copy.deepcopy(model.state_dict())
            if checkpoint is not None:
                checkpoints.save(checkpoint, run, model, optimizer, history, best_weights)
    except KeyboardInterrupt:
        history.interrupted = True
        print(f"Stopped by you after {len(history)} of {recipe.epochs} epochs; these are kept.")
    if best_weights is not None:
        model.load_state_dict(best_weights)
    return history


def _one_epoch(model, examples, optimizer, recipe, seed, device) -> tuple[float, float]:
    """Train on all examples once; the mean loss and accuracy along the way."""
    model.train()
    total_loss = torch.zeros((), device=device)  # summed where the model is: no waiting for a GPU at each step
    total_right = torch.zeros((), device=device)
    shares = batches(examples, recipe.batch_size, seed, device, part=processes.place())
    if processes.place()[0] == 0:
        shares = tqdm(shares, total=math.ceil(len(examples) / recipe.batch_size), leave=False)
    for batch in shares:
        logits, _ = model(batch.ids, batch.mask)
        # A batch may be too small for all processes; one without a share still takes part in the exchange.
        loss = nn.functional.binary_cross_entropy_with_logits(logits, batch.labels) if len(logits) else logits.sum()
        optimizer.zero_grad()
        (loss * batch.share).backward()
        optimizer.step()
        total_loss += loss.detach() * len(batch.labels)
        total_right += ((logits > 0) == batch.labels.bool()).sum()
    loss, right = processes.summed(torch.stack([total_loss, total_right])).tolist()
    return loss / len(examples), right / len(examples)


def mean_and_interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean of independent runs, and half the width of its 95% interval by Student's t.

    Raises:
        ValueError: fewer than two values, which have no spread.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        raise ValueError(f"An interval needs two runs or more; {len(values)} given. Train with more seeds.")
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean()), float(half)

"""Fit a classifier to examples and measure it: a model and batches in, figures out.

Works for every model whose forward takes `ids` and `mask` and returns `logits` and `weights`, as those of
`shared.model` do. `shared.scale` trains the same way in several processes, and from checkpoints.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from shared.data import Examples, Settings, batches
from shared.fast import faster
from shared.statistics import mean_and_interval as mean_and_interval


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


@dataclass(frozen=True)
class Evaluation:
    """A model's figures on some examples; arrays are in the order of the examples."""

    loss: float
    accuracy: float
    share_on_labelled: float  # of the weights, mean over examples; the rest falls on the distractor
    logits: np.ndarray  # (examples,)
    labels: np.ndarray  # (examples,)


class History(list):
    """One record an epoch: epoch, train_loss, train_accuracy, validation_loss, validation_accuracy.

    `best_epoch` is the one whose weights the model has now; `interrupted` says that the reader stopped the run.
    """

    best_epoch: int | None = None
    interrupted: bool = False

    def add(self, train_loss: float, train_accuracy: float, validation: Evaluation) -> bool:
        """Put down an epoch, and say whether it validates best, or as well as the best one before."""
        self.append(
            {
                "epoch": len(self) + 1,
                "train_loss": train_loss,
                "train_accuracy": train_accuracy,
                "validation_loss": validation.loss,
                "validation_accuracy": validation.accuracy,
            }
        )
        is_best = validation.accuracy >= max(record["validation_accuracy"] for record in self)
        if is_best:
            self.best_epoch = len(self)
        return is_best


@torch.no_grad()
def evaluate(model: nn.Module, examples: Examples, batch_size: int = 128) -> Evaluation:
    """Loss, accuracy, and the share of attention on the labelled review, without dropout."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    logits = torch.empty(len(examples), device=device)
    share = torch.empty(len(examples), device=device)
    with faster(model):
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
) -> History:
    """Train with Adam on binary cross-entropy, and keep the weights of the epoch that validates best.

    Args:
        training: gives the examples of an epoch, counted from 1, so that each epoch can draw new distractors.
        seed: of dropout and of the order of the batches.
        device: None takes CUDA where there is one.

    Returns:
        The history. A KeyboardInterrupt ends the run early and keeps the epochs done.

    Raises:
        FloatingPointError: the loss became NaN or infinite.

    Source: Adam, Kingma and Ba 2015.
    """
    device = best_device() if device is None else torch.device(device)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, fused=True)
    torch.manual_seed(seed)
    history, best_weights = History(), None
    try:
        for epoch in range(1, recipe.epochs + 1):
            loss, accuracy = one_epoch(model, training(epoch), optimizer, recipe, seed * 1000 + epoch, device)
            check_loss(loss, epoch, recipe)
            if history.add(loss, accuracy, evaluate(model, validation)):
                best_weights = copy.deepcopy(model.state_dict())
    except KeyboardInterrupt:
        history.interrupted = True
        print(f"Stopped by you after {len(history)} of {recipe.epochs} epochs; these are kept.")
    if best_weights is not None:
        model.load_state_dict(best_weights)
    return history


def one_epoch(
    model: nn.Module,
    examples: Examples,
    optimizer: torch.optim.Optimizer,
    recipe: Recipe,
    seed: int,
    device: torch.device,
) -> tuple[float, float]:
    """Train on all examples once; the mean loss and accuracy along the way."""
    model.train()
    total_loss = torch.zeros((), device=device)  # summed where the model is: no waiting for a GPU at each step
    total_right = torch.zeros((), device=device)
    steps = math.ceil(len(examples) / recipe.batch_size)
    with faster(model):
        for batch in tqdm(batches(examples, recipe.batch_size, seed, device), total=steps, leave=False):
            logits, _ = model(batch.ids, batch.mask)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, batch.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_loss += loss.detach() * len(batch.labels)
            total_right += ((logits > 0) == batch.labels.bool()).sum()
    loss, right = torch.stack([total_loss, total_right]).tolist()
    return loss / len(examples), right / len(examples)


def check_loss(loss: float, epoch: int, recipe: Recipe) -> None:
    """Raise a FloatingPointError with the usual reasons unless the loss is a finite number."""
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The loss became {loss} in epoch {epoch}. The usual reasons are a learning rate that is "
            f"too large (here {recipe.learning_rate}) and a division by zero in the model; try a tenth of it."
        )

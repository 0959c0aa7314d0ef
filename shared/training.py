"""Train a classifier and measure it, on a CPU, on CUDA, or in processes started by torchrun."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.functional import binary_cross_entropy_with_logits
from tqdm import tqdm

from shared.data import Examples, batches
from shared.reviews import Settings


@dataclass(frozen=True)
class Recipe:
    """How to train: epochs, Adam's learning rate, examples in a batch (of all processes).

    Raises:
        ValueError: epochs or batch size below 1, or a learning rate that is not positive.
    """

    epochs: int
    learning_rate: float
    batch_size: int

    def __post_init__(self):
        if self.epochs < 1 or self.batch_size < 1 or not self.learning_rate > 0:
            raise ValueError(
                f"{self}: give 1 epoch or more, batches of 1 or more, and a positive learning rate."
            )


def recipe_for(settings: Settings) -> Recipe:
    """One recipe for 100,000 Yelp reviews; for all else, one that learns from a few thousand."""
    if (settings.source, settings.scale) == ("yelp", "full"):
        return Recipe(epochs=20, learning_rate=0.001, batch_size=1024)
    return Recipe(epochs=3, learning_rate=0.005, batch_size=64)


def best_device() -> torch.device:
    """CUDA where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def rank_and_size() -> tuple[int, int]:
    """The rank of this process, and how many train together; (0, 1) without torchrun."""
    together = distributed.is_available() and distributed.is_initialized()
    return (distributed.get_rank(), distributed.get_world_size()) if together else (0, 1)


@dataclass(frozen=True)
class History:
    """For each epoch its number, and loss and accuracy in training and in validation.

    `best_epoch`, counted from 1, is the one whose parameters the model has; 0: none was completed.
    """

    epochs: tuple[dict[str, float], ...]
    best_epoch: int


def fit(
    model: nn.Module,
    training_examples: Callable[[int], Examples], validation_examples: Examples,
    recipe: Recipe, seed: int = 0, after_epoch: Callable[[dict[str, float]], None] | None = None,
) -> History:  # fmt: skip
    """Train with Adam; the model keeps the parameters of the epoch that validated best.

    That is the one with the highest validation accuracy. Of several processes, each takes its part
    of every batch, and all end with the same parameters. Ctrl-C ends the training early, with the
    best of the epochs done. The model ends in evaluation mode.

    Args:
        training_examples: takes the epoch's number, from 1, and returns its examples; so each epoch
            may draw new distractors.
        seed: of dropout and of the order of the batches.
        after_epoch: called with the record of each epoch, for instance to test the model.

    Raises:
        FloatingPointError: the loss became NaN or infinite.

    Source: Adam, Kingma and Ba 2015.
    """
    rank, world_size = rank_and_size()
    model.to(best_device())
    # Averages the gradients over the processes in the backward pass: all take the same step.
    parallel = nn.parallel.DistributedDataParallel(model) if world_size > 1 else model
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, fused=True)
    torch.manual_seed(seed + rank)  # each process draws its own dropout
    epochs: list[dict[str, float]] = []
    best_epoch, best_accuracy, best_state = 0, 0.0, {}
    try:
        for epoch in range(1, recipe.epochs + 1):
            examples = training_examples(epoch)
            # a seed of its own for every epoch
            rows = examples.batch_rows(recipe.batch_size, seed * 1000 + epoch)
            loss, accuracy = train_epoch(parallel, optimizer, examples, rows)
            if not math.isfinite(loss):
                raise FloatingPointError(
                    f"The loss became {loss} in epoch {epoch}. The usual reasons are a learning "
                    f"rate that is too large (here {recipe.learning_rate}: try a tenth of it) and "
                    "a division by zero in the model."
                )
            record = {"epoch": epoch, "train_loss": loss, "train_accuracy": accuracy}
            validation = evaluate(model, validation_examples)
            record["validation_loss"] = validation.loss
            record["validation_accuracy"] = validation.accuracy
            epochs.append(record)
            if validation.accuracy >= best_accuracy:  # of equal ones, the last
                best_epoch, best_accuracy = epoch, validation.accuracy
                best_state = copy.deepcopy(model.state_dict())
            if after_epoch is not None:
                after_epoch(record)
    except KeyboardInterrupt:
        print(f"Stopped after {len(epochs)} of {recipe.epochs} epochs; the model keeps the best.")
    if best_epoch:
        model.load_state_dict(best_state)
    model.eval()
    return History(tuple(epochs), best_epoch)


def train_epoch(
    model: nn.Module, optimizer: torch.optim.Optimizer, examples: Examples, rows: list[np.ndarray]
) -> list[float]:
    """A step for each batch of `rows`; returns the mean loss and the accuracy while training."""
    rank, world_size = rank_and_size()
    device = next(model.parameters()).device
    # loss and right answers, on the device: no step waits for a GPU
    totals = torch.zeros(2, device=device)
    model.train()
    for batch_rows in rows if rank else tqdm(rows, leave=False):
        batch = examples.batch(batch_rows[rank::world_size]).to(device)
        logits, _ = model(batch.ids, batch.mask)
        loss = binary_cross_entropy_with_logits(logits, batch.labels, reduction="sum")
        optimizer.zero_grad()
        # Averaged over the processes, these give the gradient of the whole batch's mean loss.
        (loss * world_size / len(batch_rows)).backward()
        optimizer.step()
        totals += torch.stack([loss.detach(), ((logits > 0) == batch.labels.bool()).sum()])
    if world_size > 1:
        distributed.all_reduce(totals)
    return (totals / len(examples)).tolist()


@dataclass(frozen=True)
class Evaluation:
    """A classifier's results on some examples; arrays are in the order of the examples."""

    loss: float
    accuracy: float
    # mean over the examples; the remaining attention falls on the distractor
    attention_on_target: float
    logits: np.ndarray  # (examples,)
    labels: np.ndarray  # (examples,)


@torch.no_grad()
def evaluate(model: nn.Module, examples: Examples, batch_size: int = 128) -> Evaluation:
    """Loss, accuracy, and the attention on the target review, without dropout."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    logits = torch.empty(len(examples), device=device)
    attention = torch.empty(len(examples), device=device)
    for batch in batches(examples, batch_size, device=device):
        rows = torch.from_numpy(batch.rows).to(device)
        batch_logits, weights = model(batch.ids, batch.mask)
        logits[rows] = batch_logits
        attention[rows] = (weights * batch.in_target).sum(dim=1)
    model.train(was_training)
    labels = torch.from_numpy(examples.labels).to(logits)
    loss = binary_cross_entropy_with_logits(logits, labels).item()
    accuracy = ((logits > 0) == labels.bool()).float().mean().item()
    return Evaluation(
        loss, accuracy, attention.mean().item(), logits.cpu().numpy(), examples.labels
    )

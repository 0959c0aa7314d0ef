"""`shared.training.fit` for one process or several, going on from a checkpoint where there is one.

Alone and without a checkpoint it gives the same history, to the digit.
"""

import copy
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from shared.data import Examples, batch_rows, make_batch
from shared.fast import faster
from shared.scale import checkpoints, processes
from shared.training import History, Recipe, best_device, check_loss, evaluate

__all__ = ["InBfloat16", "fit"]


class InBfloat16(nn.Module):
    """A model whose matrix products are computed in bfloat16; weights, softmax and results keep float32."""

    numbers = "bfloat16"  # a checkpoint notes it

    def __init__(self, net: nn.Module):
        super().__init__()
        self.net = net

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        with torch.autocast(ids.device.type, torch.bfloat16):
            logits, weights = self.net(ids, mask)
        return logits.float(), weights.float()


def fit(
    model: nn.Module,
    training: Callable[[int], Examples],
    validation: Examples,
    recipe: Recipe,
    seed: int = 0,
    device: torch.device | str | None = None,
    checkpoint: Path | str | None = None,
) -> History:
    """Train as `shared.training.fit` does; each of several processes takes a part of every batch.

    Args:
        checkpoint: a file written after each epoch; where it exists already, the run continues from it.

    Raises:
        FloatingPointError: the loss became NaN or infinite.
        ValueError: the checkpoint is damaged, another run's, or has more epochs behind it than the recipe asks for.
        OSError: the checkpoint could not be written; the one before is kept.
    """
    rank, count = processes.place()
    device = best_device() if device is None else torch.device(device)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, fused=True)
    torch.manual_seed(seed + rank)  # each process draws a dropout of its own
    history, best_weights = History(), None
    if checkpoint is not None:
        best_weights = checkpoints.resume(checkpoint, recipe, seed, model, optimizer, history)
    together = model if count == 1 else DistributedDataParallel(model)
    try:
        for epoch in range(len(history) + 1, recipe.epochs + 1):
            loss, accuracy = one_epoch(together, training(epoch), optimizer, recipe, seed * 1000 + epoch, device)
            check_loss(loss, epoch, recipe)
            if history.add(loss, accuracy, evaluate(model, validation)):
                best_weights = copy.deepcopy(model.state_dict())
            if checkpoint is not None:
                checkpoints.save(checkpoint, recipe, seed, model, optimizer, history, best_weights)
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
    """Train on this process's part of all batches; the mean loss and accuracy over all processes."""
    rank, count = processes.place()
    model.train()
    total_loss = torch.zeros((), device=device)
    total_right = torch.zeros((), device=device)
    with faster(model):
        for rows in tqdm(
            batch_rows(examples, recipe.batch_size, seed), leave=False, disable=None if rank == 0 else True
        ):
            # A batch may be too small for all processes; one whose part is empty still takes part in the exchange.
            batch = make_batch(examples, rows[rank::count]).to(device)
            logits, _ = model(batch.ids, batch.mask)
            loss = nn.functional.binary_cross_entropy_with_logits(logits, batch.labels, reduction="sum")
            optimizer.zero_grad()
            (loss * count / len(rows)).backward()  # the gradients' mean over processes is then that of the whole batch
            optimizer.step()
            total_loss += loss.detach()
            total_right += ((logits > 0) == batch.labels.bool()).sum()
    loss, right = processes.summed(torch.stack([total_loss, total_right])).tolist()
    return loss / len(examples), right / len(examples)

"""Several processes that train one model together, as torchrun starts them: this one's place, and what goes around.

Each process has a device of its own, or a core. Alone, a process is the first of one, and nothing goes around.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
from torch import Tensor, distributed

__all__ = ["another_was_lost", "from_first", "of_all", "place", "summed", "together"]

PATIENCE = timedelta(minutes=3)  # how long a process waits for the others before it calls one of them lost


def place() -> tuple[int, int]:
    """The rank of this process, and how many train together; (0, 1) when it is alone."""
    several = distributed.is_available() and distributed.is_initialized()
    return (distributed.get_rank(), distributed.get_world_size()) if several else (0, 1)


def summed(numbers: Tensor) -> Tensor:
    """The sum of a tensor over all processes; each of them has to ask for it."""
    if place()[1] > 1:
        distributed.all_reduce(numbers)
    return numbers


def of_all(value: object) -> list:
    """The values that all processes have, by rank; each of them has to ask."""
    rank, processes = place()
    values = [value] * processes
    if processes > 1:
        distributed.all_gather_object(values, value)
    return values


def from_first(value: object) -> object:
    """The value that the first process has; each of them has to ask."""
    values = [value]
    if place()[1] > 1:
        distributed.broadcast_object_list(values)
    return values[0]


def another_was_lost(error: RuntimeError) -> bool:
    """Whether an error says that another process did not answer any more."""
    # Gloo's errors have no class of their own when they come through the backward pass.
    return isinstance(error, distributed.DistError) or "gloo" in str(error)


@contextmanager
def together() -> Iterator[None]:
    """Join the processes that torchrun started, over NCCL with a GPU each, or else over Gloo; alone, do nothing.

    Raises:
        ValueError: there are GPUs, and fewer than processes on this machine.
    """
    if "LOCAL_RANK" not in os.environ:  # torchrun sets it; some clusters set other such names for any program
        yield
        return
    gpus, local = torch.cuda.device_count(), int(os.environ["LOCAL_RANK"])
    if gpus and local >= gpus:
        raise ValueError(
            f"Process {local + 1} on this machine has no GPU left: there are {gpus}. Start at most "
            f"--nproc-per-node={gpus}, or hide them with CUDA_VISIBLE_DEVICES= to train on processors."
        )
    if gpus:
        torch.cuda.set_device(local)
    distributed.init_process_group("nccl" if gpus else "gloo", timeout=PATIENCE)
    try:
        yield
    finally:
        distributed.destroy_process_group()

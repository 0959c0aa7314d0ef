"""The most memory that tensors take at one time while a function runs."""

import weakref
from collections.abc import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def peak_bytes(function: Callable, *inputs: object, **options: object) -> int:
    """Call the function with the inputs; return the most bytes that tensors made in it take at one time.

    A tensor counts from when an operation returns it until nothing holds it any more; views count once. What an
    operation needs inside itself is not seen, nor are tensors made before. The count is the same on every machine.
    """
    meter = _Meter()
    with meter:
        function(*inputs, **options)
    return meter.peak


class _Meter(TorchDispatchMode):
    """Hears of every operation of PyTorch, those of the backward pass included."""

    def __init__(self):
        super().__init__()
        self.alive = set()
        self.now = self.peak = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        given = {tensor.untyped_storage().data_ptr() for tensor in tree_leaves((args, kwargs)) if _is_tensor(tensor)}
        for storage in (tensor.untyped_storage() for tensor in tree_leaves(result) if _is_tensor(tensor)):
            address, size = storage.data_ptr(), storage.nbytes()
            if size and address not in self.alive | given:  # else a view of what is counted, or of what came before
                self.alive.add(address)
                self.now += size
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self._freed, address, size)
        return result

    def _freed(self, address: int, size: int) -> None:
        self.alive.discard(address)
        self.now -= size


def _is_tensor(leaf: object) -> bool:
    return isinstance(leaf, torch.Tensor)

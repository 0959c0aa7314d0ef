"""What a computation costs: multiplications, and operations of PyTorch."""

from collections.abc import Callable

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode


def multiplications(function: Callable, *inputs: object, **options: object) -> int:
    """Call the function with the inputs; return the number of multiplications in its matrix
    products.

    PyTorch counts each multiplication with the addition that follows it, hence the half.
    """
    with FlopCounterMode(display=False) as counter:
        function(*inputs, **options)
    return counter.get_total_flops() // 2


def operations(function: Callable, *inputs: object, **options: object) -> int:
    """Call the function with the inputs; return how many operations of PyTorch it starts, views
    included.
    """
    with _Counter() as counter:
        function(*inputs, **options)
    return counter.count


class _Counter(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count += 1
        return operation(*args, **(kwargs or {}))

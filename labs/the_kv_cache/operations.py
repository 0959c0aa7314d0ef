"""How many operations of PyTorch a computation starts."""

from collections.abc import Callable

from torch.utils._python_dispatch import TorchDispatchMode


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

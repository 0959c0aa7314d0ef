"""What a computation costs: its multiplications."""

from collections.abc import Callable

from torch.utils.flop_counter import FlopCounterMode


def multiplications(function: Callable, *inputs: object, **options: object) -> int:
    """Call the function with the inputs; count the multiplications in its matrix products.

    PyTorch counts each multiplication with the addition that follows it, hence the half.
    """
    with FlopCounterMode(display=False) as counter:
        function(*inputs, **options)
    return counter.get_total_flops() // 2

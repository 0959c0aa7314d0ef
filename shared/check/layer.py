"""The reader's layer: its linear maps, whichever way they were written, and whether it could learn."""

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .compare import kind
from .mistakes import Wrong
from .run import Raised
from .words import _

Widths = dict[str, tuple[int, int]]


class Map:
    """A linear map of the reader's layer as a function; `x @ map` works as well. Its gradient goes nowhere."""

    def __init__(self, function: Callable[[Tensor], Tensor]):
        self.function = function

    def __call__(self, x: Tensor) -> Tensor:
        return self.function(x).detach()

    __rmatmul__ = __call__


def check_kind(answer: Any, layer: bool) -> None:
    """Raise Wrong unless the answer is what the exercise asks for: a layer's class, or a function."""
    if layer and not inspect.isclass(answer):
        raise Wrong("not a class", kind=kind(answer))
    if layer and not issubclass(answer, nn.Module):
        raise Wrong("not a layer", name=answer.__name__)
    if not layer and (inspect.isclass(answer) or not callable(answer)):
        raise Wrong("not a function", kind=kind(answer))


def disturbed(layer: nn.Module, stretched: float = 1.0) -> nn.Module:
    """The same layer, every parameter moved a little and stretched: zeros, ones and equal norms would hide mistakes."""
    with torch.no_grad():
        for parameter in layer.parameters():
            if parameter.requires_grad:  # one that does not is a constant, such as a scale
                parameter.add_(torch.randn_like(parameter), alpha=0.3).mul_(stretched)
    return layer


def part_of(layer: nn.Module, name: str, widths: tuple[int, int] | None, turned: bool = False) -> Any:
    """The layer's own linear map. `turned`: a square nn.Parameter is kept as nn.Linear keeps it, (out, in)."""
    part = getattr(layer, name, None)
    registered = {id(parameter) for parameter in layer.parameters()}
    if isinstance(part, Tensor):
        if id(part) not in registered:
            raise Wrong("weights not registered", name=name)
        matrix = part.detach()
        if matrix.dim() == 1:
            matrix = matrix[:, None]  # (dim, 1)
        elif widths and tuple(matrix.shape) == widths[::-1] and (turned or widths[0] != widths[1]):
            matrix = matrix.T
        return Map(lambda x: x @ matrix)
    if isinstance(part, nn.Linear):
        if id(part.weight) not in registered:
            raise Wrong("weights not registered [layer]", name=name)
        return Map(part)
    if isinstance(part, nn.Module):
        return part  # a part that is a layer of its own: truth and mistakes call it as the reader does
    have = ", ".join(sorted({n.split(".")[0] for n, _ in layer.named_parameters()})) or _("no parameters at all")
    raise Wrong("a linear map is missing" if widths else "a part is missing", name=name, have=have)


def check_maps(layer: nn.Module, parts: tuple[str, ...], widths: Widths, sizes: tuple) -> None:
    """Raise Wrong when a part of a layer is missing, of wrong width, or serves twice."""
    for name in parts:
        part_of(layer, name, widths.get(name))
    maps = {name: getattr(layer, name) for name in parts}
    for name, (width_in, width_out) in widths.items():
        part, shape = maps[name], None
        if isinstance(part, nn.Linear):
            shape = part.in_features, part.out_features
        elif isinstance(part, Tensor) and part.dim() == 2:
            shape = tuple(part.shape) if part.shape[0] == width_in else tuple(part.shape[::-1])
        if shape not in (None, (width_in, width_out)):
            words = {"made": shape[1], "given": shape[0], "wanted": width_out, "width_in": width_in, "sizes": sizes}
            raise Wrong("wrong width", name=name, **words)
    for one, other in itertools.combinations(maps, 2):
        if maps[one] is maps[other]:
            raise Wrong("one map for two", one=one, other=other)


def with_parts(layer: nn.Module, parts: dict[str, Any]) -> nn.Module:
    """A layer that uses these linear maps in place of its own."""
    for name, part in parts.items():
        if hasattr(layer, name):
            delattr(layer, name)
        object.__setattr__(layer, name, part)
    return layer


def check_gradient(given: Any, wanted: Any, parts: dict[str, Any], run: Callable) -> None:
    """Raise Wrong when what an answer gives, right as it is, could not teach each of `parts`."""
    found = unreached(given, wanted, parts, run)
    if isinstance(found, Raised) and "inplace" in found.text:
        raise Wrong("changed in place")
    if isinstance(found, Raised):
        raise Wrong("no gradient", raised=found)
    if found == list(parts):
        raise Wrong("cut off from the gradient", parts=_(" or ").join(parts))
    if found:
        raise Wrong("cut off from the gradient [one part]", part=found[0])


def unreached(given: Any, wanted: Any, parts: dict[str, Any], run: Callable) -> list[str] | Raised:
    """The parts that no gradient of a first result reaches; or why it cannot be computed."""
    first, right = (value[0] if isinstance(value, (tuple, list)) else value for value in (given, wanted))
    weights = {name: [part] if isinstance(part, Tensor) else list(part.parameters()) for name, part in parts.items()}
    learning = [weight for own in weights.values() for weight in own if weight.requires_grad]
    if not isinstance(first, Tensor) or not first.requires_grad:
        return list(parts)
    real = ~right.isnan() if isinstance(right, Tensor) and right.shape == first.shape else ...
    found = run(lambda: torch.autograd.grad(first[real].sum(), learning, allow_unused=True))
    if isinstance(found, Raised):
        return found
    reached = {id(weight) for weight, gradient in zip(learning, found, strict=True) if gradient is not None}
    return [name for name, own in weights.items() if not any(id(weight) in reached for weight in own)]

"""The reader's layer: its linear maps, whichever way they were written, and whether it could learn."""

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .run import Raised, Wrong

Widths = dict[str, tuple[int, int]]


class Map:
    """A linear map of the reader's layer as a function; `x @ map` works as well. Its gradient goes nowhere."""

    def __init__(self, function: Callable[[Tensor], Tensor]):
        self.function = function

    def __call__(self, x: Tensor) -> Tensor:
        return self.function(x).detach()

    __rmatmul__ = __call__


def disturbed(layer: nn.Module) -> nn.Module:
    """The same layer, every parameter moved a little: zeros, ones and equal norms would hide mistakes."""
    with torch.no_grad():
        for parameter in layer.parameters():
            if parameter.requires_grad:  # one that does not is a constant, such as a scale
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return layer


def part_of(layer: nn.Module, name: str, widths: tuple[int, int] | None, turned: bool) -> Any:
    """The layer's own linear map. `turned`: a square nn.Parameter is kept as nn.Linear keeps it, (out, in)."""
    part = getattr(layer, name, None)
    registered = {id(parameter) for parameter in layer.parameters()}
    if isinstance(part, Tensor):
        if id(part) not in registered:
            raise Wrong(
                "weights not registered",
                f"{name} is a plain tensor: no optimizer would find it among the layer's parameters. "
                "Make it an nn.Linear, or wrap it in nn.Parameter(...).",
            )
        matrix = part.detach()
        if matrix.dim() == 1:
            matrix = matrix[:, None]  # (dim, 1)
        elif widths and tuple(matrix.shape) == widths[::-1] and (turned or widths[0] != widths[1]):
            matrix = matrix.T
        return Map(lambda x: x @ matrix)
    if isinstance(part, nn.Linear):
        if id(part.weight) not in registered:
            sentence = f"{name} is not among the layer's parameters. Set it in `__init__` as `self.{name} = ...`."
            raise Wrong("weights not registered", sentence)
        return Map(part)
    if isinstance(part, nn.Module):
        return part  # a part that is a layer of its own: truth and mistakes call it as the reader does
    have = ", ".join(sorted({n.split(".")[0] for n, _ in layer.named_parameters()})) or "no parameters at all"
    if widths is None:
        sentence = f"The layer needs a part called {name}, made in `__init__`; it has {have}."
        raise Wrong("a part is missing", sentence)
    raise Wrong(
        "a linear map is missing",
        f"The layer needs an nn.Linear (or a matrix, nn.Parameter) called {name}, made in `__init__`; it has {have}.",
    )


def check_maps(layer: nn.Module, parts: tuple[str, ...], widths: Widths, sizes: tuple) -> None:
    """Raise Wrong when the linear maps of a layer are of wrong widths, or one map serves twice."""
    maps = {name: getattr(layer, name) for name in parts}
    for name, (width_in, width_out) in widths.items():
        part = maps[name]
        shape = (part.in_features, part.out_features) if isinstance(part, nn.Linear) else None
        if isinstance(part, Tensor) and part.dim() == 2:
            shape = tuple(part.shape) if part.shape[0] == width_in else tuple(part.shape[::-1])
        if shape not in (None, (width_in, width_out)):
            sentence = f"{name} makes {shape[1]} numbers of {shape[0]}; it should make {width_out} of {width_in}"
            raise Wrong("wrong width", f"{sentence}, in a layer made with the sizes {sizes}.")
    for one, other in itertools.combinations(maps, 2):
        if maps[one] is maps[other]:
            sentence = f"{one} and {other} are one and the same map, so they could never learn different things."
            raise Wrong("one map for two", f"{sentence} Make one for each.")


def with_parts(layer: nn.Module, parts: dict[str, Any]) -> nn.Module:
    """A layer that uses these linear maps in place of its own."""
    for name, part in parts.items():
        if hasattr(layer, name):
            delattr(layer, name)
        object.__setattr__(layer, name, part)
    return layer


def check_gradient(given: Any, wanted: Any, parts: dict[str, Any], run: Callable) -> None:
    """Raise Wrong when what an answer gives, right as it is, could not teach each of `parts`."""
    first = given[0] if isinstance(given, (tuple, list)) else given
    if not isinstance(first, Tensor) or not first.requires_grad:
        raise Wrong(
            "cut off from the gradient",
            f"The numbers are right, but no gradient reaches {' or '.join(parts)} from them, so nothing would learn. "
            "Leave out `detach()`, `.data`, `.item()` and `no_grad()`, and build no new tensor from numbers.",
        )
    found = unreached(given, wanted, parts, run)
    if isinstance(found, Raised) and "inplace" in found.text:
        raise Wrong(
            "changed in place",
            "The numbers are right, but a tensor that the gradient needs is changed in place, by a line such as "
            "`weights *= mask`. Make a new one: `weights = weights * mask`.",
        )
    if isinstance(found, Raised):
        raise Wrong("no gradient", f"The numbers are right, but their gradient cannot be computed. {found}")
    if found:
        raise Wrong(
            "cut off from the gradient",
            f"The numbers are right, but no gradient reaches {found[0]}, so it would never learn. Leave out "
            "`detach()`, `.data`, `.item()`, `float()` and `no_grad()` on the way from it.",
        )


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


def check_kind(answer: Any, layer: bool, kind: Callable[[Any], str]) -> None:
    """Raise Wrong unless the answer is what the exercise asks for: a layer's class, or a function."""
    if layer and not inspect.isclass(answer):
        hint = "Hand over the class itself, without parentheses behind its name."
        raise Wrong("not a class", f"The check was given {kind(answer)}, and needs a class. {hint}")
    if layer and not issubclass(answer, nn.Module):
        name = answer.__name__
        raise Wrong("not a layer", f"{name} is no nn.Module. Begin it with `class {name}(nn.Module):`.")
    if not layer and (inspect.isclass(answer) or not callable(answer)):
        hint = "Hand over the function itself, without calling it."
        raise Wrong("not a function", f"The check was given {kind(answer)}, and needs a function. {hint}")

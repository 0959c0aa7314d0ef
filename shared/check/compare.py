"""Compares an answer with what is wanted: its type, its shape, then its numbers."""

import math
import numbers
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .mistakes import Wrong
from .words import _, ngettext


def as_tensor(value: Any) -> Tensor | None:
    """A value as numbers, or None when it holds none."""
    if isinstance(value, Tensor):
        plain = type(value) in (Tensor, torch.nn.Parameter) and value.layout == torch.strided
        return None if not plain or value.is_complex() or value.is_meta else value.detach().cpu()
    try:
        return torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        return None


def also_numpy(given: Any, **_: Any) -> Any:
    """A view for exercises in which a NumPy array is as good as a tensor."""
    numpy = isinstance(given, (np.ndarray, np.generic)) and given.dtype.kind in "fiub"
    return torch.as_tensor(given) if numpy else given


def close(given: Tensor, wanted: Tensor) -> Tensor:
    """Where two tensors of one shape agree, as far as their precision lets them."""
    tolerance = 1e-6 if given.dtype == wanted.dtype == torch.float64 else 1e-4
    given, wanted = given.detach().cpu().double(), wanted.detach().double()
    return torch.isclose(given, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


def agrees(given: Any, other: Any, wanted: Any = None) -> bool:
    """Whether an answer is what something else gives, except where `wanted` has NaN: nobody looks there."""
    if given is None or other is None:
        return given is other
    if isinstance(other, dict):
        parts = wanted if isinstance(wanted, dict) else dict.fromkeys(other)
        same_keys = isinstance(given, dict) and set(given) == set(other) == set(parts)
        return same_keys and all(agrees(given[key], other[key], parts[key]) for key in other)
    if isinstance(other, (tuple, list)):
        given = list(given) if _is_row(given) else given
        parts = wanted if isinstance(wanted, (tuple, list)) else [None] * len(other)
        listed = isinstance(given, (tuple, list)) and len(given) == len(other) == len(parts)
        return listed and all(map(agrees, given, other, parts))
    if isinstance(given, (tuple, list)):
        return False
    given, other, wanted = as_tensor(given), as_tensor(other), as_tensor(wanted)
    if given is None or other is None or given.shape != other.shape:
        return False
    same = close(given, other)
    return bool((same | wanted.isnan() if wanted is not None and wanted.shape == same.shape else same).all())


def _is_row(value: Any) -> bool:
    """Whether a value is a tensor or an array of one axis, which is as good as a tuple of numbers."""
    return isinstance(value, (Tensor, np.ndarray)) and value.ndim == 1


def kind(value: Any) -> str:
    """What a thing is, in words: "a list", "a numpy array"."""
    if type(value) in (Tensor, torch.nn.Parameter):
        special = "" if as_tensor(value) is not None else f" {value.layout} {value.dtype} {value.device}"
        special = special.replace("torch.", "")
        return _("a{special} tensor of shape {shape}").format(special=special, shape=tuple(value.shape))
    if isinstance(value, np.ndarray):
        return _("a numpy array")
    if isinstance(value, type):
        return _("the class {name}").format(name=value.__name__)
    return _("a value of type {name}").format(name=type(value).__name__)


def compare(given: Any, wanted: Any, where: str) -> None:
    """Raise Wrong when an answer is not what is wanted. Where `wanted` has NaN, any number will do, but no NaN."""
    if given is None:
        raise Wrong("returns nothing")
    if isinstance(wanted, dict):
        if not isinstance(given, dict) or set(given) != set(wanted):
            raise Wrong("no dict with these keys", keys=", ".join(map(str, wanted)))
        for key, one in wanted.items():
            several = isinstance(given[key], (tuple, list)) or _is_row(given[key])
            if isinstance(one, tuple) and not (several and len(given[key]) == len(one)):
                raise Wrong("no pair of mean and half")
            compare(given[key], one, where)
    elif isinstance(wanted, tuple):
        row = _is_row(given) and isinstance(wanted[0], float)
        if not (row or isinstance(given, (tuple, list))) or len(given) != len(wanted):
            has = kind(given)
            if isinstance(given, (tuple, list)):
                has = ngettext("{count} things", "{count} things", len(given)).format(count=len(given))
            raise Wrong("wrong type [results]", kind=has, count=len(wanted))
        for place, (one, other) in enumerate(zip(given, wanted, strict=True), 1):
            if one is None:
                raise Wrong("returns nothing [in part]", place=place, count=len(wanted))
            each = _("{where}, result {place} of {count}").format(where=where, place=place, count=len(wanted))
            compare(one, other, each)
    elif isinstance(wanted, Tensor):
        _compare_tensors(given, wanted, where)
    else:
        _compare_numbers(given, wanted, where)


def _compare_numbers(given: Any, wanted: float, where: str) -> None:
    scalar = isinstance(given, (Tensor, np.ndarray)) and given.shape == () and as_tensor(given) is not None
    if not scalar and (not isinstance(given, (numbers.Real, np.number)) or isinstance(given, bool)):
        raise Wrong("wrong type [number]", kind=kind(given))
    if math.isnan(float(given)):
        raise Wrong("not a number [one]", where=where)
    if not abs(float(given) - wanted) <= 1e-6 * abs(wanted) + 1e-9:
        in_single = isinstance(given, (Tensor, np.ndarray, np.number)) and given.dtype.itemsize < 8
        if not (in_single and abs(float(given) - wanted) <= 1e-4 * (1e-2 + abs(wanted))):
            raise Wrong("other numbers [one]", **told_apart(float(given), float(wanted)), where=where)


def told_apart(given: float, wanted: float) -> dict[str, str]:
    """Two numbers that differ, with as many digits as it takes to see it."""
    texts = ([f"{number:.{digits}g}" for number in (given, wanted)] for digits in range(4, 18))
    return dict(zip(("given", "wanted"), next(pair for pair in texts if pair[0] != pair[1]), strict=True))


def check_shape(given: Tensor, wanted: tuple[int, ...], where: str) -> None:
    """Raise Wrong when a tensor has another shape."""
    if given.shape == wanted:
        return
    if given.dim() != len(wanted):
        name = "an axis too many" if given.dim() > len(wanted) else "an axis is missing"
    else:
        name = "axes in the wrong order" if sorted(given.shape) == sorted(wanted) else "wrong shape"
    raise Wrong(name, given=tuple(given.shape), wanted=tuple(wanted), where=where)


def _compare_tensors(given: Any, wanted: Tensor, where: str) -> None:
    if not isinstance(given, Tensor) or as_tensor(given) is None:
        raise Wrong("wrong type", kind=kind(given))
    check_shape(given, wanted.shape, where)
    kinds = [(t.dtype.is_floating_point, t.dtype == torch.bool) for t in (given, wanted)]
    if kinds[0] != kinds[1]:
        raise Wrong("wrong dtype", given=given.dtype, wanted=wanted.dtype, where=where)
    if given.isnan().any():
        raise Wrong("not a number", where=where)
    differs = ~(close(given, wanted) | wanted.isnan())
    if differs.any():
        first = tuple(differs.nonzero()[0].tolist())
        gap = (given.detach().double() - wanted.double())[differs].abs().max().item()
        words = {"count": int(differs.sum()), "all": differs.numel(), "gap": gap, "first": list(first)}
        raise Wrong("other numbers", **words, **told_apart(given[first].item(), wanted[first].item()), where=where)


def relation(pairs: list[tuple[Any, Any]]) -> Wrong | None:
    """What the first results of all trials have in common with what is wanted: a sign, or a factor."""
    first = [[value[0] if isinstance(value, (tuple, list)) else value for value in pair] for pair in pairs]
    numbers = [[as_tensor(value) for value in pair] for pair in first]
    if any(g is None or w is None or g.shape != w.shape or g.dtype == torch.bool for g, w in numbers):
        return None
    given, wanted = (torch.cat([part[place].flatten().double() for part in numbers]) for place in (0, 1))
    given, wanted = given[~wanted.isnan()], wanted[~wanted.isnan()]
    factor = ((given @ wanted) / (wanted @ wanted)).item() if len(given) > 1 else math.nan
    if not (abs(factor) > 1e-3 and torch.allclose(given, factor * wanted, rtol=1e-4, atol=1e-6)):
        return None
    if math.isclose(factor, 1, rel_tol=1e-3):
        return None  # it is another result that is wrong
    if math.isclose(factor, -1, rel_tol=1e-3):
        return Wrong("the sign turned round [everywhere]")
    return Wrong("wrong by a factor", factor=factor)

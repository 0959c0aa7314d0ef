"""Compares a result with what is expected: numbers by their tolerance, and the sentence about the
first that differs.

Where a reference gives NaN, any number is right, but NaN is not.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor


class Wrong(Exception):
    """The answer is wrong: a sentence for the reader, and a short name of the mistake."""

    def __init__(self, sentence: str = "", mistake: str = "", **words: object):
        self.sentence = sentence or " ".join((type(self).__doc__ or "").split()).format(**words)
        self.mistake = mistake or type(self).__name__
        super().__init__(self.sentence)


class WrongType(Wrong):
    """Your code gives {own} instead of {right}: {where}."""


class WrongShape(Wrong):
    """The shape is {own} instead of {right}: {where}. Print the shape after each line to see where
    it changes.
    """


class NotANumber(Wrong):
    """The result contains NaN: {where}. Is there a division by 0, a softmax over a row of minus
    infinities, or the `exp` of a large number?
    """


class OtherNumbers(Wrong):
    """{your_code} gives {own} instead of {right}: {where}."""


def leaves(value: Any, like: Any, path: str = "") -> dict[str, Any]:
    """The tensors and other values in a result, by where they are, as far as it is built `like`
    another.

    NumPy and numbers count as tensors, and a tensor of one axis as a tuple of numbers.
    """
    if isinstance(like, (tuple, list)):
        if isinstance(value, (Tensor, np.ndarray)) and value.ndim == 1:
            value = list(value)
        if isinstance(value, (tuple, list)):
            value, like = dict(enumerate(value)), dict(enumerate(like))
    if isinstance(value, dict) and isinstance(like, dict) and value.keys() == like.keys():
        found: dict[str, Any] = {}
        for key in like:
            found |= leaves(value[key], like[key], f"{path}[{key!r}]")
        return found
    if (
        isinstance(value, (int, float, np.ndarray, np.generic))
        and np.asarray(value).dtype.kind in "fiub"
    ):
        value = torch.as_tensor(value)
    return {path: value.detach() if isinstance(value, Tensor) else value}


def close(value: Any, other: Any, expected: Any) -> Tensor:
    """Where two leaves agree, as far as their precision lets them, or where `expected` has NaN."""
    if type(value) is not type(other):
        return torch.tensor(False)
    if isinstance(value, BaseException):
        return torch.tensor(getattr(value, "mistake", "") == getattr(other, "mistake", ""))
    if not isinstance(value, Tensor):
        return torch.tensor(isinstance(value, (str, set)) and value == other)
    if value.shape != other.shape:
        return torch.tensor(False)
    precision = 1e-6 if value.dtype == other.dtype == torch.float64 else 1e-4
    same = torch.isclose(
        value.double(), other.double(), rtol=precision, atol=precision / 10, equal_nan=True
    )
    return (
        same | expected.isnan()
        if isinstance(expected, Tensor) and expected.shape == same.shape
        else same
    )


def agrees(result: Any, other: Any, expected: Any) -> bool:
    """Whether two results are the same, except where `expected` has NaN."""
    found, wanted, right = (leaves(given, other) for given in (result, other, expected))
    return found.keys() == wanted.keys() and all(
        close(found[k], wanted[k], right.get(k)).all() for k in found
    )


def hollow(result: Any) -> bool:
    """Whether a result is an exception or nothing but NaN, which tells no mistake from another."""
    parts = leaves(result, result).values()
    return all(
        isinstance(p, BaseException) or (isinstance(p, Tensor) and bool(p.isnan().all()))
        for p in parts
    )


def compare(result: Any, expected: Any, where: str) -> None:
    """Raise Wrong, with the general sentence, unless a result is what is expected."""
    found, wanted = leaves(result, expected), leaves(expected, expected)
    if found.keys() != wanted.keys():
        path, own, right = apart(result, expected)
        raise WrongType(
            own=form(own), right=form(right), where=f"`result{path}` in {where}" if path else where
        )
    places = {path: f"`result{path}` in {where}" if path else where for path in wanted}
    # before any numbers, which a wrong shape elsewhere may explain
    for path, right in wanted.items():
        if (
            isinstance(found[path], Tensor)
            and isinstance(right, Tensor)
            and found[path].shape != right.shape
        ):
            raise WrongShape(
                own=tuple(found[path].shape), right=tuple(right.shape), where=places[path]
            )
    for path, right in wanted.items():
        compare_leaf(found[path], right, places[path])


def apart(value: Any, like: Any, path: str = "") -> tuple[str, Any, Any]:
    """Where two results are first built in different ways, and how they are built there."""
    if isinstance(value, dict) and isinstance(like, dict) and value.keys() == like.keys():
        for key in like:
            if leaves(value[key], like[key]).keys() != leaves(like[key], like[key]).keys():
                return apart(value[key], like[key], f"{path}[{key!r}]")
    return path, value, like


def form(value: Any) -> str:
    """How a result is built: "a dict with the keys [1, 2]", "3 results, ((·, ·), ·, ·)"."""
    if isinstance(value, dict):
        return f"a dict with the keys {str(list(value)):.100}"
    return (
        f"{len(value)} results, {dots(value):.50}"
        if isinstance(value, (tuple, list))
        else kind(value)
    )


def dots(value: Any) -> str:
    return f"({', '.join(map(dots, value))})" if isinstance(value, (tuple, list)) else "·"


def compare_leaf(value: Any, right: Any, where: str) -> None:
    """The same for one tensor, of the right shape, or other value."""
    if isinstance(value, Tensor) and isinstance(right, Tensor):
        if value.dim() and sort(value) != sort(right):
            raise WrongType(own=kind(value), right=kind(right), where=where)
        if value.isnan().any():
            raise NotANumber(where=where)
    elif type(value) is not type(right):
        raise WrongType(own=kind(value), right=kind(right), where=where)
    wrong = ~close(value, right, right)
    if wrong.any():
        index = wrong.nonzero()[0].tolist()
        count = f"{wrong.sum()} of {wrong.numel()} numbers differ, first at {index}: your code"
        own, right = (
            f"{v[*index].item():.8g}" if isinstance(v, Tensor) else f"{v!r:.80}"
            for v in (value, right)
        )
        raise OtherNumbers(
            your_code=count if index else "Your code", own=own, right=right, where=where
        )


def sort(tensor: Tensor) -> str:
    """What kind of numbers a tensor holds."""
    return (
        "truth values"
        if tensor.dtype == torch.bool
        else "numbers"
        if tensor.is_floating_point()
        else "integers"
    )


def kind(value: Any) -> str:
    """What a thing is: "integers in a tensor of shape (2, 3)", "a value of type list"."""
    if isinstance(value, Tensor):
        return f"{sort(value)} in a tensor of shape {tuple(value.shape)}"
    return (
        f"the class `{value.__name__}`"
        if isinstance(value, type)
        else f"a value of type {type(value).__name__}"
    )

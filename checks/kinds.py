"""Kinds of mistakes that any exercise may have, told by an error's message or by the results alone.

A wrong result is often the right one with one thing done to it, and the same thing in all cases:
transposed, summed over an axis too many, taken times the number of tokens. The docstring is the
sentence. Known mistakes of an exercise come first; these are for answers that are none of them.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations
from typing import Any

import torch
from torch import Tensor

from checks.compare import Wrong, agrees, apart, close, form, kind, leaves, sort

# --- what an error means --------------------------------------------------------------------------


class Raises(Wrong):
    """{error} It happened in {where}."""


class OneTruthValue(Raises):
    """{error} A tensor has many truth values, but Python's `if`, `and` and `max` need a single one.
    For tensors, use `torch.where`, `&` and `torch.maximum`; for an argument that may be missing,
    `is None`. It happened in {where}.
    """


class AxisCountedFromTheFront(Raises):
    """{error} A tensor has fewer axes than this line expects, in {where}. Count axes from the end,
    with `dim=-1`, `.mT` or `shape[-1]`: then the line works for a single text and for a batch.
    """


class IndexOfAnotherAxis(Raises):
    """{error} The index is too large for this axis, in {where}. Print the index and the shape:
    which axis is the index for? `x[index]` selects from axis 0.
    """


class TruthValuesOfAnotherAxis(Raises):
    """{error} A boolean index needs one entry for each element of its axis, and in {where} it has
    more or fewer. To select along axis 1, write `x[:, selected]`.
    """


class ShapesDoNotFit(Raises):
    """{error} Two shapes don't fit together in {where}. Print both: is a transpose, an `unsqueeze`
    or a `keepdim=True` missing, or is there one too many?
    """


class ProductDoesNotFit(Raises):
    """{error} In a product `a @ b`, the last axis of `a` must be as long as the second-to-last of
    `b`, and in {where} it isn't. Print both shapes: are the factors swapped, or is a transpose
    missing, or one too many? `.mT` swaps the last two axes, `.T` reverses all. For an `nn.Linear`:
    are its two widths those of its input and its output?
    """


class AxesDoNotLineUp(Raises):
    """{error} Shapes are lined up at their last axes; two axes that meet must be equally long,
    unless one of them has length 1, and in {where} they aren't. Print both shapes: is an axis of
    length 1 missing (`unsqueeze`, `keepdim=True`), or are two axes swapped?
    """


class JoinedAlongAnotherAxis(Raises):
    """{error} `cat` concatenates along one axis, and all other axes must be equally long; in
    {where} they aren't. Print the shapes: which axis should become longer? Pass it as `dim`.
    """


class MaskOfAnotherShape(Raises):
    """{error} A `mask` says which tokens are real, (batch, tokens); an `attention_mask` says to
    which tokens each may attend, (tokens, tokens). Did you pass one in place of the other, or one
    that was made for another number of tokens? It happened in {where}.
    """


class NothingToAttendTo(Raises):
    """{error} Is the mask inverted? PyTorch's own layers hide where it is True; here True means may
    attend. It happened in {where}.
    """


class MoreThanThereAre(Raises):
    """{error} In {where} you ask for more than there are. Take the `min` of the two numbers."""


class ViewNotPossible(Raises):
    """{error} In {where}, `view` gets a transposed tensor, whose numbers are in another order in
    memory. Use `reshape`, or call `contiguous()` first.
    """


class TargetsOfAnotherShape(Raises):
    """{error} `cross_entropy` takes logits (n, classes) with targets (n,), or logits (batch,
    classes, positions) with targets (batch, positions). It happened in {where}. Print both shapes:
    are the classes on the last axis, or are there more positions than targets?
    """


class ParameterChangedInPlace(Raises):
    """{error} Copy numbers into a parameter under `torch.no_grad()`. It happened in {where}."""


class NoParameterAssigned(Raises):
    """{error} Make it a parameter, `nn.Parameter(...)`, or copy the numbers into the existing one,
    with `copy_` under `torch.no_grad()`. It happened in {where}.
    """


class DividesByZero(Raises):
    """{error} In {where} there's nothing to count or average. Check for that before you divide."""


class KeyMissing(Raises):
    """{error} A dict has no such key, in {where}. If a key may be missing, use `.get(key,
    default)`.
    """


class CallsItself(Raises):
    """{error} A function keeps calling itself, in {where}. If you replace a method, keep the old
    one under another name, and call that.
    """


class ListAsAKey(Raises):
    """{error} In {where} a list is counted or used as a key of a dict, and that isn't possible.
    Loop over its items with another `for`.
    """


class OneInPlaceOfSeveral(Raises):
    """{error} There's a single value where several are expected, in {where}. Does it need brackets,
    as a list with one element?
    """


# What a part of an error's type and message means, for the errors that readers meet most often.
MEANINGS = {
    "ambiguous": OneTruthValue,
    "Dimension out of range|tuple index": AxisCountedFromTheFront,
    "out of bounds": IndexOfAnotherAxis,
    "shape of the mask .* at index": TruthValuesOfAnotherAxis,
    "mask has shape .* must be": MaskOfAnotherShape,
    "nothing to attend to": NothingToAttendTo,
    "Sizes of tensors must match except": JoinedAlongAnotherAxis,
    "multiplied|dimensions of batch2|size mismatch, got input|matmul": ProductDoesNotFit,
    "at non-singleton dimension|broadcast|shape mism": AxesDoNotLineUp,
    "index k out of range": MoreThanThereAre,
    "view size is not compatible": ViewNotPossible,
    "Expected target size|to match target batch_size": TargetsOfAnotherShape,
    r"size of tensor|size mismatch|Sizes of|xpected .*size|must be \(": ShapesDoNotFit,
    "leaf Variable": ParameterChangedInPlace,
    "cannot assign .* as parameter": NoParameterAssigned,
    "division by zero": DividesByZero,
    "^KeyError": KeyMissing,
    "recursion depth": CallsItself,
    "unhashable type": ListAsAKey,
    "cannot unpack non-iterable": OneInPlaceOfSeveral,
}
RAISES = {"Raises", *(meaning.__name__ for meaning in MEANINGS.values())}


def meaning_of(error: BaseException) -> type[Wrong]:
    """What an error means, as far as its type and message tell."""
    text = f"{type(error).__name__}: {error}"
    return next((known for part, known in MEANINGS.items() if re.search(part, text)), Raises)


# --- how a result is built ------------------------------------------------------------------------


class TooFewResults(Wrong):
    """Your code gives {own} instead of {right}: {where}. Return everything the exercise asks for,
    in its order, separated by commas.
    """


class TooManyResults(Wrong):
    """Your code gives {own} instead of {right}: {where}. Return only what the exercise asks for."""


class ResultsInAnotherOrder(Wrong):
    """The results are right, but in another order. Of the results that you return now, return
    number {order}, in this order.
    """


class OtherKeys(Wrong):
    """A dict doesn't have the keys that the exercise asks for. Missing: {missing}. Not asked for:
    {too_many}.
    """


class ValuesOfAnotherKind(Wrong):
    """The values are right, but they are {own} instead of {right}. Convert them at the end, for
    example with `.bool()`, `.long()` or `.float()`.
    """


def built_otherwise(trial: Any) -> Iterator[Wrong]:
    """What is wrong with the number and order of results, or with their keys."""
    own, right = trial.result, trial.expected
    if isinstance(own, (tuple, list)) and isinstance(right, (tuple, list)):
        orders = [*permutations(range(len(own)))][1:] if len(own) == len(right) < 5 else []
        for order in orders:
            if agrees([own[n] for n in order], [*right], [*right]):
                yield ResultsInAnotherOrder(order=", then ".join(str(n + 1) for n in order))
    path = ""
    if is_several(own) == is_several(right):
        path, own, right = apart(own, right)
    if isinstance(own, dict) and isinstance(right, dict):
        missing, more = right.keys() - own.keys(), own.keys() - right.keys()
        if missing or more:
            yield OtherKeys(missing=named(missing), too_many=named(more))
    several = [len(value) if is_several(value) else 1 for value in (own, right)]
    if several[0] != several[1]:
        which = TooFewResults if several[0] < several[1] else TooManyResults
        where = f"`result{path}` in {trial.where}" if path else trial.where
        yield which(own=form(own), right=form(right), where=where)


def is_several(value: Any) -> bool:
    return isinstance(value, (tuple, list))


def named(keys: set) -> str:
    return " and ".join(sorted(map(repr, keys))) or "none"


# --- how a result is made of the right one --------------------------------------------------------


class ReturnsItsInput(Wrong):
    """Your code returns `{name}` unchanged."""


class AxisOfLengthOne(Wrong):
    """An axis of length 1 is {what}: the shape is {own} instead of {right}. See `squeeze`,
    `unsqueeze` and `keepdim`.
    """


class AxesExchanged(Wrong):
    """The result is transposed: swap its axes {one} and {other}."""


class Backwards(Wrong):
    """The numbers are right, but in reverse order along axis {axis}."""


class Moved(Wrong):
    """The numbers are right, but shifted by {steps} along axis {axis}. Is a shift missing, or in
    the wrong direction, or is there one too many?
    """


class Inverted(Wrong):
    """True and False are swapped."""


class ReducedTooMuch(Wrong):
    """Your code returns the {how} over {axes} of the right result. Leave that step out."""


class NotReduced(Wrong):
    """One step is missing: take the {how} over {axes} of what you return."""


class PartOfTheResult(Wrong):
    """Your code returns only {part} of the right result, along axis {axis}."""


class MoreThanTheResult(Wrong):
    """Your code returns too much: the right result is only {part} of it, along axis {axis}."""


class AnotherFunction(Wrong):
    """Your code returns the {name} of the right result. Leave out the {name}."""


class FunctionMissing(Wrong):
    """One step is missing: take the {name} of what you return."""


class AnotherSign(Wrong):
    """Each wrong number has the wrong sign. Is a minus missing, or do you subtract in the wrong
    order?
    """


class AnotherFactor(Wrong):
    """Each wrong number is {factor} times the right one."""


class TimesACount(Wrong):
    """The wrong numbers are too large by a whole factor, {factor} in the first wrong case. Do you
    sum instead of taking the mean, or divide by too small a number?
    """


class DividedByACount(Wrong):
    """The wrong numbers are too small by a whole factor, {factor} in the first wrong case. Do you
    take the mean instead of the sum, divide by too large a number, or divide twice?
    """


class AnotherConstant(Wrong):
    """Each wrong number is {difference} more than the right one."""


class SumsToOneElsewhere(Wrong):
    """The weights sum to 1 along axis {axis}; they should sum to 1 along the last one. Does the
    `softmax`, or the sum that you divide by, run over the wrong axis, or is something transposed?
    """


class InOtherPlaces(Wrong):
    """All numbers are there, but in other places. Do you use `view` or `reshape` where axes have to
    be swapped (`transpose`), or is something sorted or indexed in another order?
    """


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "exponential": torch.exp,
    "logarithm": torch.log,
    "square": torch.square,
    "square root": torch.sqrt,
    "absolute value": torch.abs,
    "inverse": torch.reciprocal,
    "ReLU": torch.relu,
    "difference from 1": lambda x: 1 - x,
    "softmax over the last axis": lambda x: x.softmax(-1),
    "logarithm of the softmax": lambda x: x.log_softmax(-1),
}
REDUCTIONS: dict[str, Callable] = {"mean": torch.mean, "sum": torch.sum, "largest": torch.amax}
Found = tuple[type[Wrong], tuple[tuple[str, Any], ...]]  # a kind, and the words of its sentence


def found(named: type[Wrong], **words: Any) -> Found:
    return named, tuple(words.items())


def same(own: Tensor, other: Tensor, right: Tensor | None = None) -> bool:
    """Whether all numbers agree, except where the right one, by default the other, is NaN."""
    right = other if right is None else right
    alike = own.shape == other.shape and bool(close(own, other, right).all())
    return alike and not bool(right.isnan().all())


def relations(own: Tensor, right: Tensor) -> Iterator[Found]:
    """What a wrong tensor may be, seen from the right one."""
    if own.shape == right.shape:
        yield from elsewhere(own, right)
        if right.dtype == torch.bool:
            if own.dtype == torch.bool and same(~own, right):
                yield found(Inverted)
        elif right.is_floating_point():
            yield from scaled(own, right)
            yield from calculated(own, right)
        elif not own.is_floating_point():
            yield from scaled(own, right)
        return
    if own.numel() == right.numel() and own.squeeze().shape == right.squeeze().shape:
        what = {1: "too many", 0: "in another place", -1: "missing"}
        yield found(
            AxisOfLengthOne,
            what=what[(own.dim() > right.dim()) - (own.dim() < right.dim())],
            own=tuple(own.shape),
            right=tuple(right.shape),
        )
    yield from elsewhere(own, right)
    yield from (found(ReducedTooMuch, **words) for words in reduced(right, own, right))
    yield from (found(NotReduced, **words) for words in reduced(own, right, right))
    yield from (found(PartOfTheResult, **words) for words in parts(right, own, right))
    yield from (found(MoreThanTheResult, **words) for words in parts(own, right, right))


def elsewhere(own: Tensor, right: Tensor) -> Iterator[Found]:
    """The same numbers in other places."""
    for one, other in combinations(range(right.dim()), 2):
        if own.dim() == right.dim() and same(own.transpose(one, other), right):
            yield found(AxesExchanged, one=one, other=other)
    if own.shape != right.shape:
        return
    for axis in range(right.dim()):
        if same(own.flip(axis), right):
            yield found(Backwards, axis=axis)
        rest = max(right.shape[axis] - 1, 0)
        for start, steps in ((1, 1), (0, -1)):
            moved = own.narrow(axis, start, rest), right.narrow(axis, 1 - start, rest)
            if rest > 2 and same(*moved):
                yield found(Moved, steps=steps, axis=axis)
    # of a few values, as of truth values, there may be equal numbers by chance
    if len(right.unique()) > 3 and same(*(x.flatten().sort().values for x in (own, right))):
        yield found(InOtherPlaces)


def reduced(whole: Tensor, part: Tensor, wanted: Tensor) -> Iterator[dict[str, Any]]:
    """How a tensor is a mean, sum or maximum of another over some axes; `wanted` is the right
    one.
    """
    fewer = whole.dim() - part.dim()
    if fewer < 1 or not (whole.is_floating_point() and part.is_floating_point()):
        return
    for axes in combinations(range(whole.dim()), fewer):
        for how, reduce in REDUCTIONS.items():
            less = reduce(whole, dim=axes)
            if same(part, less) if wanted is whole else same(less, part):
                over = f"axis {' and '.join(map(str, axes))}" if part.dim() else "all axes"
                yield {"how": how, "axes": over}


def parts(whole: Tensor, part: Tensor, wanted: Tensor) -> Iterator[dict[str, Any]]:
    """Where a tensor is the first or last part of another along an axis."""
    for axis in range(whole.dim()):
        length, one = whole.shape[axis], part.dim() == whole.dim() - 1
        if not one and (part.dim() != whole.dim() or part.shape[axis] >= length):
            continue
        share = part.unsqueeze(axis) if one else part
        for name, start in (("first", 0), ("last", length - share.shape[axis])):
            piece = whole.narrow(axis, start, share.shape[axis])
            if same(share, piece) if wanted is whole else same(piece, share):
                yield {"part": f"the {name} part", "axis": axis}


def calculated(own: Tensor, right: Tensor) -> Iterator[Found]:
    """A function too many, one too few, or a softmax over another axis."""
    if own[~right.isnan()].isnan().any():
        return
    for name, function in FUNCTIONS.items():
        if right.dim() or "softmax" not in name:
            if same(own, function(right), right):
                yield found(AnotherFunction, name=name)
            if same(function(own), right):
                yield found(FunctionMissing, name=name)
    if right.dim() and (own >= 0).all() and is_one(right.sum(-1)) and not is_one(own.sum(-1)):
        for axis in range(right.dim() - 1):
            if is_one(own.sum(axis)):
                yield found(SumsToOneElsewhere, axis=axis)


def is_one(sums: Tensor) -> bool:
    """Whether all sums are 1, or 0 where all is hidden, or NaN where anything is right."""
    one = sums.sub(1).abs() < 1e-4
    return bool(one.any() and (one | (sums == 0) | sums.isnan()).all())


def scaled(own: Tensor, right: Tensor) -> Iterator[Found]:
    """One factor, or one difference, between all numbers."""
    counted = ~right.isnan()
    own, right = own.double()[counted], right.double()[counted]
    zero = right == 0
    if not zero.all() and not own[zero].any():
        ratios = own[~zero] / right[~zero]
        factor = ratios[0].item()
        if torch.allclose(ratios, ratios[:1], rtol=1e-5, atol=0) and 0 < abs(factor) < math.inf:
            if abs(factor + 1) < 1e-5:
                yield found(AnotherSign)
            if abs(factor - 1) > 0.01:  # one that is nearly right has another reason
                yield found(AnotherFactor, factor=f"{factor:.4g}")
            for named, times in ((TimesACount, factor), (DividedByACount, 1 / factor)):
                if times > 1.5 and abs(times - round(times)) < 1e-4:
                    yield found(named, factor=None)
    difference = (own - right).round(decimals=6)
    if len(difference) and (difference == difference[0]).all():
        yield found(AnotherConstant, difference=f"{difference[0].item():.6g}")


# --- what comes of other arguments ----------------------------------------------------------------


# Each takes an argument, or a part of a layer, and gives what a mistake makes of it.
CHANGES: dict[str, dict[str, Callable]] = {
    "truth values": {
        "`{name}` is inverted: the results are right for its opposite": lambda mask: ~mask,
        "`{name}` has no effect: the results are those with True everywhere in it":
            torch.ones_like,
    },
    "numbers": {
        "`{name}` is left out: the results are those with zeros in its place": torch.zeros_like,
        "`{name}` is left out: the results are those with ones in its place": torch.ones_like,
        "`{name}` has the wrong sign": torch.neg,
        "The numbers of `{name}` are rounded to integers": torch.trunc,
    },
    "a value of type int": {
        "These are the results for `{name} + 1`": lambda number: number + 1,
        "These are the results for `{name} - 1`": lambda number: number - 1,
    },
    "a value of type float": {
        "These are the results for the square of `{name}`": lambda number: number**2,
        "These are the results for the square root of `{name}`": lambda number: number**0.5,
        "These are the results for `1 / {name}`": lambda number: 1 / number,
    },
    "a part": {
        "`{name}` is not used": lambda part: torch.nn.Identity(),
    },
    "several parts": {
        "Of `{name}`, only the first is used": lambda parts: parts[:1],
        "Of `{name}`, the last is not used": lambda parts: parts[:-1],
    },
}  # fmt: skip


def variations(reference: Callable, given: dict[str, Any]) -> Iterator[Callable]:
    """Mistakes that many exercises share: the right computation with arguments, or parts of a
    layer, exchanged, or one of them changed.
    """
    sorts = {name: what_it_is(value) for name, value in given.items()}
    for one, other in permutations(given, 2):
        if sorts[one] != sorts[other]:
            continue
        exchanged = {one: other, other: one}
        if one < other:
            yield with_other(
                reference, "ArgumentsExchanged", f"`{one}` and `{other}` are swapped.", exchanged
            )
        yield with_other(
            reference, "AnotherArgument", f"`{other}` is used where `{one}` belongs.", {one: other}
        )
    for name, what in sorts.items():
        for sentence, change in CHANGES.get(what, {}).items():
            yield with_other(
                reference, "ArgumentChanged", sentence.format(name=name) + ".", {name: name}, change
            )


def what_it_is(value: Any) -> str:
    """In what way an argument or a part can be mistaken for another."""
    if isinstance(value, Tensor):
        return sort(value)
    if isinstance(value, torch.nn.ModuleList):
        return "several parts"
    return "a part" if callable(value) else kind(value)


def with_other(
    reference: Callable,
    name: str,
    sentence: str,
    others: dict[str, str],
    change: Callable = lambda value: value,
) -> Callable:
    """The reference, with the value of another argument for some, or a changed one."""

    def mistake(**given: Any) -> Any:
        return reference(**given | {one: change(given[other]) for one, other in others.items()})

    mistake.__name__, mistake.__doc__ = name, sentence
    return mistake


# --- all cases together ---------------------------------------------------------------------------


def differing(trial: Any) -> list[tuple[Tensor, Tensor]]:
    """The parts of a result that are wrong, each with the right one."""
    own, right = leaves(trial.result, trial.expected), leaves(trial.expected, trial.expected)
    if own.keys() != right.keys():
        return []
    pairs = [(own[path], right[path]) for path in right]
    return [(a, b) for a, b in pairs if not close(a, b, b).all() or is_of_another_kind(a, b)]


def is_of_another_kind(own: Any, right: Any) -> bool:
    """Whether one of two tensors has integers where the other has truth values, or the like."""
    tensors = isinstance(own, Tensor) and isinstance(right, Tensor)
    return tensors and own.dim() > 0 and sort(own) != sort(right)


def recognized(trials: Sequence[Any]) -> Wrong | None:
    """The kind of mistake that explains the results of all cases that are wrong, if there is
    one.
    """
    wrong = [trial for trial in trials if trial.error]
    if any(trial.result is None or isinstance(trial.result, BaseException) for trial in wrong):
        return None
    for name in wrong[0].inputs if wrong else ():
        if all(is_input(trial.result, trial.inputs[name]) for trial in wrong):
            return ReturnsItsInput(name=name)
    built = [[*built_otherwise(trial)] for trial in wrong]
    for one in built[0] if built else ():
        if all(any(type(one) is type(other) for other in others) for others in built):
            return one
    pairs = [pair for trial in wrong for pair in differing(trial)]
    if not pairs or any(not isinstance(part, Tensor) for pair in pairs for part in pair):
        return None
    if all(sort(a) != sort(b) and same(a.double(), b.double()) for a, b in pairs):
        own, right = pairs[0]
        return ValuesOfAnotherKind(own=kind(own), right=kind(right))
    numbers = sum(max(own.numel(), right.numel()) for own, right in pairs)
    return in_all(pairs) if numbers > 1 else None


def is_input(result: Any, given: Any) -> bool:
    return isinstance(result, Tensor) and isinstance(given, Tensor) and same(result, given)


def in_all(pairs: list[tuple[Tensor, Tensor]]) -> Wrong | None:
    """The first relation that all pairs have in common."""
    first, *others = ([*relations(*pair)] for pair in pairs)
    for named, words in first:
        # shapes differ from case to case
        if named is AxisOfLengthOne:
            alike = all(any(n is named and w[0] == words[0] for n, w in other) for other in others)
        else:
            alike = all((named, words) in other for other in others)
        if alike:
            if named in (TimesACount, DividedByACount):
                own, right = (part.double().flatten() for part in pairs[0])
                factor = (own.nansum() / right.nansum()).item()
                words = (("factor", f"{max(factor, 1 / factor):.4g}"),)
            return named(**dict(words))
    return None

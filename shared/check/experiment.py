"""What experiments share: runs that nobody trained, intervals by sums, and what goes wrong with seeds and intervals."""

import math
from collections.abc import Callable, Sequence

from scipy import stats

from .attention import family
from .exercise import Case
from .mistakes import Mistake


def known_run(*told: float | str) -> float:
    """What a run gives that nobody trained: it depends on all that it is told, and luck is the seed's, told last."""
    *settings, seed = told
    own = sum(place * (len(one) if isinstance(one, str) else one) for place, one in enumerate(settings, 2))
    return 0.6 + 0.1 * math.cos(own) + 0.15 * math.sin(7 * seed + 1) + 0.04 * math.cos(own + 3 * seed)


def measured(name: str, measure: Callable, *lists: Sequence[int]) -> list[Case]:
    """Cases with a measure whose results are known, once with the opposite of it, each with its list of seeds."""

    def opposite(*told, **named):
        return 1 - measure(*told, **named)

    return [Case({name: one, "seeds": seeds}) for one, seeds in zip((measure, opposite, measure), lists, strict=True)]


def by_sums(numbers: Sequence[float], quantile: float | None = None) -> tuple[float, float]:
    """The mean of some numbers, and half the width of its interval."""
    n, mean = len(numbers), float(sum(numbers)) / len(numbers)
    spread = math.sqrt(sum(float(number - mean) ** 2 for number in numbers) / (n - 1))
    return mean, float(quantile or stats.t.ppf(0.975, n - 1)) * spread / math.sqrt(n)


ASKED = """
the standard error in place of the interval: CALL => (lambda row: (row.mean(), row.std() / len(row) ** 0.5))(TENSOR) ||
    (lambda row: (row.mean(), row.std(correction=0) / len(row) ** 0.5))(TENSOR)
the spread in place of the interval: CALL => (lambda row: (row.mean(), row.std()))(TENSOR) ||
    (lambda row: (row.mean(), row.std(correction=0)))(TENSOR)
normal in place of t: CALL => (lambda row: (row.mean(), 1.96 * row.std() / len(row) ** 0.5))(TENSOR) ||
    (lambda row: (row.mean(), 1.96 * row.std(correction=0) / len(row) ** 0.5))(TENSOR) ||
    (lambda row: (row.mean(), 2 * row.std() / len(row) ** 0.5))(TENSOR)
one number in the interval: CALL => HALF((ROW)[:1])
whole width: CALL => (lambda mean, half: (mean, 2 * half))(*CALL)
ends in place of mean and half: CALL => (lambda mean, half: (mean - half, mean + half))(*CALL)
results in the wrong order [interval]: CALL => CALL[::-1]
"""
APART = """
pairing lostOF: CALL => (lambda a, b: (a.mean() - b.mean(), HALF(a)[1] - HALF(b)[1]))(ROWS) ||
    (lambda a, b: (a.mean() - b.mean(), HALF(a)[1] + HALF(b)[1]))(ROWS) ||
    (lambda a, b: (a.mean() - b.mean(), (HALF(a)[1] ** 2 + HALF(b)[1] ** 2) ** 0.5))(ROWS) ||
    (lambda a, b: (a.mean() - b.mean(), 1.96 * ((a.var() + b.var()) / len(a)) ** 0.5))(ROWS)
the interval of one kind alone: CALL => (lambda a, b: (a.mean() - b.mean(), HALF(a)[1]))(ROWS) ||
    (lambda a, b: (a.mean() - b.mean(), HALF(b)[1]))(ROWS)
"""
BY_HAND = """
whole width: , HALF => , 2 * HALF
root of n forgotten: / SQRT(len(ROW)) =>
divided by n in place of its root: SQRT(len(ROW)) => len(ROW)
divided by the root of n - 1: SQRT(len(ROW)) => SQRT(len(ROW) - 1)
multiplied by the root of n: / SQRT => * SQRT
spread divided by n: SPREAD => SPREAD * math.sqrt(1 - 1 / len(ROW))
variance in place of the spread: SPREAD => SPREAD ** 2
the standard error in place of the interval [by hand]: QUANTILE * =>
added in place of multiplied [interval]: QUANTILE * SPREAD => (QUANTILE + SPREAD)
divided in place of multiplied [interval]: QUANTILE * SPREAD => QUANTILE / SPREAD
ends in place of mean and half: MEAN, HALF => MEAN - HALF, MEAN + HALF
results in the wrong order [interval]: MEAN, HALF => HALF, MEAN
half the width forgotten: MEAN, HALF => MEAN
mean forgotten: MEAN, HALF => HALF
"""
SEEDS = """
one seed for all: for seed in seeds => for seed in [seeds[0]] * len(seeds)
seeds that were not asked for: for seed in seeds => for seed in range(len(seeds)) ||
    for seed in range(1, len(seeds) + 1)
a seed left out: for seed in seeds => for seed in seeds[1:] || for seed in seeds[:-1]
"""
PAIRED = """
one seed for all [second]: SECOND => OF_ONE_SEED
added in place of subtracted: DIFFERENCE => FIRST + SECOND
other seeds for the second: SECOND => OTHER seed + 1) || OTHER seed + 5) || OTHER seed + len(seeds)) ||
    OTHER seed + 100)
one model only: DIFFERENCE => FIRST || SECOND
"""


def asked(row: str, apart: Sequence[str] = (), of: str = "", call: str = "mean_and_interval") -> list[Mistake]:
    """What goes wrong with `mean_and_interval(row)`; `apart` are the two rows whose difference it is.

    `of` says which sentence those hear who take an interval of each.
    """
    rows = ", ".join(f"torch.as_tensor({one})" for one in apart)
    words = {"CALL": f"{call}({row})", "TENSOR": f"torch.as_tensor({row})", "HALF": call, "ROWS": rows, "OF": of}
    words["ROW"] = row
    return family(ASKED + (APART if apart else ""), **words)


def by_hand(row: str, quantile: str, spread: str = "ROW.std()", root: str = "math.sqrt", item: str = ".item()"):
    """What goes wrong with `half = quantile * spread / root(len(row))`, returned behind the mean, both as `item`."""
    words = {"HALF": f"half{item}", "MEAN": f"ROW.mean(){item}", "SPREAD": spread, "SQRT": root}
    return family(BY_HAND, **words, QUANTILE=quantile, ROW=row)


def over_seeds(first: str = "", second: str = "") -> list[Mistake]:
    """What goes wrong with `for seed in seeds` around runs, two that are subtracted or others."""
    words = {"DIFFERENCE": f"{first} - {second}", "FIRST": first, "SECOND": second}
    words |= {"OF_ONE_SEED": second.replace("seed)", "seeds[0])"), "OTHER ": second.removesuffix("seed)")}
    return family(SEEDS + (PAIRED if first else ""), **words)

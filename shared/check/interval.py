"""What goes wrong with the mean of some differences and its interval, where the lab computes it or asks for it."""

from .attention import family
from .mistakes import Mistake

ASKED = """
the standard error in place of the interval: CALL => (lambda row: (row.mean(), row.std() / len(row) ** 0.5))(TENSOR)
the spread in place of the interval: CALL => (lambda row: (row.mean(), row.std()))(TENSOR)
normal in place of t: CALL => (lambda row: (row.mean(), 1.96 * row.std() / len(row) ** 0.5))(TENSOR) ||
    (lambda row: (row.mean(), 2 * row.std() / len(row) ** 0.5))(TENSOR)
the whole width of the interval: CALL => (lambda mean, half: (mean, 2 * half))(*CALL)
mean and half exchanged: CALL => CALL[::-1]
"""
APART = """
two intervals subtractedOF: CALL => (lambda a, b: (a.mean() - b.mean(), HALF(a)[1] - HALF(b)[1]))(ROWS) ||
    (lambda a, b: (a.mean() - b.mean(), HALF(a)[1] + HALF(b)[1]))(ROWS) ||
    (lambda a, b: (a.mean() - b.mean(), (HALF(a)[1] ** 2 + HALF(b)[1] ** 2) ** 0.5))(ROWS) ||
    (lambda a, b: (a.mean() - b.mean(), 1.96 * ((a.var() + b.var()) / len(a)) ** 0.5))(ROWS)
"""
BY_HAND = """
whole width: , half.item() => , 2 * half.item()
root of n forgotten: / math.sqrt(len(ROW)) =>
divided by n in place of its root: math.sqrt(len(ROW)) => len(ROW)
divided by the root of n - 1: math.sqrt(len(ROW)) => math.sqrt(len(ROW) - 1)
multiplied by the root of n: / math.sqrt => * math.sqrt
spread divided by n: ROW.std() => ROW.std(correction=0)
variance in place of the spread: ROW.std() => ROW.var()
the quantile forgotten: QUANTILE * =>
added in place of multiplied [interval]: QUANTILE * ROW.std() => (QUANTILE + ROW.std())
divided in place of multiplied [interval]: QUANTILE * ROW.std() => QUANTILE / ROW.std()
ends in place of mean and half: RETURN => return (ROW.mean() - half).item(), (ROW.mean() + half).item()
results in the wrong order [interval]: RETURN => return half.item(), ROW.mean().item()
half the width forgotten: RETURN => return ROW.mean().item()
mean forgotten: RETURN => return half.item()
"""


def asked(row: str, apart: tuple[str, str] | None = None, of: str = "") -> list[Mistake]:
    """What goes wrong with `mean_and_interval(row)`; `apart` are the two rows whose difference it is.

    `of` says which sentence those hear who take an interval of each.
    """
    words = {"CALL": f"mean_and_interval({row})", "TENSOR": f"torch.as_tensor({row})"}
    if apart is None:
        return family(ASKED, **words)
    rows = ", ".join(f"torch.as_tensor({one})" for one in apart)
    return family(ASKED + APART, **words, HALF="mean_and_interval", ROWS=rows, OF=of)


def by_hand(row: str, quantile: str) -> list[Mistake]:
    """What goes wrong with `half = quantile * row.std() / math.sqrt(len(row))`, returned behind the mean."""
    return family(BY_HAND, RETURN="return ROW.mean().item(), half.item()", QUANTILE=quantile, ROW=row)

"""The mean of several runs and its interval; imported at once, for it needs no model."""

import math
from collections.abc import Sequence

import numpy as np

# quantiles of Student's t; scipy.stats takes as long to import as torch
from scipy.special import stdtrit


def mean_and_interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean of independent runs, and half the width of its 95% interval by Student's t.

    Raises:
        ValueError: fewer than two values, which have no spread.

    Source: Student 1908, The probable error of a mean.
    """
    runs = np.asarray(values, dtype=float)
    if len(runs) < 2:
        raise ValueError(
            f"An interval needs two runs or more; {len(runs)} given. Train with more seeds."
        )
    half = stdtrit(len(runs) - 1, 0.975) * runs.std(ddof=1) / math.sqrt(len(runs))
    return float(runs.mean()), float(half)

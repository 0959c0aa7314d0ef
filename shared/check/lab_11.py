"""The checks of lab 11: the interval of a paired difference, and what five seeds can say."""

from itertools import product

import numpy as np
from scipy import stats

from .exercise import Case, Exercise
from .mistakes import edits


# --- 11.1 ---
def paired_interval(first, second):
    """Mean of first - second, and half the width of its 95% interval."""
    differences = np.asarray(first) - np.asarray(second)  # (seeds,)
    quantile = stats.t.ppf(0.975, len(differences) - 1)
    half = quantile * differences.std(ddof=1) / np.sqrt(len(differences))
    return differences.mean(), half


def interval_by_scipy(first, second):
    low, high = stats.ttest_rel(first, second).confidence_interval(0.95)
    return float(low + high) / 2, float(high - low) / 2


def two_models(seeds: int, shared_luck: float, seed: int, means: tuple = (0.81, 0.80)) -> Case:
    random = np.random.default_rng(seed)
    luck = shared_luck * random.normal(size=seeds)
    first, second = (mean + luck + 0.01 * random.normal(size=seeds) for mean in means)
    return Case({"first": first, "second": second})


PAIRS, QUANTILE = "np.asarray(first) - np.asarray(second)", "stats.t.ppf(0.975, len(differences) - 1)"
SPREAD, RETURNED = "differences.std(ddof=1)", "return differences.mean(), half"
OF_TWO = "np.sqrt(np.var(first, ddof=1) + np.var(second, ddof=1))"

paired_interval = Exercise(
    paired_interval,
    cases=[
        two_models(5, 0.02, 0),
        two_models(3, 0.05, 1),
        two_models(9, 0.01, 2),
        two_models(4, 0.02, 4, means=(0.80, 0.81)),
    ],
    truth=interval_by_scipy,
    without=("mean_and_interval",),
    tried="three, four, five and nine seeds that share more luck or less, the better model first or last",
    see="Lab 11, “Exercise 11.1: the interval of a paired difference”",
    mistakes=edits(f"""
        spread divided by n: ddof=1 => || ddof=0
        the spread forgotten: * {SPREAD} => || {SPREAD} => differences
        added in place of multiplied [interval]: quantile * {SPREAD} => (quantile + {SPREAD})
        divided in place of multiplied [interval]: quantile * {SPREAD} => quantile / {SPREAD}
        variance in place of the spread: differences.std => differences.var
        root of n forgotten: / np.sqrt(len(differences)) =>
        divided by n in place of its root: np.sqrt(len(differences)) => len(differences)
        divided by the root of n - 1: np.sqrt(len(differences)) => np.sqrt(len(differences) - 1)
        multiplied by the root of n: / np.sqrt => * np.sqrt
        one side only [quantile]: 0.975 => 0.95
        whole width: , half => , 2 * half
        ends in place of mean and half: {RETURNED} => return differences.mean() - half, differences.mean() + half
        results in the wrong order [interval]: {RETURNED} => return half, differences.mean()
        second minus first: {PAIRS} => np.asarray(second) - np.asarray(first) ||
            {RETURNED} => return -differences.mean(), half
        half the width is negative: , half => , -half
        mean forgotten: {RETURNED} => return half
        half the width forgotten: {RETURNED} => return differences.mean()
        not averaged [interval]: differences.mean() => differences
        Lab 11, “Does pairing help?”
        pairing lost: {SPREAD} => {OF_TWO} ||
            {SPREAD} => {OF_TWO} && len(differences) - 1 => 2 * len(differences) - 2 ||
            {SPREAD} => (np.std(first, ddof=1) + np.std(second, ddof=1)) ||
            abs(np.std(first, ddof=1) - np.std(second, ddof=1))
        one model only: {SPREAD} => np.std(first, ddof=1) || np.std(second, ddof=1) || {PAIRS} => np.asarray(first) ||
            np.asarray(second)
        added in place of subtracted: (first) - => (first) +
        sign lost: {PAIRS} => np.abs({PAIRS}) || {RETURNED} => return abs(differences.mean()), half
        Lab 11, “All models, first task”
        normal in place of t: {QUANTILE} => stats.norm.ppf(0.975) || 1.96
        the quantile of five seeds: {QUANTILE} => stats.t.ppf(0.975, 4) || 2.78 || 2.776
        the quantile forgotten: quantile * =>
        wrong degrees of freedom: len(differences) - 1) => len(differences)) || len(differences) - 2) ||
            2 * len(differences) - 2)
    """),
)


# --- 11.2 ---
def sign_flips(differences):
    """Share of all sign patterns whose mean is at least as far from 0 as the measured one."""
    differences = np.asarray(differences)  # (seeds,)
    patterns = np.array(list(product([1, -1], repeat=len(differences))))  # (2 ** seeds, seeds)
    means = (patterns * differences).mean(axis=1)  # (2 ** seeds,)
    return np.mean(np.abs(means) >= abs(differences.mean()) - 1e-12)


def share_by_halves(differences):
    """Add one difference after the other, with both signs: the list of all sums doubles each time."""
    sums = [0.0]
    for difference in map(float, differences):
        sums = [total + step for total in sums for step in (difference, -difference)]
    measured = abs(sum(map(float, differences)))
    return sum(abs(total) >= measured - 1e-9 for total in sums) / len(sums)


COUNT = "np.mean(np.abs(means) >= abs(differences.mean()) - 1e-12)"
MEANS = "(patterns * differences).mean(axis=1)"
ALLOWED = " - 1e-12"

sign_flips = Exercise(
    sign_flips,
    cases=[
        Case({"differences": np.array(differences)})
        for differences in (
            [0.02, 0.03, -0.01, 0.05, 0.01],
            [-0.03, -0.02, 0.01, -0.04],
            [0.01, 0.02, 0.03, 0.02, 0.05, 0.04, -0.06],
            [0.04, 0.01],
            [0.03, -0.01, -0.02],
            [0.02, -0.005, 0.0004],  # with the last sign turned the mean is .0003 nearer to 0
            [-0.02, 0.005, -0.00002],  # and here .00001
        )
    ],
    truth=share_by_halves,
    tried="two, three, four, five and seven differences of both signs, some of them far smaller than others",
    see="Lab 11, “Exercise 11.2: what five seeds can say”",
    mistakes=edits(f"""
        the allowance too large: 1e-12 => 1e-2 || 1e-3 || 1e-4 || 2e-5
        one side only [above]: np.abs(means) >= abs(differences.mean()) => means >= differences.mean()
        one side only: np.abs(means) => means || -means || means * np.sign(differences.mean())
        one side doubled: {COUNT} => 2 * np.mean(means >= abs(differences.mean()) - 1e-12)
        equal means lost to rounding: - 1e-12 => ||
            - 1e-12 => && {MEANS} => patterns @ differences / len(differences) ||
            - 1e-12 => && {MEANS} => (patterns * differences).sum(axis=1) / len(differences)
        measured pattern not counted: >= abs(differences.mean()) - 1e-12 => > abs(differences.mean()) + 1e-12 ||
            - 1e-12 => + 1e-12
        a count instead of a share [patterns]: np.mean(np.abs => np.sum(np.abs
        the other share: >= => < || >= abs(differences.mean()) - 1e-12 => <= abs(differences.mean()) + 1e-12
        sign of the measured mean kept: abs(differences.mean()) => differences.mean()
        Student's t: {COUNT} => stats.ttest_1samp(differences, 0).pvalue
        signs counted, not means: {COUNT} => stats.binomtest(int((differences > 0).sum()), len(differences)).pvalue
        measured pattern left out of all: {COUNT} => ({COUNT} * len(patterns) - 1) / (len(patterns) - 1) ||
            ({COUNT} * len(patterns) - 1) / len(patterns)
        mean over the patterns: axis=1 => axis=0
        the measured mean is not used: abs(differences.mean()) - 1e-12 => 1e-12
        sums compared with a mean: {MEANS} => (patterns * differences).sum(axis=1)
        one answer for each pattern: np.mean(np.abs(means) => (np.abs(means)
        the patterns are not used: (patterns * differences) => (differences * np.ones_like(patterns))
        signs without the differences: (patterns * differences) => patterns
        zeros in place of minus signs: [1, -1] => [1, 0]
    """),
)

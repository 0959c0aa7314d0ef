"""The checks of lab 9: the interval of a paired difference, and what five seeds can say."""

from itertools import product

import numpy as np
from scipy import stats

from .exercise import Case, Exercise
from .mistakes import edit

PAIRED = "Lab 9, “Paired differences”"
STUDENT = "Lab 9, “All models, first task”"
INTERVAL = "Lab 9, “Exercise 9.1: the interval of a paired difference”"
FLIPS = "Lab 9, “Exercise 9.2: what five seeds can say”"

# --- 9.1 ---------------------------------------------------------------------------------------------------------


def paired_interval(first, second):
    """Mean of first - second, and half the width of its 95% interval."""
    differences = np.asarray(first) - np.asarray(second)  # (seeds,)
    quantile = stats.t.ppf(0.975, len(differences) - 1)
    half = quantile * differences.std(ddof=1) / np.sqrt(len(differences))
    return differences.mean(), half


def interval_by_scipy(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    low, high = stats.ttest_rel(first, second).confidence_interval(0.95)
    return float(low + high) / 2, float(high - low) / 2


def two_models(seeds: int, shared_luck: float, seed: int) -> Case:
    random = np.random.default_rng(seed)
    luck = shared_luck * random.normal(size=seeds)
    first, second = (mean + luck + 0.01 * random.normal(size=seeds) for mean in (0.81, 0.80))
    return Case({"first": first, "second": second})


def the_worse_first(case: Case) -> Case:
    return Case({"first": case.inputs["second"], "second": case.inputs["first"]})


PAIRS, QUANTILE = "np.asarray(first) - np.asarray(second)", "stats.t.ppf(0.975, len(differences) - 1)"
SPREAD, RETURNED = "differences.std(ddof=1)", "return differences.mean(), half"
OF_TWO = "np.sqrt(np.var(first, ddof=1) + np.var(second, ddof=1))"

paired_interval = Exercise(
    paired_interval,
    cases=[
        two_models(5, 0.02, 0),
        two_models(3, 0.05, 1),
        two_models(9, 0.01, 2),
        the_worse_first(two_models(4, 0.02, 4)),
    ],
    truth=interval_by_scipy,
    without=("mean_and_interval",),
    tried="three, four, five and nine seeds that share more luck or less, the better model first or last",
    see=INTERVAL,
    mistakes=[
        *(
            edit("pairing lost", *way, see=PAIRED)
            for way in (
                (SPREAD, OF_TWO),
                (SPREAD, OF_TWO, "len(differences) - 1", "2 * len(differences) - 2"),
                (SPREAD, "(np.std(first, ddof=1) + np.std(second, ddof=1))"),
                (SPREAD, "abs(np.std(first, ddof=1) - np.std(second, ddof=1))"),
            )
        ),
        edit("one model only", SPREAD, "np.std(first, ddof=1)", see=PAIRED),
        edit("one model only", SPREAD, "np.std(second, ddof=1)", see=PAIRED),
        edit("one model only", PAIRS, "np.asarray(first)", see=PAIRED),
        edit("one model only", PAIRS, "np.asarray(second)", see=PAIRED),
        edit("added in place of subtracted", "(first) -", "(first) +", see=PAIRED),
        edit("normal in place of t", QUANTILE, "stats.norm.ppf(0.975)", see=STUDENT),
        edit("normal in place of t", QUANTILE, "1.96", see=STUDENT),
        edit("the quantile of five seeds", QUANTILE, "stats.t.ppf(0.975, 4)", see=STUDENT),
        edit("the quantile of five seeds", QUANTILE, "2.78", see=STUDENT),
        edit("the quantile of five seeds", QUANTILE, "2.776", see=STUDENT),
        edit("the quantile forgotten", "quantile * ", "", see=STUDENT),
        edit("spread divided by n", "ddof=1", "ddof=0"),
        edit("spread divided by n", "ddof=1", ""),
        edit("the spread forgotten", f" * {SPREAD}", ""),
        edit("the spread forgotten", SPREAD, "differences"),
        edit(
            "added in place of multiplied",
            *(f"quantile * {SPREAD}", f"(quantile + {SPREAD})"),
            say="You add the quantile to the spread. Half the width is so many times the standard error.",
        ),
        edit(
            "divided in place of multiplied",
            *(f"quantile * {SPREAD}", f"quantile / {SPREAD}"),
            say="You divide the quantile by the spread. Half the width is so many times the standard error.",
        ),
        edit("variance in place of the spread", "differences.std", "differences.var"),
        edit("root of n forgotten", " / np.sqrt(len(differences))", ""),
        edit("divided by n in place of its root", "np.sqrt(len(differences))", "len(differences)"),
        edit("divided by the root of n - 1", "np.sqrt(len(differences))", "np.sqrt(len(differences) - 1)"),
        edit("multiplied by the root of n", "/ np.sqrt", "* np.sqrt"),
        edit("wrong degrees of freedom", "len(differences) - 1)", "len(differences))", see=STUDENT),
        edit("wrong degrees of freedom", "len(differences) - 1)", "len(differences) - 2)", see=STUDENT),
        edit("wrong degrees of freedom", "len(differences) - 1)", "2 * len(differences) - 2)", see=STUDENT),
        edit(
            "one side only",
            *("0.975", "0.95"),
            say="The quantile .95 leaves out 5% at each end. An interval of 95% leaves out 2.5% at each: .975.",
        ),
        edit("whole width", ", half\n", ", 2 * half\n"),
        edit("ends in place of mean and half", RETURNED, "return differences.mean() - half, differences.mean() + half"),
        edit(
            "results in the wrong order",
            *(RETURNED, "return half, differences.mean()"),
            say="Both numbers are right, but in the wrong order: the mean difference first, then half the width.",
        ),
        edit("second minus first", PAIRS, "np.asarray(second) - np.asarray(first)"),
        edit("second minus first", RETURNED, "return -differences.mean(), half"),
        edit("sign lost", PAIRS, f"np.abs({PAIRS})", see=PAIRED),
        edit("sign lost", RETURNED, "return abs(differences.mean()), half", see=PAIRED),
        edit("half the width is negative", ", half\n", ", -half\n"),
        edit("mean forgotten", RETURNED, "return half"),
        edit("half the width forgotten", RETURNED, "return differences.mean()"),
        edit(
            "not averaged",
            "differences.mean()",
            "differences",
            say="The differences come back one by one. The first number is their mean.",
        ),
    ],
)

# --- 9.2 ---------------------------------------------------------------------------------------------------------


def sign_flips(differences):
    """Share of all sign patterns whose mean is at least as far from 0 as the measured one."""
    differences = np.asarray(differences)  # (seeds,)
    patterns = np.array(list(product([1, -1], repeat=len(differences))))  # (2 ** seeds, seeds)
    means = (patterns * differences).mean(axis=1)  # (2 ** seeds,)
    return np.mean(np.abs(means) >= abs(differences.mean()) - 1e-12)


def share_by_halves(differences: np.ndarray) -> float:
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
    see=FLIPS,
    mistakes=[
        *(edit("the allowance too large", "1e-12", allowance) for allowance in ("1e-2", "1e-3", "1e-4", "2e-5")),
        edit(
            "one side only",
            *("np.abs(means) >= abs(differences.mean())", "means >= differences.mean()"),
            say="Only means above the measured one are counted. A mean as far below 0 would have surprised you as "
            "much.",
        ),
        *(
            edit(
                "one side only",
                *("np.abs(means)", way),
                say="Only means on one side of 0 are counted. A mean as far on the other side would have surprised "
                "you as much.",
            )
            for way in ("means", "-means", "means * np.sign(differences.mean())")
        ),
        edit("one side doubled", COUNT, "2 * np.mean(means >= abs(differences.mean()) - 1e-12)"),
        *(
            edit("equal means lost to rounding", ALLOWED, "", *more)
            for more in (
                (),
                (MEANS, "patterns @ differences / len(differences)"),
                (MEANS, "(patterns * differences).sum(axis=1) / len(differences)"),
            )
        ),
        edit(
            "measured pattern not counted", f">= abs(differences.mean()){ALLOWED}", "> abs(differences.mean()) + 1e-12"
        ),
        edit("measured pattern not counted", ALLOWED, " + 1e-12"),
        edit(
            "a count instead of a share",
            *("np.mean(np.abs", "np.sum(np.abs"),
            say="This is how many patterns are as far from 0. Divide by the number of all patterns.",
        ),
        edit("the other share", ">=", "<"),
        edit("the other share", f">= abs(differences.mean()){ALLOWED}", "<= abs(differences.mean()) + 1e-12"),
        edit("sign of the measured mean kept", "abs(differences.mean())", "differences.mean()"),
        edit("Student's t", COUNT, "stats.ttest_1samp(differences, 0).pvalue"),
        edit(
            "signs counted, not means",
            *(COUNT, "stats.binomtest(int((differences > 0).sum()), len(differences)).pvalue"),
        ),
        edit(
            "measured pattern left out of all",
            *(COUNT, f"({COUNT} * len(patterns) - 1) / (len(patterns) - 1)"),
        ),
        edit("measured pattern left out of all", COUNT, f"({COUNT} * len(patterns) - 1) / len(patterns)"),
        edit("mean over the patterns", "axis=1", "axis=0"),
        edit("the measured mean is not used", f"abs(differences.mean()){ALLOWED}", "1e-12"),
        edit("sums compared with a mean", MEANS, "(patterns * differences).sum(axis=1)"),
        edit("one answer for each pattern", "np.mean(np.abs(means)", "(np.abs(means)"),
        edit("the patterns are not used", "(patterns * differences)", "(differences * np.ones_like(patterns))"),
        edit("signs without the differences", "(patterns * differences)", "patterns"),
        edit("zeros in place of minus signs", "[1, -1]", "[1, 0]"),
    ],
)

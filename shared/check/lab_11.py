"""The checks of lab 11: a paired interval, what five seeds can say, a gain too good, a verdict said beforehand."""

import math  # noqa: F401 - mistakes use it
from itertools import product

import numpy as np
import torch  # noqa: F401 - mistakes use it
from scipy import stats

from .. import training
from .exercise import Case, Exercise
from .experiment import asked, by_hand, by_sums, over_seeds
from .mistakes import Wrong, edits


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
SPREAD = "differences.std(ddof=1)"
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
    see="Lab 11, “Exercise 11.1 (build): the interval of a paired difference”",
    mistakes=edits(f"""
        the spread forgotten: * {SPREAD} => || {SPREAD} => differences
        one side only [quantile]: 0.975 => 0.95
        the sign turned round [first]: {PAIRS} => np.asarray(second) - np.asarray(first)
        half the width is negative: , half => , -half
        not averaged [interval]: differences.mean() => differences
        Lab 11, “Three sources of chance”
        pairing lost: {SPREAD} => {OF_TWO} ||
            {SPREAD} => {OF_TWO} && len(differences) - 1 => 2 * len(differences) - 2 ||
            {SPREAD} => (np.std(first, ddof=1) + np.std(second, ddof=1)) ||
            abs(np.std(first, ddof=1) - np.std(second, ddof=1))
        one model only: {SPREAD} => np.std(first, ddof=1) || np.std(second, ddof=1) || {PAIRS} => np.asarray(first) ||
            np.asarray(second)
        added in place of subtracted: (first) - => (first) +
        sign lost: {PAIRS} => np.abs({PAIRS}) || return differences.mean() => return abs(differences.mean())
        normal in place of t: {QUANTILE} => stats.norm.ppf(0.975) || 1.96
        the quantile of five seeds: {QUANTILE} => stats.t.ppf(0.975, 4) || 2.78 || 2.776 ||
            {QUANTILE} => 2.776 && np.sqrt(len(differences)) => np.sqrt(5) ||
            {QUANTILE} => stats.t.ppf(0.975, 4) && np.sqrt(len(differences)) => np.sqrt(5)
        wrong degrees of freedom: len(differences) - 1) => len(differences)) || len(differences) - 2) ||
            2 * len(differences) - 2)
    """)
    + by_hand("differences", "quantile", SPREAD, "np.sqrt", item=""),
)


# --- 11.3 ---
def sign_flips(differences):
    """Share of all sign patterns whose mean is at least as far from 0 as the measured one."""
    differences = np.asarray(differences)  # (seeds,)
    patterns = np.array(list(product([1, -1], repeat=len(differences))))  # (2 ** seeds, seeds)
    means = (patterns * differences).mean(axis=1)  # (2 ** seeds,)
    return np.mean(np.abs(means) >= abs(differences.mean()) - 1e-12)


def share_by_scipy(differences):
    every_pattern = {"permutation_type": "samples", "n_resamples": np.inf}
    return stats.permutation_test((differences,), np.mean, **every_pattern, alternative="two-sided").pvalue


COUNT = "np.mean(np.abs(means) >= abs(differences.mean()) - 1e-12)"
MEANS = "(patterns * differences).mean(axis=1)"

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
    truth=share_by_scipy,
    tried="two, three, four, five and seven differences of both signs, some of them far smaller than others",
    see="Lab 11, “Exercise 11.3 (build): what five seeds can say”",
    mistakes=edits(f"""
        the allowance too large: 1e-12 => 1e-2 || 1e-3 || 1e-4 || 2e-5
        one side only [above]: np.abs(means) >= abs(differences.mean()) => means >= differences.mean()
        one side only: np.abs(means) => means || -means || means * np.sign(differences.mean())
        one side doubled: {COUNT} => 2 * np.mean(means >= abs(differences.mean()) - 1e-12)
        equal means lost to rounding: - 1e-12 => ||
            - 1e-12 => && {MEANS} => patterns @ differences / len(differences)
        measured pattern not counted: >= abs(differences.mean()) - 1e-12 => > abs(differences.mean()) + 1e-12 ||
            >= abs(differences.mean()) - 1e-12 => > abs(differences.mean())
        always five signs: repeat=len(differences) => repeat=5
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


# --- 11.2 ---
def mend_the_comparison(first, second, train, measure, seeds):
    """Mean gain of the first model over the second on test reviews, and half the width of its 95% interval."""
    gains = []
    for seed in seeds:
        tested = []
        for name in (first, second):
            epochs = train(name, seed)  # the model after each epoch
            best = max(epochs, key=lambda net: measure(net, "validation"))
            tested.append(measure(best, "test"))
        gains.append(tested[0] - tested[1])
    return training.mean_and_interval(gains)


QUALITY = {"mean pooling": 0.8, "attention pooling": 0.83, "encoder": 0.79}


def planted_training(name, seed):
    """Six epochs of known figures, with luck of each epoch and part, and luck that all models share in a seed."""
    random = np.random.default_rng([seed, len(name)])
    shared_luck = 0.05 * np.random.default_rng(seed).normal()
    return [
        {part: QUALITY[name] + shared_luck + 0.01 * epoch + 0.02 * random.normal() for part in ("validation", "test")}
        for epoch in range(6)
    ]


def planted_measure(net, part):
    return net[part]


def compared_by_pairs(first, second, train, measure, seeds):
    """The largest pair of figures of an epoch has the best one on validation reviews in front."""
    best = [
        [max((net["validation"], net["test"]) for net in train(name, seed)) for name in (first, second)]
        for seed in seeds
    ]
    return by_sums([one[1] - other[1] for one, other in best])


def two_runs(first: str, second: str, *seeds: int) -> Case:
    functions = {"train": planted_training, "measure": planted_measure}
    return Case({"first": first, "second": second} | functions | {"seeds": list(seeds)})


BEST, RUN = 'max(epochs, key=lambda net: measure(net, "validation"))', "train(name, seed)"

mend_the_comparison = Exercise(
    mend_the_comparison,
    cases=[
        two_runs("attention pooling", "mean pooling", 0, 1, 2, 3, 4),
        two_runs("mean pooling", "mean pooling", 5, 6, 7),
        two_runs("encoder", "attention pooling", 11, 9, 2, 4),
    ],
    truth=compared_by_pairs,
    tried="a training of which each epoch's figures are known, with three, four and five seeds, and a model compared "
    "with itself",
    see="Lab 11, “Exercise 11.2 (debug): better than itself”",
    mistakes=edits(f"""
        the fault is still there: => baseline = measure(train(second, seeds[0])[-1], "test")
            gains = [max(measure(net, "test") for net in train(first, seed)) - baseline for seed in seeds]
            return training.mean_and_interval(gains)
        more than one fault is left [comparison]:
            => gains = [max(measure(net, "test") for net in train(first, seed))
                - measure(train(second, seed)[-1], "test") for seed in seeds]
            return training.mean_and_interval(gains) ||
            => baseline = max(measure(net, "test") for net in train(second, seeds[0]))
            gains = [max(measure(net, "test") for net in train(first, seed)) - baseline for seed in seeds]
            return training.mean_and_interval(gains) ||
            => baseline = measure(train(second, seeds[0])[-1], "test")
            best = [max(train(first, seed), key=lambda net: measure(net, "validation")) for seed in seeds]
            return training.mean_and_interval([measure(net, "test") - baseline for net in best])
        chosen on the test reviews: measure(net, "validation") => measure(net, "test")
        chosen on both: measure(net, "validation") => measure(net, "validation") + measure(net, "test")
        the last epoch, not the best: {BEST} => epochs[-1]
        the two chosen in two ways: {BEST} => {BEST} if name == first else epochs[-1] ||
            max(epochs, key=lambda net: measure(net, "test" if len(tested) == 0 else "validation")) ||
            max(epochs, key=lambda net: measure(net, "validation")) if len(tested) == 0 else epochs[-1]
        the worst epoch: {BEST} => min(epochs, key=lambda net: measure(net, "validation"))
        one seed for all [second]: {RUN} => train(name, seed if len(tested) == 0 else seeds[0])
        one seed for all: {RUN} => train(name, seeds[0])
        the validation reviews reported: measure(best, "test") => measure(best, "validation") ||
            measure(best, "validation" if tested else "test") || measure(best, "test" if tested else "validation")
        the sign turned round [first]: tested[0] - tested[1] => tested[1] - tested[0]
        added in place of subtracted: tested[0] - => tested[0] +
        sign lost: tested[0] - tested[1] => abs(tested[0] - tested[1])
        one model only: tested[0] - tested[1] => tested[0] || tested[0] - tested[1] => tested[1]
        the best seed [models]: training.mean_and_interval(gains) => (max(gains), training.mean_and_interval(gains)[1])
    """)
    + asked("gains", call="training.mean_and_interval"),
)


# --- 11.4 ---
def told_before(first, second, train, seeds, band):
    """Mean gain of the first model, half the width of its 95% interval, and the verdict, a word."""
    gains = [train(first, seed) - train(second, seed) for seed in seeds]
    mean, half = training.mean_and_interval(gains)
    if abs(mean) + half < band:
        return mean, half, "close"
    if mean - half > 0:
        return mean, half, "higher"
    return mean, half, "lower" if mean + half < 0 else "undecided"


MODELS = {"a": (0.8, 0.004), "b": (0.83, 0.004), "c": (0.801, 0.004), "d": (0.815, 0.03), "e": (0.806, 0.0004)}


def planted_accuracy(name, seed):
    """No training: each model has a quality, luck of its own, and luck that all share in a seed."""
    quality, luck = MODELS[name]
    own = np.random.default_rng([seed, ord(name)]).normal()
    return quality + luck * own + 0.05 * np.random.default_rng(seed).normal()


def verdict_by_scipy(first, second, train, seeds, band):
    runs = ([train(name, seed) for seed in seeds] for name in (first, second))
    low, high = stats.ttest_rel(*runs).confidence_interval()
    word = "higher" if low > 0 else "lower" if high < 0 else "undecided"
    return numbered(((low + high) / 2, (high - low) / 2, "close" if -band < low and high < band else word))


VERDICTS = ["higher", "lower", "close", "undecided"]


def numbered(given, **_):
    """The word as a number, so that all three can be compared."""
    if not isinstance(given, (tuple, list)) or len(given) != 3 or given[2] not in VERDICTS:
        raise Wrong("no mean, half and verdict")
    return float(given[0]), float(given[1]), float(VERDICTS.index(given[2]))


def question(first: str, second: str, seeds: int, band: float, begin: int = 0) -> Case:
    names = {"first": first, "second": second, "train": planted_accuracy}
    return Case(names | {"seeds": list(range(begin, begin + seeds)), "band": band})


RUNS = "train(first, seed)", "train(second, seed)"
CLOSE, ABOVE = "abs(mean) + half < band", "mean - half > 0"

told_before = Exercise(
    told_before,
    cases=[
        question("b", "a", 5, 0.01),
        question("a", "b", 5, 0.01, begin=20),
        question("c", "a", 8, 0.02),
        question("d", "a", 4, 0.01),
        question("e", "a", 9, 0.02, begin=40),
        question("a", "e", 9, 0.004, begin=40),
        question("a", "d", 3, 0.05, begin=7),
        question("e", "a", 9, 0.005, begin=40),
    ],
    truth=verdict_by_scipy,
    view=numbered,
    tried="eight comparisons of which the outcome is known: higher, lower, close and undecided, three to nine seeds",
    see="Lab 11, “Exercise 11.4 (experiment): said beforehand”",
    mistakes=edits(f"""
        close by the mean alone: {CLOSE} => abs(mean) < band
        close where zero is inside: {CLOSE} => abs(mean) < half
        close by the width alone: {CLOSE} => half < band
        close told last: {CLOSE} => {CLOSE} and not {ABOVE} and not mean + half < 0
        undecided told before close: {CLOSE} => {CLOSE} and not abs(mean) <= half
        higher and lower exchanged: mean, half, "higher" => mean, half, "lower" &&
            half, "lower" if mean => half, "higher" if mean
        the band around the other side: {CLOSE} => mean + half < band || mean - half > -band
        higher by the mean alone: {ABOVE} => mean > 0
        higher only above the band: {ABOVE} => mean - half > band ||
            {ABOVE} => mean - half > band && mean + half < 0 => mean + half < -band
        never lower: "lower" if mean + half < 0 else "undecided" => "undecided"
        never undecided: mean + half < 0 => mean < 0
        the sign turned round [first]: train(first, seed) - train(second, seed) =>
            train(second, seed) - train(first, seed)
        the band in the width: training.mean_and_interval(gains) => np.add(training.mean_and_interval(gains), (0, band))
    """)
    + over_seeds(*RUNS)
    + asked("gains", [f"[{run} for seed in seeds]" for run in RUNS], call="training.mean_and_interval"),
)

"""The checks of *Does it help?*: a paired interval, an unfair comparison, a test by signs, a preregistered answer."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import torch
from scipy import stats

from checks import trials
from checks.engine import Case, Check
from checks.trials import changed
from shared.statistics import mean_and_interval


def made_up_runs(number, shared_spread, seed, means=(0.81, 0.80)):
    """Accuracies of two models, which vary together with the seed."""
    random = np.random.default_rng(seed)
    together = shared_spread * random.normal(size=number)
    first, second = (mean + together + 0.01 * random.normal(size=number) for mean in means)
    return Case({"first": first, "second": second})


# --- paired_interval -----------------------------------------------------------------------------------------------


def interval_by_scipy(first, second):
    low, high = stats.ttest_rel(first, second).confidence_interval(0.95)
    return float(low + high) / 2, float(high - low) / 2


def interval_of(differences, freedom=-1, level=0.975, correction=1):
    """The right way, one step of which a known mistake exchanges; `freedom` is added to the number of differences."""
    n = len(differences)
    return differences.mean(), stats.t.ppf(level, n + freedom) * differences.std(ddof=correction) / math.sqrt(n)


def second_minus_first(first, second):
    """The difference has the wrong sign: the exercise asks for first minus second."""
    return interval_of(second - first)


def intervals_added(first, second):
    """Each model has an interval of its own, and the half-widths are combined. Subtract seed by seed first: what both
    runs of a seed share cancels."""
    return np.mean(first - second), math.hypot(interval_of(first)[1], interval_of(second)[1])


def n_in_the_standard_deviation(first, second):
    """The variance is divided by n. NumPy's `std` does so unless you write `ddof=1`."""
    return interval_of(first - second, correction=0)


def one_sided_quantile(first, second):
    """The quantile .95 leaves 5% on one side. For 2.5% on each side it is .975."""
    return interval_of(first - second, level=0.95)


def n_degrees_of_freedom(first, second):
    """There are n degrees of freedom in the quantile. The mean takes one of them: n - 1."""
    return interval_of(first - second, freedom=0)


def root_left_out(first, second):
    """The standard deviation is not divided by the root of n. A mean of n values varies less than a single one."""
    mean, half = interval_of(first - second)
    return mean, half * math.sqrt(len(first))


paired_interval = Check(
    reference=interval_by_scipy,
    solution=lambda first, second: interval_of(np.subtract(first, second)),
    cases=[
        made_up_runs(3, 0.05, 1),
        made_up_runs(5, 0.02, 0),
        made_up_runs(9, 0.01, 2),
        made_up_runs(4, 0.02, 4, means=(0.80, 0.81)),
    ],
    mistakes=[
        second_minus_first, intervals_added, n_in_the_standard_deviation, one_sided_quantile, n_degrees_of_freedom,
        root_left_out, *trials.interval_mistakes(lambda first, second: first - second),
    ],
    section="Does it help?, “Exercise 10.1 (build): the interval of a paired difference”",
    forbidden=("mean_and_interval",),
)  # fmt: skip


# --- sign_flips ----------------------------------------------------------------------------------------------------


def fraction_by_scipy(differences):
    every_pattern = {"permutation_type": "samples", "n_resamples": np.inf, "alternative": "two-sided"}
    return float(stats.permutation_test((differences,), np.mean, **every_pattern).pvalue)


def means_of_patterns(differences):
    return np.array([np.mean(signs * differences) for signs in product([1, -1], repeat=len(differences))])


def at_least_as_far(means, mean):
    return np.abs(means) >= abs(mean) - 1e-12


def fraction(differences, count=at_least_as_far):
    """The right way, one step of which a known mistake exchanges."""
    return np.mean(count(means_of_patterns(differences), np.mean(differences)))


def one_side_only(means, mean):
    """Only means on one side of 0 are counted. Compare the absolute values of both."""
    return means >= abs(mean) - 1e-12


def without_absolute_value(means, mean):
    """The means are compared with their signs. Compare the absolute values of both: the test has two sides."""
    return means >= mean - 1e-12


def measured_pattern_not_counted(means, mean):
    """Equal means are not counted, so the measured pattern is missing. Count means that are at least as far from 0."""
    return np.abs(means) > abs(mean)


def closer_means_counted(means, mean):
    """This is the fraction of means that are closer to 0. Count those that are at least as far."""
    return np.abs(means) < abs(mean) - 1e-12


def equal_means_lost_to_rounding(means, mean):
    """Some equal means are not counted, because they differ in the last digit. Compare with `abs(mean) - 1e-12`."""
    return np.abs(means) >= abs(mean)


def sums_compared_with_a_mean(means, mean):
    """The sums of the patterns are compared with a mean. Divide them by the number of seeds."""
    return np.abs(means) * math.log2(len(means)) >= abs(mean) - 1e-12


def number_of_patterns(differences):
    """This is the number of patterns. Divide by the number of all patterns."""
    return fraction(differences) * 2 ** len(differences)


def students_t(differences):
    """This is the p-value of Student's t, which supposes normal differences. Count the patterns of signs."""
    return stats.ttest_1samp(differences, 0).pvalue


sign_flips = Check(
    reference=fraction_by_scipy,
    solution=fraction,
    cases=[
        Case({"differences": np.array(differences)})
        for differences in (
            [0.02, 0.03, -0.01, 0.05, 0.01],
            [-0.03, -0.02, 0.01, -0.04],
            [0.01, 0.02, 0.03, 0.02, 0.05, 0.04, -0.06],
            [0.04, 0.01],
            [0.03, -0.01, -0.02],
            [0.02, -0.005, 0.0004],  # with the last sign exchanged the mean is .0003 nearer to 0
            [-0.02, 0.005, -0.00002],  # and here .00001
        )
    ],
    mistakes=[
        *(changed(fraction, count=step) for step in (
            without_absolute_value, one_side_only, measured_pattern_not_counted,
            closer_means_counted, equal_means_lost_to_rounding, sums_compared_with_a_mean)),
        number_of_patterns, students_t,
    ],
    section="Does it help?, “Exercise 10.3 (build): what five seeds can show”",
    canonical=lambda result, differences: float(result) if isinstance(result, Fraction) else result,
)  # fmt: skip


# --- fix_the_comparison --------------------------------------------------------------------------------------------


LEVELS = {"mean pooling": 0.8, "attention pooling": 0.83, "encoder": 0.79}


def made_up_training(name, seed):
    """Six epochs of known accuracies, which vary by epoch and part, and by a seed that all models share."""
    random = np.random.default_rng([seed, len(name)])
    level = LEVELS[name] + 0.05 * np.random.default_rng(seed).normal()
    return [
        {part: level + 0.01 * epoch + 0.02 * random.normal() for part in ("validation", "test")} for epoch in range(6)
    ]


def accuracy(net, part):
    return net[part]


def comparison(*names_and_seeds):
    first, second, *seeds = names_and_seeds
    functions = {"train": made_up_training, "measure": accuracy}
    return Case({"first": first, "second": second} | functions | {"seeds": seeds})


def on_validation(epochs, measure):
    return max(epochs, key=lambda net: measure(net, "validation"))


def on_test(epochs, measure):
    return max(epochs, key=lambda net: measure(net, "test"))


def last_epoch(epochs, measure):
    return epochs[-1]


def gains(first, second, train, measure, seeds, chosen=(on_validation, on_validation), one_run=False, part="test"):
    """The gain with each seed, one step of which a known mistake exchanges; `one_run` is all the second model has."""
    models = (first, seeds, chosen[0]), (second, seeds[:1] * len(seeds) if one_run else seeds, chosen[1])
    pairs = ([measure(choose(train(name, seed), measure), part) for seed in own] for name, own, choose in models)
    return [one - other for one, other in zip(*pairs, strict=True)]


def fault(sentence, name, **steps):
    """A mistake in which the gains are computed with these steps."""

    def mistake(**given):
        return trials.interval_by_sums(gains(**given, **steps))

    mistake.__name__, mistake.__doc__ = name, sentence
    return mistake


def second_minus_first_gained(**given):
    """The difference has the wrong sign: the exercise asks for the gain of the first model."""
    return trials.interval_by_sums([-gain for gain in gains(**given)])


MORE = "More than one fault is left. Write down the seeds of each model, and on which reviews its epoch is chosen."
FIX = "Choose the epoch of both on the validation reviews."

fix_the_comparison = Check(
    reference=lambda **given: trials.interval_by_sums(gains(**given)),
    cases=[
        comparison("attention pooling", "mean pooling", 0, 1, 2, 3, 4),
        comparison("mean pooling", "mean pooling", 5, 6, 7),
        comparison("encoder", "attention pooling", 11, 9, 2, 4),
    ],
    mistakes=[
        *(fault(MORE, "several_faults_left", chosen=chosen, one_run=one_run) for chosen, one_run in (
            ((on_test, last_epoch), True), ((on_test, last_epoch), False), ((on_test, on_test), True),
            ((on_test, on_validation), True), ((on_validation, last_epoch), True))),
        fault(f"One fault is left: the first model's epoch is chosen on the test reviews. {FIX}",
              "first_chosen_on_test", chosen=(on_test, on_validation)),
        fault(f"One fault is left: the second model is measured after its last epoch. {FIX}",
              "second_not_chosen", chosen=(on_validation, last_epoch)),
        fault("One fault is left: one run of the second model is compared with all runs of the first. Train both with "
              "each seed.", "one_run_of_the_second", one_run=True),
        fault(f"Both models' epochs are chosen on the test reviews. {FIX}",
              "both_chosen_on_test", chosen=(on_test, on_test)),
        fault(f"Both models are measured after their last epoch. {FIX}",
              "neither_chosen", chosen=(last_epoch, last_epoch)),
        fault("The gain is measured on the validation reviews, on which the epochs were chosen. Measure it on the test "
              "reviews.", "measured_on_validation", part="validation"),
        second_minus_first_gained, *trials.seed_mistakes(lambda **given: trials.interval_by_sums(gains(**given))),
        *trials.interval_mistakes(gains),
    ],
    section="Does it help?, “Exercise 10.2 (debug): better than itself”",
)  # fmt: skip


# --- preregistered -------------------------------------------------------------------------------------------------


MODELS = {"a": (0.8, 0.004), "b": (0.83, 0.004), "c": (0.801, 0.004), "d": (0.815, 0.03), "e": (0.806, 0.0004)}


def made_up_accuracy(name, seed):
    """Without training: a level and a spread for each model, and a spread that all share in a seed."""
    level, spread = MODELS[name]
    own = np.random.default_rng([seed, ord(name)]).normal()
    return level + spread * own + 0.05 * np.random.default_rng(seed).normal()


def answer_by_scipy(first, second, train, seeds, band):
    runs = ([train(name, seed) for seed in seeds] for name in (first, second))
    low, high = map(float, stats.ttest_rel(*runs).confidence_interval())
    word = "higher" if low > 0 else "lower" if high < 0 else "undecided"
    return (low + high) / 2, (high - low) / 2, "close" if -band < low and high < band else word


def word_of(mean, half, band):
    if abs(mean) + half < band:
        return "close"
    return "higher" if mean - half > 0 else "lower" if mean + half < 0 else "undecided"


def preregistered_answer(first, second, train, seeds, band, interval=mean_and_interval, word=word_of):
    """The right way, one step of which a known mistake exchanges."""
    differences = [train(first, seed) - train(second, seed) for seed in seeds]
    mean, half = interval(torch.tensor(differences, dtype=torch.float64))
    return mean, half, word(mean, half, band)


def close_by_the_mean_alone(mean, half, band):
    """ "close" looks at the mean only. The whole interval has to be between -band and band."""
    return "close" if abs(mean) < band else word_of(mean, half, 0)


def close_where_0_is_inside(mean, half, band):
    """An interval that contains 0 is called "close". It is so only when both its ends are between -band and band."""
    return "close" if abs(mean) < half else word_of(mean, half, 0)


def close_last(mean, half, band):
    """ "close" is asked last, so a small difference that is certain is called "higher" or "lower". Ask it first."""
    word = word_of(mean, half, 0)
    return word_of(mean, half, band) if word == "undecided" else word


def undecided_first(mean, half, band):
    """An interval that contains 0 is called "undecided" at once. Ask first whether it is "close"."""
    return "undecided" if abs(mean) <= half else word_of(mean, half, band)


def higher_and_lower_exchanged(mean, half, band):
    """ "higher" and "lower" are exchanged: the interval is that of first minus second."""
    return word_of(-mean, half, band)


def compared_with_the_band(mean, half, band):
    """ "higher" and "lower" are measured from the band. They mean that the whole interval is above 0, or below."""
    word = word_of(mean, half, band)
    return word if word == "close" or abs(mean) - half > band else "undecided"


def second_minus_first_measured(first, second, **given):
    """The difference has the wrong sign: the exercise asks for the gain of the first model."""
    return preregistered_answer(second, first, **given)


def pairing_lost(first, second, train, seeds, band):
    """Each model has an interval of its own. Subtract seed by seed first: what both runs of a seed share cancels."""
    (one, a), (other, b) = (mean_and_interval([train(name, seed) for seed in seeds]) for name in (first, second))
    return one - other, math.hypot(a, b), word_of(one - other, math.hypot(a, b), band)


def question(first, second, number, band, begin=0):
    names = {"first": first, "second": second, "train": made_up_accuracy}
    return Case(names | {"seeds": list(range(begin, begin + number)), "band": band})


preregistered = Check(
    reference=answer_by_scipy,
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
    mistakes=[
        *(changed(preregistered_answer, word=step) for step in (
            close_by_the_mean_alone, close_where_0_is_inside, close_last, undecided_first, higher_and_lower_exchanged,
            compared_with_the_band)),
        second_minus_first_measured, pairing_lost, *trials.seed_mistakes(preregistered_answer),
        *(changed(preregistered_answer, interval=step) for step in (
            trials.standard_error, trials.standard_deviation, trials.normal_quantile, trials.whole_width)),
    ],
    section="Does it help?, “Exercise 10.4 (experiment): preregistered”",
)  # fmt: skip

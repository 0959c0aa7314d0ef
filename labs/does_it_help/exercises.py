"""The checks of *Does it help?*: a paired interval, an unfair comparison, a test by signs, a preregistered answer."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import torch
from scipy import stats

from checks import trials
from checks.engine import Case, Check
from checks.trials import bugs_left, changed, draw, first_minus_second, paired_mistakes

# --- paired_interval -----------------------------------------------------------------------------------------------


def interval(first, second, level=0.975, correction=1):
    """The right way, one step of which a known mistake exchanges."""
    differences = np.subtract(first, second)
    n = len(differences)
    return differences.mean(), stats.t.ppf(level, n - 1) * differences.std(ddof=correction) / math.sqrt(n)


def n_in_the_standard_deviation(first, second):
    """The variance is divided by n. NumPy's `std` does so unless you write `ddof=1`."""
    return interval(first, second, correction=0)


def one_sided_quantile(first, second):
    """The quantile .95 leaves 5% on one side. For 2.5% on each side it is .975."""
    return interval(first, second, level=0.95)


def made_up_runs(number, shared_spread, seed):
    """Accuracies of two models, which vary together with the seed."""
    together, own = shared_spread * draw(number, seed=seed), 0.01 * draw(2, number, seed=seed + 10)
    first, second = (0.8 + together + own).numpy()
    return Case({"first": first, "second": second})


paired_interval = Check(
    reference=interval,
    cases=[made_up_runs(3, 0.05, 1), made_up_runs(5, 0.02, 0), made_up_runs(9, 0.01, 2), made_up_runs(4, 0.02, 4)],
    mistakes=[
        n_in_the_standard_deviation, one_sided_quantile,
        *paired_mistakes(lambda first, second: torch.from_numpy(np.stack([first, second]))),
    ],
    section="Does it help?, “Exercise 1 (build): the interval of a paired difference”",
    forbidden=("mean_and_interval",),
)  # fmt: skip


# --- sign_flips ----------------------------------------------------------------------------------------------------


def at_least_as_far(means, mean):
    return np.abs(means) >= abs(mean) - 1e-12


def fraction(differences, count=at_least_as_far):
    """The right way, one step of which a known mistake exchanges."""
    means = [np.mean(signs * differences) for signs in product([1, -1], repeat=len(differences))]
    return np.mean(count(np.array(means), np.mean(differences)))


def without_absolute_value(means, mean):
    """The means are compared signs and all. Compare the absolute values of both: the test has two sides."""
    return means >= mean - 1e-12


def measured_pattern_not_counted(means, mean):
    """Equal means are not counted, so the measured pattern is missing. Count means that are at least as far from 0."""
    return np.abs(means) > abs(mean)


def equal_means_left_out(means, mean):
    """Equal means are not counted, so the measured pattern is missing. Count means that are at least as far from 0."""
    return np.abs(means) > abs(mean) + 1e-12


def sign_of_the_mean_kept(means, mean):
    """The measured mean keeps its sign in the comparison. Compare absolute values: the test has two sides."""
    return np.abs(means) >= mean - 1e-12


def equal_means_lost_to_rounding(means, mean):
    """Some equal means are not counted, because they differ in the last digit. Compare with `abs(mean) - 1e-12`."""
    return np.abs(means) >= abs(mean)


def one_side_only(means, mean):
    """Only means above zero are counted. One as far below zero counts, too: compare `abs(mean)`."""
    return means >= abs(mean) - 1e-12


def number_of_patterns(differences):
    """This is the number of patterns. The exercise asks for their fraction: divide by 2 to the number of seeds."""
    return fraction(differences) * 2 ** len(differences)


sign_flips = Check(
    reference=fraction,
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
            without_absolute_value, measured_pattern_not_counted, equal_means_left_out, sign_of_the_mean_kept,
            one_side_only,
            equal_means_lost_to_rounding)),
        number_of_patterns,
    ],
    section="Does it help?, “Exercise 3 (build): what five seeds can show”",
    canonical=lambda result, differences: float(result) if isinstance(result, Fraction) else result,
)  # fmt: skip


# --- fix_the_comparison --------------------------------------------------------------------------------------------


def best_on_validation(epochs, measure):
    return max(epochs, key=lambda net: measure(net, "validation"))


def each_seed(seeds):
    return seeds


def accuracies(
    first, second, train, measure, seeds, choose_first=best_on_validation, choose_second=best_on_validation,
    seeds_of_second=each_seed, measured_on="test",
):  # fmt: skip
    """Both models' accuracies, (2, seeds). The right way, one step of which a bug exchanges."""
    models = (first, choose_first, seeds), (second, choose_second, seeds_of_second(seeds))
    return torch.tensor([
        [measure(choose(train(name, seed), measure), measured_on) for seed in own] for name, choose, own in models
    ])  # fmt: skip


fair_comparison = trials.finished(accuracies, first_minus_second)


def several_bugs_left():
    """More than one bug is left. Write down the seeds of each model, and on which reviews its epoch is chosen."""


def first_chosen_on_test(epochs, measure):
    """The first model's epoch is chosen on the test reviews. Choose the epoch of both models on the
    validation reviews."""
    return max(epochs, key=lambda net: measure(net, "test"))


def second_not_chosen(epochs, measure):
    """The second model is measured after its last epoch. Choose the epoch of both models on the
    validation reviews."""
    return epochs[-1]


def one_run_of_the_second(seeds):
    """One run of the second model is compared with all runs of the first. Train both with each
    seed."""
    return seeds[:1] * len(seeds)


def both_chosen_on_test(**given):
    """Both models' epochs are chosen on the test reviews. Choose them on the validation reviews."""
    best = first_chosen_on_test
    return fair_comparison(**given, choose_first=best, choose_second=best)


def measured_on_validation(**given):
    """The gain is measured on the validation reviews, on which the epochs were chosen. Measure it on the test
    reviews."""
    return fair_comparison(**given, measured_on="validation")


def both_after_the_last_epoch(**given):
    """Both models are measured after their last epoch. Choose the epoch of both models on the validation reviews."""
    return fair_comparison(**given, choose_first=second_not_chosen, choose_second=second_not_chosen)


def made_up_training(name, seed):
    """Six epochs of known accuracies, which vary by epoch and part, and by a seed that all models share."""
    random = np.random.default_rng([seed, len(name)])
    level = 0.8 + 0.05 * np.random.default_rng(seed).normal()
    return [
        {part: level + 0.01 * epoch + 0.02 * random.normal() for part in ("validation", "test")} for epoch in range(6)
    ]


def accuracy(net, part):
    return net[part]


def comparison(first, second, *seeds):
    functions = {"train": made_up_training, "measure": accuracy}
    return Case({"first": first, "second": second} | functions | {"seeds": list(seeds)})


fix_the_comparison = Check(
    reference=fair_comparison,
    cases=[
        comparison("attention pooling", "mean pooling", 0, 1, 2, 3, 4),
        comparison("mean pooling", "mean pooling", 5, 6, 7),
        comparison("encoder", "attention pooling", 11, 9, 2, 4),
    ],
    mistakes=[
        *bugs_left(fair_comparison, several_bugs_left, choose_first=first_chosen_on_test,
                   choose_second=second_not_chosen, seeds_of_second=one_run_of_the_second),
        both_chosen_on_test, both_after_the_last_epoch, measured_on_validation,
        *trials.seed_mistakes(fair_comparison),
        # one_run_of_the_second is there already
        *(way for way in paired_mistakes(accuracies) if way.__name__ != "one_of_the_second"),
    ],
    section="Does it help?, “Exercise 2 (debug): better than itself”",
)  # fmt: skip


# --- preregistered -------------------------------------------------------------------------------------------------


def word_of(mean, half, band):
    if abs(mean) + half < band:
        return "close"
    return "higher" if mean - half > 0 else "lower" if mean + half < 0 else "undecided"


def preregistered_answer(first, second, train, seeds, band, interval=first_minus_second, word=word_of):
    """The right way, one step of which a known mistake exchanges."""
    mean, half = interval(torch.tensor([[train(name, seed) for seed in seeds] for name in (first, second)]))
    return mean, half, word(mean, half, band)


def close_by_the_mean_alone(mean, half, band):
    """ "close" looks at the mean only. The whole interval has to be between -band and band."""
    return "close" if abs(mean) < band else word_of(mean, half, 0)


def close_where_0_is_inside(mean, half, band):
    """An interval that contains 0 is called "close". It is "close" only if both ends are between -band and band."""
    return "close" if abs(mean) < half else word_of(mean, half, 0)


def undecided_first(mean, half, band):
    """An interval that contains 0 is called "undecided" at once. Check first whether it is "close"."""
    return "undecided" if abs(mean) <= half else word_of(mean, half, band)


def sign_first(mean, half, band):
    """An interval above or below 0 is called "higher" or "lower" at once. Check first whether it is "close"."""
    return word_of(mean, half, 0) if abs(mean) > half else word_of(mean, half, band)


def sign_of_the_mean_alone(mean, half, band):
    """ "higher" and "lower" look at the mean only. The whole interval has to be on that side of zero."""
    return "close" if abs(mean) + half < band else "higher" if mean > 0 else "lower"


def one_end_below_the_band(mean, half, band):
    """ "close" looks at the upper end only. Both ends of the interval have to be between -band and band."""
    return "close" if mean + half < band else word_of(mean, half, 0)


def width_in_the_band(mean, half, band):
    """You call an interval "close" if it is narrow, or if only one of its ends is inside. Both ends have to be between
    -band and band.
    """
    return "close" if half < band else word_of(mean, half, 0)


def beyond_the_band(mean, half, band):
    """ "higher" and "lower" ask for an interval beyond the band. It has to be beyond zero."""
    word = word_of(mean, half, band)
    return "undecided" if word in ("higher", "lower") and abs(mean) - half <= band else word


MODELS = {"a": (0.8, 0.004), "b": (0.83, 0.004), "c": (0.801, 0.004), "d": (0.815, 0.03), "e": (0.806, 0.0004)}


def made_up_accuracy(name, seed):
    """Without training: a level and a spread for each model, and a spread that all share in a seed."""
    level, spread = MODELS[name]
    own = np.random.default_rng([seed, ord(name)]).normal()
    return level + spread * own + 0.05 * np.random.default_rng(seed).normal()


def question(first, second, number, band, begin=0):
    names = {"first": first, "second": second, "train": made_up_accuracy}
    return Case(names | {"seeds": list(range(begin, begin + number)), "band": band})


preregistered = Check(
    reference=preregistered_answer,
    cases=[
        question("b", "a", 5, 0.01), question("a", "b", 5, 0.01, begin=20), question("c", "a", 8, 0.02),
        question("d", "a", 4, 0.01), question("e", "a", 9, 0.02, begin=40), question("a", "e", 9, 0.004, begin=40),
        question("a", "d", 3, 0.05, begin=7), question("e", "a", 9, 0.005, begin=40),
    ],
    mistakes=[
        *(changed(preregistered_answer, word=step) for step in (
            close_by_the_mean_alone, close_where_0_is_inside, undecided_first, sign_first,
            sign_of_the_mean_alone, one_end_below_the_band, width_in_the_band, beyond_the_band)),
        *(changed(preregistered_answer, interval=step) for step in (
            trials.second_minus_first, trials.pairing_lost, trials.half_widths_added)),
        *trials.seed_mistakes(preregistered_answer),
    ],
    section="Does it help?, “Exercise 4 (experiment): preregistered”",
)  # fmt: skip

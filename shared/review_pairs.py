"""Marked pairs of reviews, and whether a model is right about them.

A pair is two reviews in random order; `<MARK>` is before the one that counts, `<SEP>` before the
other. Swapping them changes the right answer where the labels are opposite, and nothing else about
the text.
"""

from dataclasses import replace

import numpy as np
from torch import nn

from shared import data, training
from shared.data import marked_pairs

TEST_DRAWS = (100, 101, 102)  # seeds of the distractors, as in the table of *Does it help?*


def test_pairs(source: data.PreparedReviews) -> data.Examples:
    """The test reviews with three draws of distractors."""
    one, two, three = [marked_pairs(source.test, source.vocabulary, seed) for seed in TEST_DRAWS]
    return one + two + three


def swap_markers(pairs: data.Examples) -> data.Examples:
    """The same texts in the same order, with the other review marked.

    Raises:
        ValueError: an example without a distractor.
    """
    if (pairs.distractor_rows == data.NO_DISTRACTOR).any():
        raise ValueError("Some examples are a review alone, so there is no other one to mark.")
    target, distractor, first = pairs.distractor_rows, pairs.target_rows, ~pairs.distractor_first
    return replace(pairs, target_rows=target, distractor_rows=distractor, distractor_first=first)


def opposite_labels(pairs: data.Examples) -> np.ndarray:
    """Whether the two reviews of a pair have opposite labels, (pairs,)."""
    return pairs.labels != swap_markers(pairs).labels


def correct(model: nn.Module, pairs: data.Examples) -> np.ndarray:
    """Is the model right about each pair, as drawn and with the markers swapped? (2, pairs)"""
    results = [training.evaluate(model, marked) for marked in (pairs, swap_markers(pairs))]
    return np.array([(result.logits > 0) == result.labels for result in results])

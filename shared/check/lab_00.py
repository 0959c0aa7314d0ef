"""The check of lab 0: what a cut throws away."""

import numpy as np

from .exercise import Case, Exercise
from .mistakes import edits


# --- 0.1 ---
def lost_to_the_cut(labelled, distractor, window):
    """The share of labelled reviews of which nothing is left."""
    return (distractor >= window).mean()


def lost_by_lists(labelled, distractor, window):
    joined = [["distractor"] * before + ["labelled"] * own for own, before in zip(labelled, distractor, strict=True)]
    return sum("labelled" not in words[:window] for words in joined) / len(joined)


def lengths(longest: tuple[int, int], size: int, window: int) -> Case:
    random = np.random.default_rng(size)
    labelled, distractor = (random.integers(1, up_to, size) for up_to in longest)
    return Case({"labelled": labelled, "distractor": distractor, "window": window})


lost_to_the_cut = Exercise(
    lost_to_the_cut,
    cases=[
        Case({"labelled": np.array([4, 5, 20, 1, 8]), "distractor": np.array([3, 10, 12, 9, 10]), "window": 10}),
        lengths((90, 90), 40, 50),
        lengths((300, 900), 200, 256),
    ],
    truth=lost_by_lists,
    tried="windows of 10, 50 and 256 tokens, one of them filled to its last place, against lists of words",
    see="Lab 0, “What a cut throws away”",
    mistakes=edits("""
        a full window counted as room: >= => >
        cut reviews counted as lost: (distractor >= => (distractor + labelled > || (distractor + labelled >=
        the two reviews exchanged: (distractor => (labelled || (distractor >= => (labelled >
        a count instead of a share: .mean() => .sum()
        the share that stays: >= => < || <=
        words counted instead of reviews: => return 1 - (window - distractor).clip(0, labelled).sum() / labelled.sum()
        the window is not used: >= window => >= 256
        one answer for each review: .mean() =>
        only windows filled exactly: >= => ==
        the reviews compared with each other: >= window => >= labelled
    """),
)

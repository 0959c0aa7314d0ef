"""The checks of *When in doubt*: scores with two bugs, a head that attends to the next word."""

import math

import numpy as np
import torch
from torch import Tensor

from checks.engine import Case, Check, Wrong
from checks.trials import bugs_left, changed, draw

NEXT_WORD = "When in doubt, “A head that attends to the next word”"


# --- scores_of_one_word --------------------------------------------------------------------------------------------


def scores_by_pairs(asking, columns, W_query, W_key):
    query = W_query @ columns[:, asking]
    return torch.stack([query @ (W_key @ word) for word in columns.unbind(1)])


def transposed(keys):
    return keys.T


def scores(asking, columns, W_query, W_key, turn=transposed, subtract=torch.zeros_like):
    """The lab's function, of which a bug exchanges some step."""
    keys = turn(W_key @ columns)  # (tokens, d_k)
    return (keys - subtract(keys)) @ (W_query @ columns[:, asking])


def both_bugs_left():
    """Two bugs are left: in both lines that make the keys, one word's key takes in the numbers of other words."""


def reshaped(keys):
    """The keys are reshaped instead of transposed, so a row mixes the numbers of several words. Use `.T`."""
    return keys.reshape(keys.shape[1], -1)


def mean_key(keys):
    """The mean key is subtracted, and it depends on all words. The weights don't show it: all scores of a row shift by
    the same number.
    """
    return keys.mean(dim=0)


def mean_of_each_key(keys):
    """From each key the mean of its own numbers is subtracted. No mean belongs there: leave the line out."""
    return keys.mean(dim=1, keepdim=True)


def all_rows(asking, columns, W_query, W_key):
    """These are the scores of all words. Return one row, the one of the word `asking`."""
    return (W_query @ columns).T @ (W_key @ columns)


def matrices_exchanged(asking, columns, W_query, W_key):
    """`W_query` and `W_key` are exchanged: the query of the word `asking` meets the keys of all words."""
    return scores_by_pairs(asking, columns, W_key, W_query)


def scaled(asking, columns, W_query, W_key):
    """The scores are scaled. The exercise asks for the dot products themselves."""
    return scores_by_pairs(asking, columns, W_query, W_key) / math.sqrt(len(W_key))


def softmax_applied(asking, columns, W_query, W_key):
    """These are weights. The exercise asks for the scores, before the scale and the softmax."""
    return scaled(asking, columns, W_query, W_key).softmax(dim=0)


def softmax_without_scale(asking, columns, W_query, W_key):
    """These are weights. The exercise asks for the scores, before the softmax."""
    return scores_by_pairs(asking, columns, W_query, W_key).softmax(dim=0)


def sentence(asking, tokens, d_model, d_k):
    columns = draw(d_model, tokens)
    W_query, W_key = draw(2, d_k, d_model, seed=1)
    return Case({"asking": asking, "columns": columns, "W_query": W_query, "W_key": W_key})


scores_of_one_word = Check(
    reference=scores_by_pairs,
    cases=[sentence(1, 5, 6, 3), sentence(3, 6, 2, 4), sentence(0, 1, 3, 2), sentence(2, 4, 4, 4)],
    mistakes=[
        *bugs_left(scores, both_bugs_left, turn=reshaped, subtract=mean_key),
        changed(scores, subtract=mean_of_each_key), all_rows, matrices_exchanged, scaled, softmax_applied,
        softmax_without_scale,
    ],
    section="When in doubt, “Scores have a sign”",
)  # fmt: skip


# --- attend_to_the_next_word ---------------------------------------------------------------------------------------


def next_word(num_words, step=1):
    """With which each word attends to the one `step` later; one-hot words, (num_words, num_words) each."""
    return 10 * math.sqrt(num_words) * torch.eye(num_words), torch.eye(num_words).roll(step, dims=0)


def previous_word(num_words):
    """Each word attends to the word before. The key of word j has its 1 at j - 1: roll the keys the other way, unless
    the two matrices are exchanged; `W_query` is returned first."""
    return next_word(num_words, -1)


def itself(num_words):
    """Each word attends to itself. The key of word j must match the query of word j - 1."""
    return next_word(num_words, 0)


class NotARowForEachWord(Wrong):
    """Return two matrices of one shape, `W_query` and `W_key`, with a row for each word: ({num_words}, d_k)."""


class LastWordForgotten(Wrong):
    """Only the last word's scores are too close to each other. After it comes the first: check row 0 of `W_key`."""


class ScoresTooSmall(Wrong):
    """The scores have the right order, but are too small: among {num_words} words, the next one gets a weight of
    {weight:.2f}. Remember the division by sqrt(d_k).
    """


MOST = "the word to which each word attends most"


def attended(matrices, num_words):
    """To which word each attends, (num_words,)."""
    shapes = [tuple(matrix.shape) for matrix in matrices if isinstance(matrix, (Tensor, np.ndarray))]
    if len(shapes) != 2 or shapes[0] != shapes[1] or len(shapes[0]) != 2 or shapes[0][0] != num_words:
        raise NotARowForEachWord(num_words=num_words)
    W_query, W_key = (torch.as_tensor(matrix).detach().double() for matrix in matrices)
    weights = (W_query @ W_key.T / math.sqrt(W_key.shape[1])).softmax(dim=1)  # (num_words, num_words)
    words, largest = weights.argmax(dim=1), weights.amax(dim=1)  # (num_words,) each
    if words[:-1].tolist() == [*range(1, num_words)] and largest[-1] < 0.9 <= largest[:-1].min():
        raise LastWordForgotten
    if words.tolist() == [*range(1, num_words), 0] and not largest.min() >= 0.9:  # not even where it is NaN
        raise ScoresTooSmall(num_words=num_words, weight=largest.min())
    return {MOST: words}


attend_to_the_next_word = Check(
    reference=lambda num_words: {MOST: torch.tensor([*range(1, num_words), 0])},
    solution=next_word,
    cases=[Case({"num_words": n}) for n in (5, 3, 8, 20)],
    mistakes=[previous_word, itself],
    section=NEXT_WORD,
    canonical=attended,
)

"""The checks of *When in doubt*: all filters, scores with two faults, a head for the next word, twice the words."""

import math

import numpy as np
import torch
from torch import Tensor

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw

MATRIX = "When in doubt, “The whole score matrix”"


# --- all_filters ---------------------------------------------------------------------------------------------------


def filters_by_loops(weights, values):
    return torch.stack([torch.stack([w * value for w, value in zip(row, values, strict=True)]) for row in weights])


def values_of_the_query_token(weights, values):
    """At [i, j] is the value of token i. The value belongs to the key token j, so its new axis comes first:
    `values[None, :, :]`."""
    return weights[:, :, None] * values[:, None, :]


def weights_transposed(weights, values):
    """The weights are transposed: at [i, j] is the weight of token j for token i. Row i of `weights` is the query token
    i."""
    return filters_by_loops(weights.T, values)


def first_axes_exchanged(weights, values):
    """The first two axes are exchanged. Axis 0 is the query token i, axis 1 the key token j."""
    return filters_by_loops(weights, values).transpose(0, 1)


def already_summed(weights, values):
    """These are the context vectors. Return what they are the sums of: one filtered value for each pair of tokens."""
    return weights @ values


all_filters = Check(
    reference=filters_by_loops,
    cases=[
        Case({"weights": draw(tokens, tokens, seed=1).softmax(dim=1), "values": draw(tokens, d_v, seed=2)})
        for tokens, d_v in ((5, 3), (4, 4), (2, 6), (1, 2))
    ],
    mistakes=[values_of_the_query_token, weights_transposed, first_axes_exchanged, already_summed],
    section="When in doubt, “The filter applied to the values”",
)  # fmt: skip


# --- scores_of_one_word --------------------------------------------------------------------------------------------


def scores_by_pairs(asking, columns, W_query, W_key):
    query = W_query @ columns[:, asking]
    return torch.stack([query @ (W_key @ word) for word in columns.unbind(1)])


def transposed(keys):
    return keys.T


def scores(asking, columns, W_query, W_key, turn=transposed, subtract=torch.zeros_like):
    """The lab's function, of which a fault exchanges some step."""
    keys = turn(W_key @ columns)  # (tokens, d_k)
    return (keys - subtract(keys)) @ (W_query @ columns[:, asking])


def both_faults_left(asking, columns, W_query, W_key):
    """Two faults are left: in both lines that make the keys, one word's key takes in the numbers of other words."""
    return scores(asking, columns, W_query, W_key, reshaped, mean_key)


def reshaped(keys):
    """One fault is left: the keys are reshaped where they have to be transposed, so a row mixes the numbers of several
    words. Use `.T`."""
    return keys.reshape(keys.shape[1], -1)


def mean_key(keys):
    """One fault is left: the mean key is subtracted, and it depends on all words. The weights would not show it,
    because each row of scores moves by one number."""
    return keys.mean(dim=0)


def always_the_first_word(asking, columns, W_query, W_key):
    """The query is always that of word 0. Take column `asking`."""
    return scores_by_pairs(0, columns, W_query, W_key)


def one_matrix_for_both(asking, columns, W_query, W_key):
    """Queries and keys are made with the same matrix. The query needs `W_query`, the keys `W_key`."""
    return scores_by_pairs(asking, columns, W_key, W_key)


def scaled(asking, columns, W_query, W_key):
    """The scores are scaled. The exercise asks for the dot products themselves."""
    return scores_by_pairs(asking, columns, W_query, W_key) / math.sqrt(len(W_key))


def softmax_applied(asking, columns, W_query, W_key):
    """These are weights. The exercise asks for the scores, before the scale and the softmax."""
    return scaled(asking, columns, W_query, W_key).softmax(dim=0)


def sentence(asking, tokens, embedding_dim, d_k):
    columns = draw(embedding_dim, tokens)
    W_query, W_key = draw(2, d_k, embedding_dim, seed=1)
    return Case({"asking": asking, "columns": columns, "W_query": W_query, "W_key": W_key})


scores_of_one_word = Check(
    reference=scores_by_pairs,
    cases=[sentence(1, 5, 5, 3), sentence(3, 6, 2, 4), sentence(0, 1, 3, 2), sentence(2, 4, 4, 4)],
    mistakes=[
        both_faults_left, changed(scores, turn=reshaped), changed(scores, subtract=mean_key), always_the_first_word,
        one_matrix_for_both, scaled, softmax_applied,
    ],
    section="When in doubt, “A row of scores”",
)  # fmt: skip


# --- attend_to_the_next_word ---------------------------------------------------------------------------------------


def next_word(num_words, step=1):
    """With which each word attends to the one `step` later; one-hot words, (num_words, num_words) each."""
    return 10 * math.sqrt(num_words) * torch.eye(num_words), torch.eye(num_words).roll(step, dims=1)


def previous_word(num_words):
    """Each word attends to the word before. Roll the keys the other way: the key of word j is 1 at j - 1."""
    return next_word(num_words, -1)


def itself(num_words):
    """Each word attends to itself. The key of word j must be the query of word j - 1."""
    return next_word(num_words, 0)


def two_words_later(num_words):
    """Each word attends to the word after the next."""
    return next_word(num_words, 2)


def last_word_to_itself(num_words):
    """Only the last word is wrong: it attends to itself instead of the first word."""
    W_query, W_key = next_word(num_words)
    return W_query, W_key.index_fill(1, torch.tensor(0), 0) + 9 * torch.eye(num_words)[-1] * W_key[:, :1]


def attended(matrices, num_words):
    """To which word each attends, (num_words,)."""
    fit = isinstance(matrices, (tuple, list)) and len(matrices) == 2
    fit = fit and all(isinstance(m, (Tensor, np.ndarray)) and m.ndim == 2 for m in matrices)
    if not fit or len(matrices[0]) != len(matrices[1]) or {m.shape[1] for m in matrices} != {num_words}:
        raise Wrong(f"Return `W_query` and `W_key`, two matrices of one shape (d_k, {num_words}), with a column for "
                    "each word.", "not_a_column_for_each_word")  # fmt: skip
    W_query, W_key = (torch.as_tensor(matrix).detach().double() for matrix in matrices)
    weights = (W_query.T @ W_key / math.sqrt(len(W_key))).softmax(dim=1)  # (num_words, num_words)
    least, words = weights.amax(dim=1).min(), weights.argmax(dim=1)
    if words.tolist() == [*range(1, num_words), 0] and not least >= 0.9:  # NaN is too small as well
        raise Wrong(f"The next word leads, but not enough: of {num_words} words it has the weight {least:.2f}, perhaps "
                    "equal to that of another. The scale divides by sqrt(d_k).", "scores_too_small")  # fmt: skip
    return words


attend_to_the_next_word = Check(
    reference=lambda num_words: torch.tensor([*range(1, num_words), 0]),
    solution=next_word,
    cases=[Case({"num_words": n}) for n in (5, 3, 8, 20)],
    mistakes=[previous_word, itself, two_words_later, last_word_to_itself],
    section=MATRIX,
    canonical=attended,
)


# --- twice_the_words -----------------------------------------------------------------------------------------------


def ratios(largest_weight, seeds, long=16, short=8):
    return [largest_weight(long, seed) / largest_weight(short, seed) for seed in seeds]


def interval(largest_weight, seeds, **lengths):
    return trials.interval_by_sums(ratios(largest_weight, seeds, **lengths), 2)


def eight_over_sixteen(largest_weight, seeds):
    """The ratio is upside down: the exercise asks for 16 words over 8."""
    return interval(largest_weight, seeds, long=8, short=16)


def differences(largest_weight, seeds):
    """The weights are subtracted. The exercise asks for the ratio, 16 words over 8."""
    return trials.interval_by_sums([largest_weight(16, seed) - largest_weight(8, seed) for seed in seeds], 2)


def arguments_exchanged(largest_weight, seeds):
    """`num_words` and `seed` are exchanged: the number of words comes first."""
    return interval(lambda words, seed: largest_weight(seed, words), seeds)


def ratio_of_means(largest_weight, seeds):
    """This is the ratio of the means. Divide seed by seed first, then take the mean of the ratios."""
    long, short = (sum(largest_weight(words, seed) for seed in seeds) for words in (16, 8))
    return long / short, interval(largest_weight, seeds)[1]


def known_weight(num_words, seed):
    return trials.synthetic_accuracy(num_words, seed)


twice_the_words = Check(
    reference=interval,
    cases=[Case({"largest_weight": known_weight, "seeds": seeds}) for seeds in (range(20), [3, 5, 8, 13, 21, 34])],
    mistakes=[
        eight_over_sixteen, differences, arguments_exchanged, ratio_of_means,
        *trials.seed_mistakes(interval), *trials.two_standard_errors_mistakes(ratios),
    ],
    section="When in doubt, “What stays when the sentence changes?”",
)  # fmt: skip

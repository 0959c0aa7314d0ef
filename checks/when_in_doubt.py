"""The checks of *When in doubt*: scores with two bugs, a head that attends to the next word, twice the words."""

import math

import numpy as np
import torch
from torch import Tensor

from checks import trials
from checks.engine import Case, Check, Wrong
from checks.trials import changed, draw

NEXT_WORD = "When in doubt, “A head that attends to the next word”"


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


def all_rows(asking, columns, W_query, W_key):
    """These are the scores of all words. Return one row, that of the word `asking`."""
    return (W_query @ columns).T @ (W_key @ columns)


def matrices_exchanged(asking, columns, W_query, W_key):
    """`W_query` and `W_key` are exchanged: the query of the word `asking` meets the keys of all words."""
    return scores_by_pairs(asking, columns, W_key, W_query)


def one_matrix_for_both(asking, columns, W_query, W_key):
    """Queries and keys are made with the same matrix. The query needs `W_query`, the keys `W_key`."""
    return scores_by_pairs(asking, columns, W_key, W_key)


def word_before(asking, columns, W_query, W_key):
    """The query is that of the word before. Words are counted from 0: take column `asking`."""
    return scores_by_pairs(asking - 1, columns, W_query, W_key)


def scaled(asking, columns, W_query, W_key):
    """The scores are scaled. The exercise asks for the dot products themselves."""
    return scores_by_pairs(asking, columns, W_query, W_key) / math.sqrt(len(W_key))


def softmax_applied(asking, columns, W_query, W_key):
    """These are weights. The exercise asks for the scores, before the scale and the softmax."""
    return scaled(asking, columns, W_query, W_key).softmax(dim=0)


def sentence(asking, tokens, d_model, d_k):
    columns = draw(d_model, tokens)
    W_query, W_key = draw(2, d_k, d_model, seed=1)
    return Case({"asking": asking, "columns": columns, "W_query": W_query, "W_key": W_key})


scores_of_one_word = Check(
    reference=scores_by_pairs,
    cases=[sentence(1, 5, 5, 3), sentence(3, 6, 2, 4), sentence(0, 1, 3, 2), sentence(2, 4, 4, 4)],
    mistakes=[
        both_faults_left, changed(scores, turn=reshaped), changed(scores, subtract=mean_key), always_the_first_word,
        word_before, all_rows, matrices_exchanged, one_matrix_for_both, scaled, softmax_applied,
    ],
    section="When in doubt, “Scores”",
)  # fmt: skip


# --- attend_to_the_next_word ---------------------------------------------------------------------------------------


def next_word(num_words, step=1):
    """With which each word attends to the one `step` later; one-hot words, (num_words, num_words) each."""
    return 10 * math.sqrt(num_words) * torch.eye(num_words), torch.eye(num_words).roll(step, dims=0)


def previous_word(num_words):
    """Each word attends to the word before. Roll the keys the other way: the key of word j has its 1 at j - 1."""
    return next_word(num_words, -1)


def itself(num_words):
    """Each word attends to itself. The key of word j must be the query of word j - 1."""
    return next_word(num_words, 0)


def two_words_later(num_words):
    """Each word attends to the word after the next."""
    return next_word(num_words, 2)


def one_word_for_all(num_words):
    """All words attend to one and the same word. The queries must differ, so that each finds a different key."""
    return torch.ones(num_words, 1), 99 * torch.eye(num_words)[:, :1]


def last_word_to_itself(num_words):
    """Only the last word is wrong: it attends to itself instead of the first word."""
    W_query, W_key = next_word(num_words)
    return W_query, W_key.index_fill(0, torch.tensor(0), 0) + 9 * torch.eye(num_words)[-1][:, None] * W_key[:1]


def attended(matrices, num_words):
    """To which word each attends, (num_words,)."""
    if not isinstance(matrices, (tuple, list)) or len(matrices) != 2:
        raise Wrong("Return two matrices, `W_query` and `W_key`.", "not_two_matrices")
    for name, matrix in zip(("W_query", "W_key"), matrices, strict=True):
        if not isinstance(matrix, (Tensor, np.ndarray)) or matrix.ndim != 2 or matrix.shape[0] != num_words:
            own = f"shape {tuple(matrix.shape)}" if hasattr(matrix, "shape") else f"type {type(matrix).__name__}"
            raise Wrong(f"`{name}` needs the shape ({num_words}, d_k), a row for each word; it has {own}.",
                        "not_a_row_for_each_word")  # fmt: skip
    W_query, W_key = (torch.as_tensor(matrix).detach().double() for matrix in matrices)
    if W_query.shape[1] != W_key.shape[1]:
        raise Wrong(f"Queries of width {W_query.shape[1]} have no dot product with keys of width {W_key.shape[1]}.",
                    "widths_differ")  # fmt: skip
    weights = (W_query @ W_key.T / math.sqrt(W_key.shape[1])).softmax(dim=1)  # (num_words, num_words)
    if weights.isnan().any():
        raise Wrong("The scores hold NaN or infinity. A scaled score of 10 is large enough.", "not_a_number")
    best, second = weights.topk(2, dim=1).values.unbind(1)
    leads = (best - second > 1e-6).tolist()
    if leads == [True] * (num_words - 1) + [False]:
        raise Wrong("The last word has equal scores with several words. Its own is the first: see row 0 of `W_key`.",
                    "last_word_forgotten")  # fmt: skip
    if not any(leads):
        raise Wrong("Every word has equal scores with several words. Give each word a key of its own.", "equal_scores")
    words = weights.argmax(dim=1)  # (num_words,)
    if words.tolist() == [*range(1, num_words), 0] and best.min() < 0.9:
        raise Wrong(f"The scores have the right order, but are too small: of {num_words} words the next one has the "
                    f"weight {best.min():.2f}. The scale divides by sqrt(d_k).", "scores_too_small")  # fmt: skip
    return words


attend_to_the_next_word = Check(
    reference=lambda num_words: torch.tensor([*range(1, num_words), 0]),
    solution=next_word,
    cases=[Case({"num_words": n}) for n in (5, 3, 8, 20)],
    mistakes=[previous_word, itself, two_words_later, one_word_for_all, last_word_to_itself],
    section=NEXT_WORD,
    canonical=attended,
)


# --- twice_the_words -----------------------------------------------------------------------------------------------


def ratios(largest_weight, seeds, long=16, short=8, later=0):
    """One ratio for each seed; or those of other lengths, or with a later seed for the short text."""
    return [largest_weight(long, seed) / largest_weight(short, seed + later) for seed in seeds]


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


def sixteen_alone(largest_weight, seeds):
    """The weights of the long texts are not divided by those of the short ones."""
    return trials.interval_by_sums([largest_weight(16, seed) for seed in seeds], 2)


def four_words(largest_weight, seeds):
    """The texts have 8 and 4 words. The exercise asks for 16 and 8."""
    return interval(largest_weight, seeds, long=8, short=4)


def next_seed_for_the_second(largest_weight, seeds):
    """The two texts of a ratio have different seeds. With the same seed, what both have in common cancels."""
    return interval(largest_weight, seeds, later=1)


def ratio_of_means(largest_weight, seeds):
    """This is the ratio of the means. Divide seed by seed first, then take the mean of the ratios."""
    long, short = (sum(largest_weight(words, seed) for seed in seeds) for words in (16, 8))
    return long / short, interval(largest_weight, seeds)[1]


def known_weight(num_words, seed):
    return trials.synthetic_accuracy(num_words, seed)


def opposite(num_words, seed):
    return 1 - known_weight(num_words, seed)


twice_the_words = Check(
    reference=interval,
    cases=[
        Case({"largest_weight": run, "seeds": seeds})
        for run, seeds in ((known_weight, range(20)), (opposite, [3, 5, 8, 13, 21, 34]), (known_weight, range(10, 17)))
    ],
    mistakes=[
        eight_over_sixteen, differences, arguments_exchanged, sixteen_alone, four_words, next_seed_for_the_second,
        ratio_of_means, *trials.seed_mistakes(interval), *trials.two_standard_errors_mistakes(ratios),
    ],
    section="When in doubt, “What stays when the sentence changes?”",
)  # fmt: skip

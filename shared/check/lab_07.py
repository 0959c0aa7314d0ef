"""The checks of lab 7: filters, a head that looks at the next word, scores with two faults, twice the words."""

import math

import numpy as np
import torch
from torch import Tensor

from .exercise import Case, Exercise, draw, drawn
from .experiment import by_hand, by_sums, known_run, measured, over_seeds
from .mistakes import Wrong, edits

MATRIX = "Lab 7, “The whole score matrix”"


# --- 7.1 ---
def scores_of_one_word(asking, columns, W_query, W_key):
    """The scores of the word `asking` with all words, (tokens,)."""
    query = W_query @ columns[:, asking]  # (d_k,)
    keys = (W_key @ columns).T  # (tokens, d_k)
    return keys @ query  # (tokens,)


def scores_by_pairs(asking, columns, W_query, W_key):
    query = W_query @ columns[:, asking]
    return torch.stack([(query * (W_key @ word)).sum() for word in columns.unbind(1)])


def words(asking: int, tokens: int, dim: int, d_k: int) -> Case:
    return Case({"asking": asking} | drawn(columns=(dim, tokens), W_query=(d_k, dim), W_key=(d_k, dim)))


QUERY, KEYS = "W_query @ columns[:, asking]", "(W_key @ columns).T"

scores_of_one_word = Exercise(
    scores_of_one_word,
    cases=[words(2, 4, 4, 4), words(1, 5, 5, 3), words(3, 6, 2, 4), words(0, 1, 3, 2)],
    truth=scores_by_pairs,
    tried="four sentences in double precision, with d_k smaller than embedding_dim, larger, and equal to it, pair by "
    "pair",
    see="Lab 7, “A row of scores”",
    mistakes=edits(f"""
        more than one fault is left [scores]: {KEYS} => (W_key @ columns).reshape(columns.shape[1], -1) &&
            keys @ query => (keys - keys.mean(dim=0)) @ query
        the mean key taken off: keys @ query => (keys - keys.mean(dim=0)) @ query
        a reshape for a transpose: {KEYS} => (W_key @ columns).reshape(columns.shape[1], -1) ||
            columns.reshape(columns.shape[::-1]) @ W_key.T
        no transpose at all: keys @ query => query @ keys
        always the same word: [:, asking] => [:, 0] || [:, -1]
        one place off: [:, asking] => [:, asking - 1]
        all rows in place of one: {QUERY} => W_query @ columns ||
            {QUERY} => columns.T @ W_query.T && keys @ query => query @ keys.T
        the product is not summed: keys @ query => keys * query
        added up to one number: keys @ query => (keys @ query).sum()
        Lab 7, “Query, key and value of one word”
        the matrix the wrong way round [both]: {QUERY} => columns[:, asking] @ W_query && W_key @ => W_key.T @
        the matrix the wrong way round [W_query]: {QUERY} => columns[:, asking] @ W_query
        the matrix the wrong way round [W_key]: W_key @ => W_key.T @
        one matrix for both: W_query @ => W_key @ || (W_key @ => (W_query @
        {MATRIX}
        queries and keys exchanged: {QUERY} => W_key @ columns[:, asking] && {KEYS} => (W_query @ columns).T
        Lab 7, “Scaled and through the softmax”
        scaled: keys @ query => keys @ query / math.sqrt(len(query)) || keys @ query / math.sqrt(len(columns))
        softmax applied: keys @ query => (keys @ query).softmax(dim=0) ||
            (keys @ query / math.sqrt(len(query))).softmax(dim=0)
        Lab 7, “One score is one dot product”
        no projection: {QUERY} => columns[:, asking] && {KEYS} => columns.T || {QUERY} => columns[:, asking] ||
            {KEYS} => columns.T
    """),
)


# --- 7.2 ---
def all_filters(weights, values):
    """Each value times each weight, (tokens that ask, tokens that are asked, d_v)."""
    return weights[:, :, None] * values[None, :, :]  # (tokens, tokens, 1) * (1, tokens, d_v)


def filters_by_loops(weights, values):
    return torch.stack([torch.stack([w * value for w, value in zip(row, values, strict=True)]) for row in weights])


def filters(tokens: int, d_v: int) -> Case:
    return Case({"weights": draw(tokens, tokens, seed=1).softmax(dim=1), "values": draw(tokens, d_v, seed=2)})


LIFTED, SPREAD = "weights[:, :, None]", "values[None, :, :]"

all_filters = Exercise(
    all_filters,
    cases=[filters(4, 4), filters(5, 3), filters(2, 6), filters(1, 2)],
    truth=filters_by_loops,
    tried="four sentences in double precision, one of them with as many values as words",
    see="Lab 7, “The filter applied to the values”",
    mistakes=edits(f"""
        values of the word that asks: {SPREAD} => values[:, None, :]
        weighted with the transposed weights [filters]: weights[ => weights.T[
        axes of the result swapped: weights[ => weights.T[ && {SPREAD} => values[:, None, :] ||
            => return values[:, :, None] * weights.T[:, None, :]
        features and words swapped: => return weights[:, None, :] * values.T[None, :, :]
        the new axis in the wrong place: {LIFTED} => weights[:, None, :] || weights[None, :, :] ||
            {SPREAD} => values[:, :, None]
        no new axis: {LIFTED} => weights && {SPREAD} => values
        one word only: => return weights[0][:, None] * values
        weights not used [filters]: => return values.expand(len(weights), *values.shape) || return {SPREAD}
        values left out: => return {LIFTED}.expand(-1, -1, values.shape[1]) || return {LIFTED}
        added in place of multiplied: * => +
        divided in place of multiplied: * => / || => return {SPREAD} / {LIFTED}
        Lab 7, “All context vectors”
        already summed: => return weights @ values || return ({LIFTED} * values).sum(dim=0) ||
            return weights.T @ values
        Lab 7, “Scaled and through the softmax”
        softmax once more: weights[ => weights.softmax(dim=1)[
    """),
)


# --- 7.3 ---
def look_at_the_next_word(num_words):
    """W_query and W_key, each (d_k, num_words), with which each word looks at the next one."""
    W_query = 10 * math.sqrt(num_words) * torch.eye(num_words)  # large, and the scale divides by the root again
    W_key = torch.eye(num_words).roll(1, dims=1)  # the key of word i + 1 is 1 at i
    return W_query, W_key


def looked_at(matrices, num_words):
    """What counts in an answer to `look_at_the_next_word`: where each word looks, (num_words,)."""
    if not isinstance(matrices, (tuple, list)) or len(matrices) != 2:
        raise Wrong("wrong type [two matrices]")
    matrices = [torch.as_tensor(matrix) if isinstance(matrix, np.ndarray) else matrix for matrix in matrices]
    for name, matrix in zip(("W_query", "W_key"), matrices, strict=True):
        if not isinstance(matrix, Tensor) or matrix.dim() != 2 or matrix.shape[1] != num_words:
            kind = f"shape {tuple(matrix.shape)}" if isinstance(matrix, Tensor) else f"type {type(matrix).__name__}"
            raise Wrong("wrong shape [words]", name=name, kind=kind, num_words=num_words)
    W_query, W_key = (matrix.detach().double() for matrix in matrices)
    if len(W_query) != len(W_key):
        raise Wrong("widths differ", see=MATRIX)
    scores = W_query.T @ W_key / math.sqrt(len(W_key))  # (num_words, num_words), for words that are one-hot
    if scores.isnan().any():
        raise Wrong("not a number [scores]")
    weights = scores.softmax(dim=1)  # (num_words, num_words)
    best, second = weights.topk(2, dim=1).values.unbind(1)
    alike = (best - second < 1e-6).tolist()
    if all(alike):
        raise Wrong("no word leads", see=MATRIX)
    if alike == [False] * (num_words - 1) + [True]:
        raise Wrong("last word forgotten", see=MATRIX)
    looks = weights.argmax(dim=1)  # (num_words,)
    if looks.tolist() == [*range(1, num_words), 0] and (best < 0.9).any():
        raise Wrong("lead too small", see=MATRIX)
    return looks


ONES, ROLLED = "10 * math.sqrt(num_words) * torch.eye(num_words)", "torch.eye(num_words).roll(1, dims=1)"

look_at_the_next_word = Exercise(
    look_at_the_next_word,
    cases=[Case({"num_words": n}) for n in (5, 3, 8, 20)],
    truth=lambda num_words: torch.tensor([*range(1, num_words), 0]),
    view=looked_at,
    tried="sentences of five, three, eight and twenty words, by their scaled scores and the softmax",
    see=MATRIX,
    mistakes=edits(f"""
        looks at the word before: roll(1 => roll(-1 || {ROLLED} => torch.diag(torch.ones(num_words - 1), -1)
        looks at itself: .roll(1, dims=1) =>
        the last word looks elsewhere: {ROLLED} => {ROLLED}; W_key[:, 0] = 0; W_key[-1, -1] = 9
        last word forgotten: {ROLLED} => {ROLLED}; W_key[:, 0] = 0
        rolled as one long row: roll(1, dims=1) => roll(1)
        one word too far: roll(1 => roll(2
        all look at one word: {ONES} => torch.ones(1, num_words) && {ROLLED} => 99 * torch.eye(num_words)[:1]
        no word leads: {ROLLED} => torch.ones(num_words, num_words)
        lead too small: 10 * math.sqrt(num_words) * =>
        looks at the mirrored word: {ROLLED} => torch.eye(num_words).flip(1)
        widths differ: return W_query => return W_query[:-1]
    """),
)


# --- 7.4 ---
def twice_the_words(largest_weight, seeds):
    """Mean of the ratio of the largest weights, 16 words to 8, and half the width of its interval."""
    ratios = torch.tensor([largest_weight(16, seed) / largest_weight(8, seed) for seed in seeds])
    half = 2 * ratios.std() / math.sqrt(len(ratios))
    return ratios.mean().item(), half.item()


def known_weight(num_words, seed):
    return known_run(num_words, seed)


RATIO = "largest_weight(16, seed) / largest_weight(8, seed)"

twice_the_words = Exercise(
    twice_the_words,
    cases=measured("largest_weight", known_weight, range(20), [3, 5, 8, 13, 21, 34], range(10, 17)),
    truth=lambda largest_weight, seeds: by_sums([largest_weight(16, s) / largest_weight(8, s) for s in seeds], 2),
    tried="measurements whose results are known, with ratios above and below one, and three lists of seeds",
    see="Lab 7, “Exercise 7.4 (experiment): twice the words, half the weight?”",
    mistakes=edits(f"""
        the ratio upside down: {RATIO} => largest_weight(8, seed) / largest_weight(16, seed)
        a difference in place of a ratio: {RATIO} => largest_weight(16, seed) - largest_weight(8, seed) ||
            largest_weight(8, seed) - largest_weight(16, seed)
        multiplied in place of divided [ratio]: {RATIO} => largest_weight(16, seed) * largest_weight(8, seed)
        Student's t in place of two: => return by_sums([largest_weight(16, s) / largest_weight(8, s) for s in seeds])
        arguments exchanged [words]: {RATIO} => largest_weight(seed, 16) / largest_weight(seed, 8)
        one length only: {RATIO} => largest_weight(16, seed) || largest_weight(8, seed)
        other lengths: (8, seed) => (4, seed) || (6, seed) || (32, seed) || (5, seed) || (10, seed) || (7, seed) ||
            (9, seed) || (16, seed) => (32, seed) || (12, seed) || (10, seed) || (15, seed) || (17, seed) ||
            {RATIO} => largest_weight(8, seed) / largest_weight(4, seed) ||
            {RATIO} => largest_weight(32, seed) / largest_weight(16, seed)
        other seeds for the second: (8, seed) => (8, seed + 1)
        one seed for all [second]: (8, seed) => (8, seeds[0])
        seeds that were not asked for: for seed in seeds => for seed in range(200)
        ratio of the means: ratios.mean().item() =>
            sum(largest_weight(16, s) for s in seeds) / sum(largest_weight(8, s) for s in seeds)
    """)
    + over_seeds()
    + by_hand("ratios", "2"),
)

"""The checks of lab 2: a key model written, a map unfolded and folded again, and the slope of a measure."""

import numpy as np
import torch
from torch import Tensor, nn

from ..model import KeyPooling
from ..training import mean_and_interval
from .attention import check_bias
from .compare import check_shape
from .exercise import Case, Exercise, draw, drawn
from .experiment import asked, by_sums, over_seeds
from .lab_01 import LONELY, MASKS, SUMMED, fits_into_lab_1, of_ids, pool_by_pytorch, pooling
from .mistakes import Wrong, edits

PROOF = "Lab 2, “The proof on a trained model”"
SPLIT_IN_TWO = "Lab 2, “From one map to two”"

# --- 2.1 ---
PARTS = ("W_key", "query", "output")


def key_model_by_pytorch(ids, mask, features, W_key, query, output):
    return pool_by_pytorch(ids, mask, features, lambda tokens: query(W_key(tokens)), output)


def fits_into_the_lab(answer, run):
    fits_into_lab_1("output", see=SPLIT_IN_TWO)(answer, run)
    check_bias(run, lambda **settings: answer(9, **settings), ("W_key", "query"), default=True)
    if run(lambda: answer(9)).W_key.weight.shape != (16, 16):
        raise Wrong("another width by default")
    if run(lambda: answer(9, bias=False)).output.bias is None:
        raise Wrong("no nn.Linear [looked into]", name="output")


key_pooling = Exercise(
    KeyPooling,
    name="key_pooling",
    cases=[
        *(
            of_ids((9, *widths), mask, seed)
            for seed, (widths, mask) in enumerate(zip(((4, 2), (2, 5), (3, 3), (4, 1), (6, 4)), MASKS, strict=True))
        ),
        of_ids((9, 4, 2), LONELY, 5, stretched=16.0),
    ],
    truth=key_model_by_pytorch,
    parts=("features", *PARTS),
    widths=lambda words, dim, key_dim: {"W_key": (dim, key_dim), "query": (key_dim, 1), "output": (dim, 1)},
    also=fits_into_the_lab,
    tried="six batches in double precision, with padding behind and in front, without, with a text of padding only, "
    "with texts of one token and with large scores, k below d, above it and 1, against PyTorch's "
    "scaled_dot_product_attention",
    see=SPLIT_IN_TWO,
    mistakes=edits(f"""
        scaled [pooling]: = self.query(keys).squeeze(2) => = self.query(keys).squeeze(2) / keys.shape[2] ** 0.5
        a tanh between key and query: self.W_key(features) => self.W_key(features).tanh()
        keys added up in place of asked: self.query(keys).squeeze(2) => keys.sum(dim=2)
        one output for each token: => features = self.features(ids)
            weights = masked_softmax(self.query(self.W_key(features)).squeeze(2), mask)
            return self.output(weights.unsqueeze(2) * features).squeeze(2), weights
        keys pooled in place of features: {SUMMED} => weighted_sum(weights, keys)
    """)
    + pooling(),
)


# --- 2.3 ---
def split_the_map(w, query, other):
    """A key matrix (dim, key_dim) with which query brings w back, and other nothing."""
    apart = query - (query @ other) / (other @ other) * other  # (key_dim,), at right angles to other
    return torch.outer(w, apart) / (apart @ query)  # (dim, key_dim)


def what_the_queries_make(given, w, query, other):
    """What counts in an answer to `split_the_map`: the products of its matrix with both queries, (dim, 2)."""
    shape = (len(w), len(query))
    if not isinstance(given, Tensor):
        raise Wrong("wrong type [key matrix]", kind=type(given).__name__, shape=shape)
    if given.shape == shape[::-1] and shape != shape[::-1]:
        raise Wrong("the matrix the wrong way round", see=PROOF)
    check_shape(given, shape, "(d, k)")
    return torch.stack([(given * asks).sum(dim=1) for asks in (query, other)], dim=1)


def two_queries(query: Tensor, other: Tensor, seed: int) -> Case:
    return Case({"w": draw(6, seed=seed), "query": query, "other": other})


PART = "(query @ other) / (other @ other) * other"
APART = f"query - {PART}"

split_the_map = Exercise(
    split_the_map,
    cases=[
        *(two_queries(*draw(2, key_dim, seed=10 + n), seed=n) for n, key_dim in enumerate((3, 2, 9))),
        two_queries(*torch.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 3.0]], dtype=torch.float64), seed=3),
    ],
    truth=lambda w, query, other: torch.stack([w, torch.zeros_like(w)], dim=1),
    view=what_the_queries_make,
    tried="pairs of queries of 3, 2 and 9 random numbers and one with zeros, for maps of 6, by multiplying your K with "
    "both queries",
    see=PROOF,
    mistakes=edits(f"""
        the other query is answered: {APART} => query || outer(w, apart) => outer(w, query)
        the part along the other is wrong: {APART} => query - other || / (other @ other) => ||
            (query @ other) => (query * other) || (other @ other) => (other * other) || (other @ other) => other ||
            (other @ other) => other.norm() ||
            (other @ other) * other => (other @ other) / other || (other @ other) * other => (other @ other) ||
            (query @ other) / (other @ other) => (other @ other) / (query @ other) || {APART} => query - {PART} - other
        the part added, not taken off: query - (query => query + (query
        the part along the other alone: {APART} => {PART}
        the queries exchanged: {APART} => other - (query @ other) / (query @ query) * query &&
            (apart @ query) => (apart @ other)
        divided by something else: (apart @ query) => (query @ query) || apart.norm() || len(query) ||
            (other @ query) || apart
        not divided by q · q: / (apart @ query) =>
        multiplied in place of divided: / (apart @ query) => * (apart @ query)
        the query is not undone: => return w[:, None].repeat(1, len(query)) ||
            => return w[:, None].repeat(1, len(query)) / len(query)
        nothing comes back: torch.outer(w, apart) => torch.zeros(len(w), len(query))
        the matrix the wrong way round: outer(w, apart) => outer(apart, w)
    """),
)


# --- 2.2 ---
def redundant_key(centre, W_key, b_key, query, b_query):
    """The single map of a key model that takes `centre` off its features first: w (dim,) and b ()."""
    w = W_key @ query  # (dim,)
    b = (b_key - centre @ W_key) @ query + b_query  # ()
    return w, b


def map_by_asking(centre, W_key, b_key, query, b_query):
    """The single map found by asking the key model: its scores for no features, and for each feature alone."""
    features = torch.cat([torch.zeros(1, len(W_key)), torch.eye(len(W_key))])  # (1 + dim, dim)
    keys = nn.functional.linear(features - centre, W_key.T, b_key)
    nothing, *each = nn.functional.linear(keys, query[None], b_query[None]).squeeze(1)
    return torch.stack(each) - nothing, nothing


def with_b_as_tensor(given, W_key, **_):
    """The answer as it is, but that a plain number may stand for `b`."""
    if isinstance(given, (tuple, list)) and len(given) == 2 and type(given[1]) in (int, float):
        return given[0], torch.tensor(given[1], dtype=W_key.dtype)
    return given


def key_model(dim: int, key_dim: int, seed: int) -> Case:
    return Case(drawn(seed, centre=(dim,), W_key=(dim, key_dim), b_key=(key_dim,), query=(key_dim,), b_query=()))


KEY_BIAS = "(b_key - centre @ W_key)"

redundant_key = Exercise(
    redundant_key,
    cases=[key_model(6, 4, 0), key_model(3, 5, 10), key_model(4, 1, 20), key_model(4, 4, 30)],
    truth=map_by_asking,
    view=with_b_as_tensor,
    tried="key models of four shapes with biases, k below d, above d, 1 and equal to d, in double precision, feature "
    "by feature",
    see=SPLIT_IN_TWO,
    mistakes=edits(f"""
        more than one fault is left [fold]: {KEY_BIAS} @ query => b_key.sum()
        the centre forgotten: {KEY_BIAS} => b_key
        the centre added: {KEY_BIAS} => (b_key + centre @ W_key)
        the centre not folded: {KEY_BIAS} @ query => b_key @ query - centre || (b_key @ query - centre.sum())
        the key's bias never met the query: {KEY_BIAS} @ query => {KEY_BIAS}.sum() || {KEY_BIAS}.mean() || {KEY_BIAS} ||
            b_key.sum() - centre @ W_key @ query
        the query left out of w: = W_key @ query => = W_key.sum(dim=1) || = W_key
        the product is not summed: = W_key @ query => = W_key * query || {KEY_BIAS} @ query => {KEY_BIAS} * query
        the matrix the wrong way round: = W_key @ query => = W_key.T @ query || = query @ W_key ||
            centre @ W_key => W_key @ centre
        w is a column: = W_key @ query => = W_key @ query[:, None]
        the bias in place of the query: = W_key @ query => = W_key @ b_key || {KEY_BIAS} @ query => {KEY_BIAS} @ b_key
        the query meets itself: {KEY_BIAS} @ query => query @ query
        results in the wrong order: return w, b => return b, w
        a bias subtracted: query + b_query => query - b_query
        added in place of multiplied: W_key @ query => W_key + query
        multiplied in place of added: query + b_query => query * b_query
        {PROOF}
        the key's bias forgotten: (b_key - centre @ W_key) => (-centre @ W_key)
        the query's bias forgotten: + b_query =>
        both biases forgotten: {KEY_BIAS} @ query + b_query => torch.zeros(()) || -centre @ W_key @ query
    """),
)


# --- 2.4 ---
def slope(measure, sizes, seeds):
    """The slope of log measure against log size: its mean over the seeds, and half of its 95% interval."""
    slopes = []
    for seed in seeds:
        numbers = [measure(size, seed) for size in sizes]
        slopes.append(np.polyfit(np.log(sizes), np.log(numbers), 1)[0])
    return mean_and_interval(slopes)


def known_power(seed):
    return -1 + (seed * seed % 5) / 8


def known_law(size, seed):
    """A power of the size and a factor, both the seed's own, and a wave that no line follows."""
    return (2 + seed % 3) * size ** known_power(seed) * (1.2 if size > 1 else 1.0)


def slope_by_sums(measure, sizes, seeds):
    slopes = []
    for seed in seeds:
        x, y = (np.array([np.log(number) for number in row]) for row in (sizes, [measure(s, seed) for s in sizes]))
        slopes.append(((x - x.mean()) @ (y - y.mean())) / ((x - x.mean()) @ (x - x.mean())))
    return by_sums(slopes)


FIT = "np.polyfit(np.log(sizes), np.log(numbers), 1)[0]"

slope = Exercise(
    slope,
    cases=[
        Case({"measure": known_law, "sizes": [0.5, 1.0, 4.0], "seeds": [1, 2, 3, 5]}),
        Case({"measure": known_law, "sizes": [8.0, 0.25], "seeds": range(3)}),
        Case({"measure": known_law, "sizes": [0.1, 0.3, 2.0, 5.0], "seeds": [7, 4]}),
    ],
    truth=slope_by_sums,
    tried="a measure whose power is known for each seed, with two, three and four sizes and seeds",
    see="Lab 2, “Exercise 2.4 (experiment): how far the first step goes”",
    mistakes=edits(f"""
        the height in place of the slope: 1)[0] => 1)[1]
        slope and height together: 1)[0] => 1)
        sizes and measures exchanged: np.log(sizes), np.log(numbers) => np.log(numbers), np.log(sizes)
        no logarithm of the sizes: np.log(sizes) => sizes
        no logarithm of the measure: np.log(numbers) => numbers
        a curve in place of a line: 1)[0] => 2)[0] || 0)[0]
        no logarithms: np.log(sizes), np.log(numbers) => sizes, numbers
        one seed for all: measure(size, seed) => measure(size, 0)
        width and seed exchanged [sizes]: measure(size, seed) => measure(seed, size)
        one line for all seeds: => x = np.log([size for seed in seeds for size in sizes])
            y = np.log([measure(size, seed) for seed in seeds for size in sizes])
            return float(np.polyfit(x, y, 1)[0]), 0.0
        averaged before the line: => rows = np.array([[measure(size, seed) for size in sizes] for seed in seeds])
            return float(np.polyfit(np.log(sizes), np.log(rows.mean(axis=0)), 1)[0]), 0.0
        no mean and interval [slopes]: return mean_and_interval(slopes) => return slopes
        sign lost [slopes]: slopes.append({FIT}) => slopes.append(abs({FIT}))
        the ends alone: {FIT} => np.log(numbers[-1] / numbers[0]) / np.log(sizes[-1] / sizes[0])
    """)
    + over_seeds()
    + asked("slopes"),
)

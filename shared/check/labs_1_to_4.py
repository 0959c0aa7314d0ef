"""The checks of labs 1 to 4: pooling, keys, queries, values.

References are written as loops or stand on PyTorch's functions; what computes the mistakes is written as a reader might
write it, with one thing wrong.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from .harness import Case, Exercise, Mistake, Raised, Wrong, draw, moved_to_the_front, real_tokens


def _known(name: str, sentence: str, section: str, *ways: Callable) -> list[Mistake]:
    """One mistake that can be made in several ways."""
    return [Mistake(name, sentence, section, way) for way in ways]


def _counted(right: Callable, section: str) -> list[Mistake]:
    """The mistake of somebody whose mask says how many tokens are real, and no longer which."""
    sentence = (
        "You count the real tokens of a text and take as many from the front. Padding may stand in front, too: ask the "
        "mask which tokens are real."
    )
    return _known(
        "the mask only counted",
        sentence,
        section,
        lambda mask, **others: right(mask=moved_to_the_front(mask), **others),
    )


# --- lab 1 -------------------------------------------------------------------------------------------------------

PADDING = "Lab 1, “Batches, padding and the mask”"
TWO_MODELS = "Lab 1, “Two models”"
DISTRACTORS = "Lab 1, “Distractors”"


def _masked_mean(features: Tensor, mask: Tensor) -> Tensor:
    means = torch.zeros(features.shape[0], features.shape[2], dtype=features.dtype)
    for text, (tokens, real) in enumerate(zip(features, mask, strict=True)):
        if real.any():
            means[text] = tokens[real].mean(dim=0)
    return means


def _real_sum(features: Tensor, mask: Tensor) -> Tensor:
    return (features * mask[:, :, None]).sum(dim=1)  # (batch, dim)


masked_mean = Exercise(
    name="masked_mean",
    cases=lambda: [
        Case({"features": draw(3, 5, 4), "mask": real_tokens([5, 3, 1])}),
        Case({"features": draw(2, 6, 2, seed=1), "mask": real_tokens([6, 6])}),
        Case({"features": draw(3, 4, 3, seed=2), "mask": real_tokens([4, 0, 2]).flip(1)}),
    ],
    reference=_masked_mean,
    mistakes=[
        *_known(
            "padding left in the mean",
            "The mean runs over padding too: short texts are pulled towards whatever stands behind them.",
            PADDING,
            lambda features, mask: features.mean(dim=1),
        ),
        *_known(
            "padding left in the sum",
            "You divide by the number of real tokens, but padding is still in the sum.",
            PADDING,
            lambda features, mask: features.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1),
            lambda features, mask: features.sum(dim=1) / mask.sum(dim=1, keepdim=True),
        ),
        *_known(
            "divided by all places",
            "Padding is out of the sum, but you still divide by the length of the row and not by the number of real "
            "tokens. Short texts come out too small.",
            TWO_MODELS,
            lambda features, mask: _real_sum(features, mask) / features.shape[1],
        ),
        *_known(
            "not divided",
            "This is the sum of the real tokens, not their mean. Long texts come out too large.",
            TWO_MODELS,
            _real_sum,
        ),
        *_known(
            "one count for all texts",
            "You divide by the real tokens of the whole batch. Each text has a count of its own: sum the mask over the "
            "tokens only.",
            TWO_MODELS,
            lambda features, mask: _real_sum(features, mask) / mask.sum(),
        ),
        *_known(
            "the mask the wrong way round",
            "This is the mean of the padding. The mask is True where a token is real.",
            PADDING,
            lambda features, mask: _real_sum(features, ~mask) / (~mask).sum(dim=1, keepdim=True).clamp(min=1),
            lambda features, mask: _real_sum(features, ~mask) / (~mask).sum(dim=1, keepdim=True),
        ),
        *_known(
            "mean over the batch",
            "You average over the texts of the batch. A text must not depend on its neighbours: the tokens are axis 1.",
            TWO_MODELS,
            lambda features, mask: features.mean(dim=0),
            lambda features, mask: (features * mask[:, :, None]).sum(dim=0) / mask.sum(dim=0)[:, None].clamp(min=1),
            lambda features, mask: (features * mask[:, :, None]).sum(dim=0) / mask.sum(dim=0)[:, None],
        ),
        *_known(
            "mean over the features",
            "You average over the features of each token. The tokens are axis 1, the features axis 2.",
            TWO_MODELS,
            lambda features, mask: features.mean(dim=2),
            lambda features, mask: (features * mask[:, :, None]).mean(dim=2),
        ),
        *_known(
            "NaN for a text of padding",
            "A text without any real token gives 0 / 0, which is NaN, and one NaN spoils the whole model.",
            TWO_MODELS,
            lambda features, mask: _real_sum(features, mask) / mask.sum(dim=1, keepdim=True),
        ),
        *_counted(_masked_mean, PADDING),
    ],
    tried="three batches in double precision: with padding behind and in front, without, and with a text of padding "
    "only",
)


def _attention_pooling(features: Tensor, mask: Tensor, score: Callable) -> tuple[Tensor, Tensor]:
    weights = torch.zeros(mask.shape, dtype=features.dtype)  # (batch, tokens)
    for text, real in enumerate(mask):
        exponentials = [math.exp(score(token[None]).item()) for token in features[text, real]]
        weights[text, real] = torch.tensor([e / sum(exponentials) for e in exponentials], dtype=features.dtype)
    pooled = [sum(w * f for w, f in zip(*pair, strict=True)) for pair in zip(weights, features, strict=True)]
    return torch.stack(pooled), weights


def _filled(scores: Tensor, hidden: Tensor, value: float | None = None) -> Tensor:
    """What the labs write for minus infinity, without its NaN, or another value."""
    return scores.masked_fill(hidden, torch.finfo(scores.dtype).min if value is None else value)


def _pool(
    features: Tensor,
    mask: Tensor,
    score: Callable,
    weigh: Callable = lambda scores, mask: _filled(scores, ~mask).softmax(dim=1) * mask,
    combine: Callable = lambda weights, features: (weights[:, :, None] * features).sum(dim=1),
    returned: Callable = lambda scores, weights: weights,
) -> tuple[Tensor, Tensor]:
    """Attention pooling as a reader writes it, with one step exchanged."""
    scores = score(features).reshape(mask.shape)  # (batch, tokens)
    weights = weigh(scores, mask)  # (batch, tokens)
    return combine(weights, features), returned(scores, weights)


attention_pool = Exercise(
    name="attention_pool",
    cases=lambda: [
        Case({"features": draw(3, 5, 4), "mask": real_tokens([5, 3, 1])}, sizes=(4,)),
        Case({"features": draw(2, 6, 3, seed=1), "mask": real_tokens([6, 6])}, sizes=(3,)),
        Case({"features": draw(3, 4, 2, seed=2), "mask": real_tokens([4, 0, 2]).flip(1)}, sizes=(2,)),
    ],
    reference=_attention_pooling,
    parts=("score",),
    widths=lambda dim: {"score": (dim, 1)},
    mistakes=[
        *_counted(_attention_pooling, PADDING),
        *_known(
            "softmax over the wrong axis",
            "Your softmax runs over the texts of the batch. The tokens of one text compete: that is axis 1.",
            TWO_MODELS,
            partial(_pool, weigh=lambda scores, mask: _filled(scores, ~mask).softmax(dim=0)),
            partial(_pool, weigh=lambda scores, mask: _filled(scores, ~mask).softmax(dim=0) * mask),
            partial(_pool, weigh=lambda scores, mask: scores.softmax(dim=0)),
            partial(_pool, weigh=lambda scores, mask: scores.softmax(dim=0) * mask),
        ),
        *_known(
            "no mask",
            "Padding takes part: the mask is not used.",
            PADDING,
            partial(_pool, weigh=lambda scores, mask: scores.softmax(dim=1)),
        ),
        *_known(
            "mask after the softmax",
            "You set the weights of padding to zero after the softmax. It has had its share by then, and the weights "
            "of a short text no longer sum to 1. Hide it in the scores.",
            TWO_MODELS,
            partial(_pool, weigh=lambda scores, mask: scores.softmax(dim=1) * mask),
        ),
        *_known(
            "the mask the wrong way round",
            "You hide the real tokens and look at the padding. The mask is True where a token is real.",
            PADDING,
            partial(_pool, weigh=lambda scores, mask: _filled(scores, mask).softmax(dim=1)),
            partial(_pool, weigh=lambda scores, mask: _filled(scores, mask).softmax(dim=1) * mask),
            partial(_pool, weigh=lambda scores, mask: _filled(scores, mask).softmax(dim=1) * ~mask),
            partial(_pool, weigh=lambda scores, mask: _filled(scores, mask, -torch.inf).softmax(dim=1)),
        ),
        *_known(
            "padding scored zero",
            "You give padding the score 0. The softmax takes e to the 0, which is 1: padding still gets weight. Use "
            "the smallest number there is.",
            TWO_MODELS,
            partial(_pool, weigh=lambda scores, mask: (scores * mask).softmax(dim=1)),
            partial(_pool, weigh=lambda scores, mask: (scores * mask).softmax(dim=1) * mask),
        ),
        *_known(
            "the mask added as it is",
            "You add the mask to the scores, so real tokens get 1 more and padding keeps its score. What is added to "
            "padding must be hugely negative.",
            TWO_MODELS,
            partial(_pool, weigh=lambda scores, mask: (scores + mask).softmax(dim=1)),
            partial(_pool, weigh=lambda scores, mask: (scores + mask).softmax(dim=1) * mask),
        ),
        *_known(
            "no softmax",
            "The scores are used as weights. Without the softmax they can be negative and do not sum to 1.",
            TWO_MODELS,
            partial(_pool, weigh=lambda scores, mask: scores * mask),
            partial(_pool, weigh=lambda scores, mask: scores),
            partial(_pool, weigh=lambda scores, mask: _filled(scores, ~mask)),
            partial(_pool, weigh=lambda scores, mask: _filled(scores, ~mask) * mask),
        ),
        *_known(
            "sigmoid instead of softmax",
            "A sigmoid looks at each token alone, so the weights of a text do not sum to 1.",
            TWO_MODELS,
            partial(_pool, weigh=lambda scores, mask: scores.sigmoid() * mask),
            partial(_pool, weigh=lambda scores, mask: _filled(scores, ~mask).sigmoid()),
        ),
        *_known(
            "divided once too often",
            "You take the mean of the weighted features. The weights sum to 1 already, so sum them.",
            TWO_MODELS,
            partial(_pool, combine=lambda weights, features: (weights[:, :, None] * features).mean(dim=1)),
        ),
        *_known(
            "weights not used",
            "The weights are right, but the features are summed or averaged without them.",
            TWO_MODELS,
            partial(_pool, combine=lambda weights, features: features.mean(dim=1)),
            partial(_pool, combine=lambda weights, features: features.sum(dim=1)),
            partial(_pool, combine=lambda weights, features: _masked_mean(features, weights > 0)),
        ),
        *_known(
            "scores returned instead of weights",
            "The pooled features are right, but the second result holds the scores. Return the weights.",
            TWO_MODELS,
            partial(_pool, returned=lambda scores, weights: scores),
            partial(_pool, returned=lambda scores, weights: _filled(scores, weights == 0)),
            partial(_pool, returned=lambda scores, weights: _filled(scores, weights == 0, -torch.inf)),
        ),
        *_known(
            "NaN for a text of padding",
            "A text of padding only is a row of minus infinities, and its softmax is NaN. Fill with the smallest "
            "number instead, and multiply by the mask at the end.",
            TWO_MODELS,
            partial(_pool, weigh=lambda scores, mask: _filled(scores, ~mask, -torch.inf).softmax(dim=1)),
        ),
        *_known(
            "weight for a text of padding",
            "A text of padding only should get no weight at all. Multiply by the mask after the softmax, too.",
            TWO_MODELS,
            partial(_pool, weigh=lambda scores, mask: _filled(scores, ~mask).softmax(dim=1)),
        ),
    ],
    tried="three batches in double precision, with padding, without, and with a text of padding only, against loops",
)


def _lost_to_the_cut(distractor: np.ndarray, labelled: np.ndarray, window: int) -> float:
    lost = 0
    for before, own in zip(distractor.tolist(), labelled.tolist(), strict=True):
        joined = ["distractor"] * before + ["labelled"] * own
        lost += "labelled" not in joined[:window]
    return lost / len(labelled)


def _lengths(seed: int, longest: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, longest, size)


lost_to_the_cut = Exercise(
    name="lost_to_the_cut",
    cases=lambda: [
        Case({"distractor": np.array([3, 10, 12, 9, 10]), "labelled": np.array([4, 5, 20, 1, 8]), "window": 10}),
        Case({"distractor": _lengths(1, 90, 40), "labelled": _lengths(2, 90, 40), "window": 50}),
        Case({"distractor": _lengths(3, 900, 200), "labelled": _lengths(4, 300, 200), "window": 256}),
    ],
    reference=_lost_to_the_cut,
    mistakes=[
        *_known(
            "a full window counted as room",
            "A distractor that fills the window to its last place leaves no room either. Look at the equal sign.",
            DISTRACTORS,
            lambda distractor, labelled, window: np.mean(distractor > window),
        ),
        *_known(
            "cut reviews counted as lost",
            "You also count reviews that lose their end only. The question is about those of which nothing is left.",
            DISTRACTORS,
            lambda distractor, labelled, window: np.mean(distractor + labelled > window),
            lambda distractor, labelled, window: np.mean(distractor + labelled >= window),
        ),
        *_known(
            "the two reviews exchanged",
            "You measure the labelled review. The one that pushes it out of the window is the distractor, in front.",
            DISTRACTORS,
            lambda distractor, labelled, window: np.mean(labelled >= window),
            lambda distractor, labelled, window: np.mean(labelled > window),
        ),
        *_known(
            "a count instead of a share",
            "This is the number of lost reviews. Divide it by the number of all.",
            DISTRACTORS,
            lambda distractor, labelled, window: np.sum(distractor >= window),
        ),
        *_known(
            "the share that stays",
            "This is the share of reviews of which something is left. Take the others.",
            DISTRACTORS,
            lambda distractor, labelled, window: np.mean(distractor < window),
        ),
        *_known(
            "words counted instead of reviews",
            "This is the share of the labelled reviews' words that is lost. Count reviews.",
            DISTRACTORS,
            lambda distractor, labelled, window: 1 - np.clip(window - distractor, 0, labelled).sum() / np.sum(labelled),
        ),
        *_known(
            "the window is not used",
            "Your answer holds for a window of 256 only. Use the argument.",
            DISTRACTORS,
            lambda distractor, labelled, window: np.mean(distractor >= 256),
        ),
    ],
    tried="windows of 10, 50 and 256 tokens, one of them filled to its last place, against lists of words",
)

# --- lab 2 -------------------------------------------------------------------------------------------------------

TO_TWO = "Lab 2, “From one map to two”"
PROOF = "Lab 2, “The proof on a trained model”"
COST = "Lab 2, “What the split costs”"


def _redundant_key(W_key: Tensor, b_key: Tensor, query: Tensor, b_query: Tensor) -> tuple[Tensor, Tensor]:
    """The single map found by asking the key model: its scores for no features, and for each feature alone."""

    def score(features):
        keys = [sum(f * W_key[row, column] for row, f in enumerate(features)) for column in range(W_key.shape[1])]
        return sum((key + b) * q for key, b, q in zip(keys, b_key, query, strict=True)) + b_query

    dim = W_key.shape[0]
    bias = score([0.0] * dim)
    return torch.stack([score([float(i == j) for j in range(dim)]) - bias for i in range(dim)]), bias


def _fold(w: Callable, b: Callable) -> Callable:
    """A wrong fold: `w` and `b` make the two results."""
    return lambda W_key, b_key, query, b_query: (w(W_key, query), b(b_key, query, b_query))


def _right_map(W_key: Tensor, query: Tensor) -> Tensor:
    return W_key @ query


def _right_bias(b_key: Tensor, query: Tensor, b_query: Tensor) -> Tensor:
    return b_key @ query + b_query


def _key_model(dim: int, key_dim: int, seed: int) -> Case:
    shapes = {"W_key": (dim, key_dim), "b_key": (key_dim,), "query": (key_dim,), "b_query": ()}
    return Case({name: draw(*shape, seed=seed + place) for place, (name, shape) in enumerate(shapes.items())})


def _with_b_as_tensor(given: object, W_key: Tensor, **_) -> object:
    """The answer as it is, but that a plain number may stand for `b`."""
    if isinstance(given, (tuple, list)) and len(given) == 2 and type(given[1]) in (int, float):
        return given[0], torch.tensor(given[1], dtype=W_key.dtype)
    return given


redundant_key = Exercise(
    name="redundant_key",
    view=_with_b_as_tensor,
    cases=lambda: [_key_model(6, 4, 0), _key_model(3, 5, 10), _key_model(4, 1, 20)],
    reference=_redundant_key,
    mistakes=[
        *_known(
            "the key's bias forgotten",
            "w is right. But each key carries the key's bias, and the query meets it too: it belongs in b.",
            PROOF,
            _fold(_right_map, lambda b_key, query, b_query: b_query),
        ),
        *_known(
            "the query's bias forgotten",
            "w is right. In b the bias behind the query is missing.",
            PROOF,
            _fold(_right_map, lambda b_key, query, b_query: b_key @ query),
        ),
        *_known(
            "both biases forgotten",
            "w is right, but b is zero. The key model has two biases; what do they add to a score?",
            PROOF,
            _fold(_right_map, lambda b_key, query, b_query: torch.zeros_like(b_query)),
        ),
        *_known(
            "the key's bias never met the query",
            "You add up the key's bias as it stands. A score is a key times the query, and the bias is a part of the "
            "key.",
            TO_TWO,
            _fold(_right_map, lambda b_key, query, b_query: b_key.sum() + b_query),
            _fold(_right_map, lambda b_key, query, b_query: b_key.mean() + b_query),
        ),
        *_known(
            "the query left out of w",
            "w adds up the columns of K as if the query were all ones. Each column counts as much as the query says.",
            TO_TWO,
            _fold(lambda W_key, query: W_key.sum(dim=1), _right_bias),
        ),
        *_known(
            "the product is not summed",
            "You multiply each column of K by its entry of the query, and leave them side by side. w is their sum.",
            TO_TWO,
            _fold(lambda W_key, query: W_key * query, _right_bias),
        ),
        *_known(
            "the matrix the wrong way round",
            "K has d rows and k columns, and the query has k numbers: multiply K with the query from the right. (Only "
            "nn.Linear keeps its matrix transposed.)",
            TO_TWO,
            _fold(lambda W_key, query: W_key.T @ query, _right_bias),
            _fold(lambda W_key, query: query @ W_key, _right_bias),
        ),
        *_known(
            "w is a column",
            "w has an axis too many: a vector of d numbers has the shape (d,).",
            TO_TWO,
            _fold(lambda W_key, query: W_key @ query[:, None], _right_bias),
        ),
    ],
    tried="key models of three shapes with biases, k below d, above d and 1, in double precision, feature by feature",
)


def _what_the_query_makes(given: object, w: Tensor, query: Tensor) -> Tensor:
    """What counts in an answer to `split_the_map`: the product of its matrix with the query."""
    shape = (len(w), len(query))
    if not isinstance(given, Tensor):
        raise Wrong(
            "wrong type", f"Your code returns a {type(given).__name__}; it should be a tensor of shape {shape}."
        )
    if given.shape == shape[::-1] and shape != shape[::-1]:
        sentence = f"The shape is {tuple(given.shape)}. K has d rows and k columns: here {shape}. Exchange the two."
        raise Wrong("the matrix the wrong way round", f"{sentence} Read again: {PROOF}.")
    if given.shape != shape:
        raise Wrong("wrong shape", f"The shape is {tuple(given.shape)} instead of {shape}, (d, k).")
    return (given * query).sum(dim=1)


split_the_map = Exercise(
    name="split_the_map",
    cases=lambda: (
        [
            Case({"w": draw(6, seed=place), "query": draw(key_dim, seed=10 + place)})
            for place, key_dim in enumerate((3, 1, 9))
        ]
        + [Case({"w": draw(6, seed=3), "query": torch.tensor([0.0, 2.0, 0.0], dtype=torch.float64)})]
    ),
    reference=lambda w, query: w,
    view=_what_the_query_makes,
    mistakes=[
        *_known(
            "not divided by q · q",
            "The direction is right, the size is not: w comes back multiplied by q · q.",
            PROOF,
            lambda w, query: w * (query @ query),
        ),
        *_known(
            "divided by the length of q",
            "You divide by the length of q, the root of q · q. The query comes in twice, so divide by its square.",
            PROOF,
            lambda w, query: w * query.norm(),
        ),
        *_known(
            "each column brings back all of w",
            "Each column alone would do; together they bring back k times w. Share it among the columns.",
            PROOF,
            lambda w, query: w * len(query),
        ),
        *_known(
            "the query is not undone",
            "The columns of K hold w as it is. Then the query multiplies it by the sum of its entries.",
            PROOF,
            lambda w, query: w * query.sum(),
            lambda w, query: w * query.mean(),
        ),
        *_known(
            "divided by an entry of q",
            "You divide by entries of the query, and one of them may be zero. Only the whole query is not: divide by "
            "q · q.",
            PROOF,
            lambda w, query: w * (query / query).prod(),
        ),
        *_known(
            "nothing comes back",
            "Your K times the query is zero.",
            PROOF,
            lambda w, query: torch.zeros_like(w),
        ),
    ],
    tried="queries of 3, 1 and 9 random numbers and one with zeros, for maps of 6, by multiplying your K with the "
    "query",
)


def _extra_parameters(dim: int, key_dim: int, bias: bool) -> int:
    def count(*layers):
        return sum(parameter.numel() for layer in layers for parameter in layer.parameters())

    single = nn.Linear(dim, 1, bias=bias, device="meta")
    split = nn.Linear(dim, key_dim, bias=bias, device="meta"), nn.Linear(key_dim, 1, bias=bias, device="meta")
    return count(*split) - count(single)


extra_parameters = Exercise(
    name="extra_parameters",
    cases=lambda: [
        Case({"dim": dim, "key_dim": key_dim, "bias": bias})
        for dim, key_dim in ((16, 16), (16, 1), (16, 4), (5, 7))
        for bias in (False, True)
    ],
    reference=_extra_parameters,
    mistakes=[
        *_known(
            "the query forgotten",
            "You count the key matrix alone. The query has k numbers of its own.",
            COST,
            lambda dim, key_dim, bias: dim * key_dim - dim + bias * key_dim,
            lambda dim, key_dim, bias: dim * key_dim - dim + bias * (key_dim - 1),
        ),
        *_known(
            "biases not counted",
            "Without biases this is right. With them, the key has k more.",
            COST,
            lambda dim, key_dim, bias: dim * key_dim + key_dim - dim,
        ),
        *_known(
            "the single map's bias forgotten",
            "The single map has a bias as well, when the key model has: one number less to pay for.",
            COST,
            lambda dim, key_dim, bias: dim * key_dim + key_dim - dim + bias * (key_dim + 1),
        ),
        *_known(
            "the key's bias has the wrong width",
            "The key's bias is added to a key, so it has k numbers and not d.",
            COST,
            lambda dim, key_dim, bias: dim * key_dim + key_dim - dim + bias * dim,
        ),
        *_known(
            "the single map not taken off",
            "This is what the key model has. The question is how many *more* that is than the single map's.",
            COST,
            lambda dim, key_dim, bias: dim * key_dim + key_dim + bias * (key_dim + 1),
        ),
        *_known(
            "the key matrix taken as d by d",
            "You count a full key matrix. It has d rows and k columns.",
            COST,
            lambda dim, key_dim, bias: dim * dim + key_dim - dim + bias * key_dim,
            lambda dim, key_dim, bias: dim * dim + bias * dim,
        ),
        *_known(
            "the difference turned round",
            "You take the key model from the single map. The sign is the other way round: k = 1 costs more.",
            COST,
            lambda dim, key_dim, bias: dim - dim * key_dim - key_dim - bias * key_dim,
        ),
    ],
    tried="four pairs of d and k, with and without biases, by counting real modules",
)

# --- lab 3 -------------------------------------------------------------------------------------------------------

EACH = "Lab 3, “A question for each token”"
THREE_WAYS = "Lab 3, “Three ways to one matrix”"
WHO = "Lab 3, “Who asks whom”"
LAYER = "Lab 3, “The layer”"
ONCE_MORE = "Lab 3, “One query for all, once more”"
ROOT = "Lab 3, “Why divide by the square root of k?”"


def _one_matrix(weight_query: Tensor, weight_key: Tensor) -> Tensor:
    key_dim, dim = weight_query.shape
    middle = torch.empty(dim, dim, dtype=weight_query.dtype)
    for asks in range(dim):
        for answers in range(dim):
            middle[asks, answers] = sum(q[asks] * k[answers] for q, k in zip(weight_query, weight_key, strict=True))
    return middle / math.sqrt(key_dim)


one_matrix = Exercise(
    name="one_matrix",
    cases=lambda: [
        Case({"weight_query": draw(key_dim, dim), "weight_key": draw(key_dim, dim, seed=1)})
        for dim, key_dim in ((4, 2), (3, 5), (6, 4))
    ],
    reference=_one_matrix,
    mistakes=[
        *_known(
            "the scale forgotten",
            "The product is right. The division by √k is missing.",
            ROOT,
            lambda weight_query, weight_key: weight_query.T @ weight_key,
        ),
        *_known(
            "d instead of k in the scale",
            "You divide by √d. A score sums k products, so k is what counts.",
            ROOT,
            lambda weight_query, weight_key: weight_query.T @ weight_key / math.sqrt(weight_query.shape[1]),
        ),
        *_known(
            "no root in the scale",
            "You divide by k. The variance of a score grows with k, its size with √k.",
            ROOT,
            lambda weight_query, weight_key: weight_query.T @ weight_key / len(weight_query),
        ),
        *_known(
            "queries and keys exchanged",
            "This is the matrix of the keys asking the queries, your matrix transposed. The asking token stands on the "
            "left.",
            THREE_WAYS,
            lambda weight_query, weight_key: weight_key.T @ weight_query / math.sqrt(len(weight_query)),
        ),
        *_known(
            "the trap of the transposed matrix",
            "This product is k x k. nn.Linear keeps its matrix transposed, (k, d), so here Q is `weight_query.T`; the "
            "matrix in the middle is d x d.",
            THREE_WAYS,
            lambda weight_query, weight_key: weight_query @ weight_key.T / math.sqrt(len(weight_query)),
            lambda weight_query, weight_key: weight_query @ weight_key.T,
        ),
        *_known(
            "no transpose at all",
            "These two shapes cannot be multiplied as they stand. Ask which axis the two share: it is k, the first.",
            THREE_WAYS,
            lambda weight_query, weight_key: weight_query @ weight_key,
        ),
        *_known(
            "one matrix for both",
            "You use one matrix twice. Then i asks j as j asks i; there are two matrices.",
            WHO,
            lambda weight_query, weight_key: weight_query.T @ weight_query / math.sqrt(len(weight_query)),
            lambda weight_query, weight_key: weight_key.T @ weight_key / math.sqrt(len(weight_query)),
        ),
    ],
    tried="three pairs of random matrices, k below and above d, in double precision, entry by entry",
)


def _self_attention(
    features: Tensor, mask: Tensor, W_query: Callable, W_key: Callable, W_value: Callable = lambda features: features
) -> tuple[Tensor, Tensor]:
    """PyTorch's own attention. Values of the unit matrix bring back the weights; rows of padding are left open."""
    queries, keys, values = W_query(features), W_key(features), W_value(features)
    unit = torch.eye(features.shape[1], dtype=features.dtype).expand(len(features), -1, -1)
    attend = partial(nn.functional.scaled_dot_product_attention, queries, keys, attn_mask=mask[:, None, :])
    return tuple(attend(brought).masked_fill(~mask[:, :, None], torch.nan) for brought in (values, unit))


def _hide_keys(scores: Tensor, mask: Tensor) -> Tensor:
    return _filled(scores, ~mask[:, None, :]).softmax(dim=2)


def _attend(
    features: Tensor,
    mask: Tensor,
    W_query: Callable,
    W_key: Callable,
    W_value: Callable = lambda features: features,
    *,
    project: Callable = lambda features, W_query, W_key: (W_query(features), W_key(features)),
    multiply: Callable = lambda queries, keys: queries @ keys.transpose(1, 2),
    divisor: Callable = lambda features, keys: math.sqrt(keys.shape[2]),
    weigh: Callable = _hide_keys,
    bring: Callable = lambda weights, values, keys, features: weights @ values,
    returned: Callable = lambda output, weights, scores: (output, weights),
) -> tuple[Tensor, Tensor]:
    """Self-attention as a reader writes it, with one step exchanged."""
    queries, keys = project(features, W_query, W_key)
    scores = multiply(queries, keys) / divisor(features, keys)  # (batch, tokens, tokens)
    weights = weigh(scores, mask)  # (batch, tokens, tokens)
    return returned(bring(weights, W_value(features), keys, features), weights, scores)


ATTENTION_MISTAKES = [
    *_known(
        "softmax over the wrong axis",
        "Your softmax runs down the columns, so the askers compete for a token. Each row must sum to 1: the softmax "
        "belongs on the last axis.",
        "Lab 3, question 2",
        *(
            partial(_attend, weigh=lambda scores, mask, fill=fill: fill(scores, mask).softmax(dim=1))
            for fill in (
                lambda scores, mask: _filled(scores, ~mask[:, None, :]),
                lambda scores, mask: _filled(scores, ~mask[:, None, :], -torch.inf),
                lambda scores, mask: _filled(scores, ~mask[:, :, None]),
                lambda scores, mask: scores,
            )
        ),
    ),
    *_known(
        "softmax over the batch",
        "Your softmax runs over axis 0, so the texts of a batch compete. It belongs on the last axis.",
        "Lab 3, question 2",
        partial(_attend, weigh=lambda scores, mask: _filled(scores, ~mask[:, None, :]).softmax(dim=0)),
        partial(_attend, weigh=lambda scores, mask: _filled(scores, ~mask[:, None, :], -torch.inf).softmax(dim=0)),
        partial(_attend, weigh=lambda scores, mask: scores.softmax(dim=0)),
    ),
    *_known(
        "no scale",
        "The scores are not divided by √k.",
        ROOT,
        partial(_attend, divisor=lambda features, keys: 1.0),
    ),
    *_known(
        "d instead of k in the scale",
        "You divide by √d. A score sums k products, so it is the width of the keys that counts.",
        ROOT,
        partial(_attend, divisor=lambda features, keys: math.sqrt(features.shape[2])),
    ),
    *_known(
        "the number of tokens in the scale",
        "You divide by the root of the number of tokens. A score sums k products, whatever the length of the text.",
        ROOT,
        partial(_attend, divisor=lambda features, keys: math.sqrt(keys.shape[1])),
    ),
    *_known(
        "no root in the scale",
        "You divide by k. The variance of a score grows with k, its size with √k.",
        ROOT,
        partial(_attend, divisor=lambda features, keys: keys.shape[2]),
    ),
    *_known(
        "multiplied by the scale",
        "You multiply by √k. That makes large scores larger; divide.",
        ROOT,
        partial(_attend, divisor=lambda features, keys: 1 / math.sqrt(keys.shape[2])),
    ),
    *_known(
        "queries and keys exchanged",
        "Your rows belong to the keys: token j is asked by all i. Row i of the scores is what token i asks, so the "
        "queries stand on the left.",
        EACH,
        partial(_attend, multiply=lambda queries, keys: keys @ queries.transpose(1, 2)),
    ),
    *_known(
        "one matrix for both",
        "Queries and keys come from the same matrix. Then i asks j as j asks i; use both.",
        WHO,
        partial(_attend, project=lambda features, W_query, W_key: (W_key(features), W_key(features))),
        partial(_attend, project=lambda features, W_query, W_key: (W_query(features), W_query(features))),
    ),
    *_known(
        "one question for all",
        "All tokens of a text ask the same question, the average one. Each token makes its own.",
        EACH,
        partial(
            _attend,
            project=lambda features, W_query, W_key: (
                W_query(features).mean(dim=1, keepdim=True).expand(-1, features.shape[1], -1),
                W_key(features),
            ),
        ),
    ),
    *_known(
        "transpose of the wrong axes",
        "The keys are transposed along the wrong axes. In a batch, axis 0 counts texts and must stay: exchange the "
        "last two, with `keys.transpose(1, 2)`.",
        LAYER,
        *(
            partial(_attend, multiply=lambda queries, keys, turn=turn: queries @ turn(keys))
            for turn in (
                lambda keys: keys,
                lambda keys: keys.permute(2, 1, 0),
                lambda keys: keys.transpose(0, 1),
                lambda keys: keys.reshape(keys.shape[0], keys.shape[2], keys.shape[1]),
            )
        ),
    ),
    *_known(
        "no mask",
        "The mask is not used, so real tokens look at padding.",
        LAYER,
        partial(_attend, weigh=lambda scores, mask: scores.softmax(dim=2)),
    ),
    *_known(
        "the mask on those who ask",
        "Your mask hides rows: it says who may ask. It has to hide columns, so that nobody looks *at* padding. Give it "
        "its new axis in the middle, (batch, 1, tokens).",
        LAYER,
        partial(_attend, weigh=lambda scores, mask: _filled(scores, ~mask[:, :, None]).softmax(dim=2)),
        partial(_attend, weigh=lambda scores, mask: _filled(scores, ~mask[:, :, None], -torch.inf).softmax(dim=2)),
        partial(_attend, weigh=lambda scores, mask: scores.softmax(dim=2) * mask[:, :, None]),
        partial(
            _attend, weigh=lambda scores, mask: _filled(scores, ~mask[:, :, None]).softmax(dim=2) * mask[:, :, None]
        ),
    ),
    *_known(
        "mask after the softmax",
        "You set the weights of padding to zero after the softmax. It has had its share by then, and the rows no "
        "longer sum to 1. Hide it in the scores.",
        TWO_MODELS,
        partial(_attend, weigh=lambda scores, mask: scores.softmax(dim=2) * mask[:, None, :]),
        partial(
            _attend,
            weigh=lambda scores, mask: scores.softmax(dim=2) * mask[:, None, :] * mask[:, :, None],
        ),
    ),
    *_known(
        "the mask the wrong way round",
        "You hide the real tokens and look at the padding. The mask is True where a token is real.",
        PADDING,
        *(
            partial(
                _attend,
                weigh=lambda scores, mask, value=value: _filled(scores, mask[:, None, :], value).softmax(dim=2),
            )
            for value in (None, -torch.inf, -1e9)
        ),
        partial(_attend, weigh=lambda scores, mask: (scores - 1e9 * mask[:, None, :]).softmax(dim=2)),
    ),
    *_known(
        "padding scored zero",
        "You give padding the score 0. The softmax takes e to the 0, which is 1: padding still gets weight. Use the "
        "smallest number there is.",
        TWO_MODELS,
        partial(_attend, weigh=lambda scores, mask: (scores * mask[:, None, :]).softmax(dim=2)),
        partial(_attend, weigh=lambda scores, mask: (scores * mask[:, None, :]).softmax(dim=2) * mask[:, None, :]),
    ),
    *_known(
        "the mask added as it is",
        "You add the mask to the scores, so real tokens get 1 more and padding keeps its score. What is added to "
        "padding must be hugely negative.",
        TWO_MODELS,
        partial(_attend, weigh=lambda scores, mask: (scores + mask[:, None, :]).softmax(dim=2)),
    ),
    *_known(
        "no softmax",
        "The scores are used as weights. They can be negative and do not sum to 1.",
        TWO_MODELS,
        partial(_attend, weigh=lambda scores, mask: scores * mask[:, None, :]),
        partial(_attend, weigh=lambda scores, mask: scores),
    ),
    *_known(
        "weighted with the transposed weights",
        "You multiply with A transposed: each token gives where it should take. Row i of A belongs to what token i "
        "brings back.",
        LAYER,
        partial(_attend, bring=lambda weights, values, keys, features: weights.transpose(1, 2) @ values),
    ),
    *_known(
        "averaged over the tokens",
        "You average over the tokens. The layer gives each token an output of its own; averaging is the classifier's "
        "business.",
        LAYER,
        partial(_attend, bring=lambda weights, values, keys, features: (weights @ values).mean(dim=1)),
        partial(_attend, bring=lambda weights, values, keys, features: (weights @ values).sum(dim=1)),
    ),
    *_known(
        "scores returned instead of weights",
        "The output is right, but the second result holds the scores. Return the weights.",
        LAYER,
        partial(_attend, returned=lambda output, weights, scores: (output, scores)),
    ),
]


def _texts(sizes: tuple, seed: int, lengths: list[int], padding_first: bool = False) -> Case:
    mask = real_tokens(lengths).flip(1) if padding_first else real_tokens(lengths)
    return Case({"features": draw(*mask.shape, sizes[0], seed=seed), "mask": mask}, sizes)


def _asks_itself(features: Tensor, mask: Tensor, W_query: Callable, W_key: Callable) -> tuple[Tensor, Tensor]:
    queries, keys = W_query(features), W_key(features)
    scores = (queries * keys).sum(dim=2) / math.sqrt(keys.shape[2])  # (batch, tokens)
    weights = _filled(scores, ~mask).softmax(dim=1)
    return (weights[:, :, None] * features).sum(dim=1), weights


add_queries = Exercise(
    name="add_queries",
    cases=lambda: [_texts((6, 3), 0, [5, 3, 1]), _texts((4, 7), 1, [6, 6]), _texts((5, 2), 2, [4, 2, 3, 1], True)],
    reference=_self_attention,
    parts=("W_query", "W_key"),
    widths=lambda dim, key_dim: dict.fromkeys(("W_query", "W_key"), (dim, key_dim)),
    mistakes=[
        *_counted(_attend, PADDING),
        *ATTENTION_MISTAKES,
        *_known(
            "keys brought back",
            "You bring back the keys. They say what a token answers to; what is brought back here are the features, "
            "A F.",
            LAYER,
            partial(_attend, bring=lambda weights, values, keys, features: weights @ keys),
        ),
        *_known(
            "each token asks only itself",
            "Each query meets the key of its own token alone. Let it meet all keys of the text: one row of scores "
            "for each token, a matrix product.",
            EACH,
            _asks_itself,
        ),
    ],
    tried="three batches, with padding and without, k below and above d, in double precision, against PyTorch's "
    "scaled_dot_product_attention",
)


def _how_all_look(given: object, w: Tensor, key_dim: int) -> Tensor:
    """What counts in an answer to `one_question`: the weights that it gives to six tokens."""
    dim = len(w)
    shapes = {"W_query": (dim, key_dim), "b_query": (key_dim,), "W_key": (dim, key_dim)}
    if not isinstance(given, (tuple, list)) or len(given) != 3 or not all(isinstance(part, Tensor) for part in given):
        raise Wrong("wrong type", "Return three tensors in a tuple: W_query, b_query, W_key.")
    for (name, shape), part in zip(shapes.items(), given, strict=True):
        if part.shape != shape:
            raise Wrong(
                "wrong shape", f"{name} has shape {tuple(part.shape)} instead of {shape} (d = {dim}, k = {key_dim})."
            )
    W_query, b_query, W_key = (part.to(w.dtype) for part in given)
    features = draw(6, dim, seed=7).to(w.dtype)
    weights = ((features @ W_query + b_query) @ (features @ W_key).T / math.sqrt(key_dim)).softmax(dim=1)
    if W_query.any() and not torch.allclose(weights, weights[:1].expand_as(weights), atol=1e-6):
        sentence = "The query's matrix is not zero, and the tokens still ask different questions."
        raise Wrong("the matrix still asks", f"{sentence} Read again: {ONCE_MORE}.")
    return weights


def _rows(factor: Callable) -> Callable:
    """The rows of attention pooling with the map w, its scores multiplied by a factor of k."""

    def weights(w, key_dim):
        return (draw(6, len(w), seed=7).to(w.dtype) @ w * factor(key_dim)).softmax(dim=0).expand(6, 6)

    return weights


one_question = Exercise(
    name="one_question",
    cases=lambda: [
        Case({"w": draw(dim, seed=place), "key_dim": key_dim})
        for place, (dim, key_dim) in enumerate(((5, 5), (5, 3), (4, 1), (3, 8)))
    ],
    reference=_rows(lambda k: 1.0),
    view=_how_all_look,
    mistakes=[
        *_known(
            "the scale not undone",
            "The layer divides the scores by √k, so its weights are flatter than the pooling's. Make up for it.",
            ONCE_MORE,
            _rows(lambda k: 1 / math.sqrt(k)),
        ),
        *_known(
            "the scale undone twice",
            "The scores come out √k times too large: you made up for the division twice, or with k where its root is "
            "due.",
            ONCE_MORE,
            _rows(math.sqrt),
        ),
        *_known(
            "every column asks",
            "Each of the k columns alone gives the right scores; together they give k times as much. Share it out, or "
            "use one column.",
            ONCE_MORE,
            _rows(lambda k: k),
        ),
        *_known(
            "nobody asks",
            "All weights are equal: the query is zero, or the keys are. The question stands in the query's bias.",
            ONCE_MORE,
            _rows(lambda k: 0.0),
        ),
        *_known(
            "the sign turned round",
            "The order is upside down: what the pooling likes most gets the least weight. A sign is wrong.",
            ONCE_MORE,
            _rows(lambda k: -1.0),
        ),
    ],
    tried="k equal to d, below it, 1 and above it, on six random tokens: each row is the pooling's",
)

# --- lab 4 -------------------------------------------------------------------------------------------------------

VALUES = "Lab 4, “Where to look, and what to bring back”"
EARLY = "Lab 4, “One average, taken early”"
TWIST = "Lab 4, “The twist: a task that one query cannot solve”"
ALL_COST = "Lab 4, “What it costs”"


whole_layer = Exercise(
    name="whole_layer",
    cases=lambda: [
        _texts((6, 3, 4), 0, [5, 3, 1]),
        _texts((4, 7, 2), 1, [6, 6]),
        _texts((5, 2, 3), 2, [4, 2, 3, 1], True),
    ],
    reference=_self_attention,
    parts=("W_query", "W_key", "W_value"),
    widths=lambda dim, key_dim, value_dim: {
        "W_query": (dim, key_dim),
        "W_key": (dim, key_dim),
        "W_value": (dim, value_dim),
    },
    mistakes=[
        *_counted(_attend, PADDING),
        *ATTENTION_MISTAKES,
        *_known(
            "features brought back",
            "You bring back the features, as in lab 3. The layer brings back values: A (F V).",
            VALUES,
            partial(_attend, bring=lambda weights, values, keys, features: weights @ features),
        ),
        *_known(
            "keys brought back",
            "You bring back the keys. They say what a token answers to; the values say what it gives.",
            VALUES,
            partial(_attend, bring=lambda weights, values, keys, features: weights @ keys),
        ),
        *_known(
            "values not weighted",
            "The output holds the values as they are. Each token brings back a mixture of all values, in the "
            "proportions of its row of A.",
            VALUES,
            partial(_attend, bring=lambda weights, values, keys, features: values),
        ),
        *_known(
            "a residual connection",
            "You add what was there before to the output. Such a residual connection comes in lab 8; this layer has "
            "none.",
            VALUES,
            partial(_attend, bring=lambda weights, values, keys, features: weights @ values + values),
            partial(_attend, bring=lambda weights, values, keys, features: weights @ values + features),
            partial(_attend, bring=lambda weights, values, keys, features: features + weights @ values),
        ),
    ],
    tried="three batches, with padding and without, k and d_v below and above d, in double precision, against "
    "PyTorch's scaled_dot_product_attention",
)


class _Watch(TorchFunctionMode):
    """Notes the sizes of every tensor that PyTorch gives back, and what a square matrix is multiplied with."""

    def __init__(self):
        super().__init__()
        self.shapes, self.products = set(), set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name, given = function.__name__.strip("_"), [value for value in _flat(args) if isinstance(value, Tensor)]
        if name == "scaled_dot_product_attention":  # keeps the weights of these queries and keys to itself
            self.shapes.add((given[0].shape[-2], given[1].shape[-2]))
        if isinstance(result, Tensor):
            self.shapes.add(tuple(result.shape))
            if name in ("matmul", "bmm", "mm", "einsum", "baddbmm", "tensordot"):
                square = any(value.dim() > 1 and value.shape[-1] == value.shape[-2] for value in given)
                self.products |= {tuple(result.shape[-2:])} if square else set()
        return result


def _flat(values: Iterable) -> Iterator:
    """All that lies in a list, and in the lists in it."""
    for value in values:
        yield from _flat(value) if isinstance(value, (tuple, list)) else [value]


def _watch(answer: Callable, inputs: list, run: Callable) -> _Watch:
    """What an answer computes on its way."""
    watch = _Watch()

    def watched(*inputs):
        with watch:
            return answer(*inputs)

    if isinstance(run(watched, *inputs), Raised):
        raise Wrong("raises", "Your code is right on small inputs, and raises on a longer text.")
    return watch


def _mean_of_outputs(weights: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    means = []
    for rows, own, real in zip(weights, values, mask, strict=True):
        outputs = [sum(w * value for w, value in zip(row, own, strict=True)) for row in rows[real]]
        means.append(sum(outputs) / len(outputs))
    return torch.stack(means)


def _weights_and_values(value_dim: int, seed: int, lengths: list[int], padding_first: bool = False) -> Case:
    mask = real_tokens(lengths).flip(1) if padding_first else real_tokens(lengths)
    batch, tokens = mask.shape
    weights = _hide_keys(2 * draw(batch, tokens, tokens, seed=seed), mask)
    return Case({"weights": weights, "values": draw(batch, tokens, value_dim, seed=seed + 1), "mask": mask})


def _pooled(share: Callable, turn: Callable = lambda weights: weights) -> Callable:
    """One row for each text from its weights, as `share` of the mask says, times the values."""

    def pool(weights, values, mask):
        row = (share(mask).to(weights)[:, None] @ turn(weights)) @ values  # (batch, 1, value_dim)
        return row.squeeze(1)

    return pool


def _right_share(mask: Tensor) -> Tensor:
    return mask / mask.sum(dim=1, keepdim=True)


def _takes_the_short_way(answer: Callable, run: Callable) -> None:
    inputs = list(_weights_and_values(7, 5, [11, 8]).inputs.values())
    watch = _watch(answer, inputs, run)
    if watch.products & {(11, 7), (7, 11)} or any(shape[-3:] == (11, 11, 7) for shape in watch.shapes):
        raise Wrong(
            "the average taken late",
            "The numbers are right. But you form the outputs of all tokens, an n x n matrix times the values, and "
            f"average them afterwards. Average the rows of A first: one row times the values is enough. Read again: "
            f"{EARLY}.",
        )


average_early = Exercise(
    name="average_early",
    cases=lambda: [
        _weights_and_values(3, 0, [5, 3, 1]),
        _weights_and_values(4, 10, [4, 4]),
        _weights_and_values(6, 20, [6, 2], True),
    ],
    reference=_mean_of_outputs,
    also=_takes_the_short_way,
    mistakes=[
        *_counted(_mean_of_outputs, PADDING),
        *_known(
            "rows of padding counted",
            "You average over all rows. A padded token asks as well, and nobody may count its answer.",
            VALUES,
            _pooled(lambda mask: torch.ones_like(mask) / mask.shape[1]),
        ),
        *_known(
            "divided by all places",
            "Rows of padding are out of the sum, but you divide by the length of the row and not by the number of real "
            "tokens.",
            EARLY,
            _pooled(lambda mask: mask / mask.shape[1]),
        ),
        *_known(
            "padding left in the sum",
            "You divide by the number of real tokens, but the rows of padding are still in the sum.",
            EARLY,
            _pooled(lambda mask: torch.ones_like(mask) / mask.sum(dim=1, keepdim=True)),
        ),
        *_known(
            "not divided",
            "You sum the rows of A. The weights of the text then sum to its number of tokens; divide.",
            EARLY,
            _pooled(lambda mask: mask.double()),
            _pooled(lambda mask: torch.ones_like(mask)),
        ),
        *_known(
            "one count for all texts",
            "You divide by the real tokens of the whole batch. Each text has a count of its own.",
            EARLY,
            _pooled(lambda mask: mask / mask.sum()),
        ),
        *_known(
            "row means instead of column means",
            "This is the mean of the values. You left A out, or took the mean of each row over its columns, which is "
            "the same: every row sums to 1. Column means are the average *of* the rows, how much each token is "
            "looked at.",
            EARLY,
            lambda weights, values, mask: values.mean(dim=1),
            lambda weights, values, mask: (_right_share(mask)[:, None] @ values).squeeze(1),
            lambda weights, values, mask: values.sum(dim=1) / mask.sum(dim=1, keepdim=True),
        ),
        *_known(
            "one row read",
            "You read one row of A. The mean takes all rows of real tokens.",
            EARLY,
            lambda weights, values, mask: (weights[:, :1] @ values).squeeze(1),
            lambda weights, values, mask: (weights[:, -1:] @ values).squeeze(1),
        ),
        *_known(
            "the mask the wrong way round",
            "You average the rows of padding. The mask is True where a token is real.",
            PADDING,
            _pooled(lambda mask: ~mask / (~mask).sum(dim=1, keepdim=True)),
            _pooled(lambda mask: ~mask / (~mask).sum(dim=1, keepdim=True).clamp(min=1)),
        ),
    ],
    tried="three batches of weights and values, with padding and without, in double precision, against the mean of all "
    "outputs; and no product of all rows of A with the values was seen",
)


def _row_of_the_mark(
    features: Tensor, mask: Tensor, place: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor
) -> Tensor:
    """The whole layer by PyTorch, then one row of it."""
    maps = ((lambda features, W=W: features @ W) for W in (W_query, W_key, W_value))
    output, _ = _self_attention(features, mask, *maps)
    return torch.stack([rows[at] for rows, at in zip(output, place.tolist(), strict=True)])


def _marked(
    dim: int, key_dim: int, value_dim: int, seed: int, lengths: list[int], place: list[int], padding_first: bool = False
) -> Case:
    mask = real_tokens(lengths).flip(1) if padding_first else real_tokens(lengths)
    inputs = {"features": draw(*mask.shape, dim, seed=seed), "mask": mask, "place": torch.tensor(place)}
    for number, (name, width) in enumerate((("W_query", key_dim), ("W_key", key_dim), ("W_value", value_dim)), 1):
        inputs[name] = draw(dim, width, seed=seed + number)
    return Case(inputs)


def _read(
    features: Tensor,
    mask: Tensor,
    place: Tensor,
    W_query: Tensor,
    W_key: Tensor,
    W_value: Tensor,
    *,
    pick: Callable = lambda rows, place, mask: rows[torch.arange(len(rows)), place],
    **changes,
) -> Tensor:
    """The whole layer as a reader writes it, one step exchanged, and then what `pick` takes of its outputs."""
    maps = ((lambda features, W=W: features @ W) for W in (W_query, W_key, W_value))
    output, _ = _attend(features, mask, *maps, **changes)
    return pick(output, place, mask)


def _reads_one_row(answer: Callable, run: Callable) -> None:
    inputs = list(_marked(5, 3, 4, 5, [11, 8], [2, 6]).inputs.values())
    watch = _watch(answer, inputs, run)
    if any(shape[-2:] == (11, 11) for shape in watch.shapes):
        raise Wrong(
            "all rows computed",
            "The numbers are right. But a tensor of tokens x tokens is formed: the scores of all tokens, as a rule, of "
            "which all rows but one are thrown away. Make one query, of the mark alone; then the cost grows with n. "
            f"Read again: {ALL_COST}.",
        )


marks_row = Exercise(
    name="marks_row",
    cases=lambda: [
        _marked(6, 3, 4, 0, [5, 3, 2], [4, 0, 1]),
        _marked(4, 7, 2, 10, [6, 6], [3, 5]),
        _marked(5, 2, 3, 20, [4, 2, 3, 1], [1, 2, 2, 3], True),
    ],
    reference=_row_of_the_mark,
    also=_reads_one_row,
    mistakes=[
        *_counted(_read, PADDING),
        *_known(
            "the first row read",
            "You read the row of the first token. The mark stands elsewhere in each text: `place` says where.",
            TWIST,
            partial(_read, pick=lambda rows, place, mask: rows[:, 0]),
        ),
        *_known(
            "the last row read",
            "You read the row of the last token. The mark stands elsewhere in each text: `place` says where.",
            TWIST,
            partial(_read, pick=lambda rows, place, mask: rows[:, -1]),
        ),
        *_known(
            "one place for all texts",
            "You read the same place in every text. The mark has a place of its own in each.",
            TWIST,
            partial(_read, pick=lambda rows, place, mask: rows[:, place[0]]),
        ),
        *_known(
            "every place in every text",
            "`features[:, place]` takes all places from each text, so the result has an axis too many. Take one place "
            "from each: `features[torch.arange(batch), place]`.",
            TWIST,
            partial(_read, pick=lambda rows, place, mask: rows[:, place]),
        ),
        *_known(
            "all rows averaged",
            "You average the outputs of all tokens. That drowns the one row that has a reason to ask.",
            TWIST,
            partial(_read, pick=lambda rows, place, mask: (_right_share(mask).to(rows)[:, None] @ rows).squeeze(1)),
            partial(_read, pick=lambda rows, place, mask: rows.mean(dim=1)),
        ),
        *_known(
            "the mark's column read",
            "The mark is asked instead of asking: its key meets the queries of all tokens. Take the mark's *query* and "
            "all keys.",
            TWIST,
            partial(_read, multiply=lambda queries, keys: keys @ queries.transpose(1, 2)),
        ),
        *_known(
            "the weights of the mark's column",
            "You read a column of A. A column says how much each token looks at the mark; the mark's row, where it "
            "looks.",
            TWIST,
            partial(_read, bring=lambda weights, values, keys, features: weights.transpose(1, 2) @ values),
        ),
        *_known(
            "the mark's own value",
            "This is the value of the mark itself. What it brings back is a mixture of all values.",
            TWIST,
            partial(_read, bring=lambda weights, values, keys, features: values),
        ),
        *_known(
            "no scale",
            "The scores are not divided by √k.",
            ROOT,
            partial(_read, divisor=lambda features, keys: 1.0),
        ),
        *_known(
            "d instead of k in the scale",
            "You divide by √d. A score sums k products, so it is the width of the keys that counts.",
            ROOT,
            partial(_read, divisor=lambda features, keys: math.sqrt(features.shape[2])),
        ),
        *_known(
            "no mask",
            "The mask is not used, so the mark looks at padding.",
            VALUES,
            partial(_read, weigh=lambda scores, mask: scores.softmax(dim=2)),
        ),
        *_known(
            "mask after the softmax",
            "You set the weights of padding to zero after the softmax. The row no longer sums to 1. Hide it in the "
            "scores.",
            TWO_MODELS,
            partial(_read, weigh=lambda scores, mask: scores.softmax(dim=2) * mask[:, None, :]),
        ),
        *_known(
            "padding scored zero",
            "You give padding the score 0. The softmax takes e to the 0, which is 1: padding still gets weight.",
            TWO_MODELS,
            partial(_read, weigh=lambda scores, mask: (scores * mask[:, None, :]).softmax(dim=2)),
        ),
        *_known(
            "features brought back",
            "You bring back the features. The layer brings back values: A (F V).",
            VALUES,
            partial(_read, bring=lambda weights, values, keys, features: weights @ features),
        ),
    ],
    tried="three batches with the mark at its own place in each text, in double precision, against the whole layer of "
    "PyTorch; and no n x n matrix was formed",
)

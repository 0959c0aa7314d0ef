"""The checks of labs 5 to 9: a walk by hand, heads, blocks, evidence.

References are loops or PyTorch's and SciPy's own functions. A mistake that can hide behind sizes that agree has a trial
in which they agree, and it stands first: there the mistake raises no error.
"""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy import stats
from torch import Tensor, nn

from .harness import Case, Exercise, Mistake, Raised, Wrong, draw, moved_to_the_front, real_tokens

# --- Lab 5 -------------------------------------------------------------------------------------------------------

_SCALE = "Lab 5, “The scale”"
_ALL_WORDS = "Lab 5, “All words at once”"
_CONTEXT = "Lab 5, “The context vector”"
_BATCH = "Lab 5, “A batch, and a bug”"


def _softmax(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


def _context_by_loops(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The context vector of one query, number by number: (d_k,), (tokens, d_k) and (tokens, d_v) to (d_v,)."""
    powers = [math.exp(sum((query * key).tolist()) / len(query) ** 0.5) for key in keys]
    return sum(power / sum(powers) * value for power, value in zip(powers, values, strict=True))


@dataclass(frozen=True)
class _Attention:
    """Attention in steps, of which a mistake does one differently; d_in, d_k and d_v are known to the scale."""

    divisor: Any = staticmethod(lambda d_in, d_k, d_v: d_k**0.5)
    score: Any = staticmethod(lambda queries, keys: queries @ keys.transpose(-2, -1))
    weigh: Any = staticmethod(_softmax)
    bring: Any = staticmethod(torch.matmul)

    def __call__(self, x: Tensor, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        divisor = self.divisor(x.shape[-1], keys.shape[-1], values.shape[-1])
        return self.bring(self.weigh(self.score(queries, keys) / divisor), values)


# What goes wrong in the same way for one word and for all: name, sentence, where to read, the step that differs.
_WRONG_STEPS = [
    (
        "no scale",
        "The scores are not scaled. Divide them by the square root of d_k, the width of the keys.",
        _SCALE,
        {"divisor": lambda d_in, d_k, d_v: 1.0},
    ),
    (
        "scale without the root",
        "The scores are divided by d_k itself. Divide by its square root.",
        _SCALE,
        {"divisor": lambda d_in, d_k, d_v: d_k},
    ),
    (
        "scale of the features",
        "The scale uses d_in, the width of the features. A score adds up d_k products, so d_k goes under the root.",
        _SCALE,
        {"divisor": lambda d_in, d_k, d_v: d_in**0.5},
    ),
    (
        "scale of the values",
        "The scale uses d_v, the width of the values. Values take no part in a score; d_k goes under the root.",
        _SCALE,
        {"divisor": lambda d_in, d_k, d_v: d_v**0.5},
    ),
    (
        "scale multiplied",
        "The scores are multiplied by the square root of d_k. Divide them by it.",
        _SCALE,
        {"divisor": lambda d_in, d_k, d_v: d_k**-0.5},
    ),
    (
        "no softmax",
        "The scores mix the values as they are. The softmax has to make shares of them first: positive, of sum 1.",
        _SCALE,
        {"weigh": lambda scores: scores},
    ),
    (
        "weights in place of the context",
        "These are the attention weights. One step is missing: use them to mix the values.",
        _CONTEXT,
        {"bring": lambda weights, values: weights},
    ),
]


def _one_word(steps: _Attention):
    """The mistaken answer of 5.1 that takes these steps."""

    def gives(place, inputs, W_query, W_key, W_value):
        query = inputs[place : place + 1] @ W_query  # (1, d_k)
        return steps(inputs, query, inputs @ W_key, inputs @ W_value)[0]  # (d_v,)

    return gives


def _word_case(place, tokens, d_in, d_k, d_v):
    return Case(
        {
            "place": place,
            "inputs": draw(tokens, d_in, seed=1),
            "W_query": draw(d_in, d_k, seed=2),
            "W_key": draw(d_in, d_k, seed=3),
            "W_value": draw(d_in, d_v, seed=4),
        }
    )


context_of_one_word = Exercise(
    name="context_of_one_word",
    cases=lambda: [
        _word_case(2, 4, 4, 4, 4),
        _word_case(3, 6, 3, 2, 5),
        _word_case(0, 5, 4, 3, 2),
        _word_case(0, 1, 2, 3, 4),
    ],
    reference=lambda place, inputs, W_query, W_key, W_value: _context_by_loops(
        inputs[place] @ W_query, inputs @ W_key, inputs @ W_value
    ),
    mistakes=[
        *(Mistake(name, text, where, _one_word(_Attention(**step))) for name, text, where, step in _WRONG_STEPS),
        Mistake(
            "queries and keys swapped",
            "The key of the word meets the queries of all words. The word asks, so its query meets all keys.",
            "Lab 5, “Scores: one question, six labels”",
            lambda place, inputs, W_query, W_key, W_value: _one_word(_Attention())(
                place, inputs, W_key, W_query, W_value
            ),
        ),
        Mistake(
            "keys not transposed",
            "The query meets the keys as they lie. Each key must become a column.",
            "Lab 5, “Scores: one question, six labels”",
            lambda place, inputs, W_query, W_key, W_value: (
                _softmax((inputs[place] @ W_query) @ (inputs @ W_key) / W_key.shape[1] ** 0.5) @ (inputs @ W_value)
            ),
        ),
        Mistake(
            "features in place of values",
            "The weights mix the features themselves. What a word hands over is its value, features times W_value.",
            _CONTEXT,
            lambda place, inputs, W_query, W_key, W_value: _one_word(_Attention())(
                place, inputs, W_query, W_key, torch.eye(inputs.shape[1], dtype=inputs.dtype)
            ),
        ),
        Mistake(
            "always the same word",
            "The answer is that of word 0, whatever `place` says. The query belongs to the word at `place`.",
            "Lab 5, “One word: its query, key and value”",
            lambda place, inputs, **matrices: _one_word(_Attention())(0, inputs, **matrices),
        ),
        Mistake(
            "all words in place of one",
            "These are the context vectors of all words. The exercise asks for that of the word at `place`.",
            _CONTEXT,
            lambda place, inputs, W_query, W_key, W_value: _Attention()(
                inputs, inputs @ W_query, inputs @ W_key, inputs @ W_value
            ),
        ),
    ],
    tried="four sentences, of one word to six, with d_in, d_k and d_v equal and different",
)


def _weight_of(layer: Any, W: Tensor) -> Tensor:
    """What 5.2 compares: the layer's own matrix, once it is a layer that can learn by itself."""
    where = "Read again: Lab 5, “Two classes, one function”."
    if not isinstance(layer, nn.Linear):
        raise Wrong("no nn.Linear", f"What comes back is no nn.Linear but {type(layer).__name__}. Make one. {where}")
    if layer.bias is not None:
        sentence = "The layer has a bias, and x @ W has none: nn.Linear makes one unless you say bias=False."
        raise Wrong("a bias is left in", f"{sentence} {where}")
    if not any(layer.weight is parameter for parameter in layer.parameters()):
        sentence = "The layer's weight is a plain tensor: no optimizer would find it. Wrap it in nn.Parameter(...)."
        raise Wrong("weights not registered", f"{sentence} {where}")
    if not layer.weight.requires_grad:
        sentence = (
            "The layer's weight cannot learn: its requires_grad is False. An nn.Parameter learns unless told not to."
        )
        raise Wrong("cannot learn", f"{sentence} {where}")
    if layer.weight.untyped_storage().data_ptr() == W.untyped_storage().data_ptr():
        sentence = "The layer's weight lies in the memory of W, so training the layer would change W. Copy the numbers."
        raise Wrong("memory shared", f"{sentence} {where}")
    return layer.weight.detach()


def _copied(W: Tensor) -> Tensor:
    """The matrix copied as it lies into a layer of the right sizes; raises unless the two agree."""
    return W.new_empty(W.T.shape).copy_(W)


def _copied_outside_no_grad(W: Tensor) -> Tensor:
    with torch.enable_grad():
        return nn.Parameter(W.T.clone()).copy_(W.T)


_LIES = "nn.Linear computes x @ weight.T, so the transpose of W goes in."

as_layer = Exercise(
    name="as_layer",
    cases=lambda: [Case({"W": draw(4, 4)}), Case({"W": draw(3, 2)}), Case({"W": draw(2, 5)})],
    reference=lambda W: torch.stack([W[:, column] for column in range(W.shape[1])]),
    view=_weight_of,
    mistakes=[
        Mistake("not transposed", f"W went in as it is. {_LIES}", "Lab 5, “Two classes, one function”", _copied),
        Mistake("not transposed", f"W went in as it is. {_LIES}", "Lab 5, “Two classes, one function”", lambda W: W),
        Mistake(
            "copied outside no_grad",
            "PyTorch refuses to write into a parameter while it follows the gradient. Do it inside torch.no_grad().",
            "Lab 5, “Two classes, one function”",
            _copied_outside_no_grad,
        ),
        Mistake(
            "reshaped in place of transposed",
            f"The shape is right and the numbers stand in the wrong places: a reshape does not turn a matrix. {_LIES}",
            "Lab 5, “Two classes, one function”",
            lambda W: W.reshape(W.T.shape),
        ),
    ],
    tried="matrices that are square, upright and lying",
)


def _all_words(steps: _Attention, swapped=False):
    """The mistaken answer of 5.3 that takes these steps."""

    def gives(x, W_query, W_key, W_value):
        queries, keys = W_query(x), W_key(x)
        return steps(x, keys, queries, W_value(x)) if swapped else steps(x, queries, keys, W_value(x))

    return gives


def _sentences_by_loops(x, W_query, W_key, W_value):
    if x.dim() == 3:
        return torch.stack([_sentences_by_loops(sentence, W_query, W_key, W_value) for sentence in x])
    return torch.stack([_context_by_loops(query, W_key(x), W_value(x)) for query in W_query(x)])


def _sentences_together(x, W_query, W_key, W_value):
    together = x.reshape(-1, x.shape[-1])  # (batch * tokens, d_in)
    context = _Attention()(together, W_query(together), W_key(together), W_value(together))
    return context.reshape(*x.shape[:-1], -1)


def _unpacked(x: Tensor) -> Tensor:
    _batch, _tokens, _columns = x.shape  # raises for a single sentence
    return x


_BATCH_STEPS = [
    (
        "keys not transposed",
        "The queries meet the keys as they lie. Each key must become a column: swap the last two axes of the keys.",
        _ALL_WORDS,
        {"score": torch.matmul},
    ),
    (
        "`.T` on a batch",
        "The keys are turned with `.T`, or with axes 0 and 2 swapped. On a batch that puts the sentences where the "
        "tokens should be; when the sizes agree it raises no error. Swap the last two axes only.",
        _BATCH,
        {"score": lambda queries, keys: queries @ keys.permute(*reversed(range(keys.dim())))},
    ),
    (
        "`.T` on a batch",
        "The keys are turned by swapping axes 0 and 2, which does on a batch what `.T` does. Swap the last two axes "
        "only.",
        _BATCH,
        {"score": lambda queries, keys: queries @ keys.transpose(0, 2)},
    ),
    (
        "batch and tokens transposed",
        "Axes 0 and 1 of the keys change places. On a batch these are sentences and tokens. Swap the last two: (-2, "
        "-1).",
        _BATCH,
        {"score": lambda queries, keys: queries @ keys.transpose(0, 1)},
    ),
    (
        "only for a batch",
        "Something here takes three axes only, so a single sentence breaks it: an axis counted from the front, as in "
        "transpose(1, 2), softmax(dim=2) or size(2); bmm; or a shape taken apart in three. Count axes from the end, "
        "and multiply with `@`.",
        _BATCH,
        {"score": lambda queries, keys: queries @ keys.transpose(1, 2)},
        {"score": lambda queries, keys: queries @ keys.permute(0, 2, 1)},
        {"score": lambda queries, keys: torch.bmm(queries, keys.transpose(-2, -1))},
        {"score": lambda queries, keys: torch.einsum("bik,bjk->bij", queries, keys)},
        {"score": lambda queries, keys: _unpacked(queries) @ keys.transpose(-2, -1)},
        {"weigh": lambda scores: scores.softmax(dim=2)},
        {"bring": lambda weights, values: torch.bmm(weights, values)},
    ),
    (
        "softmax over the wrong axis",
        "The columns of the weights add up to 1, and the rows should: a row holds the shares of the word that asks. "
        "dim=-1.",
        _ALL_WORDS,
        {"weigh": lambda scores: scores.softmax(dim=-2)},
    ),
    (
        "softmax over the wrong axis",
        "The softmax runs along axis 1. That is right for one sentence; on a batch axis 1 are the words that ask. "
        "dim=-1.",
        _ALL_WORDS,
        {"weigh": lambda scores: scores.softmax(dim=1)},
    ),
    (
        "softmax over the batch",
        "The softmax runs along axis 0. On a batch these are the sentences, which then share weights. dim=-1.",
        _BATCH,
        {"weigh": lambda scores: scores.softmax(dim=0)},
    ),
    (
        "softmax over all scores",
        "The softmax runs over the whole score matrix, so all weights together make 1. Each row should: dim=-1.",
        _ALL_WORDS,
        {"weigh": lambda scores: scores.flatten(-2).softmax(dim=-1).reshape(scores.shape)},
    ),
    (
        "values weighted with the transposed weights",
        "The values are mixed with the columns of the weights. The row of a word says what this word takes.",
        _CONTEXT,
        {"bring": lambda weights, values: weights.transpose(-2, -1) @ values},
    ),
]


def _sizes_case(shape, d_k, d_v):
    return Case({"x": draw(*shape)}, sizes=(shape[-1], d_k, d_v))


batched_attention = Exercise(
    name="batched_attention",
    cases=lambda: [
        _sizes_case((4, 4, 4), 4, 4),
        _sizes_case((5, 3), 2, 4),
        _sizes_case((2, 6, 3), 2, 4),
        _sizes_case((3, 4, 6), 5, 2),
    ],
    parts=("W_query", "W_key", "W_value"),
    widths=lambda d_in, d_k, d_v: {"W_query": (d_in, d_k), "W_key": (d_in, d_k), "W_value": (d_in, d_v)},
    reference=_sentences_by_loops,
    mistakes=[
        *(
            Mistake(name, text, where, _all_words(_Attention(**step)))
            for name, text, where, *ways in _WRONG_STEPS + _BATCH_STEPS
            for step in ways
        ),
        Mistake(
            "queries and keys swapped",
            "Keys ask and queries answer. In row i of the scores the query of word i meets all keys: queries @ keysᵀ.",
            _ALL_WORDS,
            _all_words(_Attention(), swapped=True),
        ),
        Mistake(
            "features in place of values",
            "The weights mix the features themselves. What a word hands over is its value, features times W_value.",
            _CONTEXT,
            lambda x, W_query, W_key, W_value: torch.matmul(
                _softmax(W_query(x) @ W_key(x).transpose(-2, -1) / W_key(x).shape[-1] ** 0.5), x
            ),
        ),
        Mistake(
            "sentences read each other",
            "All sentences of the batch were put into one long one, so words look into other sentences.",
            "Lab 5, “The bug that does not crash”",
            _sentences_together,
        ),
    ],
    tried="one sentence, two batches of sizes that differ, and a batch of four sentences of four words with four "
    "features",
)

# --- Lab 6 -------------------------------------------------------------------------------------------------------


def _by_pairs(rows: list, columns: list) -> Tensor:
    """The dot product of each pair, (rows, columns)."""
    return torch.stack([torch.stack([(row * column).sum() for column in columns]) for row in rows])


def _row_case(asking, tokens, dim, d_k):
    names = ("embedded", "W_query", "W_key")
    shapes = ((tokens, dim), (d_k, dim), (d_k, dim))
    drawn = {name: draw(*shape, seed=seed) for seed, (name, shape) in enumerate(zip(names, shapes, strict=True))}
    return Case({"asking": asking} | drawn)


_TURNED = "A weight matrix acts from the left here, W @ x; where the words stand as rows it is x @ W.T."

scores_of_one_word = Exercise(
    name="scores_of_one_word",
    cases=lambda: [_row_case(2, 4, 4, 4), _row_case(1, 5, 5, 3), _row_case(3, 6, 2, 4)],
    reference=lambda asking, embedded, W_query, W_key: _by_pairs(
        [W_query @ embedded[asking]], [W_key @ x for x in embedded]
    )[0],
    mistakes=[
        *(
            Mistake(
                "matrix not transposed",
                f"{which} not transposed. When d_k equals embedding_dim that raises no error. {_TURNED}",
                "Lab 6, “Query, key and value of one word”",
                gives,
            )
            for which, gives in [
                (
                    "Both matrices are",
                    lambda asking, embedded, W_query, W_key: (embedded[asking] @ W_query) @ (embedded @ W_key).T,
                ),
                (
                    "W_query is",
                    lambda asking, embedded, W_query, W_key: (embedded @ W_key.T) @ (embedded[asking] @ W_query),
                ),
                (
                    "W_key is",
                    lambda asking, embedded, W_query, W_key: (embedded @ W_key) @ (W_query @ embedded[asking]),
                ),
            ]
        ),
        Mistake(
            "queries and keys swapped",
            "This is the word's key against all queries, a column of the score matrix. The word that asks brings its "
            "query.",
            "Lab 6, “The whole score matrix”",
            lambda asking, embedded, W_query, W_key: (embedded @ W_query.T) @ (W_key @ embedded[asking]),
        ),
        Mistake(
            "keys not transposed",
            "The query meets the keys as they lie. Each key must become a column.",
            "Lab 6, “A row of scores”",
            lambda asking, embedded, W_query, W_key: (W_query @ embedded[asking]) @ (embedded @ W_key.T),
        ),
        Mistake(
            "scaled",
            "These scores are divided by the square root of d_k. That is the next step; the exercise asks for the "
            "scores.",
            "Lab 6, “Scaled and through the softmax”",
            lambda asking, embedded, W_query, W_key: (
                (embedded @ W_key.T) @ (W_query @ embedded[asking]) / len(W_key) ** 0.5
            ),
        ),
        *(
            Mistake(
                "softmax applied",
                "These are weights: positive, of sum 1. The exercise asks for the scores before the softmax.",
                "Lab 6, “Scaled and through the softmax”",
                gives,
            )
            for gives in [
                lambda asking, embedded, W_query, W_key: _softmax(
                    (embedded @ W_key.T) @ (W_query @ embedded[asking]) / len(W_key) ** 0.5
                ),
                lambda asking, embedded, W_query, W_key: _softmax((embedded @ W_key.T) @ (W_query @ embedded[asking])),
            ]
        ),
        Mistake(
            "no projection",
            "These are dot products of the features themselves. The word's query meets keys, and W_query and W_key "
            "make them.",
            "Lab 6, “One score is one dot product”",
            lambda asking, embedded, W_query, W_key: embedded @ embedded[asking],
        ),
        Mistake(
            "always the same word",
            "This is the row of word 0, whatever `asking` says.",
            "Lab 6, “A row of scores”",
            lambda asking, embedded, W_query, W_key: (embedded @ W_key.T) @ (W_query @ embedded[0]),
        ),
        Mistake(
            "all rows in place of one",
            "This is the whole score matrix. The exercise asks for the row of the word `asking`.",
            "Lab 6, “A row of scores”",
            lambda asking, embedded, W_query, W_key: (embedded @ W_query.T) @ (embedded @ W_key.T).T,
        ),
    ],
    tried="three sentences, with d_k smaller than embedding_dim, larger, and equal to it",
)


def _filter_case(tokens, d_v):
    return Case({"weights": _softmax(draw(tokens, tokens, seed=1)), "values": draw(tokens, d_v, seed=2)})


_FILTER = "Lab 6, “The filter applied to the values”"

all_filters = Exercise(
    name="all_filters",
    cases=lambda: [_filter_case(4, 4), _filter_case(5, 3), _filter_case(2, 6)],
    reference=lambda weights, values: torch.stack(
        [torch.stack([weight * value for weight, value in zip(row, values, strict=True)]) for row in weights]
    ),
    mistakes=[
        Mistake(
            "values of the word that asks",
            "At [i, j] stands the value of word i, the word that asks. The value that passes is that of word j.",
            _FILTER,
            lambda weights, values: weights[:, :, None] * values[:, None, :],
        ),
        Mistake(
            "weights transposed",
            "At [i, j] the value of word j is multiplied by weights[j, i]. The row of word i says what word i takes.",
            _FILTER,
            lambda weights, values: weights.T[:, :, None] * values[None],
        ),
        Mistake(
            "axes of the result swapped",
            "Everything is there, but the words that are asked stand on the first axis and those that ask on the "
            "second.",
            _FILTER,
            lambda weights, values: weights.T[:, :, None] * values[:, None],
        ),
        Mistake(
            "already summed",
            "These are the context vectors: the filtered values are already added up. Leave out the sum.",
            "Lab 6, “All context vectors”",
            lambda weights, values: weights @ values,
        ),
        Mistake(
            "one word only",
            "This is the filter of word 0. The exercise asks for all words, on a first axis of their own.",
            _FILTER,
            lambda weights, values: weights[0][:, None] * values,
        ),
        Mistake(
            "softmax once more",
            "The weights went through the softmax again. They are weights already.",
            "Lab 6, “Scaled and through the softmax”",
            lambda weights, values: _softmax(weights)[:, :, None] * values,
        ),
        Mistake(
            "not weighted",
            "Every word receives the plain values. Multiply each value by its weight.",
            _FILTER,
            lambda weights, values: values.expand(len(weights), *values.shape),
        ),
    ],
    tried="three sentences, one of them with as many values as words",
)


def _looked_at(matrices: Any, num_words: int) -> Tensor:
    """What 6.3 compares: the word that each word scores highest, (num_words,); it must lead by 1."""
    if not isinstance(matrices, (tuple, list)) or len(matrices) != 2:
        raise Wrong("wrong type", "Return two matrices, `return W_query, W_key`.")
    matrices = [torch.as_tensor(matrix) if isinstance(matrix, np.ndarray) else matrix for matrix in matrices]
    for name, matrix in zip(("W_query", "W_key"), matrices, strict=True):
        if not isinstance(matrix, Tensor) or matrix.dim() != 2 or matrix.shape[1] != num_words:
            shape = f"shape {tuple(matrix.shape)}" if isinstance(matrix, Tensor) else f"type {type(matrix).__name__}"
            raise Wrong("wrong shape", f"{name} has {shape} for {num_words} words; it must be (d_k, {num_words}).")
    queries, keys = (matrix.detach().double().T for matrix in matrices)  # (num_words, d_k): column i, turned into a row
    if queries.shape[1] != keys.shape[1]:
        sentence = (
            f"Queries have the width {queries.shape[1]} and keys {keys.shape[1]}; a dot product needs equal ones."
        )
        raise Wrong("widths differ", sentence)
    scores = queries @ keys.T  # (num_words, num_words)
    if scores.isnan().any():
        sentence = "Some scores are NaN: an infinite entry of one matrix meets a zero of the other. Use finite numbers."
        raise Wrong("not a number", sentence)
    best, second = scores.topk(2, dim=1).values.unbind(1)
    behind = best - second < 1 - 1e-6
    where = "Read again: Lab 6, “The whole score matrix”."
    if behind.all() and (best - second).max() < 1e-6:
        raise Wrong(
            "no word leads", f"Every word scores two words, or more, alike, so it looks at none of them. {where}"
        )
    if behind.tolist() == [False] * (num_words - 1) + [True]:
        sentence = "The last word has no clear favourite. It looks at the first word: the sentence is closed to a ring."
        raise Wrong("last word forgotten", f"{sentence} {where}")
    if behind.any():
        word = int(behind.nonzero()[0])
        sentence = (
            f"Of {num_words} words, word {word} scores its favourite by less than 1 above the next. Make it stand out."
        )
        raise Wrong("lead too small", f"{sentence} {where}")
    return scores.argmax(dim=1)


_RING = "Lab 6, “The whole score matrix”"

look_at_the_next_word = Exercise(
    name="look_at_the_next_word",
    cases=lambda: [Case({"num_words": n}) for n in (5, 3, 8)],
    reference=lambda num_words: torch.tensor([*range(1, num_words), 0]),
    view=_looked_at,
    mistakes=[
        Mistake(
            "looks at the word before",
            "Each word looks at the word before it. Roll the other way, or swap the two matrices; and in this page's "
            "convention the key of word j is column j of W_key.",
            _RING,
            lambda num_words: torch.arange(num_words).roll(1),
        ),
        Mistake(
            "looks at itself",
            "Each word looks at itself: query and key of a word are equal. The key of the next word must fit the "
            "query.",
            _RING,
            lambda num_words: torch.arange(num_words),
        ),
        Mistake(
            "the last word looks elsewhere",
            "All words look at the next one, but the last looks at itself. It should look at the first.",
            _RING,
            lambda num_words: torch.tensor([*range(1, num_words), num_words - 1]),
        ),
        Mistake(
            "one word too far",
            "Each word looks at the word after the next. One step is enough.",
            _RING,
            lambda num_words: torch.arange(num_words).roll(-2),
        ),
        Mistake(
            "all look at one word",
            "All words look at the first word. The word to look at depends on the one that asks.",
            _RING,
            lambda num_words: torch.zeros(num_words, dtype=torch.long),
        ),
    ],
    tried="sentences of five, three and eight words",
)

# --- Lab 7 -------------------------------------------------------------------------------------------------------

_CUT = "Lab 7, “Cut the features into heads”"
_LAYER = "Lab 7, “The layer”"
_HIDES = "Lab 7, “What a mask hides”"


def _cut(projected: Tensor, num_heads: int) -> Tensor:
    return projected.unflatten(2, (num_heads, -1)).transpose(1, 2)


def _cut_by_loops(projected: Tensor, num_heads: int) -> Tensor:
    """Slice after slice of the features, (batch, num_heads, tokens, head_dim)."""
    width = projected.shape[2] // num_heads
    return torch.stack([projected[:, :, head * width : (head + 1) * width] for head in range(num_heads)], dim=1)


def _reshaped(projected: Tensor, num_heads: int) -> Tensor:
    batch, tokens, _ = projected.shape
    return projected.reshape(batch, num_heads, tokens, -1)


def _dealt_out(projected: Tensor, num_heads: int) -> Tensor:
    return projected.unflatten(2, (-1, num_heads)).permute(0, 3, 1, 2)


_PLAIN = "A plain reshape has the right shape and the wrong content: it cuts across the tokens."
_IN_TURN = (
    "The features are dealt out in turn: neighbours go to different heads. Head 0 gets the first head_dim features."
)

cut_into_heads = Exercise(
    name="cut_into_heads",
    cases=lambda: [
        Case({"projected": draw(3, 3, 9), "num_heads": 3}),
        Case({"projected": draw(2, 5, 6), "num_heads": 2}),
        Case({"projected": draw(1, 4, 8), "num_heads": 4}),
        Case({"projected": draw(2, 3, 5), "num_heads": 1}),
    ],
    reference=_cut_by_loops,
    mistakes=[
        Mistake("plain reshape", f"{_PLAIN} Cut the last axis first, then swap.", _CUT, _reshaped),
        Mistake("features dealt out in turn", _IN_TURN, _CUT, _dealt_out),
        Mistake(
            "heads and tokens not swapped",
            "The cut is right, and the tokens still stand before the heads. Swap axes 1 and 2.",
            _CUT,
            lambda projected, num_heads: projected.unflatten(2, (num_heads, -1)),
        ),
        Mistake(
            "num_heads taken for head_dim",
            "The cut makes pieces of num_heads features each. It should make num_heads pieces.",
            _CUT,
            lambda projected, num_heads: projected.unflatten(2, (-1, num_heads)).transpose(1, 2),
        ),
        Mistake(
            "heads and features swapped",
            "The last two axes stand in the wrong order: (batch, num_heads, head_dim, tokens).",
            _CUT,
            lambda projected, num_heads: _cut(projected, num_heads).transpose(2, 3),
        ),
        Mistake(
            "batch and heads swapped",
            "The heads stand on the first axis. The batch comes first, then the heads.",
            _CUT,
            lambda projected, num_heads: _cut(projected, num_heads).transpose(0, 1),
        ),
        Mistake(
            "turned before the cut",
            "The features were turned into columns before the cut, and the reshape then cut across them.",
            _CUT,
            lambda projected, num_heads: _reshaped(projected.transpose(1, 2).reshape(projected.shape), num_heads),
        ),
    ],
    tried="four batches, with one head to four, and one with as many heads as tokens and features in a head",
)

join_heads = Exercise(
    name="join_heads",
    cases=lambda: [Case({"heads": draw(*shape)}) for shape in ((3, 3, 3, 3), (2, 4, 5, 3), (1, 2, 3, 4), (2, 1, 4, 5))],
    reference=lambda heads: torch.cat([heads[:, head] for head in range(heads.shape[1])], dim=2),
    mistakes=[
        Mistake(
            "plain reshape",
            f"{_PLAIN} Swap heads and tokens first, then join the last two axes.",
            _CUT,
            lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1),
        ),
        Mistake(
            "features dealt out in turn",
            "The features of the heads take turns. All features of head 0 stand first, then those of head 1.",
            _CUT,
            lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
        ),
        Mistake(
            "wrong axes swapped",
            "Tokens and features change places before the reshape. Heads and tokens should.",
            _CUT,
            lambda heads: heads.transpose(2, 3).reshape(heads.shape[0], heads.shape[2], -1),
        ),
        Mistake(
            "view of a turned tensor",
            "After the swap the numbers lie scattered in memory, and `view` refuses them. `flatten` or `reshape` "
            "copies.",
            _LAYER,
            lambda heads: heads.transpose(1, 2).view(heads.shape[0], heads.shape[2], -1),
        ),
        Mistake(
            "tokens joined in place of features",
            "The heads stand below each other, as if they were more tokens. Put them side by side.",
            _CUT,
            lambda heads: heads.flatten(1, 2),
        ),
        Mistake(
            "heads left apart",
            "Heads and tokens are swapped, and the last two axes are still two. Join them.",
            _CUT,
            lambda heads: heads.transpose(1, 2),
        ),
        Mistake(
            "heads averaged",
            "The heads are averaged, which mixes what they found. Each keeps its own features.",
            _LAYER,
            lambda heads: heads.mean(dim=1),
        ),
        Mistake(
            "heads added up",
            "The heads are added up, which mixes what they found. Each keeps its own features.",
            _LAYER,
            lambda heads: heads.sum(dim=1),
        ),
        Mistake(
            "first head only",
            "Only head 0 comes back. All heads have their place, side by side.",
            _LAYER,
            lambda heads: heads[:, 0],
        ),
    ],
    tried="four batches, with one head to four, and one in which all sizes agree",
)

# A check's mistakes know the inputs and the linear maps, and nothing else; so the width gives the number of heads away.
_HEADS_OF_WIDTH = {9: 3, 6: 2, 8: 4, 5: 1}


_LOWEST = -1e9  # what many write for minus infinity


def _hide(scores: Tensor, mask: Tensor | None, number: float = -math.inf) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask[:, None, None, :], number)


@dataclass(frozen=True)
class _Heads:
    """Multi-head attention in steps, of which a mistake does one differently."""

    num_heads: Any = staticmethod(_HEADS_OF_WIDTH.get)
    cut: Any = staticmethod(_cut)
    score: Any = staticmethod(lambda queries, keys: queries @ keys.transpose(2, 3))
    divisor: Any = staticmethod(lambda head_dim, embed_dim: head_dim**0.5)
    weigh: Any = staticmethod(lambda scores, mask: _softmax(_hide(scores, mask)))
    bring: Any = staticmethod(torch.matmul)
    join: Any = staticmethod(lambda heads: heads.transpose(1, 2).flatten(2))
    finish: Any = staticmethod(lambda joined, W_output: W_output(joined))

    def __call__(self, features, mask, W_query, W_key, W_value, W_output):
        width = features.shape[2]
        queries, keys, values = (self.cut(W(features), self.num_heads(width)) for W in (W_query, W_key, W_value))
        scores = self.score(queries, keys) / self.divisor(queries.shape[3], width)
        return self.finish(self.join(self.bring(self.weigh(scores, mask), values)), W_output)


def _heads_by_loops(features, mask, W_query, W_key, W_value, W_output):
    """Text by text, head by head, word by word; what a padded place gives is nobody's business: NaN."""
    output = torch.full_like(features, math.nan)
    num_heads = _HEADS_OF_WIDTH[features.shape[2]]
    for text, words in enumerate(features):
        real = range(len(words)) if mask is None else mask[text].nonzero().flatten().tolist()
        queries, keys, values = (W(words[list(real)]).chunk(num_heads, dim=1) for W in (W_query, W_key, W_value))
        for place, word in enumerate(real):
            brought = [_context_by_loops(q[place], k, v) for q, k, v in zip(queries, keys, values, strict=True)]
            output[text, word] = W_output(torch.cat(brought))
    return output


def _after(weights: Tensor, mask: Tensor | None) -> Tensor:
    return weights if mask is None else weights * mask[:, None, None, :]


_STEPS_OF_HEADS = [
    (
        "no output projection",
        "The heads are joined and W_output is never used. It mixes what the heads bring back.",
        _LAYER,
        {"finish": lambda joined, W_output: joined},
    ),
    (
        "keys not transposed",
        "Queries meet the keys as they lie. Swap the last two axes of the keys, so that each key becomes a column.",
        _LAYER,
        {"score": torch.matmul},
    ),
    (
        "`.T` on a batch",
        "The keys are turned with `.T`, which turns all four axes around. Swap the last two only.",
        "Lab 5, “A batch, and a bug”",
        {"score": lambda queries, keys: queries @ keys.permute(3, 2, 1, 0)},
    ),
    (
        "no scale",
        "The scores are not scaled. Divide them by the square root of head_dim.",
        _LAYER,
        {"divisor": lambda head_dim, embed_dim: 1.0},
    ),
    (
        "scale of the whole width",
        "The scale uses embed_dim. A score adds up head_dim products, so head_dim goes under the root.",
        _LAYER,
        {"divisor": lambda head_dim, embed_dim: embed_dim**0.5},
    ),
    (
        "scale without the root",
        "The scores are divided by head_dim itself. Divide by its square root.",
        _LAYER,
        {"divisor": lambda head_dim, embed_dim: head_dim},
    ),
    (
        "scale multiplied",
        "The scores are multiplied by the square root of head_dim. Divide them by it.",
        _LAYER,
        {"divisor": lambda head_dim, embed_dim: head_dim**-0.5},
    ),
    (
        "softmax over the wrong axis",
        "The softmax runs over the words that ask. Each row must add up to 1: dim=-1.",
        "Lab 7, “Three ways of looking”",
        {"weigh": lambda scores, mask: _hide(scores, mask).softmax(dim=2)},
        {"weigh": lambda scores, mask: _hide(scores, mask).softmax(dim=2).nan_to_num()},
        {"weigh": lambda scores, mask: _hide(scores, mask, _LOWEST).softmax(dim=2)},
    ),
    (
        "softmax over the heads",
        "The softmax runs over axis 1, the heads. Each head has a softmax of its own: dim=-1.",
        "Lab 7, “Three ways of looking”",
        {"weigh": lambda scores, mask: _hide(scores, mask).softmax(dim=1)},
        {"weigh": lambda scores, mask: _hide(scores, mask, _LOWEST).softmax(dim=1)},
    ),
    (
        "no softmax",
        "The scores mix the values as they are. Put each row through the softmax first.",
        _LAYER,
        {"weigh": lambda scores, mask: scores if mask is None else scores * mask[:, None, None, :]},
    ),
    (
        "no mask is not expected",
        "The mask may be None, for texts without padding. Hide nothing then.",
        _HIDES,
        {"weigh": lambda scores, mask: _softmax(scores.masked_fill(~mask[:, None, None, :], -math.inf))},
        {"weigh": lambda scores, mask: _softmax(scores.masked_fill(~mask.unsqueeze(1).unsqueeze(2), -math.inf))},
        {"weigh": lambda scores, mask: _softmax(scores.masked_fill((~mask)[:, None, None], -math.inf))},
    ),
    (
        "mask without effect",
        "For real words the mask makes no difference: it is not used, or it hides rows, the words that ask. It is the "
        "padded words that are *looked at* that must go, the last axis of the scores.",
        _HIDES,
        {"weigh": lambda scores, mask: _softmax(scores)},
    ),
    (
        "mask after the softmax",
        "The mask comes after the softmax. The share of the padding is lost then, and the rows no longer add up to 1. "
        "Set the scores to minus infinity before it.",
        _HIDES,
        {"weigh": lambda scores, mask: _after(_softmax(scores), mask)},
    ),
    (
        "mask with the wrong sign",
        "The real words are hidden and the padding is seen. In this course True is a real token; hide the others with "
        "`~mask`.",
        _HIDES,
        {"weigh": lambda scores, mask: _softmax(_hide(scores, None if mask is None else ~mask))},
    ),
    (
        "masked scores set to 0",
        "Hidden places get the score 0, and the exponential of 0 is 1: they still take their share. Minus infinity "
        "takes none.",
        _HIDES,
        {"weigh": lambda scores, mask: _softmax(_hide(scores, mask, 0.0))},
    ),
    (
        "mask added as a number",
        "The mask is added to the scores, as 1 and 0. That favours real words a little and hides nothing. Set the "
        "other scores to minus infinity.",
        _HIDES,
        {
            "weigh": lambda scores, mask: _softmax(
                scores if mask is None else scores + mask[:, None, None, :].to(scores)
            )
        },
    ),
    (
        "mask on the wrong axes",
        "The mask (batch, tokens) is laid over (tokens, tokens) or over batch and heads. Give it axes of length 1 for "
        "the heads and for the words that ask.",
        _HIDES,
        {"weigh": lambda scores, mask: _softmax(scores if mask is None else scores.masked_fill(~mask, -math.inf))},
        {
            "weigh": lambda scores, mask: _softmax(
                scores if mask is None else scores.masked_fill(~mask[:, None, :], -math.inf)
            )
        },
    ),
    (
        "values weighted with the transposed weights",
        "The values are mixed with the columns of the weights. The row of a word says what this word takes.",
        _LAYER,
        {"bring": lambda weights, values: weights.transpose(2, 3) @ values},
    ),
    (
        "heads cut by a plain reshape",
        f"{_PLAIN} Cut the last axis, then swap heads and tokens.",
        _CUT,
        {"cut": _reshaped},
    ),
    (
        "heads and tokens not swapped",
        "Heads and tokens never change places, so the heads of one word look at each other and words never meet.",
        _CUT,
        {
            "cut": lambda projected, num_heads: projected.unflatten(2, (num_heads, -1)),
            "join": lambda heads: heads.flatten(2),
        },
    ),
    (
        "features dealt out in turn",
        _IN_TURN,
        _CUT,
        {"cut": _dealt_out},
        {"cut": _dealt_out, "join": lambda heads: heads.permute(0, 2, 3, 1).flatten(2)},
    ),
    (
        "heads joined by a plain reshape",
        f"At the join: {_PLAIN[0].lower()}{_PLAIN[1:]} Swap heads and tokens back first.",
        _CUT,
        {"join": lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1)},
    ),
    (
        "one head only",
        "There is one head, whatever num_heads says: each softmax runs over whole words. Cut first.",
        _LAYER,
        {"num_heads": lambda width: 1},
    ),
]


def _refuses_uneven_heads(answer: Any, run: Any) -> None:
    where = "Read again: Lab 7, “The layer”."
    for sizes in ((9, 2), (4, 8)):
        made = run(lambda sizes=sizes: answer(*sizes))
        wish = f"{sizes[0]} features cannot be shared by {sizes[1]} heads in equal parts"
        if isinstance(made, nn.Module):  # it may still refuse when it is called
            called = run(made, draw(1, 3, sizes[0]))
            made = called if isinstance(called, Raised) and called.kind == "ValueError" else made
        if isinstance(made, nn.Module):
            raise Wrong("num_heads not refused", f"{wish}, and the layer does not mind. Raise a ValueError. {where}")
        if made.kind != "ValueError":
            sentence = f"{wish}. The layer should say so with a ValueError; it raises {made.kind}."
            raise Wrong("refused with another error", f"{sentence} {where}")
        if len(made.text.split()) < 4 and made.text.isascii():  # not every language has spaces
            raise Wrong("refused without a sentence", f"{wish}. Say that in the ValueError, in a sentence. {where}")


def _heads_case(batch, tokens, width, lengths=None, padding_first=False):
    # Every masked text has padding: else the mask turned around hides all words, and then what comes
    # out depends on the number written for minus infinity.
    mask = None if lengths is None else real_tokens([*lengths, tokens])[:-1]
    mask = mask.flip(1) if padding_first else mask
    return Case({"features": draw(batch, tokens, width), "mask": mask}, sizes=(width, _HEADS_OF_WIDTH[width]))


many_heads = Exercise(
    name="many_heads",
    cases=lambda: [
        _heads_case(3, 3, 9, [2, 1, 2]),
        _heads_case(2, 5, 9),
        _heads_case(2, 5, 6, [3, 4]),
        _heads_case(4, 4, 8, [1, 3, 2, 3], padding_first=True),
        _heads_case(1, 3, 5, [2]),
    ],
    parts=("W_query", "W_key", "W_value", "W_output"),
    widths=lambda embed_dim, num_heads: dict.fromkeys(
        ("W_query", "W_key", "W_value", "W_output"), (embed_dim, embed_dim)
    ),
    reference=_heads_by_loops,
    view=lambda given, **_: (
        given[0] if isinstance(given, tuple) and given else given
    ),  # the lab's gives its weights too
    mistakes=[
        *(Mistake(name, text, where, _Heads(**way)) for name, text, where, *ways in _STEPS_OF_HEADS for way in ways),
        Mistake(
            "queries and keys swapped",
            "Keys ask and queries answer. In row i of the scores the query of word i meets all keys: queries @ keysᵀ.",
            _LAYER,
            lambda W_query, W_key, **others: _Heads()(W_query=W_key, W_key=W_query, **others),
        ),
        Mistake(
            "features in place of values",
            "The heads bring back the features themselves. What a word hands over is its value, W_value of its "
            "features.",
            _LAYER,
            lambda W_value, **others: _Heads()(W_value=lambda features: features, **others),
        ),
        Mistake(
            "the mask only counted",
            "You count the real tokens of a text and take as many from the front. Padding may stand in front, too: ask "
            "the mask which tokens are real.",
            _HIDES,
            lambda mask, **others: _Heads()(mask=mask if mask is None else moved_to_the_front(mask), **others),
        ),
    ],
    also=_refuses_uneven_heads,
    tried="five batches, with padding and without, with one head to four, on sizes that differ and sizes that agree, "
    "and on numbers of heads that do not fit",
)

# --- Lab 8 -------------------------------------------------------------------------------------------------------

_WRITING = "Lab 8, “Writing instead of reading”"


def _causal(tokens: int) -> Tensor:
    return torch.arange(tokens)[:, None] >= torch.arange(tokens)  # (tokens, tokens)


def _allowed(rule):
    """The mistaken answer of 8.1 that follows this rule of the causal matrix and the mask, as (batch, 1, tokens)."""
    return lambda mask: rule(_causal(mask.shape[1]), mask[:, None, :])


def _places_by_loops(mask: Tensor) -> Tensor:
    places = range(mask.shape[1])
    rows = [[[bool(row[j]) and j <= i for j in places] for i in places] for row in mask]
    return torch.tensor(rows)


allowed_places = Exercise(
    name="allowed_places",
    cases=lambda: [
        Case({"mask": torch.tensor(rows, dtype=torch.bool)})
        for rows in (
            [[1, 1, 0], [0, 1, 1], [1, 1, 1]],
            [[1, 1, 1, 1, 0], [0, 0, 1, 1, 1]],
            [[1, 1, 0, 1]],
            [[0, 0], [1, 0], [0, 1]],
        )
    ],
    reference=_places_by_loops,
    mistakes=[
        Mistake(
            "looks ahead",
            "Each token sees what comes after it, and not what came before. Rows ask: row i needs the columns up to i, "
            "the lower triangle.",
            _WRITING,
            _allowed(lambda causal, real: causal.T & real),
        ),
        Mistake(
            "itself forbidden",
            "No token may look at itself. The diagonal belongs to the triangle.",
            _WRITING,
            _allowed(lambda causal, real: causal & ~causal.T & real),
        ),
        Mistake(
            "padding forgotten",
            "The order is kept, and padding can be looked at. Its columns must be False.",
            "Lab 7, “What a mask hides”",
            _allowed(lambda causal, real: causal.expand(len(real), -1, -1)),
        ),
        Mistake(
            "order forgotten",
            "Padding is hidden, and every token sees what comes after it.",
            _WRITING,
            _allowed(lambda causal, real: real.expand(-1, real.shape[2], -1)),
        ),
        Mistake(
            "padding on the tokens that ask",
            "The padding takes away rows, the tokens that ask. It is the padded tokens that are *asked* that must go: "
            "columns.",
            "Lab 7, “What a mask hides”",
            _allowed(lambda causal, real: causal & real.transpose(1, 2)),
        ),
        Mistake(
            "padding on both sides",
            "Padded tokens may not ask either, so whole rows are False. Only the columns of padding have to go.",
            "Lab 7, “What a mask hides”",
            _allowed(lambda causal, real: causal & real & real.transpose(1, 2)),
        ),
        Mistake(
            "either in place of both",
            "One of the two conditions is enough to be seen. Both must hold: `&`, not `|`.",
            _WRITING,
            _allowed(lambda causal, real: causal | real),
        ),
        Mistake(
            "True where hidden",
            "True and False are swapped. In this course True is where a token may look.",
            _WRITING,
            _allowed(lambda causal, real: ~(causal & real)),
        ),
        Mistake(
            "mask with the wrong sign",
            "Padding can be seen and real tokens cannot. `mask` is True for a real token.",
            "Lab 7, “What a mask hides”",
            _allowed(lambda causal, real: causal & ~real),
        ),
        Mistake(
            "mask on the wrong axes",
            "The mask (batch, tokens) is laid over the triangle as if texts were tokens. Give it an axis of length 1 "
            "for the tokens that ask.",
            "Lab 7, “What a mask hides”",
            lambda mask: _causal(mask.shape[1]) & mask,
        ),
    ],
    tried="padding at the end, at the beginning and in the middle, and a text that is nothing else",
)


def _norm_case(*shape, eps):
    features = draw(*shape, seed=1) * 2 + 3
    features[..., 0, :] = 1.5  # a token whose features are all equal
    return Case({"features": features, "scale": draw(shape[-1], seed=2), "shift": draw(shape[-1], seed=3), "eps": eps})


def _norm(**changed):
    """The mistaken answer of 8.2: a mean, a variance, or the last line differs."""

    def gives(features, scale, shift, eps):
        axes, keepdim = changed.get("axes", lambda features: -1)(features), changed.get("keepdim", True)
        mean = features.mean(dim=axes, keepdim=keepdim)
        variance = features.var(dim=axes, keepdim=keepdim, unbiased=changed.get("unbiased", False))
        centred = features if changed.get("not_centred") else features - mean
        spread = changed.get("spread", lambda variance, eps: torch.sqrt(variance + eps))(variance, eps)
        return changed.get("finish", lambda normal, scale, shift: normal * scale + shift)(
            centred / spread, scale, shift
        )

    return gives


_NORM = "Lab 8, “What layer normalisation is for”"

layer_norm = Exercise(
    name="layer_norm",
    cases=lambda: [_norm_case(4, 4, 4, eps=0.1), _norm_case(3, 5, eps=1e-5), _norm_case(2, 3, 6, eps=0.5)],
    reference=lambda features, scale, shift, eps: F.layer_norm(features, scale.shape, scale, shift, eps),
    mistakes=[
        Mistake(
            "sample variance",
            "The variance divides by dim - 1, as PyTorch's `var` and `std` do by themselves. Here it is the plain mean "
            "of the squared distances: unbiased=False.",
            _NORM,
            _norm(unbiased=True),
        ),
        *(
            Mistake(
                "axis not kept",
                "Mean and variance lost their last axis, so they line up with the features and not with the tokens. "
                "Where the sizes agree that raises no error: keepdim=True.",
                _NORM,
                _norm(keepdim=False, unbiased=unbiased),
            )
            for unbiased in (False, True)
        ),
        *(
            Mistake(
                "eps outside the root",
                "eps is added to the standard deviation. Add it to the variance, under the root.",
                _NORM,
                _norm(spread=lambda variance, eps: variance.sqrt() + eps, unbiased=unbiased),
            )
            for unbiased in (False, True)
        ),
        Mistake(
            "eps forgotten",
            "eps takes no part. Where all features of a token are equal the variance is 0, and 0 / 0 is not a number.",
            _NORM,
            _norm(spread=lambda variance, eps: variance.sqrt()),
        ),
        Mistake(
            "root forgotten",
            "The features are divided by the variance. Divide by its square root, the standard deviation.",
            _NORM,
            _norm(spread=lambda variance, eps: variance + eps),
        ),
        Mistake(
            "mean not subtracted",
            "The features keep their mean. Subtract it before you divide.",
            _NORM,
            _norm(not_centred=True),
        ),
        *(
            Mistake(
                "over the tokens",
                "Mean and variance run over the tokens, each feature for itself. They belong to one token: the last "
                "axis.",
                _NORM,
                _norm(axes=axes),
            )
            for axes in (lambda features: -2, lambda features: 1)
        ),
        Mistake(
            "over the batch",
            "Mean and variance run over axis 0, so the texts of a batch change each other. They belong to one token.",
            _NORM,
            _norm(axes=lambda features: 0),
        ),
        Mistake(
            "over the whole text",
            "One mean and one variance serve a whole text. Each token has its own.",
            _NORM,
            _norm(axes=lambda features: (-2, -1)),
        ),
        Mistake(
            "over everything",
            "One mean and one variance serve all features of all tokens. Each token has its own.",
            _NORM,
            _norm(axes=lambda features: tuple(range(features.dim()))),
        ),
        Mistake(
            "scale and shift forgotten",
            "The features are normalised, and neither scaled nor shifted.",
            _NORM,
            _norm(finish=lambda normal, scale, shift: normal),
        ),
        Mistake(
            "scale forgotten",
            "The features are normalised and shifted, but not scaled.",
            _NORM,
            _norm(finish=lambda normal, scale, shift: normal + shift),
        ),
        Mistake(
            "shift forgotten",
            "The features are normalised and scaled, but not shifted.",
            _NORM,
            _norm(finish=lambda normal, scale, shift: normal * scale),
        ),
        Mistake(
            "shifted before the scale",
            "The shift is added before the scale, and so gets scaled itself. First times scale, then plus shift.",
            _NORM,
            _norm(finish=lambda normal, scale, shift: (normal + shift) * scale),
        ),
    ],
    tried="features with a batch and without, a large eps and a small one, and tokens whose features are all equal",
)

_BLOCK = "Lab 8, “The block”"
_RESIDUAL = "Lab 8, “What the residual connection is for”"


def _block_by_torch(features, mask, attention, attention_norm, feed_forward, feed_forward_norm):
    """PyTorch's own layer with the same weights; what a padded place gives is nobody's business: NaN."""
    ours, first, last = attention, feed_forward[0], feed_forward[-1]
    theirs = nn.TransformerEncoderLayer(
        ours.W_query.in_features,
        ours.num_heads,
        first.out_features,
        dropout=0.0,
        batch_first=True,
        dtype=features.dtype,
    ).eval()
    maps = (ours.W_query, ours.W_key, ours.W_value)
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(torch.cat([linear.weight for linear in maps]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([linear.bias for linear in maps]))
        theirs.self_attn.out_proj.load_state_dict(ours.W_output.state_dict())
        for part, module in (
            (theirs.norm1, attention_norm),
            (theirs.norm2, feed_forward_norm),
            (theirs.linear1, first),
            (theirs.linear2, last),
        ):
            part.load_state_dict(module.state_dict())
        output = theirs(features, src_key_padding_mask=None if mask is None else ~mask)
    return output if mask is None else output.masked_fill(~mask[:, :, None], math.nan)


def _block(halves):
    """The mistaken answer of 8.3; `halves` gets the features, the attention (mask included), and the other parts."""

    def gives(features, mask, attention, attention_norm, feed_forward, feed_forward_norm):
        return halves(features, lambda x: attention(x, mask)[0], attention_norm, feed_forward, feed_forward_norm)

    return gives


def _without_mask(features, mask, attention, attention_norm, feed_forward, feed_forward_norm):
    features = attention_norm(features + attention(features)[0])
    return feed_forward_norm(features + feed_forward(features))


def _first_features_again(x, attend, norm, think, last_norm):
    attended = norm(x + attend(x))
    return last_norm(x + think(attended))


def _sum_again(x, attend, norm, think, last_norm):
    total = x + attend(x)
    return last_norm(total + think(norm(total)))


def _unread(x, attend, norm, think, last_norm):
    return last_norm(norm(x + attend(x)) + think(x + attend(x)))


def _norm_before(x, attend, norm, think, last_norm):
    x = x + attend(norm(x))
    return x + think(last_norm(x))


def _norm_inside(x, attend, norm, think, last_norm):
    x = x + norm(attend(x))
    return x + last_norm(think(x))


def _thinks_first(x, attend, norm, think, last_norm):
    x = norm(x + think(x))
    return last_norm(x + attend(x))


_BLOCK_MISTAKES = [
    (
        "no residual around the attention",
        "What comes out of the attention replaces the features. Add it to them.",
        _RESIDUAL,
        lambda x, attend, norm, think, last_norm: (lambda y: last_norm(y + think(y)))(norm(attend(x))),
    ),
    (
        "no residual around the feed-forward layer",
        "What comes out of the feed-forward layer replaces the features. Add it to them.",
        _RESIDUAL,
        lambda x, attend, norm, think, last_norm: last_norm(think(norm(x + attend(x)))),
    ),
    (
        "no residual at all",
        "Each part replaces the features. Add what comes out to what went in, twice.",
        _RESIDUAL,
        lambda x, attend, norm, think, last_norm: last_norm(think(norm(attend(x)))),
    ),
    (
        "norm before each part",
        "This is the block of the lab: it normalises what goes into each part. Here the sum is normalised.",
        _BLOCK,
        _norm_before,
    ),
    (
        "norm inside the sum",
        "The norm is applied to what comes out of each part, before the sum. Here the sum is normalised.",
        _BLOCK,
        _norm_inside,
    ),
    (
        "no norm after the attention",
        "The first sum is not normalised.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: last_norm(y + think(y)))(x + attend(x)),
    ),
    (
        "no norm after the feed-forward layer",
        "The second sum is not normalised.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: y + think(y))(norm(x + attend(x))),
    ),
    (
        "no norm at all",
        "Neither sum is normalised.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: y + think(y))(x + attend(x)),
    ),
    (
        "norms swapped",
        "The two norms stand in each other's place. attention_norm follows the attention.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: norm(y + think(y)))(last_norm(x + attend(x))),
    ),
    (
        "one norm used twice",
        "One norm serves both sums. Each sum has its own, which learns its own scale and shift.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: (lambda y: norm(y + think(y)))(norm(x + attend(x))),
    ),
    (
        "first features added again",
        "The second sum adds the features from the very beginning. What goes into the feed-forward layer is added to "
        "what comes out of it.",
        _RESIDUAL,
        _first_features_again,
    ),
    (
        "sum added before its norm",
        "The second sum adds the first sum as it was before its norm. What goes into the feed-forward layer is added "
        "to what comes out of it.",
        _RESIDUAL,
        _sum_again,
    ),
    (
        "feed-forward layer reads the sum before its norm",
        "The feed-forward layer gets the first sum as it was before its norm. It gets the normalised one.",
        _BLOCK,
        _unread,
    ),
    (
        "feed-forward layer first",
        "The feed-forward layer stands before the attention. Attention comes first.",
        _BLOCK,
        _thinks_first,
    ),
    (
        "feed-forward layer first",
        "The feed-forward layer stands before the attention. Attention comes first.",
        _BLOCK,
        lambda x, attend, norm, think, last_norm: _thinks_first(x, attend, last_norm, think, norm),
    ),
    (
        "feed-forward layer left out",
        "The feed-forward layer is never used.",
        "Lab 8, “What the feed-forward layer is for”",
        lambda x, attend, norm, think, last_norm: norm(x + attend(x)),
    ),
]

first_block = Exercise(
    name="first_block",
    cases=lambda: [
        Case({"features": draw(2, 4, 6), "mask": real_tokens([4, 2])}, sizes=(6, 2, 12)),
        Case({"features": draw(1, 3, 4), "mask": None}, sizes=(4, 4, 4)),
        Case({"features": draw(3, 5, 8), "mask": real_tokens([1, 5, 3])}, sizes=(8, 1, 16)),
    ],
    parts=("attention", "attention_norm", "feed_forward", "feed_forward_norm"),
    reference=_block_by_torch,
    view=lambda given, **_: (
        given[0] if isinstance(given, tuple) and given else given
    ),  # the lab's gives its weights too
    mistakes=[
        *(Mistake(name, text, where, _block(halves)) for name, text, where, halves in _BLOCK_MISTAKES),
        Mistake(
            "pair not taken apart",
            "The attention gives two things, the attended features and the weights. Only the first is added.",
            _BLOCK,
            lambda features, mask, attention, **others: features + attention(features, mask),
        ),
        Mistake(
            "mask not handed on",
            "The mask never reaches the attention, so real words take from padded places.",
            "Lab 7, “What a mask hides”",
            _without_mask,
        ),
    ],
    tried="three batches, with and without padding, against PyTorch's own layer with the same weights",
)


def _surprises(scores: Tensor, ids: Tensor) -> list[tuple[float, ...]]:
    """For each text the surprise at each next word that is not padding, in plain numbers."""
    texts = []
    for said, words in zip(scores.tolist(), ids.tolist(), strict=True):
        pairs = [(row, word) for row, word in zip(said[:-1], words[1:], strict=True) if word != 0]
        texts.append(tuple(math.log(sum(map(math.exp, row))) - row[word] for row, word in pairs))
    return texts


def _mean_surprise(scores, ids):
    each = [surprise for text in _surprises(scores, ids) for surprise in text]
    return torch.tensor(sum(each) / len(each), dtype=scores.dtype)


def _loss(said=lambda scores: scores[:, :-1], came=lambda ids: ids[:, 1:], finish=None, ignore_index=0):
    """The mistaken answer of 8.4: other scores, other words, or another last step over the single surprises."""

    def gives(scores, ids):
        rows, words = said(scores), came(ids)
        each = F.cross_entropy(rows.flatten(0, 1), words.flatten(), ignore_index=ignore_index, reduction="none")
        counts = words.flatten() != ignore_index
        return finish(each.reshape(words.shape), words) if finish else each[counts].mean()

    return gives


def _text_means(each, words):
    counted = (words != 0).sum(dim=1)
    return (each.sum(dim=1) / counted).mean()


def _loss_case(batch, tokens, known_words, lengths, seed=0):
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, known_words, (batch, tokens), generator=random)
    return Case({"scores": draw(batch, tokens, known_words), "ids": ids * real_tokens(lengths)})


_SHIFT = "Lab 8, “Writing instead of reading”"

next_word_loss = Exercise(
    name="next_word_loss",
    cases=lambda: [
        _loss_case(3, 6, 5, [6, 2, 4]),
        _loss_case(2, 6, 9, [6, 3]),
        _loss_case(4, 3, 7, [3, 2, 3, 2], seed=1),
    ],
    reference=_mean_surprise,
    mistakes=[
        Mistake(
            "not shifted",
            "Each place is judged by the word that stands there, which the model has seen. It must guess the next one.",
            _SHIFT,
            _loss(said=lambda scores: scores, came=lambda ids: ids),
        ),
        Mistake(
            "shifted the wrong way",
            "Each place is judged by the word *before* it. The scores lose their last place, the words their first.",
            _SHIFT,
            _loss(said=lambda scores: scores[:, 1:], came=lambda ids: ids[:, :-1]),
        ),
        *(
            Mistake(
                "shifted in a ring",
                "`roll` brings the first word of a text to its end, and the last scores are judged by it. Cut instead.",
                _SHIFT,
                _loss(said=lambda scores: scores, came=came),
            )
            for came in (lambda ids: ids.roll(-1, dims=1), lambda ids: ids.roll(-1))
        ),
        Mistake(
            "padding counted",
            "Padding counts as a word to be guessed. Leave it out: ignore_index=0.",
            _SHIFT,
            _loss(ignore_index=-100),
        ),
        Mistake(
            "padding in the divisor",
            "Padding adds no surprise, but it is counted in the number of words that you divide by.",
            _SHIFT,
            _loss(finish=lambda each, words: each.mean()),
        ),
        Mistake(
            "softmax twice",
            "The scores went through a softmax before the cross entropy, which does one itself.",
            _SHIFT,
            _loss(said=lambda scores: scores[:, :-1].softmax(dim=-1)),
        ),
        Mistake(
            "sum in place of mean",
            "This is the sum of all surprises. Divide by the number of words that were guessed.",
            _SHIFT,
            _loss(finish=lambda each, words: each.sum()),
        ),
        Mistake(
            "mean of the texts' means",
            "Each text is averaged first, so a word of a short text counts more. Average over all words of the batch.",
            _SHIFT,
            _loss(finish=_text_means),
        ),
        Mistake(
            "words' axis last",
            "`F.cross_entropy` wants the words' axis second; here the places stand there. When there are as many "
            "places as known words it raises no error. Flatten batch and places.",
            _SHIFT,
            lambda scores, ids: F.cross_entropy(scores[:, :-1], ids[:, 1:], ignore_index=0),
        ),
        Mistake(
            "axes mixed by a reshape",
            "`F.cross_entropy` wants the words' axis second, and a reshape does not bring it there. Flatten batch and "
            "places, or use transpose(1, 2).",
            "Lab 7, “Cut the features into heads”",
            lambda scores, ids: F.cross_entropy(
                scores[:, :-1].reshape(len(ids), scores.shape[2], -1), ids[:, 1:], ignore_index=0
            ),
        ),
        Mistake(
            "sign forgotten",
            "The number is negative: the mean log probability. Surprise is minus that.",
            _SHIFT,
            _loss(finish=lambda each, words: -each[words != 0].mean()),
        ),
        Mistake(
            "perplexity in place of surprise",
            "This is the exponential of the surprise, called perplexity. The exercise asks for nats.",
            _SHIFT,
            _loss(finish=lambda each, words: each[words != 0].mean().exp()),
        ),
        Mistake(
            "bits in place of nats",
            "The logarithm has base 2. Nats take the natural one.",
            _SHIFT,
            _loss(finish=lambda each, words: each[words != 0].mean() / math.log(2)),
        ),
        *(
            Mistake(
                "not averaged",
                "There is one number for each place. The exercise asks for their mean over all words that are not "
                "padding.",
                _SHIFT,
                gives,
            )
            for gives in (_loss(finish=lambda each, words: each), _loss(finish=lambda each, words: each.flatten()))
        ),
        Mistake(
            "last word only",
            "Only the last place that has a next word is judged. All of them are: one pass trains on all places at "
            "once.",
            _SHIFT,
            _loss(said=lambda scores: scores[:, -2:-1], came=lambda ids: ids[:, -1:]),
        ),
    ],
    tried="three batches of texts of different lengths, one of them with as many places to judge as known words",
)

# --- Lab 9 -------------------------------------------------------------------------------------------------------

_PAIRED = "Lab 9, “Paired differences”"
_STUDENT = "Lab 9, “All models, first task”"
_NINE_ONE = "Lab 9, “Exercise 9.1: the interval of a paired difference”"


def _paired_case(seeds, shared_luck, seed):
    random = np.random.default_rng(seed)
    luck = shared_luck * random.normal(size=seeds)
    first, second = (mean + luck + 0.01 * random.normal(size=seeds) for mean in (0.81, 0.80))
    return Case({"first": first, "second": second})


def _interval_by_scipy(first, second):
    low, high = stats.ttest_rel(first, second).confidence_interval(0.95)
    return (low + high) / 2, (high - low) / 2


def _interval(quantile=0.975, freedom=-1, ddof=1, divisor=lambda n: n**0.5, finish=lambda mean, half: (mean, half)):
    """The mistaken answer of 9.1: one number of the formula is another."""

    def gives(first, second):
        differences = np.asarray(first) - np.asarray(second)
        n = len(differences)
        factor = stats.norm.ppf(quantile) if freedom is None else stats.t.ppf(quantile, n + freedom)
        return finish(float(differences.mean()), float(factor * differences.std(ddof=ddof) / divisor(n)))

    return gives


def _unpaired(width):
    """The mistaken answer of 9.1 that takes each model's own spread; `width` makes the half width of two variances."""

    def gives(first, second):
        return float(np.mean(first) - np.mean(second)), float(
            width(np.var(first, ddof=1), np.var(second, ddof=1), len(first))
        )

    return gives


paired_interval = Exercise(
    name="paired_interval",
    cases=lambda: [_paired_case(5, 0.02, 0), _paired_case(3, 0.05, 1), _paired_case(9, 0.01, 2)],
    reference=_interval_by_scipy,
    mistakes=[
        *(
            Mistake(
                "pairing lost",
                "The width comes from the spread of each model by itself, so the luck that both share is still in it. "
                "Take the differences seed by seed first.",
                _PAIRED,
                _unpaired(width),
            )
            for width in (
                lambda a, b, n: stats.t.ppf(0.975, n - 1) * ((a + b) / n) ** 0.5,
                lambda a, b, n: stats.t.ppf(0.975, 2 * n - 2) * ((a + b) / n) ** 0.5,
                lambda a, b, n: stats.t.ppf(0.975, n - 1) * (a**0.5 + b**0.5) / n**0.5,
                lambda a, b, n: stats.t.ppf(0.975, n - 1) * abs(a**0.5 - b**0.5) / n**0.5,
            )
        ),
        *(
            Mistake(
                "normal in place of t",
                "The quantile is that of the normal distribution, about 1.96. The spread is measured from a few seeds, "
                "and Student's t pays for that.",
                _STUDENT,
                gives,
            )
            for gives in (_interval(freedom=None), lambda first, second: _rounded_quantile(first, second))
        ),
        Mistake(
            "spread divided by n",
            "The standard deviation divides by n, as NumPy's does by itself. From few seeds that is too small: ddof=1.",
            _NINE_ONE,
            _interval(ddof=0),
        ),
        Mistake(
            "root of n forgotten",
            "This is the spread of single differences. A mean of n varies less: divide by the square root of n.",
            _NINE_ONE,
            _interval(divisor=lambda n: 1.0),
        ),
        Mistake(
            "divided by n in place of its root",
            "The spread is divided by n. The mean of n differences varies by the square root of n less.",
            _NINE_ONE,
            _interval(divisor=lambda n: n),
        ),
        Mistake(
            "wrong degrees of freedom",
            "The quantile is for n degrees of freedom. The mean has used one up: n - 1.",
            _STUDENT,
            _interval(freedom=0),
        ),
        Mistake(
            "one side only",
            "The quantile .95 leaves out 5% at each end. An interval of 95% leaves out 2.5% at each: .975.",
            _NINE_ONE,
            _interval(quantile=0.95),
        ),
        Mistake(
            "whole width",
            "The second number is the whole width of the interval. Return half of it, what stands behind ±.",
            _NINE_ONE,
            _interval(finish=lambda mean, half: (mean, 2 * half)),
        ),
        Mistake(
            "ends in place of mean and half",
            "These are the two ends of the interval. Return its middle and half its width.",
            _NINE_ONE,
            _interval(finish=lambda mean, half: (mean - half, mean + half)),
        ),
        Mistake(
            "second minus first",
            "The sign is turned around: the exercise asks for first - second.",
            _NINE_ONE,
            _interval(finish=lambda mean, half: (-mean, half)),
        ),
        Mistake(
            "sign lost",
            "The differences lost their signs, so a loss counts as a gain. Keep them; the interval says which way.",
            _PAIRED,
            lambda first, second: _interval()(np.abs(np.asarray(first) - second), np.zeros(len(first))),
        ),
        Mistake(
            "mean forgotten",
            "Only one number comes back: half the width. The mean difference belongs in front of it.",
            _NINE_ONE,
            _interval(finish=lambda mean, half: half),
        ),
    ],
    tried="three, five and nine seeds that share more luck or less",
)


def _rounded_quantile(first, second):
    differences = np.asarray(first) - np.asarray(second)
    return float(differences.mean()), float(1.96 * differences.std(ddof=1) / len(differences) ** 0.5)


def _flips(extreme):
    """The share of sign patterns that `extreme` counts; it gets their means, (2 ** seeds,), and the measured one."""

    def gives(differences):
        patterns = np.array(list(product([1, -1], repeat=len(differences))))
        return float(np.mean(extreme((patterns * differences).mean(axis=1), np.mean(differences))))

    return gives


def _exactly(means):
    """The share without any allowance for rounding, with the means of all patterns made in another way."""

    def gives(differences):
        patterns = np.array(list(product([1, -1], repeat=len(differences))))
        return float(np.mean(np.abs(means(patterns, differences)) >= abs(np.mean(differences))))

    return gives


def _share_by_halves(differences):
    """Add one difference after the other, with both signs: the list of all sums doubles each time."""
    sums = [0.0]
    for difference in map(float, differences):
        sums = [total + step for total in sums for step in (difference, -difference)]
    return sum(abs(total) >= abs(sum(map(float, differences))) - 1e-9 for total in sums) / len(sums)


_LITTLE = 1e-12
_NINE_TWO = "Lab 9, “Exercise 9.2: what five seeds can say”"

sign_flips = Exercise(
    name="sign_flips",
    cases=lambda: [
        Case({"differences": np.array(differences)})
        for differences in (
            [0.02, 0.03, -0.01, 0.05, 0.01],
            [-0.03, -0.02, 0.01, -0.04],
            [0.01, 0.02, 0.03, 0.02, 0.05, 0.04, -0.06],
            [0.04, 0.01],
            [0.03, -0.01, -0.02],
        )
    ],
    reference=_share_by_halves,
    mistakes=[
        Mistake(
            "one side only",
            "Only means above the measured one are counted. A mean as far below 0 would have surprised you as much.",
            _NINE_TWO,
            _flips(lambda means, measured: means >= measured - _LITTLE),
        ),
        Mistake(
            "one side doubled",
            "One side is counted and doubled. Where the measured mean is 0 the sides share patterns, and the share "
            "passes 1. Compare sizes.",
            _NINE_TWO,
            lambda differences: 2 * _flips(lambda means, measured: means >= abs(measured) - _LITTLE)(differences),
        ),
        *(
            Mistake(
                "equal means lost to rounding",
                "Some means that equal the measured one differ from it in the last digit, and fall out. Allow for "
                "1e-12: `>= abs(measured) - 1e-12`.",
                _NINE_TWO,
                exactly,
            )
            for exactly in (
                _flips(lambda means, measured: np.abs(means) >= abs(measured)),
                _exactly(lambda patterns, differences: patterns @ differences / len(differences)),
                _exactly(lambda patterns, differences: (patterns * differences).sum(axis=1) / len(differences)),
            )
        ),
        Mistake(
            "measured pattern not counted",
            "Means *farther* from 0 are counted. The measured pattern is one of all, and it is as far as itself: `>=`.",
            _NINE_TWO,
            _flips(lambda means, measured: np.abs(means) > abs(measured) + _LITTLE),
        ),
        Mistake(
            "count in place of share",
            "This is how many patterns are as far from 0. Divide by the number of all patterns.",
            _NINE_TWO,
            lambda differences: (
                _flips(lambda means, measured: np.abs(means) >= abs(measured) - _LITTLE)(differences)
                * 2 ** len(differences)
            ),
        ),
        Mistake(
            "the other share",
            "This is the share of patterns whose mean is *nearer* to 0. The exercise asks for those at least as far.",
            _NINE_TWO,
            _flips(lambda means, measured: np.abs(means) < abs(measured) - _LITTLE),
        ),
        Mistake(
            "sign of the measured mean kept",
            "Sizes are compared with the measured mean as it is. It may be negative, and then every pattern counts.",
            _NINE_TWO,
            _flips(lambda means, measured: np.abs(means) >= measured - _LITTLE),
        ),
        Mistake(
            "Student's t",
            "This is the p-value of Student's t. The exercise counts sign patterns and supposes nothing about the "
            "spread.",
            _NINE_TWO,
            lambda differences: float(stats.ttest_1samp(differences, 0).pvalue),
        ),
        Mistake(
            "signs counted, not means",
            "This is the sign test: it only counts how many differences are positive. Here their sizes count as well.",
            _NINE_TWO,
            lambda differences: float(stats.binomtest(int((differences > 0).sum()), len(differences)).pvalue),
        ),
        Mistake(
            "measured pattern left out of all",
            "The measured pattern was taken out before counting. It is one of the patterns.",
            _NINE_TWO,
            lambda differences: (
                (_share_by_halves(differences) * 2 ** len(differences) - 1) / (2 ** len(differences) - 1)
            ),
        ),
    ],
    tried="two, three, four, five and seven differences of both signs",
)

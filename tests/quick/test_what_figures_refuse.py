"""What a figure cannot draw gets a sentence that names it."""

import numpy as np
import pytest
import torch

from shared.figures import Matrix, attention_over, heat_map, lookup, product, shaded_words, softmax_row, weighted_sum
from shared.figures.heads import heads
from shared.figures.walk import walk

ONE = Matrix([[1.0]], "one")
PATTERNS = torch.rand(3, 4, 2, 2, generator=torch.Generator().manual_seed(1)).softmax(dim=-1)


def a_walk(**change):
    given = {"words": ["a", "b"], "x": torch.ones(2, 3)}
    given |= dict.fromkeys(("W_query", "W_key", "W_value"), torch.ones(3, 2))
    return walk(**given | change)


@pytest.mark.parametrize(
    ("draw", "word"),
    [
        (lambda: Matrix([[1, float("nan")]], "scores"), "nan"),
        (lambda: Matrix([1, 2], "x"), "shape"),
        (lambda: Matrix([[1, 2]], "x", columns=["a"]), "1 words or labels for 2 columns"),
        (lambda: Matrix([[1, 2]], "x", columns="ab"), "one string"),
        (lambda: Matrix([[1]], "x", "energy"), "energy"),
        (lambda: Matrix(np.ones((101, 1)), "x"), "100"),
        (lambda: product(ONE, Matrix([[1], [2]], "two"), ONE), "2 rows"),
        (lambda: product(ONE, ONE, Matrix([[2]], "wrong")), "wrong"),
        (lambda: product(ONE, ONE, ONE, row=1), "no row of one"),
        (lambda: lookup(ONE, [0], Matrix([[2]], "wrong")), "wrong"),
        (lambda: softmax_row([1, 2], [0.5, 0.5], ["a", "b"]), "softmax"),
        (lambda: weighted_sum([1.0], ONE, [2.0]), "sum"),
        (lambda: attention_over(["a", "b"], [1, 2], 0), "add up to"),
        (lambda: heat_map([[0.0]], row_labels=["a", "b"], column_labels=["c"]), "2 words or labels for 1 rows"),
        (lambda: shaded_words(["a"], [0.5, 0.5]), "1 words or labels for 2 weights"),
        (lambda: shaded_words(["a", "b"], [-0.5, 1.0]), "-0.5"),
        (lambda: a_walk(words=["a", "b", "c"]), "3 words"),
        (lambda: a_walk(W_query=torch.ones(2, 3)), "W_query"),
        (lambda: a_walk(W_key=torch.ones(3, 4)), "W_key"),
        (lambda: a_walk(follow="c"), "c"),
        (lambda: heads(["a", "b"], PATTERNS[0]), "layers"),
        (lambda: heads(["a", "b"], 2 * PATTERNS), "sums to 1"),
        (lambda: heads(["a", "b"], PATTERNS, follow=2), "0 to 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, word):
    with pytest.raises((ValueError, TypeError), match=word):
        draw()

"""What no model takes, no batch holds and no figure can draw is refused, with a sentence that names what was wrong."""

import numpy as np
import pytest
import torch

from labs.a_question_from_the_text.marker_query import MarkerQueryClassifier
from labs.longer_texts.language_models import PositionedModel
from labs.recap_attention.shaded_words import shaded_words
from shared import cafe, data, review_pairs, review_writer
from shared.colours import css_colour
from shared.figures import HeatMap, Matrix, product, softmax_row, weighted_sum
from shared.figures.heads import heads
from shared.figures.walk import walk
from shared.model import (
    MAX_TOKENS,
    MultiHeadSelfAttention,
    SelfAttention,
    TokenEmbedding,
    causal_mask,
    masked_softmax,
)
from shared.reviews import tokenized

FEATURES, LAST_ALONE = torch.randn(2, 5, 4), torch.zeros(5, 5, dtype=torch.bool).index_fill(1, torch.tensor(4), True)
BOTH_REAL = torch.ones(2, 2, dtype=torch.bool)
SPLIT = tokenized(["good good"], [1])
ENCODED = data.encode(SPLIT, data.build_vocabulary(SPLIT))
ONE = Matrix([[1.0]], "one")
PATTERNS = torch.rand(3, 4, 2, 2, generator=torch.Generator().manual_seed(1)).softmax(dim=-1)


def attend(**masks):
    return MultiHeadSelfAttention(4, 2)(FEATURES, **masks)


def a_cafe(*columns):
    return cafe.Cafes(*(torch.tensor([column]) for column in columns))


def a_walk(**change):
    given = {"words": ["a", "b"], "x": torch.ones(2, 3)}
    given |= dict.fromkeys(("W_query", "W_key", "W_value"), torch.ones(3, 2))
    return walk(**given | change)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: masked_softmax(torch.zeros(2, 3), torch.ones(2, 3)), "bool"),
        (lambda: masked_softmax(torch.zeros(2, 3), torch.ones(5, 2, 3, dtype=torch.bool)), "shape"),
        (lambda: masked_softmax(torch.zeros(2, 3), [[True] * 3] * 2), "mask is list"),
        (lambda: SelfAttention(4, 3)(FEATURES[0]), r"\(5, 4\); this layer takes \(batch, tokens, 4\)"),
        (lambda: SelfAttention(4, 3, 2)(FEATURES, [[True] * 5] * 2), "mask is list"),
        (
            lambda: MarkerQueryClassifier(30, 3)(torch.tensor([[3, 4], [5, 4]]), BOTH_REAL),
            "Text 1 has the marker, id 3, 0",
        ),
        (
            lambda: MarkerQueryClassifier(30, 3)(torch.tensor([[3, 4], [3, 3]]), BOTH_REAL),
            "Text 1 has the marker, id 3, 2",
        ),
        (lambda: data.plain_examples(SPLIT), "these are TokenizedReviews"),
        (lambda: PositionedModel("rotery"), "'rotery'; it accepts none, sines"),
        (lambda: review_writer.RotarySelfAttention(4, 2)(FEATURES, torch.ones(5)), "bool"),
        (lambda: TokenEmbedding(30)(torch.full((1, 3), 30)), "0 to 29"),
        (lambda: TokenEmbedding(30)(torch.zeros((1, MAX_TOKENS + 1), dtype=torch.long)), "positions"),
        (lambda: TokenEmbedding(30)(torch.zeros((1, 3))), "integers"),
        (lambda: TokenEmbedding(30)(torch.zeros((1, 3), dtype=torch.bool)), "integers"),
        (lambda: TokenEmbedding(30)(torch.zeros(3, dtype=torch.long)), r"\(batch, tokens\)"),
        (lambda: MultiHeadSelfAttention(9, 2), r"\[1, 3, 9\]"),
        (lambda: attend(mask=torch.ones(5, 2, dtype=torch.bool)), r"\(2, 5\)"),
        (lambda: attend(attention_mask=causal_mask(6)), r"\(5, 5\) or \(2, 5, 5\)"),
        (lambda: attend(attention_mask=causal_mask(5) & ~torch.eye(5, dtype=torch.bool)), "token 0"),
        (lambda: attend(mask=torch.arange(5) < torch.tensor([[5], [4]]), attention_mask=LAST_ALONE), "text 1"),
        (lambda: a_cafe([0], [0], [0]), "two guests"),
        (lambda: a_cafe([0, 1], [1, 5], [0, 0]), "Friend number 5 is not in the café"),
        (lambda: a_cafe([0, 1], [1, 1], [0, 0]), "their own friend"),
        (lambda: a_cafe([0, 1], [1, 0], [0, 6]), "from 0 to 5"),
        (lambda: a_cafe([-1, 1], [1, -1], [0, 0]), "from 0 on"),
        (lambda: a_cafe([0, 1, 1], [1, 0, 0], [0, 0, 0]), "at most once"),
        (lambda: data.load_reviews("imdb"), "yelp"),
        (lambda: tokenized(["good"], [1, 0]), "2 labels"),
        (lambda: tokenized(["good"], [2]), "row 0"),
        (lambda: tokenized(["good", None], [1, 0]), "row 1"),
        (lambda: SPLIT.select([]), "no review"),
        (lambda: next(data.batches(data.plain_examples(ENCODED), 0)), "batch_size"),
        (lambda: data.distracted_examples(ENCODED, 0), "there are 1"),
        (lambda: data.marked_pairs(ENCODED, data.build_vocabulary(SPLIT), 0), "special="),
        (lambda: review_pairs.swap_markers(data.plain_examples(ENCODED)), "a review alone"),
        (lambda: css_colour("energy"), "'energy' is no color of the course"),
        (lambda: Matrix([[1, float("nan")]], "scores"), "nan"),
        (lambda: Matrix([1, 2], "x"), "shape"),
        (lambda: Matrix([[1, 2]], "x", columns=["a"]), "1 words or labels for 2 columns"),
        (lambda: Matrix([[1, 2]], "x", columns="ab"), "one string"),
        (lambda: Matrix([[1]], "x", "energy"), "energy"),
        (lambda: Matrix(np.ones((101, 1)), "x"), "100"),
        (lambda: product(ONE, Matrix([[1], [2]], "two"), ONE), "2 rows"),
        (lambda: product(ONE, ONE, Matrix([[2]], "wrong")), "wrong"),
        (lambda: product(ONE, ONE, ONE, row=1), "no row of one"),
        (lambda: softmax_row([1, 2], [0.5, 0.5], ["a", "b"]), "softmax"),
        (lambda: weighted_sum([1.0], ONE, [2.0]), "sum"),
        (lambda: HeatMap([[0.0]], row_labels=["a", "b"], column_labels=["c"]).svg(), "2 words or labels for 1 rows"),
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
def test_what_cannot_be_computed_or_drawn_is_refused(call, word):
    with pytest.raises((ValueError, TypeError), match=word):
        call()

"""The tokens of *Longer texts*: reviews as one stream to learn from, and another, held out, for the tests."""

import json

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from shared.data import load_reviews
from shared.review_writer import START, TOKENIZER

TOKENS, TRAINING = 1024, 1_200_000  # of the vocabulary, and to learn from
LENGTH, HELD_OUT = 512, 6400  # of the tests: tokens of a window, and to predict
STEP, WINDOWS = 32, 100  # of overlapping windows


def tokenizer() -> Tokenizer:
    """That of *A language model*: the first merges of the course's byte-pair tokenizer, 1,024 tokens in all."""
    whole = json.loads(TOKENIZER.read_text("utf-8"))
    tokens = {token: number for token, number in whole["model"]["vocab"].items() if number < TOKENS}
    merges = [pair for pair in whole["model"]["merges"] if "".join(pair) in tokens]
    return Tokenizer.from_str(json.dumps(whole | {"model": whole["model"] | {"vocab": tokens, "merges": merges}}))


def load_streams(training: int = TRAINING) -> tuple[Tensor, Tensor]:
    """Reviews in random order, a start token before each: `training` ids to learn from, and those of the tests."""
    reviews, encode = load_reviews("movies", "full"), tokenizer().encode_batch

    def stream(texts: list[str], num_tokens: int) -> Tensor:
        order = np.random.default_rng(0).permutation(len(texts))[: num_tokens // 200]  # a review has more than 200
        ids = np.concatenate([[START, *text.ids] for text in encode([texts[i] for i in order])])
        return torch.from_numpy(ids[:num_tokens])

    held_out = stream(list(reviews.test.texts), HELD_OUT + LENGTH - STEP + 1)
    return stream(list(reviews.train.texts), training), held_out


def overlapping_windows(held_out: Tensor) -> Tensor:
    """A window of the tests begins every `STEP` tokens, (WINDOWS, LENGTH + 1).

    So nearly every token is predicted at each position of a window, from its beginning to its end, and the words at
    one position are as hard as those at any other.
    """
    return held_out.unfold(0, LENGTH + 1, STEP)[:WINDOWS]


def separate_windows(held_out: Tensor) -> Tensor:
    """A window begins every half window, (windows, LENGTH + 1): the second half of each predicts what no other does."""
    return held_out.unfold(0, LENGTH + 1, LENGTH // 2)

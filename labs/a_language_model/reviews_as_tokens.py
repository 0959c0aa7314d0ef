"""The reviews as subword tokens: the training stream, and texts that no model is trained on."""

import json
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from shared.review_writer import START, TOKENIZER
from shared.reviews import movie_parts, read_movies

TOKENS = 1024  # ids of the vocabulary
TRAINING, VALIDATION, TEST = 1_200_000, 300, 600  # tokens to learn from, and held-out texts
LENGTH = 256  # tokens of a held-out text, which begins with the start token


class Reviews(NamedTuple):
    """Reviews as ids: `training` (tokens,), one stream; `validation` and `test` (texts, LENGTH + 1)."""

    training: Tensor
    validation: Tensor
    test: Tensor


def tokenizer_with(num_tokens: int) -> Tokenizer:
    """The course's byte-pair tokenizer with its first merges only, so that it has `num_tokens` tokens.

    Merges are learned one after another, so the first ones are what a smaller tokenizer would have learned.
    """
    stored = json.loads(TOKENIZER.read_text("utf-8"))
    model = stored["model"]
    model["vocab"] = {token: number for token, number in model["vocab"].items() if number < num_tokens}
    model["merges"] = [pair for pair in model["merges"] if "".join(pair) in model["vocab"]]
    return Tokenizer.from_str(json.dumps(stored))


def split_reviews() -> list[list[str]]:
    """The reviews for training, validation and test, each in random order; no text is in two of them."""
    everything, labels = read_movies()
    parts: list[list[str]] = [[], [], []]
    for text, part in dict(zip(reversed(everything), movie_parts(np.array(labels))[::-1], strict=True)).items():
        parts[part].append(text)
    return [[part[i] for i in np.random.default_rng(0).permutation(len(part))] for part in parts]


def load_reviews() -> Reviews:
    """The training stream, a start token before each review, and the beginnings of held-out reviews."""
    tokenizer = tokenizer_with(TOKENS)

    def encode(reviews: list[str]) -> list[list[int]]:
        return [[START, *text.ids] for text in tokenizer.encode_batch(reviews)]

    def beginnings(reviews: list[str], count: int) -> Tensor:
        long_enough = [ids[: LENGTH + 1] for ids in encode(reviews[: 2 * count]) if len(ids) > LENGTH]
        return torch.tensor(long_enough[:count])  # (count, LENGTH + 1)

    training, validation, test = split_reviews()
    stream = np.concatenate(encode(training[:4000]))[:TRAINING]  # (TRAINING,)
    return Reviews(torch.from_numpy(stream), beginnings(validation, VALIDATION), beginnings(test, TEST))


def random_windows(stream: Tensor, count: int, context: int, generator: torch.Generator) -> Tensor:
    """Windows of `context` tokens and the one after them, (count, context + 1)."""
    starts = torch.randint(len(stream) - context, (count, 1), generator=generator)  # (count, 1)
    return stream[starts + torch.arange(context + 1)]

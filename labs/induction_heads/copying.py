"""A text shown twice: what a language model makes of the second copy, for any model with logits and patterns."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from shared.review_writer import START
from shared.reviews import movie_parts, read_movies

Read = Callable[[Tensor], tuple[Tensor, list[Tensor]]]  # ids to logits, and the weights of each block


class Twice(NamedTuple):
    """The mean loss in the first and in the second copy (2,), and each head's mean weights in the second copy,
    (blocks, heads): on the token after the earlier occurrence, and on the token before.
    """

    losses: Tensor
    after_earlier: Tensor
    one_back: Tensor


@torch.no_grad()
def shown_twice(read: Read, first: Tensor, second: Tensor, start: int = START) -> Twice:
    """Show a start token, the texts of `first` (texts, length), and those of `second`, which has the same tokens.

    The first token of a copy isn't counted: that a copy begins there can't be known.
    """
    length = first.shape[1]
    ids = torch.cat([torch.full((len(first), 1), start), first, second], dim=1)  # (texts, 1 + 2 length)
    logits, patterns = read(ids[:, :-1])  # (texts, 2 length, vocabulary); of each block (texts, heads, ...)
    losses = cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none").mean(dim=0)  # (2 length,)
    queries = torch.arange(length + 1, 2 * length)  # the second copy, all but its last token
    after_earlier, one_back = (
        torch.stack([weights[:, :, queries, queries - back].mean(dim=(0, 2)) for weights in patterns])
        for back in (length - 1, 1)
    )
    return Twice(losses.view(2, length)[:, 1:].mean(dim=1), after_earlier, one_back)


def held_out_reviews(tokenizer, length: int, count: int = 200) -> Tensor:
    """The first tokens of held-out reviews, of which `count` are tried, (texts, length); shorter ones are left out."""
    texts, labels = read_movies()
    part_of = dict(zip(reversed(texts), movie_parts(np.array(labels))[::-1], strict=True))
    held_out = [text for text, part in part_of.items() if part == 2][:count]
    encoded = [text.ids for text in tokenizer.encode_batch(held_out)]
    return torch.tensor([ids[:length] for ids in encoded if len(ids) >= length])


def load_gpt2():
    """GPT-2 small from Hugging Face, 550 MB; None, after a sentence, where it can't be loaded."""
    from transformers import GPT2LMHeadModel

    try:
        return GPT2LMHeadModel.from_pretrained("openai-community/gpt2", attn_implementation="eager").eval()
    except OSError as error:
        print(error)
        return None


def reader_of(model) -> Read:
    """`read` for a model of the package `transformers`."""

    def read(ids: Tensor) -> tuple[Tensor, list[Tensor]]:
        output = model(ids, output_attentions=True)
        return output.logits, list(output.attentions)

    return read

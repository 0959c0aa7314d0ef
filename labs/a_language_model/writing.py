"""Writing with a language model, token by token."""

from collections.abc import Callable

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from shared.review_writer import START


@torch.no_grad()
def write(
    model: nn.Module,
    tokenizer: Tokenizer,
    beginning: str,
    probs_of: Callable[[Tensor], Tensor],
    context: int = 128,
    num_tokens: int = 40,
    seed: int = 0,
) -> str:
    """The beginning and what the model writes after it, until it ends the review or has written `num_tokens` tokens.

    Args:
        probs_of: the probabilities to draw the next token from, (vocabulary,), for the logits (vocabulary,).
        context: how many of the last tokens the model sees.
    """
    generator = torch.Generator().manual_seed(seed)
    ids = [START, *tokenizer.encode(beginning).ids]
    for _ in range(num_tokens):
        logits = model(torch.tensor([ids[-context:]]))[0, -1]  # (vocabulary,)
        token = int(torch.multinomial(probs_of(logits), 1, generator=generator))
        if token == START:
            break
        ids.append(token)
    return tokenizer.decode(ids[1:])

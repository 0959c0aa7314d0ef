"""Errors for what layers cannot take: masks, ids and inputs of a wrong kind or shape.

`shared.model` calls these first, so that its layers can be read without them.
"""

import torch
from torch import Tensor


def check_mask(mask: Tensor, shape: torch.Size) -> None:
    """Raise a sentence unless `mask` is a bool tensor that broadcasts to `shape`."""
    _check_bool(mask, "mask", "True where a token may be attended to")
    try:
        mask.expand(shape)
    except RuntimeError as error:
        raise ValueError(
            f"The mask has shape {tuple(mask.shape)}; it must broadcast to {tuple(shape)}."
        ) from error


def check_ids(ids: Tensor, vocabulary_size: int, max_tokens: int) -> None:
    """Raise a sentence unless `ids` are integers (batch, tokens), known and not too many.

    Raises:
        ValueError: more than `max_tokens` tokens, or an id outside the vocabulary.
        TypeError: ids are not integers (batch, tokens).
    """
    if ids.is_floating_point() or ids.dtype == torch.bool or ids.dim() != 2:
        raise TypeError(
            f"ids are {ids.dtype} of shape {tuple(ids.shape)}; give integers, (batch, tokens)."
        )
    if ids.shape[1] > max_tokens:
        raise ValueError(
            f"A sequence holds {ids.shape[1]} tokens; there are positions for {max_tokens}. "
            "Truncate it first."
        )
    # On a GPU this would make the processor wait at every step; `batch_rows` checks there.
    if ids.device.type == "cpu" and ids.numel():
        low, high = ids.min().item(), ids.max().item()
        if low < 0 or high >= vocabulary_size:
            raise ValueError(
                f"ids run from {low} to {high}; the vocabulary has ids 0 to {vocabulary_size - 1}. "
                "Encode the text with the vocabulary of the model."
            )


def check_inputs(
    x: Tensor, d_model: int, mask: Tensor | None = None, attention_mask: Tensor | None = None
) -> None:
    """Raise a sentence unless x and the masks are what self-attention takes.

    Raises:
        TypeError: a mask is not bool.
        ValueError: x or a mask has a wrong shape, or the attention mask leaves a real token nothing
            to attend to.
    """
    if x.dim() != 3 or x.shape[2] != d_model:
        raise ValueError(
            f"x has shape {tuple(x.shape)}; this layer takes (batch, tokens, {d_model}). For a "
            "single text, add a batch axis: x[None]."
        )
    batch, tokens, _ = x.shape
    if mask is not None:
        _check_bool(mask, "mask", "True for a real token")
        _check_shape(mask, "mask", (batch, tokens))
    if attention_mask is None:
        return
    _check_bool(attention_mask, "attention_mask", "True where a token may attend")
    _check_shape(attention_mask, "attention_mask", (tokens, tokens), (batch, tokens, tokens))
    blind = ~attention_mask.expand(batch, tokens, tokens).any(dim=2)  # (batch, tokens)
    if mask is not None:  # what a padded token attends to does not matter
        blind = mask & ~(attention_mask & mask[:, None, :]).any(dim=2)
    if blind.any():
        text, token = blind.nonzero()[0].tolist()
        raise ValueError(
            f"The attention_mask leaves token {token} of text {text} nothing to attend to, so its "
            "weights cannot sum to 1. Let every token attend to at least one real token, for "
            "instance to itself."
        )


def _check_bool(mask: Tensor, name: str, meaning: str) -> None:
    """Raise a sentence unless `mask` is a bool tensor."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(
            f"The {name} is {kind}; it must be a torch.bool tensor, {meaning}. "
            f"Try {name} = {name} > 0."
        )


def _check_shape(mask: Tensor, name: str, *shapes: tuple[int, ...]) -> None:
    """Raise a sentence unless `mask` has one of the shapes."""
    if mask.shape not in shapes:
        accepted = " or ".join(map(str, shapes))
        raise ValueError(
            f"The {name} has shape {tuple(mask.shape)}; for this x it must be {accepted}."
        )

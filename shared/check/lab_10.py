"""The checks of lab 10: who may look at whom, and the loss of a language model."""

import math  # noqa: F401 - a mistake below is in bits

import torch
import torch.nn.functional as F

from .attention import real_tokens
from .exercise import Case, Exercise, draw
from .mistakes import edits

WRITING = "Lab 10, “Writing instead of reading”"


# --- 10.1 ---
def allowed_places(mask):
    """True where a token may look, (batch, tokens that ask, tokens that are asked)."""
    num_tokens = mask.shape[1]
    causal = torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril()  # (tokens, tokens)
    return causal & mask[:, None, :]  # (tokens, tokens) & (batch, 1, tokens)


def places_by_loops(mask):
    places = range(mask.shape[1])
    return torch.tensor([[[bool(row[j]) and j <= i for j in places] for i in places] for row in mask])


BOTH = "causal & mask[:, None, :]"

allowed_places = Exercise(
    allowed_places,
    cases=[
        Case({"mask": torch.tensor(rows, dtype=torch.bool)})
        for rows in (
            [[1, 1, 0], [0, 1, 1], [1, 1, 1]],
            [[1, 1, 1, 1, 0], [0, 0, 1, 1, 1]],
            [[1, 1, 0, 1]],
            [[0, 0], [1, 0], [0, 1]],
            [[1], [0]],
        )
    ],
    truth=places_by_loops,
    tried="padding at the end, at the beginning and in the middle, a text that is nothing else, and texts of one token",
    see=WRITING,
    mistakes=edits(f"""
        looks ahead: .tril() => .triu() || .triu(1)
        the next word seen: .tril() => .tril(1)
        itself forbidden: .tril() => .tril(-1)
        order forgotten: {BOTH} => mask[:, None, :].expand(-1, num_tokens, -1) || mask[:, None, :] || .tril() => ||
            causal & => mask & || mask[:, :, None] &
        either in place of both: & => |
        True where hidden: {BOTH} => ~({BOTH})
        Lab 8, “What a mask hides”
        no mask [triangle]: {BOTH} => causal.expand(len(mask), -1, -1) || causal || causal & causal[:, None, :]
        the mask on those who ask: mask[:, None, :] => mask[:, :, None]
        padding on both sides: {BOTH} => {BOTH} & mask[:, :, None]
        the mask the wrong way round: & mask => & ~mask
        the axis of the mask is lost [triangle]: mask[:, None, :] => mask || mask[None]
    """),
)


# --- 10.2 ---
def next_word_loss(scores, ids):
    """The average surprise at the next word, a tensor without axes."""
    said = scores[:, :-1].flatten(0, 1)  # (batch * (tokens - 1), known_words)
    came = ids[:, 1:].flatten()  # (batch * (tokens - 1),)
    return F.cross_entropy(said, came, ignore_index=0)


def mean_surprise(scores, ids):
    """Place by place, by logarithms of shares."""
    places = [(text, place) for text, words in enumerate(ids) for place, word in enumerate(words[1:]) if word]
    return -sum(scores[text, place].softmax(0)[ids[text, place + 1]].log() for text, place in places) / len(places)


def read_and_said(batch: int, tokens: int, known_words: int, lengths: list[int], seed: int = 0) -> Case:
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, known_words, (batch, tokens), generator=random)
    return Case({"scores": draw(batch, tokens, known_words), "ids": ids * real_tokens(lengths)})


SAID, CAME = "scores[:, :-1].flatten(0, 1)", "ids[:, 1:].flatten()"
LOSS = "F.cross_entropy(said, came, ignore_index=0)"
EACH = 'F.cross_entropy(said, came, ignore_index=0, reduction="none")'

next_word_loss = Exercise(
    next_word_loss,
    cases=[
        read_and_said(3, 6, 5, [6, 2, 4]),
        read_and_said(2, 6, 9, [6, 3]),
        read_and_said(4, 3, 7, [3, 2, 3, 2], seed=1),
    ],
    truth=mean_surprise,
    learns=("scores",),
    tried="three batches of texts of different lengths, one of them with as many places to judge as known words, and "
    "with the gradient",
    see=WRITING,
    mistakes=edits(f"""
        not shifted: [:, :-1] => && [:, 1:] =>
        shifted the wrong way: {SAID} => scores[:, 1:].flatten(0, 1) && {CAME} => ids[:, :-1].flatten()
        shifted in a ring: [:, :-1] => && ids[:, 1:] => ids.roll(-1, 1) || [:, :-1] => && ids[:, 1:] => ids.roll(-1)
        shifted after flattening: {SAID} => scores.flatten(0, 1)[:-1] && {CAME} => ids.flatten()[1:]
        only one of the two cut: [:, :-1] => || [:, 1:] => || [:, :-1] => [:, :-2] || [:, 1:] => [:, 2:]
        only one of the two flattened: .flatten(0, 1) => || .flatten() =>
        words and scores exchanged: (said, came => (came, said
        texts cut in place of places: scores[:, :-1] => scores[:-1] || ids[:, 1:] => ids[1:] ||
            scores[:, :-1] => scores[:-1] && ids[:, 1:] => ids[1:]
        both cut at the same end: [:, :-1] => [:, 1:] || [:, 1:] => [:, :-1]
        padding left in the mean [loss]: , ignore_index=0 =>
        divided by all places [loss]: {LOSS} => {EACH}.mean() || {EACH}.sum() / ids.numel()
        softmax once more [loss]: (said => (said.softmax(dim=-1)
        not divided [loss]: {LOSS} => {EACH}.sum()
        mean of the texts' means: {LOSS} => ({EACH}.view(len(ids), -1).sum(dim=1) / (ids[:, 1:] != 0).sum(dim=1)).mean()
        words' axis last: .flatten(0, 1) => && .flatten() =>
        axes mixed by a reshape: {SAID} => scores[:, :-1].reshape(len(ids), scores.shape[2], -1) && {CAME} => ids[:, 1:]
        the sign turned round [loss]: {LOSS} => -{LOSS}
        perplexity in place of surprise: {LOSS} => {LOSS}.exp()
        bits in place of nats: {LOSS} => {LOSS} / math.log(2)
        not averaged: {LOSS} => {EACH} || {SAID} => scores[:, :-1].transpose(1, 2) && .flatten() => && {LOSS} => {EACH}
        last word only: [:, :-1] => [:, -2:-1] && [:, 1:] => [:, -1:]
        first text only: {SAID} => scores[0, :-1] && {CAME} => ids[0, 1:]
        another word taken for padding: ignore_index=0 => ignore_index=1
    """),
)

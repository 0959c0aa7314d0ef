"""The checks of lab 10: the language model, who may look at whom, its loss, and what its context is worth."""

import math

import torch
import torch.nn.functional as F

from ..language_model import LanguageModel
from ..training import mean_and_interval
from .attention import real_tokens
from .exercise import Case, Exercise, draw
from .experiment import asked, by_sums
from .lab_09 import by_pytorch
from .mistakes import Wrong, edits

WRITING = "Lab 10, “Writing instead of reading”"


# --- 10.1 ---
def by_pytorchs_layers(ids, features, blocks, norm, output):
    read = features(ids)  # (batch, tokens, dim)
    allowed = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
    for block in blocks:
        parts = block.attention, block.attention_norm, block.feed_forward, block.feed_forward_norm
        read = by_pytorch(read, *parts, attention_mask=allowed, norm_first=True)
    return output(F.layer_norm(read, read.shape[2:], norm.weight, norm.bias, norm.eps))


def without_its_mask(answer, run):
    model = run(lambda: answer(11, causal=False, dim=8, num_heads=2, num_blocks=3).eval())
    if len(model.blocks) != 3:
        raise Wrong("num_blocks is not used")
    if len(set(model.blocks)) != 3:
        raise Wrong("one block for all")
    if model.blocks[0].attention.num_heads != 2:
        raise Wrong("num_heads is not used", see=MODEL)
    plain = run(lambda: answer(11))
    block, wanted = plain.blocks[0], {"features": 64, "heads": 4, "blocks": 2, "hidden": 128, "scores": 11}
    have = plain.norm.normalized_shape[0], block.attention.num_heads, len(plain.blocks)
    have = dict(zip(wanted, (*have, block.feed_forward[0].out_features, plain.output.out_features), strict=True))
    if have != wanted or not plain.causal:
        raise Wrong("other sizes", have=have, wanted=wanted)
    if any(part.p for part in plain.modules() if isinstance(part, torch.nn.Dropout)):
        raise Wrong("dropout is left in", see=MODEL)
    if not 0.4 < plain.features.embedding.weight.std() < 0.6:
        raise Wrong("embeddings of another size", see=MODEL)
    one, other = torch.tensor([[3, 4, 5]]), torch.tensor([[3, 4, 6]])
    if torch.equal(run(model, one)[0, 0], run(model, other)[0, 0]):
        raise Wrong("causal is not used")


def ids_of(batch: int, tokens: int, *sizes: int) -> Case:
    random = torch.Generator().manual_seed(tokens)
    return Case({"ids": torch.randint(sizes[0], (batch, tokens), generator=random)}, sizes=sizes)


MODEL = "Lab 10, “Exercise 10.1 (build): the model”"
MASK = "causal_mask(ids.shape[1], ids.device) if self.causal else None"

language_model = Exercise(
    LanguageModel,
    name="language_model",
    cases=[ids_of(2, 5, 7, True, 8, 2, 2), ids_of(3, 1, 9, True, 4, 1, 1), ids_of(1, 6, 12, True, 6, 3, 3)],
    truth=by_pytorchs_layers,
    parts=("features", "blocks", "norm", "output"),
    also=without_its_mask,
    tried="three batches, with one to three blocks, against PyTorch's own layers with the same weights",
    see=WRITING,
    mistakes=edits(f"""
        order forgotten [places]: {MASK} => None
        looks ahead [places]: {MASK} => causal_mask(ids.shape[1]).T
        the next word seen: {MASK} => causal_mask(ids.shape[1] + 1)[1:, :-1]
        the first block alone masked: (features, attention_mask=attention_mask) => (features,
            attention_mask=attention_mask if block is self.blocks[0] else None)
        a block left out: in self.blocks => in self.blocks[:-1] || in self.blocks => in self.blocks[1:]
        the first features in each block: block(features, => block(self.features(ids),
        no norm at the end: self.output(self.norm(features)) => self.output(features)
        the norm after each block: attention_mask=attention_mask) =>
            attention_mask=attention_mask); features = self.norm(features) &&
            self.output(self.norm(features)) => self.output(features)
        the norm before the blocks: self.features(ids) => self.norm(self.features(ids)) &&
            self.output(self.norm(features)) => self.output(features)
        the features once more: self.norm(features) => self.norm(features + self.features(ids))
        a softmax in place of the scores: return self.output(self.norm(features)) =>
            return self.output(self.norm(features)).softmax(dim=-1) ||
            return self.output(self.norm(features)).log_softmax(dim=-1)
        the last place alone: return self.output(self.norm(features)) => return self.output(self.norm(features))[:, -1]
        one row of scores for a text: self.norm(features) => self.norm(features.mean(dim=1))
        weights in place of the features: features, _ => _, features
        {MODEL}
        norm after each part: norm_first=True => norm_first=False
        pair not taken apart [model]: features, _ = => features =
    """),
)


# --- 10.3 ---
def allowed_places(mask, reach):
    """True where a token may look, (batch, tokens that ask, tokens that are asked)."""
    places = torch.arange(mask.shape[1])
    back = places[:, None] - places  # (tokens, tokens), how far behind row i column j stands
    return (back >= 0) & (back < reach) & mask[:, None, :]  # (tokens, tokens) & (batch, 1, tokens)


def places_by_loops(mask, reach):
    places = range(mask.shape[1])
    return torch.tensor([[[bool(row[j]) and i - reach < j <= i for j in places] for i in places] for row in mask])


ALLOWED, NEAR = "(back >= 0) & (back < reach) & mask[:, None, :]", "(back >= 0) & (back < reach)"

allowed_places = Exercise(
    allowed_places,
    cases=[
        Case({"mask": torch.tensor(rows, dtype=torch.bool), "reach": reach})
        for rows, reach in (
            ([[1, 1, 0], [0, 1, 1], [1, 1, 1]], 2),
            ([[1, 1, 1, 1, 0], [0, 0, 1, 1, 1]], 3),
            ([[1, 1, 0, 1, 1, 0, 1]], 4),
            ([[0, 0], [1, 0], [0, 1]], 5),
            ([[1, 1, 1], [0, 1, 0]], 1),
            ([[1], [0]], 1),
        )
    ],
    truth=places_by_loops,
    tried="padding at the end, at the beginning and in the middle, a text that is nothing else, texts of one token, "
    "and windows of one place to more than there are",
    see="Lab 10, “Exercise 10.3: who may look at whom”",
    mistakes=edits(f"""
        no window: {NEAR} => (back >= 0)
        looks ahead: places[:, None] - places => places - places[:, None] || {NEAR} => (back <= 0)
        the next word seen: back >= 0 => back >= -1
        itself forbidden: back >= 0 => back > 0 || back >= 0 => back > 0 && back < reach => back <= reach
        one place too far: back < reach => back <= reach
        one place too few: back < reach => back < reach - 1
        the places taken for distances: back < reach => places < reach || places[:, None] - places => places[:, None]
        only outside the window: back < reach => back >= reach || back > reach
        the window counts real tokens: => places, real = torch.arange(mask.shape[1]), mask.cumsum(dim=1)
            near = real[:, :, None] - real[:, None, :] < reach
            return (places[:, None] >= places) & near & mask[:, None, :]
        order forgotten: {ALLOWED} => mask[:, None, :].expand(-1, len(places), -1) || mask[:, None, :] ||
            {NEAR} => (back.abs() < reach) || {NEAR} => (back < reach)
        either in place of both: reach) & mask => reach) | mask || 0) & (back => 0) | (back
        True where hidden: {ALLOWED} => ~({ALLOWED})
        Lab 8, “What a mask hides”
        no mask [triangle]: {ALLOWED} => ({NEAR}).expand(len(mask), -1, -1) || {NEAR}
        the mask on those who ask: mask[:, None, :] => mask[:, :, None]
        padding on both sides: {ALLOWED} => {ALLOWED} & mask[:, :, None]
        padding sees itself: {ALLOWED} => {ALLOWED} | (back == 0)
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
        more than one fault is left [loss]: {SAID} => scores.flatten(0, 1)[:-1] && {CAME} => ids.flatten()[1:] &&
            , ignore_index=0 =>
        not shifted: [:, :-1] => && [:, 1:] => || [:, :-1] => && [:, 1:] => && ignore_index=0 => ignore_index=1 ||
            [:, :-1] => && [:, 1:] => && , ignore_index=0 =>
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
        the first words counted: {LOSS} => {EACH}.sum() / (ids != 0).sum()
        divided by all places [loss]: {LOSS} => {EACH}.mean() || {EACH}.sum() / ids.numel()
        softmax once more [loss]: (said => (said.softmax(dim=-1)
        not divided [loss]: {LOSS} => {EACH}.sum()
        no logarithm: {LOSS} => F.nll_loss(said.softmax(dim=-1), came, ignore_index=0)
        no softmax [loss]: {LOSS} => F.nll_loss(said, came, ignore_index=0)
        left out where padding is read: came = {CAME} => real = ids[:, :-1].flatten() != 0; came = {CAME} &&
            {LOSS} => (F.cross_entropy(said, came, reduction="none") * real).sum() / real.sum()
        mean of the places' means: {LOSS} => sum(F.cross_entropy(scores[:, t - 1], ids[:, t], ignore_index=0)
            for t in range(1, ids.shape[1])) / (ids.shape[1] - 1)
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


# --- 10.4 ---
def worth_of_context(surprises_at, pieces, near):
    """How much the surprise rises without the order of all but the `near` last words: mean, half of the interval."""
    far, last = pieces[:, :-near], pieces[:, -near:]  # (texts, words - near), (texts, near)
    order = torch.randperm(far.shape[1])
    shuffled = torch.cat([far[:, order], last], dim=1)  # (texts, words)
    return mean_and_interval(surprises_at(shuffled) - surprises_at(pieces))


def reader(near: int, words: int, sign: float = 1.0):
    """A model of which it is known what it minds. The word at place p of text t has the number 100 t + 7 p % words."""

    def surprises_at(pieces: torch.Tensor) -> torch.Tensor:
        text = torch.arange(len(pieces), dtype=torch.get_default_dtype())
        as_it_was = 100 * torch.arange(len(pieces))[:, None] + 7 * torch.arange(words) % words
        surprise = 5 + 2 * torch.sin(3 * text) + sign * (near + torch.cos(text)) / 9  # without the order
        if pieces.shape != as_it_was.shape:
            return surprise + 0.3 * torch.sin(text) + 3
        if (pieces[:, -near:] != as_it_was[:, -near:]).any():
            surprise = surprise + 0.3 * torch.sin(5 * text) + 1
            if (pieces[:, :near] == as_it_was[:, :near]).all():
                surprise = surprise + 0.3 * torch.sin(11 * text)
        if (pieces.sort(dim=1).values != as_it_was.sort(dim=1).values).any():
            surprise = surprise + 0.3 * torch.sin(7 * text) + 2
        if (pieces[:, :-near] == as_it_was[:, :-near]).all():
            surprise = surprise - sign * (near + torch.cos(text)) / 9
        if (pieces[:, :-near] == as_it_was[:, :-near].flip(1)).all():
            surprise = surprise - sign * torch.sin(text) / 9
        return surprise

    surprises_at.sign = sign
    return surprises_at


def of_texts(texts: int, words: int, near: int, sign: float = 1.0) -> Case:
    pieces = 100 * torch.arange(texts)[:, None] + 7 * torch.arange(words) % words  # (texts, words)
    return Case({"surprises_at": reader(near, words, sign), "pieces": pieces, "near": near})


SHUFFLED, GAIN = "torch.cat([far[:, order], last], dim=1)", "surprises_at(shuffled) - surprises_at(pieces)"

worth_of_context = Exercise(
    worth_of_context,
    cases=[of_texts(9, 30, 4), of_texts(6, 40, 1, -1.0), of_texts(9, 26, 8)],
    truth=lambda surprises_at, pieces, near: by_sums(
        [surprises_at.sign * (near + math.cos(text)) / 9 for text in range(len(pieces))]
    ),
    tried="two models of which it is known what the order is worth to them, with 1, 4 and 8 words left in their places",
    see="Lab 10, “What the context is worth”",
    mistakes=edits(f"""
        nothing is shuffled: far[:, order] => far
        the sign turned round [order]: {GAIN} => surprises_at(pieces) - surprises_at(shuffled)
        added in place of subtracted [changes]: (shuffled) - => (shuffled) +
        not a difference [order]: {GAIN} => surprises_at(shuffled) || {GAIN} => surprises_at(pieces)
        all words shuffled: {SHUFFLED} => pieces[:, torch.randperm(pieces.shape[1])]
        the last words shuffled: {SHUFFLED} => torch.cat([far, last.flip(1)], dim=1)
        texts shuffled in place of words: {SHUFFLED} => pieces.roll(1, dims=0) ||
            far[:, order] => far.roll(1, dims=0)
        turned back to front: far[:, order] => far.flip(1)
        words cut off: {SHUFFLED} => last || far[:, order] => far[:, order[1:]]
        the first words left in their places: [:, :-near], pieces[:, -near:] => [:, near:], pieces[:, :near] &&
            [far[:, order], last] => [last, far[:, order]]
    """)
    + asked(GAIN, apart=("surprises_at(shuffled)", "surprises_at(pieces)"), of=" [words]"),
)

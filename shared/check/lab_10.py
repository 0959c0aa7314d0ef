"""The checks of lab 10: the language model, who may look at whom, its loss, and what its context is worth."""

import math  # noqa: F401 - a mistake below is in bits

import torch
import torch.nn.functional as F

from ..language_model import LanguageModel
from ..training import mean_and_interval
from .attention import real_tokens
from .exercise import Case, Exercise, draw
from .lab_09 import by_pytorch
from .mistakes import Wrong, edits

WRITING = "Lab 10, “Writing instead of reading”"


# --- 10.1 ---
def by_pytorchs_layers(ids, features, blocks, norm, output):
    read = features(ids)  # (batch, tokens, dim)
    allowed = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
    for block in blocks:
        parts = block.attention, block.attention_norm, block.feed_forward, block.feed_forward_norm
        read = by_pytorch(True, read, *parts, None, allowed)
    return output(F.layer_norm(read, read.shape[2:], norm.weight, norm.bias, norm.eps))


def without_its_mask(answer, run):
    model = run(lambda: answer(11, causal=False, dim=8, num_heads=2, num_blocks=3).eval())
    if len(model.blocks) != 3:
        raise Wrong("num_blocks is not used")
    if model.blocks[0].attention.num_heads != 2:
        raise Wrong("num_heads is not used", see=MODEL)
    plain = run(lambda: answer(11))
    block, wanted = plain.blocks[0], {"features": 64, "heads": 4, "blocks": 2, "hidden": 128, "scores": 11}
    have = plain.norm.normalized_shape[0], block.attention.num_heads, len(plain.blocks)
    have = dict(zip(wanted, (*have, block.feed_forward[0].out_features, plain.output.out_features), strict=True))
    if have != wanted or not plain.causal:
        raise Wrong("other sizes", have=have, wanted=wanted)
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
        no causal mask: {MASK} => None
        the causal mask turned round: {MASK} => causal_mask(ids.shape[1]).T
        the first block alone masked: (features, attention_mask=attention_mask) => (features,
            attention_mask=attention_mask if block is self.blocks[0] else None)
        a block left out: in self.blocks => in self.blocks[:-1] || in self.blocks => in self.blocks[1:]
        the first features in each block: block(features, => block(self.features(ids),
        no norm at the end: self.output(self.norm(features)) => self.output(features)
        the norm before the blocks: self.features(ids) => self.norm(self.features(ids)) &&
            self.output(self.norm(features)) => self.output(features)
        the features once more: self.norm(features) => self.norm(features + self.features(ids))
        a softmax in place of the scores: return self.output(self.norm(features)) =>
            return self.output(self.norm(features)).softmax(dim=-1)
        the last place alone: return self.output(self.norm(features)) => return self.output(self.norm(features))[:, -1]
        one row of scores for a text: self.norm(features) => self.norm(features.mean(dim=1))
        weights in place of the features: features, _ => _, features
        pair not taken apart [model]: features, _ = => features =
    """),
)


# --- 10.2 ---
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


# --- 10.3 ---
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


# --- 10.4 ---
def worth_of_context(surprises_with, lengths):
    """Length -> mean and half of the interval of what it gains over the length before it."""
    worth, before = {}, surprises_with(lengths[0])
    for length in lengths[1:]:
        after = surprises_with(length)
        worth[length] = mean_and_interval(before - after)
        before = after
    return worth


def planted(length: int) -> torch.Tensor:
    """Surprises at nine words: words differ much, and each gains a little by each word more before it."""
    word = torch.arange(9, dtype=torch.float64)
    return 5 + 2 * torch.sin(3 * word) - 0.1 * length**0.5 + 0.05 * torch.cos(word * (1 + length))


def known_worth(surprises_with, lengths):
    rows = []
    for one, other in zip(lengths, lengths[1:], strict=False):
        gains = [(a - b).item() for a, b in zip(planted(one), planted(other), strict=True)]
        mean = sum(gains) / 9
        spread = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / 8)
        rows.append([mean, 2.3060041 * spread / 3])  # Student's t for 8 degrees of freedom
    return torch.tensor(rows)


def by_length(given, surprises_with, lengths):
    """The pairs of a dict in the order of the lengths."""
    if not isinstance(given, dict) or set(given) != set(lengths[1:]):
        raise Wrong("no dict of the lengths", lengths=lengths[1:])
    return torch.tensor([[float(number) for number in given[length]] for length in lengths[1:]])


GAIN = "mean_and_interval(before - after)"

worth_of_context = Exercise(
    worth_of_context,
    cases=[
        Case({"surprises_with": planted, "lengths": [1, 4, 16]}),
        Case({"surprises_with": planted, "lengths": [2, 3]}),
        Case({"surprises_with": planted, "lengths": [1, 2, 8, 64]}),
    ],
    truth=known_worth,
    view=by_length,
    tried="a model of which it is known what each word before is worth, with two to four lengths",
    see="Lab 10, “What the context is worth”",
    mistakes=edits(f"""
        the sign turned round [surprise]: before - after => after - before
        not a difference [surprise]: (before - after) => (after) || (before - after) => (before)
        compared with the first: before = after => pass
        compared with the last: => last = surprises_with(lengths[-1])
            pairs = zip(lengths[1:], lengths[:-1])
            return {{length: mean_and_interval(surprises_with(before) - last) for length, before in pairs}}
        words not paired: before - after => before - after.roll(1) || before - after => before.flip(0) - after ||
            before - after => before[:, None] - after
        a length left out: worth[length] = {GAIN} => worth[length] = (0.0, 0.0)
        the standard error in place of the interval: {GAIN} => ((before - after).mean(), (before - after).std() / 3)
        the spread in place of the interval: {GAIN} => ((before - after).mean(), (before - after).std())
        the whole width of the interval: {GAIN} => ({GAIN}[0], 2 * {GAIN}[1])
        mean and half exchanged: {GAIN} => {GAIN}[::-1]
        two intervals subtracted [words]: {GAIN} => ((before - after).mean(),
            mean_and_interval(before)[1] - mean_and_interval(after)[1]) ||
            {GAIN} => ((before - after).mean(), mean_and_interval(before)[1] + mean_and_interval(after)[1])
        divided by the words: {GAIN} => mean_and_interval((before - after) / length)
    """),
)

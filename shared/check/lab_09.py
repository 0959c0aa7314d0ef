"""The checks of lab 9: the block, layer normalisation, the first Transformer's block, a stack that stands still."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from ..model import MultiHeadSelfAttention
from ..training import mean_and_interval
from .attention import family, real_tokens, texts
from .exercise import Case, Exercise, draw
from .experiment import asked, by_sums, known_run, over_seeds
from .mistakes import Mistake, Wrong, edits

BLOCK = "Lab 9, “The block”"


# --- 9.1 ---
class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, hidden_dim, dropout=0.1):
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.attention_norm = nn.LayerNorm(embed_dim)
        self.feed_forward = nn.Sequential(
            nn.Linear(embed_dim, hidden_dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden_dim, embed_dim)
        )
        self.feed_forward_norm = nn.LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)

    def add(self, features, change):
        return features + self.dropout(change)  # (batch, tokens, embed_dim)

    def forward(self, features, mask=None, attention_mask=None):
        attended, weights = self.attention(self.attention_norm(features), mask, attention_mask)
        features = self.add(features, attended)  # (batch, tokens, embed_dim)
        thought = self.feed_forward(self.feed_forward_norm(features))  # (batch, tokens, embed_dim)
        return self.add(features, thought), weights


def by_pytorch(
    features, attention, attention_norm, feed_forward, feed_forward_norm, mask=None, attention_mask=None, **more
):
    """PyTorch's own layer with the same weights, a text at a time; what a padded place gives is nobody's business."""
    ends = [feed_forward[place] for place in (0, -1)] if isinstance(feed_forward, nn.Sequential) else [None]
    if not all(isinstance(end, nn.Linear) and end.bias is not None for end in ends):
        raise Wrong("no linear map at the ends")
    width, (first, last) = features.shape[2], ends
    made_for = {attention.W_query.in_features, first.in_features, last.out_features}
    if made_for != {width} or first.out_features != last.in_features:
        raise Wrong("wrong width [block]", width=width)
    sizes = {"d_model": width, "nhead": attention.num_heads, "dim_feedforward": first.out_features}
    sizes |= {"dropout": 0.0, "batch_first": True, "layer_norm_eps": attention_norm.eps, **more}
    theirs = nn.TransformerEncoderLayer(**sizes, dtype=features.dtype).eval()
    maps = attention.W_query, attention.W_key, attention.W_value
    parts = {"self_attn.out_proj": attention.W_output, "norm1": attention_norm, "norm2": feed_forward_norm}
    parts |= {"linear1": first, "linear2": last}
    weights = {f"{part}.{name}": value for part in parts for name, value in parts[part].state_dict().items()}
    weights["self_attn.in_proj_weight"] = torch.cat([linear.weight for linear in maps])
    weights["self_attn.in_proj_bias"] = torch.cat([linear.bias for linear in maps])
    theirs.load_state_dict(weights)
    output = torch.full_like(features, math.nan)
    for text, tokens in enumerate(features):  # its own mask would make PyTorch import for seconds
        real = torch.arange(len(tokens)) if mask is None else mask[text].nonzero().flatten()
        hidden = None if attention_mask is None else ~attention_mask[real][:, real]  # there a True means: do not look
        output[text, real] = theirs(tokens[real][None], src_mask=hidden)[0]
    return output


def block_and_weights(features, attention, attention_norm, mask=None, attention_mask=None, **more):
    masks = {"mask": mask, "attention_mask": attention_mask}
    output = by_pytorch(features, attention, attention_norm, norm_first=True, **masks, **more)
    normed = F.layer_norm(features, features.shape[2:], attention_norm.weight, attention_norm.bias)
    return output, weights_of_real(attention(normed, mask, attention_mask)[1], mask)


def weights_of_real(weights, mask):
    """Weights (batch, num_heads, tokens, tokens), with NaN where padding asks."""
    return weights if mask is None else weights.masked_fill(~mask[:, None, :, None], math.nan)


def takes_its_sizes(answer, run, *more, see=BLOCK):
    """A block made with sizes that it has, and `more`."""
    made = run(answer, 8, 4, 20, *more)
    if made.attention.num_heads != 4:
        raise Wrong("num_heads is not used", see=see)
    if made.feed_forward[0].out_features != 20:
        raise Wrong("hidden_dim is not used", see=see)
    return made


def sizes_dropout_and_sums(answer, run):
    takes_its_sizes(answer, run)
    plain, dropped = run(lambda: answer(8, 4, 20).eval()), run(lambda: answer(8, 4, 20, 1.0).train())
    features = draw(1, 6, 8).to(plain.attention_norm.weight.dtype)
    if not torch.equal(run(dropped, features)[0], features):
        raise Wrong("dropout is not used", see=BLOCK)
    if not torch.equal(run(dropped.feed_forward, features), dropped.feed_forward[-1].bias.expand_as(features)):
        raise Wrong("no dropout inside the feed-forward layer", see=BLOCK)
    plain.add = lambda features, change: change
    thought = plain.feed_forward(plain.feed_forward_norm(plain.attention(plain.attention_norm(features))[0]))
    if not torch.allclose(run(plain, features)[0], thought):
        raise Wrong("the sums are not made by `add`", see=BLOCK)
    if any(part.p != 0.1 for part in plain.modules() if isinstance(part, nn.Dropout)):
        raise Wrong("another dropout by default", see=BLOCK)


IN, SUM_1 = "self.attention(self.attention_norm(features), mask, attention_mask)", "self.add(features, attended)"
THOUGHT, SUM_2 = "self.feed_forward(self.feed_forward_norm(features))", "self.add(features, thought)"

transformer_block = Exercise(
    TransformerBlock,
    name="transformer_block",
    cases=[
        texts((6, 2, 12), real_tokens([4, 2])),
        Case({"features": draw(1, 3, 4)}, sizes=(4, 4, 4)),
        texts((8, 1, 10), real_tokens([1, 5, 3], padding_first=True)),
        Case(
            {"features": draw(2, 4, 4, seed=1), "mask": None, "attention_mask": torch.ones(4, 4).tril().bool()},
            sizes=(4, 2, 7),
        ),
    ],
    truth=block_and_weights,
    parts=("attention", "attention_norm", "feed_forward", "feed_forward_norm"),
    also=sizes_dropout_and_sums,
    tried="four batches, with padding, with a causal mask and without, against PyTorch's layer with the same weights; "
    "and its sizes, its dropout and its sums",
    see=BLOCK,
    mistakes=edits(f"""
        norm after each part: {IN} => self.attention(features, mask, attention_mask) &&
            {SUM_1} => self.attention_norm({SUM_1}) && {THOUGHT} => self.feed_forward(features) &&
            {SUM_2} => self.feed_forward_norm({SUM_2})
        no norm before the attention: self.attention_norm(features) => features
        no norm before the feed-forward layer: self.feed_forward_norm(features) => features
        no norm at all [block]: self.attention_norm(features) => features &&
            self.feed_forward_norm(features) => features
        norms swapped [block]: {IN} => self.attention(self.feed_forward_norm(features), mask, attention_mask) &&
            {THOUGHT} => self.feed_forward(self.attention_norm(features))
        one norm used twice [block]: self.feed_forward_norm(features) => self.attention_norm(features) ||
            self.attention_norm(features) => self.feed_forward_norm(features)
        the normed features added: {IN} => self.attention(features := self.attention_norm(features), mask,
            attention_mask)
        the normed features added twice: {IN} => self.attention(features := self.attention_norm(features), mask,
            attention_mask) && {THOUGHT} => self.feed_forward(features := self.feed_forward_norm(features))
        the normed features added behind: {THOUGHT} => self.feed_forward(features := self.feed_forward_norm(features))
        the second sum goes back to the input: features = {SUM_1} => between = {SUM_1} &&
            {THOUGHT} => self.feed_forward(self.feed_forward_norm(between))
        feed-forward layer reads the first features [block]: features = {SUM_1} => between = {SUM_1} &&
            {SUM_2} => self.add(between, thought)
        attention left out: {SUM_1} => features
        feed-forward layer left out: {SUM_2}, weights => features, weights
        feed-forward layer reads the attended features [block]: self.feed_forward_norm(features) =>
            self.feed_forward_norm(attended)
        pair not taken apart: attended, weights = => weights = attended =
        weights in place of the features: attended, weights = => weights, attended =
        the weights are missing: {SUM_2}, weights => {SUM_2}
        another bend [block]: nn.ReLU() => nn.GELU()
        hidden_dim is not used: hidden_dim), nn.ReLU => 4 * embed_dim), nn.ReLU && Linear(hidden => Linear(4 * embed
        num_heads is not used: (embed_dim, num_heads) => (embed_dim, 1)
        Lab 9, “What the residual connection does”
        no residual around the attention: {SUM_1} => self.dropout(attended)
        no residual around the feed-forward layer: {SUM_2} => self.dropout(thought)
        no residual connection: {SUM_1} => self.dropout(attended) && {SUM_2} => self.dropout(thought)
        multiplied in place of added [block]: {SUM_1} => features * attended || {SUM_2} => features * thought ||
            return features + self => return features * self
        subtracted in place of added: {SUM_1} => features - attended || {SUM_2} => features - thought ||
            return features + self => return features - self
        Lab 8, “What a mask hides”
        no mask: , mask, attention_mask) => , None, attention_mask)
        the mask has no default: mask=None, attention_mask=None => mask, attention_mask=None || mask, attention_mask
        order forgotten [mask]: , mask, attention_mask) => , mask)
        the mask the wrong way round: , mask, attention_mask) => , None if mask is None else ~mask, attention_mask)
    """),
)


# --- 9.3 ---
def layer_norm(features, scale, shift, eps=1e-5):
    """Each token brought to mean 0 and variance 1, then scaled and shifted, (..., dim)."""
    centred = features - features.mean(dim=-1, keepdim=True)  # (..., dim)
    variance = (centred**2).mean(dim=-1, keepdim=True)  # (..., 1)
    return centred / torch.sqrt(variance + eps) * scale + shift


def to_be_normalised(*shape: int, eps: float) -> Case:
    features = draw(*shape, seed=1) * 2 + 3
    features[..., 0, :] = 1.5  # a token whose features are all equal
    return Case({"features": features, "scale": draw(shape[-1], seed=2), "shift": draw(shape[-1], seed=3), "eps": eps})


MEAN, SQUARES = "features.mean(dim=-1, keepdim=True)", "(centred**2).mean(dim=-1, keepdim=True)"
ROOT = "torch.sqrt(variance + eps)"
SAMPLE = f"{SQUARES} => features.var(dim=-1, keepdim=True)"  # what those write who take `var` as it is
LOST = f"{MEAN} => features.mean(dim=-1)"

layer_norm = Exercise(
    layer_norm,
    cases=[
        to_be_normalised(4, 4, 4, eps=0.1),
        to_be_normalised(3, 5, eps=1e-5),
        to_be_normalised(2, 3, 6, eps=0.5),
        to_be_normalised(2, 1, 3, eps=1e-3),
    ],
    truth=lambda features, scale, shift, eps: F.layer_norm(features, scale.shape, scale, shift, eps),
    without=tuple(f"{which}_norm" for which in ("layer", "native_layer", "group", "instance", "batch"))
    + tuple(f"{which}Norm" for which in ("Layer", "Group")),
    tried="features with a batch and without, a large eps and small ones, and tokens whose features are all equal",
    see="Lab 9, “What layer normalisation does”",
    mistakes=edits(f"""
        sample variance: {SAMPLE}
        axis not kept: {LOST} || {SQUARES} => (centred**2).mean(dim=-1) || features.var(dim=-1) ||
            features.var(dim=-1, unbiased=False) || {LOST} && {SQUARES} => (centred**2).mean(dim=-1) ||
            {LOST} && {SQUARES} => features.var(dim=-1) || {LOST} && {SAMPLE} ||
            {LOST} && {SQUARES} => features.var(dim=-1, unbiased=False)
        eps outside the root: {ROOT} => (torch.sqrt(variance) + eps) || {ROOT} => (variance**0.5 + eps) && {SAMPLE}
        eps forgotten: variance + eps => variance || variance + eps => variance && {SAMPLE}
        eps taken off: variance + eps => variance - eps
        root forgotten: {ROOT} => (variance + eps) || {ROOT} => (variance + eps) && {SAMPLE}
        mean not subtracted: return centred => return features || features - {MEAN} => features ||
            return centred => return features && {SAMPLE}
        over the tokens: dim=-1 => dim=-2 || dim=1 || features.mean(dim=-1 => features.mean(dim=-2 ||
            features.mean(dim=1 || 2).mean(dim=-1 => 2).mean(dim=-2 || 2).mean(dim=1
        over the batch: dim=-1 => dim=0 || features.mean(dim=-1 => features.mean(dim=0 ||
            2).mean(dim=-1 => 2).mean(dim=0
        over the whole text: dim=-1 => dim=(-2, -1) || features.mean(dim=-1 => features.mean(dim=(-2, -1) ||
            2).mean(dim=-1 => 2).mean(dim=(-2, -1)
        over everything: dim=-1 => dim=tuple(range(features.dim())) || {MEAN} => features.mean() ||
            {SQUARES} => (centred**2).mean()
        scale and shift forgotten: * scale + shift =>
        scale forgotten: * scale =>
        shift forgotten: + shift =>
        shifted before the scale: centred / {ROOT} * scale + shift => (centred / {ROOT} + shift) * scale
        scale and shift exchanged: * scale + shift => * shift + scale
        divided by the scale: * scale => / scale
        the shift taken off: + shift => - shift
        multiplied in place of divided [spread]: centred / torch => centred * torch
        squares forgotten: (centred**2) => centred
        squares not averaged: {SQUARES} => centred**2
        the mean added: features - {MEAN} => features + {MEAN}
        the sign turned round [mean]: features - {MEAN} => {MEAN} - features
        not divided by the spread: centred / {ROOT} => centred
    """),
)


# --- 9.2 ---
class FirstBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)  # gives the attended features and the weights
        self.attention_norm = nn.LayerNorm(embed_dim)
        self.feed_forward = nn.Sequential(nn.Linear(embed_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, embed_dim))
        self.feed_forward_norm = nn.LayerNorm(embed_dim)

    def forward(self, features, mask=None):  # (batch, tokens, embed_dim), (batch, tokens)
        attended, _ = self.attention(features, mask)  # (batch, tokens, embed_dim)
        features = self.attention_norm(features + attended)  # (batch, tokens, embed_dim)
        return self.feed_forward_norm(features + self.feed_forward(features))


# The block once more in short, for what goes wrong in its two halves: from x, the features, to y, then the result.
Y = (
    "x, think, norm_1, norm_2 = features, self.feed_forward, self.attention_norm, self.feed_forward_norm; "
    "attend = lambda features: self.attention(features, mask)[0]; y ="
)
UNMASKED = Y.replace(", mask)", ")")
OUTPUT = "self.feed_forward_norm(features + self.feed_forward(features))"
HALVES = """
norm inside the sum: => Y= x + norm_1(attend(x)); return y + norm_2(think(y))TOO ||
    Y= norm_1(x + attend(x)); return y + norm_2(think(y))TOO ||
    Y= x + norm_1(attend(x)); return norm_2(y + think(y))TOO
no norm after the attention: => Y= x + attend(x); return norm_2(y + think(y))TOO
no norm after the feed-forward layer: => Y= norm_1(x + attend(x)); return y + think(y)TOO
no norm at all: => Y= x + attend(x); return y + think(y)TOO
norms swapped: => Y= norm_2(x + attend(x)); return norm_1(y + think(y))TOO
one norm used twice: => Y= norm_1(x + attend(x)); return norm_1(y + think(y))TOO ||
    Y= norm_2(x + attend(x)); return norm_2(y + think(y))TOO
feed-forward layer reads the sum before its norm: => Y= x + attend(x); return norm_2(norm_1(y) + think(y))TOO
feed-forward layer reads the first features: => Y= norm_1(x + attend(x)); return norm_2(y + think(x))TOO
feed-forward layer first: => Y= norm_1(x + think(x)); return norm_2(y + attend(y))TOO ||
    Y= norm_2(x + think(x)); return norm_1(y + attend(y))TOO
attention left out: => Y= norm_1(x); return norm_2(y + think(y))TOO || Y= x; return norm_2(y + think(y))TOO
SEE_RESIDUAL
no residual around the attention: => Y= norm_1(attend(x)); return norm_2(y + think(y))TOO
no residual around the feed-forward layer: => Y= norm_1(x + attend(x)); return norm_2(think(y))TOO
no residual connection: => Y= norm_1(attend(x)); return norm_2(think(y))TOO
first features added again: => Y= norm_1(x + attend(x)); return norm_2(x + think(y))TOO
sum added before its norm: => Y= x + attend(x); return norm_2(y + think(norm_1(y)))TOO
multiplied in place of added [block]: => Y= norm_1(x * attend(x)); return norm_2(y + think(y))TOO ||
    Y= norm_1(x + attend(x)); return norm_2(y * think(y))TOO
subtracted in place of added: => Y= norm_1(x - attend(x)); return norm_2(y + think(y))TOO ||
    Y= norm_1(x + attend(x)); return norm_2(y - think(y))TOO
"""


def halves(residual: str, weights: str = "") -> list[Mistake]:
    """What goes wrong in a block with a norm after each of its two halves; `weights` stands behind its output."""
    also = "weights = self.attention(features, mask)[1]; " if weights else ""
    return family(HALVES, **{"Y=": also + Y, "TOO": weights, "SEE_RESIDUAL": residual})


first_block = Exercise(
    FirstBlock,
    name="first_block",
    cases=[
        texts((6, 2, 12), real_tokens([4, 2])),
        Case({"features": draw(1, 3, 4)}, sizes=(4, 4, 4)),
        texts((8, 1, 10), real_tokens([1, 5, 3], padding_first=True)),
        Case({"features": draw(2, 1, 4, seed=1), "mask": None}, sizes=(4, 2, 7)),
    ],
    truth=by_pytorch,
    parts=("attention", "attention_norm", "feed_forward", "feed_forward_norm"),
    also=takes_its_sizes,
    tried="four batches, with padding and without, against PyTorch's own layer with the same weights; and its sizes",
    see=BLOCK,
    mistakes=edits(f"""
        more than one fault is left [block]: => {UNMASKED} x + norm_1(attend(x)); return y + norm_2(think(y)) ||
            {UNMASKED} norm_1(x + attend(x)); return y + norm_2(think(y)) ||
            {UNMASKED} x + norm_1(attend(x)); return norm_2(y + think(y))
        norm before each part: => {Y} x + attend(norm_1(x)); return y + think(norm_2(y)) ||
            {UNMASKED} x + attend(norm_1(x)); return y + think(norm_2(y))
        feed-forward layer reads the attended features: self.feed_forward(features) => self.feed_forward(attended)
        pair not taken apart: attended, _ = => attended =
        weights in place of the features: attended, _ = => _, attended =
        weights returned too: {OUTPUT} => {OUTPUT}, _
        hidden_dim is not used: hidden_dim), nn => 4 * embed_dim), nn && Linear(hidden => Linear(4 * embed
        num_heads is not used: (embed_dim, num_heads)  # => (embed_dim, 1)  #
        Lab 9, “What the feed-forward layer does”
        feed-forward layer left out: {OUTPUT} => features || self.feed_forward_norm(features)
        Lab 8, “What a mask hides”
        no mask: (features, mask)  # => (features)  #
        the mask the wrong way round: (features, mask)  # => (features, ~mask)  #
        the mask has no default: mask=None => mask
    """)
    + halves("Lab 9, “What the residual connection does”"),
)


# --- 9.4 ---
def missed_by_rate(accuracy, part_away, rates, seeds):
    """Rate -> mean and half of the interval of the whole model's lead over the one without the part."""
    found = {}
    for rate in rates:
        gains = [accuracy("nothing", rate, seed) - accuracy(part_away, rate, seed) for seed in seeds]
        found[rate] = mean_and_interval(gains)
    return found


def planted(part_away, rate, seed):
    return known_run(part_away, rate, seed)


def known_gains(accuracy, part_away, rates, seeds):
    return {
        rate: by_sums([accuracy("nothing", rate, seed) - accuracy(part_away, rate, seed) for seed in seeds])
        for rate in rates
    }


RUNS = 'accuracy("nothing", rate, seed)', "accuracy(part_away, rate, seed)"
GAIN, ROWS = " - ".join(RUNS), [f"[{run} for seed in seeds]" for run in RUNS]

missed_by_rate = Exercise(
    missed_by_rate,
    cases=[
        Case({"accuracy": planted, "part_away": "norm", "rates": [0.001, 0.01], "seeds": [0, 1, 2]}),
        Case({"accuracy": planted, "part_away": "residual", "rates": [0.02, 0.001, 0.005], "seeds": [3, 7]}),
        Case({"accuracy": planted, "part_away": "norm", "rates": [0.003], "seeds": [5, 1, 8, 2]}),
    ],
    truth=known_gains,
    tried="an accuracy of which it is known what each part is worth, with one to three rates and two to four seeds",
    see="Lab 9, “Which parts are missed, and when”",
    mistakes=edits(f"""
        the sign turned round [ahead]: {GAIN} => accuracy(part_away, rate, seed) - accuracy("nothing", rate, seed)
        one seed for all: "nothing", rate, seed) => "nothing", rate, seeds[0])
        other seeds for the second: {GAIN} for seed in seeds => accuracy("nothing", rate, a) -
            accuracy(part_away, rate, b) for a, b in zip(seeds, reversed(seeds)) || {GAIN} for seed in seeds =>
            accuracy("nothing", rate, a) - accuracy(part_away, rate, b) for a in seeds for b in seeds
        one rate for all: rate, seed) - => rates[0], seed) - && part_away, rate, seed) => part_away, rates[0], seed) ||
            part_away, rate, seed) => part_away, rates[0], seed) || "nothing", rate, seed) => "nothing", rates[0], seed)
        numbers of earlier rounds kept: found = {{}} => found, gains = {{}}, [] && gains = [ => gains += [
        arguments exchanged [part]: {GAIN} => accuracy(rate, "nothing", seed) - accuracy(rate, part_away, seed)
        another part: accuracy(part_away, rate => accuracy("norm", rate || accuracy(part_away, rate =>
            accuracy("residual", rate
    """)
    + over_seeds(*RUNS)
    + asked("gains", ROWS),
)

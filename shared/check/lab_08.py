"""The checks of lab 8: the whole layer, heads with three faults, and an experiment on heads and width."""

import math

import torch
from torch import Tensor, nn

from ..model import MultiHeadSelfAttention, causal_mask
from .attention import COUNTED, attend, real_tokens, scaling, weighing
from .compare import agrees
from .exercise import Case, Exercise, draw, drawn
from .experiment import by_hand, by_sums, known_run, measured, over_seeds
from .lab_06 import BATCH, SCALE
from .mistakes import Wrong, edits
from .run import Raised

CUT = "Lab 8, “Cut the features into heads”"
LAYER = "Lab 8, “The layer”"


# --- 8.1 ---
PARTS = ("W_query", "W_key", "W_value", "W_output")
HEADS_OF_WIDTH = {9: 3, 6: 2, 8: 4, 5: 1}  # the truth knows inputs and maps only, so the width tells the heads


def heads_by_pytorch(features, W_query, W_key, W_value, W_output, mask=None, attention_mask=None):
    """Head by head; what a padded place gives is nobody's business: NaN."""
    allowed = torch.ones(features.shape[1], features.shape[1], dtype=torch.bool)
    for other in (attention_mask, None if mask is None else mask[:, None, :]):
        allowed = allowed if other is None else allowed & other
    allowed = allowed.expand(len(features), -1, -1)  # (batch, tokens, tokens)
    cut = (W(features).chunk(HEADS_OF_WIDTH[features.shape[2]], dim=2) for W in (W_query, W_key, W_value))
    outputs, weights = zip(*(attend(*head, allowed) for head in zip(*cut, strict=True)), strict=True)
    output, weights = W_output(torch.cat(outputs, dim=2)), torch.stack(weights, dim=1)
    if mask is None:
        return output, weights
    return output.masked_fill(~mask[:, :, None], math.nan), weights.masked_fill(~mask[:, None, :, None], math.nan)


def fits_into_the_lab(answer, run):
    """It has the linear maps that the lab looks into, and refuses numbers of heads that do not fit."""
    made = run(answer, 9, 3)
    for name in PARTS:
        if not isinstance(getattr(made, name), nn.Linear) or getattr(made, name).bias is None:
            raise Wrong("no nn.Linear [looked into]", name=name)
    for embed_dim, num_heads in ((9, 2), (4, 8)):
        made = run(answer, embed_dim, num_heads)
        if isinstance(made, nn.Module):  # it may still refuse when it is called
            called = run(made, draw(1, 3, embed_dim))
            made = called if isinstance(called, Raised) and called.kind == "ValueError" else made
        if isinstance(made, nn.Module):
            raise Wrong("num_heads not refused", see=LAYER)
        if made.kind != "ValueError":
            raise Wrong("refused with another error", see=LAYER)
        if not made.text:
            raise Wrong("refused without a sentence", see=LAYER)


def batch(
    shape: tuple[int, int, int],
    lengths: list[int] | None = None,
    padding_first=False,
    scale=1.0,
    **attention_mask: Tensor,
) -> Case:
    """A batch with masks. Each text has padding: else `~mask` hides whole texts, and any number can come of that."""
    mask = real_tokens([*lengths, shape[1]], padding_first)[:-1] if lengths else None
    inputs = {"features": scale * draw(*shape), "mask": mask, **attention_mask}
    return Case(inputs, sizes=(shape[2], HEADS_OF_WIDTH[shape[2]]))


def one_for_each_text(texts: int, tokens: int) -> Tensor:
    """Who may look at whom, (texts, tokens, tokens): each text says it for itself."""
    return (draw(texts, tokens, tokens, seed=7) > 0) | torch.eye(tokens, dtype=torch.bool)


LOOKED_AT, ASKING, INF = "mask[:, None, None, :]", "mask[:, None, :, None]", 'float("-inf")'
MAY_LOOK, WEIGH = "attention_mask[..., None, :, :]", "masked_softmax(scores, allowed)"
TOGETHER = "may_look if mask is None else may_look & allowed"
BOTH = "(torch.tensor(True) if allowed is None else allowed)"  # the mask where there is one
HIDDEN = f"scores.masked_fill(~{BOTH}, {INF})"
SHAPE, TURNED = "(self.num_heads, self.head_dim)", "(self.head_dim, self.num_heads)"
SWAP, JOIN = "cut.transpose(1, 2)", "(weights @ values).transpose(1, 2).flatten(2)"
RESHAPED = "cut.reshape(len(cut), self.num_heads, -1, self.head_dim)"
PLAIN_JOIN, TURNED_JOIN = (
    "(weights @ values).reshape(features.shape)",
    "(weights @ values).permute(0, 2, 3, 1).flatten(2)",
)

many_heads = Exercise(
    MultiHeadSelfAttention,
    name="many_heads",
    cases=[
        batch((3, 3, 9), [2, 1, 2]),
        Case({"features": draw(2, 5, 9)}, sizes=(9, 3)),
        batch((2, 4, 6)),
        batch((2, 5, 6), [3, 4]),
        batch((4, 4, 8), [1, 3, 2, 3], padding_first=True),
        batch((1, 3, 5), [2]),
        batch((12, 3, 6), [1] * 8 + [2] * 4, scale=12.0),
        batch((2, 4, 6), attention_mask=causal_mask(4)),
        batch((3, 5, 9), [4, 2, 3], attention_mask=causal_mask(5)),
        batch((2, 4, 8), [3, 2], padding_first=True, attention_mask=causal_mask(4)),
        batch((2, 4, 6), [3, 4], attention_mask=one_for_each_text(2, 4)),
        batch((3, 5, 8), attention_mask=one_for_each_text(3, 5)),
    ],
    truth=heads_by_pytorch,
    parts=PARTS,
    widths=lambda embed_dim, num_heads: dict.fromkeys(PARTS, (embed_dim, embed_dim)),
    also=fits_into_the_lab,
    tried="twelve batches in double precision, with each mask, with both and with none, one head to four, sizes that "
    "differ and sizes that agree, and large scores, against PyTorch's scaled_dot_product_attention; and numbers of "
    "heads that do not fit",
    see=LAYER,
    mistakes=scaling(
        "self.head_dim",
        SCALE,
        "self.W_query(features)",
        features="features.shape[2]",
        tokens="features.shape[1]",
        heads="self.num_heads",
    )
    + edits(f"""
        no output projection: self.W_output(joined) => joined
        no transpose at all: keys.transpose(2, 3) => keys
        a reshape for a transpose: keys.transpose(2, 3) => keys.reshape(*keys.shape[:2], self.head_dim, -1) ||
            keys.view(*keys.shape[:2], self.head_dim, -1)
        queries and keys exchanged: queries @ keys.transpose(2, 3) => keys @ queries.transpose(2, 3)
        one matrix for both: self.W_query(features) => self.W_key(features) ||
            self.W_key(features) => self.W_query(features)
        one matrix for keys and values: self.W_value(features) => self.W_key(features) ||
            self.W_key(features) => self.W_value(features)
        features brought back: self.W_value(features) => features
        queries brought back: self.W_value(features) => self.W_query(features)
        no softmax: {WEIGH} => scores * {BOTH} || {HIDDEN} || scores
        the scale divided by the scores: / math.sqrt(self.head_dim) => &&
            scores = queries @ keys.transpose(2, 3) => scores = math.sqrt(self.head_dim) / (queries @ keys.mT)
        the scale after the softmax: / math.sqrt(self.head_dim) => && {WEIGH} => {WEIGH} / math.sqrt(self.head_dim)
        sigmoid instead of softmax: {WEIGH} => {HIDDEN}.sigmoid() || scores.sigmoid()
        weights not used: weights @ values => values
        weighted with the transposed weights: (weights @ => (weights.mT @
        view of a turned tensor: .flatten(2) => .view(*features.shape)
        a residual connection: return self.W_output(joined) => return features + self.W_output(joined)
        scores returned instead of weights: (joined), weights => (joined), scores
        averaged over the heads: (joined), weights => (joined), weights.mean(dim=1)
        num_heads not refused: if num_heads < 1 or embed_dim % num_heads: => if False: && check_inputs => # check_inputs
        refused with another error: ValueError => RuntimeError
        refused without a sentence: raise ValueError( => raise ValueError() if True else (
        {BATCH}
        transpose of the wrong axes [heads]: keys.transpose(2, 3) => keys.permute(3, 2, 1, 0) ||
            keys.transpose(1, 2) || keys.transpose(1, 3)
        Lab 8, “Three ways of looking”
        softmax over the wrong axis: {WEIGH} => {HIDDEN}.softmax(dim=2) || {HIDDEN}.softmax(dim=2).nan_to_num() ||
            scores.masked_fill(~{BOTH}, -1e9).softmax(dim=2)
        softmax over the heads: {WEIGH} => {HIDDEN}.softmax(dim=1) || scores.masked_fill(~{BOTH}, -1e9).softmax(dim=1)
        softmax over the batch: {WEIGH} => {HIDDEN}.softmax(dim=0) || scores.masked_fill(~{BOTH}, -1e9).softmax(dim=0)
        Lab 8, “What a mask hides”
        the mask has no default: mask=None => mask || mask=None, => mask,
        no mask is not expected: if mask is not None: => if True: || if attention_mask is not None: => if True:
        no mask: {LOOKED_AT} => None && if mask is None else may_look & allowed =>
        order forgotten: if attention_mask is not None: => if False:
        the mask on those who ask: {LOOKED_AT} => {ASKING} || {LOOKED_AT} => {ASKING} && {WEIGH} => {HIDDEN}.softmax(-1)
            || {LOOKED_AT} => {ASKING} && {WEIGH} => scores.masked_fill(~{BOTH}, -1e9).softmax(dim=-1)
        NaN in rows of padding: {LOOKED_AT} => {LOOKED_AT} & {ASKING} && {WEIGH} => {HIDDEN}.softmax(dim=-1)
        NaN where a row is hidden: {WEIGH} => {HIDDEN}.softmax(dim=-1)
        mask after the softmax: {WEIGH} => scores.softmax(dim=-1) * {BOTH}
        the mask the wrong way round: {LOOKED_AT} => ~{LOOKED_AT} ||
            {LOOKED_AT} => ~{LOOKED_AT} && {WEIGH} => {HIDDEN}.softmax(dim=-1) || {MAY_LOOK} => ~{MAY_LOOK} ||
            {MAY_LOOK} => ~{MAY_LOOK} && {WEIGH} => {HIDDEN}.softmax(dim=-1) ||
            {WEIGH} => masked_softmax(scores, None if allowed is None else ~allowed) ||
            {WEIGH} => scores.masked_fill({BOTH} if allowed is not None else ~{BOTH}, {INF}).softmax(dim=-1)
        padding scored zero: {WEIGH} => (scores * {BOTH}).softmax(dim=-1)
        the mask added as it is: {WEIGH} => (scores + {BOTH}).softmax(dim=-1)
        padding hidden with too small a number: {WEIGH} => scores.masked_fill(~{BOTH}, -100.0).softmax(dim=-1) ||
            scores.masked_fill(~{BOTH}, -50.0).softmax(dim=-1) || scores.masked_fill(~{BOTH}, -20.0).softmax(dim=-1) ||
            scores.masked_fill(~{BOTH}, -10.0).softmax(dim=-1)
        zero times infinity: {WEIGH} => (scores + ~{BOTH} * {INF}).softmax(dim=-1)
        the axis of the mask is lost [heads]: {LOOKED_AT} => mask || mask[:, None, :] || mask[:, :, None]
        the mask only counted: allowed = mask => mask = {COUNTED}; allowed = mask
        looks ahead: {MAY_LOOK} => {MAY_LOOK}.mT
        one mask takes the place of the other: {TOGETHER} => may_look ||
            {TOGETHER} => may_look if mask is None else allowed
        either in place of both: may_look & allowed => may_look | allowed
        Lab 8, “Exercise 8.1 (build): the layer”
        a text's mask laid over a head: {MAY_LOOK} => attention_mask || {MAY_LOOK} => attention_mask[None] ||
            {MAY_LOOK} => attention_mask && {WEIGH} => scores.masked_fill(~{BOTH}, -1e9).softmax(dim=-1)
        one order for all texts [mask]: {MAY_LOOK} => attention_mask.view(-1, *attention_mask.shape[-2:])[0]
        {CUT}
        heads cut and joined by a plain reshape: {SWAP} => {RESHAPED} && {JOIN} => {PLAIN_JOIN}
        heads cut by a plain reshape: {SWAP} => {RESHAPED}
        heads joined by a plain reshape: {JOIN} => {PLAIN_JOIN}
        heads and tokens not swapped: {SWAP} => cut || .transpose(1, 2).flatten => .flatten ||
            {SWAP} => cut && .transpose(1, 2).flatten => .flatten
        features dealt out in turn: {SHAPE} => {TURNED} && {SWAP} => cut.permute(0, 3, 1, 2) ||
            {SHAPE} => {TURNED} && {SWAP} => cut.permute(0, 3, 1, 2) && {JOIN} => {TURNED_JOIN} ||
            {JOIN} => {TURNED_JOIN}
        num_heads taken for head_dim: {SHAPE} => {TURNED} ||
            num_heads, embed_dim // num_heads => embed_dim // num_heads, num_heads
        not cut at all [layer]: self.split(self.W_query(features) / math.sqrt(self.head_dim)) =>
            self.W_query(features) / math.sqrt(self.head_dim) ||
            self.split(self.W_key(features)) => self.W_key(features) ||
            self.split(self.W_value(features)) => self.W_value(features)
        one head only: head_dim = num_heads, embed_dim // num_heads => head_dim = 1, embed_dim || {SHAPE} => (1, -1)
        tokens cut in place of features: unflatten(2 => unflatten(1
    """),
)


# --- 8.2 ---
def mend_the_heads(queries, keys, values, num_heads, mask):
    """What the heads bring back, side by side, (batch, tokens, embed_dim), and the mean of their weights."""
    head_dim = queries.shape[2] // num_heads
    brought, looked = [], []
    for head in range(num_heads):
        own = slice(head * head_dim, (head + 1) * head_dim)
        q, k, v = queries[:, :, own], keys[:, :, own], values[:, :, own]  # (batch, tokens, head_dim)
        scores = q @ k.transpose(1, 2) / math.sqrt(head_dim)  # (batch, tokens, tokens)
        weights = scores.masked_fill(~mask[:, None, :], -math.inf).softmax(dim=2)
        brought.append(weights @ v)
        looked.append(weights)
    return torch.cat(brought, dim=2), torch.stack(looked).mean(dim=0)


def joined_by_pytorch(queries, keys, values, num_heads, mask):
    """What a padded place gets is nobody's business: NaN."""
    cut = (part.unflatten(2, (num_heads, -1)).transpose(1, 2) for part in (queries, keys, values))
    brought, weights = attend(*cut, mask[:, None, None, :])
    found = brought.transpose(1, 2).flatten(2), weights.mean(dim=1)
    return tuple(rows.masked_fill(~mask[:, :, None], math.nan) for rows in found)


def projected(shape: tuple[int, int, int], num_heads: int, lengths: list[int], first: bool = False, scale=1.0) -> Case:
    mask = real_tokens([*lengths, shape[1]], first)[:-1]
    return Case(drawn(0, scale, queries=shape, keys=shape, values=shape) | {"num_heads": num_heads, "mask": mask})


OWN, ROOT_OF = "slice(head * head_dim, (head + 1) * head_dim)", "math.sqrt(head_dim)"
IN_TURN, FILL = "slice(head, None, num_heads)", "masked_fill(~mask[:, None, :], -math.inf)"
ZERO, ALL_FEATURES = "masked_fill(~mask[:, None, :], 0.0)", "math.sqrt(queries.shape[2])"
HIDING = dict.fromkeys(("HIDE", "MASK", "SOFTMAX"), "Lab 8, “What a mask hides”")

mend_the_heads = Exercise(
    mend_the_heads,
    cases=[
        projected((2, 4, 6), 3, [4, 2]),
        projected((3, 3, 9), 3, [3, 1, 2]),
        projected((2, 5, 8), 2, [3, 4], first=True),
        projected((2, 3, 5), 1, [2, 3]),
        projected((2, 4, 8), 4, [2, 3], scale=12.0),
    ],
    truth=joined_by_pytorch,
    tried="five batches in double precision, with one head to four, padding behind and in front, and large scores, "
    "against PyTorch's scaled_dot_product_attention",
    see=CUT,
    mistakes=edits(f"""
        more than one fault is left [heads]: {OWN} => {IN_TURN} && {ROOT_OF} => {ALL_FEATURES} ||
            {OWN} => {IN_TURN} && {FILL} => {ZERO} || {ROOT_OF} => {ALL_FEATURES} && {FILL} => {ZERO} ||
            {OWN} => {IN_TURN} && {ROOT_OF} => {ALL_FEATURES} && {FILL} => {ZERO}
        features dealt out in turn: {OWN} => {IN_TURN}
        heads joined the other way round: torch.cat(brought => torch.cat(brought[::-1]
        heads that overlap: {OWN} => slice(head, head + head_dim)
        one head only [loop]: {OWN} => slice(0, head_dim)
        features dealt out in turn [join]: torch.cat(brought, dim=2) => torch.stack(brought, dim=3).flatten(2)
        tokens joined in place of features: torch.cat(brought, dim=2) => torch.cat(brought, dim=1)
        heads left apart [loop]: torch.cat(brought, dim=2) => torch.stack(brought, dim=1)
        heads added up: torch.cat(brought, dim=2) => sum(brought)
        the weights are missing: , torch.stack(looked).mean(dim=0) =>
        one head's weights for all: torch.stack(looked).mean(dim=0) => weights || looked[0]
        weights added up: torch.stack(looked).mean(dim=0) => sum(looked)
        not averaged over the heads: torch.stack(looked).mean(dim=0) => torch.stack(looked, dim=1) ||
            torch.stack(looked)
        results in the wrong order: torch.cat(brought, dim=2), torch.stack(looked).mean(dim=0) =>
            torch.stack(looked).mean(dim=0), torch.cat(brought, dim=2)
        queries and keys exchanged: q @ k.transpose(1, 2) => k @ q.transpose(1, 2)
        Lab 8, “What a mask hides”
        padding hidden with too small a number: -math.inf => -5.0 || -10.0
    """)
    + scaling(
        "head_dim",
        LAYER,
        "q @ k.transpose(1, 2)",
        features="queries.shape[2]",
        heads="num_heads",
        tokens="queries.shape[1]",
    )
    + weighing(f"scores.{FILL}.softmax(dim=2)", "scores", "mask[:, None, :]", 2, HIDING, asks="mask[:, :, None]"),
)


# --- 8.3 ---
def worth_of_a_head(share_left, seeds):
    """Mean difference: what one wide head leaves minus what two narrow ones leave, and half its interval."""
    gains = torch.tensor([share_left(8, 1, seed) - share_left(2, 2, seed) for seed in seeds])
    half = 2.776 * gains.std() / math.sqrt(len(gains))
    return gains.mean().item(), half.item()


def known_share(embed_dim, num_heads, seed):
    return known_run(embed_dim, num_heads, seed)


def with_three_digits(given, share_left, seeds):
    """The quantile with all its digits, which mean_and_interval has, is as good as 2.776."""
    gains = [share_left(8, 1, seed) - share_left(2, 2, seed) for seed in seeds]
    return by_sums(gains, 2.776) if agrees(given, by_sums(gains)) else given


RUNS = "share_left(8, 1, seed)", "share_left(2, 2, seed)"

worth_of_a_head = Exercise(
    worth_of_a_head,
    cases=measured("share_left", known_share, range(5), [3, 5, 8, 13, 21], range(10, 15)),
    truth=lambda share_left, seeds: by_sums([share_left(8, 1, seed) - share_left(2, 2, seed) for seed in seeds], 2.776),
    view=with_three_digits,
    tried="runs whose results are known, where the second head helps and where it harms, with three lists of seeds",
    see="Lab 8, “Exercise 8.3 (experiment): heads or width?”",
    mistakes=edits("""
        the sign turned round [heads]: share_left(8, 1, seed) - share_left(2, 2, seed) =>
            share_left(2, 2, seed) - share_left(8, 1, seed)
        the width of one head taken for all: share_left(2, 2, seed) => share_left(1, 2, seed)
        two wide heads: share_left(2, 2, seed) => share_left(16, 2, seed) || share_left(8, 2, seed) ||
            share_left(4, 2, seed)
        no control for width: share_left(8, 1, seed) => share_left(2, 1, seed) || share_left(1, 1, seed)
        arguments exchanged: share_left(8, 1, seed) => share_left(1, 8, seed)
        the same layer twice: share_left(2, 2, seed) => share_left(8, 1, seed)
        pairing lost: => first = torch.tensor([share_left(8, 1, seed) for seed in seeds])
            second = torch.tensor([share_left(2, 2, seed) for seed in seeds])
            half = 2.776 * (first.var() + second.var()).sqrt() / math.sqrt(len(first))
            return (first - second).mean().item(), half.item()
        normal in place of t: 2.776 => 1.96 || 2
    """)
    + over_seeds(*RUNS)
    + by_hand("gains", "2.776"),
)

"""The checks of lab 3: a query for each token, a layer to mend, one question for all, a sweep with intervals."""

import math
from numbers import Real

import numpy as np
import torch
from torch import Tensor, nn

from ..model import masked_softmax
from ..training import mean_and_interval
from .attention import (
    EACH,
    LAYER,
    attention_by_pytorch,
    batches,
    check_bias,
    layer_mistakes,
    real_tokens,
    scaling,
    weighing,
)
from .compare import check_shape, kind
from .exercise import Case, Exercise, draw, drawn
from .experiment import asked, by_sums, over_seeds
from .mistakes import Wrong, edits
from .words import _

ONCE_MORE = "Lab 3, “One query for all, once more”"


# --- 3.1 ---
class SelfAttention(nn.Module):
    """Every token asks: features (batch, tokens, dim) to the same shape, and the weights (batch, tokens, tokens)."""

    def __init__(self, dim, key_dim, bias=False):
        super().__init__()
        self.W_query = nn.Linear(dim, key_dim, bias=bias)
        self.W_key = nn.Linear(dim, key_dim, bias=bias)

    def forward(self, features, mask):
        queries = self.W_query(features)  # (batch, tokens, key_dim)
        keys = self.W_key(features)  # (batch, tokens, key_dim)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])  # (batch, tokens, tokens)
        weights = masked_softmax(scores, mask.unsqueeze(1))  # (batch, tokens, tokens)
        return weights @ features, weights


def has_what_the_lab_looks_into(answer, run):
    check_bias(run, lambda **settings: answer(6, 3, **settings), ("W_query", "W_key"), default=False)


SCORES, WEIGH = "queries @ keys.transpose(1, 2)", "masked_softmax(scores, mask.unsqueeze(1))"
ALONE = f"{SCORES} => (queries * keys).sum(dim=2) && mask.unsqueeze(1) => mask && weights @ features =>"

add_queries = Exercise(
    SelfAttention,
    name="add_queries",
    cases=batches((6, 3), (4, 7), (5, 2), (4, 4), (8, 2)),
    truth=attention_by_pytorch,
    parts=("W_query", "W_key"),
    widths=lambda dim, key_dim: dict.fromkeys(("W_query", "W_key"), (dim, key_dim)),
    also=has_what_the_lab_looks_into,
    tried="six batches, with padding and without, k below and above d, one token, large scores, in double precision, "
    "against PyTorch's scaled_dot_product_attention",
    see=LAYER,
    mistakes=layer_mistakes("features")
    + edits(f"""
        {EACH}
        each token asks only itself: {ALONE} (weights.unsqueeze(2) * features).sum(dim=1) ||
            {ALONE} weights.unsqueeze(2) * features
    """),
)


# --- 3.2 ---
def looked_at(features, mask, W_query, W_key):
    """How much each token is looked at by the other real tokens of its text, on average: (batch, tokens)."""
    queries, keys = features @ W_query, features @ W_key  # (batch, tokens, key_dim) each
    scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])  # (batch, tokens, tokens)
    weights = masked_softmax(scores, mask.unsqueeze(1))  # (batch, tokens, tokens)
    others = mask.unsqueeze(2) & ~torch.eye(mask.shape[1], dtype=torch.bool)  # (batch, tokens, tokens), who asks
    num_others = (mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)  # (batch, 1)
    return (weights * others).sum(dim=1) / num_others  # (batch, tokens)


def looked_at_by_loops(features, mask, W_query, W_key):
    found = torch.zeros(mask.shape, dtype=features.dtype)
    for text, real in enumerate(mask):
        places = real.nonzero()[:, 0].tolist()
        for i in places:
            scores = [sum((features[text, i] @ W_query) * (features[text, j] @ W_key)).item() for j in places]
            shares = [math.exp((score - max(scores)) / math.sqrt(W_key.shape[1])) for score in scores]
            for j, share in zip(places, shares, strict=True):
                if i != j:
                    found[text, j] += share / sum(shares) / (len(places) - 1)
    return found


def looking(mask: Tensor, dim: int, key_dim: int, seed: int = 0, scale: float = 1.0) -> Case:
    maps = drawn(seed + 1, W_query=(dim, key_dim), W_key=(dim, key_dim))
    return Case({"features": scale * draw(*mask.shape, dim, seed=seed), "mask": mask} | maps)


NUM_OTHERS = "(mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)"
OF_TOKENS, ALL_ROWS = "keys.shape[2] => keys.shape[1]", "mask.unsqueeze(2) & ~ => ~"
ALL_COUNTED = f"num_others = {NUM_OTHERS} => num_others = mask.shape[1] - 1"
ITSELF, N_COUNTED = "& ~torch.eye(mask.shape[1], dtype=torch.bool) =>", "- 1).clamp => ).clamp"

looked_at = Exercise(
    looked_at,
    cases=[
        looking(real_tokens([5, 3, 1]), 4, 2),
        looking(real_tokens([6, 6]), 3, 5, seed=10),
        looking(real_tokens([4, 2, 3, 1], padding_first=True), 6, 3, seed=20),
        looking(real_tokens([2, 0, 4, 3]), 5, 4, seed=30),
        looking(real_tokens([2] * 16 + [3]), 4, 2, seed=40, scale=20.0),
    ],
    truth=looked_at_by_loops,
    tried="five batches in double precision, with padding behind and in front, without, with texts of one token and of "
    "padding only, and with large scores, token by token",
    see=LAYER,
    mistakes=edits(f"""
        more than one fault is left [rows]: {OF_TOKENS} && {ALL_ROWS} && {ALL_COUNTED} || {OF_TOKENS} && {ALL_ROWS} ||
            {OF_TOKENS} && {ALL_COUNTED} || {ALL_ROWS} && {ALL_COUNTED} || {ALL_ROWS} && {NUM_OTHERS} => mask.shape[1]
        the number of tokens in the scale: {OF_TOKENS}
        rows of padding counted: {ALL_ROWS}
        divided by all places [others]: {ALL_COUNTED} || {NUM_OTHERS} => mask.shape[1]
        its own look counted: {ITSELF} || {ITSELF} && {N_COUNTED}
        counted among the others: {N_COUNTED}
        its own look alone: & ~torch => & torch
        no token may look at itself: unsqueeze(1) => unsqueeze(1) & ~torch.eye(mask.shape[1], dtype=torch.bool)
        one matrix for both: queries @ keys => keys @ keys || queries @ queries
        summed over the rows [real tokens]: / num_others =>
        queries and keys exchanged: {SCORES} => keys @ queries.transpose(1, 2)
        who looks, not who is looked at: .sum(dim=1) / => .sum(dim=2) /
        one row read: (weights * others).sum(dim=1) / num_others => weights[:, 0] || weights[:, -1]
        softmax over the wrong axis: {WEIGH} => scores.masked_fill(~mask.unsqueeze(1), -1e30).softmax(dim=1)
        Lab 3, “Exercise 3.2 (debug): a longer text in the batch changes what is looked at”
        NaN for a text of one token: .clamp(min=1) =>
        one count for all texts: mask.sum(dim=1, keepdim=True) => mask.sum()
    """)
    + scaling("keys.shape[2]", LAYER, SCORES, features="features.shape[2]")
    + weighing(WEIGH, "scores", "mask.unsqueeze(1)", 2, dict.fromkeys(("HIDE", "MASK", "SOFTMAX"), LAYER)),
)


# --- 3.3 ---
def one_question(w, key_dim):
    """W_query, b_query and W_key that ask w's question."""
    W_query = torch.zeros(len(w), key_dim)
    b_query = torch.ones(key_dim)
    W_key = torch.outer(w, b_query) / math.sqrt(key_dim)  # (dim, key_dim)
    return W_query, b_query, W_key


def how_all_look(given, w, key_dim):
    """What counts in an answer to `one_question`: the weights that it gives to six tokens."""
    dim = len(w)
    shapes = {"W_query": (dim, key_dim), "b_query": (key_dim,), "W_key": (dim, key_dim)}
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise Wrong("wrong type [question]")
    for (name, shape), part in zip(shapes.items(), given, strict=True):
        if not isinstance(part, Tensor):
            raise Wrong("a number in place of a tensor", name=name, kind=kind(part), shape=shape)
        check_shape(part, shape, _("of {name} (d = {d}, k = {k})").format(name=name, d=dim, k=key_dim))
    W_query, b_query, W_key = (part.to(w.dtype) for part in given)
    features = draw(6, dim, seed=7).to(w.dtype)
    weights = ((features @ W_query + b_query) @ (features @ W_key).T / math.sqrt(key_dim)).softmax(dim=1)
    if W_query.any() and not torch.allclose(weights, weights[:1].expand_as(weights), atol=1e-6):
        raise Wrong("the matrix still asks", see=ONCE_MORE)
    return weights


one_question = Exercise(
    one_question,
    cases=[
        Case({"w": draw(dim, seed=place), "key_dim": key_dim})
        for place, (dim, key_dim) in enumerate(((5, 5), (5, 3), (4, 1), (3, 8)))
    ],
    truth=lambda w, key_dim: (draw(6, len(w), seed=7).to(w.dtype) @ w).softmax(dim=0).expand(6, 6),
    view=how_all_look,
    tried="k equal to d, below it, 1 and above it, on six random tokens: each row is the pooling's",
    see=ONCE_MORE,
    mistakes=edits("""
        the scale not undone: math.sqrt(key_dim) => key_dim
        the scale undone twice: / math.sqrt(key_dim) =>
        every column asks: / math.sqrt => * math.sqrt
        nobody asks: torch.ones(key_dim) => torch.zeros(key_dim)
        the matrix still asks: torch.zeros(len(w), key_dim) => torch.ones(len(w), key_dim)
        the sign turned round: return W_query, b_query => return W_query, -b_query
        d instead of k in the scale: math.sqrt(key_dim) => math.sqrt(len(w))
        the scale counted three times: math.sqrt(key_dim) => key_dim**1.5
        w left out of the keys: torch.outer(w, b_query) => torch.ones(len(w), key_dim)
    """),
)


# --- 3.4 ---
def sweep(measure, widths, seeds):
    """The widths at which the measure may be largest."""
    found = {k: np.array([measure(k, seed) for seed in seeds]) for k in widths}  # (seeds,) each
    highest = max(widths, key=lambda k: found[k].mean())
    may_be = []
    for k in widths:
        mean, half = mean_and_interval(found[highest] - found[k])
        if mean <= half:
            may_be.append(k)
    return may_be


def known(k, seed):
    """A measure of which all is known: highest near 8, with luck that all widths share and more of their own."""
    own = (0.4 + k % 3 / 4) * math.sin(7 * k * (seed + 1) + seed) + 4 * (k % 7 == 6 and seed % 5 == 1)
    return math.sin(5 * seed) - 0.9 * abs(math.log2(k / 8)) + own


def by_student(measure, widths, seeds):
    rows = [[measure(k, seed) for seed in seeds] for k in widths]
    gaps = [by_sums([a - b for a, b in zip(max(rows, key=sum), row, strict=True)]) for row in rows]
    return torch.tensor([float(mean - half <= 0) for mean, half in gaps])


def as_marks(given, measure, widths, seeds):
    """For each width, whether the answer has it."""
    if not isinstance(given, (list, tuple, set)) or not all(isinstance(k, Real) and k in widths for k in given):
        raise Wrong("no list of widths")
    return torch.tensor([float(k in given) for k in widths])


GAP, RULE = "found[highest] - found[k]", "mean <= half"

sweep = Exercise(
    sweep,
    cases=[
        Case({"measure": known, "widths": list(range(2, 26)), "seeds": [0, 1, 2, 5]}),
        Case({"measure": known, "widths": list(range(30, 2, -1)), "seeds": range(5)}),
        Case({"measure": known, "widths": list(range(3, 33, 2)), "seeds": [11, 3, 4, 8, 6, 14]}),
    ],
    truth=by_student,
    view=as_marks,
    tried="a measure of which all is known, with three lists of widths and of seeds",
    see="Lab 3, “Exercise 3.4 (experiment): where the gradient is largest”",
    mistakes=edits(f"""
        one seed for all: measure(k, seed) => measure(k, 0)
        the first seed twice: for seed in seeds => for seed in [seeds[0], seeds[0], *seeds[2:]]
        width and seed exchanged: measure(k, seed) => measure(seed + 1, k)
        the highest mean alone: {RULE} => k == highest
        the highest left out: {RULE} => 0 < mean <= half
        those that fall out: {RULE} => mean > half
        all widths stay: {RULE} => mean >= -half
        the largest single measurement: found[k].mean() => found[k].max()
        compared with the width before: {GAP} => found[widths[max(widths.index(k) - 1, 0)]] - found[k]
        compared with the first width: {GAP} => found[widths[0]] - found[k]
        the distance alone: {RULE} => mean <= 0.5
    """)
    + over_seeds()
    + [
        mistake
        for mistake in asked(GAP, apart=("found[highest]", "found[k]"), of=" [widths]")
        if not mistake.name.startswith("ends")  # by which all widths stay
    ],
)

"""The checks of lab 3: a query for each token, a layer to mend, one question for all, a sweep with intervals."""

import math

import torch
from scipy import stats
from torch import Tensor, nn

from ..model import masked_softmax
from ..training import mean_and_interval
from .attention import (
    COUNTED,
    PADDING,
    ROOT,
    TWO_MODELS,
    attention_by_pytorch,
    batches,
    mixing,
    real_tokens,
    scaling,
    weighing,
)
from .compare import check_shape, kind
from .exercise import Case, Exercise, draw
from .mistakes import Mistake, Wrong, edits
from .words import _

EACH = "Lab 3, “A question for each token”"
WHO = "Lab 3, “Who asks whom”"
LAYER = "Lab 3, “The layer”"
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
    for bias in (False, True):
        made = run(lambda bias=bias: answer(6, 3, bias=bias))
        for name in ("W_query", "W_key"):
            part = getattr(made, name, None)
            if not isinstance(part, nn.Linear):
                raise Wrong("no nn.Linear [looked into]", name=name)
            if (part.bias is not None) != bias:
                raise Wrong("the bias does not follow the argument", name=name)
    if run(lambda: answer(6, 3)).W_key.bias is not None:
        raise Wrong("the bias does not follow the argument", name="W_key")


SCORES, WEIGH = "queries @ keys.transpose(1, 2)", "masked_softmax(scores, mask.unsqueeze(1))"


def layer(brought: str, **widths: str) -> list[Mistake]:
    """The mistakes of the layers of labs 3 and 4; `brought` is what the weights bring back."""
    widths |= {"features": "features.shape[2]", "tokens": "keys.shape[1]", "texts": "keys.shape[0]"}
    known = scaling("keys.shape[2]", ROOT, SCORES, **widths)
    known += mixing("features", "transpose(1, 2)", brought, EACH=EACH, WHOM=WHO, PRODUCT=LAYER, BACK=LAYER)
    sections = {"HIDE": TWO_MODELS, "MASK": PADDING, "SOFTMAX": LAYER}
    known += weighing(WEIGH, "scores", "mask.unsqueeze(1)", 2, sections, asks="mask.unsqueeze(2)")
    return known + edits(f"""
        {EACH}
        one question for all: {SCORES} => queries.mean(dim=1, keepdim=True).expand_as(queries) @ keys.mT
        {LAYER}
        transpose of the wrong axes: keys.transpose(1, 2) => keys.permute(2, 1, 0) || keys.transpose(0, 1)
        the axis of the mask is lost: {WEIGH} => masked_softmax(scores, mask) ||
            scores.masked_fill(~mask, -1e30).softmax(dim=2)
        scores returned instead of weights: {brought}, weights => {brought}, scores
        results in the wrong order: weights @ {brought}, weights => weights, weights @ {brought}
        {PADDING}
        the mask only counted: {WEIGH} => masked_softmax(scores, ({COUNTED}).unsqueeze(1))
    """)


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
    mistakes=layer("features")
    + edits(f"""
        {EACH}
        each token asks only itself: {ALONE} (weights.unsqueeze(2) * features).sum(dim=1) ||
            {ALONE} weights.unsqueeze(2) * features
    """),
)


# --- 3.2 ---
def looked_at(features, mask, W_query, W_key):
    """How much each token is looked at by the real tokens of its text, on average: (batch, tokens)."""
    queries, keys = features @ W_query, features @ W_key  # (batch, tokens, key_dim) each
    scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])  # (batch, tokens, tokens)
    weights = masked_softmax(scores, mask.unsqueeze(1))  # (batch, tokens, tokens)
    share = mask / mask.sum(dim=1, keepdim=True).clamp(min=1)  # (batch, tokens)
    return (share.unsqueeze(2) * weights).sum(dim=1)  # (batch, tokens)


def looked_at_by_loops(features, mask, W_query, W_key):
    found = torch.zeros(mask.shape, dtype=features.dtype)
    for text, real in enumerate(mask):
        places = real.nonzero()[:, 0].tolist()
        for i in places:
            scores = [sum((features[text, i] @ W_query) * (features[text, j] @ W_key)).item() for j in places]
            shares = [math.exp((score - max(scores)) / math.sqrt(W_key.shape[1])) for score in scores]
            for j, share in zip(places, shares, strict=True):
                found[text, j] += share / sum(shares) / len(places)
    return found


def looking(mask: Tensor, dim: int, key_dim: int, seed: int = 0) -> Case:
    maps = (draw(dim, key_dim, seed=seed + 1), draw(dim, key_dim, seed=seed + 2))
    features = draw(*mask.shape, dim, seed=seed)
    return Case({"features": features, "mask": mask} | dict(zip(("W_query", "W_key"), maps, strict=True)))


ROOT_OF_K, SHARED = "math.sqrt(keys.shape[2])", "(share.unsqueeze(2) * weights).sum(dim=1)"
OF_TOKENS = f"{ROOT_OF_K} => math.sqrt(keys.shape[1])"
ALL_ROWS = "share = mask / mask.sum(dim=1, keepdim=True).clamp(min=1) => share = torch.ones(mask.shape) / mask.shape[1]"
MASKED = "masked_softmax(scores, mask.unsqueeze(1))"

looked_at = Exercise(
    looked_at,
    cases=[
        looking(real_tokens([5, 3, 1]), 4, 2),
        looking(real_tokens([6, 6]), 3, 5, seed=10),
        looking(real_tokens([4, 2, 3, 1], padding_first=True), 6, 3, seed=20),
        looking(real_tokens([2, 0, 4, 3]), 5, 4, seed=30),
    ],
    truth=looked_at_by_loops,
    tried="four batches in double precision, with padding behind and in front, without, and with a text of padding "
    "only, token by token",
    see=LAYER,
    mistakes=edits(f"""
        more than one fault is left [rows]: {OF_TOKENS} && {ALL_ROWS}
        the number of tokens in the scale: {OF_TOKENS}
        rows of padding counted: {ALL_ROWS} || => queries, keys = features @ W_query, features @ W_key
            weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1))
            return weights.mean(dim=1) * mask
        no scale: / {ROOT_OF_K} =>
        no root in the scale: {ROOT_OF_K} => keys.shape[2]
        d instead of k in the scale: {ROOT_OF_K} => math.sqrt(features.shape[2])
        a sum of the rows, not their mean: {SHARED} => (mask.unsqueeze(2) * weights).sum(dim=1)
        queries and keys exchanged: queries @ keys.transpose(1, 2) => keys @ queries.transpose(1, 2)
        columns weighted instead of rows: {SHARED} => (share.unsqueeze(1) * weights).sum(dim=2)
        weighted columns added up along the rows: {SHARED} => (share.unsqueeze(1) * weights).sum(dim=1)
        one row read: {SHARED} => weights[:, 0] || weights[:, -1]
        softmax over the wrong axis: {MASKED} => scores.masked_fill(~mask.unsqueeze(1), -1e30).softmax(dim=1)
        no mask: {MASKED} => scores.softmax(dim=2)
        mask after the softmax: {MASKED} => scores.softmax(dim=2) * mask.unsqueeze(1)
        divided by all places: mask.sum(dim=1, keepdim=True).clamp(min=1) => mask.shape[1]
        NaN for a text of padding: .clamp(min=1) =>
        one count for all texts: mask.sum(dim=1, keepdim=True) => mask.sum()
    """),
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


ALL = "W_query, b_query, W_key"

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
    mistakes=edits(f"""
        the scale not undone: math.sqrt(key_dim) => key_dim
        the scale undone twice: / math.sqrt(key_dim) =>
        every column asks: / math.sqrt => * math.sqrt
        nobody asks: torch.ones(key_dim) => torch.zeros(key_dim) || {ALL} => W_key, b_query, W_query ||
            torch.outer(w, b_query) => torch.zeros(len(w), key_dim)
        the matrix still asks: torch.zeros(len(w), key_dim) => torch.ones(len(w), key_dim) ||
            torch.randn(len(w), key_dim) || {ALL} => W_key, b_query, W_key
        the sign turned round: {ALL} => W_query, -b_query, W_key
        d instead of k in the scale: math.sqrt(key_dim) => math.sqrt(len(w))
        the scale counted three times: math.sqrt(key_dim) => key_dim**1.5
        w left out of the keys: torch.outer(w, b_query) => torch.ones(len(w), key_dim)
    """),
)


# --- 3.4 ---
def sweep(measure, widths, seeds):
    """Width -> mean of the measure over the seeds, and half of its 95% interval."""
    return {k: mean_and_interval([measure(k, seed) for seed in seeds]) for k in widths}


def known(k, seed):
    """A measure of which all is known."""
    return k / 4 + (seed * seed % 7) * (1 + k % 3) / 8


def by_student(measure, widths, seeds):
    found = torch.tensor([[measure(k, seed) for seed in seeds] for k in widths], dtype=torch.float64)
    half = stats.t.ppf(0.975, len(seeds) - 1) * found.std(dim=1) / math.sqrt(len(seeds))
    return torch.stack([found.mean(dim=1), half], dim=1)


def as_rows(given, measure, widths, seeds):
    """The dict as a table, a row for each width."""
    if not isinstance(given, dict) or set(given) != set(widths):
        raise Wrong("no dict of the sizes", sizes=list(widths))
    if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in given.values()):
        raise Wrong("no pair for each width")
    return torch.tensor([[float(number) for number in given[k]] for k in widths], dtype=torch.float64)


ONE, EACH_SEED = "mean_and_interval([measure(k, seed) for seed in seeds])", "for seed in seeds"

sweep = Exercise(
    sweep,
    cases=[
        Case({"measure": known, "widths": [1, 2, 8], "seeds": [0, 1, 2, 5]}),
        Case({"measure": known, "widths": [16, 4], "seeds": range(3)}),
        Case({"measure": known, "widths": [5, 3, 9, 20], "seeds": [11, 3]}),
    ],
    truth=by_student,
    view=as_rows,
    tried="a measure of which all is known, with two, three and four widths and seeds",
    see="Lab 3, “Exercise 3.4 (experiment): where the gradient is largest”",
    mistakes=edits(f"""
        one seed for all: measure(k, seed) => measure(k, 0) || measure(k, seeds[0])
        the first seed twice: {EACH_SEED} => for seed in [seeds[0], seeds[0], *seeds[2:]]
        the seeds counted anew: {EACH_SEED} => for seed in range(len(seeds)) || for seed in range(1, len(seeds) + 1)
        a seed left out: {EACH_SEED} => for seed in [*seeds[1:], seeds[-1]]
        one width for all: measure(k, seed) => measure(widths[0], seed)
        width and seed exchanged: measure(k, seed) => measure(seed, k)
        the whole width: {ONE} => (mean_and_interval([measure(k, s) for s in seeds])[0],
            2 * mean_and_interval([measure(k, s) for s in seeds])[1])
        ends in place of mean and half: {ONE} => (mean_and_interval([measure(k, s) for s in seeds])[0]
            - mean_and_interval([measure(k, s) for s in seeds])[1],
            sum(mean_and_interval([measure(k, s) for s in seeds])))
        results in the wrong order [interval]: {ONE} => {ONE}[::-1]
        normal in place of t: {ONE} => (lambda x: (x.mean().item(), 1.96 * x.std().item() / len(x) ** 0.5))(
            torch.tensor([measure(k, seed) for seed in seeds], dtype=torch.float64))
        root of n forgotten [t]: {ONE} => (mean_and_interval([measure(k, s) for s in seeds])[0],
            mean_and_interval([measure(k, s) for s in seeds])[1] * len(seeds) ** 0.5)
        one interval for all widths: {ONE} => (mean_and_interval([measure(k, s) for s in seeds])[0],
            mean_and_interval([measure(w, s) for w in widths for s in seeds])[1])
        numbers without mean and interval: {ONE} => [measure(k, seed) for seed in seeds][:2]
    """),
)

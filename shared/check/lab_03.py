"""The checks of lab 3: one matrix for queries and keys, a query for each token, one question for all."""

import math

import torch
from torch import Tensor, nn

from ..model import masked_softmax
from .attention import COUNTED, PADDING, ROOT, TWO_MODELS, attention_by_pytorch, batches, mixing, scaling, weighing
from .compare import check_shape, kind
from .exercise import Case, Exercise, draw
from .mistakes import Mistake, Wrong, edits

EACH = "Lab 3, “A question for each token”"
WHO = "Lab 3, “Who asks whom”"
LAYER = "Lab 3, “The layer”"
ONCE_MORE = "Lab 3, “One query for all, once more”"


# --- 3.1 ---
def one_matrix(weight_query, weight_key):
    """M (dim, dim), so that F M F^T are the scaled scores."""
    key_dim = weight_query.shape[0]
    return weight_query.T @ weight_key / math.sqrt(key_dim)  # (dim, dim)


def middle_by_loops(weight_query, weight_key):
    entries = [[sum(q * k) / len(q) ** 0.5 for k in weight_key.unbind(1)] for q in weight_query.unbind(1)]
    return torch.tensor(entries, dtype=weight_query.dtype)


PRODUCT = "weight_query.T @ weight_key"

one_matrix = Exercise(
    one_matrix,
    cases=[
        Case({"weight_query": draw(key_dim, dim), "weight_key": draw(key_dim, dim, seed=1)})
        for dim, key_dim in ((4, 2), (3, 5), (6, 4), (4, 4))
    ],
    truth=middle_by_loops,
    tried="four pairs of random matrices, k below, above and equal to d, in double precision, entry by entry",
    see="Lab 3, “Three ways to one matrix”",
    mistakes=edits(f"""
        queries and keys exchanged: {PRODUCT} => weight_key.T @ weight_query ||
            {PRODUCT} => weight_key.T @ weight_query && / math.sqrt(key_dim) =>
        the trap of the transposed matrix: {PRODUCT} => weight_query @ weight_key.T ||
            {PRODUCT} => weight_query @ weight_key.T && shape[0] => shape[1] ||
            {PRODUCT} => weight_query @ weight_key.T && / math.sqrt(key_dim) =>
        no transpose at all: weight_query.T => weight_query || weight_query.T => weight_query && / math.sqrt(key_dim) =>
        a reshape for a transpose: weight_query.T => weight_query.reshape(weight_query.shape[::-1])
        the product is not summed: {PRODUCT} => weight_query * weight_key || weight_query.T * weight_key
        only one matrix used: {PRODUCT} / => weight_query.T / || weight_key /
        the scale of another matrix's number: weight_query.shape[0] => weight_query.numel()
        {ROOT}
        d instead of k in the scale: shape[0] => shape[1]
        {WHO}
        one matrix for both: {PRODUCT} => weight_query.T @ weight_query || weight_key.T @ weight_key
    """)
    + scaling("key_dim", ROOT, PRODUCT),
)


# --- 3.2 ---
class KeyedAttention(nn.Module):
    def __init__(self, dim, key_dim):
        super().__init__()
        self.W_key = nn.Linear(dim, key_dim, bias=False)
        self.W_query = nn.Linear(dim, key_dim, bias=False)  # each token asks its own question

    def forward(self, features, mask):
        keys = self.W_key(features)  # (batch, tokens, key_dim)
        queries = self.W_query(features)  # (batch, tokens, key_dim)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])  # (batch, tokens, tokens)
        weights = masked_softmax(scores, mask.unsqueeze(1))  # (batch, tokens, tokens)
        return weights @ features, weights


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
    KeyedAttention,
    name="add_queries",
    cases=batches((6, 3), (4, 7), (5, 2), (4, 4), (8, 2)),
    truth=attention_by_pytorch,
    parts=("W_query", "W_key"),
    widths=lambda dim, key_dim: dict.fromkeys(("W_query", "W_key"), (dim, key_dim)),
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
        check_shape(part, shape, f"of {name} (d = {dim}, k = {key_dim})")
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

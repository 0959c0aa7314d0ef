"""The checks of lab 3: one matrix for queries and keys, a query for each token, one question for all."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from ..model import masked_softmax
from .compare import check_shape, kind
from .exercise import Case, Exercise, draw, real_tokens
from .mistakes import attention, edit, refused
from .run import Wrong

EACH = "Lab 3, “A question for each token”"
THREE_WAYS = "Lab 3, “Three ways to one matrix”"
WHO = "Lab 3, “Who asks whom”"
LAYER = "Lab 3, “The layer”"
ONCE_MORE = "Lab 3, “One query for all, once more”"
ROOT = "Lab 3, “Why divide by the square root of k?”"

# --- 3.1 ---------------------------------------------------------------------------------------------------------


def one_matrix(weight_query, weight_key):
    """M (dim, dim), so that F M F^T are the scaled scores."""
    key_dim = weight_query.shape[0]
    return weight_query.T @ weight_key / math.sqrt(key_dim)  # (dim, dim)


def middle_by_loops(weight_query: Tensor, weight_key: Tensor) -> Tensor:
    key_dim, dim = weight_query.shape
    middle = torch.empty(dim, dim, dtype=weight_query.dtype)
    for asks in range(dim):
        for answers in range(dim):
            middle[asks, answers] = sum(q[asks] * k[answers] for q, k in zip(weight_query, weight_key, strict=True))
    return middle / math.sqrt(key_dim)


PRODUCT = "weight_query.T @ weight_key"

one_matrix = Exercise(
    one_matrix,
    cases=[
        Case({"weight_query": draw(key_dim, dim), "weight_key": draw(key_dim, dim, seed=1)})
        for dim, key_dim in ((4, 2), (3, 5), (6, 4), (4, 4))
    ],
    truth=middle_by_loops,
    tried="four pairs of random matrices, k below, above and equal to d, in double precision, entry by entry",
    see=THREE_WAYS,
    mistakes=[
        edit("no scale", " / math.sqrt(key_dim)", "", see=ROOT),
        edit("d instead of k in the scale", "shape[0]", "shape[1]", see=ROOT),
        edit("no root in the scale", "math.sqrt(key_dim)", "key_dim", see=ROOT),
        edit("multiplied by the scale", "/ math", "* math", see=ROOT),
        edit("queries and keys exchanged", PRODUCT, "weight_key.T @ weight_query"),
        edit("queries and keys exchanged", PRODUCT, "weight_key.T @ weight_query", " / math.sqrt(key_dim)", ""),
        edit("the trap of the transposed matrix", PRODUCT, "weight_query @ weight_key.T"),
        edit("the trap of the transposed matrix", PRODUCT, "weight_query @ weight_key.T", "shape[0]", "shape[1]"),
        edit("the trap of the transposed matrix", PRODUCT, "weight_query @ weight_key.T", " / math.sqrt(key_dim)", ""),
        edit("no transpose at all", "weight_query.T", "weight_query"),
        edit("no transpose at all", PRODUCT, "weight_query @ weight_key", " / math.sqrt(key_dim)", ""),
        edit("one matrix for both", PRODUCT, "weight_query.T @ weight_query", see=WHO),
        edit("one matrix for both", PRODUCT, "weight_key.T @ weight_key", see=WHO),
        edit("a reshape for a transpose", "weight_query.T", "weight_query.reshape(weight_query.shape[::-1])"),
        edit("a reshape for a transpose", "weight_query.T", "weight_query.view(weight_query.shape[::-1])"),
        edit("the product is not summed", PRODUCT, "weight_query * weight_key"),
        edit("the product is not summed", PRODUCT, "weight_query.T * weight_key"),
        edit("only one matrix used", f"{PRODUCT} /", "weight_query.T /"),
        edit("only one matrix used", f"{PRODUCT} /", "weight_key /"),
        edit("the scale of another matrix's number", "weight_query.shape[0]", "weight_query.numel()"),
    ],
)

# --- 3.2 ---------------------------------------------------------------------------------------------------------


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


def attention_by_pytorch(
    features: Tensor, mask: Tensor, W_query: Callable, W_key: Callable, W_value: Callable = lambda features: features
) -> tuple[Tensor, Tensor]:
    """PyTorch's own attention. Values of the unit matrix bring back the weights; rows of padding are left open."""
    queries, keys, values = W_query(features), W_key(features), W_value(features)
    unit = torch.eye(features.shape[1], dtype=features.dtype).expand(len(features), -1, -1)
    attend = partial(nn.functional.scaled_dot_product_attention, queries, keys, attn_mask=mask[:, None, :])
    return tuple(attend(brought).masked_fill(~mask[:, :, None], torch.nan) for brought in (values, unit))


def texts(sizes: tuple, lengths: list[int], seed: int, padding_first: bool = False, scale: float = 1.0) -> Case:
    """A batch of texts for a layer made with these sizes, of which the first is the width of the features."""
    mask = real_tokens(lengths).flip(1) if padding_first else real_tokens(lengths)
    return Case({"features": scale * draw(*mask.shape, sizes[0], seed=seed), "mask": mask}, sizes)


def batches(*more: tuple) -> list[Case]:
    """Batches that tell mistakes apart: other widths, padding in front, all sizes equal, one token, large scores."""
    small, wide, narrow, equal, large = more
    return [
        texts(small, [5, 3, 1], 0),
        texts(wide, [6, 6], 1),
        texts(narrow, [4, 2, 3, 1], 2, padding_first=True),
        texts(equal, [4, 3, 2, 4], 3),
        texts(small, [1, 1], 4),
        texts(large, [1, 1, 1, 2] * 4 + [3], 5, scale=30.0),
    ]


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
    mistakes=[
        *attention("features"),
        edit(
            "each token asks only itself",
            *("queries @ keys.transpose(1, 2)", "(queries * keys).sum(dim=2)", "mask.unsqueeze(1)", "mask"),
            *("weights @ features", "(weights.unsqueeze(2) * features).sum(dim=1)"),
            see=EACH,
        ),
        edit(
            "each token asks only itself",
            *("queries @ keys.transpose(1, 2)", "(queries * keys).sum(dim=2)", "mask.unsqueeze(1)", "mask"),
            *("weights @ features", "weights.unsqueeze(2) * features"),
            see=EACH,
        ),
    ],
)

# --- 3.3 ---------------------------------------------------------------------------------------------------------


def one_question(w, key_dim):
    """W_query, b_query and W_key that ask w's question."""
    W_query = torch.zeros(len(w), key_dim)
    b_query = torch.ones(key_dim)
    W_key = torch.outer(w, b_query) / math.sqrt(key_dim)  # (dim, key_dim)
    return W_query, b_query, W_key


def how_all_look(given: object, w: Tensor, key_dim: int) -> Tensor:
    """What counts in an answer to `one_question`: the weights that it gives to six tokens."""
    dim = len(w)
    shapes = {"W_query": (dim, key_dim), "b_query": (key_dim,), "W_key": (dim, key_dim)}
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise Wrong("wrong type", "Return three tensors in a tuple: W_query, b_query, W_key.")
    for (name, shape), part in zip(shapes.items(), given, strict=True):
        if not isinstance(part, Tensor):
            raise Wrong(
                "a number in place of a tensor", f"{name} is {kind(part)}. It should be a tensor of shape {shape}."
            )
        check_shape(part, shape, f"of {name} (d = {dim}, k = {key_dim})")
    W_query, b_query, W_key = (part.to(w.dtype) for part in given)
    features = draw(6, dim, seed=7).to(w.dtype)
    weights = ((features @ W_query + b_query) @ (features @ W_key).T / math.sqrt(key_dim)).softmax(dim=1)
    if W_query.any() and not torch.allclose(weights, weights[:1].expand_as(weights), atol=1e-6):
        raise refused("the matrix still asks", ONCE_MORE)
    return weights


KEY = "torch.outer(w, b_query) / math.sqrt(key_dim)"

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
    mistakes=[
        edit("the scale not undone", "math.sqrt(key_dim)", "key_dim"),
        edit("the scale undone twice", KEY, "torch.outer(w, b_query)"),
        edit("every column asks", "/ math.sqrt(key_dim)", "* math.sqrt(key_dim)"),
        edit("nobody asks", "torch.ones(key_dim)", "torch.zeros(key_dim)"),
        edit("the matrix still asks", "torch.zeros(len(w), key_dim)", "torch.ones(len(w), key_dim)"),
        edit("the sign turned round", "W_query, b_query, W_key", "W_query, -b_query, W_key"),
        edit("every column asks", KEY, "math.sqrt(key_dim) * torch.outer(w, b_query)"),
        edit("nobody asks", "W_query, b_query, W_key", "W_key, b_query, W_query"),
        edit("nobody asks", KEY, "torch.zeros(len(w), key_dim)"),
        edit("the matrix still asks", "torch.zeros(len(w), key_dim)", "torch.randn(len(w), key_dim)"),
        edit("the matrix still asks", "W_query, b_query, W_key", "W_key, b_query, W_key"),
        edit("d instead of k in the scale", "math.sqrt(key_dim)", "math.sqrt(len(w))"),
        edit("the scale counted three times", "math.sqrt(key_dim)", "key_dim**1.5"),
        edit("w left out of the keys", "torch.outer(w, b_query)", "torch.ones(len(w), key_dim)"),
    ],
)

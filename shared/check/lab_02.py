"""The checks of lab 2: a key model folded into one map, unfolded again, and counted."""

import torch
from torch import Tensor, nn

from .compare import check_shape
from .exercise import Case, Exercise, draw
from .mistakes import edit, refused
from .run import Wrong

TO_TWO = "Lab 2, “From one map to two”"
PROOF = "Lab 2, “The proof on a trained model”"
COST = "Lab 2, “What the split costs”"

# --- 2.1 ---------------------------------------------------------------------------------------------------------


def redundant_key(W_key, b_key, query, b_query):
    """The single map of a key model: w (dim,) and b ()."""
    w = W_key @ query  # (dim,)
    b = b_key @ query + b_query  # ()
    return w, b


def map_by_asking(W_key: Tensor, b_key: Tensor, query: Tensor, b_query: Tensor) -> tuple[Tensor, Tensor]:
    """The single map found by asking the key model: its scores for no features, and for each feature alone."""

    def score(features):
        keys = [sum(f * W_key[row, column] for row, f in enumerate(features)) for column in range(W_key.shape[1])]
        return sum((key + b) * q for key, b, q in zip(keys, b_key, query, strict=True)) + b_query

    dim = W_key.shape[0]
    bias = score([0.0] * dim)
    return torch.stack([score([float(i == j) for j in range(dim)]) - bias for i in range(dim)]), bias


def with_b_as_tensor(given: object, W_key: Tensor, **_) -> object:
    """The answer as it is, but that a plain number may stand for `b`."""
    if isinstance(given, (tuple, list)) and len(given) == 2 and type(given[1]) in (int, float):
        return given[0], torch.tensor(given[1], dtype=W_key.dtype)
    return given


def key_model(dim: int, key_dim: int, seed: int) -> Case:
    shapes = {"W_key": (dim, key_dim), "b_key": (key_dim,), "query": (key_dim,), "b_query": ()}
    return Case({name: draw(*shape, seed=seed + place) for place, (name, shape) in enumerate(shapes.items())})


redundant_key = Exercise(
    redundant_key,
    cases=[key_model(6, 4, 0), key_model(3, 5, 10), key_model(4, 1, 20), key_model(4, 4, 30)],
    truth=map_by_asking,
    view=with_b_as_tensor,
    tried="key models of four shapes with biases, k below d, above d, 1 and equal to d, in double precision, feature "
    "by feature",
    see=TO_TWO,
    mistakes=[
        edit("the key's bias forgotten", "b_key @ query + b_query", "b_query", see=PROOF),
        edit("the query's bias forgotten", " + b_query", "", see=PROOF),
        edit("both biases forgotten", "b_key @ query + b_query", "torch.zeros(())", see=PROOF),
        edit("the key's bias never met the query", "b_key @ query", "b_key.sum()"),
        edit("the key's bias never met the query", "b_key @ query", "b_key.mean()"),
        edit("the key's bias never met the query", "b_key @ query", "b_key"),
        edit("the query left out of w", "= W_key @ query", "= W_key.sum(dim=1)"),
        edit("the query left out of w", "= W_key @ query", "= W_key"),
        edit("the product is not summed", "= W_key @ query", "= W_key * query"),
        edit("the product is not summed", "b_key @ query", "b_key * query"),
        edit("the matrix the wrong way round", "= W_key @ query", "= W_key.T @ query"),
        edit("the matrix the wrong way round", "= W_key @ query", "= query @ W_key"),
        edit("w is a column", "= W_key @ query", "= W_key @ query[:, None]"),
        edit("the bias in place of the query", "= W_key @ query", "= W_key @ b_key"),
        edit("the bias in place of the query", "= b_key @ query", "= b_key @ b_key"),
        edit("the query meets itself", "b_key @ query", "query @ query"),
        edit("results in the wrong order", "return w, b", "return b, w"),
        edit("a bias subtracted", "query + b_query", "query - b_query"),
        edit("added in place of multiplied", "W_key @ query", "W_key + query"),
        edit("multiplied in place of added", "query + b_query", "query * b_query"),
    ],
)

# --- 2.2 ---------------------------------------------------------------------------------------------------------


def split_the_map(w, query):
    """A key matrix (dim, key_dim) that brings w back."""
    return torch.outer(w, query) / (query @ query)  # (dim, key_dim)


def what_the_query_makes(given: object, w: Tensor, query: Tensor) -> Tensor:
    """What counts in an answer to `split_the_map`: the product of its matrix with the query."""
    shape = (len(w), len(query))
    if not isinstance(given, Tensor):
        raise Wrong(
            "wrong type", f"Your code returns a {type(given).__name__}; it should be a tensor of shape {shape}."
        )
    if given.shape == shape[::-1] and shape != shape[::-1]:
        raise refused("the matrix the wrong way round", PROOF)
    check_shape(given, shape, "(d, k)")
    return (given * query).sum(dim=1)


SPLIT, SQUARE = "torch.outer(w, query) / (query @ query)", "(query @ query)"

split_the_map = Exercise(
    split_the_map,
    cases=[
        *(Case({"w": draw(6, seed=n), "query": draw(key_dim, seed=10 + n)}) for n, key_dim in enumerate((3, 1, 9))),
        Case({"w": draw(6, seed=3), "query": torch.tensor([0.0, 2.0, 0.0], dtype=torch.float64)}),
    ],
    truth=lambda w, query: w,
    view=what_the_query_makes,
    tried="queries of 3, 1 and 9 random numbers and one with zeros, for maps of 6, by multiplying your K with the "
    "query",
    see=PROOF,
    mistakes=[
        edit("not divided by q · q", f" / {SQUARE}", ""),
        edit("divided by the length of q", SQUARE, "query.norm()"),
        edit("each column brings back all of w", SQUARE, "(query @ query) * len(query)"),
        edit("the query is not undone", SPLIT, "w[:, None].repeat(1, len(query))"),
        edit("the query is not undone", SPLIT, "w[:, None].repeat(1, len(query)) / len(query)"),
        edit("divided by an entry of q", SPLIT, "torch.outer(w, (torch.arange(len(query)) == 0) / query[0])"),
        edit("divided by an entry of q", SPLIT, "w[:, None] / query / len(query)"),
        edit("nothing comes back", "torch.outer(w, query)", "torch.zeros(len(w), len(query))"),
        edit("the matrix the wrong way round", "outer(w, query)", "outer(query, w)"),
        edit("multiplied in place of divided", f"/ {SQUARE}", f"* {SQUARE}"),
        edit("divided by the number of entries", SQUARE, "len(query)"),
        edit("w taken for the query", SQUARE, "(w @ query)"),
        edit("w taken for the query", SQUARE, "(query @ w)"),
        edit("w taken for the query", SQUARE, "(w @ w)"),
        edit("the query entry by entry", SQUARE, "query"),
        edit("the query entry by entry", SQUARE, "(query * query)"),
    ],
)

# --- 2.3 ---------------------------------------------------------------------------------------------------------


def extra_parameters(dim, key_dim, bias):
    """Parameters of key and query, minus the single map's."""
    single = dim + bias
    key = dim * key_dim + bias * key_dim
    query = key_dim + bias
    return key + query - single


def by_counting_modules(dim: int, key_dim: int, bias: bool) -> int:
    def count(*layers):
        return sum(parameter.numel() for layer in layers for parameter in layer.parameters())

    single = nn.Linear(dim, 1, bias=bias, device="meta")
    split = nn.Linear(dim, key_dim, bias=bias, device="meta"), nn.Linear(key_dim, 1, bias=bias, device="meta")
    return count(*split) - count(single)


extra_parameters = Exercise(
    extra_parameters,
    cases=[
        Case({"dim": dim, "key_dim": key_dim, "bias": bias})
        for dim, key_dim in ((16, 16), (16, 1), (16, 4), (5, 7))
        for bias in (False, True)
    ],
    truth=by_counting_modules,
    tried="four pairs of d and k, with and without biases, by counting real modules",
    see=COST,
    mistakes=[
        edit("the query forgotten", "key + query - single", "key - single"),
        edit("the query forgotten", "key + query - single", "key - single + bias"),
        edit("biases not counted", "single =", "bias = 0; single ="),
        edit("the single map's bias forgotten", "single = dim + bias", "single = dim"),
        edit("the query's bias forgotten", "query = key_dim + bias", "query = key_dim"),
        edit("the key's bias has the wrong width", "bias * key_dim", "bias * dim"),
        edit("the key's bias has the wrong width", "bias * key_dim", "bias"),
        edit("the query has the wrong width", "query = key_dim", "query = dim"),
        edit("the query has the wrong width", "query = key_dim", "query = bias"),
        edit("the single map not taken off", " - single", ""),
        edit("the key matrix not counted", "key + query - single", "query - single"),
        edit("the key matrix not counted", "dim * key_dim + ", ""),
        edit("the key matrix taken as d by d", "dim * key_dim", "dim * dim"),
        edit("the key matrix taken as d by d", "dim * key_dim + bias * key_dim", "dim * dim + bias * dim"),
        edit("the key matrix taken as d by d", "single =", "key_dim = dim; single ="),
        edit("the key matrix taken as d by d", None, "return dim * dim + bias * dim"),
        *(
            edit("the key matrix is not d times k", "dim * key_dim", wrong)
            for wrong in ("key_dim * key_dim", "(dim + key_dim)", "dim / key_dim", "dim", "key_dim")
        ),
        edit("the difference turned round", "key + query - single", "single - key - query"),
        edit("the single map added", "- single", "+ single"),
        edit("the query taken off", "key + query", "key - query"),
        edit("the single map's bias has the wrong sign", "single = dim + bias", "single = dim - bias"),
        edit("the single map has the wrong width", "single = dim + bias", "single = bias"),
        edit("a bias subtracted", "key_dim + bias * key_dim", "key_dim - bias * key_dim"),
        edit("a bias subtracted", "query = key_dim + bias", "query = key_dim - bias"),
        edit("multiplied in place of added", "query = key_dim + bias", "query = key_dim * bias"),
        edit("multiplied in place of added", "single = dim + bias", "single = dim * bias"),
        edit("multiplied in place of added", "key_dim + bias * key_dim", "key_dim * bias * key_dim"),
        edit("multiplied in place of added", "key + query", "key * query"),
    ],
)

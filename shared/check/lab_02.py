"""The checks of lab 2: a key model folded into one map, unfolded again, and counted."""

import torch
from torch import Tensor, nn

from .compare import check_shape
from .exercise import Case, Exercise, draw
from .mistakes import Wrong, edits

PROOF = "Lab 2, “The proof on a trained model”"


# --- 2.1 ---
def redundant_key(W_key, b_key, query, b_query):
    """The single map of a key model: w (dim,) and b ()."""
    w = W_key @ query  # (dim,)
    b = b_key @ query + b_query  # ()
    return w, b


def map_by_asking(W_key, b_key, query, b_query):
    """The single map found by asking the key model: its scores for no features, and for each feature alone."""
    features = torch.cat([torch.zeros(1, len(W_key)), torch.eye(len(W_key))])  # (1 + dim, dim)
    keys = nn.functional.linear(features, W_key.T, b_key)
    nothing, *each = nn.functional.linear(keys, query[None], b_query[None]).squeeze(1)
    return torch.stack(each) - nothing, nothing


def with_b_as_tensor(given, W_key, **_):
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
    see="Lab 2, “From one map to two”",
    mistakes=edits(f"""
        the key's bias never met the query: b_key @ query => b_key.sum() || b_key.mean() || b_key
        the query left out of w: = W_key @ query => = W_key.sum(dim=1) || = W_key
        the product is not summed: = W_key @ query => = W_key * query || b_key @ query => b_key * query
        the matrix the wrong way round: = W_key @ query => = W_key.T @ query || = query @ W_key
        w is a column: = W_key @ query => = W_key @ query[:, None]
        the bias in place of the query: = W_key @ query => = W_key @ b_key || = b_key @ query => = b_key @ b_key
        the query meets itself: b_key @ query => query @ query
        results in the wrong order: return w, b => return b, w
        a bias subtracted: query + b_query => query - b_query
        added in place of multiplied: W_key @ query => W_key + query
        multiplied in place of added: query + b_query => query * b_query
        {PROOF}
        the key's bias forgotten: b_key @ query + b_query => b_query
        the query's bias forgotten: + b_query =>
        both biases forgotten: b_key @ query + b_query => torch.zeros(())
    """),
)


# --- 2.2 ---
def split_the_map(w, query):
    """A key matrix (dim, key_dim) that brings w back."""
    return torch.outer(w, query) / (query @ query)  # (dim, key_dim)


def what_the_query_makes(given, w, query):
    """What counts in an answer to `split_the_map`: the product of its matrix with the query."""
    shape = (len(w), len(query))
    if not isinstance(given, Tensor):
        raise Wrong("wrong type [key matrix]", kind=type(given).__name__, shape=shape)
    if given.shape == shape[::-1] and shape != shape[::-1]:
        raise Wrong("the matrix the wrong way round", see=PROOF)
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
    mistakes=edits(f"""
        not divided by q · q: / {SQUARE} =>
        divided by the length of q: {SQUARE} => query.norm()
        each column brings back all of w: {SQUARE} => {SQUARE} * len(query)
        the query is not undone: {SPLIT} => w[:, None].repeat(1, len(query)) ||
            w[:, None].repeat(1, len(query)) / len(query)
        divided by an entry of q: {SPLIT} => torch.outer(w, (torch.arange(len(query)) == 0) / query[0]) ||
            w[:, None] / query / len(query)
        nothing comes back: torch.outer(w, query) => torch.zeros(len(w), len(query))
        the matrix the wrong way round: outer(w, query) => outer(query, w)
        multiplied in place of divided: / {SQUARE} => * {SQUARE}
        divided by the number of entries: {SQUARE} => len(query)
        w taken for the query: {SQUARE} => (w @ query) || (query @ w) || (w @ w)
        the query entry by entry: {SQUARE} => query || (query * query)
    """),
)


# --- 2.3 ---
def extra_parameters(dim, key_dim, bias):
    """Parameters of key and query, minus the single map's."""
    single = dim + bias
    key = dim * key_dim + bias * key_dim
    query = key_dim + bias
    return key + query - single


def by_counting_modules(dim, key_dim, bias):
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
    see="Lab 2, “What the split costs”",
    mistakes=edits("""
        the query forgotten: key + query - single => key - single || key - single + bias
        biases not counted: single = => bias = 0; single =
        the single map's bias forgotten: single = dim + bias => single = dim
        the query's bias forgotten: query = key_dim + bias => query = key_dim
        the key's bias has the wrong width: bias * key_dim => bias * dim || bias
        the query has the wrong width: query = key_dim => query = dim || query = bias
        the single map not taken off: - single =>
        the key matrix not counted: key + query - single => query - single || dim * key_dim + =>
        the key matrix taken as d by d: dim * key_dim => dim * dim ||
            dim * key_dim + bias * key_dim => dim * dim + bias * dim || single = => key_dim = dim; single = ||
            => return dim * dim + bias * dim
        the key matrix is not d times k: dim * key_dim => key_dim * key_dim || (dim + key_dim) || dim / key_dim ||
            dim || key_dim
        the difference turned round: key + query - single => single - key - query
        the single map added: - single => + single
        the query taken off: key + query => key - query
        the single map's bias has the wrong sign: single = dim + bias => single = dim - bias
        the single map has the wrong width: single = dim + bias => single = bias
        a bias subtracted: key_dim + bias * key_dim => key_dim - bias * key_dim ||
            query = key_dim + bias => query = key_dim - bias
        multiplied in place of added: query = key_dim + bias => query = key_dim * bias ||
            single = dim + bias => single = dim * bias || key_dim + bias * key_dim => key_dim * bias * key_dim ||
            key + query => key * query
    """),
)

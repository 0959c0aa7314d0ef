"""The checks of lab 5: the context vector of one word, a matrix as a layer, self-attention on batches."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .exercise import Case, Exercise, draw
from .mistakes import edit, refused, scales
from .run import Wrong

ONE_WORD = "Lab 5, “One word: its query, key and value”"
QUESTION = "Lab 5, “Scores: one question, six labels”"
SCALE = "Lab 5, “The scale”"
CONTEXT = "Lab 5, “The context vector”"
ALL_WORDS = "Lab 5, “All words at once”"
CLASSES = "Lab 5, “Two classes, one function”"
BATCH = "Lab 5, “A batch, and a bug”"
SILENT = "Lab 5, “The bug that does not crash”"

# --- 5.1 ---------------------------------------------------------------------------------------------------------


def context_of_one_word(place, inputs, W_query, W_key, W_value):
    """The context vector of the word at `place`, (d_v,)."""
    query = inputs[place] @ W_query  # (d_k,)
    keys = inputs @ W_key  # (tokens, d_k)
    values = inputs @ W_value  # (tokens, d_v)
    scores = keys @ query  # (tokens,)
    weights = torch.softmax(scores / math.sqrt(len(query)), dim=0)  # (tokens,)
    return weights @ values  # (d_v,)


def context_by_loops(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The context vector of one query, number by number: (d_k,), (tokens, d_k) and (tokens, d_v) to (d_v,)."""
    scores = [sum((query * key).tolist()) / len(query) ** 0.5 for key in keys]
    powers = [math.exp(score - max(scores)) for score in scores]
    return sum(power / sum(powers) * value for power, value in zip(powers, values, strict=True))


def sentence(place: int, tokens: int, d_in: int, d_k: int, d_v: int) -> Case:
    drawn = {"inputs": draw(tokens, d_in, seed=1), "W_query": draw(d_in, d_k, seed=2), "W_key": draw(d_in, d_k, seed=3)}
    return Case({"place": place} | drawn | {"W_value": draw(d_in, d_v, seed=4)})


SOFT = "torch.softmax(scores / math.sqrt(len(query)), dim=0)"

context_of_one_word = Exercise(
    context_of_one_word,
    cases=[sentence(2, 4, 4, 4, 4), sentence(3, 6, 3, 2, 5), sentence(1, 5, 4, 3, 2), sentence(0, 1, 2, 3, 4)],
    truth=lambda place, inputs, W_query, W_key, W_value: context_by_loops(
        inputs[place] @ W_query, inputs @ W_key, inputs @ W_value
    ),
    tried="four sentences in double precision, of one word to six, with d_in, d_k and d_v equal and different, "
    "against loops",
    see=CONTEXT,
    mistakes=[
        *scales("len(query)", SCALE, features="inputs.shape[1]", values="values.shape[1]", tokens="len(inputs)"),
        edit("no softmax", SOFT, "scores / math.sqrt(len(query))", see=SCALE),
        edit("no softmax", SOFT, "scores", see=SCALE),
        edit("sigmoid instead of softmax", SOFT, "torch.sigmoid(scores / math.sqrt(len(query)))", see=SCALE),
        edit("the scale after the softmax", SOFT, "torch.softmax(scores, dim=0) / math.sqrt(len(query))", see=SCALE),
        edit("exponentials not divided", SOFT, "torch.exp(scores / math.sqrt(len(query)))", see=SCALE),
        edit("weights in place of the context", "weights @ values", "weights"),
        edit(
            "queries and keys exchanged", "[place] @ W_query", "[place] @ W_key", "inputs @ W_key", "inputs @ W_query"
        ),
        edit("one matrix for both", "[place] @ W_query", "[place] @ W_key", see=ONE_WORD),
        edit("one matrix for both", "inputs @ W_key", "inputs @ W_query", see=ONE_WORD),
        edit("no transpose at all", "keys @ query", "query @ keys", see=QUESTION),
        edit("features brought back", "weights @ values", "weights @ inputs"),
        edit("keys brought back", "weights @ values", "weights @ keys"),
        edit("weights not used", "weights @ values", "values.mean(dim=0)"),
        edit("weights not used", "weights @ values", "values.sum(dim=0)"),
        edit("weights not used", "weights @ values", "values[place]"),
        edit("the product is not summed", "weights @ values", "weights[:, None] * values"),
        edit("divided once too often", "weights @ values", "(weights[:, None] * values).mean(dim=0)"),
        edit("always the same word", "[place]", "[0]", see=ONE_WORD),
        edit("always the same word", "[place]", "[-1]", see=ONE_WORD),
        edit("one place off", "[place]", "[place - 1]", see=ONE_WORD),
        edit(
            "all words in place of one",
            *("inputs[place]", "inputs", "keys @ query", "query @ keys.T", "len(query)", "query.shape[1]"),
            *("dim=0", "dim=1"),
        ),
        edit(
            "all words in place of one", "inputs[place]", "inputs", "keys @ query", "query @ keys.T", "dim=0", "dim=1"
        ),
    ],
)

# --- 5.2 ---------------------------------------------------------------------------------------------------------


def as_layer(W):
    """An nn.Linear without bias whose output is x @ W."""
    d_in, d_out = W.shape
    layer = nn.Linear(d_in, d_out, bias=False)
    with torch.no_grad():
        layer.weight.copy_(W.T)  # (d_out, d_in)
    return layer


def its_weight(layer: object, W: Tensor) -> Tensor:
    """What counts in an answer to `as_layer`: the matrix of a layer without bias."""
    if not isinstance(layer, nn.Linear):
        raise refused("no nn.Linear", CLASSES)
    if layer.bias is not None:
        raise refused("a bias is left in", CLASSES)
    if not any(layer.weight is parameter for parameter in layer.parameters()):
        wish = "no optimizer would find it. Wrap it in nn.Parameter(...)."
        raise Wrong("weights not registered", f"The layer's weight is a plain tensor: {wish} Read again: {CLASSES}.")
    return layer.weight.detach()


def learns_alone(answer: Callable, go: Callable) -> None:
    """The layer can learn, and W does not learn with it."""
    W = draw(3, 2).to(torch.get_default_dtype())
    weight = go(lambda: answer(W)).weight
    if not weight.requires_grad:
        raise refused("cannot learn", CLASSES)
    if weight.untyped_storage().data_ptr() == W.untyped_storage().data_ptr():
        raise refused("memory shared", CLASSES)


COPY = "with torch.no_grad():\n        layer.weight.copy_(W.T)"

as_layer = Exercise(
    as_layer,
    cases=[Case({"W": draw(*shape)}) for shape in ((4, 4), (3, 2), (2, 5), (1, 3))],
    truth=lambda W: torch.stack([W[:, column] for column in range(W.shape[1])]),
    view=its_weight,
    also=learns_alone,
    tried="matrices in double precision that are square, upright and lying",
    see=CLASSES,
    mistakes=[
        *(
            edit(
                "the matrix the wrong way round",
                *texts,
                say="W went in as it is. nn.Linear computes x @ weight.T, so the transpose of W goes in.",
            )
            for texts in (
                ("W.T", "W"),
                (COPY, "layer.weight = nn.Parameter(W.clone())"),
                ("d_in, d_out = W", "d_out, d_in = W", "W.T", "W"),
            )
        ),
        edit("a reshape for a transpose", "W.T", "W.reshape(d_out, d_in)"),
        edit("widths of the layer exchanged", "Linear(d_in, d_out", "Linear(d_out, d_in"),
        edit("copied outside no_grad", "no_grad", "enable_grad"),
        edit("a bias is left in", ", bias=False", ""),
        edit("a bias is left in", "bias=False", "bias=True"),
        edit("no nn.Linear", "return layer", "return W.T"),
        edit("no nn.Linear", "return layer", "return layer.weight"),
        edit("no nn.Linear", "return layer", "return lambda x: x @ W"),
        edit("memory shared", COPY, "layer.weight = nn.Parameter(W.T)"),
        edit("memory shared", COPY, "layer.weight.data = W.T"),
        edit("cannot learn", "return layer", "return layer.requires_grad_(False)"),
        edit("cannot learn", COPY, "layer.weight = nn.Parameter(W.T.clone(), requires_grad=False)"),
    ],
)

# --- 5.3 ---------------------------------------------------------------------------------------------------------


class BatchedAttention(nn.Module):
    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_k))
        self.W_key = nn.Parameter(torch.rand(d_in, d_k))
        self.W_value = nn.Parameter(torch.rand(d_in, d_v))

    def forward(self, x):  # (..., tokens, d_in)
        queries = x @ self.W_query  # (..., tokens, d_k)
        keys = x @ self.W_key  # (..., tokens, d_k)
        values = x @ self.W_value  # (..., tokens, d_v)
        scores = queries @ keys.transpose(-2, -1)  # (..., tokens, tokens)
        weights = torch.softmax(scores / math.sqrt(keys.shape[-1]), dim=-1)
        return weights @ values  # (..., tokens, d_v)


def sentences_by_loops(x: Tensor, W_query: Callable, W_key: Callable, W_value: Callable) -> Tensor:
    if x.dim() == 3:
        return torch.stack([sentences_by_loops(sentence, W_query, W_key, W_value) for sentence in x])
    return torch.stack([context_by_loops(query, W_key(x), W_value(x)) for query in W_query(x)])


def sentences(shape: tuple[int, ...], d_k: int, d_v: int) -> Case:
    return Case({"x": draw(*shape)}, sizes=(shape[-1], d_k, d_v))


SCORES, SCALED = "queries @ keys.transpose(-2, -1)", "scores / math.sqrt(keys.shape[-1])"
WEIGHTS = f"torch.softmax({SCALED}, dim=-1)"
TOGETHER = """rows = x.flatten(0, -2)
queries, keys, values = rows @ self.W_query, rows @ self.W_key, rows @ self.W_value
weights = torch.softmax(queries @ keys.T / math.sqrt(keys.shape[1]), dim=-1)
return (weights @ values).unflatten(0, x.shape[:-1])"""

batched_attention = Exercise(
    BatchedAttention,
    name="batched_attention",
    cases=[
        sentences((4, 4, 4), 4, 4),
        sentences((5, 3), 2, 4),
        sentences((2, 6, 3), 2, 4),
        sentences((3, 4, 6), 5, 2),
        sentences((2, 1, 3), 4, 2),
    ],
    truth=sentences_by_loops,
    parts=("W_query", "W_key", "W_value"),
    widths=lambda d_in, d_k, d_v: {"W_query": (d_in, d_k), "W_key": (d_in, d_k), "W_value": (d_in, d_v)},
    tried="one sentence, batches of sizes that differ, sentences of one word, and four sentences of four words with "
    "four features, in double precision, against loops",
    see=BATCH,
    mistakes=[
        *scales(
            "keys.shape[-1]",
            SCALE,
            features="x.shape[-1]",
            values="values.shape[-1]",
            tokens="x.shape[-2]",
            texts="keys.shape[0]",
        ),
        edit("the number of tokens in the scale", "keys.shape[-1]", "keys.shape[1]", see=SCALE),
        edit("no transpose at all", "keys.transpose(-2, -1)", "keys", see=ALL_WORDS),
        *(
            edit(
                "transpose of the wrong axes",
                *("keys.transpose(-2, -1)", turned),
                say="On a batch, `.T` turns all three axes around, and `transpose(0, 1)` and `(0, 2)` move the "
                "sentences. When the sizes agree that raises no error. Swap the last two axes only: (-2, -1).",
            )
            for turned in (
                *("keys.permute(*reversed(range(keys.dim())))", "keys.transpose(0, 2)", "keys.transpose(0, 1)"),
                *("keys.transpose(-3, -1)", "keys.transpose(-3, -2)", "keys.t()"),
            )
        ),
        edit("a reshape for a transpose", "keys.transpose(-2, -1)", "keys.reshape(*x.shape[:-2], -1, x.shape[-2])"),
        *(
            edit("only for a batch", *texts)
            for texts in (
                ("transpose(-2, -1)", "transpose(1, 2)"),
                ("transpose(-2, -1)", "permute(0, 2, 1)"),
                (SCORES, "torch.bmm(queries, keys.mT)"),
                (SCORES, 'torch.einsum("bik,bjk->bij", queries, keys)'),
                ("dim=-1", "dim=2"),
                ("weights @ values", "torch.bmm(weights, values)"),
                ("weights @ values", 'torch.einsum("bij,bjv->biv", weights, values)'),
                ("scores = ", "batch, tokens, width = x.shape; scores = "),
                ("keys.shape[-1]", "keys.shape[2]"),
            )
        ),
        edit("softmax over the wrong axis", "dim=-1", "dim=-2", see=ALL_WORDS),
        edit(
            "softmax over the wrong axis",
            *("dim=-1", "dim=1"),
            say="The softmax runs along axis 1. That is right for one sentence; on a batch axis 1 are the words that "
            "ask. The last axis is dim=-1.",
            see=ALL_WORDS,
        ),
        edit("softmax over the batch", "dim=-1", "dim=0"),
        edit("softmax over the batch", "dim=-1", "dim=-3"),
        edit(
            "softmax over all scores",
            WEIGHTS,
            f"({SCALED}).flatten(-2).softmax(-1).reshape(scores.shape)",
            see=ALL_WORDS,
        ),
        edit("no softmax", WEIGHTS, SCALED, see=SCALE),
        edit("no softmax", WEIGHTS, "scores", see=SCALE),
        edit("sigmoid instead of softmax", WEIGHTS, f"torch.sigmoid({SCALED})", see=SCALE),
        edit(
            "the scale after the softmax", WEIGHTS, "torch.softmax(scores, -1) / math.sqrt(keys.shape[-1])", see=SCALE
        ),
        edit("exponentials not divided", WEIGHTS, f"torch.exp({SCALED})", see=SCALE),
        edit("queries and keys exchanged", SCORES, "keys @ queries.transpose(-2, -1)", see=ALL_WORDS),
        edit("one matrix for both", "queries = x @ self.W_query", "queries = x @ self.W_key", see=ONE_WORD),
        edit("one matrix for both", "keys = x @ self.W_key", "keys = x @ self.W_query", see=ONE_WORD),
        edit("features brought back", "weights @ values", "weights @ x", see=CONTEXT),
        edit("keys brought back", "weights @ values", "weights @ keys", see=CONTEXT),
        edit("queries brought back", "weights @ values", "weights @ queries", see=CONTEXT),
        edit("weights in place of the context", "weights @ values", "weights", see=CONTEXT),
        edit("weights not used", "weights @ values", "values", see=CONTEXT),
        edit("weighted with the transposed weights", "weights @", "weights.transpose(-2, -1) @", see=CONTEXT),
        edit("values made of something else", "values = x @", "values = keys @", see=ONE_WORD),
        edit("values made of something else", "values = x @", "values = queries @", see=ONE_WORD),
        *(
            edit("averaged over the tokens", "weights @ values", f"(weights @ values).{how}(dim=-2)", see=CONTEXT)
            for how in ("mean", "sum")
        ),
        edit("a residual connection", "weights @ values", "weights @ values + values", see=CONTEXT),
        edit("a residual connection", "weights @ values", "weights @ values + x", see=CONTEXT),
        edit("sentences read each other", None, TOGETHER, see=SILENT),
    ],
)

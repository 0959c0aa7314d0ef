"""The checks of lab 6: the context vector of one word, a matrix as a layer, self-attention on batches."""

import math

import torch
from torch import nn

from .attention import attend, mixing, scaling
from .exercise import Case, Exercise, draw
from .mistakes import Wrong, edits

ONE_WORD = "Lab 6, “One word: its query, key and value”"
SCALE = "Lab 6, “The scale”"
CONTEXT = "Lab 6, “The context vector”"
ALL_WORDS = "Lab 6, “All words at once”"
CLASSES = "Lab 6, “Two classes, one function”"
BATCH = "Lab 6, “A batch, and a bug”"


# --- 6.1 ---
def context_of_one_word(place, inputs, W_query, W_key, W_value):
    """The context vector of the word at `place`, (d_v,)."""
    query = inputs[place] @ W_query  # (d_k,)
    keys = inputs @ W_key  # (tokens, d_k)
    values = inputs @ W_value  # (tokens, d_v)
    scores = keys @ query  # (tokens,)
    weights = torch.softmax(scores / math.sqrt(len(query)), dim=0)  # (tokens,)
    return weights @ values  # (d_v,)


def context_by_pytorch(place, inputs, W_query, W_key, W_value):
    return attend(inputs @ W_query, inputs @ W_key, inputs @ W_value)[0][place]


def sentence(place: int, tokens: int, d_in: int, d_k: int, d_v: int) -> Case:
    drawn = {"inputs": draw(tokens, d_in, seed=1), "W_query": draw(d_in, d_k, seed=2), "W_key": draw(d_in, d_k, seed=3)}
    return Case({"place": place} | drawn | {"W_value": draw(d_in, d_v, seed=4)})


def unweighed(softmax: str, scaled: str, root: str) -> str:
    """What goes wrong between the scores and the weights where nothing is masked."""
    return f"""
        {SCALE}
        no softmax: {softmax} => {scaled} || scores
        sigmoid instead of softmax: {softmax} => torch.sigmoid({scaled})
        the scale after the softmax: {softmax} => {softmax.replace(scaled, "scores")} / {root}
        exponentials not divided: {softmax} => torch.exp({scaled})
    """


ALL = "inputs[place] => inputs && keys @ query => query @ keys.T && dim=0 => dim=1"
SCALED, ROOT = "scores / math.sqrt(len(query))", "math.sqrt(len(query))"

context_of_one_word = Exercise(
    context_of_one_word,
    cases=[sentence(2, 4, 4, 4, 4), sentence(3, 6, 3, 2, 5), sentence(1, 5, 4, 3, 2), sentence(0, 1, 2, 3, 4)],
    truth=context_by_pytorch,
    tried="four sentences in double precision, of one word to six, with d_in, d_k and d_v equal and different, "
    "against PyTorch's scaled_dot_product_attention",
    see=CONTEXT,
    mistakes=scaling("len(query)", SCALE, features="inputs.shape[1]", values="values.shape[1]", tokens="len(inputs)")
    + edits(unweighed(f"torch.softmax({SCALED}, dim=0)", SCALED, ROOT))
    + edits(f"""
        weights in place of the context: weights @ values => weights
        queries and keys exchanged: [place] @ W_query => [place] @ W_key && inputs @ W_key => inputs @ W_query
        features brought back: weights @ values => weights @ inputs
        keys brought back: weights @ values => weights @ keys
        weights not used: weights @ values => values.mean(dim=0) || values.sum(dim=0) || values[place]
        the product is not summed: weights @ values => weights[:, None] * values
        divided once too often: weights @ values => (weights[:, None] * values).mean(dim=0)
        all words in place of one: {ALL} && len(query) => query.shape[1] || {ALL}
        {ONE_WORD}
        one matrix for both: [place] @ W_query => [place] @ W_key || inputs @ W_key => inputs @ W_query
        always the same word: [place] => [0] || [-1]
        one place off: [place] => [place - 1]
        Lab 6, “Scores: one question, six labels”
        no transpose at all: keys @ query => query @ keys
    """),
)


# --- 6.2 ---
def as_layer(W):
    """An nn.Linear without bias whose output is x @ W."""
    d_in, d_out = W.shape
    layer = nn.Linear(d_in, d_out, bias=False)
    with torch.no_grad():
        layer.weight.copy_(W.T)  # (d_out, d_in)
    return layer


def its_weight(layer, W):
    """What counts in an answer to `as_layer`: the matrix of a layer without bias."""
    if not isinstance(layer, nn.Linear):
        raise Wrong("no nn.Linear", see=CLASSES)
    if layer.bias is not None:
        raise Wrong("a bias is left in", see=CLASSES)
    if not any(layer.weight is parameter for parameter in layer.parameters()):
        raise Wrong("weights not registered [W]", see=CLASSES)
    return layer.weight.detach()


def learns_alone(answer, run):
    """The layer can learn, and W does not learn with it."""
    W = draw(3, 2).to(torch.get_default_dtype())
    weight = run(lambda: answer(W)).weight
    if not weight.requires_grad:
        raise Wrong("cannot learn", see=CLASSES)
    if weight.untyped_storage().data_ptr() == W.untyped_storage().data_ptr():
        raise Wrong("memory shared", see=CLASSES)


COPY = "layer.weight.copy_(W.T)"

as_layer = Exercise(
    as_layer,
    cases=[Case({"W": draw(*shape)}) for shape in ((4, 4), (3, 2), (2, 5), (1, 3))],
    truth=lambda W: torch.stack(W.unbind(1)),
    view=its_weight,
    also=learns_alone,
    tried="matrices in double precision that are square, upright and lying",
    see=CLASSES,
    mistakes=edits(f"""
        the matrix the wrong way round [layer]: W.T => W || {COPY} => layer.weight = nn.Parameter(W.clone()) ||
            d_in, d_out = W => d_out, d_in = W && W.T => W
        a reshape for a transpose: W.T => W.reshape(d_out, d_in)
        widths of the layer exchanged: Linear(d_in, d_out => Linear(d_out, d_in
        copied outside no_grad: no_grad => enable_grad
        a bias is left in: , bias=False => || bias=False => bias=True
        no nn.Linear: return layer => return W.T || return layer.weight || return lambda x: x @ W
        memory shared: {COPY} => layer.weight = nn.Parameter(W.T) || layer.weight.data = W.T
        cannot learn: return layer => return layer.requires_grad_(False) ||
            {COPY} => layer.weight = nn.Parameter(W.T.clone(), requires_grad=False)
    """),
)


# --- 6.3 ---
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


def sentences(shape: tuple[int, ...], d_k: int, d_v: int) -> Case:
    return Case({"x": draw(*shape)}, sizes=(shape[-1], d_k, d_v))


SCORES, SCALED = "queries @ keys.transpose(-2, -1)", "scores / math.sqrt(keys.shape[-1])"
WEIGHTS, ROWS = f"torch.softmax({SCALED}, dim=-1)", "x.flatten(0, -2)"
WIDTHS = {"features": "x.shape[-1]", "values": "values.shape[-1]", "tokens": "x.shape[-2]", "texts": "keys.shape[0]"}

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
    truth=lambda x, W_query, W_key, W_value: attend(W_query(x), W_key(x), W_value(x))[0],
    parts=("W_query", "W_key", "W_value"),
    widths=lambda d_in, d_k, d_v: {"W_query": (d_in, d_k), "W_key": (d_in, d_k), "W_value": (d_in, d_v)},
    tried="one sentence, batches of sizes that differ, sentences of one word, and four sentences of four words with "
    "four features, in double precision, against PyTorch's scaled_dot_product_attention",
    see=BATCH,
    mistakes=scaling("keys.shape[-1]", SCALE, **WIDTHS)
    + edits(unweighed(WEIGHTS, SCALED, "math.sqrt(keys.shape[-1])"))
    + mixing("x", "transpose(-2, -1)", "values", EACH=ALL_WORDS, WHOM=ONE_WORD, PRODUCT=ALL_WORDS, BACK=CONTEXT)
    + edits(f"""
        transpose of the wrong axes [batch]: keys.transpose(-2, -1) => keys.permute(*reversed(range(keys.dim()))) ||
            keys.transpose(0, 2) || keys.transpose(0, 1) || keys.transpose(-3, -1) || keys.transpose(-3, -2) || keys.t()
        only for a batch: transpose(-2, -1) => transpose(1, 2) || permute(0, 2, 1) ||
            {SCORES} => torch.bmm(queries, keys.mT) || torch.einsum("bik,bjk->bij", queries, keys) ||
            weights @ values => torch.bmm(weights, values) || torch.einsum("bij,bjv->biv", weights, values) ||
            scores = => batch, tokens, width = x.shape; scores = || dim=-1 => dim=2 || keys.shape[-1] => keys.shape[2]
        softmax over the batch: dim=-1 => dim=0 || dim=-3
        {SCALE}
        the number of tokens in the scale: keys.shape[-1] => keys.shape[1]
        {ALL_WORDS}
        softmax over the wrong axis: dim=-1 => dim=-2
        softmax over the wrong axis [axis 1]: dim=-1 => dim=1
        softmax over all scores: {WEIGHTS} => ({SCALED}).flatten(-2).softmax(-1).reshape(scores.shape)
        {ONE_WORD}
        values made of something else: values = x @ => values = keys @ || values = queries @
        {CONTEXT}
        features brought back: weights @ values => weights @ x
        weights in place of the context: weights @ values => weights
        Lab 6, “The bug that does not crash”
        sentences read each other: x @ self => {ROWS} @ self &&
            weights @ values => (weights @ values).view(*x.shape[:-1], -1)
    """),
)

"""The checks of lab 6: self-attention on batches, a matrix as a layer, axes from the front, one matrix or two."""

import math

import torch
from torch import nn

from .attention import attend, mixing, scaling
from .exercise import Case, Exercise, draw, drawn
from .experiment import by_hand, by_sums, known_run, measured, over_seeds
from .mistakes import Wrong, edits

ONE_WORD = "Lab 6, “One word: its query, key and value”"
SCALE = "Lab 6, “The scale”"
CONTEXT = "Lab 6, “The context vector”"
ALL_WORDS = "Lab 6, “All words at once”"
CLASSES = "Lab 6, “Two classes, one function”"
BATCH = "Lab 6, “A batch, and a bug”"


def unweighed(softmax: str, scaled: str, root: str) -> str:
    """What goes wrong between the scores and the weights where nothing is masked."""
    return f"""
        {SCALE}
        no softmax: {softmax} => {scaled} || scores
        sigmoid instead of softmax: {softmax} => torch.sigmoid({scaled})
        the scale after the softmax: {softmax} => {softmax.replace(scaled, "scores")} / {root}
        exponentials not divided: {softmax} => torch.exp({scaled})
    """


# --- 6.1 ---
class SelfAttention(nn.Module):
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
    SelfAttention,
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
    see=ALL_WORDS,
    mistakes=scaling("keys.shape[-1]", SCALE, **WIDTHS)
    + edits(unweighed(WEIGHTS, SCALED, "math.sqrt(keys.shape[-1])"))
    + mixing("x", "transpose(-2, -1)", "values", EACH=ALL_WORDS, WHOM=ONE_WORD, PRODUCT=ALL_WORDS, BACK=CONTEXT)
    + edits(f"""
        more than one fault is left [sentence]: keys.transpose(-2, -1) => keys.T && dim=-1 => dim=1
        transpose of the wrong axes [batch]: keys.transpose(-2, -1) => keys.permute(*reversed(range(keys.dim()))) ||
            keys.transpose(0, 2) || keys.transpose(0, 1) || keys.transpose(-3, -2) || keys.t()
        only for a batch: transpose(-2, -1) => transpose(1, 2) || permute(0, 2, 1) ||
            {SCORES} => torch.bmm(queries, keys.mT) || torch.einsum("bik,bjk->bij", queries, keys) ||
            scores = => batch, tokens, width = x.shape; scores =
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
        {BATCH}
        sentences read each other: x @ self => {ROWS} @ self &&
            weights @ values => (weights @ values).view(*x.shape[:-1], -1)
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
    for shape in ((3, 2), (1, 3)):  # one row turned is a view, even where others would be copied
        W = draw(*shape).to(torch.get_default_dtype())
        weight = run(lambda W=W: answer(W)).weight
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
        the matrix the wrong way round [layer]: W.T => W || {COPY} => layer.weight = nn.Parameter(W.clone())
        a reshape for a transpose: W.T => W.reshape(d_out, d_in)
        widths of the layer exchanged: Linear(d_in, d_out => Linear(d_out, d_in
        copied outside no_grad: no_grad => enable_grad
        a bias is left in: , bias=False =>
        no nn.Linear: return layer => return W.T
        memory shared: {COPY} => layer.weight = nn.Parameter(W.T)
        cannot learn: return layer => return layer.requires_grad_(False)
    """),
)


# --- 6.3 ---
def mend_the_batch(queries, keys, values):
    """The context vectors of one sentence or of a batch, (..., tokens, d_v)."""
    scores = torch.einsum("...ik,...jk->...ij", queries, keys)  # (..., tokens, tokens)
    scores = scores - scores.mean()  # keeps exp from growing too large
    powers = torch.exp(scores / math.sqrt(keys.shape[-1]))
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ values


def three(shape: tuple[int, ...], d_k: int, d_v: int, scale: float = 1.0) -> Case:
    return Case(drawn(0, scale, queries=(*shape, d_k), keys=(*shape, d_k), values=(*shape, d_v)))


ROOT_OF, SHARES = "math.sqrt(keys.shape[-1])", "powers.sum(dim=-1, keepdim=True)"
FRONT_ROOT, FRONT_SHARES = "math.sqrt(keys.shape[1])", "powers.sum(dim=1, keepdim=True)"
EINSUM = '"...ik,...jk->...ij"'

mend_the_batch = Exercise(
    mend_the_batch,
    cases=[three((2, 5), 4, 3), three((6,), 2, 3), three((4, 4), 4, 4), three((3, 2), 5, 2), three((1, 3), 2, 2, 2.0)],
    truth=lambda queries, keys, values: attend(queries, keys, values)[0],
    tried="one sentence, batches of one to four, and four sentences of four words with four columns, in double "
    "precision, against PyTorch's scaled_dot_product_attention",
    see=BATCH,
    mistakes=edits(f"""
        axes counted from the front: {ROOT_OF} => {FRONT_ROOT} && {SHARES} => {FRONT_SHARES} ||
            {ROOT_OF} => {FRONT_ROOT} && {SHARES} => {FRONT_SHARES} && scores.mean() => scores.mean(-1, keepdim=True)
        other numbers taken off within a row: scores.mean() => scores.mean(dim=-2, keepdim=True) ||
            scores.mean() => scores.mean(dim=1, keepdim=True) || scores.mean() => scores.mean(dim=0, keepdim=True)
        softmax over the wrong axis [axis 1]: {SHARES} => {FRONT_SHARES}
        the number of tokens in the scale: {ROOT_OF} => {FRONT_ROOT} || math.sqrt(keys.shape[-2])
        softmax over the wrong axis: {SHARES} => powers.sum(dim=-2, keepdim=True)
        softmax over the batch: {SHARES} => powers.sum(dim=0, keepdim=True)
        axis not kept [sum]: {SHARES} => powers.sum(dim=-1) || powers.sum(dim=1) ||
            {SHARES} => powers.sum(dim=1) && {ROOT_OF} => {FRONT_ROOT}
        only for a batch: {SHARES} => powers.sum(dim=2, keepdim=True)
        softmax over all scores: {SHARES} => powers.sum(dim=(-2, -1), keepdim=True)
        sentences read each other: {SHARES} => powers.sum()
        {SCALE}
        no softmax: weights = powers / {SHARES} => weights = scores
        exponentials not divided: / {SHARES} =>
        {ALL_WORDS}
        queries and keys exchanged: {EINSUM} => "...jk,...ik->...ij"
        one matrix for both: {EINSUM}, queries, keys => {EINSUM}, queries, queries || {EINSUM}, keys, keys
        weighted with the transposed weights: weights @ values => weights.mT @ values
        {CONTEXT}
        keys brought back: weights @ values => weights @ keys
        queries brought back: weights @ values => weights @ queries
        weights in place of the context: weights @ values => weights
    """)
    + scaling("keys.shape[-1]", SCALE, values="values.shape[-1]", texts="keys.shape[0]"),
)


# --- 6.4 ---
def what_two_matrices_cost(own_weight, seeds):
    """Mean of the own weight with one matrix minus that with two, and half the width of its interval."""
    costs = torch.tensor([own_weight(False, seed) - own_weight(True, seed) for seed in seeds])
    half = 2 * costs.std() / math.sqrt(len(costs))
    return costs.mean().item(), half.item()


def known_weight(two_matrices, seed):
    return known_run(two_matrices, seed)


RUNS = "own_weight(False, seed)", "own_weight(True, seed)"

what_two_matrices_cost = Exercise(
    what_two_matrices_cost,
    cases=measured("own_weight", known_weight, range(20), [3, 5, 8, 13, 21, 34], range(10, 17)),
    truth=lambda own_weight, seeds: by_sums([own_weight(False, seed) - own_weight(True, seed) for seed in seeds], 2),
    tried="measurements whose results are known, of either sign, with three lists of seeds",
    see="Lab 6, “Exercise 6.4 (experiment): does a word prefer itself?”",
    mistakes=edits("""
        the sign turned round [matrices]: own_weight(False, seed) - => -own_weight(False, seed) +
        Student's t in place of two: => return by_sums([own_weight(False, s) - own_weight(True, s) for s in seeds])
        arguments exchanged [matrices]: own_weight(False, seed) - own_weight(True, seed) =>
            own_weight(seed, False) - own_weight(seed, True)
        the same matrices twice: own_weight(True, seed) => own_weight(False, seed)
        seeds that were not asked for: for seed in seeds => for seed in range(200)
        pairing lost: => one = torch.tensor([own_weight(False, seed) for seed in seeds])
            two = torch.tensor([own_weight(True, seed) for seed in seeds])
            half = 2 * (one.var() + two.var()).sqrt() / math.sqrt(len(one))
            return (one - two).mean().item(), half.item()
    """)
    + over_seeds(*RUNS)
    + by_hand("costs", "2"),
)

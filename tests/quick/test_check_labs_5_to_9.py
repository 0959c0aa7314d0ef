"""Checks of labs 5 to 9 accept right answers of any style, and refuse plausible wrong ones each by its own name."""

import ast
import itertools
import math
import re
import time
from pathlib import Path

import jupytext
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from torch import nn

from shared import check
from shared.check import labs_5_to_9
from shared.check.harness import Exercise
from shared.model import MultiHeadSelfAttention, TransformerBlock

RIGHT: dict[str, dict] = {}  # exercise -> style -> answer
WRONG: dict[str, list] = {}  # exercise -> (name of the mistake, answer)

# --- Lab 5 -------------------------------------------------------------------------------------------------------


def one_word(divisor=lambda d_in, d_k, d_v: math.sqrt(d_k)):
    def answer(place, inputs, W_query, W_key, W_value):
        query, keys, values = inputs[place] @ W_query, inputs @ W_key, inputs @ W_value
        scores = keys @ query / divisor(inputs.shape[1], keys.shape[1], values.shape[1])
        return torch.softmax(scores, 0) @ values

    return answer


def one_word_in_loops(place, inputs, W_query, W_key, W_value):
    query = [sum(x * w for x, w in zip(inputs[place], column, strict=True)) for column in W_query.T]
    powers = []
    for row in inputs:
        key = row @ W_key
        powers.append(math.exp(sum(q * k for q, k in zip(query, key, strict=True)) / len(query) ** 0.5))
    context = torch.zeros(W_value.shape[1])
    for power, row in zip(powers, inputs, strict=True):
        context += power / sum(powers) * (row @ W_value)
    return context


def one_word_by_torch(place, inputs, W_query, W_key, W_value):
    queries = inputs[None, place, None] @ W_query
    return F.scaled_dot_product_attention(queries, (inputs @ W_key)[None], (inputs @ W_value)[None])[0, 0]


def one_word_by_einsum(place, inputs, W_query, W_key, W_value):
    scores = torch.einsum("d,dk,nj,jk->n", inputs[place], W_query, inputs, W_key) * W_key.size(1) ** -0.5
    return torch.einsum("n,nd,dv->v", F.softmax(scores, dim=-1), inputs, W_value)


def one_word_picked_of_all(place, inputs, W_query, W_key, W_value):
    scores = (inputs @ W_query) @ (inputs @ W_key).T
    return (torch.softmax(scores / W_key.shape[1] ** 0.5, dim=-1) @ (inputs @ W_value))[place]


def scores_mix_the_values(place, inputs, W_query, W_key, W_value):
    scores = inputs[place] @ W_query @ (inputs @ W_key).T / math.sqrt(W_key.shape[1])
    return scores @ (inputs @ W_value)


def weights_of_one_word(place, inputs, W_query, W_key, W_value):
    return torch.softmax(inputs[place] @ W_query @ (inputs @ W_key).T / math.sqrt(W_key.shape[1]), dim=-1)


def key_asks(place, inputs, W_query, W_key, W_value):
    queries, key = inputs @ W_query, inputs[place] @ W_key
    return torch.softmax(queries @ key / math.sqrt(len(key)), dim=-1) @ (inputs @ W_value)


def features_are_brought(place, inputs, W_query, W_key, W_value):
    return weights_of_one_word(place, inputs, W_query, W_key, W_value) @ inputs


RIGHT["context_of_one_word"] = {
    "products": one_word(),
    "loops": one_word_in_loops,
    "PyTorch's function": one_word_by_torch,
    "einsum": one_word_by_einsum,
    "one row of all": one_word_picked_of_all,
}
WRONG["context_of_one_word"] = [
    ("no scale", one_word(lambda d_in, d_k, d_v: 1)),
    ("scale without the root", one_word(lambda d_in, d_k, d_v: d_k)),
    ("scale of the features", one_word(lambda d_in, d_k, d_v: math.sqrt(d_in))),
    ("scale of the values", one_word(lambda d_in, d_k, d_v: math.sqrt(d_v))),
    ("scale multiplied", one_word(lambda d_in, d_k, d_v: 1 / math.sqrt(d_k))),
    ("no softmax", scores_mix_the_values),
    ("weights in place of the context", weights_of_one_word),
    ("queries and keys swapped", key_asks),
    ("keys not transposed", lambda i, x, Q, K, V: F.softmax((x[i] @ Q) @ (x @ K) / K.shape[1] ** 0.5, -1) @ (x @ V)),
    ("features in place of values", features_are_brought),
    ("always the same word", lambda place, *others: one_word()(0, *others)),
    (
        "all words in place of one",
        lambda place, x, Q, K, V: F.softmax(x @ Q @ (x @ K).T / K.shape[1] ** 0.5, 1) @ (x @ V),
    ),
    ("returns nothing", lambda *inputs: None),
    ("other numbers", lambda place, x, Q, K, V: (x @ V).mean(dim=0)),
]


def layer_of(weight, bias=False):
    """A layer made for W (d_in, d_out), with a weight made by this function."""

    def answer(W):
        layer = nn.Linear(*W.shape, bias=bias)
        with torch.no_grad():
            layer.weight.copy_(weight(W))
        return layer

    return answer


def layer_with_parameter(parameter):
    def answer(W):
        layer = nn.Linear(W.shape[0], W.shape[1], bias=False)
        layer.weight = parameter(W)
        return layer

    return answer


def layer_entry_by_entry(W):
    layer = nn.Linear(len(W), len(W[0]), bias=False)
    for i, row in enumerate(W):
        for j, number in enumerate(row):
            layer.weight.data[j, i] = number
    return layer


def layer_from_state(W):
    layer = nn.Linear(*W.shape, bias=False)
    layer.load_state_dict({"weight": W.T})
    return layer


def layer_with_a_plain_tensor(W):
    layer = nn.Linear(*W.shape, bias=False)
    del layer.weight
    layer.weight = W.T.clone().requires_grad_()
    return layer


RIGHT["as_layer"] = {
    "copy_": layer_of(lambda W: W.T),
    "a new parameter": layer_with_parameter(lambda W: nn.Parameter(W.T.clone())),
    "entry by entry": layer_entry_by_entry,
    "load_state_dict": layer_from_state,
}
WRONG["as_layer"] = [
    ("returns nothing", lambda W: None),
    ("weights not registered", layer_with_a_plain_tensor),
    ("not transposed", layer_of(lambda W: W)),
    ("not transposed", layer_with_parameter(lambda W: nn.Parameter(W.clone()))),
    ("reshaped in place of transposed", layer_of(lambda W: W.reshape(W.shape[1], W.shape[0]))),
    ("reshaped in place of transposed", layer_of(lambda W: W.view(-1, W.shape[0]))),
    ("memory shared", layer_with_parameter(lambda W: nn.Parameter(W.T))),
    ("cannot learn", layer_with_parameter(lambda W: nn.Parameter(W.T.clone(), requires_grad=False))),
    ("a bias is left in", layer_of(lambda W: W.T, bias=True)),
    ("no nn.Linear", lambda W: nn.Parameter(W.T.clone())),
    ("no nn.Linear", lambda W: W.T),
    ("other numbers", lambda W: nn.Linear(*W.shape, bias=False)),
    ("copied outside no_grad", lambda W: nn.Linear(*W.shape, bias=False).weight.copy_(W.T)),
    ("raises", lambda W: nn.Linear(W.shape, bias=False)),
]


def transpose_last(keys):
    return keys.transpose(-2, -1)


class Parameters(nn.Module):
    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_k))
        self.W_key = nn.Parameter(torch.rand(d_in, d_k))
        self.W_value = nn.Parameter(torch.rand(d_in, d_v))

    def project(self, x):
        return x @ self.W_query, x @ self.W_key, x @ self.W_value


class Layers(nn.Module):
    def __init__(self, d_in, d_k, d_v, bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_k, bias=bias)
        self.W_key = nn.Linear(d_in, d_k, bias=bias)
        self.W_value = nn.Linear(d_in, d_v, bias=bias)

    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)


def batched(turn=transpose_last, divisor=lambda d_in, d_k, d_v: d_k**0.5, weigh=None, bring=torch.matmul, base=Layers):
    class Answer(base):
        def forward(self, x):
            queries, keys, values = self.project(x)
            scores = queries @ turn(keys) / divisor(x.shape[-1], keys.shape[-1], values.shape[-1])
            weights = weigh(scores) if weigh else torch.softmax(scores, dim=-1)
            return bring(weights, values)

    return Answer


class BatchedInLoops(Parameters):
    def forward(self, x):
        if x.dim() == 3:
            return torch.stack([self(sentence) for sentence in x])
        queries, keys, values = self.project(x)
        rows = []
        for query in queries:
            powers = torch.stack([torch.exp(query @ key / math.sqrt(len(key))) for key in keys])
            rows.append(sum(power * value for power, value in zip(powers, values, strict=True)) / powers.sum())
        return torch.stack(rows)


class BatchedByEinsum(Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = torch.einsum("...ik,...jk->...ij", queries, keys) / keys.size(-1) ** 0.5
        return torch.einsum("...ij,...jv->...iv", scores.softmax(-1), values)


class BatchedByTorch(Layers):
    def forward(self, x):
        return F.scaled_dot_product_attention(*self.project(x))


class BatchedWithBias(BatchedByTorch):
    def __init__(self, d_in, d_k, d_v):
        super().__init__(d_in, d_k, d_v, bias=True)


class BatchedPlainTensors(nn.Module):
    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.W_query, self.W_key, self.W_value = torch.rand(d_in, d_k), torch.rand(d_in, d_k), torch.rand(d_in, d_v)

    def forward(self, x):
        return F.scaled_dot_product_attention(x @ self.W_query, x @ self.W_key, x @ self.W_value)


def divided_in_place(weights):
    weights /= weights.sum(dim=-1, keepdim=True)
    return weights


class BatchedOneWidth(Layers):
    def __init__(self, d_in, d_k, d_v):
        super().__init__(d_in, d_k, d_k)

    def forward(self, x):
        return F.scaled_dot_product_attention(*self.project(x))


class BatchedNewEachTime(nn.Module):
    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.sizes = d_in, d_k, d_v

    def forward(self, x):
        d_in, d_k, d_v = self.sizes
        maps = nn.Linear(d_in, d_k), nn.Linear(d_in, d_k), nn.Linear(d_in, d_v)
        return F.scaled_dot_product_attention(*(one(x) for one in maps))


class BatchedByBmm(Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        return torch.bmm(torch.softmax(torch.bmm(queries, keys.mT) / math.sqrt(keys.shape[-1]), dim=-1), values)


class BatchedByEinsumWithoutDots(Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        weights = torch.softmax(torch.einsum("bik,bjk->bij", queries, keys) / keys.size(-1) ** 0.5, dim=-1)
        return torch.einsum("bij,bjv->biv", weights, values)


class BatchedUnpacked(Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        batch, tokens, d_k = keys.shape
        return torch.softmax(queries @ keys.mT / math.sqrt(d_k), dim=-1) @ values


class BatchedKeysAsk(Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        return torch.softmax(keys @ queries.mT / queries.shape[-1] ** 0.5, dim=-1) @ values


class BatchedFeatures(Parameters):
    def forward(self, x):
        queries, keys, _ = self.project(x)
        return F.scaled_dot_product_attention(queries, keys, x)


class BatchedOneLongSentence(Layers):
    def forward(self, x):
        together = x.view(-1, x.shape[-1])
        return F.scaled_dot_product_attention(*self.project(together)).view(*x.shape[:-1], -1)


class BatchedCutOff(BatchedByTorch):
    def forward(self, x):
        return super().forward(x).detach()


class BatchedOtherNames(nn.Module):
    def __init__(self, d_in, d_k, d_v):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(d_in, d_k), nn.Linear(d_in, d_k), nn.Linear(d_in, d_v)

    def forward(self, x):
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x))


RIGHT["batched_attention"] = {
    "nn.Linear": batched(),
    "nn.Parameter": batched(base=Parameters),
    "permute": batched(turn=lambda keys: keys.movedim(-1, -2)),
    "loops": BatchedInLoops,
    "einsum": BatchedByEinsum,
    "PyTorch's function": BatchedByTorch,
    "biases": BatchedWithBias,
}
WRONG["batched_attention"] = [
    ("returns nothing", batched(bring=lambda weights, values: None)),
    ("drawn anew in each call", batched(weigh=lambda scores: F.dropout(torch.softmax(scores, dim=-1), 0.5))),
    ("changed in place", batched(weigh=lambda scores: divided_in_place(scores.exp()))),
    ("cut off from the gradient", batched(weigh=lambda scores: torch.softmax(scores, dim=-1).detach())),
    ("wrong width", BatchedOneWidth),
    ("only for a batch", batched(bring=torch.bmm)),
    ("`.T` on a batch", batched(turn=lambda keys: keys.T)),
    ("`.T` on a batch", batched(turn=lambda keys: keys.T, base=Parameters)),
    ("keys not transposed", batched(turn=lambda keys: keys)),
    ("batch and tokens transposed", batched(turn=lambda keys: keys.transpose(0, 1))),
    ("only for a batch", batched(turn=lambda keys: keys.transpose(1, 2))),
    ("only for a batch", batched(turn=lambda keys: keys.permute(0, 2, 1))),
    ("only for a batch", BatchedByBmm),
    ("only for a batch", BatchedUnpacked),
    ("only for a batch", BatchedByEinsumWithoutDots),
    ("only for a batch", batched(weigh=lambda scores: F.softmax(scores, dim=2))),
    ("softmax over the wrong axis", batched(weigh=lambda scores: F.softmax(scores, dim=-2))),
    ("softmax over the wrong axis", batched(weigh=lambda scores: F.softmax(scores, dim=1))),
    ("softmax over the batch", batched(weigh=lambda scores: F.softmax(scores, dim=0))),
    ("softmax over all scores", batched(weigh=lambda scores: scores.exp() / scores.exp().sum((-2, -1), keepdim=True))),
    ("no softmax", batched(weigh=lambda scores: scores)),
    ("no scale", batched(divisor=lambda d_in, d_k, d_v: 1)),
    ("scale without the root", batched(divisor=lambda d_in, d_k, d_v: d_k)),
    ("scale of the features", batched(divisor=lambda d_in, d_k, d_v: d_in**0.5)),
    ("scale of the values", batched(divisor=lambda d_in, d_k, d_v: d_v**0.5)),
    ("scale multiplied", batched(divisor=lambda d_in, d_k, d_v: d_k**-0.5)),
    ("values weighted with the transposed weights", batched(bring=lambda weights, values: weights.mT @ values)),
    ("weights in place of the context", batched(bring=lambda weights, values: weights)),
    ("queries and keys swapped", BatchedKeysAsk),
    ("features in place of values", BatchedFeatures),
    ("sentences read each other", BatchedOneLongSentence),
    ("weights not registered", BatchedPlainTensors),
    ("parameters created inside forward", BatchedNewEachTime),
    ("cut off from the gradient", BatchedCutOff),
    ("a linear map is missing", BatchedOtherNames),
    ("other numbers", batched(weigh=lambda scores: torch.sigmoid(scores))),
]

# --- Lab 6 -------------------------------------------------------------------------------------------------------


def scores_in_loops(asking, embedded, W_query, W_key):
    query = W_query @ embedded[asking]
    return torch.tensor([sum(a * b for a, b in zip(query, W_key @ x, strict=True)) for x in embedded])


RIGHT["scores_of_one_word"] = {
    "products": lambda i, x, Q, K: x @ K.T @ (Q @ x[i]),
    "row of the matrix": lambda i, x, Q, K: ((x @ Q.T) @ (x @ K.T).T)[i],
    "loops": scores_in_loops,
    "einsum": lambda i, x, Q, K: torch.einsum("kd,d,kc,nc->n", Q, x[i], K, x),
    "F.linear": lambda i, x, Q, K: F.linear(F.linear(x[i], Q), F.linear(x, K)),
}
WRONG["scores_of_one_word"] = [
    ("matrix not transposed", lambda i, x, Q, K: (x[i] @ Q) @ (x @ K).T),
    ("matrix not transposed", lambda i, x, Q, K: (Q @ x[i]) @ (x @ K).T),
    ("matrix not transposed", lambda i, x, Q, K: (x[i] @ Q) @ (x @ K.T).T),
    ("queries and keys swapped", lambda i, x, Q, K: x @ Q.T @ (K @ x[i])),
    ("queries and keys swapped", lambda i, x, Q, K: (x @ Q.T @ (x @ K.T).T)[:, i]),
    ("scaled", lambda i, x, Q, K: (Q @ x[i]) @ (x @ K.T).T / math.sqrt(Q.shape[0])),
    ("softmax applied", lambda i, x, Q, K: F.softmax((Q @ x[i]) @ (x @ K.T).T, dim=0)),
    ("softmax applied", lambda i, x, Q, K: F.softmax((Q @ x[i]) @ (x @ K.T).T / len(Q) ** 0.5, dim=0)),
    ("no projection", lambda i, x, Q, K: x[i] @ x.T),
    ("always the same word", lambda i, x, Q, K: x @ K.T @ (Q @ x[0])),
    ("all rows in place of one", lambda i, x, Q, K: (x @ Q.T) @ (x @ K.T).T),
    ("wrong shape", lambda i, x, Q, K: (Q @ x[i])[None] @ (x @ K.T).T),
    ("keys not transposed", lambda i, x, Q, K: (Q @ x[i]) @ (x @ K.T)),
    ("raises", lambda i, x, Q, K: (Q @ x[i, 0]) @ (x @ K.T).T),
    ("other numbers", lambda i, x, Q, K: (Q @ x[i]) @ (x @ Q.T).T),
]


def filters_in_loops(weights, values):
    result = torch.zeros(*weights.shape, values.shape[1])
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            result[i, j] = weight * values[j]
    return result


RIGHT["all_filters"] = {
    "broadcasting": lambda weights, values: weights[..., None] * values,
    "loops": filters_in_loops,
    "einsum": lambda weights, values: torch.einsum("ij,jv->ijv", weights, values),
    "diagonal matrices": lambda weights, values: torch.stack([torch.diag(row) @ values for row in weights]),
}
WRONG["all_filters"] = [
    ("values of the word that asks", lambda weights, values: weights[..., None] * values.unsqueeze(1)),
    ("values of the word that asks", lambda weights, values: torch.einsum("ij,iv->ijv", weights, values)),
    ("weights transposed", lambda weights, values: weights.T.unsqueeze(2) * values),
    ("weights transposed", lambda weights, values: torch.einsum("ji,jv->ijv", weights, values)),
    ("axes of the result swapped", lambda weights, values: torch.einsum("ij,jv->jiv", weights, values)),
    ("already summed", lambda weights, values: torch.einsum("ij,jv->iv", weights, values)),
    ("one word only", lambda weights, values: weights[0].unsqueeze(1) * values),
    ("softmax once more", lambda weights, values: F.softmax(weights, dim=1)[..., None] * values),
    ("not weighted", lambda weights, values: torch.stack([values] * len(weights))),
    ("raises", lambda weights, values: weights[:, :, None] @ values),
]


def ring(shift, size=1.0):
    """Each word asks for itself, and is found by the word `shift` places before it."""

    def answer(num_words):
        key = torch.zeros(num_words, num_words)
        for word in range(num_words):
            key[word, (word + shift) % num_words] = size
        return torch.eye(num_words), key

    return answer


def ring_on_a_circle(num_words):
    """Two numbers are enough: words stand on a circle, and the query is turned by one step."""
    angle = 2 * math.pi * torch.arange(num_words) / num_words
    step = 2 * math.pi / num_words
    query = torch.stack([torch.cos(angle + step), torch.sin(angle + step)])
    return 20 * query, 20 * torch.stack([torch.cos(angle), torch.sin(angle)])


def open_chain(num_words):
    query, key = ring(1)(num_words)
    return query, key * (torch.arange(num_words) > 0)


def chain_that_ends_in_itself(num_words):
    query, _ = ring(1)(num_words)
    return query.roll(1, 0) + 9 * F.one_hot(torch.tensor(num_words - 1), num_words).outer(
        F.one_hot(torch.tensor(num_words - 1), num_words)
    ), torch.eye(num_words)


RIGHT["look_at_the_next_word"] = {
    "keys rolled": lambda n: (torch.eye(n), torch.eye(n).roll(1, 1)),
    "queries rolled": lambda n: (torch.eye(n).roll(1, 0), torch.eye(n)),
    "integers": lambda n: [torch.eye(n, dtype=torch.long), torch.eye(n, dtype=torch.long).roll(1, 1)],
    "loops": ring(1, 5.0),
    "two numbers a word": ring_on_a_circle,
    "NumPy": lambda n: (np.eye(n), np.roll(np.eye(n), 1, axis=1)),
    "parameters": lambda n: (nn.Parameter(torch.eye(n)), nn.Parameter(torch.eye(n).roll(-1, 0))),
}
WRONG["look_at_the_next_word"] = [
    ("not a number", lambda n: (torch.eye(n), torch.where(torch.eye(n).roll(1, 1) == 1, 1.0, -math.inf))),
    ("looks at the word before", lambda n: (torch.eye(n), torch.eye(n).roll(-1, 1))),
    ("looks at the word before", lambda n: (torch.eye(n).roll(1, 1), torch.eye(n))),
    ("looks at itself", lambda n: (torch.eye(n), torch.eye(n))),
    ("last word forgotten", open_chain),
    ("the last word looks elsewhere", chain_that_ends_in_itself),
    ("one word too far", lambda n: (torch.eye(n), torch.eye(n).roll(2, 1))),
    ("all look at one word", lambda n: (torch.ones(1, n), 3.0 * (torch.arange(n) == 0)[None])),
    ("lead too small", ring(1, 0.5)),
    ("no word leads", lambda n: (torch.ones(n, n), torch.ones(n, n))),
    ("wrong shape", lambda n: (torch.eye(5), torch.eye(5).roll(1, 1))),
    ("widths differ", lambda n: (torch.eye(n), torch.ones(2, n))),
    ("wrong type", lambda n: torch.eye(n)),
    ("other numbers", lambda n: (torch.eye(n), torch.eye(n).flip(1))),
]

# --- Lab 7 -------------------------------------------------------------------------------------------------------


def cut_with_view(projected, num_heads):
    batch, tokens, embed_dim = projected.shape
    return projected.view(batch, tokens, num_heads, embed_dim // num_heads).transpose(1, 2)


def cut_into_other_heads(projected, num_heads):
    batch, tokens, _ = projected.shape
    return projected.view(batch, tokens, -1, num_heads).transpose(1, 2)


RIGHT["cut_into_heads"] = {
    "view": cut_with_view,
    "chunk": lambda x, h: torch.stack(x.chunk(h, dim=-1), dim=1),
    "permute": lambda x, h: x.reshape(*x.shape[:2], h, -1).permute(0, 2, 1, 3),
    "turned first": lambda x, h: x.mT.reshape(len(x), h, -1, x.shape[1]).mT,
}
WRONG["cut_into_heads"] = [
    ("plain reshape", lambda x, h: x.view(x.shape[0], h, x.shape[1], x.shape[2] // h)),
    ("features dealt out in turn", lambda x, h: torch.stack([x[:, :, i::h] for i in range(h)], dim=1)),
    ("heads and tokens not swapped", lambda x, h: x.view(*x.shape[:2], h, -1)),
    ("num_heads taken for head_dim", cut_into_other_heads),
    ("heads and features swapped", lambda x, h: x.view(*x.shape[:2], h, -1).permute(0, 2, 3, 1)),
    ("batch and heads swapped", lambda x, h: torch.stack(x.chunk(h, dim=2))),
    ("turned before the cut", lambda x, h: x.transpose(1, 2).reshape(x.shape[0], h, x.shape[1], -1)),
    ("other numbers", lambda x, h: cut_with_view(x, h).flip(1)),
    ("raises", lambda x, h: x.view(h, -1, x.shape[1])[:, :, :, 0]),
]


def joined_in_loops(heads):
    batch, num_heads, tokens, head_dim = heads.shape
    joined = torch.zeros(batch, tokens, num_heads * head_dim)
    for b, h, t, j in itertools.product(range(batch), range(num_heads), range(tokens), range(head_dim)):
        joined[b, t, h * head_dim + j] = heads[b, h, t, j]
    return joined


RIGHT["join_heads"] = {
    "flatten": lambda heads: heads.transpose(1, 2).flatten(-2),
    "cat": lambda heads: torch.cat(heads.unbind(1), dim=-1),
    "view": lambda heads: heads.permute(0, 2, 1, 3).contiguous().view(heads.shape[0], heads.shape[2], -1),
    "loops": joined_in_loops,
}
WRONG["join_heads"] = [
    ("plain reshape", lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1)),
    ("features dealt out in turn", lambda heads: torch.stack(heads.unbind(1), dim=-1).flatten(2)),
    ("wrong axes swapped", lambda heads: heads.mT.reshape(heads.shape[0], heads.shape[2], -1)),
    ("tokens joined in place of features", lambda heads: torch.cat(list(heads.unbind(1)), dim=1)),
    ("heads left apart", lambda heads: heads.permute(0, 2, 1, 3)),
    ("heads averaged", lambda heads: heads.mean(1)),
    ("heads added up", lambda heads: heads.sum(1)),
    ("first head only", lambda heads: heads[:, 0]),
    ("view of a turned tensor", lambda heads: heads.permute(0, 2, 1, 3).view(heads.shape[0], heads.shape[2], -1)),
    ("raises", lambda heads: heads.transpose(1, 2).flatten(4)),
    ("other numbers", lambda heads: heads.flip(1).transpose(1, 2).flatten(2)),
]


class FourMaps(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not fit into {embed_dim} features.")
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.W_query, self.W_key, self.W_value, self.W_output = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def cut(self, x):
        return x.view(*x.shape[:2], self.num_heads, -1).transpose(1, 2)

    def join(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def score(self, queries, keys):
        return queries @ keys.mT / math.sqrt(self.head_dim)

    def weigh(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], -math.inf)
        return scores.softmax(-1)

    def bring(self, weights, values):
        return weights @ values

    def finish(self, joined):
        return self.W_output(joined)

    def forward(self, features, mask=None):
        queries, keys, values = self.cut(self.W_query(features)), self.cut(self.W_key(features)), self.W_value(features)
        weights = self.weigh(self.score(queries, keys), mask)
        return self.finish(self.join(self.bring(weights, self.cut(values))))


def heads_with(**methods):
    """The layer with some of its methods written another way."""
    return type("Answer", (FourMaps,), methods)


def hiding(how):
    """The layer that changes its scores by the mask in this way, then takes the softmax."""

    def weigh(self, scores, mask):
        return (scores if mask is None else how(scores, mask)).softmax(-1)

    return heads_with(weigh=weigh)


def mask_afterwards(self, scores, mask):
    weights = scores.softmax(-1)
    return weights if mask is None else weights * mask[:, None, None]


def always_masked(self, scores, mask):
    return scores.masked_fill(~mask[:, None, None, :], float("-inf")).softmax(dim=-1)


def always_masked_by_unsqueeze(self, scores, mask):
    return scores.masked_fill(~mask.unsqueeze(1).unsqueeze(1), float("-inf")).softmax(dim=-1)


def share_out_again(self, scores, mask):
    weights = mask_afterwards(self, scores, mask)
    return weights / weights.sum(-1, keepdim=True)


def softmax_over(axis, lowest=float("-inf")):
    def weigh(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], lowest)
        return scores.softmax(dim=axis)

    return weigh


def no_softmax(self, scores, mask):
    return scores if mask is None else scores.masked_fill(~mask[:, None, None, :], 0.0)


class HeadsByTorch(FourMaps):
    def forward(self, features, mask=None):
        queries, keys, values = (self.cut(one(features)) for one in (self.W_query, self.W_key, self.W_value))
        allowed = None if mask is None else mask[:, None, None, :]
        heads = F.scaled_dot_product_attention(queries, keys, values, attn_mask=allowed)
        return self.W_output(heads.transpose(1, 2).reshape(features.shape))


class HeadsAsParameters(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim must be a multiple of num_heads")
        self.num_heads = num_heads
        for name in ("W_query", "W_key", "W_value", "W_output"):
            self.register_parameter(name, nn.Parameter(torch.randn(embed_dim, embed_dim)))

    def forward(self, features, mask=None):
        q, k, v = ((features @ W).chunk(self.num_heads, -1) for W in (self.W_query, self.W_key, self.W_value))
        brought = []
        for queries, keys, values in zip(q, k, v, strict=True):
            scores = torch.einsum("bik,bjk->bij", queries, keys) * keys.shape[-1] ** -0.5
            if mask is not None:
                scores = scores + torch.where(mask, 0.0, -1e30)[:, None, :]
            brought.append(torch.einsum("bij,bjv->biv", torch.softmax(scores, -1), values))
        return torch.cat(brought, -1) @ self.W_output


class HeadsByTheWholeLayer(FourMaps):
    def forward(self, features, mask=None):
        maps = (self.W_query, self.W_key, self.W_value)
        x = features.transpose(0, 1)
        output, _ = F.multi_head_attention_forward(
            *(x, x, x, x.shape[2], self.num_heads),
            torch.cat([one.weight for one in maps]),
            torch.cat([one.bias for one in maps]),
            *(None, None, False, 0.0),
            *(self.W_output.weight, self.W_output.bias),
            key_padding_mask=None if mask is None else ~mask,
        )
        return output.transpose(0, 1)


class HeadsNewEachTime(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("these heads do not fit")
        self.sizes = embed_dim, num_heads

    def forward(self, features, mask=None):
        return FourMaps(*self.sizes)(features, mask)


class HeadsInAList(FourMaps):
    def __init__(self, embed_dim, num_heads):
        super().__init__(embed_dim, num_heads)
        hidden = [self._modules.pop(name) for name in ("W_query", "W_key", "W_value")]
        for name, linear in zip(("W_query", "W_key", "W_value"), hidden, strict=True):
            object.__setattr__(self, name, linear)


class HeadsUnregistered(FourMaps):
    def __init__(self, embed_dim, num_heads):
        super().__init__(embed_dim, num_heads)
        del self.W_key
        self.W_key = torch.randn(embed_dim, embed_dim)

    def forward(self, features, mask=None):
        queries, keys, values = (
            self.cut(self.W_query(features)),
            self.cut(features @ self.W_key),
            self.W_value(features),
        )
        return self.W_output(self.join(self.weigh(self.score(queries, keys), mask) @ self.cut(values)))


class HeadsThatTakeAnything(FourMaps):
    def __init__(self, embed_dim, num_heads):
        nn.Module.__init__(self)
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.W_query, self.W_key, self.W_value, self.W_output = (nn.Linear(embed_dim, embed_dim) for _ in range(4))


class HeadsThatAssert(FourMaps):
    def __init__(self, embed_dim, num_heads):
        assert embed_dim % num_heads == 0, "num_heads must divide embed_dim"
        super().__init__(embed_dim, num_heads)


class HeadsWithoutASentence(FourMaps):
    def __init__(self, embed_dim, num_heads):
        if embed_dim % num_heads:
            raise ValueError
        super().__init__(embed_dim, num_heads)


class HeadsKeysAsk(FourMaps):
    def score(self, queries, keys):
        return super().score(keys, queries)


class HeadsOfFeatures(FourMaps):
    def forward(self, features, mask=None):
        weights = self.weigh(self.score(self.cut(self.W_query(features)), self.cut(self.W_key(features))), mask)
        return self.W_output(self.join(weights @ self.cut(features)))


class HeadsNeverMeet(FourMaps):
    def cut(self, x):
        return x.view(*x.shape[:2], self.num_heads, self.head_dim)

    def join(self, heads):
        return heads.flatten(2)

    def weigh(self, scores, mask):
        return scores.softmax(-1) if mask is None else super().weigh(scores, mask)


class OneHead(FourMaps):
    def __init__(self, embed_dim, num_heads):
        super().__init__(embed_dim, num_heads)
        self.num_heads, self.head_dim = 1, embed_dim


def dealt_out(self, x):
    return x.view(*x.shape[:2], self.head_dim, self.num_heads).permute(0, 3, 1, 2)


def reshaped(self, x):
    return x.reshape(x.shape[0], self.num_heads, x.shape[1], self.head_dim)


class HeadsThatCount(FourMaps):
    def forward(self, features, mask=None):
        if mask is not None:
            mask = torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)
        return super().forward(features, mask)


class HeadsWithoutReturn(FourMaps):
    def forward(self, features, mask=None):
        super().forward(features, mask)


class HeadsOfOneMap(FourMaps):
    def __init__(self, embed_dim, num_heads):
        super().__init__(embed_dim, num_heads)
        self.W_key = self.W_query


class HeadsThatLookWithoutLearning(FourMaps):
    def score(self, queries, keys):
        return super().score(queries, keys).detach()


class HeadsThatRefuseLater(HeadsThatTakeAnything):
    def forward(self, features, mask=None):
        if features.shape[2] % self.num_heads:
            raise ValueError(f"{self.num_heads} heads do not fit into {features.shape[2]} features.")
        return super().forward(features, mask)


RIGHT["many_heads"] = {
    "uneven heads refused when it is called": HeadsThatRefuseLater,
    "view and transpose": FourMaps,
    "PyTorch's function": HeadsByTorch,
    "PyTorch's whole layer": HeadsByTheWholeLayer,
    "parameters, a loop over heads, einsum": HeadsAsParameters,
    "the course's own, which returns weights too": MultiHeadSelfAttention,
    "a mask after the softmax that shares out again": heads_with(weigh=share_out_again),
    "a very small number in place of minus infinity": hiding(
        lambda scores, mask: scores.masked_fill(~mask[:, None, None], -1e9)
    ),
}
WRONG["many_heads"] = [
    ("no output projection", heads_with(finish=lambda self, joined: joined)),
    ("keys not transposed", heads_with(score=lambda self, q, k: q @ k / self.head_dim**0.5)),
    ("`.T` on a batch", heads_with(score=lambda self, q, k: q @ k.T / self.head_dim**0.5)),
    ("no scale", heads_with(score=lambda self, queries, keys: queries @ keys.mT)),
    ("scale of the whole width", heads_with(score=lambda self, q, k: q @ k.mT / self.W_key.out_features**0.5)),
    ("scale without the root", heads_with(score=lambda self, q, k: q @ k.mT / self.head_dim)),
    ("scale multiplied", heads_with(score=lambda self, q, k: q @ k.mT * self.head_dim**0.5)),
    ("queries and keys swapped", HeadsKeysAsk),
    ("softmax over the wrong axis", heads_with(weigh=softmax_over(2))),
    ("softmax over the wrong axis", heads_with(weigh=softmax_over(-2, -1e9))),
    ("softmax over the heads", heads_with(weigh=softmax_over(1))),
    ("softmax over the heads", heads_with(weigh=softmax_over(1, torch.finfo(torch.float32).min))),
    ("no softmax", heads_with(weigh=no_softmax)),
    ("no mask is not expected", heads_with(weigh=always_masked)),
    ("no mask is not expected", heads_with(weigh=always_masked_by_unsqueeze)),
    ("mask without effect", hiding(lambda scores, mask: scores)),
    ("mask without effect", hiding(lambda scores, mask: scores.masked_fill(~mask[:, None, :, None], -math.inf))),
    ("mask after the softmax", heads_with(weigh=mask_afterwards)),
    ("mask with the wrong sign", hiding(lambda scores, mask: scores.masked_fill(mask[:, None, None], -math.inf))),
    ("mask with the wrong sign", hiding(lambda scores, mask: scores.masked_fill(mask[:, None, None], -1e9))),
    ("masked scores set to 0", hiding(lambda scores, mask: scores * mask[:, None, None])),
    ("mask added as a number", hiding(lambda scores, mask: scores + mask[:, None, None])),
    ("mask on the wrong axes", hiding(lambda scores, mask: scores.masked_fill(~mask, -math.inf))),
    ("mask on the wrong axes", hiding(lambda scores, mask: scores.masked_fill(~mask.unsqueeze(1), -1e9))),
    (
        "values weighted with the transposed weights",
        heads_with(bring=lambda self, weights, values: weights.mT @ values),
    ),
    ("heads cut by a plain reshape", heads_with(cut=reshaped)),
    ("heads and tokens not swapped", HeadsNeverMeet),
    ("features dealt out in turn", heads_with(cut=dealt_out)),
    ("features dealt out in turn", heads_with(cut=dealt_out, join=lambda self, x: x.permute(0, 2, 3, 1).flatten(2))),
    ("heads joined by a plain reshape", heads_with(join=lambda self, x: x.reshape(x.shape[0], x.shape[2], -1))),
    ("one head only", OneHead),
    ("features in place of values", HeadsOfFeatures),
    ("parameters created inside forward", HeadsNewEachTime),
    ("the mask only counted", HeadsThatCount),
    ("returns nothing", HeadsWithoutReturn),
    ("one map for two", HeadsOfOneMap),
    ("cut off from the gradient", HeadsThatLookWithoutLearning),
    ("weights not registered", HeadsUnregistered),
    ("weights not registered", HeadsInAList),
    ("num_heads not refused", HeadsThatTakeAnything),
    ("refused with another error", HeadsThatAssert),
    ("refused without a sentence", HeadsWithoutASentence),
    ("raises", heads_with(join=lambda self, heads: heads.transpose(1, 2).view(heads.shape[0], heads.shape[2], -1))),
    ("other numbers", heads_with(bring=lambda self, weights, values: weights @ values + values)),
]

# --- Lab 8 -------------------------------------------------------------------------------------------------------


def triangle(mask, diagonal=0):
    return torch.ones(mask.shape[1], mask.shape[1], dtype=torch.bool).tril(diagonal)


def places_in_loops(mask):
    allowed = torch.zeros(len(mask), mask.shape[1], mask.shape[1], dtype=torch.bool)
    for text in range(len(mask)):
        for i in range(mask.shape[1]):
            for j in range(i + 1):
                allowed[text, i, j] = mask[text, j]
    return allowed


RIGHT["allowed_places"] = {
    "tril": lambda mask: triangle(mask) & mask.unsqueeze(1),
    "triu": lambda mask: ~torch.ones(len(mask), *[mask.shape[1]] * 2).triu(1).bool() & mask[:, None],
    "loops": places_in_loops,
    "tril of the repeated mask": lambda mask: mask[:, None].expand(-1, mask.shape[1], -1).tril(),
    "product": lambda mask: (triangle(mask).int() * mask[:, None].int()).bool(),
}
WRONG["allowed_places"] = [
    ("looks ahead", lambda mask: triangle(mask).mT & mask[:, None]),
    ("itself forbidden", lambda mask: triangle(mask, -1) & mask[:, None]),
    ("padding forgotten", lambda mask: triangle(mask).repeat(len(mask), 1, 1)),
    ("order forgotten", lambda mask: mask[:, None].repeat(1, mask.shape[1], 1)),
    ("padding on the tokens that ask", lambda mask: triangle(mask) & mask[:, :, None]),
    ("padding on both sides", lambda mask: triangle(mask) & mask[:, :, None] & mask[:, None]),
    ("either in place of both", lambda mask: triangle(mask) | mask[:, None]),
    ("True where hidden", lambda mask: ~triangle(mask) | ~mask[:, None]),
    ("mask with the wrong sign", lambda mask: triangle(mask) & ~mask[:, None]),
    ("mask on the wrong axes", lambda mask: triangle(mask) & mask),
    ("wrong dtype", lambda mask: (triangle(mask) & mask[:, None]).float()),
    ("wrong shape", lambda mask: triangle(mask)),
    ("other numbers", lambda mask: (triangle(mask) ^ triangle(mask, -2)) & mask[:, None]),
]


def norm_in_loops(features, scale, shift, eps=1e-5):
    if features.dim() > 1:
        return torch.stack([norm_in_loops(token, scale, shift, eps) for token in features])
    mean = sum(features) / len(features)
    variance = sum((x - mean) ** 2 for x in features) / len(features)
    return torch.stack(
        [(x - mean) / (variance + eps) ** 0.5 * a + b for x, a, b in zip(features, scale, shift, strict=True)]
    )


def norm_over(axes):
    def answer(features, scale, shift, eps=1e-5):
        variance, mean = torch.var_mean(features, dim=axes, correction=0, keepdim=True)
        return (features - mean) * torch.rsqrt(variance + eps) * scale + shift

    return answer


def norm_with(spread, centre=True):
    def answer(features, scale, shift, eps=1e-5):
        centred = features - features.mean(-1, keepdim=True) if centre else features
        return centred / spread(features, eps) * scale + shift

    return answer


def then(last):
    """The norm with another last line: normal features, scale and shift."""
    return lambda x, scale, shift, eps=1e-5: last(F.layer_norm(x, x.shape[-1:], eps=eps), scale, shift)


def population(x):
    return x.var(-1, unbiased=False, keepdim=True)


RIGHT["layer_norm"] = {
    "var_mean": norm_over(-1),
    "loops": norm_in_loops,
    "mean of squares": norm_with(lambda x, eps: ((x**2).mean(-1, True) - x.mean(-1, True) ** 2 + eps).sqrt()),
    "PyTorch's function": lambda x, scale, shift, eps=1e-5: F.layer_norm(x, scale.shape, scale, shift, eps),
}
WRONG["layer_norm"] = [
    ("sample variance", norm_with(lambda x, eps: (x.var(-1, keepdim=True) + eps).sqrt())),
    ("eps outside the root", norm_with(lambda x, eps: x.std(-1, correction=0, keepdim=True) + eps)),
    ("eps outside the root", norm_with(lambda x, eps: x.std(-1, keepdim=True) + eps)),
    ("eps forgotten", norm_with(lambda x, eps: population(x).sqrt())),
    ("root forgotten", norm_with(lambda x, eps: population(x) + eps)),
    ("mean not subtracted", norm_with(lambda x, eps: (population(x) + eps).sqrt(), centre=False)),
    ("over the tokens", norm_over(-2)),
    ("over the tokens", norm_over(1)),
    ("over the batch", norm_over(0)),
    ("over the whole text", norm_over((-2, -1))),
    ("over everything", lambda x, scale, shift, eps=1e-5: F.layer_norm(x, x.shape, eps=eps) * scale + shift),
    ("scale and shift forgotten", then(lambda normal, scale, shift: normal)),
    ("scale forgotten", then(lambda normal, scale, shift: normal + shift)),
    ("shift forgotten", then(lambda normal, scale, shift: normal * scale)),
    ("shifted before the scale", then(lambda normal, scale, shift: scale * (normal + shift))),
    ("other numbers", then(lambda normal, scale, shift: normal * shift + scale)),
    ("axis not kept", lambda x, scale, shift, eps=1e-5: (x - x.mean(-1)) / (x.var(-1) + eps).sqrt() * scale + shift),
    ("raises", lambda x, scale, shift, eps=1e-5: (x - x.mean(3)) / (x.var(3) + eps).sqrt() * scale + shift),
]


class Block(nn.Module):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.attention = MultiHeadSelfAttention(embed_dim, num_heads)
        self.attention_norm = nn.LayerNorm(embed_dim)
        self.feed_forward = nn.Sequential(nn.Linear(embed_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, embed_dim))
        self.feed_forward_norm = nn.LayerNorm(embed_dim)


def block(forward):
    """A block from what it does with the features, the attention (masked), and its other parts."""

    class Answer(Block):
        def forward(self, features, mask=None):
            def attend(x):
                return self.attention(x, mask)[0]

            return forward(features, attend, self.attention_norm, self.feed_forward, self.feed_forward_norm)

    return Answer


def after_each_sum(x, attend, norm, think, last_norm):
    x = norm(x + attend(x))
    x = last_norm(x + think(x))
    return x


def before_each_part(x, attend, norm, think, last_norm):
    x = x + attend(norm(x))
    return x + think(last_norm(x))


def inside_each_sum(x, attend, norm, think, last_norm):
    x = x + norm(attend(x))
    return x + last_norm(think(x))


def residual_of_the_input(x, attend, norm, think, last_norm):
    y = norm(x + attend(x))
    return last_norm(x + think(y))


def residual_of_the_sum(x, attend, norm, think, last_norm):
    y = x + attend(x)
    return last_norm(y + think(norm(y)))


def thinks_about_the_sum(x, attend, norm, think, last_norm):
    y = x + attend(x)
    return last_norm(norm(y) + think(y))


def thinks_first(x, attend, norm, think, last_norm):
    x = last_norm(x + think(x))
    return norm(x + attend(x))


def thinks_first_norms_in_order(x, attend, norm, think, last_norm):
    x = norm(x + think(x))
    return last_norm(x + attend(x))


class BlockByHand(Block):
    def forward(self, features, mask=None):
        attended, _ = self.attention(features, mask)
        total = features + attended
        spread, mean = torch.var_mean(total, -1, unbiased=False, keepdim=True)
        first = (total - mean) / (spread + 1e-5).sqrt() * self.attention_norm.weight + self.attention_norm.bias
        hidden = torch.clamp(first @ self.feed_forward[0].weight.T + self.feed_forward[0].bias, min=0)
        thought = F.linear(hidden, self.feed_forward[2].weight, self.feed_forward[2].bias)
        norm = self.feed_forward_norm
        return F.layer_norm(first + thought, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


class BlockTokenByToken(Block):
    def forward(self, features, mask=None):
        attended, _ = self.attention(features, mask)
        output = []
        for token, add in zip(features.flatten(0, 1), attended.flatten(0, 1), strict=True):
            token = self.attention_norm(token + add)
            output.append(self.feed_forward_norm(token + self.feed_forward(token)))
        return torch.stack(output).view(features.shape)


class BlockWithoutMask(Block):
    def forward(self, features, mask=None):
        attended, _ = self.attention(features)
        return after_each_sum(
            features, lambda x: attended, self.attention_norm, self.feed_forward, self.feed_forward_norm
        )


class BlockOfThePair(Block):
    def forward(self, features, mask=None):
        return self.attention_norm(features + self.attention(features, mask))


class BlockWithoutParts(nn.Module):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(embed_dim, num_heads, hidden_dim, 0.0, batch_first=True)

    def forward(self, features, mask=None):
        return self.layer(features, src_key_padding_mask=None if mask is None else ~mask)


RIGHT["first_block"] = {
    "two sums": block(after_each_sum),
    "everything by hand": BlockByHand,
    "token by token": BlockTokenByToken,
    "the course's own, which returns weights too": TransformerBlock,
}
WRONG["first_block"] = [
    ("no residual around the attention", block(lambda x, a, n, f, m: m(n(a(x)) + f(n(a(x)))))),
    ("no residual around the feed-forward layer", block(lambda x, a, n, f, m: m(f(n(x + a(x)))))),
    ("no residual at all", block(lambda x, a, n, f, m: m(f(n(a(x)))))),
    ("norm before each part", block(before_each_part)),
    ("norm inside the sum", block(inside_each_sum)),
    ("no norm after the attention", block(lambda x, a, n, f, m: m(x + a(x) + f(x + a(x))))),
    ("no norm after the feed-forward layer", block(lambda x, a, n, f, m: n(x + a(x)) + f(n(x + a(x))))),
    ("no norm at all", block(lambda x, a, n, f, m: x + a(x) + f(x + a(x)))),
    ("norms swapped", block(lambda x, a, n, f, m: after_each_sum(x, a, m, f, n))),
    ("one norm used twice", block(lambda x, a, n, f, m: after_each_sum(x, a, n, f, n))),
    ("first features added again", block(residual_of_the_input)),
    ("sum added before its norm", block(residual_of_the_sum)),
    ("feed-forward layer reads the sum before its norm", block(thinks_about_the_sum)),
    ("feed-forward layer first", block(thinks_first_norms_in_order)),
    ("feed-forward layer first", block(thinks_first)),
    ("feed-forward layer left out", block(lambda x, a, n, f, m: n(x + a(x)))),
    ("mask not handed on", BlockWithoutMask),
    ("pair not taken apart", BlockOfThePair),
    ("raises", block(lambda x, a, n, f, m: m(n(x + a(x)) + f(a)))),
    ("a part is missing", BlockWithoutParts),
    ("other numbers", block(lambda x, a, n, f, m: m(n(x + a(x)) - f(n(x + a(x)))))),
]


def loss_in_loops(scores, ids):
    total, count = 0.0, 0
    for text, words in zip(scores, ids, strict=True):
        for place in range(len(words) - 1):
            if words[place + 1] != 0:
                total = total - text[place].softmax(0)[words[place + 1]].log()
                count += 1
    return total / count


def loss_by_gather(scores, ids):
    surprise = -scores[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    real = (ids[:, 1:] != 0).to(surprise)
    return (surprise * real).sum() / real.sum()


def cross_entropy(said, came, **options):
    return F.cross_entropy(said.reshape(-1, said.shape[-1]), came.reshape(-1), **options)


def mean_of_texts(scores, ids):
    return torch.stack(
        [F.cross_entropy(s[:-1], w[1:], ignore_index=0) for s, w in zip(scores, ids, strict=True)]
    ).mean()


RIGHT["next_word_loss"] = {
    "flattened": lambda s, i: cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0),
    "words' axis second": lambda s, i: F.cross_entropy(s[:, :-1].transpose(1, 2), i[:, 1:], ignore_index=0),
    "loops": loss_in_loops,
    "gather": loss_by_gather,
    "masked": lambda s, i: F.cross_entropy(s[:, :-1][i[:, 1:] > 0], i[:, 1:][i[:, 1:] > 0]),
    "nll": lambda s, i: F.nll_loss(F.log_softmax(s[:, :-1], -1).flatten(0, 1), i[:, 1:].flatten(), ignore_index=0),
}
WRONG["next_word_loss"] = [
    ("not shifted", lambda s, i: cross_entropy(s, i, ignore_index=0)),
    ("shifted the wrong way", lambda s, i: cross_entropy(s[:, 1:], i[:, :-1], ignore_index=0)),
    ("shifted in a ring", lambda s, i: cross_entropy(s, i.roll(-1, 1), ignore_index=0)),
    ("shifted in a ring", lambda s, i: cross_entropy(s, i.roll(-1), ignore_index=0)),
    ("padding counted", lambda s, i: cross_entropy(s[:, :-1], i[:, 1:])),
    (
        "padding in the divisor",
        lambda s, i: cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0, reduction="none").mean(),
    ),
    ("softmax twice", lambda s, i: cross_entropy(s.softmax(-1)[:, :-1], i[:, 1:], ignore_index=0)),
    ("sum in place of mean", lambda s, i: cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0, reduction="sum")),
    ("mean of the texts' means", mean_of_texts),
    (
        "axes mixed by a reshape",
        lambda s, i: F.cross_entropy(
            s[:, :-1].reshape(s.shape[0], s.shape[2], s.shape[1] - 1), i[:, 1:], ignore_index=0
        ),
    ),
    ("sign forgotten", lambda s, i: -loss_by_gather(s, i)),
    ("perplexity in place of surprise", lambda s, i: loss_by_gather(s, i).exp()),
    ("bits in place of nats", lambda s, i: loss_by_gather(s, i) / math.log(2)),
    ("not averaged", lambda s, i: cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0, reduction="none")),
    ("last word only", lambda s, i: F.cross_entropy(s[:, -2], i[:, -1], ignore_index=0)),
    ("words' axis last", lambda s, i: F.cross_entropy(s[:, :-1], i[:, 1:], ignore_index=0)),
    ("raises", lambda s, i: F.cross_entropy(s[:, :-1].flatten(0, 1), i[:, 1:], ignore_index=0)),
    ("wrong type", lambda s, i: loss_by_gather(s, i).item()),
    ("other numbers", lambda s, i: loss_by_gather(s, i) + 1),
]

# --- Lab 9 -------------------------------------------------------------------------------------------------------


def interval(quantile=lambda n: stats.t.ppf(0.975, n - 1), ddof=1, divisor=math.sqrt):
    def answer(first, second):
        differences = first - second
        n = len(differences)
        return differences.mean(), quantile(n) * np.std(differences, ddof=ddof) / divisor(n)

    return answer


def interval_in_loops(first, second):
    differences = [float(a) - float(b) for a, b in zip(first, second, strict=True)]
    n, mean = len(differences), sum(differences) / len(differences)
    variance = sum((d - mean) ** 2 for d in differences) / (n - 1)
    return [mean, stats.t.isf(0.025, n - 1) * math.sqrt(variance / n)]


def interval_by_scipy(first, second):
    differences = first - second
    low, high = stats.t.interval(0.95, len(differences) - 1, differences.mean(), stats.sem(differences))
    return float(differences.mean()), float(high - low) / 2


def unpaired(width):
    return lambda a, b: (a.mean() - b.mean(), width(interval()(a, 0 * a)[1], interval()(b, 0 * b)[1]))


def changed(finish):
    return lambda first, second: finish(*interval()(first, second))


RIGHT["paired_interval"] = {
    "NumPy": interval(),
    "loops": interval_in_loops,
    "SciPy": interval_by_scipy,
    "torch": lambda first, second: tuple(map(torch.tensor, interval()(first, second))),
}
WRONG["paired_interval"] = [
    ("pairing lost", unpaired(lambda one, other: math.hypot(one, other))),
    ("pairing lost", unpaired(lambda one, other: one + other)),
    ("pairing lost", unpaired(lambda one, other: abs(one - other))),
    ("pairing lost", lambda a, b: (a.mean() - b.mean(), np.ptp(stats.ttest_ind(a, b).confidence_interval(0.95)) / 2)),
    ("normal in place of t", interval(lambda n: stats.norm.ppf(0.975))),
    ("normal in place of t", interval(lambda n: 1.96)),
    ("spread divided by n", interval(ddof=0)),
    ("root of n forgotten", interval(divisor=lambda n: 1)),
    ("divided by n in place of its root", interval(divisor=lambda n: n)),
    ("wrong degrees of freedom", interval(lambda n: stats.t.ppf(0.975, n))),
    ("one side only", interval(lambda n: stats.t.ppf(0.95, n - 1))),
    ("whole width", changed(lambda mean, half: (mean, 2 * half))),
    ("ends in place of mean and half", changed(lambda mean, half: (mean - half, mean + half))),
    ("second minus first", lambda a, b: interval()(b, a)),
    ("sign lost", lambda a, b: interval()(abs(a - b), 0 * a)),
    ("mean forgotten", changed(lambda mean, half: half)),
    ("other numbers", changed(lambda mean, half: (half, mean))),
    ("wrong type", changed(lambda mean, half: f"{mean:.3f} ± {half:.3f}")),
]


def patterns(differences):
    return [np.multiply(differences, signs) for signs in itertools.product((1, -1), repeat=len(differences))]


def flips_by_bits(differences):
    n, total, hits = len(differences), abs(sum(differences)), 0
    for number in range(2**n):
        signed = [d if number >> place & 1 else -d for place, d in enumerate(differences)]
        hits += abs(sum(signed)) > total - 1e-10
    return hits / 2**n


def flips_by_scipy(differences):
    return stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue


def count(differences, condition):
    measured = np.mean(differences)
    return sum(condition(np.mean(pattern), measured) for pattern in patterns(differences))


def share(condition):
    return lambda differences: count(differences, condition) / 2 ** len(differences)


def other_patterns_only(differences):
    far = count(differences, lambda mean, measured: abs(mean) >= abs(measured) - 1e-12)
    return (far - 1) / (2 ** len(differences) - 1)


RIGHT["sign_flips"] = {
    "product": share(lambda mean, measured: abs(mean) >= abs(measured) - 1e-12),
    "bits": flips_by_bits,
    "recursion in torch": lambda d: torch.tensor(flips_by_bits(list(d))),
    "SciPy": flips_by_scipy,
}
WRONG["sign_flips"] = [
    ("one side doubled", lambda d: 2 * share(lambda mean, measured: mean >= abs(measured) - 1e-12)(d)),
    ("equal means lost to rounding", share(lambda mean, measured: abs(mean) >= abs(measured))),
    ("one side only", share(lambda mean, measured: mean >= measured - 1e-12)),
    ("measured pattern not counted", share(lambda mean, measured: abs(mean) > abs(measured) + 1e-12)),
    ("count in place of share", lambda d: count(d, lambda mean, measured: abs(mean) >= abs(measured) - 1e-12)),
    ("the other share", share(lambda mean, measured: abs(mean) < abs(measured) - 1e-12)),
    ("sign of the measured mean kept", share(lambda mean, measured: abs(mean) >= measured - 1e-12)),
    ("Student's t", lambda d: stats.ttest_1samp(d, 0).pvalue),
    ("signs counted, not means", lambda d: stats.binomtest(sum(d > 0), len(d)).pvalue),
    ("measured pattern left out of all", other_patterns_only),
    ("other numbers", lambda d: 0.05),
    ("wrong type", lambda d: f"{flips_by_bits(d):.2f}"),
]

# --- The claims --------------------------------------------------------------------------------------------------

EXERCISES = [name for name, thing in vars(labs_5_to_9).items() if isinstance(thing, Exercise)]


def of_the_harness(exercise):
    """Names of mistakes that are in the list of this exercise."""
    return {mistake.name for mistake in getattr(check, exercise).mistakes}


@pytest.mark.parametrize(
    ("exercise", "style"), [(exercise, style) for exercise in EXERCISES for style in RIGHT[exercise]]
)
def test_a_right_answer_is_accepted_in_any_style(exercise, style):
    verdict = getattr(check, exercise)(RIGHT[exercise][style])
    assert verdict.state == "correct", f"{exercise}, {style}: {verdict.mistake}: {verdict}"


@pytest.mark.parametrize(
    ("exercise", "place", "mistake"),
    [(exercise, place, mistake) for exercise in EXERCISES for place, (mistake, _) in enumerate(WRONG[exercise])],
)
def test_a_wrong_answer_is_refused_by_its_own_name(exercise, place, mistake):
    verdict = getattr(check, exercise)(WRONG[exercise][place][1])
    assert (verdict.state, verdict.mistake) == ("wrong", mistake), f"{exercise}: {verdict.mistake}: {verdict}"
    assert verdict.sentence.endswith((".", "!", "?")), verdict.sentence


@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_mistake_that_a_check_knows_has_been_made_here(exercise):
    assert of_the_harness(exercise) <= {mistake for mistake, _ in WRONG[exercise]}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_check_knows_several_mistakes_by_name(exercise):
    vague = {"other numbers", "raises", "wrong type", "wrong shape", "returns nothing"}
    names = {mistake for mistake, _ in WRONG[exercise]} - vague
    assert len(names) >= (8 if getattr(check, exercise).parts else 5), names


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_answer_checked_twice_gets_the_same_verdict(exercise):
    for _, answer in WRONG[exercise][:3]:
        assert getattr(check, exercise)(answer) == getattr(check, exercise)(answer)


# --- The labs ----------------------------------------------------------------------------------------------------

LABS = sorted((Path(__file__).resolve().parents[2] / "labs").glob("0[5-9]_*.md"))
EXERCISE = re.compile(r"^exercise: (\w+)\n---\n(.*?)^```$.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def handed_out():
    """For each exercise its lab, the starting cell, and the folded solution."""
    return {name: (lab, *code) for lab in LABS for name, *code in EXERCISE.findall(lab.read_text())}


HANDED_OUT = handed_out()


def answer_of(lab, code):
    """What a cell defines, with nothing else at hand than what the lab imports."""
    names = {}
    cells = [cell.source for cell in jupytext.read(lab).cells if cell.cell_type == "code"]
    for line in ast.parse("\n".join(cells)).body:
        if isinstance(line, (ast.Import, ast.ImportFrom)):
            exec(ast.unparse(line), names)
    before = set(names)
    exec(code, names)
    (name,) = [name for name in set(names) - before if not name.startswith("__")]
    return names[name]


def test_each_exercise_stands_in_a_lab_and_has_a_check():
    assert set(HANDED_OUT) == set(EXERCISES)
    assert all(2 <= len(EXERCISE.findall(lab.read_text())) <= 4 for lab in LABS)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_folded_solution_is_correct_within_a_second(exercise):
    lab, _, solution = HANDED_OUT[exercise]
    answer = answer_of(lab, solution)
    begin = time.process_time()
    verdict = getattr(check, exercise)(answer)
    assert verdict, verdict.sentence
    assert time.process_time() - begin < 1, "the reader waits"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_starting_cell_is_not_done_yet(exercise):
    lab, start, _ = HANDED_OUT[exercise]
    assert getattr(check, exercise)(answer_of(lab, start)).state == "not done yet"


def test_every_paragraph_that_a_check_points_to_is_there():
    headings = {
        f"Lab {int(lab.name[:2])}, “{heading}”"
        for lab in LABS
        for heading in re.findall(r"^###? (.*)$", lab.read_text(), re.MULTILINE)
    }
    named = set(re.findall(r"Lab \d, “[^”]*”", Path(labs_5_to_9.__file__).read_text()))
    assert named and named <= headings, named - headings

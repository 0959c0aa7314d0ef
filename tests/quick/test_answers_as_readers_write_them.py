"""Answers by the statements of exercises: right ones in odd styles, and wrong ones as people make them.

Each stands for a kind that a check once judged wrongly. The names that it may use are those of its lab's first cell.
"""

import copy
import math
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from torch import nn

import checks
from checks import engine
from labs.a_question_from_the_text.marker_query import MarkerQueryClassifier
from labs.keys.exercises import LearnedQueries
from shared.intervals import mean_and_interval
from shared.model import (
    MultiHeadSelfAttention,
    TokenEmbedding,
    TransformerBlock,
    causal_mask,
    masked_softmax,
    weighted_sum,
)

engine.SECONDS = 120.0  # the machine that runs the tests may be busy


# --- right in an odd style -----------------------------------------------------------------------------------------


def softmax_in_single_precision(scores, mask):
    weights = scores.masked_fill(~mask, torch.finfo(torch.float32).min).softmax(1, dtype=torch.float32)
    return (weights * mask).to(scores.dtype)


def exponentials_minus_the_maximum(scores, mask):
    scores = scores.where(mask, -torch.inf)
    powers = (scores - scores.amax(1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)).exp()
    return powers / powers.sum(1, keepdim=True).clamp(min=1e-30)


def text_by_text(scores, mask):
    rows = torch.zeros_like(scores)
    for n in range(len(scores)):
        if mask[n].any():
            rows[n, mask[n]] = scores[n, mask[n]].softmax(0)
    return rows


def rotated_as_complex_numbers(vectors, positions, base=10_000):
    width = vectors.shape[-1]
    angles = positions[..., None].float() * base ** (-torch.arange(0, width, 2).float() / width)
    pairs = torch.view_as_complex(vectors.float().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2).to(vectors.dtype)


def norm_in_single_precision(x, scale, shift, eps=1e-5):
    x32 = x.float()
    centred = x32 - x32.mean(-1, keepdim=True)
    return (centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * scale + shift


def norm_by_var_mean(x, scale, shift, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return scale * (x - mean) / (variance + eps) ** 0.5 + shift


def by_keywords(train, seeds):
    base = [train(query_position=False, key_position=False, seed=seed) for seed in seeds]
    found = {}
    for kind in ((True, True), (True, False), (False, True)):
        own = [train(query_position=kind[0], key_position=kind[1], seed=seed) for seed in seeds]
        found[kind] = mean_and_interval(np.subtract(own, base))
    return found


def measured_by_keywords(net, measure, short, long, factor):
    changed = copy.deepcopy(net)
    own = changed.positions
    changed.positions = lambda ids: own(ids) / factor
    return measure(net=net, texts=short), measure(net=net, texts=long), measure(net=changed, texts=long)


def positions_of_a_subclass(net, measure, short, long, factor):
    class Interpolated(type(net)):
        def positions(self, ids):
            return super().positions(ids) / factor

    changed = copy.deepcopy(net)
    changed.__class__ = Interpolated
    return measure(net, short), measure(net, long), measure(changed, long)


def by_two_layers(value_weight, value_bias, out_weight, out_bias):
    """What the two layers make of zero and of the unit vectors."""
    size = value_weight.shape[1]
    bias = F.linear(F.linear(torch.zeros(size).to(value_weight), value_weight, value_bias), out_weight, out_bias)
    rows = F.linear(F.linear(torch.eye(size).to(value_weight), value_weight, value_bias), out_weight, out_bias)
    return (rows - bias).T, bias


class QueryByEinsum(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.query = nn.Parameter(torch.randn(d_model) / d_model**0.5)

    def forward(self, x, mask=None):
        scores = torch.einsum("bnd,d->bn", x, self.query)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        weights = weights if mask is None else weights * mask
        return torch.einsum("bn,bnd->bd", weights, x), weights


class LayerInSinglePrecision(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.W_query, self.W_key = (nn.Linear(d_model, d_k, bias=False) for _ in range(2))
        self.W_value = nn.Linear(d_model, d_v, bias=False)

    def attention_weights(self, x, mask):
        scores = self.W_query(x).float() @ self.W_key(x).float().mT / math.sqrt(self.W_key.out_features)
        return masked_softmax(scores, mask[:, None]).to(x.dtype)

    def forward(self, x, mask):
        weights = self.attention_weights(x, mask)
        return torch.einsum("bij,bjd->bid", weights, self.W_value(x)), weights


def game_text_by_text(num_texts, num_pairs, num_letters, random):
    texts = []
    for _ in range(num_texts):
        first = torch.randperm(num_letters, generator=random)[:num_pairs]
        shown = torch.stack([first, torch.randint(num_letters, (num_pairs,), generator=random)], dim=1)
        texts.append(torch.cat([shown, shown[torch.randperm(num_pairs, generator=random)]]).flatten())
    return torch.stack(texts)


def each_text_in_its_own_order(losses_at, texts, near):
    far = texts.shape[1] - near
    order = torch.rand(len(texts), far).argsort(dim=1)
    shuffled = torch.cat([texts[:, :far].gather(1, order), texts[:, far:]], dim=1)
    return mean_and_interval(losses_at(shuffled) - losses_at(texts))


def merged_with_stack(first, second):
    maximum = torch.stack([first[0], second[0]]).amax(dim=0)
    one, other = torch.exp(first[0] - maximum), torch.exp(second[0] - maximum)
    return maximum, first[1] * one + second[1] * other, first[2] * one + second[2] * other


RIGHT = [
    ("positions_or_words", positions_of_a_subclass),
    ("masked_softmax", softmax_in_single_precision), ("masked_softmax", exponentials_minus_the_maximum),
    ("masked_softmax", text_by_text), ("rotate", rotated_as_complex_numbers), ("layer_norm", norm_in_single_precision),
    ("layer_norm", norm_by_var_mean), ("gains_by_position", by_keywords),
    ("positions_or_words", measured_by_keywords), ("fold_values", by_two_layers), ("learned_query", QueryByEinsum),
    ("whole_layer", LayerInSinglePrecision), ("fix_the_game", game_text_by_text),
    ("effect_of_context", each_text_in_its_own_order), ("merge", merged_with_stack),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=[answer.__name__ for _, answer in RIGHT])
def test_a_right_answer_is_right(name, answer):
    verdict = getattr(checks, name)(answer)
    assert verdict, verdict


# --- wrong, with a word of the sentence that the reader gets ---------------------------------------------------------


def zeros_hidden(scores, mask):
    scores = scores * mask
    return scores.masked_fill(scores == 0, -torch.inf).softmax(1).nan_to_num()


def minus_ten_thousand(scores, mask):
    return scores.masked_fill(~mask, -1e4).softmax(1) * mask


def minus_ten(scores, mask):
    return scores.masked_fill(~mask, -10.0).softmax(1)


def mask_added(scores, mask):
    return (scores + mask).softmax(1)


class QueryAsLinear(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.query = nn.Linear(d_model, 1, bias=False)

    def scores(self, x):
        return self.query(x).squeeze(2)

    def forward(self, x, mask=None):
        scores = self.scores(x)
        weights = scores.softmax(1) if mask is None else masked_softmax(scores, mask)
        return weighted_sum(weights, x), weights


class QueryAsColumn(QueryAsLinear):
    def __init__(self, d_model):
        nn.Module.__init__(self)
        self.query = nn.Parameter(torch.randn(d_model, 1))

    def scores(self, x):
        return (x @ self.query).squeeze(2)


class QueryNotDrawn(QueryByEinsum):
    def __init__(self, d_model):
        super().__init__(d_model)
        self.query = nn.Parameter(torch.full((d_model,), torch.nan))


class QueriesTransposed(nn.Module):
    def __init__(self, num_queries, d_model, d_k):
        super().__init__()
        self.W_key = nn.Linear(d_model, d_k, bias=False)
        self.query = nn.Parameter(torch.randn(d_k, num_queries))

    def forward(self, x):
        weights = (self.W_key(x) @ self.query).mT.softmax(2)
        return weights @ x, weights


class PartsOfTheWrongWidth(nn.Module):
    def __init__(self, d_model, d_k, bias=False):
        super().__init__()
        self.W_query, self.W_key = (nn.Linear(d_k, d_model, bias=bias) for _ in range(2))

    def forward(self, x, mask):
        weights = masked_softmax(self.W_query(x) @ self.W_key(x).mT, mask[:, None])
        return weights @ x, weights


def a_layer_instead(value_weight, value_bias, out_weight, out_bias):
    layer = nn.Linear(value_weight.shape[1], len(out_weight)).to(value_weight)
    layer.weight.data, layer.bias.data = out_weight @ value_weight, out_weight @ value_bias + out_bias
    return layer


def norm_of_torch(x, scale, shift, eps=1e-5):
    return torch.layer_norm(x, x.shape[-1:], scale, shift, eps)


def normalize_it(x, scale, shift, eps):
    return F.layer_norm(x, x.shape[-1:], scale, shift, eps)


def norm_of_a_helper(x, scale, shift, eps=1e-5):
    return normalize_it(x, scale, shift, eps)


half_width_of = mean_and_interval


def interval_by_another_name(first, second):
    return half_width_of(np.asarray(first) - np.asarray(second))


def context_by(change):
    def effect(losses_at, texts, near):
        changed = torch.cat([change(texts[:, :-near]), texts[:, -near:]], dim=1)
        return mean_and_interval(losses_at(changed) - losses_at(texts))

    return effect


def half_reversed(num_texts, num_pairs, num_letters, random):
    ids = game_text_by_text(num_texts, num_pairs, num_letters, random)
    shown = ids[:, : 2 * num_pairs].unflatten(1, (-1, 2))
    ids[::2, 2 * num_pairs :] = shown[::2].flip(1).flatten(1)
    return ids


class HeadsByView(MultiHeadSelfAttention):
    def forward(self, x, mask=None, attention_mask=None):
        batch, tokens, d_model = x.shape
        queries, keys, values = (
            part(x).view(batch, self.num_heads, tokens, self.head_dim)
            for part in (self.W_query, self.W_key, self.W_value)
        )
        allowed = None if mask is None else mask[:, None, None]
        if attention_mask is not None:
            allowed = attention_mask[..., None, :, :] & (torch.tensor(True) if allowed is None else allowed)
        weights = masked_softmax(queries @ keys.mT / math.sqrt(self.head_dim), allowed)
        return self.W_output((weights @ values).reshape(batch, tokens, d_model)), weights


class BlockWithoutMasks(TransformerBlock):
    def __init__(self, d_model, num_heads, hidden_dim, dropout=0.1):
        super().__init__(d_model, num_heads, hidden_dim, dropout)

    def forward(self, x, mask=None, attention_mask=None):
        output, weights = self.attention(self.attention_norm(x))
        x = self.add(x, output)
        return self.add(x, self.feed_forward(self.feed_forward_norm(x))), weights


class TiedReadOut(nn.Module):
    def __init__(self, known_words, causal=True, d_model=64, num_heads=4, num_blocks=2):
        super().__init__()
        self.causal = causal
        self.embedding = TokenEmbedding(known_words, d_model, dropout=0.0, std=0.5)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, num_heads, 2 * d_model, dropout=0.0, norm_first=True) for _ in range(num_blocks)
        )
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, known_words)
        self.output.weight = self.embedding.table.weight

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x, _ = block(x, attention_mask=causal_mask(ids.shape[1]) if self.causal else None)
        return self.output(self.norm(x))


def divided_by_layers(shares, searched, fresh):
    table = shares(searched).mean(dim=0)
    layer, head = divmod(int(table.argmax()), len(table))
    return (layer, head), *mean_and_interval(shares(fresh)[:, layer, head])


class AskReturnsX(MarkerQueryClassifier):
    def ask(self, ids, x):
        return self.attention.W_query(x)

    def forward(self, ids, mask):
        x = self.embedding(ids)
        queries = self.ask(ids, x).unsqueeze(2)
        scores = (self.attention.W_key(x) @ queries).squeeze(2) / math.sqrt(queries.shape[1])
        weights = masked_softmax(scores, mask)
        return self.output(weighted_sum(weights, self.attention.W_value(x))).squeeze(1), weights


def attends_two_words_on(num_words):
    return 10 * math.sqrt(num_words) * torch.eye(num_words), torch.eye(num_words).roll(2, dims=0)


def mean_without_an_interval(train, seeds):
    return {
        kind: float(np.mean([train(*kind, seed) for seed in seeds]))
        for kind in ((True, True), (True, False), (False, True))
    }


def cat_over_axis_one(first, second):
    maximum = torch.cat([first[0], second[0]], dim=1).amax(dim=1, keepdim=True)
    one, other = torch.exp(first[0] - maximum), torch.exp(second[0] - maximum)
    return maximum, first[1] * one + second[1] * other, first[2] * one + second[2] * other


def second_half_alone(first, second):
    maximum = torch.maximum(first[0], second[0])
    other = torch.exp(second[0] - maximum)
    return maximum, first[1] + second[1] * other, first[2] + second[2] * other


def matrix_of_numpy(weight, head, num_heads):
    result, width = np.array(weight), weight.shape[1] // num_heads
    result[:, head * width : (head + 1) * width] = 0
    return result


def both_signs_plus(vectors, positions, base=10_000):
    angles = positions[..., None] * base ** (-torch.arange(0, vectors.shape[-1], 2) / vectors.shape[-1])
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack([x * angles.cos() + y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1).flatten(-2)


def in_double_precision(vectors, positions, base=10_000):
    angles = positions[..., None] * base ** (-torch.arange(0, vectors.shape[-1], 2).double() / vectors.shape[-1])
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack([x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos()], dim=-1).flatten(-2)


def both_last_epochs(first, second, train, measure, seeds):
    gains = [measure(train(first, seed)[-1], "test") - measure(train(second, seed)[-1], "test") for seed in seeds]
    return mean_and_interval(gains)


def sign_before_close(first, second, train, seeds, band):
    mean, half = mean_and_interval([train(first, seed) - train(second, seed) for seed in seeds])
    if mean - half > 0:
        return mean, half, "higher"
    if mean + half < 0:
        return mean, half, "lower"
    return mean, half, "close" if abs(mean) + half < band else "undecided"


def mask_from_position_zero(queries, keys, values, kept_keys, kept_values, reach):
    keys, values = torch.cat([kept_keys, keys], dim=1), torch.cat([kept_values, values], dim=1)
    distance = torch.arange(queries.shape[1])[:, None] - torch.arange(keys.shape[1])
    allowed = (distance >= 0) & (distance < reach)
    scores = (queries @ keys.mT / math.sqrt(keys.shape[2])).masked_fill(~allowed, -torch.inf)
    return scores.softmax(dim=2) @ values, keys[:, -reach:], values[:, -reach:]


class EqualQueries(LearnedQueries):
    def __init__(self, num_queries, d_model, d_k):
        super().__init__(num_queries, d_model, d_k)
        self.query = nn.Parameter(torch.zeros(num_queries, d_k))

    def forward(self, x):
        weights = (self.query @ self.W_key(x).mT).softmax(dim=-1)
        return weights @ x, weights


def one_word_too_many(losses_at, texts, near):
    shuffled, far = texts.clone(), texts.shape[1] - near + 1
    for row, text in enumerate(texts):
        shuffled[row, :far] = text[torch.randperm(far)]
    return mean_and_interval(losses_at(shuffled) - losses_at(texts))


def one_baseline(train, seeds):
    kinds, baseline = ((True, True), (True, False), (False, True)), train(False, False, seeds[0])
    return {kind: mean_and_interval([train(*kind, seed) - baseline for seed in seeds]) for kind in kinds}


def ends(first, second):
    differences = np.subtract(first, second)
    half = stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences)
    return differences.mean() - half, differences.mean() + half


def by_the_sign_of_the_mean(first, second, train, seeds, band):
    mean, half = mean_and_interval([train(first, seed) - train(second, seed) for seed in seeds])
    return mean, half, "close" if abs(mean) + half < band else "higher" if mean > 0 else "lower"


def zeros_in_the_matrix(model, layer, places, measure):
    changed = copy.deepcopy(model)
    nn.init.zeros_(changed.layers[layer].W_output.weight)
    return measure(model), measure(changed)


WRONG = [
    ("learned_queries", EqualQueries, "all queries begin with the same numbers"),
    ("effect_of_context", one_word_too_many, "One of the `near` last words"),
    ("gains_by_position", one_baseline, "One value of the second group"),
    ("paired_interval", ends, "two ends of the interval"),
    ("preregistered", by_the_sign_of_the_mean, "look at the mean only"),
    ("with_and_without", zeros_in_the_matrix, "The matrix of `W_output` is zero"),
    ("masked_softmax", zeros_hidden, "differ"), ("masked_softmax", minus_ten_thousand, "differ"),
    ("masked_softmax", minus_ten, "filled with -10"), ("masked_softmax", mask_added, "mask is added"),
    ("learned_query", QueryAsLinear, "of type Linear"), ("learned_query", QueryAsColumn, "of shape (32, 1)"),
    ("learned_query", QueryNotDrawn, "torch.empty"), ("learned_queries", QueriesTransposed, "of shape (3, 2)"),
    ("add_queries", PartsOfTheWrongWidth, "shape"), ("fold_values", a_layer_instead, "of type Linear"),
    ("layer_norm", norm_of_torch, "`layer_norm` computes"), ("layer_norm", norm_of_a_helper, "`layer_norm` computes"),
    ("paired_interval", interval_by_another_name, "`mean_and_interval` computes"),
    ("effect_of_context", context_by(lambda far: far.sort(dim=1).values), "sorted"),
    ("effect_of_context", context_by(lambda far: far.roll(1, dims=1)), "moved by the same number of positions"),
    ("effect_of_context", context_by(lambda far: far[:, [1, 0, *range(2, far.shape[1])]]), "Only a few words"),
    ("fix_the_game", half_reversed, "order, or a part of it"),
    ("many_heads", HeadsByView, "Two mistakes at once. The projections are reshaped"),
    ("transformer_block", BlockWithoutMasks, "Neither mask"), ("language_model", TiedReadOut, "share one matrix"),
    ("search_and_test", divided_by_layers, "divided by the number of layers"),
    ("marked_classifier", AskReturnsX, "`ask(ids, x)` returns the shape (2, 5, 3)"),
    ("attend_to_the_next_word", attends_two_words_on, "the word to which each word attends most"),
    ("gains_by_position", mean_without_an_interval, "instead of 2 results, (·, ·): `result[(True, True)]`"),
    ("merge", cat_over_axis_one, "goes on with batches"), ("merge", second_half_alone, "Only the second half"),
    ("without_head", matrix_of_numpy, "goes on with"), ("rotate", both_signs_plus, "Both signs are plus"),
    ("rotate", in_double_precision, "come back as torch.float64"),
    ("fix_the_comparison", both_last_epochs, "Both models are measured after their last epoch"),
    ("preregistered", sign_before_close, "Check first whether"),
    ("fix_the_blocks", mask_from_position_zero, "treats the first new token as position 0"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "word"), WRONG, ids=[f"{name}-{a.__name__}" for name, a, _ in WRONG])
def test_a_wrong_answer_is_told_what_is_wrong(name, answer, word):
    verdict = getattr(checks, name)(answer)
    assert verdict.state == "wrong" and re.search(re.escape(word), verdict.sentence), verdict

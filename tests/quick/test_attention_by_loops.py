"""Every classifier of `shared.model`, calculated a second time: one token after the other, with Python's own floats.

Nothing here uses a matrix product, a batch or a mask of PyTorch, so a mistake in those cannot hide in both. The blocks
of the encoder are held against PyTorch's own in test_multi_head.py.
"""

import math
import random

import pytest
import torch

from shared import model

VOCABULARY, MARK = 30, 3


# --- arithmetic on lists of floats -------------------------------------------------------------------------------


def dot(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True))


def add(left, right):
    return [a + b for a, b in zip(left, right, strict=True)]


def linear(layer, vector):
    """What nn.Linear (or nn.Identity) makes of one vector."""
    if isinstance(layer, torch.nn.Identity):
        return vector
    bias = [0.0] * layer.out_features if layer.bias is None else layer.bias.tolist()
    return [dot(row, vector) + shift for row, shift in zip(layer.weight.tolist(), bias, strict=True)]


def softmax(scores, allowed):
    """Weights over the allowed places; all zero where nothing is allowed."""
    powers = [math.exp(score) if may else 0.0 for score, may in zip(scores, allowed, strict=True)]
    total = sum(powers)
    return [power / total if total else 0.0 for power in powers]


def mixture(weights, vectors):
    """The sum of the vectors, each times its weight."""
    result = [0.0] * len(vectors[0])
    for weight, vector in zip(weights, vectors, strict=True):
        result = add(result, [weight * number for number in vector])
    return result


def mean_row(rows, real):
    """The average of the rows that belong to real tokens; zeros when there are none."""
    count = sum(real)
    return mixture([1 / count if count and may else 0.0 for may in real], rows)


# --- the layers, for one text -----------------------------------------------------------------------------------


def position(place, d_model, base=1000.0):
    angles = [place / base ** (2 * (column // 2) / d_model) for column in range(d_model)]
    return [math.cos(angle) if column % 2 else math.sin(angle) for column, angle in enumerate(angles)]


def features_by_loops(layer, ids):
    table = layer.table.weight.tolist()
    d_model = len(table[0])
    return [
        add(table[word], position(place, d_model) if layer.positions.any() else [0.0] * d_model)
        for place, word in enumerate(ids)
    ]


def self_attention_by_loops(layer, x, real):
    """Outputs and weights of each token."""
    keys = [linear(layer.W_key, feature) for feature in x]
    values = [linear(layer.W_value, feature) for feature in x]
    rows = []
    for feature in x:
        query = linear(layer.W_query, feature)
        rows.append(softmax([dot(query, key) / math.sqrt(len(query)) for key in keys], real))
    return [mixture(row, values) for row in rows], rows


# --- the classifiers: pooled x and weights of one text ---------------------------------------------------


def mean_pooling(net, ids, x, real):
    weights = mean_row([[float(i == j) for j in range(len(ids))] for i in range(len(ids))], real)
    return mixture(weights, x), weights


def attention_pooling(net, ids, x, real):
    weights = softmax([linear(net.score, feature)[0] for feature in x], real)
    return mixture(weights, x), weights


def averaged_self_attention(net, ids, x, real):
    outputs, rows = self_attention_by_loops(net.attention, x, real)
    return mean_row(outputs, real), mean_row(rows, real)


def marker_query_by_loops(net, ids, x, real):
    outputs, rows = self_attention_by_loops(net.attention, x, real)
    place = ids.index(MARK)
    return outputs[place], rows[place]


def constant_query(net, ids, x, real):
    query = net.constant_query.tolist()
    keys = [linear(net.attention.W_key, feature) for feature in x]
    weights = softmax([dot(query, key) / math.sqrt(len(query)) for key in keys], real)
    return mixture(weights, [linear(net.attention.W_value, feature) for feature in x]), weights


def encoder(net, ids, x, real):
    x, mask = torch.tensor([x], dtype=torch.float64), torch.tensor([real])
    for block in net.blocks:
        x, _ = block(x, mask)
    return attention_pooling(net, ids, x[0].tolist(), real)


CLASSIFIERS = {
    "mean pooling": (lambda: model.MeanPooling(VOCABULARY, 6), mean_pooling),
    "attention pooling": (lambda: model.AttentionPooling(VOCABULARY, 6), attention_pooling),
    "attention pooling without positions": (
        lambda: model.AttentionPooling(VOCABULARY, 6, positions=False),
        attention_pooling,
    ),
    "self-attention": (lambda: model.SelfAttentionClassifier(VOCABULARY, 6, 3, 5), averaged_self_attention),
    "self-attention without values": (
        lambda: model.SelfAttentionClassifier(VOCABULARY, 6, 3, None),
        averaged_self_attention,
    ),
    "marker query": (lambda: model.MarkerQueryClassifier(VOCABULARY, MARK, 6, 3, 5), marker_query_by_loops),
    "constant query": (
        lambda: model.MarkerQueryClassifier(VOCABULARY, MARK, 6, 3, 5, constant_query=True),
        constant_query,
    ),
    "encoder": (lambda: model.EncoderClassifier(VOCABULARY, 6, 3, 7, num_blocks=2), encoder),
}


def wide(net):
    """The model in float64, without dropout, its parameters far from equal."""
    net = net.double().eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_(std=0.7)
    return net


def texts(seed, marked=True):
    """A batch of ids with padding at the end of most texts, and its mask."""
    chance = random.Random(seed)
    batch, tokens = chance.randint(2, 4), chance.randint(3, 9)
    lengths = [tokens] + [chance.randint(1, tokens) for _ in range(batch - 1)]
    ids = torch.zeros(batch, tokens, dtype=torch.long)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.tensor([chance.randint(4, VOCABULARY - 1) for _ in range(length)])
        ids[row, chance.randrange(length)] = MARK
    return ids, torch.arange(tokens) < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_agrees_with_loops_over_tokens_and_padding_changes_nothing(name):
    make, by_loops = CLASSIFIERS[name]
    for seed in range(3):
        torch.manual_seed(seed)
        net = wide(make())
        ids, mask = texts(seed)
        ids = ids.masked_fill(~mask, 9)  # any word as padding
        logits, weights = net(ids, mask)
        assert not weights[~mask].any(), "a padded token got attention"
        for row in range(len(ids)):
            x = features_by_loops(net.embedding, ids[row].tolist())
            pooled, expected = by_loops(net, ids[row].tolist(), x, mask[row].tolist())
            assert weights[row].tolist() == pytest.approx(expected, abs=1e-6), f"{name}: weights of text {row}"
            assert logits[row].item() == pytest.approx(linear(net.output, pooled)[0], abs=1e-6), f"{name}: text {row}"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_text_of_padding_only_gives_no_nan_and_leaves_the_others_alone(name):
    torch.manual_seed(0)
    net = CLASSIFIERS[name][0]().eval()
    ids, mask = texts(5)
    alone = net(ids, mask)[0]
    ids = torch.cat([ids, torch.zeros_like(ids[:1])])
    mask = torch.cat([mask, torch.zeros_like(mask[:1])])
    logits, weights = net(ids, mask)
    assert weights[-1].tolist() == [0.0] * ids.shape[1], "padding got attention"
    assert logits.isfinite().all(), "the logit of a text of padding is not finite"
    torch.testing.assert_close(logits[:-1], alone)
    logits.square().sum().backward()
    for parameter_name, parameter in net.named_parameters():
        if parameter.grad is not None:
            assert parameter.grad.isfinite().all(), f"{name}: the gradient of {parameter_name} is not finite"

"""Every classifier of `shared.model`, calculated a second time: one text and one token after the other.

Nothing here uses a batch, a mask or a matrix product of queries and keys, so a mistake in those cannot hide in both.
The block of the encoder is held against PyTorch's own in test_multi_head.py.
"""

import math
import random

import pytest
import torch

from experiments.train_classifier import EncoderClassifier
from labs.a_question_from_the_text.marker_query import MarkerQueryClassifier
from shared import model

VOCABULARY, MARK = 30, 3


# --- the layers, for one text ------------------------------------------------------------------------------------


def position(place, d_model, base=1000.0):
    angles = [place / base ** (2 * (column // 2) / d_model) for column in range(d_model)]
    return torch.tensor(
        [math.cos(a) if column % 2 else math.sin(a) for column, a in enumerate(angles)], dtype=torch.float64
    )


def features_by_loops(layer, ids):
    rows = [layer.table.weight[word] for word in ids]
    return [row + position(place, len(row)) if layer.positions.any() else row for place, row in enumerate(rows)]


def softmax(scores, allowed):
    """Weights over the allowed places; all zero where nothing is allowed."""
    powers = [math.exp(score) if may else 0.0 for score, may in zip(scores, allowed, strict=True)]
    return [power / (sum(powers) or 1.0) for power in powers]


def mixture(weights, vectors):
    """The sum of the vectors, each times its weight."""
    return sum(weight * vector for weight, vector in zip(weights, vectors, strict=True))


def over_real(real):
    """The weights of a mean over the real tokens; zeros when there are none."""
    return [may / max(sum(real), 1) for may in real]


def weights_of(query, layer, x, real):
    """The weights with which a query attends to the tokens of a text."""
    return softmax([query.dot(layer.W_key(feature)) / math.sqrt(len(query)) for feature in x], real)


# --- the classifiers: pooled x and weights of one text -----------------------------------------------------------


def mean_pooling(net, ids, x, real):
    return mixture(over_real(real), x), over_real(real)


def attention_pooling(net, ids, x, real):
    weights = softmax([net.score(feature) for feature in x], real)
    return mixture(weights, x), weights


def averaged_self_attention(net, ids, x, real):
    rows = [weights_of(net.attention.W_query(feature), net.attention, x, real) for feature in x]
    outputs = [mixture(row, [net.attention.W_value(feature) for feature in x]) for row in rows]
    return mixture(over_real(real), outputs), mixture(over_real(real), torch.tensor(rows)).tolist()


def marker_query(net, ids, x, real):
    marked = x[ids.index(MARK)] if any(real) else x[0]
    weights = weights_of(net.attention.W_query(marked), net.attention, x, real)
    return mixture(weights, [net.attention.W_value(feature) for feature in x]), weights


def encoder(net, ids, x, real):
    (block,) = (part for part in net.modules() if isinstance(part, model.TransformerBlock))
    x, _ = block(torch.stack(x)[None], torch.tensor([real]))
    return attention_pooling(net, ids, [*x[0]], real)


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
    "marker query": (lambda: MarkerQueryClassifier(VOCABULARY, MARK, 6, 3, 5), marker_query),
    "encoder": (lambda: EncoderClassifier(VOCABULARY, 6, 3, 7), encoder),
}


def wide(net):
    """The model in float64, without dropout, its parameters far from equal."""
    net = net.double().eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_(std=0.7)
    return net


def texts(seed):
    """A batch of ids with padding at the end of most texts, the last of which is padding only; and its mask."""
    chance = random.Random(seed)
    tokens = chance.randint(3, 9)
    lengths = [tokens, *(chance.randint(1, tokens) for _ in range(chance.randint(1, 3))), 0]
    ids = torch.full((len(lengths), tokens), 9)  # any word as padding
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.tensor([chance.randint(4, VOCABULARY - 1) for _ in range(length)])
        if length:
            ids[row, chance.randrange(length)] = MARK
    return ids, torch.arange(tokens) < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_agrees_with_loops_over_tokens_and_padding_changes_nothing(name, seed):
    make, by_loops = CLASSIFIERS[name]
    torch.manual_seed(seed)
    net = wide(make())
    ids, mask = texts(seed)
    logits, weights = net(ids, mask)
    assert not weights[~mask].any(), "a padded token got attention"
    with torch.no_grad():
        for row in range(len(ids)):
            x = features_by_loops(net.embedding, ids[row].tolist())
            pooled, expected = by_loops(net, ids[row].tolist(), x, mask[row].tolist())
            assert weights[row].tolist() == pytest.approx(expected, abs=1e-6), f"weights of text {row}"
            assert logits[row].item() == pytest.approx(net.output(pooled).item(), abs=1e-6), f"text {row}"
    logits.square().sum().backward()
    for parameter_name, parameter in net.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), f"the gradient of {parameter_name}"

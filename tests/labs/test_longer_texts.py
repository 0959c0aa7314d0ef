"""*Longer texts*: each reader attends with its positions and its bias."""

import math

import lab_code
import numpy as np
import pytest
import torch
from torch.nn import functional as F

from labs.longer_texts import position_encodings as longer_texts
from shared import data, review_pairs
from shared.reviews import tokenized

MARKER, SEPARATOR = longer_texts.MARKER_ID, longer_texts.SEPARATOR_ID
rotate = lab_code.taught(lab_code.find("longer_texts"), "rotate")["rotate"]


def texts(batch: int, tokens: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids with a marker in each text, and a mask that pads all texts but the first."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(MARKER + 1, 20, (batch, tokens), generator=random)
    real = torch.randint(1, tokens + 1, (batch, 1), generator=random)
    real[0] = tokens
    ids.scatter_(1, (torch.rand(batch, 1, generator=random) * real).long(), MARKER)
    mask = torch.arange(tokens) < real  # (batch, tokens)
    return ids * mask, mask


def classifier(encoding: str, seed: int):
    torch.manual_seed(seed)
    net = longer_texts.PositionedClassifier(20, encoding, d_model=6, d_k=4).eval().double()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return net


def attention_by_pytorch(net, ids, mask):
    """The marker query by PyTorch's function and the lab's `rotate`, with the bias as its attention mask."""
    x = net.embedding(ids)  # (batch, tokens, d_model)
    tokens = torch.arange(ids.shape[1])
    if net.encoding == "sines":
        x = x + rotate(torch.tensor([1.0, 0.0] * 3).to(x), tokens, 1000)
    if net.encoding == "learned":
        x = x + net.table[tokens]
    position = (ids == MARKER).int().argmax(dim=1)  # (batch,)
    queries = net.W_query(x[torch.arange(len(ids)), position])[:, None]  # (batch, 1, d_k)
    keys, values = net.W_key(x), net.W_value(x)
    if net.encoding == "rotary":
        queries, keys = rotate(queries, position[:, None]), rotate(keys, tokens)
    bias = torch.zeros(mask.shape, dtype=x.dtype)
    if net.slopes is not None:
        distance = tokens - position[:, None]  # (batch, tokens), negative before the marker
        bias = -distance.abs() * torch.where(distance < 0, net.slopes[0], net.slopes[-1])
    bias = bias.masked_fill(~mask, -math.inf)[:, None]  # (batch, 1, tokens)
    return net.output(F.scaled_dot_product_attention(queries, keys, values, bias)[:, 0]).squeeze(1)


@pytest.mark.parametrize("encoding", longer_texts.ENCODINGS)
@pytest.mark.parametrize(("batch", "tokens", "seed"), [(1, 1, 0), (2, 5, 1), (3, 9, 2), (4, 15, 3)])
def test_each_encoding_is_pytorch_s_attention_with_its_positions_and_its_bias(encoding, batch, tokens, seed):
    (ids, mask), net = texts(batch, tokens, seed), classifier(encoding, seed)
    torch.testing.assert_close(net(ids, mask)[0], attention_by_pytorch(net, ids, mask), rtol=1e-10, atol=1e-10)


def test_a_second_review_that_begins_later_leaves_the_first_where_it_is():
    ids = torch.tensor([[MARKER, 9, 9, SEPARATOR, 9], [SEPARATOR, 9, MARKER, 9, 0]])
    assert longer_texts.in_order(ids).tolist() == [[0, 1, 2, 3, 4]] * 2
    assert longer_texts.second_later(10)(ids).tolist() == [[0, 1, 2, 13, 14], [0, 1, 12, 13, 14]]


@pytest.fixture(scope="module")
def marked_reviews():
    """Reviews whose vocabulary has the markers, which are numbered as in the lab."""
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(list("abcdefgh"), random.integers(50, 90))) for _ in range(60)]
    split = tokenized(texts, random.integers(0, 2, 60))
    return data.encode(split, data.build_vocabulary(split, special=(data.SEPARATOR, data.MARKER)))


def test_only_long_reviews_are_kept_and_their_first_words(marked_reviews):
    shortened = longer_texts.first_words(marked_reviews, 20, at_least=64)
    long = [row for row in range(60) if len(marked_reviews[row]) >= 64]
    assert 10 < len(shortened) == len(long) < 60
    for row, own in enumerate(long):
        assert (
            shortened[row].tolist() == marked_reviews[own].tolist()[:20]
            and shortened.labels[row] == marked_reviews.labels[own]
        )
    varied = longer_texts.of_varied_length(longer_texts.first_words(marked_reviews, 64), seed=1)
    for row, own in enumerate(long):
        assert varied[row].tolist() == marked_reviews[own].tolist()[: len(varied[row])]
    assert len(set(varied.lengths)) > 8 and 32 <= varied.lengths.min() and varied.lengths.max() <= 64


class ByPlace(torch.nn.Module):
    """Says good where the marker is before the first review, or always."""

    def __init__(self, always):
        super().__init__()
        self.always = torch.nn.Parameter(torch.tensor(float(always)))

    def forward(self, ids, mask):
        return (ids[:, 0] == MARKER).float() + self.always - 0.5, mask / mask.sum(dim=1, keepdim=True)


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("seeds", [(100,), (3, 4)])
def test_pairs_of_opposite_labels_are_asked_for_both_reviews(marked_reviews, seeds, always):
    right = [[], []]  # with the marker before the first review, and before the second
    for seed in seeds:
        other = data.distracted_examples(marked_reviews, seed).distractor_rows  # they come first
        for second, first in enumerate(other):
            labels = [bool(marked_reviews.labels[row]) for row in (first, second)]
            if labels[0] != labels[1]:
                right[0].append(labels[0])
                right[1].append(labels[1] == always)
    found = longer_texts.right_on_opposite(ByPlace(always), marked_reviews, seeds)
    assert found == pytest.approx([np.mean(answers) for answers in right])


def test_swapped_markers_exchange_two_words_and_nothing_else(marked_reviews):
    pairs = data.distracted_examples(marked_reviews, 1, True, MARKER, SEPARATOR)
    swapped = review_pairs.swap_markers(pairs)
    other = {MARKER: SEPARATOR, SEPARATOR: MARKER}
    for row in range(len(pairs)):
        assert swapped[row].tolist() == [other.get(word, word) for word in pairs[row].tolist()]
        assert swapped.labels[row] == marked_reviews.labels[pairs.distractor_rows[row]]


def test_test_texts_have_three_lengths_of_the_same_reviews_and_only_words_of_the_training_texts(monkeypatch):
    random, words = np.random.default_rng(1), [f"{a}{b}" for a in "abcdefgh" for b in "abcdefgh"]
    texts = [" ".join(random.choice(words[: 60 + row % 5], random.integers(40, 400))) for row in range(90)]
    split = tokenized(texts, random.integers(0, 2, 90))
    vocabulary = data.build_vocabulary(split, special=(data.SEPARATOR, data.MARKER))
    train, test = (data.encode(split.select(rows), vocabulary, 256) for rows in (range(3, 90, 5), range(30, 90)))
    prepared = data.PreparedReviews(train, train, test, vocabulary, "")
    monkeypatch.setattr(data, "load_prepared", lambda settings, max_tokens: prepared)
    source, tests = longer_texts.reviews_by_length(data.Settings())
    assert set(source.train.lengths) == set(source.validation.lengths) == {64}
    known, long = set(source.train.ids.tolist()), [row for row in range(len(test)) if len(test[row]) == 256]
    replaced = 0
    for length, reviews in tests.items():
        assert len(reviews) == len(long)
        for own, row in zip((reviews[n] for n in range(len(reviews))), long, strict=True):
            whole = test[row][: int(length)].tolist()
            assert own.tolist() == [word if word in known else data.UNK for word in whole]
            replaced += own.tolist() != whole
    assert replaced and [*tests] == ["64", "128", "256"]

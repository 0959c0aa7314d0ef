"""Marked pairs of reviews and how a model behaves on them (*A question from the text* and *Does it help?*).

A pair is two reviews in random order; `<MARK>` is before the one that counts, `<SEP>` before the other. Swapping them
changes the right answer where the labels are opposite, and nothing else about the text.
"""

import itertools
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from shared import model, training
from shared.data import MARKER, SEPARATOR, EncodedReviews, Examples, PreparedReviews, batches, distracted_examples

TEST_DRAWS = (100, 101, 102)  # seeds of the distractors, as in the table of *Does it help?*


def marked_pairs(reviews: EncodedReviews, data: PreparedReviews, seed: int) -> Examples:
    """Each review with a distractor, in random order, and the marker before the review that counts."""
    ids = data.vocabulary.id(MARKER), data.vocabulary.id(SEPARATOR)
    return distracted_examples(reviews, seed, True, *ids)


def test_pairs(data: PreparedReviews) -> Examples:
    """The test reviews with three draws of distractors."""
    one, two, three = (marked_pairs(data.test, data, seed) for seed in TEST_DRAWS)
    return one + two + three


def swap_markers(pairs: Examples) -> Examples:
    """The same texts in the same order, with the other review marked."""
    labelled, distractor, first = pairs.distractor, pairs.labelled, ~pairs.distractor_first
    return replace(pairs, labelled=labelled, distractor=distractor, distractor_first=first)


def opposite_labels(pairs: Examples) -> np.ndarray:
    """Whether the two reviews of a pair have opposite labels, (pairs,)."""
    return pairs.labels != swap_markers(pairs).labels


def right_answers(net: nn.Module, pairs: Examples) -> np.ndarray:
    """Whether the model is right about each pair, as drawn and with the markers swapped, (2, pairs)."""
    both = pairs, swap_markers(pairs)
    return np.array([(training.evaluate(net, some).logits > 0) == some.labels for some in both])


def right_on_both_kinds(right: np.ndarray, pairs: Examples) -> float:
    """How often a model is right both times on the kind of opposite pairs on which it is right both times less often.

    The two kinds are those whose first review is positive and those whose second is; they are compared at each
    length of the first review, and the mean over lengths is weighted by the number of pairs. For one constant query
    with a linear classifier this is 0.

    Args:
        right: (2, pairs), from `right_answers`.
    """
    first = np.where(pairs.distractor_first, pairs.distractor, pairs.labelled)  # (pairs,), the review that comes first
    length, positive = pairs.reviews.lengths[first], pairs.reviews.labels[first] == 1
    opposite, twice = opposite_labels(pairs), np.asarray(right.all(axis=0))  # (pairs,) each
    fewer, count = [], []
    for each in np.unique(length):
        kinds = [opposite & (length == each) & (positive == kind) for kind in (True, False)]
        if all(kind.any() for kind in kinds):
            fewer.append(min(twice[kind].mean() for kind in kinds))
            count.append(sum(kind.sum() for kind in kinds))
    return float(np.average(fewer, weights=count))


@torch.no_grad()
def attention_on_first(net: nn.Module, pairs: Examples) -> tuple[float, float]:
    """Mean attention on the first review, where the marker is before the first review and where before the second."""
    device = next(net.parameters()).device
    net.eval()
    mass = np.empty(len(pairs))
    for batch in batches(pairs, 256, device=device):
        mass[batch.rows] = (net(batch.ids, batch.mask)[1] * batch.labelled).sum(dim=1).cpu()
    marked_first = ~pairs.distractor_first
    return float(mass[marked_first].mean()), float((1 - mass[~marked_first]).mean())


class BlockAtMarker(nn.Module):
    """A pre-norm Transformer block whose output is read at the marker alone (*The block*).

    Equal to row m of the whole block, m being the marker's position; the other rows are not needed, so they are not
    computed, and the cost grows with n instead of n².
    """

    def __init__(
        self, vocabulary_size: int, marker_id: int, d_model: int = 16, num_heads: int = 4, hidden_dim: int = 32
    ):
        super().__init__()
        self.marker_id = marker_id
        self.embedding = model.TokenEmbedding(vocabulary_size, d_model)
        self.block = model.TransformerBlock(d_model, num_heads, hidden_dim, norm_first=True)
        self.output = nn.Linear(d_model, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x, block = self.embedding(ids), self.block  # (batch, tokens, d_model)
        at_marker = (ids == self.marker_id).to(x)[:, None]  # (batch, 1, tokens)
        normal, attention = block.attention_norm(x), block.attention
        queries = attention.split(attention.W_query(at_marker @ normal))  # (batch, num_heads, 1, head_dim)
        keys, values = (attention.split(W(normal)) for W in (attention.W_key, attention.W_value))
        scores = queries @ keys.transpose(2, 3) / attention.head_dim**0.5  # (batch, num_heads, 1, tokens)
        weights = model.masked_softmax(scores, mask[:, None, None])  # (batch, num_heads, 1, tokens)
        concatenated = (weights @ values).transpose(1, 2).flatten(2)  # (batch, 1, d_model)
        row = at_marker @ x + block.dropout(attention.W_output(concatenated))  # (batch, 1, d_model)
        row = row + block.dropout(block.feed_forward(block.feed_forward_norm(row)))  # (batch, 1, d_model)
        return self.output(row)[:, 0, 0], weights.mean(dim=1)[:, 0]


# --- a toy of the task: reviews of ten words, one of which is good or bad ---------------------------------------------

PAD, SEP, MARK, GOOD, BAD, WORD = range(6)


def toy_pairs() -> tuple[Tensor, Tensor, Tensor]:
    """All 800 pairs: ids (800, 22), is the marked review good (800,), and are the labels opposite (800,)."""
    texts, labels, opposite = [], [], []
    for first, second in itertools.product((GOOD, BAD), repeat=2):
        for i, j in itertools.product(range(10), repeat=2):  # where the good or bad words are
            reviews = [WORD] * 10, [WORD] * 10
            reviews[0][i], reviews[1][j] = first, second
            for markers, counts in (((MARK, SEP), first), ((SEP, MARK), second)):
                texts.append([markers[0], *reviews[0], markers[1], *reviews[1]])
                labels.append(counts == GOOD)
                opposite.append(first != second)
    return torch.tensor(texts), torch.tensor(labels), torch.tensor(opposite)


def toy_tokens(ids: Tensor) -> Tensor:
    """Three numbers for each token, (texts, 22, 3): good or bad (1, -1, else 0), `<SEP>` or not, first half or not."""
    sentiment = (ids == GOOD).float() - (ids == BAD).float()  # (texts, 22)
    first_half = (torch.arange(ids.shape[1]) < ids.shape[1] // 2).float().expand(ids.shape)
    return torch.stack([sentiment, (ids == SEP).float(), first_half], dim=2)

"""Numbers that labs teach, each computed a second way: by deletion, by a loop, by counting."""

import numpy as np
import pytest
import torch
import torchrun_training
from scipy import stats

from labs.a_question_from_the_text import both_markings, marked_toy
from labs.the_reviews.truncation import truncation_losses
from labs.what_attention_explains import explanation
from shared import cafe, data, review_pairs
from shared.model import AttentionPooling


@pytest.fixture(scope="module")
def reviews():
    return torchrun_training.reviews()


@pytest.fixture(scope="module")
def pooling(reviews):
    """Without positions, so that a token that is left over keeps its vector when another is deleted."""
    torch.manual_seed(0)
    return AttentionPooling(reviews.vocabulary_size, positions=False, std=1.0).eval()


@torch.no_grad()
def test_removal_is_deletion_of_the_word_and_shuffling_keeps_the_weights(reviews, pooling):
    examples = data.plain_examples(reviews)
    found = explanation.removal_and_shuffling(pooling, examples, number=8)
    batches = [batch for batch, _ in zip(data.batches(examples, batch_size=1), range(8), strict=False)]
    for row, batch in enumerate(batches):
        ids = batch.ids[0].tolist()
        logit, weights = pooling(batch.ids, batch.mask)
        effects = []
        for place in range(len(ids)):
            left = torch.tensor([ids[:place] + ids[place + 1 :]])
            effects.append(abs(float(pooling(left, left > 0)[0].sigmoid() - logit.sigmoid())))
        tau = stats.kendalltau(weights[0].numpy(), effects).statistic
        assert float(found["tau"][row]) == pytest.approx(tau, abs=1e-5)
        assert bool(found["positive"][row]) == bool(logit > 0)
        assert float(found["logit"][row]) == pytest.approx(float(logit), abs=1e-5)
        assert float(found["label"][row]) == float(batch.labels[0])
        words = [float(pooling(torch.tensor([[word]]), torch.tensor([[True]]))[0]) for word in ids]
        assert float(found["logit, equal"][row]) == pytest.approx(np.mean(words), abs=1e-5)
        assert bool(found["right"][row]) == (bool(logit > 0) == bool(batch.labels[0]))
        # What twenty shuffles say lies between the two words that say most and least.
        of_words = torch.tensor([float(pooling(torch.tensor([[word]]), torch.tensor([[True]]))[0]) for word in ids])
        if of_words.min() > 0 or of_words.max() < 0:
            assert set(found["positive, shuffled"][row].tolist()) == {float(of_words.min() > 0)}
    assert found["positive, shuffled"].shape == (8, 20) and found["tau, shuffled"].shape == (8, 3)
    assert len({round(float(tau), 4) for tau in found["tau, shuffled"].flatten()}) > 8  # they are shuffled


def test_the_area_is_how_often_a_positive_text_is_ahead():
    random = np.random.default_rng(0)
    logits, labels = random.normal(size=(30, 2)), random.random(30) < 0.4
    pairs = [logits[i] > logits[j] for i in range(30) for j in range(30) if labels[i] and not labels[j]]
    found = explanation.area(torch.tensor(logits), torch.tensor(labels))
    assert found == pytest.approx(np.mean(pairs))
    assert explanation.area(torch.tensor(logits[:, 0]), torch.tensor(labels)) == pytest.approx(
        np.mean(pairs, axis=0)[0]
    )


@torch.no_grad()
def test_words_are_counted_by_their_weights(reviews, pooling):
    examples = data.distracted_examples(reviews, seed=0)
    counts = explanation.weighted_counts(pooling, examples, reviews.vocabulary_size)
    for row in range(10):
        ids, place = examples.concatenated(row)
        weights = pooling(torch.tensor(ids)[None], torch.ones(1, len(ids), dtype=torch.bool))[1][0].numpy()
        target = weights[place].sum()
        expected = {name: np.zeros(reviews.vocabulary_size) for name in counts}
        for position, (word, weight) in enumerate(zip(ids, weights, strict=True)):
            inside, size = place.start <= position < place.stop, place.stop - place.start
            expected["attention"][word] += weight
            expected["halves only"][word] += target / size if inside else (1 - target) / (len(ids) - size)
            expected["equal"][word] += 1 / len(ids)
        for name, count in counts.items():
            np.testing.assert_allclose(count[row].toarray()[0], expected[name], atol=1e-5)


@pytest.mark.parametrize("window", [1, 6, 9, 14, 40])
def test_truncation_by_a_loop(reviews, window):
    examples = data.distracted_examples(reviews, seed=3)
    counts = dict.fromkeys(("lost", "truncated", "intact"), 0)
    for row in range(len(examples)):
        ids, place = examples.concatenated(row)
        left = len(ids[:window][place])
        size = place.stop - place.start
        counts["lost" if left == 0 else "intact" if left == size else "truncated"] += 1
    found = truncation_losses(examples, window)
    assert found == pytest.approx({name: count / len(examples) for name, count in counts.items()})


def test_right_on_both_kinds_by_a_loop_over_pairs(reviews):
    pairs = data.distracted_examples(reviews, seed=1, random_order=True)
    right = np.random.default_rng(0).random((2, len(pairs))) < 0.6
    kinds: dict[int, dict[bool, list[bool]]] = {}
    for row in range(len(pairs)):
        target, other = pairs.target_rows[row], pairs.distractor_rows[row]
        if reviews.labels[target] != reviews.labels[other]:
            first = other if pairs.distractor_first[row] else target
            of_length = kinds.setdefault(len(reviews[first]), {False: [], True: []})
            of_length[bool(reviews.labels[first])].append(bool(right[:, row].all()))
    both = [(min(np.mean(a), np.mean(b)), len(a) + len(b)) for a, b in (k.values() for k in kinds.values()) if a and b]
    expected = sum(fewer * count for fewer, count in both) / sum(count for _, count in both)
    assert both_markings.right_on_both_kinds(right, pairs) == pytest.approx(expected)
    assert review_pairs.opposite_labels(pairs).sum() == sum(len(v) for k in kinds.values() for v in k.values())


def test_swapped_markers_exchange_two_words_and_nothing_else(reviews):
    marker, separator = 3, 2
    pairs = data.distracted_examples(reviews, 1, True, marker, separator)
    swapped = review_pairs.swap_markers(pairs)
    begins = np.where(pairs.distractor_first, pairs.part_lengths[1], pairs.part_lengths[0])  # of the second review
    for row in range(len(pairs)):
        expected, given = pairs[row].tolist(), swapped[row].tolist()
        expected[0], expected[begins[row]] = expected[begins[row]], expected[0]
        assert given == expected
        assert swapped.labels[row] == reviews.labels[pairs.distractor_rows[row]]


def test_accuracies_of_the_cafe_by_counting_guests():
    cafes = cafe.draw_cafes(50, seed=3)
    torch.manual_seed(0)
    model = cafe.CafeModel(torch.nn.Identity(), questions=2).eval()
    answers = model(cafes).argmax(dim=3)  # (cafes, guests, questions)
    right = both = 0
    for row in range(50):
        drink_of = dict(zip(cafes.names[row].tolist(), cafes.drinks[row].tolist(), strict=True))
        most = max(sorted(set(drink_of.values())), key=list(drink_of.values()).count)
        for guest in range(8):
            own, friends = int(cafes.drinks[row, guest]), drink_of[int(cafes.friends[row, guest])]
            right += most == friends
            both += answers[row, guest].tolist() == [own, friends]
    assert cafe.rule_accuracy(cafe.most_frequent_drink, cafe.friends_drink, cafes) == pytest.approx(right / 400)
    assert cafe.accuracy(model, cafe.my_drink, cafe.friends_drink, cafes=cafes) == pytest.approx(both / 400)


def test_the_toy_s_label_is_that_of_the_review_behind_the_marker():
    ids, labels, opposite = marked_toy.toy_pairs()
    assert len({tuple(text) for text in ids.tolist()}) == 800
    for text, label, differ in zip(ids.tolist(), labels.tolist(), opposite.tolist(), strict=True):
        place = text.index(marked_toy.MARK)
        after, half = text[place + 1 : place + 11], text.index(marked_toy.SEP)
        assert label == (marked_toy.GOOD in after) != (marked_toy.BAD in after)
        other = text[half + 1 : half + 11]
        assert differ == ((marked_toy.GOOD in after) != (marked_toy.GOOD in other))
    tokens = marked_toy.toy_tokens(ids)
    assert tokens[:, :11, 2].all() and not tokens[:, 11:, 2].any() and (tokens[:, :, 1].sum(dim=1) == 1).all()
    assert torch.equal(tokens[:, :, 0] > 0, ids == marked_toy.GOOD) and (tokens[:, :, 0].abs().sum(dim=1) == 2).all()

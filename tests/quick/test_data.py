"""Claims about reviews, tokens, vocabulary, examples and batches."""

from collections import Counter

import numpy as np
import pytest

from shared import data, reviews

TEXTS = ["Good, good film!", "bad<br />bad film", "a good bad a film", "one film", "film good a bad one"]
LABELS = [1, 0, 1, 0, 1]


@pytest.fixture(scope="module")
def movies():
    return data.load_reviews("movies", "quick")


@pytest.fixture
def small():
    split = reviews.tokenized(TEXTS, LABELS)
    vocabulary = data.build_vocabulary(split, special=("<SEP>", "<MARK>"))
    return split, vocabulary, data.encode(split, vocabulary)


def words_of(batch, row, vocabulary):
    return vocabulary.decode(batch.ids[row][batch.mask[row]].tolist())


# --- reviews -----------------------------------------------------------------------------------------------------


def test_no_review_stands_in_two_splits_and_labels_are_balanced(movies):
    train, validation, test = (set(split.texts) for split in (movies.train, movies.validation, movies.test))
    assert not train & validation and not train & test and not validation & test
    assert len(train) == len(movies.train) == 7572
    assert 0.45 < np.mean(movies.train.labels) < 0.55


def test_neighbouring_rows_stay_in_one_split(movies):
    block_split = {}
    for name in ("train", "validation", "test"):
        split = getattr(movies, name)
        for row, label in zip(split.rows, split.labels, strict=True):
            # 12,500 negative rows come first, so a block of 50 rows never holds two labels
            assert block_split.setdefault((label, row // 50), name) == name


def test_starting_a_lab_reads_the_switches(monkeypatch):
    monkeypatch.setenv("LAB_DATA", "yelp")
    assert data.start_lab() == data.Settings("yelp", "quick")
    monkeypatch.setenv("LAB_SCALE", "enormous")
    with pytest.raises(ValueError, match="LAB_SCALE is 'enormous'"):
        data.start_lab()


# --- tokens and ids ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_a_time", [1000, 2])
def test_tokenizing_all_texts_equals_tokenizing_each(monkeypatch, at_a_time):
    monkeypatch.setattr(reviews, "TEXTS_PER_CHUNK", at_a_time)
    assert data.tokenize("It's<br />SO good, 10/10! Café <3 you & 4 > 2") == ["it", "s", "so", "good", "caf", "you"]
    texts = [*TEXTS, "", " \n", "a<b>c< d > e</p >", "\ud800 x", "\u212a \u0130", "a>b" + " <a" * 1000]
    split = reviews.tokenized(texts, [0] * len(texts))
    number: dict[str, int] = {}
    ids = [number.setdefault(word, len(number)) for text in texts for word in data.tokenize(text)]
    assert split.ids.tolist() == ids and list(split.words) == list(number)  # as the docstring has it
    for row, text in enumerate(texts):
        assert [split.words[i] for i in split[row]] == data.tokenize(text)
        assert split.lengths[row] == len(data.tokenize(text))


def test_the_vocabulary_holds_words_seen_twice_the_most_frequent_first(small):
    _, vocabulary, _ = small
    counts = Counter(word for text in TEXTS for word in data.tokenize(text))
    expected = sorted((word for word in counts if counts[word] >= 2), key=lambda word: (-counts[word], word))
    assert vocabulary.words == ["<PAD>", "<UNK>", "<SEP>", "<MARK>", *expected]
    assert vocabulary.encode("film never seen") == [vocabulary.id("film"), data.UNK, data.UNK]


def test_prepared_splits_know_the_words_of_the_training_split_alone():
    train = reviews.tokenized(["good film", "good film"], [1, 0])
    rest = reviews.tokenized(["good bad bad", "bad film"], [1, 0])
    prepared = data.prepare(reviews.Reviews(train, rest, rest, "these two"))
    assert prepared.vocabulary.words == ["<PAD>", "<UNK>", "<SEP>", "<MARK>", "film", "good"]
    assert prepared.test[0].tolist() == prepared.vocabulary.encode("good bad bad")


def test_a_split_is_encoded_text_by_text_truncated_and_without_texts_of_no_known_word(small):
    split, vocabulary, encoded = small
    assert [encoded[row].tolist() for row in range(5)] == [vocabulary.encode(text) for text in split.texts]
    cut = data.encode(split, vocabulary, max_tokens=2)
    assert cut.lengths.tolist() == [2] * 5 and cut[4].tolist() == vocabulary.encode("film good")
    encoded = data.encode(reviews.tokenized(["good", "zzz zzz", "", "film"], [1, 0, 0, 1]), vocabulary)
    assert encoded.labels.tolist() == [1, 1] and encoded[1].tolist() == [vocabulary.id("film")]


# --- examples and batches ----------------------------------------------------------------------------------------


def test_a_distractor_stands_in_front_and_the_label_stays_with_the_second_review(small):
    split, vocabulary, encoded = small
    drawn = np.stack([data.distracted_examples(encoded, seed).distractor_rows for seed in range(700)])
    assert all(np.bincount(row, minlength=5)[np.arange(5) != own].min() > 120 for own, row in enumerate(drawn.T))
    examples = data.distracted_examples(encoded, seed=3)
    batch = examples.batch(np.arange(len(examples)))
    for row in range(len(examples)):
        other = examples.distractor_rows[row]
        assert other != row
        expected = vocabulary.decode([*encoded[other], *encoded[row]])
        assert words_of(batch, row, vocabulary) == expected
        assert batch.in_target[row].sum() == len(encoded[row])
        assert batch.in_target[row][len(encoded[other])]
        assert batch.labels[row] == split.labels[row]
        assert (batch.ids[row][~batch.mask[row]] == data.PAD).all()


def test_the_mark_stands_before_the_review_that_counts(small):
    _, vocabulary, encoded = small
    examples = data.marked_examples(encoded, vocabulary, seed=4)
    batch = examples.batch(np.arange(len(examples)))
    orders = set()
    for row in range(len(examples)):
        own = ["<MARK>", *vocabulary.decode(encoded[examples.target_rows[row]])]
        if row < len(encoded):
            assert words_of(batch, row, vocabulary) == own
            continue
        other = ["<SEP>", *vocabulary.decode(encoded[examples.distractor_rows[row]])]
        assert words_of(batch, row, vocabulary) in (own + other, other + own)
        orders.add(words_of(batch, row, vocabulary) == own + other)
        marked = batch.ids[row][batch.in_target[row]].tolist()
        assert vocabulary.decode(marked) == own
    assert orders == {True, False}


def test_batches_hold_every_example_once_and_gather_similar_lengths(movies):
    vocabulary = data.build_vocabulary(movies.train)
    examples = data.examples_with_distractors(data.encode(movies.train, vocabulary), seed=0)
    seen, real, places = [], 0, 0
    for batch in data.batches(examples, 64, seed=1):
        seen.append(batch.rows)
        real, places = real + int(batch.mask.sum()), places + batch.mask.numel()
        assert (batch.labels.numpy() == examples.labels[batch.rows]).all()
    assert sorted(np.concatenate(seen)) == list(range(len(examples)))
    assert real / places > 0.9  # random batches would be more than half padding
    one, again, two = ([batch.rows.tolist() for batch in data.batches(examples, 64, seed)] for seed in (1, 1, 2))
    assert one == again != two

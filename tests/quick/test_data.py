"""Claims about reviews, tokens, vocabulary, examples and batches."""

import time
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shared import reviews
from shared.data import (
    PAD,
    UNK,
    Settings,
    batches,
    build_vocabulary,
    distracted_examples,
    encode,
    examples_with_distractors,
    load_reviews,
    marked_examples,
    plain_examples,
    start_lab,
    tokenize,
    tokenized,
    truncation_losses,
)

TEXTS = ["Good, good film!", "bad<br />bad film", "a good bad a film", "one film", "film good a bad one"]
LABELS = [1, 0, 1, 0, 1]


@pytest.fixture(scope="module")
def movies():
    return load_reviews("movies", "quick")


@pytest.fixture
def small():
    split = tokenized(TEXTS, LABELS)
    vocabulary = build_vocabulary(split, special=("<SEP>", "<MARK>"))
    return split, vocabulary, encode(split, vocabulary)


def words_of(batch, row, vocabulary):
    return vocabulary.decode(batch.ids[row][batch.mask[row]].tolist())


# --- reviews -----------------------------------------------------------------------------------------------------


def test_movies_are_balanced_imdb_reviews_of_20_to_150_tokens(movies):
    for split in (movies.train, movies.validation, movies.test):
        assert split.lengths.min() >= 20 and split.lengths.max() <= 150
        assert 0.45 < np.mean(split.labels) < 0.55
    assert 9_000 < len(movies.train) + len(movies.validation) + len(movies.test) < 10_000


def test_no_review_stands_in_two_splits(movies):
    train, validation, test = (set(split.texts) for split in (movies.train, movies.validation, movies.test))
    assert not train & validation and not train & test and not validation & test
    assert len(train) == len(movies.train)


def test_neighbouring_rows_stay_in_one_split(movies):
    block_split = {}
    for name in ("train", "validation", "test"):
        split = getattr(movies, name)
        for row, label in zip(split.rows, split.labels, strict=True):
            # 12,500 negative rows come first, so a block of 50 rows never holds two labels
            assert block_split.setdefault((label, row // 50), name) == name


def test_no_html_is_left_in_a_review(movies):
    assert not any("<br" in text for text in movies.train.texts)


@pytest.mark.parametrize(
    ("source", "scale", "message"),
    [("imdb", "quick", "accepts movies or yelp"), ("movies", "big", "accepts quick or full")],
)
def test_an_unknown_source_or_scale_is_named_with_what_is_accepted(source, scale, message):
    with pytest.raises(ValueError, match=message):
        load_reviews(source, scale)


def test_starting_a_lab_reads_the_switches_and_takes_one_thread(monkeypatch):
    threads = torch.get_num_threads()
    monkeypatch.setenv("LAB_DATA", "yelp")
    assert start_lab() == Settings("yelp", "quick")
    assert torch.get_num_threads() == 1
    torch.set_num_threads(threads)
    monkeypatch.setenv("LAB_SCALE", "enormous")
    with pytest.raises(ValueError, match="LAB_SCALE is 'enormous'"):
        start_lab()


@pytest.mark.parametrize(
    ("texts", "labels", "error", "message"),
    [
        (["good"], [1, 0], ValueError, "1 texts and 2 labels"),
        ([], [], ValueError, "holds no reviews"),
        (["good"], [2], ValueError, "row 0 is 2"),
        (["good"], [float("nan")], ValueError, "row 0 is nan"),
        (["good", None], [1, 0], TypeError, "row 1 is NoneType"),
        ([b"good"], [1], TypeError, "decode it first"),
    ],
)
def test_bad_reviews_are_refused_with_a_sentence(texts, labels, error, message):
    with pytest.raises(error, match=message):
        tokenized(texts, labels)


# --- tokens and ids ----------------------------------------------------------------------------------------------


def test_tags_digits_and_accents_separate_words():
    assert tokenize("It's<br />SO good, 10/10! Café <3 you & 4 > 2") == (["it", "s", "so", "good", "caf", "you"])


def test_tags_that_never_close_cost_no_time():
    text = "a>b" + " <a" * 100_000
    start = time.process_time()
    assert tokenize(text) == ["a", "b"] + ["a"] * 100_000
    assert time.process_time() - start < 2, "each open tag is searched to the end of the text"


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(st.text(max_size=40) | st.text("ab <>", max_size=20), min_size=1, max_size=12),
    st.sampled_from([1000, 2]),
)
def test_tokenising_all_texts_equals_tokenising_each(texts, at_a_time):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reviews, "TEXTS_PER_CHUNK", at_a_time)
        split = tokenized(texts, [0] * len(texts))
    assert len(set(split.words)) == len(split.words)
    for place, text in enumerate(texts):
        assert [split.words[i] for i in split[place]] == tokenize(text)
        assert split.lengths[place] == len(tokenize(text))


def test_the_vocabulary_holds_words_seen_twice_the_most_frequent_first(small):
    _, vocabulary, _ = small
    counts = Counter(word for text in TEXTS for word in tokenize(text))
    expected = sorted((word for word in counts if counts[word] >= 2), key=lambda word: (-counts[word], word))
    assert vocabulary.words == ["<PAD>", "<UNK>", "<SEP>", "<MARK>", *expected]
    assert vocabulary.encode("film never seen") == [vocabulary.id("film"), UNK, UNK]


def test_encoding_a_split_equals_encoding_each_text(small):
    split, vocabulary, encoded = small
    for row, text in enumerate(split.texts):
        assert encoded[row].tolist() == vocabulary.encode(text)
    cut = encode(split, vocabulary, max_tokens=2)
    assert [len(cut[row]) for row in range(len(cut))] == [2] * 5
    assert cut[4].tolist() == vocabulary.encode("film good")


def test_a_text_without_a_known_word_is_left_out(small):
    _, vocabulary, _ = small
    encoded = encode(tokenized(["good", "zzz zzz", "", "film"], [1, 0, 0, 1]), vocabulary)
    assert encoded.labels.tolist() == [1, 1] and encoded[1].tolist() == [vocabulary.id("film")]
    with pytest.raises(ValueError, match="None of the 1 texts"):
        encode(tokenized(["zzz"], [1]), vocabulary)


def test_reviews_are_taken_by_number_from_either_end_or_by_a_mask_and_cut(small):
    split, _, _ = small
    for rows in ([4, 1], np.array([-1, 1]), torch.tensor([4, 1])):
        taken = split.select(rows, 2)
        assert [row.tolist() for row in taken] == [split[4][:2].tolist(), split[-4][:2].tolist()]
        assert (taken.texts, taken.labels.tolist()) == ([TEXTS[4], TEXTS[1]], [1, 0])
        assert taken.rows.tolist() == [4, 1]
    assert split.select(split.labels == 0).texts == [TEXTS[1], TEXTS[3]]


@pytest.mark.parametrize(
    ("rows", "cut", "error", "message"),
    [
        ([], None, ValueError, "holds no review"),
        ([0], 0, ValueError, "max_tokens is 0; it accepts 1 or more"),
        ([0], -1, ValueError, "max_tokens is -1; it accepts 1 or more"),
        ([5], None, IndexError, "index 5 is out of bounds for axis 0 with size 5"),
    ],
)
def test_reviews_that_cannot_be_taken_are_refused_with_a_sentence(small, rows, cut, error, message):
    with pytest.raises(error, match=message):
        small[0].select(rows, cut)


# --- examples and batches ----------------------------------------------------------------------------------------


def test_a_distractor_stands_in_front_and_the_label_stays_with_the_second_review(small):
    split, vocabulary, encoded = small
    examples = distracted_examples(encoded, seed=3)
    batch = examples.batch(np.arange(len(examples)))
    for row in range(len(examples)):
        other = examples.distractor[row]
        assert other != row
        expected = vocabulary.decode([*encoded[other], *encoded[row]])
        assert words_of(batch, row, vocabulary) == expected
        assert batch.labelled[row].sum() == len(encoded[row])
        assert batch.labelled[row][len(encoded[other])]
        assert batch.labels[row] == split.labels[row]
        assert (batch.ids[row][~batch.mask[row]] == PAD).all()


def test_every_other_review_is_an_equally_likely_distractor():
    texts = [f"good film number {'abcdefgh'[i]}" for i in range(8)]
    split = tokenized(texts, [0, 1] * 4)
    encoded = encode(split, build_vocabulary(split, min_count=1))
    drawn = Counter(
        (int(own), int(other))
        for seed in range(700)
        for own, other in enumerate(distracted_examples(encoded, seed).distractor)
    )
    assert len(drawn) == 8 * 7
    assert all(own != other for own, other in drawn)
    assert min(drawn.values()) > 60 and max(drawn.values()) < 145  # 100 expected


def test_the_same_seed_draws_the_same_distractors(small):
    _, _, encoded = small
    draws = [distracted_examples(encoded, seed).distractor.tolist() for seed in (1, 1, 2, 3, 4)]
    assert draws[0] == draws[1]
    assert len({tuple(draw) for draw in draws}) > 1


def test_the_mark_stands_before_the_review_that_counts(small):
    _, vocabulary, encoded = small
    examples = marked_examples(encoded, vocabulary, seed=4)
    batch = examples.batch(np.arange(len(examples)))
    orders = set()
    for row in range(len(examples)):
        own = ["<MARK>", *vocabulary.decode(encoded[examples.labelled[row]])]
        if row < len(encoded):
            assert words_of(batch, row, vocabulary) == own
            continue
        other = ["<SEP>", *vocabulary.decode(encoded[examples.distractor[row]])]
        assert words_of(batch, row, vocabulary) in (own + other, other + own)
        orders.add(words_of(batch, row, vocabulary) == own + other)
        marked = batch.ids[row][batch.labelled[row]].tolist()
        assert vocabulary.decode(marked) == own
    assert orders == {True, False}


def test_what_a_cut_after_joining_loses_is_counted(small):
    _, _, encoded = small
    examples = distracted_examples(encoded, seed=3)
    left = examples.batch(np.arange(len(examples))).labelled[:, :5].sum(dim=1).numpy()  # (examples,)
    whole = encoded.lengths[examples.labelled]
    losses = {"lost": left == 0, "truncated": (0 < left) & (left < whole), "intact": left == whole}
    assert all(those.any() for those in losses.values())
    assert truncation_losses(examples, window=5) == {name: those.mean() for name, those in losses.items()}


def test_batches_hold_every_example_once_and_gather_similar_lengths(movies):
    vocabulary = build_vocabulary(movies.train)
    examples = examples_with_distractors(encode(movies.train, vocabulary), seed=0)
    seen, real, places = [], 0, 0
    for batch in batches(examples, 64, seed=1):
        seen.append(batch.rows)
        real, places = real + int(batch.mask.sum()), places + batch.mask.numel()
        assert (batch.labels.numpy() == examples.labels[batch.rows]).all()
    assert sorted(np.concatenate(seen)) == list(range(len(examples)))
    assert real / places > 0.9  # random batches would be more than half padding
    again = [batch.rows for batch in batches(examples, 64, seed=1)]
    assert all((one == two).all() for one, two in zip(seen, again, strict=True))
    assert not all(
        (one == two).all() for one, two in zip(seen, [b.rows for b in batches(examples, 64, seed=2)], strict=True)
    )


def test_bad_examples_and_batches_are_refused_with_a_sentence(small):
    split, vocabulary, encoded = small
    with pytest.raises(ValueError, match="batch_size is 0"):
        next(batches(plain_examples(encoded), 0))
    one = encode(tokenized(["good film"], [1]), vocabulary)
    with pytest.raises(ValueError, match="this one holds 1"):
        distracted_examples(one, seed=0)
    with pytest.raises(ValueError, match="no <MARK>"):
        marked_examples(encoded, build_vocabulary(split), seed=0)
    with pytest.raises(ValueError, match="same reviews"):
        plain_examples(encoded) + plain_examples(one)
    encoded.ids[0] = 10_000
    with pytest.raises(ValueError, match="vocabulary of the model"):
        next(batches(plain_examples(encoded)))

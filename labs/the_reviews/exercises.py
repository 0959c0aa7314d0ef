"""The checks of *The reviews*: what truncation throws away, a vocabulary that grows, how many words are enough."""

from collections import Counter

import numpy as np
import torch

from checks.engine import Case, Check
from checks.trials import interval_mistakes
from shared.intervals import mean_and_interval

# --- lost_to_truncation --------------------------------------------------------------------------------------------


def lost_by_counting(labelled, distractor, window):
    left = [min(before + own, window) - min(before, window) for own, before in zip(labelled, distractor, strict=True)]
    return left.count(0) / len(left)


def full_window_not_counted(labelled, distractor, window):
    """A distractor that fills the window exactly isn't counted. It leaves no room, either: use `>=`, not `>`."""
    return (distractor > window).mean()


def room_for_one_not_counted(labelled, distractor, window):
    """A distractor one token shorter than the window is counted. It leaves room for one token of the review."""
    return (distractor + 1 >= window).mean()


def tokens_counted(labelled, distractor, window):
    """This is the fraction of tokens that are lost. The exercise asks for the fraction of reviews that lose all."""
    return np.clip(labelled + distractor - window, 0, labelled).sum() / labelled.sum()


def truncated_counted_as_lost(labelled, distractor, window):
    """Reviews that lose some tokens are counted. The exercise asks for those that lose all: does the length of the
    review matter?"""
    return (distractor + labelled > window).mean()


def reviews_exchanged(labelled, distractor, window):
    """The lengths are swapped. The distractor comes first, so its length decides what is left of the review."""
    return (labelled >= window).mean()


def lost_with_its_own_length(labelled, distractor, window):
    """The length of the review is added. A whole review is lost if the distractor alone fills the window."""
    return (distractor + labelled >= window).mean()


def count_returned(labelled, distractor, window):
    """This is a number of reviews. The exercise asks for a fraction: the mean of True and False."""
    return (distractor >= window).sum()


def fraction_left(labelled, distractor, window):
    """This is the fraction of reviews that keep a token. The exercise asks for the fraction that lose all of them."""
    return (distractor < window).mean()


def reviews_of_random_lengths(longest, reviews, window):
    random = np.random.default_rng(reviews)
    labelled, distractor = (random.integers(1, up_to, reviews) for up_to in longest)
    return Case({"labelled": labelled, "distractor": distractor, "window": window})


lost_to_truncation = Check(
    reference=lost_by_counting,
    cases=[
        Case({"labelled": np.array([4, 5, 20, 1, 8]), "distractor": np.array([3, 10, 12, 9, 10]), "window": 10}),
        Case({"labelled": np.array([3]), "distractor": np.array([5]), "window": 5}),
        reviews_of_random_lengths((90, 90), 40, 50),
        reviews_of_random_lengths((300, 900), 200, 256),
    ],
    mistakes=[
        full_window_not_counted, room_for_one_not_counted, tokens_counted, truncated_counted_as_lost, reviews_exchanged,
        count_returned, fraction_left, lost_with_its_own_length,
    ],
    section="The reviews, “What truncation throws away”",
)  # fmt: skip


# --- encode_batch --------------------------------------------------------------------------------------------------


def encode_word_by_word(train, texts, min_count):
    """Known words are numbered in the order in which the texts have them."""
    seen, known, ids = Counter(word for text in train for word in text), [], []
    for text in texts:
        known += [word for word in dict.fromkeys(text) if seen[word] >= min_count and word not in known]
        row = [2 + known.index(word) if word in known else 1 for word in text]
        ids.append(row + [0] * (max(map(len, texts)) - len(text)))
    padded = torch.tensor(ids)
    return padded, padded != 0


def numbered_in_order(result, train, texts, min_count):
    """Which numbers known words have does not matter: let it be 2 for the first that occurs, 3 for the next."""
    if not isinstance(result, (tuple, list)) or not all(isinstance(part, torch.Tensor) for part in result):
        return result
    return tuple(part if part.dtype == torch.bool else renumbered(part) for part in result)


def renumbered(ids):
    order = [number for number in dict.fromkeys(ids.flatten().tolist()) if number > 1]
    numbers = [2 + order.index(number) if number > 1 else number for number in ids.flatten().tolist()]
    return torch.tensor(numbers, dtype=ids.dtype).view(ids.shape)


def vocabulary_grows(train, texts, min_count):
    """No word is unknown, because `setdefault` adds each new word to the vocabulary. Use `get`, then count the real
    tokens again: this bug hides a second one."""
    return encode_word_by_word(texts, texts, 1)


def unknown_words_hidden(train, texts, min_count):
    """One bug is left: the mask hides unknown words. They are real tokens; only padding, 0, is not."""
    ids, _ = encode_word_by_word(train, texts, min_count)
    return ids, ids > 1


def unknown_words_as_padding(train, texts, min_count):
    """Unknown words have the number 0, which is padding. Their number is 1."""
    ids, _ = encode_word_by_word(train, texts, min_count)
    return ids * (ids != 1), ids > 1


def unknown_words_numbered_last(train, texts, min_count):
    """Unknown words get the next free number instead of 1, the number of the token for unknown words."""
    ids, mask = encode_word_by_word(train, texts, min_count)
    return ids.where(ids != 1, ids.max() + 1), mask


def texts_counted_too(train, texts, min_count):
    """The texts to encode are counted, too. The vocabulary comes from the training texts alone."""
    return encode_word_by_word([*train, *texts], texts, min_count)


def every_training_word_known(train, texts, min_count):
    """Words seen less often than `min_count` are in the vocabulary. Leave them out."""
    return encode_word_by_word(train, texts, 1)


def seen_more_often(train, texts, min_count):
    """A word seen exactly `min_count` times is unknown. Exactly `min_count` is enough, so use `>=`, not `>`."""
    return encode_word_by_word(train, texts, min_count + 1)


def mask_inverted(train, texts, min_count):
    """The mask is inverted: it should be True for a real token."""
    ids, mask = encode_word_by_word(train, texts, min_count)
    return ids, ~mask


def results_exchanged(**given):
    """The mask comes first: the exercise asks for `ids`, then `mask`."""
    return encode_word_by_word(**given)[::-1]


def sentences(train, texts, **more):
    train, texts = ([text.split() for text in some.split("/")] for some in (train, texts))
    return Case({"train": train, "texts": texts, **more})


encode_batch = Check(
    reference=encode_word_by_word,
    cases=[
        sentences(
            "a dull film/a fine film/not a fine plot by far or near",
            "a fine thriller/not a film/what a plot for a film",
            min_count=2,
        ),
        sentences("so so so/it is so it is/what is", "so what/it is it/is it what it was", min_count=3),
        sentences("one two two/two one", "one/two three two/four four", min_count=1),
        sentences("a plot/a film", "what a film a critic saw", min_count=2),
    ],
    mistakes=[
        vocabulary_grows, unknown_words_hidden, unknown_words_as_padding, unknown_words_numbered_last,
        texts_counted_too, every_training_word_known, seen_more_often, mask_inverted, results_exchanged,
    ],
    section="The reviews, “Tokens”",
    canonical=numbered_in_order,
)  # fmt: skip


# --- unknown_by_size -----------------------------------------------------------------------------------------------


def fractions(train, texts, sizes):
    """Of each size the fraction of unknown tokens in each text."""
    found = {}
    for size in sizes:
        known = dict(Counter(word for text in train for word in text).most_common(size))
        found[size] = [float(np.mean([word not in known for word in text])) for text in texts]
    return found


def interval(**given):
    return {size: mean_and_interval(values) for size, values in fractions(**given).items()}


def known_fraction(**given):
    """This is the fraction of known tokens; the exercise asks for the unknown ones."""
    return {size: (1 - mean, half) for size, (mean, half) in interval(**given).items()}


def all_texts_as_one(train, texts, sizes):
    """The tokens of all texts are pooled, so long texts count more. Take the fraction of each text first."""
    return interval(train=train, texts=[[word] for text in texts for word in text], sizes=sizes)


def pairs_taken_for_words(train, texts, sizes):
    """Every word is unknown: `most_common` gives pairs of a word and its number. Keep only the words of the pairs."""
    return dict.fromkeys(sizes, (1.0, 0.0))


def different_words_counted(train, texts, sizes):
    """The different words of a text are counted. Each token counts, so a repeated word counts several times."""
    return interval(train=train, texts=[[*dict.fromkeys(text)] for text in texts], sizes=sizes)


def two_words_too_few(train, texts, sizes):
    """Two words too few are known. The exercise counts words only, not the tokens for padding and for unknown words."""
    return {size: interval(train=train, texts=texts, sizes=[max(size - 2, 0)])[max(size - 2, 0)] for size in sizes}


def texts_counted_as_well(train, texts, sizes):
    """The measured texts are counted, too. The vocabulary comes from the training texts alone."""
    return interval(train=[*train, *texts], texts=texts, sizes=sizes)


unknown_by_size = Check(
    reference=interval,
    cases=[  # where a size cuts, no two words are equally frequent
        sentences("a a a b b c/a b c a d/e b a/a", "a b c d/f f/a/b e e", sizes=[1, 2, 3]),
        sentences("x y x/x z x z y y x/w z x y/x", "w w z/q x y y z/y", sizes=[3, 1]),
        sentences("n n m m m o o o o o o o/p m/n m o/n m", "n m m/o p p q r", sizes=[2, 3, 1, 5]),
    ],
    mistakes=[
        known_fraction, all_texts_as_one, pairs_taken_for_words, different_words_counted, two_words_too_few,
        texts_counted_as_well,
        *interval_mistakes(fractions),
    ],
    section="The reviews, “Exercise 3 (experiment): how many words are enough?”",
)  # fmt: skip

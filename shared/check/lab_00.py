"""The checks of lab 0: what a cut throws away, a vocabulary that grows, and how many words are enough."""

from collections import Counter

import numpy as np
import torch

from ..training import mean_and_interval
from .attention import PADDING
from .exercise import Case, Exercise
from .experiment import asked, by_sums
from .mistakes import edits


# --- 0.1 ---
def lost_to_the_cut(labelled, distractor, window):
    """The share of labelled reviews of which nothing is left."""
    return (distractor >= window).mean()


def lost_by_lists(labelled, distractor, window):
    joined = [["distractor"] * before + ["labelled"] * own for own, before in zip(labelled, distractor, strict=True)]
    return sum("labelled" not in words[:window] for words in joined) / len(joined)


def lengths(longest: tuple[int, int], size: int, window: int) -> Case:
    random = np.random.default_rng(size)
    labelled, distractor = (random.integers(1, up_to, size) for up_to in longest)
    return Case({"labelled": labelled, "distractor": distractor, "window": window})


lost_to_the_cut = Exercise(
    lost_to_the_cut,
    cases=[
        Case({"labelled": np.array([4, 5, 20, 1, 8]), "distractor": np.array([3, 10, 12, 9, 10]), "window": 10}),
        lengths((90, 90), 40, 50),
        lengths((300, 900), 200, 256),
    ],
    truth=lost_by_lists,
    tried="windows of 10, 50 and 256 tokens, one of them filled to its last place, against lists of words",
    see="Lab 0, “What a cut throws away”",
    mistakes=edits("""
        a full window counted as room: >= => >
        cut reviews counted as lost: (distractor >= => (distractor + labelled > || (distractor + labelled >=
        the two reviews exchanged: (distractor => (labelled || (distractor >= => (labelled >
        a count instead of a share: .mean() => .sum()
        the share that stays: >= => < || <=
        one token of room counted as none: (distractor >= => (distractor + 1 >=
        words counted instead of reviews: => return 1 - (window - distractor).clip(0, labelled).sum() / labelled.sum()
        the window is not used: >= window => >= 256
        one answer for each review: .mean() =>
        only windows filled exactly: >= => ==
        the reviews compared with each other: >= window => >= labelled
    """),
)


# --- 0.2 ---
def encode_batch(train, texts, min_count=2):
    """Ids and mask of the texts, (texts, tokens) each, by the vocabulary of the training texts."""
    counts = Counter(word for text in train for word in text)
    number = {"<PAD>": 0, "<UNK>": 1}
    for word in counts:
        if counts[word] >= min_count:
            number[word] = len(number)
    ids = torch.zeros(len(texts), max(len(text) for text in texts), dtype=torch.long)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.tensor([number.get(word, 1) for word in text])
    return ids, ids != 0


def encoded_word_by_word(train, texts, min_count=2):
    said = [word for text in train for word in text]
    ids, mask, seen = [], [], []
    for text in texts:
        row = []
        for word in text:
            if said.count(word) < min_count:
                row.append(1)
            else:
                seen += [word] if word not in seen else []
                row.append(2 + seen.index(word))
        missing = max(map(len, texts)) - len(text)
        ids.append(row + [0] * missing)
        mask.append([True] * len(text) + [False] * missing)
    return torch.tensor(ids), torch.tensor(mask)


def with_known_words_in_order(given, train, texts, min_count=2):
    """Which numbers the known words have does not matter: 2 for the first that comes, 3 for the next."""
    if not isinstance(given, (tuple, list)) or len(given) != 2 or not isinstance(given[0], torch.Tensor):
        return given
    ids, mask = given
    order = list(dict.fromkeys(number for number in ids.flatten().tolist() if number > 1))
    canon = [2 + order.index(number) if number > 1 else number for number in ids.flatten().tolist()]
    return torch.tensor(canon, dtype=ids.dtype).view(ids.shape), mask


def sentences(train: str, texts: str, **more: int) -> Case:
    split = ([one.split() for one in some.split("/")] for some in (train, texts))
    return Case(dict(zip(("train", "texts"), split, strict=True)) | more)


COUNTED, KNOWN = "for text in train for word in text", "number.get(word, 1)"

encode_batch = Exercise(
    encode_batch,
    cases=[
        sentences(
            "a dull film/a fine film/not a fine plot by far or near",
            "a fine thriller/not a film/what a plot for a film",
        ),
        sentences("so so so/it is so it is/what is", "so what/it is it/is it what it was", min_count=3),
        sentences("one two two/two one", "one/two three two two/four four", min_count=1),
    ],
    truth=encoded_word_by_word,
    view=with_known_words_in_order,
    tried="three lists of texts, with words known and unknown, seen once, twice and three times, word by word",
    see="Lab 0, “Tokens”",
    mistakes=edits(f"""
        the vocabulary grows while it encodes: {KNOWN} => number.setdefault(word, len(number))
        the other texts counted, too: {COUNTED} => for text in [*train, *texts] for word in text
        only the other texts counted: {COUNTED} => for text in texts for word in text
        texts counted, not words: {COUNTED} => for text in train for word in set(text)
        every word is kept: >= min_count => >= 1
        one time more is asked for: >= min_count => > min_count
        twice for all: >= min_count => >= 2
        the rarest words kept: >= min_count => < min_count
        a known word has the number of <UNK>: "<PAD>": 0, "<UNK>": 1 => "<PAD>": 0
        a known word has the number of padding: number[word] = len(number) => number[word] = len(number) - 2
        results in the wrong order [ids]: return ids, ids != 0 => return ids != 0, ids
        {PADDING}
        unknown words are hidden: ids != 0 => ids > 1
        unknown words become padding: {KNOWN} => number.get(word, 0)
        the mask the wrong way round: ids != 0 => ids == 0
        padded to the longest of all: for text in texts), dtype => for text in [*texts, *train]), dtype
        unknown words are left out: ids = torch =>
            texts = [[word for word in text if word in number] for text in texts]; ids = torch ||
            ids[row, : len(text)] => text = [word for word in text if word in number]; ids[row, : len(text)]
        padding stands in front: ids[row, : len(text)] => ids[row, ids.shape[1] - len(text) :]
        the mask goes one place too far: ids != 0 =>
            torch.arange(ids.shape[1]) <= torch.tensor([[len(text)] for text in texts])
        all places are real: ids != 0 => torch.ones_like(ids, dtype=torch.bool)
    """),
)


# --- 0.3 ---
def unknown_by_size(train, texts, sizes):
    """Vocabulary size -> mean share of unknown tokens in a text, and half of its 95% interval over the texts."""
    counts = Counter(word for text in train for word in text)
    found = {}
    for size in sizes:
        known = {word for word, _ in counts.most_common(size)}
        found[size] = mean_and_interval([np.mean([word not in known for word in text]) for text in texts])
    return found


def shares_by_rank(train, texts, sizes):
    said = [word for text in train for word in text]
    ranks = sorted(set(said), key=lambda word: -said.count(word))
    unknown = {size: [sum(word not in ranks[:size] for word in text) / len(text) for text in texts] for size in sizes}
    return {size: by_sums(shares) for size, shares in unknown.items()}


SHARES = "[np.mean([word not in known for word in text]) for text in texts]"

unknown_by_size = Exercise(
    unknown_by_size,
    cases=[
        # Where a size cuts, no two words come in equally many texts: a set, whose order is new in each process, would
        # decide between them.
        sentences("a a a b b c/a b c a d/e b a/a", "a b c d/f f/a/b e e", sizes=[1, 2, 3]),
        sentences("x y x/x z x z y y x/w z x y/x", "w w z/q x y y z/y", sizes=[3, 1]),
        sentences("n n m m m o o o o o o o/p m/n m o/n m", "n m m/o p p q r", sizes=[2, 3, 1, 5]),
    ],
    truth=shares_by_rank,
    tried="three lists of texts and one to five known words, counted by hand",
    see="Lab 0, “Exercise 0.3 (experiment): how many words are enough?”",
    mistakes=edits(f"""
        the share of known tokens: word not in known => word in known
        a count instead of a share [tokens]: np.mean([word => np.sum([word
        different words, not tokens: for word in text]) for => for word in set(text)]) for
        all texts as one: mean_and_interval({SHARES}) =>
            mean_and_interval([float(word not in known) for text in texts for word in text])
        the training texts measured: for word in text]) for text in texts] => for word in text]) for text in train]
        the other texts counted, too [sizes]: (word for text in train => (word for text in [*train, *texts]
        the vocabulary made of the other texts: Counter(word for text in train => Counter(word for text in texts
        texts counted, not words [sizes]: for word in text) => for word in set(text))
        one size for all [words]: most_common(size) => most_common(sizes[0])
        the size taken for a count: {{word for word, _ in counts.most_common(size)}} =>
            {{word for word in counts if counts[word] >= size}}
        one word too few: most_common(size) => most_common(size - 1)
        two words too few: most_common(size) => most_common(size - 2)
        pairs in place of words: {{word for word, _ in counts.most_common(size)}} => counts.most_common(size)
        the first words kept: {{word for word, _ in counts.most_common(size)}} => list(counts)[:size]
        one word too many: most_common(size) => most_common(size + 1)
        the rarest words kept: counts.most_common(size) => counts.most_common()[::-1][:size]
    """)
    + asked(SHARES),
)

"""Claims about experiments/: textbook and course do the same work, results are stored and shown as they are."""

import json

import numpy as np
import pytest
import torch

from experiments import benchmark, record, textbook
from shared import data, model

ROOT = record.ROOT


@pytest.fixture(scope="module")
def movies():
    texts, labels = data.read_movies()
    return texts[:: len(texts) // 300][:300], labels[:: len(texts) // 300][:300]


def test_both_pipelines_find_the_same_tokens_and_the_same_vocabulary(movies):
    # Every character that is a letter from a to z when written small; there are more than 52.
    latin = frozenset("abcdefghijklmnopqrstuvwxyz")
    letters = [chr(code) for code in range(0x110000) if not latin.isdisjoint(chr(code).lower())]
    tags = [f"x<{letter}y>z</{letter}>" for letter in letters]
    texts = [*movies[0], *letters, *tags, "", " ", "<br />", "a<b>c< d > e</p >", "a<b<c>>", "\ud800 x", "10/10!"]
    split = data.tokenized(texts, [0] * len(texts))
    for row, text in enumerate(texts):
        ours = [split.words[i] for i in split[row]]
        assert ours == textbook.tokenize(text) == data.tokenize(text), f"row {row}: {text[:60]!r}"
    ours = data.build_vocabulary(data.tokenized(*movies))
    assert ours.words == list(textbook.build_vocabulary(movies[0]))


def test_both_pipelines_make_the_same_examples(movies):
    """Cut as the textbook cuts, which keeps the first 256 ids, ours are its ids to the last place."""
    texts, labels = movies
    split = data.tokenized(texts, labels)
    reviews = data.encode(split, data.build_vocabulary(split), max_tokens=None)
    examples = data.plain_examples(reviews) + data.distracted_examples(reviews, 5)
    partners = examples.distractor[len(texts) :].tolist()
    theirs = textbook.encode(textbook.join_texts(texts, partners), textbook.build_vocabulary(texts))
    seen = 0
    for batch in data.batches(examples, 64, seed=1):
        cut = torch.nn.functional.pad(batch.ids, (0, 256 - batch.ids.shape[1]))  # (batch, 256)
        assert cut.tolist() == [theirs[row] for row in batch.rows]
        assert batch.labels.tolist() == [(labels * 2)[row] for row in batch.rows]
        seen += len(batch.labels)
    assert seen == len(theirs) == 600


def test_both_models_say_the_same_where_there_is_no_padding():
    torch.manual_seed(0)
    book = textbook.SelfAttentionClassifier(50).eval().double()
    ours = model.SelfAttentionClassifier(50).eval().double()
    with torch.no_grad():
        ours.features.embedding.weight.copy_(book.embedding.weight)
        for name in ("W_query", "W_key", "W_value"):
            getattr(ours.attention, name).weight.copy_(getattr(book, name).weight)
        ours.output.load_state_dict(book.output.state_dict())
    ids = torch.randint(1, 50, (3, 256))
    assert torch.allclose(book(ids), ours(ids, ids > 0)[0], atol=1e-6)
    assert not torch.allclose(book(ids[:, :].where(torch.arange(256) < 90, 0)), ours(ids[:, :90], ids[:, :90] > 0)[0])


def test_a_ratio_is_that_of_one_round_and_its_range_that_of_all():
    faster = benchmark.compared(np.array([[1, 10], [1, 20], [10, 40]]), lower_is_better=True)
    assert faster == {"course": 1, "textbook": 20, "ratio": [10, 4, 20]}
    assert benchmark.compared(np.array([[50, 10], [60, 20]]), lower_is_better=False)["ratio"] == [4, 3, 5]


def test_a_script_that_was_stopped_runs_only_what_is_missing(tmp_path):
    path, calls = tmp_path / "some.json", []

    def run(number):
        calls.append(number)
        return {"number": number}

    for _ in range(2):
        assert [record.load_or_run(path, f"seed {n}", run, n) for n in (1, 2)] == [{"number": 1}, {"number": 2}]
    assert calls == [1, 2] and json.loads(path.read_text())["about"]["torch"]

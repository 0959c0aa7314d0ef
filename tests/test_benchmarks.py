"""Claims about the benchmarks: both pipelines do the same work, and figures say what was measured. Nothing is timed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import made_corpus, measure, textbook
from shared import data, model

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import against_textbook  # noqa: E402

# Every character that is a letter from a to z when written small; there are more than 52.
LETTERS = [chr(code) for code in range(0x110000) if set(chr(code).lower()) & set("abcdefghijklmnopqrstuvwxyz")]


@pytest.fixture(scope="module")
def movies():
    return measure.first_movies(300)


def test_both_pipelines_find_the_same_tokens(movies):
    texts = [*movies[0], *LETTERS, "", " ", "<br />", "a<b>c< d > e</p >", "\ud800 x", "10/10!"]
    tokens = data.tokenize_all(texts)
    for row, text in enumerate(texts):
        ours = [tokens.words[i] for i in tokens[row]]
        assert ours == textbook.tokenize(text) == data.tokenize(text), f"row {row}: {text[:60]!r}"


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.text(alphabet="aZ<>/ bİK1é\n", max_size=30), max_size=300))
def test_both_pipelines_find_the_same_tokens_in_any_text(texts):
    tokens = data.tokenize_all(texts)
    found = [tokens.words[i] for i in tokens.ids]
    assert found == [word for text in texts for word in textbook.tokenize(text)]


def test_both_pipelines_find_the_same_vocabulary(movies):
    ours = data.build_vocabulary(data.tokenize_all(movies[0]))
    assert ours.words == list(textbook.build_vocabulary(movies[0]))


def test_both_pipelines_make_the_same_examples(movies):
    """With the textbook's window, which keeps the beginning, ours gives its ids to the last place."""
    texts, labels = movies
    split = data.Split(texts, labels)
    reviews = data.encode(split, data.build_vocabulary(split.tokens), cut=None)
    examples = data.plain_examples(reviews, window=256) + data.distracted_examples(reviews, 5, window=256)
    partners = examples.distractor[len(texts) :].tolist()
    theirs = textbook.encode(textbook.join_texts(texts, partners), textbook.build_vocabulary(texts))
    seen = 0
    for batch in data.batches(examples, 64, seed=1):
        assert batch.ids.shape[1] <= 256
        padded = torch.nn.functional.pad(batch.ids, (0, 256 - batch.ids.shape[1]))
        assert padded.tolist() == [theirs[row] for row in batch.index]
        assert batch.labels.tolist() == [(labels * 2)[row] for row in batch.index]
        seen += len(batch.labels)
    assert seen == len(theirs) == 600


def test_the_textbook_shuffles_and_loses_nothing():
    ids, labels = [[row] for row in range(2500)], [row % 2 for row in range(2500)]
    made = list(textbook.batches(ids, labels, seed=3))
    assert [len(rows) for rows, _ in made] == [1024, 1024, 452]
    order = torch.cat([rows[:, 0] for rows, _ in made]).tolist()
    assert order != sorted(order) and sorted(order) == list(range(2500))
    assert torch.cat([values for _, values in made]).tolist() == [row % 2 for row in order]


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


def test_a_made_corpus_has_the_lengths_it_is_said_to_have(tmp_path):
    import datasets

    made_corpus.write(tmp_path / "some.arrow", 3000)
    made = datasets.Dataset.from_file(str(tmp_path / "some.arrow"))
    lengths = np.array([len(data.tokenize(text)) for text in made["text"]])
    assert len(made) == 3000 and set(made["label"]) == {0, 1}
    assert 90 < np.median(lengths) < 104 and 125 < lengths.mean() < 143 and lengths.max() <= 1050
    assert 680 < np.mean([len(text) for text in made["text"]]) < 800  # Yelp: 738 bytes
    assert [path.name for path in tmp_path.iterdir()] == ["some.arrow"]


def test_every_measurement_runs_on_a_small_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "CORPUS", tmp_path / "corpora")
    monkeypatch.setattr(measure.data, "load_reviews", lambda *_: small_movies())
    threads, cores = torch.get_num_threads(), measure.os.sched_getaffinity(0)
    try:
        both = [measure.text_by_textbook(200), measure.text_by_ours(200, cores=1)]
        assert both[0]["words"] == both[1]["words"] and both[0]["examples"] == both[1]["examples"] == 400
        for found in (measure.train_textbook(batch_size=32, seconds=0.01), measure.train_ours(seconds=0.01)):
            assert found["rate"] > 0
        for which in ("ours", "textbook"):
            found = measure.accuracy(which, epochs=1)
            assert set(found) == {"plain", "distracted"} and all(0 <= share <= 1 for share in found.values())
        assert measure.corpus(200)["megabytes"] > 0
        assert measure.growth_prepare(200)["reviews"] == 200
        assert measure.growth_train(200, seconds=0.01)["rate"] > 0
        assert measure.epoch(200)["examples"] == 400
    finally:
        torch.set_num_threads(threads)
        measure.os.sched_setaffinity(0, cores)


def small_movies() -> data.Reviews:
    texts, labels = measure.first_movies(300)
    parts = [data.Split(texts[start::3], labels[start::3]) for start in range(3)]
    return data.Reviews(*parts, "small")


def test_a_ratio_is_that_of_one_round_and_its_spread_that_of_all():
    line = against_textbook.compared("speed", "seconds", [10, 20, 40], [1, 1, 10], more=False, target=12)
    assert line["times_better"] == [10, 4, 20]
    assert line["textbook"] == [20, 10, 40] and line["ours"] == [1, 1, 10]
    rates = against_textbook.compared("rate", "examples a second", [10, 20], [50, 60], more=True, target=3)
    assert rates["times_better"] == [4, 3, 5]


def test_the_file_of_results_keeps_the_parts_that_were_not_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(against_textbook, "RESULTS", tmp_path / "results.json")
    monkeypatch.setitem(against_textbook.PARTS, "text", lambda: [1])
    monkeypatch.setitem(against_textbook.PARTS, "growth", lambda: [2])
    against_textbook.main(["text"])
    against_textbook.main(["growth"])
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["text"]["each"] == [1] and results["growth"]["each"] == [2]
    assert results["text"]["machine"] and results["text"]["torch"] and results["text"]["date"]
    with pytest.raises(SystemExit, match="pictures cannot be measured; choose among text"):
        against_textbook.main(["pictures"])


def test_two_processes_measure_together():
    against_textbook.measure("corpus", reviews=200)
    assert against_textbook.measure("train_ours", processes=2, reviews=200, seconds=1)["rate"] > 0

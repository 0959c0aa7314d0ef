"""The parts of `make bench` that train run on a few reviews, and the page can show what they find."""

from experiments import benchmark
from shared import data, record
from shared.reviews import read_movies, tokenized


def test_every_part_that_trains_runs_on_a_few_reviews_and_can_be_shown(monkeypatch):
    texts, labels = (column[::80] for column in read_movies())
    parts = [tokenized(texts[start::3], labels[start::3]) for start in range(3)]
    monkeypatch.setattr(benchmark, "read_movies", lambda: (texts, labels))
    monkeypatch.setattr(data, "load_reviews", lambda *_: data.Reviews(*parts, "some films"))
    found = {"textbook": benchmark.against_textbook(rounds=1), "gpu": benchmark.gpu("cpu", batch_size=16)}
    assert set(found["textbook"]) > {"accuracy, plain", "accuracy, distracted"}
    shown = benchmark.tables(
        {name: record.about() | {"each": each} for name, each in (found | {"labs": {"keys": LAB}}).items()}
    )
    assert "| SelfAttentionClassifier, bfloat16" in shown and "| training, examples a second" in shown


LAB = {"seconds": 60, "megabytes": 500}

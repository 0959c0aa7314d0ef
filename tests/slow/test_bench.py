"""All parts of `make bench` and `make gpu` that train run on a small corpus, and what they find can be shown."""

import torch
import train_together

from experiments import gpu, record, report, speed
from shared import data


def test_every_part_of_speed_runs_on_a_small_corpus_and_can_be_shown(tmp_path, monkeypatch):
    movies = speed.first_movies(300)
    texts, labels = movies
    small = data.Reviews(*(data.tokenized(texts[start::3], labels[start::3]) for start in range(3)), "small")
    monkeypatch.setattr(speed.data, "load_reviews", lambda *_: small)
    monkeypatch.setattr(speed.data, "read_movies", lambda: movies)
    monkeypatch.setattr(speed, "CORPUS", tmp_path)
    monkeypatch.setattr(speed, "alone", lambda measurement, **values: measurement(**values))
    threads = torch.get_num_threads()
    try:
        found = {
            "text": speed.text(rounds=1, reviews=200),
            "training": speed.speed_of_training(rounds=1, seconds=0.01),
            "accuracy": speed.accuracy(seeds=1),
            "growth": speed.growth(sizes=(200,), seconds=0.01),
        }
    finally:
        torch.set_num_threads(threads)
    assert speed.text_by_textbook(200)["examples"] == speed.text_by_ours(200)["examples"] == 400
    assert all(0 <= line["plain"][0] <= 1 for line in found["accuracy"])
    assert found["growth"][0]["examples"] == 400
    shown = report.tables({"speed": {name: record.about() | {"each": lines} for name, lines in found.items()}})
    assert "| 400 |" in shown


def test_what_a_gpu_run_measures_can_be_shown():
    """The whole measurement on a processor with a tiny corpus; only the memory of the device stays 0."""
    source = train_together.reviews()
    prepared = data.Reviews(*[source] * 3, "made", data.Vocabulary(source.words))
    rows = gpu.training(prepared, torch.device("cpu"), 16, 2)
    assert [row["numbers"] for row in rows] == ["float32", "bfloat16"] * 4
    assert all(row["examples_a_second"] > 0 for row in rows)
    shown = report.tables({"gpu": {"training": record.about() | {"each": rows}}})
    assert f"| self-attention, PyTorch's fused | float32 | {rows[4]['examples_a_second']:,} | 0 |" in shown

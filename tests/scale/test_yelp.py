"""Yelp's reviews through `datasets`, without a network and without a text of Yelp."""

import subprocess
import sys
from pathlib import Path

import datasets
import pytest

from shared import reviews

ROOT = Path(__file__).resolve().parents[2]


def made_split(count: int) -> datasets.Dataset:
    """Invented reviews; line breaks are the characters \\n, as in Yelp's."""
    texts = [f"{'awful' if i % 2 == 0 else 'lovely'} place\\nvisit number {i}" for i in range(count)]
    return datasets.Dataset.from_dict({"text": texts, "label": [i % 2 for i in range(count)]})


def test_yelp_comes_in_the_sizes_of_the_course(monkeypatch):
    hub = {"fancyzhx/yelp_polarity": {"train": made_split(9_000), "test": made_split(2_500)}}
    monkeypatch.setattr(datasets, "load_dataset", hub.__getitem__)
    loaded = reviews.load_reviews("yelp", "quick")
    splits = (loaded.train, loaded.validation, loaded.test)
    assert [len(split) for split in splits] == [8_000, 1_000, 1_000]
    for split in splits:
        for row in (0, 1):
            first, *others = reviews.tokenize(split.texts[row])
            assert others == ["place", "visit", "number"], "the characters \\n are a space"
            assert first == ("lovely" if split.labels[row] else "awful")


def test_a_hub_that_cannot_be_reached_is_answered_with_what_to_do(monkeypatch):
    def refuse(_):
        raise OSError("no network")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(ConnectionError, match="(?s)Yelp reviews could not be loaded.*film reviews need no network"):
        reviews.load_reviews("yelp", "quick")


def test_a_data_set_on_disk_is_tokenized_once_and_gives_the_tokens_of_a_list(tmp_path, monkeypatch):
    texts, labels = ["Good film", "a<br />bad film, a", "", "good"] * 700, [1, 0, 0, 1] * 700
    datasets.Dataset.from_dict({"text": texts, "label": labels}).save_to_disk(tmp_path / "reviews")
    in_memory = reviews.tokenized(texts, labels)
    on_disk = reviews.tokenized_dataset(datasets.load_from_disk(tmp_path / "reviews"))
    for name in ("ids", "offsets", "labels", "rows"):
        assert (getattr(on_disk, name) == getattr(in_memory, name)).all(), name
    assert on_disk.words == in_memory.words and on_disk.texts[1] == texts[1]
    monkeypatch.setattr(reviews, "split_words", None)  # now nothing could be tokenized
    again = reviews.tokenized_dataset(datasets.load_from_disk(tmp_path / "reviews"))
    assert (again.ids == in_memory.ids).all()


def test_the_bundled_reviews_need_no_network_and_no_package_of_the_hub():
    code = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise AssertionError('asked for the network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from shared.data import load_reviews\n"
        "print(len(load_reviews().train), 'datasets' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["7572", "False"], done.stderr

"""The real loading code of Yelp, run against a local fake of the hub: no network, no Yelp text."""

import subprocess
import sys

import datasets
import pytest
from fake_hub import ROOT, load, serve_hub

from shared import reviews


def test_yelp_comes_in_the_sizes_of_the_course(tmp_path):
    with serve_hub() as hub:
        done = load(hub.url, tmp_path)
    assert done.returncode == 0, done.stderr
    # not "nvisit": the characters \n became a space
    assert done.stdout.splitlines()[:2] == ["8000 1000 1000", "[0, 1] ['place', 'visit', 'number']"]


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


def test_a_hub_that_cannot_be_reached_is_answered_with_what_to_do(tmp_path):
    answer = load("http://127.0.0.1:9", tmp_path)  # port 9: nobody listens
    assert "ConnectionError: Yelp reviews could not be loaded" in answer.stderr
    assert "the bundled film reviews need no network" in answer.stderr


@pytest.mark.parametrize(("error", "told"), [(OSError("disk"), ConnectionError), (AttributeError("x"), AttributeError)])
def test_only_the_hub_and_the_disk_are_blamed_on_the_network(error, told, monkeypatch):
    def fails(split):
        raise error

    made = datasets.Dataset.from_dict({"text": ["a"] * 8, "label": [0, 1] * 4})
    monkeypatch.setattr(datasets, "load_dataset", lambda name: {"train": made, "test": made})
    monkeypatch.setattr(reviews, "tokenized_dataset", fails)
    with pytest.raises(told):
        reviews.load_yelp(4, 4)


def test_checks_load_no_data_and_the_bundled_reviews_need_no_network_and_no_package_of_the_hub():
    code = (
        "import socket, sys, checks\n"
        "print([name for name in ('pyarrow', 'shared.data', 'shared.training') if name in sys.modules])\n"
        "def refuse(*_, **__): raise AssertionError('asked for the network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from shared.data import load_reviews\n"
        "print(len(load_reviews().train), 'datasets' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["[]", "7572", "False"], done.stderr

"""The real loading code of Yelp, run against a local stand-in for the hub: no network, no Yelp text."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hub_stand_in import stand_in_hub

ROOT = Path(__file__).resolve().parents[2]

# The hub's client waits longer after each failed try; the tests need its tries, not its waiting.
LOAD = """
import time
time.sleep = lambda seconds: None
from shared.data import load_reviews, tokenize
reviews = load_reviews("yelp", "quick")
print(len(reviews.train), len(reviews.validation), len(reviews.test))
print(sorted(set(reviews.train.labels)), tokenize(reviews.train.texts[0])[1:4])
print(reviews.train.texts[:3], reviews.test.texts[:3])
"""


def load(url: str, home) -> subprocess.CompletedProcess:
    """Load in a process of its own: the hub's client reads its settings once, when it is imported."""
    names = ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT")
    environment = dict(os.environ, HF_ENDPOINT=url, HF_HOME=str(home), HF_HUB_DISABLE_XET="1", TQDM_DISABLE="1")
    return subprocess.run(
        [sys.executable, "-c", LOAD],
        env=environment | dict.fromkeys(names, "2"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def hub():
    with stand_in_hub() as server:
        yield server


@pytest.fixture(scope="module")
def loaded(hub, tmp_path_factory):
    """A home into which Yelp was loaded once, and what the loading process said."""
    home = tmp_path_factory.mktemp("home")
    return home, load(hub.url, home)


def test_yelp_comes_in_the_sizes_of_the_course(loaded):
    _, done = loaded
    assert done.returncode == 0, done.stderr
    # not "nvisit": the characters \n became a space
    assert done.stdout.splitlines()[:2] == ["8000 1000 1000", "[0, 1] ['place', 'visit', 'number']"]


def test_a_hub_that_breaks_off_leaves_no_half_file_behind_and_the_same_reviews_come_later(hub, loaded, tmp_path):
    hub.breaks_off = True
    broken = load(hub.url, tmp_path)
    hub.breaks_off = False
    assert broken.returncode != 0
    assert "ConnectionError: Yelp reviews could not be loaded" in broken.stderr
    assert "LAB_DATA=movies" in broken.stderr
    assert load(hub.url, tmp_path).stdout == loaded[1].stdout


def test_a_hub_that_cannot_be_reached_is_answered_with_what_to_do(tmp_path):
    answer = load("http://127.0.0.1:9", tmp_path)  # port 9: nobody listens
    assert "ConnectionError: Yelp reviews could not be loaded" in answer.stderr
    assert "the bundled film reviews need no network" in answer.stderr


def test_damaged_files_are_not_blamed_on_the_network_and_what_the_sentence_says_helps(hub, loaded, tmp_path):
    home = shutil.copytree(loaded[0], tmp_path / "home", symlinks=True)
    for pattern, prepared in (("datasets/**/*train.arrow", True), ("hub/**/blobs/*", False)):
        damaged = [path for path in home.glob(pattern) if path.is_file() and path.stat().st_size > 10_000]
        assert damaged, f"{pattern} was not kept"
        for path in damaged:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        if not prepared:
            shutil.rmtree(home / "datasets")
        said = load(hub.url, home).stderr.splitlines()[-1]
        assert said.startswith("OSError: The Yelp reviews in ") and "Check the network" not in said
        assert "Delete that folder and run again" in said
        shutil.rmtree(said.partition("reviews in ")[2].partition(" are damaged")[0])
    assert load(hub.url, home).stdout == loaded[1].stdout


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

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
    environment = dict(
        os.environ,
        HF_ENDPOINT=url,
        HF_HOME=str(home),
        HF_HUB_DISABLE_XET="1",
        HF_HUB_DOWNLOAD_TIMEOUT="2",
        HF_HUB_ETAG_TIMEOUT="2",
        TQDM_DISABLE="1",
    )
    return subprocess.run(
        [sys.executable, "-c", LOAD], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def hub():
    with stand_in_hub() as server:
        yield server


def test_yelp_comes_in_the_sizes_of_the_course_and_always_the_same(hub, tmp_path):
    first, second = load(hub.url, tmp_path / "one"), load(hub.url, tmp_path / "two")
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[0] == "8000 1000 1000"
    # not "nvisit": the characters \n became a space
    assert first.stdout.splitlines()[1] == "[0, 1] ['place', 'visit', 'number']"
    assert first.stdout == second.stdout


def test_a_hub_that_breaks_off_leaves_no_half_file_behind(hub, tmp_path):
    hub.breaks_off = True
    broken = load(hub.url, tmp_path)
    hub.breaks_off = False
    assert broken.returncode != 0
    assert "ConnectionError: Yelp reviews could not be loaded" in broken.stderr
    assert "LAB_DATA=movies" in broken.stderr
    whole = load(hub.url, tmp_path)
    assert whole.stdout.splitlines()[0] == "8000 1000 1000", whole.stderr


def test_a_hub_that_cannot_be_reached_is_answered_with_what_to_do(tmp_path):
    answer = load("http://127.0.0.1:9", tmp_path)  # port 9: nobody listens
    assert "ConnectionError: Yelp reviews could not be loaded" in answer.stderr
    assert "the bundled film reviews need no network" in answer.stderr


def files_of(home, ending: str) -> list:
    found = [path for path in home.rglob(f"*{ending}") if path.is_file() and path.stat().st_size > 10_000]
    assert found, f"no {ending} file was kept"
    return found


def test_a_damaged_file_of_the_prepared_reviews_is_not_blamed_on_the_network(hub, tmp_path):
    assert load(hub.url, tmp_path).returncode == 0
    for path in files_of(tmp_path, "train.arrow"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    broken = load(hub.url, tmp_path)
    said = broken.stderr.splitlines()[-1]
    assert said.startswith("OSError: The Yelp reviews in ") and "Check the network" not in said
    folder = said.partition("reviews in ")[2].partition(" are damaged")[0]
    assert "Delete that folder and run again" in said
    shutil.rmtree(folder)  # what the sentence says helps
    assert load(hub.url, tmp_path).stdout.splitlines()[0] == "8000 1000 1000"


def test_a_damaged_download_is_not_blamed_on_the_network(hub, tmp_path):
    assert load(hub.url, tmp_path).returncode == 0
    for path in (tmp_path / "hub").rglob("blobs/*"):
        if path.stat().st_size > 10_000:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    shutil.rmtree(tmp_path / "datasets")
    said = load(hub.url, tmp_path).stderr.splitlines()[-1]
    assert said.startswith("OSError: The Yelp reviews in ") and "Check the network" not in said
    shutil.rmtree(said.partition("reviews in ")[2].partition(" are damaged")[0])
    assert load(hub.url, tmp_path).stdout.splitlines()[0] == "8000 1000 1000"


def test_the_bundled_reviews_need_no_network_and_no_package_of_the_hub():
    code = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise AssertionError('asked for the network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from shared.data import load_reviews\n"
        "print(len(load_reviews().train), 'datasets' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.split() == ["7572", "False"], done.stderr

"""A download of the Yelp reviews that breaks off gets a sentence, and the next try succeeds."""

import pytest
from fake_hub import load, serve_hub


@pytest.fixture(scope="module")
def hub():
    with serve_hub() as server:
        yield server


@pytest.fixture(scope="module")
def loaded(hub, tmp_path_factory):
    """A home into which Yelp was loaded once, and what the loading process said."""
    home = tmp_path_factory.mktemp("home")
    return home, load(hub.url, home)


def test_a_hub_that_breaks_off_leaves_no_half_file_behind_and_the_same_reviews_come_later(hub, loaded, tmp_path):
    hub.breaks_off = True
    broken = load(hub.url, tmp_path)
    hub.breaks_off = False
    assert broken.returncode != 0
    assert "ConnectionError: Yelp reviews could not be loaded" in broken.stderr
    assert "LAB_DATA=movies" in broken.stderr
    assert load(hub.url, tmp_path).stdout == loaded[1].stdout

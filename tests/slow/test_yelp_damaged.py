"""Yelp reviews whose download breaks off, or whose files are damaged, are named, and what the sentence says helps."""

import shutil

import pytest
from hub_stand_in import load, stand_in_hub


@pytest.fixture(scope="module")
def hub():
    with stand_in_hub() as server:
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

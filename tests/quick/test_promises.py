"""Claims about what a fork may rely on: names that stay, a release that says what it is, a place for errors."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from shared import check

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "Makefile").exists())
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# Notebooks that students hold call these. A name is added here with the release that brings it, and goes with none
# but a release whose first number rises.
CHECKS = (
    "add_queries all_filters allowed_places as_layer attention_pool average_early batched_attention breadth "
    "context_of_one_word cut_into_heads extra_parameters first_block join_heads layer_norm look_at_the_next_word "
    "lost_to_the_cut many_heads marks_row masked_mean next_word_loss one_matrix one_question paired_interval "
    "redundant_key rollout scores_of_one_word sign_flips split_the_map whole_layer without_head"
).split()


def test_the_names_of_checks_stay():
    assert not [name for name in CHECKS if not callable(getattr(check, name, None))]


def test_the_changelog_has_the_version_of_the_package():
    assert f"\n## {VERSION}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_every_page_of_the_site_has_a_link_to_report_an_error_on_it():
    site = ROOT / "_build/html"
    if not site.exists():
        pytest.skip("there is no site: make test builds it first")
    url = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    for name in ("labs/05_your_journey", "book/notation"):
        found = re.findall(r'href="([^"]*/issues/new[^"]*)"', (site / f"{name}.html").read_text(encoding="utf-8"))
        assert found == [f"{url}/issues/new?title=In%20{name}"]

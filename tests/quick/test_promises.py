"""Claims about what a fork may rely on: names that stay, a release that says what it is, a place for errors."""

import tomllib
from pathlib import Path

from shared import check

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "Makefile").exists())
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# Notebooks that students hold call these. A name is added here with the release that brings it, and goes with none
# but a release whose first number rises.
CHECKS = (
    "add_queries all_filters allowed_places as_layer attention_pool average_early batched_attention breadth "
    "extra_parameters first_block layer_norm look_at_the_next_word "
    "lost_to_the_cut many_heads marks_row masked_mean next_word_loss one_matrix one_question paired_interval "
    "redundant_key rollout scores_of_one_word sign_flips split_the_map whole_layer without_head"
).split()


def test_the_names_of_checks_stay():
    assert not [name for name in CHECKS if not callable(getattr(check, name, None))]


def test_the_changelog_has_the_version_of_the_package():
    assert f"\n## {VERSION}\n" in (ROOT / "CHANGELOG.md").read_text()

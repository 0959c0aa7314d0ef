"""Claims about what a fork may rely on: names that stay, a release that says what it is, a place for errors."""

import tomllib
from pathlib import Path

import checks

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "Makefile").exists())
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# Notebooks that students hold call these. A name is added here with the release that brings it, and goes with none
# but a release whose first number rises.
CHECKS = (
    "add_queries all_filters allowed_places as_layer attention_pool average_early batched_attention breadth "
    "cached_step effect_of encode_batch encoder_layer first_block follow_score gains_by_places key_pooling "
    "language_model layer_norm look_at_the_next_word look_away looked_at lost_to_the_cut many_heads "
    "marked_classifier marks_row masked_mean masked_softmax mend_the_batch fix_the_blocks mend_the_comparison "
    "mend_the_game fix_the_heads fix_the_rotation merge missed_by_rate more_than_the_sum next_word_loss one_question "
    "paired_interval positions_or_words redundant_key rollout rotate scores_of_one_word "
    "search_and_test share_on_aim sign_flips slope split_the_map sweep told_before transformer_block "
    "twice_the_words unknown_by_size what_two_matrices_cost whole_layer with_and_without without_head "
    "effect_of_a_head worth_of_context"
).split()


def test_the_names_of_checks_stay():
    assert not [name for name in CHECKS if not callable(getattr(checks, name, None))]


def test_the_changelog_has_the_version_of_the_package():
    assert f"\n## {VERSION}\n" in (ROOT / "CHANGELOG.md").read_text()

"""Claims about what a fork may rely on: names that stay, a release that says what it is, a place for errors."""

import subprocess
import tomllib
from pathlib import Path

import pytest

import checks

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "Makefile").exists())
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# Notebooks that students hold call these. A name is added here with the release that brings it, and goes with none
# but a release whose first number rises.
CHECKS = (
    "add_queries allowed_positions attend_to_the_next_word attention_backward attention_on_target "
    "attention_received cached_step causal_attention change_of_weights cross_attention effect_of_context "
    "encode_batch encoder_layer first_block fix_the_batch fix_the_blocks fix_the_comparison fix_the_game "
    "fix_the_heads fix_the_mask fix_the_rotation fix_the_sides fold_values follow_score gains_by_position "
    "gradients_in_blocks grouped_attention language_model layer_norm learned_queries learned_query "
    "lost_to_truncation many_heads marked_classifier marker_query masked_mean masked_softmax matrix_to_linear merge "
    "more_than_the_sum next_word_loss one_query paired_interval positions_or_words preregistered redundant_key "
    "rollout rotate sampling_probs scores_of_one_word search_and_test shifted_loss sign_flips tokens_attended "
    "transformer_block unknown_by_size whole_layer with_and_without without_head"
).split()


def test_the_names_of_checks_stay():
    assert not [name for name in CHECKS if not callable(getattr(checks, name, None))]


def test_the_changelog_has_the_version_of_the_package():
    assert f"\n## {VERSION}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_tag_that_first_cells_install_has_the_code_that_notebooks_import():
    """Where this clone has that tag: it comes with a release, and a fork may have none."""
    git = ["git", "-C", str(ROOT)]
    if subprocess.run([*git, "rev-parse", "-q", "--verify", f"refs/tags/v{VERSION}"], capture_output=True).returncode:
        pytest.skip(f"there is no tag v{VERSION} here")
    code = ["shared", "checks", "labs/*/*.py", "labs/*/*.json"]
    changed = subprocess.run([*git, "diff", "--name-only", f"v{VERSION}", "--", *code], capture_output=True, text=True)
    assert changed.stdout == "", f"raise `version` in pyproject.toml (a fork: a name without a tag, {VERSION}+mine)"

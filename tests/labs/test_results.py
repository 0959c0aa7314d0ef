"""Claims about `make results`: what it uses again, when its table is stale, and what a run measures."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from experiments import table, table_runs

ROWS = [("front", "TF-IDF", "as taught", 2, 0), ("front", "mean pooling", "as taught", 2, 0)]


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Makes a table of two rows with two seeds, without training; returns its results by (model, seed)."""
    monkeypatch.setattr(table, "ROWS", ROWS)
    monkeypatch.setenv("TQDM_DISABLE", "1")  # which it sets, too

    def make(values, stop_at=None):
        calls = []

        def run(which):
            if len(calls) == stop_at:
                raise KeyboardInterrupt
            calls.append((which.model, which.seed))
            value = values[which.model, which.seed]
            return asdict(which) | {"plain": value, "distracted": value, "right": {"plain": "01", "distracted": "30"}}

        monkeypatch.setattr(table_runs, "train_and_measure", run)
        path = tmp_path / "table.json"
        try:
            table.make_table(table.all_runs(), tmp_path / "finished.json", path, jobs=1)
        finally:
            make.calls = calls
        results = json.loads(path.read_text())["results"]
        return {(result["model"], result["seed"]): result["plain"] for result in results}

    return make


FIRST = {("TF-IDF", 0): 0.1, ("mean pooling", 0): 0.2, ("TF-IDF", 1): 0.3, ("mean pooling", 1): 0.4}


def test_a_stopped_table_continues_and_ends_as_an_undisturbed_one(make, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        make(FIRST, stop_at=2)
    assert make.calls == [("TF-IDF", 0), ("mean pooling", 0)] and not (tmp_path / "table.json").exists()
    assert make(FIRST) == FIRST
    assert make.calls == [("TF-IDF", 1), ("mean pooling", 1)], "runs that were finished are not repeated"


def test_after_a_change_of_code_only_the_rows_whose_first_seed_differs_are_run_again(make, monkeypatch, tmp_path):
    make(FIRST)
    before = json.loads((tmp_path / "table.json").read_text())
    assert table.why_stale(tmp_path / "table.json") == ""
    monkeypatch.setattr(table, "code", lambda: "other code")
    assert "values may have changed" in table.why_stale(tmp_path / "table.json")
    changed = {("TF-IDF", 0): 0.5, ("mean pooling", 0): 0.2, ("TF-IDF", 1): 0.6, ("mean pooling", 1): 0.7}
    assert make(changed) == changed | {("mean pooling", 1): 0.4}
    assert make.calls == [("TF-IDF", 0), ("mean pooling", 0), ("TF-IDF", 1)]
    after = json.loads((tmp_path / "table.json").read_text())
    assert after["reviews"] == before["reviews"] and after["made_by"] == "other code"


def test_the_stored_table_is_whole_and_names_its_source():
    stored = json.loads(table.TABLE.read_text())
    assert list(map(table.run_of, stored["results"])) == sorted(table.all_runs())
    assert all(stored[name] for name in ("command", "date", "machine", "versions", "data"))


# --- what a run measures -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course():
    return table_runs.prepared()


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")  # the model that is never wrong
def test_both_marks_of_a_pair_count_and_a_model_that_never_turns_gets_half_of_opposite_labels(course):
    """A model that predicts the same for both markers of a pair is right in half the cases where the labels differ."""
    run = table_runs.Run("marked", "mean pooling", "as taught", 0, 0)
    plain, distracted = table_runs.example_makers("marked", *map(course.vocabulary.id, ("<SEP>", "<MARK>")))
    pairs = distracted(course.test, 100) + distracted(course.test, 101) + distracted(course.test, 102)
    tests = {"plain": plain(course.test, 0), "distracted": pairs + table_runs.swap_marks(pairs)}
    random = np.random.default_rng(0)
    stubborn = np.tile(random.integers(0, 2, len(pairs)), 2)
    found = table_runs.accuracies(run, tests, {"plain": 1 - tests["plain"].labels, "distracted": stubborn})
    assert found["plain"] == 0 and found["opposite"] == 0.5 and found["wrong_alone_too"] == 1
    assert len(found["right"]["plain"]) == len(found["right"]["distracted"]) == len(course.test)
    knowing = table_runs.accuracies(run, tests, {name: examples.labels for name, examples in tests.items()})
    assert knowing["opposite"] == knowing["equal"] == knowing["distracted"] == 1 and knowing["draws"] == [1, 1, 1]
    assert set(knowing["right"]["distracted"]) == {"6"}

"""Claims about `make results`: what it uses again, and when its table is stale."""

import json
import math
from dataclasses import asdict

import pytest

from experiments import table, table_runs
from labs.does_it_help import earlier_runs
from shared import stored_runs
from shared.intervals import mean_and_interval

ROWS = [("front", "attention pooling", 2), ("front", "mean pooling", 2)]


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
            measured = {"plain": value, "distracted": value, "right": {"plain": "01", "distracted": "30"}}
            return asdict(which) | measured | {"epochs": [measured, measured]}

        monkeypatch.setattr(table_runs, "train_and_measure", run)
        path = tmp_path / "table.json"
        try:
            table.make_table(table.all_runs(), tmp_path / "finished", path, jobs=1)
        finally:
            make.calls = calls
        results = json.loads(path.read_text())["results"]
        assert not any("right" in measured for result in results for measured in (result, *result["epochs"]))
        return {(result["model"], result["seed"]): result["plain"] for result in results}

    return make


FIRST = {(name, seed): 0.1 * seed for name in ("attention pooling", "mean pooling") for seed in (0, 1)}


def test_a_stopped_table_continues_and_ends_as_an_undisturbed_one(make, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        make(FIRST, stop_at=2)
    assert make.calls == [("attention pooling", 0), ("attention pooling", 1)] and not (tmp_path / "table.json").exists()
    assert make(FIRST) == FIRST
    assert make.calls == [("mean pooling", 0), ("mean pooling", 1)], "runs that were finished are not repeated"


def test_after_a_change_of_code_the_table_is_stale_and_all_runs_are_repeated(make, monkeypatch, tmp_path):
    make(FIRST)
    assert table.why_stale(tmp_path / "table.json") == ""
    monkeypatch.setattr(table, "made_by", lambda: "other code")
    assert "values may have changed" in table.why_stale(tmp_path / "table.json")
    changed = {run: 0.5 for run in FIRST}
    assert make(changed) == changed and make.calls == list(FIRST)


def test_the_stored_table_is_whole_and_names_its_source():
    stored = json.loads(table.TABLE.read_text())
    stored_runs = [table_runs.Run(one["task"], one["model"], one["seed"]) for one in stored["results"]]
    assert sorted(stored_runs) == table.all_runs()
    assert all(len(one["epochs"]) == table_runs.EPOCHS[one["task"]] for one in stored["results"])
    assert all(stored[name] for name in ("command", "date", "machine", "made_by", "data"))


@pytest.mark.parametrize(
    ("difference", "half", "word"),
    [
        (0.04, 0.03, "higher"),
        (-0.04, 0.03, "lower"),
        (0.02, 0.03, "undecided"),
        (0.0, 0.03, "undecided"),  # an end at the margin is not within it
        (0.03, 0.03, "undecided"),  # nor is an end at zero above it
        (0.01, 0.01, "practically equal"),
        (-0.02, 0.005, "lower"),  # within the margin, too, but the sign is asked first
        (0.01, 0.001, "higher"),
        (0.04, math.nan, "undecided"),
    ],
)
def test_a_verdict_is_the_word_of_its_interval(difference, half, word):
    assert stored_runs.verdict(difference, half, margin=0.03) == word


def test_stored_answers_become_fractions_and_runs_are_in_the_order_of_their_seeds(tmp_path, monkeypatch):
    runs = [
        {"task": "front", "model": "m", "seed": seed, "plain": 0.9 - seed / 10, "distracted": 0.5 + seed / 10,
         "draws": [seed, seed + 1, seed + 2]}
        for seed in (2, 0, 1)
    ]  # fmt: skip
    kinds = {"plain": ("0 1 2 3", 3), "distracted": ("9 0 3 6", 9)}
    rows = [
        {"task": task, "model": "m", "kind": kind, "right": right if task == "front" else "1 1 1 1", "answers": answers}
        for task in ("front", "marked")
        for kind, (right, answers) in kinds.items()
    ]
    path = tmp_path / "stored.json"
    path.write_text(json.dumps({"results": runs, "reviews": rows}))
    monkeypatch.setattr(stored_runs, "TABLE", path)
    pairs, alone = stored_runs.runs("front", "m"), stored_runs.runs("front", "m", "plain")
    assert pairs.accuracy.tolist() == pytest.approx([0.5, 0.6, 0.7])
    assert alone.accuracy.tolist() == pytest.approx([0.9, 0.8, 0.7])
    assert pairs.draws.tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert alone.draws == pytest.approx(alone.accuracy[:, None].repeat(3, axis=1))
    assert pairs.by_review.tolist() == pytest.approx([1, 0, 1 / 3, 2 / 3])
    assert alone.by_review.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    with pytest.raises(ValueError, match="No stored run of 'm' in 'marked'"):
        stored_runs.runs("marked", "m")


def test_earlier_runs_stand_beside_those_without_the_change(monkeypatch):
    rows = [("a", "as taught", 0.9), ("a", "no positions", 0.7), ("a", "all reviews, long", 0.1), ("b", "wide", 0.2),
            ("a", "no positions", 0.8), ("a", "as taught", 0.95)]  # fmt: skip
    results = [{"model": model, "variant": variant, "distracted": value} for model, variant, value in rows]
    monkeypatch.setattr(earlier_runs, "read", lambda path: {"earlier": {"results": results}})
    (name,), ((changed, taught),) = zip(*earlier_runs.earlier_ablations().items(), strict=True)
    assert name == "a: no positions" and changed.tolist() == [0.7, 0.8] and taught.tolist() == [0.9, 0.95]


def test_the_means_of_does_it_help_s_parts_are_those_of_the_stored_runs():
    stored = [run for run in stored_runs.read(stored_runs.TABLE)["results"] if run["task"] == "front"]
    for name in ("mean pooling", "attention pooling", "keys and one query", "self-attention without values",
                 "self-attention"):  # fmt: skip
        for kind in ("plain", "distracted"):
            accuracies = [run[kind] for run in stored if run["model"] == name]
            mean, half = mean_and_interval(stored_runs.runs("front", name, kind).accuracy)
            spread = math.sqrt(sum((a - mean) ** 2 for a in accuracies) / (len(accuracies) - 1))
            quantile = {5: 2.776, 10: 2.262}[len(accuracies)]  # Student's, .975
            assert mean == pytest.approx(sum(accuracies) / len(accuracies))
            assert half == pytest.approx(quantile * spread / math.sqrt(len(accuracies)), rel=1e-3)

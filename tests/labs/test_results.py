"""Claims about `make results`: what it uses again, when its table is stale, and what a run of lab 11 measures."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import lab_code
import numpy as np
import pytest
import torch

from experiments import grid, record, results, stale


def result(run: grid.Run, plain: float = 0.5) -> dict:
    return asdict(run) | {"plain": plain}


def test_runs_made_by_other_code_or_other_versions_are_not_used_again(tmp_path, monkeypatch):
    path, run = tmp_path / "results.json", results.all_runs()[0]
    record.write(path, {"made_by": stale.made_by(), "results": [result(run)]})
    assert results.finished(path) == {run: result(run)}
    with monkeypatch.context() as other_code:
        other_code.setattr(stale, "SOURCES", stale.SOURCES[:-1])
        assert results.finished(path) == {}
    found = stale.versions()
    for package in stale.PACKAGES:
        with monkeypatch.context() as other:
            other.setattr(stale, "versions", lambda package=package: found | {package: "0.1"})
            assert results.finished(path) == {}


def test_a_damaged_file_of_finished_runs_is_named_and_not_used(tmp_path):
    (tmp_path / "results.json").write_text('{"made_by": "this", "resul')
    with pytest.raises(SystemExit, match="results.json is damaged .* delete it to make all of it again"):
        results.finished(tmp_path / "results.json")


@pytest.mark.parametrize("ends", [OSError(30, "Read-only file system"), KeyboardInterrupt()], ids=repr)
def test_what_cannot_be_written_leaves_what_was_there_and_says_so(tmp_path, monkeypatch, ends):
    def refused(*_):
        raise ends

    record.write(tmp_path / "some.json", {"kept": 1})
    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises((SystemExit, KeyboardInterrupt), match="cannot be written .Read-only file system|^$"):
        record.write(tmp_path / "some.json", {"kept": 2})
    assert record.read(tmp_path / "some.json") == {"kept": 1} and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("folder", ["some", ""])
def test_a_part_stays_in_its_folder_and_says_what_code_it_began_with(tmp_path, monkeypatch, folder):
    """Nothing is trained: a run edits the code in place of that, as somebody may who waits for the table."""
    code, mark = stale.fingerprint(), stale.made_by()

    def perform(run):
        monkeypatch.setattr(stale, "SOURCES", stale.SOURCES[:-1])
        return result(run) | {"distracted": 0.5, "right": {}}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grid, "perform", perform)
    monkeypatch.setattr(results, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    for name in ("FINISHED", "TABLE"):
        monkeypatch.setattr(results, name, tmp_path / name)
    (tmp_path / "TABLE").write_text('{"earlier": []}')
    for name in ("OMP_NUM_THREADS", "TQDM_DISABLE"):  # so that they are as before when this ends
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(sys, "argv", ["results", "--part", "front, TF-IDF", folder])
    results.main()
    assert json.loads((tmp_path / "TABLE").read_text()) == {"earlier": []} and not (tmp_path / "FINISHED").exists()
    kept, table = (json.loads((tmp_path / folder / name).read_text()) for name in ("results.json", "table.json"))
    assert (kept["made_by"], table["made_by"]) == (mark, code) and len(kept["results"]) == 5


def test_the_stored_table_is_whole_and_says_where_it_comes_from():
    stored = json.loads(stale.TABLE.read_text())
    assert set(map(results.run_of, stored["results"])) == set(results.all_runs())
    assert all(stored[name] for name in ("command", "date", "machine", "versions", "data"))


def test_a_table_made_by_other_code_or_versions_is_told_in_a_sentence(tmp_path):
    path = tmp_path / "table.json"
    stored = {"date": "2026-01-31", "made_by": stale.fingerprint(), "versions": stale.versions()}
    path.write_text(json.dumps(stored))
    assert stale.why_stale(path) == ""
    path.write_text(json.dumps(stored | {"made_by": "0"}))
    assert "made on 2026-01-31 by other code: its figures" in stale.why_stale(path)
    path.write_text(json.dumps(stored | {"versions": stale.versions() | {"numpy": "0.1"}}))
    assert "by numpy 0.1: its figures" in stale.why_stale(path)


def test_each_row_has_seeds_of_its_own_on_each_split(monkeypatch):
    monkeypatch.setattr(results, "ROWS", [("marked", "one", "as taught", 7, 2), ("front", "two", "as taught", 1, 0)])
    runs = results.all_runs()
    assert {(run.split, run.seed) for run in runs if run.model == "two"} == {(0, 0)}
    seeds = {split: {run.seed for run in runs if (run.model, run.split) == ("one", split)} for split in (0, 1, 2)}
    assert seeds == {0: set(range(7)), 1: {0, 1}, 2: {0, 1}}
    assert [run.seed for run in runs] == sorted(run.seed for run in runs)


# --- what a run measures -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course():
    return grid.prepared()


def test_another_split_keeps_blocks_whole_and_moves_a_tenth_of_either_label():
    movies = grid.data.load_reviews()
    again = grid.split_anew(movies, 1)
    parts = [again.train, again.validation, again.test]
    blocks = [set(np.array(part.rows) // 50) for part in parts]
    assert not blocks[0] & blocks[1] and not blocks[1] & blocks[2] and not blocks[0] & blocks[2]
    assert [sum(block < 250 for block in each) for each in blocks] == [200, 25, 25]
    old = [movies.train, movies.validation, movies.test]
    assert sorted(row for part in parts for row in part.rows) == sorted(row for part in old for row in part.rows)
    assert set(again.test.rows) != set(movies.test.rows)
    label_of = dict(zip(movies.train.rows, movies.train.labels, strict=True))
    assert all(label_of.get(row, label) == label for row, label in zip(again.test.rows, again.test.labels, strict=True))


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")  # the model that is never wrong
def test_both_marks_of_a_pair_count_and_a_model_that_never_turns_gets_half_of_opposite_labels(course):
    """Whatever a model says, if it says the same to both marks of a pair, it is right once where labels differ."""
    run = grid.Run("marked", "mean pooling", "as taught", 0, 0)
    plain, distracted = grid.example_makers("marked", *map(course.vocabulary.id, ("<SEP>", "<MARK>")))
    pairs = distracted(course.test, 100) + distracted(course.test, 101) + distracted(course.test, 102)
    tests = {"plain": plain(course.test, 0), "distracted": pairs + grid.swap_marks(pairs)}
    random = np.random.default_rng(0)
    stubborn = np.tile(random.integers(0, 2, len(pairs)), 2)
    found = grid.accuracies(run, tests, {"plain": 1 - tests["plain"].labels, "distracted": stubborn})
    assert found["plain"] == 0 and found["opposite"] == 0.5 and found["wrong_alone_too"] == 1
    assert len(found["right"]["plain"]) == len(found["right"]["distracted"]) == len(course.test)
    knowing = grid.accuracies(run, tests, {name: examples.labels for name, examples in tests.items()})
    assert knowing["opposite"] == knowing["equal"] == knowing["distracted"] == 1 and knowing["draws"] == [1, 1, 1]
    assert set(knowing["right"]["distracted"]) == {"6"}


@pytest.mark.parametrize("name", ["2 constant queries", "CNN", "GRU"])
def test_padding_changes_nothing_for_models_that_no_lab_trains(name):
    torch.manual_seed(0)
    net = grid.MODELS[name](50, 3).eval()
    ids = torch.randint(2, 50, (3, 9))
    mask = torch.arange(9) < torch.tensor([9, 5, 2])[:, None]
    with torch.no_grad():
        together, weights = net(ids * mask, mask)
        alone = [
            net(ids[row : row + 1, : mask[row].sum()], mask[row : row + 1, : mask[row].sum()])[0] for row in range(3)
        ]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-6, rtol=0)
    assert weights[~mask].abs().max() == 0 and torch.allclose(weights.sum(dim=1), torch.ones(3))


@pytest.mark.parametrize("twin", ["attention pooling of the course", "class of lab 5"])
def test_constant_queries_are_those_of_the_course_and_of_lab_5(twin):
    torch.manual_seed(0)
    if twin == "class of lab 5":
        ours, other = grid.ConstantQueries(50, 2), lab_code.taught(lab_code.find(5))["ConstantQueries"](50, 2)
    else:
        ours, other = grid.ConstantQueries(50, 1), grid.model.AttentionPooling(50)
    other.load_state_dict(ours.state_dict())
    ids = torch.randint(2, 50, (3, 9))
    mask = torch.arange(9) < torch.tensor([9, 5, 2])[:, None]
    for one, two in zip(ours.eval()(ids, mask), other.eval()(ids, mask), strict=True):
        torch.testing.assert_close(one, two)


def test_the_counts_of_right_answers_are_those_of_the_runs():
    runs = [grid.Run("marked", "one", "as taught", 0, seed) for seed in (0, 1)]
    found = results.judged_right(
        {
            run: {"right": {"plain": plain, "distracted": pairs}}
            for run, plain, pairs in zip(runs, ("01", "11"), ("60", "24"), strict=True)
        },
        [],
    )
    assert [(row["kind"], row["answers"], row["right"]) for row in found] == [
        ("plain", 2, "1 2"),
        ("distracted", 12, "8 4"),
    ]
    third = {grid.Run("marked", "one", "as taught", 0, 2): {"right": {"plain": "10"}}}
    assert results.judged_right(third, found)[0] == found[0] | {"answers": 3, "right": "2 2"}


def test_the_runs_of_a_stored_table_stay_and_nothing_of_one_with_runs_that_nobody_asked_for(tmp_path):
    path, runs = tmp_path / "table.json", results.all_runs()[:2]
    assert results.stored(path, runs, {}) == ({}, [])
    content = {"date": "2026-01-31", "made_by": stale.fingerprint(), "versions": stale.versions()}
    path.write_text(json.dumps(content | {"results": [result(runs[0])], "reviews": [1]}))
    assert results.stored(path, runs, {}) == ({runs[0]: result(runs[0])}, [1])
    assert results.stored(path, runs[1:], {}) == ({}, [])


def test_a_row_of_a_table_of_other_code_stays_only_when_its_runs_made_again_have_its_figures_to_the_digit(tmp_path):
    path, runs = tmp_path / "table.json", [run for run in results.all_runs() if run.seed < 2]
    kept = {run: result(run) | {"cpu_seconds": 1.0} for run in runs}
    again = {run: result(run) | {"cpu_seconds": 2.0, "right": {}} for run in runs}
    first = {run: again[run] for run in runs if run.seed == 0}
    (first_of_one_row, second), later = list(first)[:2], next(run for run in runs if run.seed == 1)
    content = {"date": "2026-01-31", "made_by": "other code", "versions": stale.versions()}
    reviews = [{"task": run.task, "model": run.model} for run in first if (run.variant, run.split) == ("as taught", 0)]
    path.write_text(json.dumps(content | {"results": list(kept.values()), "reviews": reviews}))
    assert results.stored(path, runs, first) == (kept, reviews) == results.stored(path, runs, again)
    assert results.stored(path, runs, {}) == ({}, []), "nothing was made again"
    assert results.stored(path, runs, {run: first[run] for run in first if run != second}) == ({}, [])
    for other in (first_of_one_row, later):
        left, counts = results.stored(path, runs, again | {other: result(other, 0.5001)})
        assert left == {run: kept[run] for run in runs if results.row_of(run) != results.row_of(other)}
        assert counts == [row for row in reviews if (row["task"], row["model"]) != (other.task, other.model)]
    other = next(run for run in first if run.variant != "as taught")
    assert results.stored(path, runs, again | {other: result(other, 0.5001)})[1] == reviews


def test_a_comment_or_a_docstring_makes_no_table_stale_and_a_changed_figure_does(tmp_path):
    path = tmp_path / "code.py"

    def code(text):
        path.write_text(text)
        return stale.code_of(path)

    first = code('"""Lab 4."""\n\nRATE = 0.1  # of lab 4\n\n\ndef f():\n    """One."""\n    return "# 2"\n')
    assert first == code('"""Lab 5."""\nRATE = 0.1\n# more\ndef f():\n    """One,\n    two."""\n    return "# 2"\n')
    assert first != code('"""Lab 4."""\n\nRATE = 0.2\n\n\ndef f():\n    """One."""\n    return "# 2"\n')
    assert first != code('"""Lab 4."""\n\nRATE = 0.1\n\n\ndef f():\n    """One."""\n    return "# 3"\n')

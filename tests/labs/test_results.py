"""Claims about `make results`: it may be stopped at any moment, trusts no damaged line, and tells a stale table."""

import json
import sys

import pytest

from experiments import grid, results, table


def result(run: grid.Run, plain: float = 0.5) -> dict:
    return {"task": run.task, "model": run.model, "variant": run.variant, "seed": run.seed, "plain": plain}


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line.replace(b"0.5", b"0.6"),
        lambda line: line[:20] + line[21:],
        lambda line: b"",
        lambda line: b"\xff" + line,
        lambda line: b"[1, 2] 3",
    ],
    ids=["a changed digit", "a lost byte", "an empty line", "no text", "no result"],
)
def test_a_damaged_line_in_the_middle_is_named_and_not_used(tmp_path, capsys, damage):
    lines, runs = tmp_path / "lines.jsonl", grid.all_runs(1)[:3]
    for run in runs:
        results.append(lines, result(run) | {"made_by": "this"})
    first, middle, last, _ = lines.read_bytes().split(b"\n")
    lines.write_bytes(b"\n".join([first, damage(middle), last, b""]))
    assert results.finished(lines, "this") == {runs[0]: result(runs[0]), runs[2]: result(runs[2])}
    assert "line 2 is damaged: its run is made again" in capsys.readouterr().out


def test_lines_made_by_other_code_or_other_versions_are_not_used_again(tmp_path, monkeypatch):
    lines, run = tmp_path / "lines.jsonl", grid.all_runs(1)[0]
    results.append(lines, result(run) | {"made_by": table.made_by()})
    assert results.finished(lines, table.made_by()) == {run: result(run)}
    with monkeypatch.context() as other_code:
        other_code.setattr(table, "SOURCES", table.SOURCES[:-1])
        assert results.finished(lines, table.made_by()) == {}
    found = table.versions()
    for package in table.PACKAGES:
        with monkeypatch.context() as other:
            other.setattr(table, "versions", lambda package=package: found | {package: "0.1"})
            assert results.finished(lines, table.made_by()) == {}


@pytest.mark.parametrize("part", [["--only", "TF-IDF"], ["--seeds", "1"]])
def test_a_part_of_the_grid_never_replaces_the_whole_table(part, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["results", *part])
    monkeypatch.setattr(results, "finished", lambda *_: pytest.fail("it has begun to run"))
    with pytest.raises(SystemExit):
        results.main()
    assert "add --into FOLDER" in capsys.readouterr().err


def test_the_stored_table_is_whole_and_says_where_it_comes_from():
    stored = json.loads(table.TABLE.read_text())
    found = {grid.Run(row["task"], row["model"], row["variant"], row["seed"]) for row in stored["results"]}
    assert found == set(grid.all_runs())
    assert all(stored[name] for name in ("command", "date", "machine", "versions", "data"))


def test_a_table_made_by_other_code_or_versions_is_told_in_a_sentence(tmp_path):
    path = tmp_path / "table.json"
    stored = {"date": "2026-01-31", "made_by": table.fingerprint(), "versions": table.versions()}
    path.write_text(json.dumps(stored))
    assert table.why_stale(path) == ""
    path.write_text(json.dumps(stored | {"made_by": "0"}))
    assert "made on 2026-01-31 by other code: its figures" in table.why_stale(path)
    path.write_text(json.dumps(stored | {"versions": table.versions() | {"numpy": "0.1"}}))
    assert "by numpy 0.1: its figures" in table.why_stale(path)

"""Claims about book/instructors.md: what it says to write works, and what it says of commands and limits is so.

tests/slow/test_instructors_page_to_the_letter.py types its commands, too.
"""

import json
import shutil
import subprocess
import sys

import exercises
import lab_code
import pytest
from instructors_page import ROOT, follow

from shared import reviews


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the course needs to be read, with the lab that the page adds."""
    root = tmp_path_factory.mktemp("course")
    (root / "labs").mkdir()
    for name in ("_config.yml", "_toc.yml", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, root)
    shutil.copytree(ROOT / "book", root / "book")
    for package in ("shared", "checks"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    follow(root, "## Add a lab in ten minutes")
    return root


def test_the_lab_on_the_page_runs_and_its_check_names_the_mistake(written):
    lab = written / "labs/17_length.md"
    (exercise,) = exercises.read(lab)
    mistake = "cosine_scores = lambda queries, keys: queries @ keys.T"
    answers = [exercise.start, exercise.solution, mistake]
    code = "\n".join(lab_code.cells(lab)) + "\nfound = []\n"
    code += "\n".join(f"{answer}\nfound.append({exercise.check})" for answer in answers)
    code += "\nimport json; print(json.dumps([[verdict.state, verdict.mistake] for verdict in found]))"
    run = subprocess.run([sys.executable, "-c", code], cwd=written, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    states = json.loads(run.stdout.splitlines()[-1])
    assert states == [["not done yet", ""], ["correct", ""], ["wrong", "lengths_left"]]


OWN = "\n".join(f"this film is {'good' if i % 2 else 'bad'} number {i},{i % 2}" for i in range(200))


def test_one_file_switches_every_lab_to_data_of_one_s_own_where_claims_are_not_checked(tmp_path, monkeypatch):
    for name in ("LAB_DATA", "LAB_SCALE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(reviews, "OWN", tmp_path / "reviews.csv")
    assert reviews.start_lab().is_default
    reviews.OWN.write_text(f"\ufefftext,label\n{OWN}", "utf-8")
    settings = reviews.start_lab()
    assert settings.source == "own" and not settings.is_default
    loaded = reviews.load_reviews(settings.source)
    splits = loaded.train, loaded.validation, loaded.test
    assert [len(split) for split in splits] == [160, 20, 20]
    assert sorted(row for split in splits for row in split.rows.tolist()) == list(range(200))


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ("review,label\n" + OWN, "text"),
        ("text,label\ngood,1", "100"),
        ("text,label\n" + OWN.replace(",1", ",5"), "label"),
        ("text,label\n" + OWN.replace("film", "caf\udce9"), "utf-8"),
        (None, "reviews.csv"),
    ],
)
def test_a_table_that_is_not_as_the_page_says_is_refused(tmp_path, monkeypatch, table, word):
    monkeypatch.setattr(reviews, "OWN", tmp_path / "reviews.csv")
    if table is not None:
        reviews.OWN.write_bytes(table.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=word):
        reviews.load_reviews("own")

"""Claims about tokens kept on disk: never a wrong array, whatever happened to the file or the folder."""

import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path

import datasets
import numpy as np
import pytest

from shared import data
from shared.scale import on_disk as disk
from shared.scale.on_disk import kept

ROOT = Path(__file__).resolve().parents[2]
ARRAYS = {
    "ids": np.arange(20, dtype=np.int32),
    "offsets": np.empty(0, dtype=np.int64),
    "words": np.array("some words"),
}


class Maker:
    """Makes the arrays and counts how often it was asked to."""

    def __init__(self, arrays=ARRAYS):
        self.arrays, self.calls = arrays, 0

    def __call__(self):
        self.calls += 1
        return self.arrays


def assert_right(found, expected=ARRAYS):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array), name


def test_arrays_are_made_once_and_then_read_from_the_file(tmp_path):
    make = Maker()
    for _ in range(2):
        found = kept(tmp_path / "some" / "tokens", make)
        assert_right(found)
    assert make.calls == 1
    assert sorted(path.name for path in (tmp_path / "some").iterdir()) == ["tokens", "tokens.lock"]


def test_a_file_cut_off_or_changed_anywhere_never_gives_wrong_arrays(tmp_path):
    """A changed date in the archive does no harm; whatever does is made anew."""
    path, make = tmp_path / "tokens", Maker()
    kept(path, make)
    whole = path.read_bytes()
    places = range(0, len(whole), 7)
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1 if place % 2 else 128
        path.write_bytes(changed)
        assert_right(kept(path, make))
        path.write_bytes(whole[:place])
        calls = make.calls
        assert_right(kept(path, make))
        assert make.calls == calls + 1, f"a file cut off at byte {place} was taken for a whole one"
    assert make.calls > 1.5 * len(places)


def test_a_full_disk_is_answered_with_a_sentence_and_leaves_nothing(tmp_path):
    """The kernel refuses to write beyond a limit, as it does on a full disk, at every stage of the file."""
    path = tmp_path / "tokens"
    (tmp_path / "tokens.partial").write_bytes(b"half")  # what a killed writer left does no harm
    large = ARRAYS | {"ids": np.arange(100_000, dtype=np.int32)}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 10, 70, 5_000, 200_000, 400_500):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(OSError, match="could not be kept in .* Nothing half-written .* HF_HOME"):
                kept(path, Maker(large))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert [left.name for left in tmp_path.iterdir()] == ["tokens.lock"]
    assert_right(kept(path, Maker(large)), large)


@pytest.fixture
def locked_folder():
    """A folder that this process may read but not write; root, who may write anywhere, becomes nobody for the test."""
    folder = Path(tempfile.mkdtemp())
    yield folder
    os.seteuid(os.getuid())
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def lock(folder):
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_a_read_only_folder_serves_what_it_holds(locked_folder):
    kept(locked_folder / "tokens", Maker())
    lock(locked_folder)
    make = Maker()
    assert_right(kept(locked_folder / "tokens", make))
    assert make.calls == 0


@pytest.mark.parametrize("content", [None, b"damaged"])
def test_a_read_only_folder_without_a_good_file_is_answered_with_a_sentence(locked_folder, content):
    path = locked_folder / "tokens"
    if content is not None:
        path.write_bytes(content)
    lock(locked_folder)
    with pytest.raises(OSError, match="could not be kept in .* Permission denied.* HF_HOME"):
        kept(path, Maker())


def test_processes_that_start_at_once_make_the_file_once_and_all_read_it(tmp_path):
    def make():
        with (tmp_path / "made").open("a") as file:
            file.write("x")
        time.sleep(0.5)  # long enough for the other to come and wait
        return ARRAYS

    fork = multiprocessing.get_context("fork")
    running = [fork.Process(target=lambda: assert_right(kept(tmp_path / "tokens", make))) for _ in range(2)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    assert [process.exitcode for process in running] == [0, 0]
    assert (tmp_path / "made").read_text() == "x"


# --- reviews whose texts and tokens lie on disk ------------------------------------------------------------------


@pytest.fixture
def on_disk(tmp_path, monkeypatch):
    """A function that loads made reviews from an Arrow data set; its tokens are kept in `tmp_path`."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    random = np.random.default_rng(0)
    words = np.array([f"word{'abcdefghijklmnopqrstuvwxyz'[i % 26]}{'xyz'[i % 3]}" for i in range(60)])
    texts = [" ".join(random.choice(words, random.integers(1, 30))) + "\\nend" for _ in range(600)]
    labels = random.integers(0, 2, 600).tolist()
    datasets.Dataset.from_dict({"text": texts, "label": labels}).save_to_disk(tmp_path / "texts")

    def load():
        whole = datasets.load_from_disk(tmp_path / "texts")
        parts = [whole.select(range(*limits)) for limits in ((0, 400), (400, 500), (500, 600))]
        return disk.reviews_on_disk(*parts, "made")

    load.texts = [text.replace("\\n", " ") for text in texts]
    load.labels = labels
    return load


def test_reviews_on_disk_give_the_batches_that_reviews_in_memory_give(on_disk):
    parts = [data.tokenized(on_disk.texts[a:b], on_disk.labels[a:b]) for a, b in ((0, 400), (400, 500), (500, 600))]
    texts = on_disk().train.texts
    assert list(texts) == on_disk.texts[:400] and texts[7] == on_disk.texts[7]
    in_memory = data.prepare_reviews(data.Reviews(*parts, "made"), cut=20)
    for prepared in (data.prepare_reviews(on_disk(), cut=20), data.prepare_reviews(on_disk(), cut=20)):
        assert prepared.vocabulary.words == in_memory.vocabulary.words
        for name in ("train", "validation", "test"):
            ours = data.batches(data.examples_with_distractors(getattr(prepared, name), 1), 64, seed=2)
            theirs = data.batches(data.examples_with_distractors(getattr(in_memory, name), 1), 64, seed=2)
            for one, other in zip(ours, theirs, strict=True):
                assert one.ids.equal(other.ids) and one.mask.equal(other.mask) and one.labels.equal(other.labels)


def test_tokens_are_made_once_and_anew_when_the_rule_changes(on_disk, monkeypatch):
    calls = []
    tokenize_all = disk.tokenize_all
    monkeypatch.setattr(disk, "tokenize_all", lambda texts: calls.append(len(texts)) or tokenize_all(texts))
    on_disk(), on_disk()
    assert calls == [400, 100, 100]
    monkeypatch.setattr(disk, "RULE", disk.RULE + 1)
    on_disk()
    assert calls == [400, 100, 100] * 2


@pytest.mark.parametrize(
    ("text", "label", "sentence"),
    [("bad", 2, "The label in row 1 is 2; a label is 0"), (None, 0, "The text in row 1 is NoneType, not str")],
)
def test_a_wrong_label_or_a_blank_on_disk_gets_a_sentence_and_no_tokens(on_disk, tmp_path, text, label, sentence):
    wrong = datasets.Dataset.from_dict({"text": ["good", text], "label": [1, label]})
    with pytest.raises((TypeError, ValueError), match=sentence):
        disk.reviews_on_disk(wrong, wrong, wrong, "made")
    assert not list(tmp_path.rglob("*.tokens"))


def test_the_page_shows_how_to_bring_your_own_reviews(tmp_path, monkeypatch):
    page = (ROOT / "book/scaling.md").read_text()
    code = page[page.index("from datasets import load_dataset") :].partition("```")[0]
    rows = [f"good film number {'abcdefghij'[i % 10]},{i % 2}" for i in range(100)]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hub")
    monkeypatch.chdir(tmp_path)
    exec(code, left := {})
    assert [len(part) for part in (left["data"].train, left["data"].validation, left["data"].test)] == [80, 10, 10]
    assert list((tmp_path / "hub").rglob("*.tokens"))

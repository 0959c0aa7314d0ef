"""Claims about the course's own language model: its stored weights, and how texts are continued."""

import math
from types import SimpleNamespace

import pytest
import torch

from shared import review_writer
from shared.model import causal_mask
from shared.review_writer import START, ReviewWriter, continue_text, most_probable, window


@pytest.fixture(scope="module")
def loaded():
    return review_writer.load()


def test_the_stored_model_prefers_words_to_noise_and_its_files_are_under_4_mb(loaded):
    model, tokenizer = loaded
    losses = []
    for text in (
        "I have to say that this is one of the best movies I have ever seen.",
        "seen ever the of I say movies is",
    ):
        ids = torch.tensor([[START, *tokenizer.encode(text).ids]])
        losses.append(torch.nn.functional.cross_entropy(model(ids[:, :-1])[0], ids[0, 1:]).item())
    assert losses[0] < 4 < losses[1]
    assert sum(file.stat().st_size for file in (review_writer.WEIGHTS, review_writer.TOKENIZER)) < 4e6


def test_a_later_token_changes_no_earlier_logits(loaded):
    model, _ = loaded
    ids = torch.randint(1, 4096, (1, 12), generator=torch.Generator().manual_seed(0))
    changed = ids.clone()
    changed[0, -1] = (ids[0, -1] + 1) % 4096
    logits, weights = model.read(ids)
    torch.testing.assert_close(model(changed)[:, :-1], logits[:, :-1])
    assert all((of_block.masked_select(~causal_mask(12)) == 0).all() for of_block in weights)


def test_top_k_and_top_p_keep_the_most_probable_tokens():
    logits = torch.tensor([0.1, 0.5, 0.15, 0.25]).log()
    assert most_probable(logits, top_k=2).isfinite().tolist() == [False, True, False, True]
    assert most_probable(logits, top_p=0.6).isfinite().tolist() == [False, True, False, True]
    assert most_probable(logits, top_p=0.5).isfinite().tolist() == [False, True, False, False]
    assert torch.equal(most_probable(logits), logits)


def test_the_seed_chooses_the_text_and_temperature_0_takes_the_most_probable_token(loaded):
    model, tokenizer = loaded
    texts = {continue_text(model, tokenizer, "This", 8, seed=seed) for seed in (0, 0, 1, 2)}
    assert 1 < len(texts) <= 3 and all(text.startswith("This") for text in texts)
    greedy = continue_text(model, tokenizer, "This", 8, temperature=0)
    assert greedy == continue_text(model, tokenizer, "This", 8, top_k=1, seed=5)


@pytest.mark.parametrize("beginning", ["", "\U0001f3ac <b>\u05e1\u05e8\u05d8</b>", "film " * 400])
def test_any_beginning_is_continued(loaded, beginning):
    text = continue_text(*loaded, beginning, 3)
    assert text.startswith(beginning)


@pytest.mark.parametrize("wrong", [{"temperature": -1}, {"top_k": 0}, {"top_p": 0}, {"top_p": 1.5}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="top_k of 1"):
        continue_text(ReviewWriter(8, 12, 2, 1), None, **wrong)


def test_the_window_holds_the_start_token_and_the_end_of_the_text_and_moves_in_steps():
    text = list(range(1, 400))
    seen = {n: window(text[:n]) for n in (0, 1, 127, 128, 191, 192, 399)}
    assert {n: len(ids) for n, ids in seen.items()} == {0: 1, 1: 2, 127: 128, 128: 65, 191: 128, 192: 65, 399: 80}
    assert all(ids[0] == START and ids[1:] == text[:n][len(text[:n]) - len(ids) + 1 :] for n, ids in seen.items())


class Letters:
    """A model and its tokenizer: a, b and c follow with these probabilities, whatever came before."""

    LOGITS = torch.tensor([0.02, 0.5, 0.3, 0.18]).log()  # of START, a, b, c

    def __call__(self, ids):
        return self.LOGITS.expand(*ids.shape, 4)

    def encode(self, text):
        return SimpleNamespace(ids=[1 + "abc".index(letter) for letter in text])

    def decode(self, ids):
        return "".join("abc"[number - 1] for number in ids)


@pytest.mark.parametrize(
    ("temperature", "top_k", "written"),
    [(0.5, None, "a"), (1, None, "ab"), (4, None, "abc"), (4, 2, "ab"), (0.5, 2, "a"), (1, 3, "ab")],
)
def test_the_temperature_divides_before_top_p_chooses(temperature, top_k, written):
    """A loop over the tokens: the fewest that reach 0.65 at this temperature, at most top_k."""
    powers = [math.exp(logit / temperature) for logit in Letters.LOGITS.tolist()]
    reached, tokens = 0.0, []
    for token in sorted(range(4), key=lambda token: -powers[token])[:top_k]:
        if reached < 0.65:
            tokens.append(token)
        reached += powers[token] / sum(powers)
    assert Letters().decode(tokens) == written
    text = continue_text(Letters(), Letters(), "c", 60, temperature, top_k, top_p=0.65)
    assert len(text) == 61 and set(text[1:]) == set(written)


def test_rounding_to_int8_and_back_moves_a_number_by_half_a_step_at_most():
    torch.manual_seed(0)
    state = {"matrix": torch.randn(5, 40) * torch.logspace(-3, 3, 5)[:, None], "zeros": torch.zeros(2, 3)}
    state |= {"bias": torch.randn(7)}
    rounded = review_writer.round_to_int8(state)
    assert rounded["matrix"].dtype == rounded["zeros"].dtype == torch.int8
    restored = review_writer.restore(rounded)
    assert restored.keys() == state.keys()
    assert torch.equal(restored["bias"], state["bias"]) and torch.equal(restored["zeros"], state["zeros"])
    for row, numbers in enumerate(state["matrix"]):
        step = float(numbers.abs().max()) / 127
        assert float((restored["matrix"][row] - numbers).abs().max()) <= 0.5001 * step


def test_a_review_ends_where_the_model_says_so(monkeypatch):
    monkeypatch.setattr(Letters, "LOGITS", torch.tensor([0.6, 0.3, 0.1, 0.0]).log())  # the start token ends a review
    assert continue_text(Letters(), Letters(), "ab", 60, temperature=0) == "ab"
    texts = [continue_text(Letters(), Letters(), "c", 60, temperature=1, seed=seed) for seed in range(20)]
    assert max(map(len, texts)) < 20 and {text[1:2] for text in texts} == {"", "a", "b"}

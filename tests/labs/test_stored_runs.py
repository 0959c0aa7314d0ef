"""Scripts whose results labs read: what they train on, what they measure, and which epoch they report, by loops.

Nothing is trained here for longer than a step; that each run is stored, the labs' own tests say.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torchrun_training
from torch import nn

from experiments import table_runs, train_review_writer
from labs.a_language_model import notepad, reviews_as_tokens, stages
from labs.a_language_model import runs as language_models
from labs.a_language_model.counting import kneser_ney
from labs.a_pretrained_model import runs as frozen_features
from labs.the_kv_cache import runs as shared_heads
from shared import data, pretrained_model, reviews, training
from shared.language_model import LanguageModel

# --- *The KV cache* -------------------------------------------------------------------------------------------------


def ids(count, highest, seed):
    return torch.randint(highest, (count,), generator=torch.Generator().manual_seed(seed))


def test_a_window_s_targets_are_the_words_one_place_later_and_rare_words_are_unknown():
    text = torch.arange(100)
    seen, following = shared_heads.windows(text, 50, torch.Generator().manual_seed(0))
    assert torch.equal(following, seen + 1) and (seen[:, 1:] == following[:, :-1]).all()
    assert seen.shape == (50, shared_heads.CONTEXT) and following.max() < 100
    assert shared_heads.stream(np.array([5, 999, 1000, 4000])).tolist() == [5, 999, data.UNK, data.UNK]


@pytest.mark.parametrize(("heads", "numbers"), [(4, 256), (1, 64)])
def test_the_loss_is_that_of_known_words_of_held_out_text_and_keys_and_values_are_counted(heads, numbers, monkeypatch):
    """Without a step the model is known: the mean over all words of its windows that are not unknown."""
    models = []
    monkeypatch.setattr(shared_heads, "STEPS", 0)
    monkeypatch.setattr(
        shared_heads, "LanguageModel", lambda *a, **b: models.append(LanguageModel(*a, **b)) or models[-1]
    )
    held_out = torch.where(ids(200, 4, 1) == 0, data.UNK, ids(200, 1000, 2))
    found = shared_heads.train_and_measure(heads, 0, ids(300, 1000, 3), held_out)
    losses = []
    for start in range(0, len(held_out) - shared_heads.CONTEXT, shared_heads.CONTEXT):
        with torch.no_grad():
            probs = models[0](held_out[None, start : start + shared_heads.CONTEXT])[0].log_softmax(dim=1)
        for place, word in enumerate(held_out[start + 1 : start + shared_heads.CONTEXT + 1].tolist()):
            if word != data.UNK:
                losses.append(-float(probs[place, word]))
    assert found["loss"] == pytest.approx(np.mean(losses), abs=1e-3)
    assert found["cached_numbers_per_token"] == numbers  # of keys and of values, in two blocks, 16 a head


# --- *A pretrained model* -------------------------------------------------------------------------------------------


def test_frozen_features_are_those_of_the_words_in_their_places_and_not_of_the_special_tokens(monkeypatch):
    def read(text):
        """Each token's hidden state says which word it is, 0 for [CLS] and [SEP]."""
        return torch.tensor([[0.0, 0.0], *([float(word), 1.0] for word in text.split()), [0.0, 0.0]]), None

    fake = SimpleNamespace(config={"hidden_size": 2}, read=read)
    monkeypatch.setattr(pretrained_model, "load", lambda: fake)
    texts = [["7 8", "9"], ["5 6 7"], ["4", "3 2"]]
    parts = [SimpleNamespace(texts=part, labels=np.arange(len(part))) for part in texts]
    encoded, table = frozen_features.frozen(parts)
    for part, given in zip(encoded, texts, strict=True):
        assert part.vocabulary_size == len(table) == 1 + 9
        for row, text in enumerate(given):
            assert table[part[row].tolist()].tolist() == [[float(word), 1.0] for word in text.split()]
    every = np.concatenate([part.ids for part in encoded])
    assert sorted(every) == [*range(1, 10)] and not table[0].any()


# --- *A language model* ---------------------------------------------------------------------------------------------


def test_counting_is_tuned_on_validation_texts_and_reported_on_test_texts(monkeypatch):
    """Validation follows the training stream and the test does not, so tuned on the test it would choose otherwise."""
    monkeypatch.setattr(language_models, "SCALES", (0.2, 1.0, 1.6))
    monkeypatch.setattr(language_models, "ORDERS", (2, 3))
    stream = torch.cat([torch.tensor([0, *row]) for row in ids(1200, 3, 0).view(100, 12).add(1).sort(dim=1).values])
    validation, test = stream[: 13 * 8].view(8, 13), ids(104, 4, 9).view(8, 13)
    found = language_models.best_counting(stream, validation, test, 4)

    def by_loops(texts, order, scale):
        losses = []
        for text in texts.tolist():
            padded = [0] * (order - 2) + text
            grams = np.array([padded[end - order : end] for end in range(order, len(padded) + 1)])
            losses.append(-np.log(kneser_ney(stream.numpy(), grams, 4, scale=scale)).mean())
        return losses

    losses = {
        (order, scale): np.mean(by_loops(validation, order, scale)) for order in (2, 3) for scale in (0.2, 1.0, 1.6)
    }
    on_test = {pair: np.mean(by_loops(test, *pair)) for pair in losses}
    assert min(losses, key=losses.get) != min(on_test, key=on_test.get), "else the two could not be told apart"
    assert (found["order"], found["scale"]) == min(losses, key=losses.get)
    for order in (2, 3):
        scale = min((0.2, 1.0, 1.6), key=lambda scale, order=order: losses[order, scale])
        assert found["test"][order][0] == pytest.approx(on_test[order, scale], abs=1e-3)
        assert found["validation"][order]["1.0"] == pytest.approx(losses[order, 1.0], abs=1e-3)


@pytest.mark.parametrize("muon", [False, True])
def test_the_rate_rises_to_its_highest_value_and_falls_to_almost_nothing(muon):
    """As OneCycleLR has it: half a cosine up from 1/25 in 15% of the steps, and half a cosine down."""
    torch.manual_seed(0)
    model = LanguageModel(stages.TOKENS, d_model=8, num_heads=1, num_blocks=1)
    run = stages.Training(model, ids(500, stages.TOKENS, 0), stages.Stage(1, 16, muon=muon, steps=20), 0)
    rates = []
    for _ in range(20):
        rates.append([optimizer.param_groups[0]["lr"] for optimizer in run.optimizers])
        run.step()
    for highest, found in zip((stages.RATE, stages.MUON_RATE), zip(*rates, strict=True), strict=False):
        up = 0.15 * 21 - 1
        for step, rate in enumerate(found):
            low, part = (1 / 25, step / up) if step <= up else (1 / 25 / 1e4, 1 - (step - up) / (20 - up))
            assert rate == pytest.approx(highest * (low + (1 - low) * (1 - math.cos(math.pi * part)) / 2), rel=1e-3)


def test_on_the_notepad_the_rate_rises_and_falls_too(monkeypatch):
    monkeypatch.setattr(notepad, "STEPS", 20)
    rates, step = [], torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step",
                        lambda self, *a: rates.append(self.param_groups[0]["lr"]) or step(self, *a))  # fmt: skip
    notepad.fit(LanguageModel(len(notepad.WORDS), d_model=8, num_heads=1, num_blocks=1), 0)
    assert len(rates) == 20 and max(rates) > 0.95 * notepad.RATE > 20 * min(rates) and rates.index(max(rates)) < 5


@pytest.mark.parametrize("split", [reviews_as_tokens.split_reviews, train_review_writer.texts])
def test_neighbours_stay_in_one_part_and_a_text_that_is_there_twice_is_in_one_part_alone(split, monkeypatch):
    """Rows of a block of fifty have one part, that of `movie_parts`; a text has the part of its first row."""
    labels = [0] * 1000 + [1] * 1000
    texts = [f"text {row}" if row % 100 else "again" for row in range(2000)]
    for module in (reviews_as_tokens, train_review_writer):
        monkeypatch.setattr(module, "read_movies", lambda: (texts, labels))
    parts = split()
    part_of = reviews.movie_parts(np.array(labels)).tolist()
    for number, part in enumerate(parts):
        assert {part_of[texts.index(text)] for text in part} == {number}
    everything = sum(parts, [])
    assert len(everything) == len(set(everything)) == len(set(texts)) and min(map(len, parts)) > 100


# --- *Does it help?* ------------------------------------------------------------------------------------------------


def test_a_run_reports_the_epoch_that_validation_chose(monkeypatch):
    """A training whose second of three epochs is the best; before each measurement the model gets another bias."""
    source = torchrun_training.reviews()
    vocabulary = data.Vocabulary([str(number) for number in range(source.vocabulary_size)])
    prepared = data.PreparedReviews(source, source, source, vocabulary, "")
    monkeypatch.setattr(table_runs, "prepared", lambda: prepared)

    def fit(net, examples, validation, recipe, seed, after_epoch):
        for epoch, bias in enumerate((-9.0, 9.0, 0.0), start=1):
            nn.init.constant_(net.output.bias, bias)
            after_epoch({"epoch": epoch})
        return training.History(tuple({"epoch": float(epoch)} for epoch in (1, 2, 3)), 2)

    monkeypatch.setattr(training, "fit", fit)
    found = table_runs.train_and_measure(table_runs.Run("front", "mean pooling", 0))
    positive = source.labels.mean()
    assert found["best_epoch"] == 2 and len(found["epochs"]) == 3
    assert found["plain"] == found["epochs"][1]["plain"] == pytest.approx(positive, abs=1e-4)
    assert found["epochs"][0]["plain"] == pytest.approx(1 - positive, abs=1e-4)
    assert found["plain"] != found["epochs"][2]["plain"], "else any epoch would do"


def test_accuracies_are_counted_pair_by_pair_and_review_by_review():
    source = torchrun_training.reviews()
    draws = [data.distracted_examples(source, seed) for seed in (1, 2, 3)]
    tests = {"plain": data.plain_examples(source), "distracted": draws[0] + draws[1] + draws[2]}
    chance, size = np.random.default_rng(0), len(source)
    right = {"plain": chance.random(size) < 0.8, "distracted": chance.random(3 * size) < 0.6}
    found = table_runs.accuracies(tests, right)
    kinds, wrong, by_review, by_draw = {True: [], False: []}, [], [0] * size, [[], [], []]
    for row, correct in enumerate(right["distracted"].tolist()):
        own, other = row % size, draws[row // size].distractor_rows[row % size]
        kinds[bool(source.labels[own] != source.labels[other])].append(correct)
        by_draw[row // size].append(correct)
        by_review[own] += correct
        if not correct:
            wrong.append(not right["plain"][own])
    for name, counted in (("opposite", kinds[True]), ("equal", kinds[False]), ("wrong_alone_too", wrong)):
        assert found[name] == pytest.approx(np.mean(counted), abs=1e-4), name
    assert found["draws"] == pytest.approx([np.mean(draw) for draw in by_draw], abs=1e-4)
    assert found["right"]["distracted"] == "".join(map(str, by_review))

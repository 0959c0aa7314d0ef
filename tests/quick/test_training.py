"""Claims about fitting and measuring, on a made task that a small model learns in a second."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch
import torchrun_training
from torch import nn

from shared.cafe import CafeModel
from shared.data import examples_with_distractors, plain_examples
from shared.intervals import mean_and_interval
from shared.language_model import LanguageModel
from shared.model import MeanPooling, TokenEmbedding
from shared.review_writer import ReviewWriter
from shared.training import Recipe, evaluate, fit

RECIPE = Recipe(epochs=3, learning_rate=0.05, batch_size=16)


@pytest.fixture(scope="module")
def reviews():
    return torchrun_training.reviews()


def made_model(reviews, seed=0):
    torch.manual_seed(seed)
    return MeanPooling(reviews.vocabulary_size)


def test_a_model_learns_and_its_history_says_so(reviews):
    model = made_model(reviews)
    history = fit(model, lambda epoch: plain_examples(reviews), plain_examples(reviews), RECIPE)
    assert [record["epoch"] for record in history.epochs] == [1, 2, 3]
    assert history.epochs[-1]["train_loss"] < history.epochs[0]["train_loss"]
    assert evaluate(model, plain_examples(reviews)).accuracy > 0.95


def test_the_same_seeds_give_the_same_history(reviews):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    runs = []
    for seed in (0, 0, 1):
        model = made_model(reviews, seed=seed)
        training = functools.partial(examples_with_distractors, reviews)
        runs.append(fit(model, training, plain_examples(reviews), RECIPE, seed))
    torch.set_num_threads(threads)
    assert runs[0] == runs[1] != runs[2]


def test_the_weights_kept_are_those_of_the_best_epoch(reviews):
    model = made_model(reviews)
    validation = plain_examples(reviews)
    upside_down = plain_examples(replace(reviews, labels=1 - reviews.labels))
    history = fit(model, lambda epoch: upside_down if epoch == 3 else validation, validation, RECIPE)
    assert history.best_epoch == 2  # the third epoch taught the wrong labels
    best = history.epochs[history.best_epoch - 1]
    assert best["validation_accuracy"] == max(record["validation_accuracy"] for record in history.epochs)
    assert evaluate(model, validation).loss == pytest.approx(best["validation_loss"], abs=1e-6)


def test_of_equal_epochs_the_last_one_is_kept(reviews):
    model, weights = made_model(reviews), []
    alike = plain_examples(replace(reviews, labels=np.ones_like(reviews.labels)))  # soon all are right
    history = fit(
        model, lambda epoch: alike, alike, RECIPE, after_epoch=lambda _: weights.append(model.output.bias.clone())
    )
    assert [record["validation_accuracy"] for record in history.epochs] == [1, 1, 1]
    assert history.best_epoch == 3 and torch.equal(model.output.bias, weights[2]) and weights[2] != weights[1]


def test_a_loss_that_is_not_a_number_stops_the_run_with_a_reason(reviews):
    model = made_model(reviews)
    nn.init.constant_(model.output.bias, float("nan"))
    with pytest.raises(FloatingPointError, match="became nan in epoch 1"):
        fit(model, lambda epoch: plain_examples(reviews), plain_examples(reviews), RECIPE)


def test_evaluation_counts_what_it_says(reviews):
    examples = examples_with_distractors(reviews, seed=5)
    model = made_model(reviews)
    result = evaluate(model, examples, batch_size=7)
    right = (result.logits > 0) == examples.labels
    assert result.accuracy == pytest.approx(right.mean())
    # mean pooling: the attention on the labeled review is its fraction of the tokens
    own, other = examples.part_lengths
    assert result.attention_on_target == pytest.approx(np.mean(own / (own + other)), abs=1e-6)
    losses = np.log1p(np.exp(result.logits)) - examples.labels * result.logits
    assert result.loss == pytest.approx(losses.mean(), abs=1e-5)


def test_the_interval_is_students():
    mean, half = mean_and_interval([1.0, 2.0, 3.0])
    assert mean == pytest.approx(2.0)
    assert half == pytest.approx(4.3027 / np.sqrt(3), abs=1e-3)  # t(.975, 2) = 4.3027
    with pytest.raises(ValueError, match="two runs or more; 1 given"):
        mean_and_interval([1.0])


class Watched(MeanPooling):
    """Notes the batches that it is trained on, and whether it measures in evaluation mode."""

    def __init__(self, vocabulary_size):
        super().__init__(vocabulary_size)
        self.trained: list[list] = []
        self.measured_in_training: list[bool] = []

    def forward(self, ids, mask):
        if torch.is_grad_enabled():
            self.trained.append(ids.tolist())
        else:
            self.measured_in_training.append(self.training)
        return super().forward(ids, mask)


def test_the_batches_of_two_epochs_hold_the_same_reviews_in_another_order(reviews):
    model = Watched(reviews.vocabulary_size)
    fit(model, lambda epoch: plain_examples(reviews), plain_examples(reviews), RECIPE)
    each = len(model.trained) // 3
    epochs = [model.trained[each * epoch : each * (epoch + 1)] for epoch in range(3)]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    texts = [sorted(tuple(word for word in text if word) for batch in epoch for text in batch) for epoch in epochs]
    assert (
        texts[0]
        == texts[1]
        == texts[2]
        == sorted(tuple(text.tolist()) for text in map(reviews.__getitem__, range(193)))
    )


def test_training_has_dropout_and_measuring_has_none(reviews):
    model = Watched(reviews.vocabulary_size)
    fit(model, lambda epoch: plain_examples(reviews), plain_examples(reviews), RECIPE)
    model.train()
    one, two = (evaluate(model, plain_examples(reviews)).loss for _ in range(2))
    assert one == two and model.training  # as it was before
    assert len(model.measured_in_training) == 10 and not any(model.measured_in_training)


def test_dropout_leaves_of_a_token_s_entry_nothing_or_twice_embedding_and_position():
    torch.manual_seed(0)
    embedding, ids = TokenEmbedding(50, dropout=0.5).train(), torch.arange(50)[None]
    whole, dropped = embedding.eval()(ids), embedding.train()(ids)
    left = dropped != 0
    torch.testing.assert_close(dropped[left], 2 * whole[left])
    assert 0.4 < left.float().mean() < 0.6


def test_embeddings_begin_small_beside_their_positions():
    torch.manual_seed(0)
    embedding = MeanPooling(5000, 16).embedding
    assert float(embedding.table.weight.detach().std()) == pytest.approx(0.1, rel=0.02)
    assert float(embedding.positions.square().sum(dim=1).mean()) == pytest.approx(8)  # sin² + cos² of eight pairs


class Interrupted(MeanPooling):
    """Ctrl-C while it learns from its batch number `at`."""

    def __init__(self, vocabulary_size, at):
        super().__init__(vocabulary_size)
        self.left = at

    def forward(self, ids, mask):
        self.left -= torch.is_grad_enabled()
        if self.left == 0:
            raise KeyboardInterrupt
        return super().forward(ids, mask)


@pytest.mark.parametrize(("at", "epochs"), [(5, 0), (16, 1), (29, 2)])  # of 13 batches in each epoch
def test_control_c_leaves_the_best_epoch_so_far_and_no_dropout(reviews, at, epochs, capsys):
    torch.manual_seed(0)
    model, weights = Interrupted(reviews.vocabulary_size, at), []
    examples = plain_examples(reviews)
    history = fit(
        model,
        lambda epoch: examples,
        examples,
        RECIPE,
        after_epoch=lambda _: weights.append(model.output.weight.clone()),
    )
    assert len(history.epochs) == epochs and not model.training
    assert f"after {epochs} of 3 epochs" in capsys.readouterr().out
    if epochs:
        assert torch.equal(model.output.weight, weights[history.best_epoch - 1])
    else:
        assert history.best_epoch == 0


def test_an_epoch_takes_the_steps_of_a_plain_loop(reviews):
    examples, model, plain = plain_examples(reviews), made_model(reviews), made_model(reviews)
    history = fit(model, lambda epoch: examples, examples, Recipe(1, 0.05, 16), seed=3)
    optimizer, losses, right = torch.optim.Adam(plain.parameters(), lr=0.05), [], 0
    torch.manual_seed(3)  # of dropout
    for rows in examples.batch_rows(16, seed=3001):
        ids = nn.utils.rnn.pad_sequence([torch.tensor(examples[row]) for row in rows], batch_first=True)
        labels = torch.tensor(reviews.labels[rows])
        logits = plain(ids.long(), ids > 0)[0]
        each = nn.functional.softplus(torch.where(labels == 1, -logits, logits))
        optimizer.zero_grad()
        each.mean().backward()
        optimizer.step()
        losses += each.tolist()
        right += sum(bool(logit > 0) == bool(label) for logit, label in zip(logits, labels, strict=True))
    torch.testing.assert_close(model.state_dict(), plain.state_dict(), rtol=1e-4, atol=1e-5)
    (record,) = history.epochs
    assert record["train_accuracy"] == pytest.approx(right / 193) and 0.5 < right / 193 < 1
    assert record["train_loss"] == pytest.approx(np.mean(losses), abs=1e-5)


@pytest.mark.parametrize(
    ("tables", "std"),
    [
        (lambda: [LanguageModel(1000).embedding.table], 0.5),
        (lambda: [ReviewWriter(1000, num_blocks=1).embedding], 0.05),
        (lambda: [getattr(CafeModel(nn.Identity(), 4096), name) for name in ("name", "friend", "drink")], 1 / 64),
    ],
    ids=["language model", "review writer", "café"],
)
def test_embeddings_begin_on_the_scale_that_was_chosen_for_their_model(tables, std):
    torch.manual_seed(0)
    for table in tables():
        assert float(table.weight.detach().std()) == pytest.approx(std, rel=0.03)

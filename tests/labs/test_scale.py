"""Claims of *Scale*: gradients and layers computed another way, and stored runs that belong to its settings."""

import math

import numpy as np
import pytest
import torch

import checks
from labs.scale import crowd, exercises, runs
from shared import cafe, model, record


def small(count=2, tokens=4, d_k=3, d_v=5):
    generator = torch.Generator().manual_seed(3)
    widths = (d_k, d_k, d_v, d_v)
    return [torch.randn(count, tokens, d, generator=generator, dtype=torch.float64) for d in widths]


def test_the_gradients_step_by_step_are_those_of_autograd():
    given = small()
    for ours, right in zip(exercises.gradients(*given), exercises.by_autograd(*given), strict=True):
        torch.testing.assert_close(ours, right)


def by_the_jacobian(queries, keys, values, grad_output):
    A = (torch.einsum("bid,bjd->bij", queries, keys) / keys.shape[-1] ** 0.5).softmax(-1)
    jacobians = torch.diag_embed(A) - torch.einsum("bij,bik->bijk", A, A)
    of_weights = torch.einsum("bid,bjd->bij", grad_output, values)
    of_scores = torch.einsum("bijk,bik->bij", jacobians, of_weights) / keys.shape[-1] ** 0.5
    return [of_scores @ keys, torch.einsum("bij,bid->bjd", of_scores, queries), A.mT @ grad_output]


def token_by_token(queries, keys, values, grad_output):
    of_queries, of_keys, of_values = map(torch.zeros_like, (queries, keys, values))
    root = math.sqrt(queries.shape[-1])
    for b, i in np.ndindex(queries.shape[:2]):
        a = (keys[b] @ queries[b, i] / root).softmax(0)
        g = values[b] @ grad_output[b, i]
        for j in range(len(a)):
            of_score = a[j] * (g[j] - a @ g) / root
            of_queries[b, i] += of_score * keys[b, j]
            of_keys[b, j] += of_score * queries[b, i]
            of_values[b, j] += a[j] * grad_output[b, i]
    return of_queries, of_keys, of_values


def with_the_output(queries, keys, values, grad_output):
    """As FlashAttention does: the weighted mean of a row is the product of its output and the output's gradient."""
    root = math.sqrt(queries.shape[-1])
    weights = torch.softmax(queries / root @ keys.transpose(1, 2), dim=2)
    mean = (grad_output * (weights @ values)).sum(-1)
    of_scores = weights * (torch.bmm(grad_output, values.transpose(1, 2)) - mean[:, :, None]) / root
    return torch.bmm(of_scores, keys), torch.bmm(of_scores.transpose(1, 2), queries), (grad_output.mT @ weights).mT


@pytest.mark.parametrize("answer", [by_the_jacobian, token_by_token, with_the_output])
def test_a_backward_pass_in_another_style_is_right(answer):
    verdict = checks.attention_backward(answer)
    assert verdict.state == "correct", verdict.sentence
    for ours, right in zip(answer(*small()), exercises.by_autograd(*small()), strict=True):
        torch.testing.assert_close(ours, right)


def test_a_typical_gradient_first_rises_with_the_width_then_falls_and_with_the_division_stays():
    """By autograd, with other vectors than the lab's."""

    def median_and_top_tenth(d_k, divisor):
        torch.manual_seed(d_k + 1)
        queries, keys = torch.randn(2, 10, 100, d_k)
        values, grad_output = torch.randn(2, 10, 100, 16)
        output = (queries.requires_grad_() @ keys.mT / divisor).softmax(dim=2) @ values
        lengths = torch.autograd.grad(output, queries, grad_output)[0].norm(dim=2).flatten()
        squares = lengths.square().sort(descending=True).values
        return lengths.median().item(), (squares[:100].sum() / squares.sum()).item()

    widths = (1, 16, 1024)
    raw, divided = ([median_and_top_tenth(d_k, root(d_k)) for d_k in widths] for root in (lambda _: 1, math.sqrt))
    assert raw[0][0] < 0.8 * raw[1][0] and raw[2][0] < 0.2 * raw[1][0]
    assert max(median for median, _ in divided) < 2 * min(median for median, _ in divided)
    assert raw[2][1] > 0.8 and divided[2][1] < 0.3


def test_the_weight_of_a_friend_is_the_softmax_of_the_first_scores_at_the_friends_chair():
    scores, cafes = crowd.first_scores(6, 16, True), crowd.draw(64, 6, torch.Generator().manual_seed(0))
    weights = crowd.first_weights_of_friends(6, 16, True, 4.0)
    for c, i in ((0, 0), (3, 5), (63, 2)):
        exponentials = [math.exp(score / 4) for score in scores[c, i].tolist()]
        friend = cafes.names[c].tolist().index(cafes.friends[c, i].item())
        assert weights[c, i].item() == pytest.approx(exponentials[friend] / sum(exponentials), rel=1e-4)


def test_the_forecast_is_the_difference_of_a_small_step():
    queries, keys, _, _ = small()
    mask, step = torch.tensor([[True, True, True, False], [True] * 4]), 1e-6 * torch.ones_like(queries)
    scores = ((q @ keys.mT / math.sqrt(3)).masked_fill(~mask[:, None], -math.inf) for q in (queries, queries + step))
    before, after = (each.softmax(dim=2) for each in scores)
    forecast = exercises.change(queries, keys, mask, step)
    real = mask[:, :, None].expand_as(forecast)
    torch.testing.assert_close(forecast[real] / 1e-6, (after - before)[real] / 1e-6, rtol=1e-4, atol=1e-6)


def test_the_layer_is_that_of_values_with_scores_of_another_size():
    x = torch.randn(2, 5, crowd.D_MODEL)
    for scores, factor in (("divided", 1.0), ("not divided", math.sqrt(7))):
        ours, course = crowd.Attention(7, scores), model.SelfAttention(crowd.D_MODEL, 7, crowd.D_MODEL)
        with torch.no_grad():
            course.W_query.weight.copy_(factor * ours.W_query.weight)
            course.W_key.weight.copy_(ours.W_key.weight)
            course.W_value.weight.copy_(ours.W_value.weight)
        torch.testing.assert_close(ours(x), course(x, torch.ones(2, 5, dtype=torch.bool))[0])


def test_normalized_scores_do_not_depend_on_the_length_of_queries_and_keys():
    torch.manual_seed(0)
    layer, x = crowd.Attention(16, "normalized", unit=True), torch.randn(2, 5, crowd.D_MODEL)
    before = layer(x)
    with torch.no_grad():
        layer.W_query.weight *= 4
        layer.W_key.weight *= 4
    torch.testing.assert_close(layer(x), before)
    queries = layer.query_norm(layer.W_query(x))
    torch.testing.assert_close(queries.square().mean(dim=2), torch.ones(2, 5))


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_projections_of_unit_variance_give_scores_of_the_root(factor):
    torch.manual_seed(0)
    layer = crowd.Attention(256, "divided", unit=True, factor=factor)
    queries = layer.W_query(torch.randn(4000, crowd.D_MODEL))
    assert queries.std().item() == pytest.approx(factor, rel=0.05)
    assert crowd.first_scores(64, 256, unit=True).std().item() == pytest.approx(16, rel=0.15)


def test_a_crowd_has_each_guest_once_and_a_friend_who_is_somebody_else():
    cafes = crowd.draw(5, 20, torch.Generator().manual_seed(0))
    assert (cafes.names.sort(dim=1).values == torch.arange(20)).all() and (cafes.friends != cafes.names).all()
    assert cafe.friends_drink(cafes).shape == (5, 20)


def test_a_run_is_measured_before_training_and_every_fifty_steps():
    accuracies = crowd.train(guests=4, d_k=4, scores="divided", seed=0, steps=2 * crowd.EVERY, batch_size=8)
    assert crowd.over_steps(accuracies)[:, 0].tolist() == [0, crowd.EVERY, 2 * crowd.EVERY]
    assert accuracies == crowd.train(guests=4, d_k=4, scores="divided", seed=0, steps=2 * crowd.EVERY, batch_size=8)


def test_each_setting_has_its_stored_runs_and_nothing_else_is_stored():
    stored = record.read(runs.RESULTS).keys() - {"made_by", "about"}
    assert stored == {f"{name}, seed {seed}" for name in runs.SETTINGS for seed in runs.SEEDS}
    for name, given in runs.SETTINGS.items():
        assert runs.accuracies(name).shape == (3, given.get("steps", 500) // crowd.EVERY + 1)
    curves = runs.curves("64 guests: divided")
    for seed in range(3):
        assert curves[seed, 1].tolist() == [50, record.read(runs.RESULTS)[f"64 guests: divided, seed {seed}"][1]]


def test_a_stored_run_repeats():
    """The café's fastest; the lab itself trains two of the crowd's."""
    name = "8 guests: divided, PyTorch's initialization, d_k 16"
    again = crowd.train(seed=0, **runs.SETTINGS[name] | {"steps": 100})
    assert again == pytest.approx(runs.accuracies(name)[0][:3].tolist(), abs=0.02)


def test_both_rooms_have_the_same_guests_and_the_second_is_sharper():
    flat, sharp = crowd.draw_two_rooms().cafes
    assert (flat.names, flat.friends) == (sharp.names, sharp.friends)
    assert flat.matrix[0, 2] < 0.4 < 0.95 < sharp.matrix[0, 2]
    scores = [math.log(room.matrix[0, 2] / room.matrix[0, 1]) for room in (flat, sharp)]  # of the friend, others have 0
    assert sharp.title == f"scores × {scores[1] / scores[0]:.0f}"


def test_a_factor_multiplies_what_queries_and_keys_begin_with():
    layers = []
    for factor in (1.0, 3.0):
        torch.manual_seed(0)
        layers.append(crowd.Attention(8, "divided", unit=True, factor=factor))
    for name, times in (("W_query", 3.0), ("W_key", 3.0), ("W_value", 1.0)):
        plain, multiplied = (getattr(layer, name).weight for layer in layers)
        torch.testing.assert_close(multiplied, times * plain)


def test_the_favorite_is_the_chair_with_the_largest_score():
    cafes = crowd.draw(64, 8, torch.Generator().manual_seed(0))
    scores, count = crowd.first_scores(8, 16, True).tolist(), 0
    for cafe_scores, names, friends in zip(scores, cafes.names.tolist(), cafes.friends.tolist(), strict=True):
        for row, friend in zip(cafe_scores, friends, strict=True):
            count += names[row.index(max(row))] == friend
    assert crowd.friend_is_the_favorite(8, 16, True) == pytest.approx(count / (64 * 8))

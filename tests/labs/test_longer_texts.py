"""*Longer texts*: each model attends with its positions and its bias; tests predict the same tokens; stored runs."""

import math

import lab_code
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from labs.a_language_model.reviews_as_tokens import tokenizer_with
from labs.longer_texts import language_models as models
from labs.longer_texts import results, schematic
from labs.longer_texts import reviews_as_tokens as tokens
from shared import review_writer
from shared.model import causal_mask

LAB = lab_code.find("longer_texts")
rotate = lab_code.taught(LAB, "rotate")["rotate"]


def model(encoding: str, seed: int = 0) -> models.PositionedModel:
    torch.manual_seed(seed)
    return models.PositionedModel(encoding).double()


def attend_by_loops(attention, x, positions, may_attend, score):
    """Self-attention pair by pair; `score(query, key, i, j, head)` is the score before the softmax."""
    queries, keys, values = (project(x) for project in (attention.W_query, attention.W_key, attention.W_value))
    width, output = attention.head_dim, torch.zeros_like(x)
    for head in range(attention.num_heads):
        own = slice(head * width, (head + 1) * width)
        for i in range(len(x)):
            seen = [j for j in range(len(x)) if may_attend(i, j)]
            scores = [score(queries[i, own], keys[j, own], positions[i], positions[j], head) for j in seen]
            weights = [math.exp(s) for s in scores]
            output[i, own] = sum(w * values[j, own] for w, j in zip(weights, seen, strict=True)) / sum(weights)
    return attention.W_output(output)


def by_alibi(query, key, i, j, head):
    return (query @ key / math.sqrt(len(query))).item() - float(i - j) / 4 ** (head + 1)


def by_rotation(query, key, i, j, head, farthest=math.inf):
    distance = min(i - j, farthest)
    return (rotate(query, torch.tensor(distance)) @ key / math.sqrt(len(query))).item()


@pytest.mark.parametrize(("encoding", "score"), [("ALiBi", by_alibi), ("rotary", by_rotation)])
@pytest.mark.parametrize("positions", [[0, 1, 2, 3, 4], [7, 8, 12, 13, 14], [0.0, 0.25, 0.5, 0.75, 1.0]])
def test_scores_have_a_bias_by_distance_or_are_rotated_as_by_loops_over_all_pairs(encoding, score, positions):
    attention, x = model(encoding).blocks[0].attention, torch.randn(5, models.D_MODEL, dtype=torch.double)
    output = attention(x[None], torch.tensor(positions), causal_mask(5))[0]
    expected = attend_by_loops(attention, x, positions, lambda i, j: j <= i, score)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("encoding", "score"), [("ALiBi", by_alibi), ("rotary", by_rotation)])
def test_a_distance_above_the_farthest_counts_as_the_farthest(encoding, score):
    net = models.changed(model(encoding), farthest=2)
    attention, x = net.blocks[1].attention, torch.randn(6, models.D_MODEL, dtype=torch.double)
    output = attention(x[None], torch.arange(6), causal_mask(6))[0]

    def capped(query, key, i, j, head):
        return score(query, key, min(i - j, 2), 0, head)

    expected = attend_by_loops(attention, x, range(6), lambda i, j: j <= i, capped)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


def test_the_bias_of_the_lab_is_the_models_own():
    names = lab_code.begun(LAB, "bias")
    n, bias = names["num_tokens"], names["bias"]
    torch.testing.assert_close(names["slopes"], models.alibi_slopes(4))
    for head, slope in enumerate((1 / 4, 1 / 16, 1 / 64, 1 / 256)):
        for i in range(n):
            assert bias[head, i].tolist() == [-slope * (i - j) if j <= i else -math.inf for j in range(n)]


@pytest.mark.parametrize("encoding", models.ENCODINGS)
def test_each_model_is_pytorch_s_attention_with_its_positions_and_its_bias(encoding):
    net, ids = model(encoding), torch.randint(tokens.TOKENS, (2, 9))
    x, n, heads = net.embedding(ids), 9, models.NUM_HEADS
    place = torch.arange(n)
    if encoding == "sines":
        angles = place[:, None] / 1000 ** (torch.arange(0, models.D_MODEL, 2) / models.D_MODEL)
        x = x + torch.stack([angles.cos(), angles.sin()], dim=2).flatten(1)
    if encoding == "learned table":
        x = x + net.table[:n]
    bias = torch.zeros(heads, n, n, dtype=x.dtype)
    if encoding == "ALiBi":
        bias = -torch.tensor([0.25**head for head in range(1, 5)])[:, None, None] * (place[:, None] - place)
    bias = bias.masked_fill(place > place[:, None], -math.inf).to(x)
    for block in net.blocks:
        normed, attention = block.attention_norm(x), block.attention
        q, k, v = (
            project(normed).view(2, n, heads, -1).transpose(1, 2)
            for project in (attention.W_query, attention.W_key, attention.W_value)
        )
        if encoding == "rotary":
            q, k = rotate(q, place), rotate(k, place)
        output = F.scaled_dot_product_attention(q, k, v, bias).transpose(1, 2).reshape(2, n, -1)
        x = x + attention.W_output(output)
        x = x + block.feed_forward(block.feed_forward_norm(x))
    torch.testing.assert_close(net(ids), net.output(net.norm(x)), rtol=1e-5, atol=1e-5)


def test_the_lab_s_layer_with_the_reader_s_rotation_is_that_of_the_stored_runs():
    given = lab_code.taught(LAB, "rotate", names={"rotate": rotate})
    theirs, x = model("rotary").blocks[0].attention, torch.randn(2, 7, models.D_MODEL, dtype=torch.double)
    own = given["RotaryAttention"](models.D_MODEL, models.NUM_HEADS).double()
    own.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(own(x, torch.arange(7), causal_mask(7)), theirs(x, torch.arange(7), causal_mask(7)))


def test_in_a_window_a_token_sees_so_many_and_no_more():
    net = models.changed(model("none"), window=3)
    ids = torch.randint(tokens.TOKENS, (1, 12))
    other = ids.clone()
    other[0, 0] = (ids[0, 0] + 1) % tokens.TOKENS
    moved = (net(ids) - net(other)).abs().amax(dim=2)[0] > 1e-9  # (tokens,), those that the first token reaches
    assert moved.tolist() == [place <= 4 for place in range(12)], "two blocks, and two tokens back in each"


def test_a_change_leaves_the_model_as_it_was():
    net, ids = model("rotary"), torch.randint(tokens.TOKENS, (1, 8))
    before = net(ids)
    other = models.changed(net, positions=models.divided_by(8), window=2, farthest=1)
    assert not torch.allclose(other(ids), before)
    assert torch.equal(net(ids), before)


def test_positions_begin_later_have_a_gap_or_are_divided():
    ids = torch.zeros(1, 64)
    assert models.begins_at(448)(ids).tolist() == list(range(448, 512))
    assert models.second_half_later(10)(ids).tolist() == [*range(32), *range(42, 74)]
    assert models.divided_by(4)(ids).tolist() == [number / 4 for number in range(64)]


# --- the tests ---------------------------------------------------------------------------------------------------


class SameAnswer(nn.Module):
    """The same logits for every token, so that the loss depends on the target only."""

    def __init__(self):
        super().__init__()
        self.logits = torch.randn(tokens.TOKENS, generator=torch.Generator().manual_seed(0))

    def forward(self, ids):
        return self.logits.expand(*ids.shape, -1)


@pytest.fixture(scope="module")
def held_out():
    size = tokens.HELD_OUT + tokens.LENGTH - tokens.STEP + 1
    return torch.randint(tokens.TOKENS, (size,), generator=torch.Generator().manual_seed(1))


def test_long_and_short_texts_predict_the_same_tokens(held_out):
    net = SameAnswer()
    targets = held_out[257 : 257 + tokens.HELD_OUT]
    expected = -net.logits.log_softmax(dim=0)[targets].mean().item()
    assert models.loss_far_away(net, held_out) == pytest.approx(expected, abs=1e-5)
    assert models.loss_as_trained(net, held_out) == pytest.approx(expected, abs=1e-5)


def test_overlapping_windows_predict_nearly_the_same_tokens_at_each_position(held_out):
    windows = tokens.overlapping_windows(held_out)
    assert windows.shape == (tokens.WINDOWS, tokens.LENGTH + 1)
    for window in (0, 1, 57, 99):
        assert torch.equal(windows[window], held_out[window * 32 : window * 32 + 513])
    surprise = -SameAnswer().logits.log_softmax(dim=0)
    found = models.loss_by_position(SameAnswer(), held_out)
    for stretch in range(16):
        first = 32 * stretch + 1
        targets = held_out[first : first + 32 * tokens.WINDOWS]  # that of the next window begins where one ends
        assert found[stretch].item() == pytest.approx(surprise[targets].mean().item(), abs=1e-5)


def test_the_average_query_and_key_are_those_of_the_last_block_before_rotation():
    net, ids = model("rotary"), torch.randint(tokens.TOKENS, (3, 6))
    query, key = models.average_query_and_key(net, ids)
    x, place = net.embedding(ids), torch.arange(6)
    first, last = net.blocks
    x = x + first.attention(first.attention_norm(x), place, causal_mask(6))
    x = last.attention_norm(x + first.feed_forward(first.feed_forward_norm(x)))
    for found, project in ((query, last.attention.W_query), (key, last.attention.W_key)):
        assert found.shape == (4, 1, 16)
        torch.testing.assert_close(found.flatten(), project(x).mean(dim=(0, 1)))


def test_tokens_are_those_of_a_language_model():
    text = "A dreary, overlong film; but the ending!"
    theirs, own = tokenizer_with(tokens.TOKENS), tokens.tokenizer()
    assert own.get_vocab() == theirs.get_vocab() and own.encode(text).ids == theirs.encode(text).ids


def test_an_untrained_model_expects_each_token_as_often_as_it_occurs():
    stream = torch.tensor([5, 5, 5, 9])
    bias = models.make_model("none", stream, 0).output.bias.exp() * 4
    assert bias[[5, 9, 0]].tolist() == pytest.approx([4, 2, 1])


def test_halves_and_neighbors_differ_by_the_order_of_columns_only():
    x = torch.randn(2, 7, 12, dtype=torch.double)
    side_by_side = [column for pair in zip(range(6), range(6, 12), strict=True) for column in pair]
    halves = review_writer.rotate_halves(x)[..., side_by_side]
    torch.testing.assert_close(rotate(x[..., side_by_side], torch.arange(7)), halves, rtol=1e-5, atol=1e-5)


# --- stored runs -------------------------------------------------------------------------------------------------


def test_there_are_five_seeds_of_each_encoding_and_three_trained_further():
    assert sorted((run["encoding"], run["seed"]) for run in results.RUNS) == sorted(
        (encoding, seed) for encoding in models.ENCODINGS for seed in range(5)
    )
    further = sorted((run["factor"], run["seed"]) for run in results.FURTHER)
    assert further == [(factor, seed) for factor in (1, 8) for seed in range(3)]


@pytest.mark.parametrize("encoding", models.ENCODINGS)
def test_loss_by_position_repeats_with_two_other_seeds_within_a_twentieth_but_that_of_sines_at_new_positions(encoding):
    found = results.by_position(encoding)  # (seeds, stretches)
    parts = [(0, 2)] if encoding == "sines" else [(0, 2), (2, 4), (4, 8), (8, 12), (12, 16)]
    for first, end in parts:
        part = found[:, first:end].mean(axis=1)  # (seeds,)
        assert abs(part[:3].mean() - part[3:].mean()) < 0.05


def test_results_are_those_of_the_stored_runs():
    stored = [run for key, run in results.STORED.items() if key.startswith("rotary, seed") and "further" not in key]
    line = dict(results.mean_curves()["rotary"])
    assert list(line) == [16 + 32 * place for place in range(16)]
    assert line[48] == pytest.approx(sum(run["by position"][1] for run in stored) / 5)
    assert dict(results.by_gap())[160] == pytest.approx(sum(run["gaps"]["160"] for run in stored) / 5)
    table = results.table({"long texts": "long"})
    mean, half = map(float, table.loc["long texts", "rotary"].split(" ± "))
    losses = [run["loss"]["long"] for run in stored]
    assert mean == round(np.mean(losses), 2)
    assert half == round(2.776445 * np.std(losses, ddof=1) / math.sqrt(5), 2)
    assert table.loc["long texts", "none"] and results.table({"x": "far is 63"}).loc["x", "sines"] == ""


# --- drawings ----------------------------------------------------------------------------------------------------


def test_a_crest_is_higher_than_all_that_is_near_on_both_sides():
    wave = [(x, math.sin(x / 30) - x / 1000) for x in range(400)]  # its crests are where cos(x / 30) / 30 is 1 / 1000
    expected = [30 * (math.acos(0.03) + 2 * math.pi * turn) for turn in range(2)]
    assert [x for x, _ in results.crests(wave, reach=40)] == pytest.approx(expected, abs=0.5)
    assert results.crests(wave[10:200], reach=40) == [], "too near the ends: one is cut off there, and one isn't there"
    assert results.crests([(0, 0), (32, 2), (64, 3), (96, 1), (128, 0)], 64) == [(64, 3)]


def test_curves_are_grey_as_far_as_the_model_was_trained_and_crests_have_rings():
    lines = {"a": [(16, 4.0), (48, 5.0)], "b": [(16, 3.0), (48, 2.0)]}
    chart = schematic.CurvesBeyond(lines, "position", "loss", crests=[(48, 5.0)], pale="b")
    (axes,) = chart.figure().axes
    (gray,) = axes.patches
    assert (gray.get_x(), gray.get_x() + gray.get_width()) == (0, models.TRAINED) and "Gray up to 64" in chart.alt
    a, b, ring = axes.lines
    assert ring.get_xydata().tolist() == [[48, 5]] and "48" in [text.get_text() for text in axes.texts]
    assert a.get_alpha() is None and b.get_alpha() < 1 and chart.alt.endswith("Ringed: 48.")
    without = schematic.CurvesBeyond(lines, "gap", "loss", trained=0)
    assert not without.figure().axes[0].patches and "Gray" not in without.alt


def test_score_matrices_show_the_numbers_that_they_are_given_up_to_the_query():
    nan = math.nan
    given = {"one": np.arange(9.0).reshape(3, 3), "two": -np.eye(3), "three": 2 * np.eye(3), "four": np.ones((3, 3))}
    shown = [
        [[0, nan, nan], [3, 4, nan], [6, 7, 8]],
        [[-1, nan, nan], [0, -1, nan], [0, 0, -1]],
        [[2, nan, nan], [0, 2, nan], [0, 0, 2]],
        [[1, nan, nan], [1, 1, nan], [1, 1, 1]],
    ]
    chart = schematic.score_matrices(given, "Four matrices.", one_scale=["two", "three"])
    panels = chart.figure().axes
    assert [axes.get_title(loc="left") for axes in panels] == [*given] and chart.alt == "Four matrices."
    for axes, matrix in zip(panels, shown, strict=True):
        np.testing.assert_array_equal(np.ma.filled(axes.images[0].get_array(), nan), matrix)
    scales = [(axes.images[0].norm.vmin, axes.images[0].norm.vmax) for axes in panels]
    assert scales[:3] == [(0, 8), (-1, 2), (-1, 2)], "from the lowest to the highest, and two on one scale"
    assert scales[3][1] == 1 > scales[3][0], "equal scores are all the highest"

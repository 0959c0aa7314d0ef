"""*Induction heads*: the game is what its rules say, nine heads in one layer can play it, and what a circuit, a paste
and a text shown twice are, computed in another way.
"""

import math
import sys
from itertools import takewhile

import lab_code
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from torch import nn
from torch.nn.functional import cross_entropy

from experiments import train_small_model as small_model
from labs.induction_heads import circuits, copying, growing, schematic
from labs.induction_heads import letter_pairs as pairs
from shared import review_writer
from shared.colours import ROLES
from shared.model import MultiHeadSelfAttention, causal_mask
from shared.review_writer import START, ReviewWriter
from shared.reviews import movie_parts, read_movies

# --- the game ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held_out", [False, True])
def test_each_shown_pair_is_asked_once_and_held_out_pairs_occur_in_tests_alone(held_out):
    ids, order = pairs.draw_pairs(200, torch.Generator().manual_seed(4), held_out)
    for text, places in zip(ids.view(200, -1, 2).tolist(), order.tolist(), strict=True):
        shown, asked = text[: pairs.NUM_PAIRS], text[pairs.NUM_PAIRS :]
        assert asked == [shown[place] for place in places] and sorted(places) == [*range(pairs.NUM_PAIRS)]
        assert len({first for first, _ in shown}) == pairs.NUM_PAIRS, "first letters are all different"
        assert any(pairs.HELD_OUT[first, second] for first, second in shown) == held_out


def test_one_layer_of_nine_heads_written_by_hand_answers_everything():
    names = lab_code.begun(lab_code.find("induction_heads"), "train")  # what the lab defines up to its first training
    width = 53  # of a head: one column for each letter, one for the position
    net = names["AttentionOnly"](1, d_model=9 * width, num_heads=9)
    layer = net.layers[0]
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
        net.letters.weight[:, :52] = net.output.weight[:, :52] = torch.eye(52)
        net.positions[:, 52:84] = torch.eye(32)
        net.output.weight[:, 84:136] = torch.eye(52)  # what the heads add
        for head in range(9):
            own, position = slice(width * head, width * head + 52), width * head + 52
            layer.W_key.weight[own, :52] = layer.W_value.weight[own, :52] = torch.eye(52)
            layer.W_query.bias[position] = width**0.5
            likes = torch.full((32,), -300.0)
            if head < 8:  # "not this second letter", unless the first of the pair is the one that asks
                layer.W_query.weight[own, :52] = 30 * width**0.5 * torch.eye(52)
                likes[2 * head : 2 * head + 2] = torch.tensor([0.0, 15.0])
            else:  # "one of these": all second letters
                likes[1:16:2] = 0
            layer.W_key.weight[position, 52:84] = likes
            layer.W_output.weight[84:136, own] = torch.eye(52) * (-1 if head < 8 else 8)
        predictions = net(names["test_ids"])[0][:, pairs.ASKING].argmax(dim=2)
    assert torch.equal(predictions, names["targets"])


# --- circuits and pasting ------------------------------------------------------------------------------------------


def small_layer(d_model=6, num_heads=1):
    torch.manual_seed(0)
    layer = MultiHeadSelfAttention(d_model, num_heads)
    for parameter in layer.parameters():  # biases begin at 0
        nn.init.normal_(parameter, std=0.7)
    return layer


@torch.no_grad()
def test_the_qk_circuit_has_the_scores_behind_the_layers_weights():
    layer, x = small_layer(), torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    _, weights = layer(x[None])
    torch.testing.assert_close(circuits.looks_for(layer, x, x).softmax(dim=1), weights[0, 0])
    assert circuits.looks_for(layer, x[:2], x).mean(dim=1).abs().max() < 1e-6
    mask = causal_mask(5)
    _, weights = layer(x[None], attention_mask=mask)
    scores = circuits.looks_for(layer, x, x, mask)
    assert scores[~mask].eq(0).all() and scores.mean(dim=1).abs().max() < 1e-6
    torch.testing.assert_close(scores.masked_fill(~mask, -torch.inf).softmax(dim=1), weights[0, 0])


@torch.no_grad()
def test_a_column_of_the_qk_circuit_by_loops():
    layer, (queries, keys) = small_layer(), torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(2))
    found = circuits.looks_for(layer, queries, keys)
    for i, query in enumerate(layer.W_query(queries)):
        dots = [sum(a * b for a, b in zip(query.tolist(), layer.W_key(key).tolist(), strict=True)) for key in keys]
        expected = [(dot - sum(dots) / 4) / math.sqrt(6) for dot in dots]
        assert found[i].tolist() == pytest.approx(expected, abs=1e-5)


@torch.no_grad()
def test_the_ov_circuit_is_what_a_layer_adds_to_a_token_that_attends_to_one_other():
    layer, x = small_layer(), torch.randn(3, 6, generator=torch.Generator().manual_seed(3))
    only = torch.eye(3, dtype=torch.bool)[[2, 0, 1]]  # each token attends to one token
    added, _ = layer(x[None], attention_mask=only)
    nothing, _ = layer(torch.zeros_like(x)[None], attention_mask=only)  # what the biases add
    torch.testing.assert_close(circuits.writes(layer, x[[2, 0, 1]]), (added - nothing)[0])


def test_rows_that_are_largest_on_the_diagonal_are_counted():
    assert circuits.largest_on_the_diagonal(torch.tensor([[2.0, 1, 0], [5, 4, 3], [0, -1, 0.5]])) == 2


def two_layers():
    """The lab's model with two layers, untrained, and two texts of the game's length."""
    names = lab_code.begun(lab_code.find("induction_heads"), "AttentionOnly")
    torch.manual_seed(0)
    return names["AttentionOnly"](2), *pairs.draw_pairs(2, torch.Generator().manual_seed(1))[0].split(1)


@torch.no_grad()
@pytest.mark.parametrize("layer", [0, 1])
def test_pasting_at_all_places_is_the_sum_of_two_texts_parts(layer):
    model, ids, other = two_layers()
    mask, positions = causal_mask(32), model.positions[:32]
    x = model.letters(ids) + positions
    seen = model.letters(other) + positions
    for number, part in enumerate(model.layers):
        own, others = part(x, attention_mask=mask)[0], part(seen, attention_mask=mask)[0]
        x, seen = x + (others if number == layer else own), seen + others
    pasted = circuits.with_pasted(model, layer, torch.arange(32), ids, other)
    torch.testing.assert_close(pasted, model.output(x))
    assert not pasted.allclose(model(ids)[0], atol=1e-3)


@torch.no_grad()
def test_pasting_the_last_layer_changes_only_its_places_and_leaves_the_model():
    model, ids, other = two_layers()
    before, places = model(ids)[0], torch.tensor([3, 20])
    changed = (circuits.with_pasted(model, 1, places, ids, other) - before).abs().amax(dim=(0, 2)) > 1e-6
    assert changed.nonzero().flatten().tolist() == places.tolist()
    assert model(ids)[0].equal(before), "no hook is left"


# --- a text shown twice --------------------------------------------------------------------------------------------


def perfect_head(ids):
    """Two heads: one looks one back, the other at the token after the earlier occurrence, which it then predicts."""
    texts, tokens = ids.shape
    length = tokens // 2
    places = torch.arange(tokens)
    one_back = nn.functional.one_hot((places - 1).clamp(min=0), tokens).float()
    found = (places - length + 1).where(places > length, torch.zeros(()).long())  # (tokens,)
    logits = 50.0 * nn.functional.one_hot(ids[:, found], 7) * (places > length)[:, None]
    patterns = torch.stack([one_back, nn.functional.one_hot(found, tokens).float()]).expand(texts, -1, -1, -1)
    return logits.float(), [patterns]


def test_a_perfect_head_scores_one_and_copies_without_loss():
    text = torch.tensor([[3, 1, 4, 1, 5, 2], [6, 5, 3, 5, 2, 4]])
    twice = copying.shown_twice(perfect_head, text, text)
    assert twice.after_earlier.tolist() == [[0, 1]] and twice.one_back.tolist() == [[1, 0]]
    assert twice.losses.tolist() == pytest.approx([math.log(7), 0], abs=1e-5)


def measured_by_loops(logits, patterns, ids):
    """What `shown_twice` measures, from the logits and weights (blocks, texts, heads, tokens, tokens) of all ids."""
    length, rows = (ids.shape[1] - 1) // 2, range(len(ids))
    losses = [
        [cross_entropy(logits[text, t - 1], ids[text, t]).item() for text in rows for t in part]
        for part in (range(2, length + 1), range(length + 2, 2 * length + 1))
    ]
    weights = [
        [[patterns[block][text][head, t, t - back].item() for text in rows for t in range(length + 1, 2 * length)]
         for block in range(len(patterns)) for head in range(patterns[0].shape[1])]
        for back in (length - 1, 1)
    ]  # fmt: skip
    return [sum(of) / len(of) for of in losses], [[sum(of) / len(of) for of in heads] for heads in weights]


def same(twice, expected):
    losses, (after_earlier, one_back) = expected
    assert twice.losses.tolist() == pytest.approx(losses, rel=1e-4)
    assert twice.after_earlier.flatten().tolist() == pytest.approx(after_earlier, abs=1e-5)
    assert twice.one_back.flatten().tolist() == pytest.approx(one_back, abs=1e-5)


@torch.no_grad()
def test_the_courses_model_by_loops():
    torch.manual_seed(0)
    model = ReviewWriter(vocabulary_size=20, d_model=16, num_heads=2, num_blocks=2)
    first, second = torch.randint(1, 20, (2, 3, 5), generator=torch.Generator().manual_seed(1))
    ids = torch.cat([torch.full((3, 1), START), first, second], dim=1)
    logits, patterns = model.read(ids)
    same(copying.shown_twice(model.read, first, second), measured_by_loops(logits, patterns, ids))


def tiny_gpt2():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=50257, n_positions=140, n_embd=8, n_layer=2, n_head=2, initializer_range=1.0
    )
    config._attn_implementation = "eager"  # the other ones give no weights
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(config).eval()


@torch.no_grad()
def test_a_tiny_gpt2_by_loops():
    model = tiny_gpt2()
    text, start = torch.randint(1, 50256, (2, 6), generator=torch.Generator().manual_seed(1)), 50256
    ids = torch.cat([torch.full((2, 1), start), text, text], dim=1)
    logits, patterns = copying.reader_of(model)(ids)
    assert patterns[1].sum(dim=3).allclose(torch.ones(2, 2, 13)) and patterns[1].triu(1).abs().max() == 0
    torch.testing.assert_close(logits, model(ids).logits)
    same(copying.shown_twice(copying.reader_of(model), text, text, start), measured_by_loops(logits, patterns, ids))


def test_held_out_reviews_are_beginnings_of_texts_that_no_model_was_trained_on():
    _, tokenizer = review_writer.load()
    texts, labels = read_movies()
    parts = movie_parts(np.array(labels))
    others = "\n".join(text for text, part in zip(texts, parts, strict=True) if part != 2)
    found = copying.held_out_reviews(tokenizer, 40, count=20)
    assert found.shape[1] == 40 and 10 < len(found) <= 20
    for ids in found.tolist():
        beginning = tokenizer.decode(ids)
        assert any(text.startswith(beginning) for text in texts) and beginning not in others


def cell_with(text):
    (source,) = (cell for cell in lab_code.cells(lab_code.find("induction_heads")) if text in cell)
    return source


def run_the_gpt2_cell(shown=None):
    names = lab_code.imports(lab_code.find("induction_heads")) | {"display": shown}
    exec(cell_with("load_gpt2"), names)
    return names


def test_outside_colab_the_cell_says_so_and_loads_nothing(capsys, monkeypatch):
    monkeypatch.setattr(copying, "load_gpt2", lambda: pytest.fail("loaded"))
    assert run_the_gpt2_cell()["gpt2"] is None
    assert capsys.readouterr().out.startswith("GPT-2 isn't loaded")


def test_in_colab_without_a_network_the_cell_says_why(capsys, monkeypatch):
    transformers = pytest.importorskip("transformers")
    monkeypatch.setitem(sys.modules, "google.colab", object())

    def no_network(*_, **__):
        raise OSError("we could not connect")

    monkeypatch.setattr(transformers.GPT2LMHeadModel, "from_pretrained", no_network)
    assert run_the_gpt2_cell()["gpt2"] is None
    assert capsys.readouterr().out.startswith("we could not connect\nGPT-2 isn't loaded")


def test_in_colab_the_cell_takes_both_measures(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", object())
    monkeypatch.setattr(copying, "load_gpt2", tiny_gpt2)
    shown = []
    found = run_the_gpt2_cell(shown.append)["found"]
    assert shown[0].shape == (2, 2) and found.losses.shape == (2,)
    assert "loss in the first and in the second copy: [" in capsys.readouterr().out


# --- the small model's training ------------------------------------------------------------------------------------


def longest_repeated(ids):
    """How many tokens the longest passage has that comes twice without overlap, and how far apart the two are."""
    found = (0, 0)
    for first in range(1, len(ids)):
        for second in range(first + 1, len(ids)):
            pairs_of_tokens = zip(ids[first:second], ids[second:])  # noqa: B905
            length = len([*takewhile(lambda pair: pair[0] == pair[1], pairs_of_tokens)])
            found = max(found, (length, second - first))
    return found


def test_windows_repeat_passages_of_all_lengths_at_all_distances_and_those_of_the_control_do_not():
    stream, generator = torch.arange(1, 1001), torch.Generator().manual_seed(0)
    ids = torch.cat([small_model.windows(stream, 1.0, generator) for _ in range(20)])  # (windows, tokens)
    assert ids.shape == (20 * small_model.BATCH, small_model.CONTEXT + 1) and ids[:, 0].eq(START).all()
    found = [longest_repeated(window.tolist()) for window in ids]
    lengths, distances = zip(*found, strict=True)
    assert {min(lengths), max(lengths)} == {small_model.SHORTEST, small_model.LONGEST}
    assert max(distances) > 2 * min(distances) and min(distances) < 15
    in_a_row = [(window[1:].diff() == 1).all().item() for window in small_model.windows(stream, 0.0, generator)]
    assert all(in_a_row), "the stream as it is"
    random_ones = sum(is_of_random_tokens(window, found) for window, found in zip(ids, found, strict=True))
    assert 0.44 < random_ones / len(ids) < 0.56, "half"


def is_of_random_tokens(window, found):
    """Whether the repeated passage is not one of the stream, whose tokens are in a row."""
    length, distance = found
    copies = [i for i in range(1, len(window) - distance) if window[i] == window[i + distance]]
    return not (window[copies].diff() == 1).all().item()


# --- how a head grew -----------------------------------------------------------------------------------------------


def test_every_run_of_the_small_model_is_there_and_was_measured_to_its_end():
    for kind, seeds in small_model.SEEDS.items():
        runs = growing.runs_of(kind)
        assert [run["seed"] for run in runs] == [*seeds]
        for run in runs:
            assert [point["step"] for point in run["curve"]] == [*range(0, small_model.STEPS + 1, small_model.EVERY)]


def test_the_curves_of_heads_are_those_of_the_largest_weight_at_the_end_in_each_block():
    for run in growing.runs_of(growing.REPEATED):
        curves = growing.heads(run)
        for (name, curve), block, place in zip(curves.items(), (0, 1), ("one_back", "after_earlier"), strict=True):
            of_head = [[point["random tokens"][place][2 * block + head] for point in run["curve"]] for head in (0, 1)]
            best = max(of_head, key=lambda weights: weights[-1])
            np.testing.assert_allclose([weight for _, weight in curve], best, rtol=1e-6, err_msg=name)
            assert [step for step, _ in curve] == [point["step"] for point in run["curve"]]


def test_the_loss_of_the_second_copy_is_the_second_of_the_stored_ones():
    curves = growing.second_copies()
    runs = [*growing.runs_of(growing.REPEATED), *growing.runs_of(growing.CONTROL)]
    assert len(curves) == len(runs) == 4
    for curve, run in zip(curves.values(), runs, strict=True):
        assert curve[-1] == (1000, run["curve"][-1]["random tokens"]["losses"][1])


# --- drawings --------------------------------------------------------------------------------------------------------


def test_cells_of_a_pair_are_beside_each_other_and_a_gap_comes_after_it():
    weights = torch.tensor([[0.96, 0.04, 0, 0, 0, 0], [0, 0.1, 0.2, 0.31, 0, 0.39]])
    chart = schematic.weights_on_pairs(weights, ["p", "q"], list("abcdef"), "title")
    columns = ["a", "b", "", "c", "d", "", "e", "f"]
    assert chart.column_labels == columns and chart.row_labels == ["p", "q"]
    filled = {(chart.row_labels[i], columns[j]): amount for (i, j), amount in chart.tiles.items()}
    expected = {("p", "a"): 1.0, ("q", "b"): 0.1, ("q", "c"): 0.2, ("q", "d"): 0.3, ("q", "f"): 0.4}
    assert filled == pytest.approx(expected)
    assert {column for _, column in chart.cells} == {0, 1, 3, 4, 6, 7}, "no cell in a gap"


def test_circuits_in_a_row_have_one_scale():
    one, other = torch.tensor([[4.0, -2], [0, 1]]), torch.tensor([[8.0, 2], [-4, 0.5]])
    chart = schematic.circuits_in_a_row({"a": (one, "r", "c"), "b": (other, "r", "c")}, "xy", 8, "two")
    panels = chart.figure().axes
    first, second = (np.asarray(axes.images[0].get_array()) for axes in panels)  # (2, 2, 3)
    np.testing.assert_allclose(second[0, 0], to_rgb(ROLES["score"][0]), atol=1e-6)  # 8 is the darkest
    np.testing.assert_allclose(first[1, 0], 1, atol=0.01)  # zero is paper
    for a, b, ratio in ((first[0, 0], second[0, 0], 0.5), (first[0, 1], second[1, 0], 0.5)):
        np.testing.assert_allclose((1 - a) / (1 - b), ratio, atol=0.02)  # shade by shade
    assert [axes.get_title(loc="left") for axes in panels] == ["a", "b"] and chart.alt == "two"


def test_curves_have_a_gray_band_where_it_is_said():
    chart = schematic.CurvesAround({"a": [(0, 4.0), (9, 5.0)]}, "steps", "loss", band=(3, 5))
    (gray,) = chart.figure().axes[0].patches
    assert (gray.get_x(), gray.get_x() + gray.get_width()) == (3, 5) and "Gray from 3 to 5" in chart.alt

"""*The block*: what is counted and looked up by hand, by loops; the stored runs are whole, and of the lab's blocks."""

from collections import Counter

import lab_code
import pytest
import torch
from torch import nn

from labs.the_block import runs
from labs.the_block.block_at_marker import BlockAtMarker
from shared import cafe

LAB = lab_code.find("the_block")


def test_the_counting_rule_leaves_out_the_friends_drink():
    rule = lab_code.taught(LAB, "most_frequent_of_the_others")["most_frequent_of_the_others"]
    cafes = cafe.draw_cafes(30, seed=5)
    for drinks, of_friends, named in zip(cafes.drinks, cafe.friends_drink(cafes), rule(cafes), strict=True):
        for mine, drink in zip(of_friends.tolist(), named.tolist(), strict=True):
            counts = Counter(drinks.tolist())
            counts[mine] -= 1
            assert counts[drink] == max(counts.values())


def test_with_fixed_attention_a_row_holds_its_own_drink_and_the_friend_s():
    names = lab_code.taught(LAB, "is_hot", "at_least_one_hot", "same_temperature")
    model, cafes = names["FixedOnFriend"](nn.Identity(), 6), cafe.draw_cafes(3, seed=1)
    x, plain = model.embed(cafes), cafe.CafeModel.embed(model, cafes)
    hot = {cafe.DRINKS.index(drink) for drink in ("tea", "coffee", "cocoa")}
    same, one = names["same_temperature"](cafes), names["at_least_one_hot"](cafes)
    for room in range(3):
        chair_of = {name: chair for chair, name in enumerate(cafes.names[room].tolist())}
        for chair in range(8):
            friend = chair_of[cafes.friends[room, chair].item()]
            torch.testing.assert_close(x[room, chair], plain[room, chair] + model.W_value(plain[room, friend]))
            drinks = [cafes.drinks[room, at].item() in hot for at in (chair, friend)]
            assert same[room, chair] == (drinks[0] == drinks[1]) and one[room, chair] == any(drinks)


@pytest.mark.parametrize(("name", "without"), [
    ("pre-norm and residual", ()), ("residual", ("norm",)), ("pre-norm", ("residual",)),
    ("neither", ("residual", "norm")),
])  # fmt: skip
def test_the_stored_runs_are_of_the_lab_s_blocks(name, without):
    stored = runs.blocks(3, runs.PARTS[name])
    stack = lab_code.taught(LAB)["Stack"](3, without)
    for parameter in stack.parameters():
        nn.init.normal_(parameter, std=0.3)
    stored.load_state_dict({key.removeprefix("blocks."): value for key, value in stack.state_dict().items()})
    x = torch.randn(2, 8, 32)
    torch.testing.assert_close(stored(x), stack(x))


def test_attention_with_a_feed_forward_layer_is_the_lab_s_two_layers():
    names = lab_code.taught(LAB)
    layers, stored = (names["Attention"](), names["FeedForward"]()), runs.Attention(1, feed_forward=True)
    stored.attention.load_state_dict(layers[0].attention.state_dict())
    stored.feed_forward.load_state_dict(layers[1].layers.state_dict())
    x = torch.randn(2, 8, 32)
    torch.testing.assert_close(stored(x), nn.Sequential(*layers)(x))


def test_every_run_is_stored():
    for depth, rate, name, seeds in runs.RUNS:
        assert len(runs.accuracies(f"friend's friend, {depth}, rate {rate}: {name}")) == seeds, (depth, rate, name)
    for kind in [f"no feed-forward, rate {runs.RATE}: {heads}" for heads in runs.HEADS]:
        assert len(runs.accuracies(f"same drink, {kind} heads")) == runs.SEEDS_OF_HEADS
    assert len(runs.accuracies(f"same drink, feed-forward, rate {runs.RATE}: 1 heads")) == runs.SEEDS_OF_HEADS


def test_a_block_that_is_read_at_the_marker_is_that_row_of_the_whole_block():
    torch.manual_seed(0)
    net = BlockAtMarker(30, marker_id=3, d_model=8, num_heads=2).eval()
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.5)
    ids = torch.tensor([[3, 9, 8, 7], [5, 6, 3, 0]])
    output, weights = net.block(net.embedding(ids), ids > 0)
    logits, at_marker = net(ids, ids > 0)
    for text, place in enumerate((0, 2)):
        torch.testing.assert_close(logits[text], net.output(output[text, place])[0])
        torch.testing.assert_close(at_marker[text], weights[text, :, place].mean(dim=0))
